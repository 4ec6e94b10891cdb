"""Schedules that are found, with the caller's arrays as storage.

`auto_schedule` decides about order alone and gives each statement memory of its own. A program over
memory has said where its values go: its arrays are taken again wherever the order found allows that,
which the checker of every schedule decides (PENCIL report, INRIA RT-0457, section 4.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tilewright as tw

from ..base.notices import warn

__all__ = ["Places", "auto_schedule", "places_of"]

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
    try:
        function.auto_schedule()
    except tw.IllegalScheduleError as error:
        reason = error.message.splitlines()[0]
        warn("order-kept", f"{function.name} keeps the order of the program: {reason}")
        return
    if not _stored(function, places, list(places)):
        for array in places if len(places) > 1 else ():
            _stored(function, places, [array])


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
