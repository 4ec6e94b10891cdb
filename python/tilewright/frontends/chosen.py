"""Subscripts that data decide about, in languages in which leaving an array is an error.

What is below 0 counts from the end, as in Python; what is then outside of the array is an error while the
program runs. Affine subscripts are none of these: where they are is proved before anything runs. A
subscript that is never below 0 is left as it is (`NeverNegative`), so that no kernel chooses for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

import tilewright as tw

from ..base import written
from . import tree
from .affine import Scope, affine_of
from .rewriting import with_parts

__all__ = ["Chosen", "FromEnd", "as_index", "is_counted", "note_element"]

INDEX = np.dtype(np.int64)


@dataclass(frozen=True)
class Chosen:
    """A subscript that chooses the element to be written, which the array must have.

    Attributes:
        location: where the element stands.
        line: of the statement.
        from_end: whether it counts from the end below 0.
    """

    array: str
    axis: int
    location: tree.Location
    line: int
    from_end: bool

    def asked(self, subscript: tree.Expression, extent: tree.Expression) -> tree.Expression:
        """The subscript, or an error when the statement runs."""
        given = (as_index(subscript), as_index(extent))
        return tree.Call(self, given, INDEX, self.location)

    def __call__(self, subscript: tw.Expression, extent: tw.Expression) -> tw.Expression:
        note_element(self.line, self.location, subscript, self.from_end)
        return tw.checked(subscript, extent, array=self.array, axis=self.axis)


def note_element(
    line: int, element: tree.Location, subscript: tw.Expression, from_end: bool
) -> None:
    """Notes where an element stands of which data decide a subscript, for the error's message."""
    written.note((element.file, line), str(subscript), (element.line, element.column), from_end)


def as_index(expression: tree.Expression) -> tree.Expression:
    """As int64."""
    return expression if expression.dtype == INDEX else tree.Convert(expression, INDEX)


def _counted(subscript: tw.Expression, extent: tw.Expression) -> tw.Expression:
    """The place of a subscript that counts from the end below 0."""
    return tw.select(subscript < 0, subscript + extent, subscript)


class FromEnd:
    """Lets the subscripts of a program that data decide about count from the end below 0."""

    def __init__(self, program: tree.Program) -> None:
        self._arrays = program.arrays
        self._never_negative = NeverNegative(program)

    def __call__(self, expression: tree.Expression, scope: Scope) -> tree.Expression:
        """The expression with its subscripts as they are meant. What is counted already stays."""
        if isinstance(expression, tree.Reduce):
            own = {iterator.name: iterator.name for iterator in expression.iterators}
            scope = Scope({**scope.variables, **own}, scope.known)
        made = with_parts(expression, lambda part: self(part, scope))
        if not isinstance(made, tree.Read) or made.array not in self._arrays:
            return made
        shape = self._arrays[made.array].shape
        subscripts = tuple(
            self._subscript(subscript, extent, scope, made.location)
            for subscript, extent in zip(made.subscripts, shape, strict=True)
        )
        return replace(made, subscripts=subscripts)

    def _subscript(
        self,
        subscript: tree.Expression,
        extent: tree.Expression,
        scope: Scope,
        where: tree.Location,
    ) -> tree.Expression:
        if isinstance(subscript, tree.Call) and isinstance(subscript.function, Chosen):
            return subscript
        if is_counted(subscript):
            return subscript
        if affine_of(subscript, scope) is not None or self._never_negative(subscript):
            return subscript
        return tree.Call(_counted, (as_index(subscript), as_index(extent)), INDEX, where)


def is_counted(subscript: tree.Expression) -> bool:
    """Whether a subscript counts from the end below 0."""
    return isinstance(subscript, tree.Call) and subscript.function is _counted


_OF_BOTH = {"+", "*", "//", ">>", "|", "^", "minimum"}


class NeverNegative:
    """Which integers of a program are never below 0, as far as their operations show it.

    A variable is one of them unless something is assigned to it that may be negative if it is not
    (the greatest solution). Sums that wrap are not thought of: the places that they give are outside of
    every array, and an error.
    """

    def __init__(self, program: tree.Program) -> None:
        self._names: set[str] = set()
        scalars = {
            name for name, array in program.arrays.items() if not array.shape and array.local
        }
        values: dict[str, list[tree.Expression]] = {name: [] for name in scalars}
        statements = list(tree.walk(program.body))
        for statement in statements:
            if isinstance(statement, tree.Assign) and statement.target.array in scalars:
                values[statement.target.array].append(statement.value)
            elif isinstance(statement, tree.For):
                values.setdefault(statement.iterator.name, []).append(_least(statement))
        at_least = (
            name for each in program.context for name in _at_least_zero(each, program.parameters)
        )
        self._names = {*values, *at_least}
        self._leave_out(values)

    def _leave_out(self, values: dict[str, list[tree.Expression]]) -> None:
        while True:
            negative = {
                name
                for name, given in values.items()
                if name in self._names and not all(map(self, given))
            }
            if not negative:
                return
            self._names -= negative

    def __call__(self, expression: tree.Expression) -> bool:
        if expression.dtype.kind in "ub":
            return True
        match expression:
            case tree.Literal():
                return not isinstance(expression.value, complex) and expression.value >= 0
            case tree.Variable():
                return expression.name in self._names
            case tree.Read():
                return not expression.subscripts and expression.array in self._names
            case tree.Convert():
                return expression.value.dtype.kind in "iub" and self(expression.value)
            case tree.Select():
                return self(expression.if_true) and self(expression.if_false)
            case tree.Operation(name="%"):
                return self(expression.operands[1])  # the sign of Python's divisor
            case tree.Operation(name="abs"):
                return True
            case tree.Operation(name="&" | "maximum"):
                return any(map(self, expression.operands))
            case tree.Operation(name=name) if name in _OF_BOTH:
                return all(map(self, expression.operands))
        return False


def _least(loop: tree.For) -> tree.Expression:
    """An expression that no value of an iterator is below."""
    if loop.step > 0:
        return loop.start
    one = tree.Literal(1, INDEX)
    if isinstance(loop.stop, tree.Literal) and not isinstance(loop.stop.value, complex):
        return tree.Literal(int(loop.stop.value) + 1, INDEX)
    return tree.Operation("+", (loop.stop, one), INDEX, loop.location)


def _at_least_zero(condition: tree.Expression, parameters: Iterable[str]) -> list[str]:
    """The parameters of which a fact says that they are not below 0."""
    match condition:
        case tree.Operation(
            name=">=" | ">", operands=(tree.Variable(name=name), tree.Literal(value=bound))
        ) if not isinstance(bound, complex) and bound >= 0 and name in parameters:
            return [name]
        case tree.Operation(
            name="<=" | "<", operands=(tree.Literal(value=bound), tree.Variable(name=name))
        ) if not isinstance(bound, complex) and bound >= 0 and name in parameters:
            return [name]
        case tree.Operation(name="&", operands=parts) if condition.dtype.kind == "b":
            return [name for part in parts for name in _at_least_zero(part, parameters)]
        case tree.Select(if_false=tree.Literal(value=False)):
            parts = (condition.condition, condition.if_true)
            return [name for part in parts for name in _at_least_zero(part, parameters)]
    return []
