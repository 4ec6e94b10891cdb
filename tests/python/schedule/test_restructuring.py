"""Commands that restructure loop nests, computations and storage: the kernel, the evaluator and
NumPy agree at sizes that are empty, single and not multiples of anything; what makes no sense or
would change the result is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import programs
import pytest
from programs import Program, check

import tilewright as tw

i, j, k, l, t = tw.iters("i j k l t")
SIZES = [(0, 0), (0, 3), (1, 0), (1, 1), (3, 5), (16, 8), (17, 33)]
AT_LEAST_TWO = [(2, 0), (2, 1), (3, 5), (17, 33), (40, 21)]
LENGTHS = [(0,), (1,), (2,), (5,), (8,), (31,), (64,), (100,)]


def integers(shape: tuple[int, ...], dtype: type = np.int32) -> np.ndarray:
    generator = np.random.default_rng(7)
    return generator.integers(-50, 50, shape).astype(dtype)


def cube() -> Program:
    """Three loops that may run in any order."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m, 3], tw.int32)
    c = tw.computation("C", {i: n, j: m, k: 3}, a[i, j, k] + tw.cast(100 * i - j, tw.int32))

    def numpy(a: np.ndarray) -> np.ndarray:
        rows, columns, _ = np.indices(a.shape)
        return (a + 100 * rows - columns).astype(np.int32)

    return Program(tw.function("cube", outputs=[c]), lambda n, m: (integers((n, m, 3)),), numpy)


def diagonals() -> Program:
    """Each element depends on the one to the lower left: distance (1, -1)."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int32)
    c = tw.computation(
        "C",
        {i: n, j: m},
        lambda c: [
            ((i == 0) | (j == m - 1), a[i, j]),
            ((i > 0) & (j < m - 1), c[i - 1, j + 1] + a[i, j]),
        ],
        dtype=tw.int32,
    )

    def numpy(a: np.ndarray) -> np.ndarray:
        result = a.copy()
        for row in range(1, a.shape[0]):
            result[row, :-1] += result[row - 1, 1:]
        return result

    return Program(tw.function("diagonals", outputs=[c]), lambda n, m: (integers((n, m)),), numpy)


def pair() -> Program:
    """A producer and a pointwise consumer of it."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int32)
    b = tw.computation("B", {i: n, j: m}, a[i, j] * 3 + 1)
    c = tw.computation("C", {i: n, j: m}, b[i, j] * b[i, j])
    return Program(
        tw.function("pair", outputs=[c]),
        lambda n, m: (integers((n, m)),),
        lambda a: (a * 3 + 1) ** 2,
    )


def stencils() -> Program:
    """Three stages in one dimension, each of two neighbours."""
    n = tw.param("N")
    x = tw.input("x", [n + 3], tw.int32)
    a = tw.computation("A", {i: n + 2}, x[i] - 2 * x[i + 1])
    b = tw.computation("B", {i: n + 1}, 3 * a[i] + a[i + 1])
    c = tw.computation("C", {i: n}, b[i] * b[i + 1])

    def numpy(x: np.ndarray) -> np.ndarray:
        a = x[:-1] - 2 * x[1:]
        b = 3 * a[:-1] + a[1:]
        return b[:-1] * b[1:]

    return Program(tw.function("stencils", outputs=[c]), lambda n: (integers((n + 3,)),), numpy)


def blur() -> Program:
    """A window over rows of a window over columns."""
    n, m = tw.params("N M")
    a = tw.input("A", [n + 2, m + 2], tw.int32)
    b = tw.computation("B", {i: n + 2, j: m}, a[i, j] + a[i, j + 1] + a[i, j + 2])
    c = tw.computation("C", {i: n, j: m}, b[i, j] + b[i + 1, j] + b[i + 2, j])

    def numpy(a: np.ndarray) -> np.ndarray:
        b = a[:, :-2] + a[:, 1:-1] + a[:, 2:]
        return b[:-2] + b[1:-1] + b[2:]

    return Program(
        tw.function("blur", outputs=[c]), lambda n, m: (integers((n + 2, m + 2)),), numpy
    )


def row_sums() -> Program:
    """A reduction that each element of its reader divides into."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int64)
    s = tw.computation("S", {i: n}, tw.sum(a[i, k], over={k: m}))
    c = tw.computation("C", {i: n, j: m}, s[i] - a[i, j])
    return Program(
        tw.function("row_sums", outputs=[c]),
        lambda n, m: (integers((n, m), np.int64),),
        lambda a: a.sum(axis=1, keepdims=True) - a,
    )


def total(reduction: Callable = tw.sum, dtype: type = np.int64) -> Program:
    """Everything in one number, over two iterators."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], dtype)
    c = tw.computation("C", {}, reduction(a[i, j], over={i: n, j: m}))
    return Program(
        tw.function("total", outputs=[c]),
        lambda n, m: (integers((n, m), dtype),),
        lambda a: a.sum(dtype=dtype),
    )


def refused(program: Program, command: Callable, message: str, kind: type = tw.ScheduleError):
    """The command is refused with this message, names its line, and changes nothing."""
    before = program.function.schedule
    with pytest.raises(kind, match=message) as caught:
        command(program.function)
    assert "test_restructuring.py" in str(caught.value)
    assert program.function.schedule == before
    return caught.value


def illegal(program: Program, command: Callable, message: str = "illegal"):
    error = refused(program, command, message, tw.IllegalScheduleError)
    assert error.source_instance
    assert error.sink_instance
    return error


def nonsense(program: Program, command: Callable, message: str):
    error = refused(program, command, message)
    assert not isinstance(error, tw.IllegalScheduleError)


# ---- reorder ----


@pytest.mark.parametrize("order", ["ijk", "ikj", "jik", "jki", "kij", "kji"])
def test_reorder(order):
    for program in (programs.matmul(), cube()):
        handle = program.function["C"].reorder(*order)
        assert handle.loops == tuple(order)
        check(program, *SIZES)


def test_reorder_leaves_the_others_where_they_are():
    program = cube()
    assert program.function["C"].reorder(k, i).loops == ("k", "j", "i")
    assert program.function["C"].reorder("j", "k").loops == ("j", "k", "i")
    check(program, *SIZES)


def test_reorder_of_tiles():
    program = programs.matmul()
    handle = program.function["C"].tile(i, j, 4, 8).split(k, 2).reorder("k0", "i1", "k1", "j1")
    assert handle.loops == ("i0", "j0", "k0", "i1", "k1", "j1")
    handle.parallelize("i0").vectorize("j1", 8)
    check(program, *SIZES)


def test_reorder_that_makes_no_sense():
    nonsense(cube(), lambda f: f["C"].reorder(i), r"expected reorder\(i, j, ...\)")
    nonsense(cube(), lambda f: f["C"].reorder(i, "q"), "no loop named 'q'; the loops are: i, j, k")
    nonsense(cube(), lambda f: f["C"].reorder(i, j, i), "'i' is named twice")
    nonsense(cube(), lambda f: f["C"].reorder(i, 3), "expected a loop")


def test_reorder_against_a_dependence():
    illegal(diagonals(), lambda f: f["C"].reorder(j, i))


# ---- transform ----


@pytest.mark.parametrize(
    "matrix", [[[1, 0], [1, 1]], [[0, 1], [1, 0]], [[-1, 0], [0, 1]], [[2, 1], [1, 1]]]
)
def test_transform(matrix):
    for program in (programs.pointwise(), programs.triangle()):
        handle = program.function["C"].transform([i, j], matrix)
        assert handle.loops == ("i", "j")
        check(program, *SIZES)


def test_transform_of_three_loops():
    program = programs.matmul()
    program.function["C"].transform([k, i, j], [[1, 0, 0], [1, 1, 0], [0, 1, 1]])
    check(program, *SIZES)


def test_transform_makes_diagonals_tileable():
    program = diagonals()
    illegal(program, lambda f: f["C"].tile(i, j, 4, 4))
    program.function["C"].transform([i, j], [[1, 0], [1, 1]]).tile(i, j, 4, 4)
    check(program, *SIZES)


def test_transform_for_a_wavefront():
    program = diagonals()
    program.function["C"].transform([i, j], [[1, 0], [1, 1]]).parallelize(j).interchange(i, j)
    check(program, *SIZES)


def test_transform_that_makes_no_sense():
    program = cube()
    nonsense(program, lambda f: f["C"].transform([i, j], [[1, 0]]), "needs a 2 x 2 matrix")
    nonsense(program, lambda f: f["C"].transform([i, j], [[1, 0], [1]]), "needs a 2 x 2 matrix")
    nonsense(
        program,
        lambda f: f["C"].transform([i, j], [[2, 0], [0, 1]]),
        "unimodular.*determinant is 2",
    )
    nonsense(program, lambda f: f["C"].transform([i, j], [[1, 1], [1, 1]]), "determinant is 0")
    nonsense(program, lambda f: f["C"].transform([i, j], [[1, 0.5], [0, 1]]), "must be an integer")
    nonsense(program, lambda f: f["C"].transform([i, "q"], [[1, 0], [0, 1]]), "no loop named 'q'")
    nonsense(program, lambda f: f["C"].transform([i, i], [[1, 0], [0, 1]]), "'i' is named twice")


def test_transform_against_a_dependence():
    illegal(diagonals(), lambda f: f["C"].transform([i, j], [[1, 1], [0, 1]]).interchange(i, j))


# ---- fuse_with, fission ----


def test_fuse_with_shares_all_loops():
    program = pair()
    program.function["C"].fuse_with("B")
    assert str(program.function.loops).count("for i ") == 1
    assert str(program.function.loops).count("for j ") == 1
    check(program, *SIZES)


def test_fuse_with_down_to_a_loop():
    program = pair()
    program.function["C"].fuse_with("B", i)
    assert str(program.function.loops).count("for i ") == 1
    assert str(program.function.loops).count("for j ") == 2
    check(program, *SIZES)


def test_fuse_with_then_store_one_element():
    program = pair()
    program.function["C"].fuse_with("B")
    program.function["B"].set_access("{ B[i,j] -> element[] }")
    check(program, *SIZES)
    illegal(program, lambda f: f["C"].parallelize(i))


def test_fuse_with_that_makes_no_sense():
    nonsense(pair(), lambda f: f["C"].fuse_with("Z"), "no computation named 'Z'")
    nonsense(pair(), lambda f: f["C"].fuse_with("C"), "itself")
    nonsense(pair(), lambda f: f["C"].fuse_with("B", "q"), "no loop named 'q'")
    nonsense(pair(), lambda f: f["C"].fuse_with(7), "expected a computation")


def test_fuse_with_a_stencil_needs_a_shift():
    illegal(programs.pipeline(), lambda f: f["C"].fuse_with("B"))


def test_fission():
    program = pair()
    program.function["C"].fuse_with("B").fission(j)
    assert str(program.function.loops).count("for i ") == 1
    assert str(program.function.loops).count("for j ") == 2
    check(program, *SIZES)
    program.function["C"].fission(i)
    assert str(program.function.loops).count("for i ") == 2
    check(program, *SIZES)


def test_fission_given_to_the_other_one():
    program = pair()
    program.function["C"].fuse_with("B")
    program.function["B"].fission(i)
    assert str(program.function.loops).count("for i ") == 2
    check(program, *SIZES)


def test_fission_that_makes_no_sense():
    nonsense(pair(), lambda f: f["C"].fission(i), "loop 'i' is not shared")
    nonsense(pair(), lambda f: f["C"].fission("q"), "no loop named 'q'")


def test_fission_where_one_element_is_kept():
    program = pair()
    program.function["C"].fuse_with("B")
    program.function["B"].store_in("element[0]")
    illegal(program, lambda f: f["C"].fission(j))


# ---- compute_at ----


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
    nonsense(program, lambda f: f["B"].compute_at("C", i), "reads its own earlier values")


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


def packed() -> Program:
    """A matrix product that reads a copy of its second factor."""
    n, m, q = tw.params("N M K")
    a = tw.input("A", [n, q], tw.int64)
    b = tw.input("B", [q, m], tw.int64)
    copy = tw.computation("P", {k: q, j: m}, b[k, j])
    c = tw.computation("C", {i: n, j: m}, tw.sum(a[i, k] * copy[k, j], over={k: q}))
    return Program(
        tw.function("packed", outputs=[c], inputs=[a, b]),
        lambda n, m, q=7: (integers((n, q), np.int64), integers((q, m), np.int64)),
        lambda a, b: a @ b,
    )


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


# ---- store_at ----


def test_store_at_a_tile():
    program = blur()
    program.function["C"].tile(i, j, 4, 8)
    program.function["B"].compute_at("C", "j0").store_at("C", "j0")
    assert "B = empty((6, 8), int32)" in str(program.function.loops)
    program.function["C"].parallelize("i0").vectorize("j1")
    check(program, *SIZES, (130, 40))


def test_store_at_an_outer_loop():
    """One buffer for the row of tiles, filled tile by tile."""
    program = blur()
    program.function["C"].tile(i, j, 4, 8)
    program.function["B"].compute_at("C", "j0").store_at("C", "i0")
    assert "B = empty((6, " in str(program.function.loops)
    program.function["C"].parallelize("i0")
    check(program, *SIZES, (130, 40))


@pytest.mark.parametrize("memory", ["auto", "stack", "heap"])
def test_store_at_in_memory(memory):
    program = stencils()
    program.function["C"].split(i, 8).parallelize("i0")
    program.function["B"].compute_at("C", "i0").store_at("C", "i0", memory)
    check(program, *LENGTHS, (1000,))


def test_store_at_of_what_does_not_fit_the_stack():
    program = stencils()
    program.function["C"].split(i, 100_000)
    producer = program.function["B"].compute_at("C", "i0")
    with pytest.raises(
        tw.ScheduleError, match="400004 bytes are more than the stack holds"
    ) as refusal:
        producer.store_at("C", "i0", "stack")
    assert "262144" in str(refusal.value) and refusal.value.location is not None
    producer.store_at("C", "i0", "heap")
    check(program, *LENGTHS, (250_000,))


def test_store_at_of_a_chain():
    program = stencils()
    program.function["C"].split(i, 8)
    program.function["B"].compute_at("C", "i0").store_at("C", "i0")
    program.function["A"].compute_at("C", "i0").store_at("C", "i0")
    program.function["C"].parallelize("i0").vectorize("i1")
    check(program, *LENGTHS)


def test_store_at_of_a_stage_in_a_stage():
    program = stencils()
    program.function["C"].split(i, 8)
    program.function["B"].compute_at("C", "i0").store_at("C", "i0")
    program.function["A"].compute_at("B", i).store_at("B", i)
    check(program, *LENGTHS)


def test_store_at_of_a_reduction():
    """Each thread has its own sum."""
    program = row_sums()
    program.function["C"].parallelize(i)
    program.function["S"].compute_at("C", i).store_at("C", i)
    check(program, *SIZES, (130, 7))


def test_store_at_lets_columns_be_parallel():
    program = row_sums()
    program.function["S"].compute_at("C", j)
    illegal(program, lambda f: f["C"].parallelize(j))
    program.function["S"].store_at("C", j)
    program.function["C"].parallelize(j)
    check(program, *SIZES)


def test_store_at_with_a_vector_of_the_producer():
    program = blur()
    program.function["C"].tile(i, j, 4, 8)
    program.function["B"].compute_at("C", "j0").store_at("C", "j0").vectorize(j, 8)
    check(program, *SIZES)


def test_store_at_and_then_elsewhere():
    program = blur()
    program.function["C"].tile(i, j, 4, 8)
    program.function["B"].compute_at("C", "j0").store_at("C", "j0").auto_allocate_map()
    check(program, *SIZES)
    program.function["B"].store_at("C", "i0").store_in("turned[j, i]")
    assert "turned = empty" in str(program.function.loops)
    check(program, *SIZES)


def test_store_at_after_fission():
    """The buffer moves out with the loop that the copy no longer shares."""
    program = programs.prefix()
    copy = program.function["C"].tile(i, j, 4, 8).cache("A", "j0")
    assert "A_cache = empty((4, 8), int32)" in str(program.function.loops)
    copy.fission(j)
    assert "A_cache = empty((4, M), int32)" in str(program.function.loops)
    check(program, *SIZES)
    program.function["C"].tile("i0", "j0", 4, 8)
    check(program, *SIZES, (40, 130))


def test_store_at_in_a_loop_that_is_peeled():
    """The first of the loop's iterations stands alone, and its buffer with it."""
    program = diagonals()
    program.function["C"].reverse(j).cache("A", j)
    check(program, *SIZES)


def test_store_at_of_a_copy_of_a_copy():
    """The loops around the inner copy have the same names: those of C and those of the outer one."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int32)
    b = tw.computation("B", {i: n, j: m}, a[i, j] * 3 + 1)
    c = tw.computation("C", {j: m, i: n}, b[n - 1 - i, j] - a[i, j])
    program = Program(
        tw.function("copies", outputs=[c]),
        lambda n, m: (integers((n, m)),),
        lambda a: ((a * 3 + 1)[::-1] - a).T,
    )
    program.function["C"].cache("B", i, "outer").cache("B", j, "inner")
    assert "inner[0, 0] = B[N - i - 1, j]" in str(program.function.loops)
    check(program, *SIZES)


def test_a_footprint_far_from_a_box_is_refused_in_time():
    program = total()
    skewed = program.function["C"].skew(i, j).tile(i, j, 2, 4)
    skewed.transform(["i0", "j0"], [[1, 1], [1, 0]])
    before = program.function.schedule
    with pytest.raises(tw.AnalysisLimitError, match="a footprint"):
        program.function["C"].cache("A", "i0", order=[1, 0])
    assert program.function.schedule == before
    check(program, *SIZES)


def test_new_names_of_loops_and_buffers():
    for name in ("x y", "1x", "", "@0"):
        nonsense(pair(), lambda f, name=name: f["B"].split(i, 4, name, "q"), "cannot name a loop")
    nonsense(pair(), lambda f: f["B"].store_in("N[j, i]"), "'N' cannot name a buffer")
    nonsense(pair(), lambda f: f["B"].store_in("and[j, i]"), "'and' cannot name a buffer")


def test_store_at_then_the_producer_moves():
    program = blur()
    program.function["C"].tile(i, j, 4, 8)
    program.function["B"].compute_at("C", "j0").store_at("C", "j0").compute_at("C", "i0")
    check(program, *SIZES)
    program.function["B"].before("C")
    check(program, *SIZES)


def test_store_at_then_the_reader_is_split():
    program = blur()
    program.function["B"].compute_at("C", i).store_at("C", i)
    program.function["C"].split(i, 4)
    check(program, *SIZES)
    program.function["C"].interchange("i0", "i1")
    check(program, *SIZES)


def test_store_at_that_makes_no_sense():
    nonsense(blur(), lambda f: f["B"].store_at("C", i), "give compute_at first")
    program = blur()
    program.function["B"].compute_at("C", i)
    nonsense(program, lambda f: f["B"].store_at("C", j), "shares 1 loops with C")
    nonsense(program, lambda f: f["B"].store_at("C", "q"), "no loop named 'q'")
    nonsense(program, lambda f: f["B"].store_at("Z", i), "no computation named 'Z'")
    nonsense(program, lambda f: f["B"].store_at("C", i, "cloud"), '"stack" or "heap"')


def test_store_at_of_a_shared_buffer():
    """One computation only lives in a buffer inside loops."""
    program = blur()
    program.function["B"].store_in("lanes[j, i]")
    nonsense(program, lambda f: f["C"].cache("B", i, "lanes"), "buffer named 'lanes' already")
    program = stencils()
    program.function["B"].compute_at("C", i).store_at("C", i)
    nonsense(program, lambda f: f["A"].store_in("B[i]"), "so it cannot hold A too")
    program = stencils()
    program.function["B"].compute_at("C", i)
    program.function["A"].store_in("B[i + 3]")
    nonsense(program, lambda f: f["B"].store_at("C", i), "so it cannot hold A too")


# ---- inline ----


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


# ---- rfactor ----


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
    with pytest.raises(tw.ScheduleError, match=r"not a reduction scheduled by its body|no loop"):
        f["C"].rfactor(k)


# ---- set_access, storage_fold, auto_allocate_map ----


def test_set_access():
    program = programs.pipeline()
    program.function["C"].shift(i, 1).fuse_with("B", i)
    program.function["B"].set_access("{ B[i,j] -> window[j, i mod 2] }")
    assert "window: int32[" in str(program.function.layers)
    check(program, *AT_LEAST_TWO)


def test_set_access_by_name_of_parameters():
    program = pair()
    program.function["B"].set_access("[N, M] -> { B[i,j] -> line[i * 0 + M - 1 - j + 0, i] }")
    check(program, *SIZES)


def test_set_access_of_pieces():
    """Even and odd columns in halves of a buffer."""
    program = pair()
    program.function["B"].set_access(
        "{ B[i,j] -> half[0, i, floor(j/2)] : j mod 2 = 0; "
        "B[i,j] -> half[1, i, floor(j/2)] : j mod 2 = 1 }"
    )
    check(program, *SIZES)


def test_two_computations_in_one_buffer():
    n = tw.param("N")
    x = tw.input("x", [n], tw.int32)
    a = tw.computation("A", {i: n}, x[i] + 1)
    b = tw.computation("B", {i: n}, a[i] * 2)
    c = tw.computation("C", {i: n}, b[n - 1 - i])
    program = Program(
        tw.function("f", outputs=[c]), lambda n: (integers((n,)),), lambda x: (2 * x + 2)[::-1]
    )
    program.function["A"].set_access("{ A[i] -> shared[i] }")
    program.function["B"].set_access("{ B[i] -> shared[i] }")
    assert str(program.function.loops).count("empty(") == 1
    check(program, *LENGTHS)
    illegal(program, lambda f: f["B"].set_access("[N] -> { B[i] -> shared[N - 1 - i] }"))


def test_set_access_that_makes_no_sense():
    cases = [
        ("nonsense", "isl cannot read"),
        ("{ B[i] -> b[i] }", r"must start from B\[i,j\]"),
        ("{ C[i,j] -> b[i, j] }", r"must start from B\[i,j\]"),
        ("{ B[i,j] -> [i, j] }", "the buffer needs a name"),
        ("{ B[i,j] -> A[i] }", "2 dimensions, and 1 subscripts were given"),
        ("{ B[i,j] -> b[i, k] }", "several elements|isl cannot read"),
        ("{ B[i,j] -> b[i - 1, j] }", "lies outside the buffer"),
    ]
    for text, message in cases:
        nonsense(pair(), lambda f, text=text: f["B"].set_access(text), message)
    nonsense(pair(), lambda f: f["B"].set_access(3), "takes an isl map as text")


def test_set_access_that_leaves_instances_out():
    nonsense(
        pair(),
        lambda f: f["B"].set_access("{ B[i,j] -> b[i, j] : i > 0 }"),
        r"no element to B\[0,0\]",
    )


@pytest.mark.parametrize("fold", [2, 3, 7])
def test_storage_fold(fold):
    program = programs.pipeline()
    program.function["C"].shift(i, 1).fuse_with("B", i)
    program.function["B"].storage_fold(i, fold)
    assert f"B: int32[{fold}" in str(program.function.layers) or fold > 2
    check(program, *AT_LEAST_TWO)


def test_storage_fold_too_small():
    program = programs.pipeline()
    program.function["C"].shift(i, 1).fuse_with("B", i)
    error = illegal(program, lambda f: f["B"].storage_fold(i, 1))
    assert error.element
    check(program, *AT_LEAST_TWO)


def test_storage_fold_without_a_shared_loop():
    illegal(programs.pipeline(), lambda f: f["B"].storage_fold(i, 2))


def test_storage_fold_that_makes_no_sense():
    nonsense(pair(), lambda f: f["B"].storage_fold(i, 0), "at least 1, got 0")
    nonsense(pair(), lambda f: f["B"].storage_fold(i, 1.5), "must be an integer")
    nonsense(
        pair(), lambda f: f["B"].storage_fold(k, 2), "no dimension of buffer 'B' is indexed by 'k'"
    )
    nonsense(pair(), lambda f: f["C"].storage_fold(i, 2), "C is an output")


def test_auto_allocate_map():
    program = pair()
    program.function["B"].store_in("turned[j, i]").auto_allocate_map()
    assert "turned" not in str(program.function.layers)
    check(program, *SIZES)


def test_auto_allocate_map_takes_store_at_back():
    program = blur()
    program.function["B"].compute_at("C", i).store_at("C", i)
    assert "B = empty((3, M), int32)" in str(program.function.loops)
    program.function["B"].auto_allocate_map()
    assert "B = empty((N + 2, M), int32)" in str(program.function.loops)
    check(program, *SIZES)


def test_auto_allocate_map_takes_a_fold_back():
    program = programs.pipeline()
    program.function["C"].shift(i, 1).fuse_with("B", i)
    program.function["B"].storage_fold(i, 2)
    illegal(program, lambda f: f["C"].fission(i))
    program.function["B"].auto_allocate_map()
    program.function["C"].fission(i)
    check(program, *AT_LEAST_TWO)


# ---- set_schedule with tags and pieces ----


def test_set_schedule_with_tags():
    program = programs.pointwise()
    handle = program.function["C"].set_schedule(
        "{ C[i,j] -> [i(cpu), floor(j/8), j mod 8(vec(8))] }"
    )
    assert sorted(handle.tags.values()) == ["parallel", "vector(8)"]
    assert handle.tags["i"] == "parallel"
    check(program, *SIZES, (130, 40))


def test_set_schedule_with_unroll():
    program = programs.pointwise()
    handle = program.function["C"].set_schedule("{ C[i,j] -> [floor(i/4), j, i mod 4(unroll)] }")
    assert list(handle.tags.values()) == ["unroll(4)"]
    check(program, *SIZES)


def test_set_schedule_with_a_tag_on_the_first_dimension_only():
    program = programs.prefix()
    program.function["C"].set_schedule("{ C[i,j] -> [j(cpu), i] }")
    check(program, *SIZES, (7, 200))
    illegal(program, lambda f: f["C"].set_schedule("{ C[i,j] -> [i(cpu), j] }"))


def test_set_schedule_of_pieces():
    """Even rows first, then odd ones."""
    program = programs.pointwise()
    program.function["C"].set_schedule(
        "{ C[i,j] -> [0, i, j] : i mod 2 = 0; C[i,j] -> [1, i, j] : i mod 2 = 1 }"
    )
    check(program, *SIZES)


def test_set_schedule_of_pieces_against_a_dependence():
    illegal(
        programs.prefix(),
        lambda f: f["C"].set_schedule(
            "{ C[i,j] -> [0, i, j] : i mod 2 = 0; C[i,j] -> [1, i, j] : i mod 2 = 1 }"
        ),
    )


def test_set_schedule_of_pieces_with_a_tag_in_each():
    program = programs.pointwise()
    handle = program.function["C"].set_schedule(
        "{ C[i,j] -> [i(cpu), 0, j] : j < 3; C[i,j] -> [i(cpu), 1, -j] : j >= 3 }"
    )
    assert list(handle.tags.values()) == ["parallel"]
    check(program, *SIZES)


def test_set_schedule_with_parameters():
    program = programs.pointwise()
    program.function["C"].set_schedule("[N, M] -> { C[i,j] -> [N - i, M - j] }")
    check(program, *SIZES)


def test_set_schedule_then_other_commands():
    program = programs.pointwise()
    program.function["C"].set_schedule("{ C[i,j] -> [j, i] }").split(i, 4).parallelize(j)
    check(program, *SIZES)


def test_set_schedule_that_makes_no_sense():
    cases = [
        ("{ C[i,j] -> [i, j(vec(8))] }", "constant extent"),
        ("{ C[i,j] -> [i, j(unroll)] }", "constant extent"),
        ("{ C[i,j] -> [i, floor(j/8), j mod 8(vec(4))] }", "constant extent"),
        ("{ C[i,j] -> [i(gpu), j] }", "there is no tag .gpu."),
        ("{ C[i,j] -> [i, j] : i > 0 }", r"no time to C\[0,0\]"),
        ("{ C[i,j] -> [i, j]; C[i,j] -> [i, j + 1] }", "several times to one instance"),
        ("{ C[i,j] -> [i] }", "same time to two instances"),
        ("{ D[i,j] -> [i, j] }", r"must start from C\[i,j\]"),
        ("{ C[i,j] -> (cpu)[i, j] }", "cannot read|behind a dimension"),
    ]
    for text, message in cases:
        nonsense(programs.pointwise(), lambda f, text=text: f["C"].set_schedule(text), message)


# ---- schedules as values ----


def rich_schedules() -> list[tuple[Callable[[], Program], Callable[[tw.Function], object]]]:
    def factored(f):
        partial = f["C"].split(k, 4).rfactor("k1", "lanes")
        partial.reorder("k0", i, j, "k1").vectorize("k1", 4)

    def inlined(f):
        f["B"].inline()
        f["C"].tile(i, j, 4, 8).parallelize("i0")

    def windows(f):
        f["C"].split(i, 4)
        f["B"].compute_at("C", "i0").storage_fold(i, 6)

    def stored(f):
        f["C"].fuse_with("B").fission(j)
        f["B"].store_in(tw.Buffer("rows", [tw.param("M")]), [j])
        f["B"].set_access("{ B[i,j] -> columns[j, i] }").auto_allocate_map()

    def private(f):
        f["C"].tile(i, j, 4, 8).parallelize("i0")
        f["B"].compute_at("C", "j0").store_at("C", "j0", "stack")

    def transformed(f):
        f["C"].transform([i, j], [[1, 0], [1, 1]]).tile(i, j, 4, 4)

    def given(f):
        f["C"].set_schedule("{ C[i,j] -> [i(cpu), floor(j/8), j mod 8(vec(8))] }")

    return [
        (programs.matmul, factored),
        (blur, inlined),
        (blur, windows),
        (blur, private),
        (pair, stored),
        (diagonals, transformed),
        (programs.pointwise, given),
    ]


@pytest.mark.parametrize(("make", "give"), rich_schedules())
def test_a_schedule_replays(make, give):
    first, second = make(), make()
    give(first.function)
    assert first.function.schedule.apply_to(second.function) is second.function
    assert second.function.schedule == first.function.schedule
    assert second.function.loops == first.function.loops
    check(second, *SIZES)
    third = second.function.copy()
    assert third.loops == first.function.loops


@pytest.mark.parametrize(("make", "give"), rich_schedules())
def test_a_schedule_prints_as_python(make, give):
    first, second = make(), make()
    give(first.function)
    text = str(first.function.schedule)
    names: dict[str, object] = {"tw": tw}
    for name in second.function.computations:
        names[name] = second.function[name]
    exec(text, names)
    assert second.function.schedule == first.function.schedule
    assert str(second.function.schedule) == text
    check(second, *SIZES)


def test_replay_of_a_schedule_that_does_not_fit():
    first = blur()
    first.function["B"].inline()
    other = programs.pointwise()
    other.function["C"].split(i, 4)
    before = other.function.schedule
    with pytest.raises(tw.ScheduleError, match=r"does not fit pointwise: B.inline\(\) needs"):
        first.function.schedule.apply_to(other.function)
    assert other.function.schedule == before
    check(other, *SIZES)


def test_reset_takes_rewrites_back():
    program = programs.matmul()
    program.function["C"].split(k, 4).rfactor("k0")
    program.function.reset_schedule()
    assert program.function.computations == ["C"]
    assert program.function["C"].loops == ("i", "j", "k")
    check(program, *SIZES)


@pytest.mark.parametrize("command", ["after", "fuse_with"])
def test_what_follows_moves_along(command: str) -> None:
    """As the docstring says of D, which was put into the loop of C."""
    n, p = tw.param("N"), tw.iter("p")
    x = tw.input("x", [n], tw.float64)
    first = tw.computation("B", {p: n}, 2 * x[p])
    second = tw.computation("C", {p: n}, first[p] + 1)
    third = tw.computation("D", {p: n}, second[p] * 2)
    f = tw.function("f", outputs=[third], default_schedule=False)
    third.after(second, p)
    assert str(f.loops).count("for ") == 2
    getattr(second, command)(first, p)
    assert str(f.loops).count("for ") == 1
    data = np.arange(5.0)
    np.testing.assert_array_equal(f(data), (2 * data + 1) * 2)
