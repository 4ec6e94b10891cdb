"""Lists in braces as C99 6.7.8 lets one write them: without the inner braces, and with several steps in
a designator.

Before::

    struct P { int x, y[2]; } p[2] = { 1, 2, 3, [1].y[1] = 6 };

After::

    struct P { int x, y[2]; } p[2] = { [0] = { .x = 1, .y = { [0] = 2, [1] = 3 } },
                                       [1] = { .y = { [1] = 6 } } };
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from .c_types import ArrayOf, CType, Structure
from .values import extended

__all__ = ["with_braces"]


def with_braces(
    of: CType, init: Any, constant: Callable[[Any], int], is_structure: Callable[[Any], bool]
) -> Any:
    """The initialiser with a list in braces for each part that is an array or a structure, and
    designators of one step; itself if it is written so.

    Args:
        of: what is initialised; its outermost extent may be unknown.
        init: a list in braces, or an expression.
        constant: an integer that the C says, of a designator.
        is_structure: whether an expression is a whole structure, which needs no braces.
    """
    if not isinstance(of, ArrayOf | Structure) or not _leaves_out(of, init):
        return init
    queue = list(init.exprs)
    made = _Braces(constant, is_structure).taken(of, queue, is_braced=True, coord=init.coord)
    made.exprs.extend(queue)  # too many: said where they are used
    return made


def _leaves_out(of: CType, init: Any) -> bool:
    if not isinstance(init, c_ast.InitList) or not isinstance(of, ArrayOf | Structure):
        return False
    for at, each in enumerate(init.exprs):
        value, part = each, _part_at(of, at)
        if isinstance(each, c_ast.NamedInitializer):
            if len(each.name) != 1:
                return True
            value = each.expr
            if isinstance(of, Structure):
                position = _field(of, each.name[0])
                part = None if position is None else of.fields[position][1]
        if not isinstance(part, ArrayOf | Structure):
            continue
        if not isinstance(value, c_ast.InitList) or _leaves_out(part, value):
            return True
    return False


def _part_at(of: CType, at: int) -> CType | None:
    if isinstance(of, ArrayOf):
        return of.element
    assert isinstance(of, Structure)
    return of.fields[at][1] if at < len(of.fields) else None


def _field(of: Structure, step: Any) -> int | None:
    names = [name for name, _ in of.fields]
    return names.index(step.name) if isinstance(step, c_ast.ID) and step.name in names else None


def _count_of(of: ArrayOf | Structure) -> int | None:
    if isinstance(of, Structure):
        return len(of.fields)
    return None if of.extent is None else extended(of.extent)


@dataclass(frozen=True)
class _Braces:
    """See `with_braces`."""

    constant: Callable[[Any], int]
    is_structure: Callable[[Any], bool]

    def taken(
        self, of: ArrayOf | Structure, queue: list[Any], *, is_braced: bool, coord: Any
    ) -> Any:
        """The list of what such an object takes from the front of a queue of initialisers: all that is
        between its braces, or as many as it has parts."""
        count = _count_of(of)
        given: dict[int, Any] = {}
        unknown: list[Any] = []  # designators of no part: they are refused where the list is used
        at, is_first = 0, True
        while queue:
            if isinstance(queue[0], c_ast.NamedInitializer):
                if not is_braced and not is_first:
                    break  # it names a part of the object around this one
                named = queue.pop(0)
                position = self._position(of, named.name[0])
                if position is None:
                    unknown.append(named)
                    continue
                at = position
                rest = named.name[1:]
                is_whole = not rest
                queue.insert(0, c_ast.NamedInitializer(rest, named.expr) if rest else named.expr)
            else:
                if count is not None and at >= count:
                    break
                is_whole = False
            left = len(queue)
            given[at] = self._part(_part_at(of, at), queue, given.get(at), is_whole, coord)
            at, is_first = at + 1, False
            if len(queue) == left:  # an object without parts
                unknown.append(queue.pop(0))
        is_plain = is_braced and list(given) == list(range(len(given)))
        exprs = given.values() if is_plain else self._named(of, given)
        return c_ast.InitList([*exprs, *unknown], coord)

    def _part(
        self, part: CType | None, queue: list[Any], before: Any, is_whole: bool, coord: Any
    ) -> Any:
        """The initialiser of one part, from the front of the queue."""
        first = queue[0]
        if isinstance(part, ArrayOf | Structure):
            if isinstance(first, c_ast.InitList):
                return with_braces(part, queue.pop(0), self.constant, self.is_structure)
            if isinstance(first, c_ast.NamedInitializer) or not (
                isinstance(part, Structure) and self.is_structure(first)
            ):
                made = self.taken(part, queue, is_braced=False, coord=coord)
                if isinstance(before, c_ast.InitList) and not is_whole:
                    made.exprs[:0] = before.exprs  # `[0][1] = 2, [0][2] = 3`
                return made
        return queue.pop(0)

    def _position(self, of: ArrayOf | Structure, step: Any) -> int | None:
        return _field(of, step) if isinstance(of, Structure) else self.constant(step)

    def _named(self, of: ArrayOf | Structure, given: dict[int, Any]) -> list[Any]:
        steps = {
            at: c_ast.ID(of.fields[at][0])
            if isinstance(of, Structure)
            else c_ast.Constant("int", str(at))
            for at in given
        }
        return [c_ast.NamedInitializer([steps[at]], value) for at, value in given.items()]
