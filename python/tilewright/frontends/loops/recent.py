"""Calls like one before: which kernel they take, found by a key that is quick to make.

The key is of types, shapes and integers alone. What it does not say (memory that arrays share, keywords,
numbers of NumPy's) goes the long way.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from .signatures import NumberSlot, ParameterSlot, Signature

__all__ = ["Recent", "key_of_call"]

_MOST = 256


def key_of_call(arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What is the same for calls that run alike; None where that takes a closer look."""
    key: list[Any] = []
    arrays = []
    for value in arguments:
        kind = type(value)
        if kind is np.ndarray:
            if not value.shape:
                return None
            arrays.append(value)
            key.append((value.dtype, value.shape))
        elif kind is int:
            key.append(value)
        elif kind is float:
            key.append(float)
        else:
            return None
    for one, other in combinations(arrays, 2):
        if np.may_share_memory(one, other):
            return None
    return tuple(key)


class Recent:
    """The kernels of calls that were made, with how their arguments are given."""

    def __init__(self) -> None:
        self._entries: dict[tuple[Any, ...], tuple[Any, dict[str, Any], list[Any]]] = {}

    def get(self, arguments: tuple[Any, ...]) -> tuple[Any, dict[str, Any]] | None:
        """The kernel and the values by name; None for a call that is none of them."""
        key = key_of_call(arguments)
        entry = None if key is None else self._entries.get(key)
        if entry is None:
            return None
        kernel, sizes, places = entry
        if not kernel.has_its_constants():
            return None
        values = sizes.copy()
        for name, position, dtype in places:
            value = arguments[position]
            values[name] = value if dtype is None else np.asarray(value, dtype)
        return kernel, values

    def note(
        self,
        arguments: tuple[Any, ...],
        signature: Signature,
        values: dict[str, Any],
        kernel: Any,
    ) -> None:
        """Keeps what a call with these arguments took."""
        key = key_of_call(arguments)
        if key is None or len(arguments) != len(signature.slots):
            return
        places = []
        for position, slot in enumerate(signature.slots):
            if not isinstance(slot, ParameterSlot):
                dtype = slot.kind.dtype if isinstance(slot, NumberSlot) else None
                places.append((getattr(slot, "name", ""), position, dtype))
        named = {name for name, _, _ in places}
        sizes = {name: value for name, value in values.items() if name not in named}
        if len(self._entries) >= _MOST:
            self._entries.clear()
        self._entries[key] = kernel, sizes, places
