"""The page of all kernels: ``python -m tilewright.kernels.reference`` writes docs/kernels.md.

It is made of their docstrings, their source and the loops that the library makes of them.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import pathlib
import pkgutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import tilewright as tw
from tilewright import kernels

from ..base.docstrings import markdown

__all__ = ["entry", "main", "modules", "page"]

# The page must be the same on every machine: loops are those for AVX2.
_PAGE_CPU = "x86-64-v3"

_HEAD = """# Kernels

`tw.kernels` holds kernels with schedules that reach hand-tuned libraries; [benchmarks](../benchmarks/README.md)
measure how near. Each is a Python function that returns a `tw.Function`, short enough to read and to begin one's own
from. Loops are shown as they come out for AVX2 (`cpu="x86-64-v3"`); without this argument, kernels take the vectors of
the processor. Those of signal processing return a `tw.StreamFunction` ([streams.md](streams.md)).

This page is made by `python -m tilewright.kernels.reference`.
"""


def modules() -> list[Any]:
    """The modules of kernels, in order."""
    names = sorted(entry.name for entry in pkgutil.iter_modules(kernels.__path__))
    listed = kernels.__all__
    return [
        importlib.import_module(f"{kernels.__name__}.{name}") for name in names if name in listed
    ]


def _source(function: Callable[..., Any]) -> str:
    """The source of a function without its docstring."""
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    definition = ast.parse("\n".join(lines)).body[0]
    assert isinstance(definition, ast.FunctionDef | ast.ClassDef)
    first = definition.body[0]
    if ast.get_docstring(definition) is not None and first.end_lineno is not None:
        del lines[first.lineno - 1 : first.end_lineno]
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines)


def _made(
    kernel: Callable[..., tw.Function | tw.StreamFunction],
) -> tw.Function | tw.StreamFunction:
    if "cpu" in inspect.signature(kernel).parameters:
        return kernel(cpu=_PAGE_CPU)
    return kernel()


def _block(text: str, language: str = "python") -> str:
    return f"```{language}\n{text}\n```"


def entry(module: Any, name: str) -> str:
    """What the page says of one kernel."""
    kernel = getattr(module, name)
    short = module.__name__.rpartition(".")[2]
    function = _made(kernel)
    parts = [f"### {short}.{name}"]
    if isinstance(function, tw.Function):
        parts.append(f"`{function.signature}`")
    parts += [markdown((inspect.getdoc(kernel) or "").splitlines()), _block(_source(kernel))]
    if isinstance(function, tw.Function):  # those of a stream depend on how it is opened
        loops = _block(function.loops)
        parts.append(f"<details><summary>The loops</summary>\n\n{loops}\n\n</details>")
    return "\n\n".join(parts)


def page() -> str:
    """The whole page."""
    parts = [_HEAD.strip()]
    for module in modules():
        short = module.__name__.rpartition(".")[2]
        parts += [f"## {short}", markdown((inspect.getdoc(module) or "").splitlines())]
        for helper in getattr(module, "_SHOWN", ()):
            title = f"`{helper.__name__}`: {(inspect.getdoc(helper) or '').splitlines()[0]}"
            parts += [title, _block(_source(helper))]
        parts += [entry(module, name) for name in module.__all__]
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tilewright.kernels.reference", description="Writes docs/kernels.md."
    )
    default = pathlib.Path(tw.__file__).parents[2] / "docs" / "kernels.md"
    parser.add_argument("path", nargs="?", type=pathlib.Path, default=default)
    parser.add_argument("--check", action="store_true", help="only says whether it is up to date")
    options = parser.parse_args(arguments)
    text = page()
    if options.check:
        there = options.path.exists() and options.path.read_text(encoding="utf-8") == text
        print(f"{options.path} is {'up to date' if there else 'NOT up to date'}")
        return 0 if there else 1
    options.path.write_text(text, encoding="utf-8")
    print(f"written: {options.path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
