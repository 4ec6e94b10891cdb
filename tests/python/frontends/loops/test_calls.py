"""Calls of loop functions: threads, pickles, constants that change, loops that data end, masks."""

from __future__ import annotations

import functools
import linecache
import pickle
import textwrap
import threading
from typing import Any

import numpy as np
import pytest

import tilewright as tw

r = np.random.default_rng(8)


@tw.jit
def increased(A, n, by):
    for i in range(n):
        A[i] += by


def plain(A):
    A[0] = 7


@tw.jit
def counted(A, limit):
    n = 0
    x = A[0]
    while x > limit:
        x = 0.5 * x
        n += 1
    A[0] = x
    return n


@tw.jit
def searched(a, xs, out):
    for i in tw.prange(len(xs)):
        low, high = 0, len(a)
        while low < high:
            middle = (low + high) // 2
            if a[middle] < xs[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low


@tw.jit
def rows(start, x, out):
    for i in tw.prange(len(out)):
        s = 0.0
        for p in range(start[i], start[i + 1]):
            s += x[p]
        out[i] = s


@tw.jit
def reshaped(A):
    B = A.reshape(-1)
    for i in range(B.shape[0]):
        B[i] += i


def test_threads_that_call_at_once_share_a_kernel() -> None:
    wrong: list[BaseException] = []
    function = tw.jit(increased.py_func)

    def run() -> None:
        try:
            A = np.zeros(20)
            for _ in range(10):
                function(A, 20, 1.0)
            assert (A == 10).all()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(function.signatures) == 1


def test_pickles() -> None:
    assert pickle.loads(pickle.dumps(increased)) is increased
    again = pickle.loads(pickle.dumps(tw.jit(plain)))
    A = np.zeros(2)
    again(A)
    assert list(A) == [7, 0]


def test_constants_are_those_of_the_call() -> None:
    factor = 2.0

    @tw.jit
    def scaled(A):
        for i in range(len(A)):
            A[i] *= factor

    A = np.ones(3)
    scaled(A)
    scaled(A)
    factor = 5.0
    scaled(A)
    assert list(A) == [20, 20, 20]


def test_calls_alike_differ_in_their_numbers() -> None:
    A = np.zeros(4)
    for by in (1.0, 2.5, 1.0):
        increased(A, 3, by)
        increased(A, 2, by)
    assert list(A) == [9, 9, 4.5, 0]


def test_attributes_that_nothing_has() -> None:
    assert not hasattr(increased, "nothing_of_the_kind")
    with pytest.raises(tw.DeclarationError, match="has no loops yet"):
        _ = tw.jit(plain).loops
    with pytest.raises(tw.DeclarationTypeError, match=r"fast_math= of tw\.jit"):
        tw.jit(fast_math=1)  # type: ignore[call-overload]


def test_the_evaluator_makes_as_many_iterations_as_there_are() -> None:
    kernel = counted.inspect(np.array([100.0]), 1.0)
    given = {"A": np.array([100.0]), "limit": np.asarray(1.0), "result": np.zeros((), np.int64)}
    found = kernel.evaluate(**{name: given.get(name, 1) for name in kernel.arguments})
    assert found["A"] == [100 / 2**7] and found["result"] == 7
    A = np.array([100.0])
    assert counted(A, 1.0) == 7 and A[0] == 100 / 2**7
    assert counted(A, 1.0) == 0


def test_while_loops_in_a_parallel_loop() -> None:
    r = np.random.default_rng(0)
    a, xs = np.sort(r.random(50)), r.random(30)
    out = np.zeros(30, np.int64)
    searched(a, xs, out)
    assert (out == np.searchsorted(a, xs)).all()
    assert "parallel" in str(searched.loops)


def test_rows_of_data() -> None:
    start = np.array([0, 2, 2, 5])
    x, out = np.arange(5.0), np.zeros(3)
    rows(start, x, out)
    assert list(out) == [1, 0, 9]


def test_other_shapes_need_memory_without_gaps() -> None:
    A = np.zeros((2, 3))
    reshaped(A)
    assert A.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(tw.ArgumentError, match="without gaps"):
        reshaped(np.zeros((2, 6))[:, ::2])


@pytest.mark.parametrize("limit", [0, 3, 10**6])
def test_a_loop_is_left_where_break_says_so(limit: Any) -> None:
    def first(A, limit):
        for i in range(len(A)):
            if A[i] > limit:
                return i
        return -1

    A = np.arange(10)
    assert tw.jit(first)(A, limit) == first(A, limit)


@tw.jit
def fitting(A, B):
    if A.shape[1] != B.shape[0]:
        raise ValueError("the shapes do not fit")
    return A @ B


def test_exceptions_that_sizes_decide_about_are_those_of_the_function():
    for rows in (4, 3, 4, 3, 5):  # before there is a kernel, and behind
        given = np.ones((2, 3)), np.ones((rows, 4))
        if rows == 3:
            np.testing.assert_array_equal(fitting(*given), np.full((2, 4), 3.0))
        else:
            with pytest.raises(ValueError, match=r"^the shapes do not fit$"):
                fitting(*given)


@tw.jit
def made_arrays(x, limit):
    all_of_it = 2.0 * x
    every_other = np.zeros(len(x))
    for i in range(0, len(x), 2):
        every_other[i] = x[i]
    chosen = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > limit:
            chosen[i] = 1.0
    return all_of_it, every_other, chosen


def test_results_are_zeros_where_nothing_is_written_whatever_memory_held():
    x = r.random(500)
    want = made_arrays.py_func(x, 0.5)
    for _ in range(20):  # the first call makes its results, and those behind it in the core
        found = made_arrays(x, 0.5)
        for own, right in zip(found, want, strict=True):
            np.testing.assert_array_equal(own, right)
            own[:] = np.nan  # is what the memory of the next results may hold
        del found, own


# ---- functions that nobody decorated ----


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def cleared(*arrays):
    for each in arrays:
        each[:] = 0


def counted_calls(function):
    @functools.wraps(function)
    def wrapper(x):
        CALLS.append(function.__name__)
        return function(x)

    return wrapper


CALLS: list[str] = []


@counted_calls
def halved(x):
    return x / 2


def own(A, n):
    A[0] = factorial(n)


def of_several(A):
    cleared(A)


def of_a_wrapper(A):
    A[0] = halved(A[0])


def of_a_library(A):
    A[0] = textwrap.dedent(A[0])


@pytest.mark.parametrize(
    ("function", "arguments", "reason"),
    [
        (own, (4,), "factorial calls itself"),
        (of_several, (), "a variable number of arguments"),
        # The decorator does what it does: the text below it is not what runs.
        (of_a_wrapper, (), "the function halved is not translated: decorate halved with @tw.jit"),
        (of_a_library, (), "the function dedent is not translated"),
    ],
)
def test_what_no_text_stands_for_is_refused(
    function: Any, arguments: tuple[Any, ...], reason: str
) -> None:
    with pytest.raises(tw.TranslationError, match=reason):
        tw.jit(function)(np.ones(3), *arguments)


def test_a_lambda_is_a_function_like_others() -> None:
    doubled = tw.jit(lambda x: 2 * x + 1)
    np.testing.assert_array_equal(doubled(np.arange(3.0)), [1, 3, 5])
    with pytest.raises(tw.TranslationError, match="there are 2 lambdas on these lines"):
        tw.jit((lambda x: x, lambda x: -x)[0])(np.ones(3))


def test_a_function_that_is_replaced_is_translated_anew() -> None:
    names: dict[str, Any] = {}

    def defined(text: str, file: str) -> None:
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), names)

    defined("def inner(x):\n    return x + 1\n", "<inner 1>")
    defined("def outer(A):\n    A[0] = inner(A[0])\n", "<outer>")
    function = tw.jit(names["outer"])
    A = np.zeros(1)
    function(A)
    defined("def inner(x):\n    return x + 10\n", "<inner 2>")
    function(A)
    assert A[0] == 11


def clipped(x: np.ndarray) -> float:
    def above(v: float, low: float = -1.0, factor: int = 2 * 3) -> float:
        return max(v, low) * factor

    moved = lambda v, by=-2: v + by  # noqa: E731
    total = 0.0
    for i in range(len(x)):
        total += above(x[i]) + moved(x[i])
    return total


def test_defaults_of_functions_inside_are_constants_as_python_writes_them() -> None:
    x = np.array([-5.0, 2.0])
    assert tw.jit(clipped)(x) == clipped(x)


def changes(x: np.ndarray) -> np.ndarray:
    return np.diff(x)


def test_all_kernels_are_waited_for() -> None:
    """Lengths 1 and 2 of an array may have kernels of their own."""
    compiled = tw.jit(changes)
    assert compiled.wait_optimized()  # nothing has run
    for x in (np.array([True, False, False, True]), np.arange(4.0) ** 2, np.arange(5)):
        found, expected = compiled(x), changes(x)
        assert found.tolist() == expected.tolist()
        assert found.dtype == expected.dtype
    compiled.wait_optimized()
    kernels = [kernel for many in compiled._kernels.values() for kernel in many]
    assert len(kernels) == 3
    assert not any(kernel.function.function._pending for kernel in kernels)
