"""Matrices that are read once: several rows at a time, unless each is needed again while it is in a cache."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw

N, M = tw.params("N M")
i, j, k = tw.iters("i j k")
A, B = tw.input("A", [N, M], tw.float64), tw.input("B", [N, M], tw.float64)
x, z = tw.input("x", [M], tw.float64), tw.input("z", [N], tw.float64)
SHAPES = ((1, 1), (3, 70), (8, 8), (9, 65), (70, 3), (37, 1100), (0, 5), (5, 0))


def times_vector(matrix: Any) -> Any:
    return tw.sum(matrix[i, k] * x[k], over={k: M})


def arrays(shape: tuple[int, int]) -> tuple[Any, ...]:
    generator = np.random.default_rng(sum(shape))
    a, b = generator.random(shape), generator.random(shape)
    return a, b, generator.random(shape[1]), generator.random(shape[0])


def test_rows_of_a_product_share_what_they_load_of_the_vector() -> None:
    f = tw.function("rows", outputs=[tw.computation("y", {i: N}, times_vector(A))], inputs=[A, x])
    rows = re.search(r'unroll\("i1", (\d+)\)', str(f.default_schedule))
    assert rows is not None and int(rows[1]) in (4, 8)
    for shape in SHAPES:
        a, _, v, _ = arrays(shape)
        np.testing.assert_allclose(f(a, v), a @ v, rtol=1e-12)


@pytest.mark.parametrize("product", [False, True])
def test_columns_are_loaded_and_stored_once_for_several_rows(product: bool) -> None:
    terms = A[i, j] * z[i] if product else A[i, j]
    y = tw.computation("y", {j: M}, tw.sum(terms, over={i: N}))
    f = tw.function("columns", outputs=[y], inputs=[A, z] if product else [A])
    assert re.search(r'reorder\("j0", "i0", "j10", "i1", "j11"\)', str(f.default_schedule))
    for shape in SHAPES:
        a, _, _, v = arrays(shape)
        expected = v @ a if product else a.sum(axis=0)
        np.testing.assert_allclose(f(a, v) if product else f(a), expected, rtol=1e-12)


def test_several_products_share_the_loop_over_blocks_of_rows() -> None:
    y = tw.computation("y", {i: N}, 2 * times_vector(A) + 3 * times_vector(B))
    f = tw.function("gesummv", outputs=[y], inputs=[A, B, x])
    assert str(f.loops).count("for i0 in") == 1
    for shape in SHAPES:
        a, b, v, _ = arrays(shape)
        np.testing.assert_allclose(f(a, b, v), 2 * (a @ v) + 3 * (b @ v), rtol=1e-12)


def test_a_row_that_is_needed_again_is_read_alone() -> None:
    y = tw.computation("y", {i: N, j: M}, A[i, j] / (1 + times_vector(A)))
    f = tw.function("normalised", outputs=[y], inputs=[A, x])
    assert str(f.loops).count("for i in") == 1 and "i1" not in str(f.loops)
    for shape in SHAPES:
        a, _, v, _ = arrays(shape)
        np.testing.assert_allclose(f(a, v), a / (1 + a @ v)[:, None], rtol=1e-12)


def test_of_one_result_threads_sum_blocks() -> None:
    total = tw.computation("s", {}, tw.sum(A[i, k] * B[i, k], over={i: N, k: M}))
    f = tw.function("inner", outputs=[total], inputs=[A, B])
    line = tw.computation("t", {}, tw.max(z[i], over={i: N}))
    g = tw.function("largest", outputs=[line], inputs=[z])
    for function in (f, g):
        assert re.search(
            r"_blocks\..*vectorize.*parallelize\(\"i0\"\)", str(function.default_schedule)
        )
    assert 'unroll("i11", 4)' in str(f.default_schedule)  # four rows beside each other
    for shape in SHAPES:
        a, b, _, v = arrays(shape)
        np.testing.assert_allclose(f(a, b), (a * b).sum(), rtol=1e-12)
        assert g(v) == v.max(initial=-np.inf)
    a, b = (np.random.default_rng(s).random((300, 500)) for s in (0, 1))
    assert f(a, b, threads=1) == f(a, b, threads=2) == f(a, b, threads=7)
