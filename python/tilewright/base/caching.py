"""The cache of compiled kernels: `tw.cache`.

A kernel is kept under a hash of everything that its code depends on: the function, its schedule, the
versions of tilewright and LLVM, the processor's features and the flags. Entries on disk are
checksummed; one that is damaged or foreign is compiled again in silence. A disk that is full or
read-only, or a directory that others may write, is done without, with one warning
("cache-in-memory"). The directory is ``tw.settings.cache_directory``, else
``$TILEWRIGHT_CACHE_DIR``, else ``$XDG_CACHE_HOME/tilewright``, else ``~/.cache/tilewright``.
"""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass

from .. import _core
from .checks import a_path, an_integer
from .configuration import settings
from .results import Result

__all__ = [
    "CacheCheck",
    "CacheInfo",
    "clear",
    "clear_memory",
    "info",
    "prune",
    "set_directory",
    "verify",
]


@dataclass(frozen=True)
class CacheInfo(Result):
    """The state of the cache.

    Attributes:
        directory: where entries are kept, or None where there is no such place.
        entries: how many are on disk.
        bytes: their size together.
        hits: kernels that this process found, in memory or on disk.
        misses: kernels that this process had to compile.
        memory_entries: kernels in memory.
        disabled_reason: why nothing is stored on disk; empty when it is.
    """

    directory: pathlib.Path | None
    entries: int
    bytes: int
    hits: int
    misses: int
    memory_entries: int
    disabled_reason: str

    made_by = "tw.cache.info"


@dataclass(frozen=True)
class CacheCheck:
    """What `verify` found.

    Attributes:
        whole: files that are as they were written.
        deleted: files that were not, and what killed processes had not written to the end.
    """

    whole: int
    deleted: int


def info() -> CacheInfo:
    """What the cache holds, and how often this process found what it looked for."""
    found = _core.cache_info()
    directory = os.fsdecode(found.pop("directory"))
    reason = found.pop("disabled_reason").decode(errors="backslashreplace")
    return CacheInfo(
        directory=pathlib.Path(directory) if directory else None, disabled_reason=reason, **found
    )


def verify() -> CacheCheck:
    """Reads every file of the cache and deletes those that are damaged, not ours or unfinished.

    A file is unfinished where a process was killed while it wrote it; a minute later it may go.

    Loading does the same for the entry at hand, so this is never needed for safety; it says how a
    disk is doing.
    """
    whole, deleted = _core.cache_verify()
    return CacheCheck(whole, deleted)


def prune(bytes: int) -> int:
    """Deletes what was used longest ago until at most so many bytes are left.

    The cache does this by itself at 512 MiB.

    Args:
        bytes: that may stay on disk; 0 or more.

    Returns:
        how many bytes went.

    Raises:
        ArgumentTypeError: no integer; a TypeError.
        ArgumentError: a negative size; a ValueError.
    """
    return _core.cache_prune(min(an_integer(bytes, "bytes", minimum=0), (1 << 63) - 1))


def clear() -> int:
    """Deletes all entries and returns how many kernels went. Kernels in use stay usable."""
    return _core.cache_clear()


def clear_memory() -> None:
    """Forgets the kernels in memory, so that the next compilation looks on disk."""
    _core.cache_clear_memory()


def set_directory(directory: str | os.PathLike[str] | None) -> None:
    """Keeps entries in another directory; None goes back to the default one.

    The same as ``tw.settings.cache_directory = directory``.
    """
    if directory is None:
        del settings.cache_directory
    else:
        settings.cache_directory = pathlib.Path(a_path(directory, "the directory of the cache"))
