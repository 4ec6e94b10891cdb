"""Sums, extrema and products of matrices: loops that accumulate in order.

Each makes loops of its own before the statement that needs it. Terms are added one after the other, in
the order of the axes; NumPy's `sum` adds in pairs and `@` as its BLAS library does, so that last digits
may differ from theirs where sums are rounded.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..tree import Expression, Literal, Operation, Read, Reduce, Select, Variable
from .indices import add, constant_of, is_pure, literal, subtract
from .kinds import BOOL, INT, INT64, STRONG_BOOL, Kind, loop_types
from .statements import Statements
from .values import (
    ArrayValue,
    Chosen,
    Scalar,
    Static,
    TupleValue,
    Value,
    broadcast_indices,
    converted,
    integer,
)

__all__ = ["Reductions", "number_of"]

# The operation, and what it starts from; None for the first element.
_REDUCTIONS: dict[str, tuple[str, int | None]] = {
    "sum": ("+", 0),
    "prod": ("*", 1),
    "min": ("minimum", None),
    "max": ("maximum", None),
    "any": ("|", 0),
    "all": ("&", 1),
}


class Reductions(Statements):
    """Reductions of arrays."""

    def reduction(
        self, name: str, array: Value, axis: Value, keepdims: bool, node: ast.AST
    ) -> Value:
        """`array.sum(axis)` and its like."""
        if isinstance(array, Scalar):
            return array
        if isinstance(array, Chosen):
            if keepdims:
                self.refuse(node, f"{name} of {self.described(array)}, with keepdims=")
            return self._of_chosen(name, array, axis, node)
        if not isinstance(array, ArrayValue):
            self.refuse(node, f"{name} of {self.described(array)}")
        axes = self.axes_of(axis, len(array.shape), node)
        if name == "mean":
            return self._mean(array, axis, keepdims, node)
        operation, start = _REDUCTIONS[name]
        array, dtype = self._typed(name, array, node)
        kept = [n for n in range(len(array.shape)) if n not in axes]
        outer = tuple(array.shape[n] for n in kept)
        room = tuple(array.room[n] for n in kept)
        total = self.new_array(name, dtype, room, node)
        memory = self.view(total, dtype, outer, room, node)
        assert memory.place is not None
        inner = [array.shape[n] for n in axes]
        for extent in inner if start is None else ():
            self.claim_not_negative(
                add(extent, literal(-1)), node, f"the extent, less one, of what {name} takes"
            )
        with self.loops(outer, node) as out:
            place = memory.place(out)
            first = self._element(array, axes, out, [literal(0)] * len(inner))
            initial = None if start is None else number_of(start, dtype)
            self.accumulated(
                place,
                operation,
                initial or first,
                inner,
                lambda terms: self._element(array, axes, out, terms),
                node,
            )
        if keepdims:
            return self._with_ones(memory, axes, len(array.shape))
        if outer:
            return replace(memory, fresh=True)
        return Scalar(memory.element(()), Kind(dtype))

    def sum_in_python(self, value: Value, node: ast.AST) -> Value:
        """Python's sum: of numbers, or of what stands along the first axis."""
        if isinstance(value, TupleValue):
            total: Value = Scalar(literal(0), INT)
            for part in value.parts:
                total = self.binary(ast.Add(), total, part, node)
            return total
        axis: Value = Static(None)
        if isinstance(value, ArrayValue) and len(value.shape) > 1:
            axis = Scalar(literal(0), INT)
        if isinstance(value, Chosen) and len(value.array.shape) > len(value.mask.shape):
            axis = Scalar(literal(0), INT)
        return self.reduction("sum", value, axis, False, node)

    def _flag(self, value: Value | None, node: ast.AST) -> bool:
        if value is None:
            return False
        if isinstance(value, Scalar) and isinstance(value.expression, Literal):
            return bool(value.expression.value)
        self.refuse(node, "keepdims must be True or False")

    def require_vector(self, value: Value, name: str, node: ast.AST) -> None:
        """Python compares rows, and refuses to say whether one is true."""
        if isinstance(value, ArrayValue) and len(value.shape) > 1:
            self.refuse(node, f"Python's {name} of {self.described(value)}", f"use np.{name}")

    def accumulated(
        self,
        place: Read,
        operation: str,
        first: Expression,
        extents: Sequence[Expression],
        term: Callable[[tuple[Expression, ...]], Expression],
        node: ast.AST,
    ) -> None:
        """place = the terms of a box, combined: in any order, if their number is known beforehand.

        `first` is what there is without terms, a number, or the first of them.
        """
        where, dtype = self.at(node), place.dtype
        if all(map(is_pure, extents)):
            iterators = tuple(Variable(self.fresh(f"k{n}"), INT64) for n in range(len(extents)))
            self.nonnegative.update(each.name for each in iterators)
            initial = first if isinstance(first, Literal) else None
            value = Reduce(
                operation, iterators, tuple(extents), term(iterators), initial, dtype, where
            )
            self.assign(place, value, node)
            return
        self.assign(place, first, node)
        with self.loops(extents, node) as terms:
            self.assign(place, Operation(operation, (place, term(terms)), dtype, where), node)

    def _of_chosen(self, name: str, chosen: Chosen, axis: Value, node: ast.AST) -> Value:
        """A reduction of what a mask chooses: with what changes nothing in place of the others."""
        array, mask = chosen.array, chosen.mask
        rows = len(mask.shape)
        axes = self.axes_of(axis, len(array.shape) - rows + 1, node)
        if 0 not in axes:  # within what is chosen
            within = TupleValue(tuple(integer(each + rows - 1) for each in axes))
            made = self.reduction(name, array, within, False, node)
            assert isinstance(made, ArrayValue)
            return Chosen(made, mask)
        if name == "mean":
            if array.dtype.kind in "biu":
                cast = self.cast(array, Kind(np.dtype(np.float64)), node)
                assert isinstance(cast, ArrayValue)
                array = cast
            total = self._of_chosen("sum", Chosen(array, mask), axis, node)
            count: Value = self.count_of(chosen, node)
            for each in axes[1:]:
                extent = Scalar(array.shape[each + rows - 1], INT)
                count = self.binary(ast.Mult(), count, extent, node)
            return self.binary(ast.Div(), total, count, node)
        array, dtype = self._typed(name, array, node)
        other = number_of(_nothing(name, dtype), dtype)
        ones = (literal(1),) * (len(array.shape) - rows)
        column = ArrayValue(
            (*mask.shape, *ones), (*mask.room, *ones), mask.dtype, lambda i: mask.element(i[:rows])
        )

        def make(test: Expression, value: Expression) -> Expression:
            return Select(test, value, other, dtype)

        along = [*range(rows), *(each + rows - 1 for each in axes[1:])]
        return self.reduction(
            name,
            self.apply((column, array), make, Kind(dtype), node),
            TupleValue(tuple(map(integer, along))),
            False,
            node,
        )

    def count_of(self, chosen: Chosen, node: ast.AST) -> Scalar:
        """How many elements a mask chooses."""
        count = self.reduction("sum", chosen.mask, _ALL, False, node)
        assert isinstance(count, Scalar)
        return Scalar(count.expression, INT)

    def axes_of(self, axis: Value, rank: int, node: ast.AST) -> list[int]:
        """The axes that `axis=` names; all of them for None."""
        if isinstance(axis, Static) and axis.value is None:
            return list(range(rank))
        parts = axis.parts if isinstance(axis, TupleValue) else (axis,)
        found = []
        for part in parts:
            number = constant_of(self.as_index(part, node, "axis"))
            if number is None or not -rank <= number < rank:
                self.refuse(node, f"axis must be a number from {-rank} to {rank - 1}")
            found.append(number % rank)
        return sorted(found)

    def _typed(self, name: str, array: ArrayValue, node: ast.AST) -> tuple[ArrayValue, np.dtype]:
        """The array as the type in which it is reduced: small integers are summed as 64 bits."""
        dtype = array.dtype
        if name in ("sum", "prod") and dtype.kind in "biu":
            sample = np.zeros(1, dtype)
            dtype = np.asarray(sample.sum()).dtype
        elif name in ("any", "all"):
            zero = Scalar(literal(0), INT)
            if dtype.kind != "b":
                compared = self.compare(ast.NotEq(), array, zero, node)
                assert isinstance(compared, ArrayValue)
                array = compared
            dtype = STRONG_BOOL.dtype
        cast = self.cast(array, Kind(dtype), node)
        assert isinstance(cast, ArrayValue)
        return cast, dtype

    def _element(
        self,
        array: ArrayValue,
        axes: Sequence[int],
        outer: Sequence[Expression],
        inner: Sequence[Expression],
    ) -> Expression:
        remaining, reduced = iter(outer), iter(inner)
        indices = tuple(
            next(reduced) if axis in axes else next(remaining) for axis in range(len(array.shape))
        )
        return array.element(indices)

    def _with_ones(self, memory: ArrayValue, axes: Sequence[int], rank: int) -> ArrayValue:
        """keepdims=True: the axes stay, with one element."""
        kept = [axis for axis in range(rank) if axis not in axes]
        shapes = []
        for extents in (memory.shape, memory.room):
            given = iter(extents)
            shapes.append(
                tuple(next(given) if axis in kept else literal(1) for axis in range(rank))
            )
        return ArrayValue(
            shapes[0],
            shapes[1],
            memory.dtype,
            lambda indices: memory.element(tuple(indices[axis] for axis in kept)),
        )

    def _mean(self, array: ArrayValue, axis: Value, keepdims: bool, node: ast.AST) -> Value:
        if array.dtype.kind in "biu":
            cast = self.cast(array, Kind(np.dtype(np.float64)), node)
            assert isinstance(cast, ArrayValue)
            array = cast
        total = self.reduction("sum", array, axis, keepdims, node)
        count: Value = Scalar(literal(1), INT)
        for each in self.axes_of(axis, len(array.shape), node):
            count = self.binary(ast.Mult(), count, Scalar(array.shape[each], INT), node)
        return self.binary(ast.Div(), total, count, node)

    def matmul(self, left: Value, right: Value, node: ast.AST) -> Value:
        """left @ right, of vectors, matrices, and stacks of matrices, which broadcast."""
        if self.turns_results and _are_matrices(left, right):  # the same products, in their order
            assert isinstance(left, ArrayValue) and isinstance(right, ArrayValue)
            first, second = self.transposed(right), self.transposed(left)
            if not (first.backwards or second.backwards):
                made = self._product_of_arrays(first, second, node)
                assert isinstance(made, ArrayValue)
                return replace(self.transposed(made), fresh=True)
        return self._product_of_arrays(left, right, node)

    def _product_of_arrays(self, left: Value, right: Value, node: ast.AST) -> Value:
        """The product, in an array of its own."""
        arrays = []
        for value in (left, right):
            if not isinstance(value, ArrayValue) or not value.shape:
                self.refuse(node, "@ takes vectors and matrices", "use * for numbers")
            arrays.append(value)
        if any(len(each.shape) > 1 for each in arrays):  # each element is needed more than once
            arrays = [
                each if each.base or each.gathered else self.materialised(each, "operand", node)
                for each in arrays
            ]
        a, b = arrays
        dtype = loop_types(np.multiply, (a.kind, b.kind))[-1]
        if dtype.kind == "b":
            self.refuse(node, "@ of truth values", "convert with .astype(int)")
        inner = b.shape[-2:][0]
        self.claim_equal(a.shape[-1], inner, node, "the inner extents of a product")
        is_turned = (a.backwards and b.whole) or (a.whole and b.backwards)
        if len(a.shape) == 2 and a.base and a.base == b.base and is_turned:
            return self._symmetric_product(a, b, dtype, node)
        stacks: list[ArrayValue] = [
            replace(each, shape=each.shape[:-2], room=each.room[:-2]) for each in (a, b)
        ]
        batch, space = self.broadcast(stacks, node)
        rows, columns = len(a.shape[-2:-1]), len(b.shape[-2:][1:])
        outer = (*batch, *a.shape[-2:-1], *b.shape[-2:][1:])
        room = (*space, *a.room[-2:-1], *b.room[-2:][1:])
        total = self.new_array("product", dtype, room, node)
        memory = self.view(total, dtype, outer, room, node)
        assert memory.place is not None
        with self.loops(outer, node) as out:
            place = memory.place(out)
            at = out[: len(batch)]
            row, column = out[len(batch) : len(batch) + rows], out[len(out) - columns :]

            def term(indices: tuple[Expression, ...]) -> Expression:
                (index,) = indices
                mine = broadcast_indices(stacks[0].shape, at)
                others = broadcast_indices(stacks[1].shape, at)
                left_term = converted(a.element((*mine, *row, index)), dtype, a.dtype)
                right_term = converted(b.element((*others, index, *column)), dtype, b.dtype)
                return Operation("*", (left_term, right_term), dtype, self.at(node))

            self.accumulated(place, "+", number_of(0, dtype), [a.shape[-1]], term, node)
        if outer:
            return replace(memory, fresh=True)
        return Scalar(memory.element(()), Kind(dtype))

    def _symmetric_product(
        self, a: ArrayValue, b: ArrayValue, dtype: np.dtype, node: ast.AST
    ) -> ArrayValue:
        """A matrix by its own transpose: one triangle of it, the same terms in the same order as the other."""
        extent, room = a.shape[0], a.room[0]
        name = self.new_array("product", dtype, (room, room), node)
        memory = self.view(name, dtype, (extent, extent), (room, room), node)
        place = memory.place
        assert place is not None
        with self.loops([extent], node) as (i,), self.loops([add(i, literal(1))], node) as (j,):

            def term(indices: tuple[Expression, ...]) -> Expression:
                left = converted(a.element((i, *indices)), dtype, a.dtype)
                right = converted(b.element((*indices, j)), dtype, b.dtype)
                return Operation("*", (left, right), dtype, self.at(node))

            first = number_of(0, dtype)
            self.accumulated(place((i, j)), "+", first, [a.shape[1]], term, node)

        with self.loops([extent], node) as (i,):
            rest = subtract(subtract(extent, literal(1)), i)
            with self.loops([rest], node) as (behind,):
                j = add(add(i, literal(1)), behind)
                self.assign(place((i, j)), place((j, i)), node)
        return replace(memory, fresh=True)

    def where(self, condition: Value, if_true: Value, if_false: Value, node: ast.AST) -> Value:
        """np.where(condition, a, b), element by element."""
        self.require_numbers((condition, if_true, if_false), node)
        assert isinstance(condition, Scalar | ArrayValue)
        assert isinstance(if_true, Scalar | ArrayValue)
        assert isinstance(if_false, Scalar | ArrayValue)
        kinds = (if_true.kind, if_false.kind)
        dtype = kinds[0].dtype if kinds[0].dtype == kinds[1].dtype else None
        if dtype is None:
            dtype = loop_types(np.add, kinds)[-1]
        if not condition.kind.is_bool:
            compared = self.compare(ast.NotEq(), condition, Scalar(literal(0), INT), node)
            assert isinstance(compared, Scalar | ArrayValue)
            condition = compared

        def make(test: Expression, yes: Expression, no: Expression) -> Expression:
            parts = [
                converted(each, dtype, kind.dtype)
                for each, kind in zip((yes, no), kinds, strict=True)
            ]
            return Select(test, parts[0], parts[1], dtype)

        return self.apply((condition, if_true, if_false), make, Kind(dtype), node)


def _are_matrices(*values: Value) -> bool:
    return all(isinstance(each, ArrayValue) and len(each.shape) == 2 for each in values)


_ALL = Static(None)


def _nothing(name: str, dtype: np.dtype) -> Any:
    """What changes no result."""
    if name in ("min", "max"):
        if dtype.kind == "b":
            return name == "min"
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            return int(limits.max if name == "min" else limits.min)
        return np.inf if name == "min" else -np.inf
    return {"prod": 1, "all": 1}.get(name, 0)


def number_of(value: Any, dtype: np.dtype) -> Literal:
    return Literal(bool(value) if dtype.kind == BOOL.dtype.kind else value, dtype)
