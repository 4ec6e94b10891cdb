"""Split and SplitUnion (CSU TR CS12-101, sections 5.5 and 5.6)."""

from __future__ import annotations

from dataclasses import replace

from ....base.plurals import counted
from ..domains import Domain
from ..tree import (
    Case,
    Declaration,
    Equation,
    Expression,
    Path,
    Restrict,
    System,
    Variable,
    transformed,
)
from .places import attributes, node_at, refused, replaced_at

__all__ = ["split", "split_union"]


def split(system: System, name: str, domain: Domain) -> System:
    """A variable as two: on what is outside of a domain, and on what is in it. By ``{i | i==0}``::

        X {i | 0<=i<N}                      X[i] = E;
        X_1 {i | 1<=i<N}, X_2 {i | i==0}    X_1[i] = E;  X_2[i] = E;

    Reads of X become ``case X_1; X_2; esac``; an output stays, as that case.

    Raises:
        DeclarationError: one of the two is empty; the domain has other dimensions; X is an input.
    """
    declared, equation = system.declaration(name), system.equation(name)
    if domain.arity != declared.domain.arity:
        raise refused(
            system, declared,
            f"the domain has {counted(domain.arity, 'dimension')}, but {name} has {declared.domain.arity}",
        )  # fmt: skip
    halves = [declared.domain - domain, declared.domain & domain]
    if any(each.is_empty for each in halves):
        raise refused(system, declared, f"all of {name} is on one side of this domain")
    names = []
    for number, half in enumerate(halves, 1):
        names.append(system.fresh(f"{name}_{number}"))
        local = Declaration("local", declared.type, names[-1], half)
        system = replace(system, declarations=(*system.declarations, local))
    both = Case(tuple(map(Variable, names)))

    def read(node: Expression) -> Expression:
        return both if isinstance(node, Variable) and node.name == name else node

    changed = system.mapped(lambda expression, _: transformed(expression, read))
    value = changed.equation(name).expression
    parts = [Equation(each, value, equation.indices, position=equation.position) for each in names]
    if declared.kind == "output":
        parts.append(replace(equation, expression=both))
    else:
        changed = replace(
            changed,
            declarations=tuple(each for each in changed.declarations if each.name != name),
        )
    equations = [
        each for each in changed.equations if not (isinstance(each, Equation) and each.name == name)
    ]
    return replace(changed, equations=(*equations, *parts))


def split_union(system: System, place: Path) -> System:
    """An expression on a union of polyhedra as a case over disjoint ones::

        X[i] = {i | 0<=i<5} || {i | 8<=i<N} : A[i];
        X[i] = case {i | 0<=i<5} : A[i]; {i | 8<=i<N} : A[i]; esac;

    Args:
        system: the system.
        place: the identifier of the expression in it.

    Raises:
        DeclarationError: the expression's domain is one polyhedron already.
    """
    equation, path, node = node_at(system, place)
    domain = attributes(system, equation).expression[path]
    parts = domain.disjoint_parts
    if len(parts) < 2:
        raise refused(system, node, "the domain of this expression is one polyhedron")
    body = node.body if isinstance(node, Restrict) else node
    branches = tuple(Restrict(part, body, position=node.position) for part in parts)
    return replaced_at(system, equation, path, Case(branches, position=node.position))
