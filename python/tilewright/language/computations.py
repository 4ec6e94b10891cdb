"""The declaration of computations, Layer I.

A computation is a name, a type, and disjoint pieces `domain -> expression`. Everything that can be
checked without a schedule is checked when it is declared; errors name a concrete point and the
user's line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

from .. import _core
from ..base.checks import DECLARATION, a_list, a_string, an_isl_text
from ..base.errors import DeclarationError, DeclarationTypeError
from ..base.source import SourceLocation, caller_location
from .arrays import Array, extent_operand
from .data_conditions import Conditions, Pieces, conditions_of
from .expressions import (
    DType,
    DTypeLike,
    Expression,
    ExpressionLike,
    Operand,
    as_dtype,
    as_expression,
    condition_operand,
    operand,
)
from .names import Iterator, check_identifier
from .reductions import RangeLike, RangeOperands, range_operands

__all__ = ["DeclaredComputation", "declare"]

Kind = TypeVar("Kind", bound="DeclaredComputation")
Self = TypeVar("Self", bound="DeclaredComputation")

_NOT_GIVEN: Any = object()


class DeclaredComputation(Array):
    """A computation as Layer I has it: a domain, and disjoint pieces with a value each."""

    __slots__ = ()

    _made_by = "tw.computation"

    @property
    def iterators(self) -> tuple[Iterator, ...]:
        """The iterators, outermost first."""
        return tuple(Iterator(name) for name in self._handle.iterators)

    @property
    def pieces(self) -> tuple[tuple[str, Expression], ...]:
        """The disjoint pieces: (isl text of the domain, value)."""
        return tuple((text, Expression(value)) for text, value in self._handle.pieces)

    def define(
        self: Self,
        condition: ExpressionLike | str | None,
        value: ExpressionLike = _NOT_GIVEN,
    ) -> Self:
        """Adds a piece: `value` where `condition` holds; ``y.define(value)`` is for the whole domain.

        Args:
            condition: an affine condition on the iterators, isl text of a set, or None for the
                whole domain.
            value: the element there; it may read earlier instances of this computation.

        Raises:
            DeclarationError: when the piece overlaps an earlier one (the message has a point of
                both).
            DomainError: when `value` reads outside a domain or shape.
            DeclarationTypeError: when `value` cannot be cast to the type (NumPy's same_kind rule).
        """
        if value is _NOT_GIVEN:
            condition, value = None, cast("ExpressionLike", condition)
        self._define(condition, value, caller_location())
        return self

    def _define(
        self,
        condition: ExpressionLike | str | None,
        value: ExpressionLike,
        where: SourceLocation | None,
    ) -> None:
        element = operand(value)
        if isinstance(condition, str):
            an_isl_text(condition, f"the condition of a piece of {self.name}", DECLARATION)
            _core.define_piece_isl(self._handle, condition, element, where)
            return
        what = f"the condition of a piece of {self.name}"
        _core.define_piece(self._handle, condition_operand(condition, what), element, where)


def declare(
    kind: type[Kind],
    name: str,
    domain: object,
    value: object,
    where: ExpressionLike | None,
    dtype: DTypeLike | None,
    shape: Sequence[ExpressionLike] | None,
    otherwise: ExpressionLike | None = None,
    is_view: bool = False,
) -> Kind:
    """Declares a computation; `tw.computation` and `tw.view` say what the arguments are.

    Args:
        kind: the class of what is made.
        is_view: whether it only reads.
    """
    location = caller_location()
    if not isinstance(name, str):
        raise DeclarationTypeError(f"the name of a computation must be a str, not {name!r}")
    if "{" in name:
        if value is not None and domain is not None:
            raise DeclarationTypeError(
                "a computation whose domain is isl text takes one value after it, "
                "tw.computation('{ C[i] : ... }', value)"
            )
        if where is not None or otherwise is not None:
            raise DeclarationError(
                "a domain given as isl text holds its conditions itself: drop where= and otherwise="
            )
        return _declare_isl(
            kind, name, value if domain is None else domain, dtype, shape, location, is_view
        )
    a_string(name, "the name of a computation", DECLARATION)
    extents = _extents(shape, name)
    what = f"the domain of {name}"
    given = [range_operands(iterator, bounds, what) for iterator, bounds in _domain(domain, name)]
    check_identifier(name, "computation")
    pieces = _pieces(value)
    ranges, bounds = _enclosed(name, given, pieces)
    conditions = conditions_of(name, [one[0] for one in ranges], where, otherwise, bounds)
    if is_view and conditions.asked:
        raise DeclarationError(
            f"data decide which elements the view {name} has: a view only reads, and chooses what by "
            "affine conditions; declare it with tw.computation"
        )
    if pieces is not None:
        pieces = conditions.of_pieces(pieces)
    if value is None and conditions.asked:
        raise DeclarationError(
            f"where= of {name} asks data of each element, and is a part of its value: give the value "
            "here, too"
        )
    type_name = _value_type(name, pieces, dtype).name
    result = kind(
        _core.declare_computation(name, ranges, conditions.domain, type_name, extents, location)
    )
    if is_view:
        _core.make_view(result._handle)
    return _with_pieces(result, value, pieces, conditions, location)


def _enclosed(
    name: str, ranges: list[RangeOperands], pieces: Pieces | None
) -> tuple[list[RangeOperands], _core.Expr | None]:
    """Ranges with affine bounds, and what bounds that read data ask of the points within."""
    if not any(
        isinstance(bound, _core.Expr) and _core.reads_data(bound)
        for _, *bounds in ranges
        for bound in bounds
    ):
        return ranges, None
    if pieces is None or len(pieces) != 1 or pieces[0][0] is not None:
        raise DeclarationError(
            f"the domain of {name} is bounded by data, and within which numbers is seen from what "
            "its one value reads: give the value here, or a range of numbers and the bounds as a "
            "condition, {p: P}, where=(row[i] <= p) & (p < row[i + 1])"
        )
    value = _core.strengthen(operand(pieces[0][1]))
    enclosed, bounds = _core.enclose_domain(name, ranges, value)
    return [*enclosed], bounds


def _declare_isl(
    kind: type[Kind],
    text: str,
    value: object,
    dtype: DTypeLike | None,
    shape: Sequence[ExpressionLike] | None,
    location: SourceLocation | None,
    is_view: bool,
) -> Kind:
    an_isl_text(text, "the domain as isl text", DECLARATION)
    extents = _extents(shape, text)
    pieces = _pieces(value)
    result = kind(
        _core.declare_computation_isl(
            text, _value_type(text, pieces, dtype).name, extents, location
        )
    )
    if is_view:
        _core.make_view(result._handle)
    iterators = [iterator.name for iterator in result.iterators]
    conditions = conditions_of(result.name, iterators, None, None)
    return _with_pieces(result, value, pieces, conditions, location)


def _extents(shape: Sequence[ExpressionLike] | None, name: str) -> list[Operand]:
    if shape is None:
        return []
    what = f"the shape of {name}"
    extents = a_list(shape, what, DECLARATION, "integers and parameters such as [N, M]")
    return [extent_operand(extent, what) for extent in extents]


def _with_pieces(
    result: Kind,
    value: object,
    pieces: Pieces | None,
    conditions: Conditions,
    location: SourceLocation | None,
) -> Kind:
    if pieces is None and callable(value):
        returned = _pieces(value(result))
        if returned is None:
            raise DeclarationTypeError(
                f"the function that defines {result.name} must return an expression or a list of "
                "(condition, expression)"
            )
        pieces = conditions.of_pieces(returned)
    for condition, element in pieces or ():
        result._define(condition, element, location)
    return result


def _domain(domain: object, name: str) -> Iterable[tuple[Iterator, RangeLike]]:
    if isinstance(domain, Mapping):
        return domain.items()
    if isinstance(domain, Iterable) and not isinstance(domain, str):
        pairs = list(domain)
        if all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
            return pairs
    raise DeclarationTypeError(
        f"the domain of {name} must be iterators with ranges, {{i: N, j: (1, M)}}, "
        f"not {type(domain).__name__}"
    )


def _pieces(value: object) -> Pieces | None:
    """(condition, element) of each piece; None when the value is a function or comes later."""
    if value is None or (callable(value) and not isinstance(value, Expression)):
        return None
    if isinstance(value, list | tuple):
        for piece in value:
            if not (isinstance(piece, tuple | list) and len(piece) == 2):
                raise DeclarationTypeError(
                    f"a piece must be a pair (condition, expression), not {piece!r}"
                )
        return [(condition, element) for condition, element in value]
    return [(None, value)]  # type: ignore[list-item]  # `operand` refuses what is no expression


def _value_type(
    name: str,
    pieces: Pieces | None,
    dtype: DTypeLike | None,
) -> DType:
    if dtype is not None:
        return as_dtype(dtype)
    if not pieces:
        raise DeclarationTypeError(
            f"the type of {name} is not known yet: give it, as in dtype=tw.float32"
        )
    elements = [operand(element) for _, element in pieces]
    types = [element.type for element in elements if isinstance(element, _core.Expr)]
    if not types:
        types = [as_expression(element).dtype.name for _, element in pieces]
    else:
        types += [
            f"weak {type(element).__name__}"
            for element in elements
            if not isinstance(element, _core.Expr)
        ]
    result = types[0]
    for other in types[1:]:
        result = _core.promote(result, other)
    return as_dtype(result)
