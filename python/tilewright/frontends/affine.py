"""Affine parts of a statement tree: which subscripts, bounds and conditions isl can hold, as isl text.

An integer expression is affine when it is a sum of iterators, parameters and scalars of a known
affine value, with divisions and remainders by numbers, `min`, `max` and choices among such. Integers are
taken not to overflow, as in pet (PENCIL report, INRIA RT-0457, section 3.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from . import tree

__all__ = ["Affine", "Scope", "affine_of", "condition_of"]

_COMPARISONS = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "==": "=", "!=": "!="}
_EXTREMA = {"minimum": "min", "fmin": "min", "maximum": "max", "fmax": "max"}


@dataclass(frozen=True)
class Affine:
    """The sum of `terms`, isl text with a coefficient each, and `constant`."""

    terms: Mapping[str, int] = field(default_factory=dict)
    constant: int = 0

    def plus(self, other: Affine, factor: int = 1) -> Affine:
        """This and `factor` times the other one."""
        terms = dict(self.terms)
        for term, coefficient in other.terms.items():
            terms[term] = terms.get(term, 0) + factor * coefficient
        return Affine(
            {term: coefficient for term, coefficient in terms.items() if coefficient},
            self.constant + factor * other.constant,
        )

    def times(self, factor: int) -> Affine:
        """`factor` times this."""
        return Affine().plus(self, factor)

    def __str__(self) -> str:
        parts = [
            term if coefficient == 1 else f"{coefficient}*{term}"
            for term, coefficient in self.terms.items()
        ]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")


def _atom(text: str) -> Affine:
    return Affine({text: 1})


@dataclass(frozen=True)
class Scope:
    """What names mean at a place of the program.

    Attributes:
        variables: iterators and parameters by their name in the program: their name in isl text.
        known: scalars that hold an affine value here.
    """

    variables: Mapping[str, str]
    known: Mapping[str, Affine]


def _integral(dtype: np.dtype) -> bool:
    return dtype.kind in "iu"


def affine_of(expression: tree.Expression, scope: Scope) -> Affine | None:
    """The affine function that the expression is, or None.

    Args:
        expression: any expression of the program.
        scope: what its names mean.
    """
    match expression:
        case tree.Literal():
            value = expression.value
            return Affine({}, int(value)) if isinstance(value, int | np.integer) else None
        case tree.Variable():
            name = scope.variables.get(expression.name)
            return None if name is None else _atom(name)
        case tree.Read():
            return None if expression.subscripts else scope.known.get(expression.array)
        case tree.Convert():
            return _converted(expression, scope)
        case tree.Select():
            return _chosen(expression, scope)
        case tree.Operation() if _integral(expression.dtype):
            return _operation(expression, scope)
    return None


def _converted(expression: tree.Convert, scope: Scope) -> Affine | None:
    source, target = expression.value.dtype, expression.dtype
    if not (_integral(source) and _integral(target)):
        return None
    value = affine_of(expression.value, scope)
    # A narrower type wraps: what a long was is no affine function of it as an int. Sizes are taken to
    # stay below 2**63.
    if value is None or np.can_cast(source, target) or target == np.dtype(np.int64):
        return value
    limits = np.iinfo(target)
    fits = not value.terms and limits.min <= value.constant <= limits.max
    return value if fits else None


def _chosen(expression: tree.Select, scope: Scope) -> Affine | None:
    if not _integral(expression.dtype):
        return None
    condition = condition_of(expression.condition, scope)
    first = affine_of(expression.if_true, scope)
    second = affine_of(expression.if_false, scope)
    if condition is None or first is None or second is None:
        return None
    bare = condition.removeprefix("(").removesuffix(")")
    if "and" in bare or "or" in bare or "not" in bare or "(" in bare:
        return None  # isl's text has single comparisons there only
    return _atom(f"({bare} ? ({first}) : ({second}))")


def _operation(expression: tree.Operation, scope: Scope) -> Affine | None:
    operands = [affine_of(operand, scope) for operand in expression.operands]
    known = [operand for operand in operands if operand is not None]
    if len(known) != len(operands):
        return None
    if expression.name == "neg":
        return known[0].times(-1)
    if len(known) != 2:
        return None
    first, second = known
    match expression.name:
        case "+":
            return first.plus(second)
        case "-":
            return first.plus(second, -1) if expression.dtype.kind == "i" else None
        case "*" if not second.terms:
            return first.times(second.constant)
        case "*" if not first.terms:
            return second.times(first.constant)
        case "<<" if not second.terms and 0 <= second.constant < 62:
            return first.times(1 << second.constant)
        case ">>" if not second.terms and 0 <= second.constant < 62:
            return _divided(first, 1 << second.constant)
        case name if name in _EXTREMA:
            return _atom(f"{_EXTREMA[name]}({first}, {second})")
    if second.terms or second.constant <= 0:
        return None
    return _by_number(expression.name, first, second.constant)


def _divided(value: Affine, divisor: int) -> Affine:
    if not value.terms:
        return Affine({}, value.constant // divisor)
    return _atom(f"floor(({value})/{divisor})")


def _by_number(name: str, value: Affine, divisor: int) -> Affine | None:
    """Quotients and remainders, rounded down or towards zero."""
    match name:
        case "//":
            return _divided(value, divisor)
        case "%":
            return value.plus(_divided(value, divisor), -divisor)
    if name not in ("truncated_divide", "fmod"):
        return None
    if value.terms:  # towards zero: one of the two is 0
        up = f"min(0, -floor(({value.times(-1)})/{divisor}))"
        quotient = Affine({f"max(0, floor(({value})/{divisor}))": 1, up: 1})
    else:
        quotient = Affine({}, int(value.constant / divisor))
    return quotient if name == "truncated_divide" else value.plus(quotient, -divisor)


def condition_of(expression: tree.Expression, scope: Scope) -> str | None:
    """The condition as isl text, or None when it is not affine.

    Args:
        expression: an expression of type bool.
        scope: what its names mean.
    """
    match expression:
        case tree.Literal():
            return "1 = 1" if expression.value else "1 = 0"
        case tree.Convert() if expression.dtype.kind == "b":
            value = affine_of(expression.value, scope)
            return None if value is None or _chooses(value) else f"({value}) != 0"
        case tree.Select():
            return _choice(expression, scope)
        case tree.Operation():
            return _comparison(expression, scope)
    return None


def _choice(expression: tree.Select, scope: Scope) -> str | None:
    condition = condition_of(expression.condition, scope)
    first = condition_of(expression.if_true, scope)
    second = condition_of(expression.if_false, scope)
    if condition is None or first is None or second is None:
        return None
    match expression.if_true, expression.if_false:
        case _, tree.Literal(value=False):
            return f"(({condition}) and ({first}))"
        case tree.Literal(value=True), _:
            return f"(({condition}) or ({second}))"
    return f"((({condition}) and ({first})) or ((not ({condition})) and ({second})))"


def _comparison(expression: tree.Operation, scope: Scope) -> str | None:
    operands = expression.operands
    if expression.name in ("~", "logical_not") and expression.dtype.kind == "b":
        text = condition_of(operands[0], scope)
        return None if text is None else f"(not ({text}))"
    if expression.name in ("&", "|") and expression.dtype.kind == "b":
        texts = [condition_of(operand, scope) for operand in operands]
        word = " and " if expression.name == "&" else " or "
        return None if None in texts else "(" + word.join(f"({text})" for text in texts) + ")"
    if expression.name not in _COMPARISONS or not all(_integral(o.dtype) for o in operands):
        return None
    first, second = (affine_of(operand, scope) for operand in operands)
    if first is None or second is None or _chooses(first) or _chooses(second):
        return None
    return f"({first} {_COMPARISONS[expression.name]} {second})"


def _chooses(value: Affine) -> bool:
    """Is there a choice in it, which isl's text does not have inside of comparisons?"""
    return any("?" in term for term in value.terms)
