"""Tables (`.tables`) in plain values, as they are kept beside the kernels: read without the parser."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

__all__ = ["described", "restored"]


def described(table: np.ndarray) -> list[Any]:
    """A table in plain values, to be kept (`base.notes`)."""
    content = base64.b64encode(table.tobytes()).decode()
    return [np.lib.format.dtype_to_descr(table.dtype), list(table.shape), content]


def restored(content: Any) -> np.ndarray:
    """The table of its plain values.

    Raises:
        ValueError, TypeError, LookupError: these are none.
    """
    kind, shape, data = content
    dtype = np.lib.format.descr_to_dtype(_as_written(kind))
    table: np.ndarray = np.frombuffer(base64.b64decode(data), dtype).reshape(shape)
    return table  # of bytes: it is read-only


def _as_written(kind: Any) -> Any:
    """JSON has lists where the description of a record has tuples."""
    if isinstance(kind, str):
        return kind
    return [(name, _as_written(of), *(tuple(each) for each in shape)) for name, of, *shape in kind]
