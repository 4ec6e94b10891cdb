"""NormalizeReduction: an equation of its own for each reduction (CSU TR CS12-101, section 6.4)."""

from __future__ import annotations

from dataclasses import replace

from ..attributes import Attributes
from ..conversions import type_of
from ..tree import (
    Declaration,
    Equation,
    Expression,
    Path,
    Reduce,
    System,
    Variable,
    children,
    with_children,
)
from .places import attributes

__all__ = ["normalize_reductions"]


def normalize_reductions(system: System) -> System:
    """Reductions only at the top of equations::

    E[i] = A[i] * reduce(+, [j], B[i,j]);
    E[i] = A[i] * E_reduce;              E_reduce[i] = reduce(+, [j], B[i,j]);
    """
    for equation in system.equations:
        if isinstance(equation, Equation):
            system = _isolated(system, equation)
    return system


def _isolated(system: System, equation: Equation) -> System:
    found = attributes(system, equation)
    added: list[tuple[Declaration, Equation]] = []

    def visit(node: Expression, path: Path) -> Expression:
        below = [visit(each, (*path, number)) for number, each in enumerate(children(node))]
        node = with_children(node, below)
        if not isinstance(node, Reduce) or not path:
            return node
        return _variable(system, equation, node, path, found, added)

    value = visit(equation.expression, ())
    system = system.with_equation(replace(equation, expression=value))
    return replace(
        system,
        declarations=(*system.declarations, *(each for each, _ in added)),
        equations=(*system.equations, *(each for _, each in added)),
    )


def _variable(
    system: System,
    equation: Equation,
    node: Reduce,
    path: Path,
    found: Attributes,
    added: list[tuple[Declaration, Equation]],
) -> Variable:
    known = replace(system, declarations=(*system.declarations, *(each for each, _ in added)))
    name = known.fresh(f"{equation.name}_reduce")
    domain = found.context[path]
    kind = type_of(known, node)
    added.append(
        (
            Declaration("local", kind, name, domain),
            Equation(name, node, domain.indices, position=node.position),
        )
    )
    return Variable(name, position=node.position)
