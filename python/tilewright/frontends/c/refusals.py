"""Where the C door's errors find the lines that they show.

Sources given as text are registered with `linecache`, so that whoever refuses something later (the
dataflow, a schedule) finds the line of the program, too.
"""

from __future__ import annotations

import hashlib
import linecache

from ..refusals import refuse
from ..tree import Location

__all__ = ["keep_text", "refuse", "source_line"]


def keep_text(text: str) -> str:
    """A name for a program that comes as text, by which its lines are found."""
    name = f"<C {hashlib.sha256(text.encode(errors='backslashreplace')).hexdigest()[:8]}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return name


def source_line(location: Location) -> str:
    """The line of a program, without its end."""
    return linecache.getline(location.file, location.line).rstrip()
