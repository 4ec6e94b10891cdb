"""Dense linear algebra and convolution.

The products share one form. Rows of A are taken in strips and columns of B in panels, which are
copied into contiguous memory and filled up with zeros; the sums of a strip and a panel are a tile
that stays in registers while `k` runs. Where A has no rows left, its last one is read again. So
every tile is a whole one, and only the copy of a tile into C asks where the matrix ends.

All of them allow sums to be reassociated and multiplications fused with additions (`fast_math`), as
libraries of linear algebra do.
"""

from __future__ import annotations

from collections.abc import Callable

import tilewright as tw

from ..language.expressions import DTypeLike
from .machine import Tile, register_tile, vector_bytes

__all__ = [
    "batched_gemm",
    "conv2d_nchw",
    "conv2d_nhwc",
    "gemm",
    "gemm_relu",
    "gemv",
    "syrk",
    "trmm",
]

_Element = Callable[[tw.Expression, tw.Expression], tw.Expression]


def tiled_product(
    a: _Element,
    b: _Element,
    n: tw.Parameter,
    m: tw.Parameter,
    length: tw.Parameter,
    tile: Tile,
    *,
    triangle: str = "",
) -> tw.Computation:
    """Tiles of the sums of a(i, k) * b(k, j): (i, j) is sums[i // rows, j // columns, i % rows, ...].

    `triangle`: "C" leaves out tiles above the diagonal, "A" ends sums at the diagonal of A.
    """
    s, r, p, v, k = tw.iters("s r p v k")
    strips, panels = (n + tile.rows - 1) // tile.rows, (m + tile.columns - 1) // tile.columns
    i, j, end = tile.rows * s + r, tile.columns * p + v, tile.rows * (s + 1)
    right = tw.computation(
        "right", {p: panels, k: length, v: tile.columns}, tw.select(j < m, b(k, j), 0)
    )
    if triangle == "A":  # zeros above the diagonal
        value = tw.select((i < n) & (k <= i), a(i, k), 0)
        left = tw.computation("left", {s: strips, r: tile.rows, k: length}, value)
        product = left[s, r, k] * right[p, k, v]
    else:  # past the last row, that one again
        product = a(tw.minimum(i, n - 1), k) * right[p, k, v]
    return tw.computation(
        "sums",
        {s: strips, p: panels, r: tile.rows, v: tile.columns},
        tw.sum(product, over={k: length}, where=k < end if triangle == "A" else None),
        where=tile.columns * p < end if triangle == "C" else None,
    )


def schedule_product(f: tw.Function, tile: Tile, *, triangle: str = "") -> None:
    """The schedule of a `tiled_product` and of the computation C that reads it."""
    block, group = 8, 4  # strips and panels in a block of C
    right, sums, c = f["right"], f["sums"], f["C"]
    right.split("v", tile.lanes, "vector", "lane").parallelize("p").vectorize("lane")

    # The loops over r, vector and lane are one tile: unrolled, so that its sums are registers. C
    # takes a tile as soon as it is complete. A block reads few rows of A and columns of B often,
    # so they stay in caches.
    sums.split("s", block, "block", "strip").split("v", tile.lanes, "vector", "lane")
    sums.split("p", group, "group", "p")
    c.split("i", block * tile.rows, "block", "row").split("row", tile.rows, "strip", "r")
    c.split("j", group * tile.columns, "group", "v").split("v", tile.columns, "p", "v")
    c.split("v", tile.lanes, "vector", "lane")
    outer = ["block", "group"] if triangle == "C" else ["group", "block"]
    sums.reorder(*outer, "p", "strip", "k", "r", "vector", "lane")
    c.reorder(*outer, "p", "strip", "r", "vector", "lane")
    for part in (sums, c):
        part.unroll("r").unroll("vector").vectorize("lane")
        if triangle == "C":  # blocks of rows take different times
            part.parallelize("block", schedule="dynamic")
        else:
            part.parallelize("group", "block")
    c.after(sums, "strip")
    sums.store_in(f"tile[p, s // {block}, r, v]")


def gemm(dtype: DTypeLike = tw.float32, cpu: str = "native") -> tw.Function:
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


def gemm_relu(dtype: DTypeLike = tw.float32, cpu: str = "native") -> tw.Function:
    """C = max(A @ B + bias, 0); the last steps are taken where a tile is copied out."""
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


def syrk(dtype: DTypeLike = tw.float32, cpu: str = "native") -> tw.Function:
    """The lower triangle of C = A @ A.T; elements above the diagonal are not defined."""
    tile = register_tile(dtype, cpu)
    n, length = tw.params("N K")
    i, j = tw.iters("i j")
    a = tw.input("A", [n, length], dtype)
    sums = tiled_product(
        lambda i, k: a[i, k], lambda k, j: a[j, k], n, n, length, tile, triangle="C"
    )
    element = sums[i // tile.rows, j // tile.columns, i % tile.rows, j % tile.columns]
    c = tw.computation("C", {i: n, j: n}, element, where=j <= i, shape=[n, n])
    f = tw.function("syrk", inputs=[a], outputs=[c], fast_math=True, cpu=cpu)
    schedule_product(f, tile, triangle="C")
    return f


def trmm(dtype: DTypeLike = tw.float32, cpu: str = "native") -> tw.Function:
    """C = L @ B with the lower triangle of a square L; what stands above it is not read."""
    tile = register_tile(dtype, cpu)
    n, m = tw.params("N M")
    i, j = tw.iters("i j")
    a, b = tw.input("L", [n, n], dtype), tw.input("B", [n, m], dtype)
    sums = tiled_product(lambda i, k: a[i, k], lambda k, j: b[k, j], n, m, n, tile, triangle="A")
    element = sums[i // tile.rows, j // tile.columns, i % tile.rows, j % tile.columns]
    c = tw.computation("C", {i: n, j: m}, element)
    f = tw.function("trmm", inputs=[a, b], outputs=[c], fast_math=True, cpu=cpu)
    f["left"].parallelize("s").vectorize("k", tile.lanes)
    schedule_product(f, tile, triangle="A")
    return f


def gemv(dtype: DTypeLike = tw.float32, cpu: str = "native", rows: int = 4) -> tw.Function:
    """The product y = A @ x of a row-major matrix and a vector."""
    n, length = tw.params("N K")
    i, k = tw.iters("i k")
    a, x = tw.input("A", [n, length], dtype), tw.input("x", [length], dtype)
    y = tw.computation("y", {i: n}, tw.sum(a[i, k] * x[k], over={k: length}))
    f = tw.function("gemv", inputs=[a, x], outputs=[y], fast_math=True, cpu=cpu)
    # Each lane has a sum of its own; a vector of x serves several rows.
    y.split(i, rows, "strip", "r").vectorize(k, vector_bytes(cpu) // tw.as_dtype(dtype).itemsize)
    y.reorder("strip", "k0", "r", "k1").unroll("r").parallelize("strip")
    return f


def _part(n: int, most: int) -> int:
    """The largest divisor of n up to `most`, unless that is less than half of what there could be."""
    most = min(n, most)
    divisor = max(part for part in range(1, most + 1) if n % part == 0)
    return divisor if 2 * divisor >= most else most


def batched_gemm(
    n: int = 16, m: int = 16, k: int = 16, dtype: DTypeLike = tw.float32, cpu: str = "native"
) -> tw.Function:
    """C[x] = A[x] @ B[x] for all x: small products of a constant size, which nothing is packed for.

    Args:
        n, m, k: rows of A, columns of B, and the length of the sums.
    """
    # Vectors of equal length, even if that is not a power of two, and tiles of equal size.
    wide = vector_bytes(cpu) == 64
    across = -(-m * tw.as_dtype(dtype).itemsize // vector_bytes(cpu))
    lanes, vectors = -(-m // across), _part(across, 4 if wide else 2)
    rows = _part(n, (24 if wide else 12) // vectors)

    count = tw.param("X")
    x, i, j, l = tw.iters("x i j l")
    a, b = tw.input("A", [count, n, k], dtype), tw.input("B", [count, k, m], dtype)
    c = tw.computation("C", {x: count, i: n, j: m}, tw.sum(a[x, i, l] * b[x, l, j], over={l: k}))
    f = tw.function("batched_gemm", inputs=[a, b], outputs=[c], fast_math=True, cpu=cpu)
    c.split(i, rows, "i0", "r").split(j, vectors * lanes, "j0", "v")
    c.split("v", lanes, "vector", "lane").reorder(x, "j0", "i0", l, "r", "vector", "lane")
    # Of a rest, too, the size is known once its tile is written out.
    if n % rows:
        c.unroll("i0")
    if m > vectors * lanes and m % (vectors * lanes):
        c.unroll("j0")
    c.parallelize(x).unroll("r").unroll("vector").vectorize("lane")
    return f


def conv2d_nhwc(dtype: DTypeLike = tw.float32, cpu: str = "native") -> tw.Function:
    """A 3 x 3 convolution (without padding) of images with channels last.

    Y[b, y, x, o] = sum over dy, dx, c of X[b, y + dy, x + dx, c] * F[dy, dx, c, o]. Neighbours in a
    row are the rows of a product, output channels its columns.
    """
    tile = register_tile(dtype, cpu)
    n, h, w, c, out = tw.params("N H W C O", "H >= 2 and W >= 2")
    b, y, x, o, t, r, p, v = tw.iters("b y x o t r p v")
    dy, dx, ci = tw.iters("dy dx ci")
    image = tw.input("X", [n, h, w, c], dtype)
    filters = tw.input("F", [3, 3, c, out], dtype)
    tiles, panels = (w + tile.rows - 3) // tile.rows, (out + tile.columns - 1) // tile.columns
    channel = tile.columns * p + v
    left = tw.computation(
        "left",
        {b: n, y: h, x: tile.rows * tiles + 2, ci: c},
        tw.select(x < w, image[b, y, x, ci], 0),
    )
    right = tw.computation(
        "right",
        {p: panels, dy: 3, dx: 3, ci: c, v: tile.columns},
        tw.select(channel < out, filters[dy, dx, ci, channel], 0),
    )
    sums = tw.computation(
        "sums",
        {b: n, y: h - 2, t: tiles, p: panels, r: tile.rows, v: tile.columns},
        tw.sum(
            left[b, y + dy, tile.rows * t + r + dx, ci] * right[p, dy, dx, ci, v],
            over=[(dy, 3), (dx, 3), (ci, c)],
        ),
    )
    element = sums[b, y, x // tile.rows, o // tile.columns, x % tile.rows, o % tile.columns]
    result = tw.computation("Y", {b: n, y: h - 2, x: w - 2, o: out}, element)
    f = tw.function(
        "conv2d_nhwc", inputs=[image, filters], outputs=[result], fast_math=True, cpu=cpu
    )
    left.parallelize(b, y).vectorize(ci, tile.lanes)
    right.split(v, tile.lanes, "vector", "lane").parallelize(p, dy).vectorize("lane")
    sums.split(v, tile.lanes, "vector", "lane")
    sums.reorder(b, y, p, t, dy, dx, ci, r, "vector", "lane")
    result.split(x, tile.rows, "t", "r")
    result.split(o, tile.columns, "p", "v").split("v", tile.lanes, "vector", "lane")
    result.reorder(b, y, "p", "t", "r", "vector", "lane")
    for part in (sums, result):
        part.parallelize(b, y).unroll("r").unroll("vector").vectorize("lane")
    result.after(sums, t)
    sums.store_in("tile[b, y, r, v]")
    return f


def conv2d_nchw(
    dtype: DTypeLike = tw.float32, cpu: str = "native", narrow: bool = False
) -> tw.Function:
    """A 3 x 3 convolution (without padding) of images with channels first.

    Y[b, o, y, x] = sum over c, dy, dx of X[b, c, y + dy, x + dx] * F[o, c, dy, dx]. Output channels
    are the rows of a product, neighbours in a row its columns; `narrow` images fill half a tile.
    """
    tile = register_tile(dtype, cpu, narrow)
    n, h, w, c, out = tw.params("N H W C O", "H >= 2 and W >= 2")
    b, y, x, o, t, r, p, v = tw.iters("b y x o t r p v")
    dy, dx, ci = tw.iters("dy dx ci")
    image = tw.input("X", [n, c, h, w], dtype)
    filters = tw.input("F", [out, c, 3, 3], dtype)
    tiles, panels = (out + tile.rows - 1) // tile.rows, (w + tile.columns - 3) // tile.columns
    channel = tile.rows * t + r
    left = tw.computation(
        "left",
        {t: tiles, ci: c, dy: 3, dx: 3, r: tile.rows},
        tw.select(channel < out, filters[channel, ci, dy, dx], 0),
    )
    right = tw.computation(
        "right",
        {b: n, ci: c, y: h, x: tile.columns * panels + 2},
        tw.select(x < w, image[b, ci, y, x], 0),
    )
    sums = tw.computation(
        "sums",
        {b: n, y: h - 2, t: tiles, p: panels, r: tile.rows, v: tile.columns},
        tw.sum(
            left[t, ci, dy, dx, r] * right[b, ci, y + dy, tile.columns * p + v + dx],
            over=[(ci, c), (dy, 3), (dx, 3)],
        ),
    )
    element = sums[b, y, o // tile.rows, x // tile.columns, o % tile.rows, x % tile.columns]
    result = tw.computation("Y", {b: n, o: out, y: h - 2, x: w - 2}, element)
    f = tw.function(
        "conv2d_nchw", inputs=[image, filters], outputs=[result], fast_math=True, cpu=cpu
    )
    left.parallelize(t)
    right.parallelize(b, ci).vectorize(x, tile.lanes)
    sums.split(v, tile.lanes, "vector", "lane")
    sums.reorder(b, y, p, t, ci, dy, dx, r, "vector", "lane")
    result.split(o, tile.rows, "t", "r")
    result.split(x, tile.columns, "p", "v").split("v", tile.lanes, "vector", "lane")
    result.reorder(b, y, "p", "t", "r", "vector", "lane")
    for part in (sums, result):
        part.parallelize(b, y).unroll("r").unroll("vector").vectorize("lane")
    result.after(sums, t)
    sums.store_in("tile[b, y, r, v]")
    return f


_SHOWN = (tiled_product, schedule_product)
