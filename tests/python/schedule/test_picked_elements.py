"""Sums whose elements data pick: each term updates one element, in place of a search through all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw

P, N = tw.params("P N", "N >= 1")
p, r, z, b = tw.iters("p r z b")


def counts() -> tw.Function:
    x = tw.input("x", [P], tw.int32)
    one = tw.sum(np.int64(1), over={p: P}, where=x[p] == z)
    return tw.function("counts", outputs=[tw.computation("H", {z: 16}, one)])


def largest() -> tw.Function:
    """The element stands in front of another one, and the condition has a second part."""
    x, v = tw.input("x", [N, P], tw.int32), tw.input("v", [N, P], tw.int64)
    of = tw.max(v[b, p] * 2, over={p: P}, where=(z == x[b, p]) & (v[b, p] > 3))
    return tw.function("largest", outputs=[tw.computation("H", {z: 9, b: N}, of)])


@pytest.mark.parametrize("automatic", [False, True])
def test_each_term_updates_one_element(automatic: bool) -> None:
    f = counts()
    if automatic:
        f.auto_schedule(tuned=False)
    schedule = f.schedule if automatic else f.default_schedule
    assert 'reorder("p", "z")' in str(schedule)
    assert "vectorize" not in str(schedule)
    schedule.apply_to(f)
    assert "for z in range(0, 16):\n    if" not in f.loops
    for size in (1, 7, 1000):
        x = np.random.default_rng(size).integers(-3, 20, size).astype(np.int32)  # some are outside
        expected = [np.count_nonzero(x == value) for value in range(16)]
        np.testing.assert_array_equal(f(x), expected)


def test_what_is_picked_goes_inside_of_everything() -> None:
    f = largest()
    assert 'reorder("b", "p", "z")' in str(f.default_schedule)
    rng = np.random.default_rng(0)
    x, v = rng.integers(0, 9, (4, 90)).astype(np.int32), rng.integers(0, 50, (4, 90))
    np.testing.assert_array_equal(f(x, v), f.evaluate(x, v))


@pytest.mark.parametrize(
    "condition",
    [
        lambda x: x[p] > z,  # many elements for each term
        lambda x: x[p] + z == 3 * z,  # that is no element, but a question
        lambda x: x[p] == 2,
    ],
)
def test_other_conditions_pick_nothing(condition: Callable[[Any], Any]) -> None:
    x = tw.input("x", [P], tw.int32)
    h = tw.computation("H", {z: 16}, tw.sum(np.int64(1), over={p: P}, where=condition(x)))
    f = tw.function("f", outputs=[h])
    assert 'reorder("p", "z")' not in str(f.default_schedule)
    data = np.random.default_rng(3).integers(0, 20, 100).astype(np.int32)
    np.testing.assert_array_equal(f(data), f.evaluate(data))
