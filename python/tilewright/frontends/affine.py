"""Affine parts of a statement tree: which subscripts, bounds and conditions isl can hold, as isl text.

An integer expression is affine when it is a sum of iterators, parameters and scalars of a known
affine value, with divisions and remainders by numbers, `min`, `max` and choices among such. Integers are
taken not to overflow, as in pet (PENCIL report, INRIA RT-0457, section 3.3).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from . import tree

__all__ = [
    "Affine",
    "Quotient",
    "Scope",
    "affine_of",
    "compared",
    "condition_of",
    "divided",
    "itself",
    "remainder",
]

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
        cases = _cases_of(self)
        if cases is not None and len(cases) > 1:
            chain = "".join(f"{condition} ? ({value}) : " for condition, value in cases[:-1])
            return f"({chain}({cases[-1][1]}))"
        parts = [
            term if coefficient == 1 else f"{coefficient}*{term}"
            for term, coefficient in self.terms.items()
        ]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")


def _atom(text: str) -> Affine:
    return Affine({text: 1})


class Quotient(str):
    """A term that is `value`, divided by a number and rounded down."""

    value: Affine
    divisor: int


class _Choice(str):
    """A term that is one of two values, as isl's text of functions has it. Comparisons are written out for
    both of them, as isl's text has no choices there."""

    condition: str
    first: Affine
    second: Affine


def _choice_of(condition: str, first: Affine, second: Affine) -> Affine:
    choice = _Choice(f"({condition} ? ({first}) : ({second}))")
    choice.condition, choice.first, choice.second = condition, first, second
    return _atom(choice)


def _choice_in(*values: Affine) -> _Choice | None:
    found = (term for value in values for term in value.terms if isinstance(term, _Choice))
    return next(found, None)


def _cases_of(value: Affine) -> list[tuple[str, Affine]] | None:
    """Values without choices, of which the first is meant whose condition holds; the last one has none.
    Nothing if isl's text does not have them: conditions there are single comparisons, and no choice stands
    within a term, in parentheses, or in front of another one's colon."""
    choice = _choice_in(value)
    if choice is None:
        return [("", value)]
    first, second = (_decided(value, choice, taken) for taken in (choice.first, choice.second))
    condition = choice.condition
    if _choice_in(first) is not None:
        first, second, condition = second, first, _failing(condition)
    rest = _cases_of(second)
    return None if _choice_in(first) is not None or rest is None else [(condition, first), *rest]


#: What a comparison is where it does not hold.
_OPPOSITE = {"<": ">=", ">=": "<", "<=": ">", ">": "<=", "=": "!=", "!=": "="}


def _failing(condition: str) -> str:
    first, sign, second = re.split(r" (<=|>=|!=|<|>|=) ", condition)
    return f"{first} {_OPPOSITE[sign]} {second}"


def _decided(value: Affine, choice: _Choice, taken: Affine) -> Affine:
    """The value if the choice is decided."""
    coefficient = value.terms.get(choice, 0)
    rest = {term: each for term, each in value.terms.items() if term != choice}
    return Affine(rest, value.constant).plus(taken, coefficient)


def _of_parts(make: Callable[..., Affine], *values: Affine) -> Affine:
    """A function of values: where there is a choice in them, the choice of the function's values."""
    choice = _choice_in(*values)
    if choice is None:
        return make(*values)
    first, second = (
        _of_parts(make, *(_decided(value, choice, taken) for value in values))
        for taken in (choice.first, choice.second)
    )
    return _choice_of(choice.condition, first, second)


def compared(first: Affine, sign: str, second: Affine) -> str:
    """A comparison as isl text.

    Args:
        first, second: what is compared.
        sign: as isl has it.
    """
    choice = _choice_in(first, second)
    if choice is None:
        return f"{first} {sign} {second}"
    holds, fails = (
        compared(_decided(first, choice, taken), sign, _decided(second, choice, taken))
        for taken in (choice.first, choice.second)
    )
    return f"((({choice.condition}) and ({holds})) or ((not ({choice.condition})) and ({fails})))"


@dataclass(frozen=True)
class Scope:
    """What names mean at a place of the program.

    Attributes:
        variables: iterators and parameters by their name in the program: their name in isl text.
        known: scalars that hold an affine value here.
        wraps: whether an unsigned difference is the number that it is before it wraps.
    """

    variables: Mapping[str, str]
    known: Mapping[str, Affine]
    wraps: bool = False


class _Names(dict[str, str]):
    """Names that mean themselves."""

    def get(self, name: str, default: object = None) -> str:
        return name


def itself() -> Scope:
    """The scope in which iterators and parameters have their own names, and scalars no known value."""
    return Scope(_Names(), {})


def _integral(dtype: np.dtype) -> bool:
    return dtype.kind in "iu"


def affine_of(expression: tree.Expression, scope: Scope) -> Affine | None:
    """The affine function that the expression is, or None.

    Args:
        expression: any expression of the program.
        scope: what its names mean.
    """
    found = _affine_of(expression, scope)
    return None if found is None or _cases_of(found) is None else found


def _affine_of(expression: tree.Expression, scope: Scope) -> Affine | None:
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
    extremum = _extremum(expression.condition, first, second, scope)
    if extremum is not None:
        return extremum
    words = set(re.findall(r"[a-z]+", condition))
    if words & {"and", "or", "not"}:
        return None  # isl's text has single comparisons there only
    return _choice_of(condition.removeprefix("(").removesuffix(")"), first, second)


def _extremum(
    condition: tree.Expression, first: Affine, second: Affine, scope: Scope
) -> Affine | None:
    """The choice of `a < b ? a : b` as the smaller one, and its like."""
    if not isinstance(condition, tree.Operation) or condition.name not in ("<", "<=", ">", ">="):
        return None
    left, right = (affine_of(operand, scope) for operand in condition.operands)
    if left is None or right is None or {str(left), str(right)} != {str(first), str(second)}:
        return None
    name = "min" if (condition.name in ("<", "<=")) == (str(left) == str(first)) else "max"
    return _of_parts(lambda a, b: _atom(f"{name}({a}, {b})"), first, second)


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
            return first.plus(second, -1) if expression.dtype.kind == "i" or scope.wraps else None
        case "*" if not second.terms:
            return first.times(second.constant)
        case "*" if not first.terms:
            return second.times(first.constant)
        case "<<" if not second.terms and 0 <= second.constant < 62:
            return first.times(1 << second.constant)
        case ">>" if not second.terms and 0 <= second.constant < 62:
            return divided(first, 1 << second.constant)
        case name if name in _EXTREMA:
            word = _EXTREMA[name]
            return _of_parts(lambda a, b: _atom(f"{word}({a}, {b})"), first, second)
    if second.terms or second.constant <= 0:
        return None
    return _by_number(expression.name, first, second.constant)


def divided(value: Affine, divisor: int) -> Affine:
    """The quotient, rounded down."""
    if not value.terms:
        return Affine({}, value.constant // divisor)

    def quotient(each: Affine) -> Affine:
        made = Quotient(f"floor(({each})/{divisor})")
        made.value, made.divisor = each, divisor
        return _atom(made)

    return _of_parts(quotient, value)


def remainder(value: Affine, divisor: int) -> Affine:
    """What is left of the value when it is divided, from 0 to below the divisor."""
    return value.plus(divided(value, divisor), -divisor)


def _by_number(name: str, value: Affine, divisor: int) -> Affine | None:
    """Quotients and remainders, rounded down or towards zero."""
    match name:
        case "//":
            return divided(value, divisor)
        case "%":
            return remainder(value, divisor)
    if name not in ("truncated_divide", "fmod"):
        return None
    quotient = _of_parts(lambda each: _towards_zero(each, divisor), value)
    return quotient if name == "truncated_divide" else value.plus(quotient, -divisor)


def _towards_zero(value: Affine, divisor: int) -> Affine:
    if not value.terms:
        return Affine({}, int(value.constant / divisor))
    up = f"min(0, -floor(({value.times(-1)})/{divisor}))"  # one of the two is 0
    return Affine({f"max(0, floor(({value})/{divisor}))": 1, up: 1})


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
            return None if value is None else compared(value, "!=", Affine())
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
    sign = _COMPARISONS[expression.name]
    first, second = (affine_of(operand, scope) for operand in operands)
    if first is None or second is None:
        return _wrapped_comparison(operands, sign, scope)
    return f"({compared(first, sign, second)})"


def _wrapped_comparison(
    operands: tuple[tree.Expression, ...], sign: str, scope: Scope
) -> str | None:
    """A comparison of unsigned numbers among which are differences. Those that wrap lie behind all that do
    not, in the same order."""
    if any(operand.dtype.kind != "u" for operand in operands):
        return None
    first, second = (affine_of(operand, replace(scope, wraps=True)) for operand in operands)
    if first is None or second is None:
        return None
    if sign in ("=", "!="):
        return f"({compared(first, sign, second)})"
    low, high = (first, second) if sign[0] == "<" else (second, first)
    zero = Affine()
    together = compared(low, sign.replace(">", "<"), high)
    alike = f"({compared(low, '>=', zero)}) or ({compared(high, '<', zero)})"
    apart = f"({compared(low, '>=', zero)}) and ({compared(high, '<', zero)})"
    return f"((({together}) and ({alike})) or ({apart}))"
