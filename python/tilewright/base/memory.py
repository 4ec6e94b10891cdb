"""The memory that kernels' temporaries leave for the next call."""

from __future__ import annotations

from .. import _core
from .checks import an_integer
from .configuration import settings

__all__ = ["kept_memory", "release_memory", "set_kept_memory_limit"]


def kept_memory() -> int:
    """The bytes that are kept for the temporaries of calls to come.

    A temporary of a megabyte or more is not given back to the system when its call ends: fresh
    memory costs a page fault for each page that a kernel touches first. At most 512 MiB are kept
    (``TILEWRIGHT_KEEP_MEMORY`` in the environment says how many MiB, 0 for none), and never more
    than a quarter of the machine's memory. What was freed first is given back first.
    """
    return _core.kept_memory()


def release_memory() -> None:
    """Gives the memory that is kept for later calls back to the system.

    Temporaries of calls that are running in other threads stay.
    """
    _core.release_memory()


def set_kept_memory_limit(limit: int) -> None:
    """Keeps at most ``limit`` bytes from now on, and gives back at once what is above.

    The same as ``tw.settings.keep_memory = limit / 2**20``.

    Raises:
        ArgumentTypeError: not an integer; a TypeError.
        ArgumentError: a negative number; a ValueError.
    """
    # More than there can be is no limit; a setting is a float.
    limit = min(an_integer(limit, "the limit", minimum=0), 1 << 62)
    whole, rest = divmod(limit, 1 << 20)
    settings.keep_memory = limit / (1 << 20) if rest else whole
