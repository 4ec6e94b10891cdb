"""Computations inside the loops of their readers: the kernel, the evaluator and
NumPy agree at sizes that are empty, single and not multiples of anything; what makes no sense or
would change the result is refused."""

from __future__ import annotations

import numpy as np
import pytest
from programs import Program, check
from restructured import (
    LENGTHS,
    SIZES,
    blur,
    i,
    illegal,
    integers,
    j,
    k,
    nonsense,
    packed,
    pair,
    row_sums,
    stencils,
)

import tilewright as tw


@pytest.mark.parametrize("level", [i, j])
@pytest.mark.parametrize("make", [pair, blur])
def test_compute_at(make, level):
    program = make()
    program.function["B"].compute_at("C", level)
    check(program, *SIZES)


def test_compute_at_an_outer_loop_of_a_split():
    program = stencils()
    program.function["C"].split(i, 8)
    program.function["B"].compute_at("C", "i0")
    check(program, *LENGTHS)


def test_compute_at_a_tile():
    program = blur()
    program.function["C"].tile(i, j, 4, 8)
    program.function["B"].compute_at("C", "j0").vectorize(j, 8)
    program.function["C"].vectorize("j1")
    check(program, *SIZES)


def test_compute_at_with_parallel_tiles():
    """Elements that two tiles need are computed in both, to the same value."""
    program = blur()
    program.function["C"].tile(i, j, 4, 8)
    program.function["B"].compute_at("C", "j0")
    program.function["C"].parallelize("i0")
    check(program, *SIZES, (130, 40))


def test_compute_at_of_a_reduction_in_parallel():
    """A sum starts at zero again in each iteration that needs it, while others read it."""
    program = row_sums()
    program.function["S"].compute_at("C", j)
    illegal(program, lambda f: f["C"].parallelize(j))
    program.function["C"].parallelize(i)
    check(program, *SIZES)


def test_compute_at_of_a_reduction_in_one_element_in_parallel():
    program = row_sums()
    program.function["S"].compute_at("C", i)
    program.function["S"].store_in("element[0]")
    error = illegal(program, lambda f: f["C"].parallelize(i))
    assert error.element == "element[0]"


def test_compute_at_with_the_producer_parallel():
    program = blur()
    program.function["C"].split(i, 4)
    program.function["B"].compute_at("C", "i0").parallelize(i).vectorize(j, 4)
    check(program, *SIZES)


def test_compute_at_with_the_producer_split():
    program = blur()
    program.function["C"].split(i, 4)
    program.function["B"].compute_at("C", "i0").tile(i, j, 2, 8).interchange("i1", "j1")
    check(program, *SIZES)


@pytest.mark.parametrize("levels", [("i0", "i0"), ("i0", "i1"), ("i1", "i1")])
def test_compute_at_of_three_stages(levels):
    program = stencils()
    program.function["C"].split(i, 8)
    program.function["B"].compute_at("C", levels[0])
    program.function["A"].compute_at("C", levels[0])
    check(program, *LENGTHS)


def test_compute_at_of_a_stage_in_a_stage():
    program = stencils()
    program.function["C"].split(i, 8)
    program.function["B"].compute_at("C", "i0")
    program.function["A"].compute_at("B", i)
    check(program, *LENGTHS)


def test_compute_at_two_windows_folded():
    program = blur()
    program.function["B"].compute_at("C", i)
    program.function["B"].storage_fold(i, 3)
    assert "int32[3, " in str(program.function.layers)
    check(program, *SIZES)


@pytest.mark.parametrize("level", [i, j])
def test_compute_at_of_a_reduction(level):
    program = row_sums()
    program.function["S"].compute_at("C", level)
    check(program, *SIZES)


def test_compute_at_of_a_reduction_in_one_element():
    program = row_sums()
    program.function["S"].compute_at("C", i)
    program.function["S"].store_in("element[0]")
    check(program, *SIZES)


def test_compute_at_of_a_reduction_in_tiles():
    program = row_sums()
    program.function["C"].tile(i, j, 4, 8)
    program.function["S"].compute_at("C", "j0").vectorize(i, 4)
    check(program, *SIZES)


def test_compute_at_that_makes_no_sense():
    nonsense(pair(), lambda f: f["B"].compute_at("Z", i), "no computation named 'Z'")
    nonsense(
        pair(), lambda f: f["B"].compute_at("C", "q"), "no loop named 'q'; the loops are: i, j"
    )
    nonsense(pair(), lambda f: f["B"].compute_at("B", i), "circular|itself")
    nonsense(pair(), lambda f: f["C"].compute_at("B", i), "C is an output")
    nonsense(pair(), lambda f: f["B"].compute_at(7, i), "expected a computation")


def test_compute_at_of_a_recurrence():
    n = tw.param("N")
    x = tw.input("x", [n], tw.int32)
    b = tw.computation(
        "B", {i: n}, lambda b: [(i == 0, x[0]), (i > 0, b[i - 1] + x[i])], dtype=tw.int32
    )
    c = tw.computation("C", {i: n}, b[i] * 2)
    program = Program(
        tw.function("f", outputs=[c]), lambda n: (integers((n,)),), lambda x: 2 * np.cumsum(x)
    )
    illegal(program, lambda f: f["B"].compute_at("C", i), "reads a value of its own")


def test_compute_at_of_computations_that_depend_on_each_other():
    n = tw.param("N")
    x = tw.input("x", [n], tw.int32)
    p = tw.computation("P", {i: n}, dtype=tw.int32)
    q = tw.computation("Q", {i: n}, p[i])
    p.define(i == 0, x[0]).define(i > 0, q[i - 1] + p[i - 1] + x[i])
    e = tw.computation("E", {i: n, j: n}, q[i] * x[j])
    f = tw.function("f", outputs=[e])

    def expected(x):
        p = []
        for value in x:
            p.append(2 * p[-1] + value if p else value)
        return np.outer(np.array(p, np.int32).reshape(-1), x)

    program = Program(f, lambda n: (integers((n,)),), expected)
    for loop in f["E"].loops:
        nonsense(program, lambda f, loop=loop: f["Q"].compute_at("E", loop), "depend on each other")


def test_compute_at_with_a_reader_outside():
    n = tw.param("N")
    x = tw.input("x", [n], tw.int32)
    b = tw.computation("B", {i: n}, x[i] + 1)
    c = tw.computation("C", {i: n}, b[i] * 2)
    d = tw.computation("D", {i: n}, b[i] + c[i])
    program = Program(
        tw.function("f", outputs=[d]), lambda n: (integers((n,)),), lambda x: 3 * x + 3
    )
    nonsense(
        program, lambda f: f["B"].compute_at("C", i), "B is computed inside the loops of C, but D"
    )
    program.function["D"].fuse_with("C")
    program.function["B"].compute_at("C", i)
    check(program, *LENGTHS)


def test_compute_at_in_too_small_a_buffer():
    program = blur()
    program.function["C"].split(i, 4)
    program.function["B"].compute_at("C", "i0")
    illegal(program, lambda f: f["B"].storage_fold(i, 5))
    program.function["B"].storage_fold(i, 6)
    check(program, *SIZES)


def test_compute_at_packs_a_panel():
    program = packed()
    c = program.function["C"].tile(i, j, 4, 8).split(k, 4)
    c.reorder("j0", "k0", "i0", "i1", "k1", "j1").vectorize("j1", 8)
    panel = program.function["P"].compute_at("C", "k0").vectorize(j, 8)
    check(program, *SIZES, (33, 40, 19))
    illegal(program, lambda f: f["P"].storage_fold(k, 3))
    panel.storage_fold(k, 4)
    check(program, *SIZES, (33, 40, 19))


def test_compute_at_of_what_an_argmin_reads():
    n = tw.param("N")
    x = tw.input("x", [n], tw.float64)
    b = tw.computation("B", {i: n}, x[i] * 2)
    c = tw.computation("C", {i: n}, tw.argmin(b[k], over={k: (0, i + 1)}))
    f = tw.function("f", outputs=[c])
    f["B"].compute_at("C", i)
    g = f.copy()
    g.reset_schedule()
    g["B"].inline()
    for size in (0, 1, 5, 16):
        x_ = integers((size,), np.float64)
        expected = np.array([np.argmin(x_[: last + 1]) for last in range(size)], np.int64)
        np.testing.assert_array_equal(f(x_), expected)
        np.testing.assert_array_equal(g(x_), expected)
