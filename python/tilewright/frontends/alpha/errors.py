"""Errors of Alpha programs: file, line, column, and a point where it goes wrong.

They are the library's `DeclarationError` and `DomainError`; `details` have "line", "column" and, where
there is one, "witness".
"""

from __future__ import annotations

from typing import NamedTuple

import tilewright as tw

from .domains import Domain, witness_text
from .tree import Position, System

__all__ = ["Source", "complaint", "source_of"]


class Source(NamedTuple):
    """The text that a program was read from."""

    file: str
    text: str

    def line(self, number: int) -> str:
        """A line, counted from 1, without the spaces around it."""
        lines = self.text.splitlines()
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def source_of(system: System) -> Source:
    """Where a system was read from."""
    return Source(system.file, system.text)


def complaint(
    source: Source,
    position: Position | None,
    message: str,
    where: Domain | None = None,
    kind: type[tw.DeclarationError] = tw.DeclarationError,
) -> tw.DeclarationError:
    """An error at a place of the text.

    Args:
        source: the text.
        position: the place; None for what a transformation made.
        message: what is wrong.
        where: the points where it is; one of them is named.
        kind: the class.
    """
    details: dict[str, str] = {}
    if where is not None:
        details["witness"] = witness_text(where)
        message += f", for example {details['witness']}"
    if position is None:
        return kind(message, None, details)
    details |= {"line": str(position.line), "column": str(position.column)}
    location = tw.SourceLocation(source.file, position.line, source.line(position.line))
    return kind(f"line {position.line}, column {position.column}: {message}", location, details)
