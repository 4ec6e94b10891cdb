"""Recurrences whose innermost iterations wait for each other: chains of them run side by side.

Values are compared with plain loops in Python, bit for bit, at sizes around those of strips and tiles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw

Array = np.ndarray[Any, Any]
SIZES = ((3, 3), (4, 19), (9, 8), (17, 5), (26, 41), (70, 66))

N, M, T = tw.params("N M T", "N >= 3 and M >= 3 and T >= 1")
i, j, t = tw.iters("i j t")
A = tw.input("A", [N, M], tw.float64)


def average() -> tw.Function:
    """Gauss-Seidel on nine points: a row needs one more column of the row before it."""

    def step(x: Any) -> Any:
        new = x[t, i - 1, j - 1] + x[t, i - 1, j] + x[t, i - 1, j + 1] + x[t, i, j - 1]
        old = x[t - 1, i, j] + x[t - 1, i, j + 1] + x[t - 1, i + 1, j]
        inside = (i > 0) & (i < N - 1) & (j > 0) & (j < M - 1)
        return [(t == 0, A[i, j]), (t > 0, tw.select(inside, (new + old) / 7.0, x[t - 1, i, j]))]

    x = tw.computation("X", {t: T + 1, i: N, j: M}, step, dtype=tw.float64)
    return tw.function(
        "average", outputs=[tw.computation("R", {i: N, j: M}, x[T, i, j])], context=[T >= 1]
    )


def average_of(a: Array, steps: int) -> Array:
    x = a.copy()
    for _ in range(steps):
        for r in range(1, a.shape[0] - 1):
            for s in range(1, a.shape[1] - 1):
                new = x[r - 1, s - 1] + x[r - 1, s] + x[r - 1, s + 1] + x[r, s - 1]
                x[r, s] = (new + (x[r, s] + x[r, s + 1] + x[r + 1, s])) / 7.0
    return x


def path() -> tw.Function:
    """The cheapest path from a corner: all of the table is a result."""

    def cell(d: Any) -> Any:
        best = tw.minimum(d[i - 1, j - 1], tw.minimum(d[i - 1, j], d[i, j - 1]))
        return [((i == 0) | (j == 0), A[i, j]), ((i > 0) & (j > 0), A[i, j] + best)]

    d = tw.computation("X", {i: N, j: M}, cell, dtype=tw.float64)
    return tw.function("path", outputs=[d])


def path_of(a: Array, _: int) -> Array:
    d = a.copy()
    for r in range(1, a.shape[0]):
        for s in range(1, a.shape[1]):
            d[r, s] = a[r, s] + min(d[r - 1, s - 1], d[r - 1, s], d[r, s - 1])
    return d


def filtered() -> tw.Function:
    """A filter along each row: rows are chains that need no skew."""

    def cell(y: Any) -> Any:
        return [(j == 0, A[i, 0]), (j > 0, 0.75 * y[i, j - 1] + 0.25 * A[i, j])]

    y = tw.computation("X", {i: N, j: M}, cell, dtype=tw.float64)
    return tw.function("filtered", outputs=[y])


def filtered_of(a: Array, _: int) -> Array:
    y = a.copy()
    for s in range(1, a.shape[1]):
        y[:, s] = 0.75 * y[:, s - 1] + 0.25 * a[:, s]
    return y


PROGRAMS: dict[str, tuple[Callable[[], tw.Function], Callable[[Array, int], Array], int]] = {
    "average": (average, average_of, 2),
    "path": (path, path_of, 1),
    "filtered": (filtered, filtered_of, 0),
}


def unlimited(f: tw.Function) -> tw.Function:
    """The schedule that it has, also for calls of little work."""
    copy = f.copy()
    copy.when_work(0)
    return copy


def arguments(name: str, size: tuple[int, int]) -> tuple[Array, dict[str, int]]:
    a = np.random.default_rng(sum(size)).random(size)
    return a, {"T": 3} if name == "average" else {}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("automatic", [False, True])
def test_bits_are_those_of_plain_loops(name: str, automatic: bool) -> None:
    declare, expected, skew = PROGRAMS[name]
    f = declare()
    if automatic:
        f.auto_schedule(tuned=False)
    else:
        f.default_schedule.apply_to(f)
    text = str(f.schedule)
    assert '.unroll("i' in text
    assert skew == 0 or f"{skew})" in text[text.rindex("skew") :].split("\n")[0]
    f = unlimited(f)
    for size in SIZES:
        a, more = arguments(name, size)
        np.testing.assert_array_equal(f(a, **more), expected(a, more.get("T", 0)))


def test_a_table_that_nobody_sees_stays_small() -> None:
    """Only the last element is a result: some rows are kept, whatever runs side by side."""

    def cell(d: Any) -> Any:
        best = tw.maximum(d[i - 1, j], d[i, j - 1])
        return [((i == 0) | (j == 0), 0.0), ((i > 0) & (j > 0), A[i - 1, j - 1] + best)]

    d = tw.computation("X", {i: N + 1, j: M + 1}, cell, dtype=tw.float64)
    f = tw.function("largest", outputs=[tw.computation("R", {}, d[N, M])])
    text = str(f.default_schedule)
    assert '.unroll("i1", 8)' in text
    rows = int(text.split('storage_fold("i", ')[1].split(")")[0])
    assert rows <= 16
    f.default_schedule.apply_to(f)
    f = unlimited(f)
    for size in SIZES:
        a = np.random.default_rng(1).random(size)
        table = np.zeros((size[0] + 1, size[1] + 1))
        for r in range(size[0]):
            for s in range(size[1]):
                table[r + 1, s + 1] = a[r, s] + max(table[r, s + 1], table[r + 1, s])
        assert f(a) == table[-1, -1]


def test_where_nothing_waits_loops_stay() -> None:
    """Each row needs the row before it, and its columns do not need each other: vectors."""

    def cell(d: Any) -> Any:
        return [(i == 0, A[0, j]), (i > 0, d[i - 1, j] + A[i, j])]

    d = tw.computation("X", {i: N, j: M}, cell, dtype=tw.float64)
    f = tw.function("sums", outputs=[d])
    assert "unroll" not in str(f.default_schedule)
    assert "vectorize" in str(f.default_schedule)


SOURCE = """
void align(int n, int m, const int a[n], const int b[m], int H[n + 1][m + 1]) {
  #pragma scop
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= m; j++) {
      int up = H[i - 1][j] - 2;
      int left = H[i][j - 1] - 2;
      int best = H[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 3 : -3);
      if (up > best) best = up;
      if (left > best) best = left;
      H[i][j] = best > 0 ? best : 0;
    }
  #pragma endscop
}
"""


def test_statements_of_c_run_side_by_side() -> None:
    f = tw.c.load(SOURCE).align
    f.auto_schedule()
    assert "run side by side" in f.explain()
    assert "# unroll" in f.loops
    for n, m in ((1, 1), (7, 30), (8, 8), (33, 17)):
        rng = np.random.default_rng(n)
        a, b = (rng.integers(0, 3, size, dtype=np.int32) for size in (n, m))
        scores = np.zeros((n + 1, m + 1), np.int32)
        expected = scores.copy()
        for r in range(1, n + 1):
            for s in range(1, m + 1):
                found = expected[r - 1, s - 1] + (3 if a[r - 1] == b[s - 1] else -3)
                expected[r, s] = max(found, expected[r - 1, s] - 2, expected[r, s - 1] - 2, 0)
        f(n, m, a, b, scores)
        np.testing.assert_array_equal(scores, expected)


def test_sums_in_one_element_are_no_chains() -> None:
    """Their terms have loops of their own."""
    f = tw.c.load("""
void product(int n, const double A[n][n], const double x[n], double y[n]) {
  #pragma scop
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++)
      y[i] = y[i] + A[i][k] * x[k];
  #pragma endscop
}
""").product
    f.auto_schedule()
    assert "side by side, each" not in f.explain()
    assert "since those of k wait for each other" not in f.explain()
