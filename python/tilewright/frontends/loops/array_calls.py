"""Calls of NumPy's functions that put elements in other places, or contract arrays: by name and arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..tree import Convert, Expression, Literal, Operation
from .contractions import Contractions
from .indices import constant_of, literal
from .kinds import FLOAT, INT
from .parted import PARTING, Parted
from .shapes import Shapes
from .values import (
    ArrayValue,
    Scalar,
    Static,
    TupleValue,
    Value,
    broadcast_indices,
    integer,
)

__all__ = ["ArrayCalls"]

_NONE = Static(None)

#: The arguments of each, by NumPy's names; those behind "/" may be left out.
_TAKES: dict[Any, str] = {
    np.tensordot: "a b / axes", np.roll: "a shift / axis",
    np.pad: "array pad_width / mode constant_values", np.tile: "A reps",
    np.repeat: "a repeats / axis", np.append: "arr values / axis", np.flipud: "m", np.fliplr: "m",
    np.take: "a indices / axis", np.expand_dims: "a axis", np.squeeze: "a / axis",
    np.moveaxis: "a source destination", np.broadcast_to: "array shape", np.atleast_1d: "a",
    np.split: "ary indices_or_sections / axis", np.array_split: "ary indices_or_sections / axis",
    np.hsplit: "ary indices_or_sections", np.vsplit: "ary indices_or_sections",
    np.dsplit: "ary indices_or_sections", np.block: "arrays", np.rot90: "m / k",
}  # fmt: skip


class ArrayCalls(Parted, Contractions, Shapes):
    """Calls of functions of arrays."""

    def array_call(
        self, target: Any, values: Sequence[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value | None:
        """The value of such a call; None for other functions, and for forms that are written elsewhere."""
        if target is np.einsum and not keywords:
            return self.einsum(values, node)
        if target is np.linalg.multi_dot and len(values) == 1 and not keywords:
            factors = values[0].parts if isinstance(values[0], TupleValue) else ()
            return self._product_of(factors, node)
        if target is np.linalg.matrix_power and len(values) == 2:
            power = self.number_in(values[1], "the power of np.linalg.matrix_power", node)
            if not 1 <= power <= 16:
                self.refuse(node, "np.linalg.matrix_power from 1 to 16", "multiply in a loop")
            return self._product_of([values[0]] * power, node)
        names = _TAKES.get(target)
        if names is None:
            return None
        needed, _, optional = names.partition(" / ")
        wanted = [*needed.split(), *optional.split()]
        given = dict(zip(wanted, values, strict=False))
        for name, value in keywords.items():
            if name not in wanted:
                self.refuse(node, f"the argument {name}= is not translated")
            given[name] = value
        missing = [name for name in needed.split() if name not in given]
        if missing or len(values) > len(wanted):
            self.refuse(node, f"np.{target.__name__} takes {', '.join(wanted)}")
        arguments = [given.get(name) for name in wanted]
        calls: dict[Any, Callable[..., Value | None]] = {
            np.tensordot: lambda a, b, axes: self.tensordot((a, b), axes, node),
            np.roll: lambda a, shift, axis: self.rolled(a, shift, axis or _NONE, node),
            np.pad: lambda a, width, mode, fill: self.padded(a, width, mode, fill, node),
            np.tile: lambda a, reps: self.tiled(a, reps, node),
            np.repeat: lambda a, times, axis: self._repeated(a, times, axis, node),
            np.append: lambda a, more, axis: self._appended(a, more, axis, node),
            np.flipud: lambda m: self.reversed_array(m, Scalar(literal(0), INT), node),
            np.fliplr: lambda m: self.reversed_array(m, Scalar(literal(1), INT), node),
            np.take: lambda a, indices, axis: self._taken(a, indices, axis, node),
            np.expand_dims: lambda a, axis: self._expanded(a, axis, node),
            np.squeeze: lambda a, axis: self._squeezed(a, axis, node),
            np.moveaxis: lambda a, one, other: self._moved_axis(a, one, other, node),
            np.broadcast_to: lambda a, shape: self._broadcast_to(a, shape, node),
            np.atleast_1d: lambda a: self.as_vector(a, node),
            np.block: lambda arrays: self.blocks(arrays, node),
            np.rot90: lambda m, k: self._turned(m, k, node),
        }
        if target in PARTING:
            array, sections, axis = (*arguments, None)[:3]
            assert array is not None and sections is not None
            return self.parts_of(target, array, sections, axis, node)
        return calls[target](*arguments)

    def _turned(self, array: Value, times: Value | None, node: ast.AST) -> Value:
        """np.rot90 of the first two axes."""
        given = self.array_in(array, node)
        if len(given.shape) < 2:
            self.refuse(node, f"np.rot90 of {self.described(array)}")
        turns = 1 if times is None else self.number_in(times, "the turns of np.rot90", node) % 4
        order = [1, 0, *range(2, len(given.shape))]
        if turns == 0:
            return given
        if turns == 2:
            once = self.reversed_array(given, integer(0), node)
            return self.reversed_array(once, integer(1), node)
        turned = self.reversed_array(self.transposed(given, order), integer(turns == 3), node)
        return turned

    def array_in(self, value: Value, node: ast.AST) -> ArrayValue:
        """An argument that must be an array."""
        if not isinstance(value, ArrayValue) or not value.shape:
            self.refuse(node, f"{self.described(value)} is given where an array is wanted")
        return value

    def known_range(self, values: np.ndarray, node: ast.AST) -> ArrayValue:
        """np.arange of floats that are known: start + i * step, as NumPy has it."""
        count = literal(len(values))
        if len(values) < 2:
            return self.array_of(
                TupleValue(tuple(self.constant(float(each), node) for each in values)), None, node
            )
        start, where = float(values[0]), self.at(node)
        step = float(values[1]) - start

        def element(indices: tuple[Expression, ...]) -> Expression:
            index = Convert(indices[0], FLOAT.dtype)
            scaled = Operation("*", (index, Literal(step, FLOAT.dtype)), FLOAT.dtype, where)
            return Operation("+", (Literal(start, FLOAT.dtype), scaled), FLOAT.dtype, where)

        return ArrayValue((count,), (count,), FLOAT.dtype, element)

    def _product_of(self, factors: Sequence[Value], node: ast.AST) -> Value:
        """factor @ factor @ ..."""
        if not factors:
            self.refuse(node, "np.linalg.multi_dot takes a list of arrays")
        product = factors[0]
        for factor in factors[1:]:
            product = self.matmul(product, factor, node)
        return product

    def _repeated(
        self, array: Value, times: Value, axis: Value | None, node: ast.AST
    ) -> Value | None:
        given = self.array_in(array, node)
        number = constant_of(self.as_index(times, node, "how often np.repeat repeats"))
        if number is None:
            return None  # as loops
        if number < 1:
            self.refuse(node, "np.repeat repeats at least once here")
        if axis is None and len(given.shape) > 1:
            self.refuse(node, "np.repeat of a matrix without axis=", "say axis=, or use ravel()")
        along = 0 if axis is None else self.axes_of(axis, len(given.shape), node)[0]
        return self.repeated(given, number, along, node)

    def _appended(self, array: Value, more: Value, axis: Value | None, node: ast.AST) -> Value:
        parts = [self.as_vector(each, node) for each in (array, more)]
        if axis is None and any(len(each.shape) > 1 for each in parts):
            self.refuse(node, "np.append of matrices without axis=", "say axis=, or use ravel()")
        return self.joined(np.concatenate, [TupleValue(tuple(parts))], axis, node)

    def _taken(self, array: Value, indices: Value, axis: Value | None, node: ast.Call) -> Value:
        given = self.array_in(array, node)
        if axis is None and len(given.shape) > 1:
            self.refuse(node, "np.take of a matrix without axis=", "say axis=, or index it")
        along = 0 if axis is None else self.axes_of(axis, len(given.shape), node)[0]
        if along or not isinstance(indices, ArrayValue):
            self.refuse(node, "np.take of this form", "index the array, A[:, i]")
        return self.gathered_view(given, [indices], node)

    def _expanded(self, array: Value, axis: Value, node: ast.AST) -> Value:
        given = self.array_in(array, node)
        return self._with_axis(given, self.axes_of(axis, len(given.shape) + 1, node)[0])

    def _squeezed(self, array: Value, axis: Value | None, node: ast.AST) -> Value:
        given = self.array_in(array, node)
        rank = len(given.shape)
        if axis is None:
            gone = [n for n in range(rank) if constant_of(given.shape[n]) == 1]
        else:
            gone = self.axes_of(axis, rank, node)
        for each in gone:
            self.claim_equal(given.shape[each], literal(1), node, "an axis of np.squeeze")
        kept = [n for n in range(rank) if n not in gone]

        def back(indices: tuple[Expression, ...]) -> tuple[Expression, ...]:
            found = iter(indices)
            return tuple(next(found) if n in kept else literal(0) for n in range(rank))

        made = ArrayValue(
            tuple(given.shape[n] for n in kept),
            tuple(given.room[n] for n in kept),
            given.dtype,
            lambda indices: given.element(back(indices)),
        )
        return made if kept else Scalar(made.element(()), made.kind)

    def _moved_axis(self, array: Value, source: Value, goal: Value, node: ast.AST) -> Value:
        given = self.array_in(array, node)
        rank = len(given.shape)
        one, other = (self.axes_of(each, rank, node)[0] for each in (source, goal))
        order = [n for n in range(rank) if n != one]
        order.insert(other, one)
        return self.transposed(given, order)

    def _broadcast_to(self, array: Value, shape: Value, node: ast.AST) -> Value:
        parts = shape.parts if isinstance(shape, TupleValue) else (shape,)
        extents = tuple(self.as_index(part, node, "an extent") for part in parts)
        given = self.as_vector(array, node)
        whole = ArrayValue(extents, extents, given.dtype, given.element)
        joined, _ = self.broadcast([whole, given], node)
        if len(joined) != len(extents):
            self.refuse(node, "np.broadcast_to makes no array of fewer dimensions")
        for own, wanted in zip(joined, extents, strict=True):
            self.claim_equal(own, wanted, node, "np.broadcast_to another shape")
        return ArrayValue(
            extents,
            extents,
            given.dtype,
            lambda indices: given.element(broadcast_indices(given.shape, indices)),
        )
