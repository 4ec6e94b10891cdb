"""Loop functions against CPython: the catalogue and random programs, by interpreter and by kernel."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

from . import (
    array_functions,
    cases,
    extent_functions,
    form_functions,
    gathering_functions,
    list_functions,
    local_functions,
    masked_functions,
    npbench_functions,
    opaque_functions,
    order_functions,
    other_functions,
    random_arrays,
    random_functions,
    sliced_functions,
    textbook_functions,
    user_functions,
    while_functions,
)
from .comparison import by_interpreter, by_kernel, by_python, same

# They enter their functions.
assert npbench_functions and other_functions and form_functions and while_functions
assert local_functions and gathering_functions and masked_functions and sliced_functions
assert (
    extent_functions
    and opaque_functions
    and array_functions
    and textbook_functions
    and user_functions
)
assert list_functions and order_functions


@pytest.mark.parametrize("name", cases.CASES)
def test_the_tree_of_a_function_says_what_python_does(name: str) -> None:
    function, make = cases.CASES[name]
    arguments = make(np.random.default_rng(1))
    want = by_python(function.py_func, arguments)
    assert same(want, by_interpreter(function, arguments), name in cases.TOLERANT)


@pytest.mark.parametrize("name", cases.CASES)
def test_the_kernel_of_a_function_says_what_python_does(name: str) -> None:
    function, make = cases.CASES[name]
    arguments = make(np.random.default_rng(2))
    want = by_python(function.py_func, arguments)
    assert same(want, by_kernel(function, arguments), name in cases.TOLERANT)


def outcome(seed: int, run: object) -> str:
    """ "same", or why a random function has no result."""
    function, arguments = random_functions.made(seed), random_functions.arguments(seed)
    try:
        want = by_python(function, arguments)
    except TypeError:  # NumPy refuses to convert in place
        return "refused by NumPy"
    try:
        got = run(tw.jit(function), arguments)  # type: ignore[operator]
    except tw.TranslationError as error:
        assert error.line > 0
        return "refused"
    assert same(want, got), random_functions.Writer(seed).text()
    return "same"


def test_random_functions_by_their_trees() -> None:
    outcomes = [outcome(seed, by_interpreter) for seed in range(200)]
    assert outcomes.count("same") > 160


def test_random_functions_by_their_kernels() -> None:
    outcomes = [outcome(seed, by_kernel) for seed in range(1000, 1010)]
    assert outcomes.count("same") > 6


@pytest.mark.parametrize("seed", [20356, 20761])
def test_sizes_that_follow_from_ranges_of_subscripts_of_data(seed: int) -> None:
    """Their writers exist for some sizes only, which a condition on such a subscript said implicitly."""
    assert outcome(seed, by_kernel) == "same"


def test_random_functions_of_whole_arrays() -> None:
    for seed in range(4):
        function, given = random_arrays.made(seed), random_arrays.arguments(seed)
        want = by_python(function, given)
        assert same(want, by_kernel(tw.jit(function), given)), random_arrays.ArrayWriter(
            seed
        ).text()
    for seed in range(25):
        function, given = random_arrays.made(seed), random_arrays.arguments(seed)
        want = by_python(function, given)
        assert same(want, by_interpreter(tw.jit(function), given))


def in_fortrans_order(arguments: tuple[object, ...]) -> tuple[object, ...]:
    """The same arguments, with arrays whose elements lie along the first axis."""
    return tuple(
        np.asfortranarray(each) if isinstance(each, np.ndarray) and each.ndim > 1 else each
        for each in arguments
    )


def has_matrices(name: str) -> bool:
    arguments = cases.CASES[name][1](np.random.default_rng(1))
    return any(isinstance(each, np.ndarray) and each.ndim > 1 for each in arguments)


@pytest.mark.parametrize("name", filter(has_matrices, cases.CASES))
def test_arrays_in_fortrans_order(name: str) -> None:
    function, make = cases.CASES[name]
    turned = in_fortrans_order(make(np.random.default_rng(1)))
    if name == "other_shapes":  # whose arrays change after they are looked at in another shape
        with pytest.raises(tw.TranslationError, match="a part in another shape"):
            by_kernel(function, turned)
        return
    want = by_python(function.py_func, turned)
    for _ in range(2):  # the second call is made without Python
        assert same(want, by_kernel(function, turned), name in cases.TOLERANT)


def test_random_functions_of_functions() -> None:
    """Values that fewer iterators decide about, the least so far, arrays that grow with a loop."""
    for seed in (*range(9), 1003):
        function = random_functions.made(seed, random_functions.FunctionWriter)
        given = random_functions.arguments(seed)
        try:
            want = by_python(function, given)
        except TypeError:  # NumPy refuses to convert in place
            continue
        try:
            got = by_kernel(tw.jit(function), given)
        except tw.TranslationError as error:
            assert error.line > 0
            continue
        assert same(want, got), seed
