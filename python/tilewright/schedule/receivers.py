"""What commands are called on, and to whom they go: a computation of one function.

The classes of commands derive from `CommandReceiver`, which finds the function and gives it the
command; it is checked there at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from .. import _core
from ..base.checks import described
from ..base.errors import IllegalScheduleError, ScheduleError
from ..base.source import caller_location
from ..language.expressions import Expression
from ..language.owners import owners_of

__all__ = ["CommandReceiver", "Loop", "command_target_of", "give", "no_computation"]

Loop: TypeAlias = str | Expression


def no_computation(function: _core.Function, name: object) -> str:
    """Why `name` is none of the computations that `function` schedules: the text of an error."""
    known = f"it has {', '.join(function.computations)}"
    try:
        if isinstance(name, str):
            function._array(name)
            if name in function.inputs:
                return f"{name} is an input of {function.name} and has no loops; {known}"
            return (
                f"{name} has no loops and no memory in {function.name}: it is a view, which its readers "
                f"read through, or a command has put it into its readers; {known}"
            )
    except KeyError:
        pass
    return f"{function.name} has no computation {described(name)}; {known}"


def command_target_of(handle: _core.Computation) -> tuple[_core.Function, str]:
    """The one function that a computation belongs to, and the computation's name."""
    functions = owners_of(_core.computation_identity(handle))
    name = handle.name
    if not functions:
        raise ScheduleError(
            f"{name} does not belong to a function yet; make one with tw.function(...) first, "
            "then schedule"
        )
    if len(functions) > 1:
        names = ", ".join(function.name for function in functions)
        raise ScheduleError(
            f"{name} belongs to {len(functions)} functions ({names}); say which one: "
            f'f["{name}"].tile(...)'
        )
    return functions[0], name


def give(
    function: _core.Function, computation: str, command: str, arguments: Sequence[Any]
) -> None:
    """Gives a command to a function: to one of its computations, or to all of it ("")."""
    try:
        function._apply(computation, command, list(arguments), caller_location())
    except IllegalScheduleError as error:
        error.function = cast(Any, function)  # a tw.Function, above this wing
        raise


class CommandReceiver:
    """A computation that can be scheduled."""

    __slots__ = ()

    def _command_target(self) -> tuple[_core.Function, str]:
        """The function whose schedule changes, and the computation's name.

        Raises:
            ScheduleError: when the computation belongs to no function yet, or to several.
        """
        handle: _core.Computation = getattr(self, "_handle")  # noqa: B009
        return command_target_of(handle)

    def _give(self, command: str, arguments: Sequence[Any]) -> None:
        function, name = self._command_target()
        give(function, name, command, arguments)
