"""How values show themselves: text where they are printed, HTML in a notebook."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["LoopsText", "Text"]

# Not every page that shows a notebook sets <pre> and <code> in a font of fixed width by itself.
_FONT = "font-family: monospace"
_STYLE = f"{_FONT}; line-height: 1.35; margin: 0; overflow-x: auto; white-space: pre"


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


# The colours of tags in a loop nest: each stands behind its loop as "# parallel".
_TAG_COLOURS = {
    "parallel": "#0b57d0",
    "vector": "#137333",
    "unroll": "#b06000",
    "distribute": "#9334e6",
    "gpu": "#9334e6",
}
_TAGGED = re.compile(r"^( *)(for .*)(  # )([a-z]+)(.*)$")
_KEYWORDS = re.compile(r"\b(for|in|if|else|while)\b")


class LoopsText(Text):
    """A loop nest as pseudo-code; notebooks colour its tags."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        lines = "\n".join(_coloured_loop(line) for line in self.split("\n"))
        return f'<pre style="{_STYLE}">{lines}</pre>'


def _coloured_loop(line: str) -> str:
    match = _TAGGED.match(line)
    colour = _TAG_COLOURS.get(match[4], "#5f6368") if match else ""
    if match is None:
        return _KEYWORDS.sub(r"<b>\1</b>", escaped(line))
    loop = _KEYWORDS.sub(r"<b>\1</b>", escaped(match[2]))
    tag = escaped(match[3] + match[4] + match[5])
    return f'{match[1]}{loop}<span style="color: {colour}; font-weight: bold">{tag}</span>'


def escaped(text: str) -> str:
    """Text for HTML. (Python's table of entities takes milliseconds to import.)"""
    import html

    return html.escape(text)


def preformatted(text: str) -> str:
    """The text as an HTML block of fixed width that keeps its lines."""
    return f'<pre style="{_STYLE}">{escaped(text)}</pre>'


def code(text: str) -> str:
    """A piece of program text within a line, as HTML."""
    return f'<code style="{_FONT}">{escaped(text)}</code>'


def code_table(head: str, rows: str) -> str:
    """A table of program text and numbers, from the HTML of its cells."""
    return f'<table style="{_FONT}">{head}{rows}</table>'


def preformatted_lines(lines: Iterable[tuple[str, str]]) -> str:
    """Lines with colours ("" for none) as such a block."""
    shown = (
        f'<span style="color: {colour}">{escaped(line)}</span>' if colour else escaped(line)
        for line, colour in lines
    )
    return f'<pre style="{_STYLE}">' + "\n".join(shown) + "</pre>"


def folded(title: str, content: str, is_open: bool = False) -> str:
    """HTML under a title that folds and unfolds; the title is text."""
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{escaped(title)}</summary>{content}</details>"


def function_html(
    signature: str, schedule: str, loops: LoopsText | None, layers: Iterable[tuple[str, str]]
) -> str:
    """A function: its signature, its schedule, its loops, and, folded, its layers.

    Args:
        signature: its one line.
        schedule: the Python that makes its schedule; may be empty.
        loops: the loop nest, or None where there is no legal one; a long one is folded.
        layers: (title, text) of each layer.
    """
    longest_open = 40
    parts = [f"<div>{code(signature)}</div>"]
    if schedule:
        parts.append(preformatted(schedule))
    if loops is not None:
        is_short = loops.count("\n") < longest_open
        parts.append(folded("Loops", loops._repr_html_(), is_open=is_short))
    parts += [folded(title, preformatted(text)) for title, text in layers]
    return "<div>" + "".join(parts) + "</div>"


# What each of an error's details is called, in the order in which they are shown.
_DETAILS = (
    ("command", "command"),
    ("kind", "kind"),
    ("dependence", "dependence"),
    ("source_instance", "must come first"),
    ("sink_instance", "needs it"),
    ("element", "element"),
    ("parameters", "with"),
    ("suggestion", "instead"),
)


def error_html(
    kind: str,
    code_of_error: str,
    message: str,
    details: Mapping[str, str],
    location: str,
    picture: bytes | None = None,
) -> str:
    """An error: the first line of its message, a table of its details, the user's line, and a
    picture (PNG) where there is one."""
    first = message.split("\n", 1)[0]
    rows = "".join(
        f'<tr><th style="text-align: left">{title}</th>'
        f'<td style="text-align: left">{code(details[key])}</td></tr>'
        for key, title in _DETAILS
        if details.get(key)
    )
    parts = [
        f'<div><strong style="color: #b3261e">{kind}</strong> '
        f"[{code_of_error}]: {escaped(first)}</div>"
    ]
    if rows:
        parts.append(f"<table>{rows}</table>")
    if location:
        parts.append(f"<div>at {code(location)}</div>")
    if picture is not None:
        data = base64.b64encode(picture).decode()
        parts.append(f'<img alt="the two instances" src="data:image/png;base64,{data}"/>')
    return "<div>" + "".join(parts) + "</div>"
