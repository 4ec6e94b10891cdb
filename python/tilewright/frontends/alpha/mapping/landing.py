"""A mapping given to a function: times to Layer II, memory to Layer III.

The function has a computation for each variable (`kernels.kernel` with ``statements=True``). All times are
one ``set_schedule``, all memory maps follow in the same transaction, so that what is legal only together
is asked once. A reduction that is scheduled as a whole runs over its body in the innermost loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tilewright as tw

from ..attributes import attributes_of
from ..domains import formula
from ..kernels import instance_names
from ..linear import Linear
from ..spaces import ReductionSpace, reduction_space
from ..tree import Equation, Reduce, System
from .inner_reductions import InnerReduction
from .plans import Plan, Statement

__all__ = ["apply_plan", "clearing_place", "memory_text", "space_name"]


def apply_plan(
    function: tw.Function, plan: Plan, system: System, inner: Sequence[InnerReduction]
) -> tw.Function:
    """The function under the plan.

    Args:
        function: with a computation for each variable.
        plan: when its statements run.
        system: what the function was made from: the plan's, with `inner`.
        inner: the variables that stand for reductions in equations, and are not in the plan.

    Raises:
        IllegalScheduleError: the order or the memory would change a result; `verify` says more.
        ScheduleError: two instances of a variable have one time.
    """
    iterators = {name: iterators_of(system, name) for name in function.computations}
    times = schedule_text(plan, iterators, inner)
    with function.transaction():
        function.set_schedule(times)
        for name in (plan.mapping.memory.keys() | plan.mapping.spaces.keys()) & iterators.keys():
            function[name].set_access(memory_text(plan, name))
    return function


def iterators_of(system: System, name: str) -> list[str]:
    """The names of a computation's iterators: the variable's, and those that a reduction adds."""
    equation = system.equation(name)
    names = instance_names(system, equation)
    space = _space(system, equation, names)
    return [*names, *(space.inner if space else ())]


def _space(system: System, equation: Equation, names: tuple[str, ...]) -> ReductionSpace | None:
    """What an equation's reduction runs over, if it is one."""
    node = equation.expression
    if not isinstance(node, Reduce):
        return None
    declared = system.declaration(equation.name).domain.named(names)
    found = attributes_of(system, node, names, declared)
    place = tuple(map(Linear.of, names))
    return reduction_space(node, found.expression[(0,)], found.context[()], place, system.names())


def schedule_text(
    plan: Plan, known: Mapping[str, list[str]], inner: Sequence[InnerReduction]
) -> str:
    """The times of all computations as isl text with tags.

    Args:
        plan: when they run.
        known: the iterators of each computation; variables and reductions that no output needs are not there.
        inner: see `apply_plan`.
    """
    before: dict[str, list[InnerReduction]] = {}
    for each in inner:
        before.setdefault(each.owner, []).append(each)
    found: dict[str, tuple[list[str], list[Linear], list[str]]] = {}
    for name, statement in plan.statements.items():
        if name not in known:
            continue
        tiled, kinds = plan.tiled(statement)
        times, types = list(tiled), list(kinds)
        if inner:
            times.append(Linear(None, len(before.get(name, ()))))
            types.append("ordering")
        iterators = known[name]
        found[name] = (iterators, *_of_instances(plan, statement, times, types, iterators))
        for position, each in enumerate(before.get(name, ())):
            if each.name not in known:  # the branch that needs it has no points
                continue
            iterators = known[each.name]
            own = dict(zip(each.to_owner.indices, map(Linear.of, iterators), strict=False))
            place = [result.substituted(own) for result in each.to_owner.results]
            values = dict(zip(statement.domain.indices, place, strict=True))
            # Where one instance of the owner needs several of its points, these are loops, too.
            found[each.name] = (
                iterators,
                [
                    *(one.substituted(values) for one in times[:-1]),
                    Linear(None, position),
                    *map(Linear.of, iterators),
                ],
                [*types, *["sequential"] * len(iterators)],
            )
    return _text(plan, found)


def _text(plan: Plan, found: dict[str, tuple[list[str], list[Linear], list[str]]]) -> str:
    """Times as isl text; shorter ones are filled up with zeros."""
    length = max(len(times) for _, times, _ in found.values())
    maps = []
    for name, (iterators, times, types) in found.items():
        times = times + [Linear()] * (length - len(times))
        types = types + ["sequential"] * (length - len(types))
        entries = [
            f"{each}(cpu)" if kind == "parallel" else str(each)
            for each, kind in zip(times, types, strict=True)
        ]
        maps.append(f"{name}[{', '.join(iterators)}] -> [{', '.join(entries)}]")
    parameters = ", ".join(plan.system.parameters.indices)
    return f"[{parameters}] -> {{ {'; '.join(maps)} }}"


def _of_instances(
    plan: Plan,
    statement: Statement,
    times: Sequence[Linear],
    types: Sequence[str],
    iterators: Sequence[str],
) -> tuple[list[Linear], list[str]]:
    """The times over a computation's iterators: those of the variable, then those of reductions."""
    arity = plan.system.declaration(statement.variable).domain.arity
    if not statement.in_body:
        outer = dict(zip(statement.domain.indices, map(Linear.of, iterators), strict=False))
        inner = [Linear.of(each) for each in iterators[arity:]]
        return (
            [each.substituted(outer) for each in times] + inner,
            [*types, *["sequential"] * len(inner)],
        )
    point = _body_point(plan, statement, iterators, arity)
    values = dict(zip(statement.domain.indices, point, strict=True))
    return [each.substituted(values) for each in times], list(types)


def clearing_place(plan: Plan, statement: Statement) -> int:
    """The dimension of time before whose loop a sum that is scheduled by its terms is cleared: the first
    that the reduced iterators are in.

    Args:
        plan: when statements run.
        statement: one in the body of a reduction.
    """
    iterators = iterators_of(plan.system, statement.variable)
    arity = plan.system.declaration(statement.variable).domain.arity
    times, _ = _of_instances(plan, statement, *plan.tiled(statement), iterators)
    reduced = set(iterators[arity:])
    return next((n for n, each in enumerate(times) if each.names() & reduced), len(times))


def _body_point(
    plan: Plan, statement: Statement, iterators: Sequence[str], arity: int
) -> tuple[Linear, ...]:
    """The point of a reduction's body as affine expressions of the computation's iterators."""
    equation = plan.system.equation(statement.variable)
    space = _space(plan.system, equation, tuple(iterators[:arity]))
    assert space is not None
    renamed = {old: Linear.of(new) for old, new in zip(space.inner, iterators[arity:], strict=True)}
    return tuple(each.substituted(renamed) for each in space.point)


def space_name(plan: Plan, name: str) -> str:
    """The name of the buffer of a variable."""
    return plan.mapping.spaces.get(name, f"{name}_memory")


def memory_text(plan: Plan, name: str) -> str:
    """The access relation of a variable as isl text."""
    domain = plan.system.declaration(name).domain.named(
        plan.statements[name].domain.indices
        if not plan.statements[name].in_body
        else tuple(f"i{n}" for n in range(plan.system.declaration(name).domain.arity))
    )
    given = plan.mapping.memory.get(name)
    if given is None:
        cells = list(domain.indices)
    else:
        results = given.function.named(domain.indices).results
        cells = [
            f"({each}) mod {modulus}" if modulus else str(each)
            for each, modulus in zip(results, given.moduli, strict=True)
        ]
    parameters = ", ".join(plan.system.parameters.indices)
    indices = ", ".join(domain.indices)
    where = formula(domain.parts)
    return f"[{parameters}] -> {{ {name}[{indices}] -> {space_name(plan, name)}[{', '.join(cells)}] : {where} }}"
