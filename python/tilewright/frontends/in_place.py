"""Schedules that are found, with the caller's arrays as storage.

`auto_schedule` decides about order alone and gives each statement memory of its own. A program over
memory has said where its values go: its arrays are taken again wherever the order found allows that,
which the checker of every schedule decides (PENCIL report, INRIA RT-0457, section 4.4).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tilewright as tw

from ..base.notices import warn

__all__ = ["Places", "auto_schedule", "keep_order", "places_of"]

#: By array: the computations that are stored in it, each with its place as text.
Places = dict[str, list[tuple[str, str]]]


def places_of(function: tw.Function, arrays: Sequence[str]) -> Places:
    """Where the commands of a function store its computations, as far as these arrays go."""
    found: Places = {}
    for computation, command, arguments in _flat(function.schedule.commands):
        if command == "store_in" and len(arguments) == 1:
            array = str(arguments[0]).partition("[")[0].strip()
            if array in arrays:
                found.setdefault(array, []).append((computation, str(arguments[0])))
    return found


def auto_schedule(function: tw.Function, places: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """`tw.Function.auto_schedule`, and then results in the arrays where that is legal.

    Where data decide so much that no order but the program's is known to be legal, the schedule stays as
    it is, and a warning says so.

    Args:
        function: its schedule is replaced.
        places: where the program stores what (see `places_of`).
    """
    order = function.schedule
    try:
        function.auto_schedule()
    except tw.IllegalScheduleError as error:
        keep_order(function, error.message.splitlines()[0])
        return
    if _stored(function, places, list(places)):
        return
    stored = [array for array in places if len(places) > 1 and _stored(function, places, [array])]
    iterators = {name: count for name, count, _ in _times_of(order)}
    if any(_grows(function, places[array], iterators) for array in places if array not in stored):
        order.apply_to(function)
        _in_parallel(function, order)


def keep_order(function: tw.Function, reason: str) -> None:
    """Leaves the schedule as it is, and says why."""
    warn("order-kept", f"{function.name} keeps the order of the program: {reason}")


def _grows(
    function: tw.Function, stored: Sequence[tuple[str, str]], iterators: Mapping[str, int]
) -> bool:
    """Whether a statement would get memory for more than one version of its array."""
    folded = {name for name, command, _ in _flat(function.schedule.commands) if "fold" in command}
    for name, place in stored:
        subscripts = place.partition("[")[2].rpartition("]")[0]
        rank = subscripts.count(",") + 1 if subscripts.strip() else 0
        if name not in folded and iterators.get(name, 0) > rank:
            return True
    return False


#: Parallel loops of less work run in one thread, as `auto_schedule` has it.
_LEAST_WORK = 60000
_LANES = 8
_TIMES = re.compile(r"(\w+)\[([^\]]*)\] -> \[([^\]]*)\]")


def _times_of(order: tw.Schedule) -> list[tuple[str, int, list[str]]]:
    """Of each statement in the program's order: name, number of iterators, time."""
    for _, command, arguments in _flat(order.commands):
        if command == "set_schedule":
            return [
                (name, len(listed.split(",")) if listed.strip() else 0, times.split(", "))
                for name, listed, times in _TIMES.findall(str(arguments[0]))
            ]
    return []


def _in_parallel(function: tw.Function, order: tw.Schedule) -> None:
    """In the program's order, runs the outermost loop of each nest in parallel that can be, and
    innermost loops as vectors where they can."""
    with contextlib.suppress(tw.ScheduleError):
        function.when_work(0, threads=_LEAST_WORK)
    _nests(function, [(name, times) for name, _, times in _times_of(order)], True)


def _nests(
    function: tw.Function, members: Sequence[tuple[str, Sequence[str]]], threads: bool
) -> None:
    """Statements with what is left of their times: those of one loop together, from outside in.

    Args:
        function: gets the commands.
        members: names and times.
        threads: whether no loop around is parallel yet.
    """
    loops: dict[tuple[str, ...], list[tuple[str, Sequence[str]]]] = {}
    for name, times in members:
        first = next((at for at, time in enumerate(times) if not time.isdigit()), None)
        if first is not None:
            key = (*times[:first], times[first].partition(" = ")[0])
            loops.setdefault(key, []).append((name, times[first + 1 :]))
    for key, inside in loops.items():
        names, loop = [name for name, _ in inside], key[-1]
        innermost = len(inside) == 1 and all(each.isdigit() for each in inside[0][1])
        if innermost and _vector(function, names[0], loop):
            if threads:
                _parallel(function, names, f"{loop}0")
            continue
        parallel = threads and _parallel(function, names, loop)
        _nests(function, inside, threads and not parallel)


def _vector(function: tw.Function, name: str, loop: str) -> bool:
    try:
        function[name].vectorize(loop, _LANES)
    except tw.ScheduleError:
        return False
    return True


def _parallel(function: tw.Function, members: Sequence[str], loop: str) -> bool:
    """Runs a loop that all of these share in parallel, if it is legal."""
    try:
        with function.transaction():
            for name in members:
                function[name].parallelize(loop)
    except tw.ScheduleError:
        return False
    return True


def _stored(
    function: tw.Function,
    places: Mapping[str, Sequence[tuple[str, str]]],
    arrays: Sequence[str],
) -> bool:
    """Stores in these arrays, if it is legal."""
    there = set(function.computations)
    try:
        with function.transaction():
            _without_declared_loops(function)
            for array in arrays:
                for computation, place in places[array]:
                    if computation in there:
                        function[computation].store_in(place)
    except tw.ScheduleError:
        return False
    return True


def _without_declared_loops(function: tw.Function) -> None:
    """Loops as declared cannot stand in for little work where arrays are overwritten."""
    for _, command, arguments in reversed(list(_flat(function.schedule.commands))):
        if command == "when_work":
            least, threads, *rest = (*arguments, 0, 0)[:3]
            if least:
                function.when_work(0, int(threads), int(rest[0]) if rest else 0)
            return


def _flat(commands: Sequence[Any]) -> Iterator[tuple[str, str, Sequence[Any]]]:
    for computation, command, arguments in commands:
        if command == "transaction":
            yield from _flat(arguments)
        else:
            yield computation, command, arguments
