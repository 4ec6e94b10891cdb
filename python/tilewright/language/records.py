"""Arrays of structures: of which structured array an input or a result is a field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core

__all__ = ["Slot", "record_dtype", "register_record"]


@dataclass(eq=False)
class Slot:
    """One argument or result of a call: a plain array, or the fields of a structured one.

    Attributes:
        name: the argument's name.
        fields: field -> the kernel's argument; None for a plain array.
        dtype: of a structured result.
    """

    name: str
    fields: dict[str, str] | None = None
    dtype: np.dtype[Any] | None = None


# The dtype that a field's record was declared with, by the identity of the field's computation. A
# new computation at an old address replaces what was there.
_record_dtypes: dict[int, np.dtype[Any]] = {}


def record_dtype(identity: int) -> np.dtype[Any]:
    """The structured dtype of the record in which this input is a field."""
    return _record_dtypes[identity]


def register_record(handle: _core.Computation, dtype: np.dtype[Any]) -> None:
    """Says of which structured dtype an input is a field."""
    _record_dtypes[_core.computation_identity(handle)] = dtype
