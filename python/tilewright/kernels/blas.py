"""Dense linear algebra.

The products share one form. Rows of A are taken in strips and columns of B in panels, both copied
into contiguous memory and filled up with zeros; the sums of a strip and a panel are a tile that
stays in registers while `k` runs. So every tile is a whole one, and only the copy of a tile into C
asks where the matrix ends.
"""

from __future__ import annotations

from collections.abc import Callable

import tilewright as tw

from .machine import Tile, register_tile

__all__ = ["gemm", "gemm_relu"]

_Element = Callable[[tw.Expression, tw.Expression], tw.Expression]


def tiled_product(
    a: _Element, b: _Element, n: tw.Parameter, m: tw.Parameter, length: tw.Parameter, tile: Tile
) -> tw.Computation:
    """Tiles of the sums of a(i, k) * b(k, j): element (i, j) is sums[i // rows, j // columns, ...]."""
    s, r, p, v, k = tw.iters("s r p v k")
    strips, panels = (n + tile.rows - 1) // tile.rows, (m + tile.columns - 1) // tile.columns
    i, j = tile.rows * s + r, tile.columns * p + v
    left = tw.computation(
        "left", {s: strips, r: tile.rows, k: length}, tw.select(i < n, a(i, k), 0)
    )
    right = tw.computation(
        "right", {p: panels, k: length, v: tile.columns}, tw.select(j < m, b(k, j), 0)
    )
    return tw.computation(
        "sums",
        {s: strips, p: panels, r: tile.rows, v: tile.columns},
        tw.sum(left[s, r, k] * right[p, k, v], over={k: length}),
    )


def schedule_product(f: tw.Function, tile: Tile, block: int = 16) -> None:
    """The schedule of a `tiled_product` and of the computation C that reads it."""
    left, right, sums, c = f["left"], f["right"], f["sums"], f["C"]
    left.parallelize("s").vectorize("k", tile.lanes)
    right.split("v", tile.lanes, "vector", "lane").parallelize("p").vectorize("lane")

    # A panel of B stays in the second-level cache for `block` strips of A. The loops over r, vector
    # and lane are one tile: unrolled, so that its sums are registers.
    sums.split("s", block, "block", "strip").split("v", tile.lanes, "vector", "lane")
    sums.reorder("p", "block", "strip", "k", "r", "vector", "lane")
    sums.parallelize("p", "block").unroll("r").unroll("vector").vectorize("lane")

    # C takes a tile as soon as it is complete.
    c.split("i", block * tile.rows, "block", "row").split("row", tile.rows, "strip", "r")
    c.split("j", tile.columns, "p", "v").split("v", tile.lanes, "vector", "lane")
    c.reorder("p", "block", "strip", "r", "vector", "lane")
    c.parallelize("p", "block").unroll("r").unroll("vector").vectorize("lane")
    c.after(sums, "strip")
    sums.store_in(f"tile[p, s // {block}, r, v]")


def gemm(dtype: tw.DType = tw.float32, cpu: str = "native") -> tw.Function:
    """The matrix product C = A @ B of any sizes."""
    tile = register_tile(dtype, cpu)
    n, m, length = tw.params("N M K")
    i, j = tw.iters("i j")
    a, b = tw.input("A", [n, length], dtype), tw.input("B", [length, m], dtype)
    sums = tiled_product(lambda i, k: a[i, k], lambda k, j: b[k, j], n, m, length, tile)
    element = sums[i // tile.rows, j // tile.columns, i % tile.rows, j % tile.columns]
    c = tw.computation("C", {i: n, j: m}, element)
    f = tw.function("gemm", inputs=[a, b], outputs=[c], fast_math=True, cpu=cpu)
    schedule_product(f, tile)
    return f


def gemm_relu(dtype: tw.DType = tw.float32, cpu: str = "native") -> tw.Function:
    """C = max(A @ B + bias, 0), the last steps of which are taken where a tile is copied out."""
    tile = register_tile(dtype, cpu)
    n, m, length = tw.params("N M K")
    i, j = tw.iters("i j")
    a, b = tw.input("A", [n, length], dtype), tw.input("B", [length, m], dtype)
    bias = tw.input("bias", [m], dtype)
    sums = tiled_product(lambda i, k: a[i, k], lambda k, j: b[k, j], n, m, length, tile)
    element = sums[i // tile.rows, j // tile.columns, i % tile.rows, j % tile.columns]
    c = tw.computation("C", {i: n, j: m}, tw.maximum(element + bias[j], 0))
    f = tw.function("gemm_relu", inputs=[a, b, bias], outputs=[c], fast_math=True, cpu=cpu)
    schedule_product(f, tile)
    return f


_SHOWN = (tiled_product, schedule_product)
