"""Returns of a function that has names such as `result` of its own, or inlines others that have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw


def _next(value: Any) -> Any:
    return value + 1


def inlined(x: np.ndarray) -> int:
    _next(x[0])
    if x[0] > 2:
        return 5
    return 0


def of_numpy(x: np.ndarray) -> int:
    m = np.argmax(x)
    if m > 0:
        return 5
    return 0


def counted(x: np.ndarray) -> int:
    result = 0
    for i in range(len(x)):
        if x[i] < 0:
            return -1
        result += i
    return result


def argument(result: np.ndarray) -> float:
    i = 0
    while i < len(result):
        if result[i] > 2:
            return result[i]
        i += 1
    return 0.5


def arrays(x: np.ndarray) -> np.ndarray:
    s = np.std(x)
    if s > 0.1:
        return x * 2
    return x * 3


def pairs(x: np.ndarray) -> tuple[float, float]:
    result_0 = x[0]
    result_1 = x[1]
    if x[0] > 2:
        return 5.0, result_1
    return 2.0, result_0 * 2


def chosen(x: np.ndarray) -> np.ndarray:
    result = np.max(x)
    if result > 3:
        return x[x > 1]
    return x[x < 2]


def pivots(x: np.ndarray) -> int:
    a = np.outer(x, x) + np.diag(x)
    for k in range(3):
        m = k + np.argmax(np.abs(a[k:, k]))
        if a[m, k] == 0:
            return k + 1
        for i in range(k + 1, 3):
            a[i, k] /= a[m, k] + 1
    return 0


@pytest.mark.parametrize(
    "function", [inlined, of_numpy, counted, argument, arrays, pairs, chosen, pivots]
)
def test_returns_are_the_caller_s(function: Any) -> None:
    compiled = tw.jit(function)
    for x in ([3.0, 2, 1], [1.0, 4, 2], [1.0, 2, -1], [1.0, 1, 1], [0.0, 0, 0]):
        given = np.array(x)
        found, wanted = compiled(given.copy()), function(given.copy())
        for one, other in zip(np.atleast_1d(found), np.atleast_1d(wanted), strict=True):
            np.testing.assert_allclose(one, other)
