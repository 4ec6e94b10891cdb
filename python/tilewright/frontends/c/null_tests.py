"""Tests of pointers: `if (x == NULL) return -1;`, `if (!w)` behind `w = malloc(n)`.

An argument is an array, and the memory of a call of `malloc` is there or the program ends, so that these pointers
are never NULL: what asks for it is a number that is known. A pointer that may be NULL, since NULL is assigned to
it, is none of them; nor does `double *w = NULL;` count if the next that is said of `w` in its block gives it memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pycparser import c_ast

__all__ = ["without_null_tests"]

_ALLOCATORS = {"malloc", "calloc", "realloc", "aligned_alloc"}
_STATES = {"assert", "__pencil_assume", "__pencil_assert"}


def without_null_tests(
    file: c_ast.FileAST, nodes: Callable[[Any], Iterator[Any]]
) -> dict[str, frozenset[str]]:
    """Changes the tree of a file.

    Args:
        nodes: a node and all that is in it.

    Returns:
        by function, the pointers that were asked for.
    """
    asked = {}
    for each in file.ext:
        if isinstance(each, c_ast.FuncDef):
            function = _Function(each, nodes)
            function.rewrite()
            asked[each.decl.name] = frozenset(function.asked)
    return asked


class _Function:
    def __init__(self, function: c_ast.FuncDef, nodes: Callable[[Any], Iterator[Any]]) -> None:
        self.function = function
        self.nodes = nodes
        self.asked: set[str] = set()
        declared = [each for each in nodes(function) if isinstance(each, c_ast.Decl)]
        pointers = {each.name for each in declared if _is_pointer(each.type)}
        others = {each.name for each in declared if not _is_pointer(each.type)}
        self.before_memory: set[int] = set()  # declarations whose NULL nobody sees
        for each in nodes(function.body):
            if isinstance(each, c_ast.Compound):
                self._note_declarations(each.block_items or [])
        self.pointers = pointers - others - self._nullable(declared)

    def _note_declarations(self, items: list[Any]) -> None:
        for at, item in enumerate(items):
            if isinstance(item, c_ast.Decl) and item.init is not None and _is_null(item.init):
                following = next(
                    (each for each in items[at + 1 :] if self._mentions(each, item.name)), None
                )
                if following is not None and self._first_gives_memory(following, item.name):
                    self.before_memory.add(id(item))

    def _first_gives_memory(self, node: Any, name: str) -> bool:
        """Whether a statement is `w = malloc(n)`, or begins with it: `if ((w = malloc(n)) == NULL)`."""
        if isinstance(node, c_ast.If):
            given = [
                each
                for each in self.nodes(node.cond)
                if isinstance(each, c_ast.Assignment) and _gives_memory(each, name)
            ]
            sized = {
                id(part)
                for each in self.nodes(node.cond)
                if isinstance(each, c_ast.UnaryOp) and each.op == "sizeof"
                for part in self.nodes(each)
            }
            asked = [
                each
                for each in self.nodes(node.cond)
                if isinstance(each, c_ast.ID) and each.name == name and id(each) not in sized
            ]
            return len(given) == len(asked) == 1
        return isinstance(node, c_ast.Assignment) and _gives_memory(node, name)

    def _mentions(self, node: Any, name: str) -> bool:
        return any(isinstance(each, c_ast.ID) and each.name == name for each in self.nodes(node))

    def _nullable(self, declared: list[Any]) -> set[str]:
        found = {
            each.name
            for each in declared
            if each.init is not None and _is_null(each.init) and id(each) not in self.before_memory
        }
        for each in self.nodes(self.function.body):
            if isinstance(each, c_ast.Assignment) and isinstance(each.lvalue, c_ast.ID):
                if each.op == "=" and _may_be_null(each.rvalue):
                    found.add(each.lvalue.name)
        return found

    def rewrite(self) -> None:
        self._rewrite_below(self.function.body)
        for each in self.nodes(self.function.body):
            if isinstance(each, c_ast.Compound) and each.block_items:
                self._declare_with_memory(each.block_items)

    def _declare_with_memory(self, items: list[Any]) -> None:
        """`double *w; ...; w = malloc(n);` as `...; double *w = malloc(n);`"""
        for item in list(items):
            if not (isinstance(item, c_ast.Decl) and item.name in self.pointers):
                continue
            at = items.index(item)
            following = next(
                (
                    place
                    for place in range(at + 1, len(items))
                    if self._mentions(items[place], item.name)
                ),
                None,
            )
            if item.init is None and following is not None:
                given = items[following]
                if isinstance(given, c_ast.Assignment) and _gives_memory(given, item.name):
                    item.init = given.rvalue
                    items[following] = item
                    del items[at]

    def _rewrite_below(self, node: Any) -> None:
        if isinstance(node, c_ast.Decl) and id(node) in self.before_memory:
            node.init = None
        for name in node.__slots__:
            child = getattr(node, name, None)
            is_asked = name == "cond" and not isinstance(node, c_ast.Switch)
            is_asked |= isinstance(node, c_ast.UnaryOp) and node.op == "!"
            is_asked |= isinstance(node, c_ast.BinaryOp) and node.op in ("&&", "||")
            if isinstance(child, c_ast.Node):
                setattr(node, name, self._rewritten(child, is_asked))
            elif isinstance(child, list):
                child[:] = [
                    part
                    for each in child
                    for part in (
                        _flat(self._rewritten(each, False))
                        if isinstance(node, c_ast.Compound)
                        else [self._rewritten(each, False)]
                    )
                ]

    def _rewritten(self, node: Any, is_asked: bool) -> Any:
        if not isinstance(node, c_ast.Node):
            return node  # a qualifier
        if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID):
            if node.name.name in _STATES and node.args is not None:
                node.args.exprs[:] = [self._rewritten(each, True) for each in node.args.exprs]
                return node
        if isinstance(node, c_ast.BinaryOp) and node.op in ("==", "!="):
            for pointer, other in ((node.left, node.right), (node.right, node.left)):
                if _is_null(other) and self._is_there(pointer):
                    return self._number(node.op == "!=", pointer)
        if is_asked and self._is_there(node):
            return self._number(True, node)
        self._rewrite_below(node)
        return _folded(node, is_asked)

    def _is_there(self, node: Any) -> bool:
        """Whether it is a pointer that is never NULL, or gets memory here."""
        if isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.ID):
            return node.lvalue.name in self.pointers and _gives_memory(node, node.lvalue.name)
        return isinstance(node, c_ast.ID) and node.name in self.pointers

    def _number(self, holds: bool, node: Any) -> Any:
        self.asked.add((node.lvalue if isinstance(node, c_ast.Assignment) else node).name)
        number = c_ast.Constant("int", str(int(holds)), node.coord)
        if isinstance(node, c_ast.ID):
            return number
        self._rewrite_below(node)
        return c_ast.ExprList([node, number], node.coord)


def _known(node: Any) -> bool | None:
    """What a condition is, if it is 0 or 1."""
    if isinstance(node, c_ast.Constant) and node.value in ("0", "1"):
        return bool(node.value == "1")
    return None


def _folded(node: Any, is_asked: bool) -> Any:
    """A condition of which a part is known."""
    if isinstance(node, c_ast.UnaryOp) and node.op == "!":
        known = _known(node.expr)
        return node if known is None else c_ast.Constant("int", str(int(not known)), node.coord)
    if not (isinstance(node, c_ast.BinaryOp) and node.op in ("&&", "||")):
        return node
    decides = node.op == "||"
    for side, other in ((node.left, node.right), (node.right, node.left)):
        known = _known(side)
        if known is None:
            continue
        if known != decides:
            if is_asked or _known(other) is not None:
                return other
        elif side is node.left:
            return side
    return node


def _flat(statement: Any) -> list[Any]:
    """The statements that are left of an `if` whose condition is known, or that gives memory before."""
    if not isinstance(statement, c_ast.If):
        return [statement]
    before: list[Any] = []
    condition = statement.cond
    if isinstance(condition, c_ast.ExprList) and _known(condition.exprs[-1]) is not None:
        *before, condition = condition.exprs
    known = _known(condition)
    if known is None:
        return [statement]
    left = statement.iftrue if known else statement.iffalse
    return [*before, *([] if left is None else [left])]


def _is_pointer(declared: Any) -> bool:
    return isinstance(declared, c_ast.PtrDecl | c_ast.ArrayDecl) and not isinstance(
        declared.type, c_ast.FuncDecl
    )


def _is_null(node: Any) -> bool:
    """Whether it is `NULL`, `0` or `(void *)0`."""
    if isinstance(node, c_ast.Cast):
        return isinstance(node.to_type.type, c_ast.PtrDecl) and _is_null(node.expr)
    return isinstance(node, c_ast.Constant) and node.value == "0"


def _may_be_null(node: Any) -> bool:
    """Whether a value that is assigned to a pointer is NULL, or may be it."""
    if isinstance(node, c_ast.TernaryOp):
        return _may_be_null(node.iftrue) or _may_be_null(node.iffalse)
    if isinstance(node, c_ast.Assignment):
        return _may_be_null(node.rvalue)
    return _is_null(node)


def _gives_memory(node: c_ast.Assignment, name: str) -> bool:
    value = node.rvalue
    while isinstance(value, c_ast.Cast):
        value = value.expr
    return (
        node.op == "="
        and isinstance(node.lvalue, c_ast.ID)
        and node.lvalue.name == name
        and isinstance(value, c_ast.FuncCall)
        and isinstance(value.name, c_ast.ID)
        and value.name.name in _ALLOCATORS
    )
