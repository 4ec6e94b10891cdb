"""Values that were computed in another order: which are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuzz.nearness import PRECISION, same
from fuzz.typed_values import dtype_of


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_values_that_are_not_the_same(dtype: str) -> None:
    kind = dtype_of(dtype)
    precision = PRECISION[dtype]

    def agree(a: list[float], b: list[float]) -> bool:
        return same(np.array(a, kind), np.array(b, kind), precision)

    inf, nan = np.inf, np.nan
    large = {"float16": 60000.0, "bfloat16": 3e38}.get(dtype)
    assert agree([1, 2, inf, nan], [1, 2, inf, nan])
    assert agree([1 + precision, 100], [1, 100])
    assert not agree([1, 2, inf], [1, 3, inf])  # one that overflows says nothing of the others
    assert not agree([1, nan], [1, 2])
    assert not agree([inf, 2], [1, 2])
    if large is None:
        assert not agree([1, -inf], [1, inf])
        assert not agree([1, 2], [1, inf])
    else:
        assert agree([1, inf], [1, large])  # another order overflows
        assert agree([1, 2, nan], [1, inf, large])
        assert not agree([1, inf], [5e4 if dtype == "float16" else 1e38, large])


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
def test_parts_beside_infinite_ones_are_rounded_as_those(kind: Any) -> None:
    precision = PRECISION[np.dtype(kind).name]

    def agree(a: list[complex], b: list[complex]) -> bool:
        return same(np.array(a, kind), np.array(b, kind), precision)

    inf, nan = np.inf, np.nan
    assert agree([complex(-inf, 3), 1j], [complex(-inf, 4), 1j])
    assert agree([complex(nan, inf)], [complex(nan, inf)])
    assert not agree([complex(-inf, 3)], [complex(inf, 3)])
    assert not agree([complex(nan, 1)], [complex(1, nan)])
    assert not agree([complex(-inf, 3), 1j], [complex(-inf, 3), 2j])
    assert not agree([1 + 2j], [1 + (2 + 9 * precision) * 1j])
