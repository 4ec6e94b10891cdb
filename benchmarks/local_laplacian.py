"""A local Laplacian filter (after Paris, Hasinoff and Kautz, 2011): the details of a photograph are made stronger at
each scale, its edges are not.

The image is remapped around some levels of brightness, each of these images becomes a pyramid of what one scale adds to
the next coarser one, and each pixel of the result's pyramid is read between the two levels that are next to its own
brightness. Declared for tilewright, and written in NumPy; `halide_pipelines` has the same in Halide. Pixels beyond an
edge are those at the edge, at every scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import tilewright as tw

__all__ = [
    "DETAIL",
    "EDGE",
    "SCALES",
    "SHADES",
    "WIDTH",
    "local_laplacian",
    "local_laplacian_in_numpy",
]

Array = npt.NDArray[Any]
#: Scales of a pyramid, and levels of brightness that it is remapped around.
SCALES, SHADES = 3, 6
H, W = tw.params("H W", minimum=2 ** (SCALES - 1))
i, j, k = tw.iters("i j k")

#: How much of an edge stays, how much stronger details become, and what counts as a detail.
EDGE, DETAIL, WIDTH = 1.0, 0.5, 32.0


def local_laplacian() -> tw.Function:
    """Some twenty stages: pyramids of the image, of its remapped versions, and of the result."""
    x = tw.input("x", [H, W], tw.float32)
    rows, columns = ([size // 2**scale for scale in range(SCALES)] for size in (H, W))

    def stage(name: str, scale: int, value: Any, shades: bool, tall: bool = False) -> Any:
        """At a scale; `tall`: with the rows of the finer one."""
        domain: dict[Any, Any] = {k: SHADES} if shades else {}
        made = tw.computation(
            name, {**domain, i: rows[scale - tall], j: columns[scale]}, value, dtype=tw.float32
        )
        return (lambda y, x, shade=k: made[shade, y, x]) if shades else lambda y, x, _=k: made[y, x]

    def four(at: Any, place: Any, size: Any) -> Any:
        before, behind = tw.maximum(2 * place - 1, 0), tw.minimum(2 * place + 2, size - 1)
        return (at(before) + at(behind) + (at(2 * place) + at(2 * place + 1)) * 3.0) * 0.125

    def finer(at: Any, place: Any, size: Any) -> Any:
        near = tw.minimum(place // 2, size - 1)
        far = tw.clamp(place // 2 - 1 + 2 * (place % 2), 0, size - 1)
        return at(near) * 0.75 + at(far) * 0.25

    def pyramid(name: str, of: Any, shades: bool) -> list[Any]:
        scales = [of]
        for s in range(1, SCALES):
            last = scales[-1]
            across = four(lambda at, last=last: last(i, at), j, columns[s - 1])
            half = stage(f"{name}across{s}", s, across, shades, tall=True)
            down = four(lambda at, half=half: half(at, j), i, rows[s - 1])
            scales.append(stage(f"{name}{s}", s, down, shades))
        return scales

    def enlarged(name: str, of: Any, scale: int, shades: bool) -> Any:
        """From the next coarser scale, along the columns; what reads it goes along the rows."""
        across = finer(lambda at: of(i, at), j, columns[scale + 1])
        domain: dict[Any, Any] = {k: SHADES} if shades else {}
        made = tw.computation(
            name, {**domain, i: rows[scale + 1], j: columns[scale]}, across, dtype=tw.float32
        )
        wide = (lambda y: made[k, y, j]) if shades else (lambda y: made[y, j])
        return finer(wide, i, rows[scale + 1])

    def reader_of(stage: Any) -> Any:
        return lambda y, x_: stage[y, x_]

    shade = tw.cast(k, tw.float32) * (1 / (SHADES - 1))
    apart = x[i, j] - shade
    remapped = shade + apart * EDGE + apart * tw.exp(apart * apart * -WIDTH) * DETAIL
    images = pyramid("image", lambda y, x_, _=k: x[y, x_], shades=False)
    shaded = pyramid("shaded", stage("shaded0", 0, remapped, shades=True), shades=True)
    details = [
        stage(f"detail{s}", s, shaded[s](i, j) - enlarged(f"wide{s}", shaded[s + 1], s, True), True)
        for s in range(SCALES - 1)
    ]
    details.append(shaded[-1])
    result: Any = None
    for s in reversed(range(SCALES)):
        at = images[s](i, j) * float(SHADES - 1)
        below = tw.clamp(tw.cast(at, tw.int32), 0, SHADES - 2)
        part = at - tw.cast(below, tw.float32)
        own = details[s](i, j, below) * (1.0 - part) + details[s](i, j, below + 1) * part
        if result is not None:
            own = own + enlarged(f"larger{s}", result, s, False)
        made = tw.computation(f"result{s}", {i: rows[s], j: columns[s]}, own, dtype=tw.float32)
        result = reader_of(made)
    return tw.function("local_laplacian", outputs=[made])


def local_laplacian_in_numpy(x: Array) -> Array:
    def four(a: Array, axis: int) -> Array:
        size = a.shape[axis]
        place = np.arange(size // 2) * 2

        def at(index: Any) -> Array:
            return np.asarray(np.take(a, index, axis))

        before, behind = np.maximum(place - 1, 0), np.minimum(place + 2, size - 1)
        inner = (at(place) + at(place + 1)) * np.float32(3)
        return np.asarray((at(before) + at(behind) + inner) * np.float32(0.125))

    def finer(a: Array, size: int, axis: int) -> Array:
        place: Array = np.arange(size)
        near = np.minimum(place // 2, a.shape[axis] - 1)
        far = np.clip(place // 2 - 1 + 2 * (place % 2), 0, a.shape[axis] - 1)
        return np.asarray(
            np.take(a, near, axis) * np.float32(0.75) + np.take(a, far, axis) * np.float32(0.25)
        )

    def pyramid(a: Array) -> list[Array]:
        scales = [a]
        for _ in range(1, SCALES):
            scales.append(four(four(scales[-1], -1), -2))
        return scales

    def enlarged(a: Array, like: Array) -> Array:
        return finer(finer(a, like.shape[-1], -1), like.shape[-2], -2)

    shade = (np.arange(SHADES, dtype=np.float32) * np.float32(1 / (SHADES - 1)))[:, None, None]
    apart = x - shade
    bump = np.exp(apart * apart * np.float32(-WIDTH)) * np.float32(DETAIL)
    images, shaded = pyramid(x), pyramid(shade + apart * np.float32(EDGE) + apart * bump)
    result: Any = None
    for s in reversed(range(SCALES)):
        detail = shaded[s] if s == SCALES - 1 else shaded[s] - enlarged(shaded[s + 1], shaded[s])
        at = images[s] * np.float32(SHADES - 1)
        below: Array = np.clip(at.astype(np.int32), 0, SHADES - 2)
        part = at - below
        y, x_ = np.indices(at.shape)
        own = detail[below, y, x_] * (1 - part) + detail[below + 1, y, x_] * part
        result = own if result is None else own + enlarged(result, own)
    return np.asarray(result, np.float32)
