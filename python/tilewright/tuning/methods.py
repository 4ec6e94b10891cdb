"""What a function has of tuning: `tune`, which `tw.Function` inherits, and `tw.tuned`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..base.checks import a_boolean, described
from ..base.errors import ArgumentTypeError
from ..schedule.automatic import AutomaticFunction, machine_key
from ..schedule.kept_schedules import TunedBefore, load_tuned, store_tuned
from ..schedule.schedules import Schedule
from .budgets import seconds_of

if TYPE_CHECKING:
    from .measuring import Call
    from .trials import TunedSchedule

__all__ = ["TunableFunction", "tuned", "tuned_for"]


class TunableFunction(AutomaticFunction):
    """A function whose schedules are measured: `tune`."""

    def tune(
        self,
        /,
        *arrays: Any,
        budget: Any = "30s",
        progress: bool | None = None,
        **keywords: Any,
    ) -> TunedSchedule:
        """Searches for a fast schedule by running candidates, sets the fastest, and returns it.

        What the library decides is tried first: the default schedule, the one that
        `auto_schedule` finds, the one that the function has, and, where this function was tuned
        before, the best one of then. Then their neighbourhood: other sizes of tiles, lanes,
        unrolled iterations and thresholds, another parallel loop, a loop more or less that is a
        vector, copied, unrolled or folded. Each candidate is proved like any schedule; what is not
        legal never runs. Its values are compared once with those of the default schedule: integers
        exactly, others up to what sums in another order may make of them.

        All runs are on the arrays given, and on copies of those that a call overwrites: the
        caller's are left as they are. Candidates are timed in turn, so that a busy moment hits all
        of them. Ctrl-C ends the search, and the best so far is kept.

        What was found is stored beside the kernels on disk, by function, sizes (within a factor of
        about 1.4), machine and number of threads. `tw.tuned` and `auto_schedule` find it there, and
        the next `tune` goes on from it.

        Where the function's schedule has loops over the blocks and threads of a GPU, or its target
        is "gpu-emulator", candidates are those that do: what `Function.gpu` finds, and what is near.

        Args:
            arrays, keywords: as of a call; ``out=`` is not used.
            budget: how long it may take: "30s", "500ms", "2min", a number of seconds, or a
                `datetime.timedelta`. A call that has begun is not cut short.
            progress: whether to show a progress bar on stderr (of tqdm, where it is installed, else
                lines); None shows one on a terminal.

        Returns:
            the fastest schedule, with all that was tried: `TunedSchedule.table`,
            `TunedSchedule.plot`.

        Raises:
            ArgumentError: a budget that is no time above zero, or arrays that a call would refuse;
                ArgumentTypeError, a TypeError, for another type.
            ScheduleError: in a transaction.

        Source: Jamieson and Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter
        Optimization (AISTATS 2016): successive halving.

        Example:
            >>> found = matmul.tune(a, b, budget="300ms")
            >>> found == matmul.schedule == tw.tuned(matmul, a, b)
            True
            >>> print(found.table(rows=3))  # doctest: +SKIP
                  time  of best  calls  candidate
               1.21 ms     1.00     30  the default schedule; C i1: 8 -> 4
               1.34 ms     1.11     14  the default schedule
        """
        given = _named(self, arrays, keywords)
        return tune_function(self, _plain_call, given, budget, progress, keeps_places=True)


def _plain_call(function: Any, given: dict[str, Any]) -> Any:
    return function(**given)


def _named(function: Any, arrays: tuple[Any, ...], keywords: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = function._named_inputs(arrays, keywords)
    given.pop("out", None)
    return given


def tune_function(
    function: AutomaticFunction,
    call: Call,
    given: Mapping[str, Any],
    budget: Any,
    progress: bool | None,
    keeps_places: bool,
    written: frozenset[str] = frozenset(),
) -> TunedSchedule:
    """See `TunableFunction.tune`.

    Args:
        call: how a function is run on arguments by name.
        keeps_places: whether what the schedule stores in inputs has to stay there.
        written: arguments that a call changes under whatever schedule.
    """
    from .measuring import Bench
    from .progress import Progress
    from .search import Search
    from .trials import TunedSchedule

    seconds = seconds_of(budget)
    if progress is not None:
        progress = a_boolean(progress, "progress")
    function._require_no_transaction()
    overwritten = written.union(name for name, _ in function._overwritten)
    bench = Bench(call, given, overwritten)
    bench.expect(_reference(function))
    place = machine_key(function, given.get("threads"))
    sizes = _sizes(given)
    before = load_tuned(place).get(sizes)
    shown = Progress(function.name, seconds, progress)
    search = Search(function, bench, seconds, shown, before, keeps_places)
    try:
        search.run()
    finally:
        shown.close()
    best = search.best if search.best is not None else function.schedule
    result = TunedSchedule(best.commands, best.comments, search.trials, search.interrupted)
    if search.best is not None:
        result.apply_to(function)
        store_tuned(place, sizes, TunedBefore(best, search.seconds, 0, search.measured))
    return result


def _reference(function: AutomaticFunction) -> AutomaticFunction:
    """What all candidates are compared with: the default schedule; on a GPU the function's own."""
    from .search import has_gpu_loops

    plain = function.copy()
    if not has_gpu_loops(function):
        Schedule(_core.facts(function)).apply_to(plain)
    return plain


def _sizes(given: Mapping[str, Any]) -> str:
    """The class of the sizes of a call: powers of two that are near to them."""
    parts = []
    for name in sorted(given):
        value = given[name]
        if name == "threads" or value is None:
            continue
        shape = getattr(value, "shape", None)
        if shape is None:
            shape = np.shape(value)
        if not shape and isinstance(value, int | np.integer):
            shape = (int(value),)  # a parameter, or a number whose size may not matter
        parts.append(f"{name}:{','.join(_power(abs(int(extent))) for extent in shape)}")
    return ";".join(parts)


def _power(extent: int) -> str:
    return "none" if extent == 0 else str(round(math.log2(extent)))


def tuned(function: TunableFunction, /, *arrays: Any, **keywords: Any) -> Schedule | None:
    """The schedule that `Function.tune` found for calls like this, on this machine, with as many
    threads, in whichever process; None where there is none.

    Nothing is run and nothing changes: ``tw.tuned(f, a, b).apply_to(f)`` sets it.

    Args:
        function: the function.
        arrays, keywords: as of a call. Sizes within a factor of about 1.4 are alike.

    Raises:
        ArgumentTypeError: no function, or more arrays than a call takes.

    Example:
        >>> tw.tuned(matmul, a, b) is None
        True
    """
    own = getattr(function, "_tuned", None)  # of another door, on its own arguments
    if own is not None:
        found: Schedule | None = own(arrays, keywords)
        return found
    if not isinstance(function, TunableFunction):
        raise ArgumentTypeError(f"tw.tuned takes a function first, got {described(function)}")
    return tuned_for(function, _named(function, arrays, keywords))


def tuned_for(function: AutomaticFunction, given: Mapping[str, Any]) -> Schedule | None:
    """The same, for arguments by name."""
    known = load_tuned(machine_key(function, given.get("threads"))).get(_sizes(given))
    return None if known is None else known.best
