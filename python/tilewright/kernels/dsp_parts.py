"""What the stream kernels of `dsp` have in common: channels, types, checks."""

from __future__ import annotations

from typing import Any

import tilewright as tw

from ..base.checks import DECLARATION, an_integer
from ..language.expressions import DType, DTypeLike

__all__ = ["Channels", "complex_type", "number_type", "positive", "real_type"]


class Channels:
    """The dimension of channels of a kernel; none without channels.

    Attributes:
        shape: of one element of a stream.
        ranges: of a computation, beside that of time.
    """

    def __init__(self, channels: int | tw.Parameter | None) -> None:
        if channels is None:
            self.shape: list[Any] = []
            self.ranges: dict[tw.Iterator, Any] = {}
            self._iterators: tuple[tw.Iterator, ...] = ()
            return
        if not isinstance(channels, tw.Parameter):
            channels = positive(channels, "channels")
        c = tw.iter("c")
        self.shape, self.ranges, self._iterators = [channels], {c: channels}, (c,)

    def at(self, *subscripts: Any) -> tuple[Any, ...]:
        """Subscripts, and behind them that of the channel."""
        return (*subscripts, *self._iterators)


def positive(value: Any, what: str) -> int:
    """A whole number of at least 1, which the declaration contains as a number."""
    return an_integer(value, what, DECLARATION, minimum=1, bits=32)


def _one_of(dtype: DTypeLike, types: tuple[DType, ...]) -> DType:
    found = tw.as_dtype(dtype)
    if found not in types:
        names = " or ".join(str(each) for each in types)
        raise tw.ArgumentTypeError(f"this kernel takes {names}, not {found}")
    return found


def real_type(dtype: DTypeLike) -> DType:
    """float32 or float64."""
    return _one_of(dtype, (tw.float32, tw.float64))


def number_type(dtype: DTypeLike) -> DType:
    """Real or complex."""
    return _one_of(dtype, (tw.float32, tw.float64, tw.complex64, tw.complex128))


def complex_type(dtype: DType) -> DType:
    """The complex numbers whose parts are of a type."""
    return tw.complex64 if dtype == tw.float32 else tw.complex128
