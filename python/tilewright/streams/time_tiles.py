"""Tiles of time for recurrences over a grid, found for long pushes.

A wave equation whose rows are longer than a cache reads all of its grid for each element of time. Of several
elements of time, the points of a tile are computed together instead, while they are in a cache. Tiles stand
along the first dimension of the grid, and lean as far as the dependences do: point i at time t stands at
``i + skew * t + shift``, and whatever it reads, and whatever must still read the row that it overwrites, stands
no later. These are difference constraints; the smallest skew that solves them is taken (Wolf and Lam, 1991; the
paper's Figure 5, Leben and Tzanetakis, ACM TACO 16(3), 2019). Whether the result is legal is asked of the library as
ever.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..base.errors import IllegalScheduleError, ScheduleError
from ..functions.functions import Function
from ..schedule.schedules import Schedule
from ..sets.values import Map, Set
from .model import Delays
from .timing import Streamed, Timing
from .unbounded import extreme

__all__ = ["Grid", "TimeTiles", "found_tiles", "least_ticks", "scheduled_in_tiles"]

_VECTOR = 64
"""Bytes of a vector."""

_FIRST_CACHE = 32 * 1024
_SECOND_CACHE = 1024 * 1024
_TALLEST = 32
_LOWEST = 4
_STEEPEST = 4
"""No steeper skews than these are tried."""


@dataclass(frozen=True)
class Grid:
    """Streams that share a loop over time.

    Attributes:
        members: in the order in which they are computed at one time.
        rows: of the buffers of those that are kept in place.
        boxes: the ranges of the other dimensions of each stream.
        starts: the first element of each one that a call computes.
        nbytes: of an element of each stream.
        sizes: the values of parameters.
    """

    members: tuple[str, ...]
    rows: Mapping[str, int]
    streams: Mapping[str, Streamed]
    boxes: Mapping[str, Sequence[tuple[int, int]]]
    starts: Mapping[str, int]
    nbytes: Mapping[str, int]
    sizes: Mapping[str, int]

    def rank(self, name: str) -> int:
        """Of the dimensions that are not time."""
        return len(self.boxes[name])

    def iterators(self, name: str) -> tuple[str, list[str]]:
        """The one over time, and the others."""
        stream = self.streams[name]
        every = list(stream.handle.iterators)
        return every.pop(stream.axis), every


@dataclass(frozen=True)
class TimeTiles:
    """Tiles of `height` elements of time and `width` points, which lean by `skew` points per time.

    Attributes:
        late: by how many elements of time each member is computed later than its time says.
        shifts: by how many points each member stands further on.
    """

    height: int
    width: int
    skew: int
    late: Mapping[str, int]
    shifts: Mapping[str, int]


def _size(grid: Grid, skew: int = 1) -> tuple[int, int] | None:
    """Height and width of tiles that lean so much; None where the rows stay in a cache by themselves."""
    ring = next(iter(grid.rows))
    low, high = grid.boxes[ring][0]
    column = sum(
        rows * grid.nbytes[name] * math.prod(end - begin for begin, end in grid.boxes[name][1:])
        for name, rows in grid.rows.items()
    )
    whole = column * (high - low)
    if whole <= _FIRST_CACHE:
        return None
    if grid.rank(ring) == 1:
        width = _power_below(_FIRST_CACHE // column)
        return (min(_TALLEST, width // 4), width) if width >= 4 * _LOWEST else None
    side = min(_TALLEST, _power_below(_SECOND_CACHE // column // (1 + max(1, skew))))
    return (side, side) if side >= _LOWEST and whole > _SECOND_CACHE else None


def least_ticks(grid: Grid) -> int | None:
    """Pushes of fewer elements of time are as fast without tiles; None if all are."""
    if not grid.rows or not grid.rank(next(iter(grid.rows))):
        return None
    size = _size(grid)
    return None if size is None else max(_LOWEST, size[0] // 4)


def _power_below(number: int) -> int:
    return 1 << (number.bit_length() - 1) if number else 0


def found_tiles(grid: Grid, timing: Timing) -> TimeTiles | None:
    """Tiles for these streams; None where none make sense, or dependences go too far."""
    rings = list(grid.rows)
    if not rings or len({grid.rank(name) for name in rings}) > 1 or not grid.rank(rings[0]):
        return None
    late = _lateness(grid, timing)
    steps = _steps(grid, late)
    for skew in range(_STEEPEST + 1):
        shifts = _shifts(grid, steps, skew)
        if shifts is not None:
            size = _size(grid, skew)
            return None if size is None else TimeTiles(*size, skew, late, shifts)
    return None


def _lateness(grid: Grid, timing: Timing) -> dict[str, int]:
    """What is added to the time of each member, so that those of one number are computed together, from
    0 on."""
    delays = Delays(timing)
    first = grid.members[0]
    late = {
        name: (delays.delays[name] - delays.delays[first]) // delays.units[first]
        for name in grid.members
    }
    begin = min(late[name] + grid.starts[name] for name in grid.members)
    return {name: own - begin for name, own in late.items()}


def _steps(grid: Grid, late: Mapping[str, int]) -> list[tuple[str, str, Set]]:
    """(reader, producer, ``{ [time, point] }``: by how much later in time the reader is, and at which
    point what it reads is; of a reader over the same grid, how much further on)."""
    found = []
    rank = grid.rank(next(iter(grid.rows)))
    for reader in grid.members:
        for producer, pairs, _ in grid.streams[reader].reads:
            if producer.name not in grid.members or not grid.rank(producer.name):
                continue
            known = pairs.project_out_parameters(["forever"])
            known = known.fix({p: grid.sizes[p] for p in known.parameters() if p in grid.sizes})
            if known.is_empty():
                continue
            texts, times, points = [], [], []
            for name, sign in ((reader, ""), (producer.name, "_read")):
                axis = grid.streams[name].axis
                own = [f"i{d}{sign}" for d in range(grid.rank(name) + 1)]
                texts.append(f"{name}[{', '.join(own)}]")
                times.append(f"{own.pop(axis)} + {late[name]}")
                points.append(own[0] if grid.rank(name) == rank else "0")
            step = f"[{times[0]} - ({times[1]}), {points[1]} - {points[0]}]"
            flat = Map(f"{{ [{texts[0]} -> {texts[1]}] -> {step} }}")
            found.append((reader, producer.name, flat(Map._of(known).wrap())))
    return found


def _shifts(grid: Grid, steps: Sequence[tuple[str, str, Set]], skew: int) -> dict[str, int] | None:
    """Where members have to stand, if tiles lean so much: the least solution of difference constraints;
    None if there is none."""
    least: list[tuple[str, str, int]] = []
    for reader, producer, step in steps:
        behind = extreme(Map(f"{{ [t, p] -> [p - {skew} * t] }}")(step), largest=True)
        if behind is None:
            return None
        least.append((reader, producer, behind))
        if producer in grid.rows:
            ahead = extreme(Map(f"{{ [t, p] -> [{skew} * t - p] }}")(step), largest=True)
            if ahead is None:
                return None
            least.append((producer, reader, ahead - skew * grid.rows[producer]))
    shifts = dict.fromkeys(grid.members, 0)
    for _ in range(len(shifts) + 1):
        before = dict(shifts)
        for later, earlier, distance in least:
            shifts[later] = max(shifts[later], shifts[earlier] + distance)
        if shifts == before:
            return shifts
    return None


def scheduled_in_tiles(
    kernel: Function,
    grid: Grid,
    tiles: TimeTiles,
    accesses: Mapping[str, str],
    other: Schedule,
    threads: int,
) -> bool:
    """Gives a kernel these tiles, if that is legal.

    Args:
        accesses: for each stream that is kept in place, its access relation.
        other: the schedule of the kernel without tiles.
    """
    commands = [
        one
        for one in other.commands
        if one[0] and one[0] not in grid.members and one[1] != "set_access"
    ]
    schedules = {name: _leaning(grid, tiles, name) for name in grid.members}
    for has_vectors in (True, False):
        try:
            kernel.set_schedule(Schedule(commands))
            with kernel.transaction():  # one question for all of it
                for name, schedule in schedules.items():
                    kernel[name].set_schedule(schedule)
                    kernel[name].parallelize("d1")
                    if has_vectors and grid.rank(name):
                        lanes = _VECTOR // grid.nbytes[name]
                        kernel[name].vectorize(f"d{3 + grid.rank(name)}", lanes)
                for name, access in accesses.items():
                    kernel[name].set_access(access)
            kernel.when_work(0, threads=threads)
        except (ScheduleError, IllegalScheduleError):
            continue
        return True
    return False


def _leaning(grid: Grid, tiles: TimeTiles, name: str) -> str:
    """The schedule of a member: wavefronts of tiles, which do not need each other; then time, who comes first at one
    time, and points."""
    first = next(iter(grid.rows))
    time, points = grid.iterators(name)
    late = f"{time} + {tiles.late[name]}"
    point = points[0] if grid.rank(name) == grid.rank(first) else "0"
    stand = f"{point} + {tiles.skew} * ({late}) + {tiles.shifts[name]}"
    tile = [f"floor(({late}) / {tiles.height})", f"floor(({stand}) / {tiles.width})"]
    rest = max(grid.rank(other) for other in grid.members) - len(points)
    place = str(grid.members.index(name))
    # The second number of a tile is known from these two.
    loops = [f"{tile[0]} + {tile[1]}", tile[0], late, place, *points, *("0",) * rest]
    dimensions = ", ".join(f"d{d} = {text}" for d, text in enumerate(loops))
    own = f"{name}[{', '.join(grid.streams[name].handle.iterators)}]"
    return f"{{ {own} -> [{dimensions}] }}"
