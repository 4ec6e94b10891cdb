"""Sums in parallel loops: the values, whatever the number of threads, and what is no sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw


def total(x):
    s = 0.0
    for i in tw.prange(len(x)):
        s += x[i] * x[i]
    return s


def several(x, a, b):
    s, p, m, low, d = 0, 1, 0, 100, 5
    for i in tw.prange(a, b):
        t = x[i] * 2
        s += t
        s += 1
        p *= 1 + x[i] // 8
        m = max(t, m)
        low = min(x[i], low)
        d -= t
    return s, p, m, low, d


def rows(x, out):
    s, m, count = 0.0, -1.0, 0
    for i in tw.prange(x.shape[0]):
        t = 0.0
        for j in range(x.shape[1]):
            t += x[i, j]
            if x[i, j] > 0.5:
                s = s + x[i, j]
                count += 1
            m = max(m, x[i, j])
        out[i] = t
    return s, m, count


def extremes(x):
    low, high, found = x[0], x[0], False
    for i in tw.prange(1, len(x)):
        low = np.minimum(x[i], low)
        high = np.maximum(high, x[i])
        found = found | (x[i] > 0.99)
    return low, high, found


def same(given: Any, expected: Any) -> bool:
    return np.allclose(given, expected, rtol=1e-13, atol=0)


@pytest.mark.parametrize("threads", [1, 3])
def test_sums(threads: int) -> None:
    random = np.random.default_rng(5)
    for size in (1, 64, 65, 300):
        x, k = random.random(size), random.integers(0, 9, size)
        assert same(functions[total](x, threads=threads), total(x))
        expected = several(k, size // 3, size)
        assert tuple(functions[several](k, size // 3, size, threads=threads)) == expected
        matrix = random.random((size, 3))
        mine, theirs = np.zeros(size), np.zeros(size)
        assert same(functions[rows](matrix, mine, threads=threads), rows(matrix, theirs))
        assert mine.tolist() == theirs.tolist()
        assert same(functions[extremes](x, threads=threads), extremes(x))
    assert functions[several](np.ones(3, np.int64), 2, 2)[0] == 0


functions = {each: tw.jit(each) for each in (total, several, rows, extremes)}


def test_the_order_does_not_depend_on_threads() -> None:
    x = np.random.default_rng(5).random(5000)
    function = tw.jit(total)
    assert len({function(x, threads=threads) for threads in (1, 2, 3, 4)}) == 1


def prefix(x):
    s = 0.0
    for i in tw.prange(len(x)):
        s += x[i]
        x[i] = s


def last(x):
    s = 0.0
    for i in tw.prange(len(x)):
        s = x[i] - s
    return s


@pytest.mark.parametrize("function", [prefix, last])
def test_what_is_no_sum_is_refused(function: Any) -> None:
    with pytest.raises(tw.IllegalScheduleError):
        tw.jit(function)(np.ones(5))


def test_an_array_that_a_parallel_loop_fills_for_others() -> None:
    @tw.jit
    def filled(x):  # type: ignore[no-untyped-def]
        y = np.empty(len(x))
        for i in tw.prange(len(x)):
            y[i] = x[i] + 1
        return y[0] + y[len(x) - 1]

    assert filled(np.arange(9.0)) == 10
