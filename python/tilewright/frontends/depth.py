"""Expressions of many levels: what walks them calls itself for each.

A sum of 1,000 terms that is written without parentheses has as many levels, more than Python lets functions call
each other by default. While a door translates, more calls are allowed: as many as the stack of a thread has room
for.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from . import tree
from .refusals import refuse

__all__ = ["many_levels"]

#: Calls within each other. What calls itself through C takes about half a kilobyte of a stack of megabytes.
_MOST_CALLS = 6_000

_lock = threading.Lock()
_users = 0
_before = 0


@contextmanager
def many_levels(location: tree.Location) -> Iterator[None]:
    """Lets functions call each other more deeply.

    Args:
        location: of the program.

    Raises:
        TranslationError: for what has still more levels.
    """
    global _users, _before
    with _lock:
        if _users == 0:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_before, _MOST_CALLS))
        _users += 1
    try:
        yield
    except RecursionError:
        refuse(
            location,
            "an expression is nested too deeply to be translated",
            "give parts of it names: variables of their own",
        )
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                sys.setrecursionlimit(_before)
