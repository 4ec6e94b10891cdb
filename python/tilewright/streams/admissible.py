"""Programs in the polyhedral model without an end, and whether they are admissible.

Leben and Tzanetakis, ACM TACO 16(3), 2019, section 3: one infinite direction, accesses of boundedly many
elements, connected parts, a schedule that is valid and rate-consistent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NoReturn

from ..base.errors import DeclarationError
from ..sets.points import Point
from ..sets.values import Map, Set
from .unbounded import (
    divisors_of,
    endless_dimensions,
    extreme,
    greatest_missing,
    names_of,
    rank_of,
    repetition,
)

__all__ = [
    "AccessRay",
    "AdmissibleProgram",
    "Statement",
    "flat_product",
    "parts_of",
    "ratio_of",
    "unnamed",
]

Vector = tuple[int, ...]

_SHOWN = 1000
"""The time of the instances that refusals name."""


@dataclass(frozen=True)
class Statement:
    """One statement of an unbounded program.

    Attributes:
        name: its name.
        schedule: ``{ s[i] -> [t] }``, on its domain.
        axis: which of its iterators has no end; None if it has finitely many instances.
        step: after so many steps along that iterator its times repeat; 0 without one.
        ray: the smallest ray of its times; all 0 without one.
    """

    name: str
    schedule: Map
    axis: int | None
    step: int
    ray: Vector


@dataclass(frozen=True)
class AccessRay:
    """The smallest ray of an access schedule: what a statement accesses, and when.

    Attributes:
        statement: the statement.
        array: the array that it writes or reads.
        elements: how far what it accesses moves on.
        times: while its time moves on by this.
    """

    statement: str
    array: str
    elements: Vector
    times: Vector


@dataclass
class AdmissibleProgram:
    """Statements with times, and the arrays that they write and read; `UnboundedProgram` says more.

    Attributes:
        statements: with the rays of their times.
        accesses: the rays of what they access.
    """

    schedule: Map
    writes: Map
    reads: Map
    statements: tuple[Statement, ...] = field(init=False)
    accesses: tuple[AccessRay, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.schedule = Map(self.schedule)
        domain = self.schedule.domain
        self.writes = Map(self.writes).intersect_domain(domain)
        self.reads = Map(self.reads).intersect_domain(domain)
        for part, what in (
            (self.schedule, "schedule"),
            (self.writes, "writes"),
            (self.reads, "reads"),
        ):
            if part.parameters:
                raise DeclarationError(
                    f"the {what} of an unbounded program has parameters, {', '.join(part.parameters)}: "
                    "give them numbers with fix(...)"
                )
        if self.schedule.is_empty:
            raise DeclarationError("the schedule of an unbounded program is empty")
        if not self.schedule.is_single_valued:
            raise DeclarationError("the schedule gives an instance several times")
        self.statements = tuple(self._statements())
        self._check_times()
        self._check_connected()
        self.accesses = tuple(self._accesses())
        self._check_rates()

    # ---- its parts ----

    @cached_property
    def dimensions(self) -> int:
        """Of the schedule."""
        return rank_of(self.schedule.range)

    @cached_property
    def dependences(self) -> Map:
        """Pairs of instances of which the second one reads what the first one writes."""
        return self.writes.then(self.reads.reverse())

    @cached_property
    def distances(self) -> Set:
        """The dependence distances (Definition 2.10)."""
        in_time = self.dependences.apply_domain(self.schedule).apply_range(self.schedule)
        return in_time.deltas()

    def _statements(self) -> Iterator[Statement]:
        shapes = self.schedule._shapes()
        lengths = {len(sides[1][1]) for _, _, sides in shapes}
        if len(lengths) > 1:
            raise DeclarationError(
                f"the times of a schedule have one number of dimensions, got {sorted(lengths)}"
            )
        for _, _, ((name, iterators, _), _) in shapes:
            own = Set(f"{{ {name}[{', '.join(names_of(len(iterators)))}] }}")
            schedule = self.schedule.intersect_domain(own)
            endless = endless_dimensions(schedule.domain, name)
            if len(endless) > 1:
                which = " and ".join(iterators[axis] or f"number {axis}" for axis in endless)
                raise DeclarationError(
                    f"{name} has {len(endless)} infinite directions, {which}: an unbounded program has "
                    f"one; an instance is {_late(schedule.domain, name, endless)}"
                )
            if not endless:
                yield Statement(name, schedule, None, 0, (0,) * next(iter(lengths)))
            else:
                step, ray = repetition(schedule, name, endless[0])
                yield Statement(name, schedule, endless[0], step, ray)

    def _accesses(self) -> Iterator[AccessRay]:
        by_name = {one.name: one for one in self.statements}
        for relation in (self.writes, self.reads):
            for part in parts_of(relation):
                ((_, _, ((name, _, _), (array, elements, _))),) = part._shapes()
                statement = by_name[name]
                if statement.axis is None:
                    continue
                if endless_dimensions(part.domain, name) == []:
                    continue  # only in the beginning
                self._check_finite(part, statement, array, len(elements))
                moved, size = _first_accessed(part, name, array, len(elements)), len(elements)
                both = flat_product(moved, statement.schedule, size, self.dimensions)
                _, ray = repetition(both, name, statement.axis)
                every = flat_product(
                    unnamed(part, array, size), statement.schedule, size, self.dimensions
                )
                ray = _ray_of_all(every.range, ray, part)
                yield AccessRay(name, array, ray[:size], ray[size:])

    # ---- whether it is admissible ----

    def _check_finite(self, part: Map, one: Statement, array: str, rank: int) -> None:
        """What one instance accesses lies in a box of one size."""
        names = names_of(rank, "e")
        pairs = unnamed(part, array, rank)
        for axis in range(rank):
            along = pairs.then(f"{{ [{', '.join(names)}] -> [{names[axis]}] }}")
            widths = along.range_product(along).range.unwrap().deltas()
            if not widths.is_empty and extreme(widths, largest=True) is None:
                self._refuse_access(part, one, array)

    def _refuse_access(self, part: Map, one: Statement, array: str) -> NoReturn:
        iterators = names_of(rank_of(part.domain))
        own = f"{one.name}[{', '.join(iterators)}]"
        assert one.axis is not None
        seen = []
        for time in (_SHOWN, 2 * _SHOWN, 4 * _SHOWN):
            late = part.intersect_domain(f"{{ {own} : {iterators[one.axis]} = {time} }}")
            instance = late.domain.lexmin()
            seen.append((instance.sample(), late(instance)))
        first, elements = seen[0]
        ends = " and ".join(
            dict.fromkeys(str(end.sample()) for end in (elements.lexmin(), elements.lexmax()))
        )
        if elements.count() < seen[1][1].count() < seen[2][1].count():
            raise DeclarationError(
                f"{one.name} accesses unboundedly many elements of {array}: {first} accesses "
                f"{elements.count()}, from {ends}, and {seen[1][0]} accesses {seen[1][1].count()}"
            )
        raise DeclarationError(
            f"the schedule is not rate-consistent: {one.name} moves on in {array} at two rates, so that "
            f"no finite memory keeps what it reads; for example, {first} accesses {ends}"
        )

    def _check_times(self) -> None:
        if self.distances.is_empty:
            return
        names = names_of(self.dimensions, "t")
        conditions = [
            " and ".join([*(f"{one} = 0" for one in names[:d]), f"{names[d]} > 0"])
            for d in range(self.dimensions)
        ]
        forward = Set(f"{{ [{', '.join(names)}] : {' or '.join(conditions)} }}")
        wrong = self.distances - forward
        if wrong.is_empty:
            return
        times = self.schedule
        later = times.then(
            f"{{ [{', '.join(names)}] -> [{', '.join(names_of(self.dimensions, 's'))}] : "
            f"{_not_after(names, names_of(self.dimensions, 's'))} }}"
        ).then(times.reverse())
        broken = self.dependences & later
        witness = broken.wrap().sample()
        raise DeclarationError(
            f"the schedule is not valid: {_pair_text(witness)}, and the second one reads what the first "
            "one writes, but does not run later"
        )

    def _check_connected(self) -> None:
        names = [one.name for one in self.statements]
        groups = {name: {name} for name in names}
        for one, other in self._connected():
            if groups[one] is not groups[other]:
                joined = groups[one] | groups[other]
                for name in joined:
                    groups[name] = joined
        first = groups[names[0]]
        alone = [name for name in names if name not in first]
        if alone:
            raise DeclarationError(
                f"{', '.join(alone)} and {names[0]} have nothing to do with each other: no chain of "
                "dependences connects them, so nothing says at which rate they run; make programs of "
                "their own, or synchronise them"
            )

    def _connected(self) -> Iterator[tuple[str, str]]:
        """Statements of which one reads what the other writes, and those that write one array, the pieces of a
        computation: how they move on in it says what their rates have in common."""
        for part in parts_of(self.dependences):
            ((_, _, ((first, _, _), (second, _, _))),) = part._shapes()
            yield first, second
        writers: dict[str, str] = {}
        for part in parts_of(self.writes):
            ((_, _, ((writer, _, _), (array, _, _))),) = part._shapes()
            yield writers.setdefault(array, writer), writer

    def _check_rates(self) -> None:
        direction: tuple[str, Vector] | None = None
        for one in self.statements:
            if one.axis is None:
                continue
            if direction is None:
                direction = (one.name, one.ray)
            elif ratio_of(direction[1], one.ray) is None:
                raise DeclarationError(
                    f"the schedule is not rate-consistent: {direction[0]} moves along {direction[1]}, and "
                    f"{one.name} along {one.ray}"
                )
        seen: dict[str, AccessRay] = {}
        for access in self.accesses:
            other = seen.setdefault(access.array, access)
            ratio = ratio_of(other.times, access.times)
            if ratio is None or tuple(ratio * e for e in other.elements) != access.elements:
                raise DeclarationError(
                    f"the schedule is not rate-consistent: {other.statement} moves on by {other.elements} "
                    f"in {other.array} while its time moves on by {other.times}, and {access.statement} by "
                    f"{access.elements} in {access.times}: the distance between what is written and what "
                    "is read grows without bound"
                )


def _ray_of_all(points: Set, first: Vector, part: Map) -> Vector:
    """The smallest multiple of the ray of the first elements that is one of all elements: within blocks, others may be
    read in turns.

    Args:
        points: what is accessed, with its times.
        first: the ray of the first element that each instance accesses.
        part: the accesses.
    """
    factors, _ = divisors_of(f"{part}")
    for factor in (each for each in range(1, factors + 1) if factors % each == 0):
        ray = tuple(factor * each for each in first)
        try:
            greatest_missing(points, ray, ray)
        except DeclarationError:
            continue
        return ray
    return first


def ratio_of(first: Vector, second: Vector) -> Fraction | None:
    """The positive number by which the first vector is multiplied to be the second one."""
    pivot = next((d for d, each in enumerate(first) if each), None)
    if pivot is None:
        return None
    ratio = Fraction(second[pivot], first[pivot])
    same = all(ratio * a == b for a, b in zip(first, second, strict=True))
    return ratio if same and ratio > 0 else None


def parts_of(relation: Map) -> Iterator[Map]:
    """The relation, one pair of spaces at a time."""
    for _, _, ((first, inner, _), (second, outer, _)) in relation._shapes():
        own, other = names_of(len(inner)), names_of(len(outer), "e")
        yield relation & Map(f"{{ {first}[{', '.join(own)}] -> {second}[{', '.join(other)}] }}")


def unnamed(part: Map, array: str, size: int) -> Map:
    names = ", ".join(names_of(size, "e"))
    return part.then(f"{{ {array}[{names}] -> [{names}] }}")


def _first_accessed(part: Map, name: str, array: str, size: int) -> Map:
    """The smallest element that each instance accesses, without the array's name."""
    return unnamed(part, array, size).lexmin()


def flat_product(first: Map, second: Map, left: int, right: int) -> Map:
    """``{ s[i] -> [e, t] }`` of ``{ s[i] -> [e] }`` and ``{ s[i] -> [t] }``."""
    e, t = ", ".join(names_of(left, "e")), ", ".join(names_of(right, "t"))
    flat = ", ".join(names_of(left, "e") + names_of(right, "t"))
    return first.range_product(second).then(f"{{ [[{e}] -> [{t}]] -> [{flat}] }}")


def _not_after(first: Sequence[str], second: Sequence[str]) -> str:
    """first >= second in lexicographic order."""
    cases = [
        " and ".join(
            [
                *(f"{a} = {b}" for a, b in zip(first[:d], second[:d], strict=True)),
                f"{first[d]} > {second[d]}",
            ]
        )
        for d in range(len(first))
    ]
    cases.append(" and ".join(f"{a} = {b}" for a, b in zip(first, second, strict=True)))
    return " or ".join(cases)


def _pair_text(point: Point | None) -> str:
    return "" if point is None else str(point)


def _late(points: Set, name: str, axes: Sequence[int]) -> Point | None:
    names = names_of(rank_of(points))
    late = " and ".join(f"{names[axis]} >= 1000" for axis in axes)
    return (points & Set(f"{{ {name}[{', '.join(names)}] : {late} }}")).sample()
