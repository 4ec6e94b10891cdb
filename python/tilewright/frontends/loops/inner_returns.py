"""A `return` inside a loop of a function that another one calls.

The function is inlined, so its `return` leaves no function. It leaves the loops around it, and what follows
these is done only if nothing has returned:

    def place(a, v):                        found = False
        for i in range(len(a)):             for i in range(len(a)):
            if a[i] == v:                       if a[i] == v:
                return i                            result = i; found = True; break
        return -1                           if not found:
                                                result = -1; found = True
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

__all__ = ["Gives", "without_inner_returns"]


class Gives(ast.Expr):
    """What an inlined call returns, if nothing has returned before; statements may follow."""


def without_inner_returns(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function with `Gives` for each `return`, or itself if no loop has one."""
    loops = [each for each in ast.walk(function) if isinstance(each, ast.For | ast.While)]
    if not any(_returns(loop) for loop in loops):
        return function
    made = copy.copy(function)
    rewriting = _Rewriting(f"returned_{function.lineno}")
    start = rewriting.flagged(False, function.body[0])
    made.body = [start, *rewriting.block(function.body, in_loop=False)]
    return made


def _returns(node: ast.AST) -> bool:
    """Whether a `return` of this function is in it."""
    if isinstance(node, ast.Return):
        return True
    inner = (each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.FunctionDef))
    return any(_returns(each) for each in inner)


class _Rewriting:
    def __init__(self, flag: str) -> None:
        self.flag = flag

    def flagged(self, value: bool, place: ast.stmt) -> ast.stmt:
        target = ast.copy_location(ast.Name(self.flag, ast.Store()), place)
        given = ast.copy_location(ast.Constant(value), place)
        return ast.copy_location(ast.Assign([target], given), place)

    def asked(self, place: ast.stmt) -> ast.expr:
        return ast.copy_location(ast.Name(self.flag, ast.Load()), place)

    def block(self, statements: Sequence[ast.stmt], in_loop: bool) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for number, each in enumerate(statements):
            if isinstance(each, ast.Return):
                made += self.given(each)
                if in_loop:
                    made.append(ast.copy_location(ast.Break(), each))
                return made  # nothing behind it is come to
            if not _returns(each):
                made.append(each)
                continue
            made.append(self.statement(each, in_loop))
            is_loop = isinstance(each, ast.For | ast.While)
            rest = statements[number + 1 :]
            if in_loop and is_loop:
                leave: list[ast.stmt] = [ast.copy_location(ast.Break(), each)]
                made.append(ast.copy_location(ast.If(self.asked(each), leave, []), each))
            elif not in_loop and rest:
                test = ast.copy_location(ast.UnaryOp(ast.Not(), self.asked(rest[0])), rest[0])
                body = self.block(rest, in_loop)
                return [*made, ast.copy_location(ast.If(test, body, []), rest[0])]
        return made

    def given(self, node: ast.Return) -> list[ast.stmt]:
        value = node.value or ast.copy_location(ast.Constant(None), node)
        return [ast.copy_location(Gives(value), node), self.flagged(True, node)]

    def statement(self, node: ast.stmt, in_loop: bool) -> ast.stmt:
        made = copy.copy(node)
        inside = in_loop or isinstance(node, ast.For | ast.While)
        for part in ("body", "orelse"):
            statements = getattr(node, part, None)
            if statements:
                # What stands behind `else` of a loop is outside of it.
                within = inside if part == "body" else in_loop
                setattr(made, part, self.block(statements, within))
        return made
