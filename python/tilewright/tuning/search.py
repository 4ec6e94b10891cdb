"""The search for a fast schedule: what the planners decide first, then their neighbourhood.

Candidates are tried in rounds of a few. Those that the checker refuses cost no run; of the others each is compiled,
its values are compared once, and its first call sorts out what is far too slow. The rest race by successive halving
(Jamieson and Talwalkar, Non-stochastic Best Arm Identification, AISTATS 2016): all are timed in turn, so that what
slows the machine down for a moment slows down all of them; the faster half goes on, with twice as many calls. The
fastest of all rounds so far races along. The next round are neighbours of the fastest ones.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..base.errors import TilewrightError
from ..schedule.automatic import AutomaticFunction, found_for
from ..schedule.kept_schedules import TunedBefore
from ..schedule.schedules import Schedule
from .knobs import turns
from .measuring import Bench
from .progress import Progress
from .trials import Trial

__all__ = ["DEFAULT", "Search", "has_gpu_loops"]

DEFAULT = "the default schedule"

_ROUND = 8
_FIRST_CALLS = 2
_MOST_CALLS = 16
#: Candidates of which the neighbours are tried next.
_PARENTS = 3
#: After its first call, a candidate so many times as slow as the best one is left.
_FAR_SLOWER = 2.0
#: Two times are the same that differ by less; then the one that was tried first is kept.
_SAME = 0.01
#: Combinations of two turns that are drawn before the neighbourhood counts as exhausted.
_DRAWS = 64


@dataclass
class _Candidate:
    origin: str
    schedule: Schedule
    function: AutomaticFunction | None = None
    seconds: float | None = None
    repeats: int = 0
    outcome: str = ""
    loops: dict[str, list[str]] = field(default_factory=dict)

    def take(self, seconds: float) -> None:
        """One more time of a call."""
        self.seconds = seconds if self.seconds is None else min(self.seconds, seconds)
        self.repeats += 1

    @property
    def time(self) -> float:
        """Its time, or infinity."""
        return float("inf") if self.seconds is None else self.seconds

    def trial(self) -> Trial:
        """As people see it."""
        return Trial(self.origin, self.schedule, self.seconds, self.repeats, self.outcome)


class Search:
    """One search; `run` ends with the budget, when there is nothing more to try, or by Ctrl-C.

    Args:
        function: whose schedule is searched; it is left as it is.
        bench: its arguments.
        seconds: the budget.
        progress: where it is shown.
        before: what an earlier search of the same kind found.
        keeps_places: whether results have to stay where the function's schedule stores them.
    """

    def __init__(
        self,
        function: AutomaticFunction,
        bench: Bench,
        seconds: float,
        progress: Progress,
        before: TunedBefore | None,
        keeps_places: bool,
    ) -> None:
        self._function = function
        self._bench = bench
        self._begin = time.monotonic()
        self._end = self._begin + seconds
        self._progress = progress
        self._before = before
        self._places = function._overwritten if keeps_places else None
        self._on_gpu = function.target == "gpu-emulator" or has_gpu_loops(function)
        self._random = random.Random(0)
        self._seen: set[str] = set()
        self._all: list[_Candidate] = []
        self._best: _Candidate | None = None
        self.interrupted = False

    # ---- the course of it ----

    def run(self) -> None:
        """Searches. What it found is in `best`, `trials` and `measured`."""
        collects = gc.isenabled()
        gc.disable()  # no pause in the middle of a call
        try:
            self._race(self._new(self._starting()))
            while not self._is_over():
                round_ = self._next_round()
                if not round_:
                    break
                self._race(round_)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            if collects:
                gc.enable()

    @property
    def best(self) -> Schedule | None:
        """The fastest schedule; None where not even one could be timed."""
        return None if self._best is None else self._best.schedule

    @property
    def seconds(self) -> float:
        """The time of a call by it."""
        return self._best.time if self._best is not None else float("inf")

    @property
    def trials(self) -> list[Trial]:
        """What was tried, in order."""
        return [candidate.trial() for candidate in self._all]

    @property
    def measured(self) -> dict[str, float | None]:
        """The time of each schedule by its key, those of earlier searches among them."""
        known = dict(self._before.measured) if self._before is not None else {}
        known.update((each.schedule.key, each.seconds) for each in self._all if each.outcome)
        return known

    def _is_over(self) -> bool:
        return time.monotonic() >= self._end

    def _show(self) -> None:
        text = f"{len(self._all)} candidates"
        if self._best is not None:
            text = f"best {self._best.time * 1e3:.4g} ms ({self._best.origin}), {text}"
        self._progress.show(time.monotonic() - self._begin, text)

    # ---- candidates ----

    def _starting(self) -> Iterator[_Candidate]:
        """What somebody or some planner has decided already."""
        plain = self._function.copy()
        Schedule(self._facts()).apply_to(plain)
        if not self._on_gpu:
            yield _Candidate(DEFAULT, self._with_places(plain.schedule, plain.default_schedule))
        if self._function.schedule != plain.schedule:
            yield _Candidate("the schedule given", self._function.schedule)
        if self._before is not None:
            yield _Candidate("the best one before", self._before.best)
        try:
            found = found_for(self._function, "cuda" if self._on_gpu else "cpu").schedule
        except TilewrightError:
            return
        yield _Candidate("the schedule found", self._with_places(found))

    def _facts(self) -> list[tuple[str, str, list[object]]]:
        from .. import _core

        return list(_core.facts(self._function))

    def _with_places(self, *parts: Schedule) -> Schedule:
        """A schedule with the results that have to stay in inputs."""
        commands = [command for part in parts for command in part.commands]
        inputs = {name for name, _ in self._places or ()}
        for command in self._function.schedule.commands:
            if command[1] == "store_in" and str(command[2][0]).partition("[")[0] in inputs:
                commands.append(command)
        return Schedule(commands, [c for part in parts for c in part.comments])

    def _new(self, candidates: Iterator[_Candidate], most: int = _ROUND) -> list[_Candidate]:
        """Those that were not tried yet, here or in an earlier search, up to so many."""
        known = self._before.measured if self._before is not None else {}
        fresh: list[_Candidate] = []
        for candidate in candidates:
            key = candidate.schedule.key
            again = not self._all and not fresh  # the default one is what all are compared with
            if key in self._seen or (key in known and not again and not self._is_best(key)):
                continue
            self._seen.add(key)
            if self._is_legal(candidate):
                fresh.append(candidate)
            if len(fresh) >= most or (self._all and self._is_over()):
                break
        return fresh

    def _is_best(self, key: str) -> bool:
        return self._before is not None and self._before.best.key == key

    def _is_legal(self, candidate: _Candidate) -> bool:
        """Gives its commands to a copy, which is what proves them."""
        function = self._function.copy()
        try:
            candidate.schedule.apply_to(function)
            function._require_legal()
        except TilewrightError as error:
            candidate.outcome = f"refused: {str(error).splitlines()[0]}"
            self._all.append(candidate)
            return False
        if self._places is not None and function._overwritten != self._places:
            candidate.outcome = "refused: its results would be stored elsewhere"
            self._all.append(candidate)
            return False
        if self._on_gpu and not has_gpu_loops(function):
            candidate.outcome = "refused: none of its loops runs on the GPU"
            self._all.append(candidate)
            return False
        candidate.function = function
        candidate.loops = {name: list(function[name].loops) for name in function.computations}
        return True

    def _next_round(self) -> list[_Candidate]:
        """Neighbours of the fastest ones, in turn; then combinations of two turns."""
        timed = sorted((each for each in self._all if each.outcome == "timed"), key=_time)
        parents = timed[:_PARENTS]
        fresh: list[_Candidate] = []
        for parent in parents:
            share = _ROUND // 2 if parent is parents[0] else _ROUND // 4
            fresh += self._new(self._neighbours(parent), share)
        if not fresh:
            fresh = self._new(self._combinations(parents))
        return fresh

    @staticmethod
    def _neighbours(parent: _Candidate) -> Iterator[_Candidate]:
        for what, schedule in turns(parent.schedule, parent.loops):
            yield _Candidate(f"{parent.origin}; {what}", schedule)

    def _combinations(self, parents: list[_Candidate]) -> Iterator[_Candidate]:
        for _ in range(_DRAWS if parents else 0):
            parent = self._random.choice(parents)
            first = list(turns(parent.schedule, parent.loops))
            if not first:
                continue
            what, schedule = self._random.choice(first)
            second = list(turns(schedule, parent.loops))
            if second:
                other, both = self._random.choice(second)
                yield _Candidate(f"{parent.origin}; {what}; {other}", both)

    # ---- measuring ----

    def _race(self, candidates: list[_Candidate]) -> None:
        """Times them, and keeps the fastest."""
        self._all += candidates
        runs = [each for each in self._compiled(candidates) if self._is_right(each)]
        if self._best is not None and runs:
            runs.insert(0, self._best)
        calls = _FIRST_CALLS
        while runs:
            for _ in range(calls):
                for candidate in runs:
                    if candidate.function is not None and not self._out_of_time(candidate):
                        about = candidate.seconds
                        candidate.take(self._bench.seconds(candidate.function, about))
            self._settle(runs)
            if self._is_over() or calls >= _MOST_CALLS or len(runs) == 1:
                break
            kept = sorted(runs, key=_time)[: max(1, (len(runs) + 1) // 2)]
            runs = [each for each in runs if each in kept]
            calls *= 2
        for candidate in candidates:
            if candidate is not self._best:
                candidate.function = None  # and its kernel

    def _out_of_time(self, candidate: _Candidate) -> bool:
        """Of what was timed once already."""
        return candidate.repeats > 0 and self._is_over()

    def _settle(self, runs: list[_Candidate]) -> None:
        for candidate in runs:
            candidate.outcome = "timed"
            if self._best is None or candidate.time < self._best.time * (1 - _SAME):
                self._best = candidate
        self._show()

    def _compiled(self, candidates: list[_Candidate]) -> Iterator[_Candidate]:
        """Compiles all of them, several at a time, and gives those that are ready."""
        ready = [
            (each, self._bench.compiled(each.function)) for each in candidates if each.function
        ]
        for position, (candidate, future) in enumerate(ready):
            left = None if position == 0 and not self._has_timed() else self._end - time.monotonic()
            try:
                future.result(None if left is None else max(left, 0.0))
            except TimeoutError:
                candidate.outcome = "failed: its compilation takes longer than the budget"
                future.cancel()
            except TilewrightError as error:
                candidate.outcome = f"failed: {str(error).splitlines()[0]}"
            else:
                yield candidate

    def _has_timed(self) -> bool:
        return any(each.seconds is not None for each in self._all)

    def _is_right(self, candidate: _Candidate) -> bool:
        """Whether its values are those of the default schedule, and its calls not far too slow."""
        if candidate.function is None or (self._has_timed() and self._is_over()):
            candidate.outcome = "failed: the budget was over"
            return False
        try:
            difference = self._bench.difference(candidate.function)
        except (TilewrightError, MemoryError) as error:  # one that needs more memory than there is
            candidate.outcome = f"failed: {str(error).splitlines()[0]}"
            return False
        if difference:
            candidate.outcome = f"wrong values: {difference}"
            return False
        for _ in range(_FIRST_CALLS):
            candidate.take(self._bench.seconds(candidate.function, candidate.seconds))
            if self._best is None or candidate.time < _FAR_SLOWER * self._best.time:
                break
        if self._best is not None and candidate.time > _FAR_SLOWER * self._best.time:
            candidate.outcome = "too slow"
            return False
        return True


def has_gpu_loops(function: AutomaticFunction) -> bool:
    """Whether a loop of it is over the blocks or threads of a GPU."""
    return any(
        tag.startswith("gpu")
        for name in function.computations
        for tag in function[name].tags.values()
    )


def _time(candidate: _Candidate) -> float:
    return candidate.time
