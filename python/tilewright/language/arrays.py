"""Arrays: what can be read with subscripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from .. import _core
from ..base.checks import made_by
from ..base.errors import DeclarationError, DeclarationTypeError
from ..base.source import caller_location
from ..sets.values import Set
from .expressions import DType, Expression, ExpressionLike, Operand, as_dtype, operand
from .pickling import reduced_array

__all__ = ["Array", "Input", "extent_operand"]


class Array:
    """What can be read with subscripts: inputs and computations."""

    __slots__ = ("__weakref__", "_handle")

    _handle: _core.Computation

    _made_by: ClassVar[str] = "tw.input and tw.computation"

    def __init__(self, handle: _core.Computation) -> None:
        made_by(self._made_by, handle, _core.Computation, f"tw.{type(self).__name__}")
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
    def origin(self) -> tuple[Expression, ...]:
        """The coordinates of the array's first element, in terms of parameters: zeros, but for
        computations with negative coordinates."""
        return tuple(Expression(first) for first in self._handle.origin)

    @property
    def domain(self) -> Set:
        """The index set."""
        return Set._of(self._handle.domain)

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

    _made_by = "tw.input"


def extent_operand(value: ExpressionLike, what: str) -> Operand:
    """One extent of a shape: an integer, affine in parameters."""
    extent = operand(value)
    kind = extent.type if isinstance(extent, _core.Expr) else type(extent).__name__
    if not kind.startswith(("int", "uint")):
        raise DeclarationTypeError(f"{what} must be integers, but {value!r} is of type {kind}")
    if isinstance(extent, int) and extent < 0:
        raise DeclarationError(f"{what} must not be negative, but {value!r} is")
    return extent
