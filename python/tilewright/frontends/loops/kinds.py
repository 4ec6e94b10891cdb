"""Types of scalars as NumPy has them, by asking NumPy itself.

A `Kind` is a dtype and whether the value is Python's own (an int, a float), which gives way to the type
of an array (NEP 50: "weak"). Which types an operation computes in is what `ufunc.resolve_dtypes` answers;
two of Python's own numbers follow Python's rules.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "BOOL",
    "COMPLEX",
    "FLOAT",
    "INT",
    "INT64",
    "STRONG_BOOL",
    "Kind",
    "join",
    "kind_of",
    "loop_types",
]


@dataclass(frozen=True)
class Kind:
    """A type of scalars; `weak` for Python's own bool, int, float and complex."""

    dtype: np.dtype
    weak: bool = False

    def __str__(self) -> str:
        return f"Python's {_NAMES[self.dtype.kind]}" if self.weak else str(self.dtype)

    @property
    def is_integer(self) -> bool:
        return self.dtype.kind in "iu"

    @property
    def is_bool(self) -> bool:
        return self.dtype.kind == "b"


_NAMES = {"b": "bool", "i": "int", "f": "float", "c": "complex"}

INT64 = np.dtype(np.int64)
BOOL = Kind(np.dtype(np.bool_), True)
INT = Kind(INT64, True)
FLOAT = Kind(np.dtype(np.float64), True)
COMPLEX = Kind(np.dtype(np.complex128), True)
STRONG_BOOL = Kind(np.dtype(np.bool_))

_PYTHON: dict[type, Kind] = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX}
_WEAK_ORDER = [BOOL, INT, FLOAT, COMPLEX]


def kind_of(value: object) -> Kind | None:
    """The kind of a Python or NumPy scalar, or None of anything else."""
    if type(value) in _PYTHON:
        return _PYTHON[type(value)]
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return Kind(value.dtype)
    return None


def _asked(kind: Kind) -> Any:
    """As `resolve_dtypes` takes it; Python's bool is NumPy's there."""
    if kind.weak and not kind.is_bool:
        return {"i": int, "f": float, "c": complex}[kind.dtype.kind]
    return kind.dtype


@functools.cache
def loop_types(ufunc: np.ufunc, kinds: tuple[Kind, ...]) -> tuple[np.dtype, ...]:
    """The types that the operands are converted to, and last that of the result.

    Raises:
        TypeError: NumPy has no such operation on these types.
    """
    if all(kind.weak for kind in kinds):  # of Python's own numbers only: int64, float64, complex128
        kinds = tuple(Kind(kind.dtype) for kind in kinds)
    found: tuple[np.dtype, ...] = ufunc.resolve_dtypes((*map(_asked, kinds), None))
    return found


def join(a: Kind, b: Kind) -> Kind:
    """The kind of a variable that holds values of both."""
    if a == b:
        return a
    if a.weak and b.weak:
        return max(a, b, key=_WEAK_ORDER.index)
    if a.is_bool and b.is_bool:
        return STRONG_BOOL
    return Kind(loop_types(np.add, (a, b))[-1])
