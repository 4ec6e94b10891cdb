"""From which element on a stream needs which element of another one, where that does not grow evenly.

``y[n] = x[8 * (n // 8) + 7 - n % 8]`` needs seven elements ahead at the beginning of each block and none behind it;
what is mirrored at the beginning, ``x[3 - n]`` for n < 3 and then ``x[n - 3]``, needs some ahead only there. What an
element and all before it need is a function that grows in steps, the same ones after each period but for the
beginning: `Needs` has these steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from .. import _core
from ..base.errors import AnalysisLimitError, DeclarationError
from ..sets.values import Map, Set
from .unbounded import divisors_of, extreme, greatest_missing

__all__ = ["Needs", "evenly_from", "needs_of"]

_MOST = 4096
"""Beginnings and periods of more elements are not gone through."""

Step = tuple[int, int]


@dataclass(frozen=True)
class Needs:
    """Element n of the reader, and all behind it, need element t of the producer, for each step (n, t). Both grow.

    Attributes:
        first: steps in the beginning.
        again: steps of a period, which come again `period` later, and then need elements `moves` later.
        is_endless: whether they do so before the first element, too: there is no beginning.
    """

    first: tuple[Step, ...]
    again: tuple[Step, ...]
    period: int
    moves: int
    is_endless: bool

    def limit(self, count: int) -> int:
        """How many elements of the reader need only the first `count` of the producer."""
        for place, needed in self.first:
            if needed >= count:
                return place
        periods = -((self.again[-1][1] - count) // self.moves)
        if not self.is_endless:
            periods = max(0, periods)
        shift = periods * self.moves
        place = next(place for place, needed in self.again if needed + shift >= count)
        return place + periods * self.period

    @property
    def from_first(self) -> Needs:
        """The same, but for elements of the producer before its first one: nobody needs them."""
        is_early = self.again[-1][0] - self.period >= 0
        return replace(self, is_endless=False) if is_early else self

    @property
    def settled(self) -> int:
        """With so many elements of the producer, the limit is one of those that come again."""
        return max(needed for _, needed in (*self.first, *self.again)) + 1


def needs_of(pairs: _core.IntegerMap, gain: int, step: int, high: int) -> Needs | None:
    """The needs of ``reader[n] -> producer[t]``.

    Args:
        pairs: ``[n] -> [t]``, of which ``step * t - gain * n <= high``.

    Returns:
        None if element n, for all n, needs element ``(gain * n + high) // step``, or nothing is gained by knowing
        more, or too much would have to be known.
    """
    evenly = _core.IntegerMap(f"{{ [n] -> [t] : t = floor(({gain} * n + {high}) / {step}) }}")
    missing = _core.IntegerSet("{ [n] : n >= 0 }").subtract(pairs.intersect(evenly).domain())
    if missing.is_empty():
        return None
    try:
        last = extreme(Set._of(missing), largest=True)
        if last is not None:
            if gain * last + high < 0:
                return None  # what is before the first element of the producer is there
            begin, moves, period = last + 1, gain, step
        else:
            begin, moves, period = _repeated(pairs, gain, step)
        if max(begin, period) > _MOST:
            return None
        needed = _needed(pairs, begin + period)
    except (AnalysisLimitError, DeclarationError):
        return None
    return _stepped(needed, begin, period, moves)


def evenly_from(begin: int, gain: int, step: int, high: int) -> Needs | None:
    """The needs of a reader whose elements before `begin` need nothing, and element n from there on
    ``(gain * n + high) // step``."""
    if step > _MOST:
        return None
    needed = {n: (gain * n + high) // step for n in range(begin, begin + step)}
    found = _stepped(needed, begin, step, gain)
    return None if found is None else found.from_first


def _repeated(pairs: _core.IntegerMap, gain: int, step: int) -> tuple[int, int, int]:
    """From when on, by how much more, and after how many elements what is read is the same again."""
    points = Map("{ [[n] -> [t]] -> [n, t] }")(Map._of(pairs).wrap())
    divisor, product = divisors_of(pairs.text())
    for likely in sorted({math.lcm(step, divisor), step * product}):
        if likely > _MOST:
            break
        moves = likely // step * gain
        try:
            last = greatest_missing(points, (likely, moves), (1, 0))
        except DeclarationError:
            continue
        return (0 if last is None else max(0, last + 1)), moves, likely
    raise DeclarationError("what is read is not the same again after a period that is known")


def _needed(pairs: _core.IntegerMap, end: int) -> dict[int, int]:
    """The last element that each of the first `end` ones reads, if it reads any."""
    known = pairs.intersect_domain(_core.IntegerSet(f"{{ [n] : 0 <= n < {end} }}"))
    flat = known.lexmax().wrap().apply(_core.IntegerMap("{ [[n] -> [t]] -> [n, t] }"))
    return {place: last for _, points in flat.points(end) for place, last in points}


def _stepped(needed: dict[int, int], begin: int, period: int, moves: int) -> Needs | None:
    """The steps of what is needed, known up to the end of the first period from `begin` on."""

    def last_read(place: int) -> int | None:
        periods = max(0, (place - begin) // period)
        found = needed.get(place - periods * period)
        return None if found is None else found + periods * moves

    def highest(first: int, end: int) -> int:
        return max(
            (one for n in range(first, end) if (one := last_read(n)) is not None), default=-1
        )

    # Where a whole period needs as much as the beginning does, all is as it will be.
    end = begin + period
    most, last = highest(0, end), highest(begin, end)
    if last < 0:
        return None
    end += -((last - most) // moves) * period
    if end > 4 * _MOST:
        return None
    steps: list[Step] = []
    most = -1
    for place in range(end + period):
        found = last_read(place)
        if found is not None and found > most:
            most = found
            steps.append((place, found))
    first = [one for one in steps if one[0] < end]
    again = [one for one in steps if one[0] >= end]

    def earlier() -> Step:
        return again[-1][0] - period, again[-1][1] - moves

    while first and first[-1] == earlier():
        again = [first.pop(), *again[:-1]]
    is_endless = not first and min(earlier()) < 0
    parts = _equal_parts(again, period, moves)
    again, period, moves = again[: len(again) // parts], period // parts, moves // parts
    return Needs(tuple(first), tuple(again), period, moves, is_endless)


def _equal_parts(steps: list[Step], period: int, moves: int) -> int:
    """Of how many parts that are the same a period is made."""
    for parts in range(math.gcd(len(steps), period, moves), 1, -1):
        size = len(steps) // parts
        if len(steps) % parts or period % parts or moves % parts:
            continue
        apart = period // parts, moves // parts
        if all(
            (after[0] - before[0], after[1] - before[1]) == apart
            for before, after in zip(steps, steps[size:], strict=False)
        ):
            return parts
    return 1
