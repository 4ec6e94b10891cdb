"""Checks that files and functions stay small enough to be read in one go.

No source file may have more than 600 lines, no function more than 80, its docstring not counted:
in C++, Python, tests, benchmarks and scripts. What may be longer stands in `ALLOWED` with its reason.

    python scripts/sizes.py            checks
    python scripts/sizes.py --list     lists all that are longer, as rows of the table
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import lizard

FILE_LINES = 600
FUNCTION_LINES = 80
FOLDERS = ("cpp", "python", "tests", "benchmarks", "scripts")
CPP_SUFFIXES = {".cpp", ".h", ".c", ".cu"}


# "path", or "path: function" -> why it may be longer.
ALLOWED: dict[str, str] = {
    "scripts/math_coefficients.py: polynomials": "a list: an entry for each polynomial",
}


def python_functions(path: Path) -> Iterator[tuple[str, int]]:
    """(name, lines without the docstring) of each function, methods and inner ones included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if ast.get_docstring(node) is not None:
            docstring = node.body[0]
            lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
        yield node.name, lines


def cpp_functions(path: Path) -> Iterator[tuple[str, int]]:
    """(name, lines) of each function; an anonymous one belongs to the function around it."""
    for function in lizard.analyze_file(str(path)).function_list:
        yield function.name, function.end_line - function.start_line + 1


def sources(root: Path) -> Iterator[Path]:
    """All files that are checked."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            is_python = path.suffix == ".py" or (
                folder == "scripts" and path.is_file() and not path.suffix and _is_python(path)
            )
            if path.is_file() and (is_python or path.suffix in CPP_SUFFIXES):
                yield path


def _is_python(path: Path) -> bool:
    return "python" in path.read_text(encoding="utf-8").split("\n", 1)[0]


def too_long(root: Path) -> dict[str, int]:
    """What is longer than allowed -> its lines."""
    found: dict[str, int] = {}
    for path in sources(root):
        name = str(path.relative_to(root))
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > FILE_LINES:
            found[name] = lines
        functions = cpp_functions(path) if path.suffix in CPP_SUFFIXES else python_functions(path)
        for function, length in functions:
            if length > FUNCTION_LINES:
                key = f"{name}: {function}"
                found[key] = max(length, found.get(key, 0))
    return found


def main(arguments: list[str]) -> int:
    found = too_long(Path(__file__).resolve().parent.parent)
    if arguments == ["--list"]:
        for name, lines in found.items():
            print(f'    "{name}": "{ALLOWED.get(name, f"{lines} lines")}",')
        return 0
    wrong = [name for name in found if name not in ALLOWED]
    for name in wrong:
        most = FUNCTION_LINES if ": " in name else FILE_LINES
        print(f"{name} has {found[name]} lines; at most {most} are wanted")
    # A row that is not needed any more would let the next one grow unseen.
    stale = [name for name in ALLOWED if name not in found]
    for name in stale:
        print(f"scripts/sizes.py: {name} is small enough now: take it out of the table")
    return 1 if wrong or stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
