"""cache of what a computation writes and of what it reads: footprints, layouts, values, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from programs import Program, check, matmul, pipeline, pointwise, prefix, triangle

import tilewright as tw

i, j, k = tw.iters("i j k")
SIZES = [(0, 0), (1, 1), (3, 5), (4, 16), (13, 35)]
MATMUL_SIZES = [(0, 3, 2), (1, 1, 0), (3, 5, 7), (4, 16, 8), (13, 35, 19)]


def loops(program: Program) -> str:
    return str(program.function.loops)


# ---- accumulators ----


def test_the_accumulators_of_a_tile_are_a_buffer_of_the_tile():
    program = matmul()
    local = program.function["C"].tile(i, j, 4, 16).cache("C", "j0")
    assert local.name == "C_local"
    assert "C_local = empty((4, 16), float64)" in loops(program)
    check(program, *MATMUL_SIZES)
    local.reorder(k, "i1", "j1").unroll("i1").vectorize("j1", 8)
    check(program, *MATMUL_SIZES)
    inner = loops(program).split("for k in")[1].split("for i1 in")[1]
    assert "C_local" in inner and "C[" not in inner


def test_the_last_iteration_stays_with_its_buffer():
    m = tw.param("M")
    x = tw.input("x", [m + 2, m + 2], tw.float32)
    c = tw.computation(
        "C",
        {i: m},
        lambda c: [(i == 1, x[1, i - 1]), (i >= 2, x[i + 1, i - 1])],
        shape=[m],
        dtype=tw.float32,
    )
    function = tw.function("f", outputs=[c])
    c.cache(x, i)
    c.reverse(i)
    for size in (0, 1, 2, 3, 6):
        array = np.arange((size + 2) ** 2, dtype=np.float32).reshape(size + 2, size + 2) + 1
        np.testing.assert_array_equal(function(array), function.evaluate(array))


def test_the_iterator_of_partial_results_is_none_of_the_terms():
    n, m = tw.params("N M")
    x = tw.input("x", [n], tw.int64)
    c = tw.computation("C", {i: n}, tw.max(x[i] + k, over={k: m}))
    e = tw.computation("E", {i: n}, tw.max(c[i] * k, over={k: m}))
    function = tw.function("f", outputs=[e])
    c.inline()
    e.shift(k, 1).cache(e, "k")
    array = np.arange(4) - 2
    np.testing.assert_array_equal(function(array, M=3), function.evaluate(array, M=3))


def test_partial_results_where_a_reduced_loop_stands_outside():
    program = matmul()
    program.function["C"].tile(i, j, k, 4, 16, 8).cache("C", "k0")
    assert "C[4 * i0 + i1, 16 * j0 + j1] + C_local[i1, j1, 0]" in loops(program)
    check(program, *MATMUL_SIZES)


def test_the_layout_of_partial_results():
    program = matmul()
    nest = program.function["C"].tile(i, j, 4, 16).split(k, 8)
    nest.reorder("i0", "k0", "j0", "i1", "j1", "k1").cache("C", "j0", order=[1, 0])
    assert "C_local = empty((1, 16, 4), float64)" in loops(program)
    check(program, *MATMUL_SIZES)


def test_several_reduced_loops_outside():
    program = matmul()
    nest = program.function["C"].split(k, 4).split("k0", 2, "ka", "kb").tile(i, j, 4, 8)
    nest.reorder("ka", "i0", "kb", "j0", "i1", "j1", "k1").cache("C", "j0", order=[1, 0])
    assert "C_local = empty((1, 1, 8, 4), float64)" in loops(program)
    assert set(program.function.computations) == {"C", "C_local"}
    check(program, *MATMUL_SIZES)


def test_all_reduced_loops_outside():
    program = matmul()
    program.function["C"].split(k, 4).reorder("k0", "k1", i, j).cache("C", i)
    check(program, *MATMUL_SIZES)
    program = Program(*convolution())
    nest = program.function["C"].reorder("u", "v", i, j).tile(i, j, 4, 8)
    nest.cache("C", "j0", memory="stack")
    check(program, (0, 0), (1, 1), (5, 9), (12, 20))


def convolution():
    n, m = tw.params("N M")
    u, v = tw.iters("u v")
    a = tw.input("A", [n + 2, m + 2], tw.int64)
    w = tw.input("W", [3, 3], tw.int64)
    c = tw.computation("C", {i: n, j: m}, tw.sum(a[i + u, j + v] * w[u, v], over={u: 3, v: (0, 3)}))

    def numpy(a, w):
        n, m = a.shape[0] - 2, a.shape[1] - 2
        shape = (n, m)
        result = np.zeros(shape, np.int64)
        for u in range(3):
            for v in range(3):
                result += a[u : u + n, v : v + m] * w[u, v]
        return result

    def arrays(n, m):
        generator = np.random.default_rng(n)
        return generator.integers(-9, 9, (n + 2, m + 2)), generator.integers(-9, 9, (3, 3))

    return tw.function("convolution", outputs=[c]), arrays, numpy


def test_a_loop_that_mixes_reduced_iterators_and_others():
    program = matmul()
    program.function["C"].skew(j, k)
    with pytest.raises(tw.ScheduleError, match="must run over the reduced iterators"):
        program.function["C"].cache("C", k)
    program.function["C"].cache("C", i)
    check(program, *MATMUL_SIZES)


def test_a_whole_sum_and_its_parts():
    n = tw.param("N")
    a = tw.input("A", [n], tw.int64)
    s = tw.computation("S", {}, tw.sum(a[i], over={i: n}))
    function = tw.function("f", outputs=[s])
    s.split(i, 8)
    part = s.cache("S", "i0")
    part.unroll("i1")
    for size in (0, 1, 8, 21):
        values = np.arange(size) - 3
        assert function(values) == values.sum() == function.evaluate(values)


@pytest.mark.parametrize("make", [pointwise, triangle])
@pytest.mark.parametrize("level", ["i0", "j0", "i1", "j1"])
def test_every_level_of_a_computation_without_reduction(make, level):
    program = make()
    program.function["C"].tile(i, j, 4, 8).cache("C", level)
    check(program, *SIZES)


def test_tags_go_with_the_loops():
    program = pointwise()
    program.function["C"].tile(i, j, 4, 8).parallelize("i0").unroll("i1").vectorize("j1")
    program.function["C"].cache("C", "i0")
    text = loops(program)
    assert text.count("# parallel") == 1
    assert text.count("# vector(8)") == 2
    check(program, *SIZES)


def test_pieces_become_one_copy():
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int64)
    c = tw.computation(
        "C", {i: n, j: m}, lambda c: [(j < i, a[i, j]), (j >= i, -a[i, j])], dtype=tw.int64
    )
    program = Program(
        tw.function("pieces", outputs=[c]),
        lambda n, m: (np.arange(n * m).reshape(n, m),),
        lambda a: np.where(np.tri(*a.shape, -1, dtype=bool), a, -a),
    )
    c.tile(i, j, 4, 8)
    c.cache("C", "j0")
    assert loops(program).count("= C_local[") == 1
    check(program, *SIZES)


def test_what_is_read_and_what_is_written_together():
    program = matmul()
    nest = program.function["C"].tile(i, j, 4, 16).reorder("i0", "j0", k, "i1", "j1")
    nest.split(k, 8).reorder("i0", "j0", "k0", "k1", "i1", "j1")
    packed = nest.cache("B", "k0", order=[1, 0])
    nest.cache("A", "k0")
    local = nest.cache("C", "k0", memory="stack")
    text = loops(program)
    assert "B_cache = empty((16, 8), float64)" in text
    assert "A_cache = empty((4, 8), float64)" in text
    assert "C_local[i1, j1, 0] + A_cache[i1, k1] * B_cache[j1, k1]" in text
    check(program, *MATMUL_SIZES)
    local.vectorize("j1", 8)
    packed.unroll(j, 2)
    check(program, *MATMUL_SIZES)


def test_a_consumer_in_the_outer_loops_stays_behind_the_copy():
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int64)
    b = tw.computation("B", {i: n, j: m}, a[i, j] + 1)
    c = tw.computation("C", {i: n, j: m}, 2 * b[i, j])
    function = tw.function("chain", outputs=[b, c])
    b.cache("B", j)
    c.after(b, i)
    a_ = np.arange(12).reshape(3, 4)
    first, second = function(a_)
    np.testing.assert_array_equal(first, a_ + 1)
    np.testing.assert_array_equal(second, 2 * a_ + 2)


def test_a_shared_loop_cannot_leave():
    n = tw.param("N")
    a = tw.input("A", [n, n], tw.int64)
    b = tw.computation("B", {i: n, j: n}, a[i, j] + 1)
    c = tw.computation("C", {i: n, j: n}, 2 * b[i, j])
    function = tw.function("shared", outputs=[b, c])
    c.after(b, j)
    with pytest.raises(tw.ScheduleError, match="C and B share a loop inside of 'i'"):
        b.cache("B", i)
    b.cache("B", j)
    values = np.arange(9).reshape(3, 3)
    np.testing.assert_array_equal(function(values)[1], 2 * values + 2)


def test_computed_inside_a_reader():
    program = pipeline()
    program.function["C"].split(i, 4)
    program.function["B"].compute_at("C", "i0")
    program.function["B"].store_at("C", "i0")
    program.function["B"].cache("B", i)
    assert "B_local" in loops(program)
    check(program, (2, 1), (5, 3), (13, 7))


def test_a_recurrence_between_iterations_of_the_loop():
    program = prefix()
    program.function["C"].cache("C", i)
    assert "C_local[0, j] = C[i - 1, j] + A[i, j]" in loops(program)
    check(program, *SIZES)


def sums_of_own_values() -> Program:
    """X[i] = x[i] + sum(X[k] * x[k] for k < i)."""
    n = tw.param("N")
    x = tw.input("x", [n], tw.int64)
    c = tw.computation(
        "X", {i: n}, lambda c: x[i] + tw.sum(c[k] * x[k], over={k: i}), dtype=tw.int64
    )

    def numpy(x: np.ndarray) -> np.ndarray:
        found = x.copy()
        for at in range(x.size):
            found[at] += found[:at] @ x[:at]
        return found

    return Program(
        tw.function("f", outputs=[c]), lambda n, _: (np.arange(n, dtype=np.int64) % 5 - 2,), numpy
    )


def test_a_sum_of_own_values():
    program = sums_of_own_values()
    local = program.function["X"].cache("X", i)
    assert local.loops == ("k",)
    assert "X_local[0] = X_local[0] + X[k] * x[k]" in loops(program)
    check(program, *SIZES)
    program = sums_of_own_values()
    with pytest.raises(tw.ScheduleError, match="not a reduction scheduled by its body"):
        program.function["X"].rfactor(i)
    check(program, *SIZES)


def test_a_recurrence_inside_one_iteration_is_illegal():
    program = prefix()
    program.function["C"].split(i, 4)
    with pytest.raises(tw.IllegalScheduleError) as refusal:
        program.function["C"].cache("C", "i0")
    assert refusal.value.source_instance.startswith("C[")
    assert refusal.value.sink_instance.startswith("C_local_1[")
    check(program, *SIZES)


def test_loops_given_as_a_map():
    program = pointwise()
    program.function["C"].set_schedule("{ C[i,j] -> [j,i] }")
    with pytest.raises(tw.ScheduleError, match="were given as a map"):
        program.function["C"].cache("C", "j")
    check(program, *SIZES)


def test_refusals_of_names_and_orders():
    program = matmul()
    c = program.function["C"]
    with pytest.raises(tw.ScheduleError, match="no loop named 'i7'"):
        c.cache("C", "i7")
    with pytest.raises(tw.ScheduleError, match="permutation of the 2 dimensions of C"):
        c.cache("C", i, order=[0, 2])
    with pytest.raises(tw.ScheduleError, match="A"):
        c.cache("C", i, name="A")
    check(program, (3, 4, 5))


def test_names_are_numbered():
    program = pointwise()
    c = program.function["C"].tile(i, j, 4, 8)
    first = c.cache("C", "j0")
    second = c.cache("C", "i0")
    assert (first.name, second.name) == ("C_local", "C_local2")
    check(program, *SIZES)


def test_the_schedule_is_a_value():
    program = matmul()
    c = program.function["C"].tile(i, j, 4, 16)
    local = c.cache("C", "j0", memory="stack")
    local.reorder(k, "i1", "j1")
    schedule = program.function.schedule
    assert str(schedule).split("\n") == [
        'C.tile("i", "j", 4, 16)',
        'C_local = C.cache("C", "j0", memory="stack")',
        'C_local.reorder("k", "i1", "j1")',
    ]
    other = matmul()
    loaded = tw.Schedule.from_json(schedule.to_json())
    assert loaded == schedule and not schedule.diff(loaded)
    loaded.apply_to(other.function)
    assert loops(other) == loops(program)
    check(other, (13, 35, 19))
    names = {"f": other.function, "tw": tw}
    other.function.reset_schedule()
    exec(str(schedule).replace("C.", 'f["C"].', 1).replace("= C.cache", '= f["C"].cache'), names)
    assert loops(other) == loops(program)


def test_pieces_that_have_one_iteration_of_the_loop_keep_its_buffer():
    """isl would run the piece of i == 0 in front of the loop, in which its buffer is."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int64)
    b = tw.computation(
        "B", {i: n, j: m}, lambda b: [(i == 0, a[i, j]), (i > 0, 3 * a[i, j])], dtype=tw.int64
    )
    c = tw.computation("C", {i: n, j: m}, b[i, j] + 1)

    def numpy(a):
        return np.vstack([a[:1], 3 * a[1:]]) + 1

    program = Program(
        tw.function("first", outputs=[c]),
        lambda n, m: (np.arange(n * m).reshape(n, m),),
        numpy,
    )
    b.compute_at(c, i)
    b.store_at(c, i)
    assert loops(program).count("B = empty((1, M), int64)") == 1
    check(program, *SIZES)
    c.parallelize(i)
    check(program, *SIZES)


def test_a_loop_of_one_iteration():
    n, m = tw.params("N M", "N >= 1")
    a = tw.input("A", [n, m], tw.int64)
    c = tw.computation("C", {i: (n - 1, n), j: m}, a[i, j] + 1)
    d = tw.computation("D", {j: m}, c[n - 1, j])
    program = Program(
        tw.function("last", outputs=[d]),
        lambda n, m: (np.arange(n * m).reshape(n, m),),
        lambda a: a[-1] + 1,
    )
    c.cache("A", i)
    c.cache("C", i)
    check(program, (1, 1), (4, 5))


# ---- what is read: one buffer for all accesses ----


def stencil(read, extent, name="stencil"):
    n = tw.param("N", "N >= 1")
    a = tw.input("A", [extent(n)], tw.int64)
    c = tw.computation("C", {i: n}, read(a))
    return tw.function(name, outputs=[c]), c


def test_accesses_that_overlap_are_one_footprint():
    function, c = stencil(lambda a: a[i] + a[i + 1] + a[i + 2], lambda n: n + 2)
    c.split(i, 8)
    c.cache("A", "i0")
    text = str(function.loops)
    assert text.count("A_cache = empty((10,), int64)") == 1
    assert text.count("] = A[") == 1
    for size in (1, 7, 8, 21):
        a = np.arange(size + 2) ** 2
        np.testing.assert_array_equal(function(a), a[:-2] + a[1:-1] + a[2:])


def test_accesses_of_other_coefficients_are_one_footprint():
    function, c = stencil(lambda a: a[i] + a[2 * i] + a[3 * i + 1], lambda n: 3 * n)
    c.split(i, 4)
    c.cache("A", "i0")
    text = str(function.loops)
    assert text.count("A_cache = empty(") == 1
    assert "A[" not in text.split("for i1 in")[1]
    for size in (1, 4, 11):
        a = np.arange(3 * size) ** 2
        at = np.arange(size)
        np.testing.assert_array_equal(function(a), a[at] + a[2 * at] + a[3 * at + 1])


def test_a_strided_access_keeps_its_box():
    function, c = stencil(lambda a: a[4 * i], lambda n: 4 * n)
    c.split(i, 8)
    c.cache("A", "i0")
    assert "A_cache = empty((29,), int64)" in str(function.loops)
    for size in (1, 8, 19):
        a = np.arange(4 * size) ** 2
        np.testing.assert_array_equal(function(a), a[::4])


def test_a_buffer_that_one_iteration_uses_stays_in_its_loop():
    """The copy must not leave the loop on its own: what reads it would find another buffer."""
    N, M = tw.params("N M")
    x = tw.input("x", [M], tw.float32)
    index = tw.input("index", [N], tw.int64)
    d = tw.computation("D", {i: N, j: M - 2}, tw.float32(1) + 0 * x[j], where=M >= 3)
    e = tw.computation(
        "E", {i: N}, lambda E: [(i == 0, x[index[i]]), (i > 0, E[i - 1])], dtype=tw.float32
    )
    f = tw.function("f", outputs=[d, e])
    f["E"].cache("x", i)
    f["E"].unroll(i, 2).after("D", j)
    for n, m in ((1, 3), (2, 3), (5, 6)):
        array, zeros = np.arange(2, 2 + m, dtype=np.float32), np.zeros(n, np.int64)
        for got, expected in zip(f(array, zeros), f.evaluate(array, zeros), strict=True):
            np.testing.assert_array_equal(got, expected)


def test_a_function_that_lists_a_division_and_does_not_use_it():
    """The place in the buffer of an element that has a term at odd iterations only: one less than a division."""
    M, N = tw.params("M N")
    d = tw.input("D", [M], tw.int64)
    e = tw.computation(
        "E", {i: M}, tw.min(i - 2 + d[M - 1 - i], over={k: (1, N - 1)}, where=2 * k == i - 1)
    )
    f = tw.function("f", outputs=[e])
    f["E"].cache("E", "k")
    np.testing.assert_array_equal(f(np.arange(7), N=9), f.evaluate(np.arange(7), N=9))
