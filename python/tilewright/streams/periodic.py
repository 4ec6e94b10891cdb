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
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from ..base.checks import DECLARATION, a_list, a_string, an_integer, described
from ..base.errors import DeclarationError, DeclarationTypeError
from ..base.plurals import counted
from ..sets.values import Map, Set
from .admissible import AdmissibleProgram, flat_product, parts_of, ratio_of, unnamed
from .storage import StorageSize, storage_sizes
from .unbounded import (
    dot,
    endless_dimensions,
    extreme,
    greatest_missing,
    names_of,
    rank_of,
    vector_text,
)

__all__ = ["PeriodicTiling", "UnboundedProgram"]

Vector = tuple[int, ...]


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
class UnboundedProgram(AdmissibleProgram):
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
            raise DeclarationError(
                "all statements have finitely many instances: there is no period"
            )
        among = self.dimensions
        if dimensions is not None:
            among = an_integer(dimensions, "the number of dimensions", DECLARATION, minimum=1)
            if among > self.dimensions:
                raise DeclarationError(
                    f"the schedule has {counted(self.dimensions, 'dimension')}, got dimensions={among}"
                )
        if direction is None:
            chosen = self._direction(ray, among)
        else:
            chosen = self._checked_direction(direction, ray)
        smallest = math.lcm(
            *(dot(chosen, one.ray) for one in self.statements if one.axis is not None),
            *(dot(chosen, one.times) for one in self.accesses),
        )
        own = (
            smallest
            if size is None
            else an_integer(size, "the size of a period", DECLARATION, minimum=1)
        )
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
        candidates = sorted(
            product(range(-2, 3), repeat=min(among, 4)), key=lambda v: (sum(map(abs, v)), v)
        )
        for candidate in candidates:
            vector = (*candidate, *((0,) * (among - len(candidate))), *rest)
            if self._is_legal(vector, ray):
                return vector
        for axis in range(1, among):
            steep = self._steep(ray, axis)
            if steep is not None:
                return steep
        raise DeclarationError(
            f"the schedule is not productive: it moves on along {ray}, and there is no direction along "
            "which time moves on and no dependence goes back; a distance of a dependence is "
            f"{self._backward(ray)}"
        )

    def _steep(self, ray: Vector, axis: int) -> Vector | None:
        """A direction along `axis` and, many times more, along the dimensions in front of it, which
        carry what goes back along `axis`."""

        def direction(weight: int) -> Vector:
            front = tuple(weight ** (axis - d) for d in range(axis))
            return (*front, 1, *((0,) * (self.dimensions - axis - 1)))

        weight = 4
        while not self._is_legal(direction(weight), ray):
            weight *= 2
            if weight > 2**20:
                return None
        low = weight // 2
        while weight - low > 1:
            middle = (low + weight) // 2
            low, weight = (
                (low, middle) if self._is_legal(direction(middle), ray) else (middle, weight)
            )
        return direction(weight)

    def _backward(self, ray: Vector) -> Vector:
        names = names_of(self.dimensions, "t")
        back = self.distances & Set(f"{{ [{', '.join(names)}] : {vector_text(ray, names)} < 0 }}")
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
            for part in parts_of(relation):
                last = _later(last, self._access_onset(part, direction, distance))
        if last is None:
            raise DeclarationError("the schedule has no beginning")
        return last + 1

    def _access_onset(self, part: Map, direction: Vector, distance: Vector) -> int | None:
        """Like `greatest_missing` of the access schedule, elements in front of times."""
        ((_, _, ((name, iterators, _), (array, elements, _))),) = part._shapes()
        size = len(elements)
        own = Set(f"{{ {name}[{', '.join(names_of(len(iterators)))}] }}")
        both = flat_product(
            unnamed(part, array, size), self.schedule.intersect_domain(own), size, self.dimensions
        )
        moves = [
            one.elements for one in self.accesses if one.statement == name and one.array == array
        ]
        if not moves or endless_dimensions(part.domain, name) == []:
            return greatest_missing(both.range, (0,) * size + distance, (0,) * size + direction)
        access = next(one for one in self.accesses if one.statement == name and one.array == array)
        ratio = ratio_of(access.times, distance)
        assert ratio is not None
        along = tuple(int(ratio * each) for each in access.elements)
        return greatest_missing(both.range, along + distance, (0,) * size + direction)

    def _require_tiling(self, tiling: object) -> None:
        if not isinstance(tiling, PeriodicTiling):
            raise DeclarationTypeError(
                f"a tiling is what periodic() gives, got {described(tiling)}"
            )
        if len(tiling.direction) != self.dimensions:
            raise DeclarationError(
                f"the tiling is one of {counted(len(tiling.direction), 'dimension')}, the schedule has "
                f"{self.dimensions}"
            )

    # ---- latency ----

    def input_offset(self, tiling: PeriodicTiling, source: str, target: str) -> int:
        """How far input is ahead of output: the largest ``i - floor(r m)`` of elements i that the
        statement `source` reads from outside before `target` hands element m out, if r elements come
        in for each one that goes out. The latency (section 6.2.7 of the paper) is this number
        minus the smallest one that any program of the same meaning has.
        """
        self._require_tiling(tiling)
        by_name = {one.name: one for one in self.statements}
        for what, name in (("source", source), ("target", target)):
            a_string(name, f"the statement {what}", DECLARATION)
            if name not in by_name or by_name[name].axis is None:
                raise DeclarationError(f"{name!r} is no statement with infinitely many instances")
        into, out = by_name[source], by_name[target]
        scale = ratio_of(out.ray, into.ray)
        assert scale is not None and into.axis is not None and out.axis is not None
        rate = Fraction(into.step) / (scale * out.step)
        times = tiling.prefix
        first, second = into.schedule.then(times), out.schedule.then(times)
        earlier = first.range.before(second.range)
        pairs = first.then(earlier).then(second.reverse())
        i = names_of(rank_of(into.schedule.domain))
        m = names_of(rank_of(out.schedule.domain), "m")
        offset = f"{i[into.axis]} - floor({rate.numerator} * ({m[out.axis]}) / {rate.denominator})"
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
        self._require_tiling(tiling)
        unordered = [
            an_integer(one, "the number of a parallel dimension", DECLARATION, minimum=0)
            for one in a_list(parallel, "the parallel dimensions", DECLARATION, "integers")
        ]
        if any(one >= self.dimensions for one in unordered):
            raise DeclarationError(
                f"the schedule has {counted(self.dimensions, 'dimension')}, got the parallel ones {unordered}"
            )
        times = self.schedule.then(tiling.prefix)
        sizes = storage_sizes(times, self.writes, self.reads, [one + 1 for one in unordered])
        moves: dict[str, Vector] = {}
        for access in self.accesses:
            ratio = ratio_of(access.times, tiling.ray)
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
