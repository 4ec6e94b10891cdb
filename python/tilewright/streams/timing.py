"""When elements of streams can be computed, and for how long they are needed.

Rates are taken from the rays of the dependences, as in Leben and Tzanetakis (ACM TACO 16(3), 2019,
sections 3 and 4): where ``y[n]`` reads ``x[t]``, t grows by `gain` when n grows by `step`, and
``step t - gain n`` stays between two bounds. From these bounds follow how many elements of each
stream there are when k elements of the first input are known, and how many earlier ones are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NoReturn

from .. import _core
from ..base.errors import AnalysisLimitError, DeclarationError
from .counting import SHOWN, Edge, counts_at, period_of, with_needs
from .needs import Needs, needs_of
from .refusals import refusal, unbounded_times

__all__ = ["Edge", "Reads", "Streamed", "Timing", "streamed", "timing_of"]

_FAR = 2**40
"""Later than anything that a bounded dependence reaches."""

_STEPS = math.lcm(*range(1, 33))
"""Rates are seen over so many elements."""

_HIGHEST = 20_000
"""Of a higher rate, what is read after so many steps is no number of 64 bits."""

_DENOMINATORS = 2**16
"""Rates have denominators up to this one: two such fractions differ by much more than what rounding
to whole elements changes over `_STEPS`."""

Reads = tuple[_core.Computation, _core.IntegerMap, bool]


@dataclass(frozen=True)
class Streamed:
    """An array over unbounded time.

    Attributes:
        axis: which of its dimensions is time.
    """

    handle: _core.Computation
    axis: int

    @property
    def name(self) -> str:
        return self.handle.name

    @cached_property
    def reads(self) -> Sequence[Reads]:
        """What its elements read: (array, relation, whether it is exact)."""
        return _core.read_relations(self.handle)


def _example(points: _core.IntegerSet) -> str:
    found = points.sample()
    if found is None:
        return ""
    (name, _, _), coordinates, _ = found
    return f"; for example, there is {_element(name, coordinates)}"


def _everywhere(handle: _core.Computation, values: Mapping[str, int]) -> _core.IntegerSet:
    """The domain at all times, at some values of the other parameters."""
    domain = handle.domain.project_out_parameters(["forever"])
    return domain.fix({name: values[name] for name in domain.parameters() if name in values})


def _coordinates(rank: int) -> str:
    return ", ".join(f"i{d}" for d in range(rank))


def streamed(handle: _core.Computation, values: Mapping[str, int]) -> Streamed | None:
    """The array as a stream; None where it has finitely many elements.

    Raises:
        DeclarationError: it has two infinite directions.
    """
    if "forever" not in handle.domain.parameters():
        return None
    points = _everywhere(handle, values)
    names = _coordinates(handle.rank)
    endless = [
        axis
        for axis in range(handle.rank)
        if not points.intersect(
            _core.IntegerSet(f"{{ {handle.name}[{names}] : i{axis} >= {_FAR} }}")
        ).is_empty()
    ]
    if not endless:
        return None
    if len(endless) > 1:
        both = " and ".join(handle.iterators[axis] for axis in endless)
        late = " and ".join(f"i{axis} >= {SHOWN}" for axis in endless)
        far = points.intersect(_core.IntegerSet(f"{{ {handle.name}[{names}] : {late} }}"))
        raise refusal(
            f"{handle.name} has {len(endless)} infinite directions, {both}: a stream has one, and "
            f"bounds for the others{_example(far)}",
            handle,
        )
    return Streamed(handle, endless[0])


def _extreme(points: _core.IntegerSet, largest: bool) -> int | None:
    """The largest or smallest number of a set; None where there is none."""
    beyond = ">= " if largest else "<= -"
    if not points.intersect(_core.IntegerSet(f"{{ [t] : t {beyond}{_FAR * _STEPS} }}")).is_empty():
        return None
    found = (points.lexmax() if largest else points.lexmin()).sample()
    return None if found is None else found[1][0]


def _element(name: str, coordinates: Sequence[object]) -> str:
    return f"{name}[{', '.join(map(str, coordinates))}]"


class _Reads:
    """All pairs of times at which one array reads another one.

    Args:
        by_data: whether data decide about them, so that there may be fewer.
    """

    def __init__(
        self, reader: Streamed, producer: Streamed, pairs: _core.IntegerMap, by_data: bool
    ) -> None:
        self.reader, self.producer, self.by_data = reader, producer, by_data
        self._seen = Fraction(0)
        self._apart = Fraction(0)  # by how much the rate is another one than what was seen
        own, other = _coordinates(reader.handle.rank), _coordinates(producer.handle.rank)
        self.elements = pairs
        to_time = f"{{ {reader.name}[{own}] -> [i{reader.axis}] }}"
        at_time = f"{{ {producer.name}[{other}] -> [i{producer.axis}] }}"
        self.pairs = pairs.apply_domain(_core.IntegerMap(to_time)).apply_range(
            _core.IntegerMap(at_time)
        )

    def _read_at(self, time: int) -> int | None:
        """The first time that is read at a time."""
        at = _core.IntegerSet(f"{{ [n] : n = {time} }}")
        return _extreme(self.pairs.intersect_domain(at).range(), largest=False)

    def _reading_from(self, time: int) -> int:
        """The first time from this one on at which anything is read."""
        late = _core.IntegerSet(f"{{ [n] : n >= {time} }}")
        found = self.pairs.domain().intersect(late).lexmin().sample()
        return time if found is None else found[1][0]

    def rate(self) -> Fraction | None:
        """By how much what is read moves on when the reader moves on by one; None where it reads
        only in the beginning."""
        late = _core.IntegerSet(f"{{ [n] : n >= {_STEPS} }}")
        if self.pairs.intersect_domain(late).is_empty():
            return None
        self._require_finite()
        begin, end = self._reading_from(2 * _STEPS), self._reading_from(3 * _STEPS)
        try:
            first, second = self._read_at(begin), self._read_at(end)
        except AnalysisLimitError:
            raise refusal(
                f"{self.reader.name} reads more than {_HIGHEST} elements of {self.producer.name} for each of "
                "its own, which is the highest rate that is known: reach it in two steps, by way of a "
                "computation between them",
                self.reader.handle,
            ) from None
        if first is None or second is None:
            self._refuse("reads elements that have no first one")
        if second == first:
            self._refuse(
                "needs the same elements for ever (a sum from the beginning is a recurrence: "
                "y[n] = y[n - 1] + x[n])"
            )
        seen = Fraction(second - first, end - begin)
        rate = seen.limit_denominator(_DENOMINATORS)
        self._seen, self._apart = seen, abs(seen - rate) * (end - begin)
        return rate

    def _require_finite(self) -> None:
        at = _core.IntegerSet(f"{{ [n] : n = {SHOWN} }}")
        read = self.pairs.intersect_domain(at).range()
        far = _core.IntegerSet(f"{{ [t] : t >= {_FAR} or t <= -{_FAR} }}")
        if not read.intersect(far).is_empty():
            if self.by_data:
                raise refusal(unbounded_times(self.reader, self.producer), self.reader.handle)
            raise refusal(
                f"{self.reader.name} reads unboundedly many elements of {self.producer.name}: for "
                f"example, its elements at {SHOWN} need some later than any time, so that they are "
                "never computed",
                self.reader.handle,
            )

    def require_others(self) -> None:
        """Refuses an element that may need itself: which elements are read before, data decide."""
        own = _coordinates(self.reader.handle.rank)
        name = self.reader.name
        if not self.by_data or name != self.producer.name:
            return
        itself = _core.IntegerMap(f"{{ {name}[{own}] -> {name}[{own}] }}")
        found = self.elements.intersect(itself)
        late = _core.IntegerSet(f"{{ {name}[{own}] : i{self.reader.axis} >= {SHOWN} }}")
        found = found.intersect_domain(late)
        if not found.is_empty():
            sample = found.domain().lexmin().sample()
            shown = _element(name, sample[1]) if sample else name
            raise refusal(
                f"{name} waits for elements that wait for it: its elements may need themselves, as data "
                f"decide; for example, {shown} may read {shown}. Say that it reads earlier ones only, such "
                f"as {name}[n - tw.clamp(delay, 1, 200)]",
                self.reader.handle,
            )

    def edge(self, rate: Fraction) -> Edge:
        gain, step = rate.numerator, rate.denominator
        moved = _core.IntegerMap(f"{{ [[n] -> [t]] -> [{step} * t - {gain} * n] }}")
        offsets = self.pairs.wrap().apply(moved)
        low, high = _extreme(offsets, largest=False), _extreme(offsets, largest=True)
        if (low is None or high is None) and self._apart > 2:
            raise refusal(
                f"{self.reader.name} reads {self.producer.name} at a rate of about {float(self._seen):.6g}, "
                f"which is no fraction with a denominator up to {_DENOMINATORS}: reach this rate in two steps, "
                "by way of a computation between them",
                self.reader.handle,
            )
        if low is None or high is None:
            self._refuse(
                f"reads at distances that grow without bound, since there is {rate} of "
                f"{self.producer.name} for each element of {self.reader.name}"
            )
        reader = self.reader.name
        return Edge(reader, self.producer.name, gain, step, low, high, begin=self._reading_from(0))

    def needs(self, edge: Edge) -> Needs | None:
        """What the bounds of the edge do not say."""
        return needs_of(self.pairs, edge.gain, edge.step, edge.high)

    def farthest(self, edge: Edge, time: int) -> tuple[int, int]:
        """The first time from this one on at which it reads as far ahead as ever, and what it reads then."""
        far = f"{edge.step} * t - {edge.gain} * n = {edge.high} and n >= {time}"
        found = self.pairs.intersect(_core.IntegerMap(f"{{ [n] -> [t] : {far} }}"))
        reader = found.domain().lexmin().sample()
        at = time if reader is None else reader[1][0]
        return at, (edge.gain * at + edge.high) // edge.step

    def is_always(self) -> bool:
        """Whether each late element of the reader reads any."""
        late = _core.IntegerSet(f"{{ [n] : n >= {SHOWN} }}")
        return late.subtract(self.pairs.domain()).is_empty()

    def example(self) -> str:
        """What an element reads, to be put behind a sentence."""
        read = self._read_of(SHOWN)
        return f"; for example, {read}" if read else ""

    def _read_of(self, time: int) -> str:
        """An element at a time, and the first and the last one that it reads."""
        own = _coordinates(self.reader.handle.rank)
        at = _core.IntegerSet(f"{{ {self.reader.name}[{own}] : i{self.reader.axis} = {time} }}")
        pairs = self.elements.intersect_domain(at)
        reader = pairs.domain().lexmin().sample()
        if reader is None:
            return ""
        name, coordinates = self.reader.name, reader[1]
        one = _core.IntegerSet(f"{{ {_element(name, coordinates)} }}")
        read = pairs.intersect_domain(one).range()
        ends = [each.sample() for each in (read.lexmin(), read.lexmax())]
        shown = dict.fromkeys(
            _element(self.producer.name, end[1]) for end in ends if end is not None
        )
        return f"{_element(name, coordinates)} reads {' and '.join(shown)}"

    def _refuse(self, why: str) -> NoReturn:
        shown = [read for time in (SHOWN, 2 * SHOWN) if (read := self._read_of(time))]
        example = f"; for example, {', and '.join(shown)}" if shown else ""
        raise refusal(
            f"{self.reader.name} reads {self.producer.name}, of which no finite memory keeps enough: "
            f"it {why}{example}",
            self.reader.handle,
        )


class _Relations:
    """See `counting.Relations`."""

    def __init__(self, pairs: Sequence[_Reads]) -> None:
        self._pairs = {(one.reader.name, one.producer.name): one for one in pairs}

    def refusal(self, name: str, message: str) -> DeclarationError:
        own = next(one for one in self._pairs.values() if one.reader.name == name)
        return refusal(message, own.reader.handle)

    def _of(self, edge: Edge) -> _Reads:
        return self._pairs[edge.reader, edge.producer]

    def is_always(self, edge: Edge) -> bool:
        return self._of(edge).is_always()

    def farthest(self, edge: Edge, time: int) -> tuple[int, int]:
        return self._of(edge).farthest(edge, time)

    def needs(self, edge: Edge) -> Needs | None:
        return self._of(edge).needs(edge)


@dataclass
class Timing:
    """What a stream program does in time. Ticks are elements of its first input.

    Attributes:
        rates: elements for each tick.
        period: after so many ticks everything repeats.
        kept: how many earlier elements of each stream a step reads.
        ahead: so many elements behind the last one of each stream are read at most, by all that the bounds of edges
            say. None is: `Edge.needs` knows better.
        onset: so many ticks are only like themselves.
    """

    edges: tuple[Edge, ...]
    rates: dict[str, Fraction]
    inputs: tuple[str, ...]
    period: int
    kept: dict[str, int]
    ahead: dict[str, int]
    _table: list[dict[str, int]]
    onset: int = 0

    def counts(self, ticks: int) -> dict[str, int]:
        """How many elements of each stream are known after so many ticks; negative ones are
        still to be waited for."""
        periods = max(0, (ticks - self.onset) // self.period)
        rest = ticks - periods * self.period
        more = self._in_a_period
        return {name: count + more[name] * periods for name, count in self._table[rest].items()}

    @property
    def unit(self) -> int:
        """After so many ticks each stream has a whole number of elements more."""
        return math.lcm(*(rate.denominator for rate in self.rates.values()))

    @cached_property
    def _in_a_period(self) -> dict[str, int]:
        """How many elements of each stream a period has."""
        return {name: int(rate * self.period) for name, rate in self.rates.items()}

    def latency(self, name: str, collected: int = 1) -> int:
        """By how many elements a stream is behind the input, at most, if whole multiples of so many
        ticks run at once."""
        rate = self.rates[name]
        end = self.onset + math.lcm(self.period, collected)
        begins = range(0, end, collected)
        return max(
            math.floor(rate * (begin + collected - 1)) - self.counts(begin)[name]
            for begin in begins
        )

    def multiple(self, name: str, other: str) -> tuple[int, int] | None:
        """(factor, offset) if its count is always factor * the other's count + offset; None otherwise."""
        factor = self.rates[name] / self.rates[other]
        if factor.denominator > 1:
            return None
        times = int(factor)
        found = {counts[name] - times * counts[other] for counts in self._table}
        return None if len(found) > 1 else (times, found.pop())

    def bounds(self, edge: Edge) -> tuple[int, int]:
        """Between which numbers step * count(producer) - gain * count(reader) is."""
        found = _apart(self._table, edge)
        return min(found), max(found)


def _rates(
    names: list[str],
    found: dict[tuple[str, str], tuple[Fraction, _Reads]],
    inputs: tuple[str, ...],
    synchronise: bool,
) -> dict[str, Fraction]:
    """Elements for each one of the first input. Parts that nothing connects with it run at the rate of
    their own first input, one for one, if they are to be synchronised."""
    rates = _connected_rates(found, inputs[0])
    while alone := [name for name in names if name not in rates]:
        if not synchronise:
            raise DeclarationError(
                f"nothing connects {', '.join(alone)} with the stream {inputs[0]}, so nothing says at "
                "which rate they run; make functions of their own, or pass synchronise=True, and an "
                f"element of each part goes with one of {inputs[0]}"
            )
        first = next((name for name in inputs if name in alone), alone[0])
        rates.update(_connected_rates(found, first))
    return rates


def _connected_rates(
    found: dict[tuple[str, str], tuple[Fraction, _Reads]], reference: str
) -> dict[str, Fraction]:
    rates = {reference: Fraction(1)}
    waiting = [reference]
    while waiting:
        name = waiting.pop()
        for (reader, producer), (rate, reads) in found.items():
            if name not in (reader, producer):
                continue
            other = producer if name == reader else reader
            own = rates[name] * rate if name == reader else rates[name] / rate
            if other not in rates:
                rates[other] = own
                waiting.append(other)
            elif rates[other] != own:
                raise refusal(
                    f"the rates of {reader} and {producer} are not consistent: by what {reader} reads, "
                    f"{producer} has {rate} elements for each of {reader}, and by other ways "
                    f"{rates[producer] / rates[reader]}{reads.example()}",
                    reads.reader.handle,
                )
    return rates


def _kept(table: list[dict[str, int]], edges: tuple[Edge, ...], name: str) -> int:
    """How many of its elements later steps read; of most streams that is none."""
    kept = 0
    for edge in edges:
        if edge.producer == name:
            for counts in table:
                first = -((-edge.gain * counts[edge.reader] - edge.low) // edge.step)
                kept = max(kept, counts[name] - first)
    return kept


def _apart(table: list[dict[str, int]], edge: Edge) -> list[int]:
    return [edge.step * counts[edge.producer] - edge.gain * counts[edge.reader] for counts in table]


def _ahead(table: list[dict[str, int]], edges: tuple[Edge, ...], name: str) -> int:
    """How many elements that are not there yet steps would read by the bounds of edges."""
    ahead = 0
    for edge in edges:
        if edge.producer == name and edge.needs is not None:
            behind = edge.high - edge.gain - min(_apart(table, edge))
            ahead = max(ahead, behind // edge.step + 1)
    return ahead


def _pairs(streams: Mapping[str, Streamed], values: Mapping[str, int]) -> Iterator[_Reads]:
    for reader in streams.values():
        found: dict[str, _core.IntegerMap] = {}
        by_data: set[str] = set()
        for producer, pairs, is_exact in reader.reads:
            if producer.name in streams:
                if not is_exact:
                    by_data.add(producer.name)
                known = pairs.project_out_parameters(["forever"])
                known = known.fix({p: values[p] for p in known.parameters() if p in values})
                before = found.get(producer.name)
                found[producer.name] = known if before is None else before.unite(known)
        for name, pairs in found.items():
            if not pairs.is_empty():  # at these sizes
                yield _Reads(reader, streams[name], pairs, name in by_data)


def timing_of(
    streams: Mapping[str, Streamed],
    inputs: tuple[str, ...],
    values: Mapping[str, int],
    synchronise: bool = False,
) -> Timing:
    """The timing of a program whose finite sizes are known.

    Raises:
        DeclarationError: no finite memory suffices, rates are not consistent, nothing is ever
            computed, or parts of the program have nothing to do with each other.
    """
    pairs = list(_pairs(streams, values))
    for one in pairs:
        one.require_others()
    seen = {(one.reader.name, one.producer.name): (one.rate(), one) for one in pairs}
    known = {key: (rate, one) for key, (rate, one) in seen.items() if rate is not None}
    rates = _rates(list(streams), known, inputs, synchronise)
    edges = tuple(one.edge(rates[one.producer.name] / rates[one.reader.name]) for one in pairs)
    relations = _Relations(pairs)
    edges, onset = with_needs(edges, rates, inputs, relations)
    period = period_of(edges, rates)
    table = [counts_at(tick, edges, rates, inputs, relations) for tick in range(onset + period)]
    kept = {name: _kept(table, edges, name) for name in streams}
    ahead = {name: _ahead(table, edges, name) for name in streams}
    return Timing(edges, rates, inputs, period, kept, ahead, table, onset)
