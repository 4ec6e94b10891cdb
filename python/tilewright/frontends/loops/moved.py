"""Arrays whose elements stand elsewhere: padded, repeated, rolled, reversed, put side by side.

None of them has memory: the element at a place of the new array is one of the old array, chosen by affine
conditions and subscripts, so that loops over their borders are found as in any other program.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from ..tree import Expression, Operation, Select
from .indices import add, constant_of, literal, multiply, subtract
from .joins import Joins
from .kinds import BOOL, INT64
from .values import ArrayValue, Scalar, Static, TupleValue, Value, converted

__all__ = ["Moved"]

#: From a place in a padded axis of the old length n, which may be outside: a choice of elements.
_Element = Callable[[Expression], Expression]


class Moved(Joins):
    """Elements in other places."""

    def along(
        self,
        array: ArrayValue,
        axis: int,
        extent: Expression,
        element: Callable[[_Element, Expression], Expression],
    ) -> ArrayValue:
        """The array with another extent of an axis: `element` is given the old elements along it."""

        def made(indices: tuple[Expression, ...]) -> Expression:
            def old(place: Expression) -> Expression:
                return array.element((*indices[:axis], place, *indices[axis + 1 :]))

            return element(old, indices[axis])

        shape = (*array.shape[:axis], extent, *array.shape[axis + 1 :])
        room = (*array.room[:axis], extent, *array.room[axis + 1 :])
        return ArrayValue(shape, room, array.dtype, made)

    def if_(self, test: Expression, yes: Expression, no: Expression) -> Expression:
        """A choice."""
        return Select(test, yes, no, yes.dtype)

    def is_below(self, a: Expression, b: Expression, node: ast.AST) -> Expression:
        return Operation("<", (a, b), BOOL.dtype, self.at(node))

    # ---- np.roll ----

    def rolled(self, array: Value, shift: Value, axis: Value, node: ast.AST) -> Value:
        """np.roll(array, shift, axis), by less than the extent."""
        if not isinstance(array, ArrayValue) or not array.shape:
            self.refuse(node, f"np.roll of {self.described(array)}")
        if isinstance(axis, Static) and axis.value is None:
            if len(array.shape) > 1:
                self.refuse(node, "np.roll of a matrix without axis=", "say axis=, or use ravel()")
            axis = Scalar(literal(0), array.kind)
            axes = [0]
        else:
            parts = axis.parts if isinstance(axis, TupleValue) else (axis,)
            axes = [self.axes_of(part, len(array.shape), node)[0] for part in parts]
        shifts = list(shift.parts) if isinstance(shift, TupleValue) else [shift] * len(axes)
        if len(shifts) != len(axes):
            self.refuse(node, "np.roll takes as many shifts as axes")
        for one, by in zip(axes, shifts, strict=True):
            array = self._rolled(array, self.as_index(by, node, "the shift of np.roll"), one, node)
        return array

    def _rolled(self, array: ArrayValue, shift: Expression, axis: int, node: ast.AST) -> ArrayValue:
        extent = array.shape[axis]
        number = constant_of(shift)
        if number is None:
            self.claim_not_negative(shift, node, "the shift of np.roll")
            self.claim_not_negative(subtract(extent, shift), node, "what np.roll leaves in place")
        else:
            least = subtract(extent, literal(abs(number)))
            self.claim_not_negative(least, node, "what np.roll leaves in place")
        first = shift if number is None or number >= 0 else add(extent, shift)

        def element(old: _Element, at: Expression) -> Expression:
            behind = subtract(at, first)
            return self.if_(self.is_below(at, first, node), old(add(behind, extent)), old(behind))

        return self.along(array, axis, extent, element)

    # ---- np.pad ----

    def padded(
        self, array: Value, width: Value, mode: Value | None, fill: Value | None, node: ast.AST
    ) -> Value:
        """np.pad(array, width, mode, constant_values=)"""
        if not isinstance(array, ArrayValue) or not array.shape:
            self.refuse(node, f"np.pad of {self.described(array)}")
        how = "constant" if mode is None else mode.value if isinstance(mode, Static) else None
        if how not in ("constant", "edge", "reflect", "symmetric", "wrap"):
            self.refuse(
                node,
                "np.pad takes the modes 'constant', 'edge', 'reflect', 'symmetric' and 'wrap' here",
                "write the borders in loops",
            )
        constant: Expression = converted(literal(0), array.dtype, INT64)
        if fill is not None:
            if not isinstance(fill, Scalar):
                self.refuse(node, "constant_values= must be one number")
            kept = self.kept(fill, node)
            constant = converted(kept.expression, array.dtype, kept.kind.dtype)
        for axis, (before, behind) in enumerate(self._widths(width, len(array.shape), node)):
            if constant_of(before) != 0 or constant_of(behind) != 0:
                array = self._padded(array, axis, before, behind, str(how), constant, node)
        return array

    def _widths(
        self, width: Value, rank: int, node: ast.AST
    ) -> list[tuple[Expression, Expression]]:
        def pair(value: Value) -> tuple[Expression, Expression]:
            parts = value.parts if isinstance(value, TupleValue) else (value, value)
            parts = parts * 2 if len(parts) == 1 else parts
            first, second = (self.as_index(part, node, "the width of np.pad") for part in parts)
            for each in (first, second):
                self.claim_not_negative(each, node, "the width of np.pad")
            return first, second

        if isinstance(width, TupleValue) and any(
            isinstance(part, TupleValue) for part in width.parts
        ):
            pairs = [pair(part) for part in width.parts]
            pairs = pairs * rank if len(pairs) == 1 else pairs
        else:
            pairs = [pair(width)] * rank
        if len(pairs) != rank:
            self.refuse(node, "np.pad takes a width, or a pair of widths for each axis")
        return pairs

    def _padded(
        self,
        array: ArrayValue,
        axis: int,
        before: Expression,
        behind: Expression,
        how: str,
        constant: Expression,
        node: ast.AST,
    ) -> ArrayValue:
        n = array.shape[axis]
        last = subtract(n, literal(1))
        if how in ("reflect", "symmetric", "wrap"):
            most = last if how == "reflect" else n
            for each in (before, behind):
                self.claim_not_negative(subtract(most, each), node, "what np.pad turns around")
        if how == "edge":
            self.claim_not_negative(last, node, "the extent, less one, of what np.pad takes")

        def element(old: _Element, at: Expression) -> Expression:
            place = subtract(at, before)
            left = self.is_below(at, before, node)
            inside = self.is_below(place, n, node)
            match how:
                case "constant":
                    first = second = constant
                case "edge":
                    first, second = old(literal(0)), old(last)
                case "wrap":
                    first, second = old(add(place, n)), old(subtract(place, n))
                case "reflect":
                    first = old(multiply(place, -1))
                    second = old(subtract(multiply(last, 2), place))
                case _:
                    first = old(subtract(literal(-1), place))
                    second = old(subtract(add(last, n), place))
            return self.if_(left, first, self.if_(inside, old(place), second))

        extent = add(add(n, before), behind)
        return self.along(array, axis, extent, element)

    # ---- np.repeat, np.tile, np.append ----

    def repeated(self, array: ArrayValue, times: int, axis: int, node: ast.AST) -> ArrayValue:
        """np.repeat: each element so many times."""

        def element(old: _Element, at: Expression) -> Expression:
            return old(Operation("//", (at, literal(times)), INT64, self.at(node)))

        return self.along(array, axis, multiply(array.shape[axis], times), element)

    def tiled(self, array: Value, times: Value, node: ast.AST) -> Value:
        """np.tile(array, times)"""
        if not isinstance(array, ArrayValue) or not array.shape:
            self.refuse(node, f"np.tile of {self.described(array)}")
        parts = times.parts if isinstance(times, TupleValue) else (times,)
        counts = [self.number_in(part, "how often np.tile repeats", node) for part in parts]
        rank = len(array.shape)
        while len(counts) < rank:
            counts.insert(0, 1)
        if len(counts) > rank:
            array = replace(array, base="", place=None)
            array = ArrayValue(
                (*[literal(1)] * (len(counts) - rank), *array.shape),
                (*[literal(1)] * (len(counts) - rank), *array.room),
                array.dtype,
                lambda i, given=array: given.element(i[len(i) - rank :]),  # type: ignore[misc]
            )
        for axis, count in enumerate(counts):
            if count < 1:
                self.refuse(node, "np.tile repeats at least once here")
            if count > 1:
                array = self._tiled(array, axis, count, node)
        return array

    def _tiled(self, array: ArrayValue, axis: int, count: int, node: ast.AST) -> ArrayValue:
        n = array.shape[axis]
        if count > 16:
            self.require_numbers_of(n)

        def element(old: _Element, at: Expression) -> Expression:
            number = constant_of(n)
            if number is not None:
                return old(Operation("%", (at, literal(number)), INT64, self.at(node)))
            found = old(subtract(at, multiply(n, count - 1)))
            for turn in reversed(range(count - 1)):
                here = self.is_below(at, multiply(n, turn + 1), node)
                found = self.if_(here, old(subtract(at, multiply(n, turn))), found)
            return found

        return self.along(array, axis, multiply(n, count), element)

    def number_in(self, value: Value, what: str, node: ast.AST) -> int:
        """An integer that is known; a size of the call becomes one."""
        index = self.as_index(value, node, what)
        number = constant_of(index)
        if number is None:
            self.require_numbers_of(index)
            self.refuse(node, f"{what} must be an integer of sizes, known before the function runs")
        return number

    def as_vector(self, value: Value, node: ast.AST) -> ArrayValue:
        """A number as an array of one element; other arrays as they are."""
        if isinstance(value, Scalar):
            number = self.kept(value, node)
            one = literal(1)
            dtype = number.kind.dtype
            return ArrayValue((one,), (one,), dtype, lambda _: number.expression)
        if not isinstance(value, ArrayValue):
            self.refuse(node, f"{self.described(value)} is no array", "use np.array")
        return value
