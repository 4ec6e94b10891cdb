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
    holds,
    is_computed,
    points,
    reads_of,
)
from fuzz.state import MappingState
from fuzz.views import leaves


class StorageCommands(MappingState):
    """Storage: buffers, folds, the arrays of inputs."""

    def _storage_fold(self, c: str, i: str | list[int], d: int = 0) -> None:
        buffer, index = self.storage[c]
        if isinstance(i, list):
            folds = i
            if len(folds) != len(index) or min(folds, default=0) < 0:
                raise Refused("not a fold for each dimension")
        elif [0, {i: 1}] not in index:
            raise Refused("no such dimension")
        else:
            folds = [d if s == [0, {i: 1}] else 0 for s in index]
        if buffer in self.inputs and any(folds):
            raise Refused("the size of an input is the caller's")
        folded = [["mod", s, m] if m else s for s, m in zip(index, folds, strict=True)]
        self._store_in(c, buffer, folded)

    def _store_in(self, c: str, buffer: str, index: list[Any]) -> None:
        if buffer in self.inputs:
            self._require_same_array(c, self.inputs[buffer], index)
        if c in self.outputs:  # what else lies in its array goes along
            self.storage = {
                n: (buffer if n != c and own == c else own, at)
                for n, (own, at) in self.storage.items()
            }
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
        # Domains whose sizes have slopes, such as 3 * i < N - 4, have a second element late.
        small += [(20, 20, 20), (20, 2, 2), (2, 20, 2), (2, 2, 20)]
        small += itertools.product((6, 8), repeat=3)  # and others begin behind a few elements
        small += [self.shown] if self.shown else []
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

    def in_place(self, c: str) -> list[tuple[list[Any], list[Any]]]:
        """The reads of an output, with their conditions, which lie where it would put them, so that no statement copies
        them."""
        key = (c, self.key(), tuple(sorted((n, repr(s)) for n, s in self.storage.items())))
        key = (*key, tuple(self.placements), tuple(sorted(self.allocations)))
        if key not in self._in_place:
            self._in_place[key] = self._find_in_place(c)
        return self._in_place[key]

    def _find_in_place(self, c: str) -> list[tuple[list[Any], list[Any]]]:
        runs_somebody = any(p.inside and p.other == c for p in self.placements)
        if c not in self.outputs or runs_somebody or any(map(self._reads_it(c), self.computations)):
            return []
        return [leaf for leaf in leaves(self.computations[c]) if self._lies_in_place(c, *leaf)]

    def _reads_it(self, c: str) -> Callable[[str], bool]:
        return lambda reader: bool(reads_of(self.computations[reader], c))

    def _lies_in_place(self, c: str, conditions: list[Any], read: list[Any]) -> bool:
        _, source, subscripts = read
        if source not in self.storage and source not in self.inputs:
            return False  # of a piece without elements, which nobody needs
        own_buffer, own_index = self.storage[c]
        if source in self.inputs:
            buffer: str = source
            index = [[0, {f"{source}.{d}": 1}] for d in range(len(subscripts))]
            names = [f"{source}.{d}" for d in range(len(subscripts))]
        else:
            buffer, index = self.storage[source]
            names = self.own(source)
        if (
            source == c
            or buffer != own_buffer
            or source in self.allocations
            or any(p.inside and p.computation == source for p in self.placements)
            or self.types[source] != self.types[c]
            or any(is_computed(s) for s in subscripts)
        ):
            return False

        def same(sizes: dict[str, int]) -> bool:
            shown = set()
            for env in self._cells(c, sizes):
                if not all(holds(condition, env) for condition in conditions):
                    continue
                at = {
                    **env,
                    **{n: evaluate_index(s, env) for n, s in zip(names, subscripts, strict=True)},
                }
                place = tuple(evaluate_index(s, at) for s in index)
                if place != tuple(evaluate_index(s, env) for s in own_index):
                    return False
                shown.add(place)
            return source not in self.inputs or not (shown & self._stored_in(buffer, c, sizes))

        return self._everywhere(same)

    def _stored_in(self, buffer: str, but: str, sizes: dict[str, int]) -> set[Any]:
        """The elements of a buffer in which computations are stored, one of them left out."""
        return {
            tuple(evaluate_index(s, env) for s in index)
            for name, (own, index) in self.storage.items()
            if own == buffer and name != but
            for env in self._cells(name, sizes)
        }

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
