"""Sets of parameters as conditions of the statement tree.

isl's text of a set of parameters is close to Python's syntax: it is read by Python's own parser, once
products and divisions are spelled as Python has them.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from ..tree import Convert, Expression, Literal, Operation, Variable
from .indices import NOWHERE, literal
from .kinds import BOOL, INT64

__all__ = ["region_of", "value_of"]

_OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.Lt: "<",
    ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.And: "&",
    ast.Or: "|",
}  # fmt: skip


def region_of(
    parameters: Any, names: dict[str, str], values: Mapping[str, Any]
) -> Expression | None:
    """A conjunction of conditions that the values meet, and that only members of the set meet.

    Args:
        parameters: a `tw.Set` without dimensions.
        names: the name in the program of each parameter of the set.
        values: a member, by the names in the program.

    Returns:
        None if the text of the set has quantifiers.
    """
    text = str(parameters)
    inner = text[text.index("{") + 1 : text.rindex("}")].strip()
    if not inner.startswith(":") or "exists" in inner:
        return None
    inner = re.sub(r"floor\(\((.+?)\)/(\d+)\)", r"((\1)//\2)", inner[1:])
    inner = re.sub(r"\b(\d+)(?=p\d|\()", r"\1*", inner)
    inner = re.sub(r"(?<![<>=!])=(?!=)", "==", inner).replace(" mod ", " % ")
    try:
        tree = ast.parse(inner.strip(), mode="eval").body
        return _condition(_chosen(tree, names, values), names)
    except (SyntaxError, StopIteration, _Unknown):
        return None


def _chosen(node: ast.expr, names: dict[str, str], values: Mapping[str, Any]) -> ast.expr:
    """The condition with only that side of each `or` that holds."""
    if not isinstance(node, ast.BoolOp):
        return node
    if isinstance(node.op, ast.And):
        return ast.BoolOp(node.op, [_chosen(each, names, values) for each in node.values])
    made = ((each, _condition(each, names)) for each in node.values)
    return _chosen(next(each for each, one in made if value_of(one, values)), names, values)


def value_of(expression: Expression, values: Mapping[str, Any]) -> Any:
    """An integer expression, or a condition, of parameters."""
    match expression:
        case Literal():
            return expression.value
        case Variable():
            return int(values[expression.name])
        case Convert():
            return value_of(expression.value, values)
        case Operation():
            return _VALUES[expression.name](
                *(value_of(each, values) for each in expression.operands)
            )
    raise TypeError(f"{expression} is no expression of parameters")


_VALUES: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "**": operator.pow,
    "neg": operator.neg, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "abs": abs, "minimum": min, "maximum": max,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
    "//": lambda a, b: a // b if b else 0,
    "%": lambda a, b: a % b if b else 0,
}  # fmt: skip


class _Unknown(Exception):
    pass


def _condition(node: ast.expr, names: dict[str, str]) -> Expression:
    match node:
        case ast.BoolOp():
            result = _condition(node.values[0], names)
            for each in node.values[1:]:
                result = _made(node.op, BOOL.dtype, result, _condition(each, names))
            return result
        case ast.Compare():
            parts = [_number(each, names) for each in (node.left, *node.comparators)]
            made = [
                _made(op, BOOL.dtype, left, right)
                for op, left, right in zip(node.ops, parts, parts[1:], strict=False)
            ]
            compared = made[0]
            for one in made[1:]:
                compared = _made(ast.And(), BOOL.dtype, compared, one)
            return compared
    raise _Unknown


def _number(node: ast.expr, names: dict[str, str]) -> Expression:
    match node:
        case ast.Constant(value=int()):
            return literal(int(node.value))  # type: ignore[arg-type]
        case ast.Name():
            return Variable(names[node.id], INT64)
        case ast.UnaryOp(op=ast.USub()):
            return _made(ast.Mult(), INT64, literal(-1), _number(node.operand, names))
        case ast.BinOp():
            return _made(node.op, INT64, _number(node.left, names), _number(node.right, names))
    raise _Unknown


def _made(how: ast.AST, dtype: Any, *operands: Expression) -> Expression:
    name = _OPERATORS.get(type(how))
    if name is None:
        raise _Unknown
    return Operation(name, operands, dtype, NOWHERE)
