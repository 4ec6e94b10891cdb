"""Operators and element-wise functions on numbers and arrays, with NumPy's types and broadcasting.

What is applied to arrays makes an array whose elements are computed where they are needed; nothing is
stored here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import numpy as np

from ..tree import Expression, Literal, Operation
from .context import Context
from .indices import constant_of
from .kinds import BOOL, FLOAT, INT, INT64, STRONG_BOOL, Kind, join
from .values import (
    ArrayValue,
    Record,
    Scalar,
    Static,
    TupleValue,
    Value,
    as_bool_literal,
    broadcast_indices,
    converted,
    selected,
)

__all__ = ["Operators"]

_BINARY: dict[type[ast.operator], tuple[str, np.ufunc]] = {
    ast.Add: ("+", np.add),
    ast.Sub: ("-", np.subtract),
    ast.Mult: ("*", np.multiply),
    ast.Div: ("/", np.true_divide),
    ast.FloorDiv: ("//", np.floor_divide),
    ast.Mod: ("%", np.remainder),
    ast.Pow: ("**", np.power),
    ast.BitAnd: ("&", np.bitwise_and),
    ast.BitOr: ("|", np.bitwise_or),
    ast.BitXor: ("^", np.bitwise_xor),
    ast.LShift: ("<<", np.left_shift),
    ast.RShift: (">>", np.right_shift),
}

_COMPARISONS: dict[type[ast.cmpop], tuple[str, np.ufunc]] = {
    ast.Lt: ("<", np.less),
    ast.LtE: ("<=", np.less_equal),
    ast.Gt: (">", np.greater),
    ast.GtE: (">=", np.greater_equal),
    ast.Eq: ("==", np.equal),
    ast.NotEq: ("!=", np.not_equal),
}

_STAY_BOOL = ("&", "|", "^")
_LOGICAL = {"+": "|", "*": "&"}  # NumPy's meaning of sums and products of np.bool

_FOLDED: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
}


class Operators(Context):
    """Operators on values."""

    # ---- element by element ----

    def broadcast(
        self, values: Sequence[Value], node: ast.AST
    ) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
        """The shape, and the room, of what an operation on these gives."""
        arrays = [value for value in values if isinstance(value, ArrayValue)]
        rank = max(len(array.shape) for array in arrays)
        shape: list[Expression] = []
        room: list[Expression] = []
        for axis in range(-rank, 0):
            extents = [
                (array.shape[axis], array.room[axis])
                for array in arrays
                if len(array.shape) >= -axis
            ]
            long = [pair for pair in extents if constant_of(pair[0]) != 1] or extents[:1]
            for other, _ in long[1:]:
                self.claim_equal(long[0][0], other, node, "operands that do not broadcast")
            shape.append(long[0][0])
            room.append(long[0][1])
        return tuple(shape), tuple(room)

    def apply(
        self,
        values: Sequence[Value],
        make: Callable[..., Expression],
        kind: Kind,
        node: ast.AST,
    ) -> Value:
        """`make` of the operands' elements, element by element."""
        for value in values:
            if not isinstance(value, Scalar | ArrayValue):
                self.refuse(node, f"a number or an array is needed, not {self.described(value)}")
            if isinstance(value, ArrayValue) and value.uninitialised:
                self.refuse(node, "the elements of np.empty have no values yet")
        if not any(isinstance(value, ArrayValue) for value in values):
            return Scalar(make(*(_expression(value) for value in values)), kind)
        shape, room = self.broadcast(values, node)

        def element(indices: tuple[Expression, ...]) -> Expression:
            return make(
                *(
                    value.element(broadcast_indices(value.shape, indices))
                    if isinstance(value, ArrayValue)
                    else _expression(value)
                    for value in values
                )
            )

        return ArrayValue(shape, room, kind.dtype, element)

    def ufunc(self, name: str, ufunc: np.ufunc, values: Sequence[Value], node: ast.AST) -> Value:
        """One of NumPy's universal functions."""
        self.require_numbers(values, node)
        dtype, make = self.operation(name, ufunc, values, node)
        return self.apply(values, make, Kind(dtype), node)

    def require_numbers(self, values: Sequence[Value], node: ast.AST) -> None:
        for value in values:
            if not isinstance(value, Scalar | ArrayValue):
                self.refuse(node, f"a number or an array is needed, not {self.described(value)}")

    # ---- operators ----

    def binary(self, operator: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        """left operator right."""
        if type(operator) not in _BINARY:
            self.refuse(node, "this operator is not translated")
        name, ufunc = _BINARY[type(operator)]
        if isinstance(left, TupleValue) and isinstance(right, TupleValue) and name == "+":
            return TupleValue(left.parts + right.parts)
        self.require_numbers((left, right), node)
        assert isinstance(left, Scalar | ArrayValue) and isinstance(right, Scalar | ArrayValue)
        if name == "**":
            special = self.power(left, right, node)
            if special is not None:
                return special
        weak = left.kind.weak and right.kind.weak
        if weak and name not in _STAY_BOOL:
            left, right = self.as_numbers(left), self.as_numbers(right)
        folded = self.folded(name, left, right) if weak else None
        if folded is not None:
            return folded
        dtype, make = self.operation(name, ufunc, (left, right), node)
        if dtype.kind == "b" and name in _LOGICAL:
            dtype, make = self.operation(_LOGICAL[name], ufunc, (left, right), node)
        return self.apply((left, right), make, Kind(dtype, weak), node)

    def as_numbers(self, value: Scalar | ArrayValue) -> Scalar | ArrayValue:
        """Python's bool as the int that it is in arithmetic."""
        if isinstance(value, Scalar) and value.kind == BOOL:
            return Scalar(converted(value.expression, INT64, BOOL.dtype), INT)
        return value

    def folded(
        self, name: str, left: Scalar | ArrayValue, right: Scalar | ArrayValue
    ) -> Scalar | None:
        """Integers that are known are computed at once, with Python's own operator."""
        parts = [
            value.expression.value
            for value in (left, right)
            if isinstance(value, Scalar)
            and value.kind == INT
            and isinstance(value.expression, Literal)
            and isinstance(value.expression.value, int)
        ]
        if len(parts) < 2 or name not in _FOLDED:
            return None
        if name in ("**", "<<", ">>") and not 0 <= parts[1] < 64:
            return None
        if name in ("//", "%") and parts[1] == 0:
            return None
        value = _FOLDED[name](parts[0], parts[1])
        return Scalar(Literal(value, INT64), INT) if -(2**63) <= value < 2**63 else None

    def power(
        self, left: Scalar | ArrayValue, right: Scalar | ArrayValue, node: ast.AST
    ) -> Value | None:
        """Powers that NumPy computes otherwise than by pow, or that depend on the exponent's sign."""
        exponent = right.expression if isinstance(right, Scalar) else None
        known = exponent.value if isinstance(exponent, Literal) else None
        if known == 2:
            return self.binary(ast.Mult(), left, left, node)
        if isinstance(left, ArrayValue) and left.dtype.kind == "f" and known == 0.5:
            return self.ufunc("sqrt", np.sqrt, (left,), node)
        if left.kind.is_integer and right.kind.is_integer:
            if isinstance(known, int) and known < 0:
                if not left.kind.weak:
                    self.refuse(node, "NumPy has no negative powers of integers", "use a float")
                left = Scalar(converted(_expression(left), FLOAT.dtype, INT64), FLOAT)
                return self.binary(ast.Pow(), left, right, node)
            if not isinstance(known, int) and isinstance(right, Scalar):
                index = self.as_index(right, node, "the exponent")
                self.claim_not_negative(index, node, "the exponent of an integer")
        return None

    def unary(self, operator: ast.unaryop, value: Value, node: ast.AST) -> Value:
        """operator value."""
        if isinstance(operator, ast.Not):
            return self.negated(self.truth(value, node), node)
        self.require_numbers((value,), node)
        assert isinstance(value, Scalar | ArrayValue)
        if isinstance(operator, ast.Invert):
            value = self.as_numbers(value)
            dtype, make = self.operation("~", np.invert, (value,), node)
            return self.apply((value,), make, Kind(dtype, value.kind.weak), node)
        if value.kind.weak:
            value = self.as_numbers(value)
        if isinstance(operator, ast.UAdd):
            return value
        if isinstance(value, Scalar) and isinstance(value.expression, Literal):
            number = -value.expression.value
            return Scalar(Literal(number, value.kind.dtype), value.kind)
        dtype, make = self.operation("neg", np.negative, (value,), node)
        return self.apply((value,), make, Kind(dtype, value.kind.weak), node)

    # ---- truth ----

    def negated(self, condition: Expression, node: ast.AST) -> Scalar:
        known = as_bool_literal(condition)
        if known is not None:
            return Scalar(Literal(not known, BOOL.dtype), BOOL)
        return Scalar(Operation("~", (condition,), BOOL.dtype, self.at(node)), BOOL)

    def truth(self, value: Value, node: ast.AST) -> Expression:
        """A value as a condition."""
        match value:
            case Static():
                return Literal(bool(value.value), BOOL.dtype)
            case TupleValue():
                return Literal(bool(value.parts), BOOL.dtype)
            case Scalar():
                if value.kind.is_bool:
                    return value.expression
                if isinstance(value.expression, Literal):
                    return Literal(bool(value.expression.value), BOOL.dtype)
                zero = Scalar(Literal(0, INT64), INT)
                compared = self.compare(ast.NotEq(), value, zero, node)
                assert isinstance(compared, Scalar)
                return compared.expression
        self.refuse(
            node, f"{self.described(value)} has no truth value", "use np.any, np.all or an element"
        )

    def compare(self, operator: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
        """left operator right; `is` and `in` of what is known while translating."""
        if isinstance(operator, ast.Is | ast.IsNot):
            same = isinstance(left, Static) and isinstance(right, Static)
            same = same and left.value is right.value  # type: ignore[union-attr]
            kinds = {each.kind for each in (left, right) if isinstance(each, Scalar)}
            if kinds == {BOOL} and isinstance(left, Scalar) and isinstance(right, Scalar):
                wanted = ast.Eq() if isinstance(operator, ast.Is) else ast.NotEq()
                return self.compare(wanted, left, right, node)
            if not (isinstance(left, Static) or isinstance(right, Static)):
                self.refuse(node, "`is` compares objects, and numbers are none here", "use ==")
            return Scalar(Literal(same == isinstance(operator, ast.Is), BOOL.dtype), BOOL)
        if type(operator) not in _COMPARISONS:
            return self._contained(isinstance(operator, ast.In), left, right, node)
        name, ufunc = _COMPARISONS[type(operator)]
        if isinstance(left, Static) and isinstance(right, Static):
            if name not in ("==", "!="):
                self.refuse(node, "only numbers are ordered here")
            equal = bool(left.value == right.value)
            return Scalar(Literal(equal == (name == "=="), BOOL.dtype), BOOL)
        self.require_numbers((left, right), node)
        assert isinstance(left, Scalar | ArrayValue) and isinstance(right, Scalar | ArrayValue)
        weak = left.kind.weak and right.kind.weak
        kind = BOOL if weak else STRONG_BOOL
        left, right = self._comparable(left, right, node)
        _, make = self.operation(name, ufunc, (left, right), node)
        result = self.apply((left, right), make, kind, node)
        return self._known(name, left, right) or result

    def _contained(self, holds: bool, left: Value, right: Value, node: ast.AST) -> Value:
        """left in right, of a tuple, a list or the keys of a dictionary."""
        if isinstance(right, Record) and right.group.made_of is dict:
            right = TupleValue(tuple(self.constant(key, node) for key in right.group.keys))
        if not isinstance(right, TupleValue):
            self.refuse(node, "`in` of what is no tuple or list", "compare with each value")
        found: Value = Scalar(Literal(False, BOOL.dtype), BOOL)
        for part in right.parts:
            equal = self.compare(ast.Eq(), left, part, node)
            found = self.binary(ast.BitOr(), found, equal, node)
        return found if holds else self.unary(ast.Not(), found, node)

    def _known(self, name: str, left: Value, right: Value) -> Scalar | None:
        """A comparison of two numbers that are known."""
        parts = [
            value.expression.value
            for value in (left, right)
            if isinstance(value, Scalar) and isinstance(value.expression, Literal)
        ]
        if len(parts) < 2:
            return None
        ufunc = next(each for text, each in _COMPARISONS.values() if text == name)
        return Scalar(Literal(bool(ufunc(*parts)), BOOL.dtype), BOOL)

    def _comparable(
        self, left: Scalar | ArrayValue, right: Scalar | ArrayValue, node: ast.AST
    ) -> tuple[Scalar | ArrayValue, Scalar | ArrayValue]:
        """Integers of different types as int64: no Python int is out of range in comparisons."""
        kinds = (left.kind, right.kind)
        if not all(kind.is_integer or kind.is_bool for kind in kinds):
            return left, right
        unsigned = [kind.dtype == np.uint64 for kind in kinds]
        if all(unsigned):
            return left, right
        if any(unsigned):
            other = right if unsigned[0] else left
            known = isinstance(other, Scalar) and isinstance(other.expression, Literal)
            if known and other.kind == INT:
                return left, right
            self.refuse(node, "a comparison of uint64 with signed integers", "convert one of them")
        if kinds[0].weak == kinds[1].weak:
            return left, right
        return self.cast(left, Kind(INT64), node), self.cast(right, Kind(INT64), node)

    def cast(self, value: Scalar | ArrayValue, kind: Kind, node: ast.AST) -> Scalar | ArrayValue:
        """The value as another type."""
        dtype, given = kind.dtype, value.kind.dtype
        if isinstance(value, Scalar):
            return Scalar(converted(value.expression, dtype, given), kind)
        element = value.element
        if dtype == given:
            return value
        return ArrayValue(
            value.shape,
            value.room,
            dtype,
            lambda indices: converted(element(indices), dtype, given),
            uninitialised=value.uninitialised,
        )

    # ---- and, or, conditional expressions ----

    def choose(
        self, condition: Expression, if_true: Value, if_false: Value, node: ast.AST
    ) -> Value:
        """`if_true if condition else if_false`: one type for both."""
        known = as_bool_literal(condition)
        if known is not None:
            return if_true if known else if_false
        if not (isinstance(if_true, Scalar) and isinstance(if_false, Scalar)):
            self.refuse(
                node,
                "a choice between values that are not both numbers",
                "use np.where for arrays, or an if statement",
            )
        kind = join(if_true.kind, if_false.kind)
        parts = [
            converted(each.expression, kind.dtype, each.kind.dtype) for each in (if_true, if_false)
        ]
        return Scalar(selected(condition, parts[0], parts[1], kind.dtype), kind)


def _expression(value: Value) -> Expression:
    assert isinstance(value, Scalar)
    return value.expression
