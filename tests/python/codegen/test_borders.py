"""Stencils with borders: whatever becomes of their tests and clamped subscripts, the values are those of the evaluator
and of NumPy, at sizes that have an inside and at those that are all border."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tilewright as tw

t, i, j, k = tw.iters("t i j k")
N, M, K = tw.params("N M K", "N >= 1 and M >= 1 and K >= 1")

SCHEDULES: dict[str, Callable[[tw.ComputationHandle, tuple[tw.Iterator, ...]], object]] = {
    "plain": lambda c, loops: c,
    "vector": lambda c, loops: c.vectorize(loops[-1], 8),
    "parallel": lambda c, loops: c.vectorize(loops[-1], 4).parallelize(
        loops[0] if len(loops) > 1 else "i0"
    ),
    "reverse": lambda c, loops: c.reverse(loops[-1]),
    "tiled": lambda c, loops: (
        c.tile(loops[-2], loops[-1], 5, 16).vectorize(f"{loops[-1].name}1", 8)
        if len(loops) > 1
        else c.split(loops[0], 12)
    ),
    "unrolled": lambda c, loops: c.split(loops[-1], 4).unroll(f"{loops[-1].name}1"),
}

LINE = [1, 2, 3, 7, 8, 9, 17, 33, 100]
PLANE = [(1, 1), (1, 9), (2, 2), (3, 8), (7, 17), (9, 40), (33, 1), (5, 23)]
SPACE = [(1, 1, 1), (2, 3, 4), (3, 3, 9), (4, 6, 21), (5, 2, 17)]


def check(function: tw.Function, given: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(function(given), expected, rtol=1e-6)
    if given.size < 300:
        np.testing.assert_allclose(function.evaluate(given), expected, rtol=1e-6)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_line_with_cases(schedule: str) -> None:
    A = tw.input("A", [N], tw.float64)
    B = tw.computation(
        "B",
        {i: N},
        [
            ((i > 0) & (i < N - 1), A[i - 1] + 2 * A[i] + A[i + 1]),
            (i == 0, A[i]),
            ((i == N - 1) & (i > 0), -A[i]),
        ],
    )
    f = tw.function("line", outputs=[B])
    SCHEDULES[schedule](B, (i,))
    for size in LINE:
        a = np.random.default_rng(size).random(size)
        expected = -a
        expected[0] = a[0]
        expected[1:-1] = a[:-2] + 2 * a[1:-1] + a[2:]
        check(f, a, expected)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("clamped", [True, False])
def test_plane(schedule: str, clamped: bool) -> None:
    A = tw.input("A", [N, M], tw.float32)
    total: tw.Expression | None = None
    for di in (-1, 0, 1):
        for dj in (-2, 0, 1):
            row, column = i + di, j + dj
            if clamped:
                term = A[tw.clamp(row, 0, N - 1), tw.clamp(column, 0, M - 1)]
            else:
                inside = (row >= 0) & (row < N) & (column >= 0) & (column < M)
                term = tw.select(inside, A[row, column], 0.0)
            total = term if total is None else total + term
    B = tw.computation("B", {i: N, j: M}, total)
    f = tw.function("plane", outputs=[B])
    SCHEDULES[schedule](B, (i, j))
    for size in PLANE:
        a = np.random.default_rng(size).random(size, dtype=np.float32)
        padded = np.pad(a, ((1, 1), (2, 1)), mode="edge" if clamped else "constant")
        n, m = size
        expected = sum(
            padded[1 + di : 1 + di + n, 2 + dj : 2 + dj + m]
            for di in (-1, 0, 1)
            for dj in (-2, 0, 1)
        )
        check(f, a, np.asarray(expected))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_space_with_cases(schedule: str) -> None:
    A = tw.input("A", [N, M, K], tw.float64)
    inside = (i > 0) & (i < N - 1) & (j > 0) & (j < M - 1) & (k > 0) & (k < K - 1)
    around = (
        A[i - 1, j, k]
        + A[i + 1, j, k]
        + A[i, j - 1, k]
        + A[i, j + 1, k]
        + A[i, j, k - 1]
        + A[i, j, k + 1]
    )
    B = tw.computation("B", {i: N, j: M, k: K}, [(inside, around), (~inside, A[i, j, k])])
    f = tw.function("space", outputs=[B])
    SCHEDULES[schedule](B, (i, j, k))
    for size in SPACE:
        a = np.random.default_rng(size).random(size)
        expected = a.copy()
        expected[1:-1, 1:-1, 1:-1] = (
            a[:-2, 1:-1, 1:-1]
            + a[2:, 1:-1, 1:-1]
            + a[1:-1, :-2, 1:-1]
            + a[1:-1, 2:, 1:-1]
            + a[1:-1, 1:-1, :-2]
            + a[1:-1, 1:-1, 2:]
        )
        check(f, a, expected)


@pytest.mark.parametrize("tile", [2, 16])
def test_time_tiled_heat(tile: int) -> None:
    T = tw.param("T", "T >= 1")
    n, m = tw.params("n m", "n >= 3 and m >= 3")
    A = tw.input("A", [n, m], tw.float32)
    inside = (t > 0) & (i > 0) & (i < n - 1) & (j > 0) & (j < m - 1)
    H = tw.computation(
        "H",
        {t: T + 1, i: n, j: m},
        lambda H: [
            (
                inside,
                0.5 * H[t - 1, i, j]
                + 0.125
                * (
                    H[t - 1, i - 1, j]
                    + H[t - 1, i + 1, j]
                    + H[t - 1, i, j - 1]
                    + H[t - 1, i, j + 1]
                ),
            ),
            (~inside, A[i, j]),
        ],
        dtype=tw.float32,
    )
    O = tw.computation("O", {i: n, j: m}, H[T, i, j])
    f = tw.function("heat", outputs=[O])
    H.storage_fold(t, 2)
    H.skew(t, i).tile(t, i, tile, tile, "t0", "i0", "t1", "i1")
    H.vectorize(j, 16)
    for (rows, columns), steps in [((3, 3), 1), ((5, 40), 3), ((33, 70), 20), ((19, 47), 33)]:
        a = np.random.default_rng(rows).random((rows, columns), dtype=np.float32)
        h = a.copy()
        for _ in range(steps):
            g = h.copy()
            around = h[:-2, 1:-1] + h[2:, 1:-1] + h[1:-1, :-2] + h[1:-1, 2:]
            g[1:-1, 1:-1] = np.float32(0.5) * h[1:-1, 1:-1] + np.float32(0.125) * around
            h = g
        np.testing.assert_allclose(f(a, T=steps), h, rtol=1e-4)


def test_the_inside_of_a_stencil_is_one_straight_vector_loop() -> None:
    A = tw.input("A", [N, M], tw.float32)
    left, right = tw.clamp(j - 1, 0, M - 1), tw.clamp(j + 1, 0, M - 1)
    B = tw.computation("B", {i: N, j: M}, A[i, left] + A[i, right])
    f = tw.function("straight", outputs=[B])
    B.vectorize(j, 8)
    # Two contiguous loads and a store, no gathered element between them.
    text = f.llvm
    assert text.count("load <8 x float>") >= 2
    assert "store <8 x float>" in text


def test_elements_that_keep_their_value_are_not_copied() -> None:
    A = tw.input("A", [N], tw.float32)
    W = tw.computation("W", {i: N}, [(i % 2 == 0, A[i] * 2), (i % 2 == 1, A[i])])
    f = tw.function("keep", outputs=[W])
    W.store_in("A[i]")
    assert f.loops.count("=") == 1, f.loops
    a = np.arange(9, dtype=np.float32)
    expected = np.where(np.arange(9) % 2 == 0, 2 * a, a)
    np.testing.assert_array_equal(f.evaluate(a), expected)
    np.testing.assert_array_equal(f(a, out=a), expected)
