"""From when on, and after how many ticks, a stream program does the same again.

Where no value depends on the time itself, the code of a period needs no time: phases are enough
(Leben and Tzanetakis, ACM TACO 16(3), 2019, Theorem 5.3). So times do not grow for ever, and a call is
like an earlier one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from .. import _core
from ..base.errors import AnalysisLimitError, DeclarationError
from ..sets.values import Map, Set
from .timing import Streamed, Timing
from .unbounded import greatest_missing, names_of, rank_of, repetition

__all__ = ["Repeating", "repeating"]

_MOST = 2**30
"""A longer period is as good as none."""

_PHASES = 16
"""With more phases than these, pushes are told their times."""


@dataclass(frozen=True)
class Repeating:
    """Ticks t and t + ticks do the same if t is at least `onset`.

    Attributes:
        period: after so many ticks shapes are the same.
        timeless: no value depends on the time itself.
    """

    onset: int
    ticks: int
    period: int
    timeless: bool

    @property
    def is_told(self) -> bool:
        """Whether pushes of one kind are told their times: these go on, or have very many phases."""
        return not self.timeless or self.ticks > _PHASES * self.period

    def time(self, ticks: int) -> int:
        """The first number of ticks that is like this one, times included."""
        if ticks < self.onset or not self.timeless:
            return ticks
        return self.onset + (ticks - self.onset) % self.ticks

    def kind(self, ticks: int) -> int:
        """The first number of ticks at which a push is of the same kind."""
        if ticks < self.onset:
            return ticks
        return self.onset + (ticks - self.onset) % (self.period if self.is_told else self.ticks)


def _of_stream(
    stream: Streamed, streams: Mapping[str, Streamed], timing: Timing, sizes: Mapping[str, int]
) -> tuple[int, int] | None:
    """(from which element on, after how many elements); None where values depend on the time."""
    handle, axis = stream.handle, stream.axis
    whole = int(timing.rates[handle.name] * timing.period)
    onset, steps = 0, 1
    seen: set[str] = set()
    for name, instances in _core.computed_parts(handle):
        if name == handle.iterators[axis]:
            return None
        known = instances.project_out_parameters(["forever"])
        known = known.fix({p: sizes[p] for p in known.parameters() if p in sizes})
        text = known.text()
        if text in seen:
            continue
        seen.add(text)
        points = Set._of(known)
        if points.is_empty:
            continue
        begins, step = _of_part(points, handle.name, axis, whole)
        onset, steps = max(onset, begins), math.lcm(steps, step)
    for producer, pairs, is_exact in _core.read_relations(handle, of_terms=True):
        if not is_exact or producer.rank == 0:
            continue  # a time in it is a value
        related = pairs.project_out_parameters(["forever"])
        related = related.fix({p: sizes[p] for p in related.parameters() if p in sizes})
        if related.text() in seen or related.is_empty():
            continue
        seen.add(related.text())
        read = streams.get(producer.name)
        ratio = timing.rates[producer.name] / timing.rates[handle.name] if read else Fraction(0)
        moves = [ratio if read and d == read.axis else Fraction(0) for d in range(producer.rank)]
        begins, step = _of_read(Map._of(related), handle.name, axis, whole, moves)
        onset, steps = max(onset, begins), math.lcm(steps, step)
    return onset, steps


def _of_part(points: Set, name: str, axis: int, whole: int) -> tuple[int, int]:
    names = names_of(rank_of(points))
    own = f"{name}[{', '.join(names)}]"
    unnamed = Map(f"{{ {own} -> [{', '.join(names)}] }}")(points)
    times = Map(f"{{ {own} -> [{names[axis]}] }}").intersect_domain(points)
    unit = tuple(int(d == axis) for d in range(len(names)))
    return _first_repetition(unnamed, times, name, unit, whole, [])


def _of_read(
    pairs: Map, name: str, axis: int, whole: int, moves: Sequence[Fraction]
) -> tuple[int, int]:
    """Which elements an array is read at: what is read has to move on as time does (of a finite array it
    stays where it is), so that ``h[n % 3]`` and ``x[n - n % 3]`` repeat after three elements."""
    ((_, _, ((_, before, _), (producer, after, _))),) = pairs._shapes()
    names, others = names_of(len(before)), names_of(len(after), "e")
    own, element = f"{name}[{', '.join(names)}]", f"[{', '.join(others)}]"
    values = pairs.then(Map(f"{{ {producer}{element} -> {element} }}"))
    flat = Map(f"{{ [{own} -> {element}] -> [{', '.join([*names, *others])}] }}")(values.wrap())
    unit = tuple(int(d == axis) for d in range(len(names)))
    return _first_repetition(flat, values, name, unit, whole, moves)


def _first_repetition(
    points: Set,
    values: Map,
    name: str,
    unit: Sequence[int],
    whole: int,
    moves: Sequence[Fraction],
) -> tuple[int, int]:
    """From when on, and after how many elements, points are the same again.

    Args:
        points: of instances, and behind them what belongs to each.
        values: of what belongs to each instance, where that is not known to be the same after a
            period: a function of the instance.
        unit: an instance later.
        whole: elements in a period.
        moves: how much further what belongs to an instance is for an instance later.
    """
    direction = [*unit, *(0 for _ in moves)]
    for step in (1, whole, 0):  # the likely ones, which are quickly seen to be right
        steps = step or repetition(values, name, unit.index(1))[0]
        if any((steps * move).denominator > 1 for move in moves):
            continue
        ray = [*(steps * each for each in unit), *(int(steps * move) for move in moves)]
        try:
            last = greatest_missing(points, ray, direction)
        except DeclarationError:
            continue
        return (0 if last is None else last + 1), steps
    raise DeclarationError(f"what {name} reads does not move on as time does")


def repeating(
    streams: Mapping[str, Streamed],
    timing: Timing,
    sizes: Mapping[str, int],
    rows: Mapping[str, int],
) -> Repeating:
    """Times have to be told where values depend on them, or it is not known that they do not.

    Args:
        rows: of buffers that are indexed modulo their rows: after a period the index is the same.
    """
    begins = dict.fromkeys(timing.rates, 0)
    told = Repeating(_settled(timing, begins), timing.period, timing.period, timeless=False)
    ticks = timing.period
    for name, stream in streams.items():
        if name in timing.inputs:
            continue
        try:
            whole = int(timing.rates[name] * timing.period)
            found = _of_stream(stream, streams, timing, sizes)
        except (DeclarationError, AnalysisLimitError):
            return told
        if found is None:
            return told
        begins[name] = found[0]
        steps = math.lcm(found[1], rows.get(name, 1))
        ticks = math.lcm(ticks, timing.period * (steps // math.gcd(steps, whole)))
    if ticks > _MOST or max(begins.values()) > _MOST:
        return told
    return Repeating(_settled(timing, begins), ticks, timing.period, timeless=True)


def _settled(timing: Timing, begins: Mapping[str, int]) -> int:
    """The first multiple of the period at which there are so many elements of each stream."""
    base = -(-timing.onset // timing.period) * timing.period
    periods, there = 0, timing.counts(base)
    for name, rate in timing.rates.items():
        short = begins[name] - there[name]
        periods = max(periods, math.ceil(short / (rate * timing.period)))
    return base + periods * timing.period
