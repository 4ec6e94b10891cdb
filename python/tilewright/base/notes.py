"""Notes that are kept beside the kernels on disk, so that the next process need not find out again.

A note is kept under everything that it depends on, this build of the library among them: under a hash of it,
checksummed, written to a temporary file and renamed, in a directory that only its owner may write, and
deleted with the kernels when it grows. One that is damaged, foreign or of another version is not there.
"""

from __future__ import annotations

import functools
import json
import os
from typing import Any

from .. import _core

__all__ = ["identity", "load", "store"]


@functools.cache
def _library() -> str:
    """This build of the library: a checkout's Python changes without its version."""
    return _core.files_identity(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def identity(kind: str, *parts: str) -> str:
    """The key of something that is made of these parts."""
    return "\n".join([_library(), kind, *(f"{len(part)} {part}" for part in parts)])


def load(key: str) -> Any:
    """What was stored under the key, in whichever process; None if nothing was."""
    try:
        text = _core.cache_load_note(key)
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None


def store(key: str, content: Any) -> None:
    """Keeps plain values, if that is possible."""
    _core.cache_store_note(key, json.dumps(content, separators=(",", ":")))
