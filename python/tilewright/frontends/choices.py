"""Both branches of a condition as values: one statement in place of two under a condition and its opposite."""

from __future__ import annotations

from collections.abc import Callable

from . import tree
from .rewriting import plain

__all__ = ["chosen_values"]


def chosen_values(
    branch: tree.If, is_data: Callable[[tree.Expression], bool]
) -> tuple[tree.Assign, ...]:
    """``if c: x = a`` ``else: x = b`` as ``x = a if c else b``, for as many assignments as there are.

    Empty where the branches do not assign the same elements in the same order, or where the condition
    reads what an assignment before the last one writes: it is asked once for each of them.

    Args:
        branch: the condition.
        is_data: whether data alone decide about a condition. Others bound domains.
    """
    if not branch.otherwise or not is_data(branch.condition):
        return ()
    first, second = (_assignments(part, is_data) for part in (branch.body, branch.otherwise))
    if not first or len(first) != len(second):
        return ()
    read = {each.array for each in tree.reads_of(branch.condition)}
    if read & {each.target.array for each in first[:-1]}:
        return ()
    made = []
    for one, other in zip(first, second, strict=True):
        if plain(one.target) != plain(other.target) or one.value.dtype != other.value.dtype:
            return ()
        value = tree.Select(branch.condition, one.value, other.value, one.value.dtype)
        made.append(tree.Assign(one.target, value, one.label, one.location))
    return tuple(made)


def _assignments(
    statements: tuple[tree.Statement, ...], is_data: Callable[[tree.Expression], bool]
) -> tuple[tree.Assign, ...]:
    """The statements, if all of them are assignments of values, or choices between such."""
    found: list[tree.Assign] = []
    for statement in statements:
        match statement:
            case tree.Assign() if not isinstance(statement.value, tree.Reduce):
                found.append(statement)
            case tree.If():
                chosen = chosen_values(statement, is_data)
                if not chosen:
                    return ()
                found += chosen
            case _:
                return ()
    return tuple(found)
