"""`return` out of `while` loops whose bodies have loops: the loop over turns ends there."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw


def first_window(x: np.ndarray, m: int) -> int:
    i = 0
    while i + m <= len(x):
        c = 0
        for j in range(m):
            c += x[i + j]
        if c == 7:
            return i
        i += 1
    return -1


def until_zero(x: np.ndarray, m: int) -> int:
    i = 0
    while x[i] != 0:
        j = i
        while x[j] != 0:
            if x[j] == m:
                return 10 * i + j
            j += 1
        i += 1
    return -1


def endless(x: np.ndarray, m: int) -> int:
    i = 0
    while True:
        s = 0
        for j in range(i + 1):
            s += x[j]
            if s == m + 9:
                return -j
        if s > 8 * m:
            return i
        i += 1
        if i == len(x):
            return 99


@pytest.mark.parametrize("function", [first_window, until_zero, endless])
def test_it_ends(function: object) -> None:
    compiled = tw.jit(function)  # type: ignore[call-overload]
    made = np.random.default_rng(2)
    for n in (2, 3, 8, 21):
        for m in (1, 2, 3, 7):
            x = np.append(made.integers(1, 8, n), 0)
            assert compiled(x, m) == function(x, m)  # type: ignore[operator]
