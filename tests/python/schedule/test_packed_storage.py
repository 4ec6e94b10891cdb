"""store_in with a packed triangle, "buffer[i*(i+1)//2 + j]"."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from programs import Program, check
from restructured import i, illegal, integers, j, k, nonsense, pair

import tilewright as tw

LENGTHS = [(0,), (1,), (2,), (5,), (8,), (17,), (33,)]


def triangles() -> Program:
    """B is the lower triangle of A + A.T, and C reads two of its elements."""
    n = tw.param("N")
    a = tw.input("A", [n, n], tw.int64)
    b = tw.computation("B", {i: n, j: n}, a[i, j] * 2 + a[j, i], where=j <= i)
    c = tw.computation("C", {i: n, j: n}, b[i, j] * b[i, 0], where=j <= i)

    def numpy(a: np.ndarray) -> np.ndarray:
        lower = np.tril(2 * a + a.T)
        return np.tril(lower * lower[:, :1])

    return Program(
        tw.function("triangles", outputs=[c]), lambda n: (integers((n, n), np.int64),), numpy
    )


@pytest.mark.parametrize(
    "place",
    [
        "buf[i*(i+1)//2 + j]",
        "buf[i * (i + 1) / 2 + j]",
        "buf[(i+1)*i//2+j]",
        "buf[i*(1+i)//2 + j]",
        "buf[j + i*(i+1)//2]",
    ],
)
def test_only_the_triangle_is_kept(place):
    program = triangles()
    program.function["B"].store_in(place)
    assert "buf = empty((N * (N + 1) // 2,), int64)" in str(program.function.loops)
    check(program, *LENGTHS)


def test_any_order_and_tags():
    program = triangles()
    program.function["B"].store_in("buf[i*(i+1)//2 + j]").interchange(i, j).parallelize(j)
    program.function["C"].vectorize(j, 8).parallelize(i)
    check(program, *LENGTHS)
    program = triangles()
    program.function["B"].store_in("buf[i*(i+1)//2 + j]").vectorize(j, 8)
    program.function["C"].after("B", i)
    check(program, *LENGTHS)


def test_a_buffer_and_an_expression():
    n = tw.param("N")
    buffer = tw.Buffer("buf", [n * (n + 1) // 2])
    first, second = triangles(), triangles()
    first.function["B"].store_in(buffer[i * (i + 1) // 2 + j])
    check(first, *LENGTHS)
    nonsense(
        second,
        lambda f: f["B"].store_in(tw.Buffer("buf", [n * n])[i * (i + 1) // 2 + j]),
        r"of N rows it is N\*\(N\+1\)//2",
    )


def test_an_upper_triangle_transposed_in_batches():
    n, m = tw.params("N M")
    a = tw.input("A", [m, n, n], tw.int32)
    b = tw.computation("B", {k: m, i: n, j: n}, a[k, i, j] + a[k, j, i], where=i <= j)
    c = tw.computation("C", {k: m, i: n, j: n}, b[k, i, j] * 2, where=i <= j)
    f = tw.function("upper", outputs=[c])
    f["B"].store_in("buf[k, j*(j+1)//2 + i]")
    assert "buf = empty((M, N * (N + 1) // 2), int32)" in str(f.loops)
    for m, n in ((0, 3), (2, 0), (1, 1), (3, 9)):
        given = integers((m, n, n))
        expected = np.triu(given + given.transpose(0, 2, 1)) * 2
        np.testing.assert_array_equal(f(given), expected)
        np.testing.assert_array_equal(f.evaluate(given), expected)


def test_a_triangle_without_its_diagonal():
    """Row i has i elements, which are those of row i - 1 of a whole triangle."""
    n = tw.param("N")
    a = tw.input("A", [n, n], tw.int64)
    b = tw.computation("B", {i: n, j: i}, a[i, j] + 2 * a[j, i])
    c = tw.computation("C", {i: n}, tw.sum(b[i, k], over={k: i}))
    f = tw.function("strict", outputs=[c])
    program = Program(
        f,
        lambda n: (integers((n, n), np.int64),),
        lambda a: np.tril(a + 2 * a.T, -1).sum(axis=1),
    )
    f["B"].store_in("buf[i*(i-1)//2 + j]")
    assert "max(0, N - 1)" in str(f.loops).splitlines()[0]
    assert "buf[(i - 1) * i // 2 + k]" in str(f.loops)
    check(program, *LENGTHS)
    f["B"].store_in("buf[(i + 1)*(i + 2)//2 + j]")
    check(program, *LENGTHS)
    f["B"].store_in(tw.Buffer("buf", [(n + 3) * (n + 4) // 2])[i * (i - 1) // 2 + j])
    check(program, *LENGTHS)
    nonsense(program, lambda f: f["B"].store_in("buf[(i-1)*(i-2)//2 + j]"), "0 <= j <= i")


def test_a_recurrence_over_a_packed_triangle():
    """Pascal's triangle: legality is asked of the elements [i, j]."""
    n = tw.param("N")
    p = tw.computation(
        "P",
        {i: n, j: n},
        lambda p: [
            ((j == 0) | (j == i), tw.int64(1)),
            ((j > 0) & (j < i), p[i - 1, j - 1] + p[i - 1, j]),
        ],
        where=j <= i,
        dtype=tw.int64,
    )
    c = tw.computation("C", {j: n}, p[n - 1, j])
    f = tw.function("pascal", outputs=[c])
    f["P"].store_in("rows[i*(i+1)//2 + j]")
    for n in (1, 2, 10):
        expected = [1]
        for _ in range(n - 1):
            expected = [1, *map(sum, itertools.pairwise(expected)), 1]
        np.testing.assert_array_equal(f(N=n), expected)
        np.testing.assert_array_equal(f.evaluate(N=n), expected)
    illegal(Program(f, lambda: (), lambda: None), lambda f: f["P"].reverse(i))


def test_two_computations_in_one_triangle():
    n = tw.param("N")
    a = tw.input("A", [n, n], tw.int64)
    b = tw.computation("B", {i: n, j: n}, a[i, j] + 1, where=j <= i)
    d = tw.computation("D", {i: n, j: n}, b[i, j] * 3, where=j <= i)
    c = tw.computation("C", {i: n, j: n}, d[i, j] - 1, where=j <= i)
    f = tw.function("chain", outputs=[c])
    program = Program(
        f, lambda n: (integers((n, n), np.int64),), lambda a: np.tril((a + 1) * 3 - 1)
    )
    with f.transaction():
        f["B"].store_in("buf[i*(i+1)//2 + j]")
        f["D"].store_in("buf[i*(i+1)//2 + j]")
    check(program, *LENGTHS)
    nonsense(program, lambda f: f["D"].store_in("buf[i, j]"), "is a packed triangle")


def test_other_places_afterwards():
    program = triangles()
    b = program.function["B"].store_in("buf[i*(i+1)//2 + j]")
    nonsense(program, lambda f: f["B"].storage_fold(i, 2), "packed triangle")
    b.compute_at("C", i).store_at("C", i)
    check(program, *LENGTHS)
    program = triangles()
    program.function["B"].store_in("buf[i*(i+1)//2 + j]").auto_allocate_map()
    assert "empty((N, N), int64)" in str(program.function.loops)
    check(program, *LENGTHS)


@pytest.mark.parametrize(
    ("name", "place", "message"),
    [
        ("B", "buf[j*(j+1)//2 + i]", r"0 <= j <= i, and here i = 0 and j = 1 \(N = 2\)"),
        ("B", "buf[i*(i+1)//2 + j + 1]", "0 <= j <= i"),
        ("B", "A[i*(i+1)//2 + j]", "2 dimensions|array of the caller"),
        ("C", "C[i*(i+1)//2 + j]", "array of the caller"),
        ("B", "buf[i*(i+2)//2 + j]", "affine"),
        ("B", "buf[i*(j+1)//2 + j]", "affine"),
        ("B", "buf[i*(i+1)//3 + j]", "affine"),
        ("B", "buf[Q*(Q+1)//2 + j]", "'Q' is neither an iterator of B\\[i,j\\] nor a parameter"),
    ],
)
def test_what_makes_no_sense(name, place, message):
    nonsense(triangles(), lambda f: f[name].store_in(place), message)


def test_a_rectangle_is_no_triangle():
    nonsense(pair(), lambda f: f["B"].store_in("buf[i*(i+1)//2 + j]"), "buffer\\[i, j\\]")
