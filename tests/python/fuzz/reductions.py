"""Which reduction a computation is scheduled by, on equations as plain data.

From the documentation: its own value, or the first one, as they are written, that its value is made of, is computed for
every element, and is of the computation's type or a fold of several states. What the rest of the expression makes of it
is computed once for each element, when all terms are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fuzz.programs import dtype_of, self_reads, type_of
from fuzz.rewriting import has_states, is_value, narrowed


def scheduled(computation: dict[str, Any], types: dict[str, str]) -> list[Any] | None:
    """The reduction by whose terms a computation is scheduled: the node itself."""
    if len(computation["pieces"]) != 1:
        return None
    name, value = computation["name"], computation["pieces"][0][1]
    is_cast = False
    if computation.get("partial"):  # what decides whether an element exists is no part of its value
        chosen = value[2] if value[0] == "cast" else value
        is_cast = chosen is not value and chosen[0] == "choose"
        value = chosen[3] if chosen[0] == "choose" else value
    if self_reads(value, name):
        return None
    wanted = dtype_of(types[name])
    for node in always(value):
        fits = (node is value and not is_cast) or (node[0] == "reduce" and has_states(node))
        if node[0] == "reduce" and (fits or type_of(node, types) == wanted):
            return node
    return None


def always(value: list[Any]) -> Iterator[list[Any]]:
    """The nodes that are computed for every element, as they are written: no branches, no terms, no subscripts."""
    yield value
    if value[0] in ("reduce", "while", "read"):
        return
    # Of what a condition decides, the condition alone; that of a select is affine, and has no nodes.
    branches = {"choose": value[1:3], "guard": value[1:3], "select": []}
    for child in branches.get(value[0], value[1:]):
        if is_value(child):
            yield from always(child)


def of_type(value: list[Any], dtype: str, types: dict[str, str]) -> list[Any]:
    """What a computation of this type holds: a sum or product of integers is one in its type, others are converted."""
    if value[0] == "cast" and type_of(value[2], types) == dtype_of(value[1]):
        value = value[2]
    if value[0] == "cast":
        inner = narrowed(value[2], value[1], types)
        value = inner if inner is not None and value[1] == dtype else value
    if type_of(value, types) == dtype_of(dtype):
        return value
    return narrowed(value, dtype, types) or ["cast", dtype, value]
