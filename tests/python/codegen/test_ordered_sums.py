"""Ordered sums round each product before they add it, wherever the sum stands (docs/math.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

TERMS = 8
n, r, q = tw.iters("n r q")
X = tw.input("X", [400], tw.float64)
SUM = tw.sum(X[n + r] * X[n + r], over={r: TERMS}, ordered=True)
OTHER = tw.sum(X[n + r] * X[n + r + 1], over={r: TERMS}, ordered=True)


def summed(x: np.ndarray, distance: int) -> np.ndarray:
    found = np.zeros(390)
    for k in range(TERMS):
        found = found + x[k : k + 390] * x[k + distance : k + distance + 390]
    return found


PLACES: dict[str, tuple[Any, Any]] = {
    "alone": (SUM, lambda x: summed(x, 0)),
    "in a choice": (tw.select(n >= 3, SUM, 0.0), lambda x: np.r_[0, 0, 0, summed(x, 0)[3:]]),
    "in a piece": ([(n >= 3, SUM), (n < 3, 0.0)], lambda x: np.r_[0, 0, 0, summed(x, 0)[3:]]),
    "among others": (
        tw.maximum(2.0 * SUM, OTHER) - 1.0,
        lambda x: np.maximum(2.0 * summed(x, 0), summed(x, 1)) - 1.0,
    ),
    "in another sum": (
        tw.sum(tw.sum(X[q] * X[q + r], over={r: 5}, ordered=True), over={q: n}, ordered=True),
        None,
    ),
}


@pytest.mark.parametrize("default", [True, False])
@pytest.mark.parametrize("place", PLACES)
def test_the_bits_are_those_of_two_roundings(place: str, default: bool) -> None:
    value, expected = PLACES[place]
    y = tw.computation("y", {n: 390}, value)
    f = tw.function("f", outputs=[y], default_schedule=default)
    x = np.random.default_rng(1).standard_normal(400)
    np.testing.assert_array_equal(f(x), f.evaluate(x) if expected is None else expected(x))
