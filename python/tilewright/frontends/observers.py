"""Which old values nobody sees: of scalars that are written and read under the same conditions.

A statement under a condition of data keeps what its array held where the condition does not hold. If
all who read it stand under the condition as well, in the same iteration, that value is never used, and
the dependence on the iterations before is none ("old is dropped, and the writer is the only source":
Listing 3 of the PENCIL report, INRIA RT-0457, where i <= i' becomes i = i').

Before::

    for i: t = A[i] if c[i] else t          # t of the iteration before
           B[i] = t if c[i] else B[i]

After::

    for i: t = A[i] if c[i] else 0
           B[i] = t if c[i] else B[i]
"""

from __future__ import annotations

import re

import tilewright as tw

from . import tree
from .memory import Memory, Source, tuple_text
from .scanned import Guard, Scanned, ScannedStatement

__all__ = ["without_old_values"]


def without_old_values(scanned: Scanned, memory: Memory) -> frozenset[str]:
    """The statements, by name, for which it does not matter what their scalar held before."""
    arrays = scanned.program.arrays
    guarded = [
        one
        for one in scanned.statements
        if one.guards and arrays[one.target.array].local and not one.target.subscripts
    ]
    if not guarded:
        return frozenset()
    observers = _Observers(scanned, memory, {one.target.array for one in guarded})
    return frozenset(one.name for one in guarded if observers.all_under(one))


class _Observers:
    """Who reads what statements leave in scalars.

    Attributes:
        uses: of each writer, the guards that hold where a reader uses the value, and in how many of
            the loops around, from the outermost on, it does so in the iteration of the writer.
        keeps: of each writer, the writers that keep its value where their guards do not hold, and in
            how many loops they do so in its iteration.
    """

    def __init__(self, scanned: Scanned, memory: Memory, arrays: set[str]) -> None:
        self.statements = {one.name: one for one in scanned.statements}
        self.uses: dict[str, list[tuple[tuple[Guard, ...], int]]] = {}
        self.keeps: dict[str, list[tuple[ScannedStatement, int]]] = {}
        for one in scanned.statements:
            for (array, _), reference in memory.references[one.name].items():
                if array in arrays:
                    self.note(one, array, memory.sources(reference, one.name))

    def note(self, reader: ScannedStatement, array: str, sources: list[Source]) -> None:
        used = [
            reader.guards[:position]
            for position, guard in enumerate(reader.guards)
            if _reads(guard.condition, array)
        ]
        values = (reader.value, *reader.target.subscripts)
        if any(_reads(each, array) for each in values):
            used.append(reader.guards)
        keeps = bool(reader.guards) and reader.target.array == array
        for source in sources:
            writer = self.statements.get(source.name)
            if writer is None or source.kind != "written":
                continue
            common = 0
            for name, other, at in zip(
                writer.iterators, reader.iterators, source.subscripts, strict=False
            ):
                if name != other or not _is_own(source, reader, name, str(at)):
                    break
                common += 1
            self.uses.setdefault(writer.name, []).extend((guards, common) for guards in used)
            if keeps:
                self.keeps.setdefault(writer.name, []).append((reader, common))

    def all_under(self, writer: ScannedStatement) -> bool:
        """Whether all who see the value stand under the writer's guards, in its iteration."""
        return self._all_under(writer, writer.guards, writer, set())

    def _all_under(
        self,
        writer: ScannedStatement,
        guards: tuple[Guard, ...],
        first: ScannedStatement,
        seen: set[tuple[str, int]],
    ) -> bool:
        if (writer.name, len(guards)) in seen:
            return True
        seen.add((writer.name, len(guards)))
        depth = len(first.iterators)
        for used, common in self.uses.get(writer.name, []):
            if common < depth or not _begins(used, guards):
                return False
        for keeper, common in self.keeps.get(writer.name, []):
            if keeper is first:
                continue  # what it keeps is the question
            rest = guards[:-1] if guards and _is_other_branch(keeper.guards, guards) else guards
            if common < depth or not self._all_under(keeper, rest, first, seen):
                return False
        return True


def _is_own(source: Source, reader: ScannedStatement, iterator: str, value: str) -> bool:
    """Whether the writer's iterator, which has this value, is the reader's: a loop of one turn has a constant
    in its place."""
    if iterator == value:
        return True
    if any(name in reader.iterators for name in re.findall(r"\w+", value)):
        return False
    readers = tw.Set(source.readers)
    other = f"{tuple_text(reader.name, reader.iterators)} : {iterator} != {value}"
    parameters = ", ".join(readers.parameters)
    return (readers & tw.Set(f"[{parameters}] -> {{ {other} }}")).is_empty


def _reads(expression: tree.Expression, array: str) -> bool:
    return any(read.array == array for read in tree.reads_of(expression))


def _same(a: Guard, b: Guard) -> bool:
    return a.condition is b.condition and a.holds == b.holds


def _begins(guards: tuple[Guard, ...], prefix: tuple[Guard, ...]) -> bool:
    return len(guards) >= len(prefix) and all(map(_same, guards, prefix))


def _is_other_branch(guards: tuple[Guard, ...], other: tuple[Guard, ...]) -> bool:
    """Whether they are the guards of the two branches of one choice."""
    if len(guards) != len(other) or not all(map(_same, guards[:-1], other[:-1])):
        return False
    return guards[-1].condition is other[-1].condition and guards[-1].holds != other[-1].holds
