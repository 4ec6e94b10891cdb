"""Data choose which row of a table is read; the elements of a row lie side by side. The default
schedule sums the results along such rows in vectors (planning/tagging.h)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

N, E, D, F, L = tw.params("N E D F L")
n, d, f, k = tw.iters("n d f k")


def runs_along(function: tw.Function, name: str) -> bool:
    """Is the innermost loop of the terms one over `name`, as a vector?"""
    lines = str(function.loops).splitlines()
    return any(line.lstrip().startswith(f"for {name}") and "# vector(16)" in line for line in lines)


def experts() -> tw.Function:
    x = tw.input("x", [N, D], tw.float32)
    w = tw.input("w", [E, D, F], tw.float32)
    chosen = tw.input("chosen", [N], tw.int32)
    terms = tw.sum(x[n, d] * w[chosen[n], d, f], over={d: D})
    return tw.function("experts", outputs=[tw.computation("y", {n: N, f: F}, tw.maximum(terms, 0))])


@pytest.mark.parametrize("sizes", [(0, 1, 3, 4), (1, 1, 1, 1), (9, 3, 17, 50), (33, 4, 70, 130)])
def test_a_matrix_for_each_row(sizes: tuple[int, ...]) -> None:
    count, tables, depth, width = sizes
    rng = np.random.default_rng(0)
    x = rng.random((count, depth)).astype("f")
    w = rng.random((tables, depth, width)).astype("f") - np.float32(0.5)
    chosen = rng.integers(0, tables, count).astype(np.int32)
    function = experts()
    assert runs_along(function, "f")
    expected = np.maximum(np.einsum("nd,ndf->nf", x, w[chosen]), 0)
    np.testing.assert_allclose(function(x=x, w=w, chosen=chosen), expected, rtol=1e-4, atol=1e-5)


def test_a_row_that_does_not_exist() -> None:
    function = experts()
    x, w = np.ones((40, 64), "f"), np.ones((2, 64, 64), "f")
    with pytest.raises(IndexError, match="w"):
        function(x=x, w=w, chosen=np.full(40, 2, np.int32))


@pytest.mark.parametrize("length", [0, 1, 9, 30])
def test_rows_of_a_padded_table(length: int) -> None:
    table = tw.input("table", [E, F], tw.float32)
    words = tw.input("words", [N, L], tw.int32)
    total = tw.sum(table[words[n, k], f], over={k: L}, where=words[n, k] >= 0)
    function = tw.function("bags", outputs=[tw.computation("y", {n: N, f: F}, total)])
    assert runs_along(function, "f")
    rng = np.random.default_rng(1)
    rows = rng.random((11, 45)).astype("f")
    which = rng.integers(-1, 11, (20, length)).astype(np.int32)
    expected = np.where((which >= 0)[..., None], rows[np.maximum(which, 0)], 0).sum(1)
    np.testing.assert_allclose(function(table=rows, words=which), expected, rtol=1e-4)


def test_masked_terms_of_columns() -> None:
    a, keep = tw.input("a", [L, F], tw.float32), tw.input("keep", [L], tw.bool)
    total = tw.sum(a[k, f], over={k: L}, where=keep[k])
    function = tw.function("masked", outputs=[tw.computation("y", {f: F}, total)])
    assert runs_along(function, "f")
    rng = np.random.default_rng(2)
    terms, mask = rng.random((50, 70)).astype("f"), rng.random(50) < 0.5
    np.testing.assert_allclose(function(terms, mask), terms[mask].sum(0), rtol=1e-4)


def test_products_of_gathered_rows() -> None:
    """Here the terms lie side by side: they are the vectors."""
    x, w = tw.input("x", [N, D], tw.float32), tw.input("w", [E, D], tw.float32)
    chosen = tw.input("chosen", [N], tw.int64)
    total = tw.sum(x[n, d] * w[chosen[n], d], over={d: D})
    function = tw.function("scores", outputs=[tw.computation("y", {n: N}, total)])
    assert runs_along(function, "d")
    rng = np.random.default_rng(3)
    a, b, c = rng.random((20, 77)).astype("f"), rng.random((5, 77)).astype("f"), np.arange(20) % 5
    np.testing.assert_allclose(function(a, b, c), (a * b[c]).sum(1), rtol=1e-4)


def test_permuted_product() -> None:
    """Rows of the left operand are chosen: the right one is shared by all rows, and packed."""
    a, b = tw.input("a", [N, D], tw.float32), tw.input("b", [D, F], tw.float32)
    row = tw.input("row", [N], tw.int32)
    total = tw.sum(a[row[n], d] * b[d, f], over={d: D})
    function = tw.function("permuted", outputs=[tw.computation("y", {n: N, f: F}, total)])
    rng = np.random.default_rng(4)
    left, right = rng.random((65, 90)).astype("f"), rng.random((90, 81)).astype("f")
    order = rng.permutation(65).astype(np.int32)
    assert "unroll" in str(function.loops)  # a tile
    np.testing.assert_allclose(function(left, right, order), left[order] @ right, rtol=1e-4)


def test_weights_of_windows() -> None:
    """Weights of one place of the window lie side by side, private to a row of results."""
    H, W = tw.params("H W")
    y, x, r, s = tw.iters("y x r s")
    image = tw.input("image", [H, W], tw.float32)

    def clamped(r: Any, s: Any) -> Any:
        row = tw.minimum(tw.maximum(y + r, 0), H - 1)
        return image[row, tw.minimum(tw.maximum(x + s, 0), W - 1)]

    def weight(r: Any, s: Any) -> Any:
        difference = clamped(r, s) - image[y, x]
        return tw.exp(-0.1 * tw.cast(r * r + s * s, tw.float32) - 5.0 * difference * difference)

    window = {r: (-2, 3), s: (-1, 2)}
    sums = tw.sum(weight(r, s) * clamped(r, s), over=window) / tw.sum(weight(r, s), over=window)
    function = tw.function("bilateral", outputs=[tw.computation("out", {y: H, x: W}, sums)])
    assert "= empty((1, 5, 3, W), float32)" in str(function.loops)
    assert runs_along(function, "x")
    for shape in [(0, 1), (1, 1), (3, 5), (17, 40)]:
        given = np.random.default_rng(5).random(shape).astype("f")
        padded = np.pad(given, ((2, 2), (1, 1)), mode="edge") if given.size else given
        above, below = np.zeros(shape, "f"), np.zeros(shape, "f")
        for dy in range(5 if given.size else 0):
            for dx in range(3):
                near = padded[dy : dy + shape[0], dx : dx + shape[1]]
                distance = np.float32((dy - 2) ** 2 + (dx - 1) ** 2)
                weights = np.exp(-0.1 * distance - 5 * (near - given) ** 2)
                above, below = above + weights * near, below + weights
        np.testing.assert_allclose(
            function(given), above / below if given.size else given, rtol=1e-4
        )
