"""One version of all elements before data choose among them.

Where data choose the element that is read, one statement should have written all of them: then there is
one to read. What comes before may be any number of statements; a copy of the array onto itself makes one of
them, and from there on each statement makes a version of all elements (`scan`, `whole`).

Before::

    for i in range(N): A[i] = 1
    for t in range(T): A[f[t]] = A[g[t]]

After::

    for i in range(N): A[i] = 1
    for x in range(N): A[x] = A[x]          # the version that is read at g[0]
    for t in range(T): A[f[t]] = A[g[t]]
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import tree

__all__ = ["with_snapshots"]

_INDEX = np.dtype(np.int64)


def with_snapshots(
    program: tree.Program, arrays: frozenset[str]
) -> tuple[tree.Program, dict[str, str]]:
    """The program with such copies, and the label of each by its array."""
    body = list(program.body)
    labels: dict[str, str] = {}
    for array in sorted(arrays):
        first = next((n for n, one in enumerate(body) if _chooses(one, array)), 0)
        if array in tree.assigned_arrays(body[:first]):
            made, labels[array] = _copy(program, array)
            body.insert(first, made)
    return replace(program, body=tuple(body)), labels


def _chooses(statement: tree.Statement, array: str) -> bool:
    """Whether a subscript of the array reads something in it."""
    for one in tree.walk((statement,)):
        expressions = list(tree.expressions_of(one))
        if isinstance(one, tree.Assign):
            expressions.append(one.target)
        for expression in expressions:
            for read in tree.reads_of(expression):
                if read.array == array and any(
                    True for subscript in read.subscripts for _ in tree.reads_of(subscript)
                ):
                    return True
    return False


def _copy(program: tree.Program, name: str) -> tuple[tree.Statement, str]:
    array = program.arrays[name]
    where = array.location
    iterators = [tree.Variable(f"{name}_x{axis}", _INDEX) for axis, _ in enumerate(array.shape)]
    element = tree.Read(name, tuple(iterators), array.dtype, where)
    label = f"{name}_so_far"
    made: tree.Statement = tree.Assign(element, element, label, where)
    for iterator, extent in reversed(list(zip(iterators, array.shape, strict=True))):
        start = tree.Literal(0, _INDEX)
        made = tree.For(iterator, start, extent, 1, (made,), iterator.name, where)
    return made, label
