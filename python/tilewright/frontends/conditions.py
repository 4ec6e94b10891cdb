"""Conditions on parameters from isl's text back to trees."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

import numpy as np

from .tree import Expression, Literal, Location, Operation, Variable

__all__ = ["parsed_condition"]

LONG, BOOL = np.dtype("int64"), np.dtype("bool")
_SIGNS = {ast.LtE: "<=", ast.Lt: "<", ast.GtE: ">=", ast.Gt: ">", ast.Eq: "==", ast.NotEq: "!="}


def parsed_condition(text: str, names: Mapping[str, str], location: Location) -> Expression | None:
    """A condition as a tree; None if it has anything but comparisons of sums, quotients and remainders.

    Args:
        text: isl's.
        names: what its names are in the tree.
        location: of the tree.
    """
    text = re.sub(r"(?<![A-Za-z_\d])(\d+)(?=[A-Za-z_])", r"\1*", text.strip())
    text = re.sub(r"(?<![<>!=])=(?!=)", "==", text).replace(" mod ", " % ")
    try:
        parsed = ast.parse(text, mode="eval").body
        return _condition(parsed, names, location)
    except (SyntaxError, KeyError):  # quantifiers
        return None


def _condition(node: ast.expr, names: Mapping[str, str], location: Location) -> Expression:
    def both(sign: str, parts: list[Expression]) -> Expression:
        result = parts[0]
        for part in parts[1:]:
            result = Operation(sign, (result, part), BOOL, location)
        return result

    match node:
        case ast.BoolOp():
            sign = "&" if isinstance(node.op, ast.And) else "|"
            return both(sign, [_condition(each, names, location) for each in node.values])
        case ast.Compare():
            sides = [node.left, *node.comparators]
            values = [_sum(each, names, location) for each in sides]
            return both(
                "&",
                [
                    Operation(_SIGNS[type(sign)], (values[at], values[at + 1]), BOOL, location)
                    for at, sign in enumerate(node.ops)
                ],
            )
    raise KeyError(ast.dump(node))


def _sum(node: ast.expr, names: Mapping[str, str], location: Location) -> Expression:
    match node:
        case ast.Constant(value=int()):
            return Literal(int(node.value), LONG)  # type: ignore[arg-type]
        case ast.Name():
            return Variable(names[node.id], LONG)
        case ast.UnaryOp(op=ast.USub()):
            return Operation("neg", (_sum(node.operand, names, location),), LONG, location)
        case ast.Call(func=ast.Name(id="floor"), args=[ast.BinOp(op=ast.Div()) as ratio]):
            operands = (_sum(ratio.left, names, location), _sum(ratio.right, names, location))
            return Operation("//", operands, LONG, location)
        case ast.BinOp(op=ast.Mod()):
            operands = (_sum(node.left, names, location), _sum(node.right, names, location))
            return Operation("%", operands, LONG, location)
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult()):
            sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}[type(node.op)]
            operands = (_sum(node.left, names, location), _sum(node.right, names, location))
            return Operation(sign, operands, LONG, location)
    raise KeyError(ast.dump(node))
