"""Arrays that change their names: `u, v = v, u` in loops moves nothing, and callers see the right memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw


def jacobi(T, u, v):
    for t in range(T):
        v[1:-1] = 0.5 * (u[:-2] + u[2:]) + t
        u, v = v, u
    return u


def wave(T, a, b, c):
    for _ in range(1, T + 1):
        for i in range(1, len(b) - 1):
            c[i] = 2 * b[i] - a[i] + 0.1 * (b[i - 1] - 2 * b[i] + b[i + 1])
        a, b, c = b, c, a
    b[0] = 7
    return b


def by_hand(T, u):
    v = np.zeros_like(u)
    for _ in range(T):
        v[1:-1] = u[:-2] + u[2:]
        w = u
        u = v
        v = w
    return u + v


def nested(T, n, u, v):
    for s in range(n):
        for _ in range(T):
            v[1:] = u[:-1] + s
            u, v = v, u
        u[0] = s
    return v


def backwards(T, u, v):
    for t in range(T, 0, -1):
        v[0] = u[1] * t
        u, v = v, u


def straight(T, u, v):
    u, v = v, u
    for _ in range(T):
        u[:] = u + v
    return u


@pytest.mark.parametrize(
    ("function", "arrays"), [(jacobi, 2), (wave, 3), (by_hand, 1), (backwards, 2), (straight, 2)]
)
def test_names_as_python_has_them(function: Any, arrays: int) -> None:
    translated = tw.jit(function)
    random = np.random.default_rng(3)
    for count in (2, 3, 0, 1, 7, 4):
        given = [random.random(8) for _ in range(arrays)]
        mine = [each.copy() for each in given]
        expected, found = function(count, *given), translated(count, *mine)
        for one, other in zip((*given, expected), (*mine, found), strict=True):
            assert (one is None and other is None) or one.tolist() == other.tolist()
        # A result that is an argument's memory is that argument.
        assert [expected is each for each in given] == [found is each for each in mine]
    assert len(translated.signatures) == 1


def test_one_kernel_for_each_remainder() -> None:
    translated = tw.jit(jacobi)
    for count in range(6):
        translated(count, np.ones(5), np.ones(5))
    assert sum(map(len, translated._kernels.values())) == 2
    loops = str(translated.inspect(4, np.ones(5), np.ones(5)).loops)
    assert loops.count("for ") == 3  # time, and each array once: nothing is copied


def test_a_nest_of_loops_that_names_arrays_anew() -> None:
    translated = tw.jit(nested)
    for count, times in ((3, 2), (1, 0)):
        given = np.arange(5.0), np.ones(5)
        mine = np.arange(5.0), np.ones(5)
        expected, found = nested(count, times, *given), translated(count, times, *mine)
        for one, other in zip((*given, expected), (*mine, found), strict=True):
            assert one.tolist() == other.tolist()


def by_data(T, u, v):
    for t in range(T):
        if u[t] > 0:
            u, v = v, u
        v[t] = 1


def left(T, u, v):
    for t in range(T):
        if u[t] > 0:
            break
        u, v = v, u


def endless(T, u, v):
    while u[0] < T:
        v[0] = u[0] + 1
        u, v = v, u


def ever_new(T, u, v):
    for _ in range(T):
        w = v + 1
        u = v
        v = w
    return u


@pytest.mark.parametrize("function", [by_data, left, endless, ever_new])
def test_what_data_name_is_refused(function: Any) -> None:
    with pytest.raises(tw.TranslationError, match="names different arrays at different times"):
        tw.jit(function)(3, np.zeros(5), np.zeros(5))


def test_negative_counts_are_refused() -> None:
    with pytest.raises(tw.ArgumentError):
        tw.jit(jacobi)(-1, np.zeros(5), np.zeros(5))
