"""Illegal commands are refused, with the dependence and two instances, and change nothing."""

from __future__ import annotations

import numpy as np
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


# ---- computations that share a loop which cannot carry a tag ----

N, M, T = tw.params("N M T")
t = tw.iter("t")


def fdtd_1d():
    """Two fields that need each other, in one loop over x."""
    first = {name: tw.input(f"{name}0", [N], tw.float64) for name in "EH"}
    E, H = (tw.computation(name, {t: T + 1, i: N}, dtype=tw.float64) for name in "EH")
    E.define(t == 0, first["E"][i])
    difference = tw.select(i < N - 1, H[t - 1, i + 1] - H[t - 1, i], 0.0)
    E.define(t > 0, E[t - 1, i] - 0.5 * difference)
    H.define(t == 0, first["H"][i])
    H.define(t > 0, H[t - 1, i] - 0.7 * tw.select(i > 0, E[t, i] - E[t, i - 1], 0.0))
    return tw.function("fdtd_1d", inputs=list(first.values()), outputs=[E, H])


def fdtd_2d():
    first = {name: tw.input(f"{name}0", [N, M], tw.float64) for name in "XYH"}
    X, Y, H = (tw.computation(name, {t: T + 1, i: N, j: M}, dtype=tw.float64) for name in "XYH")
    for field in (X, Y, H):
        field.define(t == 0, first[field.name][i, j])
    along = {
        "Y": tw.select(i < N - 1, H[t - 1, i + 1, j] - H[t - 1, i, j], 0.0),
        "X": tw.select(j < M - 1, H[t - 1, i, j + 1] - H[t - 1, i, j], 0.0),
    }
    for field in (X, Y):
        field.define(t > 0, field[t - 1, i, j] - 0.5 * along[field.name])
    curl = X[t, i, j] - X[t, i, j - 1] + Y[t, i, j] - Y[t, i - 1, j]
    H.define(t > 0, H[t - 1, i, j] - 0.7 * tw.select((i > 0) & (j > 0), curl, 0.0))
    return tw.function("fdtd_2d", inputs=list(first.values()), outputs=[X, Y, H])


@pytest.mark.parametrize(
    ("make", "field", "loop", "advice", "command"),
    [
        (
            fdtd_1d,
            "E",
            i,
            'it would be legal after H.after("E", "t")',
            lambda f: f["H"].after("E", t),
        ),
        (
            fdtd_1d,
            "H",
            i,
            'it would be legal after H.after("E", "t")',
            lambda f: f["H"].after("E", t),
        ),
        (
            fdtd_2d,
            "H",
            i,
            'it would be legal after H.after("Y", "t")',
            lambda f: f["H"].after("Y", t),
        ),
        (
            fdtd_2d,
            "H",
            j,
            'it would be legal after H.after("X", "i")',
            lambda f: f["H"].after("X", i),
        ),
    ],
)
def test_fields_that_need_each_other_are_taken_apart(make, field, loop, advice, command):
    function = make()
    with pytest.raises(tw.IllegalScheduleError) as caught:
        function[field].parallelize(loop)
    assert caught.value.suggestion == f"no loop of {field} can be parallel in this order; {advice}"
    command(function)
    function[field].parallelize(loop)
    generator = np.random.default_rng(3)
    shape = (5,) if make is fdtd_1d else (5, 4)
    arrays = [generator.random(shape) for _ in function.inputs]
    for found, expected in zip(
        function(*arrays, T=3), function.evaluate(*arrays, T=3), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_another_loop_is_named_where_the_one_asked_for_stays_sequential():
    with pytest.raises(tw.IllegalScheduleError) as caught:
        fdtd_1d()["E"].parallelize(t)
    assert caught.value.suggestion == (
        "no loop of E can be parallel in this order; "
        'parallelize("i") would be legal after H.after("E", "t")'
    )


@pytest.mark.parametrize("beside", ["A", "B"])
def test_several_are_taken_out_of_a_loop(beside):
    """A, and two that read its neighbours, in one loop: each placed at A, or one at the other."""
    x = tw.input("x", [N], tw.float64)
    A = tw.computation("A", {i: N}, x[i] + 1)
    B = tw.computation("B", {i: (1, N)}, A[i - 1] * 2)
    C = tw.computation("C", {i: (1, N)}, A[i - 1] * 3)
    function = tw.function("three", outputs=[B, C])
    B.after(A, i)
    C.after(beside, i)
    with pytest.raises(tw.IllegalScheduleError) as caught:
        A.parallelize(i)
    advice = caught.value.suggestion.partition("it would be legal after ")[2]
    for command in advice.split(" and "):
        eval(command, {"A": A, "B": B, "C": C})
    assert ("B.after" in advice, "C.after" in advice) == (True, beside == "A")
    A.parallelize(i)
    values = np.arange(6.0)
    for found, expected in zip(function(values), function.evaluate(values), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_no_fold_is_legal_with_a_witness():
    x = tw.input("x", [N], tw.float64)
    B = tw.computation("B", {i: N}, x[i] * 2)
    C = tw.computation("C", {i: N}, B[N - 1 - i])
    function = tw.function("backwards", outputs=[C])
    with pytest.raises(tw.IllegalScheduleError, match="no fold of up to 64 elements") as caught:
        B.storage_fold(i)
    error = caught.value
    assert error.code == "TW212"
    assert (error.source_instance, error.sink_instance) == ("C[64]", "B[64]")
    assert (error.parameters, error.element) == ("N = 65", "B[0]")
    assert error.dependence.startswith("[N] -> { C[i] -> B[i'] ")
    assert error.command == 'B.storage_fold("i")'
    with pytest.raises(tw.IllegalScheduleError) as caught:
        B.storage_fold(i, 64)
    assert caught.value.sink_instance == error.sink_instance
    values = np.arange(70.0)
    np.testing.assert_array_equal(function(values), 2 * values[::-1])


# ---- what a witness names ----


@pytest.mark.parametrize("nested", [False, True])
def test_a_witness_has_an_element_for_each_computed_subscript(nested):
    """Terms of a sparse product meet only where x has an element that they read."""
    p = tw.iter("p")
    x = tw.input("x", [M], tw.float64)
    column = tw.input("column", [T], tw.int64)
    start = tw.input("start", [N + 1], tw.int64)
    term = x[column[column[p]]] if nested else x[column[p]]
    y = tw.computation("y", {i: N}, tw.sum(term, over={p: (start[i], start[i + 1])}))
    function = tw.function("sparse", outputs=[y])
    with pytest.raises(tw.IllegalScheduleError) as caught:
        function["y"].parallelize(p)
    sizes = dict(part.split(" = ") for part in caught.value.parameters.split(", "))
    assert sizes == {"M": "1", "N": "1", "T": "2"}
    assert (caught.value.source_instance, caught.value.sink_instance) == ("y[0,0]", "y[0,1]")


def test_a_read_that_data_may_leave_out_needs_no_element():
    """Where a condition on data decides whether x is read, terms meet without any element of it."""
    p = tw.iter("p")
    x = tw.input("x", [M], tw.float64)
    column = tw.input("column", [T], tw.int64)
    term = tw.select(column[p] >= 0, x[column[p]], 1.0)
    y = tw.computation("y", {i: N}, tw.sum(term, over={p: T}))
    function = tw.function("sparse", outputs=[y])
    with pytest.raises(tw.IllegalScheduleError) as caught:
        function["y"].parallelize(p)
    assert "M = 0" in caught.value.parameters


def test_a_witness_inside_the_loops_of_a_reader_names_them():
    x = tw.input("x", [N], tw.float64)
    B = tw.computation("B", {i: N}, x[i] * 2)
    C = tw.computation("C", {i: N, j: M}, B[i] + 1)
    function = tw.function("replicated", outputs=[C])
    function["B"].compute_at(C, j).store_in("kept[0]")
    with pytest.raises(tw.IllegalScheduleError) as caught:
        C.parallelize(i)
    error = caught.value
    assert (error.source_instance, error.sink_instance) == ("C[0,0]", "B[1](i=1,j=0)")
    assert "-> B[@i, @j, i' = @i]" in error.dependence
    assert "C[0,0] -> B[1](i=1,j=0) at element kept[0] with N = 2, M = 1" in str(error)
