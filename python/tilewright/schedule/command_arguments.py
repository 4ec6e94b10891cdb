"""Reading what a person gives to a command: loops, computations and integers, with one wording."""

from __future__ import annotations

from ..base.checks import SCHEDULE, a_string, an_integer, an_isl_text, described
from ..base.errors import ScheduleTypeError
from ..sets.values import Map


def name_of(thing: object, what: str) -> str:
    """The name of a computation, an array or a loop, given itself or by its name."""
    name = thing if isinstance(thing, str) else getattr(thing, "name", None)
    if not isinstance(name, str):
        raise ScheduleTypeError(f"expected {what} or its name, got {described(thing)}")
    return text(name, f"the name of {what}")


def loop_name(loop: object) -> str:
    """The name of a loop, given by its name or the iterator it is called after."""
    name = loop if isinstance(loop, str) else getattr(loop, "name", None)
    if not isinstance(name, str):
        raise ScheduleTypeError(
            f"expected a loop, given by its name or an iterator, got {described(loop)}"
        )
    return text(name, "the name of a loop")


def integer(value: object, what: str) -> int:
    """Anything that Python takes for an index, but not a bool."""
    return an_integer(value, what, SCHEDULE, bits=64)


def text(value: object, what: str) -> str:
    """A string that the core can take."""
    return a_string(value, what, SCHEDULE)


def isl_text(value: object, what: str) -> str:
    """A set or map in isl's notation."""
    return an_isl_text(value, what, SCHEDULE)


def map_text(value: object, what: str) -> str:
    """A map in isl's notation, or a `Map`."""
    return str(value) if isinstance(value, Map) else isl_text(value, what)


def new_names(loop: str, outer: object | None, inner: object | None) -> list[str]:
    """The names of the two loops of a split, or nothing where both are left to their defaults."""
    if outer is None and inner is None:
        return []
    return [
        f"{loop}0" if outer is None else loop_name(outer),
        f"{loop}1" if inner is None else loop_name(inner),
    ]
