"""Affine expressions with integer coefficients over named variables: immutable values.

A variable is an index, a parameter, or the floor of a quotient (`Floor`), which domains with strides
need. Text is written as Alpha and isl both read it, `2i+N-1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Floor", "Linear", "Variable"]


class Linear:
    """A sum of variables with integer coefficients, and a constant.

    Args:
        terms: the coefficient of each variable; zeros are dropped.
        constant: the constant.
    """

    __slots__ = ("constant", "terms")

    terms: dict[Variable, int]
    constant: int

    def __init__(self, terms: Mapping[Variable, int] | None = None, constant: int = 0) -> None:
        self.terms = {name: factor for name, factor in (terms or {}).items() if factor}
        self.constant = constant

    @classmethod
    def of(cls, variable: Variable) -> Linear:
        """A variable alone."""
        return cls({variable: 1})

    def __add__(self, other: Linear) -> Linear:
        terms = dict(self.terms)
        for name, factor in other.terms.items():
            terms[name] = terms.get(name, 0) + factor
        return Linear(terms, self.constant + other.constant)

    def __mul__(self, factor: int) -> Linear:
        return Linear(
            {name: factor * each for name, each in self.terms.items()}, factor * self.constant
        )

    def __neg__(self) -> Linear:
        return self * -1

    def __sub__(self, other: Linear) -> Linear:
        return self + -other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Linear):
            return NotImplemented
        return self.terms == other.terms and self.constant == other.constant

    def __hash__(self) -> int:
        return hash((frozenset(self.terms.items()), self.constant))

    def substituted(self, values: Mapping[str, Linear]) -> Linear:
        """With names replaced, all at once; others stay."""
        result = Linear(None, self.constant)
        for variable, factor in self.terms.items():
            if isinstance(variable, Floor):
                inner = variable.numerator.substituted(values)
                result += Linear({Floor(inner, variable.divisor): factor})
            elif variable in values:
                result += values[variable] * factor
            else:
                result += Linear({variable: factor})
        return result

    def names(self) -> set[str]:
        """The names in it, those inside of floors among them."""
        found: set[str] = set()
        for variable in self.terms:
            found |= variable.numerator.names() if isinstance(variable, Floor) else {variable}
        return found

    def single(self) -> str | None:
        """The name, if this is one variable and nothing else."""
        if self.constant == 0 and len(self.terms) == 1:
            ((variable, factor),) = self.terms.items()
            if factor == 1 and isinstance(variable, str):
                return variable
        return None

    def __str__(self) -> str:
        text = ""
        # A positive term first, if there is one: N-i, not -i+N.
        for variable, factor in sorted(self.terms.items(), key=lambda term: term[1] < 0):
            sign = "-" if factor < 0 else "+" if text else ""
            times = "*" if isinstance(variable, Floor) else ""
            text += sign + ("" if abs(factor) == 1 else f"{abs(factor)}{times}") + str(variable)
        if self.constant or not text:
            text += f"{self.constant:+d}" if text else str(self.constant)
        return text

    def __repr__(self) -> str:
        return f"Linear({self})"


@dataclass(frozen=True)
class Floor:
    """The floor of an affine expression divided by a positive integer."""

    numerator: Linear
    divisor: int

    def __str__(self) -> str:
        return f"floor(({self.numerator})/{self.divisor})"


Variable: TypeAlias = "str | Floor"
