"""What recurrences are linear in: semirings, and linear forms over them.

A step ``x[i] = m[i] * x[i-1] + c[i]`` is a function of the state; two steps one after the other are one of
the same kind. That holds for any two operations of which one distributes over the other, for several states
with a matrix in place of m, and is what makes recurrences scans (Blelloch, "Prefix Sums and Their
Applications", 1990, section 1.4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

import tilewright as tw

__all__ = ["ONE", "SEMIRINGS", "Entry", "Form", "Semiring"]


class _One:
    """The neutral element of the multiplication, that no expression is written for."""

    def __repr__(self) -> str:
        return "1"


ONE = _One()
Entry: TypeAlias = "tw.Expression | _One"


@dataclass(frozen=True)
class Semiring:
    """An addition and a multiplication that distributes over it.

    Attributes:
        name: as people write it.
        plus, times: how Layer I spells them.
        add, multiply: make expressions.
        reduce_plus, reduce_times: the reductions by them.
        zero, one: the neutral elements of a type; None where it has none.
        is_exact: whether neither rounds, for this type.
    """

    name: str
    plus: str
    times: str
    add: Callable[..., tw.Expression]
    multiply: Callable[..., tw.Expression]
    reduce_plus: Callable[..., tw.Expression] | None
    reduce_times: Callable[..., tw.Expression] | None
    zero: Callable[[np.dtype[Any]], object]
    one: Callable[[np.dtype[Any]], object]

    def rounds(self, kind: np.dtype[Any]) -> bool:
        """Whether another order of operations gives another result in this type."""
        return kind.kind in "fcV" and bool({self.plus, self.times} & {"+", "*"})


def _constant(value: float) -> Callable[[np.dtype[Any]], object]:
    return lambda kind: kind.type(value)


def _lowest(kind: np.dtype[Any]) -> object:
    """What a maximum starts from."""
    return (
        kind.type(-np.inf)
        if kind.kind == "f"
        else np.iinfo(kind).min
        if kind.kind in "iu"
        else None
    )


def _highest(kind: np.dtype[Any]) -> object:
    return (
        kind.type(np.inf) if kind.kind == "f" else np.iinfo(kind).max if kind.kind in "iu" else None
    )


def _only_fractions(
    value: Callable[[np.dtype[Any]], object],
) -> Callable[[np.dtype[Any]], object]:
    """An infinity that additions keep: integers have none."""
    return lambda kind: value(kind) if kind.kind == "f" else None


def _all_bits(kind: np.dtype[Any]) -> object:
    return True if kind.kind == "b" else kind.type(-1) if kind.kind == "i" else np.iinfo(kind).max


def _sum(value: tw.Expression, **given: object) -> tw.Expression:
    # tw.sum widens narrow integers, and its answer is cut to the type again: the same modulo 2**n.
    return tw.cast(tw.sum(value, **given), value.dtype)  # type: ignore[arg-type]


def _product(value: tw.Expression, **given: object) -> tw.Expression:
    return tw.cast(tw.prod(value, **given), value.dtype)  # type: ignore[arg-type]


def _add(a: tw.Expression, b: tw.Expression) -> tw.Expression:
    return a + b


def _multiply(a: tw.Expression, b: tw.Expression) -> tw.Expression:
    return a * b


def _and(a: tw.Expression, b: tw.Expression) -> tw.Expression:
    return a & b


def _or(a: tw.Expression, b: tw.Expression) -> tw.Expression:
    return a | b


def _xor(a: tw.Expression, b: tw.Expression) -> tw.Expression:
    return a ^ b


#: Tried in this order.
SEMIRINGS: tuple[Semiring, ...] = (
    Semiring("(+, *)", "+", "*", _add, _multiply, _sum, _product, _constant(0), _constant(1)),
    Semiring(
        "(max, +)", "maximum", "+", tw.maximum, _add, tw.max, _sum,
        _only_fractions(_lowest), _constant(0),
    ),
    Semiring(
        "(min, +)", "minimum", "+", tw.minimum, _add, tw.min, _sum,
        _only_fractions(_highest), _constant(0),
    ),
    Semiring(
        "(max, min)", "maximum", "minimum", tw.maximum, tw.minimum, tw.max, tw.min, _lowest, _highest
    ),
    Semiring(
        "(min, max)", "minimum", "maximum", tw.minimum, tw.maximum, tw.min, tw.max, _highest, _lowest
    ),
    Semiring("(or, and)", "|", "&", _or, _and, None, None, _constant(0), _all_bits),
    Semiring("(and, or)", "&", "|", _and, _or, None, None, _all_bits, _constant(0)),
    Semiring("(xor, and)", "^", "&", _xor, _and, None, None, _constant(0), _all_bits),
)  # fmt: skip


@dataclass
class Form:
    """A linear form of states: a coefficient for each state in it, and a constant.

    Attributes:
        coefficients: by the state's number; what is missing is zero.
        constant: None for zero.
    """

    coefficients: dict[int, Entry] = field(default_factory=dict)
    constant: tw.Expression | None = None

    def plus(self, other: Form, semiring: Semiring) -> Form:
        """The sum of both."""
        result = dict(self.coefficients)
        for state, entry in other.coefficients.items():
            result[state] = add(result.get(state), entry, semiring)
        constant = self.constant
        if other.constant is not None:
            constant = (
                other.constant if constant is None else semiring.add(constant, other.constant)
            )
        return Form(result, constant)

    def mapped(self, function: Callable[[Entry], tw.Expression]) -> Form:
        """With a function of each entry."""
        constant = None if self.constant is None else function(self.constant)
        return Form({s: function(entry) for s, entry in self.coefficients.items()}, constant)


def add(a: Entry | None, b: Entry | None, semiring: Semiring) -> Entry:
    """The sum of two entries, of which one may be zero."""
    if a is None or b is None:
        found = b if a is None else a
        assert found is not None
        return found
    both: Sequence[Entry] = (a, b)
    if all(isinstance(each, _One) for each in both):
        raise Repeated
    kind = next(each.dtype for each in both if isinstance(each, tw.Expression))
    return semiring.add(valued(a, semiring, kind), valued(b, semiring, kind))


class Repeated(ValueError):
    """A state is there twice, and nothing says of which type its coefficient is."""


def valued(entry: Entry, semiring: Semiring, kind: tw.DType) -> tw.Expression:
    """An entry as an expression."""
    if isinstance(entry, tw.Expression):
        return entry
    return tw.cast(semiring.one(kind.dtype), kind)  # type: ignore[arg-type]


def times(a: Entry | None, b: Entry | None, semiring: Semiring) -> Entry | None:
    """The product of two entries, of which each may be zero or one."""
    if a is None or b is None:
        return None
    if isinstance(a, _One):
        return b
    return a if isinstance(b, _One) else semiring.multiply(a, b)
