"""Whether memory keeps values until they are read (CSU TR CS12-101, section 8.3).

A value that z reads is lost if z' writes to its place and is not sure to run before the value is
written or after it is read. Unlike the report's verifier, this one knows modulo factors and tiling:
places are those that the factors leave, and the order is that of the tiled loops. A sum that is
scheduled by its terms is written when it is cleared, too, before the loops over terms begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import tilewright as tw

from ..domains import canonical
from ..mapping.plans import Plan
from .answers import MemoryVerdict, Problem, Witness
from .causality import instance_at
from .dependences import Flow, answers_map
from .orders import Order, OrderOfClearing, Timed

__all__ = ["cells_map", "memory_rank", "memory_verdicts", "overwritten_outputs"]


def memory_rank(plan: Plan, variable: str) -> int:
    """The number of dimensions of the memory that a variable asks for."""
    mapping = plan.mapping.memory.get(variable)
    if mapping is not None:
        return len(mapping.moduli)
    return plan.system.declaration(variable).domain.arity


def _sharing(plan: Plan, variable: str) -> list[str]:
    """The variables that are kept where this one is, if one memory can keep both; `verify` says so if not."""
    space, rank = plan.spaces.get(variable), memory_rank(plan, variable)
    if space is None:
        return [variable]
    return [n for n, s in plan.spaces.items() if s == space and memory_rank(plan, n) == rank]


def cells_map(plan: Plan, variable: str) -> tw.Map:
    """From the points of a variable to the places where they are kept."""
    declared = plan.system.declaration(variable).domain
    names = canonical(declared.arity)
    mapping = plan.mapping.memory.get(variable)
    if mapping is None:
        results = list(names)
    else:
        results = []
        for each, modulus in zip(
            mapping.function.named(names).results, mapping.moduli, strict=True
        ):
            results.append(f"({each}) mod {modulus}" if modulus else str(each))
    parameters = ", ".join(plan.system.parameters.indices)
    return tw.Map(
        f"[{parameters}] -> {{ [{', '.join(names)}] -> [{', '.join(results)}] }}"
    ).intersect_domain(declared.within(plan.system.context).points)


def memory_verdicts(
    plan: Plan,
    flows: Iterable[Flow],
    timed: dict[str, Timed],
    order_of: Callable[[str, str], Order],
    cleared: Mapping[str, int],
) -> Iterator[MemoryVerdict]:
    """One for each read of a variable with a memory map or a shared memory, and each variable that
    is kept there; one more for each clearing that is in the way.

    Args:
        plan: when statements run.
        flows: who reads what.
        timed: the instances by variable.
        order_of: how those of two variables compare.
        cleared: of sums that are scheduled by their terms, the dimension before which they are cleared.
    """
    mapping = plan.mapping
    for flow in flows:
        read = flow.producer
        if read not in plan.spaces and read not in mapping.memory:
            continue
        for writer in _sharing(plan, read):
            written, until = order_of(writer, read), order_of(flow.consumer, writer)
            yield _verdict(plan, flow, writer, timed, written, until)
            clearings: list[tuple[Order, Order]] = []
            if writer in cleared:
                place, own = cleared[writer], timed[writer]
                clearings.append(
                    (
                        OrderOfClearing(own, timed[read], place, True),
                        OrderOfClearing(timed[flow.consumer], own, place, False),
                    )
                )
            if read in cleared:
                own_clearing = OrderOfClearing(timed[writer], timed[read], cleared[read], False)
                clearings.append((own_clearing, until))
            for begun, end in clearings:
                verdict = _verdict(plan, flow, writer, timed, begun, end, is_clearing=True)
                if verdict.witness is not None:
                    yield verdict


def overwritten_outputs(
    plan: Plan,
    timed: dict[str, Timed],
    order_of: Callable[[str, str], Order],
    cleared: Mapping[str, int],
) -> Iterator[Problem]:
    """What other variables that are kept in the array of an output leave there instead of its values."""
    for output, space in plan.spaces.items():
        if output != space:
            continue
        values = plan.statements[output]
        place = answers_map(values).then(cells_map(plan, output))
        for writer in [name for name in _sharing(plan, output) if name != output]:
            other = answers_map(plan.statements[writer]).then(cells_map(plan, writer))
            order = order_of(writer, output)
            if output in cleared:
                order = OrderOfClearing(timed[writer], timed[output], cleared[output], False)
            left = place.then(other.reverse()) - order.before.reverse()
            found = left.sample()
            if found is None:
                continue
            names = plan.system.parameters.indices
            sizes = {name: found[0].parameters.get(name, 0) for name in names}
            instances = (
                instance_at(timed[output], found[0].coordinates, sizes),
                instance_at(timed[writer], found[1].coordinates, sizes),
            )
            yield Problem(
                f"memory of {output}, an array of the caller: {instances[0]} is overwritten by {instances[1]}",
                Witness(instances, sizes),
            )


def _verdict(
    plan: Plan,
    flow: Flow,
    writer: str,
    timed: dict[str, Timed],
    written_order: Order,
    reader: Order,
    is_clearing: bool = False,
) -> MemoryVerdict:
    produced, written = plan.statements[flow.producer], plan.statements[writer]
    place = answers_map(produced).then(cells_map(plan, flow.producer))
    same_place = place.then(answers_map(written).then(cells_map(plan, writer)).reverse())
    if writer == flow.producer:  # the terms of one answer share its place
        answers = answers_map(produced)
        same_place = same_place - answers.then(answers.reverse())
    lost = same_place - written_order.before.reverse()
    overtakes = reader.everything - reader.before
    if writer == flow.consumer and not flow.in_reduction and not written.in_body:
        overtakes = overtakes - timed[writer].domain.points.identity()  # it reads, then writes
    conflicts = (flow.relation.then(lost) & overtakes).coalesce()
    witness = _witness(plan, flow, writer, timed, conflicts, lost) if conflicts else None
    shown = reader.shown(conflicts, plan.system.context)
    return MemoryVerdict(
        flow.producer, flow.consumer, writer, flow.text, shown, witness, is_clearing
    )


def _witness(
    plan: Plan,
    flow: Flow,
    writer: str,
    timed: dict[str, Timed],
    conflicts: tw.Map,
    lost: tw.Map,
) -> Witness | None:
    found = conflicts.sample()
    if found is None:
        return None
    sizes = found[0].parameters
    reader, overwriter = found
    overwritten = lost.intersect_range(_point(overwriter.coordinates)).domain
    values = flow.relation.intersect_domain(_point(reader.coordinates))
    values = values.intersect_range(overwritten)
    known = [name for name in values.parameters if name in sizes]
    pair = values.fix({name: sizes[name] for name in known}).sample()
    if pair is None:
        return None
    names = plan.system.parameters.indices
    parameters = {name: sizes.get(name, pair[0].parameters.get(name, 0)) for name in names}
    return Witness(
        (
            instance_at(timed[flow.consumer], reader.coordinates, parameters),
            instance_at(timed[flow.producer], pair[1].coordinates, parameters),
            instance_at(timed[writer], overwriter.coordinates, parameters),
        ),
        {name: value for name, value in parameters.items() if name in sizes},
    )


def _point(coordinates: Sequence[int]) -> tw.Set:
    return tw.Set(f"{{ [{', '.join(map(str, coordinates))}] }}")
