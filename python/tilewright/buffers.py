"""Buffers: named pieces of memory of the caller's choice, for `store_in`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .errors import ScheduleError
from .expressions import Expression

__all__ = ["Buffer", "BufferElement"]


@dataclass(frozen=True)
class BufferElement:
    """``buffer[i, j]``, for `store_in`.

    Attributes:
        buffer: the buffer.
        index: its subscripts.
    """

    buffer: Buffer
    index: tuple[Any, ...]


class Buffer:
    """A buffer of a name and a shape, allocated by the kernel that uses it.

    Args:
        name: the name that layers and loops show.
        shape: its extents: integers, or affine expressions of parameters.

    Example:
        >>> window = tw.Buffer("window", [3, M])
        >>> rows.store_in(window[i % 3, j])
    """

    def __init__(self, name: str, shape: Sequence[int | Expression]) -> None:
        if not name.isidentifier():
            raise ScheduleError(f"a buffer's name must be an identifier, got {name!r}")
        self.name = name
        self.shape = tuple(shape)

    def __getitem__(self, index: Any) -> BufferElement:
        """The element at subscripts that are affine in a computation's iterators."""
        return BufferElement(self, index if isinstance(index, tuple) else (index,))

    def __repr__(self) -> str:
        return f"Buffer({self.name!r}, [{', '.join(map(str, self.shape))}])"
