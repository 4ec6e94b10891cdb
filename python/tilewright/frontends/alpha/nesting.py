"""How deeply expressions are nested: what walks them calls itself for each level."""

from __future__ import annotations

import tilewright as tw

from . import tree
from .errors import Source, complaint

__all__ = ["require_shallow", "too_deep"]

#: Levels of an expression, of which the terms of a sum that is written without parentheses have one each.
MOST_LEVELS = 300

_WAY_OUT = "give parts of it names: local variables of their own"


def require_shallow(source: Source, program: tree.Program) -> None:
    """Refuses expressions of more levels than commands and printing can follow.

    Raises:
        DeclarationError: with the place of a part that is too deep.
    """
    for system in program.systems:
        for equation in system.equations:
            if not isinstance(equation, tree.Equation):
                continue
            level = [equation.expression]
            for _ in range(MOST_LEVELS):
                level = [child for node in level for child in tree.children(node)]
            if level:
                raise complaint(
                    source,
                    level[0].position,
                    f"the value of {equation.name} is nested more than {MOST_LEVELS} levels deep; {_WAY_OUT}",
                )


def too_deep(source: Source) -> tw.DeclarationError:
    """An error at the longest statement of a text that could not even be read."""
    statements = source.text.split(";")
    longest = max(range(len(statements)), key=lambda at: len(statements[at]))
    before = ";".join([*statements[:longest], ""])
    begun = before + statements[longest][: -len(statements[longest].lstrip()) or None]
    line, column = begun.count("\n") + 1, len(begun) - begun.rfind("\n")
    return complaint(
        source, tree.Position(line, column), f"this is nested too deeply to be read; {_WAY_OUT}"
    )
