"""Branches of a condition as values: one statement in place of two under a condition and its opposite."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import tree
from .rewriting import plain

__all__ = ["chosen_values", "updated_values"]

#: Operations that have a value, and cost little, whatever their operands are.
_HARMLESS = frozenset(
    ["+", "-", "*", "neg", "minimum", "maximum", "<", "<=", ">", ">=", "==", "!=", "&", "|"]
)


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


def updated_values(
    branch: tree.If,
    is_scalar: Callable[[str], bool],
    is_inside: Callable[[tree.Read], bool],
) -> tuple[tree.Assign, ...]:
    """``if x < least: least = x; at = i`` as ``at = i if x < least else at`` and then ``least = x if x < least else
    least``: so the condition has no value of its own that is kept.

    Empty where that is not so simple: several of what the condition reads are assigned, a value is made of what is
    assigned, or had better not be computed unless the condition holds.

    Args:
        branch: the condition, of which what it reads is assigned.
        is_scalar: whether an array is a scalar of the program's own, which may be assigned at any time.
        is_inside: whether an element is in its array, whatever the condition says.
    """
    assigned = [one for one in branch.body if isinstance(one, tree.Assign)]
    if branch.otherwise or len(assigned) < len(branch.body):
        return ()
    changed = [one.target.array for one in assigned]
    asked = list(tree.reads_of(branch.condition))
    last = {read.array for read in asked} & set(changed)
    if len(last) != 1 or len(set(changed)) < len(changed) or not all(map(is_scalar, changed)):
        return ()
    there = {plain(read) for read in asked}

    def is_certain(value: tree.Expression) -> bool:
        match value:
            case tree.Literal() | tree.Variable():
                return True
            case tree.Read():
                is_there = is_scalar(value.array) or plain(value) in there or is_inside(value)
                return is_there and value.array not in changed
            case tree.Operation():
                return value.name in _HARMLESS and all(map(is_certain, value.operands))
            case tree.Convert():
                keeps = np.can_cast(value.value.dtype, value.dtype)
                return keeps and is_certain(value.value)
        return False

    made = []
    for one in assigned:
        if not is_certain(one.value):
            return ()
        value = tree.Select(branch.condition, one.value, one.target, one.value.dtype)
        made.append(tree.Assign(one.target, value, one.label, one.location))
    return tuple(sorted(made, key=lambda one: one.target.array in last))


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
