"""Where counted loops begin and end: the tree's start and stop of C's comparisons, whose types may wrap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pycparser import c_ast, c_generator

from ..tree import Assume, Expression, Literal, Location, Operation
from .c_types import LONG, Number, arithmetic_type, is_integer
from .expressions import Expressions
from .state import is_static
from .values import (
    Value,
    arithmetic,
    compared,
    converted,
    extended,
    index_condition,
    integer,
    unwrapped,
    widened,
)

__all__ = ["LoopEnds", "LoopShape"]

_TEXT = c_generator.CGenerator()


@dataclass(frozen=True)
class LoopShape:
    """A C loop that has an iterator."""

    name: str
    start: Any  # a node, or None for the value that the variable has
    step: int
    bounds: tuple[tuple[str, Any], ...]
    """Comparisons with the iterator on the left; `>=!`: it is decremented before it is compared with 0."""
    others: tuple[Any, ...]  # conditions that end the loop by a break
    also: tuple[Any, ...]  # what else the third part does
    before: tuple[Any, ...]  # what else the first part does
    declared: Any  # the declaration of the iterator in the loop, or None
    least: int | None = None
    """Of an unsigned iterator that counts down until it would run through 0: the least start, as a number
    that did not wrap, with which the loop is one."""


class LoopEnds(Expressions):
    """Translates the starts and bounds of loops."""

    def down_to_zero(self, shape: LoopShape, of: Number) -> LoopShape:
        """`i != -1`, and `i < n` behind `i = n - 1`, of an unsigned iterator that counts down."""
        if of.dtype.kind != "u" or of.dtype.itemsize < 4 or shape.step != -1:
            return shape
        if len(shape.bounds) != 1 or shape.start is None:
            return shape
        sign, bound = shape.bounds[0]
        if sign == "!=":
            value = self.value(bound)
            if not is_integer(value.type) or arithmetic_type(of, value.type) != of:
                return shape
            last = extended(converted(value, of, self.place(bound)).tree)
            least = -1 if last == np.iinfo(of.dtype).max else None
        else:
            least = self._less_by(shape.start, bound) if sign == "<" else None
        if least is None or not is_static(self._exact_start(shape).tree):
            return shape
        return replace(shape, least=least)

    def _less_by(self, start: Any, bound: Any) -> int | None:
        """-c for a start `bound - c`."""
        match start:
            case c_ast.BinaryOp(op="-", right=c_ast.Constant(type="int" | "unsigned int")):
                by = extended(self.value(start.right).tree)
                if by and _TEXT.visit(start.left) == _TEXT.visit(bound):
                    return -by
        return None

    def _exact_start(self, shape: LoopShape) -> Value:
        """-1 for n - 1, if n is 0 and unsigned."""
        value = self.value(shape.start)
        return Value(LONG, unwrapped(value.tree) or widened(value, self.place(shape.start)).tree)

    def start(self, shape: LoopShape, of: Number, here: Location) -> Expression:
        first = c_ast.ID(shape.name, None) if shape.start is None else shape.start
        if shape.least is not None:
            value = self._exact_start(shape)
            self._assume_at_least(shape.least, value, here)
            return value.tree
        if shape.bounds[0][0] == ">=!":  # it is decremented before the first iteration
            value = self.value(first)
            if of.dtype.kind == "u" and value.type.dtype.kind == "i":
                value = self._not_negative(value, of, here)
            return arithmetic("-", widened(value, here), integer(1, LONG), LONG, here).tree
        value = self.value(first)
        exact = unwrapped(value.tree)
        if exact is not None:
            return self._not_negative(Value(LONG, exact), value.type, here).tree
        return converted(value, of, here).tree

    def stop(
        self, shape: LoopShape, of: Number, start: Expression, here: Location
    ) -> Expression | None:
        """The first value that the iterator does not take, or None if C's loop is no such loop."""
        if shape.least is not None:
            return Literal(-1, LONG.dtype)
        stops: list[Value] = []
        for sign, bound in shape.bounds:
            if sign == ">=!":  # counted down to 0, whatever the type
                stops.append(integer(-1, LONG))
                continue
            value = self.value(bound)
            if not is_integer(value.type):
                return None
            exact = unwrapped(value.tree)
            if sign.endswith("~"):  # i + c < n, which is i < n - c of numbers that do not wrap
                if "u" in (of.dtype.kind, value.type.dtype.kind) and (
                    exact is None or bound.op != "-" or sign[0] != "<"
                ):
                    return None
                sign = sign[:-1]
                value = value if exact is None else Value(LONG, exact)
            elif exact is not None:
                value = self._not_negative(Value(LONG, exact), value.type, here)
            up = shape.step > 0
            common = arithmetic_type(of, value.type)
            first = extended(start)
            if common.dtype.kind == "u" and of.dtype.kind == "i":
                if not up or first is None or first < 0:
                    return None  # a negative iterator would be compared as a large number
            if common.dtype.kind == "u" and value.type.dtype.kind == "i" and exact is None:
                value = self._not_negative(value, common, here)
            if sign == "!=":
                if abs(shape.step) != 1 and not self._divides(start, value, shape.step, here):
                    return None
                if of.dtype.kind == "u" and not (up and first == 0):
                    return None  # it would run through 0
                self.assume_reached(start, of, value, shape.step, here)
                stops.append(value)
            elif sign in ("<", "<=") and up:
                stops.append(self._next(value, here) if sign == "<=" else value)
            elif sign in (">", ">=") and not up:
                if of.dtype.kind == "u" and not self._ends_above_zero(sign, value, shape.step):
                    return None
                stops.append(self._before(value, here) if sign == ">=" else value)
            else:
                return None  # it runs once, not at all, or until the iterator overflows
        if not all(self._fits(each, of, shape.step, here) for each in stops):
            return None
        result = stops[0]
        for each in stops[1:]:
            common = LONG if result.type != each.type else result.type
            a, b = converted(result, common, here).tree, converted(each, common, here).tree
            name = "minimum" if shape.step > 0 else "maximum"
            result = Value(common, Operation(name, (a, b), common.dtype, here))
        return result.tree

    def _not_negative(self, value: Value, common: Number, here: Location) -> Value:
        """A signed bound of a comparison of unsigned numbers: a large one if it is negative. Where it
        is known at the call, that is refused there, since no array has so many elements."""
        if not is_static(value.tree):
            return converted(value, common, here)
        if self._assume_at_least(0, value, here):
            return value
        return converted(value, common, here)

    def _assume_at_least(self, least: int, value: Value, here: Location) -> bool:
        """Says so, unless it is known; whether it may be so."""
        condition = compared(">=", value, integer(least, value.type), value.type, here)
        if isinstance(condition, Literal):
            return bool(condition.value)
        self.emit(Assume(index_condition(condition), here, checked=True))
        return True

    def _fits(self, stop: Value, of: Number, step: int, here: Location) -> bool:
        """Whether the iterator reaches the stop before it overflows. Of a short or unsigned one, which
        would wrap, that is asked at the call where the stop is known there."""
        known = extended(stop.tree)
        limits = np.iinfo(of.dtype)
        if known is not None:
            return int(limits.min) - 1 <= known <= int(limits.max)
        wraps = of.dtype.itemsize < 4 or of.dtype.kind == "u"
        if not wraps or np.can_cast(stop.type.dtype, of.dtype) or stop.type.dtype.itemsize < 4:
            return of.dtype.itemsize >= stop.type.dtype.itemsize or not wraps
        if not is_static(stop.tree):
            return of.dtype.itemsize >= 4 and of.dtype.itemsize >= stop.type.dtype.itemsize
        end = integer(int(limits.max if step > 0 else limits.min), LONG)
        if of.dtype.itemsize < 8:
            within = compared("<=" if step > 0 else ">=", widened(stop, here), end, LONG, here)
            self.emit(Assume(index_condition(within), here, checked=True))
        return True

    @staticmethod
    def _ends_above_zero(sign: str, value: Value, step: int) -> bool:
        """Whether an unsigned iterator that counts down ends before it would run through 0."""
        known = extended(value.tree)
        return (
            known is not None
            and known - (1 if sign == ">=" else 0) + step >= -1
            and (known > 0 or sign == ">")
        )

    def _next(self, value: Value, here: Location) -> Value:
        known = extended(value.tree)
        if known is not None and known < np.iinfo(value.type.dtype).max:
            return integer(known + 1, value.type)
        return arithmetic("+", widened(value, here), integer(1, LONG), LONG, here)

    def _before(self, value: Value, here: Location) -> Value:
        return arithmetic("-", widened(value, here), integer(1, LONG), LONG, here)

    @staticmethod
    def _divides(start: Expression, stop: Value, step: int, here: Location) -> bool:
        first, last = extended(start), extended(stop.tree)
        if first is None or last is None:
            return False
        return (last - first) % step == 0 and (last - first) * step >= 0

    def assume_reached(
        self, start: Expression, of: Number, stop: Value, step: int, here: Location
    ) -> None:
        """`i != n` ends if n lies ahead: else the iterator overflows, which C does not define."""
        common = arithmetic_type(of, stop.type)
        condition = compared("<=" if step > 0 else ">=", Value(of, start), stop, common, here)
        if not (isinstance(condition, Literal) and condition.value):
            self.emit(Assume(index_condition(condition), here, checked=True))
