"""RenameSystem and RenameVariable (CSU TR CS12-101, section 5.2.2)."""

from __future__ import annotations

from dataclasses import replace

from ..tree import Equation, Expression, Program, System, UseEquation, Variable, transformed
from .places import refused

__all__ = ["rename_system", "rename_variable"]


def rename_system(program: Program, old: str, new: str) -> Program:
    """A system under another name, in the use equations that call it too::

        affine old {N | N > 0} ...        use old[N] (A) returns (B);
        affine new {N | N > 0} ...        use new[N] (A) returns (B);

    Raises:
        DeclarationError: another system has the name.
    """
    systems = []
    for system in program.systems:
        if system.name == new and old != new:
            raise refused(system, system, f"there is a system {new} already")
        equations = tuple(
            replace(each, system=new)
            if isinstance(each, UseEquation) and each.system == old
            else each
            for each in system.equations
        )
        name = new if system.name == old else system.name
        systems.append(replace(system, name=name, equations=equations))
    return replace(program, systems=tuple(systems))


def rename_variable(system: System, old: str, new: str) -> System:
    """A variable under another name, everywhere::

        X[i] = A[i];  Y[i] = X[i-1];
        Z[i] = A[i];  Y[i] = Z[i-1];

    Raises:
        DeclarationError: something has the name.
        KeyError: there is no variable `old`.
    """
    declared = system.declaration(old)
    if new != old and new in system.names():
        raise refused(system, declared, f"{new} is the name of something else in {system.name}")

    def renamed(node: Expression) -> Expression:
        if isinstance(node, Variable) and node.name == old:
            return replace(node, name=new)
        return node

    changed = system.mapped(lambda expression, _: transformed(expression, renamed))
    equations = tuple(
        replace(each, name=new if each.name == old else each.name)
        if isinstance(each, Equation)
        else replace(each, outputs=tuple(new if name == old else name for name in each.outputs))
        for each in changed.equations
    )
    declarations = tuple(
        replace(each, name=new) if each.name == old else each for each in system.declarations
    )
    return replace(changed, equations=equations, declarations=declarations)
