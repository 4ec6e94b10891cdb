"""Loops over all elements of a matrix at once: `for (i = 0; i < n * m; i++) x[i] = ...`.

Such a bound is no affine function of the sizes. The loop is the nest over rows and columns, in the same
order, with `i = r * m + c`; `recover_shapes` then finds the rows. Which of the factors is the length of a
row is seen from the other accesses of the arrays; where nothing is seen it is the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from .. import tree
from ..polynomials import Polynomial, affine_index, polynomial
from ..rewriting import rewritten
from ..tree import Expression, For, If, Literal, Operation, Statement, Variable, While
from .linearized import recover_shapes

__all__ = ["recovered_shapes"]

LONG, BOOL = np.dtype("int64"), np.dtype("bool")


def recovered_shapes(
    program: tree.Program, lengths: Mapping[str, str]
) -> tuple[tree.Program, dict[str, tuple[Expression, ...]]]:
    """`recover_shapes`, of the program with nests in the place of such loops if all that they read and
    write is found to be rows then, and else of the program as it is."""
    splitting = _Splitting(program)
    body = splitting.statements(program.body)
    if splitting.iterators:
        context = (*program.context, *splitting.context)
        split = replace(program, body=body, context=context)
        recovered, shapes = recover_shapes(split, lengths)
        if all(
            affine_index(subscript) is not None
            for read in _accesses(recovered.body)
            for subscript in read.subscripts
            if splitting.iterators & _names(subscript)
        ):
            return recovered, shapes
    return recover_shapes(program, lengths)


class _Splitting:
    """Writes nests in the place of loops whose bounds are products.

    Attributes:
        iterators: the new ones.
        context: what is asked at the call, as of all sizes: none is negative. (The product of two that are
            would be positive.)
    """

    def __init__(self, program: tree.Program) -> None:
        self.program = program
        self.iterators: set[str] = set()
        self.context: list[Expression] = []
        self._taken = {
            *program.parameters,
            *program.arrays,
            *(each.iterator.name for each in tree.walk(program.body) if isinstance(each, For)),
        }

    def statements(self, statements: Sequence[Statement]) -> tuple[Statement, ...]:
        return tuple(map(self._statement, statements))

    def _statement(self, statement: Statement) -> Statement:
        match statement:
            case For():
                return self._loop(replace(statement, body=self.statements(statement.body)))
            case While():
                return replace(statement, body=self.statements(statement.body))
            case If():
                return replace(
                    statement,
                    body=self.statements(statement.body),
                    otherwise=self.statements(statement.otherwise),
                )
        return statement

    def _loop(self, loop: For) -> Statement:
        factors = self._factors(loop)
        if not factors:
            return loop
        dtype, place = loop.iterator.dtype, loop.location
        factors.sort(key=lambda name: self._is_row(loop, name))
        sizes: list[Expression] = [Variable(name, dtype) for name in factors]
        iterators = [Variable(self._name(loop.iterator.name), dtype) for _ in factors]
        whole: Expression = iterators[0]
        for iterator, size in zip(iterators[1:], sizes[1:], strict=True):
            rows = Operation("*", (whole, size), dtype, place)
            whole = Operation("+", (rows, iterator), dtype, place)

        def changed(part: Expression) -> Expression | None:
            is_iterator = isinstance(part, Variable) and part.name == loop.iterator.name
            return whole if is_iterator else None

        body = rewritten(loop.body, changed)
        for level in reversed(range(len(factors))):
            label = loop.label if level == 0 else f"{loop.label}_{level}"
            zero = Literal(0, dtype)
            body = (
                replace(
                    loop,
                    iterator=iterators[level],
                    start=zero,
                    stop=sizes[level],
                    body=body,
                    label=label,
                ),
            )
        for name in factors:
            zero = Literal(0, LONG)
            size = Operation(">=", (Variable(name, LONG), zero), BOOL, self.program.location)
            if size not in self.context:
                self.context.append(size)
        return body[0]

    def _factors(self, loop: For) -> list[str]:
        """The sizes whose product the bound is, or none."""
        start, stop = polynomial(loop.start, index=True), polynomial(loop.stop, index=True)
        if start is None or any(start.values()) or stop is None or loop.step != 1:
            return []
        terms = {key: value for key, value in stop.items() if value}
        if len(terms) != 1 or loop.parallel or _is_left(loop.body):
            return []
        ((names, count),) = terms.items()
        types = self.program.parameters
        known = all(
            name in types and np.can_cast(types[name], loop.iterator.dtype, "safe")
            for name in names
        )
        if not known or count != 1 or len(names) < 2:
            return []
        order = list(_order(loop.stop))
        return sorted(names, key=order.index)

    def _is_row(self, loop: For, name: str) -> int:
        """How often the arrays of the loop are read and written by rows of that length."""
        arrays = {
            read.array
            for read in _accesses(loop.body)
            if any(loop.iterator.name in _names(each) for each in read.subscripts)
        }
        found = 0
        for read in _accesses(self.program.body):
            if read.array in arrays:
                for each in read.subscripts:
                    found += _multiplies(polynomial(each, index=True), name, self.program)
        return found

    def _name(self, wanted: str) -> str:
        count = 0
        while f"{wanted}{count}" in self._taken:
            count += 1
        self._taken.add(f"{wanted}{count}")
        self.iterators.add(f"{wanted}{count}")
        return f"{wanted}{count}"


def _multiplies(subscript: Polynomial | None, name: str, program: tree.Program) -> bool:
    """Whether a subscript has an iterator times a size."""
    return any(
        name in key and any(other not in program.parameters for other in key)
        for key in subscript or ()
    )


def _is_left(statements: Sequence[Statement]) -> bool:
    """Whether a statement ends the loop around these."""
    for each in statements:
        if isinstance(each, tree.Break):
            return True
        if isinstance(each, If) and _is_left((*each.body, *each.otherwise)):
            return True
    return False


def _order(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Variable):
        yield expression.name
    for part in tree.parts_of(expression):
        yield from _order(part)


def _names(expression: Expression) -> set[str]:
    return set(_order(expression))


def _accesses(statements: Sequence[Statement]) -> Iterator[tree.Read]:
    for each in tree.walk(tuple(statements)):
        if isinstance(each, tree.Assign):
            yield each.target
        for expression in tree.expressions_of(each):
            yield from tree.reads_of(expression)
