"""Assignments to what a mask chooses: `A[A < 0] = 0`, `Z[I] = Z[I] ** 2 + C[I]`, `A[m] *= 2`.

Each is a loop over all elements with the mask as its condition. On the right side, elements that the same
mask chooses stand side by side with those that are assigned, so that no list of them is needed.

Before::

    A[m] = B[m] + 1

After::

    for i in range(A.shape[0]):
        if m[i]:
            A[i] = B[i] + 1
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ..tree import Expression, If, Read, Variable, reads_of
from .expressions import Expressions
from .indices import key_of
from .kinds import INT64
from .values import (
    ArrayValue,
    Chosen,
    Scalar,
    TupleValue,
    Value,
    converted,
    integer,
)

__all__ = ["Masks"]


class Masks(Expressions):
    """Masks as subscripts."""

    mask: ArrayValue | None = None

    def as_mask(self, target: ast.expr) -> tuple[ArrayValue, ArrayValue] | None:
        """The array and the mask of `array[mask]`; None of other targets."""
        chosen = self._mask_in(target.slice) if isinstance(target, ast.Subscript) else None
        if not isinstance(target, ast.Subscript) or chosen is None:
            return None
        array = self.expression(target.value)
        if not isinstance(array, ArrayValue) or len(chosen.shape) > len(array.shape):
            self.refuse(target, "a mask has as many dimensions as the array, or fewer")
        for own, wanted in zip(chosen.shape, array.shape, strict=False):
            self.claim_equal(own, wanted, target, "a mask of another shape")
        return array, chosen

    @contextmanager
    def under(self, mask: ArrayValue) -> Iterator[None]:
        """Within, arrays at this mask are all of their elements."""
        before, self.mask = self.mask, mask
        try:
            yield
        finally:
            self.mask = before

    def is_current_mask(self, mask: ArrayValue) -> bool:
        """Whether it is the mask of what is assigned."""
        return self.mask is not None and _key(mask) == _key(self.mask)

    # ---- what a mask chooses, as a value ----

    def chosen(self, array: ArrayValue, mask: ArrayValue, node: ast.AST) -> Value:
        """array[mask]: what is made of it element by element, and then summed up."""
        if len(mask.shape) > len(array.shape):
            self.refuse(node, "a mask has as many dimensions as the array, or fewer")
        for own, wanted in zip(mask.shape, array.shape, strict=False):
            self.claim_equal(own, wanted, node, "a mask of another shape")
        return Chosen(array, mask)

    def positions(self, mask: Value, node: ast.AST) -> TupleValue:
        """np.nonzero(mask): along each axis, the positions of what it chooses."""
        if not isinstance(mask, ArrayValue) or not mask.shape:
            self.refuse(node, f"{self.described(mask)} has no positions")
        if mask.dtype.kind != "b":
            compared = self.compare(ast.NotEq(), mask, integer(0), node)
            assert isinstance(compared, ArrayValue)
            mask = compared
        known = self._kept_array(mask, node)

        def along(axis: int) -> ArrayValue:
            return ArrayValue(known.shape, known.room, INT64, lambda indices: indices[axis])

        return TupleValue(
            tuple(Chosen(along(axis), known, axis) for axis in range(len(known.shape)))
        )

    def by_elements(
        self, values: Sequence[Value], make: Callable[[Sequence[Value]], Value], node: ast.AST
    ) -> Value:
        """An operation of elements, of which a mask may choose some."""
        masks = [value.mask for value in values if isinstance(value, Chosen)]
        if not masks:
            return make(values)
        rows = min(
            len(value.array.shape) - len(value.mask.shape)
            for value in values
            if isinstance(value, Chosen)
        )
        if any(
            isinstance(value, ArrayValue) and len(value.shape) > rows for value in values
        ) or any(_key(mask) != _key(masks[0]) for mask in masks):
            self.refuse(
                node,
                "an array at a mask, whose length depends on data, with another array",
                "use the same mask on both, or np.where",
            )
        if len({len(value.array.shape) for value in values if isinstance(value, Chosen)}) > 1:
            self.refuse(node, "arrays of different dimensions at one mask", "use np.where")
        made = make([value.array if isinstance(value, Chosen) else value for value in values])
        assert isinstance(made, ArrayValue)
        return Chosen(made, masks[0])

    def kept_chosen(self, value: Chosen, node: ast.AST) -> Chosen:
        """What was chosen, whatever becomes of the array and of the mask."""
        array = value.array if value.axis >= 0 else self._kept_array(value.array, node)
        return Chosen(array, self._kept_array(value.mask, node), value.axis)

    def _kept_array(self, array: ArrayValue, node: ast.AST) -> ArrayValue:
        """The elements that it has now: its own memory, if nobody writes to that any more."""
        if array.whole and array.base in self.settled_arrays:
            return array
        if array.whole and array.base and array.base not in self.overwritten:
            self.lent.add(array.base)
            return array
        made = self.in_memory(array, node)
        self.settled_arrays.add(made.base)
        return made

    def binary(self, operator: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        plain = super().binary
        return self.by_elements((left, right), lambda v: plain(operator, v[0], v[1], node), node)

    def compare(self, operator: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
        plain = super().compare
        return self.by_elements((left, right), lambda v: plain(operator, v[0], v[1], node), node)

    def unary(self, operator: ast.unaryop, value: Value, node: ast.AST) -> Value:
        plain = super().unary
        return self.by_elements((value,), lambda v: plain(operator, v[0], node), node)

    def ufunc(self, name: str, ufunc: np.ufunc, values: Sequence[Value], node: ast.AST) -> Value:
        plain = super().ufunc
        return self.by_elements(values, lambda v: plain(name, ufunc, v, node), node)

    def store_masked(
        self, array: ArrayValue, mask: ArrayValue, value: Value, node: ast.AST
    ) -> None:
        """array[mask] = value"""
        if array.place is None or array.uninitialised:
            self.refuse(node, "a mask chooses elements of an array that has values")
        if not isinstance(value, Scalar | ArrayValue):
            self.refuse(node, f"{self.described(value)} is no value of an element")
        if isinstance(value, ArrayValue) and len(value.shape) != len(array.shape):
            self.refuse(
                node,
                "an array of another shape for what a mask chooses",
                "use the same mask on the right side",
            )
        if isinstance(value, ArrayValue):
            for own, wanted in zip(value.shape, array.shape, strict=True):
                self.claim_equal(own, wanted, node, "what is assigned has another shape")
        probe = tuple(Variable(f"*{axis}", INT64) for axis in range(len(array.shape)))
        here = key_of(array.place(probe))
        parts = [mask.element(probe[: len(mask.shape)])]
        if isinstance(value, ArrayValue):
            parts.append(value.element(probe))
        if any(
            read.array == array.base and key_of(read) != here
            for part in parts
            for read in reads_of(part)
        ):
            mask = self.in_memory(mask, node)
            value = self.in_memory(value, node) if isinstance(value, ArrayValue) else value
        with self.loops(array.shape, node) as indices:
            test = mask.element(indices[: len(mask.shape)])
            given = value.element(indices) if isinstance(value, ArrayValue) else value.expression
            given = self.in_range(given, value.kind, array.dtype, node)
            target = array.place(indices)
            with self.collected() as body:
                self.assign(target, converted(given, array.dtype, value.kind.dtype), node)
            self.emit(If(test, tuple(body), (), self.at(node)), node)


def _key(mask: ArrayValue) -> object:
    probe: tuple[Expression, ...] = tuple(
        Variable(f"*{axis}", INT64) for axis in range(len(mask.shape))
    )
    element = mask.element(probe)
    assert element is not None
    return key_of(element) if not isinstance(element, Read) else (element.array, key_of(element))
