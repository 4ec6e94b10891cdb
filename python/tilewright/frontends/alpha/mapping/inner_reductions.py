"""Reductions that are operands, as statements of their own beside the one that needs them.

A mapping schedules a reduction that is not the whole equation as a part of its equation: an operation that
is done when the value is computed. In loops it is a computation before that of the equation, at the
same times. It belongs to one instance of the equation even if others need the same sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..attributes import attributes_of
from ..conversions import reduces_converted, type_of
from ..domains import AffineFunction, Domain, fresh_names
from ..errors import complaint, source_of
from ..linear import Linear
from ..presburger import Constraint
from ..rewrites.normalizing import normalized
from ..rewrites.places import precomposed
from ..tree import (
    Binary,
    Constant,
    Declaration,
    Dependence,
    Equation,
    Expression,
    If,
    Path,
    Reduce,
    Restrict,
    System,
    Variable,
    children,
    transformed,
    with_children,
)

__all__ = ["InnerReduction", "with_inner_reductions"]


@dataclass(frozen=True)
class InnerReduction:
    """One of them.

    Attributes:
        name: its variable.
        owner: the variable whose equation needs it.
        to_owner: from its points to the owner's instances.
    """

    name: str
    owner: str
    to_owner: AffineFunction


def with_inner_reductions(system: System, in_body: set[str]) -> tuple[System, list[InnerReduction]]:
    """The system with a variable for each reduction that is an operand; those first that others need.

    Args:
        system: normalized, without use equations.
        in_body: the variables whose instances are the points of a reduction's body.
    """
    system = _without_xor(system, in_body)
    found: list[InnerReduction] = []
    pending = [each for each in system.equations if isinstance(each, Equation)]
    own = {each.name for each in pending}
    while pending:
        equation = pending.pop(0)
        system, added = _isolated(system, equation)
        for name, inside in added:
            inner = system.equation(name)
            domain = system.declaration(name).domain
            to_parent = AffineFunction.identity(domain.indices)
            if inside and equation.name not in in_body:
                node = equation.expression
                assert isinstance(node, Reduce)
                to_parent = node.projection.named(domain.indices)
            parent = next((each for each in found if each.name == equation.name), None)
            if parent is not None:
                to_parent = parent.to_owner.after(to_parent)
            owner = equation.name if equation.name in own else parent.owner if parent else ""
            found.insert(0, InnerReduction(name, owner, to_parent))
            pending.append(inner)
    return system, found


def _without_xor(system: System, in_body: set[str]) -> System:
    """``reduce(xor, p, E)`` as the sum of ``if E then 1 else 0`` modulo 2: Layer I has no such
    reduction."""

    def changed(node: Expression) -> Expression:
        if not isinstance(node, Reduce) or node.operator != "xor":
            return node
        one, two, none = (Constant(number, str(number)) for number in (1, 2, 0))
        ones = replace(node, operator="+", body=If(node.body, one, none))
        return Binary("!=", Binary("%", ones, two), none, position=node.position)

    for name in in_body:
        node = system.equation(name).expression
        if isinstance(node, Reduce) and node.operator == "xor":
            raise complaint(
                source_of(system), node.position,
                f"the terms of a reduction by xor have no times of their own: map {name} by the "
                "indices of its answer",
            )  # fmt: skip
    return system.mapped(
        lambda expression, _: normalized(
            transformed(expression, changed), system.context, lambda node: type_of(system, node)
        )
    )


def _isolated(system: System, equation: Equation) -> tuple[System, list[tuple[str, bool]]]:
    """One equation without reductions that are operands; the new variables, and whether they are
    operands in the body of the equation's own reduction."""
    declared = system.declaration(equation.name).domain
    attributes = attributes_of(system, equation.expression, equation.indices, declared)
    taken = set(system.parameters.indices)
    added: list[tuple[Declaration, Equation]] = []
    # What is rounded or cut off when it is added up is an operand of the conversion.
    converted = isinstance(equation.expression, Reduce) and not reduces_converted(
        equation.expression.operator,
        type_of(system, equation.expression),
        system.declaration(equation.name).type,
    )

    def visit(node: Expression, path: Path) -> Expression:
        is_reduction = isinstance(node, Reduce) and (bool(path) or converted)
        if is_reduction or (isinstance(node, Dependence) and isinstance(node.body, Reduce)):
            known = replace(system, declarations=(*system.declarations, *(d for d, _ in added)))
            name = known.fresh(f"{equation.name}_inner")
            context = attributes.context[path]
            domain = context.named(fresh_names(context.indices, taken))
            value = _alone(node, domain, taken)
            position = node.position
            kind = type_of(known, node)
            added.append(
                (
                    Declaration("local", kind, name, domain, position=position),
                    Equation(name, value, domain.indices, position=position),
                )
            )
            return Variable(name, position=position)
        below = [visit(each, (*path, number)) for number, each in enumerate(children(node))]
        return with_children(node, below)

    value = visit(equation.expression, ())
    if not added:
        return system, []
    inside = isinstance(equation.expression, Reduce) and not converted
    system = system.with_equation(replace(equation, expression=value))
    system = replace(
        system,
        declarations=(*system.declarations, *(each for each, _ in added)),
        equations=(*system.equations, *(each for _, each in added)),
    )
    return system, [(each.name, inside) for each, _ in added]


def _alone(node: Expression, domain: Domain, taken: set[str]) -> Reduce:
    """The reduction at the points of a domain: ``f@reduce(op, p, E)`` at z reduces the points b of E
    with p(b) = f(z)."""
    if isinstance(node, Reduce):
        return node
    assert isinstance(node, Dependence) and isinstance(node.body, Reduce)
    inner = node.body
    outer = domain.indices
    body = fresh_names(inner.projection.indices, taken | set(outer))
    indices = (*outer, *body)
    rows = [
        Constraint(there - here, True)
        for there, here in zip(
            inner.projection.named(body).results, node.function.named(outer).results, strict=True
        )
    ]
    at_body = AffineFunction(indices, tuple(map(Linear.of, body)))
    where = Domain.where(indices, [rows])
    within = Domain.where(indices, domain.parts)
    return replace(
        inner,
        projection=AffineFunction(indices, tuple(map(Linear.of, outer))),
        body=Restrict(where & within, precomposed(inner.body, at_body)),
    )
