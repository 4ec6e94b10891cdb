"""What the library says beside its results: warnings with ids, and records of the logger.

Each warning has an id, by which it can be silenced; what one says is said once in a process::

    tw.settings.silence = ("cache-in-memory",)        # or TILEWRIGHT_SILENCE=cache-in-memory
    warnings.filterwarnings("ignore", category=tw.TilewrightWarning)

The logger ``tilewright`` of Python's `logging` gets a record of each compilation (INFO; DEBUG where
the kernel came from the cache), and of the arrays that calls of a GPU function copy (INFO, once for
each kind of call). ``TILEWRIGHT_LOG=info`` writes them to stderr.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

from .configuration import settings

__all__ = ["WARNINGS", "TilewrightWarning", "compiled", "copied", "warn"]

WARNINGS = {
    "cache-in-memory": "a kernel could not be stored on disk, so every process compiles it anew",
    "not-optimized": "better code of a kernel could not be made in the background; the first code "
    "goes on running",
    "order-kept": "`auto_schedule` found no order of a C or Python function that is known to be legal, or, "
    "for a GPU, data decide how often its loops run; the program's own order stays",
    "unknown-variable": "the environment has a variable TILEWRIGHT_... that is no setting",
}

_given: set[tuple[str, str]] = set()
_PACKAGE_PREFIX = __name__.partition(".")[0]


class TilewrightWarning(UserWarning):
    """A warning of tilewright.

    Attributes:
        id: which one, to silence it: "cache-in-memory".
        message: what it says.
    """

    __module__ = "tilewright"

    def __init__(self, id: str, message: str) -> None:
        self.id = id
        self.message = message
        super().__init__(f"{message} [{id}]")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.id, self.message)


def _depth() -> int:
    """How many frames lie between `warn`'s own and the user's."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        _PACKAGE_PREFIX
    ):
        frame, depth = frame.f_back, depth + 1
    return depth


def warn(id: str, message: str) -> None:
    """Gives a warning unless its id is silenced; the same message, such as of one function, once in a process."""
    if (id, message) not in _given and id not in settings.silence:
        _given.add((id, message))
        warnings.warn(TilewrightWarning(id, message), stacklevel=_depth())


def copied(function: str, arrays: Sequence[str], device: str) -> None:
    """The arrays that calls like this one copy to the device, or back; called by the core."""
    logging = sys.modules.get("logging")
    if logging is None:
        return  # nobody listens
    logging.getLogger("tilewright").info(
        "%s: %s: NumPy arrays, copied between the host and %s in each such call",
        function,
        ", ".join(arrays),
        device,
    )


def compiled(function: str, info: dict[str, Any], cache_problem: bytes) -> None:
    """A function was compiled, or its kernel loaded; called by the extension module.

    Args:
        function: its name.
        info: what `Function.compile` returns.
        cache_problem: why the kernel could not be stored, with a path in the file system's bytes;
            empty when it was.
    """
    if cache_problem and not info["from_cache"]:
        problem = cache_problem.decode(errors="backslashreplace")
        warn("cache-in-memory", f"kernels are kept in memory only: {problem}")
    logging = sys.modules.get("logging")
    if logging is None:
        return  # nobody listens
    phases = info["milliseconds"]
    logging.getLogger("tilewright").log(
        logging.DEBUG if info["from_cache"] else logging.INFO,
        "%s %s in %.1f ms (%s), key %s",
        "loaded" if info["from_cache"] else "compiled",
        function,
        sum(phases.values()),
        ", ".join(f"{phase} {time:.1f}" for phase, time in phases.items()),
        info["key"][:12],
    )
