"""Simplify (CSU TR CS12-101, section 5.7)."""

from __future__ import annotations

from dataclasses import replace

from ..attributes import Attributes
from ..conversions import type_of
from ..domains import Domain
from ..tree import (
    Dependence,
    Equation,
    Expression,
    Path,
    Reduce,
    Restrict,
    System,
    children,
    step,
    with_children,
)
from .places import attributes, precomposed

__all__ = ["simplify"]


def simplify(system: System) -> System:
    """Restrictions say only what does not hold anyway, and reductions of single points are none::

    X {i | 0<=i<N}    X[i] = case {i | i==0 && N>0} : A[i]; {i | 1<=i<N} : B[i]; esac;
    X {i | 0<=i<N}    X[i] = case {i | i==0} : A[i]; {i | i>=1} : B[i]; esac;

    Y[i] = reduce(+, (i, j -> i), {i, j | j==2i} : C[i,j]);
    Y[i] = C[i,2i];
    """
    for equation in system.equations:
        if isinstance(equation, Equation):
            found = attributes(system, equation)
            needed = system.declaration(equation.name).domain
            value = _simplified(system, equation.expression, (), needed, found)
            system = system.with_equation(replace(equation, expression=value))
    return system


def _simplified(
    system: System, node: Expression, path: Path, needed: Domain, found: Attributes
) -> Expression:
    """`needed` is where the surroundings ask for the value. It is larger than the context domain in
    bodies of reductions, whose restrictions say what is reduced."""
    below: list[Expression] = []
    for number, child in enumerate(children(node)):
        match node:
            case Dependence():
                inner = needed.image(node.function)
            case Reduce():
                inner = needed.preimage(node.projection).within(system.context)
            case Restrict():
                inner = needed & node.domain
            case _:
                inner = needed
        below.append(_simplified(system, child, (*path, number), inner, found))
    node = with_children(node, below)
    if isinstance(node, Reduce):
        node = _scalar(system, node, path, needed, found)
    if isinstance(node, Restrict):
        domain = node.domain.named(found.names[path])
        if needed <= domain:
            return node.body
        return replace(node, domain=domain.gist(needed))
    return node


def _scalar(
    system: System, node: Reduce, path: Path, needed: Domain, found: Attributes
) -> Expression:
    """A reduction that takes one point each is its body there."""
    body = found.context[step(path, 0)]
    if not node.projection.map.intersect_domain(body.points).is_injective:
        return node
    if type_of(system, node) != type_of(system, node.body):
        return node
    inverse = node.projection.inverse_on(body, found.names[path])
    if inverse is None or not needed <= body.image(node.projection):
        return node
    return precomposed(node.body, inverse)
