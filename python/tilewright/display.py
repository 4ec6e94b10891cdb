"""Text that shows itself well: plain where it is printed, preformatted in a notebook."""

from __future__ import annotations

import html
from typing import Any

__all__ = ["Text"]


class Text(str):
    """A piece of program text: a `str` whose repr is the text itself and which notebooks show as a
    block."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return str.__str__(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        return preformatted(self)


def preformatted(text: str) -> str:
    """The text as an HTML block of fixed width that keeps its lines."""
    return (
        '<pre style="line-height: 1.35; margin: 0; overflow-x: auto; white-space: pre">'
        f"{html.escape(text)}</pre>"
    )
