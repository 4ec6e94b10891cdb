"""Groups of C++ sources that one compiler run can take as one source.

Most of the time of a compiler, or of clang-tidy, goes into the headers of isl, LLVM and the standard
library, which every source of ours reads again. A group is read once. What one of its files keeps for
itself must not meet the same name in another file, or in a header that only another one includes. So
a file joins the first group where that cannot be; names are found by the layout that clang-format
gives them (nothing outside of types and functions is indented), too many rather than too few.

    scripts/groups.py ROOT FOLDER FILES...

writes a source for each group into FOLDER, which includes the files by their names below ROOT, and
prints the sources, separated by semicolons. Sources that are right already are not touched.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SIZE = 8  # files: beyond this, a change compiles too much again, and cores share the groups badly

ROOT = Path(__file__).resolve().parent.parent
ROOTS = (ROOT / "cpp", ROOT / "tests" / "cpp")  # what the names of headers are below
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# What a line without indentation can define: a macro, a test, a type, a function or a constant. A
# name behind :: belongs to its class.
NAME = re.compile(
    r"^(?:#define\s+(\w+)|\w*TEST\w*\((\w+, \w+)"
    r"|(?:struct|class|enum class|enum|union|using(?=[^\n]*=))\s+(\w+)"
    r"|(?!namespace|using|template)[\w[][^(={;]*?(?<!::)\b(\w+)\s*[(={;\[])",
    re.MULTILINE,
)
TEMPLATE = re.compile(r"^template <[^\n]*>\n", re.MULTILINE)


@cache
def read(path: Path) -> str:
    return path.read_text()


@cache
def headers(path: Path) -> frozenset[Path]:
    """The headers of ours that the file includes by name, and those that they include."""
    found: set[Path] = set()
    todo = [path]
    while todo:
        current = todo.pop()
        for name in INCLUDE.findall(read(current)):
            for folder in (current.parent, *ROOTS):
                header = (folder / name).resolve()
                if header.is_file():
                    if header not in found:
                        found.add(header)
                        todo.append(header)
                    break
    return frozenset(found)


@cache
def names(path: Path) -> frozenset[str]:
    """The names that the file may define or declare outside of every type and function."""
    text = TEMPLATE.sub("", read(path))
    return frozenset("".join(found) for found in NAME.findall(text))


@dataclass
class Seen:
    """What a compiler meets in a file, or in a group of files."""

    own: set[str]
    declared: set[str]

    @classmethod
    def of(cls, path: Path) -> Seen:
        declared = {name for header in headers(path) for name in names(header)}
        return cls(set(names(path)) - declared, declared)

    def meets(self, other: Seen) -> bool:
        """Whether a name of one's own may be another name's in the other."""
        if self.own & other.own:
            return True
        pairs = ((self, other), (other, self))
        return any(one.own & (two.declared - one.declared) for one, two in pairs)

    def add(self, other: Seen) -> None:
        self.own |= other.own
        self.declared |= other.declared


def groups(paths: Iterable[Path], size: int = SIZE) -> list[list[Path]]:
    """The files in groups of at most ``size``, in which each name has one meaning."""
    found: list[tuple[Seen, list[Path]]] = []
    for path in paths:
        seen = Seen.of(path)
        for whole, group in found:
            if len(group) < size and not whole.meets(seen):
                whole.add(seen)
                group.append(path)
                break
        else:
            found.append((seen, [path]))
    return [group for _, group in found]


def source_of(group: Iterable[Path]) -> str:
    """The text of a source that stands for the group."""
    return "".join(f'#include "{path}"\n' for path in group)


def main(arguments: list[str]) -> int:
    root, folder, *files = map(Path, arguments)
    folder.mkdir(parents=True, exist_ok=True)
    sources = []
    for group in groups(sorted(files)):
        source = folder / "-".join(group[0].relative_to(root).parts)
        text = source_of(path.relative_to(root) for path in group)
        if not source.exists() or source.read_text() != text:
            source.write_text(text)
        sources.append(source)
    print(";".join(map(str, sources)), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
