"""Sliding windows: what compute_at computes in a loop and store_at keeps outside of it is computed once, and the
buffer is folded to what is still read. Instances are counted, so that nothing depends on times."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from programs import Program, check
from restructured import LENGTHS, SIZES, blur, i, illegal, integers, j, refused, stencils

import tilewright as tw
from tilewright.inspection.instances import execution_at

N, M = tw.params("N M")


def computed(function: tw.Function, name: str, rank: int, **sizes: int) -> Counter:
    """How often each element of a computation is computed."""
    return Counter(
        one.values[-rank:]
        for one in execution_at(function, sizes).instances
        if one.computation == name
    )


def test_each_row_once_in_a_strip():
    program = blur()
    f = program.function
    f["C"].split(i, 8)
    f["B"].compute_at("C", "i1").store_at("C", "i0")
    assert "B = empty((3, " in str(f.loops)
    counts = computed(f, "B", 2, N=16, M=3)
    # Two strips of eight rows read ten rows each, of which they share two.
    assert len(counts) == 18 * 3 and sum(counts.values()) == 20 * 3
    check(program, *SIZES, (40, 21))


def test_strips_in_parallel_warm_up_their_own_windows():
    program = blur()
    f = program.function
    f["C"].split(i, 8).parallelize("i0").vectorize(j, 8)
    f["B"].compute_at("C", "i1").store_at("C", "i0").vectorize(j, 8)
    assert "B = empty((3, " in str(f.loops)
    assert sum(computed(f, "B", 2, N=16, M=1).values()) == 20
    check(program, *SIZES, (130, 40))


def test_a_parallel_loop_inside_the_buffer_computes_anew():
    """Its iterations have no order; those of the loop inside of it slide."""
    program = blur()
    f = program.function
    f["C"].split(i, 16).split("i1", 4, "m", "r")
    f["B"].compute_at("C", "r").store_at("C", "i0")
    once = computed(f, "B", 2, N=16, M=1)
    assert set(once.values()) == {1} and len(once) == 18
    f["C"].parallelize("m")
    assert sum(computed(f, "B", 2, N=16, M=1).values()) == 4 * 6
    assert "%" not in str(f.loops)
    check(program, *SIZES, (40, 21))


def test_a_window_in_two_loops():
    """Points in a plane: two rows of the window live, and the columns stay whole."""
    program = blur()
    f = program.function
    f["C"].split(i, 8)
    f["B"].compute_at("C", j).store_at("C", "i0")
    counts = computed(f, "B", 2, N=8, M=6)
    assert set(counts.values()) == {1}
    check(program, *SIZES, (40, 21))


def test_windows_of_three_stages():
    program = stencils()
    f = program.function
    f["C"].split(i, 8)
    f["B"].compute_at("C", "i1").store_at("C", "i0")
    f["A"].compute_at("C", "i1").store_at("C", "i0")
    for name in "AB":
        in_one_strip = computed(f, name, 1, N=8)
        assert in_one_strip and set(in_one_strip.values()) == {1}
    f["C"].parallelize("i0")
    check(program, *LENGTHS)


def test_a_window_whose_loop_runs_backwards():
    program = blur()
    f = program.function
    f["C"].split(i, 8).reverse("i1")
    f["B"].compute_at("C", "i1").store_at("C", "i0")
    assert "B = empty((3, " in str(f.loops)
    assert sum(computed(f, "B", 2, N=8, M=1).values()) == 10
    check(program, *SIZES, (40, 21))


def test_sums_in_a_window():
    """A row of sums is begun, added to and finished in the iteration that reads it first."""
    k = tw.iter("k")
    a = tw.input("A", [N + 2, M], tw.int32)
    s = tw.computation("S", {i: N + 2}, tw.sum(a[i, k], over={k: M}) + 1)
    c = tw.computation("C", {i: N}, s[i] + s[i + 2])
    program = Program(
        tw.function("f", outputs=[c]),
        lambda n, m: (integers((n + 2, m)),),
        lambda a: (a.sum(1) + 1)[:-2] + (a.sum(1) + 1)[2:],
    )
    f = program.function
    f["C"].split(i, 8)
    f["S"].compute_at("C", "i1").store_at("C", "i0")
    assert "S = empty((3,), " in str(f.loops)
    f["C"].parallelize("i0")
    check(program, (0, 0), (1, 3), (16, 0), (20, 5))


def test_a_window_whose_loop_becomes_parallel_afterwards():
    program = blur()
    f = program.function
    f["C"].split(i, 8)
    f["B"].compute_at("C", "i1").store_at("C", "i0")
    f["C"].parallelize("i1")
    assert sum(computed(f, "B", 2, N=8, M=1).values()) == 8 * 3
    check(program, *SIZES, (40, 21))


def test_windows_are_replayed():
    program, other = blur(), blur()
    f = program.function
    f["C"].split(i, 8)
    f["B"].compute_at("C", "i1").store_at("C", "i0")
    f.schedule.apply_to(other.function)
    assert str(other.function.loops) == str(f.loops)
    assert other.function.schedule == f.schedule
    check(other, *SIZES)


def scan() -> Program:
    """C[i, j] = 2 S[i, j], a prefix sum along each row."""
    x = tw.input("x", [N, M], tw.int32)
    s = tw.computation(
        "S",
        {i: N, j: M},
        lambda s: [(j == 0, x[i, 0]), (j > 0, s[i, j - 1] + x[i, j])],
        dtype=tw.int32,
    )
    c = tw.computation("C", {i: N, j: M}, s[i, j] * 2)
    return Program(
        tw.function("f", outputs=[c]),
        lambda n, m: (integers((n, m)),),
        lambda x: (2 * np.cumsum(x, axis=1)).astype(np.int32),
    )


@pytest.mark.parametrize("parallel", [False, True])
def test_a_prefix_sum_at_the_row_that_reads_it(parallel):
    program = scan()
    f = program.function
    f["S"].compute_at("C", i).store_at("C", i)
    if parallel:
        f["C"].parallelize(i).vectorize(j, 8)
    assert set(computed(f, "S", 2, N=4, M=5).values()) == {1}
    check(program, *SIZES, (40, 21))


def test_a_recurrence_whose_chain_crosses_iterations():
    program = scan()
    error = illegal(
        program, lambda f: f["S"].compute_at("C", j), "no iteration up to this one of loop 'j'"
    )
    assert error.source_instance != error.sink_instance


def test_a_recurrence_in_a_window():
    """Stored around the loop, each value is there when the next one needs it: two of them live."""
    program = scan()
    f = program.function
    with f.transaction():
        f["S"].compute_at("C", j)
        f["S"].store_at("C", i)
    assert set(computed(f, "S", 2, N=4, M=5).values()) == {1}
    assert "S = empty((1, 2)" in str(f.loops)
    f["C"].parallelize(i)
    check(program, *SIZES, (40, 21))


def test_a_recurrence_of_which_not_all_is_read():
    """Nobody reads the odd elements of the chain, so that no iteration computes them."""
    x = tw.input("x", [2 * N], tw.int32)
    s = tw.computation(
        "S", {i: 2 * N}, lambda s: [(i == 0, x[0]), (i > 0, s[i - 1] + x[i])], dtype=tw.int32
    )
    c = tw.computation("C", {i: N, j: 3}, s[2 * i] + tw.cast(j, tw.int32))
    program = Program(
        tw.function("f", outputs=[c]),
        lambda n: (integers((2 * n,)),),
        lambda x: (np.cumsum(x)[::2, None] + np.arange(3)).astype(np.int32),
    )
    illegal(program, lambda f: f["S"].compute_at("C", i), "reads a value of its own")


def test_a_window_on_the_stack():
    """Its size is a constant when it is folded."""
    program = stencils()
    f = program.function
    f["C"].split(i, 100_000)
    f["B"].compute_at("C", "i1").store_at("C", "i0", "stack")
    assert "B = empty((2,), " in str(f.loops)
    check(program, *LENGTHS)


def test_threads_of_a_gpu_have_no_window():
    """Each iteration computes what it reads, as the emulator finds."""
    a = tw.input("A", [N + 2, 16], tw.int32)
    b = tw.computation("B", {i: N + 2, j: 16}, a[i, j] * 3)
    c = tw.computation("C", {i: N, j: 16}, b[i, j] + b[i + 2, j])
    f = tw.function("f", outputs=[c], target="gpu-emulator")
    f["B"].compute_at("C", i)
    f["C"].split(i, 8).gpu_block("i0").gpu_thread(j)
    f["B"].store_at("C", "i0", "shared").gpu_thread(j)
    assert "%" not in str(f.loops)
    x = integers((22, 16))
    np.testing.assert_array_equal(f(x), 3 * x[:-2] + 3 * x[2:])


def test_windows_below_0():
    a = tw.input("A", [N + 4, M], tw.int32)
    b = tw.computation("B", {i: (-2, N + 2), j: M}, a[i + 2, j] * 3)
    c = tw.computation("C", {i: N, j: M}, b[i - 2, j] + b[i, j] + b[i + 1, j])
    program = Program(
        tw.function("f", outputs=[c]),
        lambda n, m: (integers((n + 4, m)),),
        lambda a: (3 * (a[:-4] + a[2:-2] + a[3:-1])).astype(np.int32),
    )
    f = program.function
    f["C"].split(i, 8).parallelize("i0")
    f["B"].compute_at("C", "i1").store_at("C", "i0")
    assert "B = empty((4, " in str(f.loops)
    check(program, *SIZES)


def test_a_chain_in_a_window_has_no_cache_of_its_own_values():
    a = tw.input("A", [N, N], tw.int64)
    chain = tw.computation(
        "B",
        {i: N, j: N},
        lambda b: [(j == 0, a[i, j]), (j > 0, b[i, j - 1] + a[i, j])],
        dtype=tw.int64,
    )
    read = tw.computation("C", {i: N, j: N}, chain[i, j] * 2)
    program = Program(
        tw.function("f", outputs=[read]),
        lambda n: (integers((n, n), np.int64),),
        lambda a: 2 * np.cumsum(a, axis=1),
    )
    f = program.function
    with f.transaction():
        f["B"].split(i, "(N + 2) // 2")
        f["B"].compute_at("C", j).store_at("C", i)
    f["C"].cache("C", j)
    refused(program, lambda f: f["B"].cache("B", "i0"), "depend on each other")
    check(program, (0,), (1,), (2,), (5,), (8,))
