"""Nests: computations that share loops, of which one command is a command of all.

`ScheduledFunction.nest` makes them. A nest is no state of a function: what it gives is one
transaction of commands of its computations, of which `schedule` knows as of any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from ..base.checks import SCHEDULE, a_list, described, made_by
from ..base.errors import ScheduleError, ScheduleTypeError
from ..base.source import caller_location
from .command_arguments import name_of
from .commands import ComputationHandle
from .execution_commands import ExecutionCommands
from .gpu_commands import GpuCommands
from .loop_commands import LoopCommands
from .receivers import CommandReceiver, give

__all__ = ["Nest"]


class Nest(LoopCommands, ExecutionCommands, GpuCommands):
    """Computations of one function that share loops; made by ``f.nest("S1", "S2")``.

    It has the commands that change loops and how they run. Each is given to all of its
    computations, and what they share before it they share after it, too. The commands are checked
    together, as a transaction.

    `ScheduledFunction.nest` shows loops before and after.

    Raises:
        ScheduleError: one of the computations has no such loop, or the arguments make no sense.
        IllegalScheduleError: the commands together would change the result.
    """

    __slots__ = ("_computations", "_function")

    def __init__(self, function: _core.Function, computations: Sequence[object]) -> None:
        made_by("f.nest(...)", function, _core.Function, "tw.Nest", SCHEDULE)
        names = []
        for computation in a_list(
            computations, "the computations of a nest", SCHEDULE, "computations"
        ):
            if not isinstance(computation, str | CommandReceiver):
                raise ScheduleTypeError(
                    f"{function.name}.nest takes computations or their names, got "
                    f"{described(computation)}"
                )
            names.append(ComputationHandle(function, name_of(computation, "a computation")).name)
        if len(names) < 2 or len(set(names)) < len(names):
            raise ScheduleError(
                f"{function.name}.nest takes two or more different computations, got "
                f"{', '.join(names) or 'none'}"
            )
        self._function = function
        self._computations = tuple(names)

    @property
    def computations(self) -> tuple[str, ...]:
        """The names of its computations."""
        return self._computations

    def _command_target(self) -> tuple[_core.Function, str]:
        raise ScheduleError(
            f"partial results are those of one computation, not of {', '.join(self._computations)}; "
            f"give the command to {self._function.name}[{self._computations[0]!r}]"
        )

    def _loops(self, computation: str) -> list[str]:
        return [name for name, _ in self._function._loops(computation)]

    def _shared(self) -> list[tuple[str, str, int, str]]:
        """(computation, the one in whose loops it runs, how many they share, "after" or "before")."""
        members = set(self._computations)
        return [placed for placed in self._function._placements() if {*placed[:2]} <= members]

    def _give(self, command: str, arguments: Sequence[Any]) -> None:
        transaction: Any = _core.Transaction(self._function, caller_location())
        with transaction:
            loops = {name: self._loops(name) for name in self._computations}
            shared = self._shared()
            for name in self._computations:
                give(self._function, name, command, arguments)
            for name, other, depth, order in shared:
                common = loops[other][:depth]
                asked = {loop for loop in _names(arguments) if loop in loops[other]}
                if not asked <= set(common):
                    continue  # they share as many as before: what took the place of those
                now = _common_prefix(
                    self._loops(name), self._loops(other), {*loops[other]} - {*common}
                )
                if len(now) != depth:
                    give(self._function, name, order, [other, *now[-1:]])

    def __repr__(self) -> str:
        return f"<nest of {', '.join(self._computations)} in {self._function.name}>"


def _names(arguments: Sequence[Any]) -> list[str]:
    """The texts among arguments, in lists too."""
    names: list[str] = []
    for argument in arguments:
        if isinstance(argument, str):
            names.append(argument)
        elif isinstance(argument, list | tuple):
            names.extend(_names(argument))
    return names


def _common_prefix(own: list[str], others: list[str], apart: set[str]) -> list[str]:
    """The outermost loops of one name, up to the first that was not shared before."""
    common = []
    for mine, other in zip(own, others, strict=False):
        if mine != other or other in apart:
            break
        common.append(mine)
    return common
