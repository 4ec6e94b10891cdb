"""Slices whose bounds data decide: `A[start[i]:start[i + 1]]`, cut off at the ends of the array.

A bound is computed where the slice stands, into a variable of its own; slices with the same bounds share
it, so that they are known to be of one length. What is read for a bound must not change in the function.

Before::

    for i in range(n):
        out[i] = x[start[i] : start[i + 1]].sum()

After::

    for i in range(n):
        bound = min(start[i], len(x))
        bound_2 = max(min(start[i + 1], len(x)), bound)
        out[i] = 0
        for p in range(bound, bound_2):
            out[i] += x[p]
"""

from __future__ import annotations

import ast

from ..refusals import refuse
from ..tree import Assign, Expression, Operation, Select, Statement, reads_of, walk
from .extents import Extents
from .indices import add, is_pure, key_of, literal
from .kinds import BOOL, INT, INT64
from .values import Scalar

__all__ = ["DataSlices"]


class DataSlices(Extents):
    """Bounds of slices that data decide about."""

    def data_bound(
        self, index: Expression, extent: Expression, least: Expression, node: ast.AST
    ) -> Expression:
        """The bound of a slice as NumPy has it, at least `least`."""
        where = self.at(node)

        def of(name: str, *operands: Expression) -> Expression:
            return Operation(name, operands, INT64, where)

        key = (key_of(index), key_of(extent), key_of(least))
        known = self.bounds.get(key)
        if known is not None and known[0] is self.out:
            return known[1]
        below = Operation("<", (index, literal(0)), BOOL.dtype, where)
        bound = Select(below, add(index, extent), of("minimum", index, extent), INT64)
        kept = self.kept(Scalar(of("maximum", bound, least), INT), node, "bound").expression
        self.fixed.update(read.array for read in reads_of(kept))
        constant = True
        for read in reads_of(index):
            array = self.arrays[read.array]
            if array.local and not array.shape:
                constant = constant and read.array in self.fixed
            else:
                reason = (
                    f"the bound of a slice is read from {read.array}, which the function changes"
                )
                self.unchanged.setdefault(read.array, (where, reason, frozenset()))
        if constant:
            self.bounds[key] = (self.out, kept)
        return kept

    def is_fixed(self, subscript: Expression) -> bool:
        """Whether a subscript stays what it is: of parameters, iterators and such bounds."""
        return is_pure(subscript) or all(read.array in self.fixed for read in reads_of(subscript))

    def check_unchanged(self, body: tuple[Statement, ...]) -> None:
        """Refuses programs that change what the bounds of slices are read from, or parts in other shapes."""
        for statement in walk(body):
            if isinstance(statement, Assign) and statement.target.array in self.unchanged:
                where, reason, before = self.unchanged[statement.target.array]
                if statement.label not in before:
                    refuse(where, reason, "use a copy, .copy()")
