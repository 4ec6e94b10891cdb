"""How a translation is refused: one located error, with the reason and the way out."""

from __future__ import annotations

import linecache
from typing import NoReturn

from ..base.errors import TranslationError
from ..base.source import SourceLocation
from .tree import Location

__all__ = ["line_of", "refuse"]


def line_of(location: Location) -> SourceLocation:
    """A place of a program as errors and schedules have it."""
    text = linecache.getline(location.file, location.line).strip()
    return SourceLocation(location.file, location.line, text)


def refuse(location: Location, reason: str, way_out: str = "") -> NoReturn:
    """Raises the located error.

    Args:
        location: where in the program.
        reason: what is refused, and why.
        way_out: what to write instead, when there is something.

    Raises:
        TranslationError: always.
    """
    source = linecache.getline(location.file, location.line).rstrip()
    raise TranslationError(
        f"{reason}: {way_out}" if way_out else reason,
        line_of(location),
        {"column": str(location.column), "source": source},
    )
