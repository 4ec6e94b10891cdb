"""Conditions on data in declarations: which elements a computation computes, and which of its pieces holds.

A domain is affine; what data decide becomes a choice of the value (if-conversion: Benabderrahmane et al., "The
polyhedral model is more widely applicable than you think", 2010; PENCIL report, INRIA RT-0457, section 5).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from .. import _core
from ..base.errors import DeclarationError
from .expressions import Expression, ExpressionLike, Operand, condition_operand, operand, select

__all__ = ["Conditions", "Pieces", "conditions_of"]

Pieces: TypeAlias = Sequence[tuple[ExpressionLike | str | None, ExpressionLike]]


class Conditions(NamedTuple):
    """What `where=`, `otherwise=` and a domain bounded by data of a computation come to."""

    owner: str
    iterators: list[str]
    domain: Operand | None
    """The part of the condition that restricts the domain."""
    asked: list[_core.Expr]
    """What is asked of each element, in order, each where those before it hold."""
    otherwise: ExpressionLike | None
    """The elements for which something asked does not hold; None: they do not exist."""

    def of_pieces(self, pieces: Pieces) -> Pieces:
        """The pieces with values that ask what data decide."""
        if any(self._reads_data(condition) for condition, _ in pieces):
            pieces = [(None, self._first_that_holds(pieces))]
        elif self.otherwise is not None and not self.asked:
            raise DeclarationError(
                f"otherwise= of {self.owner} is for elements that where=, or the conditions of "
                "pieces that read data, leave out; there are none"
            )
        return [(condition, self._where_asked(value)) for condition, value in pieces]

    def _where_asked(self, value: ExpressionLike) -> ExpressionLike:
        if self.otherwise is None:
            if not self.asked:
                return value
            element = _core.strengthen(operand(value))
            return Expression(_core.where_exists(self.asked, element))
        for condition in reversed(self.asked):
            value = select(Expression(condition), value, self.otherwise)
        return value

    def _reads_data(self, condition: ExpressionLike | str | None) -> bool:
        if condition is None or isinstance(condition, str):
            return False
        handle = condition_operand(condition, f"the condition of a piece of {self.owner}")
        return isinstance(handle, _core.Expr) and not _core.is_affine_condition(
            handle, self.iterators
        )

    def _first_that_holds(self, pieces: Pieces) -> ExpressionLike:
        *chosen, (last, value) = pieces
        if last is not None and last is not True:
            if self.otherwise is None:
                raise DeclarationError(
                    f"a condition of a piece of {self.owner} is not affine in its iterators, so the "
                    "pieces are asked in order, and none may hold: end them with (None, value) for "
                    "all other elements, or give otherwise="
                )
            chosen, value = list(pieces), self.otherwise
        for condition, element in reversed(chosen):
            if condition is None or isinstance(condition, str):
                raise DeclarationError(
                    f"the pieces of {self.owner} are asked in order, since not all conditions are "
                    "affine; "
                    + (
                        f"its condition {condition!r} is isl text, which reads no data: write it "
                        "as an expression"
                        if isinstance(condition, str)
                        else "(None, value), which always holds, must be the last one"
                    )
                )
            what = f"the condition of a piece of {self.owner}"
            handle = condition_operand(condition, what)
            if handle is None:
                value = element
                continue
            held, otherwise = element, value
            for part in reversed(self._asked_together(_parts(handle))):
                held = select(Expression(part), held, otherwise)
            value = held
        return value

    def _asked_together(self, parts: list[_core.Expr]) -> list[_core.Expr]:
        """Parts of a conjunction, each asked where those before it hold: neighbours are one question if they are
        affine, or if the second has no subscript that data decide about and that the first may keep within bounds."""
        together: list[_core.Expr] = []
        was_affine = False
        for part in parts:
            is_affine = _core.is_affine_condition(part, self.iterators)
            if together and is_affine == was_affine and (is_affine or not _looks_up(part)):
                both = Expression(together[-1]) & Expression(part)
                together[-1] = _core.strengthen(operand(both))
            else:
                together.append(part)
            was_affine = is_affine
        return together


def conditions_of(
    owner: str,
    iterators: list[str],
    where: ExpressionLike | None,
    otherwise: ExpressionLike | None,
    bounds: _core.Expr | None = None,
) -> Conditions:
    """Splits `where=` of a computation.

    Args:
        bounds: what the bounds of its domain that read data ask of its elements.
    """
    condition = condition_operand(where, f"where= of {owner}")
    parts = [] if condition is None else _parts(condition)
    asked = [] if bounds is None else _core.conjuncts(bounds)
    if otherwise is not None:
        operand(otherwise)  # refuses what is no expression
        return Conditions(owner, iterators, None, asked + parts, otherwise)
    affine = [_core.is_affine_condition(part, iterators) for part in parts]
    if all(affine):
        return Conditions(owner, iterators, condition, asked, None)
    restricting = [
        Expression(part) for part, is_affine in zip(parts, affine, strict=True) if is_affine
    ]
    domain = functools.reduce(operator.and_, restricting) if restricting else None
    asked += [part for part, is_affine in zip(parts, affine, strict=True) if not is_affine]
    return Conditions(owner, iterators, None if domain is None else operand(domain), asked, None)


def _looks_up(condition: _core.Expr) -> bool:
    """Whether data decide which elements it reads."""
    return any(
        inner.kind == "access"
        for access in condition.nodes()
        if access.kind == "access"
        for subscript in access.operands
        for inner in subscript.nodes()
    )


def _parts(condition: Operand) -> list[_core.Expr]:
    return _core.conjuncts(_core.strengthen(condition))
