"""Image kernels on a picture of 2112 x 3520 pixels with three interleaved channels, beside Halide,
OpenCV, NumPy and Numba. The Halide schedules are the fastest of those in its applications (sliding
windows, strips) and of register tiles; they are made in `halide_images`.

Time to compile: declaration, schedule and machine code of each kernel, nothing of it cached.
"""

from __future__ import annotations

import functools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import halide_images
import numba_images
import peers
import tilewright as tw
from harness import Case, Context, Missing
from tilewright.kernels import images

TITLE = "Image kernels, 2112 x 3520 pixels of three channels"
THREADS = (1, 2)

Array = npt.NDArray[Any]
Peer = Callable[[], Any] | Missing
CHANNELS = 3
GOALS = {"Halide": 1.0, "OpenCV": 1.0, "best": 1.2}


def blur_numpy(image: Array) -> Any:
    wide = image.astype(np.uint16) if image.dtype == np.uint8 else image
    across = wide[:, :-6] + wide[:, 3:-3] + wide[:, 6:]
    total = across[:-2] + across[1:-1] + across[2:]
    if image.dtype == np.uint8:
        return ((total + np.uint16(4)) // np.uint16(9)).astype(np.uint8)
    return total * np.float32(1 / 9)


def gaussian_numpy(image: Array) -> Any:
    small = image.dtype == np.uint8

    def smoothed(values: Array, axis: int, step: int) -> Any:
        wide = values.astype(np.uint16) if small else values
        extent = values.shape[axis] - 6 * step
        part = [
            wide[k * step : k * step + extent]
            if axis == 0
            else wide[:, k * step : k * step + extent]
            for k in range(7)
        ]
        weights = [
            (np.uint16 if small else np.float32)(w / (1 if small else 256)) for w in images.GAUSSIAN
        ]
        total = part[3] * weights[3]
        for k in range(3):
            total += (part[k] + part[6 - k]) * weights[k]
        return ((total + np.uint16(128)) >> np.uint16(8)).astype(np.uint8) if small else total

    return smoothed(smoothed(image, 1, CHANNELS), 0, 1)


def gray_numpy(image: Array) -> Any:
    wide = image.astype(np.uint16)
    total = (
        wide[..., 0] * np.uint16(77) + wide[..., 1] * np.uint16(150) + wide[..., 2] * np.uint16(29)
    )
    return ((total + np.uint16(128)) >> np.uint16(8)).astype(np.uint8)


def warp_numpy(image: Array, matrix: Array) -> Any:
    rows, columns = image.shape
    i, j = np.mgrid[:rows, :columns].astype(np.float32)
    x = np.clip(matrix[0, 0] * j + matrix[0, 1] * i + matrix[0, 2], 0, columns - 1)
    y = np.clip(matrix[1, 0] * j + matrix[1, 1] * i + matrix[1, 2], 0, rows - 1)
    left, top = np.minimum(x.astype(int), columns - 2), np.minimum(y.astype(int), rows - 2)
    right, down = x - left.astype(np.float32), y - top.astype(np.float32)
    corner = [[image[top + b, left + a] for a in range(2)] for b in range(2)]
    upper, lower = (row[0] + right * (row[1] - row[0]) for row in corner)
    result: Array = upper + down * (lower - upper)
    return result


def edge_numpy(image: Array) -> Any:
    wide = image.astype(np.uint16)
    across = wide[:, :-6] + wide[:, 3:-3] + wide[:, 6:]
    ring = ((across[:-2] + across[1:-1] + across[2:] - wide[1:-1, 3:-3]) >> np.uint16(3)).astype(
        np.int16
    )
    total = np.abs(ring[:-1, :-3] - ring[1:, 3:]) + np.abs(ring[1:, :-3] - ring[:-1, 3:])
    return np.minimum(total, 255).astype(np.uint8)


def nb_numpy(image: Array) -> tuple[Array, Array]:
    def brighter(values: Array) -> Array:
        result: Array = values + np.minimum(values >> 1, 255 - values)
        return result

    return 255 - brighter(image), brighter(255 - image)


# ---- OpenCV, which also computes the border; the rest is compared ----


class OpenCV:
    """The kernels in OpenCV."""

    def __init__(self, threads: int) -> None:
        self.cv = peers.module("cv2")
        if not isinstance(self.cv, Missing):
            self.cv.setNumThreads(threads)

    def peer(self, make: Callable[[Any], Callable[[], Any]]) -> Peer:
        return self.cv if isinstance(self.cv, Missing) else make(self.cv)

    def blur(self, image: Array) -> Peer:
        picture = image.reshape(image.shape[0], -1, CHANNELS)
        out = np.empty_like(picture)
        inner = out.reshape(image.shape)[1:-1, 3:-3]
        return self.peer(lambda cv: lambda: (cv.blur(picture, (3, 3), dst=out), inner)[1])

    def gaussian(self, image: Array) -> Peer:
        picture = image.reshape(image.shape[0], -1, CHANNELS)
        out = np.empty_like(picture)
        inner = out.reshape(image.shape)[3:-3, 9:-9]
        return self.peer(
            lambda cv: lambda: (cv.GaussianBlur(picture, (7, 7), 0, dst=out), inner)[1]
        )

    def gray(self, picture: Array) -> Peer:
        out = np.empty(picture.shape[:2], np.uint8)
        return self.peer(lambda cv: lambda: cv.cvtColor(picture, cv.COLOR_RGB2GRAY, dst=out))

    def warp(self, image: Array, matrix: Array) -> Peer:
        out, size = np.empty_like(image), (image.shape[1], image.shape[0])
        return self.peer(
            lambda cv: (
                lambda: cv.warpAffine(
                    image,
                    matrix,
                    size,
                    dst=out,
                    flags=cv.INTER_LINEAR | cv.WARP_INVERSE_MAP,
                    borderMode=cv.BORDER_REPLICATE,
                )
            )
        )

    def edge(self, image: Array) -> Peer:
        picture = image.reshape(image.shape[0], -1, CHANNELS)
        ring = np.empty_like(picture)
        kernel = np.full((3, 3), 1 / 8, np.float32)
        kernel[1, 1] = 0
        first, second = (np.empty_like(picture[1:, 1:]) for _ in range(2))
        inner = first[1:-1, 1:-1].reshape(image.shape[0] - 3, -1)

        def make(cv: Any) -> Callable[[], Any]:
            def run() -> Array:
                # -7/16 makes rounding to the nearest integer a rounding down.
                cv.filter2D(picture, -1, kernel, dst=ring, delta=-0.4375)
                cv.absdiff(ring[:-1, :-1], ring[1:, 1:], dst=first)
                cv.absdiff(ring[1:, :-1], ring[:-1, 1:], dst=second)
                cv.add(first, second, dst=first)
                return inner

            return run

        return self.peer(make)

    def nb(self, image: Array) -> Peer:
        bright, dark, light, half = (np.empty_like(image) for _ in range(4))
        table = np.minimum(np.arange(256) * 3 // 2, 255).astype(np.uint8)

        def make(cv: Any) -> Callable[[], Any]:
            def run() -> tuple[Array, Array]:
                cv.LUT(image, table, dst=bright)
                cv.bitwise_not(bright, dst=dark)
                cv.bitwise_not(image, dst=half)
                cv.LUT(half, table, dst=light)
                return dark, light

            return run

        return self.peer(make)


# ---- the cases ----


def compile_times(make: Callable[[], tw.Function]) -> Callable[[], dict[str, float]]:
    """What a kernel costs before its first run, with an empty cache."""

    def run() -> dict[str, float]:
        before = os.environ.get("TILEWRIGHT_CACHE_DIR")
        with tempfile.TemporaryDirectory() as empty:
            os.environ["TILEWRIGHT_CACHE_DIR"] = empty
            tw.cache.clear_memory()
            try:
                start = time.perf_counter()
                function = make()
                declared = time.perf_counter()
                function.compile()
                done = time.perf_counter()
            finally:
                del os.environ["TILEWRIGHT_CACHE_DIR"]
                if before is not None:
                    os.environ["TILEWRIGHT_CACHE_DIR"] = before
        return {"declare and schedule": declared - start, "compile": done - declared}

    return run


@dataclass(frozen=True)
class Libraries:
    """The libraries beside us."""

    cv: OpenCV
    hl: Any
    nu: Any


def cases(context: Context) -> Iterator[Case]:
    generator = np.random.default_rng(0)
    rows, columns = (66, 110) if context.quick else (2112, 3520)
    noise = generator.integers(0, 256, (rows, columns * CHANNELS), dtype=np.uint8)
    theirs = Libraries(OpenCV(context.threads), halide_images.kernels(), numba_images.kernels())
    for dtype in (np.uint8, np.float32):
        yield from blurs(noise.astype(dtype), theirs)
    yield gray_case(noise.reshape(rows, columns, CHANNELS), theirs)
    yield warp_case(rows, columns, theirs)
    yield edge_case(noise, theirs)
    yield point_wise_case(noise, theirs)
    if context.threads == 1:
        yield from cold_cases()


def blurs(image: Array, theirs: Libraries) -> Iterator[Case]:
    """Windows of 3 x 3 and 7 x 7."""
    rows, width = image.shape
    small = image.dtype == np.uint8
    blurred = np.empty((rows - 2, width - 2 * CHANNELS), image.dtype)
    yield Case(
        f"blur 3x3, {'u8' if small else 'f32'}",
        functools.partial(images.blur3x3(image.dtype), image, out=blurred),
        peers={
            "Halide": theirs.hl.stencil("blur", image),
            "OpenCV": theirs.cv.blur(image),
            "NumPy": functools.partial(blur_numpy, image),
            "Numba": theirs.nu.blur(image),
        },
        group="images",
        rtol=0 if small else 2e-6,
        atol=1 if small else 0,
        goals=GOALS,
        work=2.0 * image.nbytes,
        unit="GB/s",
    )
    smooth = np.empty((rows - 6, width - 6 * CHANNELS), image.dtype)
    yield Case(
        f"gaussian 7x7, {'u8' if small else 'f32'}",
        functools.partial(images.gaussian7x7(image.dtype), image, out=smooth),
        peers={
            "Halide": theirs.hl.stencil("gaussian", image),
            "OpenCV": theirs.cv.gaussian(image),
            "NumPy": functools.partial(gaussian_numpy, image),
            "Numba": theirs.nu.gaussian(image),
        },
        group="images",
        rtol=0 if small else 2e-6,
        atol=1 if small else 0,
        goals=GOALS,
        work=2.0 * image.nbytes,
        unit="GB/s",
        note="OpenCV rounds u8 sums once, Numba columns first: they differ by at most 1",
    )


def gray_case(picture: Array, theirs: Libraries) -> Case:
    gray, brightness = images.rgb_to_gray(), np.empty(picture.shape[:2], np.uint8)
    flat = picture.reshape(picture.shape[0], -1)
    return Case(
        "cvtColor RGB to gray, u8",
        lambda: gray(flat, out=brightness),
        peers={
            "Halide": theirs.hl.gray(picture),
            "OpenCV": theirs.cv.gray(picture),
            "NumPy": lambda: gray_numpy(picture),
            "Numba": theirs.nu.gray(picture),
        },
        group="images",
        rtol=0,
        atol=1,
        goals=GOALS,
        work=float(picture.nbytes + brightness.nbytes),
        unit="GB/s",
        note="OpenCV's weights have 15 bits: differs by at most 1",
    )


def warp_case(rows: int, columns: int, theirs: Libraries) -> Case:
    # A smooth picture: OpenCV's coordinates are rounded, which noise would make visible.
    i, j = np.mgrid[:rows, :columns].astype(np.float32)
    single = 128 + 100 * np.sin(i / 37).astype(np.float32) * np.cos(j / 53).astype(np.float32)
    matrix = np.array([[0.98, -0.17, 30.0], [0.17, 0.98, -20.0]], np.float32)
    warp, warped = images.warp_affine(), np.empty((rows, columns), np.float32)
    return Case(
        "warpAffine, bilinear, f32",
        lambda: warp(single, matrix, out=warped),
        peers={
            "Halide": theirs.hl.warp(single, matrix),
            "OpenCV": theirs.cv.warp(single, matrix),
            "NumPy": lambda: warp_numpy(single, matrix),
            "Numba": theirs.nu.warp(single, matrix),
        },
        group="images",
        rtol=0,
        atol=0.1,
        goals=GOALS,
        work=float(rows * columns),
        unit="Gpixel/s",
        note="one channel; OpenCV rounds coordinates to 1/32 pixel",
    )


def edge_case(noise: Array, theirs: Libraries) -> Case:
    edge, overwritten = images.edge_detector(), noise.copy()
    first = edge_numpy(noise)

    def same(result: Any, expected: Any) -> None:
        # Ours runs in place: only its first run sees the picture.
        got = np.asarray(result[0] if isinstance(result, tuple) else result)
        got = got if got.shape == first.shape else got[:-3, :-9]
        np.testing.assert_array_equal(got, first)

    return Case(
        "edge detector, u8",
        lambda: edge(overwritten),
        peers={
            "Halide": theirs.hl.edge(noise),
            "OpenCV": theirs.cv.edge(noise),
            "NumPy": lambda: edge_numpy(noise),
            "Numba": theirs.nu.edge(noise),
        },
        group="images",
        compare=same,
        expected=lambda: first,
        goals=GOALS,
        work=2.0 * noise.nbytes,
        unit="GB/s",
        note="ours in place, peers into another array",
    )


def point_wise_case(noise: Array, theirs: Libraries) -> Case:
    nb, dark, light = images.negative_brighten(), np.empty_like(noise), np.empty_like(noise)
    return Case(
        "nb, four point-wise stages, u8",
        lambda: nb(noise, out=(dark, light)),
        peers={
            "Halide": theirs.hl.nb(noise),
            "OpenCV": theirs.cv.nb(noise),
            "NumPy": lambda: nb_numpy(noise),
            "Numba": theirs.nu.nb(noise),
        },
        group="images",
        rtol=0,
        goals=GOALS,
        work=3.0 * noise.nbytes,
        unit="GB/s",
    )


def cold_cases() -> Iterator[Case]:
    """What the first call of each takes."""
    makers: dict[str, Callable[[], tw.Function]] = {
        "blur 3x3, u8": images.blur3x3,
        "blur 3x3, f32": lambda: images.blur3x3(np.float32),
        "gaussian 7x7, u8": images.gaussian7x7,
        "gaussian 7x7, f32": lambda: images.gaussian7x7(np.float32),
        "cvtColor": images.rgb_to_gray,
        "warpAffine": images.warp_affine,
        "edge detector": images.edge_detector,
        "nb": images.negative_brighten,
    }
    for name, make in makers.items():
        yield Case(
            f"cold {name}",
            compile_times(make),
            group="compilation of image kernels",
            sampled=True,
            goals={"ms: compile": 60.0},
        )
