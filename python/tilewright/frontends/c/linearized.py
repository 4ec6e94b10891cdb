"""Shapes of arrays that C code indexes by hand: `A[i*n + j]` becomes `A[i, j]`.

The subscript `e * n + f` is the element `[e, f]` of an array with rows of length n exactly if f lies
from 0 to n - 1. That is proved for every access of the array from the loops and conditions around it
(isl), and assumed nowhere; an array for which it cannot be proved stays as it is. Several dimensions
are taken off one after the other, the innermost first (Grosser et al., "Optimistic delinearization of
parametrically sized arrays", ICS 2015, whose run-time tests are not needed here).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from .. import tree
from ..polynomials import (
    Polynomial,
    affine_text,
    condition_text,
    exclude_each_other,
    implied_text,
    loop_bounds,
    polynomial,
    quotient,
    tree_of,
)
from ..rewriting import with_expressions, with_parts
from ..tree import Expression, For, If, Read, Statement, Variable
from .values import as_index

__all__ = ["recover_shapes"]

LONG = np.dtype("int64")


def recover_shapes(
    program: tree.Program, lengths: Mapping[str, str]
) -> tuple[tree.Program, dict[str, tuple[Expression, ...]]]:
    """The program with shapes for arrays of one dimension whose length nobody declared.

    Args:
        program: the program as the file has it.
        lengths: parameters that stand for lengths of the caller's arrays -> the array.

    Returns:
        The program, and the new shapes of arrays that have one.
    """
    shapes: dict[str, tuple[Expression, ...]] = {}
    unknown = {name: length for length, name in lengths.items()}
    for name, array in program.arrays.items():
        if len(array.shape) != 1 or not (name in unknown or _is_product(array)):
            continue
        rows = _rows(program, list(_accesses(program.body, name, ())))
        if not rows:
            continue
        if name in unknown:
            outermost: Expression | None = Variable(unknown[name], LONG)
        else:
            outermost = _number_of_rows(program, array, rows)
        if outermost is None:
            continue
        variables = [Variable(each.name, LONG) for each in rows]
        shape = (outermost, *variables)
        shapes[name] = shape
        program = _rewritten(program, name, shape, rows)
    return program, shapes


def _is_product(array: tree.Array) -> bool:
    """Whether a local array has n * m elements."""
    size = polynomial(array.shape[0], index=True)
    return array.local and size is not None and affine_text(size) is None


def _number_of_rows(
    program: tree.Program, array: tree.Array, rows: list[_Row]
) -> Expression | None:
    size = polynomial(array.shape[0], index=True)
    assert size is not None
    number = quotient(size, {tuple(sorted(each.name for each in rows)): 1})
    if number is None or affine_text(number) is None:
        return None
    types = program.parameters
    return tree_of(number, lambda name: as_index(Variable(name, types[name])), LONG, array.location)


def _accesses(
    statements: tuple[Statement, ...], array: str, around: tuple[str, ...]
) -> Iterator[tuple[Polynomial | None, tuple[str, ...]]]:
    """The subscripts of an array, with what holds around each, as isl text."""
    for each in statements:
        reads = [r for e in tree.expressions_of(each) for r in tree.reads_of(e)]
        if isinstance(each, tree.Assign):
            reads.append(each.target)
        for read in reads:
            if read.array == array:
                yield polynomial(read.subscripts[0], index=True), around
        match each:
            case For():
                yield from _accesses(each.body, array, (*around, *loop_bounds(each)))
            case tree.While():
                yield from _accesses(each.body, array, around)
            case If():
                condition = implied_text(each.condition)
                inner = (*around, condition) if condition else around
                yield from _accesses(each.body, array, inner)
                exact = condition_text(each.condition)
                other = (*around, f"not ({exact})") if exact else around
                yield from _accesses(each.otherwise, array, other)
            case tree.Assume():
                known = implied_text(each.condition)
                around = (*around, known) if known else around


def _divided(subscript: Polynomial, by: str, whole: bool) -> tuple[Polynomial, Polynomial]:
    """Quotient and rest: the products that have the factor, without it, and the others. `whole`: what is
    a multiple of the factor alone belongs to the quotient, as in `(i - 1) * n + j`."""
    quotient: Polynomial = {}
    rest: Polynomial = {}
    for key, value in subscript.items():
        if by in key and (whole or len(key) > 1):
            at = key.index(by)
            quotient[key[:at] + key[at + 1 :]] = value
        else:
            rest[key] = value
    return quotient, rest


@dataclass(frozen=True)
class _Row:
    """A length of rows, and for each subscript which of `_divided` it is."""

    name: str
    whole: Mapping[frozenset[tuple[tuple[str, ...], int]], bool]

    def divided(self, subscript: Polynomial) -> tuple[Polynomial, Polynomial]:
        return _divided(subscript, self.name, self.whole[frozenset(subscript.items())])


def _rows(
    program: tree.Program, accesses: list[tuple[Polynomial | None, tuple[str, ...]]]
) -> list[_Row]:
    """The lengths of rows that are proved, outermost first."""
    remaining = [(subscript, around) for subscript, around in accesses if subscript is not None]
    if len(remaining) != len(accesses):
        return []
    rows: list[_Row] = []
    while (row := _row(program, remaining)) is not None:
        rows.insert(0, row)
        remaining = [(row.divided(subscript)[0], around) for subscript, around in remaining]
    return rows


def _row(program: tree.Program, accesses: list[tuple[Polynomial, tuple[str, ...]]]) -> _Row | None:
    """The parameter that is the length of the next rows, if one can be proved to be."""
    keys = [key for subscript, _ in accesses for key in subscript if len(key) > 1]
    candidates = {name for key in keys for name in key if name in program.parameters}
    around: dict[frozenset[tuple[tuple[str, ...], int]], list[tuple[str, ...]]] = {}
    for given, facts in accesses:
        around.setdefault(frozenset(given.items()), []).append(facts)
    # The innermost length is a factor of the most products.
    for name in sorted(candidates, key=lambda each: (-sum(each in key for key in keys), each)):
        found: dict[frozenset[tuple[tuple[str, ...], int]], bool] = {}
        for subscript, places in around.items():
            for whole in (True, False):
                rest = _divided(dict(subscript), name, whole)[1]
                if all(_stays_in_row(rest, facts, name) for facts in places):
                    found[subscript] = whole
                    break
        if len(found) == len(around):
            return _Row(name, found)
    return None


def _stays_in_row(rest: Polynomial, around: tuple[str, ...], row: str) -> bool:
    """Whether what stands beside the multiples of the row's length is from 0 to that length - 1."""
    text = affine_text(rest)
    if text is None:
        return False
    outside = f"({text}) < 0 or ({text}) >= {row}"
    return exclude_each_other((*around, f"{row} >= 0", outside))


def _rewritten(
    program: tree.Program, name: str, shape: tuple[Expression, ...], rows: list[_Row]
) -> tree.Program:
    """The program with the subscripts of the array split, and the array's new shape."""

    def split(part: Expression) -> Expression:
        read = with_parts(part, split)
        if not isinstance(read, Read) or read.array != name:
            return read
        rest = polynomial(read.subscripts[0], index=True)
        assert rest is not None
        subscripts: list[Expression] = []
        for row in reversed(rows):
            rest, beside = row.divided(rest)
            subscripts.insert(0, _expression(program, beside, read))
        subscripts.insert(0, _expression(program, rest, read))
        return replace(read, subscripts=tuple(subscripts))

    arrays = dict(program.arrays)
    arrays[name] = replace(arrays[name], shape=shape)
    return replace(program, arrays=arrays, body=with_expressions(program.body, split))


def _expression(program: tree.Program, polynomial: Polynomial, read: Read) -> Expression:
    """A polynomial as a tree."""
    return tree_of(polynomial, lambda name: _variable(program, name, read), LONG, read.location)


def _variable(program: tree.Program, name: str, read: Read) -> Expression:
    found = next(
        part
        for part in _below(read.subscripts[0])
        if isinstance(part, Variable) and part.name == name
    )
    return found if found.dtype == LONG else tree.Convert(found, LONG)


def _below(expression: Expression) -> Iterator[Expression]:
    yield expression
    for part in tree.parts_of(expression):
        yield from _below(part)
