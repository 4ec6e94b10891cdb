"""The kernel of long pushes that begin when nothing depends on the beginning any more.

From some time on a program does the same after every so many elements (`repeating`). A push from then on may as
well begin at one time that is known when the kernel is made: its loops have no tests for first elements, and tiles
begin where the push begins. A stream goes up to such a time with the kernel of all pushes, and then on with this
one. It is made when a stream is opened if most pushes are long enough for it, else when the first one comes that is.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from ..functions.functions import Function
from .repeating import Repeating

__all__ = ["Steady", "steady_start"]

_ALIGNED = 512
"""Loops over time begin at multiples of this, if they may, so that tiles at multiples of their sizes are whole."""

_MOST = 2**30


def steady_start(repeats: Repeating) -> int | None:
    """A tick at which all pushes may begin that are like it; None if they are told their times."""
    if repeats.is_told:
        return None
    step = math.lcm(repeats.ticks, _ALIGNED)
    if step > _MOST:
        step = repeats.ticks
    return step * max(1, -(-repeats.onset // step))


class Steady:
    """A kernel whose calls begin at the tick `start`, for those at any tick that is like it.

    Args:
        make: gives the kernel; None if there is none that is better than that of all pushes.
        least: pushes of fewer ticks are not worth it.
        is_early: whether it is made when a stream is opened.
    """

    def __init__(
        self,
        make: Callable[[], Function | None],
        repeats: Repeating,
        start: int,
        least: int,
        is_early: bool,
    ) -> None:
        self.start, self.least, self.is_early = start, least, is_early
        self._make = make
        self._onset, self._ticks = repeats.onset, repeats.ticks
        self._lock = threading.Lock()
        self._is_made = False
        self._kernel: Function | None = None

    @property
    def kernel(self) -> Function | None:
        """It is made when it is first asked for."""
        with self._lock:
            if not self._is_made:
                self._kernel = self._make()
                self._is_made = True
            return self._kernel

    def ahead(self, ticks: int) -> int:
        """How many ticks it is until pushes may begin."""
        first = -(-max(ticks, self._onset) // self._ticks) * self._ticks
        return first - ticks

    def kernel_for(self, begin: int, ticks: int) -> Function | None:
        """The kernel, if pushes of so many ticks from this tick on run in it."""
        return self.kernel if ticks >= self.least and not self.ahead(begin) else None
