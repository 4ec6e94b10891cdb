"""Parameters that are declared together: which of them a function has, and what it checks."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

i = tw.iter("i")


def only_the_first(constraint: str) -> tw.Function:
    """A function of N alone, where M is declared beside it."""
    n, _ = tw.params("N M", constraint)
    x = tw.input("x", [n], tw.int32)
    return tw.function("f", outputs=[tw.computation("C", {i: n}, x[i] + 1)])


def call(function: tw.Function, size: int) -> None:
    x = np.arange(size, dtype=np.int32)
    np.testing.assert_array_equal(function(x), x + 1)
    np.testing.assert_array_equal(function.evaluate(x), x + 1)


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        ("N > 3 and M >= N", (4, 9), (0, 3)),
        ("N = 2 * M", (0, 4, 6), (1, 5)),
        ("N <= M and M <= 4", (0, 4), (5, 9)),
        ("M > 3", (0, 1, 9), ()),
    ],
)
def test_a_parameter_of_a_constraint_only_is_none_of_the_function(constraint, good, bad):
    function = only_the_first(constraint)
    assert function.parameters == ["N"]
    for size in good:
        call(function, size)
    for size in bad:
        with pytest.raises(ValueError, match=rf"N = {size} is outside the function's context"):
            function(np.zeros(size, np.int32))


def test_it_is_one_where_the_function_uses_it():
    n, m = tw.params("N M", "N > 3 and M >= N")
    x = tw.input("x", [n], tw.int32)
    function = tw.function("f", outputs=[tw.computation("C", {i: n}, x[i] + tw.cast(m, tw.int32))])
    assert function.parameters == ["N", "M"]
    x_ = np.arange(5, dtype=np.int32)
    np.testing.assert_array_equal(function(x_, M=7), x_ + 7)
    with pytest.raises(ValueError, match="outside the function's context"):
        function(x_, M=4)


def test_it_is_one_where_the_context_names_it():
    n, m = tw.params("N M")
    x = tw.input("x", [n], tw.int32)
    function = tw.function("f", outputs=[tw.computation("C", {i: n}, x[i] + 1)], context=[m >= n])
    assert function.parameters == ["N", "M"]
