"""Elements that were pushed and wait until their period is complete."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .steps import Step

__all__ = ["Waiting"]

Array = np.ndarray[Any, Any]


class Waiting:
    """Fewer ticks than a period has, in arrays of a whole period for each input.

    Attributes:
        ticks: how many wait.
    """

    def __init__(self, step: Step, inputs: tuple[str, ...]) -> None:
        self.ticks = 0
        self._period = step.collected
        self._rates = [step.timing.rates[name] for name in inputs]
        self._axes = [step.streams[name].axis for name in inputs]
        self._arrays: tuple[Array, ...] = ()
        if self._period > 1:
            self._arrays = tuple(
                np.zeros(
                    [int(rate * self._period) if e is None else e for e in step.shapes[name]],
                    step.types[name],
                )
                for name, rate in zip(inputs, self._rates, strict=True)
            )

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays)

    def state(self) -> tuple[int, tuple[Array, ...]]:
        return self.ticks, tuple(array.copy() for array in self._arrays)

    def load(self, state: tuple[int, tuple[Array, ...]]) -> None:
        self.ticks = state[0]
        for array, own in zip(self._arrays, state[1], strict=True):
            array[...] = own

    def cut(self, arrays: tuple[Array, ...], begin: int, end: int) -> tuple[Array, ...]:
        """The elements of some ticks."""
        return tuple(
            array[(slice(None),) * axis + (slice(int(rate * begin), int(rate * end)),)]
            for array, axis, rate in zip(arrays, self._axes, self._rates, strict=True)
        )

    def _put(self, chunks: tuple[Array, ...], begin: int, end: int) -> None:
        """Those of the chunks go behind what waits."""
        new = self.ticks + end - begin
        for to, what in zip(
            self.cut(self._arrays, self.ticks, new), self.cut(chunks, begin, end), strict=True
        ):
            to[...] = what
        self.ticks = new

    def parts(
        self, chunks: tuple[Array, ...], ticks: int, due: int, now: int
    ) -> Iterator[tuple[Array, ...]]:
        """What runs next, part by part: `due` ticks from `now` on, of what waits and of `ticks` ticks
        that are new. What is left waits."""
        used = 0
        if due and self.ticks:
            used = min(due - self.ticks, self._period - (now + self.ticks) % self._period, ticks)
            self._put(chunks, 0, used)
            first = self.cut(self._arrays, 0, self.ticks)
            due -= self.ticks
            self.ticks = 0
            yield first
        if due:
            yield self.cut(chunks, used, used + due)
            used += due
        if used < ticks:
            self._put(chunks, used, ticks)
