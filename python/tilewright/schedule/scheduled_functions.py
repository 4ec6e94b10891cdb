"""A function with its schedule: what the wings need that look at functions, export and time them.

`tw.Function`, which people hold, derives from it (`functions.functions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

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
from .commands import ComputationHandle
from .computations import Computation
from .questions import relations_of
from .schedules import Schedule
from .verdicts import Verdict, verdict_of

__all__ = ["ScheduledFunction"]

Self = TypeVar("Self", bound="ScheduledFunction")


class ScheduledFunction(_core.Function):
    """The core's function with its schedule as Python has it."""

    _declared: tuple[str, ...]
    _where: SourceLocation | None
    # Of its results, those that are structured arrays among them.
    _output_slots: Sequence[Slot] = ()

    def __init__(
        self,
        name: str,
        outputs: Sequence[Computation],
        inputs: Sequence[Input] | None = None,
        context: Sequence[Expression] | None = None,
        options: _core.Options | None = None,
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
        )
        self._declared = tuple(self.computations)
        self._where = caller_location()
        register_owner(self, self._identities)

    def __getitem__(self, name: str) -> ComputationHandle:
        if not isinstance(name, str) or name not in self.computations:
            known = ", ".join(self.computations)
            raise KeyError(f"{self.name} has no computation {name!r}; it has {known}")
        return ComputationHandle(self, name)

    @property
    def schedule(self) -> Schedule:
        """The commands given so far, as a value.

        As long as there are none, `default_schedule` is what runs.
        """
        return Schedule(self._commands())

    @property
    def default_schedule(self) -> Schedule:
        """The commands that the library runs the function by as long as nobody has given any.

        Empty once a command is given, or with ``default_schedule=False``. Given as commands of one's
        own (``f.default_schedule.apply_to(f)``), they make the same loops, to go on from; those run
        as they are at all sizes, without the tests of a default schedule whether threads and tiles
        are worth their while.
        """
        return Schedule(self._default_commands())

    def set_schedule(self: Self, schedule: Schedule) -> Self:
        """Replaces the schedule; the same as ``schedule.apply_to(self)``."""
        if not isinstance(schedule, Schedule):
            raise ScheduleTypeError(
                f"{self.name}.set_schedule takes a tw.Schedule, got {described(schedule)}; the map "
                f'of one computation is given to it: {self.name}["{self.computations[-1]}"]'
                ".set_schedule(...)"
            )
        return schedule.apply_to(self)

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
