"""store_at and cache: buffers inside loops, against the evaluator and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

N, M, K = tw.params("N M K")
i, j, k = tw.iters("i j k")


def blur():
    image = tw.input("image", [N + 2, M + 2], tw.float32)
    rows = tw.computation(
        "rows", {i: N + 2, j: M}, (image[i, j] + image[i, j + 1] + image[i, j + 2]) / 3
    )
    out = tw.computation("out", {i: N, j: M}, (rows[i, j] + rows[i + 1, j] + rows[i + 2, j]) / 3)
    function = tw.function("blur", outputs=[out])
    return function, function["rows"], function["out"]


def check_blur(function):
    rng = np.random.default_rng(0)
    for n, m in ((0, 0), (1, 1), (0, 5), (7, 9), (8, 16), (33, 50)):
        image = rng.random((n + 2, m + 2), np.float32)
        np.testing.assert_allclose(function(image), function.evaluate(image), rtol=1e-6)


@pytest.mark.parametrize("memory", ["auto", "stack", "heap"])
@pytest.mark.parametrize(
    ("compute", "store"), [("i0", "i0"), ("j0", "i0"), ("j0", "j0"), ("i1", "j0"), ("i1", "i1")]
)
def test_a_tile_has_its_own_buffer(compute, store, memory):
    function, rows, out = blur()
    out.tile(i, j, 8, 16).parallelize("i0")
    rows.compute_at(out, compute)
    if memory == "stack" and (compute, store) == ("i0", "i0"):
        with pytest.raises(
            tw.ScheduleError, match=r"float32\[10, .*the stack needs a constant size"
        ):
            rows.store_at(out, store, memory)
        return
    rows.store_at(out, store, memory).vectorize(j, 8)
    check_blur(function)


def test_the_buffer_is_as_large_as_what_is_read():
    function, rows, out = blur()
    out.tile(i, j, 8, 16)
    rows.compute_at(out, "j0").store_at(out, "j0")
    assert "rows = empty((10, 16), float32)" in function.loops
    assert "rows[i1, j1] + rows[i1 + 1, j1]" in function.loops


def test_threads_need_their_own_sums():
    matrix = tw.input("matrix", [N, K], tw.float64)
    total = tw.computation("total", {i: N}, tw.sum(matrix[i, k], over={k: K}))
    share = tw.computation("share", {i: N, k: K}, matrix[i, k] / total[i])
    function = tw.function("share_of_row", outputs=[share])
    total.compute_at(share, i).store_at(share, i)
    share.parallelize(i)
    for n, m in ((0, 0), (1, 1), (17, 5), (64, 33)):
        values = np.random.default_rng(1).random((n, m)) + 1
        np.testing.assert_allclose(function(values), values / values.sum(1, keepdims=True))


def test_store_at_needs_compute_at():
    _, rows, out = blur()
    with pytest.raises(tw.ScheduleError, match="give compute_at first"):
        rows.store_at(out, i)


def test_a_buffer_inside_the_computation_s_own_loops_is_refused():
    _, rows, out = blur()
    out.tile(i, j, 8, 16)
    rows.compute_at(out, "i0")
    with pytest.raises(tw.ScheduleError, match="shares 1 loop with out"):
        rows.store_at(out, "j0")


def test_unknown_memory():
    _, rows, out = blur()
    rows.compute_at(out, i)
    with pytest.raises(tw.ScheduleError, match='"shared" or "private", got "register"'):
        rows.store_at(out, i, "register")


def matmul():
    a = tw.input("A", [N, K], tw.float32)
    b = tw.input("B", [K, M], tw.float32)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    return tw.function("matmul", outputs=[c])


def check_matmul(function):
    rng = np.random.default_rng(2)
    for n, m, depth in ((0, 0, 0), (1, 1, 1), (17, 33, 9), (40, 70, 50), (5, 5, 0)):
        a, b = rng.random((n, depth), np.float32), rng.random((depth, m), np.float32)
        np.testing.assert_allclose(function(a, b), a @ b, rtol=1e-4)


@pytest.mark.parametrize("memory", ["auto", "heap"])
@pytest.mark.parametrize("order", [None, [0, 1], [1, 0]])
@pytest.mark.parametrize("loop", ["i0", "j0", "k0", "i1", "k1"])
def test_packed_operands(loop, order, memory):
    function = matmul()
    c = function["C"]
    c.tile(i, j, 16, 32).split(k, 8).reorder("i0", "j0", "k0", "i1", "k1", "j1").parallelize("i0")
    first = c.cache("A", loop, memory=memory, order=order)
    second = c.cache("B", loop, name="panel", memory=memory, order=order)
    assert (first.name, second.name) == ("A_cache", "panel")
    check_matmul(function)


def test_a_cached_schedule_is_a_value():
    function = matmul()
    c = function["C"]
    c.tile(i, j, 16, 32)
    c.cache("B", "j0", order=[1, 0])
    again = matmul().set_schedule(function.schedule)
    assert again.schedule == function.schedule
    assert again.loops == function.loops


@pytest.mark.parametrize("size", [0, 1, 16, 17, 50])
def test_strided_reads_have_a_bounded_box(size):
    x = tw.input("x", [2 * N + 3], tw.float64)
    y = tw.computation("y", {i: N}, x[2 * i] + x[2 * i + 3])
    function = tw.function("strided", outputs=[y])
    y.split(i, 16)
    y.cache(x, "i0")
    assert "x_cache = empty((34,), float64)" in function.loops
    values = np.random.default_rng(3).random(2 * size + 3)
    expected = values[0 : 2 * size : 2] + values[3 : 2 * size + 3 : 2]
    np.testing.assert_array_equal(function(values), expected)


@pytest.mark.parametrize("loop", ["i", "j0"])
def test_a_cached_read_behind_a_condition_that_never_holds(loop):
    # Nothing is copied, so that the buffer is read, as far as the text goes, and never written.
    x = tw.input("x", [N + 1, M + 1], tw.float64)
    y = tw.computation("y", {i: N, j: M}, tw.select(i + 1 <= 0, x[i + 1, j + 1], 7.0 * j))
    function = tw.function("never", outputs=[y])
    y.split(j, 8)
    y.cache(x, loop)
    values = np.full((6, 21), np.nan)
    np.testing.assert_array_equal(function(values), np.tile(7.0 * np.arange(20), (5, 1)))


def test_indirect_reads_cache_all_that_may_be_read():
    table = tw.input("table", [M], tw.float64)
    index = tw.input("index", [N], tw.int64)
    y = tw.computation("y", {i: N}, table[index[i]])
    function = tw.function("gather", outputs=[y])
    y.split(i, 4)
    y.cache(table, "i0")
    values = np.random.default_rng(4).random(9)
    where = np.array([0, 8, 3, 3, 1, 7])
    np.testing.assert_array_equal(function(values, where), values[where])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Q", "i"), "there is no input or computation named 'Q'"),
        (("C", "i", "A"), "there is a computation or input named 'A' already"),
        (("A", "q"), "there is no loop named 'q'"),
        (("A", "i", "B"), "there is a computation or input named 'B' already"),
    ],
)
def test_refusals(arguments, message):
    function = matmul()
    with pytest.raises(tw.ScheduleError, match=message):
        function["C"].cache(*arguments)
    assert not function.schedule.commands


def test_a_wrong_order_is_refused():
    function = matmul()
    with pytest.raises(tw.ScheduleError, match="permutation of the 2 dimensions of A"):
        function["C"].cache("A", i, order=[0, 0])
