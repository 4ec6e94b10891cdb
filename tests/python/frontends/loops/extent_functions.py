"""Arrays that are made within loops, whose extents follow the turns; and calls of functions without `@tw.jit`."""

from __future__ import annotations

import numpy as np

from .cases import case


@case(lambda r, n=7: (n, r.random((n, n))), tolerant=True)
def rows_before_the_diagonal(n, A):
    out = np.zeros(n)
    for i in range(n):
        w = np.zeros(i)
        w[:] = A[i, :i] * 2
        out[i] = w.sum()
    return out


@case(lambda r, n=7: (n, r.random((n, n))))
def blocks_that_shrink(n, A):
    out = np.zeros(n)
    for i in range(n - 1, 0, -1):
        w = np.empty((i, n - i))
        w[:] = A[:i, i:]
        out[i] = w.max()
    return out


@case(lambda r, n=6: (n, r.random((n, n))))
def ranges_in_two_loops(n, A):
    s = 0.0
    for i in range(n):
        for j in range(i, n, 2):
            t = np.arange(j - i + 1) * A[i, j]
            s += t.max()
    return s


@case(lambda r: (3, 4))
def powers_as_extents(R, K):
    out = np.zeros(K)
    for i in range(K):
        D = np.ones((R, R**i, R ** (K - i - 1)))
        D[:] = np.arange(R**i)[None, :, None]
        out[i] = D.max()
    return out


@case(lambda r: (r.random(9), 5))
def powers_in_a_loop_within_one(A, n):
    s = 0.0
    for i in range(n):
        for j in range(i):
            v = np.zeros((2**j, i))
            v[:] = A[j]
            s += v.max()
    return s


@case(lambda r: (r.random(9),))
def powers_in_a_loop_that_is_left(A):
    w = np.zeros(9)
    for i in range(3):
        v = np.zeros(2**i)
        v[:] = A[: 2**i]
        w[i] = v.max()
        if v[0] > 0.5:
            break
    return w


@case(lambda r, n=6: (n, r.random((n, n)) + 9 * np.eye(n)), tolerant=True)
def inverses_of_leading_blocks(n, A):
    out = np.zeros(n)
    for i in range(1, n):
        L = np.linalg.inv(A[:i, :i])
        out[i] = L[0, 0]
    return out


@case(lambda r: (r.random(16) + 1j * r.random(16), 2, 4), tolerant=True)
def stockham(x, R, K):
    n = R**K
    i_grid, j_grid = np.mgrid[0:R, 0:R]
    butterfly = np.exp(-2.0j * np.pi * i_grid * j_grid / R)
    y = x.copy()
    rows, columns = np.mgrid[0:R, 0:n]
    for i in range(K):
        moved = np.transpose(np.reshape(y, (R**i, R, R ** (K - i - 1))), axes=(1, 0, 2))
        factors = np.empty((R, R**i, R ** (K - i - 1)), dtype=np.complex128)
        powers = np.exp(-2.0j * np.pi * rows[:, : R**i] * columns[:, : R**i] / R ** (i + 1))
        factors[:] = np.repeat(np.reshape(powers, (R, R**i, 1)), R ** (K - i - 1), axis=2)
        y[:] = np.reshape(butterfly @ np.reshape(moved * factors, (R, R ** (K - 1))), (n,))
    return y


# ---- calls ----

SCALE = 3.0


def scaled(x, by=SCALE):
    return x * by


rectified = lambda x: np.maximum(x, 0.25)  # noqa: E731


def smoothed(x):
    y = x.copy()
    for i in range(1, len(x) - 1):
        y[i] = (x[i - 1] + scaled(x[i]) + x[i + 1]) / (2 + SCALE)
    return y


def set_ends(x, value):
    x[0] = value
    x[-1] = value


@case(lambda r: (r.random(9), 4))
def with_plain_functions(x, steps):
    for _ in range(steps):
        x[:] = smoothed(x)
        set_ends(x, scaled(0.5, by=2))
    return scaled(rectified(x)).max()
