"""Types and expressions: what a computation's element is made of.

`tw.float32` and its kin stand beside NumPy's names for them: wherever a type is asked for, a NumPy
dtype, a name ("float32") or a Python type (`float`) does as well. Iterators, parameters and reads of
arrays are combined with Python's operators and the functions of `tilewright.language.elementary`.
Types follow NumPy: a Python number is weak (it takes the other operand's type), a NumPy scalar is
not; `//` and `%` round towards minus infinity, integer division by zero gives 0, minimum and maximum
pass NaN on. Nothing is computed here: an expression is a description.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias, Union

import ml_dtypes
import numpy as np

from .. import _core
from .._core import Op
from ..base.checks import described, made_by, numpy_dtype
from ..base.errors import ArgumentError, DeclarationTypeError
from ..base.source import caller_location
from .numpy_functions import apply_numpy
from .pickling import reduced_expression

__all__ = [
    "DType",
    "DTypeLike",
    "Expression",
    "ExpressionLike",
    "as_dtype",
    "bfloat16",
    "bool_",
    "cast",
    "complex64",
    "complex128",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "promote_types",
    "select",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

ExpressionLike: TypeAlias = Union["Expression", int, float, complex, "np.generic"]
Operand: TypeAlias = _core.Expr | bool | int | float | complex

# ---- types ----


class DType:
    """A scalar type. Compares equal to its NumPy dtype and to its name; called, it casts.

    >>> tw.float32 == np.float32
    True
    >>> (tw.float32(i) / 2).dtype  # the iterator as a float32
    tw.float32
    """

    __slots__ = ("_dtype", "_name")

    _name: str
    _dtype: np.dtype[Any]

    def __init__(self, name: str, dtype: np.dtype[Any]) -> None:
        made_by("tw.as_dtype", dtype, np.dtype, "tw.DType")
        made_by("tw.as_dtype", name, str, "tw.DType")
        self._name = name
        self._dtype = dtype

    @property
    def name(self) -> str:
        """NumPy's name: "bool", "int8", ..., "bfloat16", ..., "complex128"."""
        return self._name

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype; `np.dtype(tw.float32)` finds it here."""
        return self._dtype

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._dtype.itemsize

    def __call__(self, value: ExpressionLike) -> Expression:
        """The value as this type (`tw.cast`)."""
        return Expression(_core.cast(operand(value), self._name))

    def __eq__(self, other: object) -> builtins.bool:
        if isinstance(other, DType):
            return self._name == other._name
        try:
            return self._dtype == other
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self._dtype)

    def __repr__(self) -> str:
        return f"tw.{self._name}"

    def __str__(self) -> str:
        return self._name

    def __reduce__(self) -> tuple[object, ...]:
        return as_dtype, (self._name,)


DTypeLike: TypeAlias = DType | str | type | np.dtype[Any]

bool_ = DType("bool", np.dtype(np.bool_))
int8 = DType("int8", np.dtype(np.int8))
int16 = DType("int16", np.dtype(np.int16))
int32 = DType("int32", np.dtype(np.int32))
int64 = DType("int64", np.dtype(np.int64))
uint8 = DType("uint8", np.dtype(np.uint8))
uint16 = DType("uint16", np.dtype(np.uint16))
uint32 = DType("uint32", np.dtype(np.uint32))
uint64 = DType("uint64", np.dtype(np.uint64))
float16 = DType("float16", np.dtype(np.float16))
bfloat16 = DType("bfloat16", np.dtype(ml_dtypes.bfloat16))
float32 = DType("float32", np.dtype(np.float32))
float64 = DType("float64", np.dtype(np.float64))
complex64 = DType("complex64", np.dtype(np.complex64))
complex128 = DType("complex128", np.dtype(np.complex128))

ALL_TYPES: tuple[DType, ...] = (
    bool_,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    bfloat16,
    float32,
    float64,
    complex64,
    complex128,
)

_BY_NAME: dict[str, DType] = {dtype.name: dtype for dtype in ALL_TYPES}


def as_dtype(value: DTypeLike) -> DType:
    """The type that a DType, NumPy dtype, name or Python type means.

    Raises:
        DeclarationTypeError: for a type that kernels do not have (strings, objects, byte-swapped
            numbers, long double), and for None.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    if value is None:  # which NumPy takes for float64
        raise DeclarationTypeError(f"None is not a type; {_CHOICES}")
    dtype = numpy_dtype(value)
    if dtype is None:
        raise DeclarationTypeError(f"{described(value)} is not a type; {_CHOICES}")
    if not dtype.isnative:
        raise DeclarationTypeError(
            f"the type {dtype.str} has swapped bytes; only the machine's byte order is supported"
        )
    found = _BY_NAME.get(dtype.name)
    if found is None or dtype.names is not None:
        raise DeclarationTypeError(f"the type {dtype} is not supported; {_CHOICES}")
    return found


_CHOICES = "choose one of " + ", ".join(dtype.name for dtype in ALL_TYPES)


def promote_types(a: DTypeLike, b: DTypeLike) -> DType:
    """The type of `x + y` for x of type `a` and y of type `b` (`np.promote_types`)."""
    return _BY_NAME[_core.promote(as_dtype(a).name, as_dtype(b).name)]


# ---- expressions ----


class Expression:
    """A typed expression over iterators, parameters and reads; immutable.

    Comparisons give expressions of type bool, joined with `&`, `|`, `^` and `~`. An expression has
    no truth value: `and`, `or`, `not`, `if` and chained comparisons raise.
    """

    __slots__ = ("__weakref__", "_handle")

    _handle: _core.Expr

    def __init__(self, handle: _core.Expr) -> None:
        given: object = handle
        if not isinstance(given, _core.Expr):
            made_by("operators and functions on iterators", given, _core.Expr, "tw.Expression")
        self._handle = handle

    @property
    def dtype(self) -> DType:
        """The type of the value."""
        return as_dtype(self._handle.type)

    def astype(self, dtype: DTypeLike) -> Expression:
        """The value as another type (`tw.cast`)."""
        return Expression(_core.cast(self._handle, as_dtype(dtype).name))

    @property
    def real(self) -> Expression:
        """The real part."""
        return call(Op.Real, self)

    @property
    def imag(self) -> Expression:
        """The imaginary part."""
        return call(Op.Imag, self)

    def conj(self) -> Expression:
        """The complex conjugate."""
        return call(Op.Conj, self)

    def round(self, decimals: int = 0, out: None = None) -> Expression:
        """The value to so many digits behind the point, as `tw.round` and np.round have it."""
        if out is not None:
            raise DeclarationTypeError("np.round of an expression takes no out=")
        return call(Op.Round, self, decimals)

    def __repr__(self) -> str:
        return str(self._handle)

    def __reduce__(self) -> tuple[object, ...]:
        return reduced_expression(self)

    def __copy__(self) -> Expression:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Expression:
        return self

    def __bool__(self) -> NoReturn:
        raise DeclarationTypeError(
            f"the expression {self!r} has no truth value while a computation is declared: join "
            "conditions with & | ~ instead of and, or, not; write 0 <= i < N as "
            "(0 <= i) & (i < N); "
            "choose between values with tw.select"
        )

    # Python compares keys of a dictionary by identity first; iterators of one name are one object.
    __hash__ = object.__hash__

    # Arithmetic.
    def __add__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Add, self, other)

    def __radd__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Add, other, self)

    def __sub__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Sub, self, other)

    def __rsub__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Sub, other, self)

    def __mul__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Mul, self, other)

    def __rmul__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Mul, other, self)

    def __truediv__(self, other: ExpressionLike) -> Expression:
        return binary(Op.TrueDiv, self, other)

    def __rtruediv__(self, other: ExpressionLike) -> Expression:
        return binary(Op.TrueDiv, other, self)

    def __floordiv__(self, other: ExpressionLike) -> Expression:
        return binary(Op.FloorDiv, self, other)

    def __rfloordiv__(self, other: ExpressionLike) -> Expression:
        return binary(Op.FloorDiv, other, self)

    def __mod__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Mod, self, other)

    def __rmod__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Mod, other, self)

    def __divmod__(self, other: ExpressionLike) -> tuple[Expression, Expression]:
        return self // other, self % other

    def __rdivmod__(self, other: ExpressionLike) -> tuple[Expression, Expression]:
        return other // self, other % self

    def __pow__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Pow, self, other)

    def __rpow__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Pow, other, self)

    def __neg__(self) -> Expression:
        return unary(Op.Neg, self)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return unary(Op.Abs, self)

    # Bits, and the logic of conditions.
    def __invert__(self) -> Expression:
        return unary(Op.Not, self)

    def __and__(self, other: ExpressionLike) -> Expression:
        return binary(Op.And, self, other)

    def __rand__(self, other: ExpressionLike) -> Expression:
        return binary(Op.And, other, self)

    def __or__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Or, self, other)

    def __ror__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Or, other, self)

    def __xor__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Xor, self, other)

    def __rxor__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Xor, other, self)

    def __lshift__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Shl, self, other)

    def __rlshift__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Shl, other, self)

    def __rshift__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Shr, self, other)

    def __rrshift__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Shr, other, self)

    # Comparisons.
    def __lt__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Lt, self, other)

    def __le__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Le, self, other)

    def __gt__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Gt, self, other)

    def __ge__(self, other: ExpressionLike) -> Expression:
        return binary(Op.Ge, self, other)

    def __eq__(self, other: ExpressionLike) -> Expression:  # type: ignore[override]
        return binary(Op.Eq, self, other)

    def __ne__(self, other: ExpressionLike) -> Expression:  # type: ignore[override]
        return binary(Op.Ne, self, other)

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        given: tuple[Any, ...],
        named: dict[str, Any],
    ) -> Any:
        """np.where(e > 0, e, 0) is an expression too; reductions say what they are here."""
        return apply_numpy(function, given, named, _COUNTERPARTS)

    def __round__(self, digits: object = None) -> Expression:
        raise DeclarationTypeError(
            "round of a number is an integer, and an expression keeps its type: write tw.round(x), or "
            "tw.cast(tw.round(x), tw.int64) for an integer"
        )

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Expression | tuple[Expression, Expression]:
        """np.float32(2) * e and np.sqrt(e) are expressions too."""
        name = ufunc.__name__
        if method != "__call__":
            raise DeclarationTypeError(f"np.{name}.{method} has no counterpart on expressions")
        if options:
            given = ", ".join(f"{option}=" for option in options)
            raise DeclarationTypeError(f"np.{name} of an expression takes no {given}")
        if name == "divmod":
            return binary(Op.FloorDiv, *inputs), binary(Op.Mod, *inputs)
        if name == "positive":
            return as_expression(*inputs)
        op = operations_of_ufuncs().get(name)
        if op is None:
            raise DeclarationTypeError(f"np.{name} has no counterpart on expressions")
        return call(op, *inputs)


# ---- operands ----


def _numpy_scalar(value: np.generic | np.ndarray[Any, Any]) -> _core.Expr:
    dtype = as_dtype(value.dtype)
    item = value.item()
    if not isinstance(item, bool | int | float | complex):
        item = float(item)  # bfloat16
    return _core.constant(item, dtype.name)


def operand(value: object) -> Operand:
    """What the core takes for an operand: an expression's handle or a Python number.

    Raises:
        DeclarationTypeError: for anything else, saying what to write instead.
    """
    if isinstance(value, Expression):
        return value._handle
    if isinstance(value, np.generic):
        return _numpy_scalar(value)
    if isinstance(value, bool | int | float | complex):
        return value
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return _numpy_scalar(value)
        raise DeclarationTypeError(
            f"an array of shape {value.shape} cannot be part of an expression: declare it with "
            "tw.input, read its elements as A[i, j], and pass the array when the function is called"
        )
    as_expression = getattr(value, "_as_expression", None)
    if as_expression is not None:
        found = as_expression()
        assert isinstance(found, Expression)
        return found._handle
    raise DeclarationTypeError(
        f"an operand must be an expression or a number, not {_describe(value)}"
    )


def _describe(value: object) -> str:
    if isinstance(value, str):
        return f"the str {described(value)}"
    return f"{type(value).__name__}"


def as_expression(value: ExpressionLike) -> Expression:
    """The value as an expression; a Python number becomes bool, int64, float64 or complex128."""
    if isinstance(value, Expression):
        return value
    return Expression(_core.strengthen(operand(value)))


def condition_operand(condition: ExpressionLike | None, what: str) -> Operand | None:
    """The operand of a condition; None and True hold everywhere and give None."""
    if condition is None or condition is True:
        return None
    handle = operand(condition)
    if isinstance(handle, _core.Expr):
        if handle.type != bool_.name:
            raise DeclarationTypeError(
                f"{what} must be a condition such as i < N, but {handle} is of type {handle.type}"
            )
        return handle
    if handle is False:
        return handle
    raise DeclarationTypeError(f"{what} must be a condition such as i < N, not {condition!r}")


def unary(op: Op, a: ExpressionLike) -> Expression:
    return Expression(_core.unary(op, operand(a)))


def binary(op: Op, a: ExpressionLike, b: ExpressionLike) -> Expression:
    return Expression(_core.binary(op, operand(a), operand(b)))


def call(op: Op, *arguments: ExpressionLike) -> Expression:
    return Expression(_core.call(op, *[operand(argument) for argument in arguments]))


@functools.cache
def operations_of_ufuncs() -> dict[str, Op]:
    """The operations that answer NumPy's universal functions, by the names of these."""
    return {name: row["op"] for row in _core.operations() for name in row["ufuncs"].split()}


def cast(value: ExpressionLike, dtype: DTypeLike) -> Expression:
    """The value as another type.

    Integers wrap; a float becomes an integer by truncation towards zero, NaN gives 0 and what lies
    outside the type's range the nearest value in it; complex to real drops the imaginary part.
    """
    return Expression(_core.cast(operand(value), as_dtype(dtype).name))


def select(
    condition: ExpressionLike, then: ExpressionLike, otherwise: ExpressionLike
) -> Expression:
    """`then` where `condition` holds, else `otherwise` (np.where); only that one is read."""
    return Expression(_core.select(operand(condition), operand(then), operand(otherwise)))


def checked(
    subscript: ExpressionLike, extent: ExpressionLike, *, array: str = "", axis: int = 0
) -> Expression:
    """`subscript`, which must be at least 0 and below `extent`: else the call raises `SubscriptError`.

    What is read at a subscript that data decide about is checked anyway. A scatter reads nothing at its
    subscripts: it compares them with those of its elements, and a subscript that is none of theirs
    would be left out without a word::

        last = tw.fold(lambda s, value: value, old[i], v[p], over={p: M},
                       where=tw.checked(at[p], N, array="out") == i)

    Args:
        subscript: an integer expression.
        extent: of the axis: an expression of parameters.
        array: its name, for the message.
        axis: of the array, for the message.

    Raises:
        DeclarationTypeError: `subscript` or `extent` is not an integer, or `extent` reads data.
        SubscriptError: (at a call) a subscript is outside; what was written before that stays.
    """
    if not isinstance(axis, int) or axis < 0:
        raise ArgumentError(f"checked: axis must be an int of at least 0, not {axis!r}")
    return Expression(
        _core.checked(operand(subscript), operand(extent), array, axis, caller_location())
    )


def _clipped(value: Any, least: Any, most: Any) -> Expression:
    above = as_expression(value) if least is None else call(Op.Max, value, least)
    return above if most is None else call(Op.Min, above, most)


def _rounded(value: Any, decimals: Any = 0) -> Expression:
    return call(Op.Round, value, decimals)


#: See `apply_numpy`.
_COUNTERPARTS: dict[tuple[str, int], Callable[..., Any]] = {
    ("where", 3): select,
    ("clip", 3): _clipped,
    **{(name, count): _rounded for name in ("round", "around") for count in (1, 2)},
}
