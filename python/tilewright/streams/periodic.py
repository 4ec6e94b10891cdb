"""Periodic tiling: an endless schedule as a prologue and equal periods, all of them finite.

`UnboundedProgram` is a program in the polyhedral model with a schedule; `UnboundedProgram.periodic` finds
the direction, the offset and the size of a periodic tiling (Leben and Tzanetakis, ACM TACO 16(3), 2019,
section 4, Algorithm 1). One thing differs. The paper's offset is the largest ``d . v`` of the vertices v
of all schedules. If a statement has finitely many instances, the last of them then is in the first
period and in no later one, so that the periods are not equal: the offset is one short. Here the offset
is the least one that is right: one more than ``d . t`` of the last time t at which something is done, or
accessed, that is not done at t + r as well, or the other way round (r is the distance from period to
period).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product

from ..base.checks import DECLARATION, a_list, an_integer
from ..base.errors import DeclarationError
from ..sets.points import Point
from ..sets.values import Map, Set
from .storage import StorageSize, storage_sizes
from .unbounded import (
    dot,
    endless_dimensions,
    extreme,
    greatest_missing,
    names_of,
    rank_of,
    repetition,
    vector_text,
)

__all__ = ["AccessRay", "PeriodicTiling", "Statement", "UnboundedProgram"]

Vector = tuple[int, ...]


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


@dataclass(frozen=True)
class PeriodicTiling:
    """``tile(t) = floor((direction . t - offset) / size)``: negative in the prologue, 0 in the first period.

    Attributes:
        direction: the tiling direction, one number for each dimension of the schedule.
        offset: where the first period begins.
        size: of a period, along the direction.
        ray: the distance from each period to the next one.
        smallest_size: `size` is a multiple of it.
    """

    direction: Vector
    offset: int
    size: int
    ray: Vector
    smallest_size: int

    @property
    def tile(self) -> Map:
        """``{ [t0, t1, ...] -> [tile] }``."""
        names = names_of(len(self.direction), "t")
        along = vector_text(self.direction, names)
        return Map(
            f"{{ [{', '.join(names)}] -> [floor(({along} - ({self.offset})) / {self.size})] }}"
        )

    @property
    def prefix(self) -> Map:
        """``{ [t0, t1, ...] -> [tile, t0, t1, ...] }``: the periodically tiled schedule of a time."""
        names = names_of(len(self.direction), "t")
        along = vector_text(self.direction, names)
        tile = f"floor(({along} - ({self.offset})) / {self.size})"
        return Map(f"{{ [{', '.join(names)}] -> [{', '.join([tile, *names])}] }}")

    def __str__(self) -> str:
        return f"direction {self.direction}, offset {self.offset}, size {self.size}"


@dataclass
class UnboundedProgram:
    """Statements with times, and the arrays that they write and read, in one infinite direction.

    All of it is isl's text, or a `tw.Map`; sizes are numbers::

        program = UnboundedProgram(
            schedule="{ in[n] -> [n, 0] : n >= 0; out[m] -> [2m + 1, 1] : m >= 0 }",
            writes="{ in[n] -> x[n] }",
            reads="{ out[m] -> x[2m]; out[m] -> x[2m + 1] }",
        )
        tiling = program.periodic()
        assert (tiling.direction, tiling.offset, tiling.size) == ((1, 0), 0, 2)
        assert program.buffers(tiling) == {"x": (2,)}

    Args:
        schedule: when each instance runs; its domain is the instances.
        writes: the element that each instance writes.
        reads: the elements that each instance reads.

    Raises:
        DeclarationError: it is not admissible (Definition 3.4 of the paper): two infinite directions,
            accesses of unboundedly many elements, parts that are not connected, rates that are not
            consistent, a schedule that is not valid. The message has an example.
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
        for part, what in ((self.schedule, "schedule"), (self.writes, "writes"), (self.reads, "reads")):
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
            for part in _parts(relation):
                ((_, _, ((name, _, _), (array, elements, _))),) = part._shapes()
                statement = by_name[name]
                if statement.axis is None:
                    continue
                if endless_dimensions(part.domain, name) == []:
                    continue  # only in the beginning
                self._check_finite(part, name, array, len(elements))
                moved, size = _first_accessed(part, name, array, len(elements)), len(elements)
                both = _flat_product(moved, statement.schedule, size, self.dimensions)
                _, ray = repetition(both, name, statement.axis)
                yield AccessRay(name, array, ray[:size], ray[size:])

    # ---- whether it is admissible ----

    def _check_finite(self, part: Map, name: str, array: str, rank: int) -> None:
        names = names_of(rank, "e")
        pairs = _unnamed(part, array, rank)
        for axis in range(rank):
            one = pairs.then(f"{{ [{', '.join(names)}] -> [{names[axis]}] }}")
            widths = one.range_product(one).range.unwrap().deltas()
            if not widths.is_empty and extreme(widths, largest=True) is None:
                raise DeclarationError(
                    f"{name} accesses unboundedly many elements of {array}: there is no limit to the "
                    "number that one instance needs, so no finite memory has them"
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
        broken = (self.dependences.reverse() & later).reverse()
        witness = broken.wrap().sample()
        raise DeclarationError(
            f"the schedule is not valid: {_pair_text(witness)}, and the second one reads what the first "
            "one writes, but does not run later"
        )

    def _check_connected(self) -> None:
        names = [one.name for one in self.statements]
        groups = {name: {name} for name in names}
        for part in _parts(self.dependences):
            ((_, _, ((first, _, _), (second, _, _))),) = part._shapes()
            if groups[first] is not groups[second]:
                joined = groups[first] | groups[second]
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

    def _check_rates(self) -> None:
        direction: tuple[str, Vector] | None = None
        for one in self.statements:
            if one.axis is None:
                continue
            if direction is None:
                direction = (one.name, one.ray)
            elif _ratio(direction[1], one.ray) is None:
                raise DeclarationError(
                    f"the schedule is not rate-consistent: {direction[0]} moves along {direction[1]}, and "
                    f"{one.name} along {one.ray}"
                )
        seen: dict[str, AccessRay] = {}
        for access in self.accesses:
            other = seen.setdefault(access.array, access)
            ratio = _ratio(other.times, access.times)
            if ratio is None or tuple(ratio * e for e in other.elements) != access.elements:
                raise DeclarationError(
                    f"the schedule is not rate-consistent: {other.statement} moves on by {other.elements} "
                    f"in {other.array} while its time moves on by {other.times}, and {access.statement} by "
                    f"{access.elements} in {access.times}: the distance between what is written and what "
                    "is read grows without bound"
                )

    # ---- periodic tiling ----

    def periodic(
        self,
        direction: Sequence[int] | None = None,
        size: int | None = None,
        dimensions: int | None = None,
    ) -> PeriodicTiling:
        """The smallest periodic tiling, or the one that is asked for (Algorithm 1).

        Args:
            direction: the tiling direction, one number for each dimension of the schedule (those left
                out are 0). Without it the first unit vector that is legal, or else the legal vector
                of smallest sum of absolute values.
            size: of a period along the direction, a multiple of the smallest one. The smallest one
                without it.
            dimensions: how many dimensions at the front `direction` may be chosen from: those of
                tiles, so that no tile is cut. All of them without it.

        Raises:
            DeclarationError: the direction makes no finite periods or splits dependences, no direction
                is legal (the schedule is not productive), or the size is no multiple.
        """
        ray = next((one.ray for one in self.statements if one.axis is not None), None)
        if ray is None:
            raise DeclarationError("all statements have finitely many instances: there is no period")
        among = self.dimensions if dimensions is None else dimensions
        if direction is None:
            chosen = self._direction(ray, among)
        else:
            chosen = self._checked_direction(direction, ray)
        smallest = math.lcm(
            *(dot(chosen, one.ray) for one in self.statements if one.axis is not None),
            *(dot(chosen, one.times) for one in self.accesses),
        )
        own = smallest if size is None else an_integer(size, "the size of a period", DECLARATION, minimum=1)
        if own % smallest:
            raise DeclarationError(
                f"the size of a period is a multiple of {smallest} along {chosen}, got {own}"
            )
        factor = Fraction(own, dot(chosen, ray))
        distance = tuple(int(factor * each) for each in ray)
        return PeriodicTiling(chosen, self._onset(chosen, distance), own, distance, smallest)

    def _least(self, direction: Vector) -> int | None:
        """The smallest d . delta; None if there is none or it has no end."""
        names = names_of(self.dimensions, "t")
        along = Map(f"{{ [{', '.join(names)}] -> [{vector_text(direction, names)}] }}")
        return extreme(along(self.distances), largest=False)

    def _is_legal(self, direction: Vector, ray: Vector) -> bool:
        if dot(direction, ray) <= 0:
            return False
        least = self._least(direction)
        return self.distances.is_empty or (least is not None and least >= 0)

    def _direction(self, ray: Vector, among: int) -> Vector:
        rest = (0,) * (self.dimensions - among)
        for d in range(among):
            unit = tuple(int(d == axis) for axis in range(among)) + rest
            if self._is_legal(unit, ray):
                return unit
        candidates = sorted(product(range(-2, 3), repeat=min(among, 4)), key=lambda v: sum(map(abs, v)))
        for candidate in candidates:
            vector = (*candidate, *((0,) * (among - len(candidate))), *rest)
            if self._is_legal(vector, ray):
                return vector
        raise DeclarationError(
            f"the schedule is not productive: it moves on along {ray}, and there is no direction along "
            "which time moves on and no dependence goes back; a distance of a dependence is "
            f"{self._backward(ray)}"
        )

    def _backward(self, ray: Vector) -> Vector:
        names = names_of(self.dimensions, "t")
        back = self.distances & Set(
            f"{{ [{', '.join(names)}] : {vector_text(ray, names)} < 0 }}"
        )
        found = (back if not back.is_empty else self.distances).sample()
        return tuple(int(each) for each in found.coordinates) if found is not None else ()

    def _checked_direction(self, direction: Sequence[int], ray: Vector) -> Vector:
        given = a_list(direction, "the direction of periods", DECLARATION, "integers")
        if not 0 < len(given) <= self.dimensions:
            raise DeclarationError(
                f"the direction of periods has a number for each of the {self.dimensions} dimensions of "
                f"the schedule at most, got {len(given)}"
            )
        numbers = [an_integer(one, "a direction's number", DECLARATION, bits=32) for one in given]
        chosen = tuple(numbers) + (0,) * (self.dimensions - len(numbers))
        if dot(chosen, ray) <= 0:
            raise DeclarationError(
                f"the direction {chosen} makes periods without end: time moves on along {ray}, and "
                f"{chosen} . {ray} = {dot(chosen, ray)} is not positive"
            )
        if not self._is_legal(chosen, ray):
            names = names_of(self.dimensions, "t")
            back = self.distances & Set(
                f"{{ [{', '.join(names)}] : {vector_text(chosen, names)} < 0 }}"
            )
            found = back.sample()
            shown = tuple(found.coordinates) if found is not None else "unbounded"
            raise DeclarationError(
                f"the direction {chosen} splits dependences: one has the distance {shown}, which "
                "goes back along it"
            )
        return chosen

    def _onset(self, direction: Vector, distance: Vector) -> int:
        last: int | None = None
        for one in self.statements:
            times = one.schedule.range
            last = _later(last, greatest_missing(times, distance, direction))
        for relation in (self.writes, self.reads):
            for part in _parts(relation):
                last = _later(last, self._access_onset(part, direction, distance))
        if last is None:
            raise DeclarationError("the schedule has no beginning")
        return last + 1

    def _access_onset(self, part: Map, direction: Vector, distance: Vector) -> int | None:
        """Like `greatest_missing` of the access schedule, elements in front of times."""
        ((_, _, ((name, iterators, _), (array, elements, _))),) = part._shapes()
        size = len(elements)
        own = Set(f"{{ {name}[{', '.join(names_of(len(iterators)))}] }}")
        both = _flat_product(_unnamed(part, array, size), self.schedule.intersect_domain(own), size, self.dimensions)
        moves = [
            one.elements
            for one in self.accesses
            if one.statement == name and one.array == array
        ]
        if not moves or endless_dimensions(part.domain, name) == []:
            return greatest_missing(both.range, (0,) * size + distance, (0,) * size + direction)
        access = next(one for one in self.accesses if one.statement == name and one.array == array)
        ratio = _ratio(access.times, distance)
        assert ratio is not None
        along = tuple(int(ratio * each) for each in access.elements)
        return greatest_missing(both.range, along + distance, (0,) * size + direction)

    # ---- latency ----

    def input_offset(self, tiling: PeriodicTiling, source: str, target: str) -> int:
        """How far input is ahead of output: the largest ``i - floor(r m)`` of elements i that the
        statement `source` reads from outside before `target` hands element m out, if r elements come
        in for each one that goes out. The latency (section 6.2.7 of the paper) is this number
        minus the smallest one that any program of the same meaning has.
        """
        by_name = {one.name: one for one in self.statements}
        for name in (source, target):
            if name not in by_name or by_name[name].axis is None:
                raise DeclarationError(f"{name!r} is no statement with infinitely many instances")
        into, out = by_name[source], by_name[target]
        scale = _ratio(out.ray, into.ray)
        assert scale is not None and into.axis is not None and out.axis is not None
        rate = Fraction(into.step) / (scale * out.step)
        times = tiling.prefix
        first, second = into.schedule.then(times), out.schedule.then(times)
        earlier = first.range.before(second.range)
        pairs = first.then(earlier).then(second.reverse())
        i = names_of(rank_of(into.schedule.domain))
        m = names_of(rank_of(out.schedule.domain), "m")
        offset = (
            f"{i[into.axis]} - floor({rate.numerator} * ({m[out.axis]}) / {rate.denominator})"
        )
        found = extreme(
            Map(f"{{ [{source}[{', '.join(i)}] -> {target}[{', '.join(m)}]] -> [{offset}] }}")(
                pairs.wrap()
            ),
            largest=True,
        )
        if found is None:
            raise DeclarationError(f"{source} runs ahead of {target} without bound")
        return found

    # ---- storage ----

    def buffers(
        self, tiling: PeriodicTiling, parallel: Sequence[int] = ()
    ) -> dict[str, tuple[int, ...]]:
        """The extents of a buffer for each array, by successive modulo (Definition 2.11).

        Element i of an array is stored at ``i mod extents``. Elements that are alive at one time, and
        those that instances that run in parallel access, are in different places.

        Args:
            tiling: which periods run one after the other.
            parallel: dimensions of the schedule, numbered from 0 without the period itself, whose
                instances have no order.
        """
        sizes = self.storage(tiling, parallel)
        return {name: size.extents for name, size in sizes.items()}

    def storage(
        self, tiling: PeriodicTiling, parallel: Sequence[int] = ()
    ) -> dict[str, StorageSize]:
        """Like `buffers`, with how far accesses move on from period to period."""
        times = self.schedule.then(tiling.prefix)
        sizes = storage_sizes(times, self.writes, self.reads, [one + 1 for one in parallel])
        moves: dict[str, Vector] = {}
        for access in self.accesses:
            ratio = _ratio(access.times, tiling.ray)
            if ratio is not None:
                moves[access.array] = tuple(int(ratio * each) for each in access.elements)
        return {
            name: StorageSize(extents, moves.get(name, (0,) * len(extents)))
            for name, extents in sizes.items()
        }


def _later(first: int | None, second: int | None) -> int | None:
    if first is None or second is None:
        return second if first is None else first
    return max(first, second)


def _ratio(first: Vector, second: Vector) -> Fraction | None:
    """The positive number by which the first vector is multiplied to be the second one."""
    pivot = next((d for d, each in enumerate(first) if each), None)
    if pivot is None:
        return None
    ratio = Fraction(second[pivot], first[pivot])
    same = all(ratio * a == b for a, b in zip(first, second, strict=True))
    return ratio if same and ratio > 0 else None


def _parts(relation: Map) -> Iterator[Map]:
    """The relation, one pair of spaces at a time."""
    for _, _, ((first, inner, _), (second, outer, _)) in relation._shapes():
        universe = f"{{ {first}[{', '.join(names_of(len(inner)))}] -> {second}[{', '.join(names_of(len(outer), 'e'))}] }}"
        yield relation & Map(universe)


def _unnamed(part: Map, array: str, size: int) -> Map:
    names = ", ".join(names_of(size, "e"))
    return part.then(f"{{ {array}[{names}] -> [{names}] }}")


def _first_accessed(part: Map, name: str, array: str, size: int) -> Map:
    """The smallest element that each instance accesses, without the array's name."""
    return _unnamed(part, array, size).lexmin()


def _flat_product(first: Map, second: Map, left: int, right: int) -> Map:
    """``{ s[i] -> [e, t] }`` of ``{ s[i] -> [e] }`` and ``{ s[i] -> [t] }``."""
    e, t = ", ".join(names_of(left, "e")), ", ".join(names_of(right, "t"))
    flat = ", ".join(names_of(left, "e") + names_of(right, "t"))
    return first.range_product(second).then(f"{{ [[{e}] -> [{t}]] -> [{flat}] }}")


def _not_after(first: Sequence[str], second: Sequence[str]) -> str:
    """first >= second in lexicographic order."""
    cases = [
        " and ".join([*(f"{a} = {b}" for a, b in zip(first[:d], second[:d], strict=True)), f"{first[d]} > {second[d]}"])
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
