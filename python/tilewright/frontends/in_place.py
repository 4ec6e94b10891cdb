"""Schedules that are found, with the caller's arrays as storage.

`auto_schedule` decides about order alone and gives each statement memory of its own. A program over
memory has said where its values go: its arrays are taken again wherever the order found allows that,
which the checker of every schedule decides (PENCIL report, INRIA RT-0457, section 4.4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tilewright as tw

from .. import _core
from ..base.notices import warn
from ..schedule.kept_schedules import Found, load_found, store_found
from ..schedule.schedule_text import each_command
from .local_scalars import inline_local_scalars

__all__ = ["Places", "any_order", "auto_schedule", "for_gpu", "keep_order", "places_of"]

#: By array: the computations that are stored in it, each with its place as text.
Places = dict[str, list[tuple[str, str]]]


def places_of(function: tw.Function, arrays: Sequence[str]) -> Places:
    """Where the commands of a function store its computations, as far as these arrays go."""
    found: Places = {}
    for computation, command, arguments in each_command(function.schedule.commands):
        if command == "store_in" and len(arguments) == 1:
            array = str(arguments[0]).partition("[")[0].strip()
            if array in arrays:
                found.setdefault(array, []).append((computation, str(arguments[0])))
    return found


def any_order(
    function: tw.Function, places: Mapping[str, Sequence[tuple[str, str]]]
) -> tw.Schedule:
    """Schedules a program that needs no order of its own, and stores in its arrays what is theirs.

    Args:
        function: without commands.
        places: where the program stores what its arrays hold at the end.

    Returns:
        the schedule that the function has now.
    """
    key = f"any order\n{_core.automatic_key(function)}\n{places}"
    known = load_found(key)
    if known is None or not _takes(function, known.schedule):
        comments = function.auto_schedule().comments
        for array in places:
            _stored(function, places, [array])
        found = tw.Schedule(function.schedule.commands, comments)
        found.apply_to(function)
        store_found(key, Found(found, tuple(comments)))
    return function.schedule


MOST_OPERATIONS = 16_000_000
"""On integer sets, for the loops that a program is given before its first call: some seconds."""

MOST_INLINED = 100
"""Statements of a program whose local scalars are inlined before its first call: of many more, each
question whether that is legal takes long."""

_TOO_LONG = (
    "better nests take too long to be found before the first call; auto_schedule() finds them"
)


def auto_schedule(
    function: tw.Function,
    program_order: tw.Schedule,
    places: Mapping[str, Sequence[tuple[str, str]]],
    in_time: bool = True,
    endless: Sequence[str] = (),
) -> None:
    """Better loops for a program, with its values stored where the program stores them.

    Recurrences that can be tiled in time are planned by `tw.Function.auto_schedule`, and stored in the
    arrays where that is legal. All others keep the program's order as far as it decides about memory,
    and get better nests within it: vectors, register tiles, sums side by side, threads.

    Args:
        function: its schedule is replaced.
        program_order: its schedule as the program has it.
        places: where the program stores what (see `places_of`).
        in_time: whether tiles in time are looked for, which takes as long as all else, except for a
            function with endless loops; and whether the search may take as long as it needs.
        endless: the parameters that bound loops which data end. No memory grows with these.
    """
    order = tw.Schedule([*_core.facts(function), *program_order.commands])
    what = "in place" if in_time else f"nests within {MOST_OPERATIONS}"
    what += f"; endless: {', '.join(endless)}" if endless else ""
    key = f"{what}\n{_core.automatic_key(function)}\n{order.commands}"
    known = load_found(key)
    if known is None or not _takes(function, known.schedule):
        found = _found(function, order, places, in_time, endless)
        store_found(key, Found(found, tuple(found.comments)))


def for_gpu(function: tw.Function, program_order: tw.Schedule) -> None:
    """Kernels for a GPU, with the program's values stored where the program stores them.

    Loops are found anew: those that may run at the same time become blocks and threads, loops around
    them run on the host. Local scalars get an element for each iteration.

    Args:
        function: its schedule is replaced; its target stays.
        program_order: its schedule as the program has it.
    """
    order = tw.Schedule([*_core.facts(function), *program_order.commands])
    key = f"gpu nests\n{_core.automatic_key(function)}\n{order.commands}"
    known = load_found(key)
    if known is not None and _takes(function, known.schedule):
        return
    order.apply_to(function)
    kept, commands, decisions = _core.gpu_nests(function)
    given = [*kept, ("", "transaction", commands)] if commands else order.commands
    found = tw.Schedule(given, decisions)
    found.apply_to(function)
    store_found(key, Found(found, tuple(decisions)))


def _found(
    function: tw.Function,
    order: tw.Schedule,
    places: Mapping[str, Sequence[tuple[str, str]]],
    in_time: bool,
    endless: Sequence[str],
) -> tw.Schedule:
    """Gives the function what is found, and says what it is."""
    may_be_tiled = in_time and not endless and _core.may_have_time_tiles(function)
    tiles = _time_tiles(function, places) if may_be_tiled else None
    if tiles is not None and _skewed(tiles) <= _vectors(tiles):
        return tiles
    if in_time:
        order.apply_to(function)
    inlines = in_time or len(function.computations) <= MOST_INLINED
    if not endless and inlines and inline_local_scalars(function, each_command(order.commands)):
        order = function.schedule
    try:
        most = 0 if in_time else MOST_OPERATIONS
        kept, commands, decisions = _core.better_nests(function, most, list(endless))
    except tw.AnalysisLimitError:
        if in_time:
            raise
        kept, commands, decisions = [], [], [("", _TOO_LONG)]
    found = [*kept, ("", "transaction", commands)] if commands else order.commands
    nests = tw.Schedule(found, decisions)
    best = nests
    if tiles is not None and not _skewed(tiles) & _vectors(nests):
        best = tiles
    best.apply_to(function)
    return best


def _takes(function: tw.Function, schedule: tw.Schedule) -> bool:
    try:
        schedule.apply_to(function)
    except (tw.ScheduleError, tw.AnalysisLimitError):
        return False
    return True


def _time_tiles(
    function: tw.Function, places: Mapping[str, Sequence[tuple[str, str]]]
) -> tw.Schedule | None:
    """The schedule that tiles in time; None if there is no legal one in the program's arrays."""
    try:
        function.auto_schedule()
    except tw.IllegalScheduleError:
        return None
    stored = _stored(function, places, list(places))
    return function.schedule if stored and _skewed(function.schedule) else None


def _skewed(schedule: tw.Schedule) -> set[str]:
    return {name for name, command, _ in each_command(schedule.commands) if command == "skew"}


def _vectors(schedule: tw.Schedule) -> set[str]:
    return {name for name, command, _ in each_command(schedule.commands) if command == "vectorize"}


def keep_order(function: tw.Function, reason: str) -> None:
    """Leaves the schedule as it is, and says why."""
    warn("order-kept", f"{function.name} keeps the order of the program: {reason}")


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
    for _, command, arguments in reversed(list(each_command(function.schedule.commands))):
        if command == "when_work":
            least, threads, *rest = (*arguments, 0, 0)[:3]
            if least:
                function.when_work(0, int(threads), int(rest[0]) if rest else 0)
            return
