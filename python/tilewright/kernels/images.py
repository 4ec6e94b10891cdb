"""Image kernels: stencils and point-wise stages on interleaved 8-bit and float32 images.

An image of `channels` interleaved channels is passed as a matrix, one row of pixels in a row of the
matrix: ``f(image.reshape(rows, -1))``, a view. Horizontal neighbours then lie `channels` elements
apart, and all channels are computed alike, in contiguous vectors. Stencils compute the part where
all neighbours exist: results have fewer rows and columns.

8-bit kernels use 8- and 16-bit integers throughout, since the number of lanes decides their speed;
each says how it rounds.
"""

from __future__ import annotations

from typing import Any

import tilewright as tw

from ..language.expressions import DType, Expression
from .machine import vector_bytes

__all__ = [
    "blur3x3",
    "edge_detector",
    "gaussian7x7",
    "negative_brighten",
    "rgb_to_gray",
    "warp_affine",
]

# The weights of a gaussian of 7 points with the usual standard deviation (1.4), in 256ths.
GAUSSIAN = (8, 28, 56, 72, 56, 28, 8)


def _wide(value: Expression, dtype: DType) -> Expression:
    """What sums are made in: 16 bits for 8-bit pixels."""
    return tw.cast(value, tw.uint16) if dtype == tw.uint8 else value


def _checked(dtype: Any) -> DType:
    found = tw.as_dtype(dtype)
    if found not in (tw.uint8, tw.float32):
        raise tw.ArgumentTypeError(f"image kernels take uint8 or float32, not {found}")
    return found


def blur3x3(dtype: Any = tw.uint8, channels: int = 3, cpu: str = "native") -> tw.Function:
    """The mean of 3 x 3 pixels: ``blurred[i, j]`` is the mean around pixel ``[i + 1, j + 1]``.

    uint8 means are rounded to the nearest integer.

    Args:
        dtype: uint8 or float32.
        channels: interleaved channels; the matrix has ``channels * columns`` columns.
        cpu: the processor whose vectors it takes.

    Returns:
        ``blur(image[N, M]) -> blurred[N - 2, M - 2 * channels]``.
    """
    dtype = _checked(dtype)
    n, m = tw.params("N M", f"N >= 3 and M >= {3 * channels}")
    i, j = tw.iters("i j")
    image = tw.input("image", [n, m], dtype)
    pixels = [_wide(image[i, j + k * channels], dtype) for k in range(3)]
    across = tw.computation(
        "across", {i: n, j: m - 2 * channels}, pixels[0] + pixels[1] + pixels[2]
    )
    total = across[i, j] + across[i + 1, j] + across[i + 2, j]
    mean = tw.cast((total + 4) // 9, tw.uint8) if dtype == tw.uint8 else total * (1 / 9)
    blurred = tw.computation("blurred", {i: n - 2, j: m - 2 * channels}, mean)
    function = tw.function("blur", outputs=[blurred], cpu=cpu)

    # Twelve or eight rows at a time: of the row sums that they need, two more, each is computed once
    # and stays in a register. Nothing is stored but the result.
    across.inline()
    rows, lanes = (12, vector_bytes(cpu)) if dtype == tw.uint8 else (8, vector_bytes(cpu) // 4)
    blurred.tile(i, j, rows, lanes).parallelize("i0").unroll("i1").vectorize("j1")
    # So many rows side by side are more than the processor foresees: they are asked for ahead.
    blurred.prefetch(image, "j0", 6 if dtype == tw.uint8 else 96 // lanes)
    if dtype == tw.float32:
        # Large results go past the caches; rows of bytes are not aligned for it.
        blurred.stream()
    return function


def gaussian7x7(dtype: Any = tw.uint8, channels: int = 3, cpu: str = "native") -> tw.Function:
    """A gaussian blur of 7 x 7 pixels, the weights of `GAUSSIAN` along rows and then columns.

    In uint8, both steps round to the nearest integer; exact sums rounded once differ by at most 1.

    Args:
        dtype: uint8 or float32.
        channels: interleaved channels; the matrix has ``channels * columns`` columns.
        cpu: the processor whose vectors it takes.

    Returns:
        ``gaussian(image[N, M]) -> smooth[N - 6, M - 6 * channels]``.
    """
    dtype = _checked(dtype)
    n, m = tw.params("N M", f"N >= 7 and M >= {7 * channels}")
    i, j = tw.iters("i j")
    image = tw.input("image", [n, m], dtype)

    def weighted(pixel: Any) -> Expression:
        p = [_wide(pixel(k), dtype) for k in range(7)]
        unit = 1 if dtype == tw.uint8 else 1 / 256
        w = [weight * unit for weight in GAUSSIAN]
        total = (p[0] + p[6]) * w[0] + (p[1] + p[5]) * w[1] + (p[2] + p[4]) * w[2] + p[3] * w[3]
        return tw.cast((total + 128) >> 8, tw.uint8) if dtype == tw.uint8 else total

    across = weighted(lambda k: image[i, j + k * channels])
    rows = tw.computation("rows", {i: n, j: m - 6 * channels}, across)
    down = weighted(lambda k: rows[i + k, j])
    smooth = tw.computation("smooth", {i: n - 6, j: m - 6 * channels}, down)
    function = tw.function("gaussian", outputs=[smooth], fast_math=True, cpu=cpu)

    if dtype == tw.uint8:
        # Strips of 64 rows: the rows smoothed along themselves that one needs, six more, stay in
        # the cache, and are smoothed down in register tiles of sixteen rows.
        smooth.split(i, 64).tile("i1", j, 16, 32, "i2", "j2", "i3", "j3")
        smooth.parallelize("i0").unroll("i3").vectorize("j3")
        rows.compute_at(smooth, "i0").store_at(smooth, "i0").vectorize(j, 32)
    else:
        # Twelve rows at a time: of the eighteen smoothed ones that they need, each is computed once
        # and stays in a register, which is more work than strips, but less traffic.
        rows.inline()
        smooth.tile(i, j, 12, vector_bytes(cpu) // 4).parallelize("i0").unroll("i1").vectorize("j1")
        # So many rows side by side are asked for ahead.
        smooth.prefetch(image, "j0", 8)
    return function


def rgb_to_gray() -> tw.Function:
    """The brightness of RGB pixels, ``0.299 R + 0.587 G + 0.114 B`` in 256ths, rounded.

    Returns:
        ``gray(image[N, 3 * M]) -> brightness[N, M]``, uint8.
    """
    n, m = tw.params("N M")
    i, j = tw.iters("i j")
    image = tw.input("image", [n, 3 * m], tw.uint8)
    red, green, blue = (tw.cast(image[i, 3 * j + c], tw.uint16) for c in range(3))
    total = red * 77 + green * 150 + blue * 29 + 128  # at most 65408: 16 bits are enough
    brightness = tw.computation("brightness", {i: n, j: m}, tw.cast(total >> 8, tw.uint8))
    function = tw.function("gray", outputs=[brightness])

    # Pixels are asked for ahead, and a large result goes past the caches.
    brightness.parallelize(i).vectorize(j, 32).prefetch(image, "j0", 48).stream()
    return function


def warp_affine(dtype: Any = tw.float32) -> tw.Function:
    """An affine map of an image of one channel, with bilinear weights.

    ``warped[i, j]`` is the image at row ``y = m[1, 0] * j + m[1, 1] * i + m[1, 2]`` and column
    ``x = m[0, 0] * j + m[0, 1] * i + m[0, 2]``, the nearest pixel of the border where that is
    outside (OpenCV's ``WARP_INVERSE_MAP`` with ``BORDER_REPLICATE``).

    Args:
        dtype: of the image, uint8 (rounded to the nearest integer) or float32.

    Returns:
        ``warp(image[N, M], matrix: float32[2, 3]) -> warped[N, M]``, for images of at least two
        rows and columns.
    """
    dtype = _checked(dtype)
    n, m = tw.params("N M", "N >= 2 and M >= 2")
    i, j = tw.iters("i j")
    image = tw.input("image", [n, m], dtype)
    matrix = tw.input("matrix", [2, 3], tw.float32)
    row, column = tw.cast(i, tw.float32), tw.cast(tw.cast(j, tw.int32), tw.float32)

    def source(k: int, size: Any) -> tuple[Expression, Expression]:
        """A coordinate in the image: the pixel before it, and how far it is on to the next."""
        exact = matrix[k, 0] * column + matrix[k, 1] * row + matrix[k, 2]
        inside = tw.clamp(exact, 0.0, tw.cast(size - 1, tw.float32))
        before = tw.clamp(tw.cast(inside, tw.int32), 0, size - 2)
        return before, inside - tw.cast(before, tw.float32)

    x, right = source(0, m)
    y, down = source(1, n)

    def mixed(y: Expression) -> Expression:
        first, second = (tw.cast(image[y, x + k], tw.float32) for k in range(2))
        return first + right * (second - first)

    upper, lower = mixed(y), mixed(y + 1)
    value = upper + down * (lower - upper)
    if dtype == tw.uint8:
        value = tw.cast(value + 0.5, tw.uint8)
    warped = tw.computation("warped", {i: n, j: m}, value)
    function = tw.function("warp", inputs=[image, matrix], outputs=[warped])

    warped.parallelize(i).vectorize(j, 16)
    return function


def edge_detector(channels: int = 3, block: int = 64) -> tw.Function:
    """Edges of a uint8 image, in its own memory: a ring blur, then Roberts' operator.

    The ring blur is the mean of the eight neighbours (rounded down); the edges are
    ``|ring[i, j] - ring[i + 1, j + 1]| + |ring[i + 1, j] - ring[i, j + 1]|``, at most 255. The last
    three rows and columns of pixels keep their values. Source: Baghdadi et al., Tiramisu (CGO
    2019), benchmark edgeDetector.

    Args:
        channels: interleaved channels; the matrix has ``channels * columns`` columns.
        block: rows that one thread takes.

    Returns:
        ``edge(image: inout[N, M]) -> edges[N, M] in image``.
    """
    n, m = tw.params("N M", f"N >= 4 and M >= {4 * channels}")
    i, j = tw.iters("i j")
    image = tw.input("image", [n, m], tw.uint8)
    around = [(y, x) for y in range(3) for x in range(3) if (y, x) != (1, 1)]
    first, *others = (tw.cast(image[i + y, j + x * channels], tw.uint16) for y, x in around)
    mean = tw.cast(sum(others, first) >> 3, tw.uint8)
    ring = tw.computation("ring", {i: n - 2, j: m - 2 * channels}, mean)

    def distance(a: Expression, b: Expression) -> Expression:
        return tw.maximum(a, b) - tw.minimum(a, b)

    falling = distance(ring[i, j], ring[i + 1, j + channels])
    rising = distance(ring[i + 1, j], ring[i, j + channels])
    strength = falling + tw.minimum(rising, 255 - falling)
    inner = (i < n - 3) & (j < m - 3 * channels)
    edges = tw.computation("edges", {i: n, j: m}, [(inner, strength)])
    function = tw.function("edge", outputs=[edges])

    # Each thread takes blocks of rows and overwrites a row as soon as the ring blurs that need it
    # are there. The three rows of ring blurs around a seam of two blocks come first, since they
    # read what another thread overwrites.
    seam, within = f"(i + 2) mod {block} < 3", f"(i + 2) mod {block} >= 3"
    ring.set_schedule(
        f"{{ ring[i,j] -> [0, floor((i + 2)/{block}), i, 0, j] : {seam};"
        f"   ring[i,j] -> [1, floor((i + 2)/{block}), i, 0, j] : {within} }}"
    )
    edges.set_schedule(f"{{ edges[i,j] -> [1, floor(i/{block}), i + 1, 1, j] }}")
    edges.store_in(image[i, j])
    for step in (ring, edges):
        step.parallelize("t1").vectorize(j, 64)
    ring.prefetch(image, "j0", 32)
    return function


def negative_brighten() -> tw.Function:
    """Four point-wise stages of a uint8 image with two results: the negative of the brightened
    image, and the brightened negative.

    Brightening multiplies by 1.5 (rounded down), at most 255. Source: Baghdadi et al., Tiramisu
    (CGO 2019), benchmark nb.

    Returns:
        ``nb(image[N, M]) -> (dark[N, M], light[N, M])``; any number of interleaved channels.
    """
    n, m = tw.params("N M")
    i, j = tw.iters("i j")
    image = tw.input("image", [n, m], tw.uint8)

    def brighter(value: Expression) -> Expression:
        return value + tw.minimum(value >> 1, 255 - value)

    bright = tw.computation("bright", {i: n, j: m}, brighter(image[i, j]))
    dark = tw.computation("dark", {i: n, j: m}, 255 - bright[i, j])
    negative = tw.computation("negative", {i: n, j: m}, 255 - image[i, j])
    light = tw.computation("light", {i: n, j: m}, brighter(negative[i, j]))
    function = tw.function("nb", outputs=[dark, light])

    # All four stages in one loop: the image is read once. Large results go past the caches.
    bright.inline()
    negative.inline()
    for step in (dark, light):
        step.parallelize(i).vectorize(j, 64).prefetch(image, "j0", 24).stream()
    light.after(dark, "j0")
    return function
