"""Verdicts on dependences, dimension by dimension (CSU TR CS12-101, sections 8.2.1, 8.2.2, 8.2.4)."""

from __future__ import annotations

from collections.abc import Sequence

import tilewright as tw

from .answers import DependenceVerdict, DimensionVerdict, Instance, Witness
from .orders import Order, Timed

__all__ = ["dependence_verdict", "instance_at", "pair_of"]


def instance_at(
    timed: Timed, point: Sequence[int], parameters: dict[str, int], kept: int | None = None
) -> Instance:
    """An instance with its time; of the time, the first `kept` dimensions."""
    time = timed.time_at(tuple(point), parameters)
    return Instance(timed.name, tuple(point), time[:kept])


def pair_of(order: Order, pairs: tw.Map, parameters: Sequence[str]) -> Witness | None:
    """Two instances of a relation."""
    found = pairs.sample()
    if found is None:
        return None
    sizes = {name: found[0].parameters.get(name, 0) for name in parameters}
    return Witness(
        (
            instance_at(order.first, found[0].coordinates, sizes),
            instance_at(order.second, found[1].coordinates, sizes),
        ),
        {name: value for name, value in sizes.items() if name in found[0].parameters},
    )


def dependence_verdict(
    consumer: str,
    producer: str,
    text: str,
    kind: str,
    relation: tw.Map,
    order: Order,
    labels: Sequence[str],
    tiled: Sequence[str],
    context: tw.Set,
) -> DependenceVerdict:
    """What each dimension does for a dependence, and what is left at equal times.

    Args:
        consumer, producer, text, kind, relation: of the dependence.
        order: from the consumer's instances to the producer's.
        labels: of the dimensions.
        tiled: the labels of those that are tiled, outermost first.
        context: the values that parameters may have.
    """
    parameters = context.parameters
    rows: list[DimensionVerdict] = []
    untileable: list[tuple[str, Witness | None]] = []
    left, tile_pairs = relation, None
    for place, label in enumerate(labels):
        later = order.where("greater", place)
        earlier = order.where("less", place)
        parallel = order.is_parallel(place)
        if label in tiled:
            tile_pairs = left if tile_pairs is None else tile_pairs
            if bad := tile_pairs & earlier:
                untileable.append((label, pair_of(order, bad, parameters)))
        satisfied, violated = left & later, left & earlier
        if parallel:
            violated, satisfied = violated | satisfied, satisfied - satisfied
        following = left & order.where("equal", place)
        verdict = "weak" if following else "strict"
        if violated:
            verdict = "violated"
        if left.is_empty:
            verdict = ""
        rows.append(
            DimensionVerdict(
                label,
                "parallel" if parallel else order.first.types[place],
                verdict,
                _alone(relation, later, earlier),
                order.shown(satisfied, context),
                order.shown(violated, context),
                pair_of(order, violated, parameters) if violated else None,
            )
        )
        left = following
    return DependenceVerdict(
        consumer, producer, text, kind, order.shown(relation, context), tuple(rows),
        order.shown(left, context),
        pair_of(order, left, parameters) if left else None,
        tuple(untileable),
    )  # fmt: skip


def _alone(relation: tw.Map, later: tw.Map, earlier: tw.Map) -> str:
    if relation & earlier:
        return "violated"
    return "strict" if relation <= later else "weak"
