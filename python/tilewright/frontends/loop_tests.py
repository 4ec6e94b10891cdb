"""What must hold for a loop to go on: `while` conditions, and tests that leave it before all else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from . import tree

__all__ = ["Test", "all_of", "bounds", "goes_on", "leaving_unless", "reaches"]

_BOOL = np.dtype(np.bool_)
_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


class Test(NamedTuple):
    """A bool that is to be true, or false."""

    of: tree.Expression
    holds: bool


def goes_on(loop: tree.While) -> tuple[list[Test], tuple[tree.Statement, ...]]:
    """The tests that must all hold for an iteration to run, in the order in which they are asked, and
    what it runs then. No test, if the loop does something else first."""
    if not isinstance(loop.condition, tree.Literal):
        return list(all_of(loop.condition, True)), loop.body
    match loop.body:
        case (tree.If() as first, *rest) if (
            loop.condition.value and not first.otherwise and isinstance(first.body[0], tree.Break)
        ):
            return list(all_of(first.condition, False)), tuple(rest)
    return [], loop.body


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


def leaving_unless(test: Test, location: tree.Location) -> tree.If:
    """The statement that leaves a loop where a test fails."""
    fails = tree.Operation("~", (test.of,), _BOOL, location) if test.holds else test.of
    return tree.If(fails, (tree.Break(location),), (), location)


def reaches(sign: str, step: int) -> bool:
    """Whether a number that is changed by a step comes to where a comparison with a bound fails. Of `!=`
    that is so if it does not start behind the bound."""
    if sign == "!=":
        return abs(step) == 1
    return step > 0 if sign in ("<", "<=") else sign in (">", ">=") and step < 0
