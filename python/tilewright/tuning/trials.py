"""What a search tried, as values: a trial for each candidate, and the schedule that was the fastest."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..base.checks import made_by
from ..base.display import Text
from ..base.drawing import Drawing, new_figure
from ..base.results import Result
from ..schedule.schedules import Schedule

__all__ = ["Trial", "TunedSchedule"]


@dataclass(frozen=True)
class Trial(Result):
    """One candidate of a search.

    Attributes:
        origin: where it comes from: "the default schedule", or what was changed in which trial.
        schedule: its commands.
        seconds: the shortest time of a call, or None where none was timed.
        repeats: how many calls were timed.
        outcome: "timed", "too slow" (its first calls were), "refused" (not legal, or its commands
            make no sense), "wrong values" or "failed", with the reason.
    """

    origin: str
    schedule: Schedule
    seconds: float | None
    repeats: int
    outcome: str

    made_by = "Function.tune"


class TunedSchedule(Schedule):
    """The fastest schedule of a search, with all that was tried; what `Function.tune` answers.

    It is a `Schedule` like any other, and compares with others by its commands. `trials` has the
    candidates in the order in which they were tried, `table` prints them, `plot` draws them.
    """

    __slots__ = ("_interrupted", "_trials")

    _trials: tuple[Trial, ...]
    _interrupted: bool

    def __init__(
        self,
        commands: Iterable[tuple[str, str, Iterable[Any]]] = (),
        comments: Iterable[tuple[str, str]] = (),
        trials: Iterable[Trial] = (),
        interrupted: bool = False,
    ) -> None:
        super().__init__(commands, comments)
        self._trials = tuple(trials)
        for trial in self._trials:
            made_by("Function.tune", trial, Trial, "tw.TunedSchedule")
        made_by("Function.tune", interrupted, bool, "tw.TunedSchedule")
        self._interrupted = interrupted

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The candidates in the order in which they were tried."""
        return self._trials

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search before its budget did."""
        return self._interrupted

    @property
    def seconds(self) -> float:
        """The shortest time of a call by this schedule; NaN where none was timed."""
        return next((t.seconds for t in self._timed() if t.schedule == self), math.nan)

    @property
    def speedup(self) -> float:
        """How many times as fast as the default schedule; NaN where that was not timed."""
        default = next(
            (t.seconds for t in self._timed() if t.origin == "the default schedule"), math.nan
        )
        return default / self.seconds if self.seconds else math.nan

    def _timed(self) -> list[Any]:
        return [trial for trial in self._trials if trial.seconds is not None]

    def table(self, rows: int = 20) -> Text:
        """The fastest candidates, a line each: the time of a call, how many calls were timed, and
        where the candidate comes from; and how many were refused, too slow, or wrong.

        Args:
            rows: the most lines of candidates.
        """
        from ..base.checks import an_integer

        most = an_integer(rows, "the rows of a table of trials", minimum=1)
        ordered = sorted(self._timed(), key=lambda trial: trial.seconds)
        lines = [f"{'time':>10}  {'of best':>7}  {'calls':>5}  candidate"]
        for trial in ordered[:most]:
            part = f"{trial.seconds / ordered[0].seconds:.2f}" if ordered[0].seconds else ""
            lines.append(
                f"{_time(trial.seconds):>10}  {part:>7}  {trial.repeats:>5}  {trial.origin}"
            )
        if len(ordered) > most:
            lines.append(f"and {len(ordered) - most} slower ones")
        outcomes = [trial.outcome.partition(":")[0] for trial in self._trials]
        counted = [
            f"{outcomes.count(outcome)} {outcome}"
            for outcome in dict.fromkeys(outcomes)
            if outcome != "timed"
        ]
        if counted:
            lines.append(f"not timed to the end: {', '.join(counted)}")
        return Text("\n".join(lines))

    def plot(self) -> Drawing:
        """A picture of the search: the time of each candidate, and the best one so far.

        Raises:
            ImportError: matplotlib is not installed.
        """
        figure = new_figure(figsize=(7, 3.5), layout="constrained")
        axes = figure.add_subplot()
        numbers, times, best = [], [], []
        for number, trial in enumerate(self._trials, 1):
            if trial.seconds is not None:
                numbers.append(number)
                times.append(trial.seconds * 1e3)
                best.append(min(times))
        axes.plot(numbers, times, "o", color="#2f6fab", markersize=4, label="a candidate")
        axes.step(numbers, best, where="post", color="#c2571a", label="the best so far")
        axes.set_xlabel("candidate")
        axes.set_ylabel("milliseconds")
        if times:
            axes.set_yscale("log")
            axes.legend()
        return Drawing(figure)

    def __reduce__(self) -> tuple[object, ...]:
        return TunedSchedule, (self._commands, self._comments, self._trials, self._interrupted)


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
