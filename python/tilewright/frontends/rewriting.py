"""Expressions and statements with others in place of some of their parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from . import tree

__all__ = ["plain", "retyped", "rewritten", "substituted", "with_expressions", "with_parts"]


def rewritten(
    statements: tuple[tree.Statement, ...],
    change: Callable[[tree.Expression], tree.Expression | None],
) -> tuple[tree.Statement, ...]:
    """The statements with what `change` gives for an expression, or None to look at its parts."""

    def expression(part: tree.Expression) -> tree.Expression:
        changed = change(part)
        return with_parts(part, expression) if changed is None else changed

    return with_expressions(statements, expression)


def with_parts(
    expression: tree.Expression, change: Callable[[tree.Expression], tree.Expression]
) -> tree.Expression:
    """The expression with its operands changed; it does not go into them."""
    match expression:
        case tree.Read():
            return replace(expression, subscripts=tuple(map(change, expression.subscripts)))
        case tree.Operation():
            return replace(expression, operands=tuple(map(change, expression.operands)))
        case tree.Convert():
            return replace(expression, value=change(expression.value))
        case tree.Select():
            return replace(
                expression,
                condition=change(expression.condition),
                if_true=change(expression.if_true),
                if_false=change(expression.if_false),
            )
        case tree.Call():
            return replace(expression, arguments=tuple(map(change, expression.arguments)))
        case tree.Reduce():
            extents = tuple(map(change, expression.extents))
            return replace(expression, extents=extents, term=change(expression.term))
    return expression


def with_expressions(
    statements: tuple[tree.Statement, ...], change: Callable[[tree.Expression], tree.Expression]
) -> tuple[tree.Statement, ...]:
    """The statements, inner ones too, with each expression that stands in one changed. `change` gets a
    target as the read that it is, and gives a read for it."""

    def changed(statement: tree.Statement) -> tree.Statement:
        match statement:
            case tree.Assign():
                target = change(statement.target)
                assert isinstance(target, tree.Read)
                return replace(statement, target=target, value=change(statement.value))
            case tree.For():
                start, stop = change(statement.start), change(statement.stop)
                body = with_expressions(statement.body, change)
                return replace(statement, start=start, stop=stop, body=body)
            case tree.While():
                body = with_expressions(statement.body, change)
                return replace(statement, condition=change(statement.condition), body=body)
            case tree.If():
                return replace(
                    statement,
                    condition=change(statement.condition),
                    body=with_expressions(statement.body, change),
                    otherwise=with_expressions(statement.otherwise, change),
                )
            case tree.Assume():
                return replace(statement, condition=change(statement.condition))
        return statement

    return tuple(map(changed, statements))


def plain(expression: tree.Expression) -> object:
    """The expression without the places where it stands, to be compared."""
    match expression:
        case tree.Literal() | tree.Variable():
            return expression
        case tree.Read():
            head: object = expression.array
        case tree.Operation():
            head = expression.name, expression.dtype
        case tree.Call():
            head = id(expression.function)
        case _:
            head = expression.dtype
    parts = tuple(plain(part) for part in tree.parts_of(expression))
    return type(expression).__name__, head, parts


def substituted(
    statements: tuple[tree.Statement, ...], name: str, value: tree.Expression
) -> tuple[tree.Statement, ...]:
    """The statements with a value in place of an iterator."""

    def change(part: tree.Expression) -> tree.Expression | None:
        if isinstance(part, tree.Variable) and part.name == name:
            if part.dtype == value.dtype:
                return value
            exact = retyped(value, part.dtype) if part.dtype.kind == "i" else None
            return tree.Convert(value, part.dtype) if exact is None else exact
        return None

    return rewritten(statements, change)


def retyped(value: tree.Expression, dtype: np.dtype) -> tree.Expression | None:
    """The value of an iterator in its own type, in which it does not overflow, so that it is affine
    there; None unless it is a sum of iterators and parameters."""
    match value:
        case tree.Literal():
            return replace(value, dtype=dtype)
        case tree.Variable():
            return replace(value, dtype=dtype)
        case tree.Convert() if value.value.dtype.kind == "i":
            return retyped(value.value, dtype)
        case tree.Operation(name="+" | "-" | "*" | "//"):
            operands = [retyped(each, dtype) for each in value.operands]
            known = tuple(each for each in operands if each is not None)
            if len(known) == len(operands):
                return replace(value, operands=known, dtype=dtype)
    return None
