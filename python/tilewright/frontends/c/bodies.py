"""Programs with another body of a statement: `CFunction.with_body`.

The new body is C, read where the statement stands: it may name whatever the old one could.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast, c_generator, c_parser

from ...base.errors import ArgumentError
from ..tree import Location
from .parsing import CFile, nodes

__all__ = ["Body", "replaced"]


@dataclass(frozen=True)
class Body:
    """A new body: of which statement, and its text."""

    label: str
    location: Location
    text: str


def replaced(file: CFile, bodies: Sequence[Body]) -> contextlib.AbstractContextManager[None]:
    """The file's tree with these bodies, while this lasts.

    Raises:
        ArgumentError: the text is no C, or the statement is none that takes it.
    """
    changes = []
    for body in bodies:
        node, new = _statement(file, body), _parsed(file, body)
        _move(new, node.coord)
        changes.append((node, new))
    return _swapped(changes)


@contextlib.contextmanager
def _swapped(changes: Sequence[tuple[Any, Any]]) -> Iterator[None]:
    undone: list[tuple[Any, str, Any, Any]] = []
    try:
        for node, new in changes:
            undone.append((node, node.op, node.lvalue, node.rvalue))
            if isinstance(new, c_ast.Assignment):
                node.op, node.lvalue, node.rvalue = new.op, new.lvalue, new.rvalue
            else:
                node.rvalue = new
        yield
    finally:
        for node, sign, target, value in reversed(undone):
            node.op, node.lvalue, node.rvalue = sign, target, value


def _statement(file: CFile, body: Body) -> Any:
    """The assignment of a label."""
    for function in file.functions.values():
        for each in nodes(function.body):
            if isinstance(each, c_ast.Assignment) and file.place(each) == body.location:
                return each
    raise ArgumentError(
        f"{body.label} at {body.location} is no assignment of the file, which alone has a body: write "
        "it as one, x = x + 1 in place of x++"
    )


def _parsed(file: CFile, body: Body) -> Any:
    """The text as an assignment or an expression."""
    types = [each for each in file.declarations if isinstance(each, c_ast.Typedef)]
    generator = c_generator.CGenerator()
    declared = "".join(f"{generator.visit(each)};\n" for each in types)
    text = body.text.strip().rstrip(";")
    lines = declared.count("\n") + 1
    try:
        tree = c_parser.CParser().parse(f"{declared}void f(void) {{\n{text}\n;}}")
    except Exception as error:  # pycparser has several of its own
        where = re.match(r"[^:]*:(\d+):(\d+): (.*)", str(error), re.S)
        reason = str(error).lstrip(": ")
        if where:
            reason = f"line {int(where[1]) - lines}, column {where[2]}: {where[3]}"
        raise ArgumentError(f"the new body of {body.label} is no C: {reason}") from None
    items = tree.ext[-1].body.block_items or []
    found = [each for each in items if not isinstance(each, c_ast.EmptyStatement)]
    if len(found) != 1 or isinstance(found[0], c_ast.Decl | c_ast.For | c_ast.If | c_ast.Compound):
        raise ArgumentError(
            f"the new body of {body.label} is one expression, or one assignment, not {text!r}"
        )
    words = {word: own for own, word in file.renamed.items()}
    for each in nodes(found[0]):
        if isinstance(each, c_ast.ID):
            each.name = words.get(each.name, each.name)
    return found[0]


def _move(node: Any, coord: Any) -> None:
    """What is refused in the new body is refused where the statement stands."""
    for each in nodes(node):
        each.coord = coord
