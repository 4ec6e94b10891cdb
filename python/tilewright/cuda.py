"""CUDA devices: `tw.cuda`.

Nothing but NVIDIA's driver is needed (CUDA 12.0 or newer). Work goes to the default stream, where
other libraries' work goes as well, unless a stream is entered::

    s = tw.cuda.Stream()
    with tw.cuda.stream(s):
        y = f(x)          # returns at once; x is on the device
    z = g(y)              # runs after f, though on another stream

What is done with a device array follows what was done with it before, on whatever stream. The device's
primary context is used, the one of PyTorch, CuPy and JAX, and the current context is left as found.
"""

from .devices.cuda import (
    DeviceInfo,
    Event,
    MemoryInfo,
    Stream,
    current_stream,
    devices,
    is_available,
    memory_info,
    release_memory,
    stream,
    synchronize,
)

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
