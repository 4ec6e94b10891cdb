"""A function with its schedule: what the wings need that look at functions, export and time them.

`tw.Function`, which people hold, derives from it (`functions.functions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

from .. import _core
from ..base.checks import described, made_by
from ..base.display import LoopsText
from ..base.errors import ScheduleTypeError
from ..base.source import SourceLocation, caller_location
from ..language.arrays import Input
from ..language.expressions import Expression
from ..language.owners import register_owner
from ..language.records import Slot
from ..sets.values import Map, Set
from .command_arguments import map_text
from .commands import ComputationHandle
from .computations import Computation
from .function_commands import FunctionCommands
from .nests import Nest
from .questions import relations_of
from .receivers import CommandReceiver, give, no_computation
from .schedules import Schedule
from .verdicts import Verdict, verdict_of

__all__ = ["ScheduledFunction"]

Self = TypeVar("Self", bound="ScheduledFunction")


class ScheduledFunction(FunctionCommands, _core.Function):
    """The core's function with its schedule as Python has it."""

    _declared: tuple[str, ...]
    _where: SourceLocation | None
    _commented: Schedule | None = None  # the latest one that says why it is as it is
    # Of its results, those that are structured arrays among them.
    _output_slots: Sequence[Slot] = ()

    def __init__(
        self,
        name: str,
        outputs: Sequence[Computation],
        inputs: Sequence[Input] | None = None,
        context: Sequence[Expression] | None = None,
        options: _core.Options | None = None,
        stop: tuple[str, _core.Computation, int] | None = None,
    ) -> None:
        _require_made(name, outputs, inputs, context)
        made_by("tw.function", options, _core.Options | None, "tw.Function")
        super().__init__(
            name,
            [output._handle for output in outputs],
            [] if inputs is None else [array._handle for array in inputs],
            [] if context is None else [condition._handle for condition in context],
            _core.Options() if options is None else options,
            caller_location(),
            stop,
        )
        self._declared = tuple(self.computations)
        self._where = caller_location()
        register_owner(self, self._identities)

    def __getitem__(self, name: str) -> ComputationHandle:
        if not isinstance(name, str) or name not in self.computations:
            raise KeyError(no_computation(self, name))
        return ComputationHandle(self, name)

    @property
    def schedule(self) -> Schedule:
        """The commands given so far, as a value.

        As long as there are none, `default_schedule` is what runs.
        """
        schedule = Schedule(self._commands())
        commented = self._commented
        return commented if commented is not None and commented == schedule else schedule

    @property
    def default_schedule(self) -> Schedule:
        """The commands that the library runs the function by as long as nobody has given any.

        Empty with ``default_schedule=False``. Given as commands of one's own
        (``f.default_schedule.apply_to(f)``), they make the same code, to go on from: when threads
        and tiles are worth their while is a command of it, too (`when_work`).

        Once a command is given, only reductions that the library took out of expressions (`C_sum`),
        and of which no command speaks, are still scheduled by the library: the commands that run
        after one's own. A command of such a reduction, or loops over a GPU's blocks and threads,
        end that.
        """
        return Schedule(self._default_commands())

    def default_schedule_for(self, **sizes: int) -> Schedule:
        """The commands that the library runs calls with narrow arrays by.

        Where the last size of an array is below 17, or a size of the results of a reduction is 1,
        other loops than the general ones are vectors: the rows of an array of one column, the terms
        of a product with a vector. A call with such arrays (of which one has 4,096 elements or
        more) has a kernel of its own, made when it is needed, as long as nobody has given a
        command.

        Args:
            **sizes: the values of parameters: ``f.default_schedule_for(M=1)``.

        Returns:
            A schedule that begins with `fix` of these sizes; `default_schedule` where the library
            does not schedule the function as a whole.

        Raises:
            ScheduleError: a name is no parameter of the function, or no call has such sizes.
        """
        return Schedule(self._default_commands(sizes))

    def set_schedule(self: Self, schedule: Schedule | str | Map) -> Self:
        """Gives every computation its time-space map, as isl text; or replaces the schedule.

        Before::

            for i in range(0, N):
                B[i] = ...
            for i in range(0, N):
                C[i] = ... B[i] ...

        After ``f.set_schedule("{ B[i] -> [t = i, 0]; C[i] -> [t = i, 1] }")``::

            for t in range(0, N):
                B[t] = ...
                C[t] = ... B[t] ...

        The maps are one command, which is checked once: none of them has to be legal without the
        others. What a map, its names and tags mean, `Computation.set_schedule` says. Commands given
        before stay where they speak of storage; the order that they made is replaced.

        A `tw.Schedule` replaces all commands, as ``schedule.apply_to(f)`` does.

        Args:
            schedule: the time of each instance of every computation, as isl text or a `Map`; or a
                schedule as `schedule` gives it.

        Raises:
            ScheduleError: the text is no union of maps; it names something else than a
                computation or a parameter, leaves a computation out, or has times of different
                numbers of dimensions; or what `Computation.set_schedule` refuses.
            IllegalScheduleError: the order would change the result. The function keeps the schedule
                that it had.
        """
        if isinstance(schedule, Schedule):
            return schedule.apply_to(self)
        if not isinstance(schedule, str | Map):
            raise ScheduleTypeError(
                f"{self.name}.set_schedule takes a tw.Schedule, or the times of all computations "
                f"as isl text or a tw.Map, got {described(schedule)}"
            )
        give(self, "", "set_schedule", [map_text(schedule, "the isl map of set_schedule")])
        return self

    def transaction(self: Self) -> AbstractContextManager[Self]:
        """Commands that are checked together, at the end of a ``with`` block.

        What each command is given is checked when it is given; whether all of them are legal is
        asked once, when the block is left. So an order can be set whose single steps would not be
        legal. At the end the commands are kept as one, of which `schedule` knows: it prints, saves
        and replays them as a transaction. Where the block raises, or its commands are not legal, the
        function is as it was before the block.

        Before::

            for i in range(0, N):
                B[i] = ...
                C[i] = ... B[i] ...

        After ``with f.transaction(): C.reverse(i); B.reverse(i)``::

            for i in range(-N + 1, 1):
                B[-i] = ...
                C[-i] = ... B[-i] ...

        Until then the function cannot be called, compiled, copied or printed as loops by this
        thread; ``C.loops``, ``C.tags`` and `schedule` show what the commands have made so far. For
        other threads it is what it was: they call it as before, and give no commands. A transaction
        within another one joins it: its commands are checked at the end of the outer one, and those
        of an inner block that raises are forgotten. A schedule (``schedule.apply_to(f)``), which
        replaces all commands, cannot be a part of a transaction, and ``C.storage_fold(i)`` without
        a size needs an order that is legal at that point.

        Returns:
            a context manager, for one ``with``; it gives the function.

        Raises:
            ScheduleError: (from a command) its arguments make no sense; (at the end) loops that
                a computation should run in are not there.
            IllegalScheduleError: (at the end) the commands would change the result.
        """
        manager: Any = _core.Transaction(self, caller_location())
        return cast("AbstractContextManager[Self]", manager)

    def nest(self, *computations: CommandReceiver | str) -> Nest:
        """Computations that share loops, to give them commands together.

        Each command is given to all computations of the nest, in one transaction; what they shared
        before it, they share after it. A nest has the commands that change loops and say how they
        run: ``f.nest(B, C).tile(i, j, 32, 8).parallelize("i0")``.

        Before::

            for i in range(0, N):
                for j in range(0, M):
                    B[i, j] = ...
                    C[i, j] = ... B[i, j] ...

        After ``f.nest(B, C).tile(i, j, 32, 8)``::

            for i0 in range(0, (N + 31) // 32):
                for j0 in range(0, (M + 7) // 8):
                    for i1 in range(0, min(32, N - 32*i0)):
                        for j1 in range(0, min(8, M - 8*j0)):
                            B[32*i0 + i1, 8*j0 + j1] = ...
                            C[32*i0 + i1, 8*j0 + j1] = ... B[32*i0 + i1, 8*j0 + j1] ...

        ``B.tile(i, j, 32, 8)`` alone would leave each with loops of its own inside of what was
        shared, and be illegal here.

        Args:
            computations: two or more of this function, or their names.

        Raises:
            ScheduleError: the function has no such computation, or one is named twice; (from a
                command) one of them has no such loop.
            IllegalScheduleError: (from a command) all of them together would change the result.
        """
        return Nest(self, computations)

    def reset_schedule(self: Self) -> Self:
        """Forgets all commands."""
        return Schedule().apply_to(self)

    def copy(self: Self) -> Self:
        """A function of the same computations and schedule whose schedule changes on its own.

        Commands called on a computation (``C.tile(...)``) go to the original, those on ``g["C"]``
        to the copy.
        """
        copy = type(self).__new__(type(self))
        _core.Function.__init__(copy, self)
        copy._declared = self._declared
        copy._where = self._where
        copy._commented = self._commented
        return copy

    def legal(self, schedule: Schedule) -> Verdict:
        """Whether a schedule, in place of the one that the function has, would be legal. Nothing
        changes.

        Args:
            schedule: as `schedule` gives it.

        Returns:
            a verdict, which is true or false, and has a `witness` where it is false.

        Raises:
            ScheduleError: a command of it makes no sense for this function.
        """
        if not isinstance(schedule, Schedule):
            raise ScheduleTypeError(
                f"{self.name}.legal takes a tw.Schedule, got {described(schedule)}; whether one "
                f'command is legal, {self.name}["{self.computations[-1]}"].can(...) says'
            )

        def attempt(copy: ScheduledFunction) -> None:
            schedule.apply_to(copy)._require_legal()

        return verdict_of(self, attempt)

    # ---- as sets and relations ----

    @property
    def instances(self) -> Set:
        """The instances of all statements; see `Computation.instances`."""
        return relations_of(self, "")[0]

    @property
    def reads(self) -> Map:
        """Which elements each instance reads; see `Computation.reads`."""
        return relations_of(self, "")[1]

    @property
    def writes(self) -> Map:
        """In which element each instance stores; see `Computation.writes`."""
        return relations_of(self, "")[2]

    @property
    def schedule_map(self) -> Map:
        """When each instance runs; see `Computation.schedule_map`."""
        return relations_of(self, "")[3]

    @property
    def loops(self) -> LoopsText:
        """The loop nest that the schedule makes, as pseudo-code."""
        return LoopsText(self._loops_text().rstrip("\n"))

    # ---- its arrays, as text ----

    @property
    def signature(self) -> str:
        """``matmul(A: float32[N, K], B: float32[K, M]) -> C: float32[N, M]``.

        An input that the schedule overwrites is ``A: inout float32[N, K]``, an output stored in
        it ``C: float32[N, K] in A``.
        """
        inputs, outputs = self._signature_parts()
        return f"{self.name}({', '.join(inputs)}) -> {', '.join(outputs)}"

    def _described(self) -> list[tuple[str, str, bool]]:
        """(name, type and shape, is an output) of each array of a call."""
        overwritten = dict(self._overwritten)
        place = {stored: name for name, all_ in overwritten.items() for stored in all_}
        described = []
        for name, dtype, extents, is_output in self._arguments:
            text = f"{dtype}[{', '.join(extents)}]"
            if is_output and name in place:
                text += f" in {place[name]}"
            elif name in overwritten and not is_output:
                text = f"inout {text}"
            described.append((name, text, is_output))
        return described

    def _signature_parts(self) -> tuple[list[str], list[str]]:
        """The inputs and the outputs of a call, as text."""
        described = self._described()
        inputs = [f"{name}: {text}" for name, text, is_output in described if not is_output]
        return inputs, [f"{name}: {text}" for name, text, is_output in described if is_output]

    def __copy__(self: Self) -> Self:
        return self.copy()

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        return self.copy()

    # ---- pickles: what a kind of function keeps of its own ----

    def _own_state(self) -> Any:
        return None

    def _restore_own(self, state: Any) -> None:
        """Takes what `_own_state` gave."""


def _require_made(name: object, *lists: object) -> None:
    """Refuses what `tw.function` would not give to the constructor."""
    made_by("tw.function", name, str, "tw.Function")
    for values, kind in zip(lists, (Computation, Input, Expression), strict=True):
        made_by("tw.function", values, list if kind is Computation else list | None, "tw.Function")
        for value in values if isinstance(values, list) else ():
            made_by("tw.function", value, kind, "tw.Function")
