"""Counters and `while` loops that count: what CPython computes, by loops without a scalar to wait for."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw


def counted(a, b):
    i = 0
    while i < len(a):
        b[i] = a[i] * 2
        i += 1


def packed(a, b):
    k = 0
    for i in range(a.shape[0]):
        for j in range(i + 1):
            b[k] = a[i, j]
            k += 1


def reversed_in_place(a):
    lo = 0
    hi = len(a) - 1
    while lo < hi:
        t = a[lo]
        a[lo] = a[hi]
        a[hi] = t
        lo += 1
        hi -= 1


def prefix_length(a):
    n = 0
    i = 0
    while i < len(a) and a[i] > 0.1:
        n += 1
        i += 1
    return n


def bisected(a):
    lo = 0
    hi = len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < 0.5:
            lo = mid + 1
        else:
            hi = mid
    return lo


def backwards(a, b):
    i = len(a) - 1
    while i >= 0:
        b[i] = a[i] + (b[i + 1] if i + 1 < len(a) else 0.0)
        i -= 1


def odd_sum(a):
    s = 0.0
    i = 0
    while True:
        if i >= len(a):
            break
        i += 1
        if i % 2 == 0:
            continue
        s += a[i - 1]
    return s


def from_behind(a, b):
    j = len(b)
    for i in range(len(a)):
        j -= 1
        b[j] = a[i]
    return j


def met(a, b):
    i = 3
    while i != len(a):
        b[i] = a[i]
        i += 1
        if i > 100:
            break
    return i


def empty_loops(a, b):
    k = 0
    for _ in range(len(a)):
        for _ in range(5, len(b)):
            k += 1
    return k


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (counted, ((9,), (9,))),
    (packed, ((5, 5), (15,))),
    (reversed_in_place, ((9,),)),
    (prefix_length, ((50,),)),
    (bisected, ((33,),)),
    (backwards, ((9,), (9,))),
    (odd_sum, ((11,),)),
    (from_behind, ((5,), (9,))),
    (met, ((9,), (9,))),
    (empty_loops, ((3,), (4,))),
    (empty_loops, ((3,), (8,))),
]


@pytest.mark.parametrize(("function", "shapes"), CASES)
def test_as_in_python(function: Callable[..., Any], shapes: tuple[Any, ...]) -> None:
    draw = np.random.default_rng(5)
    given = [np.sort(draw.random(shape), axis=None).reshape(shape) for shape in shapes]
    ours, theirs = copy.deepcopy(given), copy.deepcopy(given)
    expected = function(*theirs)
    assert tw.jit(function)(*ours) == expected
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("function", [counted, backwards, from_behind])
def test_no_scalar_is_left(function: Callable[..., Any]) -> None:
    made = tw.jit(function)
    made(np.ones(9), np.zeros(9))
    loops = str(made.loops)
    assert "while_limit" not in loops
    assert "[()] + 1" not in loops and "[()] - 1" not in loops
