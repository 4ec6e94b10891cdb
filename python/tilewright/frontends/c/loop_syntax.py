"""The parts of a C loop, as far as its text alone shows them: steps, bounds, conditions joined by `&&`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from ..tree import Location
from .parsing import names_in

__all__ = ["Promise", "bound_of", "conjuncts_of", "listed", "step_of"]

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}


@dataclass(frozen=True)
class Promise:
    """`#pragma pencil independent`: the arrays it names, and those that are reduced."""

    arrays: tuple[str, ...]
    reduced: tuple[str, ...]
    location: Location


def listed(node: Any) -> list[Any]:
    """The parts of a comma expression."""
    if node is None:
        return []
    return list(node.exprs) if isinstance(node, c_ast.ExprList) else [node]


def conjuncts_of(node: Any) -> list[Any]:
    """The conditions that all have to hold."""
    if isinstance(node, c_ast.BinaryOp) and node.op == "&&":
        return conjuncts_of(node.left) + conjuncts_of(node.right)
    return [node]


def step_of(node: Any) -> str:
    """The variable that an increment changes, or ""."""
    match node:
        case c_ast.UnaryOp() if node.op in ("++", "--", "p++", "p--"):
            return node.expr.name if isinstance(node.expr, c_ast.ID) else ""
        case c_ast.Assignment() if isinstance(node.lvalue, c_ast.ID):
            name = str(node.lvalue.name)
            if node.op in ("+=", "-="):
                return name
            if node.op == "=" and isinstance(node.rvalue, c_ast.BinaryOp):
                parts = (node.rvalue.left, node.rvalue.right)
                named = [isinstance(each, c_ast.ID) and each.name == name for each in parts]
                if node.rvalue.op in "+-" and sum(named) == 1:
                    return name
    return ""


def bound_of(node: Any, name: str) -> tuple[str, Any] | None:
    """A comparison of the iterator: the sign with it on the left, and the other side."""
    if not isinstance(node, c_ast.BinaryOp) or node.op not in _MIRRORED:
        return None
    for sign, side, other in (
        (node.op, node.left, node.right),
        (_MIRRORED[node.op], node.right, node.left),
    ):
        if name in names_in(other):
            continue
        if isinstance(side, c_ast.ID) and side.name == name:
            return sign, other
        if (
            isinstance(side, c_ast.BinaryOp)
            and side.op in "+-"
            and isinstance(side.left, c_ast.ID)
            and side.left.name == name
            and isinstance(side.right, c_ast.Constant)
            and sign in ("<", "<=", ">", ">=")
        ):
            opposite = "-" if side.op == "+" else "+"
            return sign + "~", c_ast.BinaryOp(opposite, other, side.right, side.coord)
    return None
