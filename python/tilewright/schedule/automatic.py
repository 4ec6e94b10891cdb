"""The schedule that the library finds by itself, and why it is as it is."""

from __future__ import annotations

from typing import TypeVar, cast

from .. import _core
from ..base.display import Text
from .schedules import Replayable, Schedule

__all__ = ["AutomaticScheduling"]

Self = TypeVar("Self", bound="AutomaticScheduling")


class AutomaticScheduling:
    """`auto_schedule` and `explain`; mixed into functions."""

    __slots__ = ()

    def auto_schedule(self) -> Schedule:
        """Finds a schedule from the dependences of the function, sets it, and returns it.

        The default schedule keeps the order of loops. This one may change it: recurrences of which
        no loop is parallel by itself are tiled in time, so that tiles on a diagonal run in parallel
        and values are used while they are in a cache; memory is kept for as many time steps as are
        needed; computations that share the loops of a recurrence get vectors and threads inside of
        them; sums are made side by side in vectors. What the default schedule does well (products
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
        `atomic`). `explain` says what was decided, and why.

        Returns:
            the schedule that the function has now. It is empty where the loops as they are declared
            are the best that is known.

        Raises:
            ScheduleError: in a transaction.
            IllegalScheduleError: the function has no legal order.

        Source: Verdoolaege et al., Polyhedral Parallel Code Generation for CUDA (TACO 2013), and
        Bondhugula et al., A Practical Automatic Polyhedral Parallelizer (PLDI 2008), whose algorithm
        isl has.
        """
        kept, commands, _ = _core.found_schedule(cast(_core.Function, self))
        found = [*kept, ("", "transaction", commands)] if commands else kept
        Schedule(found).apply_to(cast(Replayable, self))
        return Schedule(found)

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
        decisions = _core.found_schedule(cast(_core.Function, self))[2]
        return Text("\n".join(f"{about}: {text}" if about else text for about, text in decisions))
