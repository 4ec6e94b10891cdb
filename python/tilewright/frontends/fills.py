"""Local arrays that begin with zeros where a statement may leave what nobody wrote.

What a new array holds is anybody's choice. A statement under a condition of data keeps old values, some
of which may be such: if they are there, zeros, then what it keeps is one element of memory whatever the
iteration, and keeping it is doing nothing.

Before::

    T = empty(N)
    for i: T[i] = A[i] if A[i] > 0 else (T[i] of the iteration before, or anything)

After::

    T = zeros(N)
    for i: T[i] = A[i] if A[i] > 0 else T[i]
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import tree
from .memory import Memory
from .scanned import Scanned

__all__ = ["half_written", "with_fills"]

_INDEX = np.dtype(np.int64)


def half_written(scanned: Scanned, memory: Memory, without_old: frozenset[str]) -> frozenset[str]:
    """The local arrays of which a statement keeps values that may be nobody's or somebody's."""
    found = set()
    for one in scanned.statements:
        array = scanned.program.arrays[one.target.array]
        if not one.guards or one.name in without_old or array.name in found:
            continue
        place = ", ".join(str(subscript) for subscript in one.subscripts)
        reference = memory.references[one.name][array.name, place]
        kinds = {source.kind for source in memory.sources(reference, one.name)}
        nobodys = {"initial", "killed"} if array.local else {"killed"}
        if len(kinds) > 1 and kinds & nobodys:
            found.add(array.name)
    return frozenset(found)


def with_fills(program: tree.Program, arrays: frozenset[str]) -> tree.Program:
    """The program with zeros in the arrays where they begin."""
    pass_ = _Pass(program, arrays)
    body = pass_.block(program.body)
    first = [one for name in sorted(arrays - pass_.begun) for one in pass_.fill(name)]
    return replace(program, body=(*first, *body))


class _Pass:
    def __init__(self, program: tree.Program, arrays: frozenset[str]) -> None:
        self.program = program
        self.arrays = arrays
        self.begun: set[str] = set()
        self.count = 0

    def block(self, statements: tuple[tree.Statement, ...]) -> tuple[tree.Statement, ...]:
        made: list[tree.Statement] = []
        for one in statements:
            match one:
                case tree.Kill() if one.array in self.arrays:
                    self.begun.add(one.array)
                    made += [one, *self.fill(one.array)]
                case tree.For() | tree.While():
                    made.append(replace(one, body=self.block(one.body)))
                case tree.If():
                    body, otherwise = self.block(one.body), self.block(one.otherwise)
                    made.append(replace(one, body=body, otherwise=otherwise))
                case _:
                    made.append(one)
        return tuple(made)

    def fill(self, name: str) -> list[tree.Statement]:
        array = self.program.arrays[name]
        self.count += 1
        where = array.location
        iterators = [
            tree.Variable(f"{name}_e{axis}_{self.count}", _INDEX)
            for axis in range(len(array.shape))
        ]
        value = False if array.dtype.kind == "b" else 0
        target = tree.Read(name, tuple(iterators), array.dtype, where)
        label = f"{name}_empty" if self.count == 1 else f"{name}_empty_{self.count}"
        made: tree.Statement = tree.Assign(target, tree.Literal(value, array.dtype), label, where)
        for iterator, extent in reversed(list(zip(iterators, array.shape, strict=True))):
            start = tree.Literal(0, _INDEX)
            made = tree.For(iterator, start, extent, 1, (made,), iterator.name, where)
        return [made]
