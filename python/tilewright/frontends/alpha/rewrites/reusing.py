"""SimplifyingReduction: scans in place of reductions with reuse (CSU TR CS12-101, section 6.1).

Gupta and Rajopadhye, "Simplifying Reductions", POPL 2006: where the bodies of the reductions of two
neighbouring points share values, one answer is made from the other by adding what is new and taking
away what has left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....base.plurals import counted
from ..conversions import type_of
from ..domains import AffineFunction, Domain
from ..linear import Linear
from ..tree import (
    Binary,
    Case,
    Declaration,
    Dependence,
    Equation,
    Expression,
    Reduce,
    Restrict,
    System,
    Variable,
)
from .places import attributes, is_pointwise, leaf_functions, precomposed, refused, top_reduction

__all__ = ["simplify_reduction"]

#: What takes back what an operator added, exactly (of integers that wrap around, and of truth values).
_INVERSES = {"+": "-", "xor": "xor"}


def simplify_reduction(
    system: System, name: str, reuse: Sequence[int], *, reassociate: bool = False
) -> System:
    """A reduction by the answer before it along a reuse vector. With ``[1, 0]``, prefix sums take a
    linear number of additions in place of a square one::

        X[i] = reduce(+, [j], {| 0<=j<=i} : A[j]);

        X[i] = case
          {| i==0} : X_add;
          {| 1<=i<N} : X_add + X[i-1];
        esac;
        X_add[i] = reduce(+, [j], {| j==i} : A[j]);

    Args:
        system: the system.
        name: a variable whose equation is a reduction of one polyhedron.
        reuse: a vector in the space of the body along which its value stays the same.
        reassociate: whether sums and products of fractions may be rounded differently.

    Raises:
        DeclarationError: the value changes along the vector; the projection takes it to 0; no two
            answers share anything; something must be taken away and the operator has no inverse;
            fractions would be reassociated and `reassociate` was not asked for.
    """
    system, name = _of_own_type(system, name)
    equation, node = top_reduction(system, name)
    body = attributes(system, equation).context[(0,)]
    vector = tuple(reuse)
    step = _checked(system, node, body, vector, reassociate)
    inner, outer = node.projection.indices, equation.indices
    shift = AffineFunction(inner, _moved(inner, vector, -1))
    moved = body.preimage(shift)
    projection = node.projection
    added = (body - moved).image(projection, outer)
    gone = (moved - body).image(projection, outer)
    shared = (body & moved).image(projection, outer)
    if shared.is_empty:
        raise refused(system, node, f"no two answers of {name} share values along {list(vector)}")
    taken = gone & shared
    if not taken.is_empty and node.operator not in _INVERSES:
        raise refused(
            system, node,
            f"values must be taken away again, and {node.operator} has no inverse", taken,
        )  # fmt: skip
    plain = node.body.body if isinstance(node.body, Restrict) else node.body
    parts: dict[str, str] = {}
    for suffix, domain, value in (
        ("add", added, Restrict(body - moved, plain)),
        (
            "sub",
            taken,
            Restrict((moved - body) & shared.preimage(projection), precomposed(plain, shift)),
        ),
    ):
        if domain.is_empty:
            continue
        parts[suffix] = system.fresh(f"{name}_{suffix}")
        local = Declaration("local", type_of(system, node), parts[suffix], domain)
        made = Equation(parts[suffix], replace(node, body=value), outer, position=node.position)
        system = replace(
            system,
            declarations=(*system.declarations, local),
            equations=(*system.equations, made),
        )
    before = Dependence(AffineFunction(outer, _moved(outer, step, -1)), Variable(name))
    branches = _branches(node, parts, before, added, shared, gone)
    kept = [Restrict(where, value) for where, value in branches if not where.is_empty]
    if not kept:
        raise refused(
            system, node, f"the body of the reduction of {name} has no points that are needed"
        )
    expression: Expression = kept[0].body if len(kept) == 1 else Case(tuple(kept))
    return system.with_equation(replace(equation, expression=expression))


def _of_own_type(system: System, name: str) -> tuple[System, str]:
    """A variable whose type is that of its reduction: what is reused must not be converted before."""
    equation, node = top_reduction(system, name)
    declared, kind = system.declaration(name), type_of(system, node)
    if declared.type == kind:
        return system, name
    new = system.fresh(f"{name}_reduce")
    domain = declared.domain.named(equation.indices)
    local = Declaration("local", kind, new, domain)
    system = system.with_equation(replace(equation, expression=Variable(new)))
    return replace(
        system,
        declarations=(*system.declarations, local),
        equations=(*system.equations, replace(equation, name=new)),
    ), new


def _moved(names: Sequence[str], vector: Sequence[int], factor: int) -> tuple[Linear, ...]:
    return tuple(Linear({name: 1}, factor * each) for name, each in zip(names, vector, strict=True))


def _checked(
    system: System, node: Reduce, body: Domain, vector: tuple[int, ...], reassociate: bool
) -> tuple[int, ...]:
    """The step between answers that share values."""
    shown = list(vector)
    if len(vector) != body.arity:
        raise refused(
            system,
            node,
            f"the vector {shown} must have {counted(body.arity, 'component')}, one for each index",
        )
    plain = node.body.body if isinstance(node.body, Restrict) else node.body
    if not is_pointwise(plain):
        raise refused(
            system, node,
            "the body must have neither cases nor reductions in it: Normalize, "
            "PermutationCaseReduce and NormalizeReduction take them out",
        )  # fmt: skip
    if len(body.parts) != 1:
        raise refused(
            system, node,
            f"the body is a union of {len(body.parts)} polyhedra; SplitReductionBody makes it one",
        )  # fmt: skip
    step = node.projection.linear_part().at(vector)
    if not any(step):
        raise refused(system, node, f"the projection {node.projection} takes {shown} to 0")
    for function in leaf_functions(plain, node.projection.indices):
        if any(function.linear_part().at(vector)):
            raise refused(
                system, node, f"{function} changes along {shown}, so there is nothing to reuse"
            )
    kind = type_of(system, node)
    if kind in ("float", "double") and node.operator in ("+", "*") and not reassociate:
        raise refused(
            system, node,
            f"the sums of a {kind} would be rounded differently; ask for it by reassociate=True",
        )  # fmt: skip
    return step


def _branches(
    node: Reduce,
    parts: dict[str, str],
    before: Expression,
    added: Domain,
    shared: Domain,
    gone: Domain,
) -> list[tuple[Domain, Expression]]:
    """The five cases of the report."""
    plus: Expression = Variable(parts.get("add", ""))
    minus: Expression = Variable(parts.get("sub", ""))
    inverse = _INVERSES.get(node.operator, "")

    def with_new(value: Expression) -> Expression:
        return Binary(node.operator, plus, value, position=node.position)

    def without_old(value: Expression) -> Expression:
        return Binary(inverse, value, minus, position=node.position)

    return [
        (added - shared, plus),
        (shared - (added | gone), before),
        (added & (shared - gone), with_new(before)),
        (gone & (shared - added), without_old(before)),
        (added & shared & gone, without_old(with_new(before))),
    ]
