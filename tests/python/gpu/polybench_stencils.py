"""PolyBench's stencils, adi apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from polybench_common import F, M, N, T, emulated, i, j, k, kernel, matrix, t

import tilewright as tw

# ---- Stencils ----


def steps_of(x: np.ndarray, steps: int, step: Callable[[np.ndarray, np.ndarray], None]) -> Any:
    for _ in range(steps):
        old, x = x, x.copy()
        step(x, old)
    return x


def interior(*iterators: tw.Iterator) -> Any:
    """Whether none of the iterators is 0 or N - 1."""
    first, *others = iterators
    result = (first > 0) & (first < N - 1)
    for other in others:
        result = result & (other > 0) & (other < N - 1)
    return result


def jacobi_1d_step(new: np.ndarray, a: np.ndarray) -> None:
    new[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])


@kernel(
    "jacobi-1d",
    "the mean of three neighbours, 2 T times",
    lambda n: {"A": matrix(3 * n), "T": 5},
    lambda A, T: steps_of(A, 2 * T, jacobi_1d_step),
)
def jacobi_1d() -> tw.Function:
    A = tw.input("A", [N], F)

    def mean(x: tw.Computation) -> Any:
        return x[t - 1, i - 1] + x[t - 1, i] + x[t - 1, i + 1]

    X = tw.computation(
        "X",
        {t: 2 * T + 1, i: N},
        lambda x: [
            (t == 0, A[i]),
            (t > 0, tw.select(interior(i), 0.33333 * mean(x), x[t - 1, i])),
        ],
        dtype=F,
    )
    R = tw.computation("R", {i: N}, X[2 * T, i])
    f = emulated("jacobi_1d", R, context=[N > 2, T > 0])
    X.storage_fold(t, 2)
    X.gpu_tile(i, 32)
    R.gpu_tile(i, 32)
    return f


def jacobi_2d_step(new: np.ndarray, a: np.ndarray) -> None:
    new[1:-1, 1:-1] = 0.2 * (
        a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
    )


@kernel(
    "jacobi-2d",
    "the mean of five neighbours, 2 T times",
    lambda n: {"A": matrix(n, n), "T": 3},
    lambda A, T: steps_of(A, 2 * T, jacobi_2d_step),
)
def jacobi_2d() -> tw.Function:
    A = tw.input("A", [N, N], F)

    def mean(x: tw.Computation) -> Any:
        neighbours = x[t - 1, i, j] + x[t - 1, i, j - 1] + x[t - 1, i, j + 1]
        return 0.2 * (neighbours + x[t - 1, i + 1, j] + x[t - 1, i - 1, j])

    X = tw.computation(
        "X",
        {t: 2 * T + 1, i: N, j: N},
        lambda x: [
            (t == 0, A[i, j]),
            (t > 0, tw.select(interior(i, j), mean(x), x[t - 1, i, j])),
        ],
        dtype=F,
    )
    R = tw.computation("R", {i: N, j: N}, X[2 * T, i, j])
    f = emulated("jacobi_2d", R, context=[N > 2, T > 0])
    X.storage_fold(t, 2)
    X.gpu(i, j)
    R.gpu(i, j)
    return f


def heat_3d_step(new: np.ndarray, a: np.ndarray) -> None:
    c = a[1:-1, 1:-1, 1:-1]
    new[1:-1, 1:-1, 1:-1] = (
        0.125 * (a[2:, 1:-1, 1:-1] - 2 * c + a[:-2, 1:-1, 1:-1])
        + 0.125 * (a[1:-1, 2:, 1:-1] - 2 * c + a[1:-1, :-2, 1:-1])
        + 0.125 * (a[1:-1, 1:-1, 2:] - 2 * c + a[1:-1, 1:-1, :-2])
        + c
    )


@kernel(
    "heat-3d",
    "heat in three dimensions, 2 T steps",
    lambda n: {"A": matrix(n // 2 + 2, n // 2 + 2, n // 2 + 2), "T": 2},
    lambda A, T: steps_of(A, 2 * T, heat_3d_step),
)
def heat_3d() -> tw.Function:
    A = tw.input("A", [N, N, N], F)

    def next_value(x: tw.Computation) -> Any:
        c = x[t - 1, i, j, k]
        return (
            0.125 * (x[t - 1, i + 1, j, k] - 2 * c + x[t - 1, i - 1, j, k])
            + 0.125 * (x[t - 1, i, j + 1, k] - 2 * c + x[t - 1, i, j - 1, k])
            + 0.125 * (x[t - 1, i, j, k + 1] - 2 * c + x[t - 1, i, j, k - 1])
            + c
        )

    X = tw.computation(
        "X",
        {t: 2 * T + 1, i: N, j: N, k: N},
        lambda x: [
            (t == 0, A[i, j, k]),
            (t > 0, tw.select(interior(i, j, k), next_value(x), x[t - 1, i, j, k])),
        ],
        dtype=F,
    )
    R = tw.computation("R", {i: N, j: N, k: N}, X[2 * T, i, j, k])
    f = emulated("heat_3d", R, context=[N > 2, T > 0])
    X.storage_fold(t, 2)
    X.gpu(i, j, k)
    R.gpu(i, j, k)
    return f


def fdtd_2d_expected(
    ex: np.ndarray, ey: np.ndarray, hz: np.ndarray, fict: np.ndarray
) -> tuple[np.ndarray, ...]:
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for value in fict:
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ey[0] = value
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


@kernel(
    "fdtd-2d",
    "Maxwell's equations in two dimensions by finite differences, T steps",
    lambda n: {
        "ex": matrix(n, n + 2),
        "ey": matrix(n, n + 2) + 1,
        "hz": matrix(n, n + 2) - 1,
        "fict": matrix(4),
    },
    fdtd_2d_expected,
)
def fdtd_2d() -> tw.Function:
    ex, ey, hz = (tw.input(name, [N, M], F) for name in ("ex", "ey", "hz"))
    fict = tw.input("fict", [T], F)
    Y, X, H = (tw.computation(name, {t: T + 1, i: N, j: M}, dtype=F) for name in ("Y", "X", "H"))
    before = {c.name: c[t - 1, i, j] for c in (Y, X, H)}
    Y.define(t == 0, ey[i, j])
    along_i = before["Y"] - 0.5 * (before["H"] - H[t - 1, i - 1, j])
    Y.define(t > 0, tw.select(i == 0, fict[t - 1], along_i))
    X.define(t == 0, ex[i, j])
    along_j = before["X"] - 0.5 * (before["H"] - H[t - 1, i, j - 1])
    X.define(t > 0, tw.select(j == 0, before["X"], along_j))
    H.define(t == 0, hz[i, j])
    curl = X[t, i, j + 1] - X[t, i, j] + Y[t, i + 1, j] - Y[t, i, j]
    inside = (i < N - 1) & (j < M - 1)
    H.define(t > 0, tw.select(inside, before["H"] - 0.7 * curl, before["H"]))
    outputs = [tw.computation(f"R{c.name}", {i: N, j: M}, c[T, i, j]) for c in (X, Y, H)]
    f = emulated("fdtd_2d", *outputs, context=[N > 1, M > 1])
    for field in (Y, X, H):
        field.store_in(f"{field.name}_now[i, j]")
        field.gpu(i, j)
    for output in outputs:
        output.gpu(i, j)
    return f


def seidel_2d_expected(A: np.ndarray, T: int) -> np.ndarray:
    A = A.copy()
    for _ in range(T):
        for row in range(1, len(A) - 1):
            for column in range(1, len(A) - 1):
                A[row, column] = A[row - 1 : row + 2, column - 1 : column + 2].sum() / 9
    return A


@kernel(
    "seidel-2d",
    "the mean of nine neighbours in place, T times",
    lambda n: {"A": matrix(n, n), "T": 3},
    seidel_2d_expected,
)
def seidel_2d() -> tw.Function:
    A = tw.input("A", [N, N], F)

    def mean(x: tw.Computation) -> Any:
        new = x[t, i - 1, j - 1] + x[t, i - 1, j] + x[t, i - 1, j + 1] + x[t, i, j - 1]
        old = x[t - 1, i, j] + x[t - 1, i, j + 1]
        below = x[t - 1, i + 1, j - 1] + x[t - 1, i + 1, j] + x[t - 1, i + 1, j + 1]
        return (new + old + below) / 9

    X = tw.computation(
        "X",
        {t: T + 1, i: N, j: N},
        lambda x: [
            (t == 0, A[i, j]),
            (t > 0, tw.select(interior(i, j), mean(x), x[t - 1, i, j])),
        ],
        dtype=F,
    )
    R = tw.computation("R", {i: N, j: N}, X[T, i, j])
    f = emulated("seidel_2d", R, context=[N > 2, T > 0])
    # Waves 4 t + 2 i + j: all that an element reads is in an earlier one.
    X.skew(i, j, 2).skew(t, j, 4).reorder(j, t, i)
    X.store_in("A_now[i, j]")
    X.gpu(t, i)
    R.gpu(i, j)
    return f
