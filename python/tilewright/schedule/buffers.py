"""Buffers: named pieces of memory of the caller's choice, for `store_in`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import SCHEDULE, a_list, a_string, an_integer, described, numpy_dtype
from ..base.errors import ScheduleError, ScheduleTypeError
from ..language.expressions import Expression

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


def _extent(value: object, buffer: str) -> int | str | Expression:
    what = f"an extent of buffer {buffer}"
    if isinstance(value, Expression):
        return value
    if isinstance(value, str):
        return a_string(value, what, SCHEDULE)
    return an_integer(value, what, SCHEDULE, minimum=0, bits=64)


def _record(value: object, buffer: str) -> tuple[str, int, int]:
    what = f"the record of buffer {buffer}"
    parts = a_list(value, what, SCHEDULE)
    if len(parts) != 3:
        raise ScheduleError(f"{what} is (name, offset, size), got {described(value)}")
    name = a_string(parts[0], f"{what}: its name", SCHEDULE)
    offset, size = (an_integer(part, f"{what}: its bytes", SCHEDULE, 0, 64) for part in parts[1:])
    return name, offset, size


def _with_fields(buffer: str, dtype: npt.DTypeLike) -> np.dtype[Any]:
    # A type of tilewright, among others, is none of NumPy's.
    found = numpy_dtype(dtype)
    if found is None or found.names is None:
        raise ScheduleTypeError(
            f"the dtype of buffer {buffer} must have fields, got {described(dtype)}; without fields "
            "a buffer has the type of what is stored in it"
        )
    return found


class Buffer:
    """A buffer of a name and a shape, allocated by the kernel that uses it.

    With a structured dtype it is one buffer for each field, ``buffer["x"]``: an array for each
    (structure of arrays, "soa"), or all of them in one array of records ("aos").

    Args:
        name: the name that layers and loops show.
        shape: its extents: integers, or affine expressions of parameters.
        dtype: a structured NumPy dtype; each field has the type of what is stored in it.
        layout: with a dtype: "soa" or "aos".
        record: of a field of an array of records: their name, the field's offset and the size of a
            record, in bytes; what ``buffer["x"]`` gives.

    Raises:
        ScheduleError: a name that is no identifier, a dtype without fields, or an unknown layout.

    Example:
        >>> window = tw.Buffer("window", [3, M])
        >>> _ = rows.store_in(window[i % 3, j])
        >>> point = tw.Buffer("point", [N], np.dtype([("x", "f4"), ("id", "i8")]), layout="aos")
        >>> _ = xs.store_in(point["x"][i])
    """

    def __init__(
        self,
        name: str,
        shape: Sequence[int | str | Expression],
        dtype: npt.DTypeLike | None = None,
        layout: str = "soa",
        record: tuple[str, int, int] | None = None,
    ) -> None:
        if not a_string(name, "a buffer's name", SCHEDULE).isidentifier():
            raise ScheduleError(f"a buffer's name must be an identifier, got {described(name)}")
        if a_string(layout, "a buffer's layout", SCHEDULE) not in ("soa", "aos"):
            raise ScheduleError(
                f'a buffer\'s layout must be "soa" or "aos", got {described(layout)}'
            )
        self.name = name
        extents = a_list(shape, f"the shape of buffer {name}", SCHEDULE, "extents")
        self.shape = tuple(_extent(extent, name) for extent in extents)
        self.dtype = None if dtype is None else _with_fields(name, dtype)
        self.layout = layout
        self.record = None if record is None else _record(record, name)

    def __getitem__(self, index: Any) -> Any:
        """The element at subscripts that are affine in a computation's iterators; or, by its name,
        the buffer of a field.

        Raises:
            ScheduleError: there is no such field.
        """
        if not isinstance(index, str):
            return BufferElement(self, index if isinstance(index, tuple) else (index,))
        if self.dtype is None or self.dtype.fields is None or index not in self.dtype.fields:
            names = ", ".join(self.dtype.names or ()) if self.dtype is not None else ""
            known = f"its fields are {names}" if names else "it has none"
            raise ScheduleError(f"buffer {self.name} has no field {index!r}; {known}")
        offset = int(self.dtype.fields[index][1])
        record = (self.name, offset, self.dtype.itemsize) if self.layout == "aos" else None
        return Buffer(f"{self.name}_{index}", self.shape, record=record)

    def __repr__(self) -> str:
        more = "" if self.dtype is None else f", {self.dtype!r}, layout={self.layout!r}"
        more += "" if self.record is None else f", record={self.record!r}"
        return f"Buffer({self.name!r}, [{', '.join(map(str, self.shape))}]{more})"
