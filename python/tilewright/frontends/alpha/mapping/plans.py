"""The time of each statement of a system under a mapping (CSU TR CS12-101, sections 7.1 and 7.3).

Every variable that an equation defines is a statement. Its instances are the variable's points, or,
if the space-time map is given to the body of a reduction, the points of the body. Times are vectors
of one length for all statements, compared in lexicographic order: first the phase, if there are variables without
a space-time map, then the mapped dimensions, then what orders statements without a map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import tilewright as tw

from ....base.plurals import counted
from ..attributes import attributes_of, variables_read
from ..conversions import reduces_converted, type_of
from ..domains import AffineFunction, Domain, fresh_names
from ..errors import complaint, source_of
from ..linear import Floor, Linear
from ..tree import Equation, Reduce, System
from .orders import own_orders
from .values import TargetMapping, Tiling

__all__ = ["Plan", "Statement", "plan_of", "top_body"]


@dataclass(frozen=True)
class Statement:
    """What one variable's equation runs.

    Attributes:
        variable: the name.
        domain: the instances.
        answers: from an instance to the variable's point; not the identity in the body of a reduction.
        in_body: whether instances are points of a reduction's body.
        times: the vector of an instance, before tiling.
        types: of each of its dimensions.
    """

    variable: str
    domain: Domain
    answers: AffineFunction
    in_body: bool
    times: tuple[Linear, ...]
    types: tuple[str, ...]

    def function(self, times: Sequence[Linear]) -> AffineFunction:
        """Results over the instance's indices."""
        return AffineFunction(self.domain.indices, tuple(times))


@dataclass(frozen=True)
class Plan:
    """The statements of a system, in the order of their equations.

    Attributes:
        system: without use equations.
        mapping: what was asked for.
        labels: of the dimensions of times: "0", "1", ... those of the mapping; "phase", "own 0", "text".
        statements: by variable.
    """

    system: System
    mapping: TargetMapping
    labels: tuple[str, ...]
    statements: dict[str, Statement] = field(default_factory=dict)

    @property
    def spaces(self) -> dict[str, str]:
        """The memory of each variable that shares one: that of an output is the caller's array, of its name."""
        shared = self.mapping.spaces
        outputs = {each.name for each in self.system.of_kind("output")}
        return {**shared, **{space: space for space in shared.values() if space in outputs}}

    def place(self, dimension: int) -> int:
        """Where a dimension of the mapping is in times."""
        return self.labels.index(str(dimension))

    def tiled(self, statement: Statement) -> tuple[tuple[Linear, ...], tuple[str, ...]]:
        """The times and types of a statement with its tiling.

        Raises:
            DeclarationError: a size is not known.
        """
        tiling = self.mapping.tiling
        if tiling is None:
            return statement.times, statement.types
        return _tiled(statement, tiling, [self.place(each) for each in tiling.dimensions])


def _tiled(
    statement: Statement, tiling: Tiling, places: Sequence[int]
) -> tuple[tuple[Linear, ...], tuple[str, ...]]:
    """Tile numbers in front of the first tiled dimension. Where the outermost ones are parallel, so
    are the loops over tiles, and those inside of a tile are not."""
    sizes = [each for each in tiling.sizes if isinstance(each, int)]
    if tiling.names:
        raise tw.DeclarationError(
            f"the sizes {', '.join(tiling.names)} of tiles are arguments of what generateScheduledC "
            'writes; a function in this process takes numbers: SetTiling(p, "0,1", "32,32")'
        )
    times, types = list(statement.times), list(statement.types)
    tiles = [
        Linear({Floor(times[place], size): 1}) if times[place].terms
        else Linear(None, times[place].constant // size)
        for place, size in zip(places, sizes, strict=True)
    ]  # fmt: skip
    kinds = ["sequential"] * len(tiles)
    if tiling.kind == "wavefront":
        wave = Linear()
        for tile in tiles:
            wave += tile
        tiles = [wave, *tiles[1:]]
        kinds[1:] = ["parallel"] * (len(kinds) - 1)
        for place in places:  # tiles run in parallel, and what is in one does not
            types[place] = "sequential"
    else:
        for number, place in enumerate(places):
            if types[place] != "parallel":
                break
            kinds[number], types[place] = "parallel", "sequential"
    first = places[0]
    return (
        (*times[:first], *tiles, *times[first:]),
        (*types[:first], *kinds, *types[first:]),
    )


def top_body(system: System, name: str) -> tuple[Reduce, Domain] | None:
    """The reduction that a variable's equation is, and the points of its body."""
    equation = system.equation(name)
    node = equation.expression
    if not isinstance(node, Reduce):
        return None
    declared = system.declaration(name).domain
    found = attributes_of(system, node, equation.indices, declared)
    return node, found.context[(0,)].within(system.context)


def plan_of(system: System, mapping: TargetMapping) -> Plan:
    """The times of all statements.

    Args:
        system: without use equations.
        mapping: of its variables.

    Raises:
        DeclarationError: space-time maps have different numbers of dimensions, a dimension is not there, a
            variable without a map is needed by one with a map and needs one itself.
    """
    equations = [each for each in system.equations if isinstance(each, Equation)]
    width = _width(mapping)
    phases = _phases(system, equations, mapping)
    own = [e for e in equations if e.name not in mapping.times]
    extra = max([len(_indices(system, e)) - width for e in own] + [0])
    shared = [group for group in phases if len(group) > 1 and group[0] not in mapping.times]
    labels = [str(number) for number in range(width)]
    labels += [f"own {number}" for number in range(width, width + extra)]
    ordered = bool(shared or mapping.orders)
    labels = ["phase"] * (len(phases) > 1) + labels + ["text"] * ordered
    plan = Plan(system, mapping, tuple(labels))
    own_times: dict[str, list[Linear]] = {}
    positions = (mapping.positions() or {}) if mapping.orders else {}
    for group in phases:
        members = [each for each in own if each.name in group]
        found, sequence = own_orders(system, members, {e.name: _domain(system, e) for e in members})
        own_times |= found
        positions |= {name: number for number, name in enumerate(sequence)}
    for equation in equations:
        name = equation.name
        phase = next(number for number, group in enumerate(phases) if name in group)
        statement = _statement(system, equation, mapping, width + extra, own_times.get(name))
        ends = [Linear(None, positions.get(name, 0))] if ordered else []
        front = [Linear(None, phase)] if len(phases) > 1 else []
        types = ["ordering"] * len(front) + list(statement.types) + ["ordering"] * len(ends)
        plan.statements[name] = Statement(
            name, statement.domain, statement.answers, statement.in_body,
            (*front, *statement.times, *ends), tuple(types),
        )  # fmt: skip
    return plan


def _width(mapping: TargetMapping) -> int:
    widths = {name: len(each.results) for name, each in mapping.times.items()}
    if len(set(widths.values())) > 1:
        listed = ", ".join(f"{name} {count}" for name, count in widths.items())
        raise tw.DeclarationError(
            f"space-time maps must have one number of dimensions for all variables: {listed}; "
            "constants fill up, as in (i -> 0, i)"
        )
    width = max([*widths.values(), 0])
    numbers = {number for _, number in mapping.types}
    tiled = set(mapping.tiling.dimensions) if mapping.tiling else set()
    for number in sorted(numbers | tiled):
        if number >= width:
            there = f"dimensions 0 to {width - 1}" if width else "no dimension, as no SetSTMap is"
            raise tw.DeclarationError(
                f"dimension {number} is not there: the space-time maps have {there}"
            )
    return width


def _indices(system: System, equation: Equation) -> tuple[str, ...]:
    """The names of an equation's indices, none of which is a parameter."""
    return fresh_names(equation.indices, set(system.parameters.indices))


def _statement(
    system: System,
    equation: Equation,
    mapping: TargetMapping,
    width: int,
    own: list[Linear] | None,
) -> Statement:
    """Of one equation; its times, its own ones if it has no map, have no phase."""
    domain = _domain(system, equation)
    given = mapping.times.get(equation.name)
    answers, in_body = AffineFunction.identity(domain.indices), False
    if given is None:
        times = list(own or ())
    else:
        if len(given.indices) != domain.arity:
            node, body = _body(system, equation, given)
            names = fresh_names(node.projection.indices, set(system.parameters.indices))
            domain, in_body = body.named(names), True
            answers = node.projection.named(names)
        times = list(given.named(domain.indices).results)
    times += [Linear()] * (width - len(times))
    types = tuple(mapping.type_of(equation.name, number) for number in range(width))
    if given is None:
        types = ("sequential",) * width
    return Statement(equation.name, domain, answers, in_body, tuple(times), types)


def _domain(system: System, equation: Equation) -> Domain:
    """The points of an equation's variable, under names of which none is a parameter."""
    indices = _indices(system, equation)
    return system.declaration(equation.name).domain.named(indices).within(system.context)


def _body(system: System, equation: Equation, given: AffineFunction) -> tuple[Reduce, Domain]:
    found = top_body(system, equation.name)
    arity = system.declaration(equation.name).domain.arity
    if found is None or len(found[0].projection.indices) != len(given.indices):
        body = f" and the body of its reduction {len(found[0].projection.indices)}" if found else ""
        raise tw.DeclarationError(
            f"the space-time map {given} of {equation.name} takes {counted(len(given.indices), 'index')}, but "
            f"{equation.name} has {arity}{body}"
        )
    node, kind = found[0], system.declaration(equation.name).type
    if not reduces_converted(node.operator, type_of(system, node), kind):
        raise complaint(
            source_of(system), node.position,
            f"the terms of {equation.name} are reduced as {type_of(system, node)} and the result "
            f"becomes {kind}, so they have no times of their own: map {equation.name} by the indices "
            f"of its answer, or make the terms {kind}",
        )  # fmt: skip
    return found


def _phases(
    system: System, equations: Sequence[Equation], mapping: TargetMapping
) -> list[list[str]]:
    """Groups of variables in the order in which they run: the mapped ones are one group, others that
    need each other are one. Among those that may be next, the first of the text is."""
    defined = [each.name for each in equations]
    needs = {
        each.name: variables_read(system, each) & set(defined) for each in equations
    }  # fmt: skip
    reach = {name: set(found) for name, found in needs.items()}
    mapped = [name for name in defined if name in mapping.times]
    for name in mapped:  # which run together
        reach[name] |= set(mapped)
    for middle in defined:
        for name in defined:
            if middle in reach[name]:
                reach[name] |= reach[middle]
    groups: list[list[str]] = []
    for name in defined:
        home = next((g for g in groups if g[0] in reach[name] and name in reach[g[0]]), None)
        if home is None:
            groups.append([name])
        else:
            home.append(name)
    for group in groups:
        if any(name in mapping.times for name in group):
            if left := [name for name in group if name not in mapping.times]:
                raise tw.DeclarationError(
                    f"{left[0]} needs a space-time map (SetSTMap): variables that have one need it, "
                    "and it needs some of them"
                )
    ordered: list[list[str]] = []
    while groups:
        done = {name for group in ordered for name in group}
        ready = next(
            g for g in groups if all(needs[name] <= done | set(g) for name in g)
        )  # fmt: skip
        ordered.append(ready)
        groups.remove(ready)
    return ordered
