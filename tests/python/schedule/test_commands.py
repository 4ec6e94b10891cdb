"""Every command, on sizes that are empty, single, and not multiples of anything: the kernel, the
evaluator and NumPy agree."""

from __future__ import annotations

import numpy as np
import programs
import pytest
from programs import check

import tilewright as tw

i, j, k = tw.iters("i j k")
SIZES = [(0, 0), (0, 3), (1, 0), (1, 1), (3, 5), (16, 8), (17, 33), (40, 21)]
AT_LEAST_TWO = [(2, 0), (2, 1), (3, 5), (17, 33), (40, 21)]
MAKERS = [programs.matmul, programs.pointwise, programs.triangle, programs.prefix]


@pytest.mark.parametrize("make", MAKERS)
def test_without_commands(make):
    check(make(), *SIZES)


def test_pipeline_without_commands():
    check(programs.pipeline(), *AT_LEAST_TWO)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("size", [1, 4, 7])
def test_split(make, size):
    program = make()
    handle = program.function["C"].split(i, size)
    assert handle.loops[:2] == ("i0", "i1")
    check(program, *SIZES)


def test_split_with_names():
    program = programs.pointwise()
    handle = program.function["C"].split("j", 4, "block", "inside").split("block", 2)
    assert handle.loops == ("i", "block0", "block1", "inside")
    check(program, *SIZES)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("tile", [(1, 1), (4, 8), (5, 3)])
def test_tile(make, tile):
    program = make()
    handle = program.function["C"].tile(i, j, *tile)
    assert handle.loops[:4] == ("i0", "j0", "i1", "j1")
    check(program, *SIZES)


def test_tile_in_three_dimensions():
    program = programs.matmul()
    handle = program.function["C"].tile(i, j, k, 4, 3, 2)
    assert handle.loops == ("i0", "j0", "k0", "i1", "j1", "k1")
    check(program, *SIZES)


def test_tile_at_two_levels():
    program = programs.matmul()
    handle = program.function["C"].tile(i, j, 16, 16).tile("i1", "j1", 4, 4)
    assert handle.loops == ("i0", "j0", "i10", "j10", "i11", "j11", "k")
    check(program, *SIZES)


def test_tile_with_some_names():
    program = programs.pointwise()
    handle = program.function["C"].tile(i, j, 4, 4, i0="rows")
    assert handle.loops == ("rows", "j0", "i1", "j1")
    check(program, (9, 9))


@pytest.mark.parametrize("make", MAKERS)
def test_interchange(make):
    program = make()
    handle = program.function["C"].interchange(i, j)
    assert handle.loops[:2] == ("j", "i")
    check(program, *SIZES)


def test_interchange_of_a_reduction():
    program = programs.matmul()
    assert program.function["C"].interchange(j, k).loops == ("i", "k", "j")
    check(program, *SIZES)


@pytest.mark.parametrize("make", [programs.pointwise, programs.triangle])
def test_reverse(make):
    program = make()
    program.function["C"].reverse(i).reverse(j)
    check(program, *SIZES)


def test_reverse_of_the_independent_loop_of_a_recurrence():
    program = programs.prefix()
    program.function["C"].reverse(j)
    check(program, *SIZES)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("distance", [-3, 0, 5])
def test_shift(make, distance):
    program = make()
    program.function["C"].shift(i, distance)
    check(program, *SIZES)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("factor", [-1, 1, 2])
def test_skew(make, factor):
    program = make()
    program.function["C"].skew(i, j, factor)
    check(program, *SIZES)


def test_skew_then_interchange():
    program = programs.prefix()
    program.function["C"].skew(i, j).interchange(i, j)
    check(program, *SIZES)


def test_after_shares_loops_with_a_shift():
    program = programs.pipeline()
    program.function["C"].shift(i, 1).after("B", i)
    check(program, *AT_LEAST_TWO)


def test_after_at_the_root():
    program = programs.pipeline()
    program.function["C"].after("B")
    check(program, *AT_LEAST_TWO)


def test_before():
    program = programs.pipeline()
    program.function["C"].shift(i, 1)
    program.function["B"].before("C", i)
    check(program, *AT_LEAST_TWO)


def test_then_returns_the_other():
    program = programs.pipeline()
    program.function["C"].shift(i, 1)
    handle = program.function["B"].then("C", i)
    assert handle.name == "C"
    check(program, *AT_LEAST_TWO)


@pytest.mark.parametrize("make", [programs.matmul, programs.pointwise, programs.triangle])
def test_parallelize(make):
    program = make()
    handle = program.function["C"].parallelize(i)
    assert handle.tags == {"i": "parallel"}
    check(program, *SIZES, (300, 7))


def test_parallelize_the_inner_loop():
    program = programs.prefix()
    program.function["C"].parallelize(j)
    check(program, *SIZES)


def test_parallelize_tiles():
    program = programs.matmul()
    program.function["C"].tile(i, j, 4, 8).parallelize("i0").parallelize("j0")
    check(program, *SIZES)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("lanes", [2, 8, 16])
def test_vectorize(make, lanes):
    program = make()
    handle = program.function["C"].vectorize(j, lanes)
    assert handle.tags == {"j1": f"vector({lanes})"}
    check(program, *SIZES)


@pytest.mark.parametrize("make", [programs.pointwise, programs.triangle])
def test_vectorize_a_strided_loop(make):
    program = make()
    program.function["C"].vectorize(i, 4)
    check(program, *SIZES)


def test_vectorize_a_tile_of_that_width():
    program = programs.matmul()
    handle = program.function["C"].tile(i, j, 4, 8).vectorize("j1", 8)
    assert handle.loops == ("i0", "j0", "i1", "j1", "k")
    check(program, *SIZES)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("factor", [2, 5])
def test_unroll(make, factor):
    program = make()
    handle = program.function["C"].unroll(i, factor)
    assert handle.tags == {"i1": f"unroll({factor})"}
    check(program, *SIZES)


def test_unroll_a_loop_of_constant_extent():
    program = programs.matmul()
    handle = program.function["C"].split(i, 4).unroll("i1")
    assert handle.tags == {"i1": "unroll(4)"}
    check(program, *SIZES)


def test_register_tile():
    program = programs.matmul(fast_math=True)
    handle = program.function["C"].tile(i, j, 4, 16).interchange("j1", k).interchange("i1", k)
    handle.parallelize("i0").unroll("i1").split("j1", 8, "j2", "j3").unroll("j2").vectorize("j3")
    check(program, *SIZES, (33, 65, 19))


def test_set_schedule():
    program = programs.pointwise()
    program.function["C"].set_schedule("{ C[i,j] -> [j, i] }")
    check(program, *SIZES)


def test_set_schedule_of_a_reduction():
    program = programs.matmul()
    program.function["C"].set_schedule("{ C[i,j,k] -> [floor(i/4), j, k, i mod 4] }")
    check(program, *SIZES)


def test_set_schedule_of_two_computations():
    program = programs.pipeline()
    program.function["B"].set_schedule("{ B[i,j] -> [i, 0, j] }")
    program.function["C"].set_schedule("{ C[i,j] -> [i + 1, 1, j] }")
    check(program, *AT_LEAST_TWO)


def test_store_in_permuted():
    program = programs.pipeline()
    program.function["B"].store_in("turned[j, i]")
    assert "turned[j" in str(program.function.layers)
    check(program, *AT_LEAST_TWO)


def test_store_in_buffer():
    program = programs.pipeline()
    m = tw.param("M")
    n = tw.param("N")
    program.function["B"].store_in(tw.Buffer("turned", [m, n + 1]), [j, i])
    check(program, *AT_LEAST_TWO)


def test_store_in_projected():
    """A window of two rows is enough when producer and consumer share the loop over rows."""
    program = programs.pipeline()
    program.function["C"].shift(i, 1).after("B", i)
    program.function["B"].store_in("window[i % 2, j]")
    check(program, *AT_LEAST_TWO)


def test_store_in_of_an_output_is_refused():
    """Where an output's elements are is the caller's affair."""
    program = programs.pointwise()
    with pytest.raises(tw.ScheduleError, match="C is an output"):
        program.function["C"].store_in("turned[j, i]")
    check(program, (4, 3))


def test_many_commands_together():
    program = programs.pipeline()
    strip = program.function["B"].split(j, 8, "strip", "column").interchange(i, "strip")
    other = program.function["C"].split(j, 8, "strip", "column").interchange(i, "strip")
    other.shift(i, 1).after("B", i)
    for handle in (strip, other):
        handle.parallelize("strip").vectorize("column")
    strip.store_in("window[i % 2, j]")
    check(program, *AT_LEAST_TWO, (9, 64))


def test_commands_on_the_computation_itself():
    n = tw.param("N")
    x = tw.input("x", [n], tw.float32)
    y = tw.computation("y", {i: n}, x[i] + 1)
    with pytest.raises(tw.ScheduleError, match="does not belong to a function yet"):
        y.split(i, 4)
    f = tw.function("f", outputs=[y])
    assert y.split(i, 4) is y
    assert f["y"].loops == ("i0", "i1")
    g = tw.function("g", outputs=[y])
    with pytest.raises(tw.ScheduleError, match=r"belongs to 2 functions \(f, g\)"):
        y.split("i0", 4)
    assert g["y"].loops == ("i",)


def test_commands_on_an_intermediate_computation():
    n = tw.param("N")
    x = tw.input("x", [n], tw.float32)
    y = tw.computation("y", {i: n}, x[i] + 1)
    z = tw.computation("z", {i: n}, y[i] * 2)
    f = tw.function("f", outputs=[z])
    z.after(y, i)
    assert "after" in str(f.schedule)


def test_a_recurrence_whose_order_isl_does_not_find_is_refused_in_time():
    n, m = tw.params("N M")
    a, b, c = tw.iters("a b c")
    x = tw.input("x", [m], tw.int32)
    inside = (a <= n - 2) & (b > 0) & (b <= n - 2) & (c >= 2) & (c <= m - 2)
    border = (a > n - 2) | (b <= 0) | (b > n - 2) | (c < 2) | (c > m - 2)
    e = tw.computation(
        "E",
        {a: n, b: n, c: (1, m)},
        lambda e: [
            (inside, e[a + 1, b - 1, c + 1] + e[a + 1, b + 1, c - 1] + e[a, b + 1, c + 1]),
            (border, x[c]),
        ],
        dtype=tw.int32,
    )
    function = tw.function("f", outputs=[e])
    try:
        values = function(np.arange(5, dtype=np.int32), N=4)
    except tw.IllegalScheduleError as error:  # no order was found
        assert error.source_instance.startswith("E")
    else:
        np.testing.assert_array_equal(values, function.evaluate(np.arange(5, dtype=np.int32), N=4))
