"""What schedules need to know of the processor."""

from __future__ import annotations

from .. import _core

__all__ = ["vector_bytes"]


def vector_bytes(cpu: str = "native") -> int:
    """Bytes in a vector register at a level of processors: 64 (x86-64-v4), 32 (x86-64-v3) or 16.

    Args:
        cpu: as `tw.function` takes it. Of a model that is named, only 16 are supposed.
    """
    if cpu == "native":
        cpu = _core.describe_build()["cpu"]
    level = cpu.split(",")[0]
    return {"x86-64-v4": 64, "x86-64-v3": 32}.get(level, 16)
