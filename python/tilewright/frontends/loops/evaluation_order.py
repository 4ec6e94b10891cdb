"""Python evaluates operands one after the other: `a[0] + f(a)` has the element as it was before the call.

An operand is an expression that reads memory where it is used. If a later one is made of statements that
change what it reads, it is computed before these, in memory of its own.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from .. import tree
from .context import Context
from .values import ArrayValue, Scalar, TupleValue, Value

__all__ = ["EvaluationOrder"]


class EvaluationOrder(Context):
    """Values that stay what they were."""

    @contextmanager
    def behind(self, values: list[Value], node: ast.AST) -> Iterator[None]:
        """What is evaluated within comes after `values`, which stay what they are now."""
        count, mark, out = len(self.arrays), len(self.out), self.out
        yield
        if out is not self.out or len(out) == mark:
            return
        known = set(itertools.islice(self.arrays, count))  # others are made within
        if not (changed := _written(out[mark:]) & known):
            return
        with self.collected() as made:
            values[:] = [self._as_now(each, changed, node) for each in values]
        out[mark:mark] = made

    def _as_now(self, value: Value, changed: set[str], node: ast.AST) -> Value:
        match value:
            case Scalar():
                reads = {read.array for read in tree.reads_of(value.expression)}
                return self.kept(value, node) if reads & changed else value
            case ArrayValue() if not value.base:
                return self.materialised(value, "value", node)
            case TupleValue():
                return replace(
                    value, parts=tuple(self._as_now(each, changed, node) for each in value.parts)
                )
        return value

    def materialised(self, value: ArrayValue, wanted: str, node: ast.AST) -> ArrayValue:
        raise NotImplementedError


def _written(statements: Sequence[tree.Statement]) -> set[str]:
    """The arrays that some statements change."""
    calls = [each for each in tree.walk(statements) if isinstance(each, tree.Block)]
    return tree.assigned_arrays(statements).union(*(each.writes for each in calls))
