#!/usr/bin/env python3
"""Writes what Python and the documentation have of cpp/algorithm/operations.def.

scripts/operations.py            writes the functions of python/tilewright/language/elementary.py, the
                                 enumerators in _core.pyi, the public names in tilewright/__init__.py, and
                                 the list of functions in docs/site/reference/declaring.md
scripts/operations.py --check    fails when one of them differs
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "cpp" / "algorithm" / "operations.def"
ELEMENTARY = ROOT / "python" / "tilewright" / "language" / "elementary.py"
STUBS = ROOT / "python" / "tilewright" / "_core.pyi"
PACKAGE = ROOT / "python" / "tilewright" / "__init__.py"
PAGE = ROOT / "docs" / "site" / "reference" / "declaring.md"
WIDTH = 120


class Row(NamedTuple):
    """The columns of a row that are wanted here."""

    id: str
    form: str
    parameters: list[str]
    function: str
    documentation: str


def rows() -> list[Row]:
    """The rows of the table, in its order."""
    text = re.sub(r"^\s*//.*$", "", TABLE.read_text(), flags=re.MULTILINE)
    found = []
    for arguments in re.findall(
        r'TILEWRIGHT_OPERATION\(((?:[^"()]|"[^"]*")*)\)', text, flags=re.DOTALL
    ):
        columns = [c.strip() for c in re.findall(r'((?:[^",]|"[^"]*")+)', arguments)]
        plain = [c.strip('"') for c in columns]
        names = plain[3].split()
        found.append(Row(plain[0], plain[1], names, plain[8], plain[10]))
    return found


def functions() -> list[Row]:
    return [row for row in rows() if row.function]


def isort_key(name: str) -> tuple[int, list[tuple[int, str | int]]]:
    """The order of names in imports and __all__: constants, classes, others; digits as numbers."""
    group = 0 if name.isupper() else 1 if name[:1].isupper() else 2
    parts = re.findall(r"\d+|\D+", name)
    return group, [(0, int(p)) if p.isdigit() else (1, p) for p in parts]


def docstring(text: str) -> str:
    if len(text) + 10 <= WIDTH:
        return f'    """{text}"""'
    first, _, rest = text.partition(". ")
    more = textwrap.fill(rest, WIDTH - 20, initial_indent="    ", subsequent_indent="    ")
    return f'    """{first}.\n\n{more}\n    """'


def elementary() -> str:
    """The module of functions."""
    names = sorted((row.function for row in functions()), key=isort_key)
    lines = [
        '"""The elementary functions, named as in NumPy where it has them.',
        "",
        "Written by scripts/operations.py from cpp/algorithm/operations.def, where each has its row.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from .._core import Op",
        "from .expressions import Expression, ExpressionLike, call",
        "",
        "__all__ = [",
        *(f'    "{name}",' for name in names),
        "]",
    ]
    for row in functions():
        parameters = [name.split("=") for name in row.parameters]
        signature = ", ".join(
            f"{name[0]}: ExpressionLike" + (f" = {name[1]}" if len(name) > 1 else "")
            for name in parameters
        )
        head = f"def {row.function}({signature}) -> Expression:"
        if len(head) > 100:
            head = f"def {row.function}(\n    {signature}\n) -> Expression:"
        given = ", ".join(["Op." + row.id, *(name[0] for name in parameters)])
        lines += ["", "", head, docstring(row.documentation), f"    return call({given})"]
    return "\n".join(lines) + "\n"


def between(text: str, begin: str, end: str, inside: str) -> str:
    """The text with what stands between the first `begin` and the `end` after it replaced."""
    start = text.index(begin) + len(begin)
    return text[:start] + inside + text[text.index(end, start) :]


def stubs() -> str:
    enumerators = "".join(f"    {row.id}: ClassVar[Op]\n" for row in rows())
    return between(
        STUBS.read_text(), "class Op:\n", "    @property\n    def name(self)", enumerators
    )


def package() -> str:
    """The names in the import of the functions and in __all__."""
    text = PACKAGE.read_text()
    begin = "from .language.elementary import (\n"
    end = ")\n"
    start = text.index(begin) + len(begin)
    before = set(re.findall(r"\w+", text[start : text.index(end, start)]))
    names = {row.function for row in functions()}
    imported = "".join(f"    {name},\n" for name in sorted(names, key=isort_key))
    text = between(text, begin, end, imported)
    start = text.index("__all__ = [\n") + len("__all__ = [\n")
    public = set(re.findall(r'"(\w+)"', text[start : text.index("]", start)]))
    public = (public - before) | names
    listed = "".join(f'    "{name}",\n' for name in sorted(public, key=isort_key))
    return between(text, "__all__ = [\n", "]", listed)


def page() -> str:
    listed = "".join(f".. autofunction:: {row.function}\n" for row in functions())
    return between(
        PAGE.read_text(),
        "## Mathematical functions\n\n```{eval-rst}\n.. currentmodule:: tilewright\n\n",
        "```",
        listed,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="compare with the files, write nothing"
    )
    arguments = parser.parse_args()
    wrong = 0
    for path, text in (
        (ELEMENTARY, elementary()),
        (STUBS, stubs()),
        (PACKAGE, package()),
        (PAGE, page()),
    ):
        if not arguments.check:
            path.write_text(text)
        elif path.read_text() != text:
            print(
                f"{path.relative_to(ROOT)} is not what scripts/operations.py writes",
                file=sys.stderr,
            )
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
