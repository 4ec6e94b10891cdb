"""What Python has a word for and the translation has none: `else` behind a loop, and `raise` under a condition.

Before::

    for i in range(n):
        if A[i] > 0: break
    else:
        B[0] = 1

After::

    completed = True
    for i in range(n):
        if A[i] > 0:
            completed = False
            break
    if completed:
        B[0] = 1

A branch that only raises becomes an assertion of the opposite, which keeps the exception.
"""

from __future__ import annotations

import ast

__all__ = ["Completed", "Raising", "without_sugar"]


class Raising(ast.Assert):
    """`if not test: raise exception`"""

    exception: ast.expr
    place: ast.stmt


class _Breaks(ast.NodeTransformer):
    """Unsets a flag where a loop is left."""

    def __init__(self, flag: str) -> None:
        self.flag = flag
        self.found = False

    def visit_Break(self, node: ast.Break) -> list[ast.stmt]:
        self.found = True
        return [_assigned(self.flag, False, node), node]

    def visit_For(self, node: ast.For) -> ast.stmt:
        return node

    def visit_While(self, node: ast.While) -> ast.stmt:
        return node


class Completed(ast.If):
    """What stood behind `else` of a loop: right behind the loop now, if nothing has left it."""

    loop: ast.For | ast.While


class _Plain(ast.NodeTransformer):
    def visit_For(self, node: ast.For) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        return _without_else(node)

    def visit_While(self, node: ast.While) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        return _without_else(node)

    def visit_If(self, node: ast.If) -> ast.stmt:
        self.generic_visit(node)
        only = node.body[0]
        if len(node.body) > 1 or not isinstance(only, ast.Raise) or only.exc is None or node.orelse:
            return node
        made = Raising(ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test), None)
        made.exception, made.place = only.exc, only
        return ast.copy_location(made, node)


def _without_else(node: ast.For | ast.While) -> ast.stmt | list[ast.stmt]:
    if not node.orelse:
        return node
    flag = f"completed_{node.lineno}"
    breaks = _Breaks(flag)
    node.body = [part for each in node.body for part in _listed(breaks.visit(each))]
    behind, node.orelse = node.orelse, []
    if not breaks.found:
        return [node, *behind]
    test = ast.copy_location(ast.Name(flag, ast.Load()), behind[0])
    last = ast.copy_location(Completed(test, behind, []), behind[0])
    last.loop = node
    return [_assigned(flag, True, node), node, last]


def _listed(found: ast.stmt | list[ast.stmt]) -> list[ast.stmt]:
    return found if isinstance(found, list) else [found]


def _assigned(name: str, value: bool, place: ast.stmt) -> ast.stmt:
    made = ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))
    ast.copy_location(made, place)
    for part in (made.targets[0], made.value):
        ast.copy_location(part, place)
    return made


def without_sugar(function: ast.FunctionDef) -> None:
    """Changes the function, functions inside of it too."""
    function.body = [part for each in function.body for part in _listed(_Plain().visit(each))]
