"""Inline: a variable's definition in place of the variable (CSU TR CS12-101, section 5.4)."""

from __future__ import annotations

from dataclasses import replace

from ..attributes import expression_domain, variables_read
from ..conversions import common_type, promoted, type_of
from ..tree import Dependence, Expression, Restrict, System, Variable, children, with_children
from .converting import converted
from .places import precomposed, refused

__all__ = ["inline"]


def inline(system: System, target: str, name: str) -> System:
    """The definition of `name` where the equation of `target` reads it::

        X[i] = foo(A[i], B[i]);  Y[i] = bar(X[i]);
        X[i] = foo(A[i], B[i]);  Y[i] = bar(foo(A[i], B[i]));

    Raises:
        DeclarationError: the definition reads the variable itself; its value is converted to a narrower
            type, which would get lost; or the target does not read it.
        KeyError: one of them has no equation.
    """
    definition, equation = system.equation(name), system.equation(target)
    if name in variables_read(system, definition):
        raise refused(
            system, definition, f"{name} reads itself, so its definition cannot replace it"
        )
    if name not in variables_read(system, equation):
        raise refused(system, equation, f"{target} does not read {name}")
    declared = system.declaration(name)
    kind = type_of(system, definition.expression)
    value: Expression = definition.expression
    wide = promoted(declared.type)
    if kind != declared.type and wide == declared.type == common_type(kind, wide):
        value = converted(value, kind, declared.type)
    elif kind != declared.type:
        raise refused(
            system, definition,
            f"{name} is of type {declared.type} and its definition of type {kind}: without the "
            "variable, the conversion would get lost",
        )  # fmt: skip
    # In the body of a reduction, where a value exists counts: the definition may reach further.
    if not expression_domain(system, value, definition.indices) <= declared.domain:
        value = Restrict(declared.domain, value, position=value.position)

    def read(node: Expression) -> Expression:
        match node:
            case Variable() if node.name == name:
                return value
            case Dependence() if isinstance(node.body, Variable) and node.body.name == name:
                return precomposed(value, node.function)
            case _:
                return with_children(node, [read(each) for each in children(node)])

    return system.with_equation(replace(equation, expression=read(equation.expression)))
