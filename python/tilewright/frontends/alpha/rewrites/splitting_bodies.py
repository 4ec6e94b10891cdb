"""SplitReductionBody: one reduction as two that are combined (CSU TR CS12-101, section 6.7)."""

from __future__ import annotations

from dataclasses import replace

from ....base.plurals import counted
from ..domains import Domain
from ..tree import Binary, Case, Expression, Path, Restrict, System, step
from .places import attributes, reduction_at, refused, replaced_at, restricted

__all__ = ["split_reduction_body"]


def split_reduction_body(system: System, place: Path, domain: Domain) -> System:
    """The reduction of what is in a domain, combined with that of the rest. By ``{i,j | j==0}``::

        X[i] = reduce(+, [j], A[i,j]);

        X[i] = case
          {| N==1} : reduce(+, [j], {| j==0} : A[i,j]);
          {| N>=2} : reduce(+, [j], {| j==0} : A[i,j]) + reduce(+, [j], {| 1<=j<N} : A[i,j]);
        esac;

    Where a half has nothing to reduce, there is no value of it: a case leaves it out, if there are
    such points.

    Args:
        system: the system.
        place: the identifier of the reduction in it.
        domain: of the reduction's body.

    Raises:
        DeclarationError: the domain has other dimensions, or all of the body is on one side.
    """
    equation, path, node = reduction_at(system, place)
    found = attributes(system, equation)
    whole = found.expression[step(path, 0)]
    if domain.arity != whole.arity:
        raise refused(
            system, node,
            f"the domain has {counted(domain.arity, 'dimension')}, but the reduction's body has {whole.arity}",
        )  # fmt: skip
    halves = [(whole & domain).named(whole.indices), whole - domain]
    if any(half.is_empty for half in halves):
        raise refused(system, node, "all of the reduction's body is on one side of this domain")
    names, needed = found.names[path], found.context[path]
    values = [replace(node, body=restricted(half, node.body)) for half in halves]
    first, second = [half.image(node.projection, names) & needed for half in halves]
    branches: list[tuple[Domain, Expression]] = [
        (first - second, values[0]),
        (first & second, Binary(node.operator, *values, position=node.position)),
        (second - first, values[1]),
    ]
    branches = [(where, value) for where, value in branches if not where.is_empty]
    if not branches:
        raise refused(system, node, "nothing needs this reduction: its branch has no elements")
    new = branches[0][1]
    if len(branches) > 1:
        new = Case(tuple(Restrict(where, value) for where, value in branches))
    elif path and not needed == found.expression[path]:
        new = Restrict(branches[0][0], new)
    return replaced_at(system, equation, path, new)
