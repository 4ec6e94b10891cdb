"""FactorOutFromReduction: what is constant in a reduction, outside (CSU TR CS12-101, section 6.5)."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce as fold

from ..conversions import type_of
from ..domains import AffineFunction, Domain, factored
from ..tree import (
    Binary,
    Constant,
    Dependence,
    Expression,
    Index,
    Path,
    Reduce,
    Restrict,
    System,
    Variable,
    children,
    step,
    with_children,
)
from .places import (
    attributes,
    is_pointwise,
    precomposed,
    reduction_at,
    refused,
    replaced_at,
    restricted,
)

__all__ = ["factor_out_from_reduction"]

#: (the reduction's operator, the operator in its body that distributes over it).
_DISTRIBUTE = {
    ("+", "*"), ("max", "+"), ("min", "+"), ("max", "min"), ("min", "max"),
    ("max", "max"), ("min", "min"), ("and", "or"), ("or", "and"), ("or", "or"),
    ("and", "and"), ("xor", "and"),
}  # fmt: skip


def factor_out_from_reduction(system: System, place: Path, *, reassociate: bool = False) -> System:
    """An operand that is the same for all that is reduced to one point::

        X[i] = reduce(max, [j], A[i] + B[j]);
        X[i] = A[i] + reduce(max, [j], B[j]);

    Args:
        system: the system.
        place: the identifier of the reduction in it.
        reassociate: whether products of fractions may be taken out of a sum, which rounds
            differently.

    Raises:
        DeclarationError: the body's operator does not distribute over the reduction's; no operand is
            constant; the product is one of fractions and `reassociate` was not asked for.
    """
    equation, path, node = reduction_at(system, place)
    body = node.body.body if isinstance(node.body, Restrict) else node.body
    if not isinstance(body, Binary) or (node.operator, body.operator) not in _DISTRIBUTE:
        raise refused(
            system, node,
            "the body must be two operands of an operator that distributes over "
            f"{node.operator}; it is {_shown(body)}",
        )  # fmt: skip
    found = attributes(system, equation)
    domain, names = found.context[step(path, 0)], found.names[path]
    pairs = [(body.left, body.right), (body.right, body.left)]
    for constant, rest in [*pairs, *_regrouped(system, node, body, domain, names, reassociate)]:
        outside = _outside(constant, node.projection, domain, names)
        if outside is None:
            continue
        kind = type_of(system, node)
        if type_of(system, rest) != type_of(system, body):
            raise refused(
                system, node,
                f"the rest of the body is of type {type_of(system, rest)}, and would be reduced in it",
            )  # fmt: skip
        if kind in ("float", "double") and body.operator == "*" and not reassociate:
            raise refused(
                system, node,
                "a product of fractions rounds differently outside of a sum; ask for it by "
                "reassociate=True",
            )  # fmt: skip
        reduced = replace(node, body=restricted(found.expression[step(path, 0)], rest))
        operands = (reduced, outside) if constant is body.right else (outside, reduced)
        new: Expression = Binary(body.operator, *operands, position=body.position)
        return replaced_at(system, equation, path, new)
    raise refused(
        system, node, f"neither operand of {body.operator} is constant where {node.projection} is"
    )


def _regrouped(
    system: System,
    node: Reduce,
    body: Binary,
    domain: Domain,
    names: tuple[str, ...],
    reassociate: bool,
) -> list[tuple[Expression, Expression]]:
    """Of three operands or more, those that are constant and the others."""
    operands = _operands(body, body.operator)
    kinds = {type_of(system, each) for each in operands}
    fractions = kinds & {"float", "double"} and body.operator in ("+", "*")
    if len(operands) < 3 or len(kinds) > 1 or (fractions and not reassociate):
        return []
    constant = [each for each in operands if _outside(each, node.projection, domain, names)]
    rest = [each for each in operands if not any(each is one for one in constant)]
    if not constant or not rest:
        return []
    return [(_chained(body, constant), _chained(body, rest))]


def _operands(node: Expression, operator: str) -> list[Expression]:
    if isinstance(node, Binary) and node.operator == operator:
        return [*_operands(node.left, operator), *_operands(node.right, operator)]
    return [node]


def _chained(body: Binary, operands: list[Expression]) -> Expression:
    return fold(lambda left, right: replace(body, left=left, right=right), operands)


def _shown(node: Expression) -> str:
    if isinstance(node, Binary):
        return f"one of {node.operator}"
    kind = type(node).__name__.lower()
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _outside(
    node: Expression, projection: AffineFunction, domain: Domain, names: tuple[str, ...]
) -> Expression | None:
    """The expression over the points of the answer, if it is constant where the projection is."""
    if not is_pointwise(node):
        return None
    match node:
        case Constant():
            return node
        case Variable():
            function = AffineFunction.identity(projection.indices)
            outer = factored(function, projection, domain, names)
            return None if outer is None else precomposed(node, outer)
        case Dependence() if isinstance(node.body, Constant):
            return node.body
        case Dependence() | Index():
            outer = factored(node.function, projection, domain, names)
            if outer is None:
                return None
            if isinstance(node, Dependence) and outer.is_identity:
                return node.body
            return replace(node, function=outer)
        case _:
            below = [_outside(each, projection, domain, names) for each in children(node)]
            kept = [each for each in below if each is not None]
            return with_children(node, kept) if len(kept) == len(below) else None
