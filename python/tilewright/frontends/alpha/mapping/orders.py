"""Orders of variables that have no space-time map, found by the dependences between them.

Variables that need each other run in loops of their own indices. All of a group turn their indices the same
way, and what is computed at one time is ordered as it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product

import tilewright as tw

from ..attributes import edges_of
from ..domains import AffineFunction, Domain
from ..linear import Linear
from ..tree import Equation, System

__all__ = ["own_orders"]

# Of variables with more dimensions, two orders of the indices are tried: as they are written, and one that is
# found index by index.
_MOST_TURNED = 3

Times = dict[str, list[Linear]]
Read = tuple[str, str, tw.Map]  # consumer, producer, from the one's points to the other's


def own_orders(
    system: System, equations: Sequence[Equation], domains: dict[str, Domain]
) -> tuple[Times, list[str]]:
    """Times of the equations of one group, and their order where times are equal.

    The indices stay as they are written, in the order of the text, if no order is legal.

    Args:
        system: without use equations.
        equations: of the group.
        domains: by variable, the points over the indices that times are written in.
    """
    plain = {e.name: list(map(Linear.of, domains[e.name].indices)) for e in equations}
    reads: list[Read] = [
        (e.name, edge.producer, edge.relation.intersect_domain(domains[e.name].points))
        for e in equations
        for edge in edges_of(system, e)
        if edge.producer in plain
    ]
    if reads:
        for times in _turned(plain, domains, reads):
            sequence = _sequence(times, domains, reads)
            if sequence is not None:
                return times, sequence
    return plain, list(plain)


def _turned(plain: Times, domains: dict[str, Domain], reads: list[Read]) -> Iterator[Times]:
    """The same order and direction of the indices for all variables of a number of dimensions."""
    arities = sorted({len(each) for each in plain.values()})
    found: list[list[Times]] = []
    for arity in arities:
        same = {name: each for name, each in plain.items() if len(each) == arity}
        among = [each for each in reads if each[0] in same and each[1] in same]
        found.append([])
        for turn in _turns(arity) if arity <= _MOST_TURNED else _few_turns(same, domains, among):
            times = {n: [each[place] * sign for place, sign in turn] for n, each in same.items()}
            if _sequence(times, domains, among) is not None:
                found[-1].append(times)
    for chosen in product(*found):
        yield {name: times for each in chosen for name, times in each.items()}


def _turns(arity: int) -> Iterator[list[tuple[int, int]]]:
    """Orders of the indices, and a direction for each; as they are written first."""
    for order in permutations(range(arity)):
        for signs in product((1, -1), repeat=arity):
            yield list(zip(order, signs, strict=True))


def _few_turns(
    same: Times, domains: dict[str, Domain], reads: list[Read]
) -> Iterator[list[tuple[int, int]]]:
    """The order that is written, and one in which no value needs a later one, if there is any.

    An index along which no value needs one ahead may stand outside of all others, so that the first such
    index is taken; what it puts before its readers needs nothing of the next ones (Allen and Kennedy's
    order of loops, with directions).
    """
    arity = len(next(iter(same.values())))
    yield [(place, 1) for place in range(arity)]
    given, taken = ([f"{name}{at}" for at in range(arity)] for name in "cp")
    ahead = f"{{ [{', '.join(given)}] -> [{', '.join(taken)}] : "
    identity = {
        name: AffineFunction(domains[name].indices, tuple(values)).map
        for name, values in same.items()
    }
    left = [
        relation.apply_domain(identity[consumer]).apply_range(identity[producer])
        for consumer, producer, relation in reads
    ]
    turn: list[tuple[int, int]] = []
    places = list(range(arity))
    while places:
        fits = (
            (place, sign)
            for place in places
            for sign in (1, -1)
            if all(
                (each & tw.Map(f"{ahead}{sign} * (c{place} - p{place}) < 0 }}")).is_empty
                for each in left
            )
        )
        found = next(fits, None)
        if found is None:
            return
        turn.append(found)
        places.remove(found[0])
        equal = tw.Map(f"{ahead}c{found[0]} = p{found[0]} }}")
        left = [each for each in (one & equal for one in left) if not each.is_empty]
    yield turn


def _sequence(times: Times, domains: dict[str, Domain], reads: list[Read]) -> list[str] | None:
    """The variables as they are needed at equal times; nothing if some value needs a later one."""
    width = max(map(len, times.values()))
    turns = {
        name: AffineFunction(
            domains[name].indices, (*values, *[Linear()] * (width - len(values)))
        ).map
        for name, values in times.items()
    }
    anything = Domain.universe(tuple(f"t{number}" for number in range(width))).points
    later = anything.before(anything).reverse()
    needs: dict[str, set[str]] = {name: set() for name in times}
    for consumer, producer, relation in reads:
        rest = relation.apply_domain(turns[consumer]).apply_range(turns[producer]) - later
        if rest.is_empty:
            continue
        if consumer == producer or not rest <= anything.identity():
            return None
        needs[consumer].add(producer)
    found: list[str] = []
    while len(found) < len(needs):
        ready = next((n for n in needs if n not in found and needs[n] <= set(found)), None)
        if ready is None:
            return None
        found.append(ready)
    return found
