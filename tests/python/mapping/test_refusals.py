"""Illegal commands are refused, with the dependence and two instances, and change nothing."""

from __future__ import annotations

import programs
import pytest
from programs import check

import tilewright as tw

i, j, k = tw.iters("i j k")


def refused(program, command):
    before = program.function.schedule
    with pytest.raises(tw.IllegalScheduleError) as caught:
        command(program.function)
    assert program.function.schedule == before
    return caught.value


def test_parallel_reduction():
    program = programs.matmul()
    error = refused(program, lambda f: f["C"].parallelize(k))
    assert error.computation == "C"
    assert "parallelize" in error.command
    assert error.source_instance
    assert error.sink_instance
    assert error.dependence
    assert error.parameters
    assert error.location is not None
    assert error.location.file == __file__
    assert error.source_instance in str(error)
    assert "test_refusals.py" in str(error)
    check(program, (5, 6))


def test_vector_reduction_without_leave_to_reorder():
    refused(programs.matmul(ordered=True), lambda f: f["C"].vectorize(k, 4))


def test_reverse_of_a_recurrence():
    error = refused(programs.prefix(), lambda f: f["C"].reverse(i))
    assert error.computation == "C"
    # One statement for each piece of C.
    assert error.source_instance.startswith("C_0[0,")
    assert error.sink_instance.startswith("C_1[1,")


def test_parallel_recurrence():
    refused(programs.prefix(), lambda f: f["C"].parallelize(i))


def test_fusion_without_a_shift():
    error = refused(programs.pipeline(), lambda f: f["C"].after("B", i))
    assert error.source_instance.startswith("B[")
    assert error.sink_instance.startswith("C[")


def test_consumer_before_producer():
    refused(programs.pipeline(), lambda f: f["C"].before("B"))


def test_parallel_loop_of_a_shifted_fusion():
    program = programs.pipeline()
    program.function["C"].shift(i, 1).after("B", i)
    refused(program, lambda f: f["C"].parallelize(i))


def test_storage_too_small():
    program = programs.pipeline()
    error = refused(program, lambda f: f["B"].store_in("row[j]"))
    assert error.element


def test_skewed_tiles_of_a_time_loop():
    """Tiling a recurrence with a negative distance needs a skew."""
    n = tw.param("N")
    x = tw.input("x", [n, n], tw.float64)
    c = tw.computation(
        "C",
        {i: n, j: n},
        lambda c: [
            ((i == 0) | (j == n - 1), x[i, j]),
            ((i > 0) & (j < n - 1), c[i - 1, j + 1] + 1.0),
        ],
        dtype=tw.float64,
    )
    f = tw.function("f", outputs=[c])
    with pytest.raises(tw.IllegalScheduleError):
        c.tile(i, j, 4, 4)
    with pytest.raises(tw.IllegalScheduleError):
        c.interchange(i, j)
    c.skew(i, j).tile(i, j, 4, 4)
    assert f["C"].loops == ("i0", "j0", "i1", "j1")


def test_a_race_that_data_decide_cannot_be_decided():
    """Two terms of a histogram meet where two elements are equal; of a plain sum they do anyway."""
    n, p, b = tw.param("N"), tw.iter("p"), tw.iter("b")
    data = tw.input("data", [n], tw.int32)
    for where, code in (({"where": data[p] == b}, "TW215"), ({}, "TW213")):
        c = tw.computation("h", {b: 8}, tw.sum(1, over={p: n}, **where))
        f = tw.function("f", outputs=[c])
        with pytest.raises(tw.IllegalScheduleError) as caught:
            f["h"].parallelize(p)
        assert caught.value.code == code
        assert "h[0,0] -> h[0,1]" in str(caught.value)
        f["h"].parallelize(b)
