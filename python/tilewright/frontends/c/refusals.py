"""Where the C door's errors find the lines that they show.

Sources given as text are registered with `linecache`, so that whoever refuses something later (the
dataflow, a schedule) finds the line of the program, too.
"""

from __future__ import annotations

import linecache

from ..refusals import refuse
from ..tree import Location

__all__ = ["refuse", "source_line"]


def source_line(location: Location) -> str:
    """The line of a program, without its end."""
    return linecache.getline(location.file, location.line).rstrip()
