"""Systems under a mapping as functions, and mappings after a transformation of their system."""

from __future__ import annotations

import tilewright as tw

from ..instances import instantiated
from ..kernels import kernel
from ..rewrites.normalizing import normalize
from ..tree import Program, Reduce, System
from .inner_reductions import with_inner_reductions
from .landing import apply_plan
from .plans import plan_of
from .values import TargetMapping

__all__ = ["mapped_function", "still_fitting", "whole_system"]


def whole_system(program: Program, name: str) -> System:
    """A system without use equations: what a mapping names variables of."""
    system = next(each for each in program.systems if each.name == name)
    return instantiated(system, program)


def mapped_function(
    system: System, program: Program, externs: dict[str, tw.Extern], mapping: TargetMapping
) -> tw.Function:
    """The function that computes a system as its mapping says, or as the planner finds best if the mapping says
    nothing.

    A system with a mapping is normalized first: each branch of an equation's case is a statement (section 9.2).

    Raises:
        IllegalScheduleError: the mapping would change a result.
        DeclarationError: the maps make no sense together.
    """
    if mapping == TargetMapping():
        return kernel(system, program, externs)
    whole = normalize(instantiated(system, program))
    plan = plan_of(whole, mapping)
    in_body = {each.variable for each in plan.statements.values() if each.in_body}
    apart, inner = with_inner_reductions(whole, in_body)
    function = kernel(apart, program, externs, statements=True)
    try:
        return apply_plan(function, plan, apart, inner)
    except tw.IllegalScheduleError as error:
        if hasattr(error, "add_note"):  # Python 3.11
            error.add_note(
                "tw.alpha.verify says which dependence, at which dimension of the mapping"
            )
        raise


def still_fitting(mapping: TargetMapping, name: str, old: Program, new: Program) -> bool:
    """Whether the variables that a mapping names are what they were."""
    if not any(each.name == name for each in new.systems):
        return False
    before, after = whole_system(old, name), whole_system(new, name)
    if before == after:
        return True
    known = {each.name: each for each in after.declarations}
    for variable in mapping.variables():
        declared = known.get(variable)
        if declared is None or declared.domain != before.declaration(variable).domain:
            return False
        given = mapping.times.get(variable)
        if given is not None and len(given.indices) != declared.domain.arity:
            node = after.equation(variable).expression
            if not isinstance(node, Reduce):
                return False
            if len(node.projection.indices) != len(given.indices):
                return False
    return True
