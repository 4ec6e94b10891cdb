"""Integer expressions as polynomials of iterators and parameters, and affine ones as isl text.

Signed integers are taken not to overflow, which C does not define (PENCIL report, section 3.4).
"""

from __future__ import annotations

from ..tree import Expression, For, Literal, Operation, Variable
from .values import plain

__all__ = [
    "Polynomial",
    "added",
    "affine_text",
    "condition_text",
    "loop_bounds",
    "polynomial",
]

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


def polynomial(expression: Expression) -> Polynomial | None:
    """An integer expression as a polynomial of iterators and parameters, or None."""
    expression = plain(expression)
    match expression:
        case Literal() if expression.dtype.kind in "iu":
            value = int(expression.value.real)
            return {(): value} if value else {}
        case Variable():
            return {(expression.name,): 1}
        case Operation() if expression.name in ("+", "-", "*") and expression.dtype.kind in "iu":
            left, right = (polynomial(each) for each in expression.operands)
            if left is None or right is None:
                return None
            if expression.name == "*":
                return multiplied(left, right)
            sign = 1 if expression.name == "+" else -1
            return added(left, {key: sign * value for key, value in right.items()})
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


def affine_text(of: Polynomial | None) -> str | None:
    """An affine polynomial as isl text, or None."""
    if of is None or any(len(key) > 1 for key in of):
        return None
    parts = [f"{value}" + "".join(f" * {name}" for name in key) for key, value in of.items()]
    return " + ".join(parts) or "0"
