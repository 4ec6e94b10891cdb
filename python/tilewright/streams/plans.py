"""What pushes of one kind have in common: shapes, times and the arguments of the kernel.

A push that is like an earlier one (chunks of the same shapes, at the same phase) looks its plan up and
calls the kernel: nothing is computed in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .steps import Step

__all__ = ["Memory", "Plan", "make_plan"]

Array = np.ndarray[Any, Any]


class Memory:
    """What a stream keeps between pushes: two copies (sides) of what is copied in front of each chunk,
    of which one is read and one written, in turns; and one of what is changed where it is.

    Args:
        arrays: what is finite, given or computed when the stream was opened.
    """

    def __init__(self, step: Step, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
        kept = {name: np.zeros(shape, dtype) for name, (shape, dtype) in step.past.items()}
        self.sides = (kept, {name: np.empty_like(array) for name, array in kept.items()})
        self.rings = {name: np.zeros(shape, dtype) for name, (shape, dtype) in step.rings.items()}
        taken = {*step.kernel.inputs, *step.kernel.parameters}  # not all are read at all sizes
        self.given: dict[str, Any] = {
            name: value for name, value in {**arrays, **sizes}.items() if name in taken
        }

    def arrays(self, side: int) -> dict[str, Array]:
        """All that has to be known of the past."""
        return {**self.sides[side], **self.rings}

    def load(self, arrays: dict[str, Array], side: int) -> None:
        for name, array in self.arrays(side).items():
            array[...] = arrays[name]

    def nbytes(self, side: int) -> int:
        return sum(array.nbytes for array in self.arrays(side).values())


@dataclass
class Plan:
    """Of pushes of one kind.

    Attributes:
        shapes: of the outputs.
        ticks: that pass.
        arguments: of the kernel, without chunks and outputs, for each side of the memory.
        kept: where what is kept goes, for each side.
        phase: the first number of ticks at which they are.
        after: the phase behind it.
        moving: times that are told: (name, at this phase, by how much it grows in a period).
        calls: of the kernel, for each side: what takes chunks and outputs, all else being known;
            none where times are told.
    """

    __slots__ = ("after", "arguments", "calls", "kept", "moving", "phase", "shapes", "ticks")

    shapes: tuple[tuple[int, ...], ...]
    ticks: int
    arguments: tuple[dict[str, Any], dict[str, Any]]
    kept: tuple[tuple[Array, ...], tuple[Array, ...]]
    phase: int
    after: int
    moving: tuple[tuple[str, int, int], ...]
    calls: tuple[Callable[..., None], Callable[..., None]] | None


def times_of(step: Step, begin: int, end: int) -> dict[str, int]:
    """The parameters of the kernel from one tick to another one."""
    before, after = step.timing.counts(begin), step.timing.counts(end)
    times: dict[str, int] = {}
    for name in step.own_times:
        times[f"{name}_begin"], times[f"{name}_end"] = before[name], after[name]
    for name in step.first_times:
        times[f"{name}_first"] = max(before[name], min(0, after[name]))
    return times


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


def make_plan(step: Step, memory: Memory, outputs: tuple[str, ...], phase: int, ticks: int) -> Plan:
    """The plan of a push of so many ticks."""
    times = times_of(step, phase, phase + ticks)
    arguments, kept = [], []
    moving: list[tuple[str, int, int]] = []
    if step.repeats.is_told and phase >= step.repeats.onset:
        later = times_of(step, phase + step.repeats.period, phase + step.repeats.period + ticks)
        moving = [(name, time, later[name] - time) for name, time in times.items()]
    for side in (0, 1):
        past = {f"{name}_past": array for name, array in memory.sides[side].items()}
        rings = {f"{name}_ring": array for name, array in memory.rings.items()}
        arguments.append({**memory.given, **times, **past, **rings})
        kept.append(tuple(memory.sides[1 - side].values()))
    calls = None
    if not moving:
        first, second = (
            _core.prepare_call(step.kernel, arguments[side], step.timing.inputs, kept[side])
            for side in (0, 1)
        )
        calls = first, second
    return Plan(
        output_shapes(step, outputs, phase, phase + ticks),
        ticks,
        (arguments[0], arguments[1]),
        (kept[0], kept[1]),
        phase,
        step.repeats.kind(phase + ticks),
        tuple(moving),
        calls,
    )
