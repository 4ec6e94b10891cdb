"""Streams, events and the memory of CUDA devices: the contents of `tw.cuda`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..base.errors import ArgumentTypeError, DeviceError

__all__ = [
    "DeviceInfo",
    "Event",
    "MemoryInfo",
    "Stream",
    "current_stream",
    "devices",
    "is_available",
    "memory_info",
    "release_memory",
    "stream",
    "synchronize",
]


@dataclass(frozen=True)
class DeviceInfo:
    """A CUDA device.

    Attributes:
        number: the 1 of "cuda:1".
        name: what its maker calls it.
        compute_capability: (9, 0) for sm_90.
        memory: its bytes.
        multiprocessors: how many it has.
        shared_memory: the bytes that one block of threads may have.
        driver_version: (12, 4) where the driver is of CUDA 12.4.
    """

    number: int
    name: str
    compute_capability: tuple[int, int]
    memory: int
    multiprocessors: int
    shared_memory: int
    driver_version: tuple[int, int]


@dataclass(frozen=True)
class MemoryInfo:
    """The memory of a device, in bytes.

    Attributes:
        free: what nobody has.
        total: all of it.
        in_use: what arrays and temporaries of this library have, in this process.
    """

    free: int
    total: int
    in_use: int


def is_available() -> bool:
    """Whether a CUDA device can be used in this process; `devices` says why not. Never raises."""
    try:
        _core.cuda_driver()
    except DeviceError:
        return False
    return True


def devices() -> tuple[DeviceInfo, ...]:
    """The devices that this process sees; makes no context on them.

    Raises:
        DeviceError: no driver, one that is too old, no device, or a child of a process that used
            CUDA: what was looked for, and what to do.
    """
    _, version, count = _core.cuda_driver()
    driver = (version // 1000, version % 1000 // 10)
    return tuple(
        DeviceInfo(number=number, driver_version=driver, **_core.cuda_properties(number))
        for number in range(count)
    )


def synchronize(device: int = 0) -> None:
    """Waits for all work on a device, on all its streams.

    Raises:
        DeviceError: what went wrong in that work.
    """
    _core.cuda_synchronize(device)


def memory_info(device: int = 0) -> MemoryInfo:
    """How much memory of a device is free, and how much of it this library uses."""
    return MemoryInfo(*_core.cuda_memory(device))


def release_memory(device: int = 0) -> None:
    """Gives memory that is kept for arrays to come back to the driver; waits for the device.

    At most 1/32 of the device's memory is kept so.
    """
    _core.cuda_release_memory(device)


class Stream:
    """A queue of work on a device. Work of different streams may run at the same time.

    Attributes:
        device: the number of its device.
        handle: the driver's CUstream, as an integer.
    """

    def __init__(self, device: int = 0, *, non_blocking: bool = False) -> None:
        """Makes a stream.

        Args:
            device: the number of the device.
            non_blocking: whether its work may run beside that of the default stream. Otherwise each
                waits for what was given to the other before.

        Raises:
            DeviceError: there is no such device.
        """
        self._stream = _core.CudaStream(device, non_blocking)
        self.device = device

    @property
    def handle(self) -> int:
        return self._stream.handle

    def synchronize(self) -> None:
        """Waits for the work on the stream."""
        _core.cuda_synchronize_stream(self.device, self.handle)

    def record(self) -> Event:
        """An event at this point of the stream's work."""
        event = Event(self.device)
        event.record(self)
        return event

    def wait(self, event: Event) -> None:
        """Work that the stream gets from now on runs after the event."""
        event._event.hold(self.handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        """The protocol by which libraries take each other's streams: version 0, and the handle."""
        return 0, self.handle

    def __repr__(self) -> str:
        return f"<tw.cuda.Stream {self.handle:#x} on cuda:{self.device}>"


class Event:
    """A point in the work of a stream, whose time is taken.

    >>> start, end = tw.cuda.Event(), tw.cuda.Event()  # doctest: +SKIP
    >>> start.record(); f(x); end.record(); end.synchronize()  # doctest: +SKIP
    >>> end.elapsed_since(start)  # milliseconds  # doctest: +SKIP
    0.42
    """

    def __init__(self, device: int = 0) -> None:
        self._event = _core.CudaEvent(device)
        self.device = device

    def record(self, stream: Any = None) -> None:
        """Puts the point after the work that a stream (None: the current one) has so far."""
        handle = _core.cuda_current_stream(self.device) if stream is None else _handle(stream)
        self._event.record(handle)

    @property
    def is_done(self) -> bool:
        """Whether the work before the point is done."""
        return self._event.is_done()

    def synchronize(self) -> None:
        """Waits for the work before the point."""
        self._event.synchronize()

    def elapsed_since(self, start: Event) -> float:
        """Milliseconds from ``start`` to this point; both must have happened.

        Raises:
            DeviceError: one of them was not recorded, or has not happened yet.
        """
        return self._event.since(start._event)


def current_stream(device: int = 0) -> int:
    """The handle of the stream to which this thread's work on a device goes; 0: the default one."""
    return _core.cuda_current_stream(device)


@contextmanager
def stream(stream: Any, device: int | None = None) -> Iterator[None]:
    """This thread's work on a device goes to a stream as long as the block runs.

    Args:
        stream: a `Stream`; another library's, by ``__cuda_stream__``, ``cuda_stream`` (PyTorch) or
            ``ptr`` (CuPy); its handle as an integer; or None for the default stream.
        device: the number of its device, where the stream does not say it (then 0).

    Raises:
        ArgumentTypeError: no stream.
        DeviceError: there is no such device.
    """
    handle = _handle(stream)
    entered = _core.EnteredStream(_device(stream) if device is None else device, handle)
    try:
        yield
    finally:
        entered.leave()


def _handle(stream: Any) -> int:
    if stream is None:
        return 0
    if isinstance(stream, int) and not isinstance(stream, bool) and stream >= 0:
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        _, handle = protocol() if callable(protocol) else protocol
        return int(handle)
    for name in ("cuda_stream", "ptr"):
        handle = getattr(stream, name, None)
        if isinstance(handle, int):
            return handle
    raise ArgumentTypeError(
        "a stream is a tw.cuda.Stream, another library's stream with __cuda_stream__, cuda_stream "
        f"or ptr, its handle, or None; got {type(stream).__name__}"
    )


def _device(stream: Any) -> int:
    for name in ("device", "device_index", "device_id"):
        number = getattr(stream, name, None)
        number = getattr(number, "index", number)  # PyTorch's device
        if isinstance(number, int) and number >= 0:
            return number
    return 0
