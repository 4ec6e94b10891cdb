"""Assignments of arrays whose elements are read where others of them are written: copies come first.

NumPy computes all that is assigned before it assigns anything. Where loops would overwrite an element before it is
read, it is read from a copy: of a row, a column or an element, if each is read in many iterations, else of all that
is assigned.

Before::

    A[:] = np.minimum(A, np.add.outer(A[:, k], A[k, :]))

After::

    for j in range(n): row[j] = A[k, j]
    for i in range(n): column[i] = A[i, k]
    for i in range(n):
        for j in range(n):
            A[i, j] = min(A[i, j], column[i] + row[j])
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from ..rewriting import plain, with_parts
from ..tree import Expression, Read, Variable, reads_of
from .context import Context, names_in
from .indices import constant_of, is_pure, key_of, linear, subtract
from .kinds import INT64
from .values import ArrayValue

__all__ = ["Overlaps"]

Rule = Callable[[tuple[Expression, ...]], Expression]


class Overlaps(Context):
    """Assignments that read what they write."""

    def without_overlap(self, target: ArrayValue, rule: Rule, node: ast.AST) -> Rule:
        """What each element of the target becomes, when loops run that assign one after the other.

        Args:
            target: a place in memory.
            rule: the value by the indices, of which some may be read too late.
        """
        assert target.place is not None
        probe = tuple(Variable(f"*{axis}", INT64) for axis in range(len(target.shape)))
        written, value = target.place(probe), rule(probe)
        if not _overwrites(written, value, probe):
            return rule
        parts = _smaller_parts(written, value, probe)
        if parts:
            left = _replaced(value, dict.fromkeys(parts, Variable("*", INT64)))
            if not _overwrites(written, left, probe):
                return self._from_parts(target, value, probe, parts, node)
        return self._from_all(target, rule, node)

    def _from_all(self, target: ArrayValue, rule: Rule, node: ast.AST) -> Rule:
        name = self.new_array("temporary", target.dtype, target.room, node)
        memory = self.view(name, target.dtype, target.shape, target.room, node)
        assert memory.place is not None
        with self.loops(target.shape, node) as indices:
            self.assign(memory.place(indices), rule(indices), node)
        return memory.element

    def _from_parts(
        self,
        target: ArrayValue,
        value: Expression,
        probe: tuple[Variable, ...],
        parts: dict[object, tuple[Read, tuple[int, ...]]],
        node: ast.AST,
    ) -> Rule:
        copies: dict[object, Expression] = {}
        for key, (read, axes) in parts.items():
            shape = tuple(target.shape[axis] for axis in axes)
            room = tuple(target.room[axis] for axis in axes)
            name = self.new_array("kept", read.dtype, room, node)
            memory = self.view(name, read.dtype, shape, room, node)
            assert memory.place is not None
            moving = [probe[axis] for axis in axes]
            with self.loops(shape, node) as indices:
                here = {plain(one): index for one, index in zip(moving, indices, strict=True)}
                self.assign(memory.place(indices), _replaced(read, here), node)
            copies[key] = memory.element(tuple(moving))
        form = _replaced(value, copies)

        def rule(indices: tuple[Expression, ...]) -> Expression:
            here = {plain(one): index for one, index in zip(probe, indices, strict=True)}
            return _replaced(form, here)

        return rule


def _replaced(expression: Expression, by: Mapping[object, Expression]) -> Expression:
    """The expression with others in place of some of its parts, given by what they say."""
    found = by.get(plain(expression))
    return with_parts(expression, lambda part: _replaced(part, by)) if found is None else found


def _smaller_parts(
    written: Read, value: Expression, probe: Sequence[Variable]
) -> dict[object, tuple[Read, tuple[int, ...]]]:
    """The reads of other elements of what is written, each with the axes of the target along which it moves. None
    where one moves along all of them: a copy would be as large as the target."""
    place = plain(written)
    found: dict[object, tuple[Read, tuple[int, ...]]] = {}
    for read in reads_of(value):
        if read.array != written.array or plain(read) == place:
            continue
        moves = set(names_in(read))
        axes = tuple(axis for axis, each in enumerate(probe) if each.name in moves)
        if len(axes) == len(probe):
            return {}
        found[plain(read)] = read, axes
    return found


def _overwrites(target: Read, value: Expression, probe: Sequence[Expression]) -> bool:
    """Whether a loop over the target's elements may overwrite one before `value` reads it.

    It does not if each read is of the element that is written, or of one that a later iteration
    writes: constant distances, the first of which other than 0 is ahead in the order of the loops.
    """
    scatters = not all(map(is_pure, target.subscripts))
    order = [key_of(each) for each in probe]
    written = [linear(each) for each in target.subscripts]
    for read in reads_of(value):
        if read.array != target.array:
            continue
        if scatters:  # an element may be written twice, and keeps the last value
            return True
        distances: list[tuple[int, int]] = []
        for form, subscript in zip(written, read.subscripts, strict=True):
            distance = constant_of(subtract(subscript, form.expression()))
            if distance is None:
                return True
            inner = [
                (order.index(key), count) for key, (count, _) in form.terms.items() if key in order
            ]
            if distance == 0:
                continue
            if len(inner) != 1:
                return True
            axis, count = inner[0]
            distances.append((axis, distance * count))
        if distances and min(distances)[1] < 0:
            return True
    return False
