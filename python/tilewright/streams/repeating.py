"""From when on, and after how many ticks, a stream program does the same again.

Where no value depends on the time itself, the code of a period needs no time: phases are enough
(Leben and Tzanetakis, ACM TACO 16(3), 2019, Theorem 5.3). So times do not grow for ever, and a call is
like an earlier one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .. import _core
from ..base.errors import AnalysisLimitError, DeclarationError
from ..sets.values import Map, Set
from .timing import Streamed, Timing
from .unbounded import greatest_missing, names_of, repetition

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


def _of_stream(stream: Streamed, sizes: Mapping[str, int], whole: int) -> tuple[int, int] | None:
    """(from which element on, after how many elements); None where values depend on the time."""
    handle, axis = stream.handle, stream.axis
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
    return onset, steps


def _of_part(points: Set, name: str, axis: int, whole: int) -> tuple[int, int]:
    ((_, dimensions, _),) = points._shapes()
    rank = len(dimensions)
    names = names_of(rank)
    own = f"{name}[{', '.join(names)}]"
    unnamed = Map(f"{{ {own} -> [{', '.join(names)}] }}")(points)
    unit = tuple(int(d == axis) for d in range(rank))
    for step in (1, whole):  # the likely ones, which are quickly seen to be right
        try:
            last = greatest_missing(unnamed, tuple(step * each for each in unit), unit)
        except DeclarationError:
            continue
        return (0 if last is None else last + 1), step
    times = Map(f"{{ {own} -> [{names[axis]}] }}").intersect_domain(points)
    step, _ = repetition(times, name, axis)
    last = greatest_missing(unnamed, tuple(step * each for each in unit), unit)
    return (0 if last is None else last + 1), step


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
            found = _of_stream(stream, sizes, whole)
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
    onset = 0
    for name, rate in timing.rates.items():
        short = (begins[name] - timing.counts(0)[name]) / rate
        onset = max(onset, math.ceil(short / timing.period))
    return onset * timing.period
