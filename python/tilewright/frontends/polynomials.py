"""Integer expressions as polynomials of iterators and parameters, and affine ones as isl text.

Signed integers are taken not to overflow, which C does not define (PENCIL report, section 3.4).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from ..sets.values import Set
from .tree import Convert, Expression, For, Literal, Location, Operation, Variable, plain

__all__ = [
    "Polynomial",
    "added",
    "affine_text",
    "condition_text",
    "exclude_each_other",
    "loop_bounds",
    "multiplied",
    "polynomial",
    "quotient",
    "scaled",
    "tree_of",
]

_INDEX = np.dtype(np.int64)

# Products of names -> coefficient. The empty product is the constant.
Polynomial = dict[tuple[str, ...], int]


def loop_bounds(loop: For) -> list[str]:
    """What a loop says of its iterator, as isl text: as far as it is affine."""
    start, stop = polynomial(loop.start), polynomial(loop.stop)
    name, found = loop.iterator.name, []
    low, high = (start, stop) if loop.step > 0 else (stop, start)
    if (text := affine_text(low)) is not None:
        found.append(f"{name} >= {text}" if loop.step > 0 else f"{name} > {text}")
    if (text := affine_text(high)) is not None:
        found.append(f"{name} < {text}" if loop.step > 0 else f"{name} <= {text}")
    return found


def condition_text(condition: Expression) -> str:
    """An affine comparison as isl text, or ""."""
    if not isinstance(condition, Operation) or condition.name not in ("<", "<=", ">", ">=", "=="):
        return ""
    left, right = (affine_text(polynomial(each)) for each in condition.operands)
    sign = "=" if condition.name == "==" else condition.name
    return "" if left is None or right is None else f"{left} {sign} {right}"


def polynomial(expression: Expression, index: bool = False) -> Polynomial | None:
    """An integer expression as a polynomial of iterators and parameters, or None.

    Sizes are taken to stay below 2**63, so that unsigned ones are the same numbers as signed ones of 64
    bits.

    Args:
        expression: any.
        index: it is a subscript. Its numbers are those of C's arithmetic modulo 2**64 then, whatever the
            signs of its parts: `i * (size_t)n` is the element i * n.
    """
    expression = plain(expression)
    match expression:
        case Convert() if expression.value.dtype.kind in "iu":
            wide = expression.dtype.kind in "iu" and expression.dtype.itemsize == _INDEX.itemsize
            if expression.dtype == _INDEX or (index and wide):
                return polynomial(expression.value, index)
        case Literal() if expression.dtype.kind in "iu":
            value = int(expression.value.real)
            return {(): value} if value else {}
        case Variable():
            return {(expression.name,): 1}
        case Operation() if expression.name == "neg" and expression.dtype.kind in "iu":
            only = polynomial(expression.operands[0], index)
            return None if only is None else scaled(only, -1)
        case Operation() if expression.name in ("+", "-", "*") and expression.dtype.kind in "iu":
            left, right = (polynomial(each, index) for each in expression.operands)
            if left is None or right is None:
                return None
            if expression.name == "*":
                return multiplied(left, right)
            return added(left, scaled(right, 1 if expression.name == "+" else -1))
    return None


def added(a: Polynomial, b: Polynomial) -> Polynomial:
    result = dict(a)
    for key, value in b.items():
        result[key] = result.get(key, 0) + value
    return {key: value for key, value in result.items() if value}


def multiplied(a: Polynomial, b: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for x, p in a.items():
        for y, q in b.items():
            result = added(result, {tuple(sorted(x + y)): p * q})
    return result


def quotient(of: Polynomial, by: Polynomial) -> Polynomial | None:
    """The polynomial without a factor of one term, or None if a term has not all of it."""
    ((names, size),) = by.items()
    result: Polynomial = {}
    for key, value in of.items():
        rest = list(key)
        for name in names:
            if name not in rest:
                return None
            rest.remove(name)
        if value % size:
            return None
        result[tuple(rest)] = value // size
    return result


def scaled(a: Polynomial, factor: int) -> Polynomial:
    return {key: factor * value for key, value in a.items()} if factor else {}


def tree_of(
    of: Polynomial, variable: Callable[[str], Expression], dtype: np.dtype, location: Location
) -> Expression:
    """A polynomial as an expression of that type; `variable` says what a name is in it."""
    result: Expression | None = None
    for key, value in sorted(of.items(), key=lambda each: (each[0] == (), each[0])):
        factors = [variable(name) for name in key]
        if abs(value) != 1 or not factors:
            factors.insert(0, Literal(abs(value), dtype))
        term = factors[0]
        for factor in factors[1:]:
            term = Operation("*", (term, factor), dtype, location)
        if result is None:
            result = term if value > 0 else Operation("neg", (term,), dtype, location)
        else:
            result = Operation("+" if value > 0 else "-", (result, term), dtype, location)
    return Literal(0, dtype) if result is None else result


def exclude_each_other(conditions: Iterable[str]) -> bool:
    """Whether no integers meet all of these affine conditions, isl text of iterators and parameters."""
    text = " and ".join(f"({each})" for each in conditions)
    # isl has words of its own, so that names are numbered for it.
    names = sorted(set(re.findall(r"[A-Za-z_]\w*", text)) - {"and", "or", "not", "mod"})
    numbers = {name: f"x{at}" for at, name in enumerate(names)}
    numbered = re.sub(r"[A-Za-z_]\w*", lambda found: numbers.get(found[0], found[0]), text)
    return Set(f"{{ [{', '.join(numbers.values())}] : {numbered} }}").is_empty


def affine_text(of: Polynomial | None) -> str | None:
    """An affine polynomial as isl text, or None."""
    if of is None or any(len(key) > 1 for key in of):
        return None
    parts = [f"{value}" + "".join(f" * {name}" for name in key) for key, value in of.items()]
    return " + ".join(parts) or "0"
