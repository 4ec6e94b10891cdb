"""Integer expressions as polynomials of iterators and parameters, and affine ones as isl text.

Signed integers are taken not to overflow, which C does not define (PENCIL report, section 3.4).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from ..sets.values import Set
from .affine import Affine, affine_of, compared, condition_of, itself, remainder
from .tree import (
    Convert,
    Expression,
    For,
    Literal,
    Location,
    Operation,
    Select,
    Variable,
    plain,
)

__all__ = [
    "Polynomial",
    "added",
    "affine_index",
    "affine_text",
    "condition_text",
    "exclude_each_other",
    "implied_text",
    "loop_bounds",
    "multiplied",
    "polynomial",
    "quotient",
    "scaled",
    "tree_of",
    "with_numbers",
]

_INDEX = np.dtype(np.int64)
_WORDS = {"and", "or", "not", "mod", "floor", "min", "max"}

# Products of names -> coefficient. The empty product is the constant.
Polynomial = dict[tuple[str, ...], int]


def loop_bounds(loop: For) -> list[str]:
    """What a loop says of its iterator, as isl text: where it starts and where it stops, as far as that is
    affine; of what it steps over, if both are."""
    iterator = Affine({loop.iterator.name: 1})
    start, stop = affine_of(loop.start, itself()), affine_of(loop.stop, itself())
    found = []
    if start is not None:
        found.append(compared(iterator, ">=" if loop.step > 0 else "<=", start))
    if stop is not None:
        found.append(compared(iterator, "<" if loop.step > 0 else ">", stop))
    if start is not None and stop is not None and abs(loop.step) != 1:
        distance = iterator.plus(start, -1)
        found.append(compared(remainder(distance, abs(loop.step)), "=", Affine()))
    return found


def condition_text(condition: Expression) -> str:
    """An affine condition as isl text, or ""."""
    return condition_of(condition, itself()) or ""


def implied_text(condition: Expression) -> str:
    """What is affine of a condition that holds, as isl text: `0 < i` of `i > 0 && x[i - 1] > 1`; or ""."""
    whole = condition_text(condition)
    if whole:
        return whole
    parts: tuple[Expression, ...] = ()
    match condition:
        case Select(if_false=Literal(value=False)):
            parts = (condition.condition, condition.if_true)
        case Operation(name="&"):
            parts = condition.operands
    return " and ".join(f"({text})" for text in map(implied_text, parts) if text)


def affine_index(subscript: Expression) -> Affine | None:
    """A subscript, or a size, as an affine function; None if it is none."""
    found = polynomial(subscript, index=True)
    if found is None:
        return affine_of(subscript, itself())
    if any(len(key) > 1 for key in found):
        return None
    terms = {key[0]: value for key, value in found.items() if key}
    return Affine(terms, found.get((), 0))


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
    """A polynomial as an expression of that type, in which numbers wrap; `variable` says what a name is in
    it."""
    result: Expression | None = None
    half = 1 << (8 * dtype.itemsize - 1)
    for key, number in sorted(of.items(), key=lambda each: (each[0] == (), each[0])):
        value = (number + half) % (2 * half) - half
        if not value:
            continue
        least = value == -half and dtype.kind == "i"  # which has no counterpart above 0
        size, plus = (value, True) if least else (abs(value), value > 0)
        factors = [variable(name) for name in key]
        if size != 1 or not factors:
            factors.insert(0, Literal(size, dtype))
        term = factors[0]
        for factor in factors[1:]:
            term = Operation("*", (term, factor), dtype, location)
        if result is None:
            result = term if plus else Operation("neg", (term,), dtype, location)
        else:
            result = Operation("+" if plus else "-", (result, term), dtype, location)
    return Literal(0, dtype) if result is None else result


def exclude_each_other(conditions: Iterable[str]) -> bool:
    """Whether no integers meet all of these affine conditions, isl text of iterators and parameters."""
    text = " and ".join(f"({each})" for each in conditions)
    numbered, numbers = with_numbers(text)
    return Set(f"{{ [{', '.join(numbers.values())}] : {numbered} }}").is_empty


def with_numbers(text: str) -> tuple[str, dict[str, str]]:
    """isl text with names that are none of isl's own words, and what they stand for: name -> number."""
    names = sorted(set(re.findall(r"[A-Za-z_]\w*", text)) - _WORDS)
    numbers = {name: f"x{at}" for at, name in enumerate(names)}
    return re.sub(r"[A-Za-z_]\w*", lambda found: numbers.get(found[0], found[0]), text), numbers


def affine_text(of: Polynomial | None) -> str | None:
    """An affine polynomial as isl text, or None."""
    if of is None or any(len(key) > 1 for key in of):
        return None
    parts = [f"{value}" + "".join(f" * {name}" for name in key) for key, value in of.items()]
    return " + ".join(parts) or "0"
