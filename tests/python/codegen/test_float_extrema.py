"""The smallest and largest of floats: one machine instruction each, and NaN wins as NumPy has it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw

N, K = tw.params("N K")
i, k = tw.iters("i k")


def of_rows(reduction: Any, dtype: Any, **options: Any) -> tw.Function:
    x = tw.input("x", [N, K], dtype)
    y = tw.computation("y", {i: N}, reduction(x[i, k], over={k: K}))
    return tw.function("extremum", outputs=[y], **options)


@pytest.mark.parametrize(("name", "instruction"), [("max", "vmaxps"), ("min", "vminps")])
def test_a_term_is_asked_whether_it_is_nan_and_not_what_waits_for_it(
    name: str, instruction: str
) -> None:
    f = of_rows(getattr(tw, name), tw.float32, cpu="x86-64-v4", default_schedule=False)
    f["y"].vectorize(k, 16)
    f.compile(np.zeros((2, 64), np.float32))
    loop = next(part for part in re.split(r"\.LBB\w+:", f.asm) if instruction in part)
    (so_far, term, result) = re.findall(rf"{instruction}\s+(\S+), (\S+), (\S+)", loop)[0]
    assert so_far == result != term
    assert re.findall(r"vcmpunordps\s+(\S+), (\S+),", loop)[0] == (term, term)
    assert "kor" not in loop


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", ["max", "min"])
def test_nan_wins_wherever_it_stands(name: str, dtype: type) -> None:
    f = of_rows(getattr(tw, name), dtype)
    for length in (1, 7, 16, 37):
        rows: Any = (
            np.random.default_rng(length).standard_normal((length + 2, length)).astype(dtype)
        )
        for row in range(length):
            rows[row, row] = np.nan
        rows[length] = np.inf if name == "min" else -np.inf
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(f(rows), getattr(rows, name)(axis=1))


@pytest.mark.parametrize("operation", ["maximum", "minimum"])
def test_of_two_numbers(operation: str) -> None:
    a, b = tw.input("a", [N], tw.float32), tw.input("b", [N], tw.float32)
    y = tw.computation("y", {i: N}, getattr(tw, operation)(a[i], b[i]))
    f = tw.function("extremum_of_two", outputs=[y])
    values = np.array([np.nan, -np.inf, -1, -0.0, 0.0, 1, np.inf], np.float32)
    x, z = (grid.ravel() for grid in np.meshgrid(values, values))
    np.testing.assert_array_equal(f(x, z), getattr(np, operation)(x, z))
