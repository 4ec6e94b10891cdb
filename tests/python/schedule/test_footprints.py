"""What compute_at computes: the elements that are read, in one plain loop where their set has seams or cut corners."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
from fuzz.checked_loops import run_loops

i, j, k = tw.iters("i j k")


def loops_over(function: tw.Function, target: str) -> int:
    """The number of statements that store into `target`."""
    return len(re.findall(rf"^\s*{target}\[.*\] = ", function.loops, re.MULTILINE))


@pytest.mark.parametrize("least", [21, 19])
def test_shifted_reads_join(least: int) -> None:
    """Seven intervals: from M = 21 on they cover a row; below, a few elements in gaps are computed besides."""
    n, m = tw.params("N M", f"N >= 8 and M >= {least}")
    A = tw.input("A", [n, m], tw.float32)
    V = tw.computation("V", {i: n - 6, j: m}, A[i, j] + A[i + 6, j])
    total = V[i, j]
    for shift in range(3, 19, 3):
        total = total + V[i, j + shift]
    C = tw.computation("C", {i: n - 6, j: m - 18}, total)
    f = tw.function("separable", outputs=[C])
    C.parallelize(i)
    V.compute_at(C, i)
    V.store_at(C, i)
    V.vectorize(j, 16)
    C.vectorize(j, 16)
    assert loops_over(f, "V") == 1, f.loops
    assert "for j1 in range(0, min(16, M - 16 * j0)):" in f.loops
    for size in [(8, least), (8, 20), (9, 50), (20, 100)]:
        if size[1] < least:
            continue
        a = np.random.default_rng(size).random(size, dtype=np.float32)
        v = a[:-6] + a[6:]
        expected = sum(v[:, s : s + size[1] - 18] for s in range(0, 19, 3))
        np.testing.assert_allclose(f(a), expected, rtol=1e-5)
        np.testing.assert_allclose(f.evaluate(a), expected, rtol=1e-5)


def star(store: bool) -> tuple[tw.Function, tw.ComputationHandle, tw.ComputationHandle]:
    n, m = tw.params("N M", "N >= 3 and M >= 3")
    A = tw.input("A", [n, m], tw.float32)
    V = tw.computation("V", {i: n, j: m}, A[i, j] * 2)
    around = V[i, j + 1] + V[i + 2, j + 1] + V[i + 1, j] + V[i + 1, j + 2]
    C = tw.computation("C", {i: n - 2, j: m - 2}, V[i + 1, j + 1] + around)
    f = tw.function("star", outputs=[C])
    C.tile(i, j, 16, 16)
    V.compute_at(C, "j0")
    if store:
        V.store_at(C, "j0")
    return f, V, C


@pytest.mark.parametrize("store", [True, False])
def test_corners(store: bool) -> None:
    """A tile's star reads a square without corners: with memory of its own, the tile computes the square."""
    f, V, _ = star(store)
    V.vectorize(j, 8)
    assert ("N + M" not in f.loops) == store
    for size in [(3, 3), (18, 19), (40, 50)]:
        a = np.random.default_rng(size).random(size, dtype=np.float32)
        v = 2 * a
        expected = v[1:-1, 1:-1] + v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:]
        np.testing.assert_allclose(f(a), expected, rtol=1e-5)


def test_far_reads_stay_apart() -> None:
    """Between two elements that are far apart nothing is computed."""
    n = tw.param("N", "N >= 1")
    A = tw.input("A", [2 * n], tw.float64)
    V = tw.computation("V", {i: 2 * n}, A[i] * A[i])
    C = tw.computation("C", {i: n}, V[i] + V[i + n])
    f = tw.function("apart", outputs=[C])
    V.compute_at(C, i)
    V.store_at(C, i)
    assert loops_over(f, "V") == 2 or "range(i, " not in f.loops, f.loops
    a = np.random.default_rng(0).random(24)
    np.testing.assert_allclose(f(a), a[:12] ** 2 + a[12:] ** 2)


def test_triangles_stay_triangles() -> None:
    """A box around a triangle would double the work."""
    n = tw.param("N", "N >= 1")
    A = tw.input("A", [n, n], tw.float64)
    V = tw.computation("V", {i: n, j: n}, A[i, j] * 2)
    C = tw.computation("C", {k: 1, i: n, j: i + 1}, V[i, j])
    f = tw.function("triangle", outputs=[C])
    V.compute_at(C, k)
    V.store_at(C, k)
    assert "range(0, i + 1)" in f.loops, f.loops


def test_only_elements_that_there_are() -> None:
    """The producer has a hole, which no hull may fill."""
    n = tw.param("N", "N >= 10")
    A = tw.input("A", [n], tw.float64)
    V = tw.computation("V", {i: n}, [(i < 4, A[i]), (i > 4, A[i] * 3)])
    C = tw.computation("C", {k: 2, i: n}, [(i < 4, V[i] + k), (i > 4, V[i] - k), (i == 4, 0.0)])
    f = tw.function("hole", outputs=[C])
    V.compute_at(C, k)
    V.store_at(C, k)
    a = np.random.default_rng(0).random(12)
    np.testing.assert_allclose(f(a), f.evaluate(a))


def test_nothing_more_where_order_matters() -> None:
    """V reads X, which the same loop computes: elements of X of later iterations are not there yet."""
    n = tw.param("N", "N >= 3")
    A = tw.input("A", [n + 4], tw.float64)
    X = tw.computation("X", {i: n + 4}, A[i] * 2)
    V = tw.computation("V", {i: n + 4}, X[i] + 1)
    C = tw.computation("C", {i: n}, V[i] + V[i + 2] + V[i + 4])
    f = tw.function("order", outputs=[C])
    V.compute_at(C, i)
    V.store_at(C, i)
    a = np.random.default_rng(0).random(20)
    v = 2 * a + 1
    np.testing.assert_allclose(f(a), v[:-4] + v[2:-2] + v[4:])


def test_computed_subscripts_are_not_computed_for_more() -> None:
    """An index that nobody asks for may be out of range."""
    n = tw.param("N", "N >= 9")
    A = tw.input("A", [n], tw.float64)
    P = tw.input("P", [n], tw.int64)
    V = tw.computation("V", {i: n}, A[P[i]])
    C = tw.computation("C", {k: 2}, V[4 * k] + V[4 * k + 1] + V[4 * k + 3] + V[4 * k + 4])
    f = tw.function("indirect", outputs=[C])
    V.compute_at(C, k)
    V.store_at(C, k)
    a = np.random.default_rng(0).random(9)
    p = np.arange(9)
    p[2] = p[6] = 1000
    np.testing.assert_allclose(f(a, p), [a[0] + a[1] + a[3] + a[4], a[4] + a[5] + a[7] + a[8]])


@pytest.mark.parametrize("width", [2, 3, 5])
@pytest.mark.parametrize("terms", [True, False])
def test_where_a_copy_begins(width: int, terms: bool) -> None:
    """If a short loop's first iteration reads nothing in some tiles, each copy begins where it reads."""
    n = tw.param("N", "N >= 0")
    A = tw.input("A", [n, n], tw.int64)
    if terms:
        value = A[j - 1, j + 1] + tw.max(A[k + 1, k], over={k: (1, n - j)}, initial=0)
        C = tw.computation("C", {j: (1, (n + 1) // 2)}, value)
    else:
        around = tw.maximum(A[k + 1, j], A[j - 1, k + 1])
        C = tw.computation("C", {j: (1, (n + 1) // 2), k: (1, n - j)}, around)
    f = tw.function("f", outputs=[C])
    C.split(j, width)
    C.cache(A, "j1")
    run_loops(f, *({"N": size} for size in range(13)))
    a = np.random.default_rng(0).integers(0, 1000, (12, 12))
    np.testing.assert_array_equal(f(a), f.evaluate(a))
