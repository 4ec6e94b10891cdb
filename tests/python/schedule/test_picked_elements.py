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


@pytest.mark.parametrize("automatic", [False, True])
def test_picked_rows_are_updated_in_vectors(automatic: bool) -> None:
    """The messages along the edges of a graph: what is read is gathered, too."""
    V, E, D = tw.params("V E D")
    v, e, d = tw.iters("v e d")
    x = tw.input("x", [V, D], tw.float32)
    source, to = tw.input("source", [E], tw.int32), tw.input("to", [E], tw.int32)
    sums = tw.sum(x[source[e], d], over={e: E}, where=to[e] == v)
    f = tw.function("messages", outputs=[tw.computation("y", {v: V, d: D}, sums)])
    if automatic:
        f.auto_schedule(tuned=False)
    assert "for d1 in range" in str(f.loops) and "# vector(" in str(f.loops)
    assert str(f.loops).index("for e in") < str(f.loops).rindex("for d0 in")
    rng = np.random.default_rng(0)
    for vertices, edges, width in [(1, 0, 1), (3, 5, 2), (20, 300, 33)]:
        values = rng.integers(-9, 9, (vertices, width)).astype("f")
        begin, end = rng.integers(0, vertices, (2, edges)).astype(np.int32)
        expected = np.zeros_like(values)
        np.add.at(expected, end, values[begin])
        np.testing.assert_array_equal(f(x=values, source=begin, to=end), expected)


@pytest.mark.parametrize("automatic", [False, True])
@pytest.mark.parametrize("stops", [False, True])
def test_a_recurrence_goes_over_its_edges_once(automatic: bool, stops: bool) -> None:
    """PageRank: the sum reads what it is a part of."""
    V, E, T = tw.params("V E T", "V >= 1 and T >= 1")
    t, v, e = tw.iters("t v e")
    source, to = tw.input("source", [E], tw.int32), tw.input("to", [E], tw.int32)
    first = tw.input("first", [V], tw.int64)
    rank = tw.computation("rank", {t: T, v: V}, dtype=tw.int64)
    sums = tw.sum(rank[t - 1, source[e]], over={e: E}, where=to[e] == v)
    rank.define(t == 0, first[v])
    rank.define(t > 0, (1 + 3 * sums) % 1009)
    done = tw.computation("done", {t: (1, T)}, rank[t, 0] == 4)
    last = tw.computation("last", {v: V}, rank[T - 1, v])
    until: dict[str, Any] = {"until": {T: done}, "limit": 7} if stops else {}
    f = tw.function("pages", outputs=[last], inputs=[source, to, first], **until)
    if automatic:
        f.auto_schedule(tuned=False)
    assert "reorder(" in str(f.schedule if automatic else f.default_schedule)
    assert str(f.loops).count("for v in range(0, V):\n      for e in") == 0
    rng = np.random.default_rng(1)
    for vertices, edges in [(1, 0), (1, 2), (9, 40), (300, 900)]:
        begin, end = rng.integers(0, vertices, (2, edges)).astype(np.int32)
        now = values = rng.integers(0, 100, vertices)
        for _ in range(6):
            sum_of_edges = np.zeros_like(now)
            np.add.at(sum_of_edges, end, now[begin])
            now = (1 + 3 * sum_of_edges) % 1009
            if stops and now[0] == 4:
                break
        steps = {} if stops else {"T": 7}
        np.testing.assert_array_equal(f(source=begin, to=end, first=values, **steps), now)
