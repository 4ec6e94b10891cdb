"""Tables: arrays whose values the file says in braces (C99 6.7.8).

A short list is written element by element when the program begins, so that what reads `w[1]` reads a
constant. A longer one is an argument of the program with a default value: the array that the file says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from pycparser import c_ast

from ..tree import Literal
from .c_types import ArrayOf, CType, Number, Structure, record_dtype
from .parsing import Text

__all__ = ["MOST_WRITTEN", "count_of", "table_of"]

#: Arrays of up to so many elements are written one by one.
MOST_WRITTEN = 16


class _NoConstant(Exception):
    """A list holds what is known only when the program runs, or what `initialise` has to refuse."""


def count_of(of: CType) -> int | None:
    """How many elements an array has; None if that is not known, 1 of what is no array."""
    count = 1
    while isinstance(of, ArrayOf):
        if not isinstance(of.extent, Literal):
            return None
        count *= int(of.extent.value.real)
        of = of.element
    return count


def table_of(
    of: CType, node: Any, value: Callable[[Any, Number], object], constant: Callable[[Any], int]
) -> np.ndarray | None:
    """The values of an initialiser; what it does not name is 0.

    Args:
        of: an array of numbers or structures, or one of these.
        node: the list in braces or the number.
        value: the value of an expression as a number of a type; None if it is no constant.
        constant: an integer that the C says, of a designator.

    Returns:
        the array; None if it has other values than constants, or is not well formed.
    """
    shape: list[int] = []
    inner = of
    while isinstance(inner, ArrayOf):
        if not isinstance(inner.extent, Literal):
            return None
        shape.append(int(inner.extent.value.real))
        inner = inner.element
    table: np.ndarray = np.zeros(tuple(shape), record_dtype(inner))
    try:
        _Filling(value, constant).fill(table, of, node)
    except _NoConstant:
        return None
    table.flags.writeable = False
    return table


@dataclass(frozen=True)
class _Filling:
    """See `table_of`."""

    value: Callable[[Any, Number], object]
    constant: Callable[[Any], int]

    def fill(self, view: np.ndarray, of: CType, node: Any) -> None:
        """Sets what a list names; `view` is that part of the table, without dimensions if it is a number
        or a structure."""
        if isinstance(of, Number):
            view[...] = self._number(of, node)
        elif isinstance(node, c_ast.InitList):
            self._fill_parts(view, of, node)
        else:
            raise _NoConstant

    def _number(self, of: Number, node: Any) -> object:
        if isinstance(node, c_ast.InitList):
            if len(node.exprs) != 1:
                raise _NoConstant
            node = node.exprs[0]
        found = self.value(node, of)
        if found is None:
            raise _NoConstant
        return found

    def _fill_parts(self, view: np.ndarray, of: CType, node: Any) -> None:
        fields = of.fields if isinstance(of, Structure) else ()
        names = [name for name, _ in fields]
        count = len(fields) if isinstance(of, Structure) else len(view)
        at = 0
        for each in node.exprs:
            if isinstance(each, c_ast.NamedInitializer):
                at = self._designated(each, names)
                each = each.expr
            if at == count and isinstance(node, Text):
                return  # no room for the 0
            if not 0 <= at < count:
                raise _NoConstant
            if isinstance(of, ArrayOf):
                self.fill(view[at, ...], of.element, each)
            else:
                self.fill(view[names[at]], fields[at][1], each)
            at += 1

    def _designated(self, node: Any, names: list[str]) -> int:
        if len(node.name) != 1:
            raise _NoConstant
        name = node.name[0]
        if not names:
            return self.constant(name)
        if not isinstance(name, c_ast.ID) or name.name not in names:
            raise _NoConstant
        return names.index(name.name)
