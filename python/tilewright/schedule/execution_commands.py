"""Commands that say how the iterations of a loop run: on threads, as vectors, written out, and what
they do for the caches.
"""

from __future__ import annotations

from typing import TypeVar

from ..base.errors import ScheduleError
from ..language.arrays import Array
from .command_arguments import integer, loop_name, name_of, new_names, text
from .partial_results import fold_in_lanes, fold_in_threads, require_lanes
from .receivers import CommandReceiver, Loop

__all__ = ["ExecutionCommands"]

Self = TypeVar("Self", bound="ExecutionCommands")


class ExecutionCommands(CommandReceiver):
    """The commands of this page."""

    __slots__ = ()

    def parallelize(
        self: Self,
        i: Loop,
        *inner: Loop | int,
        schedule: str | None = None,
        chunk: int | None = None,
        partial: int | None = None,
    ) -> Self:
        """Runs the iterations of loop `i` on several threads; of several loops, all of theirs.

        Before::

            for i in range(0, N):
                C[i] = ...

        After ``C.parallelize(i)``::

            parallel for i in range(0, N):
                C[i] = ...

        Each thread gets one range of equal size. The same threads get the same ranges whenever the
        extents are the same, so that a thread finds in the next loop, or the next call, what it
        wrote in its own memory (first touch); a thread that is done takes pieces off the ends of
        the others' ranges. Of loops inside each other that are parallel, the outermost
        runs on threads, unless they are given together: ``C.parallelize(i, j)`` counts the
        iterations of both through, so that few long rows keep many threads busy too. Nothing but
        the loops may stand between them, and the bounds of one may not depend on another.

        The terms of a reduction meet in one element, so a loop over them is refused unless
        `partial` gives each thread something of its own to add to.

        Before::

            for k in range(0, K):
                C += A[k]

        After ``C.parallelize(k, partial=1024)``::

            parallel for k0 in range(0, ceil(K / 1024)):
                for k1 in range(0, min(1024, K - 1024 * k0)):
                    C_partial[k0] += A[1024 * k0 + k1]
            for k0 in range(0, ceil(K / 1024)):
                C += C_partial[k0]

        Args:
            i: the loop.
            *inner: the loops directly inside that run as one with it, outermost first. As printed
                schedules have it, the words "static" and "dynamic" and an integer behind them are
                `schedule` and `chunk`.
            schedule: "static" (the default) deals out iterations before the loop runs; "dynamic"
                gives the next ones to whoever is free, which pays where some take longer than
                others: triangles, sparse rows.
            chunk: how many iterations are dealt out at a time. Without it, static ones come in one
                range for each thread, dynamic ones one by one.
            partial: of a loop over terms: how many iterations of it make a partial result, which
                threads compute. It stands for three commands, given together: `split` by this
                number, `rfactor` of the loop over blocks into ``C_partial``, and this one. Sums,
                and folds declared associative, with `commutative=False` too: blocks keep the
                order of their terms.

        Raises:
            IllegalScheduleError: iterations touch one element, or one needs what another computes.
        """
        if schedule is not None:
            schedule = text(schedule, "the schedule of parallelize")
        loops = [loop_name(i)]
        rest = list(inner)
        while rest and not _is_dealing(rest[0]):
            loops.append(loop_name(rest.pop(0)))
        given = [option for option in (schedule, chunk) if option is not None]
        if len(rest) > 2 or (rest and (given or not isinstance(rest[0], str))):
            raise ScheduleError(
                "expected parallelize(i, ..., schedule='static' or 'dynamic', chunk=None), got "
                f"parallelize({', '.join(map(str, (i, *inner)))})"
            )
        if rest:
            schedule = str(rest[0])
            chunk = integer(rest[1], "the chunk") if len(rest) > 1 else None
        if schedule not in (None, "static", "dynamic"):
            raise ScheduleError(f"the schedule must be 'static' or 'dynamic', got {schedule!r}")
        options: list[str | int] = []
        if schedule == "dynamic" or chunk is not None:
            options.append(schedule or "static")
        if chunk is not None:
            options.append(integer(chunk, "the chunk"))
        if partial is not None:
            if len(loops) > 1:
                raise ScheduleError(
                    f"partial results are those of one loop, not of {', '.join(loops)}; "
                    f"parallelize({loops[0]!r}, partial={partial!r})"
                )
            terms = integer(partial, "the terms of a partial result")
            fold_in_threads(*self._command_target(), loops[0], terms, options)
            return self
        self._give("parallelize", [*loops, *options])
        return self

    def stream(self: Self) -> Self:
        """Stores the elements past the caches, for results that nobody reads soon.

        Before::

            for i in range(0, N):
                C[i] = ...

        After ``C.vectorize(i, 8).stream()``::

            for i0 in range(0, ceil(N / 8)):
                vector for i1 in range(0, min(8, N - 8 * i0)):
                    C[8 * i0 + i1] = ...  # stream

        A plain store reads its line of memory before it changes part of it, and takes the place of
        something else in the caches. A result that is larger than they are is written faster
        without; one that is read again by the next loop is not. So arrays of less than 6 MiB are
        stored plainly. Only vector stores go past the caches, and only where the address is a
        multiple of 16 bytes (NumPy's arrays begin at one; rows of odd length may not). What the
        kernel's threads stored so is visible when the loop ends.

        Refused for reductions, whose elements are read again for each term: `cache` lets them add
        up elsewhere first.
        """
        self._give("stream", [])
        return self

    def prefetch(
        self: Self, array: CommandReceiver | Array | str, i: Loop, distance: int = 1
    ) -> Self:
        """Asks for what an iteration of loop `i` touches of `array` some iterations ahead.

        Before::

            for i in range(0, N):
                for j in range(0, M):
                    C[i, j] = 2 * A[i, j]

        After ``C.prefetch(A, i, 4)``::

            for i in range(0, N):  # prefetch A 4 ahead
                for j in range(0, M):
                    C[i, j] = 2 * A[i, j]

        For accesses that the processor does not foresee itself: columns, blocks, several rows at
        once. Each load of `array` in the loop, and each store to it that is not streamed, is
        accompanied by one request, at the place that its affine subscripts have so many iterations
        later, so a vector loop inside keeps them few; what lies on one cache line shares one, and
        so does what is another iteration's, at most a quarter of `distance` away. What is outside
        of the array does no harm. Where the loop is cut later, the inner loop asks, or, of vectors
        and unrolled copies, the outer one for whole ones of them. (Halide: prefetch.)

        Args:
            array: an input or computation that this one reads.
            i: a loop that is neither a vector loop nor unrolled.
            distance: iterations ahead; negative where subscripts run backwards.
        """
        name = name_of(array, "an array")
        self._give("prefetch", [name, loop_name(i), integer(distance, "the distance")])
        return self

    def vectorize(
        self: Self,
        i: Loop,
        v: int | None = None,
        i0: Loop | None = None,
        i1: Loop | None = None,
        *,
        partial: bool | int = False,
    ) -> Self:
        """Runs `v` iterations of loop `i` in one vector operation; a shorter rest runs masked or
        one by one.

        Before::

            for i in range(0, N):
                C[i] = ...

        After ``C.vectorize(i, 8)``::

            for i0 in range(0, ceil(N / 8)):
                vector for i1 in range(0, min(8, N - 8 * i0)):
                    C[8 * i0 + i1] = ...

        A loop over reduced iterators may be a vector loop: its lanes sum up beside each other, and
        are combined in the end, unless the reduction is `ordered`. Of two vector loops directly
        inside each other, the inner one of constant extent, all iterations are lanes:
        ``C.vectorize(j, 8).vectorize(c, 3)`` makes vectors of the 24 channels of 8 pixels.

        The lanes of a fold (`tw.fold`, `tw.argmax`) need states of their own, which `partial` gives
        to any reduction.

        Before::

            for k in range(0, K):
                C += A[k]

        After ``C.vectorize(k, 8, partial=True)``::

            vector for k1 in range(0, min(8, K)):
                C_partial[k1] = 0
            for k0 in range(0, ceil(K / 8)):
                vector for k1 in range(0, min(8, K - 8 * k0)):
                    C_partial[k1] += A[8 * k0 + k1]
            for k1 in range(0, min(8, K)):
                C += C_partial[k1]

        Args:
            i: the loop. It is split by `v` unless it has that constant extent already.
            v: lanes; may be left out for a loop of constant extent, such as the whole loop of a
                copy made by `cache`.
            i0: name of the loop over vectors.
            i1: name of the vector loop.
            partial: of a loop over terms: True gives each lane a partial result, ``C_partial``, by
                `split`, `rfactor` and this command, given together; of `v` terms beside each other
                each lane takes one. A number gives each lane so many terms that follow each other,
                which a fold with `commutative=False` needs.
        """
        if partial is not False:
            if i0 is not None or i1 is not None:
                raise ScheduleError("vectorize with partial= names the new loops itself")
            terms = None if partial is True else integer(partial, "the terms of a lane")
            lanes = integer(require_lanes(v), "the size")
            fold_in_lanes(*self._command_target(), loop_name(i), lanes, terms)
            return self
        self._tag_strip("vectorize", i, v, i0, i1)
        return self

    def unroll(
        self: Self, i: Loop, v: int | None = None, i0: Loop | None = None, i1: Loop | None = None
    ) -> Self:
        """Writes out `v` iterations of loop `i` one after the other.

        Before::

            for i in range(0, N):
                C[i] = ...

        After ``C.unroll(i, 2)``, when N is even::

            for i0 in range(0, N // 2):
                C[2 * i0] = ...
                C[2 * i0 + 1] = ...

        Args:
            i: the loop. It is split by `v` unless it has that constant extent already.
            v: iterations; may be left out for a loop of constant extent, such as the whole loop
                of a copy made by `cache`.
            i0: name of the outer loop.
            i1: name of the unrolled loop.
        """
        self._tag_strip("unroll", i, v, i0, i1)
        return self

    def _tag_strip(
        self, command: str, i: Loop, v: int | None, i0: Loop | None, i1: Loop | None
    ) -> None:
        loop = loop_name(i)
        if v is None:
            if i0 is not None or i1 is not None:
                raise ScheduleError(
                    f"{command} of the whole loop {loop} makes no new loops to name"
                )
            self._give(command, [loop])
        else:
            self._give(command, [loop, integer(v, "the size"), *new_names(loop, i0, i1)])


def _is_dealing(argument: object) -> bool:
    """Whether it can be no further loop of parallelize: its schedule or chunk."""
    return isinstance(argument, int) or (
        isinstance(argument, str) and argument in ("static", "dynamic")
    )
