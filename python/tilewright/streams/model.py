"""A stream program as an unbounded program with a schedule: what periodic tiling looks at.

Each piece of a computation is a statement, and so is each stream that is pushed. Without a schedule that
is given, time comes first, at the rate of each stream and as late as it has to be, and then the other
dimensions in their order: the untiled schedule, whose period is as small as the rates allow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .. import _core
from ..base.checks import DECLARATION, a_list, an_integer
from ..base.errors import DeclarationError
from ..base.plurals import counted
from ..sets.values import Map, Set
from .periodic import UnboundedProgram
from .timing import Streamed, Timing
from .unbounded import names_of

__all__ = ["Delays", "modelled", "statement_name", "tiled_by"]


def statement_name(computation: str, piece: int) -> str:
    return f"{computation}__{piece}"


def _known(handle_set: _core.IntegerSet, sizes: Mapping[str, int]) -> _core.IntegerSet:
    found = handle_set.project_out_parameters(["forever"])
    return found.fix({name: sizes[name] for name in found.parameters() if name in sizes})


def _domains(stream: Streamed, sizes: Mapping[str, int]) -> list[Set]:
    """The domain of each piece; of an input the only one."""
    handle = stream.handle
    if not handle.pieces:
        return [Set._of(_known(handle.domain, sizes))]
    return [Set._of(_known(_core.IntegerSet(text), sizes)) for text, _ in handle.pieces]


def _reads(
    stream: Streamed, streams: Mapping[str, Streamed], sizes: Mapping[str, int]
) -> Map | None:
    found: Map | None = None
    for producer, pairs, _ in stream.reads:
        if producer.name in streams:
            known = pairs.project_out_parameters(["forever"])
            known = known.fix({p: sizes[p] for p in known.parameters() if p in sizes})
            # Of subscripts that data decide about, it is told that they are those of elements.
            one = Map._of(known).intersect_range(Set._of(_known(producer.domain, sizes)))
            found = one if found is None else found | one
    return found


class Delays:
    """When element n of a stream comes at the earliest, in a common unit: ``unit * n + delay``."""

    def __init__(self, timing: Timing) -> None:
        per_period = {name: int(rate * timing.unit) for name, rate in timing.rates.items()}
        common = math.lcm(*per_period.values())
        self.units = {name: common // each for name, each in per_period.items()}
        self.delays = dict.fromkeys(self.units, 0)
        for _ in range(len(self.units) + 1):
            for edge in timing.edges:
                least = self.delays[edge.producer] + math.floor(
                    self.units[edge.producer] * edge.high / edge.step
                )
                self.delays[edge.reader] = max(self.delays[edge.reader], least)
        self.order = self._order(timing)

    def _order(self, timing: Timing) -> dict[str, int]:
        """Places among what comes at one time: readers after what they read."""
        places = dict.fromkeys(self.units, 0)
        edges = [
            edge
            for edge in timing.edges
            if edge.reader != edge.producer
            and self.delays[edge.reader]
            == self.delays[edge.producer]
            + math.floor(self.units[edge.producer] * edge.high / edge.step)
        ]
        for _ in places:
            for edge in edges:
                places[edge.reader] = max(places[edge.reader], places[edge.producer] + 1)
        return {name: min(place, len(places)) for name, place in places.items()}


def default_schedule(
    streams: Mapping[str, Streamed], timing: Timing, sizes: Mapping[str, int]
) -> Map:
    """``{ u[n, i] -> [time, place, i] }`` of all streams; ``-i`` where an element needs those behind it."""
    delays = Delays(timing)
    most = max(stream.handle.rank for stream in streams.values())
    parts = []
    for name, stream in streams.items():
        names = names_of(stream.handle.rank)
        down = _downwards(name, stream, _reads(stream, streams, sizes))
        rest = [
            f"-{one}" if axis in down else one
            for axis, one in enumerate(names)
            if axis != stream.axis
        ]
        time = f"{delays.units[name]} * {names[stream.axis]} + {delays.delays[name]}"
        times = [time, str(delays.order[name]), *rest, *("0",) * (most - 1 - len(rest))]
        parts.append(f"{name}[{', '.join(names)}] -> [{', '.join(times)}]")
    return Map(f"{{ {'; '.join(parts)} }}")


def _downwards(name: str, stream: Streamed, reads: Map | None) -> set[int]:
    """The dimensions along which a stream's elements of one time need some behind them, and none before."""
    if reads is None:
        return set()
    names = names_of(stream.handle.rank)
    others = [f"{one}_" for one in names]
    at = f"{names[stream.axis]} = {others[stream.axis]}"
    own = Map(f"{{ {name}[{', '.join(names)}] -> {name}[{', '.join(others)}] : {at} }}")
    distances = (reads & own).deltas()

    def some(axis: int, sign: str) -> bool:
        wanted = Set(f"{{ {name}[{', '.join(names)}] : {names[axis]} {sign} 0 }}")
        return not (distances & wanted).is_empty

    return {axis for axis in range(len(names)) if some(axis, ">") and not some(axis, "<")}


def tiled_by(schedule: Map, tiles: Sequence[int], wavefront: bool = False) -> Map:
    """The schedule with the numbers of tiles in front: ``floor(t / size)`` of each dimension that has a
    size, as for data locality (0 leaves a dimension out); in front of them their sum, if tiles are to
    run in parallel along a wavefront."""
    sizes = [
        an_integer(size, "the size of a tile", DECLARATION, minimum=0)
        for size in a_list(tiles, "the sizes of tiles", DECLARATION, "integers")
    ]
    ((_, _, (_, (_, dimensions, _))), *_) = schedule._shapes()
    if len(sizes) > len(dimensions):
        raise DeclarationError(
            f"the schedule has {counted(len(dimensions), 'dimension')}, and {len(sizes)} sizes of tiles are given"
        )
    names = names_of(len(dimensions), "t")
    front = [f"floor({name} / {size})" for name, size in zip(names, sizes, strict=False) if size]
    if wavefront:
        front.insert(0, " + ".join(front) or "0")
    return schedule.then(f"{{ [{', '.join(names)}] -> [{', '.join([*front, *names])}] }}")


def modelled(
    streams: Mapping[str, Streamed],
    timing: Timing,
    sizes: Mapping[str, int],
    schedule: Map | None = None,
    tiles: Sequence[int] = (),
    wavefront: bool = False,
) -> UnboundedProgram:
    """The program with a schedule, the default one unless another one is given.

    Args:
        schedule: the time of each element of each stream, ``{ u[n, i] -> [n, n + i] }``.
        tiles, wavefront: see `tiled_by`.

    Raises:
        DeclarationError: the program is not admissible with this schedule.
    """
    given = default_schedule(streams, timing, sizes) if schedule is None else schedule
    named = {shape[2][0][0] for shape in given._shapes()}
    missing = [name for name in streams if name not in named]
    if missing:
        raise DeclarationError(
            f"the schedule gives {', '.join(missing)} no time: it needs one for each of "
            f"{', '.join(streams)}"
        )
    if given.parameters:
        known = {name: sizes[name] for name in given.parameters if name in sizes}
        given = given.fix(known)
    if tiles:
        given = tiled_by(given, tiles, wavefront)
    times: Map | None = None
    writes: Map | None = None
    reads = Map("{ }")
    for name, stream in streams.items():
        names = ", ".join(names_of(stream.handle.rank))
        own = _reads(stream, streams, sizes)
        for piece, domain in enumerate(_domains(stream, sizes)):
            if domain.is_empty:
                continue
            rename = Map(f"{{ {statement_name(name, piece)}[{names}] -> {name}[{names}] }}")
            rename = rename.intersect_range(domain)
            when = rename.then(given)
            times = when if times is None else times | when
            writes = rename if writes is None else writes | rename
            if own is not None:
                reads = reads | rename.then(own)
    assert times is not None and writes is not None
    return UnboundedProgram(times, writes, reads)
