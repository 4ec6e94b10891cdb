"""Arrays put together from others: `np.concatenate`, `np.stack` and their like, and `range` by steps of data."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..tree import Assume, Expression, Operation, Select
from .indices import add, constant_of, literal, subtract
from .kinds import BOOL, INT, INT64, Kind, loop_types
from .reductions import Reductions
from .values import ArrayValue, Scalar, Stepped, TupleValue, Value, copied

__all__ = ["JOINING", "Joins"]


@dataclass(frozen=True)
class _Join:
    """How an axis is found: of at least so many dimensions, or a new one."""

    axis: int | None
    least: int = 0
    new: bool = False


JOINING: dict[Any, _Join] = {
    np.concatenate: _Join(None),
    np.stack: _Join(None, new=True),
    np.vstack: _Join(0, least=2),
    np.hstack: _Join(1),
    np.column_stack: _Join(1, least=-2),
}


class Joins(Reductions):
    """Arrays put together."""

    def joined(self, target: Any, values: list[Value], axis: Value | None, node: ast.AST) -> Value:
        """np.concatenate(arrays, axis) and its like: a new array, part by part."""
        how = JOINING[target]
        if values and isinstance(values[0], ArrayValue) and len(values[0].shape) + how.new > 1:
            return self._joined_rows(target, values[0], axis, node)
        given = values[0].parts if values and isinstance(values[0], TupleValue) else ()
        parts = [part for part in given if isinstance(part, ArrayValue) and part.shape]
        if not parts or len(parts) != len(given):
            self.refuse(node, f"np.{target.__name__} takes a tuple or list of arrays here")
        parts = [self._raised(part, how.least) for part in parts]
        rank = len(parts[0].shape) + how.new
        number = 0 if axis is None else constant_of(self.as_index(axis, node, "axis"))
        if axis is None and how.axis is not None:
            number = min(how.axis, rank - 1)
        if number is None or not -rank <= number < rank:
            self.refuse(node, f"axis must be a number from {-rank} to {rank - 1}")
        number %= rank
        if how.new:
            parts = [self._with_axis(part, number) for part in parts]
        kind = parts[0].kind
        for part in parts[1:]:
            if len(part.shape) != rank:
                self.refuse(node, "arrays of different dimensions")
            kind = Kind(loop_types(np.add, (kind, part.kind))[-1]) if kind != part.kind else kind
        return self._side_by_side(parts, number, kind.dtype, node)

    def _joined_rows(
        self, target: Any, rows: ArrayValue, axis: Value | None, node: ast.AST
    ) -> Value:
        """What stands along the first axis of an array, or in a list of arrays, put together."""
        rank = len(rows.shape) - 1  # of a part
        least = add(rows.shape[0], literal(-1))
        self.claim_not_negative(
            least, node, "the number of arrays, less one, that are put together"
        )
        if axis is None:
            number: int | None = JOINING[target].axis or 0
            if rank == 1 and target in (np.hstack, np.column_stack):
                number = 0
        else:
            number = constant_of(self.as_index(axis, node, "axis"))
        most = rank + JOINING[target].new
        if number is None or not -most <= number < most:
            self.refuse(node, f"axis must be a number from {-most} to {most - 1}")
        number %= most
        if target is np.stack or (rank == 1 and target in (np.vstack, np.column_stack)):
            number = 1 if target is np.column_stack else number
            order = [*range(1, number + 1), 0, *range(number + 1, rank + 1)]
            return copied(self.transposed(rows, order))
        order = [*range(1, number + 1), 0, *range(number + 1, rank + 1)]
        moved = copied(self.transposed(rows, order))
        extents = [*moved.shape[:number], literal(-1), *moved.shape[number + 2 :]]
        shape = TupleValue(tuple(Scalar(extent, INT) for extent in extents))
        return self.reshaped(moved, shape, node)

    def _side_by_side(
        self, parts: Sequence[ArrayValue], axis: int, dtype: np.dtype, node: ast.AST
    ) -> ArrayValue:
        shape, room = list(parts[0].shape), list(parts[0].room)
        for part in parts[1:]:
            for other in range(len(shape)):
                if other != axis:
                    what = "arrays of different extents"
                    self.claim_equal(shape[other], part.shape[other], node, what)
            shape[axis] = add(shape[axis], part.shape[axis])
            room[axis] = add(room[axis], part.room[axis])
        name = self.new_array("joined", dtype, tuple(room), node)
        whole = self.view(name, dtype, tuple(shape), tuple(room), node)
        before: Expression = literal(0)
        for part in parts:
            self.store_elements(_moved(whole, axis, before, part), part, node)
            before = add(before, part.shape[axis])
        return replace(whole, fresh=True)

    def _raised(self, part: ArrayValue, least: int) -> ArrayValue:
        """A vector as a row, or as a column where `least` is negative."""
        if len(part.shape) == 1 and abs(least) == 2:
            return self._with_axis(part, 0 if least > 0 else 1)
        return part

    def _with_axis(self, part: ArrayValue, axis: int) -> ArrayValue:
        def dropped(indices: tuple[Expression, ...]) -> tuple[Expression, ...]:
            return (*indices[:axis], *indices[axis + 1 :])

        one = literal(1)
        return ArrayValue(
            (*part.shape[:axis], one, *part.shape[axis:]),
            (*part.room[:axis], one, *part.room[axis:]),
            part.dtype,
            lambda indices: part.element(dropped(indices)),
        )

    # ---- loops with steps that are no numbers ----

    def stepped_range(
        self, start: Expression, stop: Expression, step: Expression, node: ast.AST
    ) -> Value:
        """range(start, stop, step): of so many values; none where data give a step of 0, which Python refuses."""
        where = self.at(node)

        def of(name: str, *operands: Expression) -> Operation:
            return Operation(name, operands, INT64, where)

        zero, one = literal(0), literal(1)
        if self.of_parameters(step):
            self.raised[where] = (ValueError, ("range() arg 3 must not be zero",))
            is_step = Operation("!=", (step, zero), BOOL.dtype, where)
            self.emit(Assume(is_step, where, checked=True), node)
        kept = [
            self.kept(Scalar(each, INT), node, "bound").expression for each in (start, stop, step)
        ]
        start, stop, step = kept
        distance = subtract(stop, start)
        up = of("//", subtract(add(distance, step), one), step)
        down = of("//", add(add(distance, step), one), step)
        is_up = Operation(">", (step, zero), BOOL.dtype, where)
        is_down = Operation("<", (step, zero), BOOL.dtype, where)
        count = Select(is_up, up, Select(is_down, down, zero, INT64), INT64)
        turns = self.kept(Scalar(of("maximum", count, zero), INT), node, "turns")
        return Stepped(start, step, turns.expression)


def _moved(whole: ArrayValue, axis: int, by: Expression, part: ArrayValue) -> ArrayValue:
    """The part of an array that begins at `by` of an axis, of the shape of `part`."""
    place, element = whole.place, whole.element
    assert place is not None

    def moved(indices: tuple[Expression, ...]) -> tuple[Expression, ...]:
        return (*indices[:axis], add(indices[axis], by), *indices[axis + 1 :])

    return ArrayValue(
        part.shape,
        part.room,
        whole.dtype,
        lambda indices: element(moved(indices)),
        whole.base,
        lambda indices: place(moved(indices)),
    )
