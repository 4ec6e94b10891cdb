"""The extents of arrays that are made within loops.

Memory has one size in the whole kernel. An array whose extents follow the iterators lies in memory that is large
enough for all iterations::

    for i in range(1, n):
        w = np.zeros(i)             # lies in n - 1 elements
        w[:] = A[i, :i]

Extents that are no sums of iterators have no such bound that is worth its memory: `np.empty((R, R**i))`. The
loop, if it is short and its number of turns is known, is translated turn by turn, so that each has arrays of its own.
"""

from __future__ import annotations

import ast

from ..rewriting import with_parts
from ..tree import Convert, Expression, Literal, Operation, Read, Variable
from .context import Context, NextRound, names_in
from .indices import add, constant_of, is_pure, linear, literal, multiply
from .kinds import INT
from .values import RangeValue, Scalar, TupleValue

__all__ = ["Extents"]

#: A loop of more turns is not translated turn by turn.
_MOST_TURNS = 64
#: And no more than these are in one function: those of nested loops multiply.
_MOST_IN_ALL = 512


class Extents(Context):
    """Extents and loops."""

    def of_parameters(self, expression: Expression) -> bool:
        """Whether it speaks of parameters only, not of iterators."""
        match expression:
            case Variable():
                return expression.name in self.parameters
            case Operation():
                return all(map(self.of_parameters, expression.operands))
            case Convert():
                return self.of_parameters(expression.value)
        return isinstance(expression, Literal)

    def note_range(self, iterator: Variable, over: RangeValue, node: ast.For) -> None:
        """Notes what values an iterator has."""
        self.ranges[iterator.name] = self.at(node), over

    def so_far(self, extent: Expression) -> Expression:
        """An extent in which variables that change later on are the sizes that they hold here."""
        if self.turns:
            return extent
        known = extent
        if isinstance(extent, Read) and not extent.subscripts:
            known = self.of_sizes.get(extent.array, extent)
        return known if known is not extent else with_parts(extent, self.so_far)

    def room_of(self, extent: Expression, node: ast.AST, what: str, way_out: str) -> Expression:
        """An extent that is large enough in all iterations around, of parameters only.

        Args:
            what, way_out: for the error, unless there is one: "the extents of a new array".
        """
        if is_pure(extent):
            if self.of_parameters(extent):
                return extent
            bound = self._reached(extent, above=True)
            if bound is not None and self.of_parameters(bound):
                return bound
        self.require_parameters(extent, node, what, way_out)
        return extent

    def room_of_array(self, extent: Expression, node: ast.AST) -> Expression:
        """An extent of the memory of a new array."""
        what = "the extents of a new array"
        return self.room_of(extent, node, what, "make it large enough and use a part")

    def require_parameters(
        self, extent: Expression, node: ast.AST, what: str, way_out: str
    ) -> None:
        """An extent of parameters only; the loops of whose iterators it speaks are translated turn by turn."""
        if is_pure(extent) and self.of_parameters(extent):
            return
        loops = {self.ranges[name][0] for name in names_in(extent) if name in self.ranges}
        if is_pure(extent) and loops - self.in_turns:
            self.in_turns |= loops
            raise NextRound
        self.refuse(
            node, f"{what} must depend on integer arguments and sizes of arrays only", way_out
        )

    def turns_of(self, over: RangeValue, node: ast.For) -> TupleValue | None:
        """The values of the iterator, if the loop is to be translated turn by turn."""
        if self.at(node) not in self.in_turns:
            return None
        bounds = []
        for bound in (over.start, over.stop):
            self.require_numbers_of(bound)
            self.require_parameters(
                bound,
                node,
                "arrays in this loop have extents that follow its turns: its bounds",
                _LARGE,
            )
            bounds.append(constant_of(bound))
        start, stop = bounds
        if start is None or stop is None or over.parallel:
            self.refuse(node, "arrays in this loop have extents that follow its turns", _LARGE)
        turns = range(start, stop, over.step)
        if len(turns) > _MOST_TURNS:
            self.refuse(
                node,
                f"arrays in this loop have extents that follow its turns, of which there are {len(turns)}; at most "
                f"{_MOST_TURNS} turns are translated one by one",
                _LARGE,
            )
        self.single_turns += len(turns)
        if self.single_turns > _MOST_IN_ALL:
            self.refuse(
                node,
                "arrays in this loop have extents that follow its turns, which are translated one by one; with "
                f"those of the loops around it and before it there are more than {_MOST_IN_ALL}",
                _LARGE,
            )
        return TupleValue(tuple(Scalar(literal(turn), INT) for turn in turns))

    def _reached(self, expression: Expression, above: bool) -> Expression | None:
        """What a sum of iterators never exceeds, or never goes below."""
        form = linear(expression)
        result: Expression = literal(form.constant)
        for count, term in form.terms.values():
            part: Expression | None = term
            if isinstance(term, Variable) and term.name in self.ranges:
                over = self.ranges[term.name][1]
                largest = above == (count > 0)
                if (over.step > 0) == largest:  # the turn before the stop, or one still nearer
                    last = add(over.stop, literal(-1 if over.step > 0 else 1))
                    part = self._reached(last, largest)
                else:
                    part = self._reached(over.start, largest)
            elif not self.of_parameters(term):
                part = None
            if part is None:
                return None
            result = add(result, multiply(part, count))
        return result


_LARGE = "make arrays large enough before the loop, and use parts of them"
