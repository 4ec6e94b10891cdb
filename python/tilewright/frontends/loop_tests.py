"""What must hold for a loop to go on: `while` conditions, and tests that leave it before all else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from . import tree

__all__ = ["Sides", "Test", "all_of", "bounds", "goes_on", "leaving_unless", "ordered", "reaches"]

_BOOL = np.dtype(np.bool_)
_INDEX = np.dtype(np.int64)
_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


class Test(NamedTuple):
    """A bool that is to be true, or false."""

    of: tree.Expression
    holds: bool


def goes_on(
    loop: tree.While,
) -> tuple[tuple[tree.Statement, ...], list[Test], tuple[tree.Statement, ...]]:
    """What a loop does first; the tests that must then all hold for an iteration to go on, in the order in
    which they are asked; and what it runs then. No test, if nothing leaves it behind plain assignments."""
    if not isinstance(loop.condition, tree.Literal):
        return (), list(all_of(loop.condition, True)), loop.body
    if loop.condition.value:
        for at, one in enumerate(loop.body):
            match one:
                case tree.If(body=(tree.Break(),), otherwise=()):
                    tests = list(all_of(one.condition, False))
                    return loop.body[:at], tests, loop.body[at + 1 :]
                case tree.Assign():
                    continue
            break
    return (), [], loop.body


def all_of(expression: tree.Expression, holds: bool) -> Iterator[Test]:
    """The tests that together say that an expression holds, or does not: `&&`, or `||` that fails."""
    match expression:
        case tree.Operation() if expression.name == "~":
            yield from all_of(expression.operands[0], not holds)
        case tree.Operation() if (
            expression.name == ("&" if holds else "|") and expression.dtype == _BOOL
        ):
            for each in expression.operands:
                yield from all_of(each, holds)
        case tree.Select(if_false=tree.Literal(value=False)) if holds:
            yield from all_of(expression.condition, True)
            yield from all_of(expression.if_true, True)
        case tree.Select(if_true=tree.Literal(value=True)) if not holds:
            yield from all_of(expression.condition, False)
            yield from all_of(expression.if_false, False)
        case _:
            yield Test(expression, holds)


def bounds(test: Test) -> Iterator[tuple[str, str, tree.Expression]]:
    """The scalars of which a comparison says that they lie on one side of a bound."""
    match test.of:
        case tree.Operation(name=name, operands=(left, right)) if (
            name in _OPPOSITE and left.dtype.kind in "iu"
        ):
            sign = name if test.holds else _OPPOSITE[name]
            for scalar, direction, bound in ((left, sign, right), (right, _MIRRORED[sign], left)):
                inner = tree.plain(scalar)
                if isinstance(inner, tree.Read) and not inner.subscripts:
                    yield inner.array, direction, bound


class Sides(NamedTuple):
    """The sides of a comparison of integers, as 64 bits.

    Attributes:
        near, far: the first one is less than the other one while the comparison holds.
        is_order: whether that is what it says; else that they differ.
    """

    near: tree.Expression
    far: tree.Expression
    is_order: bool


def ordered(test: Test) -> Sides | None:
    """What a comparison says of the order of its sides; None of other tests, and of what is equal."""
    match test.of:
        case tree.Operation(name=name, operands=(left, right)) if (
            name in _OPPOSITE and left.dtype.kind in "iu"
        ):
            sign = name if test.holds else _OPPOSITE[name]
            if sign == "==":
                return None
            near, far = (left, right) if sign in ("<", "<=", "!=") else (right, left)
            near, far = (_index(each) for each in (near, far))
            if sign in ("<=", ">="):
                one = tree.Literal(1, _INDEX)
                far = tree.Operation("+", (far, one), _INDEX, test.of.location)
            return Sides(near, far, sign != "!=")
    return None


def _index(expression: tree.Expression) -> tree.Expression:
    return expression if expression.dtype == _INDEX else tree.Convert(expression, _INDEX)


def leaving_unless(test: Test, location: tree.Location) -> tree.If:
    """The statement that leaves a loop where a test fails."""
    fails = tree.Operation("~", (test.of,), _BOOL, location) if test.holds else test.of
    return tree.If(fails, (tree.Break(location),), (), location)


def reaches(sign: str, step: int) -> bool:
    """Whether a number that is changed by a step comes to where a comparison with a bound fails. Of `!=`
    that is so if it does not start behind the bound, and does not step over it."""
    if sign == "!=":
        return step != 0
    return step > 0 if sign in ("<", "<=") else sign in (">", ">=") and step < 0
