"""Loops that look for something, and sums under a test, run in vectors and keep each bit."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw

# ---- what people write ----


def largest(x, t):
    m = x[0]
    for i in range(x.shape[0]):
        if x[i] > m:
            m = x[i]
    return m


def largest_or_equal(x, t):
    m = x[0]
    for i in range(1, x.shape[0]):
        if m <= x[i]:
            m = x[i]
    return m


def smallest_by_choice(x, t):
    m = t
    for i in range(x.shape[0]):
        m = m if m < x[i] else x[i]  # what is not a number takes its place
    return m


def smallest_otherwise(x, t):
    m = t
    for i in range(x.shape[0]):
        m = x[i] if x[i] <= m else m
    return m


def largest_by_max(x, t):
    m = t
    for i in range(x.shape[0]):
        m = max(m, abs(x[i]))
    return m


def largest_of_term_first(x, t):
    m = t
    for i in range(x.shape[0]):
        m = max(x[i] * t, m)
    return m


def range_of(x, t):
    low = x[0]
    high = x[0]
    for i in range(x.shape[0]):
        if x[i] < low:
            low = x[i]
        if x[i] > high:
            high = x[i]
    return low, high


def largest_and_place(x, t):
    m = abs(x[0])
    at = 0
    for i in range(1, x.shape[0]):
        if not abs(x[i]) <= m:
            at = i
            m = abs(x[i])
    return m, at


def smallest_and_more(x, t):
    m = t
    at = -1
    twice = t
    for i in range(1, x.shape[0]):
        if x[i] < m:
            at = 3 * i + 1
            twice = x[i - 1] + t
            m = x[i]
    return m, at, twice


def last_below(x, t):
    at = -1
    for i in range(x.shape[0]):
        if x[i] < t:
            at = i
    return at


def last_two(x, t):
    at = -1
    value = t
    for i in range(2, x.shape[0]):
        if x[i] < t and x[i - 1] >= t:
            at = i
            value = x[i - 2]
    return at, value


def first_equal(x, t):
    for i in range(x.shape[0]):
        if x[i] == t:
            return i
    return -1


def first_by_break(x, t):
    at = -1
    value = t
    for i in range(1, x.shape[0]):
        if x[i] > t and x[i - 1] <= t:
            at = i
            value = x[i]
            break
    return at, value


def first_by_while(x, t):
    i = 0
    while i < x.shape[0] and x[i] != t:
        i += 1
    return i


def first_of_two_kinds(x, t):
    at = 0
    for i in range(x.shape[0]):
        at = i
        if x[i] == t:
            break
        if x[i] < -t:
            at = -i
            break
    return at


def found_and_marked(x, t):
    marks = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        if x[i] == t:
            marks[i] = 1.0
            break
    return marks


def sum_of_positive(x, t):
    s = t
    for i in range(x.shape[0]):
        if x[i] > 0:
            s += x[i]
    return s


def sums_of_both_signs(x, t):
    s = t
    r = t
    for i in range(x.shape[0]):
        if x[i] > t:
            s = x[i] * x[i] + s
            r -= x[i]
    return s, r


def sum_until_full(x, t):
    s = t
    for _i in range(x.shape[0]):
        if s < t + 5:
            s += 1
    return s


FOUND_BY = {
    largest: "keep_extremes",
    largest_or_equal: "keep_extremes",
    smallest_by_choice: "keep_extremes",
    smallest_otherwise: "keep_extremes",
    largest_by_max: "keep_extremes",
    largest_of_term_first: "keep_extremes",
    range_of: "keep_extremes",
    largest_and_place: "search_blocks",
    smallest_and_more: "search_blocks",
    last_below: "find_last",
    last_two: "find_last",
    first_equal: "find_first",
    first_by_break: "find_first",
    first_by_while: "find_first",
    first_of_two_kinds: "find_first",
    found_and_marked: "find_first",
    sum_of_positive: "add_chosen_terms",
    sums_of_both_signs: "add_chosen_terms",
    sum_until_full: "add_chosen_terms",
}
FUNCTIONS = sorted(FOUND_BY, key=lambda function: function.__name__)


@functools.cache
def kernel_of(function):
    return tw.jit(function)


def bits(result):
    """Of each result; what a sum makes of not-a-number may have either sign."""
    given = result if isinstance(result, tuple) else (result,)
    return [
        np.where(np.isnan(each), np.nan, each).tobytes()
        for each in (np.asarray(one, np.float64) for one in given)
    ]


# ---- tests ----


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_the_pass_finds_the_loop(function):
    x = np.random.default_rng(1).standard_normal(300)
    texts = [(each.name, str(each)) for each in kernel_of(function).inspect(x, 0.5).passes()]
    before = ""
    for name, text in texts:
        if name == FOUND_BY[function]:
            assert text != before
            return
        before = text
    raise AssertionError("the pass did not run")


@st.composite
def arrays(draw):
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    length = draw(st.one_of(st.integers(3, 70), st.integers(120, 300)))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["few", "many", "zeros", "rare"]))
    if kind == "few":
        x = random.choice([0.0, -0.0, 0.5, -0.5, 1.0, np.inf, -np.inf], length)
    elif kind == "zeros":
        x = random.choice([0.0, -0.0], length)
    elif kind == "rare":
        x = np.full(length, 0.25)
        x[random.integers(0, length, 2)] = random.choice([0.5, -1.0, 2.0], 2)
    else:
        x = random.standard_normal(length)
    if draw(st.booleans()):
        x[random.integers(0, length, draw(st.integers(1, 2)))] = np.nan
    return x.astype(dtype)


@settings(max_examples=150, deadline=None)
@given(
    x=arrays(),
    t=st.sampled_from([0.5, 0.0, -0.0, -0.5, np.nan, 1.0]),
    step=st.sampled_from([1, 1, 1, -1, 2]),
)
def test_each_bit_is_that_of_the_loop(x, t, step):
    x = x[::step]
    for function in FUNCTIONS:
        scalar = x.dtype.type(t)
        with np.errstate(all="ignore"):
            expected = function(x, scalar)
        given = kernel_of(function)(x, scalar)
        assert bits(given) == bits(expected), (function.__name__, given, expected)


def test_a_search_finds_the_first_of_many_hits():
    """In each lane, in whole vectors and behind them."""
    x = np.zeros(1 << 16)
    for at in (0, 1, 7, 8, 31, 32, 33, 65535):
        x[:] = 0
        x[at:] = 3.0
        assert kernel_of(first_equal)(x, 3.0) == at
