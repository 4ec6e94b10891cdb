"""Conditions of all kinds, drawn at random, in the places where a condition may stand, against NumPy's masks."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tilewright as tw

i, j = tw.iters("i j")
N, M = tw.params("N M")
SIZES = ((9, 11), (1, 1), (6, 3), (0, 2))


class Condition:
    """The same condition for tilewright and, on grids of i and j, for NumPy."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def draw(self, given: dict[str, Any], depth: int = 3) -> Any:
        """A condition on i, j, N and M as they are given: the drawing takes the same numbers each time."""
        rng = self._rng
        kind = rng.random()
        if depth > 0 and kind < 0.1:
            name, step = rng.choice("ij"), rng.choice((2, 3, 4))
            few = rng.randint(1, step + 1)
            return (given[name] % step == rng.randint(0, 1)) | (given[name] < few)
        if depth > 0 and kind < 0.45:
            one, other = self.draw(given, depth - 1), self.draw(given, depth - 1)
            return one | other if rng.random() < 0.6 else one & other
        if depth > 0 and kind < 0.55:
            return ~self.draw(given, depth - 1)
        if kind < 0.75:
            step = rng.choice((2, 2, 3, 4, 6))
            return (self.term(given) + rng.randint(0, 2)) % step == rng.randint(0, step - 1)
        if kind < 0.85:
            return self.term(given) // rng.choice((2, 3, 4)) <= rng.randint(0, 2)
        left, right = (
            self.term(given),
            self.term(given) if rng.random() < 0.3 else rng.randint(0, 6),
        )
        return rng.choice(
            (left <= right, left < right, left == right, left >= right, left != right)
        )

    def term(self, given: dict[str, Any]) -> Any:
        rng = self._rng
        one = given[rng.choice("iijj")]
        if rng.random() < 0.25:
            return one + rng.choice((-1, 1)) * given[rng.choice("ijNM")]
        return rng.choice((1, 1, 1, 2)) * one


@pytest.mark.parametrize("seed", [*range(12), 31, 32])
def test_conditions(seed: int) -> None:
    a = tw.input("A", [N, M], tw.int64)

    def condition() -> Any:
        return Condition(random.Random(seed)).draw({"i": i, "j": j, "N": N, "M": M})

    f = tw.function(
        "f",
        outputs=[
            tw.computation("total", {}, tw.sum(a[i, j], over={i: N, j: M}, where=condition())),
            tw.computation(
                "rows", {i: N}, tw.max(a[i, j], over={j: M}, where=condition(), initial=-1)
            ),
            tw.computation("columns", {j: M}, tw.sum(a[i, j], over={i: N}, where=condition())),
            tw.computation("chosen", {i: N, j: M}, tw.select(condition(), a[i, j], -a[i, j])),
            tw.computation(
                "pieces", {i: N, j: M}, [(condition(), 2 * a[i, j]), (~condition(), 3 * a[i, j])]
            ),
        ],
    )
    for n, m in SIZES:
        rows, columns = np.indices((n, m))
        given = {"i": rows, "j": columns, "N": np.full_like(rows, n), "M": np.full_like(rows, m)}
        mask = Condition(random.Random(seed)).draw(given)
        values = np.arange(1, n * m + 1).reshape(n, m)
        expected = (
            values[mask].sum(),
            np.where(mask, values, -1).max(axis=1, initial=-1),
            np.where(mask, values, 0).sum(axis=0),
            np.where(mask, values, -values),
            np.where(mask, 2, 3) * values,
        )
        for result, wanted in zip(f(values, N=n, M=m), expected, strict=True):
            np.testing.assert_array_equal(result, wanted)
