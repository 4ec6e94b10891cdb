"""The pipelines of images as Halide algorithms, each under a schedule that one of Halide's autoschedulers finds.

The PyPI package `halide` ships three of them as plugins. An autoscheduler is told the sizes of this image and the
number of threads; it plans when a kernel is made, outside of what is timed.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import peers
from camera_pipelines import AHEAD, CELL, LEVELS, TAPS, bilateral_edges
from harness import Missing
from local_laplacian import DETAIL, EDGE, SCALES, SHADES, WIDTH

__all__ = ["AUTOSCHEDULERS", "kernel"]

Array = npt.NDArray[Any]

AUTOSCHEDULERS = ("Mullapudi2016", "Li2018", "Adams2019")


def _sum(values: list[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def _harris(hl: Any, image: Any, x: Any, y: Any) -> tuple[Any, int]:
    def func(name: str, value: Any) -> Any:
        made = hl.Func(name)
        made[x, y] = value
        return made

    weights = {b: hl.f32((2 - abs(b)) / 12) for b in (-1, 0, 1)}
    gy = func(
        "gy", _sum([(image[x + b, y + 1] - image[x + b, y - 1]) * weights[b] for b in weights])
    )
    gx = func(
        "gx", _sum([(image[x + 1, y + a] - image[x - 1, y + a]) * weights[a] for a in weights])
    )

    def box(name: str, one: Any, other: Any) -> Any:
        product = func(f"{name}p", one[x, y] * other[x, y])
        around = [product[x + b, y + a] for a in (-1, 0, 1) for b in (-1, 0, 1)]
        return func(name, _sum(around))

    xx, yy, xy = box("xx", gx, gx), box("yy", gy, gy), box("xy", gx, gy)
    trace = func("trace", xx[x, y] + yy[x, y])
    determinant = func("det", xx[x, y] * yy[x, y] - xy[x, y] * xy[x, y])
    value = determinant[x, y] - trace[x, y] * trace[x, y] * hl.f32(0.04)
    return func("corners", value), 2


def _unsharp(hl: Any, image: Any, place: list[Any]) -> tuple[Any, int]:
    """`place` is x, y, after the channel if there are channels."""
    *channel, x, y = place
    weights = [hl.f32(weight / 16) for weight in (1, 4, 6, 4, 1)]
    rows, blur, sharp = hl.Func("rows"), hl.Func("blur"), hl.Func("sharp")
    rows[place] = _sum([image[[*channel, x + d - 2, y]] * weights[d] for d in range(5)])
    blur[place] = _sum([rows[[*channel, x, y + d - 2]] * weights[d] for d in range(5)])
    sharp[place] = image[place] * hl.f32(2.5) - blur[place] * hl.f32(1.5)
    return sharp, 2


def _blurs(hl: Any, image: Any, x: Any, y: Any) -> tuple[Any, int]:
    stages = 6
    for number in range(1, stages + 1):
        stage = hl.Func(f"blur{number}")
        around = [image[x, y - 1], image[x, y + 1], image[x - 1, y], image[x + 1, y], image[x, y]]
        stage[x, y] = _sum(around) * hl.f32(0.2)
        image = stage
    return image, stages


def _demosaic(hl: Any, image: Any, x: Any, y: Any) -> Any:
    c = hl.Var("c")
    half, quarter = hl.f32(0.5), hl.f32(0.25)
    beside = (image[x - 1, y] + image[x + 1, y]) * half
    above = (image[x, y - 1] + image[x, y + 1]) * half
    cross = _sum([image[x - 1, y], image[x + 1, y], image[x, y - 1], image[x, y + 1]]) * quarter
    corners = _sum([image[x + b, y + a] for a in (-1, 1) for b in (-1, 1)]) * quarter
    own = image[x, y]

    def plane(of_even_row: tuple[Any, Any], of_odd_row: tuple[Any, Any]) -> Any:
        rows = [hl.select(x % 2 == 0, *columns) for columns in (of_even_row, of_odd_row)]
        return hl.select(y % 2 == 0, *rows)

    red = plane((own, beside), (above, corners))
    green = plane((cross, own), (own, cross))
    blue = plane((corners, above), (beside, own))
    made = hl.Func("demosaic")
    made[x, y, c] = hl.mux(c, [red, green, blue])
    return made


def _bilateral(hl: Any, image: Any, x: Any, y: Any) -> Any:
    z, c = hl.Var("z"), hl.Var("c")
    cell = hl.RDom([(0, CELL), (0, CELL)])
    value = image[x * CELL + cell[0], y * CELL + cell[1]]
    level = hl.cast(hl.Int(32), value * hl.f32(LEVELS) + hl.f32(0.5 + AHEAD))
    grid = hl.Func("grid")
    grid[x, y, z, c] = hl.f32(0)
    grid[x, y, hl.clamp(level, AHEAD, AHEAD + LEVELS), c] += hl.select(c == 0, value, hl.f32(1))

    def blurred(name: str, at: Any) -> Any:
        made = hl.Func(name)
        made[x, y, z, c] = _sum([at(d - 2) * hl.f32(tap) for d, tap in enumerate(TAPS)])
        return made

    in_z = blurred("blurz", lambda d: grid[x, y, z + d, c])
    in_x = blurred("blurx", lambda d: in_z[x + d, y, z, c])
    in_y = blurred("blury", lambda d: in_x[x, y + d, z, c])
    at = image[x, y] * hl.f32(LEVELS) + hl.f32(AHEAD)
    base = hl.clamp(hl.cast(hl.Int(32), at), AHEAD, AHEAD + LEVELS)
    down, right = (hl.cast(hl.Float(32), v % CELL) * hl.f32(1 / CELL) for v in (y, x))

    def mixed(one: Any, other: Any, share: Any) -> Any:
        return one + (other - one) * share

    def along_z(column: Any, row: Any) -> Any:
        return mixed(in_y[column, row, base, c], in_y[column, row, base + 1, c], at - base)

    def along_x(row: Any) -> Any:
        return mixed(along_z(x // CELL, row), along_z(x // CELL + 1, row), right)

    read = hl.Func("read")
    read[x, y, c] = mixed(along_x(y // CELL), along_x(y // CELL + 1), down)
    smooth = hl.Func("smooth")
    smooth[x, y] = read[x, y, 0] / read[x, y, 1]
    return smooth


def _local_laplacian(hl: Any, image: Any, place: list[Any], shape: tuple[int, ...]) -> Any:
    x, y = place
    k = hl.Var("k")
    heights, widths = ([size // 2**scale for scale in range(SCALES)] for size in shape)

    def func(name: str, at: list[Any], value: Any) -> Any:
        made = hl.Func(name)
        made[at] = value
        return made

    def four(at: Any, place: Any, size: int) -> Any:
        before, behind = hl.max(2 * place - 1, 0), hl.min(2 * place + 2, size - 1)
        inner = (at(2 * place) + at(2 * place + 1)) * hl.f32(3)
        return (at(before) + at(behind) + inner) * hl.f32(0.125)

    def finer(at: Any, place: Any, size: int) -> Any:
        near = hl.min(place / 2, size - 1)
        far = hl.clamp(place / 2 - 1 + 2 * (place % 2), 0, size - 1)
        return at(near) * hl.f32(0.75) + at(far) * hl.f32(0.25)

    def pyramid(name: str, first: Any, shade: list[Any]) -> list[Any]:
        at_scale, scales = [x, y, *shade], [first]
        for s in range(1, SCALES):
            last = scales[-1]
            value = four(lambda at, of=last: of[[at, y, *shade]], x, widths[s - 1])
            half = func(f"{name}across{s}", at_scale, value)
            value = four(lambda at, of=half: of[[x, at, *shade]], y, heights[s - 1])
            scales.append(func(f"{name}{s}", at_scale, value))
        return scales

    def enlarged(name: str, of: Any, scale: int, shade: list[Any]) -> Any:
        value = finer(lambda at: of[[at, y, *shade]], x, widths[scale + 1])
        wide = func(name, [x, y, *shade], value)
        return finer(lambda at: wide[[x, at, *shade]], y, heights[scale + 1])

    shade = hl.cast(hl.Float(32), k) * hl.f32(1 / (SHADES - 1))
    apart = image[x, y] - shade
    bump = hl.exp(apart * apart * hl.f32(-WIDTH)) * hl.f32(DETAIL)
    remapped = func("shaded0", [x, y, k], shade + apart * hl.f32(EDGE) + apart * bump)
    images = pyramid("image", func("image0", [x, y], image[x, y]), [])
    details = pyramid("shaded", remapped, [k])
    for s in range(SCALES - 1):
        coarse = enlarged(f"wide{s}", details[s + 1], s, [k])
        details[s] = func(f"detail{s}", [x, y, k], details[s][x, y, k] - coarse)
    result: Any = None
    for s in reversed(range(SCALES)):
        at = images[s][x, y] * hl.f32(SHADES - 1)
        below = hl.clamp(hl.cast(hl.Int(32), at), 0, SHADES - 2)
        part = at - below
        own = details[s][x, y, below] * (1 - part) + details[s][x, y, below + 1] * part
        if result is not None:
            own = own + enlarged(f"larger{s}", result, s, [])
        result = func(f"result{s}", [x, y], own)
    return result


def _algorithm(hl: Any, name: str, source: Any, image: Array) -> tuple[Any, Array, Any]:
    """The function, an array for its result, and the part of the array that is computed."""
    place = [hl.Var(each) for each in "cxy"[3 - image.ndim :]]
    if name == "demosaic":
        planes = np.zeros((3, *image.shape), image.dtype)
        return _demosaic(hl, source, *place), planes, np.s_[:, 1:-1, 1:-1]
    if name == "bilateral grid":
        (top, bottom), (left, end) = (bilateral_edges(size) for size in image.shape)
        part = np.s_[top:bottom, left:end]
        return _bilateral(hl, source, *place), np.zeros_like(image), part
    if name == "local Laplacian":
        func = _local_laplacian(hl, source, place, image.shape)
        return func, np.zeros_like(image), np.s_[:, :]
    if name == "Harris":
        func, edge = _harris(hl, source, *place)
    elif name == "six blurs":
        func, edge = _blurs(hl, source, *place)
    else:
        func, edge = _unsharp(hl, source, place)
    return func, np.zeros_like(image), np.s_[edge:-edge, edge:-edge]


def kernel(
    name: str, autoscheduler: str, image: Array, threads: int
) -> Callable[[], Array] | Missing:
    """What runs a pipeline on this image; the border that stages do not compute stays zero.

    Args:
        name: "Harris", "unsharp", "unsharp, 3 channels", "six blurs", "demosaic", "bilateral grid"
            or "local Laplacian".
        autoscheduler: of `AUTOSCHEDULERS`.
        image: float32, rows by columns, with interleaved channels or none.
        threads: for which it plans.
    """
    hl = peers.module("halide")
    if isinstance(hl, Missing):
        return hl
    try:
        run = _planned(hl, name, autoscheduler, image, threads)
        run()  # Some plans read beyond the image at some sizes, which Halide says at the first call.
        return run
    except (RuntimeError, hl.HalideError) as error:
        return Missing(f"{autoscheduler}: {error}"[:200])


def _planned(
    hl: Any, name: str, autoscheduler: str, image: Array, threads: int
) -> Callable[[], Array]:
    (plugin,) = pathlib.Path(hl.__file__).parent.glob(
        f"lib*/libautoschedule_{autoscheduler.lower()}.*"
    )
    hl.load_plugin(str(plugin))
    source = hl.ImageParam(hl.Float(32), image.ndim)
    func, result, part = _algorithm(hl, name, source, image)
    inner = hl.Buffer(result[part])
    extents = list(reversed(result[part].shape))
    parts = [*part, *([slice(0, None)] * (result.ndim - len(part)))]
    first = [each.start or 0 for each in reversed(parts)]
    inner.set_min(first)
    for dimension, extent in enumerate(reversed(image.shape)):
        source.dim(dimension).set_estimate(0, extent)
    for dimension, extent in enumerate(extents):
        func.output_buffer().dim(dimension).set_estimate(first[dimension], extent)
    source.set(hl.Buffer(image))
    pipeline = hl.Pipeline(func)
    target = hl.get_jit_target_from_environment()
    parameters = hl.AutoschedulerParams(autoscheduler, {"parallelism": str(threads)})
    pipeline.apply_autoscheduler(target, parameters)
    pipeline.compile_jit(target)

    def run() -> Array:
        pipeline.realize(inner)
        return result

    return run
