"""What transformations share: finding a node, and dependences pushed towards the leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import tilewright as tw

from ..attributes import Attributes, attributes_of
from ..domains import AffineFunction, Domain
from ..errors import complaint, source_of
from ..tree import (
    Case,
    Constant,
    Dependence,
    Equation,
    Expression,
    Index,
    Node,
    Path,
    Reduce,
    Restrict,
    System,
    Variable,
    children,
    find,
    replaced,
    with_children,
)

__all__ = [
    "attributes",
    "is_pointwise",
    "leaf_functions",
    "node_at",
    "precomposed",
    "reduction_at",
    "refused",
    "replaced_at",
    "restricted",
    "top_reduction",
]  # fmt: skip


def refused(
    system: System, node: Node | None, message: str, where: Domain | None = None
) -> tw.DeclarationError:
    """The error of a transformation whose conditions do not hold."""
    return complaint(source_of(system), node.position if node else None, message, where)


def node_at(system: System, place: Path) -> tuple[Equation, Path, Expression]:
    """The node of an identifier without the system's number: ``(equation, 0, branch, ...)``.

    Raises:
        DeclarationError: there is none.
    """
    shown = f"[{', '.join(map(str, place))}]"
    if len(place) < 2 or not 0 <= place[0] < len(system.equations) or place[1] != 0:
        raise refused(
            system, None,
            f"no expression of {system.name} is at {shown}: an identifier is the number of the "
            "equation, 0 for its expression, and a number for each step down; PrintAST shows them",
        )  # fmt: skip
    equation = system.equations[place[0]]
    if not isinstance(equation, Equation):
        raise refused(system, equation, f"the equation at {shown} uses a system")
    path = place[2:]
    node: Expression = equation.expression
    for step in path:
        below = children(node)
        if not 0 <= step < len(below):
            raise refused(system, node, f"no expression of {system.name} is at {shown}")
        node = below[step]
    return equation, path, node


def reduction_at(system: System, place: Path) -> tuple[Equation, Path, Reduce]:
    """The reduction of an identifier.

    Raises:
        DeclarationError: there is another kind of node, or none.
    """
    equation, path, node = node_at(system, place)
    if not isinstance(node, Reduce):
        shown = f"[{', '.join(map(str, place))}]"
        raise refused(system, node, f"the expression at {shown} is no reduction")
    return equation, path, node


def top_reduction(system: System, name: str) -> tuple[Equation, Reduce]:
    """The equation of a variable and its expression, a reduction.

    Raises:
        DeclarationError: it is something else.
    """
    equation = system.equation(name)
    if not isinstance(equation.expression, Reduce):
        raise refused(
            system, equation,
            f"the equation of {name} must be a reduction and nothing around it: NormalizeReduction "
            "gives each reduction an equation of its own",
        )  # fmt: skip
    return equation, equation.expression


def attributes(system: System, equation: Equation) -> Attributes:
    """The domains of all nodes of an equation."""
    domain = system.declaration(equation.name).domain
    return attributes_of(system, equation.expression, equation.indices, domain)


def replaced_at(system: System, equation: Equation, path: Path, new: Expression) -> System:
    """With the node of an equation replaced."""
    find(equation.expression, path)
    expression = replaced(equation.expression, path, new)
    return system.with_equation(replace(equation, expression=expression))


def restricted(domain: Domain, body: Expression) -> Restrict:
    """``domain : body``, one restriction if the body is one."""
    if isinstance(body, Restrict):
        return Restrict(domain & body.domain, body.body, position=body.position)
    return Restrict(domain, body, position=body.position)


def precomposed(node: Expression, function: AffineFunction) -> Expression:
    """``function@node`` with the function composed into the dependences below; in front of
    reductions it stays a dependence."""
    match node:
        case Constant():
            return node
        case Variable() | Reduce():
            if function.is_identity:
                return node
            return Dependence(function, node, position=node.position)
        case Dependence():
            composed = node.function.after(function)
            return node.body if composed.is_identity else replace(node, function=composed)
        case Index():
            return replace(node, function=node.function.after(function))
        case Restrict():
            body = precomposed(node.body, function)
            return replace(node, domain=node.domain.preimage(function), body=body)
        case _:
            return with_children(node, [precomposed(each, function) for each in children(node)])


def is_pointwise(node: Expression) -> bool:
    """Whether it has neither cases nor restrictions nor reductions."""
    pending = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, Case | Restrict | Reduce):
            return False
        if isinstance(each, Dependence) and not isinstance(each.body, Variable | Constant):
            return False
        pending += children(each)
    return True


def leaf_functions(node: Expression, indices: Sequence[str]) -> list[AffineFunction]:
    """The functions of the dependences and index expressions of a pointwise expression."""
    match node:
        case Variable():
            return [AffineFunction.identity(indices)]
        case Dependence():
            return [] if isinstance(node.body, Constant) else [node.function]
        case Index():
            return [node.function]
        case _:
            return [each for child in children(node) for each in leaf_functions(child, indices)]
