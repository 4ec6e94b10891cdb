"""Scalar types: `tw.float32` and its kin, beside NumPy's names for them.

Wherever a type is asked for, a NumPy dtype, a name ("float32") or a Python type (`float`) does as
well.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes
import numpy as np

from .. import _core
from ..base.errors import DeclarationTypeError

if TYPE_CHECKING:
    from .expressions import Expression, ExpressionLike

__all__ = [
    "DType",
    "DTypeLike",
    "as_dtype",
    "bfloat16",
    "bool_",
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
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]


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
        from .expressions import cast

        return cast(value, self)

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
    try:
        dtype = np.dtype(value)
    except TypeError:
        raise DeclarationTypeError(f"{value!r} is not a type; {_CHOICES}") from None
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
