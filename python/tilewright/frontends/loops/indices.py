"""Integer expressions of extents, bounds and subscripts, in a normal form.

A sum of terms with integer factors and a constant: `n - 1 - 1` and `n - 2` are one expression, and
whether two extents are the same is a comparison. Parts that are not sums (`n // 2`) stay as they are
and are terms themselves.
"""

from __future__ import annotations

from collections.abc import Callable

from ..tree import Convert, Expression, Literal, Location, Operation, Read, Select, Variable
from .kinds import INT64

__all__ = [
    "Linear",
    "add",
    "constant_of",
    "is_pure",
    "key_of",
    "linear",
    "literal",
    "multiply",
    "same",
    "simplified",
    "subtract",
]

NOWHERE = Location("", 0, 0)

Key = tuple[object, ...]


def literal(value: int) -> Literal:
    """An int64."""
    return Literal(value, INT64)


def key_of(expression: Expression) -> Key:
    """The expression without its places: equal for what says the same."""
    match expression:
        case Literal():
            return ("literal", repr(expression.value), str(expression.dtype))
        case Variable():
            return ("variable", expression.name)
        case Read():
            return ("read", expression.array, *map(key_of, expression.subscripts))
        case Operation():
            name = (expression.name, str(expression.dtype))
            return ("operation", *name, *map(key_of, expression.operands))
        case Convert():
            return ("convert", str(expression.dtype), key_of(expression.value))
        case Select():
            parts = (expression.condition, expression.if_true, expression.if_false)
            return ("select", *map(key_of, parts))
    return ("call", id(expression))


class Linear:
    """constant + the sum of factor * term."""

    def __init__(self, constant: int, terms: dict[Key, tuple[int, Expression]]) -> None:
        self.constant = constant
        self.terms = {key: term for key, term in terms.items() if term[0]}

    def combined(self, other: Linear, factor: int) -> Linear:
        """self + factor * other."""
        terms = dict(self.terms)
        for key, (count, term) in other.terms.items():
            terms[key] = (terms.get(key, (0, term))[0] + factor * count, term)
        return Linear(self.constant + factor * other.constant, terms)

    def scaled(self, factor: int) -> Linear:
        """factor * self."""
        terms = {key: (factor * count, term) for key, (count, term) in self.terms.items()}
        return Linear(factor * self.constant, terms)

    def expression(self) -> Expression:
        """As a tree: what is added first, so that nothing needs a negation unless all is negative."""
        result: Expression | None = None
        ordered = sorted(self.terms.values(), key=lambda term: term[0] < 0)
        for count, term in ordered:
            size = abs(count)
            part = term if size == 1 else _operation("*", literal(size), term)
            if result is None:
                result = part if count > 0 else _operation("*", literal(count), term)
            else:
                result = _operation("+" if count > 0 else "-", result, part)
        if result is None:
            return literal(self.constant)
        if self.constant:
            sign = "+" if self.constant > 0 else "-"
            result = _operation(sign, result, literal(abs(self.constant)))
        return result


def _operation(name: str, *operands: Expression) -> Operation:
    return Operation(name, operands, INT64, NOWHERE)


def linear(expression: Expression) -> Linear:
    """The normal form of an int64 expression."""
    if isinstance(expression, Literal) and not isinstance(expression.value, complex):
        return Linear(int(expression.value), {})
    if isinstance(expression, Operation) and expression.dtype == INT64:
        parts = [linear(each) for each in expression.operands] if expression.name in "+-*" else []
        match expression.name:
            case "+":
                return parts[0].combined(parts[1], 1)
            case "-":
                return parts[0].combined(parts[1], -1)
            case "*" if not parts[0].terms:
                return parts[1].scaled(parts[0].constant)
            case "*" if not parts[1].terms:
                return parts[0].scaled(parts[1].constant)
            case "neg":
                return linear(expression.operands[0]).scaled(-1)
            case "minimum" | "maximum":
                forms = [linear(each) for each in expression.operands]
                if not any(each.terms for each in forms):
                    extremum = min if expression.name == "minimum" else max
                    return Linear(extremum(each.constant for each in forms), {})
    return Linear(0, {key_of(expression): (1, expression)})


def simplified(expression: Expression) -> Expression:
    """The normal form as a tree."""
    return linear(expression).expression()


def _combine(factor: int) -> Callable[[Expression, Expression], Expression]:
    def combine(a: Expression, b: Expression) -> Expression:
        return linear(a).combined(linear(b), factor).expression()

    return combine


add = _combine(1)
subtract = _combine(-1)


def multiply(a: Expression, factor: int) -> Expression:
    """a * factor."""
    return linear(a).scaled(factor).expression()


def constant_of(expression: Expression) -> int | None:
    """The value of an expression that is a number, else None."""
    form = linear(expression)
    return None if form.terms else form.constant


def same(a: Expression, b: Expression) -> bool:
    """Whether two expressions are known to be equal."""
    return constant_of(subtract(a, b)) == 0


def is_pure(expression: Expression) -> bool:
    """Whether it speaks of numbers, parameters and iterators only: it has one value in an iteration."""
    match expression:
        case Literal() | Variable():
            return True
        case Operation():
            return all(map(is_pure, expression.operands))
        case Convert():
            return is_pure(expression.value)
        case Select():
            parts = (expression.condition, expression.if_true, expression.if_false)
            return all(map(is_pure, parts))
    return False
