"""Functions with loops as people write them, each with arguments to call it with.

Sums are of few terms and in order, so that CPython's own result is compared bit for bit; `TOLERANT`
names functions that NumPy sums in another order or whose parts (exp, sin) are accurate but not the
same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tilewright as tw

CASES: dict[str, tuple[Any, Callable[[np.random.Generator], tuple[Any, ...]]]] = {}
TOLERANT: set[str] = set()


def case(make: Callable[[np.random.Generator], tuple[Any, ...]], tolerant: bool = False) -> Any:
    """Enters a function into the catalogue."""

    def enter(function: Any) -> Any:
        made = tw.jit(function)
        CASES[function.__name__] = (made, make)
        if tolerant:
            TOLERANT.add(function.__name__)
        return made

    return enter
