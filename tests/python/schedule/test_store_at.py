"""Buffers inside loops: the kernel, the evaluator and
NumPy agree at sizes that are empty, single and not multiples of anything; what makes no sense or
would change the result is refused."""

from __future__ import annotations

import numpy as np
import programs
import pytest
from programs import Program, check
from restructured import (
    LENGTHS,
    SIZES,
    blur,
    diagonals,
    i,
    illegal,
    integers,
    j,
    nonsense,
    pair,
    row_sums,
    stencils,
    total,
)

import tilewright as tw


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
    nonsense(program, lambda f: f["B"].store_at("C", j), "shares 1 loop with C")
    nonsense(program, lambda f: f["B"].store_at("C", "q"), "no loop named 'q'")
    nonsense(program, lambda f: f["B"].store_at("Z", i), "no computation named 'Z'")
    nonsense(program, lambda f: f["B"].store_at("C", i, "cloud"), '"shared" or "private"')


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


def test_a_chain_that_leaves_all_loops_of_its_reader_is_computed_whole():
    """Of what is read alone, a recurrence would begin with what nobody has computed."""
    a, b = tw.iters("a b")
    N, M = tw.params("N M")
    C = tw.computation("C", {a: N, b: N}, dtype=tw.float64)
    C.define(a == 0, b * 1.0)
    C.define((a > 0) & (a <= b), C[a - 1, b] + 1.0)
    E = tw.computation("E", {i: (N + 2) // 2, j: M}, dtype=tw.float64)
    E.define((i >= 2) & (2 * i <= N), E[i - 1, j] + C[i - 1, N - i - 1])
    E.define(i == 1, 3.0)
    f = tw.function("f", outputs=[E])
    f["C"].interchange(a, b)
    with f.transaction():
        f["C"].compute_at("E", j).fission(b)
    for n, m in ((2, 1), (6, 2), (9, 4)):
        wanted = f.evaluate(N=n, M=m)
        np.testing.assert_array_equal(f(N=n, M=m)[1:], wanted[1:])
