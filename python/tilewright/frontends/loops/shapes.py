"""Arrays in other shapes, reversed ones, and arrays of lists: views, as NumPy makes them.

`reshape` is a view of an array whose elements lie without gaps; that those of an argument do is checked
at the call, since NumPy would copy others.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..tree import Expression, Location, Operation, Variable
from .context import Storage
from .indices import add, constant_of, key_of, linear, literal, same, subtract
from .kinds import INT64, Kind, join
from .operators import Operators
from .subscripts import Subscripts, view_of
from .values import ArrayValue, RangeValue, Record, Scalar, Static, TupleValue, Value

__all__ = ["Shapes"]

Indices = tuple[Expression, ...]


def _without_ones(shape: Indices) -> list[object]:
    return [key_of(extent) for extent in shape if constant_of(extent) != 1]


class Shapes(Operators, Subscripts):
    """Other shapes."""

    def reshaped(self, array: Value, wanted: Value, node: ast.AST) -> Value:
        """array.reshape(wanted)"""
        if not isinstance(array, ArrayValue) or not array.shape:
            self.refuse(node, f"reshape of {self.described(array)}")
        return self._reshaped(array, wanted, node)

    def _reshaped(self, array: ArrayValue, wanted: Value, node: ast.AST) -> ArrayValue:
        parts = wanted.parts if isinstance(wanted, TupleValue) else (wanted,)
        extents = [self.as_index(part, node, "an extent") for part in parts]
        shape = self._inferred(array, extents, node)
        is_whole = array.reshaped or (array.whole and array.room == array.shape)
        element, place, base = array.element, array.place, array.base
        borrowed: tuple[Location, str] | None = None
        if _without_ones(array.shape) == _without_ones(shape):
            pass  # a view of whatever it is
        elif base and self.turned and self.arrays[base].local:
            # In which order NumPy has it is not known here, nor whether its is a view.
            borrowed = self._borrow(base, node)
            base, place = "", None
        elif base and not is_whole and self._is_permuted(array, shape):  # NumPy's is a copy
            array = self.in_memory(array, node)
            element, place, base, is_whole = array.element, array.place, array.base, True
        elif base and not is_whole:
            # NumPy's is a view or a copy, which is the same to those who read it, if nobody changes
            # the array or the part; and nobody can change an array without a name.
            borrowed = self._borrow(base, node)
            base, place = "", None
        elif base:
            self.contiguous.add(base)

        def back(indices: Indices) -> Indices:
            return self._element_of(array.shape, shape, indices, node)

        return ArrayValue(
            shape,
            shape,
            array.dtype,
            lambda indices: element(back(indices)),
            base,
            None if place is None else lambda indices: place(back(indices)),
            uninitialised=array.uninitialised,
            reshaped=is_whole,
            borrowed=borrowed,
        )

    def _borrow(self, base: str, node: ast.AST) -> tuple[Location, str] | None:
        """The array must not change any more, unless it has no name; and why its part must not."""
        if not self.is_named(base):
            return None
        before = frozenset() if self.turns else frozenset(self.labels)
        reason = f"a part in another shape is read from {base}, which the function changes"
        self.unchanged.setdefault(base, (self.at(node), reason, before))
        return (
            self.at(node),
            f"what this makes of {base} is changed, and NumPy may make a part of {base} or a copy",
        )

    def _is_permuted(self, array: ArrayValue, shape: Indices) -> bool:
        """Whether the new shape joins neighbouring axes that stand in another order in memory: then
        NumPy must copy."""
        old, new = list(array.shape), list(shape)
        axes = list(range(len(old)))
        while old and new and same(old[-1], new[-1]):
            for each in (old, new, axes):
                each.pop()
        while old and new and same(old[0], new[0]):
            for each in (old, new, axes):
                each.pop(0)
        joined = [axis for axis, extent in zip(axes, old, strict=False) if constant_of(extent) != 1]
        if not all(self._is_several(array.shape[axis]) for axis in joined):
            return False  # a view, where one of them is 1
        if sum(constant_of(extent) != 1 for extent in new) != 1 or array.place is None:
            return False
        probe = tuple(Variable(f"axis {axis}", INT64) for axis in range(len(array.shape)))
        places = [linear(each).terms for each in array.place(probe).subscripts]
        stands = [
            next((n for n, terms in enumerate(places) if key_of(probe[axis]) in terms), -1)
            for axis in joined
        ]
        return -1 not in stands and stands != list(range(stands[0], stands[0] + len(stands)))

    def _is_several(self, extent: Expression) -> bool:
        """Whether an extent is not 1: a number, or that of an argument, of which those of 1 are known."""
        number = constant_of(extent)
        if number is not None:
            return number != 1
        form = linear(extent)
        return form.constant == 0 and [
            isinstance(term, Variable) and term.name in self.sizes
            for _, term in form.terms.values()
        ] == [True]

    def is_named(self, base: str) -> bool:
        """Whether a variable means this array, or a part of it."""

        def means(value: object) -> bool:
            match value:
                case ArrayValue():
                    return value.base == base
                case Storage():
                    return value.name == base
                case TupleValue() | Record():
                    return any(map(means, value.parts))
            return not isinstance(value, Scalar | Static | RangeValue)

        bound = (value for frame in self.frames for value in frame.bindings.values())
        return not self.arrays[base].local or any(map(means, bound))

    def _inferred(self, array: ArrayValue, extents: list[Expression], node: ast.AST) -> Indices:
        """The new shape, with what -1 stands for."""
        given = list(array.shape)
        rest = []
        for extent in extents:
            match = next((one for one in given if same(one, extent)), None)
            if match is not None:
                given.remove(match)
            else:
                rest.append(extent)
        unknown = [extent for extent in rest if constant_of(extent) == -1]
        others = [extent for extent in rest if constant_of(extent) not in (-1, 1)]
        if len(unknown) > 1:
            self.refuse(node, "more than one -1 in a shape")
        size = self._product(given, node)
        if unknown:
            divisor = self._product(others, node)
            if constant_of(divisor) != 1:
                number, whole = constant_of(divisor), constant_of(size)
                if number is None:
                    self.require_numbers_in(Operation("//", (size, divisor), INT64, self.at(node)))
                    self.refuse(node, "what -1 stands for is not known here", "say it")
                size = (
                    literal(whole // number)
                    if whole is not None
                    else Operation("//", (size, divisor), INT64, self.at(node))
                )
                back = Operation("*", (size, divisor), INT64, self.at(node))
                self.claim_equal(back, self._product(given, node), node, "reshape")
            return tuple(size if each is unknown[0] else each for each in extents)
        self.claim_equal(self._product(others, node), size, node, "reshape to another size")
        return tuple(extents)

    def _product(self, extents: Sequence[Expression], node: ast.AST) -> Expression:
        result: Value = Scalar(literal(1), Kind(INT64, True))
        for extent in extents:
            result = self.binary(ast.Mult(), result, Scalar(extent, Kind(INT64, True)), node)
        assert isinstance(result, Scalar)
        return linear(result.expression).expression()

    def _element_of(self, old: Indices, new: Indices, indices: Indices, node: ast.AST) -> Indices:
        """Which element of the old shape stands at indices of the new one."""
        found: list[Expression] = []
        position = 0
        old_rest, new_rest = list(old), list(new)
        tail: list[Expression] = []
        at = list(indices)
        while old_rest and new_rest and same(old_rest[-1], new_rest[-1]):
            tail.insert(0, at.pop())
            old_rest.pop()
            new_rest.pop()
        while position < min(len(old_rest), len(new_rest)) and same(
            old_rest[position], new_rest[position]
        ):
            found.append(at[position])
            position += 1
        old_rest, new_rest, at = old_rest[position:], new_rest[position:], at[position:]
        flat: Expression = literal(0)
        for extent, index in zip(new_rest, at, strict=True):
            if constant_of(extent) != 1:
                flat = add(self._times(flat, extent, node), index)
                self.require_numbers_in(flat)
        middle: list[Expression] = []
        large = [n for n, extent in enumerate(old_rest) if constant_of(extent) != 1]
        for number in reversed(range(len(old_rest))):
            if number in large[1:]:
                self.require_numbers_in(*old_rest[number:])
            if number not in large:
                middle.insert(0, literal(0))
            elif number == large[0]:
                middle.insert(0, flat)
            else:
                extent = old_rest[number]
                middle.insert(0, Operation("%", (flat, extent), INT64, self.at(node)))
                flat = Operation("//", (flat, extent), INT64, self.at(node))
        return (*found, *middle, *tail)

    def _times(self, a: Expression, b: Expression, node: ast.AST) -> Expression:
        number = constant_of(b)
        if number is not None:
            return linear(a).scaled(number).expression()
        return literal(0) if constant_of(a) == 0 else Operation("*", (a, b), INT64, self.at(node))

    def reversed_array(self, array: Value, axis: Value | None, node: ast.AST) -> Value:
        """np.flip"""
        if not isinstance(array, ArrayValue) or not array.shape:
            self.refuse(node, f"flip of {self.described(array)}")
        rank = len(array.shape)
        number = None if axis is None else constant_of(self.as_index(axis, node, "axis"))
        chosen = range(rank) if number is None else [number % rank]

        def axis_of(n: int) -> object:
            last = subtract(array.shape[n], literal(1))
            return lambda indices: subtract(last, indices[n]) if n in chosen else indices[n]

        axes = [axis_of(n) for n in range(rank)]
        return view_of(array, axes, array.shape, array.room)  # type: ignore[arg-type]

    def array_of(self, value: Value, dtype: object, node: ast.AST) -> ArrayValue:
        """np.array of a list of numbers, or of lists of them: an array of its own."""
        shape: list[int] = []
        level: list[Value] = [value]
        while all(isinstance(each, TupleValue) for each in level):
            lengths = {len(each.parts) for each in level if isinstance(each, TupleValue)}
            if len(lengths) != 1:
                self.refuse(node, "lists of different lengths are no array")
            shape.append(lengths.pop())
            level = [p for each in level if isinstance(each, TupleValue) for p in each.parts]
        if not level or not all(isinstance(each, Scalar) for each in level):
            self.refuse(node, "np.array takes lists of numbers here")
        kind = level[0].kind  # type: ignore[union-attr]
        for each in level[1:]:
            kind = join(kind, each.kind)  # type: ignore[union-attr]
        made = kind.dtype if dtype is None else dtype
        extents = tuple(literal(extent) for extent in shape)
        name = self.new_array("list", made, extents, node)  # type: ignore[arg-type]
        memory = self.view(name, made, extents, extents, node)  # type: ignore[arg-type]
        assert memory.place is not None
        for number, each in enumerate(level):
            assert isinstance(each, Scalar)
            place: list[Expression] = []
            for extent in reversed(shape):
                number, rest = divmod(number, extent)
                place.insert(0, literal(rest))
            cast = self.cast(each, Kind(made), node)  # type: ignore[arg-type]
            assert isinstance(cast, Scalar)
            self.assign(memory.place(tuple(place)), cast.expression, node)
        return memory
