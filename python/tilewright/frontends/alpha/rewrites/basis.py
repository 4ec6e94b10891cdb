"""CoB: another basis for a variable (CSU TR CS12-101, section 5.3)."""

from __future__ import annotations

from dataclasses import replace

import tilewright as tw

from ....base.plurals import counted
from ..attributes import with_domain
from ..domains import AffineFunction, Domain, canonical
from ..tree import Dependence, Equation, Expression, System, Variable, children, with_children
from .places import precomposed, refused

__all__ = ["change_of_basis"]


def change_of_basis(system: System, name: str, basis: AffineFunction) -> System:
    """The value of `name` at z stands at basis(z) from now on. With ``(t,i -> t,t+i)``::

        X {t, i | 0<=t<T && 0<=i<N}      X[t,i] = A[t-1,i] + X[t-1,i+1];    Y[i] = X[T-1,i];
        X {t, i | 0<=t<T && t<=i<N+t}    X[t,i] = A[t-1,i-t] + X[t-1,i];    Y[i] = X[T-1,T-1+i];

    Args:
        system: the system.
        name: the variable. Of an input or output, callers see the change.
        basis: a function that takes no two points of the variable's domain to one, with an
            inverse of integer coefficients there.

    Raises:
        DeclarationError: the function is none, with two points that it takes to one; or a use
            equation defines the variable.
    """
    declared = system.declaration(name)
    domain = declared.domain
    if len(basis.indices) != domain.arity:
        raise refused(
            system, declared,
            f"the function {basis} takes {counted(len(basis.indices), 'index')}, but {name} has "
            f"{counted(domain.arity, 'dimension')}",
        )  # fmt: skip
    _require_injective(system, name, domain, basis)
    names = basis.result_names()
    inverse = basis.inverse_on(domain, names)
    if inverse is None:
        raise refused(
            system, declared,
            f"the inverse of {basis} on the domain of {name} has no integer coefficients",
        )  # fmt: skip
    if declared.kind != "input" and not any(
        isinstance(each, Equation) and each.name == name for each in system.equations
    ):
        raise refused(system, declared, f"a use equation defines {name}")

    def read(node: Expression) -> Expression:
        if isinstance(node, Variable) and node.name == name:
            return Dependence(basis, node, position=node.position)
        if (
            isinstance(node, Dependence)
            and isinstance(node.body, Variable)
            and node.body.name == name
        ):
            function = basis.after(node.function)
            return node.body if function.is_identity else replace(node, function=function)
        return with_children(node, [read(each) for each in children(node)])

    changed = system.mapped(lambda expression, _: read(expression))
    changed = with_domain(changed, name, domain.image(basis, names))
    if declared.kind == "input":
        return changed
    equation = changed.equation(name)
    moved = precomposed(equation.expression, inverse)
    return changed.with_equation(replace(equation, expression=moved, indices=names))


def _require_injective(system: System, name: str, domain: Domain, function: AffineFunction) -> None:
    on_domain = function.map.intersect_domain(domain.points)
    if on_domain.is_injective:
        return
    dimensions = canonical(domain.arity)
    same = on_domain.then(on_domain.reverse())
    apart = same - domain.points.identity()
    flat = tw.Map(
        f"{{ [[{', '.join(dimensions)}] -> [{', '.join(canonical(domain.arity, '_o'))}]] -> "
        f"[{', '.join([*dimensions, *canonical(domain.arity, '_o')])}] }}"
    )
    pairs = Domain(
        (*domain.indices, *(f"{index}'" for index in domain.indices)), apart.wrap().apply(flat)
    )
    raise refused(
        system, system.declaration(name), f"{function} takes two points of {name} to one", pairs
    )
