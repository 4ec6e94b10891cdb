"""Loops that data end, inside of tests that fail: they end there, in a loop of one turn, too."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tilewright as tw


def halved(a: np.ndarray) -> int:
    c = 0
    for j in range(len(a)):
        if a[j] > 10:
            x = a[j]
            while x > 0:
                x -= 2
                c += 1
    return c


def of_matrix(a: np.ndarray) -> int:
    c = 0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > 10:
                x = a[i, j]
                while x > 0:
                    x -= 2
                    c += 1
    return c


def skipped(a: np.ndarray) -> int:
    c = 0
    for j in range(len(a)):
        if a[j] < 0:
            continue
        x = a[j]
        while x > 0:
            x -= 3
            c += 1
    return c


def roots(a: np.ndarray) -> None:
    for j in range(len(a)):
        if a[j] < 0:
            a[j] = 0.0
            continue
        y = a[j]
        while abs(y * y - a[j]) > 1e-9:
            y = 0.5 * (y + a[j] / y)
        a[j] = y


def broken(a: np.ndarray) -> int:
    c = 0
    for j in range(len(a)):
        if a[j] > 10:
            for k in range(a[j]):
                if k * k > a[j]:
                    break
                c += 1
    return c


def left_in_two_ways(a: np.ndarray) -> int:
    c = 0
    for j in range(len(a)):
        if a[j] > 10:
            x = a[j]
            while x > 0:
                if x == 7:
                    c += 100
                    break
                x -= 2
                c += 1
    return c


def shell_sorted(a: np.ndarray) -> None:
    gap = len(a) // 2
    while gap > 0:
        for i in range(gap, len(a)):
            t = a[i]
            j = i
            while j >= gap and a[j - gap] > t:
                a[j] = a[j - gap]
                j -= gap
            a[j] = t
        gap //= 2


def within_while(a: np.ndarray, g: int) -> None:
    while g > 0:
        for i in range(1):
            j = 3
            while j >= g:
                j -= g
            a[j] = 5 + i
        g //= 2


CASES: list[tuple[Any, tuple[Any, ...]]] = [
    *((halved, (np.array(a),)) for a in ([3], [13], [3, 14])),
    *((of_matrix, (np.array(a),)) for a in ([[3]], [[3, 20, 5]], [[3], [20], [5]])),
    *((skipped, (np.array(a),)) for a in ([-3], [4], [4, -2])),
    *((roots, (np.array(a),)) for a in ([-3.0], [3.0], [3.0, -2.0, 4.0])),
    *((broken, (np.array(a),)) for a in ([4], [40], [40, 3, 50])),
    *((left_in_two_ways, (np.array(a),)) for a in ([4], [17], [16], [3, 17])),
    *((shell_sorted, (np.array(a, float),)) for a in ([], [1], [3, 1, 2], [5, 4, 3, 2, 1, 0])),
    *((within_while, (np.zeros(3, int), g)) for g in (0, 2)),
]


@pytest.mark.parametrize("at", range(len(CASES)))
def test_the_loops_end_as_those_of_python(at: int) -> None:
    function, arguments = CASES[at]
    given, expected = copy.deepcopy(arguments), copy.deepcopy(arguments)
    result = function(*expected)
    assert tw.jit(function)(*given) == result
    for ours, theirs in zip(given, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
