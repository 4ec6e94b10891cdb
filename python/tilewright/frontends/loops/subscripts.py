"""Subscripts and slices of arrays: views of memory.

Basic indexing of NumPy: integers, slices with constant steps, `...`, `np.newaxis`; arrays of integers in
place of integers gather, and scatter what is assigned. Constants below 0 count from the end; whether
another subscript stays inside the array is proved, or checked when the function is called.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...base.plurals import counted
from ..tree import Expression, Operation, Read, Select
from .context import Known
from .data_slices import DataSlices
from .indices import add, constant_of, is_pure, linear, literal, multiply, subtract
from .kinds import BOOL, INT64
from .values import (
    ArrayValue,
    Record,
    Scalar,
    Static,
    TupleValue,
    Value,
    broadcast_indices,
    mask_of_positions,
)

__all__ = ["Subscripts"]

# What one subscript does to one axis: the axis' index, of the result's indices.
Axis = Callable[[tuple[Expression, ...]], Expression]


_MAY_BE_MASKS = (ast.Name, ast.Compare, ast.BinOp, ast.UnaryOp, ast.Call, ast.Subscript)


class Subscripts(DataSlices):
    """Subscripts and slices."""

    def subscript(self, value: Value, node: ast.Subscript) -> Value:
        """value[...]."""
        if isinstance(value, TupleValue):
            return self._of_tuple(value, node)
        if isinstance(value, Record):
            return self.of_record(value, node)
        if isinstance(value, Static) and value.value in (np.mgrid, np.ogrid):
            return self._grid(node, is_open=value.value is np.ogrid)
        if not isinstance(value, ArrayValue):
            self.refuse(node, f"{self.described(value)} has no elements")
        mask = self._mask_in(node.slice)
        if mask is not None:
            return value if self.is_current_mask(mask) else self.chosen(value, mask, node)
        view = self.indexed(value, node)
        if view.shape:
            return replace(view, place=None) if view.gathered else view
        if value.uninitialised:
            self.refuse(node, "the elements of np.empty have no values yet", "name the array first")
        return Scalar(view.element(()), view.kind)

    def _mask_in(self, node: ast.expr) -> ArrayValue | None:
        """The mask that a subscript is, or whose positions it is; None for other ones."""
        names = node.elts if isinstance(node, ast.Tuple) else []
        if not isinstance(node, _MAY_BE_MASKS) and not (
            names and all(isinstance(each, ast.Name) for each in names)
        ):
            return None
        before = len(self.out)
        chosen = self.expression(node)
        mask = mask_of_positions(chosen)
        if mask is None and isinstance(chosen, ArrayValue) and chosen.dtype.kind == "b":
            mask = chosen
        if mask is None:
            del self.out[before:]  # it is looked at again
        return mask

    def _grid(self, node: ast.Subscript, is_open: bool) -> Value:
        """np.mgrid[0:n, 1:m] and np.ogrid: the positions along each axis, of whole numbers."""
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        axes: list[tuple[Expression, int, Expression]] = []
        for item in items:
            if not isinstance(item, ast.Slice) or item.upper is None:
                self.refuse(item, "np.mgrid takes slices with an end")
            first, stop, by = (
                None if part is None else self.as_index(self.expression(part), part, "a bound here")
                for part in (item.lower, item.upper, item.step)
            )
            step = 1 if by is None else constant_of(by)
            if step is None or step < 1:
                self.refuse(item, "the step of np.mgrid must be a number above 0")
            start = literal(0) if first is None else first
            assert stop is not None
            count = self._count(subtract(stop, start), step, item)
            self.require_parameters(
                count, item, "the extents of a new array", "make it large enough and use a part"
            )
            axes.append((start, step, count))
        shape = tuple(count for _, _, count in axes)

        def along(axis: int, index: Expression) -> Expression:
            start, step, _ = axes[axis]
            return add(start, multiply(index, step))

        if len(axes) == 1:
            return ArrayValue(shape, shape, INT64, lambda indices: along(0, indices[0]))
        if is_open:
            return TupleValue(tuple(_open_grid(axis, shape, along) for axis in range(len(axes))))

        def element(indices: tuple[Expression, ...]) -> Expression:
            found = along(len(axes) - 1, indices[len(axes)])
            for axis in reversed(range(len(axes) - 1)):
                number, here = constant_of(indices[0]), along(axis, indices[axis + 1])
                if number is not None:
                    found = here if number == axis else found
                    continue
                is_here = Operation("==", (indices[0], literal(axis)), BOOL.dtype, self.at(node))
                found = Select(is_here, here, found, INT64)
            return found

        several = (literal(len(axes)), *shape)
        return ArrayValue(several, several, INT64, element)

    def of_record(self, record: Record, node: ast.Subscript) -> Value:
        raise NotImplementedError

    def chosen(self, array: ArrayValue, mask: ArrayValue, node: ast.AST) -> Value:
        raise NotImplementedError

    def is_current_mask(self, mask: ArrayValue) -> bool:
        raise NotImplementedError

    def array_of(self, value: Value, dtype: object, node: ast.AST) -> ArrayValue:
        raise NotImplementedError

    def _of_tuple(self, value: TupleValue, node: ast.Subscript) -> Value:
        if isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            numbers = [
                None if part is None else constant_of(self.as_index(self.expression(part), part))
                for part in parts
            ]
            return TupleValue(value.parts[slice(*numbers)])
        index = constant_of(self.as_index(self.expression(node.slice), node))
        if index is None and not isinstance(node.slice, ast.Tuple):
            if all(isinstance(part, Scalar) for part in value.parts):
                listed = self.array_of(value, None, node)  # w[k] of numbers
                return self.subscript(listed, node)
        if index is None or not -len(value.parts) <= index < len(value.parts):
            self.refuse(node, "the subscript of a tuple must be a number within it")
        return value.parts[index]

    def indexed(self, array: ArrayValue, node: ast.Subscript) -> ArrayValue:
        """The view of an array that a subscript gives; one without axes for an element."""
        items = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if isinstance(node.slice, ast.Name):
            places = self.expression(node.slice)
            if isinstance(places, TupleValue) and places.form.made_of is not list:
                items = [_known(part, node.slice) for part in places.parts]
        axes: list[Axis] = []
        shape: list[Expression] = []
        room: list[Expression] = []
        gathered: list[tuple[int, ArrayValue, ast.expr]] = []
        begun = 0
        apart: list[bool] = []  # by item: whether it is an integer, or an array of them
        for item in self._without_ellipsis(array, items, node):
            apart.append(False)
            if item is not None and self._is_new_axis(item):
                shape.append(literal(1))
                room.append(literal(1))
                continue
            extent, space = array.shape[len(axes)], array.room[len(axes)]
            if item is None:
                axes.append(_at(len(shape)))
                shape.append(extent)
                room.append(space)
            elif isinstance(item, ast.Slice):
                start, length, step = self._slice(item, extent)
                axes.append(_strided(len(shape), start, step))
                shape.append(length)
                room.append(space)
            else:
                value = self.expression(item)
                if isinstance(value, TupleValue) and value.form.made_of is list:
                    value = self.array_of(value, None, item)
                if not is_pure(extent):
                    self.refuse(
                        item,
                        "an element of a slice whose bounds data decide",
                        "subscript the array itself",
                    )
                if isinstance(value, ArrayValue):
                    self._require_integers(value, item)
                    if not gathered:
                        begun = len(shape)
                    gathered.append((len(axes), value, item))
                    shape[begun:], room[begun:] = self._together(gathered, item)
                    axes.append(_at(0))  # made below
                else:
                    index = self._integer(value, extent, item, node)
                    axes.append(_always(index))
                apart[-1] = True
        if gathered and "10" in "".join("01"[each] for each in apart).strip("0"):
            self.refuse(
                node,
                "subscripts that are integers, or arrays of them, with slices between",
                "write a loop",
            )
        rank = len(self._together(gathered, node)[0])
        for axis, value, item in gathered:
            axes[axis] = self._gather(value, begun, rank, item)
        view = view_of(array, axes, tuple(shape), tuple(room), bool(gathered))
        return self._located(view, node)

    def gathered_view(
        self, array: ArrayValue, parts: Sequence[ArrayValue], node: ast.expr
    ) -> ArrayValue:
        """array[parts], of arrays of integers, as a place to assign to."""
        if len(parts) > len(array.shape):
            self.refuse(
                node,
                f"{counted(len(parts), 'subscript')} for {counted(len(array.shape), 'dimension')}",
            )
        for part in parts:
            self._require_integers(part, node)
        shape, room = self._together([(axis, part, node) for axis, part in enumerate(parts)], node)
        rank = len(shape)
        axes = [self._gather(part, 0, rank, node) for part in parts]
        rest = range(len(parts), len(array.shape))
        axes += [_at(rank + axis - len(parts)) for axis in rest]
        shape += array.shape[len(parts) :]
        room += array.room[len(parts) :]
        return self._located(view_of(array, axes, tuple(shape), tuple(room), True), node)

    def _together(
        self, gathered: Sequence[tuple[int, ArrayValue, ast.expr]], node: ast.AST
    ) -> tuple[list[Expression], list[Expression]]:
        """The shape that arrays of subscripts have together, and the room for it."""
        shape: list[Expression] = []
        room: list[Expression] = []
        for _, value, _ in gathered:
            missing = len(value.shape) - len(shape)
            shape[:0], room[:0] = value.shape[: max(missing, 0)], value.room[: max(missing, 0)]
            for at in range(-min(len(value.shape), len(value.shape) - missing), 0):
                if constant_of(shape[at]) == 1:
                    shape[at], room[at] = value.shape[at], value.room[at]
                elif constant_of(value.shape[at]) != 1:
                    what = "arrays of subscripts of different shapes"
                    self.claim_equal(shape[at], value.shape[at], node, what)
        return shape, room

    def _require_integers(self, value: ArrayValue, node: ast.AST) -> None:
        if not value.kind.is_integer:
            self.refuse(
                node, f"an array of {value.dtype} as a subscript", "use np.where, or a loop"
            )

    def _located(self, view: ArrayValue, node: ast.AST) -> ArrayValue:
        """The view with its accesses at this place of the text."""
        where, place, element = self.at(node), view.place, view.element

        def moved(indices: tuple[Expression, ...]) -> Expression:
            found = element(indices)
            return replace(found, location=where) if isinstance(found, Read) else found

        def target(indices: tuple[Expression, ...]) -> Read:
            assert place is not None
            return replace(place(indices), location=where)

        return replace(view, element=moved, place=None if place is None else target)

    def _without_ellipsis(
        self, array: ArrayValue, items: Sequence[ast.expr], node: ast.AST
    ) -> list[ast.expr | None]:
        """One item for each axis; None for all of an axis."""
        ellipses = [n for n, item in enumerate(items) if _is_ellipsis(item)]
        taken = sum(not _is_ellipsis(item) and not self._is_new_axis(item) for item in items)
        missing = len(array.shape) - taken
        if missing < 0:
            self.refuse(
                node,
                f"{counted(taken, 'subscript')} for an array with {counted(len(array.shape), 'dimension')}",
            )
        if len(ellipses) > 1:
            self.refuse(node, "more than one ... in a subscript")
        at = ellipses[0] if ellipses else len(items)
        return [*items[:at], *[None] * missing, *items[at + bool(ellipses) :]]

    def _is_new_axis(self, item: ast.expr) -> bool:
        if isinstance(item, ast.Constant):
            return item.value is None
        if isinstance(item, ast.Attribute) and item.attr == "newaxis":
            found = self.expression(item)
            return isinstance(found, Static) and found.value is None
        return False

    def _integer(
        self, value: Value, extent: Expression, node: ast.AST, whole: ast.AST
    ) -> Expression:
        """The subscript of one element; what is below 0 counts from the end.

        That is looked at where a call has shown a subscript to be (`wrapping`): other kernels need
        no choice.
        """
        if isinstance(value, Scalar) and value.kind.is_bool:
            self.refuse(node, "a truth value as a subscript", "use if, or np.where")
        index = self.as_index(value, node)
        number = constant_of(index)
        if number is not None:
            return add(extent, index) if number < 0 else index
        self._settle_quotients(index, node)
        if not self.pure_only and _has_remainder(index) and self.of_parameters(index):
            # n % len(a) is as good as data: its value is asked once, and compared where it is read.
            place = self.read(self.new_array("index", INT64, (), node), (), INT64, node)
            self.assign(place, index, node)
            index = place
        if self.at(whole) not in self.wrapping:
            return index
        below = Operation("<", (index, literal(0)), BOOL.dtype, self.at(node))
        return Select(below, add(extent, index), index, INT64)  # it counts from the end there

    def _settle_quotients(self, index: Expression, node: ast.AST) -> None:
        """Starts again with numbers for what a subscript is divided by, as in k[h // g]: else it is one that
        data might decide about as well."""
        if not isinstance(index, Operation):
            return
        for each in index.operands:
            self._settle_quotients(each, node)
        if index.name in ("//", "%") and constant_of(index.operands[1]) == 0:
            self.refuse(node, "a division by zero")
        if index.name == "//" and constant_of(index.operands[1]) is None and is_pure(index):
            by = index.operands[1]
            if self.of_parameters(by):
                self.require_numbers_of(by)

    def _slice(self, item: ast.Slice, extent: Expression) -> tuple[Expression, Expression, int]:
        """The first index, how many, and the step."""
        step = 1
        if item.step is not None:
            known = constant_of(self.as_index(self.expression(item.step), item.step, "a step"))
            if not known:
                self.refuse(item.step, "the step of a slice must be a number other than 0")
            step = known
        lower = None if item.lower is None else self._bound(item.lower, extent)
        least = literal(0) if lower is None else lower
        upper = None if item.upper is None else self._bound(item.upper, extent, least)
        of_data = not all(is_pure(each) for each in (lower, upper) if each is not None)
        if of_data and step != 1:
            self.refuse(item, "a step of a slice whose bounds data decide", "write a loop")
        if step > 0:
            start = least
            stop = extent if upper is None else upper
            if of_data:
                if upper is not None and is_pure(upper):
                    stop = self.data_bound(upper, extent, start, item)
                return start, subtract(stop, start), 1
            return start, self._count(subtract(stop, start), step, item), step
        start = add(extent, literal(-1)) if lower is None else lower
        stop = literal(-1) if upper is None else upper
        return start, self._count(subtract(start, stop), -step, item), step

    def _bound(
        self, node: ast.expr, extent: Expression, least: Expression | None = None
    ) -> Expression:
        """A bound of a slice. NumPy cuts it off at the array's ends: that must not be needed, unless
        data decide about it."""
        index = self.as_index(self.expression(node), node, "a bound of a slice")
        if not is_pure(index):
            return self.data_bound(index, extent, literal(0) if least is None else least, node)
        number = constant_of(index)
        if number is not None and number < 0:
            index = add(extent, index)
            self.claim_not_negative(index, node, "the bound of the slice")
            return index
        form = linear(index)
        if form.terms and form.constant <= 0 and all(n < 0 for n, _ in form.terms.values()):
            # x[:-k] counts from the end, which is so if k is not 0
            what = "how many elements the slice leaves out at the end is 0 (x[:-0] has none), or"
            self.claim_not_negative(subtract(literal(-1), index), node, what)
            index = add(extent, index)
            self.claim_not_negative(index, node, "the bound of the slice")
            return index
        self.claim_not_negative(index, node, "the bound of the slice")
        self.claim_not_negative(
            subtract(extent, index), node, "the array's extent less the bound of the slice"
        )
        return index

    def _count(self, distance: Expression, step: int, node: ast.AST) -> Expression:
        """How many steps fit."""
        known = constant_of(distance)
        if known is not None and known < 0:  # a[5:2] has none
            return literal(0)
        self.claim_not_negative(distance, node, "the length of the slice")
        if step == 1:
            return distance
        number = constant_of(distance)
        if number is not None:
            return literal(-(-number // step))
        ceiling = self.binary_index("//", add(distance, literal(step - 1)), step, node)
        return ceiling

    def binary_index(self, name: str, value: Expression, by: int, node: ast.AST) -> Expression:
        """value name by, of int64."""
        return Operation(name, (value, literal(by)), INT64, self.at(node))

    def _gather(self, value: ArrayValue, first: int, rank: int, node: ast.AST) -> Axis:
        """An array of subscripts, which stands with others at `rank` axes from the first on."""

        def axis(indices: tuple[Expression, ...]) -> Expression:
            inner = value.element(broadcast_indices(value.shape, indices[first : first + rank]))
            return self.as_index(Scalar(inner, value.kind), node)

        return axis

    def transposed(self, array: ArrayValue, order: Sequence[int] | None = None) -> ArrayValue:
        """The array with its axes in another order, reversed without one."""
        rank = len(array.shape)
        order = tuple(reversed(range(rank))) if order is None else tuple(order)

        def back(axis: int) -> Axis:
            return lambda indices: indices[order.index(axis)]

        shape = tuple(array.shape[axis] for axis in order)
        room = tuple(array.room[axis] for axis in order)
        made = view_of(array, [back(axis) for axis in range(rank)], shape, room)
        if rank > 1 and order == tuple(reversed(range(rank))):
            made = replace(made, whole=array.backwards, backwards=array.whole)
        return made


def _open_grid(
    axis: int, shape: tuple[Expression, ...], along: Callable[[int, Expression], Expression]
) -> ArrayValue:
    own = tuple(extent if n == axis else literal(1) for n, extent in enumerate(shape))
    return ArrayValue(own, own, INT64, lambda indices: along(axis, indices[axis]))


def _known(value: Value, place: ast.expr) -> ast.expr:
    made = Known()
    made.value = value
    return ast.copy_location(made, place)


def _is_ellipsis(item: ast.expr) -> bool:
    return isinstance(item, ast.Constant) and item.value is Ellipsis


def _always(index: Expression) -> Axis:
    return lambda _: index


def _at(axis: int) -> Axis:
    return lambda indices: indices[axis]


def _strided(axis: int, start: Expression, step: int) -> Axis:
    return lambda indices: add(start, multiply(indices[axis], step))


def view_of(
    array: ArrayValue,
    axes: Sequence[Axis],
    shape: tuple[Expression, ...],
    room: tuple[Expression, ...],
    gathers: bool = False,
) -> ArrayValue:
    place = array.place

    def inner(indices: tuple[Expression, ...]) -> tuple[Expression, ...]:
        return tuple(axis(indices) for axis in axes)

    return ArrayValue(
        shape,
        room,
        array.dtype,
        lambda indices: array.element(inner(indices)),
        "" if gathers else array.base,
        None if place is None or array.gathered else lambda indices: place(inner(indices)),
        uninitialised=array.uninitialised,
        gathered=gathers or array.gathered,
    )


def _has_remainder(index: Expression) -> bool:
    """Whether something is divided by what is no constant."""
    if not isinstance(index, Operation):
        return False
    divided = index.name == "%" and constant_of(index.operands[1]) is None
    return divided or any(map(_has_remainder, index.operands))
