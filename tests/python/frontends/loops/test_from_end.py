"""Subscripts that data decide about: they count from the end below 0, and must be in their arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.written import text_at
from tilewright.frontends.chosen import NeverNegative
from tilewright.frontends.loops import kernels
from tilewright.frontends.loops.signatures import signature_of
from tilewright.frontends.loops.translation import Translation

from .comparison import by_kernel, by_python, same


@tw.jit
def gathered(x, p, out):
    for i in range(len(p)):
        out[i] = x[p[i]]


@tw.jit
def histogram(p, h):
    for i in range(len(p)):
        h[p[i]] += 1


@tw.jit
def scattered(v, p, out):
    for i in range(len(p)):
        out[p[i]] = v[i]


@tw.jit
def of_arrays(x, p):
    return 2 * x[p]


@tw.jit
def put(x, p, v):
    x[p] = v


@tw.jit
def of_two_axes(A, p, q):
    total = 0.0
    for i in range(len(p)):
        total += A[p[i], q[i] - 1]
    return total


@tw.jit
def by_a_counter(x):
    total = 0.0
    k = 0
    for i in range(len(x)):
        if x[i] > 0.5:
            k -= 1
        total += x[k]
    return total


@tw.jit
def chased(following, n):
    k = 0
    for _ in range(n):
        k = following[k]
    return k


@tw.jit
def asked(x, p, out):
    for i in range(len(p)):
        if x[p[i]] > 0.5:
            out[i] = 1


def arguments(name: str, p: np.ndarray) -> tuple[Any, ...]:
    r = np.random.default_rng(3)
    n = len(p)
    return {
        "gathered": (r.random(10), p, np.zeros(n)),
        "histogram": (p, np.zeros(10, np.int64)),
        "scattered": (r.random(n), p, np.zeros(10)),
        "of_arrays": (r.random(10), p),
        "put": (r.random(10), p, r.random(n)),
        "of_two_axes": (r.random((10, 10)), p, p[::-1].clip(-9, 9).copy()),
        "asked": (r.random(10), p, np.zeros(n)),
    }[name]


FUNCTIONS = [gathered, histogram, scattered, of_arrays, put, of_two_axes, asked]


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.py_func.__name__)
def test_below_zero_counts_from_the_end(function: Any, dtype: Any) -> None:
    p = np.random.default_rng(1).integers(-10, 10, 40).astype(dtype)
    given = arguments(function.py_func.__name__, p)
    assert same(by_python(function.py_func, given), by_kernel(function, given))


@pytest.mark.parametrize("bad", [-11, 10, 2**40, -(2**40)])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.py_func.__name__)
def test_beyond_both_ends_is_an_error(function: Any, bad: int) -> None:
    p = np.random.default_rng(1).integers(-10, 10, 40)
    p[17] = bad
    given = arguments(function.py_func.__name__, p)
    with pytest.raises(IndexError):
        by_python(function.py_func, given)
    with pytest.raises(tw.SubscriptError):
        by_kernel(function, given)


def test_scalars_of_data_count_from_the_end() -> None:
    x = np.random.default_rng(2).random(12)
    assert by_a_counter(x) == by_a_counter.py_func(x)
    following = np.array([-1, 3, 5, 2, -3, -6, 4])
    assert [chased(following, n) for n in range(9)] == [
        chased.py_func(following, n) for n in range(9)
    ]


@tw.jit
def counted(x, n, h):
    for i in range(len(x)):
        h[int(x[i] * n)] += 1


@tw.jit
def read_twice(x, p, w):
    total = 0.0
    for i in range(len(p)):
        if w[p[i]] > 0:
            total += x[p[i]] * w[i]
    return total


def llvm_of(function: Any, *given: Any) -> str:
    return str(function.inspect(*given).function.llvm)


def test_what_is_inside_is_found_without_a_choice() -> None:
    """The choice between value and value + extent stands behind the test, where few subscripts come."""
    x, h = np.linspace(-1, 0.99, 41), np.zeros(8, np.int64)
    text = llvm_of(counted, x, 8, h)
    chosen = text.index(", label %inside, label %wrap")
    assert "select" not in text[text.index("i.body:") : chosen]
    assert "select" in text[text.index("wrap:") :]
    p = np.array([3, -1, 0, -4, 2])
    given = (x[:4], p, np.array([1.0, -1.0, 2.0, 0.5, 3.0]))
    assert same(by_python(read_twice.py_func, given), by_kernel(read_twice, given))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_that_are_converted_to_subscripts(dtype: Any) -> None:
    x = np.array([0.0, 0.99, -0.01, -1.0, -0.5, 0.125, -0.0], dtype)
    given = (x, 8, np.zeros(8, np.int64))
    assert same(by_python(counted.py_func, given), by_kernel(counted, given))
    for bad, at in [
        (1.0, 8),
        (-1.25, -10),
        (np.inf, 2**63 - 1),
        (-np.inf, -(2**63)),
        (1e30, 2**63 - 1),
    ]:
        h = np.zeros(8, np.int64)
        with pytest.raises(tw.SubscriptError, match=f"subscript {at} is out of bounds for axis 0"):
            counted(np.append(x, dtype(bad)), 8, h)


def loops_of(function: Any, *given: Any) -> str:
    return str(function.inspect(*given).loops)


def test_what_is_never_negative_chooses_nothing() -> None:
    @tw.jit
    def looked_up(img, table, out):
        at = 0
        for i in range(len(img)):
            at = (at + img[i]) % len(table)
            out[i] = table[img[i]] + table[at] + table[out[i] & 7]

    given = (np.arange(5, dtype=np.uint8), np.arange(256), np.zeros(5, np.int64))
    assert " < 0 else " not in loops_of(looked_up, *given)
    p = np.zeros(3, np.int64)
    assert " if p[i] < 0 else " in loops_of(gathered, np.zeros(4), p, np.zeros(3))


def never_negative(function: Any, *given: Any) -> dict[str, bool]:
    """Of the local scalars of a function."""
    bound = function._signature.bind(*given)
    signature, values = signature_of("f", bound.arguments)
    found = kernels.translated(
        Translation("f"), function.__tilewright_loops__, signature, values, {}
    )
    asked = NeverNegative(found.program)
    statements = {
        one.target.array: one.target
        for one in kernels_statements(found.program)
        if not one.target.subscripts
    }
    return {name: asked(target) for name, target in statements.items()}


def kernels_statements(program: Any) -> list[Any]:
    from tilewright.frontends import tree

    return [each for each in tree.walk(program.body) if isinstance(each, tree.Assign)]


def test_a_scalar_is_never_negative_unless_something_makes_it_so() -> None:
    @tw.jit
    def stacked(data, out):
        top = 0
        low = 0
        high = 0
        for i in range(len(data)):
            middle = (low + high) // 2
            high = middle + top
            top = top + 1
            if data[i] > 0:
                low = high - 1
            out[i] = top
        top = top * 2
        return low + high + top

    found = never_negative(stacked, np.zeros(3), np.zeros(3, np.int64))
    assert found["top"]
    assert not any(found[name] for name in ("low", "high", "middle"))


def test_bounds_of_data_are_the_bounds_of_the_loop() -> None:
    @tw.jit
    def spmv(row, col, val, x, y):
        for i in range(len(y)):
            total = 0.0
            for k in range(row[i], row[i + 1]):
                total += val[k] * x[col[k]]
            y[i] = total

    given = (np.array([0, 2, 3]), np.array([0, 1, 1]), np.ones(3), np.ones(2), np.zeros(2))
    loops = loops_of(spmv, *given)
    assert "for k in range(max(0, start), min(" in loops
    assert same(by_python(spmv.py_func, given), by_kernel(spmv, given))


@pytest.mark.parametrize(
    "function, given, text",
    [
        (gathered, (np.zeros(10), np.array([3, 10]), np.zeros(2)), "x[p[i]]: subscript 10 is"),
        (gathered, (np.zeros(10), np.array([3, -11]), np.zeros(2)), "x[p[i]]: subscript -11 is"),
        (histogram, (np.array([3, -9]), np.zeros(8)), "h[p[i]]: subscript -9 is"),
        (scattered, (np.zeros(2), np.array([3, 77]), np.zeros(8)), "out[p[i]]: subscript 77 is"),
        (of_arrays, (np.zeros(8), np.array([3, 8])), "x[p]: subscript 8 is"),
    ],
)
def test_the_error_says_what_the_text_says(function: Any, given: Any, text: str) -> None:
    with pytest.raises(tw.SubscriptError) as caught:
        function(*given)
    array = text.partition("[")[0]
    assert text + f" out of bounds for axis 0 of {array} with size " in str(caught.value)
    assert "select" not in str(caught.value)
    assert caught.value.location is not None
    assert "[p" in caught.value.location.text


@pytest.mark.parametrize(
    "line, column, text",
    [
        ("y = a[i][ j ] + 1", 5, "a[i][ j ]"),
        ("y = self.a[b[0], (c)](1) + [2]", 5, "self.a[b[0], (c)](1)"),
        ("y = x", 5, None),
        ("y = [1]", 5, None),
        ("y = a[(1]", 5, None),
        ("é = a[i]", 6, "a[i]"),
    ],
)
def test_what_stands_at_a_place(tmp_path: Any, line: str, column: int, text: str | None) -> None:
    file = tmp_path / "program.py"
    file.write_text(line + "\n", encoding="utf-8")
    assert text_at(str(file), 1, column) == text
    assert text_at(str(file), 2, 1) is None


@pytest.mark.parametrize("extent", [1, 2])
def test_an_axis_of_one_element_has_no_other_subscripts(extent: int) -> None:
    """Where 0 alone is right, nothing is read at what data say: it is asked all the same."""

    @tw.jit
    def read(a: Any, k: Any) -> Any:
        return a[k, 0] + a[k][:, 1]

    given = np.arange(3.0 * extent).reshape(extent, 3)
    inside = np.array([0, -1, 0])
    np.testing.assert_array_equal(read(given, inside), read.py_func(given, inside))
    with pytest.raises(IndexError, match=f"out of bounds for axis 0 of a with size {extent}"):
        read(given, np.array([0, 5]))


def _to_previous(a):
    for i in range(len(a)):
        a[i - 1] += a[i]


def _from_two_before(a):
    for i in range(len(a)):
        a[i - 1] = a[i - 2] + a[i]


def _less_the_length(a):
    n = len(a)
    for i in range(n):
        a[i - n] += a[i - 1]


def _around_zero(a):
    for i in range(-2, 2):
        a[i] += 1


@pytest.mark.parametrize(
    "function", [_to_previous, _from_two_before, _less_the_length, _around_zero]
)
def test_elements_from_the_end_are_read_and_written(function: Any) -> None:
    ours, theirs = np.arange(7), np.arange(7)
    tw.jit(function)(ours)
    function(theirs)
    np.testing.assert_array_equal(ours, theirs)
