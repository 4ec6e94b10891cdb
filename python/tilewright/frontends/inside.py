"""Statements behind conditions of data, in languages in which leaving an array has no meaning.

`while (len > 1) { for (i = 0; i < len / 2; i++) t[i] = a[2 * i + 1]; ... }` stays within `a` for reasons
that data know. What runs stays within its arrays, or the program means nothing (C99 6.5.6): so instances
that would leave one do not run, whatever the data are, and are no part of the statement's domain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from . import tree
from .affine import Affine, Scope, affine_of
from .memory import references_of
from .scanned import Scanned, ScannedStatement

__all__ = ["stay_inside"]


def stay_inside(scanned: Scanned) -> bool:
    """Leaves instances out that data decide about and that would leave an array; whether there are
    statements of that kind."""
    sizes = Scope(scanned.parameters, {})
    arrays = scanned.program.arrays
    found = False
    for at, one in enumerate(scanned.statements):
        inside: list[str] = []
        for array, subscripts in _certain(one) if one.guards else ():
            for subscript, extent in zip(subscripts, arrays[array].shape, strict=True):
                size = affine_of(extent, sizes)
                if size is not None:
                    inside.append(f"0 <= {subscript} < {size}")
        if inside:
            found = True
            constraints = (*one.constraints, *dict.fromkeys(inside))
            scanned.statements[at] = replace(one, constraints=constraints)
    return found


def _certain(one: ScannedStatement) -> Iterator[tuple[str, tuple[Affine, ...]]]:
    """The affine accesses of a statement, and of its guards, that are made wherever these hold."""
    if one.subscripts and not one.elements:
        yield one.target.array, one.subscripts
    # All guards are asked where it runs, each behind those before.
    asked = [(one.value, one.scope), *((guard.condition, guard.scope) for guard in one.guards)]
    for expression, scope in asked:
        for read, subscripts, conditions in references_of(expression, scope):
            if subscripts and not conditions and not _is_chosen(read, expression):
                yield read.array, subscripts


def _is_chosen(read: tree.Read, expression: tree.Expression) -> bool:
    """Whether a read stands in a branch of a choice, which may not be taken."""
    parts = tree.parts_of(expression)
    if isinstance(expression, tree.Select):
        return _is_chosen(read, parts[0]) or any(read in tree.reads_of(part) for part in parts[1:])
    return any(_is_chosen(read, part) for part in parts)
