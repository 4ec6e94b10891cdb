"""Functions that are defined inside of the person's function, and see its variables.

They are inlined where they are called, as functions with `@tw.jit` are. A name that is not theirs is that
of the function around them, at the call, as Python has it.
"""

from __future__ import annotations

import ast
import inspect
import types
from dataclasses import replace
from typing import Any

from ..refusals import refuse
from .sources import Source

__all__ = ["Definition", "LocalFunction", "without_local_functions"]


class LocalFunction:
    """A function inside of another one.

    Attributes:
        outer: the frame of the function around it.
    """

    def __init__(self, node: ast.FunctionDef, outer: Any) -> None:
        self.outer = outer
        self.node = node
        source: Source = replace(outer.source, tree=node)
        self.__tilewright_loops__ = types.SimpleNamespace(
            name=node.name, source=source, lookup=outer.lookup
        )
        self.py_func = self
        self.__signature__ = _signature_of(node, source)

    def __call__(self) -> None:
        """It is inlined, and never called."""
        raise TypeError(self.node.name)


def _is_constant(node: ast.expr) -> bool:
    """Whether it is made of numbers, texts and operators alone, as -1.0 and 2 * 3 are."""
    operators = (ast.operator, ast.unaryop, ast.Load)
    parts = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple, *operators)
    return all(isinstance(each, parts) for each in ast.walk(node))


def _value_of(node: ast.expr) -> Any:
    """What Python makes of such an expression."""
    return eval(compile(ast.Expression(node), "<default>", "eval"), {"__builtins__": {}})


def _signature_of(node: ast.FunctionDef, source: Source) -> inspect.Signature:
    given = node.args
    for other in (given.vararg, given.kwarg, *node.decorator_list):
        if other is not None:
            refuse(
                source.location(other),
                "a function inside of a function with a variable number of arguments, or a decorator",
                "define it outside",
            )
    kinds = inspect.Parameter
    positional = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults))
    defaults += given.defaults
    parameters = []
    for number, (each, default) in enumerate(
        zip((*positional, *given.kwonlyargs), (*defaults, *given.kw_defaults), strict=True)
    ):
        if default is not None and not _is_constant(default):
            refuse(source.location(default), "a default that is no constant", "pass it in the call")
        kind = (
            kinds.POSITIONAL_ONLY
            if number < len(given.posonlyargs)
            else kinds.POSITIONAL_OR_KEYWORD
            if number < len(positional)
            else kinds.KEYWORD_ONLY
        )
        value = kinds.empty if default is None else _value_of(default)
        parameters.append(kinds(each.arg, kind, default=value))
    return inspect.Signature(parameters)


class Definition(ast.Pass):
    """A `pass` in place of a function."""

    defines: ast.FunctionDef


class _Apart(ast.NodeTransformer):
    """Puts a `Definition` in place of functions."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return _apart(without_local_functions(node), node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        made = node.value
        if not isinstance(made, ast.Lambda) or not isinstance(node.targets[0], ast.Name):
            return node
        if len(node.targets) > 1:
            return node
        body = [ast.copy_location(ast.Return(made.body), made.body)]
        function = ast.parse("def f(): pass").body[0]
        assert isinstance(function, ast.FunctionDef)
        function.name, function.args = node.targets[0].id, made.args
        function.body = list(body)
        return _apart(ast.copy_location(function, made), node)


def _apart(function: ast.FunctionDef, node: ast.stmt) -> ast.stmt:
    empty = Definition()
    empty.defines = function
    return ast.copy_location(empty, node)


def without_local_functions(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function, whose walks do not come into functions inside of it."""
    function.body = [_Apart().visit(each) for each in function.body]
    return function
