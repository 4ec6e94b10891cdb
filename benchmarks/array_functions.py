"""Functions of whole arrays as people write them in NumPy: nothing but `@tw.jit` is added.

The kinds of program are those of npbench (Ziogas et al., "Productivity, portability, performance:
data-centric Python", 2021): linear algebra, stencils, learning, physics, images, data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["problems"]

Arguments = tuple[Any, ...]


def residual(A: Any, x: Any, b: Any) -> Any:
    r = b - A @ x
    return r, r @ A


def scaled_products(alpha: float, beta: float, C: Any, A: Any, B: Any) -> None:
    C[:] = alpha * (A @ B) + beta * C


def chain(A: Any, B: Any, C: Any) -> Any:
    return (A @ B) @ (B.T @ C)


def covariances(X: Any) -> Any:
    away = X - X.mean(axis=0)
    return away.T @ away / (X.shape[0] - 1)


def correlations(X: Any) -> Any:
    deviations = X - np.sum(X, axis=0) / X.shape[0]
    spread = np.sqrt(np.sum(deviations * deviations, axis=0))
    made = np.eye(X.shape[1])
    for i in range(X.shape[1] - 1):
        made[i, i + 1 :] = deviations[:, i] @ deviations[:, i + 1 :] / (spread[i] * spread[i + 1 :])
        made[i + 1 :, i] = made[i, i + 1 :]
    return made


def cholesky_by_rows(A: Any) -> None:
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] = (A[i, j] - np.dot(A[i, :j], A[j, :j])) / A[j, j]
        A[i, i] = np.sqrt(A[i, i] - np.dot(A[i, :i], A[i, :i]))


def orthogonal(A: Any) -> None:
    for k in range(A.shape[1]):
        A[:, k] /= np.sqrt(np.sum(A[:, k] * A[:, k]))
        for j in range(k + 1, A.shape[1]):
            A[:, j] -= np.dot(A[:, k], A[:, j]) * A[:, k]


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - np.max(scores, axis=1)[:, np.newaxis])
    return (weights / np.sum(weights, axis=1)[:, np.newaxis]) @ v


def two_layers(x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    return np.maximum(np.maximum(x @ w1 + b1, 0) @ w2 + b2, 0)


def normalized(x: Any, gain: Any) -> Any:
    away = x - np.mean(x)
    return gain * away / np.sqrt(np.mean(away * away) + 1e-5)


def great_circles(lat1: Any, lon1: Any, lat2: Any, lon2: Any) -> Any:
    h = np.sin((lat2 - lat1) / 2) ** 2
    h = h + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    return 12742.0 * np.arcsin(np.sqrt(h))


def black_scholes(S: Any, K: Any, T: Any, r: float, sigma: float) -> Any:
    root = sigma * np.sqrt(T)
    d1 = (np.log(S / K) + (r + 0.5 * sigma * sigma) * T) / root
    near = 1 / (1 + np.exp(-1.702 * d1))
    far = 1 / (1 + np.exp(-1.702 * (d1 - root)))
    return S * near - K * np.exp(-r * T) * far


def heat(T: int, u: Any) -> None:
    for _t in range(T):
        u[1:-1, 1:-1] += 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )


def waves(T: int, p: Any, vx: Any, vy: Any) -> None:
    for _t in range(T):
        vx[1:, :] -= 0.4 * (p[1:, :] - p[:-1, :])
        vy[:, 1:] -= 0.4 * (p[:, 1:] - p[:, :-1])
        p[:-1, :-1] -= 0.4 * (vx[1:, :-1] - vx[:-1, :-1] + vy[:-1, 1:] - vy[:-1, :-1])


def limited_diffusion(f: Any, c: Any) -> Any:
    lap = 4 * f[1:-1, 1:-1] - (f[2:, 1:-1] + f[:-2, 1:-1] + f[1:-1, 2:] + f[1:-1, :-2])
    east = lap[1:, 1:-1] - lap[:-1, 1:-1]
    east = np.where(east * (f[2:-1, 2:-2] - f[1:-2, 2:-2]) > 0, 0.0, east)
    north = lap[1:-1, 1:] - lap[1:-1, :-1]
    north = np.where(north * (f[2:-2, 2:-1] - f[2:-2, 1:-2]) > 0, 0.0, north)
    flow = east[1:, :] - east[:-1, :] + north[:, 1:] - north[:, :-1]
    return f[2:-2, 2:-2] - c * flow


def edges(image: Any) -> Any:
    gx = image[:-2, 2:] - image[:-2, :-2] + 2 * (image[1:-1, 2:] - image[1:-1, :-2])
    gx = gx + image[2:, 2:] - image[2:, :-2]
    gy = image[2:, :-2] - image[:-2, :-2] + 2 * (image[2:, 1:-1] - image[:-2, 1:-1])
    gy = gy + image[2:, 2:] - image[:-2, 2:]
    return np.sqrt(gx * gx + gy * gy)


def life(T: int, g: Any) -> None:
    for _t in range(T):
        n = np.zeros_like(g)
        n[1:-1, 1:-1] = (
            g[:-2, :-2] + g[:-2, 1:-1] + g[:-2, 2:] + g[1:-1, :-2]
            + g[1:-1, 2:] + g[2:, :-2] + g[2:, 1:-1] + g[2:, 2:]
        )  # fmt: skip
        stays = (n == 3) | ((n == 2) & (g == 1))
        g[:] = 0
        g[stays] = 1


def shortest_paths(D: Any) -> None:
    for k in range(D.shape[0]):
        D[:] = np.minimum(D, D[:, k][:, np.newaxis] + D[k, :][np.newaxis, :])


def rings(values: Any, radius: Any, n: int) -> Any:
    made = np.zeros(n)
    largest = np.max(radius)
    for i in range(n):
        inside = (radius >= largest * i / n) & (radius < largest * (i + 1) / n)
        made[i] = np.sum(np.where(inside, values, 0.0)) / max(np.sum(inside), 1)
    return made


def forces(p: Any, mass: Any) -> Any:
    away = p[np.newaxis, :, :] - p[:, np.newaxis, :]
    squares = np.sum(away * away, axis=2) + 0.01
    return np.sum(away * (mass / (squares * np.sqrt(squares)))[:, :, np.newaxis], axis=1)


def smoothed(x: Any, alpha: float) -> Any:
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = alpha * x[i] + (1 - alpha) * y[i - 1]
    return y


def problems(quick: bool) -> Iterator[tuple[Callable[..., Any], Arguments]]:
    """The functions with arguments."""
    r = np.random.default_rng(0)

    def some(*shape: int) -> Any:
        return r.random(shape)

    n = 24 if quick else 400
    m = 40 if quick else 1_000_000
    half = n // 2
    yield residual, (some(4 * n, 4 * n), some(4 * n), some(4 * n))
    yield scaled_products, (1.5, 0.5, some(n, n), some(n, n), some(n, n))
    yield chain, (some(n, half), some(half, n), some(half, n))
    yield covariances, (some(2 * n, half),)
    yield correlations, (some(n, half),)
    spd = some(half, half)
    yield cholesky_by_rows, (spd @ spd.T + half * np.eye(half),)
    yield orthogonal, (some(n, half),)
    yield attention, (some(n, 64), some(n, 64), some(n, 64))
    yield two_layers, (some(64, n), some(n, n), some(n), some(n, half), some(half))
    yield normalized, (some(m), some(m))
    yield great_circles, (some(m), some(m), some(m), some(m))
    yield black_scholes, (1 + some(m), 1 + some(m), 0.1 + some(m), 0.02, 0.3)
    yield heat, (10, some(n, n))
    yield waves, (20, some(n, n), some(n, n), some(n, n))
    yield limited_diffusion, (some(2 * n, 2 * n), 0.1)
    yield edges, (some(3 * n, 3 * n),)
    yield life, (10, (some(n, n) > 0.6).astype(np.int64))
    yield shortest_paths, (some(half, half),)
    yield rings, (some(m // 10), some(m // 10), 20)
    yield forces, (some(half, 3), some(half))
    yield smoothed, (some(m), 0.2)
