"""Functions that a C file declares and that are compiled elsewhere, as what calls of them run.

A function is a Python callable, one of ctypes, a Numba `cfunc`, or a symbol of this process. The C
declaration says how it is called. A call is a block's function (`tw.block`): it takes NumPy arrays, and
fills others.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...language.externs import ctype_of

__all__ = ["Buffer", "ForeignCall", "Given", "address_of", "symbol"]


@dataclass(frozen=True)
class Buffer:
    """An array that pointers lead into.

    Attributes:
        read: its number among the arrays that are read; None if what it held does not matter.
        written: its number among those that are filled; None if it is left alone.
    """

    read: int | None
    written: int | None


@dataclass(frozen=True)
class Given:
    """An argument.

    Attributes:
        number: the value, or the number of the array that holds it as ("read", number); None of pointers.
        dtype: of the number.
        buffer: where a pointer leads; None of numbers.
        start: subscripts of the element that it points to, in the manner of `number`.
        rank: how many dimensions these are of.
        row: how many of the last dimensions are the pointer's rows.
    """

    number: Any = None
    dtype: np.dtype | None = None
    buffer: int | None = None
    start: tuple[Any, ...] = ()
    rank: int = 0
    row: int = 0


class ForeignCall:
    """One call in the program.

    Args:
        function: a Python callable that takes numbers and NumPy views; or a C function's address.
        arguments: in order.
        buffers: what the pointers among them lead into.
        reads: how many arrays are read.
        result: the type of what is returned, which is the last array that is filled; None of void.
    """

    def __init__(
        self,
        function: Callable[..., Any] | int,
        arguments: Sequence[Given],
        buffers: Sequence[Buffer],
        reads: int,
        result: np.dtype | None,
    ) -> None:
        self.is_compiled = isinstance(function, int)
        self.arguments = tuple(arguments)
        self.buffers = tuple(buffers)
        self.reads = reads
        self.result = result
        if isinstance(function, int):
            returned = None if result is None else ctype_of(result.name)
            types = [
                ctypes.c_void_p if each.dtype is None else ctype_of(each.dtype.name)
                for each in arguments
            ]
            self.function: Any = ctypes.CFUNCTYPE(returned, *types)(function)
        else:
            self.function = function

    def __call__(self, *arrays: np.ndarray) -> None:
        """Calls it on the arrays that are read, and fills the rest."""
        given, filled = arrays[: self.reads], arrays[self.reads :]

        def known(value: Any) -> Any:
            return given[value[1]][()] if isinstance(value, tuple) else value

        memory = []
        for buffer in self.buffers:
            if buffer.written is None:
                assert buffer.read is not None
                memory.append(np.asarray(given[buffer.read], order="C"))
                continue
            target = filled[buffer.written]
            own = target if target.flags.c_contiguous else np.empty(target.shape, target.dtype)
            if buffer.read is not None:
                own[...] = given[buffer.read]
            memory.append(own)
        arguments = []
        for each in self.arguments:
            if each.buffer is not None:
                start = [int(known(at)) for at in each.start]
                arguments.append(self.pointer(memory[each.buffer], each, start))
            else:
                number = known(each.number)
                is_number = isinstance(number, np.generic)
                arguments.append(number.item() if is_number else number)
        returned = self.function(*arguments)
        for buffer, own in zip(self.buffers, memory, strict=True):
            if buffer.written is not None and own is not filled[buffer.written]:
                filled[buffer.written][...] = own
        if self.result is not None:
            filled[-1][...] = returned

    def pointer(self, own: np.ndarray, each: Given, start: list[int]) -> Any:
        """The address of an element; of a Python function, what lies there and behind it."""
        if each.rank <= 1:  # the array may be seen as rows by now
            first = start[0] if start else 0
        else:
            first = 0
            for axis in range(each.rank):
                first = first * own.shape[axis] + (start[axis] if axis < len(start) else 0)
        if self.is_compiled:
            return own.ctypes.data + first * own.itemsize
        flat = own.reshape(-1)[first:]
        if each.row == 0:
            return flat
        row = own.shape[own.ndim - each.row :]
        size = int(np.prod(row))
        count = len(flat) // size if size else 0
        return flat[: count * size].reshape(count, *row)


def address_of(given: Any) -> int | None:
    """The address of a compiled function: of ctypes, or a Numba `cfunc`; None of a Python callable."""
    if hasattr(given, "argtypes") and hasattr(given, "restype"):
        return ctypes.cast(given, ctypes.c_void_p).value
    address = getattr(given, "address", None)
    return address if isinstance(address, int) else None


def symbol(name: str) -> int | None:
    """The address of a function of this process, as a linker would find it."""
    try:
        function = ctypes.CDLL(None)[name]
    except (AttributeError, OSError):
        return None
    return address_of(function)
