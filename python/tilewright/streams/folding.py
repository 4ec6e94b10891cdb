"""Recurrences over time whose rows are changed where they are: buffers folded modulo a few rows.

New elements of a stream are written behind earlier ones, so that a chunk of a wave equation touches memory for as
many grids as it has elements. Its rows are kept in a buffer of few rows instead, ``u[n, i]`` in ``u_ring[n % e, i]``,
which stays in the caches and which the kernel reads and overwrites
(Leben and Tzanetakis, ACM TACO 16(3), 2019, section 5.2). Whoever reads such rows runs in the same loop over
time. How few rows suffice is asked of the library's legality.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ..base.errors import IllegalScheduleError, ScheduleError
from ..functions.functions import Function
from ..schedule.schedules import Schedule
from ..sets.values import Map
from .model import Delays
from .timing import Timing

__all__ = [
    "Order",
    "folded_streams",
    "members_of",
    "plain_schedule",
    "rescheduled",
    "scheduled_with_rings",
]

_LANES = 8

_VECTOR = 64
"""Bytes of a vector."""

_LONG = 8
"""Vectors of a row that need no thought."""

_LEAST = 128
"""Rows of fewer elements are not folded: writing one behind the other costs nothing."""


def _needs(name: str, timing: Timing) -> set[str]:
    """All that elements need, directly or not."""
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        reader = waiting.pop()
        for edge in timing.edges:
            if edge.reader == reader and edge.producer not in reached:
                reached.add(edge.producer)
                waiting.append(edge.producer)
    return reached


def _reads_itself(name: str, timing: Timing) -> bool:
    return name in _needs(name, timing)


def _need_each_other(first: str, second: str, timing: Timing) -> bool:
    return first in _needs(second, timing) and second in _needs(first, timing)


def folded_streams(
    timing: Timing, boxes: Mapping[str, Sequence[tuple[int, int]]], outputs: Sequence[str]
) -> tuple[str, ...]:
    """The streams that are kept in buffers of few rows: recurrences whose rows are long, which are not
    handed out, and which are read at their own rate only."""
    found = []
    for name, box in boxes.items():
        row = math.prod(high - low for low, high in box)
        if name in timing.inputs or name in outputs or not timing.kept[name] or row < _LEAST:
            continue
        if timing.ahead[name]:
            continue
        readers = [edge.reader for edge in timing.edges if edge.producer == name]
        same = all(timing.rates[reader] == timing.rates[name] for reader in readers)
        if same and timing.rates[name].denominator == 1 and _reads_itself(name, timing):
            found.append(name)
    return tuple(found)


def members_of(timing: Timing, rings: Collection[str]) -> list[str]:
    """The streams in buffers and their readers, in an order in which they can be computed."""
    readers = {edge.reader for edge in timing.edges if edge.producer in rings}
    delays = Delays(timing)
    return sorted(
        {*rings, *readers}, key=lambda name: (delays.delays[name], delays.order[name], name)
    )


def plain_schedule(
    ring: str,
    others: Collection[str],
    box: Sequence[tuple[int, int]],
    iterators: Sequence[str],
    nbytes: int,
) -> Schedule | None:
    """What the default schedule would be of long rows that one stream makes and nobody else but its readers, without
    asking for it, which takes longer than all else; None if that is not known.

    Args:
        others: the computed streams besides the ring and its readers.
        iterators: of the ring, without that over time.
    """
    lanes = _VECTOR // nbytes
    if others or not box or box[-1][1] - box[-1][0] < _LONG * lanes:
        return None
    last = iterators[-1]
    loop = iterators[0] if len(iterators) > 1 else f"{last}0"
    return Schedule([(ring, "vectorize", [last, lanes]), (ring, "parallelize", [loop])])


def scheduled_with_rings(
    kernel: Function,
    timing: Timing,
    rings: Mapping[str, str],
    times: Mapping[str, str],
    threads: int,
    own: Schedule,
) -> str | None:
    """Gives the kernel its schedule: all who read rows in the loop over time of those who make them,
    later if they read ahead.

    Args:
        rings: for each stream that is folded, its access relation.
        times: the iterator over time of each stream.
        own: what would be their schedule if they shared nothing.

    Returns:
        None if that is legal; else the stream whose buffer has too few rows, or "" if there is
        another reason.
    """
    members = members_of(timing, rings)
    moved = [name for name in members if name not in rings or not _reads_itself(name, timing)]
    delays = Delays(timing)
    unit = delays.units[members[0]]
    try:
        kernel.set_schedule(Schedule([one for one in own.commands if one[0] not in moved]))
        with kernel.transaction():
            for before, name in itertools.pairwise(members):
                if _need_each_other(before, name, timing):
                    continue  # they share a loop already
                late = (delays.delays[name] - delays.delays[members[0]]) // unit
                if late:
                    kernel[name].shift(times[name], late)
                kernel[name].after(before, times[before])
        kernel.when_work(0, threads=threads)
    except (ScheduleError, IllegalScheduleError):
        return ""
    for name, access in rings.items():
        try:
            kernel[name].set_access(access)
        except IllegalScheduleError:
            return name
        except ScheduleError:
            return ""
    return None


@dataclass(frozen=True)
class Order:
    """When rows are computed.

    Attributes:
        times: ``{ u[n, i] -> [n, n + i] }`` of each stream.
        tiles: sizes of tiles along these dimensions; 0 leaves one out.
        wavefront: whether the sum of the numbers of tiles comes in front of them.
    """

    times: Map
    tiles: tuple[int, ...] = ()
    wavefront: bool = False

    def of(self, name: str, iterators: Sequence[str]) -> list[str] | None:
        """The dimensions of the tiled times of a stream; None if its times are not affine."""
        own = f"{name}[{', '.join(iterators)}]"
        found = re.fullmatch(
            r"\{ [^\[]*\[.*?\] -> \[\(?(.*)\] \}",
            str(Map(f"{{ {own} -> {own} }}").then(self.times)),
        )
        if found is None or ":" in found[1] or "floor" in found[1]:
            return None
        times = [each.strip(" ()") for each in found[1].split(",")]
        front = [
            f"floor(({time}) / {size})"
            for time, size in zip(times, self.tiles, strict=False)
            if size
        ]
        wave = [" + ".join(front)] if self.wavefront and front else []
        return [*wave, *front, *times]


def rescheduled(
    kernel: Function,
    timing: Timing,
    rings: Mapping[str, str],
    iterators: Mapping[str, Sequence[str]],
    order: Order,
    threads: int,
) -> bool:
    """Gives those who make and read rows in place another order, if it is legal.

    Args:
        iterators: of each stream.
        order: when their elements are computed.
    """
    before = kernel.schedule
    members = members_of(timing, rings)
    kept = [
        one
        for one in before.commands
        if one[0] not in members and one[1] not in ("transaction", "when_work")
    ]
    times = {name: found for name in members if (found := order.of(name, iterators[name]))}
    if len(times) < len(members):
        return False
    try:
        kernel.set_schedule(type(before)(kept))
        with kernel.transaction():
            for name, each in times.items():
                dimensions = ", ".join(f"d{d} = {text}" for d, text in enumerate(each))
                own = f"{name}[{', '.join(iterators[name])}]"
                kernel[name].set_schedule(f"{{ {own} -> [{dimensions}] }}")
            for name, access in rings.items():
                kernel[name].set_access(access)
        kernel.when_work(0, threads=threads)
    except (ScheduleError, IllegalScheduleError):
        kernel.set_schedule(before)
        return False
    for name, each in times.items():
        last = max(d for d, text in enumerate(each) if not text.lstrip("-").isdigit())
        if len(iterators[name]) > 1:
            _attempt(kernel, name, "vectorize", f"d{last}", _LANES)
        if order.wavefront:
            _attempt(kernel, name, "parallelize", "d1")
    return True


def _attempt(kernel: Function, name: str, command: str, *arguments: object) -> None:
    with contextlib.suppress(ScheduleError, IllegalScheduleError):
        getattr(kernel[name], command)(*arguments)
