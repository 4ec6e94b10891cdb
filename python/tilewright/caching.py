"""The cache of compiled kernels on disk: `tw.cache`.

A kernel is kept under a hash of everything that its code depends on: the function, its schedule,
the versions of tilewright and LLVM, the processor's features and the flags. Entries are
checksummed; one that is damaged or foreign is compiled again in silence, and a disk that is full or
read-only is done without. The directory is ``$TILEWRIGHT_CACHE_DIR``, else ``kernels_cache/`` of a
checkout, else ``~/.cache/tilewright``.
"""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

from . import _core

__all__ = ["CacheInfo", "clear", "info"]


@dataclass(frozen=True)
class CacheInfo:
    """The state of the cache.

    Attributes:
        directory: where entries are kept, or None when the disk cannot be used.
        entries: how many there are.
        bytes: their size together.
        hits: kernels that this process loaded from the disk.
        misses: kernels that this process had to compile.
    """

    directory: pathlib.Path | None
    entries: int
    bytes: int
    hits: int
    misses: int


def info() -> CacheInfo:
    """What the cache holds, and how often this process found what it looked for."""
    found = _core.cache_info()
    directory = found["directory"]
    return CacheInfo(
        directory=pathlib.Path(directory) if directory else None,
        entries=found["entries"],
        bytes=found["bytes"],
        hits=found["hits"],
        misses=found["misses"],
    )


def clear() -> int:
    """Deletes all entries and returns how many there were. Kernels in use stay in memory."""
    return _core.cache_clear()
