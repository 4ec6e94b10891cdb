"""Linear combinations of iterators and floors, and the loops of a computation made of them.

They are what the documentation of the loop commands talks about. For concrete sizes they become Python source, which
the judge compiles: a loop is evaluated for every instance of a program.
"""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any, TypeAlias


class Refused(Exception):
    """The command's arguments do not make sense; the library must refuse it too."""


#: (axis + constant) // divisor: an axis, a constant and a divisor.
Size: TypeAlias = tuple[str, int, int]
#: Atoms that are made of another value.
NESTED = ("floor", "block", "rest")


class Linear:
    """constant + sum of coefficient * atom; atoms are ("iterator", name), ("floor", Linear, d), ("start", position),
    and of a split by an expression in sizes ("block", Linear, size) and ("rest", Linear, size)."""

    __slots__ = ("constant", "terms")

    def __init__(self, constant: int = 0, terms: dict[Any, int] | None = None) -> None:
        self.constant = constant
        self.terms = {a: c for a, c in (terms or {}).items() if c != 0}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Linear) and (self.constant, self.terms) == (
            other.constant,
            other.terms,
        )

    def __hash__(self) -> int:
        return hash((self.constant, frozenset(self.terms.items())))

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            terms[atom] = terms.get(atom, 0) + factor * c
        return Linear(self.constant + factor * other.constant, terms)

    def times(self, factor: int) -> Linear:
        return Linear().plus(self, factor)

    def floor(self, d: int) -> Linear:
        """floor(self / d), multiples of d taken out."""
        outside = Linear(self.constant // d, {a: c // d for a, c in self.terms.items()})
        inside = self.plus(outside, -d)
        if not inside.terms:
            return outside
        return outside.plus(Linear(0, {("floor", inside, d): 1}))

    def blocks(self, size: Size) -> tuple[Linear, Linear]:
        """In which block of `size` iterations this is, and where in it."""
        return Linear(0, {("block", self, size): 1}), Linear(0, {("rest", self, size): 1})

    def uses(self, names: set[Any]) -> bool:
        """Whether an iterator of these names, or one of these atoms, takes part."""
        return any(
            atom[1].uses(names) if atom[0] in NESTED else (atom in names or atom[1] in names)
            for atom in self.terms
        )

    def looked_up(self) -> bool:
        """Whether a loop of the starting point takes part, which is known by a table only."""
        return any(
            atom[1].looked_up() if atom[0] in NESTED else atom[0] == "start" for atom in self.terms
        )

    def evaluate(self, env: dict[Any, int]) -> int:
        total = self.constant
        for atom, c in self.terms.items():
            if atom[0] == "floor":
                total += c * (atom[1].evaluate(env) // atom[2])
            elif atom[0] in NESTED:
                pair = divmod(atom[1].evaluate(env), iterations_of(atom[2], env))
                total += c * pair[atom[0] == "rest"]
            elif atom[0] == "iterator":
                total += c * env[atom[1]]
            else:
                total += c * env[atom]
        return total

    def own_range(self, most: int) -> tuple[int, int] | None:
        """The least and the largest value for any integers at all; none if there is no such value, or if there are
        more than `most` in between."""
        slopes = self.slopes()
        if slopes is None or any(slopes.values()):
            return None
        atoms, period = list(slopes), self.period()
        if period ** len(atoms) <= 1 << 15:
            points = itertools.product(range(period), repeat=len(atoms))
        else:  # along each axis, and across
            draws = random.Random(0)
            some = [tuple(draws.randrange(period) for _ in atoms) for _ in range(1 << 12)]
            lines = [
                (*some[0][:k], at, *some[0][k + 1 :])
                for k in range(len(atoms))
                for at in range(period)
            ]
            points = itertools.chain(some, lines)
        values = [self.evaluate(dict(zip(map(atom_key, atoms), p, strict=True))) for p in points]
        return None if max(values) - min(values) >= most else (min(values), max(values))

    def slopes(self) -> dict[Any, Fraction] | None:
        """By how much it grows with each atom in the long run; none if that depends on sizes."""
        found: dict[Any, Fraction] = {}
        for atom, c in self.terms.items():
            if atom[0] in NESTED:
                inner = atom[1].slopes() if atom[0] == "floor" else None
                if inner is None:
                    return None
                grows = {name: Fraction(slope, atom[2]) for name, slope in inner.items()}
            else:
                grows = {atom: Fraction(1)}
            for name, slope in grows.items():
                found[name] = found.get(name, Fraction(0)) + c * slope
        return found

    def period(self) -> int:
        """After so many, floors begin anew."""
        return math.lcm(*(a[2] * a[1].period() for a in self.terms if a[0] == "floor"))

    def source(self, places: dict[Any, str]) -> str:
        """Python text of the value; `places` gives the text of iterators (by name) and of other atoms."""
        text = str(self.constant)
        for atom, c in self.terms.items():
            if atom[0] == "floor":
                value = f"({atom[1].source(places)})//{atom[2]}"
            elif atom[0] in NESTED:
                axis, constant, divisor = atom[2]
                size = f"max(1,({places[axis]}+{constant})//{divisor})"
                operator = "//" if atom[0] == "block" else "%"
                value = f"({atom[1].source(places)}){operator}{size}"
            else:
                value = places[atom[1] if atom[0] == "iterator" else atom]
            text += f"+{value}" if c == 1 else f"+{c}*({value})"
        return text[2:] if text.startswith("0+") else text


def atom_key(atom: Any) -> Any:
    """Under which `Linear.evaluate` looks it up."""
    return atom[1] if atom[0] == "iterator" else atom


def iterations_of(size: Size, env: dict[Any, int]) -> int:
    """How many iterations a block has."""
    axis, constant, divisor = size
    return max(1, (env[axis] + constant) // divisor)


def iterator(name: str) -> Linear:
    return Linear(0, {("iterator", name): 1})


def counted(name: str, low: list[Any], step: int) -> Linear:
    """Which value of a range an iterator has, from 0 on: low, low + step, ..."""
    if step == 1:
        return iterator(name)
    first = Linear(low[0], {("iterator", n): c for n, c in low[1].items()})
    return iterator(name).plus(first, -1).floor(step)


class Loop:
    """One loop of a nest; never changed once it is made, so that nests can share them."""

    __slots__ = ("extent", "factor", "name", "prefetched", "tag", "value")

    def __init__(
        self,
        name: str,
        value: Linear,
        tag: str = "",
        factor: int = 0,
        extent: int = 0,
        prefetched: bool = False,
    ) -> None:
        self.name, self.value, self.tag, self.factor, self.extent = name, value, tag, factor, extent
        #: Its iterations ask for what later ones of them read.
        self.prefetched = prefetched

    @property
    def concurrent(self) -> bool:
        return self.tag in ("parallel", "vector")

    def but(self, **changes: Any) -> Loop:
        return Loop(**{name: changes.get(name, getattr(self, name)) for name in Loop.__slots__})


#: How many loops tell the copies of an instance apart, and the bounds of "z".
Copies: TypeAlias = tuple[int, Linear, Linear]


class Nest:
    """The loops of one computation, outermost first."""

    def __init__(
        self, loops: list[Loop], explicit: bool = False, copies: Copies | None = None
    ) -> None:
        self.loops = loops
        self.explicit = explicit
        #: A one-to-many map: its dimension "z" takes all values of a range, whose bounds belong to it.
        self.copies = copies

    def find(self, name: str) -> int:
        for position, loop in enumerate(self.loops):
            if loop.name == name:
                return position
        raise Refused(f"no loop {name}")

    def require_new(self, names: list[str]) -> None:
        if len(set(names)) != len(names) or any(loop.name in names for loop in self.loops):
            raise Refused(f"names {names} are taken")

    def change(self, name: str, **changes: Any) -> None:
        """Another loop in the place of the one of this name."""
        position = self.find(name)
        self.loops[position] = self.loops[position].but(**changes)

    def fresh(self, name: str) -> str:
        """The name, with as many underscores as make it new."""
        while any(loop.name == name for loop in self.loops):
            name += "_"
        return name


def first_of_each(prefixes: set[tuple[int, ...]], anew: int) -> set[tuple[int, ...]]:
    """The first of those that agree in so many outermost loops."""
    first: dict[tuple[int, ...], tuple[int, ...]] = {}
    for prefix in sorted(prefixes, reverse=True):
        first[prefix[:anew]] = prefix
    return set(first.values())
