"""TSVC's loops as functions: what stands in its files between the clocks, with the arrays as arguments.

Of each function of ``src/tsvc.c`` the loop that repeats it, its clocks, and the calls that keep compilers from leaving
it out are taken away; what is left is C as it stands there.
"""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass

__all__ = ["HEAD", "Loop", "helpers", "loops"]

LENGTH, SIDE = 32000, 256
HEAD = f"""#include <math.h>
#include <stdlib.h>
#define LEN_1D {LENGTH}
#define LEN_2D {SIDE}
#define ABS fabsf
typedef float real_t;
"""
#: Functions that loops call.
_HELPERS = ("s151s", "s152s", "test", "f")
#: These alias pointers of the file, or call what does nothing.
_OTHERS = ("s421", "s1421", "s422", "s423", "s424", "s471")


@dataclass(frozen=True)
class Loop:
    """A function of one loop nest.

    Attributes:
        text: in C.
        parameters: as they are declared.
        returns: whether it returns a number.
    """

    name: str
    text: str
    parameters: tuple[str, ...]
    returns: bool


def _block(text: str, begin: int) -> int:
    """The end of the block whose brace is at `begin`."""
    depth = 0
    for at in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    raise ValueError("a brace is not closed")


def helpers(folder: pathlib.Path) -> str:
    """The functions that loops call."""
    text = (folder / "src" / "tsvc.c").read_text(encoding="utf-8")
    found = []
    for name in _HELPERS:
        begin = re.search(rf"^(?:void|real_t) {name}\(", text, re.MULTILINE)
        assert begin, name
        end = _block(text, text.index("{", begin.start()))
        found.append("static " + text[begin.start() : end + 1])
    arrays = re.compile(r"real_t (\w)\[LEN_1D\]")
    return arrays.sub(r"real_t \1[restrict LEN_1D]", "\n".join(found)) + "\n"


def loops(folder: pathlib.Path) -> list[Loop]:
    """All loops, in the order of the file."""
    text = (folder / "src" / "tsvc.c").read_text(encoding="utf-8")
    found = []
    for begin in re.finditer(
        r"^real_t (\w+)\(struct args_t \* func_args\)\s*\{", text, re.MULTILINE
    ):
        if begin[1] not in _OTHERS:
            end = _block(text, begin.end() - 1)
            found.append(_loop(begin[1], text[begin.end() : end]))
    return found


def _loop(name: str, body: str) -> Loop:
    body = re.sub(r"//[^\n]*", "", body)
    results = [call.split(",")[-1].strip() for call in re.findall(r"dummy\(([^;]*)\);", body)]
    body = re.sub(
        r"(initialise_arrays|gettimeofday|dummy)\([^;]*;|return calc_checksum\(__func__\);",
        "",
        body,
    )
    body, numbers = _numbers(body)
    again = re.search(r"for \(int nl = 0;[^{]*\{", body)
    if again:
        end = _block(body, again.end() - 1)
        body = body[: again.start()] + "{" + body[again.end() : end] + "}" + body[end + 1 :]
    if results and results[-1] not in ("0.", "0", "0.f") and "return " not in body:
        body = f"{body.rstrip()}\n    return {results[-1]};\n"
    own = {name for _, name in numbers}
    own |= set(re.findall(r"\b(?:real_t|int)\s+(\w+)\s*[;=,]", body))

    def uses(array: str) -> bool:
        return bool(re.search(rf"\b{array}\b\s*[\[,;)]", body)) and array not in own

    parameters = [f"real_t {each}[restrict LEN_1D]" for each in "abcdex" if uses(each)]
    parameters += [
        f"real_t {each}[restrict LEN_2D][LEN_2D]" for each in ("aa", "bb", "cc", "tt") if uses(each)
    ]
    if "flat_2d_array" in body:
        parameters.append("real_t flat_2d_array[restrict LEN_2D*LEN_2D]")
    if "indx" in body:
        parameters.append("int indx[restrict LEN_1D]")
    parameters += [
        f"int {each}[restrict LEN_1D]" if kind == "int *" else f"{kind} {each}"
        for kind, each in numbers
    ]
    returns = "return " in body
    text = f"{'real_t' if returns else 'void'} {name}({', '.join(parameters) or 'void'})\n{{\n{body}\n}}\n"
    lines = [line for line in text.split("\n") if line.strip()]
    return Loop(name, "\n".join(lines) + "\n", tuple(parameters), returns)


def _numbers(body: str) -> tuple[str, list[tuple[str, str]]]:
    """The body without what it takes out of its one argument, and that."""
    numbers = []
    fields = re.search(r"struct\{(.*?)\}\s*\*\s*x\s*=\s*func_args->arg_info;", body)
    if fields:
        body = body.replace(fields[0], "")
        for each in filter(None, (part.strip() for part in fields[1].split(";"))):
            kind = "int *" if "*" in each else each.rsplit(None, 1)[0]
            field = re.split(r"[\s*]+", each)[-1]
            taken = re.search(rf"^[^\n;]*?(\w+)\s*=\s*x->{field};", body, re.MULTILINE)
            assert taken, each
            body = body.replace(taken[0], "", 1)
            numbers.append((kind, taken[1]))
    for each in re.finditer(
        r"(int|real_t)\s*(\*\s*__restrict__)?\s*(\w+)\s*=\s*(\*\(int\*\))?func_args->arg_info;",
        body,
    ):
        numbers.append(("int *" if each[2] else each[1], each[3]))
    return re.sub(r"[^\n;]*func_args->arg_info;", "", body), numbers
