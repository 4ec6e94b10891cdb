"""How many elements of each stream can be computed once so many of the first input are there.

The counts are the greatest ones that fit each other: of each stream those elements whose time has begun, if what they
read is there. After a beginning they grow by the same numbers in each period.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from ..base.errors import DeclarationError
from .needs import Needs, evenly_from

__all__ = ["SHOWN", "Edge", "Relations", "counts_at", "period_of", "with_needs"]

SHOWN = 1000
"""The time of the elements that refusals name."""

_LONGEST = 4096
"""A table of what there is after each number of ticks is no longer."""


@dataclass(frozen=True)
class Edge:
    """``low <= step * t - gain * n <= high`` where reader[n] reads producer[t].

    Attributes:
        needs: from which element of the reader on which one of the producer is needed, if these bounds do not say it.
        begin: the first element of the reader that reads any.
    """

    reader: str
    producer: str
    gain: int
    step: int
    low: int
    high: int
    needs: Needs | None = None
    begin: int = 0

    def limit(self, count: int) -> int:
        """How many elements of the reader need only so many of the producer."""
        if self.needs is not None:
            return self.needs.limit(count)
        return (self.step * count - self.high - 1) // self.gain + 1


class Relations(Protocol):
    """What is known of who reads what at which times."""

    def refusal(self, name: str, message: str) -> DeclarationError:
        """What is to be raised, at the line of a stream."""

    def is_always(self, edge: Edge) -> bool:
        """Whether each late element of the reader reads any of the producer."""

    def farthest(self, edge: Edge, time: int) -> tuple[int, int]:
        """The first element of the reader from this time on that reads as far ahead as any does, and what it reads."""

    def needs(self, edge: Edge) -> Needs | None:
        """What the bounds of the edge do not say."""


def counts_at(
    tick: int,
    edges: tuple[Edge, ...],
    rates: dict[str, Fraction],
    inputs: tuple[str, ...],
    relations: Relations,
) -> dict[str, int]:
    """How many elements can be computed: those whose time has begun, if what they read is there.

    Args:
        relations: asked for refusals alone.

    Raises:
        DeclarationError: no element can ever be computed, of some stream.
    """
    counts = {
        name: rate.numerator * tick // rate.denominator
        if name in inputs
        else -(-rate.numerator * tick // rate.denominator)
        for name, rate in rates.items()
    }
    limits: dict[str, Edge] = {}
    for _ in range(2 * len(rates) + 2):
        changed = ""
        for edge in edges:
            most = edge.limit(counts[edge.producer])
            if edge.reader not in inputs and most < counts[edge.reader]:
                counts[edge.reader] = most
                limits[edge.reader] = edge
                changed = edge.reader
        if not changed:
            return counts
    circle, members = _circle(changed, limits, relations)
    if not all(map(relations.is_always, members)):
        raise relations.refusal(
            changed,
            f"elements of {changed} need later ones ({circle}), and a stream is computed from its first element "
            "on: give blocks that run backwards a dimension of their own, u[m, i] over {m: tw.forever, i: 4}, and "
            f"let {changed}[n] be u[n // 4, n % 4]",
        )
    raise relations.refusal(
        changed,
        f"{changed} waits for elements that wait for it: each of its elements needs later ones "
        f"through a circle, so that none is ever computed; for example, {circle}",
    )


def _circle(name: str, limits: Mapping[str, Edge], relations: Relations) -> tuple[str, list[Edge]]:
    """Who needs whom, from an element to a later one of the same stream, as a text and as edges."""
    for _ in limits:  # into the circle, if the stream is not in it
        name = limits[name].producer if name in limits else name
    start, time, texts, members = name, SHOWN, [], []
    for _ in limits:
        if name not in limits:
            break
        edge = limits[name]
        members.append(edge)
        reader, time = relations.farthest(edge, time)
        texts.append(f"{name}[{reader}] needs {edge.producer}[{time}]")
        name = edge.producer
        if name == start:
            break
    return ", and ".join(texts), members


def period_of(edges: Sequence[Edge], rates: Mapping[str, Fraction]) -> int:
    """After so many ticks there are whole numbers of elements more, and of the periods of what they need."""
    units = [rate.denominator for rate in rates.values()]
    units += [
        (one.needs.period / rates[one.reader]).numerator for one in edges if one.needs is not None
    ]
    return math.lcm(*units)


def with_needs(
    edges: tuple[Edge, ...],
    rates: dict[str, Fraction],
    inputs: tuple[str, ...],
    relations: Relations,
) -> tuple[tuple[Edge, ...], int]:
    """The edges with what their bounds do not say, and after how many ticks the beginning is over. Among elements that
    need each other bounds are all that is known."""
    before = _needed_by(edges)
    at_first = counts_at(0, edges, rates, inputs, relations)
    plain = {(one.reader, one.producer): one for one in edges}
    for one in edges:
        if one.reader in before[one.producer]:
            continue
        needs = relations.needs(one)
        if needs is None and one.begin > 0 and at_first[one.producer] < 0:
            needs = evenly_from(one.begin, one.gain, one.step, one.high)
        if needs is not None and at_first[one.producer] < 0:
            needs = needs.from_first
        if needs is not None:
            found = tuple(replace(each, needs=needs) if each is one else each for each in edges)
            if period_of(found, rates) <= _LONGEST:
                edges = found
    onset = _onset(edges, rates, inputs, relations)
    if onset is not None:
        return edges, onset
    without = [
        one if one.needs is None or one.needs.is_endless else plain[one.reader, one.producer]
        for one in edges
    ]
    return tuple(without), 0


def _needed_by(edges: Sequence[Edge]) -> dict[str, set[str]]:
    """All that the elements of each stream need, directly or not."""
    found = {name: {name} for one in edges for name in (one.reader, one.producer)}
    changed = True
    while changed:
        changed = False
        for one in edges:
            more = found[one.producer] - found[one.reader]
            changed = changed or bool(more)
            found[one.reader] |= more
    return found


def _onset(
    edges: Sequence[Edge],
    rates: dict[str, Fraction],
    inputs: tuple[str, ...],
    relations: Relations,
) -> int | None:
    """The first tick from which on counts grow by periods alone; None if that is too late."""
    waiting = [one for one in edges if one.needs is not None and not one.needs.is_endless]
    if not waiting:
        return 0

    def is_over(tick: int) -> bool:
        counts = counts_at(tick, tuple(edges), rates, inputs, relations)
        return all(counts[one.producer] >= one.needs.settled for one in waiting if one.needs)

    end = 1
    while not is_over(end):
        end *= 2
        if end > _LONGEST:
            return None
    begin = end // 2
    while end - begin > 1:
        middle = (begin + end) // 2
        begin, end = (begin, middle) if is_over(middle) else (middle, end)
    return end
