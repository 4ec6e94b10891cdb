"""What integer scalars are at a place of a program, as polynomials of iterators and parameters, and
expressions with these in the place of the scalars."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from . import tree
from .polynomials import Polynomial, added, exclude_each_other, polynomial, tree_of
from .rewriting import with_parts

__all__ = ["INDEX", "Known", "ScalarValue", "ScalarValues", "as_type", "together"]

INDEX = np.dtype(np.int64)


@dataclass(frozen=True)
class ScalarValue:
    """What a scalar holds.

    Attributes:
        of: the number.
        only_if: conditions, isl text, under which it is that number: a loop whose stop lies before its
            start has no iterations, and not a negative number of them.
    """

    of: Polynomial
    only_if: tuple[str, ...] = ()

    def speaks_of(self, names: set[str]) -> bool:
        """Whether any of the names stands in it."""
        words = {word for each in self.only_if for word in re.findall(r"[A-Za-z_]\w*", each)}
        return not names.isdisjoint(words.union(*self.of))


Known = dict[str, ScalarValue]


class ScalarValues:
    """Writes the values of scalars that count in their place.

    Attributes:
        scalars: those that may be known.
        counting: those among them whose values are written: they are made of their own earlier ones.
        types: of iterators and parameters.
        changed: whether anything was written.
        asked: loops that are read for what they add, whose statements nobody keeps.
    """

    def __init__(self, program: tree.Program, scalars: set[str], counting: set[str]) -> None:
        self.scalars = scalars
        self.counting = counting
        self.dtypes = {name: program.arrays[name].dtype for name in scalars}
        self.types = dict(program.parameters)
        self.changed = False
        self.asked = 0
        self.follows: dict[tuple[tuple[str, ...], tuple[str, ...]], bool] = {}

    def quotient(self, room: Polynomial, by: int, where: tree.Location) -> tree.Expression:
        """How many steps of a size there are room for, the last one counted if there is less for it; not
        above 0 if there is none."""
        inner = {key: value for key, value in room.items() if key}
        rest = room.get((), 0)
        if all(value % by == 0 for value in inner.values()):
            exact = {key: value // by for key, value in inner.items()}
            return self.written(added(exact, {(): -(-rest // by)}), INDEX, where)
        distance = self.written(added(inner, {(): rest + by - 1}), INDEX, where)
        return tree.Operation("//", (distance, tree.Literal(by, INDEX)), INDEX, where)

    def value_of(
        self, expression: tree.Expression, known: Known, index: bool = False
    ) -> ScalarValue | None:
        """An expression as a polynomial, with what must hold for the scalars in it; or None."""

        def changed(part: tree.Expression) -> tree.Expression:
            if isinstance(part, tree.Read) and not part.subscripts and part.array in known:
                return self.written(known[part.array].of, INDEX, part.location)
            return with_parts(part, changed)

        found = polynomial(changed(expression), index)
        if found is None:
            return None
        read = {each.array for each in tree.reads_of(expression)}
        return ScalarValue(
            found, together(*(known[name].only_if for name in sorted(read & known.keys())))
        )

    def index(
        self, expression: tree.Expression, known: Known, facts: tuple[str, ...]
    ) -> tree.Expression:
        """A subscript: in 64 bits, if it has a scalar that counts."""
        return self.opened(expression, known, facts, index=True)

    def opened(
        self,
        expression: tree.Expression,
        known: Known,
        facts: tuple[str, ...],
        index: bool = False,
    ) -> tree.Expression:
        """A bound, or a subscript: in 64 bits, if it has a scalar that counts."""
        names = self.counting & known.keys()
        reads = [each for each in tree.reads_of(expression) if each.array in names]
        value = self.value_of(expression, known, index) if reads and not self.asked else None
        if value is None or not self.hold(value.only_if, facts):
            return self.within(expression, known, facts)
        self.changed = True
        return self.written(value.of, INDEX, reads[0].location)

    def within(
        self, expression: tree.Expression, known: Known, facts: tuple[str, ...]
    ) -> tree.Expression:
        """The expression with polynomials in place of scalars, of the types that these have."""
        if self.asked:
            return expression

        def changed(part: tree.Expression) -> tree.Expression:
            if not isinstance(part, tree.Read):
                return with_parts(part, changed)
            if part.subscripts:
                subscripts = tuple(self.index(each, known, facts) for each in part.subscripts)
                return replace(part, subscripts=subscripts)
            value = known.get(part.array) if part.array in self.counting else None
            if value is None or not self.hold(value.only_if, facts):
                return part
            self.changed = True
            return self.written(value.of, part.dtype, part.location)

        return changed(expression)

    def written(self, of: Polynomial, dtype: np.dtype, location: tree.Location) -> tree.Expression:
        """A polynomial as an expression of that type."""
        types = {name: self.types.get(name, INDEX) for key in of for name in key}
        narrow = all(np.can_cast(each, dtype, "safe") for each in types.values())
        # The scalar does not overflow, so that it is the polynomial, though iterators may be wider.
        exact = dtype.kind == "i" and all(each.kind == "i" for each in types.values())
        inner = dtype if narrow or exact else INDEX

        def variable(name: str) -> tree.Expression:
            if exact and not np.can_cast(types[name], inner, "safe"):
                return tree.Variable(name, inner)
            return as_type(tree.Variable(name, types[name]), inner)

        return as_type(tree_of(of, variable, inner, location), dtype)

    def hold(self, conditions: tuple[str, ...], facts: tuple[str, ...]) -> bool:
        """Whether conditions follow from what holds around a place."""
        if not conditions:
            return True
        if (conditions, facts) not in self.follows:
            self.follows[conditions, facts] = all(
                each in facts or exclude_each_other((*facts, f"not ({each})"))
                for each in conditions
            )
        return self.follows[conditions, facts]


def as_type(expression: tree.Expression, dtype: np.dtype) -> tree.Expression:
    return expression if expression.dtype == dtype else tree.Convert(expression, dtype)


def together(*conditions: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for some in conditions for each in some))
