"""Pipelines of cameras and of photographs: a Bayer mosaic's missing colours, and a bilateral filter by a grid.

Each is declared for tilewright, and written in NumPy; `halide_pipelines` has the same in Halide.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import tilewright as tw

__all__ = [
    "CELL",
    "bilateral",
    "bilateral_edges",
    "bilateral_in_numpy",
    "demosaic",
    "demosaic_in_numpy",
]

Array = npt.NDArray[Any]
H, W = tw.params("H W")
i, j, a, b, z, r, q = tw.iters("i j a b z r q")

#: Pixels along the side of a cell of the grid, levels of brightness, and those in front of the first.
CELL, LEVELS, AHEAD = 8, 10, 2
DEPTH = LEVELS + 1 + 2 * AHEAD + 1
#: Of five neighbours in a blur of the grid.
TAPS = (1.0, 4.0, 6.0, 4.0, 1.0)


# ---- demosaic ----


def demosaic() -> tw.Function:
    """Rows of red and green, then of green and blue; what is missing is the mean of its neighbours."""
    x = tw.input("x", [H, W], tw.float32)
    inner = {i: (1, H - 1), j: (1, W - 1)}
    beside = (x[i, j - 1] + x[i, j + 1]) * 0.5
    above = (x[i - 1, j] + x[i + 1, j]) * 0.5
    cross = (x[i, j - 1] + x[i, j + 1] + x[i - 1, j] + x[i + 1, j]) * 0.25
    corners = (x[i - 1, j - 1] + x[i - 1, j + 1] + x[i + 1, j - 1] + x[i + 1, j + 1]) * 0.25
    even_row, even_column = i % 2 == 0, j % 2 == 0

    def plane(name: str, of_even_row: Any, of_odd_row: Any) -> tw.Computation:
        rows = [tw.select(even_column, *columns) for columns in (of_even_row, of_odd_row)]
        return tw.computation(name, inner, tw.select(even_row, *rows), shape=[H, W])

    red = plane("red", (x[i, j], beside), (above, corners))
    green = plane("green", (cross, x[i, j]), (x[i, j], cross))
    blue = plane("blue", (corners, above), (beside, x[i, j]))
    return tw.function("demosaic", outputs=[red, green, blue], context=[H >= 3, W >= 3])


def demosaic_in_numpy(x: Array) -> Array:
    def part(down: int, right: int) -> Array:
        return x[1 + down : x.shape[0] - 1 + down, 1 + right : x.shape[1] - 1 + right]

    half, quarter = np.float32(0.5), np.float32(0.25)
    beside, above = (part(0, -1) + part(0, 1)) * half, (part(-1, 0) + part(1, 0)) * half
    cross = (part(0, -1) + part(0, 1) + part(-1, 0) + part(1, 0)) * quarter
    corners = (part(-1, -1) + part(-1, 1) + part(1, -1) + part(1, 1)) * quarter
    even_row = np.arange(1, x.shape[0] - 1)[:, None] % 2 == 0
    even_column = np.arange(1, x.shape[1] - 1) % 2 == 0
    own = part(0, 0)
    result = np.zeros((3, *x.shape), x.dtype)
    planes = (
        ((own, beside), (above, corners)),
        ((cross, own), (own, cross)),
        ((corners, above), (beside, own)),
    )
    for plane, (of_even, of_odd) in zip(result, planes, strict=True):
        plane[1:-1, 1:-1] = np.where(
            even_row, np.where(even_column, *of_even), np.where(even_column, *of_odd)
        )
    return result


# ---- bilateral grid ----


def bilateral_edges(size: int) -> tuple[int, int]:
    """The first pixel that is computed along a side of so many, and the one behind the last."""
    return 2 * CELL, CELL * (size // CELL - 3)


def bilateral() -> tw.Function:
    """Brightness, summed up in cells of a coarse grid of places and levels, blurred there, and read between cells."""
    x = tw.input("x", [H, W], tw.float32)
    rows, columns = H // CELL, W // CELL
    pixel = (CELL * a + r, CELL * b + q)
    cells: dict[Any, Any] = {a: rows, b: columns, z: DEPTH}
    level = (x[pixel] * LEVELS + (0.5 + AHEAD)).astype(tw.int32)
    window = {r: CELL, q: CELL}

    def grid(name: str, value: Any) -> tw.Computation:
        return tw.computation(name, cells, tw.sum(value, over=window, where=level == z))

    def blurred(name: str, of: tw.Computation) -> tw.Computation:
        deep: dict[Any, Any] = {a: rows, b: columns, z: (2, DEPTH - 2)}
        wide: dict[Any, Any] = {a: rows, b: (2, columns - 2), z: (2, DEPTH - 2)}
        inner: dict[Any, Any] = {a: (2, rows - 2), b: (2, columns - 2), z: (2, DEPTH - 2)}

        def five(at: Any) -> Any:
            return sum((at(d - 2) * tap for d, tap in enumerate(TAPS[1:], 1)), at(-2) * TAPS[0])

        in_z = tw.computation(f"{name}z", deep, five(lambda d: of[a, b, z + d]))
        in_x = tw.computation(f"{name}x", wide, five(lambda d: in_z[a, b + d, z]))
        return tw.computation(f"{name}y", inner, five(lambda d: in_x[a + d, b, z]))

    sums, counts = (
        blurred("sum", grid("sums", x[pixel])),
        blurred("count", grid("counts", np.float32(1))),
    )
    at = x[i, j] * LEVELS + AHEAD
    base = tw.minimum(tw.maximum(at.astype(tw.int32), AHEAD), AHEAD + LEVELS)
    part = at - base.astype(tw.float32)
    down, right = ((each % CELL).astype(tw.float32) * (1 / CELL) for each in (i, j))

    def mixed(one: Any, other: Any, share: Any) -> Any:
        return one + (other - one) * share

    def between(of: tw.Computation) -> Any:
        def along_z(y: Any, x: Any) -> Any:
            return mixed(of[y, x, base], of[y, x, base + 1], part)

        def along_x(y: Any) -> Any:
            return mixed(along_z(y, j // CELL), along_z(y, j // CELL + 1), right)

        return mixed(along_x(i // CELL), along_x(i // CELL + 1), down)

    inside = {
        i: (2 * CELL, CELL * (rows - 3)),
        j: (2 * CELL, CELL * (columns - 3)),
    }
    smooth = tw.computation("smooth", inside, between(sums) / between(counts), shape=[H, W])
    return tw.function("bilateral", outputs=[smooth], context=[H >= 6 * CELL, W >= 6 * CELL])


def bilateral_in_numpy(x: Array) -> Array:
    rows, columns = (size // CELL for size in x.shape)
    level = (x * np.float32(LEVELS) + np.float32(0.5 + AHEAD)).astype(np.int32)
    places: Array = np.indices(x.shape)
    y, x_ = list(places // CELL)
    grids = np.zeros((2, rows, columns, DEPTH), np.float32)
    for grid, values in zip(grids, (x, np.ones_like(x)), strict=True):
        np.add.at(grid, (y, x_, level), values)
    for axis in (3, 2, 1):
        size = grids.shape[axis]
        grids = np.asarray(
            sum(np.take(grids, range(d, size - 4 + d), axis) * np.float32(tap)
                for d, tap in enumerate(TAPS))
        )  # fmt: skip
    at = x * np.float32(LEVELS) + np.float32(AHEAD)
    base: Array = np.clip(at.astype(np.int32), AHEAD, AHEAD + LEVELS)
    part = np.asarray(at - base)
    down, right = (index % CELL / np.float32(CELL) for index in list(places))
    (top, bottom), (left, end) = (bilateral_edges(size) for size in x.shape)
    inside = (slice(top, bottom), slice(left, end))
    y, x_, level = y[inside] - 2, x_[inside] - 2, base[inside] - 2
    part, down, right = part[inside], down[inside], right[inside]

    def mixed(one: Array, other: Array, share: Array) -> Array:
        return np.asarray(one + (other - one) * share)

    def between(grid: Array) -> Array:
        along = [
            mixed(
                mixed(grid[y + dy, x_, level], grid[y + dy, x_, level + 1], part),
                mixed(grid[y + dy, x_ + 1, level], grid[y + dy, x_ + 1, level + 1], part),
                right,
            )
            for dy in (0, 1)
        ]
        return mixed(along[0], along[1], down)

    result = np.zeros_like(x)
    result[inside] = between(grids[0]) / between(grids[1])
    return result
