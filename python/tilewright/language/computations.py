"""Inputs and computations: the declarations of Layer I.

A computation is a name, a type, and disjoint pieces `domain -> expression`. Everything that can be
checked without a schedule is checked when it is declared; errors name a concrete point and the
user's line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, overload

import numpy as np

from .. import _core
from ..base.errors import DeclarationError, DeclarationTypeError
from ..base.source import SourceLocation, caller_location
from ..schedule.commands import ScheduleCommands
from .expressions import (
    Expression,
    ExpressionLike,
    Iterator,
    Operand,
    as_expression,
    check_identifier,
    condition_operand,
    operand,
)
from .reductions import RangeLike, range_operands
from .types import DType, DTypeLike, as_dtype

if TYPE_CHECKING:
    from ..functions.structs import StructInput

__all__ = ["Array", "Computation", "Input", "computation", "input"]

Piece: TypeAlias = tuple[ExpressionLike, ExpressionLike]
IslPiece: TypeAlias = tuple[str, ExpressionLike]
Value: TypeAlias = ExpressionLike | Sequence[Piece]


class Array:
    """What can be read with subscripts: inputs and computations."""

    __slots__ = ("__weakref__", "_handle")

    _handle: _core.Computation

    def __init__(self, handle: _core.Computation) -> None:
        self._handle = handle

    @property
    def name(self) -> str:
        """The name."""
        return self._handle.name

    @property
    def dtype(self) -> DType:
        """The type of an element."""
        return as_dtype(self._handle.type)

    @property
    def ndim(self) -> int:
        """The number of subscripts."""
        return self._handle.rank

    @property
    def shape(self) -> tuple[Expression, ...]:
        """The shape of the array, in terms of parameters."""
        return tuple(Expression(extent) for extent in self._handle.extents)

    @property
    def domain(self) -> str:
        """The index set as isl text."""
        return self._handle.domain

    def __getitem__(self, subscripts: ExpressionLike | tuple[ExpressionLike, ...]) -> Expression:
        """The element at integer expressions: `A[i, j + 1]`; `A[()]` without dimensions.

        A subscript need not be affine: `x[index[i]]` reads indirectly.

        Raises:
            DeclarationTypeError: for a wrong number of subscripts, or one that is no integer.
        """
        if not isinstance(subscripts, tuple):
            subscripts = (subscripts,)
        return Expression(
            _core.access(
                self._handle, [self._subscript(value) for value in subscripts], caller_location()
            )
        )

    def _subscript(self, value: object) -> Operand:
        if isinstance(value, slice) or value is Ellipsis or value is None:
            shown = "a slice" if isinstance(value, slice) else repr(value)
            raise DeclarationTypeError(
                f"{self.name} is read element by element, as {self._example()}: "
                f"{shown} is no subscript"
            )
        subscript = operand(value)
        if isinstance(subscript, bool | float | complex):
            raise DeclarationTypeError(
                f"a subscript of {self.name} must be an integer, not {subscript!r}"
            )
        return subscript

    def _example(self) -> str:
        return f"{self.name}[{', '.join(self._handle.iterators) or '()'}]"

    def _as_expression(self) -> Expression:
        if self.ndim == 0:
            return self[()]
        raise DeclarationTypeError(
            f"{self.name} has {self.ndim} dimension{'s' if self.ndim > 1 else ''}: "
            f"read an element of it, as {self._example()}"
        )

    # Subscripts alone would make it look like a sequence.
    __iter__ = None
    __contains__ = None
    # NumPy leaves operators with an array to `_value_operator` below.
    __array_ufunc__ = None

    def __reduce__(self) -> tuple[object, ...]:
        from ..functions.pickling import reduced_array

        return reduced_array(self)

    # A name for something that is there once; functions are what can be copied.
    def __copy__(self) -> Array:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Array:
        return self

    def __repr__(self) -> str:
        shape = ", ".join(map(repr, self.shape))
        return f"<{type(self).__name__} {self.name}[{shape}] {self.dtype}>"


def _value_operator(name: str) -> Callable[..., object]:
    """The operator of an array without dimensions on its value; of another one, a refusal."""

    def apply(self: Array, *others: object) -> object:
        return getattr(self._as_expression(), name)(*others)

    apply.__name__ = name
    return apply


for _operator in (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow"),
    *("and", "or", "xor", "lshift", "rshift"),
):
    for _side in (f"__{_operator}__", f"__r{_operator}__"):
        setattr(Array, _side, _value_operator(_side))
for _operator in ("neg", "pos", "abs", "invert", "lt", "le", "gt", "ge"):
    setattr(Array, f"__{_operator}__", _value_operator(f"__{_operator}__"))


class Input(Array):
    """An array that is given when the function is called; see `input`."""

    __slots__ = ()


class Computation(ScheduleCommands, Array):
    """What is computed, see `computation`; the commands of a schedule are its methods.

    The commands may be used while the computation belongs to exactly one function; otherwise use
    `f["C"]`.
    """

    __slots__ = ()

    @property
    def iterators(self) -> tuple[Iterator, ...]:
        """The iterators, outermost first."""
        return tuple(Iterator(name) for name in self._handle.iterators)

    @property
    def pieces(self) -> tuple[tuple[str, Expression], ...]:
        """The disjoint pieces: (isl text of the domain, value)."""
        return tuple((text, Expression(value)) for text, value in self._handle.pieces)

    def define(
        self,
        condition: ExpressionLike | str | None,
        value: ExpressionLike,
    ) -> Computation:
        """Adds a piece: `value` where `condition` holds.

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
            _core.define_piece_isl(self._handle, condition, element, where)
            return
        what = f"the condition of a piece of {self.name}"
        _core.define_piece(self._handle, condition_operand(condition, what), element, where)


@overload
def input(
    name: str, shape: Sequence[ExpressionLike] | ExpressionLike, dtype: np.dtype[np.void]
) -> StructInput: ...


@overload
def input(
    name: str, shape: Sequence[ExpressionLike] | ExpressionLike, dtype: DTypeLike
) -> Input: ...


def input(
    name: str, shape: Sequence[ExpressionLike] | ExpressionLike, dtype: DTypeLike
) -> Input | StructInput:
    """Declares an input array.

    A function takes its inputs in the order in which they were declared, unless it is made with
    ``inputs=``.

    With a structured NumPy dtype it is an array of structures, and its fields are read one by one::

        P = tw.input("P", [N], np.dtype([("x", np.float32), ("id", np.int64)]))
        X = tw.computation("X", {i: N}, 2 * P.x[i])                    # or P["x"][i]

    Args:
        name: the name of the argument.
        shape: the extents, affine in parameters: [N, M + 2]; [] for a single value.
        dtype: the type of an element.

    Raises:
        DeclarationError: for a name that is no identifier, or an extent that is not affine in
            parameters.
        DeclarationTypeError: for a type that kernels do not have.
    """
    check_identifier(name, "input")
    extents = [_extent(extent, f"the shape of {name}") for extent in _shape(shape, name)]
    if isinstance(dtype, np.dtype) and dtype.names is not None:
        from ..functions.structs import StructInput

        return StructInput(name, extents, dtype)
    return Input(_core.declare_input(name, extents, as_dtype(dtype).name, caller_location()))


def _shape(shape: object, name: str) -> Iterable[ExpressionLike]:
    if isinstance(shape, Expression | int):
        return (shape,)
    if isinstance(shape, str) or not isinstance(shape, Iterable):
        raise DeclarationTypeError(
            f"the shape of {name} must be a list of integers and parameters such as [N, M], "
            f"not {shape!r}"
        )
    return shape


def _extent(value: ExpressionLike, what: str) -> Operand:
    extent = operand(value)
    kind = extent.type if isinstance(extent, _core.Expr) else type(extent).__name__
    if not kind.startswith(("int", "uint")):
        raise DeclarationTypeError(f"{what} must be integers, but {value!r} is of type {kind}")
    if isinstance(extent, int) and extent < 0:
        raise DeclarationError(f"{what} must not be negative, but {value!r} is")
    return extent


@overload
def computation(
    name: str,
    domain: Mapping[Iterator, RangeLike],
    value: Value | Callable[[Computation], Value] | None = None,
    *,
    where: ExpressionLike | None = None,
    dtype: DTypeLike | None = None,
    shape: Sequence[ExpressionLike] | None = None,
) -> Computation: ...


@overload
def computation(
    name: str,
    domain: Iterable[tuple[Iterator, RangeLike]],
    value: Value | Callable[[Computation], Value] | None = None,
    *,
    where: ExpressionLike | None = None,
    dtype: DTypeLike | None = None,
    shape: Sequence[ExpressionLike] | None = None,
) -> Computation: ...


@overload
def computation(
    name: str,
    domain: ExpressionLike
    | Sequence[IslPiece]
    | Callable[[Computation], ExpressionLike | Sequence[IslPiece]]
    | None = None,
    *,
    dtype: DTypeLike | None = None,
    shape: Sequence[ExpressionLike] | None = None,
) -> Computation: ...


def computation(  # the isl form gives the value in the second place
    name: str,
    domain: object = None,
    value: object = None,
    *,
    where: ExpressionLike | None = None,
    dtype: DTypeLike | None = None,
    shape: Sequence[ExpressionLike] | None = None,
) -> Computation:
    """Declares a computation::

        C = tw.computation("C", {i: N, j: (1, M)}, A[i, j] * 2)           # 0 <= i < N, 1 <= j < M
        C = tw.computation("C", {i: N, j: M}, A[i, j], where=j <= i)
        C = tw.computation("C", {i: N}, [(i == 0, x[0]), (i > 0, y[i])])  # disjoint pieces
        C = tw.computation("C", {i: N}, lambda C: [(i == 0, x[0]), (i > 0, C[i - 1] + x[i])],
                           dtype=tw.float64)                              # over earlier instances
        C = tw.computation("[N] -> { C[i,j] : 0 <= j <= i < N }", A[i, j])

    Args:
        name: the name; or isl text of the domain with the name in it, and then the value comes
            next.
        domain: iterators, outermost first, with their ranges: an upper bound, or a half-open pair.
            Bounds may use parameters and earlier iterators. {} for a single value.
        value: the element; a list of (condition, element) for disjoint pieces (with isl text: of
            (isl text, element)); a function that gets the computation and returns either, for
            recurrences; or None, and `Computation.define` follows.
        where: an affine condition that restricts the domain.
        dtype: the type of an element; that of the value unless given. Needed where the value is a
            function or comes later.
        shape: the shape of the array, unless it is index 0 to the largest of the domain.

    Raises:
        DeclarationError: for an unbounded domain, pieces that overlap, a bound that is not affine.
        DomainError: when the value reads outside a domain or shape.
        DeclarationTypeError: when a type is missing, or does not hold the value.
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
        return _computation_isl(
            name, value if domain is None else domain, where, dtype, shape, location
        )
    extents = [] if shape is None else [_extent(extent, f"the shape of {name}") for extent in shape]
    what = f"the domain of {name}"
    ranges = [range_operands(iterator, bounds, what) for iterator, bounds in _domain(domain, name)]
    check_identifier(name, "computation")
    condition = condition_operand(where, f"where= of {name}")
    pieces = _pieces(value)
    result = Computation(
        _core.declare_computation(
            name, ranges, condition, _value_type(name, pieces, dtype).name, extents, location
        )
    )
    return _with_pieces(result, value, pieces, location)


def _computation_isl(
    text: str,
    value: object,
    where: ExpressionLike | None,
    dtype: DTypeLike | None,
    shape: Sequence[ExpressionLike] | None,
    location: SourceLocation | None,
) -> Computation:
    if where is not None:
        raise DeclarationError(
            "a domain given as isl text holds its conditions itself: drop where="
        )
    extents = [] if shape is None else [_extent(extent, f"the shape of {text}") for extent in shape]
    pieces = _pieces(value)
    result = Computation(
        _core.declare_computation_isl(
            text, _value_type(text, pieces, dtype).name, extents, location
        )
    )
    return _with_pieces(result, value, pieces, location)


def _with_pieces(
    result: Computation,
    value: object,
    pieces: list[tuple[ExpressionLike | str | None, ExpressionLike]] | None,
    location: SourceLocation | None,
) -> Computation:
    if pieces is None and callable(value):
        pieces = _pieces(value(result))
        if pieces is None:
            raise DeclarationTypeError(
                f"the function that defines {result.name} must return an expression or a list of "
                "(condition, expression)"
            )
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


def _pieces(
    value: object,
) -> list[tuple[ExpressionLike | str | None, ExpressionLike]] | None:
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
    pieces: list[tuple[ExpressionLike | str | None, ExpressionLike]] | None,
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
