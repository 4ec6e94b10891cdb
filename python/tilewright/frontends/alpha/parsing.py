"""The parser of `grammar.lark`. lark makes its tables of the grammar, which takes longer than reading any program;
so they are kept beside the kernels on disk (`base.notes`), for the next process.
"""

from __future__ import annotations

import base64
import functools
import io
import pickle
import sys
import zlib
from importlib import resources
from typing import Any, NoReturn

from ...base import notes
from .advice import advice_on
from .errors import Source, complaint
from .tree import Position

__all__ = ["parsed", "parser"]

_START = ["program", "domain", "function"]


class _Plain(pickle.Unpickler):
    """Reads plain values only, which lark's tables consist of."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a parser's tables")


@functools.cache
def parser() -> Any:
    """The parser, with a start for programs, domains and functions.

    Raises:
        ImportError: lark is not installed.
    """
    try:
        import lark  # only programs in Alpha need it
    except ImportError:
        raise ImportError("reading Alpha needs the package lark: pip install lark") from None
    grammar = resources.files(__package__).joinpath("grammar.lark").read_text("utf-8")
    key = notes.identity("tables of a grammar", lark.__version__, sys.version, grammar)
    kept = _kept(key)
    if kept is not None:
        return kept
    made = lark.Lark(grammar, parser="lalr", start=_START, maybe_placeholders=True)
    content = io.BytesIO()
    made.save(content)
    notes.store(key, base64.b64encode(zlib.compress(content.getvalue())).decode())
    return made


def _kept(key: str) -> Any:
    """The parser that another process made; None if there is none that can be used."""
    import lark

    text = notes.load(key)
    if not isinstance(text, str):
        return None
    try:
        content = zlib.decompress(base64.b64decode(text))
        _Plain(io.BytesIO(content)).load()
        return lark.Lark.load(io.BytesIO(content))
    except Exception:  # whatever is in it
        return None


def parsed(source: Source, start: str) -> Any:
    """The tree of a text.

    Args:
        source: the text.
        start: "program", "domain" or "function".

    Raises:
        DeclarationError: for a syntax error, with its place and, if it is a usual one, what Alpha has instead.
    """
    made = parser()
    import lark

    try:
        tree = made.parse(source.text, start=start)
    except lark.exceptions.UnexpectedToken as error:
        expected = sorted({_spelled(name) for name in error.accepts or error.expected})
        found = "the end of the text" if error.token.type == "$END" else repr(str(error.token))
        lines = source.text.splitlines() or [""]
        at = Position(error.line, error.column)
        if error.line is None or error.line < 1:
            at = Position(len(lines), len(lines[-1]) + 1)
        message = f"syntax error at {found}; expected {', '.join(expected)}"
        place = len(source.text) if error.pos_in_stream is None else error.pos_in_stream
        if error.token.type == "$END":
            place = len(source.text)
        raise complaint(source, at, message + _way_out(source, place, start)) from None
    except lark.exceptions.UnexpectedCharacters as error:
        at = Position(error.line, error.column)
        found = source.text[error.pos_in_stream or 0]
        way_out = _way_out(source, error.pos_in_stream or 0, start)
        raise complaint(source, at, f"{found!r} is no character of Alpha{way_out}") from None
    return tree


def _way_out(source: Source, place: int, start: str) -> str:
    advice = advice_on(source.text, place, start)
    return "" if advice is None else f"; {advice}"


def _spelled(terminal: str) -> str:
    for known in parser().terminals:
        if known.name == terminal and known.pattern.type == "str":
            return f"'{known.pattern.value}'"
    words = {"$END": "the end", "NAME": "a name", "INTEGER": "an integer", "TYPE": "a type"}
    words |= {name: f"'{name[:-1].lower()}'" for name in ("INPUTS", "OUTPUTS", "LOCALS")}
    words |= {"EXTREMUM": "'min', 'max'", "RELATION": "a relation", "UNEQUAL": "'!='"}
    words |= {"AND": "'and'", "OR": "'or'", "NOT": "'not'", "TRUTH": "'true', 'false'"}
    words |= {"REAL": "a number", "SUFFIXED": "a number", "INTEGER": "an integer"}
    words |= {"EQUATIONS": "'let'", "OVER": "'over'", "UNSIGNED": "'unsigned'"}
    return words.get(terminal, terminal.strip("_").lower())
