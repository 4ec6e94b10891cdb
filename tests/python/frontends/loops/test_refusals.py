"""What has no translation: one located error each, with the reason and the way out."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import tilewright as tw

GLOBAL_ARRAYS = (np.zeros(3),)


def made(body: str, header: str = "def f(A, n):") -> Any:
    """A function of some lines."""
    text = header + "\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    file = f"<refused {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"np": np, "tw": tw, "GLOBAL_ARRAYS": GLOBAL_ARRAYS}
    exec(compile(text, file, "exec"), names)
    return names["f"]


REFUSED = [
    ("x = {A[i] for i in range(n)}", "a set is not translated", 2, 9),
    ("x = {1: 2}\nx[3] = 4", "a dict has no elements to assign", 3, 5),
    ("B = A + 1\nB.shape = n", "an array keeps its shape: write B = B.reshape", 3, 5),
    ("with n:\n    pass", "with is not translated", 2, 5),
    ("try:\n    pass\nexcept ValueError:\n    pass", "try is not translated", 2, 5),
    ("raise ValueError", "raise is not translated", 2, 5),
    ("import math", "import is not translated", 2, 5),
    ("def g(*x):\n    pass", "a variable number of arguments", 2, 12),
    ("def g(x=n):\n    pass", "a default that is no constant", 2, 13),
    ("def g():\n    return n\ng = 3", "g is something else, too", 2, 5),
    ("c = 1\nc = 2\ndef g():\n    return c\nA[0] = g()", "several variables", 5, 16),
    ("def g():\n    return g()\nA[0] = g()", "g calls itself", 3, 16),
    ("A[0] = (lambda x: x)(n)", "a lambda", 2, 13),
    ("del n", "del is not translated", 2, 5),
    ("global z\nz = 1", "global is not translated", 2, 5),
    ("for i in range(n):\n    x = A[i]\nreturn x", "x may have no value here", 4, 12),
    ("for i in range(0, n, 0):\n    A[i] = 0", "the step of range must be a number", 2, 14),
    ("if A[0] > 0:\n    raise ValueError(\"no\")", "an exception that data decide about", 3, 9),
    ("A[0] = unknown", "'unknown' is not defined", 2, 12),
    ("A[0] = GLOBAL_ARRAYS[0][0]", "an array that is no argument", 2, 12),
    ("A[0] = np.linalg.det(A)", "np.linalg.det takes ...nn->... here, and is given arrays of 1 dim", 2, 12),
    ("k = int(A[0])\nB = A[:k]\nA[0] = B[1]", "an element of a slice whose bounds data decide", 4, 14),
    ("I = (A * 3).astype(int)\nA[I[0]:I[1]] = 0\nI[0] = 2", "a slice is read from I, which", 3, 7),
    ("B = A + A[A > 0]", "an array at a mask, whose length depends on data", 2, 9),
    ("B = np.cumsum(A[A > 0])", "an array at a mask, whose length depends on data", 0, 0),
    ("for x in A[A > 0]:\n    A[0] = x", "an array at a mask, whose length depends on data", 2, 14),
    ("A[A > 0] = np.zeros((2, 2))", "an array of another shape for what a mask chooses", 2, 5),
    ("for a in (0, 1):\n    if A[a] > 0:\n        break\nreturn a", "a is used behind a loop over a t", 2, 9),
    (
        "for a in (0, 1):\n    if A[a] > 0:\n        if n > 7:\n            continue\n        A[a] = 1\n"
        "    if A[a] > n:\n        break\n    A[a] = 2",
        "a loop over a tuple that is left in several ways", 2, 5,
    ),
    (
        "B = A[1:]\nfor a in (1, 2):\n    if A[a] > 0:\n        continue\n    B = A[a:]\nreturn B[0]",
        "B names different arrays", 0, 0,
    ),
    ("x = np.zeros(3)\nfor i in range(n):\n    x = np.zeros(4)\nreturn x", "x has another shape", 4, 9),
    ("x = np.zeros(3)\nfor i in range(n):\n    x = A[i:] + 1\nreturn x", "x has another shape", 4, 9),
    ("B = A[1:].reshape(2, -1)\nA[0] = B[0, 0]", "is read from A, which the function changes", 2, 9),
    ("A[0] = np.array([[1], [1, 2]])[0, 0]", "lists of different lengths", 2, 12),
    ("print(n)", "the function print is not translated", 2, 5),
    ("if A:\n    A[0] = 1", "has no truth value", 2, 8),
    ("A[0, 0] = 1", "2 subscripts for an array with 1 dimension", 2, 5),
    ("A[1.5] = 1", "a subscript must be an integer", 2, 7),
    ("B = A + 1\nfor i in range(n):\n    if A[i] > 0:\n        B, A = A, B", "names different arrays", 0, 0),
    ("x = 1\nif n > 2:\n    x = A + 1\nA[0] = x[0]", "elsewhere", 0, 0),
    ("for i in range(65):\n    x = np.zeros(2**i)\n    A[i] = x[0]", "at most 64 turns", 2, 5),
    (
        "for i in range(30):\n    for j in range(30):\n        x = np.zeros(i * j + 1)\n        A[i] = x[0]",
        "there are more than 512", 3, 9,
    ),
    ("for i in range(n):\n    x = np.zeros(i + 1)\nreturn x", "x may have no value here", 4, 12),
    ("for i in range(int(A[0])):\n    x = np.zeros(2**i)", "its bounds must depend on integer arguments", 2, 5),
    ("A[:] = np.zeros((2, 3))", "do not broadcast", 2, 5),
    ("A[1:] = A[:-2]", "the extents differ by 1", 2, 5),
    ("# loop: a b\nfor i in range(n):\n    A[i] = 0", "gives no name", 3, 5),
    ("# independent\nA[0] = 1", "stands above a for loop", 3, 5),
    ("x = 3\nx[0] = 1", "has no elements to assign", 3, 5),
    ("return A.tolist()", "the method 'tolist'", 2, 12),
    ("for c in 'abc':\n    A[0] = 1", "a loop over str", 2, 14),
    ("if 1 < n:\n    return 1", "some ways through the function", 1, 1),
]  # fmt: skip


@pytest.mark.parametrize(("body", "reason", "line", "column"), REFUSED)
def test_what_has_no_translation_is_refused_where_it_stands(
    body: str, reason: str, line: int, column: int
) -> None:
    function = made(body)
    with pytest.raises(tw.TranslationError, match=reason) as caught:
        tw.jit(function)(np.zeros(5), 4)
    error = caught.value
    if line:
        assert (error.line, error.column) == (line, column)
    source = linecache.getline(error.file, error.line).rstrip()
    assert source in str(error) and str(error).endswith("^")


def test_any_number_of_loops_may_be_translated_turn_by_turn() -> None:
    loop = "for i{0} in range(2):\n    x{0} = np.zeros(2**i{0})\n    A[0] += x{0}[0] + 1"
    a = np.zeros(5)
    tw.jit(made("\n".join(loop.format(k) for k in range(20))))(a, 4)
    assert a.tolist() == [40, 0, 0, 0, 0]


def test_variable_arguments_are_refused_when_decorated() -> None:
    with pytest.raises(tw.TranslationError, match="variable number of arguments"):
        tw.jit(made("pass", "def f(*A):"))


def test_a_function_without_source_is_refused() -> None:
    names: dict[str, Any] = {}
    exec("def f(A):\n    A[0] = 1", names)
    with pytest.raises(tw.TranslationError, match="no source text"):
        tw.jit(names["f"])


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(tw.DeclarationTypeError, match=r"tw\.jit takes a Python function"):
        tw.jit(3)  # type: ignore[call-overload]


@pytest.mark.parametrize("value", [[1, 2], "text", object(), np.array(["a"]), np.array(3.0)])
def test_arguments_of_other_types_are_refused(value: Any) -> None:
    function = tw.jit(made("for i in range(n):\n    A[i] = 0"))
    with pytest.raises((tw.ArgumentTypeError, tw.TranslationError)):
        function(value, 3)


def test_a_subscript_that_leaves_its_array_is_refused_before_anything_runs() -> None:
    function = tw.jit(made("for i in range(n):\n    A[i] = i + 1.0"))
    A = np.zeros(4)
    function(A, 4)
    assert list(A) == [1, 2, 3, 4]
    with pytest.raises(tw.SubscriptError, match=r"outside of the array for .*n = 5") as caught:
        function(np.zeros(4), 5)
    assert isinstance(caught.value, IndexError)
    assert caught.value.location is not None and caught.value.location.line == 3


def test_subscripts_below_0_count_from_the_end() -> None:
    function = tw.jit(made("for i in range(n):\n    A[i] = A[i] + A[i - 1]"))
    A = np.arange(1.0, 5.0)
    function(A, 4)
    assert list(A) == [5, 7, 10, 14]
    function = tw.jit(made("A[0] = A[-n]"))
    function(A, 4)
    function(A, 1)
    assert list(A) == [14, 7, 10, 14]
    with pytest.raises(tw.SubscriptError, match=r"outside of the array for .*n = 5"):
        function(A, 5)
    with pytest.raises(tw.SubscriptError, match=r"outside of the array for .*n = 9"):
        tw.jit(made("for i in range(n):\n    A[i - 5] = 1"))(A, 9)


def test_slices_are_not_cut_off_silently() -> None:
    function = tw.jit(made("A[1:n] = 1"))
    A = np.zeros(4)
    function(A, 3)
    assert list(A) == [0, 1, 1, 0]
    with pytest.raises(tw.ArgumentError, match="of the slice is negative for"):
        function(np.zeros(4), 6)
    with pytest.raises(tw.ArgumentError, match="of the slice is negative for"):
        function(np.zeros(4), -1)


def test_a_false_assertion_is_refused_at_the_call() -> None:
    function = tw.jit(made("assert n % 4 == 0\nfor i in range(n):\n    A[i] = 1"))
    function(np.zeros(8), 8)
    with pytest.raises(tw.ArgumentError, match=r"does not hold for .*n = 6"):
        function(np.zeros(8), 6)


def test_arrays_that_share_memory_in_part_are_refused() -> None:
    function = tw.jit(made("for i in range(len(A)):\n    B[i] = A[i]", "def f(A, B):"))
    x = np.arange(5.0)
    with pytest.raises(tw.ArgumentError, match="share memory in part"):
        function(x[1:], x[:-1])


def test_prange_is_checked_not_believed() -> None:
    function = tw.jit(made("for i in tw.prange(1, n):\n    A[i] += A[i - 1]"))
    with pytest.raises(tw.IllegalScheduleError, match="carries the dependence"):
        function(np.zeros(5), 5)


def test_what_loops_of_data_read_beyond_an_array_is_found_by_the_kernel() -> None:
    @tw.jit
    def marked(x: Any, y: Any, count: Any) -> None:
        for i in range(count[0]):
            if x[i] > 0:
                y[i] = x[i + 3]

    x, y = np.array([0.0, 1, 0, 0, 5]), np.zeros(5)
    marked(x, y, np.array([4]))
    assert y.tolist() == [0, 5, 0, 0, 0]
    with pytest.raises(tw.SubscriptError, match=r"5 is out of bounds for axis 0 of x"):
        marked(np.array([0.0, 0, 1, 0, 0]), y, np.array([4]))


def test_shapes_that_must_agree_are_checked_at_the_call() -> None:
    @tw.jit
    def steps(W: Any, n: int) -> Any:
        h = np.ones(3)
        for _ in range(n):
            h = W @ h
        return h

    assert steps(np.eye(3), 2).tolist() == [1, 1, 1]
    with pytest.raises(tw.ArgumentError):
        steps(np.ones((4, 3)), 2)


def test_slices_that_do_not_fit_say_so() -> None:
    @tw.jit
    def lag(c: Any, k: Any) -> Any:
        return c[k:] - c[:-k]

    c = np.arange(20.0)
    assert (lag(c, 3) == 3).all()
    for k, what in (
        (0, r"how many elements the slice leaves out at the end is 0 \(x\[:-0\] has none\)"),
        (25, "the array's extent less the bound of the slice is negative"),
    ):
        with pytest.raises(tw.ArgumentError, match=f"{what}.* for c_0 = 20, k = {k}"):
            lag(c, k)


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(n):\n    s = A[i]\nA[0] = s",
        "for i in range(4):\n    if A[i] > 0:\n        continue\n    s = A[i]\nA[0] = s",
        "for i in range(4, 4):\n    s = A[i]\nA[0] = s",
        "for i in range(n):\n    A[i] = i\nif n > 0:\n    A[0] = i",
    ],
)
def test_what_may_have_no_value_behind_a_loop(body: str) -> None:
    with pytest.raises(tw.TranslationError, match="may have no value here"):
        tw.jit(made(body))(np.zeros(4), 3)


def test_an_iterator_of_a_loop_without_turns_has_no_value() -> None:
    with pytest.raises(UnboundLocalError, match="'i': its loop runs no time"):
        tw.jit(made("for i in range(n):\n    A[i] = i\nA[0] = i"))(np.zeros(4), 0)


def test_a_part_in_another_shape_is_a_view_or_a_copy() -> None:
    """NumPy decides by strides: so nobody may change what this makes."""
    text = "o = A[:, 1:].reshape(2, -1)\no[0] = n\nreturn o"
    with pytest.raises(tw.TranslationError, match=r"NumPy may make a part of A or a copy.*\.copy"):
        tw.jit(made(text))(np.zeros((2, 3, 4)), 3)
    tw.jit(made(text.replace("-1)", "-1).copy()")))(np.zeros((2, 3, 4)), 3)


@pytest.mark.parametrize("name", ["max", "any"])
def test_python_does_not_compare_rows(name: str) -> None:
    with pytest.raises(tw.TranslationError, match=f"use np.{name}"):
        tw.jit(made(f"return {name}(A)"))(np.zeros((2, 3)), 3)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "for k in range(3):\n    for i in range(n):\n        r.append(A[i, 0])",
            "a list that grows",
        ),
        ("if n > 2:\n    for i in range(n):\n        r.append(A[i, 0])", "a list that grows"),
        (
            "for i in range(n):\n    r.append(A[i])\nA[0] = 5",
            "A, which stands in a list, is changed",
        ),
        ("for i in range(n):\n    r.append(A[i])\nr[0][0] = 5", "a part of a list is changed"),
        (
            "x = np.zeros(3)\nfor i in range(n):\n    x[:] = A[i]\n    r.append(x)",
            "x, which stands in a list, is changed",
        ),
        (
            "for i in range(n):\n    x = A[i] * 2\n    r.append(x)\n    x[0] = 7",
            "x, which stands in a list, is changed",
        ),
        ("for i in range(n):\n    r.append(A[i, 0])\nr = r * 2", "an operator of lists"),
    ],
)
def test_lists_that_are_not_those_of_python(body: str, message: str) -> None:
    """Python's lists have the arrays themselves, and grow in every turn of the loops around."""
    with pytest.raises(tw.TranslationError, match=message):
        tw.jit(made(f"r = []\n{body}\nreturn np.array(r)"))(np.ones((4, 3)), 3)


@pytest.mark.parametrize(
    "text", ["b = A.copy()", "b = np.zeros(A.shape)", "b = np.concatenate((A, A))"]
)
def test_what_numpy_orders_another_way_is_no_view_to_be_changed(text: str) -> None:
    """Arrays on the way lie as the arguments do, in Fortran's order here; NumPy's do or do not."""
    changes = tw.jit(made(f"{text}\nc = b.reshape(-1)\nc[0] = n\nreturn b"))
    with pytest.raises(tw.TranslationError, match=r"NumPy may make a part of .* or a copy"):
        changes(np.ones((3, 4)).T, 5)
    reads = tw.jit(made(f"{text}\nreturn b.reshape(-1) * 2"))
    given = np.arange(12.0).reshape(3, 4).T
    np.testing.assert_array_equal(reads(given, 5), reads.py_func(given, 5))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("s = 0.0\nfor i in range(n):\n    s += A * i\nreturn s", "a number becomes an array"),
        ("s = 0.0\nif A[0, 0] > 0:\n    s += A\nreturn s", "a number becomes an array"),
        ("return A.ravel(order='F')", "ravel"),
        ("return A[n // (n - 3), 0]", "zero"),
    ],
)
def test_what_would_mean_something_else(body: str, message: str) -> None:
    with pytest.raises(tw.TranslationError, match=message):
        tw.jit(made(body))(np.ones((4, 3)), 3)


def test_a_step_of_zero_is_an_error_where_the_loop_is_come_to() -> None:
    @tw.jit
    def marked(A: Any, step: int, wanted: int) -> Any:
        if wanted > 0:
            for i in range(0, len(A), step):
                A[i] = 1
        return A

    assert marked(np.zeros(4), 2, 1).tolist() == [1, 0, 1, 0]
    assert marked(np.zeros(4), 0, 0).tolist() == [0, 0, 0, 0]
    with pytest.raises(ValueError, match="must not be zero"):
        marked(np.zeros(4), 0, 1)


def test_the_text_of_an_assertion_is_told() -> None:
    @tw.jit
    def filled(A: Any, n: int) -> Any:
        assert n > 0, "n counts elements"
        A[:n] = 1
        return A

    assert filled(np.zeros(3), 2).tolist() == [1, 1, 0]
    with pytest.raises(tw.ArgumentError, match="n counts elements"):
        filled(np.zeros(3), 0)
