"""Random sets and maps, as text for isl and as predicates that Python decides point by point."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import strategies as st

from tilewright import Map, Point, Set

#: Coordinates are between these, so that every set has an end.
LOW, HIGH = -3, 3
#: Values of the parameter N at which sets are compared.
SIZES = (-1, 0, 2)
#: The tuples of sets, and of the two sides of maps.
DIMENSIONS = {"A": ("i", "j"), "B": ("i",)}


@dataclass(frozen=True)
class Condition:
    """``factors[0] * i + ... + constant``, at least 0, equal to 0, or divisible by `divisor`."""

    factors: tuple[int, ...]
    constant: int
    kind: str
    divisor: int

    def text(self, names: tuple[str, ...]) -> str:
        terms = [f"{factor}*{name}" for factor, name in zip(self.factors, names, strict=True)]
        value = " + ".join([*terms, str(self.constant)])
        if self.kind == "mod":
            return f"({value}) mod {self.divisor} = 0"
        return f"{value} {self.kind} 0"

    def holds(self, values: tuple[int, ...]) -> bool:
        value = sum(f * v for f, v in zip(self.factors, values, strict=True)) + self.constant
        if self.kind == "mod":
            return value % self.divisor == 0
        return value >= 0 if self.kind == ">=" else value == 0


@dataclass(frozen=True)
class Part:
    """Conditions on the dimensions of one tuple, or of two, and on N."""

    tuples: tuple[str, ...]
    conditions: tuple[Condition, ...]

    def names(self) -> tuple[str, ...]:
        return tuple(
            f"{name}{side or ''}"
            for side, each in enumerate(self.tuples)
            for name in DIMENSIONS[each]
        )

    def text(self) -> str:
        names = iter(self.names())
        sides = [
            f"{each}[{', '.join(next(names) for _ in DIMENSIONS[each])}]" for each in self.tuples
        ]
        box = [f"{LOW} <= {name} <= {HIGH}" for name in self.names()]
        rest = [condition.text((*self.names(), "N")) for condition in self.conditions]
        return f"{' -> '.join(sides)} : {' and '.join(box + rest)}"

    def at(self, size: int) -> Iterator[tuple[int, ...]]:
        for values in itertools.product(range(LOW, HIGH + 1), repeat=len(self.names())):
            if all(condition.holds((*values, size)) for condition in self.conditions):
                yield values


@dataclass(frozen=True)
class Drawn:
    """A set (parts with one tuple) or a map (parts with two)."""

    parts: tuple[Part, ...]

    def text(self) -> str:
        return f"[N] -> {{ {'; '.join(part.text() for part in self.parts)} }}"

    def set(self) -> Set:
        return Set(self.text())

    def map(self) -> Map:
        return Map(self.text())

    def points(self, size: int) -> set[Point]:
        return {Point(part.tuples[0], values) for part in self.parts for values in part.at(size)}

    def pairs(self, size: int) -> set[tuple[Point, Point]]:
        result = set()
        for part in self.parts:
            cut = len(DIMENSIONS[part.tuples[0]])
            for values in part.at(size):
                result.add(
                    (Point(part.tuples[0], values[:cut]), Point(part.tuples[1], values[cut:]))
                )
        return result


def conditions(dimensions: int) -> st.SearchStrategy[Condition]:
    return st.builds(
        Condition,
        st.tuples(*[st.integers(-2, 2)] * (dimensions + 1)),
        st.integers(-4, 4),
        st.sampled_from([">=", ">=", ">=", "=", "mod"]),
        st.integers(2, 3),
    )


def parts(tuples: tuple[str, ...]) -> st.SearchStrategy[Part]:
    dimensions = sum(len(DIMENSIONS[each]) for each in tuples)
    drawn = st.lists(conditions(dimensions), max_size=3)
    return drawn.map(lambda each: Part(tuples, tuple(each)))


def sets(*names: str) -> st.SearchStrategy[Drawn]:
    """Sets with one to three parts in these tuples."""
    each = st.one_of([parts((name,)) for name in names])
    return st.lists(each, min_size=1, max_size=3).map(lambda all_: Drawn(tuple(all_)))


def maps(*sides: tuple[str, str]) -> st.SearchStrategy[Drawn]:
    """Maps with one or two parts between these tuples."""
    each = st.one_of([parts(side) for side in sides])
    return st.lists(each, min_size=1, max_size=2).map(lambda all_: Drawn(tuple(all_)))
