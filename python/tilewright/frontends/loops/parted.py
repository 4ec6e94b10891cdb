"""Arrays taken apart, `np.split` and its like, and put together from lists of lists, `np.block`."""

from __future__ import annotations

import ast
import itertools
from typing import Any

import numpy as np

from ..tree import Expression, Operation
from .indices import add, constant_of, literal, multiply, subtract
from .kinds import INT, INT64
from .moved import Moved
from .subscripts import Axis, view_of
from .values import ArrayValue, Scalar, TupleValue, Value, copied, integer

__all__ = ["PARTING", "Parted"]

PARTING: dict[Any, int | None] = {
    np.split: None, np.array_split: None, np.vsplit: 0, np.hsplit: 1, np.dsplit: 2,
}  # fmt: skip
"""The functions, and the axis along which they take apart, unless it is an argument."""


class Parted(Moved):
    """Parts of arrays, as views, and arrays made of parts."""

    def parts_of(
        self, target: Any, array: Value, sections: Value, axis: Value | None, node: ast.AST
    ) -> Value:
        """np.split(array, sections, axis) and its like: so many equal parts, or those between these places."""
        name = f"np.{target.__name__}"
        if not isinstance(array, ArrayValue) or not array.shape:
            self.refuse(node, f"{name} of {self.described(array)}")
        along = PARTING[target]
        if along is None:
            along = 0 if axis is None else self.axes_of(axis, len(array.shape), node)[0]
        elif along == 1 and len(array.shape) == 1:
            along = 0
        if along >= len(array.shape):
            self.refuse(node, f"{name} of {self.described(array)}")
        extent = array.shape[along]
        if isinstance(sections, TupleValue):
            return self._between(array, along, sections, name, node)
        count = self.number_in(sections, f"the number of parts of {name}", node)
        if count < 1:
            self.refuse(node, f"{name} makes at least one part")
        if target is np.array_split:  # its first parts are longer by one if they are not equal
            known = self.number_in(
                Scalar(extent, INT), f"the extent of what {name} takes apart", node
            )
            ends = [(known // count) * n + min(n, known % count) for n in range(count + 1)]
            places: list[Expression] = [literal(end) for end in ends]
        else:
            length: Expression
            number = constant_of(extent)
            if number is not None:
                length = literal(number // count)
            else:
                length = Operation("//", (extent, literal(count)), INT64, self.at(node))
            self.claim_equal(multiply(length, count), extent, node, f"{name} into equal parts")
            places = [multiply(length, n) for n in range(count + 1)]
        return TupleValue(
            tuple(
                self._part(array, along, first, last) for first, last in itertools.pairwise(places)
            )
        )

    def _between(
        self, array: ArrayValue, along: int, sections: TupleValue, name: str, node: ast.AST
    ) -> Value:
        extent = array.shape[along]
        places: list[Expression] = [literal(0)]
        for part in sections.parts:
            place = self.as_index(part, node, f"a place at which {name} cuts")
            number = constant_of(place)
            if number is not None and number < 0:
                place = add(extent, place)
            self.claim_not_negative(
                subtract(place, places[-1]), node, f"the length of a part of {name}"
            )
            self.claim_not_negative(
                subtract(extent, place), node, f"what is left behind a place at which {name} cuts"
            )
            places.append(place)
        places.append(extent)
        return TupleValue(
            tuple(
                self._part(array, along, first, last) for first, last in itertools.pairwise(places)
            )
        )

    def _part(
        self, array: ArrayValue, along: int, first: Expression, last: Expression
    ) -> ArrayValue:
        """array[first:last] along an axis."""

        def axis_of(n: int) -> Axis:
            if n != along:
                return lambda indices: indices[n]
            return lambda indices: add(indices[n], first)

        length = subtract(last, first)
        shape = (*array.shape[:along], length, *array.shape[along + 1 :])
        room = (*array.room[:along], length, *array.room[along + 1 :])
        return view_of(array, [axis_of(n) for n in range(len(array.shape))], shape, room)

    def blocks(self, parts: Value, node: ast.AST) -> Value:
        """np.block of a list of matrices, or of a list of rows of them."""
        rows = parts.parts if isinstance(parts, TupleValue) else ()
        if not rows:
            self.refuse(node, "np.block takes a list of lists of arrays here")
        if not all(isinstance(row, TupleValue) for row in rows):
            return self.joined(np.concatenate, [parts], integer(-1), node)
        made = [
            row.parts[0]  # type: ignore[union-attr]
            if len(row.parts) == 1  # type: ignore[union-attr]
            else self.joined(np.concatenate, [row], integer(-1), node)
            for row in rows
        ]
        if len(made) == 1:
            return copied(made[0]) if isinstance(made[0], ArrayValue) else made[0]
        if any(isinstance(row, ArrayValue) and len(row.shape) == 1 for row in made):
            return self.joined(np.vstack, [TupleValue(tuple(made))], None, node)
        return self.joined(np.concatenate, [TupleValue(tuple(made))], integer(-2), node)
