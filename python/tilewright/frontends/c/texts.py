"""Programs that come as text: their names, by which errors find the lines that they show."""

from __future__ import annotations

import linecache

from ... import _core

__all__ = ["keep_text"]


def keep_text(text: str) -> str:
    """A name for a program that comes as text, by which its lines are found."""
    name = f"<C {_core.text_digest(text.encode(errors='backslashreplace'))[:8]}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return name
