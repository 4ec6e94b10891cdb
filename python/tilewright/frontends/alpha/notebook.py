"""The cell magic ``%%alpha`` of Jupyter; ``%load_ext tilewright`` registers it."""

from __future__ import annotations

from typing import Any

from .kernels import identifier
from .program import Program, load

__all__ = ["alpha_cell"]


def alpha_cell(shell: Any, line: str, cell: str) -> Program:
    """Reads a cell as an Alpha program; each system is a function of its name afterwards.

    Args:
        shell: IPython's.
        line: what follows ``%%alpha``: the name for the program, if it needs one.
        cell: the text.
    """
    program = load(cell + "\n")
    names = {identifier(name): program[name] for name in program}
    if line.strip():
        names[line.strip()] = program  # type: ignore[assignment]  # the program beside its functions
    shell.push(names)
    return program
