"""Arrays: what can be read with subscripts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from .. import _core
from ..base.checks import described, made_by
from ..base.errors import DeclarationError, DeclarationTypeError
from ..base.plurals import counted
from ..base.source import caller_location
from ..sets.values import Set
from .expressions import DType, Expression, ExpressionLike, Operand, as_dtype, operand
from .names import Iterator
from .pickling import reduced_array

__all__ = ["Array", "Input", "Part", "extent_operand", "whole"]


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

    @property
    def part(self) -> Parts:
        """Boxes of elements for `tw.block`, such as ``A.part[b, :, 0:K]``."""
        return Parts(self)

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


@dataclass(frozen=True, slots=True, repr=False)
class Part:
    """A box of elements of an array: a number for each subscript, or a range."""

    array: Array
    subscripts: tuple[Expression | tuple[Expression, Expression], ...]

    @property
    def extents(self) -> tuple[Expression, ...]:
        """The extents of the dimensions, which are those of the ranges."""
        return tuple(
            one[1] if _is_zero(one[0]) else one[1] - one[0]
            for one in self.subscripts
            if isinstance(one, tuple)
        )

    def operands(self, prefix: str) -> tuple[_core.Expr, list[tuple[str, _core.Expr, _core.Expr]]]:
        """The read of an element at iterators of this prefix, and their ranges."""
        subscripts: list[_core.Expr] = []
        ranges: list[tuple[str, _core.Expr, _core.Expr]] = []
        for one in self.subscripts:
            if isinstance(one, tuple):
                name = f"{prefix}_{len(ranges)}"
                subscripts.append(Iterator(name)._handle)
                ranges.append((name, one[0]._handle, one[1]._handle))
            else:
                subscripts.append(one._handle)
        return _core.access(self.array._handle, [*subscripts], caller_location()), ranges

    def __repr__(self) -> str:
        shown = [
            f"{one[0]!r}:{one[1]!r}" if isinstance(one, tuple) else repr(one)
            for one in self.subscripts
        ]
        return f"{self.array.name}.part[{', '.join(shown) or '()'}]"


class Parts:
    """What makes the parts of an array: `A.part`."""

    __slots__ = ("_array",)

    def __init__(self, array: Array) -> None:
        self._array = array

    def __repr__(self) -> str:
        return f"{self._array.name}.part"

    def __getitem__(self, subscripts: object) -> Part:
        """The part at numbers and slices, one for each dimension: `A.part[b, :, 0:K]`.

        Raises:
            DeclarationError: for another number of subscripts, or a slice with a step or a bound
                that counts from the end.
            DeclarationTypeError: for what is neither an integer nor a slice.
        """
        array = self._array
        given = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        if len(given) != array.ndim:
            raise DeclarationError(
                f"a part of {array.name} takes {counted(array.ndim, 'subscript')}, not {len(given)}: a number or "
                f"a slice for each dimension, {array.name}.part[{', '.join(':' * array.ndim) or '()'}]"
            )
        return Part(array, tuple(self._subscript(one, d) for d, one in enumerate(given)))

    def _subscript(self, value: object, d: int) -> Expression | tuple[Expression, Expression]:
        if not isinstance(value, slice):
            return self._bound(value, d)
        if value.step not in (None, 1):
            raise DeclarationError(
                f"a slice of a part of {self._array.name} has no step, got {value.step!r}: pass whole "
                "ranges, and step in the function"
            )
        first, extent = self._array.origin[d], self._array.shape[d]
        end = extent if _is_zero(first) else first + extent
        lower = first if value.start is None else self._bound(value.start, d)
        upper = end if value.stop is None else self._bound(value.stop, d)
        return lower, upper

    def _bound(self, value: object, d: int) -> Expression:
        handle = operand(value)
        is_integer = (
            handle.type.startswith(("int", "uint"))
            if isinstance(handle, _core.Expr)
            else isinstance(handle, int) and not isinstance(handle, bool)
        )
        if not is_integer:
            raise DeclarationTypeError(
                f"subscript {d} of a part of {self._array.name} must be an integer or a slice, not "
                f"{described(value)}"
            )
        if isinstance(handle, int) and handle < 0 and _is_zero(self._array.origin[d]):
            raise DeclarationError(
                f"subscript {d} of a part of {self._array.name} is {handle}, and negative numbers do "
                f"not count from the end: write {self._array.shape[d]!r} - {-handle}"
            )
        return Expression(_core.strengthen(handle))


def _is_zero(value: Expression) -> bool:
    return repr(value) == "0"


def whole(array: Array) -> Part:
    """All of an array."""
    return Parts(array)[(slice(None),) * array.ndim]


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
