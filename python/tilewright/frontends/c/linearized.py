"""Shapes of arrays that C code indexes by hand: `A[i*n + j]` becomes `A[i, j]`.

The subscript `e * n + f` is the element `[e, f]` of an array with rows of length n exactly if f lies
from 0 to n - 1. That is proved for every access of the array from the loops and conditions around it
(isl), and assumed nowhere; an array for which it cannot be proved stays as it is. Several dimensions
are taken off one after the other, the innermost first (Grosser et al., "Optimistic delinearization of
parametrically sized arrays", ICS 2015, whose run-time tests are not needed here).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...sets.values import Set
from .. import tree
from ..tree import Expression, For, If, Literal, Operation, Read, Statement, Variable
from .polynomials import Polynomial, affine_text, condition_text, loop_bounds, polynomial

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
    for length, name in lengths.items():
        array = program.arrays.get(name)
        if array is None or len(array.shape) != 1:
            continue
        accesses = list(_accesses(program.body, name, ()))
        rows = _rows(program, accesses)
        if not rows:
            continue
        variables = [Variable(each.name, LONG) for each in rows]
        shape = (Variable(length, LONG), *variables)
        shapes[name] = shape
        program = _rewritten(program, name, shape, rows)
    return program, shapes


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
                yield polynomial(read.subscripts[0]), around
        match each:
            case For():
                yield from _accesses(each.body, array, (*around, *loop_bounds(each)))
            case tree.While():
                yield from _accesses(each.body, array, around)
            case If():
                condition = condition_text(each.condition)
                inner = (*around, condition) if condition else around
                yield from _accesses(each.body, array, inner)
                yield from _accesses(each.otherwise, array, around)


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
    domain = " and ".join([*around, f"{row} >= 0"])
    outside = f"{domain} and (({text}) < 0 or ({text}) >= {row})"
    # isl has words of its own, so that names are numbered for it.
    numbers = {name: f"x{at}" for at, name in enumerate(sorted(_names((outside,)) - {"and", "or"}))}
    numbered = re.sub(r"[A-Za-z_]\w*", lambda found: numbers.get(found[0], found[0]), outside)
    return Set(f"{{ [{', '.join(numbers.values())}] : {numbered} }}").is_empty


def _names(texts: tuple[str, ...]) -> set[str]:
    return {name for text in texts for name in re.findall(r"[A-Za-z_]\w*", text)}


def _rewritten(
    program: tree.Program, name: str, shape: tuple[Expression, ...], rows: list[_Row]
) -> tree.Program:
    """The program with the subscripts of the array split, and the array's new shape."""

    def split(read: Read) -> Read:
        if read.array != name:
            return read
        rest = polynomial(read.subscripts[0])
        assert rest is not None
        subscripts: list[Expression] = []
        for row in reversed(rows):
            rest, beside = row.divided(rest)
            subscripts.insert(0, _expression(program, beside, read))
        subscripts.insert(0, _expression(program, rest, read))
        return replace(read, subscripts=tuple(subscripts))

    arrays = dict(program.arrays)
    arrays[name] = replace(arrays[name], shape=shape)
    return replace(program, arrays=arrays, body=_mapped(program.body, split))


def _expression(program: tree.Program, polynomial: Polynomial, read: Read) -> Expression:
    """A polynomial as a tree."""
    result: Expression | None = None
    for key, value in sorted(polynomial.items(), key=lambda each: (each[0] == (), each[0])):
        factors: list[Expression] = [_variable(program, name, read) for name in key]
        if abs(value) != 1 or not factors:
            factors.insert(0, Literal(abs(value), LONG))
        term = factors[0]
        for factor in factors[1:]:
            term = Operation("*", (term, factor), LONG, read.location)
        if result is None:
            result = term if value > 0 else Operation("neg", (term,), LONG, read.location)
        else:
            result = Operation("+" if value > 0 else "-", (result, term), LONG, read.location)
    return Literal(0, LONG) if result is None else result


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


def _mapped(statements: tuple[Statement, ...], change: Callable[[Read], Read]) -> tuple[Any, ...]:
    """The statements with reads and targets changed."""
    return tuple(_mapped_statement(each, change) for each in statements)


def _mapped_statement(each: Statement, change: Callable[[Read], Read]) -> Statement:
    def inner(expression: Expression) -> Expression:
        return _mapped_expression(expression, change)

    match each:
        case tree.Assign():
            target = inner(each.target)
            assert isinstance(target, Read)
            return replace(each, target=target, value=inner(each.value))
        case For():
            return replace(
                each,
                start=inner(each.start),
                stop=inner(each.stop),
                body=_mapped(each.body, change),
            )
        case tree.While():
            return replace(each, condition=inner(each.condition), body=_mapped(each.body, change))
        case If():
            return replace(
                each,
                condition=inner(each.condition),
                body=_mapped(each.body, change),
                otherwise=_mapped(each.otherwise, change),
            )
        case tree.Assume():
            return replace(each, condition=inner(each.condition))
    return each


def _mapped_expression(expression: Expression, change: Callable[[Read], Read]) -> Expression:
    match expression:
        case Read():
            subscripts = tuple(_mapped_expression(each, change) for each in expression.subscripts)
            return change(replace(expression, subscripts=subscripts))
        case Operation():
            return replace(
                expression,
                operands=tuple(_mapped_expression(each, change) for each in expression.operands),
            )
        case tree.Convert():
            return replace(expression, value=_mapped_expression(expression.value, change))
        case tree.Select():
            return replace(
                expression,
                condition=_mapped_expression(expression.condition, change),
                if_true=_mapped_expression(expression.if_true, change),
                if_false=_mapped_expression(expression.if_false, change),
            )
        case tree.Call():
            return replace(
                expression,
                arguments=tuple(_mapped_expression(each, change) for each in expression.arguments),
            )
    return expression
