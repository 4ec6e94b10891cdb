"""Use equations replaced by the equations of the system that they call (CSU TR CS12-101, section 4.7).

Each variable of the callee becomes a local of the caller whose first dimensions are those of the
extension domain; the callee's parameters become what the use equation gives for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from .checking import lifted_domain
from .domains import AffineFunction, Domain, fresh_names
from .linear import Linear
from .tree import (
    Declaration,
    Dependence,
    Equation,
    Expression,
    Index,
    Program,
    Reduce,
    Restrict,
    System,
    UseEquation,
    Variable,
    children,
    with_children,
)

__all__ = ["instantiated"]


def instantiated(system: System, program: Program) -> System:
    """The system without use equations."""
    result = replace(system, equations=())
    for equation in system.equations:
        if isinstance(equation, Equation):
            result = replace(result, equations=(*result.equations, equation))
        else:
            callee = next(each for each in program.systems if each.name == equation.system)
            result = _with_instances(result, equation, instantiated(callee, program))
    return result


def _with_instances(system: System, equation: UseEquation, callee: System) -> System:
    lift = _Lift(equation, callee)
    word = re.sub(r"\W", "_", callee.name)
    inputs = dict(zip((e.name for e in callee.of_kind("input")), equation.inputs, strict=True))
    outputs = dict(zip((e.name for e in callee.of_kind("output")), equation.outputs, strict=True))
    for each in callee.declarations:
        lift.names[each.name] = system.fresh(f"{word}_{each.name}")
        local = Declaration(
            "local",
            each.type,
            lift.names[each.name],
            lift.domain(each.domain).within(system.context),
            position=equation.position,
        )
        system = replace(system, declarations=(*system.declarations, local))
    added: list[Equation] = []
    for each in callee.declarations:
        name, indices = lift.names[each.name], lift.indices(each.domain.indices)
        value = (
            inputs[each.name]
            if each.kind == "input"
            else lift.expression(callee.equation(each.name).expression)
        )
        added.append(Equation(name, value, indices, position=equation.position))
        if each.kind == "output":
            target = outputs[each.name]
            result = Variable(name, position=equation.position)
            own = system.declaration(target).domain.indices
            added.append(Equation(target, result, own, position=equation.position))
    return replace(system, equations=(*system.equations, *added))


class _Lift:
    """From the callee's spaces to those with the extension domain in front."""

    def __init__(self, equation: UseEquation, callee: System) -> None:
        self.equation = equation
        self.callee = callee
        self.outer = equation.extension.indices
        self.names: dict[str, str] = {}
        self.parameters = dict(
            zip(callee.parameters.indices, equation.parameters.results, strict=True)
        )
        used: set[str] = set()
        for each in equation.parameters.results:
            used |= each.names()
        self.taken = used | set(self.outer)

    def indices(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return (*self.outer, *fresh_names(names, self.taken))

    def domain(self, domain: Domain) -> Domain:
        return lifted_domain(domain, self.callee, self.equation).named(self.indices(domain.indices))

    def function(self, function: AffineFunction, keeps_outer: bool = True) -> AffineFunction:
        indices = self.indices(function.indices)
        inner = indices[len(self.outer) :]
        values: Mapping[str, Linear] = self.parameters | {
            old: Linear.of(new) for old, new in zip(function.indices, inner, strict=True)
        }
        results = [each.substituted(values) for each in function.results]
        kept = [Linear.of(name) for name in self.outer] if keeps_outer else []
        return AffineFunction(indices, (*kept, *results))

    def expression(self, node: Expression) -> Expression:
        node = with_children(node, [self.expression(each) for each in children(node)])
        match node:
            case Variable():
                return replace(node, name=self.names[node.name])
            case Dependence():
                return replace(node, function=self.function(node.function))
            case Index():
                return replace(node, function=self.function(node.function, keeps_outer=False))
            case Restrict():
                return replace(node, domain=self.domain(node.domain))
            case Reduce():
                return replace(node, projection=self.function(node.projection))
            case _:
                return node
