"""The source of a Python function: its syntax tree, its places in the file, its comments.

Comments say what Python has no syntax for: ``# loop: L1`` names a loop, ``# name: S1`` a statement, and
``# independent`` is PENCIL's promise (RT-0457, section 2.4) for the loop below it. `ast` drops comments,
so `tokenize` reads them; one belongs to the statement on its line or directly below.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import textwrap
import tokenize
import types
from dataclasses import dataclass, field

from ...base.errors import TranslationError
from ...base.source import SourceLocation
from ..refusals import refuse
from ..tree import Location

__all__ = ["Remarks", "Source", "read_source"]

_REMARK = re.compile(r"#\s*(loop|name)\s*:\s*(.*?)\s*$")
_INDEPENDENT = re.compile(r"#\s*independent\s*(?:\((.*)\))?\s*$")


@dataclass(frozen=True)
class Remarks:
    """What the comments at a statement say; `independent` is () for all arrays."""

    loop: str = ""
    name: str = ""
    independent: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Source:
    """A function's text: line numbers of `tree` are those of the file."""

    file: str
    tree: ast.FunctionDef
    lines: list[str]
    first: int
    indent: int
    comments: dict[int, tuple[str, bool]] = field(repr=False)

    def location(self, node: ast.AST) -> Location:
        """Where a node begins; columns count characters, from 1."""
        line = getattr(node, "lineno", self.first)
        text = self.lines[line - self.first] if 0 <= line - self.first < len(self.lines) else ""
        before = text.encode()[: getattr(node, "col_offset", 0)].decode(errors="replace")
        return Location(self.file, line, len(before) + 1 + self.indent)

    def remarks(self, node: ast.stmt) -> Remarks:
        """What the comments on the statement's line and directly above it say."""
        texts = []
        line = node.lineno - 1
        while line in self.comments and self.comments[line][1]:
            texts.append(self.comments[line][0])
            line -= 1
        if node.lineno in self.comments:
            texts.append(self.comments[node.lineno][0])
        found: dict[str, str] = {}
        independent: tuple[str, ...] | None = None
        for text in texts:
            if match := _REMARK.match(text):
                if not match[2].isidentifier():
                    refuse(
                        self.location(node),
                        f"the comment {text!r} gives no name",
                        f"write a Python identifier, as in # {match[1]}: {match[1][0].upper()}1",
                    )
                found[match[1]] = match[2]
            elif match := _INDEPENDENT.match(text):
                names = re.split(r"[\s,]+", match[1] or "")
                independent = tuple(name for name in names if name)
        return Remarks(found.get("loop", ""), found.get("name", ""), independent)


def read_source(function: types.FunctionType) -> Source:
    """The source of a function that was written with `def`.

    Raises:
        TranslationError: there is no source (a function made by `exec`, or typed where Python keeps
            no text), or it is not a plain function.
    """
    code = function.__code__
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise TranslationError(
            f"{function.__qualname__} has no source text that Python can find ({error}); write it in "
            "a file or in a cell of a notebook",
            SourceLocation(code.co_filename, code.co_firstlineno, ""),
        ) from None
    first = max(first, 1)
    text = textwrap.dedent("".join(lines))
    indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    start = Location(code.co_filename, first, indent + 1)
    try:
        module = ast.parse(text)
    except SyntaxError:
        refuse(start, "this is not a whole function", "write it with def, on lines of its own")
    ast.increment_lineno(module, first - 1)
    tree = module.body[0] if len(module.body) == 1 else None
    if function.__name__ == "<lambda>":
        tree = _as_definition(module, start)
    if not isinstance(tree, ast.FunctionDef):
        what = "an async function" if isinstance(tree, ast.AsyncFunctionDef) else "no def statement"
        refuse(start, f"@tw.jit takes functions written with def; this is {what}")
    return Source(
        code.co_filename, tree, text.splitlines(), first, indent, _comments(text, first - 1)
    )


def _as_definition(module: ast.Module, start: Location) -> ast.FunctionDef:
    """The only lambda in the text, `relu = lambda x: ...`, as `def` would have it."""
    found = [node for node in ast.walk(module) if isinstance(node, ast.Lambda)]
    if len(found) != 1:
        refuse(start, f"there are {len(found)} lambdas on these lines", "write this one with def")
    only = found[0]
    body = ast.copy_location(ast.Return(only.body), only.body)
    made = ast.FunctionDef("<lambda>", only.args, [body], [], None)
    return ast.copy_location(made, only)


def _comments(text: str, shift: int) -> dict[int, tuple[str, bool]]:
    """Comments by their line, and whether one has its line for itself."""
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            alone = not token.line[: token.start[1]].strip()
            found[token.start[0] + shift] = (token.string, alone)
    return found
