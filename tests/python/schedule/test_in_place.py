"""Computations stored in an input's array: what is legal, what a call overwrites and returns."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

i, j, k, t = tw.iters("i j k t")
N, M, T = tw.params("N M T")


def brighten():
    a = tw.input("A", [N, M], tw.float32)
    c = tw.computation("C", {i: N, j: M}, tw.minimum(a[i, j] * 1.5, 255.0), dtype=tw.float32)
    return tw.function("brighten", outputs=[c]), a, c


def image(n, m):
    return np.random.default_rng(n).random((n, m), dtype=np.float32) * 255


def test_in_place_brighten():
    function, a, c = brighten()
    c.tile(i, j, 4, 8).parallelize("i0").vectorize("j1")
    c.store_in(a[i, j])
    for n, m in ((0, 0), (1, 1), (13, 30), (64, 64)):
        array = image(n, m)
        expected = np.minimum(array * np.float32(1.5), np.float32(255))
        np.testing.assert_array_equal(function.evaluate(array), expected)
        result = function(array)
        assert result is array
        np.testing.assert_array_equal(array, expected)


def test_the_evaluator_overwrites_nothing():
    function, a, c = brighten()
    c.store_in(a[i, j])
    array = image(3, 4)
    before = array.copy()
    assert function.evaluate(array) is not array
    np.testing.assert_array_equal(array, before)


def test_views_are_overwritten_in_their_places():
    function, a, c = brighten()
    c.store_in(a[i, j])
    whole = image(10, 12)
    expected = whole.copy()
    expected[8:1:-3, 1::2] = np.minimum(expected[8:1:-3, 1::2] * np.float32(1.5), 255)
    function(whole[8:1:-3, 1::2])
    np.testing.assert_array_equal(whole, expected)
    turned = image(5, 3)
    expected = np.minimum(turned * np.float32(1.5), 255)
    function(turned.T)
    np.testing.assert_array_equal(turned, expected)


def test_what_is_shown():
    function, a, c = brighten()
    assert "inout" not in function.signature
    c.store_in(a[i, j])
    assert function.signature == "brighten(A: inout float32[N, M]) -> C: float32[N, M] in A"
    assert "inout float32[N, M]" in repr(function)
    assert str(function.schedule) == 'C.store_in("A[i, j]")'
    assert "A: float32[N, M], input, overwritten" in function.layers
    assert "A[i, j] = " in function.loops and "C[" not in function.loops
    c.auto_allocate_map()
    assert "inout" not in function.signature
    array = image(3, 4)
    assert function(array) is not array


def test_the_schedule_is_a_value():
    function, a, c = brighten()
    c.store_in(a[i, j])
    other, _, _ = brighten()
    other.set_schedule(tw.Schedule.from_json(function.schedule.to_json()))
    assert other.schedule == function.schedule
    assert other.signature == function.signature
    plain, _, _ = brighten()
    assert plain.compile()["key"] != other.compile()["key"]
    copy = function.copy()
    array = image(2, 2)
    assert copy(array) is array


def test_set_access_in_place():
    function, _, c = brighten()
    c.set_access("{ C[i,j] -> A[i,j] }")
    array = image(5, 7)
    assert function(array) is array


# ---- recurrences ----


def seidel():
    """One sweep: the new value at the left, the old one at the right."""
    a = tw.input("A", [N], tw.float64)
    c = tw.computation(
        "C",
        {i: N},
        lambda c: [
            ((i == 0) | (i == N - 1), a[i]),
            ((i > 0) & (i < N - 1), (c[i - 1] + a[i] + a[i + 1]) / 3),
        ],
        dtype=tw.float64,
    )
    return tw.function("seidel", outputs=[c], context=[N > 1]), a, c


def test_gauss_seidel():
    function, a, c = seidel()
    c.store_in(a[i])
    for n in (2, 3, 10, 33):
        values = np.random.default_rng(n).random(n)
        expected = values.copy()
        for place in range(1, n - 1):
            expected[place] = (expected[place - 1] + expected[place] + expected[place + 1]) / 3
        np.testing.assert_allclose(function.evaluate(values), expected, rtol=1e-14)
        assert function(values) is values
        np.testing.assert_allclose(values, expected, rtol=1e-14)


def test_jacobi_is_refused_in_place():
    a = tw.input("A", [N + 2], tw.float64)
    c = tw.computation(
        "C",
        {i: N + 2},
        lambda c: [
            ((i == 0) | (i == N + 1), a[i]),
            ((i > 0) & (i < N + 1), (a[i - 1] + a[i] + a[i + 1]) / 3),
        ],
        dtype=tw.float64,
    )
    function = tw.function("jacobi", outputs=[c])
    with pytest.raises(tw.IllegalScheduleError) as refusal:
        c.store_in(a[i])
    assert refusal.value.element.startswith("A[")
    assert refusal.value.source_instance.startswith("C_1[")
    assert refusal.value.sink_instance.startswith("C_")
    values = np.arange(5.0)
    assert function(values) is not values


def test_reversal_is_refused_in_place():
    a = tw.input("A", [N], tw.int64)
    c = tw.computation("C", {i: N}, a[N - 1 - i])
    function = tw.function("reversal", outputs=[c])
    with pytest.raises(tw.IllegalScheduleError) as refusal:
        c.store_in(a[i])
    assert refusal.value.element.startswith("A[")
    assert refusal.value.command == 'C.store_in("A[i]")'
    values = np.arange(6)
    np.testing.assert_array_equal(function(values), values[::-1])


def test_a_shift_in_place_has_one_direction():
    a = tw.input("A", [N + 1], tw.int64)
    c = tw.computation(
        "C", {i: N + 1}, lambda c: [(i < N, a[i + 1]), (i == N, a[i])], dtype=tw.int64
    )
    function = tw.function("shift", outputs=[c])
    c.reverse(i)
    with pytest.raises(tw.IllegalScheduleError):
        c.store_in(a[i])
    c.reverse(i).store_in(a[i])
    with pytest.raises(tw.IllegalScheduleError):
        c.parallelize(i)
    with pytest.raises(tw.IllegalScheduleError):
        c.reverse(i)
    values = np.arange(7) ** 2
    expected = np.append(values[1:], values[-1])
    function(values)
    np.testing.assert_array_equal(values, expected)


def test_lu_on_the_input():
    a = tw.input("A", [N, N], tw.float64)

    lu = tw.computation(
        "LU",
        {i: N, j: N},
        lambda lu: [
            (i <= j, a[i, j] - tw.sum(lu[i, k] * lu[k, j], over={k: i})),
            (i > j, (a[i, j] - tw.sum(lu[i, k] * lu[k, j], over={k: j})) / lu[j, j]),
        ],
        dtype=tw.float64,
    )
    function = tw.function("lu", outputs=[lu])
    lu.store_in(a[i, j])
    for n in (0, 1, 2, 9, 20):
        matrix = np.random.default_rng(n).random((n, n)) + n * np.eye(n)
        original = matrix.copy()
        expected = function.evaluate(matrix)
        assert function(matrix) is matrix
        np.testing.assert_allclose(matrix, expected, rtol=1e-12)
        lower = np.tril(matrix, -1) + np.eye(n)
        np.testing.assert_allclose(lower @ np.triu(matrix), original, rtol=1e-9, atol=1e-9)


def test_cholesky_keeps_the_other_triangle():
    a = tw.input("A", [N, N], tw.float64)
    factor = tw.computation(
        "L",
        {i: N, j: N},
        lambda f: [
            (j < i, (a[i, j] - tw.sum(f[i, k] * f[j, k], over={k: j})) / f[j, j]),
            (j == i, tw.sqrt(a[i, i] - tw.sum(f[i, k] * f[i, k], over={k: i}))),
        ],
        where=j <= i,
        dtype=tw.float64,
    )
    function = tw.function("cholesky", outputs=[factor])
    factor.store_in(a[i, j])
    for n in (1, 2, 9):
        root = np.tril(np.random.default_rng(n).random((n, n))) + n * np.eye(n)
        matrix = root @ root.T
        above = np.triu(matrix, 1)
        function(matrix)
        np.testing.assert_allclose(np.tril(matrix), root, rtol=1e-10)
        np.testing.assert_array_equal(np.triu(matrix, 1), above)


def test_sweeps_in_time():
    a = tw.input("A", [N], tw.int64)
    c = tw.computation(
        "C",
        {t: T + 1, i: N},
        lambda c: [
            (t == 0, a[i]),
            ((t > 0) & (i == 0), c[t - 1, i]),
            ((t > 0) & (i > 0), c[t - 1, i] + c[t, i - 1]),
        ],
        dtype=tw.int64,
    )
    d = tw.computation("D", {i: N}, c[T, i])
    function = tw.function("sweeps", outputs=[d])
    c.store_in(a[i])
    d.store_in(a[i])
    for n, steps in ((0, 2), (1, 3), (6, 0), (6, 4)):
        values = np.arange(n) - 2
        expected = values.copy()
        for _ in range(steps):
            expected = np.cumsum(expected)
        np.testing.assert_array_equal(function.evaluate(values, T=steps), expected)
        assert function(values, T=steps) is values
        np.testing.assert_array_equal(values, expected)


def test_an_intermediate_in_an_input():
    a = tw.input("A", [N], tw.float64)
    b = tw.computation("B", {i: N}, a[i] + 1)
    c = tw.computation("C", {i: N}, b[i] * b[N - 1 - i])
    function = tw.function("inside", outputs=[c])
    b.store_in(a[i])
    assert function.signature == "inside(A: inout float64[N]) -> C: float64[N]"
    values = np.arange(5.0)
    old = values.copy()
    result = function(values)
    np.testing.assert_array_equal(result, (old + 1) * (old + 1)[::-1])
    np.testing.assert_array_equal(values, old + 1)


# ---- calls ----


def two_inputs():
    a = tw.input("A", [N], tw.float64)
    b = tw.input("B", [N], tw.float64)
    c = tw.computation("C", {i: N}, a[i] + b[N - 1 - i])
    d = tw.computation("D", {i: N}, a[i] - b[i])
    return tw.function("two", outputs=[c, d], inputs=[a, b]), a, c, d


def test_other_inputs_that_overlap():
    function, a, c, d = two_inputs()
    d.before(c)
    c.store_in(a[i])
    memory = np.arange(8.0)
    with pytest.raises(
        ValueError, match="the input A, which is overwritten, and the input B share memory"
    ):
        function(memory[:6], memory[2:])
    same = np.arange(4.0)
    with pytest.raises(ValueError, match=r"A\[0\], which C\[0\] writes before C\[1\] reads it"):
        function(same, same)
    np.testing.assert_array_equal(same, np.arange(4.0))
    np.testing.assert_array_equal(memory, np.arange(8.0))


def test_an_other_input_that_is_the_same_array():
    a = tw.input("A", [N], tw.float64)
    b = tw.input("B", [N], tw.float64)
    c = tw.computation("C", {i: N}, a[i] * b[i] + b[i])
    function = tw.function("f", outputs=[c], inputs=[a, b])
    c.vectorize(i, 4).store_in(a[i])
    for n in (0, 1, 7, 64):
        x = np.arange(float(n))
        assert function(x, x) is x
        np.testing.assert_array_equal(x, np.arange(float(n)) ** 2 + np.arange(float(n)))


def test_errors_of_a_call():
    function, a, c, d = two_inputs()
    d.before(c)
    c.store_in(a[i])
    x, y = np.arange(4.0), np.ones(4)
    frozen = x.copy()
    frozen.flags.writeable = False
    with pytest.raises(
        ValueError, match=r"argument A: the array is read-only, .*C is stored in it"
    ):
        function(frozen, y)
    function(y.copy(), frozen)  # only A is overwritten
    with pytest.raises(ValueError, match="C is stored in the input A, so the call returns that"):
        function(x, y, out={"C": np.zeros(4)})
    assert function(x, y, out={"C": x})[0] is x
    with pytest.raises(ValueError, match=r"A \(an input that is overwritten\) and D share memory"):
        function(x, y, out={"D": x})
    broadcast = np.lib.stride_tricks.as_strided(np.zeros(1), (4,), (0,))
    with pytest.raises(ValueError, match="elements of the array share memory"):
        function(broadcast, y)


# ---- refusals of the command ----


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: tw.computation("C", {i: N}, tw.cast(A[i], tw.float32)), "C is float32 and cannot"),
        (
            lambda: tw.computation("C", {i: N - 1}, A[i]),
            "their shapes differ: A[N] and C[maximum(0, N - 1)]",
        ),
        (lambda: tw.computation("C", {i: N, j: N}, A[i]), "their shapes differ: A[N] and C[N, N]"),
    ],
)
def test_what_does_not_fit(declare, message):
    c = declare()
    function = tw.function("f", outputs=[c], context=[N > 1])
    with pytest.raises(tw.ScheduleError) as refusal:
        c.store_in(A[i])
    assert any(part in str(refusal.value) for part in message.split("|")), refusal.value
    assert not function.schedule


A = tw.input("A", [N], tw.float64)


def test_outside_the_array():
    b = tw.computation("B", {i: N}, A[i] + 1)
    c = tw.computation("C", {i: N}, b[i])
    function = tw.function("f", outputs=[c], context=[N > 1])
    with pytest.raises(tw.ScheduleError, match=r"element A\[.* lies outside the array"):
        b.store_in(A[i + 1])
    with pytest.raises(tw.ScheduleError, match="the size of the input 'A' is the caller's"):
        b.store_in(tw.Buffer("A", [N]), [i])
    assert not function.schedule


def test_two_outputs_in_one_input():
    b = tw.computation("B", {i: N}, A[i] + 1)
    c = tw.computation("C", {i: N}, b[i])
    function = tw.function("f", outputs=[b, c])
    b.store_in(A[i])
    with pytest.raises(tw.ScheduleError, match="cannot share buffer 'A' with another output"):
        c.store_in(A[i])
    values = np.arange(3.0)
    assert function(values)[0] is values


def test_elements_of_buffers():
    b = tw.computation("B", {i: N}, A[i] + 1)
    c = tw.computation("C", {i: N}, b[i])
    function = tw.function("f", outputs=[c])
    window = tw.Buffer("window", [N])
    b.store_in(window[i])
    assert "window[i] = " in function.loops
    values = np.arange(4.0)
    np.testing.assert_array_equal(function(values), values + 1)
