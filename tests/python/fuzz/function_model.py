"""The model of commands of the whole function: what is known of parameters, and when the declared loops run.

None of them changes the time of an instance. A fixed parameter has one value in every call, so what is judged is judged
at that value; a version for some parameters, and the loops as declared, compute what the others do.

A condition is ``["mod", axis, p, r]`` (axis % p == r), ``["ge" | "le" | "eq" | "ne", axis, value]`` or
``["and", condition, condition]``.
"""

from __future__ import annotations

import itertools
from typing import Any

from fuzz.linear import Refused
from fuzz.programs import AXES
from fuzz.state import MappingState

#: Thresholds are below, and remainders repeat within: what holds nowhere among these values holds nowhere.
VALUES = range(-13, 27)
SIGNS = {"ge": ">=", "le": "<=", "eq": "=", "ne": "!="}


def holds(condition: list[Any], sizes: dict[str, int]) -> bool:
    """Whether a condition holds at sizes."""
    kind, *rest = condition
    if kind == "and":
        return all(holds(part, sizes) for part in rest)
    value = sizes[rest[0]]
    if kind == "mod":
        return value % rest[1] == rest[2]
    bound = rest[1]
    return {
        "ge": value >= bound, "le": value <= bound, "eq": value == bound, "ne": value != bound
    }[kind]  # fmt: skip


def axes_of(condition: list[Any]) -> set[str]:
    kind, *rest = condition
    return set().union(*map(axes_of, rest)) if kind == "and" else {rest[0]}


def condition_text(condition: list[Any]) -> str:
    """In isl's notation."""
    kind, *rest = condition
    if kind == "and":
        return " and ".join(map(condition_text, rest))
    if kind == "mod":
        return f"{rest[0]} mod {rest[1]} = {rest[2]}"
    return f"{rest[0]} {SIGNS[kind]} {rest[1]}"


class FunctionCommands(MappingState):
    """fix, specialize, when_work."""

    def _fix(self, _: str, *pairs: Any) -> None:
        for name, value in zip(pairs[::2], pairs[1::2], strict=True):
            if name not in self.parameters:
                raise Refused("no parameter")
            if self.fixed.get(name, value) != value:
                raise Refused("fixed at another value")
            self.fixed[name] = value

    def _specialize(self, _: str, condition: list[Any]) -> None:
        if not axes_of(condition) <= set(self.parameters):
            raise Refused("no parameter")
        axes = sorted(set().union(*map(axes_of, [condition, *self.variants])))
        every = [
            dict(zip(axes, values, strict=True))
            for values in itertools.product(
                *(
                    [self.fixed[a]]
                    if a in self.fixed
                    else [v for v in VALUES if v >= 0 or a not in self.nonnegative]
                    for a in axes
                )
            )
        ]
        met = [sizes for sizes in every if holds(condition, sizes)]
        if not met or len(met) == len(every):
            raise Refused("it holds never, or always")
        if condition[0] == "ne":
            raise Refused("two cases")
        if all(any(holds(earlier, sizes) for earlier in self.variants) for sizes in met):
            raise Refused("an earlier one holds")
        self.variants.append(condition)

    def _when_work(self, _: str, least: int, threads: int = 0, around: int = 0) -> None:
        if min(least, threads, around) < 0:
            raise Refused("less than nothing")
        self.least_work = least

    def require_replaceable(self) -> None:
        """The declared loops store nothing in an input's array."""
        if self.least_work and self.overwritten():
            raise Refused("stored in the array of an input")

    def at(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Sizes of which a call may be."""
        return tuple(self.fixed.get(a, size) for a, size in zip(AXES, sizes, strict=True))
