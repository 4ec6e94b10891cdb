"""Outputs that share memory with inputs: what dependences prove safe runs, the rest is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")


def shifted():
    """Each element from one and its right neighbour."""
    x = tw.input("x", [N], tw.int64)
    y = tw.computation("y", {i: N - 1}, x[i] + 10 * x[i + 1])
    return tw.function("shifted", outputs=[y], context=[N > 0]), y


def axpy(dtype=tw.float64):
    x = tw.input("x", [N, M], dtype)
    y = tw.input("y", [N, M], dtype)
    z = tw.computation("z", {i: N, j: M}, x[i, j] * 2 + y[i, j])
    return tw.function("axpy", outputs=[z], inputs=[x, y]), z


def matmul():
    a = tw.input("A", [N, K], tw.float64)
    b = tw.input("B", [K, M], tw.float64)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    return tw.function("matmul", outputs=[c])


def numbers(*shape):
    return np.random.default_rng(5).integers(-9, 9, shape).astype(np.float64)


VIEWS = {
    "row-major": lambda n, m: numbers(n, m),
    "column-major": lambda n, m: numbers(m, n).T,
    "reversed": lambda n, m: numbers(n, m)[::-1, ::-1],
    "strided": lambda n, m: numbers(2 * n, 3 * m)[::2, ::3],
}
SCHEDULES = {
    "plain": lambda z: None,
    "vector": lambda z: z.vectorize(j, 4),
    "parallel": lambda z: z.parallelize(i).vectorize(j, 4),
    "tiled": lambda z: z.tile(i, j, 3, 4),
    "reversed": lambda z: z.reverse(i),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_elementwise_in_place(view, schedule):
    f, z = axpy()
    SCHEDULES[schedule](z)
    for n, m in ((0, 3), (1, 1), (5, 7), (16, 33)):
        for overwritten in (0, 1):
            x, y = VIEWS[view](n, m), VIEWS[view](n, m)
            expected = f.evaluate(x, y)
            np.testing.assert_array_equal(expected, x * 2 + y)
            out = (x, y)[overwritten]
            assert f(x, y, out=out) is out
            np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_one_array_for_everything(view, schedule):
    f, z = axpy()
    SCHEDULES[schedule](z)
    x = VIEWS[view](9, 17)
    expected = x * 2 + x
    assert f(x, x, out=x) is x
    np.testing.assert_array_equal(x, expected)


def test_two_views_of_one_array():
    f, _ = axpy()
    x = numbers(6, 6)
    expected = x * 2 + x
    f(x, x[:], out=x.reshape(6, 6))
    np.testing.assert_array_equal(x, expected)


def test_the_plain_kernel_comes_back():
    f, _ = axpy()
    x, y = numbers(4, 5), numbers(4, 5)
    expected = x * 2 + y
    np.testing.assert_array_equal(f(x, y), expected)
    plain = f.last_compile
    f(x.copy(), y, out=(copy := x.copy()))
    np.testing.assert_array_equal(copy, expected)
    assert f.last_compile == plain
    f(copy, y, out=copy)
    in_place = f.last_compile
    assert in_place["key"] != plain["key"]
    np.testing.assert_array_equal(copy, expected * 2 + y)
    np.testing.assert_array_equal(f(x, y), expected)
    f(copy, y, out=copy)
    assert f.last_compile == in_place


def test_a_neighbour_that_is_not_overwritten_yet():
    f, _ = shifted()
    memory = np.arange(1, 7)
    expected = memory[:-1] + 10 * memory[1:]
    out = memory[:-1]
    assert f(memory, out=out) is out
    np.testing.assert_array_equal(memory, [*expected, 6])


def test_a_neighbour_that_is():
    f, y = shifted()
    memory = np.arange(1, 7)
    with pytest.raises(
        ValueError,
        match=r"shifted: the output y and the input x share memory, and this schedule is not safe "
        r"in place: y overwrites .*, for instance x\[1\], which y\[0\] writes before y\[1\] reads "
        r"it; pass another array as out=, or x=x.copy\(\)",
    ):
        f(memory, out=memory[1:])
    np.testing.assert_array_equal(memory, np.arange(1, 7))
    expected = memory[:-1] + 10 * memory[1:]
    y.reverse(i)  # from the right, and the other way round
    f(memory, out=memory[1:])
    np.testing.assert_array_equal(memory, [1, *expected])
    with pytest.raises(ValueError, match="not safe in place"):
        f(memory, out=memory[:-1])
    y.reverse(i).parallelize(i)
    for out in (memory[1:], memory[:-1]):
        with pytest.raises(ValueError, match="not safe in place"):
            f(memory, out=out)


def test_an_output_that_begins_before_the_input():
    f, _ = shifted()
    memory = np.arange(1, 9)
    expected = memory[2:-1] + 10 * memory[3:]
    f(memory[2:], out=memory[:5])
    np.testing.assert_array_equal(memory, [*expected, 6, 7, 8])


def test_rows_of_one_array():
    x = tw.input("x", [M], tw.float64)
    a = tw.input("a", [N, M], tw.float64)
    y = tw.computation("y", {i: N, j: M}, a[i, j] - x[j])
    f = tw.function("center", outputs=[y], inputs=[x, a])
    whole = numbers(5, 4)
    with pytest.raises(ValueError, match="not as the same elements in the same places"):
        f(whole[0], whole, out=whole)
    expected = whole[1:] - whole[0]
    f(whole[0], whole[1:], out=whole[1:])
    np.testing.assert_array_equal(whole[1:], expected)


def test_windows_of_a_picture():
    x = tw.input("x", [N + 1, M + 1], tw.float64)
    y = tw.computation("y", {i: N, j: M}, x[i + 1, j] + x[i, j + 1])
    f = tw.function("f", outputs=[y])
    whole = numbers(6, 7)
    expected = whole[1:, :-1] + whole[:-1, 1:]
    f(whole, out=whole[:-1, :-1])
    np.testing.assert_array_equal(whole[:-1, :-1], expected)
    with pytest.raises(ValueError, match="not safe in place"):
        f(whole, out=whole[1:, 1:])
    with pytest.raises(ValueError, match="not safe in place"):
        f(whole, out=whole[1:, :-1])


def test_elements_between_elements():
    f, _ = axpy()
    memory = numbers(4, 12)
    x, y, z = memory[:, ::3], memory[:, 1::3], memory[:, 2::3]
    expected = x * 2 + y
    kept = x.copy(), y.copy()
    f(x, y, out=z)
    np.testing.assert_array_equal(z, expected)
    np.testing.assert_array_equal(x, kept[0])
    np.testing.assert_array_equal(y, kept[1])


def test_other_places():
    f, _ = axpy()
    memory = numbers(8, 8)
    for out in (memory[::-1], memory.T, memory[:, ::-1]):
        with pytest.raises(ValueError, match="share memory, but not as the same elements"):
            f(memory, numbers(8, 8), out=out)
    wide = numbers(100)
    with pytest.raises(ValueError, match="share memory, but not as the same elements"):
        shifted()[0](wide.view(np.int64)[:60], out=wide.view(np.int64)[40:99])


def test_wrapped_rows_are_not_the_same_elements():
    x = tw.input("x", [N, M], tw.int64)
    y = tw.computation("y", {i: N, j: M}, x[i, j] + 1)
    f = tw.function("f", outputs=[y])
    memory = np.arange(40)
    with pytest.raises(ValueError, match="share memory"):
        f(memory[:32].reshape(4, 8), out=memory[1:33].reshape(4, 8))


def test_a_product_in_place_is_refused():
    f = matmul()
    a, b = numbers(4, 4), numbers(4, 4)
    kept = a.copy()
    for out in (a, b):
        with pytest.raises(ValueError, match=r"matmul: the output C and the input [AB] share"):
            f(a, b, out=out)
    np.testing.assert_array_equal(a, kept)
    np.testing.assert_array_equal(f.evaluate(a, b, out=a), kept @ b)
    np.testing.assert_array_equal(a, kept @ b)


def test_another_type_over_the_same_bytes():
    x = tw.input("x", [N], tw.int32)
    y = tw.computation("y", {i: N}, tw.cast(x[i], tw.float32))
    f = tw.function("f", outputs=[y])
    memory = np.arange(6, dtype=np.int32)
    with pytest.raises(ValueError, match="the output y and the input x share memory"):
        f(memory, out=memory.view(np.float32))


def two_outputs():
    x = tw.input("x", [N], tw.int64)
    low = tw.computation("low", {i: N}, x[i] - 1)
    high = tw.computation("high", {i: N}, x[i] + 1)
    return tw.function("both", outputs=[low, high]), low, high


def test_a_second_output_reads_what_the_first_overwrites():
    f, low, high = two_outputs()
    x = np.arange(5)
    with pytest.raises(ValueError, match="the output low and the input x share memory, and this"):
        f(x, out=(x, None))
    low_result, high_result = f(x.copy(), out=(None, x))
    np.testing.assert_array_equal(low_result, np.arange(5) - 1)
    np.testing.assert_array_equal(high_result, np.arange(5) + 1)
    assert high_result is x
    high.after(low, i)  # one loop: each instance of high right after the one of low
    x = np.arange(5)
    with pytest.raises(ValueError, match="not safe in place"):
        f(x, out=(x, None))


def test_two_outputs_in_one_input():
    f, _, _ = two_outputs()
    memory = np.arange(8)
    with pytest.raises(ValueError, match="share memory"):
        f(memory, out=(memory, memory))
    x = tw.input("x", [2 * N], tw.int64)
    low = tw.computation("low", {i: N}, x[i] - 1)
    high = tw.computation("high", {i: N}, x[i + N] + 1)
    halves = tw.function("halves", outputs=[low, high])
    with pytest.raises(ValueError, match="the input x share memory"):
        halves(memory, out=(memory[:4], memory[4:]))


def test_what_comes_between():
    x = tw.input("x", [N], tw.float64)
    t = tw.computation("t", {i: N}, x[i] * 2)
    y = tw.computation("y", {i: N}, t[i] + x[N - 1 - i])
    f = tw.function("f", outputs=[y])
    a = numbers(7)
    expected = a * 2 + a[::-1]
    np.testing.assert_array_equal(f(a), expected)
    with pytest.raises(ValueError, match="not safe in place"):
        f(a, out=a)


def test_reads_by_data_are_not_decided():
    x = tw.input("x", [N], tw.float64)
    index = tw.input("index", [N], tw.int64)
    y = tw.computation("y", {i: N}, x[index[i]])
    f = tw.function("take", outputs=[y], inputs=[x, index])
    a = numbers(4)
    with pytest.raises(ValueError, match="the output y and the input x share memory, and this"):
        f(a, np.arange(4), out=a)


def test_fields_of_one_array():
    record = np.dtype([("x", np.float32), ("y", np.float32), ("id", np.int64)])
    p = tw.input("P", [N], record)
    s = tw.computation("S", {i: N}, p.x[i] + p.y[i])
    f = tw.function("f", outputs=[tw.struct("Q", x=s)])
    array = np.zeros(5, record)
    array["x"], array["y"], array["id"] = np.arange(5), 10, 7
    f(array, out=array)  # x is overwritten where it was read
    np.testing.assert_array_equal(array["x"], np.arange(5) + 10)
    assert (array["y"] == 10).all() and (array["id"] == 7).all()


def test_empty_arrays_share_nothing():
    f, _ = axpy()
    memory = numbers(3, 4)
    empty = memory[:0]
    assert f(empty, empty, out=memory[3:]).shape == (0, 4)


def test_inputs_may_overlap_each_other():
    f, _ = axpy()
    memory = numbers(9, 9)
    x, y = memory[:5, 1:], memory[4:, :-1]
    np.testing.assert_array_equal(f(x, y), x * 2 + y)
    np.testing.assert_array_equal(f(x, x), x * 3)


def test_results_of_the_default_schedule():
    x = tw.input("x", [N], tw.float32)
    y = tw.computation("y", {i: N}, tw.sqrt(x[i]) + x[i])
    f = tw.function("f", outputs=[y], default_schedule=True)
    a = np.arange(1000, dtype=np.float32)
    expected = f(a)
    f(a, out=a)
    np.testing.assert_array_equal(a, expected)


def test_outputs_whose_elements_share_memory():
    f, _ = axpy()
    x = numbers(3, 4)
    base = np.zeros(64)
    for shape, strides in (((3, 4), (0, 8)), ((3, 4), (8, 8)), ((3, 4), (4, 16))):
        view = np.lib.stride_tricks.as_strided(base, shape, strides)
        if view.strides[0] % 8 == 0:
            with pytest.raises(ValueError, match="output z: elements of the array share memory"):
                f(x, x.copy(), out=view)
    apart = np.lib.stride_tricks.as_strided(base, (3, 4), (24, 16))  # strides that do not nest
    with pytest.raises(ValueError, match="share memory"):
        f(x, x.copy(), out=apart)
    base[:] = -1
    apart = np.lib.stride_tricks.as_strided(base, (2, 4), (24, 16))  # 0 2 4 6 and 3 5 7 9
    f(x[:2], x[:2].copy(), out=apart)
    np.testing.assert_array_equal(apart, x[:2] * 3)
    np.testing.assert_array_equal(base[[1, 8, 10]], -1)


def test_checks_of_bounds_where_one_array_reaches_out_of_the_other():
    x = tw.input("x", [N], tw.float64)
    y = tw.computation("y", {i: N}, x[i] * 2)
    f = tw.function("f", outputs=[y], check_bounds=True)
    y.reverse(i)
    memory = numbers(6)
    expected = memory[:5] * 2
    assert (f(memory[:5], out=memory[1:]) == expected).all()
    assert (memory[1:] == expected).all()


def test_a_schedule_that_changes_between_binding_and_compiling(monkeypatch):
    """By another thread, while NumPy is asked whether arrays share memory: a kernel of the new
    schedule writes to y, where the caller's out= would keep what it had."""
    x, y = tw.input("x", [N], tw.float64), tw.input("y", [N], tw.float64)
    z = tw.computation("z", {i: N}, x[i] * 2 + y[i])
    f = tw.function("f", outputs=[z], inputs=[x, y])
    ask = np.shares_memory

    def change(*arguments):
        if not f.schedule.commands:
            z.store_in(y[i])
        return ask(*arguments)

    monkeypatch.setattr(np, "shares_memory", change)
    a, b = numbers(9), numbers(9)
    with pytest.raises(tw.ArgumentError, match="the output z is stored in the input y"):
        f(a, b, out=a)
    assert (a == numbers(9)).all() and (b == numbers(9)).all()
    assert f(a, b) is b
