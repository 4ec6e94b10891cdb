"""Types that stay while cases move out of operators.

A case has one type, to which each of its branches is converted. Where the operator around it goes into the
branches, each meets the other operands with its own type: 1 / 2 is 0 where the case was of doubles. So a branch
is converted in words of the language, ``1 * 1.0``, unless the operator cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..conversions import COMPARISONS, LOGICAL, common_type, holds_all, promoted
from ..tree import (
    Binary,
    Call,
    Case,
    Constant,
    Expression,
    If,
    Restrict,
    Unary,
    children,
    with_children,
)

__all__ = ["converted", "of_type", "with_types_kept"]

TypeOf = Callable[[Expression], str]

_NEUTRAL = {
    "int": ("+", Constant(0, "0")),
    "unsigned int": ("+", Constant(0, "0U", suffix="U")),
    "long": ("+", Constant(0, "0L", suffix="L")),
    "unsigned long": ("+", Constant(0, "0UL", suffix="UL")),
    "float": ("*", Constant(1.0, "1.0f", is_single=True)),
    "double": ("*", Constant(1.0, "1.0")),
}


def converted(node: Expression, own: str, kind: str) -> Expression:
    """An expression of a wider type with the converted value; a product keeps the sign of -0.0."""
    if own == kind or promoted(own) == promoted(kind):
        return node
    operator, constant = _NEUTRAL[kind]
    return Binary(operator, node, constant, position=node.position)


def of_type(branch: Expression, own: str, kind: str) -> Expression:
    """The same of a branch, inside of its restriction."""
    if isinstance(branch, Restrict):
        return replace(branch, body=converted(branch.body, own, kind))
    return converted(branch, own, kind)


def with_types_kept(node: Expression, type_of: TypeOf) -> Expression:
    """An operator whose operands that are cases have branches which it can move into."""
    if not isinstance(node, Binary | Call | If | Unary):
        return node
    below = list(children(node))
    for number, each in enumerate(below):
        if not isinstance(each, Case):
            continue
        whole, branches = type_of(each), []
        for branch in each.branches:
            own = type_of(branch)
            same = own == whole or _cannot_tell(node, number, own, whole, below, type_of)
            branches.append(branch if same else converted(branch, own, whole))
        below[number] = replace(each, branches=tuple(branches))
    return with_children(node, below)


def _cannot_tell(
    node: Expression, number: int, own: str, whole: str, below: list[Expression], type_of: TypeOf
) -> bool:
    """Whether an operand of type `own` gives what the same value converted to `whole` gives."""
    exact = holds_all(whole, own)
    if isinstance(node, Call):
        return exact
    if isinstance(node, Unary):
        return node.operator == "not" or promoted(own) == promoted(whole)
    if isinstance(node, If):
        if number == 0:
            return True
        other = type_of(below[3 - number])
        now, before = common_type(own, other), common_type(whole, other)
        kept = now == before or (holds_all(now, own) and holds_all(now, other))
        return kept and (exact or whole == before)
    assert isinstance(node, Binary)
    if node.operator in LOGICAL:
        return True
    other = type_of(below[1 - number])
    now, before = common_type(own, other), common_type(whole, other)
    same = now == before or (node.operator in COMPARISONS and _are_exact(now, own, other))
    return same and (exact or whole == before)


def _are_exact(kind: str, *kinds: str) -> bool:
    return all(holds_all(kind, each) for each in kinds)
