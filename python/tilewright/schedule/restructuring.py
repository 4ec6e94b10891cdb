"""Commands that restructure loop nests and storage further: whole reorderings, unimodular
transformations, fusion and fission, computing inside a reader's loops, folding of buffers.

They are mixed into `ScheduleCommands`, which says how a command is given and checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ..base.checks import SCHEDULE, a_list, described
from ..base.errors import ScheduleError
from .command_arguments import integer, isl_text, loop_name, name_of, text
from .receivers import CommandReceiver, Loop

__all__ = ["RestructuringCommands"]

Self = TypeVar("Self", bound="RestructuringCommands")


class RestructuringCommands(CommandReceiver):
    """The commands of this page."""

    __slots__ = ()

    def reorder(self: Self, *loops: Loop) -> Self:
        """Puts the named loops into the order given, in the places that they have together.

        Before::

            for i in range(0, N):
                for j in range(0, M):
                    for k in range(0, K):
                        C[i, j] += ...

        After ``C.reorder(k, i, j)``::

            for k in range(0, K):
                for i in range(0, N):
                    for j in range(0, M):
                        C[i, j] += ...

        Args:
            loops: two or more loops, outermost first. Loops that are not named stay where they are.
        """
        self._give("reorder", [loop_name(loop) for loop in loops])
        return self

    def transform(self: Self, loops: Sequence[Loop], matrix: Sequence[Sequence[int]]) -> Self:
        """Replaces loops by a unimodular combination of them; loop d gets row d of the matrix.

        Before::

            for t in range(0, T):
                for i in range(0, N):
                    C[t, i] = ...

        After ``C.transform([t, i], [[1, 0], [1, 1]])``::

            for t in range(0, T):
                for i in range(t, N + t):
                    C[t, i - t] = ...

        Args:
            loops: the loops, as many as the matrix has rows.
            matrix: a square integer matrix of determinant 1 or -1.
        """
        names = [
            loop_name(loop) for loop in a_list(loops, "the loops of transform", SCHEDULE, "loops")
        ]
        rows = [
            [
                integer(entry, "an entry of the matrix")
                for entry in a_list(row, "a row of the matrix of transform", SCHEDULE, "integers")
            ]
            for row in a_list(matrix, "the matrix of transform", SCHEDULE, "rows")
        ]
        size = len(names)
        if len(rows) != size or any(len(row) != size for row in rows):
            raise ScheduleError(
                f"transform of {size} loops needs a {size} x {size} matrix, got {described(matrix)}"
            )
        flat = [entry for row in rows for entry in row]
        self._give("transform", [*names, flat])
        return self

    def fuse_with(self: Self, other: CommandReceiver | str, i: Loop | None = None) -> Self:
        """Runs this computation in the loops of another one, after it in each iteration.

        Before::

            for i in range(0, N):
                B[i] = ...
            for i in range(0, N):
                C[i] = ... B[i] ...

        After ``C.fuse_with(B)``::

            for i in range(0, N):
                B[i] = ...
                C[i] = ... B[i] ...

        What was placed in the loops of this computation, after it, moves along, as with `after`:
        ``D.after(C, i)`` was given before in this example.

        Before::

            for i in range(0, N):
                B[i] = ...
            for i in range(0, N):
                C[i] = ... B[i] ...
                D[i] = ... C[i] ...

        After ``C.fuse_with(B)``::

            for i in range(0, N):
                B[i] = ...
                C[i] = ... B[i] ...
                D[i] = ... C[i] ...

        Args:
            other: the computation whose loops are shared.
            i: the innermost loop shared; the deepest that both have when it is left out.
        """
        names = [name_of(other, "a computation")]
        self._give("fuse_with", names if i is None else [*names, loop_name(i)])
        return self

    def fission(self: Self, i: Loop) -> Self:
        """Gives this computation a loop `i` of its own again (loop fission, loop distribution).

        Before::

            for i in range(0, N):
                B[i] = ...
                C[i] = ...

        After ``C.fission(i)``::

            for i in range(0, N):
                B[i] = ...
            for i in range(0, N):
                C[i] = ...

        Args:
            i: the outermost loop that is not shared any more.
        """
        self._give("fission", [loop_name(i)])
        return self

    def compute_at(self: Self, reader: CommandReceiver | str, j: Loop) -> Self:
        """Computes, inside each iteration of loop `j` of a reader, just what is read there.

        Instances that several iterations read are computed anew in each, unless `store_at` keeps
        them outside of the loop. A recurrence can be computed at a loop that reads its whole chain,
        such as prefix sums of a row at their reader's row; or at a loop inside of that one, if it
        is stored at that one, and both commands are given in one transaction.

        Before::

            for i in range(0, N + 1):
                B[i] = ...
            for i0 in range(0, ceil(N / 32)):
                for i1 in range(0, min(32, N - 32 * i0)):
                    C[i] = B[i] + B[i + 1]

        After ``B.compute_at(C, "i0")``::

            for i0 in range(0, ceil(N / 32)):
                for i in range(32 * i0, min(32 * i0 + 33, N + 1)):
                    B[i] = ...
                for i1 in range(0, min(32, N - 32 * i0)):
                    C[i] = B[i] + B[i + 1]

        Args:
            reader: the computation in whose loops this one runs; nobody outside may read it.
            j: the innermost loop of the reader that is shared.

        Raises:
            ScheduleError: the computation is an output, or is read outside of the loop.
            IllegalScheduleError: the chain of a recurrence crosses iterations of the loop; the
                error names two instances of it.
        """
        self._give("compute_at", [name_of(reader, "a computation"), loop_name(j)])
        return self

    def store_at(
        self: Self, reader: CommandReceiver | str, j: Loop, memory: str = "auto", pad: int = 0
    ) -> Self:
        """Gives this computation, placed by `compute_at`, a buffer inside loop `j` of its reader.

        The buffer is as large as what one iteration of the loop reads, and each iteration has its
        own: threads do not share it.

        Before::

            for i0 in range(0, ceil(N / 32)):
                for i in range(32 * i0, min(32 * i0 + 33, N + 1)):
                    B[i] = ...
                for i1 in range(0, min(32, N - 32 * i0)):
                    C[i] = B[i] + B[i + 1]

        After ``B.store_at(C, "i0")``::

            for i0 in range(0, ceil(N / 32)):
                B = empty(33)
                for i in range(32 * i0, min(32 * i0 + 33, N + 1)):
                    B[i - 32 * i0] = ...
                for i1 in range(0, min(32, N - 32 * i0)):
                    C[i] = B[i - 32 * i0] + B[i + 1 - 32 * i0]

        In a loop around the one given to `compute_at`, the buffer is a sliding window: each value
        is computed once, in the first iteration that reads it, and the buffer is folded to what is
        read later. After ``B.compute_at(C, "i1").store_at(C, "i0")``::

            for i0 in range(0, ceil(N / 32)):
                B = empty(2)
                for i1 in range(0, min(32, N - 32 * i0)):
                    if i1 == 0:
                        B[i % 2] = ...
                    B[(i + 1) % 2] = ...
                    C[i] = B[i % 2] + B[(i + 1) % 2]

        Strips that run in parallel (``C.parallelize("i0")``) each begin a window of their own.
        Inside a parallel or vector loop between the two, and in a GPU's kernel, iterations have no
        order, so that each computes what it reads.

        Args:
            reader: the computation given to `compute_at`.
            j: a loop of the reader, the one given to `compute_at` or one around it.
            memory: "registers", "stack", "heap", or "auto": the stack for constant sizes up to
                32 KiB, else the heap. "stack" needs a constant size of at most 256 KiB,
                "registers" one of at most 4 KiB (64 vector registers); besides, each access must
                have constant subscripts once unrolled and vector loops are gone, which is asked
                when the function is compiled. Tiles at a border, shorter than their loops, are
                kept on the stack. In a GPU's kernel "shared" and "private" (docs/gpu.md).
            pad: so many elements more along the innermost dimension, which nobody touches: rows
                that begin in another bank of a GPU's shared memory, or another set of a cache.

        Raises:
            ScheduleError: the buffer does not fit the memory; the message names its size, or the
                access and the loop to unroll or vectorize.
        """
        arguments: list[Any] = [
            name_of(reader, "a computation"),
            loop_name(j),
            text(memory, "the memory"),
        ]
        if (added := integer(pad, "the padding")) != 0:
            arguments.append(added)
        self._give("store_at", arguments)
        return self

    def private(self: Self, i: Loop, memory: str = "auto") -> Self:
        """Gives each iteration of loop `i` a buffer of its own for this computation.

        The computation stands beside its readers in that loop (`after`, `fuse_with`), and what it
        writes in one iteration is read in the same one: a scalar, a row, the values of a
        recurrence along a row. What a block writes (`tw.block`) has the loops of its call, so that
        ``T.private(i)`` names one of these. The buffer is as large as what one iteration writes and reads, and
        threads do not share it, so that the loop may be parallel.

        Where `store_in` has put the computation in a buffer of another name, its elements keep their places
        there, and so does all else that is in it: the buffer is private for all of them. Each iteration has as
        much of it as it touches, such as the 16 elements that a strip of a row takes turns in.

        Before::

            for i in range(0, N):
                for j in range(0, M):
                    B[i, j] = A[i, j] + 1
                for j in range(0, M):
                    C[i, j] = 2 * B[i, j]

        After ``B.private(i)``::

            for i in range(0, N):
                B = empty(1, M)
                for j in range(0, M):
                    B[0, j] = A[i, j] + 1
                for j in range(0, M):
                    C[i, j] = 2 * B[0, j]

        Args:
            i: a loop of this computation, or of the call that writes it, that all its readers share
                with it, and all that is in the same buffer.
            memory: as for `store_at`.

        Raises:
            ScheduleError: some reader, or what is in the same buffer, stands outside of the loop; the buffer
                does not fit the memory, or is a packed triangle or a field of records.
            IllegalScheduleError: a value is read in another iteration than the one that writes it.

        Privatization (PENCIL report, section 4.4), by command and of whole arrays.
        """
        where = text(memory, "the memory")
        self._give("private", [loop_name(i)] if where == "auto" else [loop_name(i), where])
        return self

    def inline(self: Self) -> Self:
        """Computes this computation in its readers, anew for each read; it gets no storage.

        Before::

            for i in range(0, N):
                B[i] = A[i] + 1
            for i in range(0, N):
                C[i] = 2 * B[i]

        After ``B.inline()``::

            for i in range(0, N):
                C[i] = 2 * (A[i] + 1)

        The computation is gone from the function's schedule; it stays in its declaration, which
        `Function.evaluate` follows. Outputs, recurrences, computations of several pieces and those
        read at computed subscripts (whose bounds are checked where they are stored) are refused.
        """
        self._give("inline", [])
        return self

    def set_access(self: Self, isl_map: str) -> Self:
        """Gives the access relation of this computation directly, as isl text.

        Before::

            B[i, j] = ...

        After ``B.set_access("{ B[i,j] -> buffer[j, i mod 2] }")``::

            buffer[j, i % 2] = ...
        """
        self._give("set_access", [isl_text(isl_map, "the isl map of set_access")])
        return self

    def storage_fold(
        self: Self, i: Loop | Sequence[int] | None = None, d: int | None = None
    ) -> Self:
        """Keeps `d` elements along iterator `i`: the index is taken modulo `d`.

        Before::

            B[t, i] = ...

        After ``B.storage_fold(t, 2)``::

            B[t % 2, i] = ...

        Args:
            i: the iterator that indexes the folded dimension.
                Or a fold for each dimension of the buffer, `[2, 0]`, 0 for those that stay whole.
                Without it every dimension is folded as far as values that are alive at one time
                allow, the outermost first (successive modulo), and those of which more than 64
                are alive stay whole; the schedule records the folds.
            d: elements kept, at least 1. Too few are refused, since values still needed would be
                overwritten. The smallest legal number (up to 64) when it is left out.

        Source: Lefebvre and Feautrier, "Automatic storage management for parallel programs"
        (Parallel Computing 24, 1998), section 4.
        """
        if i is None:
            if d is not None:
                raise ScheduleError(
                    f"storage_fold of {d} elements needs the iterator that is folded, "
                    f"storage_fold(i, {d})"
                )
            self._give("storage_fold", [])
            return self
        if isinstance(i, list | tuple):
            if d is not None:
                raise ScheduleError("storage_fold takes a list of folds, or an iterator and a fold")
            self._give("storage_fold", [[integer(size, "a fold") for size in i]])
            return self
        name = loop_name(i)
        self._give("storage_fold", [name] if d is None else [name, integer(d, "the fold")])
        return self

    def auto_allocate_map(self: Self) -> Self:
        """Stores this computation in a buffer of its own name and shape again.

        Before::

            buffer[i % 2] = ...

        After ``B.auto_allocate_map()``::

            B[i] = ...
        """
        self._give("auto_allocate_map", [])
        return self
