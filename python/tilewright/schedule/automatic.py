"""The schedule that the library finds by itself, and why it is as it is."""

from __future__ import annotations

from .. import _core
from ..base.checks import SCHEDULE, a_boolean, a_string
from ..base.display import Text
from ..base.errors import AnalysisLimitError, ScheduleError
from .gpu_mapping import functions_of_c, is_own_version, map_to_gpu
from .kept_schedules import Found, load_found, load_tuned, store_found
from .scheduled_functions import ScheduledFunction
from .schedules import Schedule

__all__ = [
    "AutomaticFunction",
    "automatic_target",
    "choice_for",
    "find",
    "found_for",
    "machine_key",
    "tuned_last",
]

_TARGETS = ("cpu", "cuda", "gpu-emulator")


class AutomaticFunction(ScheduledFunction):
    """A function with its schedule that finds one by itself: `auto_schedule` and `explain`."""

    def auto_schedule(self, *, target: str | None = None, tuned: bool = True) -> Schedule:
        """Finds a schedule from the dependences of the function, sets it, and returns it.

        The default schedule keeps the order of loops. This one may change it: recurrences of which
        no loop is parallel by itself are tiled in time, so that tiles on a diagonal run in parallel
        and values are used while they are in a cache; memory is kept for as many time steps as are
        needed; computations that share the loops of a recurrence get vectors and threads inside of
        them; sums are made side by side in vectors; stages of pipelines are computed where they are
        read, or row by row in strips of their readers' rows. What the default schedule does well (products
        of matrices and other contractions, rows that share a loop) it keeps.

        Before::

            for t in range(0, T + 1):
                for i in range(0, N):
                    for j in range(0, N):
                        X[t, i, j] = ... X[t - 1, i - 1, j] + X[t - 1, i + 1, j] ...

        After ``f.auto_schedule()``::

            for i0 in ...:  # diagonals of tiles
                for t0 in ...:  # parallel
                    for t1 in range(0, 8):
                        for i1 in range(0, 16):  # i + t
                            for j0 in range(0, ceil(N / 16)):
                                for j1 in range(0, 16):  # vector(16)
                                    X[t % 2, i, 16 * j0 + j1] = ...

        The schedule is one transaction of ordinary commands: it can be printed, edited, saved and
        given to other functions, and it was checked as any other. It depends on the function alone,
        not on the machine's speed, and nothing is run to find it. It replaces the commands that the
        function had, except those that state facts (`fix`, `specialize`, `assume`, `independent`,
        `atomic`). `explain` says what was decided, and why; printed, the schedule has these sentences
        as comments.

        What was found is kept beside the kernels on disk, and the next process takes it from there.
        Where `Function.tune` has measured schedules of this function on this machine, with as many
        threads, the fastest one is the answer: of the sizes that were tuned last.

        Args:
            target: "cuda" or "gpu-emulator" for loops over the blocks and threads of a GPU: the
                commands of `Function.gpu`; the function's target changes, too. "cpu" for loops of the
                CPU. Without it, a GPU's for functions whose target is "gpu-emulator", else a CPU's.
            tuned: whether the answer may be what tuning has found.

        Returns:
            the schedule that the function has now. It is empty where the loops as they are declared
            are the best that is known.

        Raises:
            ScheduleError: in a transaction; another target.
            IllegalScheduleError: the function has no legal order.

        Source: Verdoolaege et al., Polyhedral Parallel Code Generation for CUDA (TACO 2013), and
        Bondhugula et al., A Practical Automatic Polyhedral Parallelizer (PLDI 2008), whose algorithm
        isl has.
        """
        a_boolean(tuned, "tuned", SCHEDULE)
        where = automatic_target(self, target)
        self._require_no_transaction()
        _drop_own_version(self)
        schedule = choice_for(self, where, tuned and target is None)
        if target is not None:
            self.target = target
        return schedule

    def explain(self) -> Text:
        """What `auto_schedule` decides for this function: a sentence for each decision.

        Nothing changes: it is the same before and after `auto_schedule`. Sentences name loops, the
        sizes of tiles with the memory that a tile touches, and what prevents a vector, a tile or a
        parallel loop.

        Returns:
            a text with a line for each decision: the computations, a colon, the sentence.

        Raises:
            ScheduleError: in a transaction.
            IllegalScheduleError: the function has no legal order.

        Example:
            >>> print(stencil.explain())  # doctest: +SKIP
            X: tiles of 8 x 16 iterations of t x i, ...
        """
        decisions = found_for(self, automatic_target(self, None)).decisions
        return Text("\n".join(f"{about}: {text}" if about else text for about, text in decisions))


def _drop_own_version(function: AutomaticFunction) -> None:
    """A version for whole tiles that a mapping to a GPU made is no fact that its author has stated."""
    commands = function._commands()
    if not any(name.startswith("gpu") for _, name, _ in commands):
        return
    of, name, arguments = commands[-1]
    if not of and name == "specialize" and is_own_version(function, *arguments):
        Schedule(commands[:-1]).apply_to(function)


def choice_for(function: AutomaticFunction, target: str = "", tuned: bool = True) -> Schedule:
    """Sets what tuning or the planner found, as `AutomaticFunction.auto_schedule` does."""
    target = target or automatic_target(function, None)
    best = tuned_last(function) if tuned else None
    if best is None or not _takes(function, best):
        best = found_for(function, target).schedule
        if not _takes(function, best):  # of an entry that is not ours
            best = find(function, target).schedule
            best.apply_to(function)
    function._store_verdicts()
    return best


def found_for(function: AutomaticFunction, target: str = "cpu") -> Found:
    """What the planner answers: as it is kept on disk, or else found, and kept."""
    function._require_no_transaction()
    return load_found(_key_for(function, target)) or find(function, target)


def find(function: AutomaticFunction, target: str) -> Found:
    """Finds it, and keeps it for other processes."""
    if target == "cpu":
        kept, commands, decisions = _core.found_schedule(function)
        given = [*kept, ("", "transaction", commands)] if commands else kept
        found = Found(Schedule(given, decisions), tuple(decisions))
    else:
        found = _for_gpu(function)
    store_found(_key_for(function, target), found)
    return found


def _key_for(function: AutomaticFunction, target: str) -> str:
    kind = "cpu" if target == "cpu" else "gpu, tiles, groups and vectors"
    return f"{kind}\n{_core.automatic_key(function)}"


def _takes(function: AutomaticFunction, schedule: Schedule) -> bool:
    """Gives the function a schedule that was kept; False where that is refused."""
    try:
        schedule.apply_to(function)
    except (ScheduleError, AnalysisLimitError):
        return False
    return True


def machine_key(function: AutomaticFunction, threads: int | None = None) -> str:
    """What measured times depend on, beside the sizes: the function, the machine, the threads."""
    model = _core.describe_build()["model"]
    count = threads or function._threads or _core.get_num_threads()
    parts = (_core.automatic_key(function), function.cpu, model, function.target, count)
    return "\n".join(map(str, parts))


def tuned_last(function: AutomaticFunction) -> Schedule | None:
    """The fastest schedule for the sizes that were tuned last, where there were any."""
    known = load_tuned(machine_key(function))
    return max(known.values(), key=lambda each: each.order).best if known else None


def automatic_target(function: AutomaticFunction, target: str | None) -> str:
    """For which target a schedule is found: the one that is given, else by the function's own.

    Raises:
        ScheduleError: there are no schedules for it.
    """
    if target is None:
        return "gpu-emulator" if function.target == "gpu-emulator" else "cpu"
    a_string(target, "target", SCHEDULE)
    if target not in _TARGETS:
        known = ", ".join(map(repr, _TARGETS))
        raise ScheduleError(
            f"auto_schedule finds schedules for the targets {known}, got {target!r}"
        )
    return target


def _for_gpu(function: AutomaticFunction) -> Found:
    """The facts that stay, and the mapping to a GPU that is found by trying."""
    copy = function.copy()
    Schedule(_core.facts(copy)).apply_to(copy)
    called = functions_of_c(copy)
    if called:
        decisions = [("", f"the processor runs it: a GPU has no code for {', '.join(called)}")]
    else:
        map_to_gpu(copy)
        decisions = _decisions_for_gpu(copy)
    return Found(Schedule(copy._commands(), decisions), tuple(decisions))


def _decisions_for_gpu(function: AutomaticFunction) -> list[tuple[str, str]]:
    decisions = []
    placed = {
        of: arguments[0] for of, name, arguments in function._commands() if name == "compute_at"
    }
    for name in function.computations:
        tags = function[name].tags
        blocks = [loop for loop, tag in tags.items() if tag.startswith("gpu_block")]
        threads = [loop for loop, tag in tags.items() if tag.startswith("gpu_thread")]
        if blocks or threads:
            text = f"blocks along {', '.join(blocks) or 'nothing'}, threads along {', '.join(threads) or 'nothing'}"
        elif "gpu_spread" in tags.values():
            text = "all threads of a block copy what they share"
        elif name in placed:
            text = f"in the kernel of {placed[name]}"
        else:
            text = "one thread runs it, since none of its loops may run at the same time"
        decisions.append((name, text))
    return decisions
