"""What C expressions are while they are translated: values, places in memory, and addresses.

A value is a tree with the C type that it has. A place is what an lvalue names: a whole array, a part
of it, or an element. An address is a pointer value: a place, and how far behind it. The functions here
make tree nodes with C's conversions written out (`Convert` only), and fold integer constants.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import tree
from ..tree import Convert, Expression, Literal, Location, Operation, Select, plain
from .c_types import BOOL, INT, LONG, CType, Number, is_integer, promoted

__all__ = [
    "Address",
    "Place",
    "Value",
    "arithmetic",
    "as_condition",
    "as_index",
    "compared",
    "converted",
    "extended",
    "index_condition",
    "integer",
    "negated",
    "same",
    "selected",
    "truth",
    "unwrapped",
    "widened",
]


@dataclass(frozen=True)
class Value:
    """A number."""

    type: Number
    tree: Expression


@dataclass(frozen=True)
class Place:
    """What an lvalue names.

    Attributes:
        root: the variable, by its name in the tree.
        path: the fields selected so far.
        subscripts: those of all dimensions so far, the fields' among them.
        type: of what is named: an array or a structure if subscripts or fields are still to come.
    """

    root: str
    path: tuple[str, ...]
    subscripts: tuple[Expression, ...]
    type: CType
    constant: bool = False

    @property
    def name(self) -> str:
        """The name of the array of the innermost field (PENCIL report, section 3.3)."""
        return "_".join((self.root, *self.path))


@dataclass(frozen=True)
class Address:
    """A pointer.

    Attributes:
        place: an array, of which `offset` is a subscript; or a single thing, without an offset.
        target: the type pointed to.
    """

    place: Place
    target: CType
    offset: Value | None


def integer(value: int, type_: Number = INT) -> Value:
    """An integer constant."""
    return Value(type_, Literal(value, type_.dtype))


def extended(expression: Expression) -> int | None:
    """The integer that a tree is, or None."""
    if isinstance(expression, Literal) and expression.dtype.kind in "iub":
        return int(expression.value.real)
    return None


def as_index(expression: Expression) -> Expression:
    """An integer expression of parameters in 64 bits, where that is the same number: parameters that
    count elements are far below the ends of their types, and signed integers do not overflow."""
    expression = plain(expression)
    long = LONG.dtype
    match expression:
        case Literal() if expression.dtype.kind in "iu":
            return Literal(int(expression.value.real), long)
        case tree.Variable():
            return tree.Variable(expression.name, long)
        case Operation() if expression.name in ("+", "-", "*", "neg", "//"):
            if expression.dtype.kind == "u" and expression.name in ("-", "neg"):
                return expression
            return replace(
                expression, operands=tuple(map(as_index, expression.operands)), dtype=long
            )
    return expression


def unwrapped(expression: Expression) -> Expression | None:
    """Unsigned arithmetic of iterators and parameters in which something might wrap, as the number in 64
    bits that it is before it does: -1 for 0u - 1. None for all other expressions."""
    if expression.dtype.kind != "u":
        return None
    wraps = False

    def exact(part: Expression) -> Expression | None:
        nonlocal wraps
        match part:
            case Literal() if part.dtype.kind in "iu":
                return Literal(int(part.value.real), LONG.dtype)
            case tree.Variable():
                return tree.Variable(part.name, LONG.dtype)
            case Convert() if part.value.dtype.kind in "iu":
                wraps = wraps or (part.value.dtype.kind == "i" and part.dtype.kind == "u")
                return exact(part.value)
            case Operation() if part.name in ("+", "-", "*") and part.dtype.kind in "iu":
                wraps = wraps or part.name == "-"
                operands = [exact(each) for each in part.operands]
                known = tuple(each for each in operands if each is not None)
                if len(known) == len(operands):
                    return replace(part, operands=known, dtype=LONG.dtype)
        return None

    found = exact(expression)
    return found if wraps else None


def index_condition(condition: Expression) -> Expression:
    """A condition with its integers in 64 bits, where that says the same."""
    match condition:
        case Select():
            return replace(
                condition,
                condition=index_condition(condition.condition),
                if_true=index_condition(condition.if_true),
                if_false=index_condition(condition.if_false),
            )
        case Operation() if condition.name in ("~", "&", "|") and condition.dtype.kind == "b":
            return replace(condition, operands=tuple(map(index_condition, condition.operands)))
        case Operation() if condition.operands[0].dtype.kind in "iu":
            operands = tuple(map(as_index, condition.operands))
            if all(each.dtype == LONG.dtype for each in operands):
                return replace(condition, operands=operands)
    return condition


def same(a: Expression, b: Expression) -> bool:
    """Whether two trees say the same integer, apart from conversions and places."""
    a, b = plain(a), plain(b)
    if isinstance(a, Literal) and isinstance(b, Literal):
        return a.value == b.value
    if isinstance(a, tree.Variable) and isinstance(b, tree.Variable):
        return a.name == b.name
    if isinstance(a, Operation) and isinstance(b, Operation):
        return (a.name, len(a.operands)) == (b.name, len(b.operands)) and all(
            same(x, y) for x, y in zip(a.operands, b.operands, strict=True)
        )
    if isinstance(a, tree.Read) and isinstance(b, tree.Read):
        return (a.array, len(a.subscripts)) == (b.array, len(b.subscripts)) and all(
            same(x, y) for x, y in zip(a.subscripts, b.subscripts, strict=True)
        )
    if isinstance(a, Convert) and isinstance(b, Convert):
        return a.dtype == b.dtype and same(a.value, b.value)
    return False


def _wrapped(value: int, dtype: np.dtype) -> int:
    bits = 8 * dtype.itemsize
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


def converted(value: Value, to: Number, location: Location) -> Value:
    """A value as another type, by C99 6.3.1: to _Bool by comparing with 0, of complex numbers the
    real part, to integers without the fraction."""
    given, dtype = value.type.dtype, to.dtype
    if given == dtype:
        return Value(to, value.tree)
    if dtype.kind == "b":
        return Value(to, truth(value, location))
    if isinstance(value.tree, Literal):
        return Value(to, _converted_literal(value.tree, dtype))
    expression = value.tree
    if given.kind == "c" and dtype.kind != "c":
        part = np.dtype(f"f{given.itemsize // 2}")
        expression = Operation("real", (expression,), part, location)
        if part == dtype:
            return Value(to, expression)
    inner = expression.value if isinstance(expression, Convert) else None
    if (
        inner is not None
        and dtype == inner.dtype
        and given.kind in "iu"
        and inner.dtype.kind in "iu"
    ):
        if given.itemsize >= dtype.itemsize:  # there and back
            return Value(to, inner)
    return Value(to, Convert(expression, dtype))


def _converted_literal(literal: Literal, dtype: np.dtype) -> Expression:
    number = complex(literal.value)
    if dtype.kind in "iu":
        if literal.dtype.kind in "biu":
            return Literal(_wrapped(int(literal.value.real), dtype), dtype)
        whole = number.real
        limits = np.iinfo(dtype)
        if not (np.isfinite(whole) and int(limits.min) <= int(whole) <= int(limits.max)):
            return Convert(literal, dtype)  # undefined in C: left to the target
        return Literal(int(whole), dtype)
    if dtype.kind == "f":
        if literal.dtype.kind in "biu":
            with np.errstate(over="ignore"):
                return Literal(float(dtype.type(int(literal.value.real))), dtype)
        with np.errstate(over="ignore"):
            return Literal(float(dtype.type(number.real)), dtype)
    with np.errstate(over="ignore"):
        return Literal(complex(dtype.type(number)), dtype)


def truth(value: Value, location: Location) -> Expression:
    """Whether a value is not 0, a bool."""
    expression = value.tree
    if isinstance(expression, Convert) and expression.value.dtype.kind == "b":
        return expression.value
    if expression.dtype.kind == "b":
        return expression
    if isinstance(expression, Literal):
        return Literal(bool(expression.value), BOOL.dtype)
    zero = Literal(0 if expression.dtype.kind in "iu" else 0.0, expression.dtype)
    return Operation("!=", (expression, zero), BOOL.dtype, location)


def as_condition(expression: Expression) -> Value:
    """A bool as the int that C has for it."""
    if isinstance(expression, Literal):
        return integer(int(bool(expression.value)))
    return Value(INT, Convert(expression, INT.dtype))


def negated(condition: Expression, location: Location) -> Expression:
    """The opposite of a bool."""
    opposite = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
    if isinstance(condition, Literal):
        return Literal(not condition.value, BOOL.dtype)
    if isinstance(condition, Operation):
        if condition.name == "~":
            return condition.operands[0]
        exact = condition.name in ("==", "!=") or condition.operands[0].dtype.kind in "iub"
        if condition.name in opposite and exact:
            return replace(condition, name=opposite[condition.name])
    return Operation("~", (condition,), BOOL.dtype, location)


def compared(sign: str, a: Value, b: Value, type_: Number, location: Location) -> Expression:
    """A comparison after the usual conversions, a bool."""
    left, right = converted(a, type_, location).tree, converted(b, type_, location).tree
    x, y = extended(left), extended(right)
    if x is not None and y is not None:
        known = {
            "<": x < y,
            "<=": x <= y,
            ">": x > y,
            ">=": x >= y,
            "==": x == y,
            "!=": x != y,
        }
        return Literal(known[sign], BOOL.dtype)
    return Operation(sign, (left, right), BOOL.dtype, location)


# C's sign -> the operation of signed integers, of unsigned ones, and of floats.
_NAMES = {
    "+": ("+", "+", "+"),
    "-": ("-", "-", "-"),
    "*": ("*", "*", "*"),
    "/": ("truncated_divide", "//", "/"),
    "%": ("fmod", "%", ""),
    "&": ("&", "&", ""),
    "|": ("|", "|", ""),
    "^": ("^", "^", ""),
    "<<": ("<<", "<<", ""),
    ">>": (">>", ">>", ""),
}


def arithmetic(sign: str, a: Value, b: Value, type_: Number, location: Location) -> Value:
    """An arithmetic operation on operands brought to one type; constants are folded.

    Shifts bring the second operand to the first one's type, which is the same number wherever C
    defines the shift.
    """
    left, right = converted(a, type_, location).tree, converted(b, type_, location).tree
    x, y = extended(left), extended(right)
    if type_.dtype.kind in "iu":
        folded = _folded(sign, x, y, type_)
        if folded is not None:
            return integer(folded, type_)
        if ((y == 0 and sign in "+-") or (y == 1 and sign in "*/")) and y is not None:
            return Value(type_, left)
        if (x == 0 and sign == "+") or (x == 1 and sign == "*"):
            return Value(type_, right)
        if y is not None and y < 0 and sign in ("+", "-") and type_.dtype.kind == "i":
            if y > np.iinfo(type_.dtype).min:
                sign, right = "-" if sign == "+" else "+", Literal(-y, type_.dtype)
    signed, unsigned, real = _NAMES[sign]
    name = signed if type_.dtype.kind == "i" else unsigned if type_.dtype.kind == "u" else real
    return Value(type_, Operation(name, (left, right), type_.dtype, location))


def _folded(sign: str, x: int | None, y: int | None, type_: Number) -> int | None:
    if x is None or y is None:
        return None
    bits = 8 * type_.dtype.itemsize
    if sign in "/%":
        if y == 0:
            return None
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return _wrapped(quotient if sign == "/" else x - y * quotient, type_.dtype)
    if sign in ("<<", ">>"):
        if not 0 <= y < bits:
            return None
        return _wrapped(x << y if sign == "<<" else x >> y, type_.dtype)
    result = {"+": x + y, "-": x - y, "*": x * y, "&": x & y, "|": x | y, "^": x ^ y}[sign]
    return _wrapped(result, type_.dtype)


def selected(
    condition: Expression, if_true: Expression, if_false: Expression, dtype: np.dtype
) -> Expression:
    """A `Select`, or the branch that a constant condition takes."""
    if isinstance(condition, Literal):
        return if_true if condition.value else if_false
    return Select(condition, if_true, if_false, dtype)


def widened(value: Value, location: Location) -> Value:
    """An integer as a 64-bit one, so that 1 more or less does not wrap."""
    assert is_integer(value.type)
    if value.type.dtype.itemsize == 8:
        return value if value.type.dtype.kind == "i" else converted(value, LONG, location)
    return converted(converted(value, promoted(value.type), location), LONG, location)
