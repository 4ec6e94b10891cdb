"""Recurrences as scans over blocks: a rewrite of what is computed, which answers with a new function."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..language.expressions import Expression
from .receivers import CommandReceiver

if TYPE_CHECKING:
    from ..functions.functions import Function

__all__ = ["Scans"]


class Scans(CommandReceiver):
    """Of a computation in one function; mixed into `Computation` and into the handles `f["C"]`."""

    __slots__ = ()

    def scan_blocks(
        self,
        size: int,
        *,
        reassociate: bool = False,
        combine: Callable[[Any, Any], Any] | None = None,
        of: Expression | None = None,
    ) -> Function:
        """The function with this recurrence in blocks of `size` iterations, which run at once.

        A recurrence in which each step is an associative operation on the value before it, or linear
        in a semiring (+ and *, max and +, min and +, max and min, or and and, xor and and), over one
        value or over several that need each other, becomes three phases. Before::

            X[0] = A[0]
            for i in range(1, N):
                X[i] = X[i - 1] + A[i]

        After ``g = f["X"].scan_blocks(4096)``, in g::

            for b in range(0, (N + 4095) // 4096):  # parallel
                X_total[b] = sum(A[i] for i in block b)
            X_carry[0] = A[0] + X_total[0]
            for b in range(1, (N + 4095) // 4096 - 1):
                X_carry[b] = X_carry[b - 1] + X_total[b]
            for i0 in range(0, (N + 4095) // 4096):  # parallel
                X[4096 * i0] = X_carry[i0 - 1] + A[4096 * i0]
                for i1 in range(1, 4096):
                    X[4096 * i0 + i1] = X[4096 * i0 + i1 - 1] + A[4096 * i0 + i1]

        A recurrence that this one reads in the same iteration, and that is linear in the same semiring,
        becomes part of it, where that changes no result or `reassociate` allows it: one scan of two
        values in place of two scans.

        The three phases take groups of some hundred thousand iterations in turn, so that what the
        first phase has read is still in the cache when the last one reads it again. Of a small block, as
        each step waits for the one before it, a thread takes four blocks beside each other (the loop
        ``chain``), sums up in lanes, and takes the terms of a fold, which have an order, from as
        many blocks as there are lanes.

        It changes what is computed, so what comes out is a function of its own, whose computations
        take commands like others. The function that this computation belongs to stays as it is.

        Args:
            size: how many iterations a block has; at least twice what an iteration needs of those
                before it.
            reassociate: whether sums and products of fractions may be rounded differently.
            combine: an associative function of two expressions, for recurrences ``X[i] =
                combine(X[i-1], of)`` that are linear in no semiring; by this, the caller promises
                that it is associative.
            of: what it combines with; needed where that is no operand of the step itself.

        Returns:
            the new function.

        Raises:
            DeclarationError: the computation is no such recurrence, or fractions would be reassociated
                and `reassociate` was not asked for; the message says what is in the way.
            DeclarationTypeError: an argument of another type.
            ScheduleError: the recurrence has commands already, or belongs to no function.
        """
        function, name = self._command_target()
        blocks = importlib.import_module("tilewright.frontends.scans.blocks")
        made: Function = blocks.scan_blocks(
            function, name, size, reassociate=reassociate, combine=combine, of=of
        )
        return made
