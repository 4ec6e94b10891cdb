"""What a C program takes for granted about its arguments: that its accesses stay within its arrays.

A program that leaves an array has no meaning in C (C99 6.5.6), so parameters for which one certainly
would are ruled out: `x[i]` for all i below n says that x has n elements. That joins the context of the
program (PENCIL report, section 3.4) and is asked at the call. Only accesses that run whatever the data
say count; of arrays whose length no declaration says, all do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from types import UnionType

import numpy as np

from ...sets.values import Set
from .. import tree
from ..affine import Affine, compared
from ..conditions import parsed_condition
from ..polynomials import affine_index, condition_text, implied_text, loop_bounds, with_numbers
from ..tree import (
    Expression,
    For,
    If,
    Location,
    Read,
    Statement,
    Variable,
    plain,
)

__all__ = ["with_bounds"]

LONG, BOOL = np.dtype("int64"), np.dtype("bool")


def with_bounds(program: tree.Program) -> tree.Program:
    """The program, with what its accesses say about its parameters in its context."""
    found: list[Expression] = list(program.context)
    seen: set[str] = set()
    # Lengths of the caller's arrays, which are no arguments: nothing else says how far accesses go.
    lengths = set(program.parameters) - set(program.arguments)
    accesses = [(read, around, False) for read, around in _certain(program.body, ())]
    if lengths:
        accesses += [(read, around, True) for read, around in _possible(program.body, ())]
    for read, around, only_lengths in accesses:
        array = program.arrays[read.array]
        for subscript, extent in zip(read.subscripts, array.shape, strict=True):
            size_name = plain(extent)
            if only_lengths and not (isinstance(size_name, Variable) and size_name.name in lengths):
                continue
            at, size = affine_index(subscript), affine_index(extent)
            if at is None or size is None:
                continue
            below, above = compared(at, "<", Affine()), compared(at, ">=", size)
            outside = " and ".join([*around, f"({below} or {above})"])
            if outside in seen:
                continue
            seen.add(outside)
            condition = _excluded(program, outside, read.location)
            if condition is not None and condition not in found:
                found.append(condition)
    return replace(program, context=tuple(found))


def _certain(
    statements: tuple[Statement, ...], around: tuple[str, ...]
) -> Iterator[tuple[Read, tuple[str, ...]]]:
    """The accesses that run wherever the conditions around them hold."""
    for each in statements:
        for expression in tree.expressions_of(each):
            yield from ((read, around) for read in _unconditional(expression))
        if isinstance(each, tree.Assign):
            yield each.target, around
        match each:
            case For() if not _jumps(each.body, tree.Break):
                bounds = loop_bounds(each)
                if len(bounds) >= 2:
                    yield from _certain(each.body, (*around, *bounds))
            case If():
                condition = condition_text(each.condition)
                other = f"not ({condition})"
                if condition:
                    yield from _certain(each.body, (*around, condition))
                    yield from _certain(each.otherwise, (*around, other))
                if condition and _ends_turn(each.body) and not _jumps(each.otherwise, _TURNS):
                    around = (*around, other)
                    continue
        if _jumps((each,), _TURNS):
            return


def _possible(
    statements: tuple[Statement, ...],
    around: tuple[str, ...],
    unbounded: frozenset[str] = frozenset(),
) -> Iterator[tuple[Read, tuple[str, ...]]]:
    """The accesses with the affine conditions around them, but for those that move with iterators whose
    bounds data decide."""

    def known(read: Read) -> bool:
        names = {part.name for each in read.subscripts for part in _variables(each)}
        return unbounded.isdisjoint(names)

    for each in statements:
        for expression in tree.expressions_of(each):
            for read, conditions in _chosen(expression, around):
                if known(read):
                    yield read, conditions
        if isinstance(each, tree.Assign) and known(each.target):
            yield each.target, around
        match each:
            case For():
                bounds = loop_bounds(each)
                own = {part.name for end in (each.start, each.stop) for part in _variables(end)}
                is_known = len(bounds) >= 2 and unbounded.isdisjoint(own)
                free = unbounded if is_known else unbounded | {each.iterator.name}
                yield from _possible(each.body, (*around, *bounds), free)
            case If():
                implied = implied_text(each.condition)
                inner = (*around, implied) if implied else around
                yield from _possible(each.body, inner, unbounded)
                condition = condition_text(each.condition)
                other = (*around, f"not ({condition})") if condition else around
                yield from _possible(each.otherwise, other, unbounded)
            case tree.While():
                yield from _possible(each.body, around, unbounded)


def _chosen(
    expression: Expression, around: tuple[str, ...]
) -> Iterator[tuple[Read, tuple[str, ...]]]:
    """The reads of an expression, with the affine choices around them, too."""
    if isinstance(expression, Read):
        yield expression, around
    parts = tree.parts_of(expression)
    condition = condition_text(expression.condition) if isinstance(expression, tree.Select) else ""
    if condition:
        yield from _chosen(parts[0], around)
        yield from _chosen(parts[1], (*around, condition))
        yield from _chosen(parts[2], (*around, f"not ({condition})"))
        return
    for part in parts:
        yield from _chosen(part, around)


def _variables(expression: Expression) -> Iterator[Variable]:
    if isinstance(expression, Variable):
        yield expression
    for part in tree.parts_of(expression):
        yield from _variables(part)


_TURNS = tree.Break | tree.Continue


def _ends_turn(statements: tuple[Statement, ...]) -> bool:
    """Whether they lead to the next iteration, and nowhere else."""
    is_last = bool(statements) and isinstance(statements[-1], tree.Continue)
    return is_last and not _jumps(statements[:-1], _TURNS)


def _jumps(statements: tuple[Statement, ...], kinds: type | UnionType) -> bool:
    """Whether a return is among the statements, or such a jump that is not of a loop among them."""
    for each in statements:
        if isinstance(each, tree.Return | kinds):
            return True
        inner = tree.Return if isinstance(each, For | tree.While) else kinds
        body = each.body if isinstance(each, If | For | tree.While) else ()
        if _jumps(body, inner) or (isinstance(each, If) and _jumps(each.otherwise, kinds)):
            return True
    return False


def _unconditional(expression: Expression) -> Iterator[Read]:
    if isinstance(expression, Read):
        yield expression
    parts = tree.parts_of(expression)
    for part in parts[:1] if isinstance(expression, tree.Select) else parts:
        yield from _unconditional(part)


def _excluded(program: tree.Program, outside: str, location: Location) -> Expression | None:
    """The condition on parameters that no iteration is outside; None where it says nothing, or more
    than is known without a doubt to be readable."""
    text, numbers = with_numbers(outside)
    listed = [number for name, number in numbers.items() if name in program.parameters]
    iterators = [number for name, number in numbers.items() if name not in program.parameters]
    wrong = Set(f"[{', '.join(listed)}] -> {{ [{', '.join(iterators)}] : {text} }}").params()
    everything = Set(f"[{', '.join(listed)}] -> {{ : }}")
    valid = everything.subtract(wrong).coalesce()
    if wrong.is_empty:
        return None
    if valid.is_empty:
        return None  # the access is outside whatever the arguments: the dataflow says where
    names = {short: name for name, short in numbers.items()}
    condition = re.search(r"\{\s*:(.*)\}", str(valid), re.S)
    if condition is None:
        return None
    return parsed_condition(condition[1], names, location)
