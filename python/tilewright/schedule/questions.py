"""What can be asked of one computation of a function: its relations, and whether a command is legal."""

from __future__ import annotations

import inspect
from typing import Any

from .. import _core
from ..base.checks import SCHEDULE, a_string, described
from ..base.errors import ScheduleError
from ..sets.values import Map, Set
from .receivers import CommandReceiver, no_computation
from .verdicts import Verdict, verdict_of

__all__ = ["Questions", "relations_of"]


def relations_of(function: _core.Function, computation: str) -> tuple[Set, Map, Map, Map]:
    """The instances of a computation, or of all (""), what they read and write, and their times."""
    instances, reads, writes, schedule = _core.relations(function, computation)
    return Set._of(instances), Map._of(reads), Map._of(writes), Map._of(schedule)


class Questions(CommandReceiver):
    """Of a computation in one function; mixed into `Computation` and into the handles `f["C"]`.

    The *instances* are those of the statements that are run: ``C[i, j]``; of a computation with
    several pieces ``C_0[i, j]`` and ``C_1[i, j]``, and of a sum ``C_init[i, j]``, which sets it to
    zero, and ``C[i, j, k]``, which adds a term.
    """

    __slots__ = ()

    @property
    def instances(self) -> Set:
        """The instances of its statements, as a set: ``{ C[i, j, k] : ...; C_init[i, j] : ... }``.

        Raises:
            ScheduleError: the computation belongs to no function yet, or to several; as with all of
                these, ``f["C"]`` says which one.
        """
        return relations_of(*self._command_target())[0]

    @property
    def reads(self) -> Map:
        """The access relation of its reads: which elements of which arrays each instance reads.

        Where a subscript is not affine, each element that it may be.
        """
        return relations_of(*self._command_target())[1]

    @property
    def writes(self) -> Map:
        """The access relation of its writes (Layer III): in which element each instance stores."""
        return relations_of(*self._command_target())[2]

    @property
    def schedule_map(self) -> Map:
        """When each instance runs (Layer II): its time, in which static positions and loops
        alternate. Times are in lexicographic order."""
        return relations_of(*self._command_target())[3]

    def can(self, command: str, /, *arguments: Any, **keywords: Any) -> Verdict:
        """Whether a command would be legal. Nothing changes.

        Args:
            command: its name: ``C.can("tile", i, j, 32, 32)``.
            arguments, keywords: what the command takes.

        Returns:
            a verdict, which is true or false, and has a `witness` where it is false.

        Raises:
            ScheduleError: there is no such command, or its arguments make no sense.
            TypeError: they are too many or too few, as for the command itself.

        Example:
            >>> if C.can("parallelize", i):
            ...     C.parallelize(i)
        """
        name = a_string(command, "the name of a command", SCHEDULE)
        known = _commands(type(self))
        if name not in known:
            import difflib

            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise ScheduleError(f"there is no command {described(name)}; {hint}")
        function, computation = self._command_target()
        if computation not in function.computations:
            raise ScheduleError(no_computation(function, computation))
        return verdict_of(
            function, lambda copy: getattr(copy[computation], name)(*arguments, **keywords)
        )


def _commands(kind: type) -> list[str]:
    """The names of the commands that a class has, sorted."""
    return sorted(
        name
        for owner in kind.__mro__
        if issubclass(owner, CommandReceiver) and not issubclass(owner, Questions)
        for name, value in vars(owner).items()
        if inspect.isfunction(value) and not name.startswith("_")
    )
