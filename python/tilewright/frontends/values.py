"""Values of the statement tree as expressions of Layer I.

Operators and functions have the same names and the same meaning on both sides; what differs is that
the tree says every type, and that its reads name memory.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

import numpy as np

import tilewright as tw

from .. import _core
from . import tree
from .affine import Affine, Quotient, Scope, affine_of, itself
from .refusals import refuse

__all__ = ["Translator", "affine_expression"]

_OPERATORS: dict[str, Callable[..., tw.Expression]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "~": operator.invert,
    "neg": operator.neg,
}

_REDUCTIONS: dict[str, Callable[..., tw.Expression]] = {
    "+": tw.sum,
    "*": tw.prod,
    "minimum": tw.min,
    "maximum": tw.max,
    "&": tw.all,
    "|": tw.any,
}


class Translator:
    """Translates the values of one statement.

    Args:
        variables: what iterators and parameters of the program are.
        read: what a read is.
        scope: what names mean in affine conditions. Those that choose between values are then written
            in integers of 64 bits, as those around statements are, so that the core sees which
            elements the branches read.
    """

    def __init__(
        self,
        variables: Mapping[str, tw.Expression],
        read: Callable[[tree.Read], tw.Expression],
        scope: Scope | None = None,
    ) -> None:
        self._variables = variables
        self._read = read
        self._scope = scope

    def __call__(self, expression: tree.Expression) -> tw.Expression:
        """The expression in Layer I."""
        match expression:
            case tree.Literal():
                return _constant(expression)
            case tree.Variable():
                return _as_type(self._variables[expression.name], expression.dtype)
            case tree.Read():
                return self._read(expression)
            case tree.Convert():
                return _as_type(self(expression.value), expression.dtype)
            case tree.Select():
                return tw.select(
                    self.condition(expression.condition, everywhere=True),
                    self(expression.if_true),
                    self(expression.if_false),
                )
            case tree.Call():
                arguments = [self(argument) for argument in expression.arguments]
                return _as_type(expression.function(*arguments), expression.dtype)  # type: ignore[operator]
            case tree.Reduce():
                return self._reduction(expression)
        return self._operation(expression)

    def condition(self, expression: tree.Expression, everywhere: bool = False) -> tw.Expression:
        """A condition, its comparisons of affine functions as such.

        Args:
            everywhere: whether the value is wanted also where a part of it does not hold. If not, what
                `first and second` reads in its second part is read where the first one holds.
        """
        for ends in (False, True):
            parts = self._parts(expression, ends)
            if len(parts) > 1:
                return self._joined(parts, ends, everywhere or ends)
        match expression:
            case tree.Operation(name="&") if expression.dtype.kind == "b":
                both = [self.condition(each, everywhere) for each in expression.operands]
                return both[0] & both[1]
            case tree.Operation(name="|") if expression.dtype.kind == "b":
                either = [self.condition(each, True) for each in expression.operands]
                return either[0] | either[1]
            case tree.Operation(name="~") if expression.dtype.kind == "b":
                return ~self.condition(expression.operands[0], True)
            case tree.Operation(name="<" | "<=" | ">" | ">=" | "==" | "!="):
                left, right = map(self._affine, expression.operands)
                if left is not None and right is not None:
                    return _OPERATORS[expression.name](left, right)
        return self(expression)

    def _parts(self, expression: tree.Expression, ends: bool) -> list[tree.Expression]:
        """Those of `a && b && ...`, which a False ends, or of `a || b || ...`, which a True ends."""
        match expression:
            case tree.Select() if not self._may_leave(expression.if_true, expression.if_false):
                end, rest = expression.if_false, expression.if_true
                if ends:
                    end, rest = rest, end
                if isinstance(end, tree.Literal) and bool(end.value) == ends:
                    return [*self._parts(expression.condition, ends), *self._parts(rest, ends)]
        return [expression]

    def _joined(self, parts: list[tree.Expression], ends: bool, everywhere: bool) -> tw.Expression:
        """All parts may be asked, except that what an index decides about is read behind it only."""
        end = tw.Expression(_core.constant(ends, "bool"))
        result = self.condition(parts[-1], everywhere)
        reads = _reads(parts[-1])
        for part in reversed(parts[:-1]):
            own = self.condition(part, everywhere)
            if everywhere and reads and self._is_affine(part):
                result = tw.select(own, end, result) if ends else tw.select(own, result, end)
            else:
                result = own | result if ends else own & result
            reads = reads or _reads(part)
        return result

    def _is_affine(self, expression: tree.Expression) -> bool:
        """Whether a condition is one on indices alone."""
        match expression:
            case tree.Operation(name="<" | "<=" | ">" | ">=" | "==" | "!="):
                return all(self._affine(each) is not None for each in expression.operands)
            case tree.Operation(name="&" | "|" | "~") if expression.dtype.kind == "b":
                return all(map(self._is_affine, expression.operands))
        return False

    def _may_leave(self, *expressions: tree.Expression) -> bool:
        """Whether an array is read where data say: only what is chosen is inside then."""
        return any(
            affine_of(subscript, self._scope or itself()) is None
            for expression in expressions
            for read in tree.reads_of(expression)
            for subscript in read.subscripts
        )

    def _affine(self, expression: tree.Expression) -> tw.Expression | None:
        scope = self._scope
        value = None if scope is None else affine_of(expression, scope)
        if scope is None or value is None:
            return None
        own = {scope.variables[name]: each for name, each in self._variables.items()}
        return affine_expression(value, own)

    def _operation(self, expression: tree.Operation) -> tw.Expression:
        function = _OPERATORS.get(expression.name) or getattr(tw, expression.name, None)
        if function is None:
            refuse(expression.location, f"there is no operation {expression.name!r}")
        assert function is not None
        operands = [self(operand) for operand in expression.operands]
        return _as_type(function(*operands), expression.dtype)

    def _reduction(self, expression: tree.Reduce) -> tw.Expression:
        over = {
            self._variables[iterator.name]: self(extent)
            for iterator, extent in zip(expression.iterators, expression.extents, strict=True)
        }
        reduce = _REDUCTIONS[expression.operation]
        return _as_type(reduce(self(expression.term), over=over), expression.dtype)


def _reads(expression: tree.Expression) -> bool:
    return next(tree.reads_of(expression), None) is not None


def _constant(literal: tree.Literal) -> tw.Expression:
    value = literal.value
    if isinstance(value, np.generic):
        value = value.item()
    return tw.Expression(_core.constant(value, tw.as_dtype(literal.dtype).name))


def _as_type(value: tw.Expression, dtype: np.dtype) -> tw.Expression:
    return value if value.dtype == dtype else tw.cast(value, dtype)


_INT64 = np.iinfo(np.int64)


def affine_expression(
    value: Affine, variables: Mapping[str, tw.Expression]
) -> tw.Expression | None:
    """A sum of iterators and parameters, with their names in isl, and of quotients of such sums; None for
    any other, and where a number has more than 64 bits (`-1` as an unsigned long, say)."""
    numbers = (value.constant, *value.terms.values())
    if any(not _INT64.min <= number <= _INT64.max for number in numbers):
        return None
    result: tw.Expression | None = None
    for term, coefficient in value.terms.items():
        if isinstance(term, Quotient):
            inner = affine_expression(term.value, variables)
            found = None if inner is None else inner // term.divisor
        else:
            found = variables.get(term)
        if found is None:
            return None
        part = found if coefficient == 1 else coefficient * found
        result = part if result is None else result + part
    constant = tw.Expression(_core.constant(value.constant, "int64"))
    if result is None:
        return constant
    return result + value.constant if value.constant else result
