"""Draws computations of which data decide what elements there are; a part of the generator of programs."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from fuzz.programs import substitute, walk


class DrawsPartial:
    """What the generator has beside it."""

    rng: random.Random
    complex: bool
    rough: bool
    inputs: list[dict[str, Any]]
    computations: list[dict[str, Any]]
    known: dict[str, str]
    types: list[str]
    read: Callable[..., list[Any]]
    value: Callable[..., list[Any]]
    converted: Callable[[list[Any]], list[Any]]

    def may_be_partial(
        self, result: dict[str, Any], around: dict[str, str], needs: list[Any]
    ) -> None:
        """Sometimes the elements exist only where one value is less than another one."""
        value = result["pieces"][0][1]
        plain = [
            x
            for x in (*self.inputs, *self.computations)
            if not x.get("index") and not x.get("partial") and self.known[x["name"]] != "bool"
        ]
        if (
            self.complex
            or self.rough
            or not around
            or not plain
            or self.rng.random() >= 0.6
            or any(node[0] == "reduce" for node in walk(value))
        ):
            return
        first = self.read(self.rng.choice(plain), around, needs)
        second = (
            ["const", self.rng.randint(0, 3)]
            if self.rng.random() < 0.5
            else self.read(self.rng.choice(plain), around, needs)
        )
        if any(node[0] == "at" for side in (first, second) for node in _subscripts(side)):
            return
        result["pieces"] = [[None, ["choose", first, second, value, ["const", 0]]]]
        result["partial"] = True

    def asked(self, array: dict[str, Any], subscripts: list[Any], read: list[Any]) -> list[Any]:
        """The read, where the element exists; sometimes wherever it may not, which must be refused."""
        if not array.get("partial") or self.rng.random() < 0.02:
            return read
        _, first, second, *_ = array["pieces"][0][1]
        names = dict(zip(array["iterators"], subscripts, strict=True))
        return ["choose", _at(first, names), _at(second, names), read, ["const", 1]]

    def make_whole(self, outputs: list[str]) -> None:
        """All elements exist of outputs, of what is shown, and of what was read in another way than `asked`."""
        for computation in self.computations:
            name = computation["name"]
            if computation.get("partial") and (name in outputs or self._is_shown(name)):
                del computation["partial"]

    def _is_shown(self, name: str) -> bool:
        return any(
            value[0] == "read" and value[1] == name
            for other in self.computations
            for _, value in other["pieces"]
        )


def _subscripts(value: list[Any]) -> list[Any]:
    return [s for node in walk(value) if node[0] == "read" for s in node[2]]


def _at(value: list[Any], names: dict[str, list[Any]]) -> list[Any]:
    """The value for other values of its iterators."""
    if value[0] == "read":
        return ["read", value[1], [substitute(s, names) for s in value[2]]]
    if value[0] == "cast":
        return ["cast", value[1], _at(value[2], names)]
    return value
