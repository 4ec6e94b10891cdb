"""`tw.function(..., schedule="auto")`: the default schedule at first, the one that is found when it is ready."""

from __future__ import annotations

import time
import weakref
from typing import TYPE_CHECKING, Any

from ..base.checks import DECLARATION, a_string
from ..base.errors import DeclarationError, TilewrightError
from ..base.source import caller_location
from ..schedule.automatic import choice_for
from ..schedule.schedules import Schedule

if TYPE_CHECKING:
    from .functions import Function

__all__ = ["begin", "checked_start"]

_STARTS = ("default", "auto", "auto-now")
#: A transaction of somebody's own may be open: how often, and how long after each other, to ask.
_ATTEMPTS, _PAUSE = 200, 0.01


def checked_start(schedule: object) -> str:
    """What `tw.function` was given as ``schedule=``."""
    if schedule is None:
        return "default"
    a_string(schedule, "schedule", DECLARATION)
    if schedule not in _STARTS:
        known = ", ".join(map(repr, _STARTS))
        raise DeclarationError(
            f"schedule must be one of {known}, got {schedule!r}; a tw.Schedule is set by "
            "schedule.apply_to(f) once the function is there"
        )
    return str(schedule)


def begin(function: Function, start: str) -> None:
    """Finds a schedule now, or on another thread."""
    if start == "auto-now":
        function.auto_schedule()
    elif start == "auto":
        from . import background  # with Python's thread pools

        copy, own = function.copy(), weakref.ref(function)
        version = function._version()
        function._finding = background.submit(lambda: _find(own, copy, version))


def _find(own: weakref.ref[Function], copy: Function, version: int) -> dict[str, Any]:
    """Compiles the schedule for row-major arrays, then gives it to the function, unless somebody has
    scheduled that meanwhile."""
    found = choice_for(copy)
    if not found:
        return {"taken": True}  # the loops as the default schedule has them
    try:
        copy.compile()
    except TilewrightError:
        pass  # for other arrays, it may compile
    commands = [(of, name, list(arguments)) for of, name, arguments in found._as_lists()]
    for _ in range(_ATTEMPTS):
        function = own()
        if function is None:
            break
        if function._commands():
            break
        version = max(version, function._version())
        if function._take_found(version, commands, caller_location()):
            function._commented = Schedule(found.commands, found.comments)
            return {"taken": True}
        del function
        time.sleep(_PAUSE)
    return {"taken": False}
