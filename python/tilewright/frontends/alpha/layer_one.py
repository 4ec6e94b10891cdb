"""Layer I read back: affine expressions and domains out of declared computations, and expressions made of
them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tilewright as tw

from ... import _core
from .domains import Domain, canonical, formula
from .linear import Floor, Linear
from .presburger import Constraint

__all__ = [
    "FunctionDeclaration",
    "condition_of",
    "declaration_of",
    "domain_of",
    "expression_of",
    "isl_domain",
    "linear_of",
    "unnamed",
]


def linear_of(node: _core.Expr) -> Linear | None:
    """An affine expression of iterators and parameters, with floors of constant divisors; None for
    anything else."""
    if node.kind in ("iterator", "parameter"):
        return Linear.of(node.name)
    if node.kind == "constant":
        value = node.value
        return Linear(None, value) if type(value) is int else None
    if node.kind == "cast" and node.type == "int64":
        return linear_of(node.operands[0]) if node.operands[0].type != "float64" else None
    below = [linear_of(each) for each in node.operands] if node.kind in ("unary", "binary") else []
    if not below or any(each is None for each in below):
        return None
    first = below[0]
    assert first is not None
    if node.kind == "unary":
        return -first if node.operation == "-" else None
    second = below[1]
    assert second is not None
    return _combined(node.operation or "", first, second)


def _combined(operation: str, first: Linear, second: Linear) -> Linear | None:
    if operation == "+":
        return first + second
    if operation == "-":
        return first - second
    if operation == "*":
        if not second.terms:
            return first * second.constant
        return second * first.constant if not first.terms else None
    if operation in ("//", "%") and not second.terms and second.constant > 0:
        quotient = Linear({Floor(first, second.constant): 1})
        return quotient if operation == "//" else first - quotient * second.constant
    return None


def unnamed(points: tw.Set | str, name: str, indices: Sequence[str]) -> Domain:
    """A set of points ``name[...]`` as a domain over indices."""
    places = ", ".join(canonical(len(indices)))
    plain = tw.Map(f"{{ {name}[{places}] -> [{places}] }}")
    return Domain(tuple(indices), tw.Set(points).apply(plain))


def domain_of(computation: _core.Computation) -> Domain:
    """The domain of a computation over its iterators."""
    return unnamed(computation.domain.text(), computation.name, computation.iterators)


def isl_domain(domain: Domain, name: str, parameters: Sequence[str]) -> str:
    """A domain as isl text with a name, for `tw.computation`."""
    inside = formula(domain.parts)
    return f"[{', '.join(parameters)}] -> {{ {name}[{', '.join(domain.indices)}] : {inside} }}"


def expression_of(linear: Linear, iterators: Sequence[str]) -> tw.Expression | int:
    """An affine expression over iterators and parameters as an expression."""
    result: tw.Expression | int = 0
    for variable, factor in linear.terms.items():
        if isinstance(variable, Floor):
            term: tw.Expression | int = (
                expression_of(variable.numerator, iterators) // variable.divisor
            )
        elif variable in iterators:
            term = tw.iter(variable)
        else:
            term = tw.Expression(_core.parameter(variable))
        term = term if factor == 1 else term * factor
        result = term if isinstance(result, int) and result == 0 else result + term
    return result + linear.constant if linear.constant or isinstance(result, int) else result


def condition_of(
    parts: Sequence[Sequence[Constraint]], iterators: Sequence[str]
) -> tw.Expression | None:
    """Disjuncts as a condition; None for what holds everywhere."""
    joined: tw.Expression | None = None
    for part in parts:
        term: tw.Expression | None = None
        for each in part:
            side = expression_of(each.linear, iterators)
            if isinstance(side, int):
                continue
            holds = side == 0 if each.is_equality else side >= 0
            term = holds if term is None else term & holds
        if term is None:
            return None
        joined = term if joined is None else joined | term
    return joined


@dataclass(frozen=True)
class FunctionDeclaration:
    """What a function is declared with beside its computations.

    Attributes:
        views: the names of the computations that only read.
        context: the values of its parameters that it is for.
        ends_by_data: whether it iterates until a condition holds.
        nodes: the expressions, and `arrays`, inputs and computations, as `pickle` keeps them.
    """

    views: frozenset[str]
    context: Domain
    ends_by_data: bool
    nodes: tuple[tuple[Any, ...], ...]
    arrays: tuple[tuple[Any, ...], ...]


def declaration_of(function: tw.Function) -> FunctionDeclaration:
    """What a function was declared with."""
    packed = function._packed[0]
    (_, _, nodes, arrays), context, stop = packed[0], packed[3], packed[8]
    views = frozenset(each[0] for each in arrays if each[15])
    points = tw.Set(f"[{', '.join(function.parameters)}] -> {{ [] }}")
    domain = Domain((), points.intersect_params(tw.Set(context)))
    return FunctionDeclaration(views, domain, stop is not None, nodes, arrays)
