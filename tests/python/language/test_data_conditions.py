"""Conditions on data: of a computation's elements, and of its pieces."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

N, M = tw.params("N M")
i, j, k = tw.iters("i j k")
A = tw.input("A", [N], tw.float64)
old = tw.input("old", [N], tw.float64)
mask = tw.input("mask", [N], tw.bool)
at = tw.input("at", [N], tw.int64)


def result(f: tw.Function, **arrays: np.ndarray) -> np.ndarray:
    got = f(**arrays)
    np.testing.assert_array_equal(got, f.evaluate(**arrays))
    return got


def test_where_reads_data():
    C = tw.computation("C", {i: N}, A[i] * 2, where=mask[i], otherwise=old[i])
    f = tw.function("f", outputs=[C])
    a, o, m = np.arange(5.0), -np.arange(5.0), np.array([1, 0, 1, 1, 0], bool)
    np.testing.assert_array_equal(result(f, A=a, old=o, mask=m), np.where(m, 2 * a, o))
    C.vectorize(i, 4)
    np.testing.assert_array_equal(result(f, A=a, old=o, mask=m), np.where(m, 2 * a, o))


def test_in_place_of_the_others():
    C = tw.computation("C", {i: N}, A[i] * 2, where=mask[i], otherwise=old[i])
    f = tw.function("f", outputs=[C])
    a, o, m = np.arange(5.0), -np.arange(5.0), np.array([1, 0, 1, 1, 0], bool)
    wanted = np.where(m, 2 * a, o)
    assert f(A=a, old=o, mask=m, out=o) is o
    np.testing.assert_array_equal(o, wanted)


def test_parts_are_asked_in_order():
    C = tw.computation(
        "C", {i: N}, A[at[i]], where=(at[i] >= 0) & (at[i] < N) & mask[at[i]], otherwise=-1
    )
    f = tw.function("f", outputs=[C])
    a, m = np.arange(4.0), np.array([1, 1, 0, 1], bool)
    where = np.array([3, -5, 2, 99])
    np.testing.assert_array_equal(result(f, A=a, mask=m, at=where), [3, -1, -1, -1])


def test_affine_parts_choose_too():
    C = tw.computation("C", {i: N, j: N}, A[i - j], where=(j <= i) & mask[j], otherwise=0)
    f = tw.function("f", outputs=[C])
    a, m = np.arange(1.0, 5.0), np.array([1, 0, 1, 1], bool)
    r = np.arange(4)
    wanted = np.where((r[None] <= r[:, None]) & m[None], a[r[:, None] - r[None]], 0)
    np.testing.assert_array_equal(result(f, A=a, mask=m), wanted)


def test_otherwise_of_an_affine_condition():
    C = tw.computation("C", {i: N}, A[i - 1], where=i > 0, otherwise=7)
    f = tw.function("f", outputs=[C])
    np.testing.assert_array_equal(result(f, A=np.arange(3.0)), [7, 0, 1])


def test_the_first_piece_that_holds():
    C = tw.computation("C", {i: N}, [(A[i] < 0, -1), (A[i] > 2, 2.5), (mask[i], A[i]), (None, 0)])
    assert C.dtype is tw.float64
    f = tw.function("f", outputs=[C])
    a, m = np.array([-3.0, 1, 5, 2, 1]), np.array([0, 1, 1, 0, 0], bool)
    np.testing.assert_array_equal(result(f, A=a, mask=m), [-1, 1, 2.5, 0, 0])


def test_pieces_with_otherwise():
    C = tw.computation("C", {i: N}, [(A[i] < 0, -A[i]), (i == 0, old[i])], otherwise=1.0)
    f = tw.function("f", outputs=[C])
    a, o = np.array([3.0, -1, 5]), np.array([9.0, 9, 9])
    np.testing.assert_array_equal(result(f, A=a, old=o), [9, 1, 1])


def test_a_recurrence_that_data_decide_about():
    S = tw.computation(
        "S",
        {i: N},
        lambda S: [(i == 0, A[0]), (mask[i], S[i - 1] + A[i]), (None, A[i])],
        dtype=tw.float64,
    )
    f = tw.function("segments", outputs=[S])
    a, m = np.arange(1.0, 7.0), np.array([0, 1, 1, 0, 1, 0], bool)
    np.testing.assert_array_equal(result(f, A=a, mask=m), [1, 3, 6, 4, 9, 6])


def test_reductions_of_chosen_elements():
    C = tw.computation(
        "C", {i: N}, tw.sum(A[k] * A[i], over={k: N}), where=mask[i], otherwise=old[i]
    )
    f = tw.function("f", outputs=[C])
    a, o, m = np.arange(5.0), -np.arange(5.0), np.array([1, 0, 1, 1, 0], bool)
    np.testing.assert_allclose(f(A=a, old=o, mask=m), np.where(m, a * a.sum(), o))


def test_what_is_refused():
    with pytest.raises(
        tw.DeclarationError,
        match=r"C is an output, and data decide .* mask\[i\]; say what the others are, otherwise=0",
    ):
        tw.function("f", outputs=[tw.computation("C", {i: N}, A[i], where=mask[i])])
    with pytest.raises(tw.DeclarationError, match=r"end them with\s+\(None, value\)"):
        tw.computation("C", {i: N}, [(A[i] < 0, -1.0), (A[i] > 0, 1.0)])
    with pytest.raises(tw.DeclarationError, match="must be the last one"):
        tw.computation("C", {i: N}, [(None, 0.0), (A[i] > 0, 1.0), (None, 2.0)])
    with pytest.raises(tw.DeclarationError, match="otherwise= of C is for elements that"):
        tw.computation("C", {i: N}, A[i], otherwise=0)
    with pytest.raises(tw.DeclarationError, match="drop where= and otherwise="):
        tw.computation("[N] -> { C[i] : 0 <= i < N }", A[i], otherwise=0)
    with pytest.raises(tw.DeclarationTypeError, match="must be a condition"):
        tw.computation("C", {i: N}, A[i], where=A[i], otherwise=0)
