"""The model of commands that say where values are stored."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from fuzz.linear import Refused
from fuzz.programs import AXES
from fuzz.rewriting import (
    evaluate_affine,
    evaluate_index,
    points,
)
from fuzz.state import MappingState


class StorageCommands(MappingState):
    """Storage: buffers, folds, the arrays of inputs."""

    def _storage_fold(self, c: str, i: str, d: int) -> None:
        buffer, index = self.storage[c]
        if [0, {i: 1}] not in index:
            raise Refused("no such dimension")
        if buffer in self.inputs:
            raise Refused("the size of an input is the caller's")
        self._store_in(c, buffer, [["mod", s, d] if s == [0, {i: 1}] else s for s in index])

    def _store_in(self, c: str, buffer: str, index: list[Any]) -> None:
        if buffer in self.inputs:
            self._require_same_array(c, self.inputs[buffer], index)
        self.storage[c] = (buffer, index)
        self.allocations.pop(c, None)
        if c in self.outputs and not self._everywhere(lambda sizes: self._in_its_place(c, sizes)):
            raise Refused("an output has its elements where the caller wants them")
        together = [n for n in self.storage if self.storage[n][0] == buffer]
        if any(
            self.types[n] != self.types[c] or len(self.storage[n][1]) != len(index)
            for n in together
        ):
            raise Refused("another type or rank")
        outputs = [n for n in together if n in self.outputs]
        if len(outputs) > 1:
            raise Refused("two outputs")
        if (
            outputs
            and buffer not in self.inputs
            and not self._everywhere(lambda sizes: self._has_room(together, sizes))
        ):
            raise Refused("the caller's array is written where the output does not write")

    def _require_same_array(self, c: str, array: dict[str, Any], index: list[Any]) -> None:
        """In place: elements of the caller's array, which is of one type and as large as it is."""
        if array["dtype"] != self.types[c] or len(array["extents"]) != len(index):
            raise Refused("another type or rank than the input's")

        def fits(sizes: dict[str, int]) -> bool:
            extents = [evaluate_affine(e, sizes) for e in array["extents"]]
            if c in self.outputs and self.shape(c, sizes) != extents:
                return False
            return all(
                0 <= evaluate_index(s, env) < extent
                for env in self._cells(c, sizes)
                for s, extent in zip(index, extents, strict=True)
            )

        if not self._everywhere(fits):
            raise Refused("another shape than the input's")

    def shape(self, c: str, sizes: dict[str, int]) -> list[int]:
        """Of an output, as the function tells callers."""
        known: dict[str, Any] = {"maximum": max, "minimum": min, **sizes}
        known["select"] = lambda condition, a, b: a if condition else b
        return [eval(text, {"__builtins__": {}}, known) for text in self.shapes[c]]

    def _everywhere(self, check: Callable[[dict[str, int]], bool]) -> bool:
        """Whether it holds at small sizes."""
        small = [*itertools.product(range(6), repeat=3), *itertools.product((0, 4, 9), repeat=3)]
        return all(
            check(dict(zip(AXES, sizes, strict=True)))
            for sizes in dict.fromkeys(
                tuple(self.fixed.get(a, s) for a, s in zip(AXES, sizes, strict=True))
                for sizes in small
            )
        )

    def _cells(self, c: str, sizes: dict[str, int]) -> list[dict[str, int]]:
        one = self.computations[c]
        return list(points(one["iterators"], one["ranges"], one["where"], sizes))

    def _in_its_place(self, c: str, sizes: dict[str, int]) -> bool:
        index, own = self.storage[c][1], self.own(c)
        return len(index) == len(own) and all(
            evaluate_index(s, env) == env[i]
            for env in self._cells(c, sizes)
            for s, i in zip(index, own, strict=True)
        )

    def _has_room(self, together: list[str], sizes: dict[str, int]) -> bool:
        """Whether the others write only what the one that is an output writes."""
        written: dict[bool, set[Any]] = {True: set(), False: set()}
        for name in together:
            index = self.storage[name][1]
            written[name in self.outputs] |= {
                tuple(evaluate_index(s, env) for s in index) for env in self._cells(name, sizes)
            }
        return written[False] <= written[True]

    def _auto_allocate_map(self, c: str) -> None:
        self.storage[c] = (c, [[0, {n: 1}] for n in self.own(c)])
        self.allocations.pop(c, None)
