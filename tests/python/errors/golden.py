"""The messages of errors, as people see them: the cases of golden.txt.

A case is a title, a program that fails, and what Python prints of its error. `check` runs the
program; ``python tests/python/errors/golden.py`` runs all and writes the messages anew, to be read
in the diff.
"""

from __future__ import annotations

import linecache
import pathlib
import re
import sys
from dataclasses import dataclass

import numpy as np

import tilewright as tw

PATH = pathlib.Path(__file__).with_name("golden.txt")

# What differs from machine to machine.
MACHINE = [(r"LLVM [\d.]+ on [\w-]+", "LLVM 19 on TRIPLE"), (r"models such as '\w+'", "MODELS")]


@dataclass(frozen=True)
class Case:
    """One failing program and its message."""

    title: str
    program: str
    message: str

    def __str__(self) -> str:
        return f"=== {self.title}\n{self.program}\n---\n{self.message}\n"


def cases() -> list[Case]:
    """The cases of the file."""
    found = []
    for text in re.split(r"^=== ", PATH.read_text(encoding="utf-8"), flags=re.M)[1:]:
        title, _, rest = text.partition("\n")
        program, _, message = rest.partition("\n---\n")
        found.append(Case(title, program.strip("\n"), message.strip("\n")))
    return found


def scope() -> dict[str, object]:
    """The names that every program starts with."""
    N, M = tw.params("N M")
    i, j, k = tw.iters("i j k")
    return {
        "np": np,
        "tw": tw,
        "N": N,
        "M": M,
        "i": i,
        "j": j,
        "k": k,
        "x": tw.input("x", [N], tw.float32),
        "y": tw.input("y", [N], tw.float32),
        "A": tw.input("A", [N, M], tw.float32),
        "index": tw.input("index", [N], tw.int32),
    }


def message_of(program: str) -> str:
    """What Python prints of the error of a program."""
    file = "case.py"
    linecache.cache[file] = (len(program), None, program.splitlines(keepends=True), file)
    try:
        exec(compile(program, file, "exec"), scope())
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        for pattern, name in MACHINE:
            text = re.sub(pattern, name, text)
        return text
    finally:
        linecache.cache.pop(file, None)
    return "no error"


def main() -> int:
    found = [Case(case.title, case.program, message_of(case.program)) for case in cases()]
    PATH.write_text("\n".join(map(str, found)), encoding="utf-8")
    silent = [case.title for case in found if case.message == "no error"]
    print(f"{len(found)} messages written", *silent, sep="\n  no error: ")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
