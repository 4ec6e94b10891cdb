"""Periodic subscripts, `A[(i + 1) % N]`: remainders by a size of what is a few periods away are choices of affine
functions, in declarations, in Python loops and in C."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

N, M, T = tw.params("N M T")
i, j, t = tw.iters("i j t")


@pytest.mark.parametrize("size", [(1, 1), (1, 5), (2, 3), (7, 40)])
@pytest.mark.parametrize("offset", [(1, -1), (-2, 3), (0, 4), (3, -3), (9, -9)])
def test_rolled_arrays(size: tuple[int, int], offset: tuple[int, int]) -> None:
    a = tw.input("a", [N, M], tw.float64)
    rolled = tw.computation("rolled", {i: N, j: M}, a[(i + offset[0]) % N, (j + offset[1]) % M])
    given = np.random.default_rng(1).random(size)
    expected = np.roll(given, (-offset[0], -offset[1]), (0, 1))
    f = tw.function("roll", outputs=[rolled])
    np.testing.assert_array_equal(f(given), expected)
    np.testing.assert_array_equal(f.evaluate(given), expected)


def test_a_periodic_stencil_has_vectors_and_exact_dependences() -> None:
    a = tw.input("a", [M], tw.float64)

    def steps(u: Any) -> Any:
        return [(t == 0, a[j]), (t > 0, 0.5 * (u[t - 1, (j - 1) % M] + u[t - 1, (j + 1) % M]))]

    u = tw.computation("u", {t: T + 1, j: M}, steps, dtype=tw.float64)
    last = tw.computation("last", {j: M}, u[T, j])
    f = tw.function("ring", outputs=[last])
    assert 'u.vectorize("j", 8)' in str(f.default_schedule)
    assert "%" not in f.loops
    # Each instance reads two of the step before.
    pairs = {
        (tuple(reader), tuple(read)) for reader, read in u.reads.pairs(M=5, T=1) if read.name == "u"
    }
    assert pairs == {((1, k), (0, (k + d) % 5)) for k in range(5) for d in (1, -1)}
    given = np.random.default_rng(2).random(33)
    expected = given
    for _ in range(6):
        expected = 0.5 * (np.roll(expected, 1) + np.roll(expected, -1))
    np.testing.assert_array_equal(f(given, T=6), expected)


def test_quotients_count_the_rounds() -> None:
    a = tw.input("a", [N], tw.int64)
    rounds = tw.computation("rounds", {i: N, j: (-N, 2 * N)}, a[i] + (i + j) // N)
    f = tw.function("rounds", outputs=[tw.computation("shown", {i: N, j: 3 * N}, rounds[i, j - N])])
    given = np.arange(6)
    expected = given[:, None] + (given[:, None] + np.arange(-6, 12)) // 6
    np.testing.assert_array_equal(f(given), expected)
    assert "// N" not in f.loops


def neighbours(a, b):  # type: ignore[no-untyped-def]
    n, m = a.shape
    for x in range(n):
        for y in range(m):
            s = 0
            for p in range(-1, 2):
                for q in range(-1, 2):
                    if p != 0 or q != 0:
                        s += a[(x + p) % n, (y + q) % m]
            b[x, y] = s


def in_place(steps, a):  # type: ignore[no-untyped-def]
    n = a.shape[0]
    for _ in range(steps):
        for x in range(n):
            a[x] = 0.25 * a[(x - 1) % n] + 0.5 * a[x] + 0.25 * a[(x + 1) % n]


@pytest.mark.parametrize("size", [(1, 1), (1, 4), (2, 2), (6, 9), (5, 5)])
def test_python_loops_over_a_torus(size: tuple[int, int]) -> None:
    given = np.random.default_rng(3).integers(0, 2, size)
    expected, found = np.zeros_like(given), np.zeros_like(given)
    neighbours(given, expected)
    tw.jit(neighbours)(given, found)
    np.testing.assert_array_equal(found, expected)
    expected, found = np.random.default_rng(4).random((2, size[1])), np.empty((2, size[1]))
    found[:] = expected
    in_place(3, expected[0])
    tw.jit(in_place)(3, found[0])
    np.testing.assert_array_equal(found, expected)


def test_loops_of_c_over_a_torus() -> None:
    program = tw.c.load("""
    void rows(int n, int m, double a[n][m], double b[n][m]) {
    #pragma scop
      for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
          b[i][j] = a[(i + n - 1) % n][j] + a[(i + 1) % n][(j + m - 1) % m];
    #pragma endscop
    }""")
    for size in ((1, 1), (1, 2), (5, 7), (3, 40)):
        given, found = np.random.default_rng(5).random(size), np.zeros(size)
        program.rows(*size, given, found)
        expected = np.roll(given, 1, 0) + np.roll(given, (-1, 1), (0, 1))
        np.testing.assert_array_equal(found, expected)


def test_what_may_be_many_periods_away_stays_a_remainder() -> None:
    a = tw.input("a", [N], tw.float64)
    far = tw.computation("far", {i: N, j: M}, a[(i + j) % N])
    f = tw.function("circulant", outputs=[far])
    assert "%" in f.loops
    given = np.random.default_rng(6).random(4)
    expected = given[(np.arange(4)[:, None] + np.arange(30)) % 4]
    np.testing.assert_array_equal(f(given, M=30), expected)
