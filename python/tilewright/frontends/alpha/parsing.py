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

__all__ = ["parser"]

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
