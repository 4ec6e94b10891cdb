"""The iterators of a reduction, and bounds of iterators: what kernels and C have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .domains import Domain, fresh_names
from .linear import Floor, Linear
from .presburger import Constraint
from .tree import Reduce

__all__ = [
    "ReductionSpace",
    "bounds",
    "lines_along",
    "near_domain",
    "reduction_space",
    "simplest_bounds",
]


class ReductionSpace(NamedTuple):
    """What a reduction runs over.

    Attributes:
        inner: the iterators that it adds.
        point: where its body stands, over all iterators.
        domain: of all iterators, those around and those that it adds.
        around: the same without what the reduction says.
    """

    inner: list[str]
    point: tuple[Linear, ...]
    domain: Domain
    around: Domain


def reduction_space(
    node: Reduce, body: Domain, scope: Domain, point: Sequence[Linear], taken: set[str]
) -> ReductionSpace:
    """The points of a reduction's body that its projection takes to a point.

    Indices that the projection gives are replaced; what is left of ``projection = point`` is a
    condition of the domain.

    Args:
        node: the reduction.
        body: where its body has a value.
        scope: the iterators around it.
        point: where its value is asked for, over these iterators.
        taken: names that iterators must not have.
    """
    outer = scope.indices
    indices = fresh_names(node.projection.indices, taken | set(outer))
    place, rest = _solved(node.projection.named(indices).results, indices, point)
    inner = [name for name in indices if name not in place]
    names = (*outer, *inner)
    parts = [
        [each.substituted(place) for each in part] + [Constraint(row, True) for row in rest]
        for part in body.named(indices).parts
    ]
    around = scope.substituted(names, {})
    body_point = tuple(place.get(name, Linear.of(name)) for name in indices)
    return ReductionSpace(inner, body_point, Domain.where(names, parts) & around, around)


def _solved(
    results: Sequence[Linear], indices: Sequence[str], point: Sequence[Linear]
) -> tuple[dict[str, Linear], list[Linear]]:
    """Indices of a body as affine expressions of the others and of the point that the projection
    gives; and what is left of ``projection = point``, as expressions that are 0."""
    place: dict[str, Linear] = {}
    rest: list[Linear] = []
    rows = [result - target for result, target in zip(results, point, strict=True)]
    while rows:
        row = rows.pop(0).substituted(place)
        unit = [name for name in indices if abs(row.terms.get(name, 0)) == 1]
        if not unit:
            if row.names() or row.constant:
                rest.append(row)
            continue
        name = unit[0]
        factor = row.terms[name]
        value = (row - Linear({name: factor})) * -factor
        place = {old: each.substituted({name: value}) for old, each in place.items()}
        place[name] = value
    return place, [row.substituted(place) for row in rest]


#: The smallest polyhedron around a union takes time that is exponential in the dimensions.
_FEW_DIMENSIONS = 6


def near_domain(domain: Domain, name: str) -> Domain:
    """The domain of an iterator and those before it, as one polyhedron around it."""
    position = domain.indices.index(name)
    later = list(range(position + 1, domain.arity))
    points = domain.points.project_out(*later) if later else domain.points
    near = Domain(domain.indices[: position + 1], points)
    if len(near.parts) > 1 or any(not _has_bounds(part, name) for part in near.parts):
        near = _hull(near, name)
    return near


def _hull(domain: Domain, name: str) -> Domain:
    """One polyhedron around a domain, that has bounds of an index: the smallest, unless that takes long."""
    if domain.arity + len(domain.points.parameters) > _FEW_DIMENSIONS:
        hull = Domain(domain.indices, domain.points.simple_hull())
        if all(_has_bounds(part, name) for part in hull.parts):
            return hull
    return Domain(domain.indices, domain.points.polyhedral_hull())


def lines_along(domain: Domain, name: str) -> list[Sequence[Constraint]]:
    """Polyhedra around the values of one index, each with bounds of it where there are any."""
    position = domain.indices.index(name)
    others = [number for number in range(domain.arity) if number != position]
    points = domain.points.project_out(*others) if others else domain.points
    found: list[Sequence[Constraint]] = []
    for part in Domain((name,), points).parts:
        if not _has_bounds(part, name):
            line = Domain.where((name,), [part])
            found += Domain((name,), line.points.polyhedral_hull()).parts
        else:
            found.append(part)
    return found


def _has_bounds(part: Sequence[Constraint], name: str) -> bool:
    """Whether both bounds are inequalities of the index. Of one whose parity decides about others, a
    bound may be one of its half, ``floor(i/2) <= n``."""
    return all(bounds(part, name))


def bounds(part: Sequence[Constraint], name: str) -> tuple[list[Linear], list[Linear]]:
    """The lower and the upper bounds of a name, the simplest first."""
    lower: list[tuple[int, Linear]] = []
    upper: list[tuple[int, Linear]] = []
    for each in part:
        factor = each.linear.terms.get(name, 0)
        rest = each.linear - Linear({name: factor})
        if not factor or name in rest.names():
            continue
        size = abs(factor)
        cost = 10 * (size != 1) + len(rest.terms)
        if factor > 0 or each.is_equality:
            value = rest if factor > 0 else -rest
            lower.append((cost, -_quotient(value, size)))
        if factor < 0 or each.is_equality:
            value = rest if factor < 0 else -rest
            upper.append((cost, _quotient(value, size)))
    return (
        [value for _, value in sorted(lower, key=lambda one: one[0])],
        [value for _, value in sorted(upper, key=lambda one: one[0])],
    )


def simplest_bounds(near: Domain, name: str) -> tuple[Linear | None, Linear | None]:
    """One lower and one upper bound of the last index of a polyhedron, the closest wherever one is closer than all
    others, else the simplest; None if there is none."""
    part = near.parts[0] if near.parts else []
    lower, upper = bounds(part, name)
    return _closest(near, lower, 1), _closest(near, upper, -1)


def _closest(near: Domain, values: list[Linear], sign: int) -> Linear | None:
    """Of lower bounds (`sign` 1) the largest, of upper ones (-1) the least."""

    def is_closest(value: Linear) -> bool:
        # Nowhere is another one closer: (other - value) * sign > 0.
        further = [
            Constraint((other - value) * sign - Linear(None, 1), False)
            for other in values
            if other != value
        ]
        return all((near & Domain.where(near.indices, [[each]])).is_empty for each in further)

    if len(values) < 2:
        return values[0] if values else None
    return next(filter(is_closest, values), values[0])


def _quotient(linear: Linear, divisor: int) -> Linear:
    return linear if divisor == 1 else Linear({Floor(linear, divisor): 1})
