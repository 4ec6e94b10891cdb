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
from harness import Missing

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


def kernel(
    name: str, autoscheduler: str, image: Array, threads: int
) -> Callable[[], Array] | Missing:
    """What runs a pipeline on this image; the border that stages do not compute stays zero.

    Args:
        name: "Harris", "unsharp", "unsharp, 3 channels" or "six blurs".
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
    place = [hl.Var(each) for each in "cxy"[3 - image.ndim :]]
    if name == "Harris":
        func, edge = _harris(hl, source, *place)
    elif name == "six blurs":
        func, edge = _blurs(hl, source, *place)
    else:
        func, edge = _unsharp(hl, source, place)
    result = np.zeros_like(image)
    inner = hl.Buffer(result[edge:-edge, edge:-edge])
    first = [*([0] * (image.ndim - 2)), edge, edge]
    inner.set_min(first)
    extents = list(reversed(image.shape))
    for dimension, extent in enumerate(extents):
        source.dim(dimension).set_estimate(0, extent)
        func.output_buffer().dim(dimension).set_estimate(
            first[dimension], extent - 2 * first[dimension]
        )
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
