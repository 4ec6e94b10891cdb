"""Reductions through partial results: the kernel, the evaluator and
NumPy agree at sizes that are empty, single and not multiples of anything; what makes no sense or
would change the result is refused."""

from __future__ import annotations

import numpy as np
import programs
import pytest
from programs import Program, check
from restructured import SIZES, i, illegal, integers, j, k, nonsense, row_sums, total

import tilewright as tw


def test_rfactor_of_the_inner_part():
    program = programs.matmul()
    partial = program.function["C"].split(k, 4).rfactor("k1")
    assert partial.name == "C_partial"
    assert partial.loops == ("i", "j", "k0", "k1")
    assert program.function["C"].loops == ("i", "j", "k1")
    assert program.function.computations == ["C_partial", "C"]
    check(program, *SIZES)


def test_rfactor_of_the_outer_part():
    program = programs.matmul()
    partial = program.function["C"].split(k, 4).rfactor("k0", "part")
    assert partial.name == "part"
    partial.parallelize("k0")
    check(program, *SIZES)


def test_rfactor_of_the_whole_loop():
    program = programs.matmul()
    program.function["C"].rfactor(k)
    assert program.function["C_partial"].loops == ("i", "j", "k")
    check(program, *SIZES)


def test_rfactor_then_vectorize():
    program = total()
    partial = program.function["C"].split(j, 8).rfactor("j1")
    partial.reorder(i, "j0", "j1").vectorize("j1", 8)
    check(program, *SIZES, (13, 64))


def test_rfactor_then_parallelize():
    program = total()
    partial = program.function["C"].split(i, 4).rfactor("i0")
    partial.parallelize("i0")
    check(program, *SIZES, (130, 7))


def test_rfactor_twice():
    program = total()
    partial = program.function["C"].split(i, 4).rfactor("i0")
    partial.parallelize("i0")
    lanes = partial.split(j, 8).rfactor("j1", "lanes")
    lanes.vectorize("j1", 8)
    assert program.function.computations == ["lanes", "C_partial", "C"]
    check(program, *SIZES, (130, 70))


@pytest.mark.parametrize("loop", [i, j])
def test_rfactor_of_one_of_two_reduced_iterators(loop):
    program = total()
    partial = program.function["C"].rfactor(loop)
    partial.parallelize(loop)
    check(program, *SIZES)


def test_rfactor_with_loops_interchanged_and_tiled():
    program = total()
    partial = program.function["C"].tile(i, j, 4, 8).rfactor("j1")
    assert partial.loops == ("i0", "j0", "i1", "j1")
    partial.vectorize("j1", 8)
    check(program, *SIZES)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
@pytest.mark.parametrize(
    ("reduction", "numpy"),
    [(tw.sum, np.sum), (tw.prod, np.prod), (tw.max, np.max), (tw.min, np.min)],
)
def test_rfactor_of_integers_is_exact(reduction, numpy, dtype):
    m = tw.param("M")
    a = tw.input("A", [m], dtype)
    c = tw.computation("C", {}, reduction(a[k], over={k: m}), dtype=dtype)
    f = tw.function("f", outputs=[c])
    f["C"].split(k, 4).rfactor("k1").vectorize("k1", 4)
    for size in (1, 3, 4, 5, 31, 64):
        array = integers((size,), dtype)
        expected = numpy(array, dtype=dtype) if numpy in (np.sum, np.prod) else numpy(array)
        np.testing.assert_array_equal(f(array), expected)
        np.testing.assert_array_equal(f.evaluate(array), expected)


@pytest.mark.parametrize(("reduction", "numpy"), [(tw.max, np.maximum), (tw.min, np.minimum)])
def test_rfactor_of_max_and_min_keeps_nan(reduction, numpy):
    m = tw.param("M")
    a = tw.input("A", [m], tw.float64)
    c = tw.computation("C", {}, reduction(a[k], over={k: m}))
    f = tw.function("f", outputs=[c])
    f["C"].split(k, 4).rfactor("k1").vectorize("k1", 4)
    array = integers((31,), np.float64)
    np.testing.assert_array_equal(f(array), numpy.reduce(array))
    array[17] = np.nan
    assert np.isnan(f(array))


@pytest.mark.parametrize(("reduction", "numpy"), [(tw.any, np.any), (tw.all, np.all)])
def test_rfactor_of_any_and_all(reduction, numpy):
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int32)
    c = tw.computation("C", {i: n}, reduction(a[i, k] > 0, over={k: m}))
    f = tw.function("f", outputs=[c])
    partial = f["C"].split(k, 4).rfactor("k1")
    partial.vectorize("k1", 4)
    for size in SIZES:
        for array in (integers(size), np.ones(size, np.int32), np.zeros(size, np.int32)):
            np.testing.assert_array_equal(f(array), numpy(array > 0, axis=1))
            np.testing.assert_array_equal(f.evaluate(array), numpy(array > 0, axis=1))


def test_rfactor_of_a_triangle():
    """A range that depends on the row."""
    n = tw.param("N")
    a = tw.input("A", [n, n], tw.int64)
    c = tw.computation("C", {i: n}, tw.sum(a[i, k], over={k: (i, n)}))
    for loop, size in (("k0", 4), ("k1", 4), ("k0", 1)):
        f = tw.function("f", outputs=[c])
        partial = f["C"].split(k, size).rfactor(loop)
        partial.parallelize(loop)
        for n_ in (0, 1, 3, 4, 9, 32):
            array = integers((n_, n_), np.int64)
            np.testing.assert_array_equal(f(array), np.triu(array).sum(axis=1))


def test_lanes_are_all_there_whatever_is_reduced():
    """Partial results of partial results of ranges whose bounds depend on the row: which lanes have terms is not
    asked for, so that the loops stay as simple as those of one range."""
    n = tw.param("N")
    a = tw.input("A", [n, n], tw.int64)
    c = tw.computation("C", {i: n}, tw.sum(a[i, k], over={k: (i, n)}, where=i + k > 2))
    f = tw.function("f", outputs=[c], default_schedule=False)
    lanes = f["C"].split(k, 32).rfactor("k1", "lanes")
    quarters = f["C"].split("k1", 8).rfactor("k11", "quarters")
    f["C"].split("k11", 2).rfactor("k111", "halves")
    rows = "0 <= i < N"
    assert str(lanes.domain) == f"[N] -> {{ lanes[i, k1] : {rows} and 0 <= k1 <= 31 }}"
    assert str(quarters.domain) == f"[N] -> {{ quarters[i, k11] : {rows} and 0 <= k11 <= 7 }}"
    assert str(f["halves"].domain) == f"[N] -> {{ halves[i, k111] : {rows} and 0 <= k111 <= 1 }}"
    for n_ in (0, 1, 2, 3, 5, 33, 70):
        array = integers((n_, n_), np.int64)
        kept = np.add.outer(np.arange(n_), np.arange(n_)) > 2
        np.testing.assert_array_equal(f(array), np.triu(array * kept).sum(axis=1))
        np.testing.assert_array_equal(f.evaluate(array), f(array))


def test_a_loop_of_many_values_has_partial_results_of_those_with_terms():
    c = tw.computation("C", {i: 3}, tw.sum(i * k, over={k: 10}))
    f = tw.function("f", outputs=[c], default_schedule=False)
    partial = f["C"].split(k, 4096).rfactor("k1")
    assert str(partial.domain) == "{ C_partial[i, k1] : 0 <= i <= 2 and 0 <= k1 <= 9 }"
    np.testing.assert_array_equal(f(), [0, 45, 90])


def test_rfactor_with_a_condition():
    n = tw.param("N")
    a = tw.input("A", [n, n], tw.int64)
    c = tw.computation("C", {i: n}, tw.sum(a[i, k], over={k: n}, where=k <= i))
    f = tw.function("f", outputs=[c])
    f["C"].split(k, 4).rfactor("k0").parallelize("k0")
    for n_ in (0, 1, 3, 4, 9, 32):
        array = integers((n_, n_), np.int64)
        np.testing.assert_array_equal(f(array), np.tril(array).sum(axis=1))


def test_rfactor_of_a_narrow_type():
    """The body is computed in its own type, and added in the reduction's."""
    m = tw.param("M")
    a = tw.input("A", [m], tw.int8)
    c = tw.computation("C", {}, tw.sum(a[k] * a[k], over={k: m}), dtype=tw.int64)
    f = tw.function("f", outputs=[c])
    g = f.copy()
    f["C"].split(k, 4).rfactor("k1")
    for size in (0, 1, 5, 64):
        array = integers((size,), np.int8)
        np.testing.assert_array_equal(f(array), f.evaluate(array))
        np.testing.assert_array_equal(f(array), g(array))


def test_rfactor_beside_other_computations():
    program = row_sums()
    partial = program.function["S"].split(k, 4).rfactor("k0")
    partial.parallelize("k0")
    program.function["S"].compute_at("C", i)
    check(program, *SIZES)


def test_rfactor_and_compute_at_of_the_partial_results():
    program = row_sums()
    program.function["S"].split(k, 4).rfactor("k1")
    program.function["S_partial"].compute_at("S", i)
    program.function["S_partial"].store_in("lanes[k1]").vectorize("k1", 4)
    check(program, *SIZES)


def test_rfactor_that_makes_no_sense():
    program = programs.matmul()
    nonsense(program, lambda f: f["C"].rfactor(i), "loop 'i' must run over the reduced iterators")
    nonsense(program, lambda f: f["C"].rfactor("q"), "no loop named 'q'; the loops are: i, j, k")
    nonsense(program, lambda f: f["C"].rfactor(k, "A"), "named 'A' already")
    nonsense(program, lambda f: f["C"].rfactor(k, "C"), "named 'C' already")
    for name in ("no name", "1x", "", "and"):
        nonsense(program, lambda f, name=name: f["C"].rfactor(k, name), "cannot name a computation")
    nonsense(program, lambda f: f["C"].rfactor(k, "N"), "parameter or buffer named 'N'")
    nonsense(programs.pointwise(), lambda f: f["C"].rfactor(i), "C is not a reduction")
    program.function["C"].skew(i, k)
    nonsense(program, lambda f: f["C"].rfactor(k), "and over nothing else")
    program = programs.matmul()
    program.function["C"].split(k, 2).split("k1", 3)
    nonsense(program, lambda f: f["C"].rfactor("k10"), "loop 'k10' has one iteration, so that")


def test_an_ordered_reduction_keeps_its_order():
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.float32)
    c = tw.computation("C", {i: n}, tw.sum(a[i, k], over={k: m}, ordered=True))
    program = Program(
        tw.function("f", outputs=[c]),
        lambda n, m: (np.random.default_rng(3).random((n, m), dtype=np.float32),),
        lambda a: np.cumsum(a, axis=1)[:, -1] if a.shape[1] else np.zeros(len(a), np.float32),
    )
    nonsense(program, lambda f: f["C"].rfactor(k), "C is an ordered reduction")
    illegal(program, lambda f: f["C"].reverse(k), "takes its terms in another order")
    program.function["C"].split(k, 4)
    illegal(program, lambda f: f["C"].interchange("k0", "k1"), "in another order")
    program.function["C"].interchange(i, "k0").vectorize(i, 8)
    check(program, *SIZES)


def test_rfactor_of_an_iterator_whose_range_depends_on_another():
    """The bounds of the loop that is factored out hold for the terms that stay."""
    n = tw.param("N")
    a = tw.input("A", [n], tw.int64)
    c = tw.computation("C", {}, tw.sum(a[k] * a[j], over={k: n, j: (0, k)}))
    f = tw.function("f", outputs=[c])
    f["C"].rfactor(j).parallelize(j)
    for size in (0, 1, 2, 7):
        array = integers((size,), np.int64)
        assert f(array) == f.evaluate(array) == np.tril(np.outer(array, array), -1).sum()


def test_rfactor_of_a_sum_of_sums():
    """The inner sum is what one partial result adds up, in a loop that can be scheduled."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int64)
    c = tw.computation("C", {}, tw.sum(tw.sum(a[k, j], over={j: m}), over={k: n}))
    f = tw.function("f", outputs=[c])
    partial = f["C"].rfactor(k)
    assert partial.loops == ("k", "j")
    partial.split(j, 4).rfactor("j1")
    for shape in ((0, 3), (3, 0), (5, 9)):
        array = integers(shape, np.int64)
        assert f(array) == f.evaluate(array) == array.sum()


def test_rfactor_leaves_every_iterator_a_loop():
    """The skewed loop goes with the terms; what it ran over has a loop of its own again."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int64)
    c = tw.computation("C", {i: n}, tw.sum(a[i, k], over={k: m}))
    f = tw.function("f", outputs=[c])
    f["C"].skew(k, i).rfactor(k)
    assert f["C"].loops == ("k", "i")
    f["C"].parallelize(i)
    for shape in ((0, 3), (3, 0), (5, 9)):
        array = integers(shape, np.int64)
        np.testing.assert_array_equal(f(array), array.sum(axis=1))


def test_rfactor_of_argmin():
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.float64)
    c = tw.computation("C", {i: n}, tw.argmin(a[i, k], over={k: m}))
    f = tw.function("f", outputs=[c])
    f["C"].split(k, 4).rfactor("k0", "P")
    assert f["P"].loops == ("i", "k0", "k1") and f["C"].loops == ("i", "k0")
    for shape in ((3, 0), (5, 9)):
        array = integers(shape, np.float64)
        wanted = array.argmin(axis=1) if shape[1] else [-1] * shape[0]
        np.testing.assert_array_equal(f(array), wanted)
