"""Reading what a person gives to a command: loops, computations and integers, with one wording."""

from __future__ import annotations

from ..base.errors import ScheduleError


def name_of(thing: object, what: str) -> str:
    """The name of a computation, an array or a loop, given itself or by its name."""
    name = thing if isinstance(thing, str) else getattr(thing, "name", None)
    if not isinstance(name, str):
        raise ScheduleError(f"expected {what} or its name, got {thing!r}")
    return name


def loop_name(loop: object) -> str:
    """The name of a loop, given by its name or the iterator it is called after."""
    name = loop if isinstance(loop, str) else getattr(loop, "name", None)
    if not isinstance(name, str):
        raise ScheduleError(f"expected a loop, given by its name or an iterator, got {loop!r}")
    return name


def integer(value: object, what: str) -> int:
    """Anything that Python takes for an index, but not a bool."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ScheduleError(f"{what} must be an integer, got {value!r}")
    number = int(value.__index__())
    if not -(1 << 63) <= number < 1 << 63:
        raise ScheduleError(f"{what} must be an integer of 64 bits, got {number}")
    return number


def new_names(loop: str, outer: object | None, inner: object | None) -> list[str]:
    """The names of the two loops of a split, or nothing where both are left to their defaults."""
    if outer is None and inner is None:
        return []
    return [
        f"{loop}0" if outer is None else loop_name(outer),
        f"{loop}1" if inner is None else loop_name(inner),
    ]
