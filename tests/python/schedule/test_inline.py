"""Computations without storage: the kernel, the evaluator and
NumPy agree at sizes that are empty, single and not multiples of anything; what makes no sense or
would change the result is refused."""

from __future__ import annotations

import numpy as np
import pytest
from programs import Program, check
from restructured import LENGTHS, SIZES, blur, i, integers, j, k, nonsense, pair, row_sums, stencils

import tilewright as tw


@pytest.mark.parametrize("make", [pair, blur])
def test_inline(make):
    program = make()
    program.function["B"].inline()
    assert program.function.computations == ["C"]
    assert "B" not in str(program.function.loops)
    check(program, *SIZES)


def test_inline_of_several_stages():
    program = stencils()
    program.function["B"].inline()
    program.function["A"].inline()
    check(program, *LENGTHS)
    other = stencils()
    other.function["A"].inline()
    other.function["B"].inline()
    check(other, *LENGTHS)


def test_what_is_read_at_several_places_is_computed_once():
    n = tw.param("N")
    a = tw.input("A", [n], tw.float64)
    b = tw.computation("B", {i: n}, tw.exp(a[i]))
    c = tw.computation("C", {i: n}, b[i] + 1 / b[i])
    d = tw.computation("D", {i: n}, c[i] * b[i] - c[i])
    f = tw.function("f", outputs=[d], default_schedule=False)
    f["C"].inline()  # readers first: both parts of C are those of D
    f["B"].inline()
    assert str(f.loops).count("exp(") == 1
    x = np.linspace(-1, 1, 9)
    e = np.exp(x)
    np.testing.assert_allclose(f(x), (e + 1 / e) * e - (e + 1 / e), rtol=1e-15)


def test_inline_of_what_exists_under_a_condition():
    n = tw.param("N")
    a = tw.input("A", [n], tw.float64)
    b = tw.computation("B", {i: n}, tw.sqrt(a[i]), where=a[i] > 0)
    c = tw.computation("C", {i: n}, tw.select(a[i] > 0, b[i], -1.0))
    f = tw.function("f", outputs=[c], default_schedule=False)
    f["B"].inline()
    x = np.array([4.0, -4.0, 0.0, 9.0])
    np.testing.assert_array_equal(f(x), [2, -1, -1, 3])
    assert str(f.loops).count("A[i] > 0") == 1  # it is not asked again


def test_inline_then_schedule():
    program = blur()
    program.function["B"].inline()
    program.function["C"].tile(i, j, 4, 8).parallelize("i0").vectorize("j1")
    check(program, *SIZES, (33, 70))


def test_inline_into_a_reduction():
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int64)
    b = tw.computation("B", {i: n, j: m}, a[i, j] * a[i, j])
    c = tw.computation("C", {i: n}, tw.sum(b[i, k], over={k: m}))
    program = Program(
        tw.function("f", outputs=[c]),
        lambda n, m: (integers((n, m), np.int64),),
        lambda a: (a * a).sum(axis=1),
    )
    program.function["B"].inline()
    program.function["C"].split(k, 4)
    check(program, *SIZES)


def test_inline_of_a_reduction():
    program = row_sums()
    program.function["S"].inline()
    check(program, *SIZES)


def test_inline_of_a_reduction_beside_an_iterator_of_its_name():
    """The reader's iterator k is not the reduced one."""
    n = tw.param("N")
    a = tw.input("A", [n, n], tw.int64)
    s = tw.computation("S", {i: n}, tw.sum(a[i, k], over={k: n}))
    c = tw.computation("C", {k: n}, s[k] + a[k, 0])
    program = Program(
        tw.function("f", outputs=[c]),
        lambda n: (integers((n, n), np.int64),),
        lambda a: a.sum(axis=1) + a[:, :1].sum(axis=1),
    )
    program.function["S"].inline()
    check(program, *LENGTHS)


def test_inline_keeps_the_type():
    """The value is rounded to the inlined computation's type before it is read."""
    n = tw.param("N")
    x = tw.input("x", [n], tw.float64)
    b = tw.computation("B", {i: n}, x[i] / 3, dtype=tw.float32)
    c = tw.computation("C", {i: n}, tw.cast(b[i], tw.float64) * 3)
    program = Program(
        tw.function("f", outputs=[c]),
        lambda n: (integers((n,), np.float64),),
        lambda x: (x / 3).astype(np.float32).astype(np.float64) * 3,
    )
    check(program, *LENGTHS)
    program.function["B"].inline()
    check(program, *LENGTHS)


def test_inline_that_makes_no_sense():
    nonsense(pair(), lambda f: f["C"].inline(), "C is an output")
    n = tw.param("N")
    x = tw.input("x", [n], tw.int32)
    b = tw.computation(
        "B", {i: n}, lambda b: [(i == 0, x[0]), (i > 0, b[i - 1] + x[i])], dtype=tw.int32
    )
    c = tw.computation("C", {i: n}, b[i] * 2)
    program = Program(tw.function("f", outputs=[c]), lambda n: (integers((n,)),), np.cumsum)
    nonsense(program, lambda f: f["B"].inline(), "reads its own earlier values")
    b = tw.computation("B", {i: n}, [(i == 0, x[0]), (i > 0, x[i] * 2)], dtype=tw.int32)
    c = tw.computation("C", {i: n}, b[i] * 2)
    program = Program(tw.function("f", outputs=[c]), lambda n: (integers((n,)),), np.cumsum)
    nonsense(program, lambda f: f["B"].inline(), "B has 2 pieces")


def test_inline_under_a_computed_subscript():
    """The bounds of B are checked when it runs; in its reader nobody would check them."""
    n, m = tw.params("N M")
    x = tw.input("x", [n + 5], tw.int64)
    where = tw.input("where", [m], tw.int64)
    b = tw.computation("B", {i: n}, x[i] * 3)
    c = tw.computation("C", {i: m}, b[where[i]] + 1)
    f = tw.function("gather", outputs=[c], inputs=[x, where])
    with pytest.raises(tw.ScheduleError, match=r"C reads B\[where\[i\]\], and the subscript"):
        f["B"].inline()
    x_, good, bad = np.arange(10), np.array([4, 0, 2]), np.array([4, 6, 2])
    f["C"].split(i, 2)
    f["B"].compute_at("C", "i0")
    np.testing.assert_array_equal(f(x_, good), x_[good] * 3 + 1)
    for call in (f, f.evaluate):
        with pytest.raises(tw.SubscriptError):
            call(x_, bad)


def test_commands_of_an_inlined_computation():
    program = pair()
    handle = program.function["B"]
    handle.inline()
    nonsense(program, lambda f: handle.split(i, 4), "'B' is not a computation of function 'pair'")
    nonsense(program, lambda f: f["C"].after("B"), "no computation named 'B'")
    with pytest.raises(KeyError, match="it has C"):
        program.function["B"]
    program.function.reset_schedule()
    assert program.function["B"].split(i, 4).loops == ("i0", "i1", "j")
    check(program, *SIZES)
