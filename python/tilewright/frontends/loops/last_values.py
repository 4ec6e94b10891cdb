"""Iterators that are read behind their loops: Python leaves the last value there.

Before::

    for i in range(n):
        if A[i] > 0: break
    return i

After::

    if not 0 < n: raise UnboundLocalError(...)
    i_last = 0
    for i in range(n):
        i_last = i
        if A[i] > 0: break
    return i_last
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from .definitions import find_webs, runs_always

__all__ = ["with_last_values"]


def with_last_values(function: ast.FunctionDef) -> None:
    """Makes variables of such iterators. Those that have other values besides are left alone."""
    unassigned = find_webs(function).unassigned
    reads = [
        node for node in ast.walk(function) if isinstance(node, ast.Name) and id(node) in unassigned
    ]
    wanted = {node.id for node in reads} - _otherwise_assigned(function)
    last = {name: _last(name, function) for name in wanted}
    first: list[tuple[list[ast.stmt], ast.For, list[ast.stmt]]] = []
    for body in _bodies(function) if wanted else ():
        for number, node in enumerate(body):
            name = _iterator(node)
            if name in wanted and any(
                _reads_at_once(each, name, unassigned) for each in body[number + 1 :]
            ):
                assert isinstance(node, ast.For)
                before = _before(node, last[name])
                if before is None:
                    wanted.discard(name)
                else:
                    first.append((body, node, before))
    found = {_iterator(loop) for _, loop, _ in first} & wanted
    if not found:
        return
    for body, loop, before in first:
        if _iterator(loop) in found:
            at = body.index(loop)
            body[at:at] = before
    loops = [each for each in ast.walk(function) if isinstance(each, ast.For)]
    for one in loops:
        if _iterator(one) in found:
            own = _iterator(one)
            target = ast.Name(last[own], ast.Store())
            made = ast.Assign([target], ast.Name(own, ast.Load()))
            one.body.insert(0, _located(made, one))
    for read in reads:
        if read.id in found:
            read.id = last[read.id]


def _last(name: str, function: ast.FunctionDef) -> str:
    """A name that the function does not have."""
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    made = f"{name}_last"
    while made in names and not made.endswith("_"):
        made += "_"
    return made


def _otherwise_assigned(function: ast.FunctionDef) -> set[str]:
    """Names that are given values by anything but loops over `range`."""
    targets = {
        id(node.target) for node in ast.walk(function) if isinstance(node, ast.For) and _over(node)
    }
    return {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name)
        and not isinstance(node.ctx, ast.Load)
        and id(node) not in targets
    }


def _bodies(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        for part in ("body", "orelse"):
            found = getattr(node, part, None)
            if isinstance(found, list):
                yield found


def _over(node: ast.For) -> list[ast.expr] | None:
    """The arguments of the `range` over which a loop runs."""
    made = node.iter
    if isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and not made.keywords:
        if made.func.id == "range" and 1 <= len(made.args) <= 3:
            return made.args
    return None


def _iterator(node: ast.stmt) -> str:
    is_range = isinstance(node, ast.For) and _over(node) is not None
    return node.target.id if is_range and isinstance(node.target, ast.Name) else ""  # type: ignore[attr-defined]


def _reads_at_once(node: ast.stmt, name: str, unassigned: set[int]) -> bool:
    """Whether a statement reads it whenever it runs."""
    parts: list[ast.AST] = [node]
    match node:
        case ast.For():
            parts = [node.iter]
        case ast.If() | ast.While():
            parts = [node.test]
    return any(
        isinstance(each, ast.Name) and each.id == name and id(each) in unassigned
        for part in parts
        for each in ast.walk(part)
    )


def _before(loop: ast.For, name: str) -> list[ast.stmt] | None:
    """The assignment, and what Python would raise without a turn. Nothing where this is not easily said."""
    given = _over(loop)
    assert given is not None
    made: list[ast.stmt] = [
        ast.Assign([ast.Name(name, ast.Store())], ast.Constant(0)),
    ]
    if not runs_always(loop.iter):
        first, last = (ast.Constant(0), given[0]) if len(given) == 1 else (given[0], given[1])
        step = 1
        if len(given) == 3:
            try:
                step = ast.literal_eval(given[2])
            except ValueError:
                return None
        if not step or not all(map(_is_plain, (first, last))):
            return None
        compared: ast.cmpop = ast.Lt() if step > 0 else ast.Gt()
        runs = ast.Compare(copy.deepcopy(first), [compared], [copy.deepcopy(last)])
        iterator = loop.target.id  # type: ignore[attr-defined]
        text = ast.Constant(f"cannot access local variable '{iterator}': its loop runs no time")
        error = ast.Call(ast.Name("UnboundLocalError", ast.Load()), [text], [])
        made.insert(0, ast.If(ast.UnaryOp(ast.Not(), runs), [ast.Raise(error)], []))
    return [_located(each, loop) for each in made]


def _located(made: ast.stmt, place: ast.stmt) -> ast.stmt:
    for part in ast.walk(made):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, place)
    return made


def _is_plain(bound: ast.AST) -> bool:
    """Whether a bound may be asked twice, since nothing in it changes and nothing is called but `len`."""
    match bound:
        case ast.Call(func=ast.Name("len"), args=[each], keywords=[]):
            return _is_plain(each)
        case ast.BinOp():
            return _is_plain(bound.left) and _is_plain(bound.right)
        case ast.UnaryOp():
            return _is_plain(bound.operand)
        case ast.Attribute():
            return bound.attr in ("shape", "size", "ndim") and _is_plain(bound.value)
        case ast.Subscript(value=ast.Attribute(attr="shape") as shape, slice=ast.Constant()):
            return _is_plain(shape)
    return isinstance(bound, ast.Name | ast.Constant)
