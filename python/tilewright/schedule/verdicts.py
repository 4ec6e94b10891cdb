"""Answers to the question whether a schedule is legal, as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from .. import _core
from ..base.checks import SCHEDULE, made_by
from ..base.display import preformatted
from ..base.errors import IllegalScheduleError
from ..base.results import Result

__all__ = ["Verdict", "Witness", "verdict_of"]


@dataclass(frozen=True)
class Witness(Result):
    """Two instances that a schedule would run in a wrong order, or that would meet.

    Attributes:
        source: the instance that must come first: "C[0]".
        sink: the one that needs it: "C[1]".
        element: the element of a buffer at which they meet, where storage is at fault, or "".
        parameters: the sizes for which both are there: "N = 2", or "".
    """

    source: str
    sink: str
    element: str = ""
    parameters: str = ""

    made_by = "Verdict.witness"

    def __str__(self) -> str:
        element = f" at element {self.element}" if self.element else ""
        sizes = f" with {self.parameters}" if self.parameters else ""
        return f"{self.source} -> {self.sink}{element}{sizes}"


class Verdict:
    """Whether a schedule is legal, and why not: what `Computation.can` and `Function.legal` answer.

    It is true where the schedule is legal. Printed, it is "legal", or what the refusal would say.

    Example:
        >>> verdict = C.can("parallelize", k)
        >>> bool(verdict), str(verdict.witness)
        (False, 'C[0,0,0] -> C[0,0,1] at element C[0,0] with K = 2, M = 1, N = 1')

    Attributes:
        error: the error that the command would have raised, or None.
    """

    __slots__ = ("error",)

    error: IllegalScheduleError | None

    def __init__(self, error: IllegalScheduleError | None = None) -> None:
        made_by("C.can and f.legal", error, IllegalScheduleError | None, "tw.Verdict", SCHEDULE)
        self.error = error

    @property
    def witness(self) -> Witness | None:
        """Two instances that show what is wrong; None where the schedule is legal, or nobody can
        tell."""
        error = self.error
        if error is None or not error.source_instance:
            return None
        return Witness(error.source_instance, error.sink_instance, error.element, error.parameters)

    @property
    def reason(self) -> str:
        """Why it is not legal; empty where it is."""
        return "" if self.error is None else self.error.message

    def __bool__(self) -> bool:
        return self.error is None

    def __str__(self) -> str:
        return "legal" if self.error is None else str(self.error)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return preformatted("legal") if self.error is None else self.error._repr_html_()

    def __reduce__(self) -> tuple[object, ...]:
        return Verdict, (self.error,)


def verdict_of(function: _core.Function, attempt: Callable[[Any], object]) -> Verdict:
    """The verdict on what `attempt` does to a copy of a function, which stays as it is."""
    copy = cast(Any, function).copy()  # a tw.Function, above this wing
    try:
        attempt(copy)
    except IllegalScheduleError as error:
        error.function = cast(Any, function)
        return Verdict(error)
    return Verdict()
