"""`auto_schedule` of functions with loops that data end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw


def test_loops_that_data_end_stay_as_they_are() -> None:
    @tw.jit
    def halvings(values, counts):
        for i in range(len(values)):
            k = 0
            while values[i] > 1:
                values[i] = values[i] // 2
                k += 1
            counts[i] = k

    values, counts = np.array([1, 2, 9, 64]), np.zeros(4, np.int64)
    halvings(values.copy(), counts)
    before = str(halvings.inspect(values, counts).loops)
    halvings.auto_schedule()
    assert str(halvings.inspect(values, counts).loops) == before
    counts[:] = 0
    halvings(values, counts)
    assert counts.tolist() == [0, 1, 3, 6] and (values == 1).all()
    with pytest.raises(tw.ScheduleError, match="data decide how often its loops run"):
        halvings.tune(values, counts, budget="1s")


def sieve(n):
    is_prime = np.ones(n + 1, dtype=np.bool_)
    is_prime[0] = False
    is_prime[1] = False
    i = 2
    while i * i <= n:
        if is_prime[i]:
            j = i * i
            while j <= n:
                is_prime[j] = False
                j += i
        i += 1
    return is_prime


def power(a, x, y, tolerance):
    n = a.shape[0]
    found = 0.0
    change = 1.0
    while change > tolerance:
        for i in range(n):
            s = 0.0
            for j in range(n):
                s += a[i, j] * x[j]
            y[i] = s
        norm = 0.0
        for i in range(n):
            norm += y[i] * y[i]
        norm = np.sqrt(norm)
        for i in range(n):
            x[i] = y[i] / norm
        change = abs(norm - found)
        found = norm
    return found


def relaxed(a, b, tolerance):
    error = 2.0 * tolerance
    steps = 0
    while error > tolerance:
        error = 0.0
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                error = max(error, abs(b[i, j] - a[i, j]))
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = b[i, j]
        steps += 1
    return steps


def nested(a, limit):
    """A loop that data end within another one, with a row of sums in it."""
    total = 0.0
    rounds = 0
    while total < limit:
        k = 0
        row = 0.0
        while row < 1.0 and k < a.shape[0]:
            s = 0.0
            for j in range(a.shape[1]):
                s += a[k, j]
            row += s
            for j in range(a.shape[1]):
                a[k, j] = a[k, j] + 0.5
            k += 1
        total += row
        rounds += 1
    return rounds


R = np.random.default_rng(0)
M = R.random((20, 20))
CALLS: list[tuple[Any, tuple[Any, ...], str]] = [
    (sieve, (1000,), "vector(64)"),
    (power, (M + M.T, np.ones(20), np.zeros(20), 1e-3), "vector(8)"),
    (relaxed, (M, M.copy(), 1e-2), "vector(8)"),
    (nested, (0.1 * R.random((9, 13)), 30.0), "vector(8)"),
]


@pytest.mark.parametrize(
    ("function", "given", "loop"), CALLS, ids=lambda one: str(getattr(one, "__name__", ""))
)
def test_loops_beside_and_inside_of_them_become_vectors(
    function: Any, given: tuple[Any, ...], loop: str
) -> None:
    """All of which end when the data say so, not after as many iterations as there might be."""
    compiled = tw.jit(function)
    copies = [
        [each.copy() if isinstance(each, np.ndarray) else each for each in given] for _ in range(2)
    ]
    np.testing.assert_array_equal(compiled(*copies[0]), function(*copies[1]))
    for found, expected in zip(*copies, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    text = str(compiled.inspect(*given).loops)
    assert f"# {loop}" in text
    assert "while_limit," not in text  # no memory of so many elements
