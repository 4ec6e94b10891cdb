"""Which periods a stream function runs in: what `StreamFunction.periodic` was asked for, in ticks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..base.checks import DECLARATION, a_boolean, a_list, an_integer, described
from ..base.errors import DeclarationError, DeclarationTypeError
from ..sets.values import Map
from .folding import Order
from .model import modelled
from .periodic import PeriodicTiling, UnboundedProgram
from .reports import table
from .steps import Step
from .storage import buffer_of
from .unbounded import dot

__all__ = ["Periods", "asked_periods", "collected_ticks", "tiled", "tiling_of"]

_LONGEST = 2**24
"""More ticks than these are not collected: memory for them is allocated when a stream is opened."""


@dataclass(frozen=True)
class Periods:
    """What was asked for.

    Attributes:
        schedule: isl's text; None for the default one.
        asked: whether anything was.
    """

    direction: tuple[int, ...] | None = None
    size: int | None = None
    latency: int | None = None
    schedule: str | None = None
    tiles: tuple[int, ...] = ()
    wavefront: bool = False
    asked: bool = False

    def order(self, sizes: Mapping[str, int]) -> Order | None:
        """The schedule that was given, with tiles, for known sizes."""
        if self.schedule is None:
            return None
        given = Map(self.schedule)
        given = given.fix({name: sizes[name] for name in given.parameters if name in sizes})
        return Order(given, self.tiles, self.wavefront)


def asked_periods(
    direction: Sequence[int] | None,
    size: int | None,
    latency: int | None,
    schedule: str | Map | None,
    tiles: Sequence[int],
    wavefront: bool,
) -> Periods:
    """Checks what can be checked without sizes."""
    if size is not None and latency is not None:
        raise DeclarationError("periodic() takes a size or a latency, not both")
    if schedule is not None and not isinstance(schedule, str | Map):
        raise DeclarationTypeError(
            f"the schedule of periodic() is isl's text or a tw.Map, got {described(schedule)}"
        )
    numbers = None
    if direction is not None:
        given = a_list(direction, "the direction of periods", DECLARATION, "integers")
        numbers = tuple(
            an_integer(one, "a direction's number", DECLARATION, bits=32) for one in given
        )
    sizes = tuple(
        an_integer(one, "the size of a tile", DECLARATION, minimum=0, bits=32)
        for one in a_list(tiles, "the sizes of tiles", DECLARATION, "integers")
    )
    return Periods(
        numbers,
        None if size is None else an_integer(size, "the size of a period", DECLARATION, minimum=1),
        None if latency is None else an_integer(latency, "the latency", DECLARATION, minimum=0),
        None if schedule is None else str(Map(schedule)),
        sizes,
        a_boolean(wavefront, "wavefront", DECLARATION),
        True,
    )


def tiling_of(
    step: Step, sizes: Mapping[str, int], periods: Periods
) -> tuple[UnboundedProgram, PeriodicTiling]:
    """The program with its schedule, and the periodic tiling of it."""
    schedule = None if periods.schedule is None else Map(periods.schedule)
    program = modelled(step.streams, step.timing, sizes, schedule, periods.tiles, periods.wavefront)
    front = (sum(map(bool, periods.tiles)) + periods.wavefront) or None
    if periods.latency is None:
        return program, program.periodic(periods.direction, periods.size, front)
    smallest = program.periodic(periods.direction, None, front)
    ticks = _ticks(step, program, smallest)
    factor = max(1, (periods.latency + 1) // ticks)
    return program, program.periodic(smallest.direction, factor * smallest.size)


def _ticks(step: Step, program: UnboundedProgram, tiling: PeriodicTiling) -> int:
    """How many elements of the first input a period has."""
    first = step.timing.inputs[0]
    one = next(s for s in program.statements if s.name.startswith(f"{first}__"))
    return one.step * tiling.size // dot(tiling.direction, one.ray)


def collected_ticks(step: Step, sizes: Mapping[str, int], periods: Periods) -> int:
    """How many ticks run at once: 1 unless periods were asked for."""
    if not periods.asked:
        return 1
    program, tiling = tiling_of(step, sizes, periods)
    ticks = _ticks(step, program, tiling)
    if periods.latency is not None and ticks > periods.latency + 1:
        return 1  # element by element: a smaller period is none of the schedule
    whole = math.lcm(ticks, step.timing.unit)
    if whole > _LONGEST:
        raise DeclarationError(
            f"a period of {whole} elements of {step.timing.inputs[0]} is too long: at most {_LONGEST} "
            "are collected"
        )
    return whole


def tiled(step: Step, sizes: Mapping[str, int], periods: Periods) -> str:
    """The tiling and its buffers as a text."""
    program, tiling = tiling_of(step, sizes, periods)
    rows: list[tuple[str, ...]] = [("array", "extents", "kind", "elements", "per period")]
    for name, size in program.storage(tiling).items():
        axis = step.streams[name].axis
        moves = size.moves[axis]
        buffer = buffer_of(name, size, axis, size.extents[axis] + moves)
        extents = " x ".join(map(str, buffer.extents))
        rows.append((name, extents, buffer.kind, str(buffer.elements), str(moves)))
    return f"periodic tiling: {tiling}; buffers that it needs:\n{table(rows)}"
