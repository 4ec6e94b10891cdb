"""Sets and relations with one infinite direction: their extremes, their rays, and where they begin to repeat.

The terms are those of Leben and Tzanetakis (ACM TACO 16(3), 2019, section 2.1). All sets are without
parameters: sizes are known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ..base.errors import DeclarationError
from ..sets.values import Map, Set

__all__ = [
    "FAR",
    "divisors_of",
    "dot",
    "endless_dimensions",
    "extreme",
    "greatest_missing",
    "names_of",
    "rank_of",
    "repetition",
    "shifted",
    "vector_text",
]

FAR = 2**40
"""Later than anything that only the beginning of a stream has."""

Vector = tuple[int, ...]

# Of floors and remainders, in isl's text: (n + i)/64, n mod 3, 8o1 <= n.
_DENOMINATOR = re.compile(r"(?:/|mod )\d+|\d+(?=[a-z*])")
_DIVISOR = re.compile(r"(?:/|mod )(\d+)")
_MOST = 2**20


def names_of(rank: int, letter: str = "i") -> list[str]:
    return [f"{letter}{d}" for d in range(rank)]


def rank_of(points: Set) -> int:
    """Of the one space of a set."""
    ((_, dimensions, _),) = points._shapes()
    return len(dimensions)


def vector_text(direction: Sequence[int], names: Sequence[str]) -> str:
    """d . i as isl's text."""
    terms = [f"{factor} * ({name})" for factor, name in zip(direction, names, strict=True)]
    return " + ".join(terms) or "0"


def dot(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(first, second, strict=True))


def extreme(numbers: Set, largest: bool) -> int | None:
    """The largest or smallest number of a set of numbers; None where there is none, or no end."""
    if numbers.is_empty:
        return None
    sign = ">= " if largest else "<= -"
    if not (numbers & Set(f"{{ [t] : t {sign}{FAR * FAR} }}")).is_empty:
        return None
    found = (numbers.lexmax() if largest else numbers.lexmin()).sample()
    return None if found is None else int(found.coordinates[0])


def divisors_of(text: str) -> tuple[int, int]:
    """The least common multiple, and the product, of what the floors and remainders in isl's text divide by."""
    found = {int(each) for each in _DIVISOR.findall(text)} - {0}
    return math.lcm(*found), math.prod(found)


def endless_dimensions(points: Set, name: str) -> list[int]:
    """The dimensions along which a set of the space `name` has no end."""
    rank = rank_of(points)
    names = names_of(rank)
    tuple_text = f"{name}[{', '.join(names)}]"
    return [
        axis
        for axis in range(rank)
        if not (
            points & Set(f"{{ {tuple_text} : {names[axis]} >= {FAR} or {names[axis]} <= -{FAR} }}")
        ).is_empty
    ]


def _offered(points: Set, name: str, axis: int) -> tuple[Map, Map]:
    """``{ [K] -> s[x + K] }`` and ``{ [K] -> s[x - K] }`` for late points x of a set."""
    names = names_of(rank_of(points))
    own = f"{name}[{', '.join(names)}]"
    moved = [f"{one} + K" if d == axis else one for d, one in enumerate(names)]
    back = [f"{one} - K" if d == axis else one for d, one in enumerate(names)]
    late = points & Set(f"{{ {own} : {names[axis]} >= {FAR} }}")
    onward = Map(f"{{ {own} -> [[K] -> {name}[{', '.join(moved)}]] : K >= 1 }}")
    backward = Map(
        f"{{ {own} -> [[K] -> {name}[{', '.join(back)}]] : K >= 1 and {names[axis]} - K >= {FAR} }}"
    )
    return onward(late).unwrap(), backward(late).unwrap()


def repetition(values: Map, name: str, axis: int) -> tuple[int, Vector]:
    """The smallest K after which a function of a statement repeats, and by how much it grows.

    From some time on, the domain of ``values: { s[x] -> [v] }`` is the same after K steps along `axis`,
    and ``v(x + K) - v(x)`` is one vector: the smallest ray of the set of values, if no two points
    have the same one.

    Raises:
        DeclarationError: there is no such number.
    """
    domain = values.domain
    text = f"{values} {domain}"
    factors = [int(re.sub(r"\D", "", each)) or 1 for each in _DENOMINATOR.findall(text)]
    # Floors within floors, such as n // 64 % 50, repeat after products.
    _, nested = divisors_of(text)
    for likely in sorted({nested, math.lcm(*factors)}):
        if likely > _MOST:
            continue
        for steps in (each for each in range(1, likely + 1) if likely % each == 0):
            ray = _grown_by(values, domain, name, axis, steps)
            if ray is not None:
                return steps, ray
    return _smallest_repetition(values, domain, name, axis)


def _grown_by(values: Map, domain: Set, name: str, axis: int, steps: int) -> Vector | None:
    """By how much the values grow after so many steps; None if that is no one vector."""
    ((_, _, (_, (_, coordinates, _))),) = values._shapes()
    names, size = names_of(rank_of(domain)), len(coordinates)
    own = f"{name}[{', '.join(names)}]"
    moved = [f"{one} + {steps}" if d == axis else one for d, one in enumerate(names)]
    late = domain & Set(f"{{ {own} : {names[axis]} >= {FAR} }}")
    later = domain & Set(f"{{ {own} : {names[axis]} >= {FAR + steps} }}")
    if Map(f"{{ {own} -> {name}[{', '.join(moved)}] }}")(late) != later:
        return None
    pairs = Map(f"{{ {own} -> [{own} -> {name}[{', '.join(moved)}]] }}")
    before, after = names_of(size, "v"), names_of(size, "w")
    differences = ", ".join(f"{b} - {a}" for a, b in zip(before, after, strict=True))
    grown = (
        pairs.intersect_domain(late)
        .then(values * values)
        .then(Map(f"{{ [[{', '.join(before)}] -> [{', '.join(after)}]] -> [{differences}] }}"))
    )
    found = grown.range.sample()
    if found is None or not (grown.range - Set(f"{{ {found} }}")).is_empty:
        return None
    return tuple(int(each) for each in found.coordinates)


def _smallest_repetition(values: Map, domain: Set, name: str, axis: int) -> tuple[int, Vector]:
    """`repetition`, of all numbers of steps at once: slow if there are many floors."""
    ((_, _, (_, (_, coordinates, _))),) = values._shapes()
    rank, size = rank_of(domain), len(coordinates)
    names = names_of(rank)
    own = f"{name}[{', '.join(names)}]"
    moved = [f"{one} + K" if d == axis else one for d, one in enumerate(names)]
    bad = Set("{ [K] : K < 1 }")
    for offered in _offered(domain, name, axis):
        bad = bad | offered.subtract_range(domain).domain
    late = domain & Set(f"{{ {own} : {names[axis]} >= {FAR} }}")
    steps = Map(f"{{ [K] -> [{own} -> {name}[{', '.join(moved)}]] : K >= 1 }}")
    known = steps.intersect_range(late * domain)
    before, after = names_of(size, "v"), names_of(size, "w")
    differences = ", ".join(f"{b} - {a}" for a, b in zip(before, after, strict=True))
    grown = known.then(values * values).then(
        Map(f"{{ [[{', '.join(before)}] -> [{', '.join(after)}]] -> [{differences}] }}")
    )
    twice = grown.range_product(grown)
    same = Map(f"{{ [K] -> [[{', '.join(before)}] -> [{', '.join(before)}]] }}")
    bad = bad | (twice - same).domain
    good = Set("{ [K] : K >= 1 }") - bad
    smallest = extreme(good, largest=False)
    if smallest is None:
        raise DeclarationError(
            f"{name} never repeats: no number of steps moves all that it does by one distance"
        )
    found = grown(Set(f"{{ [{smallest}] }}")).sample()
    if found is None:
        raise DeclarationError(f"{name} has no late elements")
    return smallest, tuple(int(each) for each in found.coordinates)


def shifted(points: Set, ray: Sequence[int]) -> Set:
    """The points t of which t + ray is in the set (one space without a name)."""
    names = names_of(len(ray), "t")
    moved = [f"{name} - ({step})" for name, step in zip(names, ray, strict=True)]
    return Map(f"{{ [{', '.join(names)}] -> [{', '.join(moved)}] }}")(points)


def greatest_missing(points: Set, ray: Sequence[int], direction: Sequence[int]) -> int | None:
    """The greatest ``d . t`` of a point t that the set has and t + ray not, or the other way round; None
    where there is no such point.

    From the next number on, the set is the same after each step along the ray: the exact onset of
    its period.

    Raises:
        DeclarationError: such points have no end: the ray is none of the set.
    """
    before = shifted(points, ray)
    missing = (points - before) | (before - points)
    if missing.is_empty:
        return None
    names = names_of(len(ray), "t")
    along = Map(f"{{ [{', '.join(names)}] -> [{vector_text(direction, names)}] }}")
    found = extreme(along(missing), largest=True)
    if found is None:
        raise DeclarationError(f"{tuple(ray)} is no ray of {points}")
    return found
