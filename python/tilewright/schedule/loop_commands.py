"""Commands that change the loops of one computation: cut, exchanged, turned round, moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ..base.errors import ScheduleError
from ..language.expressions import Expression
from .command_arguments import integer, isl_text, loop_name, new_names
from .receivers import CommandReceiver, Loop

__all__ = ["LoopCommands"]

Self = TypeVar("Self", bound="LoopCommands")


class LoopCommands(CommandReceiver):
    """The commands of this page."""

    __slots__ = ()

    def split(
        self: Self,
        i: Loop,
        s: int | Expression | str,
        i0: Loop | None = None,
        i1: Loop | None = None,
    ) -> Self:
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

        The size may be an expression in parameters, as long as the number of blocks is a small
        constant.

        Before::

            for i in range(0, N):
                C[i] = ...

        After ``C.split(i, (N + 1) // 2)``::

            for i0 in range(0, 2):
                for i1 in range(0, min((N + 1) // 2, N - i0 * ((N + 1) // 2))):
                    C[i0 * ((N + 1) // 2) + i1] = ...

        ``(N + Q - 1) // Q`` of a loop of N iterations makes Q blocks at most. ``N // Q`` makes up to
        2 * Q - 1: the N % Q iterations that are left over may be more than a block holds, but with
        ``context=[N >= Q * Q]`` they are one shorter block. A size below 1 counts as 1. Bounds are
        found for each block on its own, so that much code comes of many blocks. If the divisor is a
        parameter itself, ``f.fix(Q=8)`` gives it a value first.

        Args:
            i: the loop.
            s: iterations in a block: an integer, at least 1 and at most 2**31, or an expression,
                or its text, that is affine in parameters and makes at most 16 blocks.
            i0: name of the loop over blocks.
            i1: name of the loop in a block.

        Raises:
            ScheduleError: the size is not affine in parameters; it makes more than 16 blocks, or
                nothing says how many.
        """
        loop = loop_name(i)
        what = "the size of a block"
        size = isl_text(str(s), what) if isinstance(s, Expression | str) else integer(s, what)
        self._give("split", [loop, size, *new_names(loop, i0, i1)])
        return self

    def join(self: Self, i: Loop, j: Loop, name: Loop | None = None) -> Self:
        """Makes one loop of two that stand directly inside each other: the inverse of `split`.

        Before::

            for i in range(0, N):
                for j in range(0, 3):
                    C[i, j] = ...

        After ``C.join(i, j)``::

            for ij in range(0, 3 * N):
                C[ij // 3, ij % 3] = ...

        The new loop is the inner one counted on through all iterations of the outer one. If the
        inner loop has a constant number of iterations, or the outer one few (at most 16), the new
        loop is one like any other; the last block of a split has room for a whole one, so that
        ``C.split(i, 32).join("i0", "i1")`` gives back loop `i`.

        If the extents of both are parameters, the new loop can be split by a number, unrolled, made
        a vector loop or parallel, joined with a further loop and shared with other computations;
        it cannot take part in other commands. The bounds of one loop may not depend on the other.

        Before::

            for i in range(0, N):
                for j in range(0, M):
                    C[i, j] = ...

        After ``C.join(i, j).vectorize("ij", 8).parallelize("ij0")``::

            for ij0 in range(0, ceil(N * M / 8)):  # parallel
                for ij1 in range(0, min(8, N * M - 8 * ij0)):  # vector(8)
                    C[(8 * ij0 + ij1) // M, (8 * ij0 + ij1) % M] = ...

        Uncut it runs as the two loops, which have the same order and need no division. Lanes, and
        threads, are taken to come to any two rows at the same time, so that neither loop may carry
        a dependence. Lanes that may lie in two rows load and store one element each, so that
        vectors of the joined loop pay only if much is computed for each element.

        Args:
            i: the outer loop.
            j: the inner loop, directly inside of `i`.
            name: of the new loop; the names of both behind each other if left out.

        Raises:
            ScheduleError: the loops are no neighbours; one is over terms of a reduction and the
                other is not; they are tagged otherwise than both parallel; or both extents are
                parameters, and the bounds of one depend on the other.
        """
        outer, inner = loop_name(i), loop_name(j)
        self._give("join", [outer, inner, *([] if name is None else [loop_name(name)])])
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

    def scale(self: Self, i: Loop, s: int) -> Self:
        """Stretches loop `i`: what ran in iteration ``i`` runs in iteration ``s * i``, and nothing
        between. So a computation shares a loop with one that runs `s` times as often.

        Before::

            for i in range(0, N):
                B[i] = ...
            for i in range(0, 2 * N):
                C[i] = B[i // 2] + ...

        After ``C.after(B.scale(i, 2), i)``::

            for i in range(0, 2 * N):
                if i % 2 == 0:
                    B[i // 2] = ...
                C[i] = B[i // 2] + ...

        and with ``B.storage_fold(i, 1)``, one element of B is all that is kept. A loop that nothing
        shares is run through as before.

        Args:
            i: the loop.
            s: the factor, 1 or more.
        """
        self._give("scale", [loop_name(i), integer(s, "the factor")])
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


def _call_text(arguments: Sequence[Any]) -> str:
    return "tile(" + ", ".join(map(str, arguments)) + ")"
