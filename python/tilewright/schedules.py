"""Schedules as values: the list of commands that a function was given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _core
from .display import preformatted
from .source import caller_location

if TYPE_CHECKING:
    from .functions import Function

__all__ = ["Schedule"]

Command: TypeAlias = tuple[str, str, tuple[Any, ...]]


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


class Schedule:
    """What a function was told: commands, in order. Printed, it is the Python that makes it.

    Schedules compare by their commands and can be replayed on another function whose computations
    and loops have the same names.

    >>> fast = matmul.schedule
    >>> fast.apply_to(other)
    """

    __slots__ = ("_commands",)

    _commands: tuple[Command, ...]

    def __init__(self, commands: Iterable[tuple[str, str, Iterable[Any]]] = ()) -> None:
        self._commands = tuple(
            (computation, name, tuple(_frozen(argument) for argument in arguments))
            for computation, name, arguments in commands
        )

    @property
    def commands(self) -> tuple[Command, ...]:
        """(computation, command, arguments) of each command."""
        return self._commands

    def apply_to(self, function: Function) -> Function:
        """Replaces the schedule of a function by this one, and returns the function.

        Raises:
            ScheduleError, IllegalScheduleError: when a command makes no sense there or would change
                the result; the function keeps the schedule that it had.
        """
        function._replay(self._as_lists(), caller_location())
        return function

    def _as_lists(self) -> list[tuple[str, str, list[Any]]]:
        return [(computation, name, list(args)) for computation, name, args in self._commands]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and self._commands == other._commands

    def __hash__(self) -> int:
        return hash(self._commands)

    def __len__(self) -> int:
        return len(self._commands)

    def __iter__(self) -> Iterator[Command]:
        return iter(self._commands)

    def __bool__(self) -> bool:
        return bool(self._commands)

    def __str__(self) -> str:
        return _core.schedule_text(self._as_lists())

    def __repr__(self) -> str:
        return str(self) or "Schedule()"

    def _repr_html_(self) -> str:
        return preformatted(repr(self))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def __reduce__(self) -> tuple[object, ...]:
        return Schedule, (self._commands,)
