"""Writes to elements that data choose: an array without that element is an error, as in Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw


def put(A: Any, p: Any, v: Any) -> None:
    for i in range(len(p)):
        A[p[i]] = v[i]


def add(A: Any, p: Any, v: Any) -> None:
    for i in range(len(p)):
        A[p[i]] += v[i]


def put_where(A: Any, p: Any, v: Any) -> None:
    for i in range(len(p)):
        if v[i] > 0:
            A[p[i]] = v[i]


def through(A: Any, p: Any, v: Any) -> None:
    for i in range(len(p)):
        A[p[p[i]]] = v[i]


def computed(A: Any, p: Any, v: Any) -> None:
    for i in range(len(p)):
        A[p[i] + i] = v[i]


def counted(A: Any, p: Any, v: Any) -> None:
    k = 0
    for i in range(len(p)):
        if v[i] > 0:
            A[k] = v[i]
            k += 2


FUNCTIONS = [put, add, put_where, through, computed, counted]


def both(function: Callable[..., None], size: int, p: list[int], v: list[float]) -> None:
    """Runs it in Python and translated: the same array, or an IndexError from both."""
    plain, ours = np.zeros(size), np.zeros(size)
    places, values = np.array(p), np.array(v)
    try:
        function(plain, places, values)
    except IndexError:
        with pytest.raises(tw.SubscriptError, match=r"is out of bounds for axis 0 of"):
            tw.jit(function)(ours, places, values)
        return
    tw.jit(function)(ours, places, values)
    np.testing.assert_array_equal(ours, plain)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_inside_and_outside(function: Callable[..., None]) -> None:
    both(function, 8, [3, 1, 2, 0], [1.0, -2.0, 3.0, 4.0])
    both(function, 4, [3, 1, 2, 0], [1.0, -2.0, 3.0, 4.0])
    both(function, 3, [3, 1, 2, 0], [1.0, 2.0, 3.0, 4.0])
    both(function, 3, [0, 1, 2, 4], [1.0, 2.0, -3.0, 4.0])


def test_below_zero_counts_from_the_end() -> None:
    for function in (put, add, put_where):
        both(function, 4, [1, -1, -4, 0], [1.0, 2.0, 3.0, -1.0])
        both(function, 4, [1, -5, 2, 0], [1.0, 2.0, 3.0, -1.0])


def test_where_a_statement_does_not_run_nothing_is_asked() -> None:
    A = np.zeros(3)
    tw.jit(put_where)(A, np.array([1, 77]), np.array([5.0, -1.0]))
    assert A.tolist() == [0, 5, 0]


def test_an_array_of_no_elements_has_none() -> None:
    A = np.zeros(0)
    tw.jit(put)(A, np.zeros(0, np.int64), np.zeros(0))
    assert A.size == 0


def test_two_axes() -> None:
    @tw.jit
    def marked(A: Any, r: Any, c: Any) -> None:
        for i in range(len(r)):
            A[r[i], c[i]] += 1.0

    A = np.zeros((3, 4))
    marked(A, np.array([2, 2, 0]), np.array([3, 3, 0]))
    assert A[2, 3] == 2 and A[0, 0] == 1 and A.sum() == 3
    with pytest.raises(tw.SubscriptError, match="subscript 4 is out of bounds for axis 1 of A"):
        marked(A, np.array([2]), np.array([4]))
    with pytest.raises(tw.SubscriptError, match="subscript 3 is out of bounds for axis 0 of A"):
        marked(A, np.array([3]), np.array([1]))


def test_the_error_names_the_line() -> None:
    with pytest.raises(tw.SubscriptError) as caught:
        tw.jit(put)(np.zeros(2), np.array([5]), np.array([1.0]))
    assert caught.value.location is not None
    assert caught.value.location.text == "A[p[i]] = v[i]"


def test_under_found_schedules_and_in_a_local_array() -> None:
    @tw.jit
    def sorted_by_count(a: Any, m: int) -> Any:
        count = np.zeros(m, np.int64)
        for i in range(len(a)):
            count[a[i]] += 1
        return count

    given = np.array([1, 2, 2, 0, 3])
    assert sorted_by_count(given, 4).tolist() == [1, 1, 2, 1]
    with pytest.raises(tw.SubscriptError, match="3 is out of bounds for axis 0 of count"):
        sorted_by_count(given, 3)
    sorted_by_count.auto_schedule()
    assert sorted_by_count(given, 4).tolist() == [1, 1, 2, 1]
    with pytest.raises(tw.SubscriptError, match="3 is out of bounds for axis 0 of count"):
        sorted_by_count(given, 3)


def test_an_update_behind_conditions_touches_one_element():
    # Who wrote elements 0 and 1 is known, of others it is not; all of it is the same memory.
    @tw.jit
    def sieve(n):
        s = np.ones(n, dtype=np.bool_)
        s[0] = False
        s[1] = False
        i = 2
        while i * i < n:
            if s[i]:
                for j in range(i * i, n, i):
                    s[j] = False
            i += 1
        return s.sum()

    assert sieve(2000) == sieve.py_func(2000) == 303
    loops = re.findall(r"in range\(0, \(n \+ \d+\) // \d+\)", str(sieve.loops))
    assert len(loops) == 2  # in vectors, to fill it, and to add it up
    assert "in range(0, n)" not in str(sieve.loops)


def test_branches_that_assign_one_element_are_one_statement():
    @tw.jit
    def longest(a, b, L, found):
        for i in range(1, L.shape[0]):
            for j in range(1, L.shape[1]):
                if a[i - 1] == b[j - 1]:
                    found[i, j] = a[i - 1]
                    L[i, j] = L[i - 1, j - 1] + 1
                else:
                    found[i, j] = -1
                    if L[i - 1, j] > L[i, j - 1]:
                        L[i, j] = L[i - 1, j]
                    else:
                        L[i, j] = L[i, j - 1]

    draw = np.random.default_rng(3)
    a, b = draw.integers(0, 3, 20), draw.integers(0, 3, 30)
    given = [np.zeros((21, 31), np.int64) for _ in range(4)]
    longest(a, b, given[0], given[1])
    longest.py_func(a, b, given[2], given[3])
    np.testing.assert_array_equal(given[0], given[2])
    np.testing.assert_array_equal(given[1], given[3])
    assert not any(line.strip().startswith("if ") for line in str(longest.loops).splitlines())


def test_a_condition_that_reads_what_its_branches_assign_is_asked_once():
    @tw.jit
    def turned(x, y):
        for i in range(len(x)):
            if x[i] > 0:
                x[i] = -x[i]
                y[i] = 1
            else:
                x[i] = 2 * x[i]
                y[i] = 2

    given = np.array([3.0, -1.0, 0.0, 5.0])
    x, y = given.copy(), np.zeros(4)
    turned(x, y)
    np.testing.assert_array_equal(x, [-3.0, -2.0, 0.0, -5.0])
    np.testing.assert_array_equal(y, [1, 2, 2, 1])


def test_a_swap_at_a_subscript_of_data_has_no_loop_over_the_array() -> None:
    """Nor has one under a condition, in a loop that data end."""

    @tw.jit
    def swaps(a, p):
        for i in range(len(p)):
            j = p[i]
            a[j], a[i] = a[i], a[j]

    @tw.jit
    def sifted(a, root):
        n = len(a)
        while root * 2 + 1 < n:
            child = root * 2 + 1
            if child + 1 < n and a[child] < a[child + 1]:
                child += 1
            if a[root] < a[child]:
                a[root], a[child] = a[child], a[root]
                root = child
            else:
                break

    generator = np.random.default_rng(0)
    for function, given in ((swaps, generator.permutation(33)), (sifted, 0)):
        a = generator.random(33)
        want = a.copy()
        function.py_func(want, given)
        function(a, given)
        np.testing.assert_array_equal(a, want)
        assert "// 8" not in str(function.loops)
        assert str(function.loops).count("for ") == 1


def test_an_element_that_data_choose_is_not_looked_for() -> None:
    """Also where single elements were set before, so that what an element had comes from several
    statements: a vector loop over the array would ask each of its elements."""

    @tw.jit
    def butterflies(x: Any) -> Any:
        n = len(x)
        a = x.copy()
        a[0], a[1] = a[1], a[0]
        length = 2
        while length <= n:
            for i in range(0, n, length):
                u = a[i]
                t = a[i + length // 2]
                a[i] = u + t
                a[i + length // 2] = u - t
            length *= 2
        return a

    x = np.random.default_rng(3).random(32)
    np.testing.assert_array_equal(butterflies(x), butterflies.py_func(x))
    loops = str(butterflies.loops)
    searched = loops[loops.index("while_limit)") :]
    assert "x_0 + 7" not in searched
    assert re.search(r"a\[index\w*\] = u\[\(\)\] \+ t", searched)
    assert re.search(r"a\[index\w*\] = u\[\(\)\] - t", searched)
    assert re.search(r"u\[\(\)\] = a\[index\w*\]", searched)  # one place, whoever wrote it


def flipped(s: Any, u: Any) -> None:
    n = s.shape[0]
    for i in range(1, n):
        d = s[i - 1] * s[i]
        if d <= 0 or u[i] < np.exp(-d):
            s[i] = -s[i]
        if d < 1 and np.log(u[i]) < -1:
            s[i] += 1
        s[i] = np.power(u[i], s[i] / 8) if d > 2 else s[i - 1] - s[i]


def test_what_takes_long_is_computed_if_it_is_needed() -> None:
    rng = np.random.default_rng(3)
    s, u = rng.normal(size=300), rng.random(300)
    s[[5, 90]] = np.nan, np.inf
    expected = s.copy()
    with np.errstate(all="ignore"):
        flipped(expected, u)
    made = tw.jit(flipped)
    made(s, u)
    np.testing.assert_allclose(s, expected, rtol=1e-12)
