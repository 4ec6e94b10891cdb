"""The constraints of a set, read from its text in isl's notation.

`disjuncts` takes what `str(tw.Set)` prints for sets in one space and gives, for each part, its affine
equations and inequalities over the names that the caller chooses for the dimensions. Divisions that
isl introduces become `Floor`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .linear import Floor, Linear

__all__ = ["Constraint", "UnknownForm", "disjuncts"]


class UnknownForm(ValueError):
    """The text has a quantifier without a definition, which no affine form says."""


@dataclass(frozen=True)
class Constraint:
    """``linear = 0`` if `is_equality`, else ``linear >= 0``."""

    linear: Linear
    is_equality: bool

    def substituted(self, values: Mapping[str, Linear]) -> Constraint:
        """With names replaced."""
        return Constraint(self.linear.substituted(values), self.is_equality)

    def __str__(self) -> str:
        return f"{self.linear} {'=' if self.is_equality else '>='} 0"


_TOKEN = re.compile(r"\s*(->|<=|>=|!=|\d+|[A-Za-z_][\w']*|[-+*/<>=(){}\[\]:;,])")
_RELATIONS = ("<=", ">=", "<", ">", "=")
_Parts = list[list[Constraint]]


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(text)
        self.at = 0
        self.names: dict[str, Linear] = {}
        # What the text declares in front: `[N] -> { [N] : ... }` is the point N.
        self.parameters: set[str] = set()

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, token: str) -> bool:
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise UnknownForm(f"{token!r} expected, not {self.peek()!r}")

    # ---- affine expressions ----

    def sum(self) -> Linear:
        result = self.product()
        while self.peek() in ("+", "-"):
            negative = self.take("-") or not self.take("+")
            term = self.product()
            result = result - term if negative else result + term
        return result

    def product(self) -> Linear:
        if self.take("-"):
            return -self.product()
        result = self.factor()
        while True:
            if self.take("*") or (self.named() and not result.terms):
                other = self.factor()
                result = other * result.constant if not result.terms else result * other.constant
            elif self.take("mod"):
                divisor = self.factor().constant
                result = result - Linear({Floor(result, divisor): divisor})
            else:
                return result

    def named(self) -> bool:
        token = self.peek()
        is_name = token[:1].isalpha() or token[:1] == "_"
        return is_name and token not in ("and", "or", "mod", "exists")

    def factor(self) -> Linear:
        token = self.peek()
        self.at += 1
        if token.isdigit():
            following = self.peek()
            if following == "(":
                return self.factor() * int(token)
            return Linear(None, int(token))
        if token == "(":
            result = self.sum()
            self.expect(")")
            return result
        if token == "floor":
            self.expect("(")
            result = self.sum()
            self.expect("/")
            divisor = self.factor().constant
            self.expect(")")
            return Linear({Floor(result, divisor): 1})
        if token in self.names:
            return self.names[token]
        if token[:1].isalpha() or token[:1] == "_":
            return Linear.of(token)
        raise UnknownForm(f"unexpected {token!r}")

    # ---- formulas, in disjunctive form ----

    def formula(self) -> _Parts:
        parts = self.conjunction()
        while self.take("or"):
            parts = parts + self.conjunction()
        return parts

    def conjunction(self) -> _Parts:
        parts = self.atom()
        while self.take("and"):
            other = self.atom()
            parts = [left + right for left in parts for right in other]
        return parts

    def atom(self) -> _Parts:
        if self.take("true"):
            return [[]]
        if self.take("false"):
            return []
        if self.take("exists"):
            return self.quantified()
        start = self.at
        try:
            return [self.chain()]
        except UnknownForm:
            self.at = start
        self.expect("(")
        parts = self.formula()
        self.expect(")")
        return parts

    def quantified(self) -> _Parts:
        self.expect("(")
        while True:
            name = self.peek()
            self.at += 1
            if not self.take("="):
                raise UnknownForm(f"{name} is quantified without a definition")
            self.names[name] = self.sum()
            if not self.take(","):
                break
        self.expect(":")
        parts = self.formula()
        self.expect(")")
        return parts

    def chain(self) -> list[Constraint]:
        left, found = self.sum(), []
        if self.peek() not in _RELATIONS:
            raise UnknownForm(f"a relation expected, not {self.peek()!r}")
        while self.peek() in _RELATIONS:
            relation = self.peek()
            self.at += 1
            right = self.sum()
            found.append(relation_of(left, relation, right))
            left = right
        return found

    # ---- sets ----

    def space(self, names: Sequence[str]) -> list[Constraint]:
        """The tuple of a part; dimensions that are given by a formula are equations."""
        equations: list[Constraint] = []
        self.names = {}
        self.expect("[")
        for name in names:
            token, following = self.peek(), self.tokens[self.at + 1]
            is_name = token[:1].isalpha() or token[:1] == "_"
            if is_name and token not in self.parameters and following in (",", "]", "="):
                self.at += 1
                if token in self.names:  # [i, i]
                    equations.append(Constraint(Linear.of(name) - self.names[token], True))
                else:
                    self.names[token] = Linear.of(name)
                if not self.take("="):
                    self.take(",")
                    continue
            equations.append(Constraint(Linear.of(name) - self.sum(), True))
            self.take(",")
        self.expect("]")
        return equations


def relation_of(left: Linear, relation: str, right: Linear) -> Constraint:
    """The constraint that two sides and the sign between them make."""
    if relation == "=":
        return Constraint(left - right, True)
    smaller, larger = (left, right) if relation in ("<", "<=") else (right, left)
    strict = relation in ("<", ">")
    return Constraint(larger - smaller - Linear(None, 1 if strict else 0), False)


def disjuncts(text: str, names: Sequence[str]) -> list[list[Constraint]]:
    """The parts of a set in one space without a name: conjunctions of constraints.

    Args:
        text: what isl prints.
        names: what the dimensions are called in the constraints.

    Raises:
        UnknownForm: for a quantifier without a definition.
    """
    head, _, body = text.partition("{")
    reader = _Reader(body)
    reader.parameters = set(re.findall(r"[A-Za-z_][\w']*", head))
    found: list[list[Constraint]] = []
    while not reader.take("}"):
        equations = reader.space(names)
        parts = reader.formula() if reader.take(":") else [[]]
        found += [equations + part for part in parts]
        reader.take(";")
    return found
