"""PermutationCaseReduce: a case out of a reduction (CSU TR CS12-101, section 6.2; Le Verge)."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce as fold

from ..attributes import expression_domain
from ..conversions import type_of
from ..domains import Domain
from ..tree import (
    Binary,
    Case,
    Declaration,
    Equation,
    Expression,
    Reduce,
    Restrict,
    System,
    Variable,
)
from .converting import of_type
from .normalizing import normalized
from .places import attributes, refused, top_reduction

__all__ = ["permute_case_reduce"]


def permute_case_reduce(system: System, name: str) -> System:
    """A reduction of a case as a case of reductions, one for each branch::

        X = reduce(+, f, case E1; E2; esac);

        X = case D1 : X_1;  D12 : X_1 + X_2;  D2 : X_2; esac;
        X_1 = reduce(+, f, E1);  X_2 = reduce(+, f, E2);

    D1 is where only the first branch has something to reduce, D12 where both have. With more
    branches, there is one for each combination of them that some point has.

    Raises:
        DeclarationError: the equation is no reduction, or its body no case.
    """
    equation, node = top_reduction(system, name)
    body = normalized(node.body, system.context, lambda each: type_of(system, each))
    if not isinstance(body, Case):
        raise refused(system, node, f"the body of the reduction of {name} is no case")
    kind = type_of(system, node)
    whole = type_of(system, body)
    body = replace(
        body,
        branches=tuple(of_type(each, type_of(system, each), whole) for each in body.branches),
    )
    context = attributes(system, equation).context[()]
    indices = node.projection.indices
    variables: list[tuple[str, Domain]] = []
    for number, branch in enumerate(body.branches, 1):
        own = expression_domain(system, branch, indices).image(node.projection) & context
        local = Declaration("local", kind, system.fresh(f"{name}_{number}"), own)
        value = replace(node, body=branch)
        if own.is_empty:
            continue
        system = replace(
            system,
            declarations=(*system.declarations, local),
            equations=(*system.equations, Equation(local.name, value, equation.indices)),
        )
        variables.append((local.name, own))
    branches = [
        Restrict(region, _combined(node, chosen)) for chosen, region in _regions(variables, context)
    ]
    if not branches:
        raise refused(
            system, node, f"the body of the reduction of {name} has no points that are needed"
        )
    value_of_all: Expression = branches[0].body if len(branches) == 1 else Case(tuple(branches))
    return system.with_equation(replace(equation, expression=value_of_all))


def _regions(
    variables: list[tuple[str, Domain]], context: Domain
) -> list[tuple[tuple[str, ...], Domain]]:
    """Where which of the variables exist: D1, D12, D2 for two of them."""
    regions: list[tuple[tuple[str, ...], Domain]] = []
    if not context.is_empty:
        regions.append(((), context))
    for name, domain in variables:
        following: list[tuple[tuple[str, ...], Domain]] = []
        for chosen, region in regions:
            following += [(chosen, region - domain), ((*chosen, name), region & domain)]
        regions = [each for each in following if not each[1].is_empty]
    order = {name: number for number, (name, _) in enumerate(variables)}
    return sorted(regions, key=lambda each: [order[name] for name in each[0]])


def _combined(node: Reduce, names: tuple[str, ...]) -> Expression:
    values: list[Expression] = [Variable(name) for name in names]
    return fold(lambda left, right: Binary(node.operator, left, right), values)
