"""Draws computations that only read; a part of the generator of programs."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from fuzz.programs import AXES, affine, unique


class DrawsViews:
    """What the generator has beside it."""

    rng: random.Random
    inputs: list[dict[str, Any]]
    computations: list[dict[str, Any]]
    known: dict[str, str]
    iterators: Callable[[int], list[str]]
    declare: Callable[[str, list[str], list[str]], dict[str, Any]]
    subscript: Callable[[str, dict[str, str], int], list[Any]]
    bounds: Callable[[dict[str, Any], list[Any]], list[Any]]
    conditions: Callable[[dict[str, str]], list[Any]]
    restrict: Callable[[dict[str, Any], list[Any]], None]

    def view(self, name: str) -> None:
        """Only reads: of one array, or of two with a condition, all of one type."""
        rng = self.rng
        arrays = [a for a in (*self.inputs, *self.computations) if not a.get("index")]
        first = rng.choice(arrays[-3:])
        dtype = self.known[first["name"]]
        alike = [a for a in arrays if self.known[a["name"]] == dtype]
        axes = first["axes"][:] if rng.random() < 0.6 else first["axes"][1:]
        if rng.random() < 0.1:
            axes = [*axes, rng.choice(AXES[:2])]
        iterators = self.iterators(min(len(axes), 3))
        axes = axes[:3]
        result = self.declare(name, iterators, axes)
        result["dtype"] = self.known[name] = dtype
        result["view"] = True
        around = dict(zip(iterators, axes, strict=True))

        def shown(array: dict[str, Any], inside: list[Any]) -> list[Any]:
            subscripts = []
            skipped = len(array["axes"]) - len(axes)
            for d, axis in enumerate(array["axes"]):
                own = iterators[d - skipped] if d >= skipped and d - skipped < len(axes) else None
                if own is not None and axis == around[own] and rng.random() < 0.8:
                    subscripts.append(affine(rng.choice((0, 0, 0, -1, 1)), **{own: 1}))
                elif rng.random() < 0.6:
                    subscripts.append(affine(-1, **{axis: 1}))  # the last one
                else:
                    subscripts.append(self.subscript(axis, around, 1))
            inside.extend(self.bounds(array, subscripts))
            return ["read", array["name"], subscripts]

        needs: list[Any] = []
        if iterators and rng.random() < 0.5:
            inside: list[Any] = []
            value = shown(first, inside)
            condition = unique([*self.conditions(around), *inside])
            other = shown(rng.choice(alike), needs)
            result["pieces"] = [[["all", condition], value], [["not", condition], other]]
        else:
            result["pieces"] = [[None, shown(first, needs)]]
        self.restrict(result, needs)
        self.computations.append(result)
