"""RemoveUnusedVariables (CSU TR CS12-101, section 5.2.3)."""

from __future__ import annotations

from dataclasses import replace

from ..attributes import variables_read
from ..tree import Equation, System, UseEquation

__all__ = ["remove_unused_variables"]


def remove_unused_variables(system: System) -> System:
    """Without the locals that no output needs::

        local double X, U {i | 0<=i<N};           local double X {i | 0<=i<N};
        let U[i] = A[i]; X[i] = B[i]; Y = X;      let X[i] = B[i]; Y = X;

    Inputs and outputs stay: they are what callers know.
    """
    needed = {each.name for each in system.of_kind("output")}
    while True:
        reached = set(needed)
        for equation in system.equations:
            if needed & set(_defined(equation)):
                reached |= variables_read(system, equation) | set(_defined(equation))
        if reached == needed:
            break
        needed = reached
    return replace(
        system,
        declarations=tuple(
            each for each in system.declarations if each.kind != "local" or each.name in needed
        ),
        equations=tuple(each for each in system.equations if needed & set(_defined(each))),
    )


def _defined(equation: Equation | UseEquation) -> tuple[str, ...]:
    return (equation.name,) if isinstance(equation, Equation) else equation.outputs
