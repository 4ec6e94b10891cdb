"""The codes of errors: what each means, with code that fails and the same code mended.

``python -m tilewright explain TW211`` prints one, and ``python -m tilewright.error_codes`` writes
docs/errors.md. A code belongs to a class of `tilewright.base.errors`, whose docstring explains it;
refusals of a schedule have a code for each kind, explained here. A code is never given to another
error later.
"""

from __future__ import annotations

import argparse
import inspect
import pathlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..base import errors

__all__ = ["ErrorCode", "catalogue", "explain", "main", "page"]


@dataclass(frozen=True)
class ErrorCode:
    """One code.

    Attributes:
        code: "TW211".
        error: the class of errors that has it.
        title: in a few words.
        text: what it means, as a docstring with the blocks "Fails" and "Mended".
    """

    code: str
    error: type[errors.TilewrightError]
    title: str
    text: str


_KINDS = {
    "order": (
        "a value is read before it is computed",
        """
        In the order that the command makes, some instance runs before another one whose value it
        reads, or beside it, in a parallel or vector loop. The message names the two instances.

        Fails, because B[1] would be read before it is written::

            B = tw.computation("B", {i: N}, 2 * x[i])
            C = tw.computation("C", {i: N}, B[N - 1 - i])
            f = tw.function("f", outputs=[C])
            C.after(B, i)

        Mended: let the loop of B end before that of C begins::

            B = tw.computation("B", {i: N}, 2 * x[i])
            C = tw.computation("C", {i: N}, B[N - 1 - i])
            f = tw.function("f", outputs=[C])
            C.after(B)
        """,
    ),
    "overwrite": (
        "a value is overwritten before it is read",
        """
        Several values share an element of a buffer, and in this order one of them is overwritten
        while a later instance still has to read it.

        Fails, because all of B is computed before C reads it, and one element cannot hold all::

            B = tw.computation("B", {i: N}, 2 * x[i])
            C = tw.computation("C", {i: N}, B[i] + 1)
            f = tw.function("f", outputs=[C])
            B.storage_fold(i, 1)

        Mended: compute each value of B where C needs it, then one element is enough::

            B = tw.computation("B", {i: N}, 2 * x[i])
            C = tw.computation("C", {i: N}, B[i] + 1)
            f = tw.function("f", outputs=[C])
            C.after(B, i)
            B.storage_fold(i, 1)
        """,
    ),
    "race": (
        "parallel iterations touch one element",
        """
        Two iterations of a parallel loop write, or add to, the same element, and nothing says which
        comes first.

        Fails, because all iterations of j add to one element of C::

            C = tw.computation("C", {i: N}, tw.sum(x[j], over={j: N}))
            f = tw.function("f", outputs=[C])
            C.parallelize(j)

        Mended: sum in a loop that is parallel over the elements (or ``C.parallelize(j, partial=1024)``)::

            C = tw.computation("C", {i: N}, tw.sum(x[j], over={j: N}))
            f = tw.function("f", outputs=[C])
            C.parallelize(i)
        """,
    ),
    "promise": (
        "a promise that is certainly false",
        """
        `independent` promises that iterations of a loop touch different elements, and the
        dependences show that two of them touch the same one. A promise may say what cannot be
        decided; it may not say what is known to be wrong.

        Fails, because C[1] reads C[0]::

            C = tw.computation("C", {i: N}, lambda C: [(i == 0, x[0]), (i > 0, C[i - 1] + x[i])],
                               dtype=tw.float64)
            f = tw.function("f", outputs=[C])
            C.independent(i)

        Mended: only promise what the data makes true::

            C = tw.computation("C", {i: N}, x[i] + y[i])
            f = tw.function("f", outputs=[C])
            C.independent(i)
        """,
    ),
    "undecided": (
        "nobody can tell whether it is right",
        """
        A subscript is not affine (it is read from an array, or a product of iterators), so any
        element may be meant, and the order is right for some of them only. What cannot be decided is
        refused.

        Fails, because C may read an element of B that comes later::

            B = tw.computation("B", {i: N}, 2 * x[i])
            C = tw.computation("C", {i: N}, B[tw.clamp(index[i], 0, N - 1)])
            f = tw.function("f", outputs=[C])
            C.after(B, i)

        Mended: an order that is right whatever is read, or a promise (`assume`) of what the values
        are::

            B = tw.computation("B", {i: N}, 2 * x[i])
            C = tw.computation("C", {i: N}, B[tw.clamp(index[i], 0, N - 1)])
            f = tw.function("f", outputs=[C])
            C.after(B)
        """,
    ),
}


def _first_sentence(text: str) -> str:
    """The first sentence of a docstring as a title."""
    paragraph = " ".join(text.strip().split("\n\n", 1)[0].split())
    sentence = re.split(r"(?<=[.:;])\s", paragraph, maxsplit=1)[0].rstrip(".:;")
    return sentence[0].lower() + sentence[1:] if sentence.startswith(("A ", "An ")) else sentence


def catalogue() -> dict[str, ErrorCode]:
    """All codes, in order."""
    found = []
    for name in errors.__all__:
        error = getattr(errors, name)
        if error is errors.TilewrightError:
            continue
        text = inspect.cleandoc(error.__doc__ or "")
        found.append(ErrorCode(error.class_code, error, _first_sentence(text), text))
    for kind, (title, text) in _KINDS.items():
        code = errors.KIND_CODES[kind]
        found.append(ErrorCode(code, errors.IllegalScheduleError, title, inspect.cleandoc(text)))
    return {entry.code: entry for entry in sorted(found, key=lambda entry: entry.code)}


def explain(code: str) -> str:
    """What a code means.

    Args:
        code: "TW211"; "tw211" and "211" will do.

    Raises:
        ArgumentError: there is no such code.
    """
    known = catalogue()
    wanted = code.strip().upper().removeprefix("[").removesuffix("]")
    entry = known.get(wanted if wanted.startswith("TW") else f"TW{wanted}")
    if entry is None:
        raise errors.ArgumentError(f"there is no error {code!r}; there are {', '.join(known)}")
    return f"{entry.code}: {entry.title} (tw.{entry.error.__name__})\n\n{entry.text}\n"


def _markdown(text: str) -> str:
    """A docstring's text as Markdown: its literal blocks as Python, its names as code."""
    lines: list[str] = []
    in_code = False
    for line in text.split("\n"):
        if in_code and line and not line.startswith(" "):
            while lines[-1] == "":
                lines.pop()
            lines += ["```", ""]
            in_code = False
        if not in_code and line.endswith("::"):
            lines += [line[:-1].replace("``", "`"), "", "```python"]
            in_code = True
        elif in_code:
            if line or lines[-1] != "```python":
                lines.append(line.removeprefix("    "))
        else:
            lines.append(line.replace("``", "`"))
    if in_code:
        while lines[-1] == "":
            lines.pop()
        lines.append("```")
    return "\n".join(lines)


def _bases(error: type[errors.TilewrightError]) -> str:
    """The classes by which a program may catch it, without the general ones."""
    general = (BaseException, Exception, object)
    return ", ".join(f"`{base.__name__}`" for base in error.__mro__[1:] if base not in general)


def page() -> str:
    """docs/errors.md."""
    parts = [
        "# Errors\n",
        "<!-- Made by `python -m tilewright.error_codes` from the docstrings. -->\n",
        inspect.cleandoc(errors.__doc__ or "").replace("``", "`") + "\n",
        "| code | class | meaning |",
        "| --- | --- | --- |",
    ]
    entries = catalogue().values()
    parts += [
        f"| [{entry.code}](#{entry.code.lower()}) | `{entry.error.__name__}` | {entry.title} |"
        for entry in entries
    ]
    for entry in entries:
        parts += [
            f"\n## {entry.code}\n",
            f"`tw.{entry.error.__name__}`, also caught as {_bases(entry.error)}.\n",
            _markdown(entry.text),
        ]
    return "\n".join(parts).rstrip("\n") + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the page; returns the process's status."""
    parser = argparse.ArgumentParser(description="Writes docs/errors.md.")
    parser.add_argument("path", nargs="?", default="docs/errors.md", type=pathlib.Path)
    parser.parse_args(arguments).path.write_text(page(), encoding="utf-8")
    return 0
