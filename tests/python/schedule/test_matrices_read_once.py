"""Products of one matrix from both sides: `auto_schedule` puts them into common loops over its rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw

N, M = tw.params("N M")
i, j = tw.iters("i j")
A = tw.input("A", [N, M], tw.float64)
x, r = tw.input("x", [M], tw.float64), tw.input("r", [N], tw.float64)
SHAPES = ((1, 1), (9, 30), (300, 17), (64, 1100), (0, 4), (4, 0), (530, 40))


def rows(vector: Any) -> Any:
    return tw.sum(A[i, j] * vector[j], over={j: M})


def columns(vector: Any) -> Any:
    return tw.sum(A[i, j] * vector[i], over={i: N})


def atax() -> tw.Function:
    p = tw.computation("P", {i: N}, rows(x))
    y = tw.computation("y", {j: M}, columns(p))
    return tw.function("atax", outputs=[y], inputs=[A, x, r])


def bicg() -> tw.Function:
    s = tw.computation("S", {j: M}, columns(r))
    q = tw.computation("Q", {i: N}, rows(x))
    return tw.function("bicg", outputs=[s, q], inputs=[A, x, r])


def with_epilogues() -> tw.Function:
    p = tw.computation("P", {i: N}, tw.maximum(rows(x) - r[i], 0))
    y = tw.computation("y", {j: M}, 2 * columns(p) + x[j])
    return tw.function("epilogues", outputs=[p, y], inputs=[A, x, r])


def backwards() -> tw.Function:
    s = tw.computation("S", {j: M}, columns(r))
    q = tw.computation("Q", {i: N}, rows(s))
    return tw.function("backwards", outputs=[q], inputs=[A, x, r])


EXPECTED: dict[Callable[[], tw.Function], Callable[..., tuple[Any, ...]]] = {
    atax: lambda a, x, r: (a.T @ (a @ x),),
    bicg: lambda a, x, r: (a.T @ r, a @ x),
    with_epilogues: lambda a, x, r: (
        np.maximum(a @ x - r, 0),
        2 * (a.T @ np.maximum(a @ x - r, 0)) + x,
    ),
    backwards: lambda a, x, r: (a @ (a.T @ r),),
}


def nests_reading_the_matrix(f: tw.Function) -> int:
    nests = re.split(r"^(?=\S)", str(f.loops), flags=re.MULTILINE)
    return sum("A[" in nest for nest in nests)


@pytest.mark.parametrize("build", EXPECTED, ids=lambda build: build.__name__)
def test_the_values(build: Callable[[], tw.Function]) -> None:
    f = build()
    f.auto_schedule()
    for shape in SHAPES:
        generator = np.random.default_rng(sum(shape))
        a, v, w = generator.random(shape), generator.random(shape[1]), generator.random(shape[0])
        found = f(a, v, w)
        found = found if isinstance(found, tuple) else (found,)
        for got, expected in zip(found, EXPECTED[build](a, v, w), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("build", [atax, bicg, with_epilogues], ids=lambda build: build.__name__)
def test_one_nest_reads_the_matrix(build: Callable[[], tw.Function]) -> None:
    f = build()
    assert nests_reading_the_matrix(f) == 2
    f.auto_schedule()
    assert nests_reading_the_matrix(f) == 1
    assert "A is read once for both" in str(f.explain())


def test_not_if_all_columns_are_needed_first() -> None:
    f = backwards()
    f.auto_schedule()
    assert nests_reading_the_matrix(f) == 2


def test_sums_do_not_depend_on_the_number_of_threads() -> None:
    f = atax()
    f.auto_schedule()
    generator = np.random.default_rng(0)
    a, v, w = generator.random((900, 210)), generator.random(210), generator.random(900)
    assert (f(a, v, w, threads=1) == f(a, v, w, threads=3)).all()


def test_not_the_transposed_matrix() -> None:
    square = tw.input("B", [N, N], tw.float64)
    p = tw.computation("P", {i: N}, tw.sum(square[i, j] * r[j], over={j: N}))
    y = tw.computation("y", {j: N}, tw.sum(square[j, i] * p[i], over={i: N}))
    f = tw.function("twice", outputs=[y], inputs=[square, r])
    f.auto_schedule()
    assert "read once" not in str(f.explain())
    b, v = np.random.default_rng(0).random((40, 40)), np.random.default_rng(1).random(40)
    np.testing.assert_allclose(f(b, v), b @ (b @ v), rtol=1e-12)
