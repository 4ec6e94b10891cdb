"""Contractions: `np.einsum`, `np.tensordot` and `np.kron` as sums of products over named axes.

Each axis has a letter; a letter that the result does not have is summed over. Several factors are
contracted from left to right, two at a time::

    np.einsum("ij,jk,k->i", A, B, x)

becomes::

    T[i, k] = sum over j of A[i, j] * B[j, k]
    y[i] = sum over k of T[i, k] * x[k]
"""

from __future__ import annotations

import ast
import string
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..tree import Expression, Operation
from .indices import constant_of
from .kinds import Kind, loop_types
from .reductions import Reductions, number_of
from .values import ArrayValue, Scalar, Static, TupleValue, Value, converted

__all__ = ["Contractions"]


class Contractions(Reductions):
    """Contractions of arrays."""

    def einsum(self, values: Sequence[Value], node: ast.AST) -> Value:
        """np.einsum(text, *arrays)"""
        text = values[0].value if values and isinstance(values[0], Static) else None
        if not isinstance(text, str) or "." in text:
            self.refuse(
                node, "np.einsum takes subscripts as letters, 'ij,jk->ik'", "write the letters"
            )
        takes, arrow, gives = text.replace(" ", "").partition("->")
        letters = takes.split(",")
        if not arrow:
            gives = "".join(sorted(c for c in set(takes) - {","} if takes.count(c) == 1))
        arrays = [self.factor(each, node) for each in values[1:]]
        if len(arrays) != len(letters) or any(
            len(each) != len(array.shape) for each, array in zip(letters, arrays, strict=True)
        ):
            self.refuse(node, f"np.einsum({text!r}) is given arrays of other dimensions")
        if set(gives) - set(takes) or len(set(gives)) < len(gives):
            self.refuse(node, f"np.einsum({text!r}) has a letter in its result that no array has")
        return self.contracted(arrays, letters, gives, node)

    def tensordot(self, values: Sequence[Value], axes: Value | None, node: ast.AST) -> Value:
        """np.tensordot(a, b, axes)"""
        a, b = (self.factor(each, node) for each in values)
        names = string.ascii_letters
        of_a = list(names[: len(a.shape)])
        of_b = list(names[len(a.shape) : len(a.shape) + len(b.shape)])
        if isinstance(axes, TupleValue) and len(axes.parts) == 2:
            pairs = [
                self._axes(part, len(each.shape), node)
                for part, each in zip(axes.parts, (a, b), strict=True)
            ]
        else:
            number = 2 if axes is None else constant_of(self.as_index(axes, node, "axes"))
            if number is None or not 0 <= number <= min(len(of_a), len(of_b)):
                self.refuse(node, "axes of np.tensordot must be a number, or two lists of them")
            pairs = [list(range(len(of_a) - number, len(of_a))), list(range(number))]
        if len(pairs[0]) != len(pairs[1]):
            self.refuse(node, "np.tensordot sums over as many axes of one array as of the other")
        gone = set()
        for one, other in zip(*pairs, strict=True):
            of_b[other] = of_a[one]
            gone.add(of_a[one])
        gives = "".join(each for each in (*of_a, *of_b) if each not in gone)
        return self.contracted([a, b], ["".join(of_a), "".join(of_b)], gives, node)

    def _axes(self, value: Value, rank: int, node: ast.AST) -> list[int]:
        parts = value.parts if isinstance(value, TupleValue) else (value,)
        return [self.axes_of(part, rank, node)[0] for part in parts]

    def factor(self, value: Value, node: ast.AST) -> ArrayValue:
        """A factor of a contraction."""
        if isinstance(value, Scalar):
            number = self.kept(value, node)
            return ArrayValue((), (), number.kind.dtype, lambda _: number.expression)
        if not isinstance(value, ArrayValue):
            self.refuse(node, f"{self.described(value)} is no factor", "make it an array")
        return value

    def contracted(
        self, arrays: Sequence[ArrayValue], letters: Sequence[str], gives: str, node: ast.AST
    ) -> Value:
        """The sum of products over the letters that are not in `gives`."""
        if len(arrays) > 2:
            later = set("".join(letters[2:])) | set(gives)
            both = dict.fromkeys("".join(letters[:2]))
            kept = "".join(letter for letter in both if letter in later)
            first = self.factor(self.contracted(arrays[:2], letters[:2], kept, node), node)
            return self.contracted([first, *arrays[2:]], [kept, *letters[2:]], gives, node)
        extents: dict[str, tuple[Expression, Expression]] = {}
        for array, own in zip(arrays, letters, strict=True):
            for letter, extent, room in zip(own, array.shape, array.room, strict=True):
                known = extents.setdefault(letter, (extent, room))
                self.claim_equal(known[0], extent, node, f"the extents of {letter}")
        dtype = arrays[0].dtype
        for array in arrays[1:]:
            dtype = loop_types(np.multiply, (Kind(dtype), array.kind))[-1]
        summed = [letter for letter in extents if letter not in gives]
        if len(arrays) > 1 and extents:  # each element is needed more than once
            arrays = [
                each
                if each.base or each.gathered or not each.shape
                else self.materialised(each, "operand", node)
                for each in arrays
            ]

        def term(places: dict[str, Expression]) -> Expression:
            parts = [
                converted(array.element(tuple(places[c] for c in own)), dtype, array.dtype)
                for array, own in zip(arrays, letters, strict=True)
            ]
            product = parts[0]
            for part in parts[1:]:
                product = Operation("*", (product, part), dtype, self.at(node))
            return product

        extent_of = {letter: extent for letter, (extent, _) in extents.items()}
        room_of = {letter: room for letter, (_, room) in extents.items()}
        shape = tuple(extent_of[letter] for letter in gives)
        space = tuple(room_of[letter] for letter in gives)
        if not summed:
            made = ArrayValue(shape, space, dtype, lambda i: term(dict(zip(gives, i, strict=True))))
            return made if shape else Scalar(made.element(()), made.kind)
        total = self.new_array("product", dtype, space, node)
        memory = self.view(total, dtype, shape, space, node)
        assert memory.place is not None
        with self.loops(shape, node) as out:
            at = dict(zip(gives, out, strict=True))
            self.accumulated(
                memory.place(out),
                "+",
                number_of(0, dtype),
                [extent_of[letter] for letter in summed],
                lambda k: term({**at, **dict(zip(summed, k, strict=True))}),
                node,
            )
        return replace(memory, fresh=True) if shape else Scalar(memory.element(()), Kind(dtype))
