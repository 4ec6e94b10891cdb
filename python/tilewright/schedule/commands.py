"""The commands of Layers II and III: how a computation is run and where it is stored.

A command changes the schedule of one computation in one function. It is checked at once: the change
is kept only when every read still sees the value that Layer I names (`IllegalScheduleError`
otherwise), so a function always computes what it declares. Commands return what they were called
on, so they chain.

Loops are named: at first after the computation's iterators, reduced ones last. A split of `i` makes
`i0` (outer) and `i1` (inner) unless other names are given. Wherever a loop is asked for, an
iterator or a name does.

A loop is one thing at a time: parallel, a vector, unrolled, or one of a GPU's; a second such command
for it is refused. Loops count in 64 bits. So sizes and factors of a split are at most 2**31, shifts,
factors of a skew and whatever number the commands compose to at most 2**40, and what could pass 64
bits for sizes of 2**40 is refused when code is made, unless the sizes are said to be smaller
(``tw.params("N", "N <= 100000")``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .. import _core
from ..base.checks import SCHEDULE, a_list, described, made_by
from ..base.errors import ScheduleError, ScheduleTypeError
from ..language.arrays import Array
from ..language.expressions import Expression
from ..sets.values import Map, Set
from .buffers import Buffer, BufferElement
from .command_arguments import integer, isl_text, loop_name, map_text, name_of, text
from .execution_commands import ExecutionCommands
from .gpu_commands import GpuCommands
from .loop_commands import LoopCommands
from .promises import PromiseCommands
from .questions import Questions
from .receivers import CommandReceiver, Loop, no_computation
from .restructuring import RestructuringCommands
from .scans import Scans

if TYPE_CHECKING:
    from ..functions.functions import Function

__all__ = ["ComputationHandle", "ScheduleCommands"]

Self = TypeVar("Self", bound="ScheduleCommands")


class ScheduleCommands(
    LoopCommands, ExecutionCommands, RestructuringCommands, PromiseCommands, GpuCommands
):
    """The commands; mixed into `Computation` and into the handles `f["C"]`."""

    __slots__ = ()

    # ---- order among computations ----

    def after(self: Self, other: CommandReceiver | str, i: Loop | None = None) -> Self:
        """Runs this computation after `other`, sharing its loops down to `i`.

        Before::

            for i in range(0, N):
                B[i] = ...
            for i in range(0, N):
                C[i] = ... B[i] ...

        After ``C.after(B, i)``::

            for i in range(0, N):
                B[i] = ...
                C[i] = ... B[i] ...

        What was placed in the loops of this computation, after it, moves along: where
        ``D.after(C, i)`` had put D into the loop of C, D is in the loop of B with C now.

        Before::

            for i in range(0, N):
                B[i] = ...
            for i in range(0, N):
                C[i] = ... B[i] ...
                D[i] = ... C[i] ...

        After ``C.after(B, i)``::

            for i in range(0, N):
                B[i] = ...
                C[i] = ... B[i] ...
                D[i] = ... C[i] ...

        Args:
            other: the computation that comes first.
            i: the innermost loop of `other` that both share; None shares none.
        """
        self._give("after", _place(other, i))
        return self

    def before(self: Self, other: CommandReceiver | str, i: Loop | None = None) -> Self:
        """Runs this computation before `other`, sharing its loops down to `i`; see `after`.

        Before::

            for i in range(0, N):
                C[i] = ...
            for i in range(0, N):
                B[i] = ... C[i] ...

        After ``C.before(B, i)``::

            for i in range(0, N):
                C[i] = ...
                B[i] = ... C[i] ...
        """
        self._give("before", _place(other, i))
        return self

    def then(self, other: ScheduleCommands | str, i: Loop | None = None) -> ScheduleCommands:
        """Runs `other` after this computation, sharing loops down to `i`, and returns the handle of
        `other`.

        ``A.then(B, i).then(C, i)`` makes one loop of three computations.

        Before::

            for i in range(0, N):
                A[i] = ...
            for i in range(0, N):
                B[i] = ... A[i] ...

        After ``A.then(B, i)``::

            for i in range(0, N):
                A[i] = ...
                B[i] = ... A[i] ...
        """
        self._give("then", _place(other, i))
        if isinstance(other, ScheduleCommands):
            return other
        function, _ = self._command_target()
        return ComputationHandle(function, name_of(other, "a computation"))

    def set_schedule(self: Self, isl_map: str | Map) -> Self:
        """Gives the time-space map of this computation directly, as isl text.

        Before::

            for i in range(0, N):
                for j in range(0, M):
                    C[i, j] = ...

        After ``C.set_schedule("{ C[i,j] -> [j, i] }")``::

            for j in range(0, M):
                for i in range(0, N):
                    C[i, j] = ...

        Computations that are given such maps share one time space: their instances run in
        lexicographic order of it. `Function.set_schedule` gives the maps of all of them at once.

        The names that the map gives to its dimensions are those of the loops. A loop over an
        iterator has that one's name where the map gives it none, and others are called t0, t1 and
        so on, by their positions.

        Before::

            for i in range(0, N):
                for j in range(0, M):
                    C[i, j] = ...

        After ``C.set_schedule("{ C[i,j] -> [wave = i + j, j] }")``::

            for wave in range(0, N + M - 1):
                for j in range(max(0, wave - N + 1), min(M, wave + 1)):
                    C[wave - j, j] = ...

        A map may give an instance several times (redundant computation). Each of them computes the
        value anew, and a reader takes what any of them before it has computed. So tiles overlap, and
        need nothing of each other.

        Before::

            for i in range(0, N):
                C[i] = ...

        After ``C.set_schedule("{ C[i] -> [T, i] : 8T - 1 <= i < 8T + 9 and 0 <= 8T < N }")``::

            for T in range(0, ceil(N / 8)):
                for i in range(max(0, 8 * T - 1), min(N, 8 * T + 9)):
                    C[i] = ...

        Loops that tell the copies of an instance apart may be parallel; `private` gives each of
        their iterations memory of its own. Sums have one time for each term. Commands that ask when
        an instance runs (`apply_schedule`, `compute_at`, `cache`, `storage_fold`, those of a GPU) are
        refused after such a map.

        Args:
            isl_map: each instance's time, as isl text or a `Map`; behind a dimension its tag:
                ``j(vec(8))``.

        Raises:
            ScheduleError: the text is no map; it gives an instance no time, or endlessly many, or
                two instances the same one, which the message names.
            IllegalScheduleError: a reader would come before all times of what it reads, or an
                element is overwritten while it is needed.

        Source: overlapped tiles (Krishnamoorthy et al., PLDI 2007).
        """
        self._give("set_schedule", [map_text(isl_map, "the isl map of set_schedule")])
        return self

    def apply_schedule(self: Self, isl_map: str | Map) -> Self:
        """Maps the loops that this computation has to others: composes a map with its schedule.

        Before::

            for i in range(0, N):
                for j in range(0, M):
                    C[i, j] = ...

        After ``C.apply_schedule("{ [i, j] -> [wave = i + j, j] }")``::

            for wave in range(0, N + M - 1):
                for j in range(max(0, wave - N + 1), min(M, wave + 1)):
                    C[wave - j, j] = ...

        The map starts from all loops, outermost first, in a tuple without a name. A dimension that
        is one of the loops as it was keeps its name and its tag; names that the map gives come
        first, and others are t0, t1 and so on, by their positions.

        Args:
            isl_map: from the loops to the new ones, as isl text or a `Map`; behind a dimension its
                tag: ``j(vec(8))``.

        Raises:
            ScheduleError: the map starts from something else than the loops; it makes several
                iterations of one, none, or one of two; another loop is made of one that is
                parallel, a vector, unrolled or a GPU's.
        """
        self._give("apply_schedule", [map_text(isl_map, "the isl map of apply_schedule")])
        return self

    # ---- copies and partial results: computations of their own ----

    def cache(
        self,
        array: CommandReceiver | Array | str,
        j: Loop,
        name: str | None = None,
        memory: str = "auto",
        order: Sequence[int] | None = None,
        pad: int = 0,
        stages: int = 1,
        keeps: str = "elements",
    ) -> ScheduleCommands:
        """Keeps what one iteration of loop `j` touches of an array in a packed buffer of its own.

        An array that this computation reads is copied in; the computation itself is computed in
        the buffer and copied out at the end of the iteration. Both are ordinary computations,
        placed by `compute_at` and `store_at`; the footprint is found by isl (one box around all
        accesses), so it holds no more than is touched, also at the borders.

        Before::

            for i0 in range(0, ceil(N / 32)):
                for i1 in range(0, min(32, N - 32 * i0)):
                    C[i] = A[i] + A[i + 1]

        After ``C.cache(A, "i0")``::

            for i0 in range(0, ceil(N / 32)):
                A_cache = empty(33)
                for i in range(32 * i0, min(32 * i0 + 33, N + 1)):
                    A_cache[i - 32 * i0] = A[i]
                for i1 in range(0, min(32, N - 32 * i0)):
                    C[i] = A_cache[i1] + A_cache[i1 + 1]

        Caching what a computation writes gives its loops inside `j` to a local computation.

        Before::

            for i0 in range(0, ceil(N / 4)):
                for i1 in range(0, min(4, N - 4 * i0)):
                    for k in range(0, K):
                        C[4 * i0 + i1] += A[4 * i0 + i1, k]

        After ``C.cache(C, "i0")``::

            for i0 in range(0, ceil(N / 4)):
                C_local = empty(4)
                for i1 in range(0, min(4, N - 4 * i0)):
                    for k in range(0, K):
                        C_local[i1] += A[4 * i0 + i1, k]
                for i1 in range(0, min(4, N - 4 * i0)):
                    C[4 * i0 + i1] = C_local[i1]

        Where loops over reduced iterators stand outside (``k0`` of a split), each of their
        iterations computes a partial result in the buffer, which is added at its end, as `rfactor`
        would.

        With ``keeps="values"``, the buffer holds what the computation makes of the elements that it
        reads, if that depends on the place of each element alone: it is computed once for an
        iteration of `j`, not each time that the element is read.

        Before::

            for i0 in range(0, ceil(N / 32)):
                for i1 in range(0, min(32, N - 32 * i0)):
                    for k in range(0, K):
                        C[i] += (A[k] - m) * B[i, k]

        After ``C.cache(A, "i0", keeps="values")``::

            for i0 in range(0, ceil(N / 32)):
                A_cache = empty(K)
                for k in range(0, K):
                    A_cache[k] = A[k] - m
                for i1 in range(0, min(32, N - 32 * i0)):
                    for k in range(0, K):
                        C[i] += A_cache[k] * B[i, k]

        In a GPU's kernel, threads can copy what later iterations of `j` read while they work on
        this one: with `stages` buffers, iteration `j` reads number ``j % stages`` of them, and what
        iteration ``j + stages - 1`` reads is on its way into another one. They wait for each other
        once an iteration, before they begin to read, and not a second time, after they have read.

        Before::

            kernel:  # 32 threads a block
                for i0 in range(0, ceil(N / 32)):  # gpu_block_x
                    for t in range(0, T):
                        for i1 in range(0, min(32, N - 32 * i0)):  # gpu_thread_x
                            C[t, i] = A[t, i] + A[t, i + 1]

        After ``C.cache(A, "t", memory="shared", stages=2)``::

            kernel:  # 32 threads a block
                for i0 in range(0, ceil(N / 32)):  # gpu_block_x
                    for t in range(0, T):
                        A_cache = empty(1, 33)  # 2 stages
                        for i in range(t, t + 1):  # gpu_spread
                            for j in range(32 * i0, min(32 * i0 + 33, N + 1)):  # gpu_spread
                                A_cache[0, j - 32 * i0] = A[t, j]
                        for i1 in range(0, min(32, N - 32 * i0)):  # gpu_thread_x
                            C[t, i] = A_cache[0, i1] + A_cache[0, i1 + 1]

        Args:
            array: an input or computation that this one reads, or this computation itself.
            j: the loop of this computation; each iteration fills the buffer anew.
            name: of the copy; ``A_cache``, or ``C_local`` for the computation itself, when it is
                left out.
            memory: "registers", "stack", "heap", "shared", "private" or "auto" (see `store_at`).
            order: the dimensions of the array in the order in which the buffer has them, outermost
                first; ``[1, 0]`` packs the transpose.
            pad: so many elements more along the buffer's innermost dimension (see `store_at`).
            stages: how many of the buffer there are: 1, or 2 to 8 in memory "shared", for copies
                that are under way while threads work. Devices from sm_80 on copy without the
                threads' registers (cp.async); on others, and where elements change places, threads
                load before they work and store afterwards.
            keeps: "elements", or "values" for what is computed from them: the largest part of the
                expression that has floating-point numbers, reads an element of the array with one
                iterator for each dimension, and uses no other iterators; if nothing is computed,
                the element. If there are several, as in ``A[i, k] * A[j, k]``, the first one as they
                are written: others stay as they are. The buffer has the type of that part.

        Raises:
            ScheduleError: what is said in `store_at`; with several stages, when the function is
                compiled, a loop `j` whose iterations do not come one after the other, or an array
                that is written while the loop runs.

        Returns:
            The handle of the copy, to schedule its loops. The loops of `C_local` are those that
            this computation had inside `j`, with their tags; it keeps those of them that copy out.
        """
        function, _ = self._command_target()
        before = set(function.computations)
        positions = (
            []
            if order is None
            else [
                integer(entry, "an entry of order")
                for entry in a_list(order, "the order of cache", SCHEDULE, "integers")
            ]
        )
        arguments: list[Any] = [
            name_of(array, "an array"),
            loop_name(j),
            text(name, "the name of the copy") if name is not None else "",
            text(memory, "the memory"),
            positions,
        ]
        added, copies = integer(pad, "the padding"), integer(stages, "the number of stages")
        kept = text(keeps, "what is kept")
        later = [added, copies, "" if kept == "elements" else kept]
        while later and later[-1] == (0, 1, "")[len(later) - 1]:
            later.pop()
        arguments += later
        self._give("cache", arguments)
        (copy,) = set(function.computations) - before
        return ComputationHandle(function, copy)

    def rfactor(self, k: Loop, name: str | None = None) -> ScheduleCommands:
        """Factors a reduction through partial results, one for each iteration of loop `k`.

        The partial results are a computation of their own, whose loops over `k` can be parallel or
        vectors; the reduction then adds them up. Sums are reassociated, as a reduction allows.
        There is one for each value of `k` that has terms. Of a loop that has few values whatever
        is reduced, the inner one of a split by 8 for instance, there is one for each of them;
        those without terms change nothing.

        Before::

            for k0 in range(0, ceil(K / 64)):
                for k1 in range(0, min(64, K - 64 * k0)):
                    C += A[64 * k0 + k1]

        After ``C.rfactor("k0")``::

            for k0 in range(0, ceil(K / 64)):
                for k1 in range(0, min(64, K - 64 * k0)):
                    C_partial[k0] += A[64 * k0 + k1]
            for k0 in range(0, ceil(K / 64)):
                C += C_partial[k0]

        Args:
            k: a loop over reduced iterators only, with values from 0 on (`shift` one that has
                others): they number the partial results.
            name: of the partial results; ``C_partial`` when it is left out.

        Returns:
            The handle of the partial results, to schedule them.
        """
        names = [] if name is None else [text(name, "the name of the partial results")]
        self._give("rfactor", [loop_name(k), *names])
        function, own = self._command_target()
        return ComputationHandle(function, name if name is not None else f"{own}_partial")

    # ---- where it is stored ----

    def store_in(
        self: Self,
        buffer: str | Buffer | BufferElement | Expression,
        index: Sequence[Any] | Expression | int | None = None,
    ) -> Self:
        """Stores element ``C[i, j]`` in another place: a permutation or a projection of its
        indices.

        Before::

            B[i, j] = ...

        After ``B.store_in("buffer[j, i]")``::

            buffer[j, i] = ...

        A projection (``B.store_in("row[j]")``) keeps less than the whole array, and is legal when
        no element is overwritten while it is needed.

        Of a triangle 0 <= j <= i, ``i*(i+1)//2 + j`` keeps the rows one behind the other, in half of
        the room (packed storage).

        Before::

            for i in range(0, N):
                for j in range(0, i + 1):
                    B[i, j] = ...

        After ``B.store_in("buffer[i*(i+1)//2 + j]")``::

            for i in range(0, N):
                for j in range(0, i + 1):
                    buffer[i * (i + 1) // 2 + j] = ...

        It is no affine subscript and the only such one: the row is an iterator, perhaps shifted
        (``i*(i-1)//2 + j`` without the diagonal), and stands last, behind other subscripts perhaps
        (``buffer[b, i*(i+1)//2 + j]``). What is legal is asked of the elements ``[i, j]``. Of an
        upper triangle, i <= j, ``j*(j+1)//2 + i`` keeps columns. Arrays of the caller are not packed.

        In an input, computation is in place.

        Before::

            for i in range(0, N):
                for j in range(0, M):
                    C[i, j] = 2 * A[i, j]

        After ``C.store_in(A[i, j])``::

            for i in range(0, N):
                for j in range(0, M):
                    A[i, j] = 2 * A[i, j]

        The call then overwrites the array that it is given for `A`; when `C` is an output, it
        returns that array, so the shapes are equal, and elements that `C` does not define stay as
        they were. It is refused where an element of `A` is overwritten before it is read.

        Args:
            buffer: ``"name[index, ...]"`` in terms of the computation's iterators, an element
                ``buffer[i, j]`` of a `Buffer` or ``A[i, j]`` of an input, or a `Buffer`.
            index: with a `Buffer`: the subscripts, affine in the iterators.

        Raises:
            ScheduleError: the buffer has another type, rank or shape than what is stored needs; an
                element of a packed triangle is outside of it.
            IllegalScheduleError: an element is overwritten while it is needed.
        """
        if isinstance(buffer, BufferElement):
            element = buffer
            buffer, index = element.buffer, element.index
        if isinstance(buffer, Buffer):
            if index is None:
                raise ScheduleError(f"store_in({buffer!r}, ...) needs the subscripts as a list")
            items = index if isinstance(index, list | tuple) else [index]
            subscripts = ", ".join(_subscript(item) for item in items)
            arguments: list[Any] = [f"{buffer.name}[{subscripts}]", [str(e) for e in buffer.shape]]
            if buffer.record is not None:
                record, offset, size = buffer.record
                arguments += [record, [offset, size]]
            self._give("store_in", arguments)
        else:
            if index is not None:
                raise ScheduleError('with a text, subscripts stand in it: store_in("buffer[j, i]")')
            if not isinstance(buffer, str | Expression):
                raise ScheduleTypeError(
                    'store_in takes an element such as "buffer[j, i]", buffer[j, i] of a tw.Buffer '
                    f"or A[i, j] of an input, got {described(buffer)}"
                )
            self._give("store_in", [isl_text(str(buffer), "the place of store_in")])
        return self


def _subscript(item: object) -> str:
    if not isinstance(item, str | Expression):
        return str(integer(item, "a subscript of a buffer"))
    return isl_text(str(item), "a subscript of a buffer")


def _place(other: CommandReceiver | str, i: Loop | None) -> list[str]:
    name = name_of(other, "a computation")
    return [name] if i is None else [name, loop_name(i)]


class ComputationHandle(ScheduleCommands, Questions, Scans):
    """One computation in one function: ``f["C"]``. Has all commands."""

    def __init__(self, function: _core.Function, name: str) -> None:
        made_by('f["C"]', function, _core.Function, "tw.ComputationHandle", SCHEDULE)
        if not isinstance(name, str) or name not in function.computations:
            raise ScheduleError(no_computation(function, name))
        self._function = function
        self._name = name

    @property
    def name(self) -> str:
        """The computation's name."""
        return self._name

    @property
    def function(self) -> Function:
        """The function that it belongs to."""
        return cast("Function", self._function)

    @property
    def domain(self) -> Set:
        """The index set, as of a declared computation."""
        return Set._of(_core.index_set(self._function, self._name))

    @property
    def loops(self) -> tuple[str, ...]:
        """The names of its loops, outermost first."""
        return tuple(name for name, _ in self._own_loops())

    @property
    def tags(self) -> dict[str, str]:
        """The loops that are not sequential: name -> "parallel", "vector(8)" or "unroll(4)"."""
        return {name: tag for name, tag in self._own_loops() if tag}

    def _own_loops(self) -> list[tuple[str, str]]:
        if self._name not in self._function.computations:
            raise ScheduleError(no_computation(self._function, self._name))
        return self._function._loops(self._name)

    def _command_target(self) -> tuple[_core.Function, str]:
        return self._function, self._name

    def __repr__(self) -> str:
        where = f"{self._name} in {self._function.name}"
        if self._name not in self._function.computations:
            return f"<{where}: inside of its readers>"
        loops = ", ".join(f"{name} ({tag})" if tag else name for name, tag in self._own_loops())
        return f"<{where}: loops {loops or 'none'}>"
