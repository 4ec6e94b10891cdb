"""The smallest and largest of floats: one machine instruction each, and NaN wins as NumPy has it."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from compiled_c import CompiledC

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
    loop = next(part for part in re.split(r"\.LBB\w+:", f.asm) if instruction in part)
    # The term goes to the result where it is no number, as a mask says that nobody waits for.
    [*_, (so_far, term, result)] = re.findall(rf"{instruction}\s+(\S+), (\S+), (\S+) {{%k1}}", loop)
    assert result == term != so_far
    assert re.search(rf"vcmpordps\s+\S+, {term}, %k1", loop)
    assert "kor" not in loop and "blend" not in loop


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


def test_of_equal_zeros_the_first_one_is_taken_by_all_that_computes(tmp_path: pathlib.Path) -> None:
    names = ["maximum", "minimum", "fmax", "fmin"]
    a, b = tw.input("a", [N], tw.float64), tw.input("b", [N], tw.float64)
    outputs = [tw.computation(f"y_{n}", {i: N}, getattr(tw, n)(a[i], b[i])) for n in names]
    f = tw.function("extremum_of_zeros", outputs=outputs)
    first = np.array([0.0, -0.0, 0.0, -0.0] * 5)  # vectors, and what is left over
    second = np.array([-0.0, 0.0, 0.0, -0.0] * 5)
    in_c, status = CompiledC(f, tmp_path)(a=first, b=second, N=20)
    assert status == 0
    for results in (f(first, second), f.evaluate(first, second), in_c):
        for result in results:
            np.testing.assert_array_equal(np.signbit(result), np.signbit(first))
