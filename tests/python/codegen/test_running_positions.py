"""Positions of extrema: of equal values the first one counts, though nobody asks any more."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw

N, K = tw.params("N K")
i, k = tw.iters("i k")


def of_rows(reduction: Any, dtype: Any, lanes: int = 0) -> tw.Function:
    """By default blocks are searched (test_search_blocks.py); with lanes each one has a position of its own."""
    x = tw.input("x", [N, K], dtype)
    y = tw.computation("y", {i: N}, reduction(x[i, k], over={k: K}))
    f = tw.function("positions", outputs=[y])
    if lanes:
        f["y"].vectorize(k, lanes, partial=True)
    return f


def test_later_iterations_do_not_compare_positions() -> None:
    f = of_rows(tw.argmax, tw.float32, lanes=16)
    text = str(f.passes(np.zeros((4, 512), np.float32)))
    before, after = text.split("# settle_tests")[:2]
    assert "if reduce(&, acc" not in before
    settled = after.split("if reduce(&, acc")[1].split("else:\n")[0]
    compared = re.compile(r"lanes\(\d+\) <")
    assert not compared.search(settled) and compared.search(before)


@pytest.mark.parametrize("lanes", [0, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_first_of_equal_values_counts(name: str, dtype: type, lanes: int) -> None:
    f = of_rows(getattr(tw, name), dtype, lanes)
    generator = np.random.default_rng(0)
    for length in (1, 9, 64, 131):
        rows: Any = generator.integers(0, 3, (length + 4, length)).astype(dtype)
        least = -np.inf if dtype in (np.float32, np.float64) else np.iinfo(dtype).min
        most = np.inf if dtype in (np.float32, np.float64) else np.iinfo(dtype).max
        rows[length], rows[length + 1] = least, most  # what extrema begin with
        rows[length + 2, : length // 2] = least
        rows[length + 3, : length // 2] = most
        if dtype in (np.float32, np.float64):
            for row in range(length):
                rows[row, row::7] = np.nan
        assert (f(rows) == getattr(rows, name)(axis=1)).all()


def test_of_a_matrix_and_under_a_condition() -> None:
    x = tw.input("x", [N, K], tw.float32)
    row, column = tw.argmax(x[i, k], over={i: N, k: K}, where=x[i, k] < 2)
    f = tw.function(
        "place", outputs=[tw.computation("row", {}, row), tw.computation("column", {}, column)]
    )
    for shape in ((5, 70), (70, 5), (33, 64)):
        values = np.random.default_rng(1).integers(-2, 4, shape).astype(np.float32)
        expected = np.where(values < 2, values, -np.inf).argmax()
        assert tuple(int(v) for v in f(values)) == np.unravel_index(expected, shape)
    assert tuple(int(v) for v in f(np.full((3, 40), 5, np.float32))) == (-1, -1)
