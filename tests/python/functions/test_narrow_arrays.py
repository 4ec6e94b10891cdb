"""Calls with narrow arrays (one column, one row, three channels): scheduled for that size."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from children import run_python

N, M, K = tw.params("N M K")
i, j, k = tw.iters("i j k")
LONG = 5000  # elements: enough for a kernel of its own


def numbers(*shape):
    return np.random.default_rng(7).integers(-4, 5, shape).astype(np.float32)


def product(transposed=False, **options):
    a = tw.input("A", [N, K], tw.float32)
    b = tw.input("B", [M, K] if transposed else [K, M], tw.float32)
    term = a[i, k] * (b[j, k] if transposed else b[k, j])
    c = tw.computation("C", {i: N, j: M}, tw.sum(term, over={k: K}) + 1)
    return tw.function("product", outputs=[c], **options)


def scaled():
    a = tw.input("A", [N, M], tw.float32)
    return tw.function("scaled", outputs=[tw.computation("C", {i: N, j: M}, 2 * a[i, j] + j)])


def key_of(function, *arrays):
    return function.compile(*arrays)["key"]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    ("n", "m", "terms"),
    [
        (1, 70, 90),
        (70, 1, 90),
        (70, 2, 90),
        (50, 3, 100),
        (60, 7, 90),
        (70, 16, 90),
        (70, 17, 90),
        (1, 1, LONG),
        (90, 80, 1),
        (90, 70, 3),
        (2000, 3, 3),
        (2000, 4, 4),
        (1, LONG, 1),
        (LONG, 1, 1),
    ],
)
def test_products(n, m, terms, transposed):
    a, b = numbers(n, terms), numbers(*((m, terms) if transposed else (terms, m)))
    expected = a @ (b.T if transposed else b) + 1
    function = product(transposed)
    np.testing.assert_array_equal(function(a, b), expected)
    strided = np.zeros((2 * n, 2 * terms), np.float32)[::-2, ::2]
    strided[:] = a
    np.testing.assert_array_equal(function(strided, b), expected)
    np.testing.assert_array_equal(function(np.asfortranarray(a), np.asfortranarray(b)), expected)


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 16, 17])
@pytest.mark.parametrize("order", ["C", "F"])
def test_elements(columns, order):
    a = np.array(numbers(LONG, columns), order=order)
    function = scaled()
    np.testing.assert_array_equal(function(a), 2 * a + np.arange(columns))
    part = np.zeros((LONG, columns + 2), np.float32)[:, 1:-1]
    part[:] = a
    np.testing.assert_array_equal(function(part), 2 * a + np.arange(columns))


def test_one_function_for_all_widths():
    function = scaled()
    for columns in (40, 1, 3, 40, 1, 2, 0):
        a = numbers(LONG, columns)
        np.testing.assert_array_equal(function(a), 2 * a + np.arange(columns))


def test_a_kernel_for_each_narrow_width():
    function = product()

    def key(n, m, terms=100):
        return key_of(function, numbers(n, terms), numbers(terms, m))

    general = key(64, 64)
    assert key(90, 70) == key(2, 64) == key(64, 17) == general
    assert len({general, key(1, 64), key(64, 1), key(64, 2), key(64, 3)}) == 5
    assert key(1, 64) == key(1, 90)
    assert key(1, 10) == general, "small arrays"


def test_no_kernel_of_its_own_once_a_command_is_given():
    function = product()
    function["C"].parallelize(i)
    wide = key_of(function, numbers(64, 100), numbers(100, 64))
    assert key_of(function, numbers(64, 100), numbers(100, 1)) == wide
    plain = product(default_schedule=False)
    wide = key_of(plain, numbers(64, 100), numbers(100, 64))
    assert key_of(plain, numbers(64, 100), numbers(100, 1)) == wide


def test_result_in_an_input():
    a = tw.input("A", [N, M], tw.float32)
    function = tw.function("twice", outputs=[tw.computation("C", {i: N, j: M}, 2 * a[i, j])])
    array = numbers(LONG, 1)
    expected = 2 * array
    assert function(array, out=array) is array
    np.testing.assert_array_equal(array, expected)


def test_recurrence_down_the_only_column():
    a = tw.input("A", [N, M], tw.float32)
    x = tw.computation(
        "X",
        {i: N, j: M},
        lambda x: [(i == 0, a[i, j]), (i > 0, x[i - 1, j] + a[i, j])],
        dtype=tw.float32,
    )
    function = tw.function("sums", outputs=[x])
    array = numbers(LONG, 1)
    np.testing.assert_array_equal(function(array), np.cumsum(array, axis=0))


def test_schedule_of_narrow_calls():
    function = product()
    schedule = str(function.default_schedule_for(M=1))
    assert schedule.startswith("f.fix(M=1)"), schedule
    assert 'vectorize("k", 16)' in schedule, schedule
    assert function.default_schedule_for(M=1) != function.default_schedule
    assert str(function.schedule) == ""
    again = product()
    function.default_schedule_for(M=1).apply_to(again)
    a, b = numbers(60, 90), numbers(90, 1)
    np.testing.assert_array_equal(again(a, b), product()(a, b))
    with pytest.raises(tw.ScheduleError, match="'Q' is no parameter of product"):
        function.default_schedule_for(Q=1)


def test_a_scheduled_function_has_one_schedule_for_all_sizes():
    function = product()
    function["C"].parallelize(i)
    assert function.default_schedule_for(M=1) == function.default_schedule
    plain = product(default_schedule=False)
    assert str(plain.default_schedule_for(M=1)) == ""


KEPT = """
import sys
import numpy as np
import tilewright as tw

@tw.jit
def add(a, b):
    return 2 * a + b

for columns in map(int, sys.argv[1:]):
    a = np.arange(6000.0 * columns).reshape(6000, columns)
    np.testing.assert_array_equal(add(a, a + 1), 3 * a + 1)
"""


def test_kernels_that_processes_keep_are_for_their_width(tmp_path):
    program = tmp_path / "kept.py"
    program.write_text(KEPT)
    for columns in (["1"], ["2"], ["1", "2"], ["40", "1"]):
        run_python(program, *columns, TILEWRIGHT_CACHE_DIR=str(tmp_path / "cache"))


def test_profile_and_passes_of_narrow_calls():
    function = product()
    a, b = numbers(60, 90), numbers(90, 1)
    assert "C[i, 0] = C[i, 0] + 1.0" in str(function.passes(a, b)[-1])
    assert function.profile(a, b, repeats=2) is not None


def test_what_narrow_calls_run():
    function = product()
    assert 'C.reorder("j", "i").vectorize("i", 8)' in str(scaled().default_schedule_for(M=1))
    two = str(function.default_schedule_for(M=2))
    assert 'unroll("j", 2).vectorize("k1", 16)' in two, two
    assert 'C.cache("B", "i0", name="B_cache", order=[1, 0])' in two, two
    small = str(function.default_schedule_for(M=3, K=3))
    assert 'C.unroll("j", 3).unroll("k", 3)' in small, small
    one = str(function.default_schedule_for(N=1))
    assert "cache" not in one, one
    assert 'parallelize("j0")' in one, one


def test_compiled_ahead_is_what_calls_run():
    for a, b in [(numbers(1, LONG), numbers(LONG, 1)), (numbers(90, 1), numbers(1, 80))]:
        function = product()
        ahead = function.compile(a, b)["key"]
        np.testing.assert_array_equal(function(a, b), a @ b + 1)
        assert function.last_compile["key"] == ahead
        assert ahead != function.compile()["key"]


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
@pytest.mark.parametrize("columns", [1, 2])
def test_few_rows_of_one_column_have_a_default_schedule(rows: int, columns: int) -> None:
    """The column that is left to be a vector is the first axis, which has none before it."""
    x = tw.input("x", [8], tw.int32)
    y = tw.input("y", [8, 8], tw.int32)
    value = tw.select(x[j] < 1, y[j, i] + x[i], 0)
    f = tw.function("f", outputs=[tw.computation("out", {i: rows, j: columns}, value)])
    a = np.arange(-3, 5, dtype=np.int32)
    b = np.arange(64, dtype=np.int32).reshape(8, 8)
    wanted = np.where(a[:columns] < 1, b[:columns, :rows].T + a[:rows, None], 0)
    np.testing.assert_array_equal(f(x=a, y=b), wanted)
