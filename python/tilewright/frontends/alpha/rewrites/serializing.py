"""SerializeReduction: a reduction as a chain of dependences (CSU TR CS12-101, section 6.6)."""

from __future__ import annotations

from dataclasses import replace

import tilewright as tw

from ....base.plurals import counted
from ..conversions import type_of
from ..domains import AffineFunction, Domain, canonical, fresh_names
from ..tree import (
    Binary,
    Case,
    Declaration,
    Dependence,
    Equation,
    Expression,
    Path,
    Reduce,
    Restrict,
    System,
    Variable,
    step,
)
from .places import attributes, precomposed, reduction_at, refused, replaced_at

__all__ = ["serialize_reduction"]


def serialize_reduction(system: System, place: Path, schedule: AffineFunction) -> System:
    """The values are accumulated one after the other, in the order of a schedule. With ``(i -> i)``::

        X = reduce(+, (i ->), A[i]);

        X = X_serial[N-1];
        X_serial[i] = case {| i==0} : A[i]; {| 1<=i<N} : X_serial[i-1] + A[i]; esac;

    Args:
        system: the system.
        place: the identifier of the reduction in it.
        schedule: a time for each point of the body; times are compared in lexicographic order.

    Raises:
        DeclarationError: two points have the same time; the schedule has no inverse of integer
            coefficients; or the point before another is no affine function of it.
    """
    equation, path, node = reduction_at(system, place)
    found = attributes(system, equation)
    body, needed = found.context[step(path, 0)], found.context[path]
    if len(schedule.indices) != body.arity:
        raise refused(
            system, node,
            f"the schedule {schedule} takes {counted(len(schedule.indices), 'index')}, but the body has "
            f"{counted(body.arity, 'dimension')}",
        )  # fmt: skip
    if body.is_empty:
        raise refused(system, node, "the body of this reduction has no points that are needed")
    if not schedule.map.intersect_domain(body.points).is_injective:
        raise refused(
            system, node, f"the schedule {schedule} gives two points of the body one time", body
        )
    names = fresh_names(schedule.result_names(), set(system.parameters.indices))
    inverse = schedule.inverse_on(body, names)
    if inverse is None:
        raise refused(
            system, node, f"the inverse of {schedule} on the body has no integer coefficients"
        )
    times = body.image(schedule, names)
    variable = system.fresh(f"{equation.name}_serial")
    value, last = _chain(system, node, times, inverse, variable), times.points
    answers = node.projection.after(inverse).map.intersect_domain(last)
    ends = _pieces(system, node, answers.reverse().lexmax(), found.names[path], needed, names)
    accumulated = Variable(variable, position=node.position)
    result = _cases([(where, Dependence(end, accumulated)) for where, end in ends])
    if len(ends) == 1 and path:
        result = Restrict(needed, result)
    local = Declaration("local", type_of(system, node), variable, times)
    system = replaced_at(system, equation, path, result)
    added = Equation(variable, value, names, position=node.position)
    return replace(
        system,
        declarations=(*system.declarations, local),
        equations=(*system.equations, added),
    )


def _chain(
    system: System, node: Reduce, times: Domain, inverse: AffineFunction, variable: str
) -> Expression:
    """The first of the points that are reduced to one is its body, others add it to the one before."""
    answer = node.projection.after(inverse).map.intersect_domain(times.points)
    same = answer.then(answer.reverse())
    earlier = same & times.points.before(times.points).reverse()
    before = earlier.lexmax()
    body = node.body.body if isinstance(node.body, Restrict) else node.body
    here = precomposed(body, inverse)
    first = times - Domain(times.indices, before.domain)
    branches: list[tuple[Domain, Expression]] = [(first, here)]
    names = times.indices
    for where, previous in _pieces(system, node, before, names, times, names):
        total = Dependence(previous, Variable(variable, position=node.position))
        branches.append((where, Binary(node.operator, total, here, position=node.position)))
    return _cases([each for each in branches if not each[0].is_empty])


def _cases(branches: list[tuple[Domain, Expression]]) -> Expression:
    if len(branches) == 1:
        return branches[0][1]
    return Case(tuple(Restrict(where, value) for where, value in branches))


def _pieces(
    system: System,
    node: Reduce,
    relation: tw.Map,
    names: tuple[str, ...],
    context: Domain,
    targets: tuple[str, ...],
) -> list[tuple[Domain, AffineFunction]]:
    """A relation that is a function as affine functions on disjoint domains."""
    left, right = canonical(len(names), "_l"), canonical(len(targets), "_r")
    flat = tw.Map(f"{{ [[{', '.join(left)}] -> [{', '.join(right)}]] -> "
                  f"[{', '.join((*left, *right))}] }}")  # fmt: skip
    graph = Domain((*left, *right), relation.coalesce().wrap().apply(flat).coalesce())
    arguments = AffineFunction(
        (*left, *right), AffineFunction.identity((*left, *right)).results[: len(left)]
    )
    found: list[tuple[Domain, AffineFunction]] = []
    for part in graph.disjoint_parts:
        whole = arguments.inverse_on(part, names)
        if whole is None:
            raise refused(
                system, node, "in this order, the point before another is no affine function of it"
            )
        where = part.image(arguments, names) & context
        results = whole.results[len(names) :]
        found.append((where, AffineFunction(names, results)))
    return found
