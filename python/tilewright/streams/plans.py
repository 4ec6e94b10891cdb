"""What pushes of one kind have in common: shapes, times and the arguments of the kernel.

A push that is like an earlier one (chunks of the same shapes, at the same phase) looks its plan up and
calls the kernel: nothing is computed in between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..functions.functions import Function
from .steps import Step

__all__ = ["Memory", "Plan", "make_plan", "new_rows"]

Array = np.ndarray[Any, Any]


_CACHE_LINE = 64


def _at_a_line(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Zeros that begin at a cache line, so that vectors in rows do not lie in two."""
    nbytes = math.prod(shape) * dtype.itemsize
    room = np.zeros(nbytes + _CACHE_LINE, np.uint8)
    first = -room.ctypes.data % _CACHE_LINE
    return room[first : first + nbytes].view(dtype).reshape(shape)


class Memory:
    """What a stream keeps between pushes: lines, in which new elements are written behind what is kept, and
    rows that are changed where they are.

    What is kept of a line begins at its place. There are two of each, for two sides, of which one is where this
    push begins and the other one where the next one does, in turns: a push that fails changes neither
    what is kept nor where it is.

    Args:
        arrays: what is finite, given or computed when the stream was opened.
    """

    def __init__(self, step: Step, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
        self._lines = step.lines
        self.lines = {
            name: np.zeros((2 * line.kept + line.ahead, *line.shape), line.dtype)
            for name, line in step.lines.items()
        }
        self.places = np.zeros((len(self.lines), 2), np.int64)
        self.rings = {name: _at_a_line(shape, dtype) for name, (shape, dtype) in step.rings.items()}
        taken = {*step.kernel.inputs, *step.kernel.parameters}  # not all are read at all sizes
        self.given: dict[str, Any] = {
            name: value for name, value in {**arrays, **sizes}.items() if name in taken
        }

    def arrays(self, side: int) -> dict[str, Array]:
        """All that has to be known of the past."""
        kept = {
            name: self.lines[name][place : place + self._lines[name].kept]
            for name, place in zip(self.lines, self.places[:, side].tolist(), strict=True)
        }
        return {**kept, **self.rings}

    def load(self, arrays: dict[str, Array], side: int) -> None:
        for name, array in self.arrays(side).items():
            array[...] = arrays[name]

    def nbytes(self) -> int:
        rings = sum(array.nbytes for array in self.rings.values())
        return rings + sum(line.nbytes for line in self._lines.values())

    def has_room(self, rows: Mapping[str, int]) -> bool:
        """Whether lines are long enough for pushes of so many new rows."""
        return all(
            line.seen(rows[name]) <= len(self.lines[name]) for name, line in self._lines.items()
        )

    def make_room(self, rows: Mapping[str, int], side: int) -> None:
        """Longer lines. Plans that know the ones before are useless then."""
        kept, longer = self.arrays(side), {}
        for name, line in self._lines.items():
            room = max(line.seen(rows[name]), len(self.lines[name]))
            longer[name] = np.zeros((room, *line.shape), line.dtype)
            longer[name][: line.kept] = kept[name]
        places = np.zeros_like(self.places)
        # Without a call in between, no signal is heard before both are changed.
        self.lines = longer
        self.places = places

    def parts(self, rows: Mapping[str, int], side: int) -> dict[str, Array]:
        """The parts of lines that a push of so many new rows sees."""
        found = {}
        for number, (name, line) in enumerate(self._lines.items()):
            place, array, seen = self.places[number, side], self.lines[name], line.seen(rows[name])
            if place + seen > len(array):
                front = np.zeros_like(array)
                front[: line.kept] = array[place : place + line.kept]
                # Without a call in between, no signal is heard before both are changed.
                self.lines[name] = array = front
                self.places[number, side] = place = 0
            self.places[number, 1 - side] = place + rows[name]
            found[f"{name}_line"] = array[place : place + seen]
        return found

    def moving(
        self, rows: Mapping[str, int], side: int
    ) -> list[tuple[str, Array, Array, int, int, int, int]]:
        """The lines as prepared calls have them."""
        return [
            (
                f"{name}_line",
                self.lines[name],
                self.places[number],
                side,
                line.seen(rows[name]),
                line.kept,
                rows[name],
            )
            for number, (name, line) in enumerate(self._lines.items())
        ]


@dataclass
class Plan:
    """Of pushes of one kind.

    Attributes:
        shapes: of the outputs.
        ticks: that pass.
        arguments: of the kernel, without chunks, lines and outputs.
        rows: how many new ones each line gets.
        phase: the first number of ticks at which they are.
        after: the phase behind it.
        moving: times that are told: (name, at this phase, by how much it grows in a period).
        calls: of the kernel, for each side: what takes chunks and outputs, all else being known;
            none where times are told.
        alike: of a plan that may follow upon itself, once there was a push: what another one like
            it must be like, and does (`_core.alike_push`).
    """

    __slots__ = (
        "after",
        "alike",
        "arguments",
        "calls",
        "moving",
        "phase",
        "rows",
        "shapes",
        "ticks",
    )

    shapes: tuple[tuple[int, ...], ...]
    ticks: int
    arguments: dict[str, Any]
    rows: dict[str, int]
    phase: int
    after: int
    moving: tuple[tuple[str, int, int], ...]
    calls: tuple[Callable[..., None], Callable[..., None]] | None
    alike: Any


def times_of(step: Step, kernel: Function, begin: int, end: int) -> dict[str, int]:
    """The parameters of a kernel from one tick to another one."""
    before, after = step.timing.counts(begin), step.timing.counts(end)
    times: dict[str, int] = {}
    for name in step.own_times:
        times[f"{name}_begin"], times[f"{name}_end"] = before[name], after[name]
    for name in step.first_times:
        times[f"{name}_first"] = max(before[name], min(0, after[name]))
    return {name: times[name] for name in kernel.parameters if name in times}


def output_shapes(
    step: Step, outputs: tuple[str, ...], begin: int, end: int
) -> tuple[tuple[int, ...], ...]:
    before, after = step.timing.counts(begin), step.timing.counts(end)
    return tuple(
        tuple(
            max(0, after[name]) - max(0, before[name]) if extent is None else extent
            for extent in step.shapes[name]
        )
        for name in outputs
    )


def new_rows(step: Step, begin: int, end: int) -> dict[str, int]:
    """How many elements are written to each line."""
    before, after = step.timing.counts(begin), step.timing.counts(end)
    return {name: after[name] - before[name] for name in step.lines}


def make_plan(
    step: Step,
    memory: Memory,
    outputs: tuple[str, ...],
    phase: int,
    ticks: int,
    rows: dict[str, int],
) -> Plan:
    """The plan of a push of so many ticks; `rows` are those of `new_rows`, for which there is room."""
    steady = None if step.steady is None else step.steady.kernel_for(phase, ticks)
    kernel, begin = step.kernel, phase
    if step.steady is not None and steady is not None:
        kernel, begin = steady, step.steady.start
    times = times_of(step, kernel, begin, begin + ticks)
    moving: list[tuple[str, int, int]] = []
    if step.repeats.is_told and phase >= step.repeats.onset:
        later = begin + step.repeats.period
        after = times_of(step, kernel, later, later + ticks)
        moving = [(name, time, after[name] - time) for name, time in times.items()]
    rings = {f"{name}_ring": array for name, array in memory.rings.items()}
    taken = {*kernel.inputs, *kernel.parameters}
    given = {name: value for name, value in memory.given.items() if name in taken}
    arguments = {**given, **times, **rings}
    calls = None
    if not moving:
        first, second = (
            _core.prepare_call(kernel, arguments, step.timing.inputs, (), memory.moving(rows, side))
            for side in (0, 1)
        )
        calls = first, second
    return Plan(
        output_shapes(step, outputs, phase, phase + ticks),
        ticks,
        arguments,
        rows,
        phase,
        step.repeats.kind(phase + ticks),
        tuple(moving),
        calls,
        None,
    )
