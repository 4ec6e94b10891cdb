"""How many operations a system does, as polynomials of its parameters.

What counts are the operators, conditions and calls, once for each point where their value is needed, and
for a reduction each point of its body. What only reads is free.
"""

from __future__ import annotations

import re

import tilewright as tw

from ..attributes import attributes_of
from ..domains import Domain, canonical
from ..instances import instantiated
from ..tree import (
    Binary,
    Call,
    Equation,
    If,
    Program,
    Reduce,
    System,
    Unary,
    UseEquation,
    step,
    walk,
)

__all__ = ["Operations", "operations_of_equation", "operations_of_system"]


class Operations:
    """A number of operations: called with the values of the parameters, an integer; printed, polynomials
    in isl's notation.

    Attributes:
        points: a set that has a point for each operation.
    """

    __slots__ = ("_cardinality", "points")

    def __init__(self, points: tw.Set) -> None:
        self.points = points
        self._cardinality: tw.Cardinality | None = None

    @property
    def polynomial(self) -> tw.Cardinality:
        """The number as polynomials of the parameters.

        Raises:
            SetError: no closed form was found; a call counts all the same.
        """
        if self._cardinality is None:
            self._cardinality = self.points.cardinality()
        return self._cardinality

    @property
    def degree(self) -> int:
        """The highest degree of the polynomials in all parameters together: 3 for ``N^2 * M``."""
        return max((_degree(term) for term in _terms(str(self))), default=0)

    def __call__(self, **parameters: int) -> int:
        """The number at values of all parameters."""
        try:
            return self.polynomial({name: parameters[name] for name in self.polynomial.parameters})
        except tw.SetError:
            return self.points.count(**parameters)

    def __str__(self) -> str:
        try:
            return str(self.polynomial)
        except tw.SetError:
            return "no closed form"

    def __repr__(self) -> str:
        return f"<operations {self}>"


def _terms(text: str) -> list[str]:
    """The sums of products behind the braces, without the conditions."""
    body = text[text.index("{") + 1 : text.rindex("}")] if "{" in text else ""
    values = [part.rsplit(" : ", 1)[0] for part in body.split(";")]
    return [term for value in values for term in re.split(r"(?<!\*) [+-] ", value)]


def _degree(term: str) -> int:
    """Of one product: exponents of names; what is in a floor counts as often as its highest name."""
    total = 0
    for floor, power in re.findall(r"floor\(\(([^()]*)\)/\d+\)(?:\^(\d+))?", term):
        inner = max((_degree(each) for each in re.split(r" [+-] ", floor)), default=0)
        total += inner * int(power or 1)
    rest = re.sub(r"floor\(\([^()]*\)/\d+\)(\^\d+)?", "", term)
    for _, power in re.findall(r"([A-Za-z_]\w*)(?:\^(\d+))?", rest):
        total += int(power or 1)
    return total


def operations_of_equation(system: System, equation: Equation) -> list[Domain]:
    """A domain for each operation of an equation, the points where it is done."""
    domain = system.declaration(equation.name).domain
    found = attributes_of(system, equation.expression, equation.indices, domain)
    counted: list[Domain] = []
    for path, node in walk(equation.expression):
        if isinstance(node, Reduce):
            counted.append(found.context[step(path, 0)])
        elif isinstance(node, Binary | Unary | Call | If):
            counted.append(found.context[path])
    return counted


def operations_of_system(system: System, program: Program) -> Operations:
    """The operations of a system, those of the systems that it uses among them."""
    flat = instantiated(system, program) if _uses(system) else system
    points = tw.Set("{ }")
    number = 0
    for equation in flat.equations:
        assert isinstance(equation, Equation)
        for domain in operations_of_equation(flat, equation):
            names = ", ".join(canonical(domain.arity))
            named = tw.Map(f"{{ [{names}] -> o{number}[{names}] }}")
            points = points | domain.within(flat.context).points.apply(named)
            number += 1
    return Operations(points)


def _uses(system: System) -> bool:
    return any(isinstance(each, UseEquation) for each in system.equations)
