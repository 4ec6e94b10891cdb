"""Where in the user's program something was written.

Every declaration and command remembers the first frame outside this package, so that an error found
later (a read outside a domain, an illegal schedule) can show the line that caused it.
"""

from __future__ import annotations

import linecache
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

__all__ = ["SourceLocation", "caller_location", "located_at", "printable"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

_NAME = __name__.partition(".")[0] + "."


class SourceLocation(NamedTuple):
    """A line of the user's program: file, line (from 1) and the stripped text of that line."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        place = f"{_short(str(self.file))}:{self.line}"
        text = str(self.text)
        return f"{place}: {text}" if text else place


def _short(file: str) -> str:
    """The path as a person reads it: a notebook's cell, or relative to the working directory."""
    if "ipykernel_" in file or file.startswith("<ipython-input"):
        return "cell"
    if os.path.isabs(file):
        try:
            relative = os.path.relpath(file)
        except (OSError, ValueError):
            return file
        if not relative.startswith(os.pardir):
            return relative
    return file


def printable(text: str) -> str:
    """The text without what UTF-8 does not have: bytes of paths that are in another encoding."""
    return text.encode(errors="backslashreplace").decode()


def _is_ours(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    if file == "<string>":  # what dataclasses write for a class of ours
        return str(frame.f_globals.get("__name__", "")).startswith(_NAME)
    return file.startswith(_PACKAGE)


class _Borrowed(threading.local):
    where: SourceLocation | None = None


_borrowed = _Borrowed()


@contextmanager
def located_at(where: SourceLocation | None) -> Iterator[None]:
    """Within the block, this thread works for that line of the program."""
    before, _borrowed.where = _borrowed.where, where
    try:
        yield
    finally:
        _borrowed.where = before


def caller_location() -> SourceLocation | None:
    """The line of the first frame outside the package, or None when there is none."""
    if _borrowed.where is not None:
        return _borrowed.where
    frame = sys._getframe(1)
    while _is_ours(frame):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    file, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, line, frame.f_globals).strip()
    return SourceLocation(printable(file), line, printable(text))
