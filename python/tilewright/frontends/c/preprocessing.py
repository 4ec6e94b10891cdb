"""From a C file to the text that the parser reads, with the place of each token in the user's files.

pcpp runs the directives and expands macros; stand-in headers lie in `headers/`. What comes out of a
macro stands where the macro is named. GNU attributes are taken out, since they are not C99;
`pencil_access` (PENCIL report, INRIA RT-0457, section 3.7) is kept aside. Pragmas other than `scop`,
`endscop` and `pencil` mean nothing here, as the C standard allows, and are taken out as well.
"""

from __future__ import annotations

import bisect
import copy
import functools
import io
import itertools
import linecache
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pcpp.preprocessor import Action, OutputDirective, Preprocessor

from ... import _core
from ...base.errors import TranslationError
from ..tree import Location
from .refusals import refuse, source_line

__all__ = ["Preprocessed", "preprocess"]

HEADERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "headers")

PREDEFINED = {
    "__STDC__": "1",
    "__builtin_expect(value, wanted)": "(value)",
    "__STDC_HOSTED__": "1",
    "__STDC_VERSION__": "199901L",
    "__LP64__": "1",
    "__CHAR_BIT__": "8",
    "__restrict": "restrict",
    "__restrict__": "restrict",
    "__inline": "inline",
    "__inline__": "inline",
    "__const": "const",
    "__const__": "const",
    "__volatile__": "volatile",
    "__signed__": "signed",
    "__extension__": "",
    "__attribute": "__attribute__",
}

# Attributes that change neither values nor layout. Others are refused: they may.
HARMLESS = frozenset(
    "always_inline const cold deprecated flatten format gnu_inline hot leaf malloc noclone noinline "
    "nonnull noreturn nothrow optimize pure returns_nonnull unused used visibility "
    "warn_unused_result access alloc_size assume_aligned fallthrough".split()
)

_WITH_LINE_ENDS = frozenset(("CPP_WS", "CPP_LINECONT", "CPP_STRING", "CPP_CHAR", "CPP_COMMENT1"))
# Tokens that most of a text is made of: what pcpp's expressions say of them, asked first.
_COMMON = re.compile(r"([ \t]+)|([A-Za-z_]\w*)(?![\w'])|([()\[\]{},;])")
_COMMON_KINDS = ("", "CPP_WS", "CPP_ID", "")
_BRACKETS = {
    "(": "CPP_LPAREN",
    ")": "CPP_RPAREN",
    "[": "CPP_LBRACKET",
    "]": "CPP_RBRACKET",
    "{": "CPP_LCURLY",
    "}": "CPP_RCURLY",
    ",": "CPP_COMMA",
    ";": "CPP_SEMICOLON",
}
_CONTINUED = re.compile(r"\\[ \t]*\n")
_LINE_END = re.compile(r"(\n)")
_PRAGMAS = {"scop", "endscop", "pencil"}
_REFUSED_WORDS = {
    "asm": "assembler code",
    "__asm__": "assembler code",
    "__asm": "assembler code",
    "typeof": "typeof",
    "__typeof__": "typeof",
    "__int128": "a 128-bit integer",
    "_Decimal64": "a decimal number",
    "__float128": "a 128-bit floating-point number",
    "_Generic": "a generic selection",
    "_Atomic": "an atomic type",
}

# Where a token stands: a place, or a file and how far from its beginning.
_Place = Location | tuple[str, int]


@dataclass
class Preprocessed:
    """The text for the parser.

    Attributes:
        text: C99 without directives, except pragmas.
        summaries: function -> its summary function, and where the attribute stands.
        files: the headers that were looked for, in order, with digests of what is in them; None of
            those that are not there.
    """

    text: str
    summaries: dict[str, tuple[str, Location]]
    files: list[tuple[str, str | None]] = field(default_factory=list)
    _columns: list[list[int]] = field(default_factory=list)
    _places: list[list[_Place]] = field(default_factory=list)
    _starts: dict[str, list[int]] = field(default_factory=dict)
    _first: Location = field(default_factory=lambda: Location("", 1, 1))

    def place(self, line: int, column: int) -> Location:
        """Where the user wrote what stands at this place of the text."""
        line = min(line, len(self._columns))
        while line > 0 and not self._columns[line - 1]:
            line, column = line - 1, 1 << 30
        if line <= 0:
            return self._first
        at = bisect.bisect_right(self._columns[line - 1], column) - 1
        return _location(self._places[line - 1][max(at, 0)], self._starts)


class _Lexeme:
    """A token as pcpp wants it, which is copied quickly.

    Attributes:
        lexpos: where it stands in its file; -1 of what a macro is made of.
    """

    def __init__(self, kind: str, value: str, line: int, at: int, source: str) -> None:
        self.type = kind
        self.value = value
        self.lineno = line
        self.lexpos = at
        self.source = source

    def __copy__(self) -> _Lexeme:
        made = _Lexeme.__new__(_Lexeme)
        made.__dict__.update(self.__dict__)
        return made


class _Preprocessor(Preprocessor):  # type: ignore[misc]
    """pcpp, with places on tokens and errors as exceptions."""

    def __init__(self) -> None:
        super().__init__()
        self.line_directive = None
        self.files: dict[str, str | None] = {}
        self.starts: dict[str, list[int]] = {}  # of the lines of each file

    def fresh(self) -> _Preprocessor:
        """One for another file, with the macros that are defined: pcpp takes long to make one."""
        made = copy.copy(self)
        made.lexer = self.lexer.clone()
        made.macros, made.files, made.starts = dict(self.macros), {}, {}
        made.path, made.temp_path, made.rewrite_paths = [], [], []  # places: as paths were opened
        made.include_once, made.include_times = {}, []
        return made

    def group_lines(self, text: str, source: str) -> Iterator[list[Any]]:
        """The tokens line by line, as pcpp's own function gives them, by its expressions."""
        ((expression, kinds),) = self.lexer.lexre
        rows = [row.rstrip() for row in text.splitlines()]
        starts = self.starts[source] = [0]
        for row in rows:
            starts.append(starts[-1] + len(row) + 1)
        text = "\n".join(rows)
        match, common = expression.match, _COMMON.match
        at, end, line = 0, len(text), 1
        tokens: list[Any] = []
        while at < end:
            found = common(text, at)
            if found is not None:
                value = found[0]
                kind = _COMMON_KINDS[found.lastindex] or _BRACKETS[value]  # type: ignore[index]
                tokens.append(_Lexeme(kind, value, line, at, source))
                at = found.end()
                continue
            found = match(text, at)
            if found is None:  # a letter that C does not have is a token of its own
                token = _Lexeme(text[at], text[at], line, at, source)
                tokens.append(token)
                at += 1
                continue
            kind, value = kinds[found.lastindex][1], found[0]
            token = _Lexeme(kind, value, line, at, source)
            tokens.append(token)
            at = found.end()
            if kind in _WITH_LINE_ENDS and "\n" in value:
                line += value.count("\n")
                if value == "\n":
                    yield tokens
                    tokens = []
                elif kind == "CPP_LINECONT":
                    token.value = value[1:-1]
                elif kind == "CPP_STRING":
                    token.value = _CONTINUED.sub("", value)
        if tokens:
            last = copy.copy(tokens[-1])
            last.type, last.value = self.t_NEWLINE, "\n"
            tokens.append(last)
            yield tokens

    def define(self, tokens: Any) -> None:
        if not isinstance(tokens, str):
            for token in tokens:
                token.lexpos = -1  # it stands where the macro is named
        super().define(tokens)

    def on_file_open(self, system: bool, path: str) -> io.StringIO:
        self.files.setdefault(path, None)  # one that is not there is searched elsewhere
        with open(path, "rb") as file:
            content = file.read()
        self.files[path] = _core.text_digest(content)
        text = content.decode(errors="backslashreplace").removeprefix("\ufeff")
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        return io.StringIO(text)

    def on_error(self, file: str, line: int, message: str) -> None:
        refuse(_line_place(file, line), f"the preprocessor cannot go on: {message}")

    def on_include_not_found(self, malformed: bool, system: bool, folder: str, path: str) -> None:
        here = _line_place(self.lastdirective.source, self.lastdirective.lineno)
        if malformed:
            refuse(here, "malformed #include", 'write #include <name.h> or #include "name.h"')
        ours = ", ".join(sorted(name for name in os.listdir(HEADERS) if name.endswith(".h")))
        refuse(
            here,
            f"there is no header {path}",
            f"give its folder, tw.c.load(..., include=[folder]); of the system's headers there are {ours}",
        )

    def on_directive_unknown(
        self, directive: Any, tokens: list[Any], passing: bool, before: list[Any]
    ) -> bool | None:
        here = _line_place(directive.source, directive.lineno)
        words = "".join(token.value for token in tokens)
        if directive.value == "error":
            refuse(here, f"#error {words}".rstrip())
        if directive.value == "pragma":
            if tokens and tokens[0].value in _PRAGMAS:
                return None
            raise OutputDirective(Action.IgnoreAndRemove)
        if directive.value not in ("warning", "ident", "line"):
            refuse(here, f"there is no directive #{directive.value}")
        return True


@functools.cache
def _predefined() -> _Preprocessor:
    """What each run begins with."""
    made = _Preprocessor()
    for key, value in PREDEFINED.items():
        made.define(f"{key} {value}")
    return made


def _line_place(file: str, line: int) -> Location:
    """The first letter of a line."""
    text = source_line(Location(file, line, 1))
    return Location(file, line, len(text) - len(text.lstrip()) + 1)


def preprocess(
    text: str, name: str, define: Mapping[str, str], include: Sequence[str]
) -> Preprocessed:
    """Runs the preprocessor.

    Args:
        text: the C file.
        name: its path, or the name that stands for a text.
        define: macros, as ``-D`` has them.
        include: folders, as ``-I`` has them, searched before the stand-in headers.

    Raises:
        TranslationError: for what the preprocessor refuses.
    """
    run = _predefined().fresh()
    for key, value in define.items():
        run.define(f"{key} {value}")
    run.path = [*include, HEADERS]
    folder = os.path.dirname(os.path.abspath(name)) if os.path.exists(name) else ""
    run.temp_path.insert(0, folder or os.getcwd())
    try:
        tokens = list(run.parsegen(text, name, name))
    except TranslationError:
        raise
    except (
        Exception
    ) as error:  # pcpp trips over some malformed directives, with whatever Python says
        last = run.lastdirective
        here = _line_place(last.source, last.lineno) if last else Location(name, 1, 1)
        refuse(here, f"the preprocessor cannot read this directive ({error or 'it is incomplete'})")
    written = _written(_located(run, tokens, Location(name, 1, 1)), Location(name, 1, 1))
    written.files = list(run.files.items())
    return written


class _Token(NamedTuple):
    value: str
    kind: str
    at: _Place
    starts: dict[str, list[int]]
    is_blank: bool

    @property
    def place(self) -> Location:
        """Where it stands."""
        return _location(self.at, self.starts)


def _location(at: _Place, starts: dict[str, list[int]]) -> Location:
    if isinstance(at, Location):
        return at
    file, position = at
    rows = starts[file]
    line = bisect.bisect_right(rows, position)
    return Location(file, line, position - rows[line - 1] + 1)


def _located(run: _Preprocessor, tokens: Sequence[Any], first: Location) -> list[_Token]:
    """The tokens with their places; what macros made stands at their names."""
    found: list[_Token] = []
    last: _Place = first
    starts = run.starts
    for token in tokens:
        kind = token.type
        value = " " if kind == "CPP_LINECONT" else str(token.value)
        if kind == "CPP_WS" and "\n" not in value:
            value = " "
        if kind in ("CPP_WS", "CPP_LINECONT") or not value.strip():
            found.append(_Token(value, kind, last, starts, True))
            continue
        if type(token) is _Lexeme and token.lexpos >= 0:
            last = token.source, token.lexpos
        else:  # made by a macro, or by the preprocessor
            last = _invocation(token, _location(last, starts))
        found.append(_Token(value, kind, last, starts, False))
    return found


def _invocation(token: Any, last: Location) -> Location:
    """Where the macro that made a token is named: on the token's line, not before what came last."""
    file, line = getattr(token, "source", "") or last.file, token.lineno
    names = getattr(token, "expanded_from", None)
    if not names:
        return last
    text = source_line(Location(file, line, 1))
    start = last.column - 1 if (last.file, last.line) == (file, line) else 0
    found = re.compile(rf"\b{re.escape(names[-1])}\b").search(text, start)
    found = found or re.search(rf"\b{re.escape(names[-1])}\b", text)
    return Location(file, line, found.start() + 1 if found else 1)


def _written(tokens: list[_Token], first: Location) -> Preprocessed:
    """The text of the tokens, without attributes."""
    result = Preprocessed("", {}, _first=first, _starts=tokens[0].starts if tokens else {})
    pieces: list[str] = []
    columns: list[int] = []
    places: list[_Place] = []
    column = 1
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind == "CPP_ID" and token.value == "__attribute__":
            at = _attribute(tokens, at, result.summaries)
            continue
        if token.kind == "CPP_ID" and token.value in _REFUSED_WORDS:
            refuse(
                token.place,
                f"{_REFUSED_WORDS[token.value]} is not C99 and has no translation",
                "write it in C99",
            )
        if not token.is_blank:
            columns.append(column)
            places.append(token.at)
        for part in _LINE_END.split(token.value) if "\n" in token.value else (token.value,):
            pieces.append(part)
            if part == "\n":
                result._columns.append(columns)
                result._places.append(places)
                columns, places, column = [], [], 1
            else:
                column += len(part)
        at += 1
    result._columns.append(columns)
    result._places.append(places)
    result.text = "".join(pieces)
    return result


def _attribute(tokens: list[_Token], at: int, summaries: dict[str, tuple[str, Location]]) -> int:
    """Reads one ``__attribute__((...))``; gives the index behind it."""
    start = tokens[at].place
    depth, inside = 0, []
    end = at + 1
    while end < len(tokens):
        token = tokens[end]
        end += 1
        if token.is_blank:
            continue
        depth += {"(": 1, ")": -1}.get(token.value, 0)
        inside.append(token)
        if depth == 0:
            break
    words = [token.value for token in inside]
    if depth or words[:2] != ["(", "("]:
        refuse(start, "malformed attribute", "write __attribute__((name))")
    body = inside[2:-2]
    nested = 0
    for index, token in enumerate(body):
        if nested == 0 and token.kind == "CPP_ID":
            name = token.value.strip("_")
            if name == "pencil_access":
                values = [each.value for each in body[index + 1 : index + 4]]
                if len(values) < 3 or values[0] != "(" or values[2] != ")":
                    refuse(
                        token.place,
                        "pencil_access needs the name of a summary function",
                        "write __attribute__((pencil_access(name)))",
                    )
                summaries[_described_function(tokens, at, end, token.place)] = (
                    values[1],
                    token.place,
                )
            elif name not in HARMLESS:
                refuse(
                    token.place,
                    f"the attribute {token.value} may change layout or meaning, and has no translation",
                    "take it out for this compiler, e.g. by #ifdef __GNUC__",
                )
        nested += {"(": 1, ")": -1}.get(token.value, 0)
    return end


def _described_function(tokens: list[_Token], before: int, after: int, place: Location) -> str:
    """The function whose declaration an attribute belongs to: the one declared behind it, else before."""
    words = [token for token in tokens[after:] if not token.is_blank]
    for token, following in itertools.pairwise(words):
        if token.value in (";", "{"):
            break
        if token.kind == "CPP_ID" and following.value == "(" and token.value != "__attribute__":
            return token.value
    words = [token for token in tokens[:before] if not token.is_blank]
    for following, token in itertools.pairwise(reversed(words)):
        if token.value in (";", "}"):
            break
        if token.kind == "CPP_ID" and following.value == "(":
            return token.value
    refuse(
        place, "pencil_access belongs to no function", "write it before the function's declaration"
    )
