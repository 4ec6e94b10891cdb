"""Subscripts as a person wrote them, for errors that the core tells in its own names.

The core knows `out_[select(S3[i - 1] < 0, ...)]`, and the line that it was made for. A door notes which
place of the text that subscript stands at, and the error speaks of `out[p[i]]`.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["as_written", "note", "text_at"]


class _Place(NamedTuple):
    line: int
    column: int
    from_end: bool


# By file and line of the statement: places by the core's text of a subscript.
_noted: dict[tuple[str, int], dict[str, _Place]] = {}


def note(
    where: tuple[str, int], subscript: str, place: tuple[int, int], from_end: bool = False
) -> None:
    """Says where an element stands of which a subscript is computed.

    Args:
        where: the file, and the line of the statement, as the core knows them.
        subscript: the core's text of it.
        place: line and column, from 1, at which the element stands in the file.
        from_end: whether what is below 0 was added to the extent.
    """
    _noted.setdefault(where, {})[subscript] = _Place(*place, from_end)


def as_written(
    message: str, where: tuple[str, int, str] | None, details: Mapping[str, str]
) -> tuple[str, Mapping[str, str]]:
    """The message and the details of a subscript outside its array, in the words of the text; what they
    were, if nobody noted it."""
    begin, of, rest = message.partition(": subscript ")
    function, _, access = begin.partition(": ")
    known = _noted.get((where[0], where[1]), {}) if where is not None and of else {}
    found = [text for text in known if text in access]
    if not found or where is None or not {"value", "extent", "axis"} <= details.keys():
        return message, details
    place = known[max(found, key=len)]
    text = text_at(where[0], place.line, place.column)
    if text is None:
        return message, details
    value, extent = int(details["value"]), int(details["extent"])
    if place.from_end and value < 0:
        value -= extent
    array = re.split(r"[\[(]", text)[0]
    behind = rest.partition(f" with size {extent}")[2]
    axis = details["axis"]
    return (
        f"{function}: {text}: subscript {value} is out of bounds for axis {axis} of {array} with size "
        f"{extent}{behind}",
        {**details, "array": array, "value": str(value)},
    )


_NAME = re.compile(r"[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*")
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_MOST_LINES = 12


def text_at(file: str, line: int, column: int) -> str | None:
    """A name with all brackets behind it, at a place of a file (line and column from 1, the column in
    bytes as `ast` has it); None if there are none."""
    lines = linecache.getlines(file)[line - 1 : line - 1 + _MOST_LINES]
    if not lines:
        return None
    text = "".join([lines[0].encode()[column - 1 :].decode(errors="replace"), *lines[1:]])
    name = _NAME.match(text)
    end = start = name.end() if name else 0
    while name and text[end : end + 1] in ("[", "("):
        behind = _behind(text, end)
        if behind is None:
            break
        end = behind
    return " ".join(text[:end].split()) if end > start else None


def _behind(text: str, start: int) -> int | None:
    """The position behind the bracket that closes the one at `start`."""
    expected: list[str] = []
    for position in range(start, len(text)):
        character = text[position]
        if character in _CLOSING:
            expected.append(_CLOSING[character])
        elif expected and character == expected[-1]:
            expected.pop()
            if not expected:
                return position + 1
    return None
