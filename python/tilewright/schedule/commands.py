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

import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from .. import _core
from ..base.errors import IllegalScheduleError, ScheduleError
from ..base.source import caller_location
from ..language.expressions import Expression
from .buffers import Buffer, BufferElement
from .command_arguments import integer, loop_name, name_of
from .gpu_commands import GpuCommands
from .promises import PromiseCommands
from .restructuring import RestructuringCommands

if TYPE_CHECKING:
    from ..functions.functions import Function
    from ..language.computations import Array

__all__ = ["ComputationHandle", "ScheduleCommands"]

Loop: TypeAlias = str | Expression
Self = TypeVar("Self", bound="ScheduleCommands")

#: Of a computation or input: its functions, the oldest first, each under a number of its own.
_Owners: TypeAlias = "dict[int, dict[int, weakref.ref[Function]]]"
_owners: _Owners = {}


def register_owner(function: Function, identities: Iterable[int]) -> None:
    """Remembers which computations belong to a function, for commands called on a computation, as
    long as the function is there."""
    owned = tuple(identities)

    # It may be called at any time, also in the middle of what is below, and in another thread: so
    # each step leaves the table whole. Bound early: at the end, the module's names may be gone.
    def forget(dead: weakref.ref[Function], owners: _Owners = _owners) -> None:
        for identity in owned:
            known = owners.get(identity, {})
            known.pop(id(dead), None)
            if not known and (removed := owners.pop(identity, None)):
                owners[identity] = removed  # somebody has come meanwhile

    owner = weakref.ref(function, forget)
    for identity in owned:
        known = _owners.get(identity, {})
        known[id(owner)] = owner
        _owners[identity] = known


def owners_of(identity: int) -> list[Function]:
    """The functions that a computation or input belongs to, the oldest first."""
    owners = list(_owners.get(identity, {}).values())
    return [function for owner in owners if (function := owner()) is not None]


def _new_names(loop: str, outer: Loop | None, inner: Loop | None) -> list[str]:
    """The names of the two loops of a split, or nothing where both are left to their defaults."""
    if outer is None and inner is None:
        return []
    return [
        f"{loop}0" if outer is None else loop_name(outer),
        f"{loop}1" if inner is None else loop_name(inner),
    ]


class ScheduleCommands(RestructuringCommands, PromiseCommands, GpuCommands):
    """The commands; mixed into `Computation` and into the handles `f["C"]`."""

    __slots__ = ()

    def _command_target(self) -> tuple[Function, str]:
        """The function whose schedule changes, and the computation's name.

        Raises:
            ScheduleError: when the computation belongs to no function yet, or to several.
        """
        handle: _core.Computation = getattr(self, "_handle")  # noqa: B009
        return command_target_of(handle)

    def _give(self, command: str, arguments: Sequence[Any]) -> None:
        function, name = self._command_target()
        try:
            function._apply(name, command, list(arguments), caller_location())
        except IllegalScheduleError as error:
            error.function = function
            raise

    # ---- loops ----

    def split(self: Self, i: Loop, s: int, i0: Loop | None = None, i1: Loop | None = None) -> Self:
        """Splits loop `i` into blocks of `s` iterations; the last block may be shorter.

        Before::

            for i in range(0, N):
                C[i] = ...

        After ``C.split(i, 32)``::

            for i0 in range(0, ceil(N / 32)):
                for i1 in range(0, min(32, N - 32 * i0)):
                    C[32 * i0 + i1] = ...

        Of a parallel loop the loop over blocks is parallel; a vector loop, an unrolled one and the
        loops of a GPU's blocks and threads are cut before they are made that.

        Args:
            i: the loop.
            s: iterations in a block, at least 1 and at most 2**31.
            i0: name of the loop over blocks.
            i1: name of the loop in a block.
        """
        loop = loop_name(i)
        self._give("split", [loop, integer(s, "the size of a block"), *_new_names(loop, i0, i1)])
        return self

    def tile(self: Self, *arguments: Loop | int, **names: Loop | None) -> Self:
        """Cuts two or three neighbouring loops into tiles: ``tile(i, j, t1, t2, i0, j0, i1, j1)``.

        Before::

            for i in range(0, N):
                for j in range(0, M):
                    C[i, j] = ...

        After ``C.tile(i, j, 32, 64)``::

            for i0 in range(0, ceil(N / 32)):
                for j0 in range(0, ceil(M / 64)):
                    for i1 in range(0, min(32, N - 32 * i0)):
                        for j1 in range(0, min(64, M - 64 * j0)):
                            C[32 * i0 + i1, 64 * j0 + j1] = ...

        Args:
            *arguments: the loops, outermost first; as many tile sizes; and, where wanted, the names
                of all new loops: first those over tiles, then those in a tile.
            **names: `i0`, `j0`, `k0`, `i1`, `j1`, `k1`: names of single new loops.
        """
        loops: list[str] = []
        rest = list(arguments)
        while rest and isinstance(rest[0], str | Expression):
            loops.append(loop_name(rest.pop(0)))
        count = len(loops)
        sizes = [integer(size, "a tile size") for size in rest[:count]]
        new = [loop_name(name) for name in rest[count:]]
        if count not in (2, 3) or len(sizes) != count or len(new) not in (0, 2 * count):
            raise ScheduleError(
                "expected tile(i, j, t1, t2, i0=None, j0=None, i1=None, j1=None): two or three "
                "loops, as many sizes, and names for all new loops or none; got "
                f"{_call_text(arguments)}"
            )
        if names:
            if not new:
                new = [f"{loop}0" for loop in loops] + [f"{loop}1" for loop in loops]
            keys = [f"{letter}{level}" for level in "01" for letter in "ijk"[:count]]
            for key, name in names.items():
                if key not in keys:
                    raise ScheduleError(
                        f"tile has no argument {key}; the names of new loops are {', '.join(keys)}"
                    )
                if name is not None:
                    new[keys.index(key)] = loop_name(name)
        self._give("tile", [*loops, *sizes, *new])
        return self

    def interchange(self: Self, i: Loop, j: Loop) -> Self:
        """Exchanges two loops of the nest.

        Before::

            for i in range(0, N):
                for j in range(0, M):
                    C[i, j] = ...

        After ``C.interchange(i, j)``::

            for j in range(0, M):
                for i in range(0, N):
                    C[i, j] = ...

        Tags (parallel, vector, unrolled) stay with their loops.
        """
        self._give("interchange", [loop_name(i), loop_name(j)])
        return self

    def reverse(self: Self, i: Loop) -> Self:
        """Runs loop `i` backwards.

        Before::

            for i in range(0, N):
                C[i] = ...

        After ``C.reverse(i)``::

            for i in range(-N + 1, 1):
                C[-i] = ...
        """
        self._give("reverse", [loop_name(i)])
        return self

    def shift(self: Self, i: Loop, s: int) -> Self:
        """Delays loop `i` by `s` iterations, which lets a consumer share a loop with its producer.

        Before::

            for i in range(0, N):
                C[i] = ...

        After ``C.shift(i, 2)``::

            for i in range(2, N + 2):
                C[i - 2] = ...

        Args:
            i: the loop.
            s: how many iterations later (negative: earlier).
        """
        self._give("shift", [loop_name(i), integer(s, "the shift")])
        return self

    def skew(self: Self, i: Loop, j: Loop, f: int = 1) -> Self:
        """Skews loop `j` by `i`: its new value is ``j + f * i``; it keeps its name.

        Before::

            for i in range(0, N):
                for j in range(0, M):
                    C[i, j] = ...

        After ``C.skew(i, j)``::

            for i in range(0, N):
                for j in range(i, i + M):
                    C[i, j - i] = ...

        Args:
            i: the outer loop, which does not change.
            j: the loop that is skewed.
            f: the factor.
        """
        self._give("skew", [loop_name(i), loop_name(j), integer(f, "the factor")])
        return self

    # ---- order among computations ----

    def after(self: Self, other: ScheduleCommands | str, i: Loop | None = None) -> Self:
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

    def before(self: Self, other: ScheduleCommands | str, i: Loop | None = None) -> Self:
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
        return function[other]

    # ---- how a loop runs ----

    def parallelize(
        self: Self,
        i: Loop,
        *inner: Loop | int,
        schedule: str | None = None,
        chunk: int | None = None,
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
        """
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
        self: Self, array: ScheduleCommands | Array | str, i: Loop, distance: int = 1
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
        self: Self, i: Loop, v: int | None = None, i0: Loop | None = None, i1: Loop | None = None
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

        Args:
            i: the loop. It is split by `v` unless it has that constant extent already.
            v: lanes; may be left out for a loop of constant extent, such as the whole loop of a
                copy made by `cache`.
            i0: name of the loop over vectors.
            i1: name of the vector loop.
        """
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
            self._give(command, [loop, integer(v, "the size"), *_new_names(loop, i0, i1)])

    def set_schedule(self: Self, isl_map: str) -> Self:
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
        lexicographic order of it.
        """
        if not isinstance(isl_map, str):
            raise ScheduleError(f"set_schedule takes an isl map as text, got {isl_map!r}")
        self._give("set_schedule", [isl_map])
        return self

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
            ScheduleError: the buffer has another type, rank or shape than what is stored needs.
            IllegalScheduleError: an element is overwritten while it is needed.
        """
        if isinstance(buffer, BufferElement):
            element = buffer
            buffer, index = element.buffer, element.index
        if isinstance(buffer, Buffer):
            if index is None:
                raise ScheduleError(f"store_in({buffer!r}, ...) needs the subscripts as a list")
            items = index if isinstance(index, list | tuple) else [index]
            subscripts = ", ".join(map(str, items))
            arguments: list[Any] = [f"{buffer.name}[{subscripts}]", [str(e) for e in buffer.shape]]
            if buffer.record is not None:
                record, offset, size = buffer.record
                arguments += [record, [offset, size]]
            self._give("store_in", arguments)
        else:
            if index is not None:
                raise ScheduleError('with a text, subscripts stand in it: store_in("buffer[j, i]")')
            self._give("store_in", [str(buffer)])
        return self


def _place(other: ScheduleCommands | str, i: Loop | None) -> list[str]:
    name = name_of(other, "a computation")
    return [name] if i is None else [name, loop_name(i)]


def _is_dealing(argument: object) -> bool:
    """Whether it can be no further loop of parallelize: its schedule or chunk."""
    return isinstance(argument, int) or (
        isinstance(argument, str) and argument in ("static", "dynamic")
    )


def _call_text(arguments: Sequence[Any]) -> str:
    return "tile(" + ", ".join(map(str, arguments)) + ")"


def command_target_of(handle: _core.Computation) -> tuple[Function, str]:
    """The one function that a computation belongs to, and the computation's name."""
    functions = owners_of(_core.computation_identity(handle))
    name = handle.name
    if not functions:
        raise ScheduleError(
            f"{name} does not belong to a function yet; make one with tw.function(...) first, "
            "then schedule"
        )
    if len(functions) > 1:
        names = ", ".join(function.name for function in functions)
        raise ScheduleError(
            f"{name} belongs to {len(functions)} functions ({names}); say which one: "
            f'f["{name}"].tile(...)'
        )
    return functions[0], name


class ComputationHandle(ScheduleCommands):
    """One computation in one function: ``f["C"]``. Has all commands."""

    def __init__(self, function: Function, name: str) -> None:
        self._function = function
        self._name = name

    @property
    def name(self) -> str:
        """The computation's name."""
        return self._name

    @property
    def function(self) -> Function:
        """The function that it belongs to."""
        return self._function

    @property
    def loops(self) -> tuple[str, ...]:
        """The names of its loops, outermost first."""
        return tuple(name for name, _ in self._function._loops(self._name))

    @property
    def tags(self) -> dict[str, str]:
        """The loops that are not sequential: name -> "parallel", "vector(8)" or "unroll(4)"."""
        return {name: tag for name, tag in self._function._loops(self._name) if tag}

    def _command_target(self) -> tuple[Function, str]:
        return self._function, self._name

    def __repr__(self) -> str:
        loops = ", ".join(
            f"{name} ({tag})" if tag else name for name, tag in self._function._loops(self._name)
        )
        return f"<{self._name} in {self._function.name}: loops {loops or 'none'}>"
