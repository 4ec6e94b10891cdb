"""The kernel that a stream program runs for each chunk: an ordinary function of the library.

Its computations keep their own times n, which begin anywhere: of each stream, the elements from
`begin` to `end` are computed. Those that later calls need are written behind those that earlier calls have
left, in an array of the caller, the *line* of the stream, of which the kernel sees the part from the first
element that it reads to the last one that it computes. So any number of elements can be pushed at once, each is
computed from the same expression, whatever the cut, and nothing that is old is touched.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..functions.functions import Function
from .opening import Opening
from .repeating import Repeating
from .steady import Steady
from .timing import Streamed, Timing

__all__ = ["Line", "Step"]


@dataclass(frozen=True)
class Line:
    """Elements of a stream one behind the other, time first.

    Attributes:
        kept: so many elements in front of the new ones are read.
        ahead: so many elements behind the new ones there is room for. Nobody reads them, though
            that is not proven of each reader.
        shape: of the elements at one time.
    """

    kept: int
    ahead: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def seen(self, new: int) -> int:
        """The elements that a push of so many new ones sees."""
        return self.kept + new + self.ahead

    @property
    def nbytes(self) -> int:
        """Of what is kept."""
        return self.kept * self.row_nbytes

    @property
    def row_nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass
class Step:
    """The kernel for known sizes.

    Attributes:
        lines: where new elements are written behind earlier ones, as the arguments ``<name>_line``.
        rings: what is changed where it is, a shape and a type; the arguments ``<name>_ring``.
        types: of the elements of each stream.
        shapes: of a chunk of each stream, None for the time.
        own_times: the streams with parameters ``<name>_begin`` and ``<name>_end``.
        first_times: the outputs with a parameter ``<name>_first``: they wait in the beginning. The
            kernel has those of these parameters that it needs.
        repeats: when the program does the same again.
        opening: what is computed once, when a stream is opened; None for nothing.
        collected: a push computes whole multiples of so many ticks.
        ordered: whether rows in place are computed in an order that was given.
        steady: the kernel of long pushes; None if there is none.
    """

    kernel: Function
    timing: Timing
    streams: dict[str, Streamed]
    lines: dict[str, Line]
    rings: dict[str, tuple[tuple[int, ...], np.dtype[Any]]]
    types: dict[str, np.dtype[Any]]
    shapes: dict[str, tuple[int | None, ...]]
    own_times: tuple[str, ...]
    first_times: tuple[str, ...]
    repeats: Repeating
    opening: Opening | None = None
    collected: int = 1
    ordered: bool = False
    steady: Steady | None = None
