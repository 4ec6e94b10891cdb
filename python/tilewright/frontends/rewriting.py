"""Statements with other expressions in place of some of theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from . import tree

__all__ = ["rewritten"]


def rewritten(
    statements: tuple[tree.Statement, ...],
    change: Callable[[tree.Expression], tree.Expression | None],
) -> tuple[tree.Statement, ...]:
    """The statements with what `change` gives for an expression, or None to look at its parts."""

    def expression(part: tree.Expression) -> tree.Expression:
        changed = change(part)
        if changed is not None:
            return changed
        match part:
            case tree.Read():
                return replace(part, subscripts=tuple(map(expression, part.subscripts)))
            case tree.Operation():
                return replace(part, operands=tuple(map(expression, part.operands)))
            case tree.Convert():
                return replace(part, value=expression(part.value))
            case tree.Call():
                return replace(part, arguments=tuple(map(expression, part.arguments)))
            case tree.Select():
                return replace(
                    part,
                    condition=expression(part.condition),
                    if_true=expression(part.if_true),
                    if_false=expression(part.if_false),
                )
        return part

    def block(body: tuple[tree.Statement, ...]) -> tuple[tree.Statement, ...]:
        return tuple(map(statement, body))

    def statement(one: tree.Statement) -> tree.Statement:
        match one:
            case tree.Assign():
                target = expression(one.target)
                assert isinstance(target, tree.Read)
                return replace(one, target=target, value=expression(one.value))
            case tree.For():
                return replace(
                    one,
                    start=expression(one.start),
                    stop=expression(one.stop),
                    body=block(one.body),
                )
            case tree.While():
                return replace(one, condition=expression(one.condition), body=block(one.body))
            case tree.If():
                return replace(
                    one,
                    condition=expression(one.condition),
                    body=block(one.body),
                    otherwise=block(one.otherwise),
                )
            case tree.Assume():
                return replace(one, condition=expression(one.condition))
        return one

    return block(statements)
