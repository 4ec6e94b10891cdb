"""check_bounds: every access is checked, and an error names the access, the instance and the line."""

from __future__ import annotations

import pathlib
import re

import numpy as np
import pytest

import tilewright as tw
from children import run_python

N, M = tw.params("N M")
i, j, k = tw.iters("i j k")
HERE = pathlib.Path(__file__).name


def line_of(text: str) -> int:
    """The number of the only line of this file that has `text`, but for this function's callers."""
    lines = pathlib.Path(__file__).read_text(encoding="utf-8").splitlines()
    found = [n for n, line in enumerate(lines, 1) if text in line and "line_of(" not in line]
    assert len(found) == 1
    return found[0]


def gather(**options: object) -> tw.Function:
    x = tw.input("x", [M], tw.float64)
    index = tw.input("index", [N], tw.int64)
    y = tw.computation("y", {i: N, j: 3}, x[index[i]] + j)
    return tw.function("gather", outputs=[y], inputs=[x, index], **options)


@pytest.mark.parametrize("schedule", ["plain", "vector", "parallel", "default"])
@pytest.mark.parametrize("bad", [-1, 5, 2**40])
def test_a_computed_subscript_names_the_instance(schedule, bad):
    f = gather(check_bounds=True, default_schedule=schedule == "default")
    if schedule == "vector":
        f["y"].interchange(i, j).vectorize(i, 4)
    elif schedule == "parallel":
        f["y"].parallelize(i)
    x, index = np.arange(5.0), np.arange(40) % 5
    np.testing.assert_array_equal(f(x, index), x[index][:, None] + np.arange(3))
    index[23] = bad
    with pytest.raises(tw.OutOfBoundsError) as caught:
        f(x, index)
    error = caught.value
    assert isinstance(error, tw.SubscriptError) and isinstance(error, IndexError)
    assert error.access == "x[index[i]]"
    assert (error.instance, error.point) == ("y[23, 0]", {"i": 23, "j": 0})
    assert (error.computation, error.buffer, error.axis) == ("y", "x", 0)
    assert (error.value, error.extent) == (bad, 5)
    assert error.message == (
        f"gather: x[index[i]], read by y[23, 0]: subscript {bad} is out of bounds for axis 0 of x "
        "with size 5"
    )
    assert error.location is not None
    assert error.location.file.endswith(HERE)
    assert error.location.line == line_of('y = tw.computation("y", {i: N, j: 3}')


def test_the_reduced_iterators_are_named():
    x, index = tw.input("x", [M], tw.float64), tw.input("index", [N, 4], tw.int32)
    y = tw.computation("y", {i: N}, tw.sum(x[index[i, k]], over={k: 4}))
    z = tw.computation("z", {i: N}, 2 * tw.sum(x[index[i, k]], over={k: 4}))
    values, at = np.arange(5.0), np.zeros((6, 4), np.int32)
    at[4, 2] = 9
    for output in (y, z):  # scheduled by its body, and a loop inside an expression
        f = tw.function("f", outputs=[output], inputs=[x, index], check_bounds=True)
        with pytest.raises(tw.OutOfBoundsError, match=rf"read by {output.name}\[4\] at k = 2: "):
            f(values, at)


def promised(width: int) -> tw.Function:
    """B is kept in a buffer as large as what the promise says that an iteration reads."""
    x, index = tw.input("x", [N + 8], tw.float32), tw.input("index", [N], tw.int64)
    b = tw.computation("B", {i: N + 8}, x[i] * 2)
    c = tw.computation("C", {i: N}, b[index[i]])
    f = tw.function("f", outputs=[c], inputs=[x, index])
    f["C"].assume((index[i] >= i) & (index[i] <= i + width)).split(i, 4)
    f["C"].cache("B", "i0", memory="stack")
    return f


def test_a_promise_that_does_not_hold():
    f = promised(2)
    x, index = np.arange(40, dtype=np.float32), np.arange(32) + 2
    np.testing.assert_array_equal(f(x, index), x[index] * 2)
    f.check_bounds = True
    np.testing.assert_array_equal(f(x, index), x[index] * 2)
    index[21] = 30  # inside B, but not inside what was promised
    with pytest.raises(tw.OutOfBoundsError) as caught:
        f(x, index)
    error = caught.value
    assert error.access == "B[index[i]]" or "index" in error.access
    assert error.computation == "C" and error.instance == "C[21]"
    assert error.buffer != "B" and error.extent < 30


def test_storage_that_is_too_small_is_refused_before_anything_runs():
    x = tw.input("x", [N], tw.float64)
    b = tw.computation("B", {i: N}, x[i] + 1)
    c = tw.computation("C", {i: N}, b[i] * b[N - 1 - i])
    f = tw.function("f", outputs=[c])
    small = tw.Buffer("small", [N - 1])
    with pytest.raises(tw.ScheduleError, match="lies outside the buffer"):
        f["B"].store_in(small[i])
    assert "small[i]" not in f.layers
    f["B"].set_access("{ B[i] -> small[i + 1] }")  # as large as it has to be
    assert "small: float64[N + 1]" in f.layers
    f.check_bounds = True
    x_ = np.arange(5.0)
    np.testing.assert_array_equal(f(x_), (x_ + 1) * (5 - x_))


def test_writes_are_checked_and_remain_right():
    """A histogram writes where the data say; what lies outside is left out, and needs no error."""
    image = tw.input("image", [N], tw.int32)
    b = tw.iter("b")
    h = tw.computation("H", {b: 8}, tw.sum(1, over={i: N}, where=image[i] == b))
    f = tw.function("histogram", outputs=[h], check_bounds=True)
    f["H"].interchange(b, i)
    pixels = np.array([0, 3, 3, 7, 9, -2, 3], np.int32)
    assert f(pixels).tolist() == [1, 0, 0, 3, 0, 0, 0, 1]


def test_checked_kernels_compute_the_same():
    a, b = tw.input("A", [N, M], tw.float32), tw.input("B", [M, N], tw.float32)
    c = tw.computation("C", {i: N, j: N}, tw.sum(a[i, k] * b[k, j], over={k: M}))
    f = tw.function("f", outputs=[c], check_bounds=True)
    rng = np.random.default_rng(3)
    x = rng.integers(-4, 5, (33, 21)).astype(np.float32)
    y = rng.integers(-4, 5, (21, 33)).astype(np.float32)
    np.testing.assert_array_equal(f(x, y), x @ y)
    f["C"].tile(i, j, 4, 16).unroll("i1").vectorize("j1")
    f["C"].cache(b, "j0", order=[1, 0])
    f["C"].cache("C", "j0", memory="registers").reorder(k, "i1", "j1")
    np.testing.assert_array_equal(f(x, y), x @ y)
    np.testing.assert_array_equal(f(x, y), f.evaluate(x, y))


def test_it_is_part_of_the_key_and_can_be_switched():
    f = gather()
    assert f.check_bounds is False
    x, index = np.arange(5.0), np.array([0, 7])
    plain = f.compile(x, index[:1])["key"]
    with pytest.raises(tw.SubscriptError, match="the first such read is") as caught:
        f(x, index)
    assert not isinstance(caught.value, tw.OutOfBoundsError)
    f.check_bounds = True
    assert f.check_bounds is True
    assert f.compile(x, index[:1])["key"] != plain
    with pytest.raises(tw.OutOfBoundsError, match=r"read by y\[1, 0\]"):
        f(x, index)
    copy = f.copy()
    assert copy.check_bounds is True
    f.check_bounds = False
    assert f.compile(x, index[:1])["key"] == plain
    assert copy.check_bounds is True


def test_the_environment_switches_it_on():
    code = (
        "import tilewright as tw\n"
        "i = tw.iter('i')\n"
        "x = tw.input('x', [3], tw.int64)\n"
        "f = tw.function('f', outputs=[tw.computation('C', {i: 3}, x[x[i]])], {})\n"
        "print(f.check_bounds)\n"
    )
    for given, options, expected in [
        ("1", "", "True"),
        ("0", "", "False"),
        ("", "", "False"),
        ("1", "check_bounds=False", "False"),
    ]:
        program = code.replace(", {})", f", {options})")
        done = run_python("-c", program, inherit=False, TILEWRIGHT_CHECK_BOUNDS=given)
        assert done.stdout.strip() == expected


def test_a_kernel_from_the_cache_names_the_line_of_this_program():
    first, second = gather(check_bounds=True), gather(check_bounds=True)
    x, index = np.arange(5.0), np.array([7])
    lines = set()
    for f in (first, second):
        with pytest.raises(tw.OutOfBoundsError) as caught:
            f(x, index)
        assert caught.value.location is not None
        lines.add(caught.value.location.line)
    assert len(lines) == 1
    assert second.last_compile is not None and second.last_compile["from_cache"]
    other = tw.computation(
        "y",
        {i: N, j: 3},
        tw.input("x", [M], tw.float64)[tw.input("index", [N], tw.int64)[i]] + j,
    )
    third = tw.function("gather", outputs=[other], check_bounds=True)
    with pytest.raises(tw.OutOfBoundsError) as caught:
        third(x, index)
    assert third.last_compile is not None
    assert caught.value.location is not None and caught.value.location.line not in lines


def test_many_threads_that_fail_at_once_give_one_error():
    f = gather(check_bounds=True)
    f["y"].parallelize(i, schedule="dynamic")
    x, index = np.arange(5.0), np.full(20_000, 9)
    for _ in range(20):
        with pytest.raises(tw.OutOfBoundsError) as caught:
            f(x, index)
        found = re.fullmatch(r"y\[(\d+), 0\]", caught.value.instance)
        assert found and int(found.group(1)) == caught.value.point["i"]
        assert caught.value.value == 9


def test_loops_show_the_checks_that_are_left():
    f = gather(check_bounds=True, default_schedule=False)
    assert "assert 0 <= index_2 < M  # x[index[i]]" in f.loops
    assert f.loops.count("assert") == 1  # j and i are inside by their loops
