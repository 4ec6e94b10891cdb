"""The image kernels in Numba: parallel loops over rows, as one writes them there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import peers
from harness import Missing

__all__ = ["NumbaKernels", "kernels"]

Array = npt.NDArray[Any]
Peer = Callable[[], Any] | Missing


def kernels() -> NumbaKernels:
    """The kernels; each is missing where Numba is."""
    return NumbaKernels(peers.module("numba"))


class NumbaKernels:
    """Each method returns what runs a kernel on an array, or why that cannot be had."""

    def __init__(self, numba: Any) -> None:
        self.numba = numba

    def ready(self, loops: Callable[..., None], out: Any, *arrays: Array) -> Peer:
        """Compiles; the result runs into `out`."""
        if isinstance(self.numba, Missing):
            return self.numba
        outputs = out if isinstance(out, tuple) else (out,)
        compiled = self.numba.njit(parallel=True, fastmath=True)(loops)

        def run() -> Any:
            compiled(*arrays, *outputs)
            return out

        return run

    @property
    def prange(self) -> Any:
        return range if isinstance(self.numba, Missing) else self.numba.prange

    def blur(self, image: Array) -> Peer:
        prange, rows, columns = self.prange, *image.shape
        out = np.empty((rows - 2, columns - 6), image.dtype)

        def whole(x: Array, o: Array) -> None:
            for i in prange(o.shape[0]):
                for j in range(o.shape[1]):
                    total = np.uint16(4)
                    for k in range(3):
                        for c in range(3):
                            total = np.uint16(total + x[i + k, j + 3 * c])
                    o[i, j] = total // np.uint16(9)

        def real(x: Array, o: Array) -> None:
            ninth = np.float32(1 / 9)
            for i in prange(o.shape[0]):
                for j in range(o.shape[1]):
                    total = np.float32(0)
                    for k in range(3):
                        total += x[i + k, j] + x[i + k, j + 3] + x[i + k, j + 6]
                    o[i, j] = total * ninth

        return self.ready(whole if image.dtype == np.uint8 else real, out, image)

    def gaussian(self, image: Array) -> Peer:
        prange, rows, columns = self.prange, *image.shape
        out = np.empty((rows - 6, columns - 18), image.dtype)
        down = np.empty((rows - 6, columns), image.dtype)

        def whole(x: Array, d: Array, o: Array) -> None:
            for i in prange(o.shape[0]):
                for j in range(d.shape[1]):
                    near = 56 * (x[i + 2, j] + x[i + 4, j]) + 72 * x[i + 3, j]
                    far = 8 * (x[i, j] + x[i + 6, j]) + 28 * (x[i + 1, j] + x[i + 5, j])
                    d[i, j] = (near + far + 128) >> 8
                for j in range(o.shape[1]):
                    near = 56 * (d[i, j + 6] + d[i, j + 12]) + 72 * d[i, j + 9]
                    far = 8 * (d[i, j] + d[i, j + 18]) + 28 * (d[i, j + 3] + d[i, j + 15])
                    o[i, j] = (near + far + 128) >> 8

        def real(x: Array, d: Array, o: Array) -> None:
            a, b = np.float32(8 / 256), np.float32(28 / 256)
            c, e = np.float32(56 / 256), np.float32(72 / 256)
            for i in prange(o.shape[0]):
                for j in range(d.shape[1]):
                    near = c * (x[i + 2, j] + x[i + 4, j]) + e * x[i + 3, j]
                    d[i, j] = near + a * (x[i, j] + x[i + 6, j]) + b * (x[i + 1, j] + x[i + 5, j])
                for j in range(o.shape[1]):
                    near = c * (d[i, j + 6] + d[i, j + 12]) + e * d[i, j + 9]
                    far = a * (d[i, j] + d[i, j + 18]) + b * (d[i, j + 3] + d[i, j + 15])
                    o[i, j] = near + far

        # Rows are blurred before columns, as the others do it where that changes the rounding.
        return self.ready(whole if image.dtype == np.uint8 else real, out, image, down)

    def gray(self, picture: Array) -> Peer:
        prange = self.prange
        out = np.empty(picture.shape[:2], np.uint8)

        def loops(x: Array, o: Array) -> None:
            for i in prange(o.shape[0]):
                for j in range(o.shape[1]):
                    o[i, j] = (77 * x[i, j, 0] + 150 * x[i, j, 1] + 29 * x[i, j, 2] + 128) >> 8

        return self.ready(loops, out, picture)

    def warp(self, image: Array, matrix: Array) -> Peer:
        prange = self.prange
        out = np.empty_like(image)

        def loops(p: Array, m: Array, o: Array) -> None:
            rows, columns = p.shape
            for i in prange(rows):
                for j in range(columns):
                    x = m[0, 0] * np.float32(j) + m[0, 1] * np.float32(i) + m[0, 2]
                    y = m[1, 0] * np.float32(j) + m[1, 1] * np.float32(i) + m[1, 2]
                    x = min(max(x, np.float32(0)), np.float32(columns - 1))
                    y = min(max(y, np.float32(0)), np.float32(rows - 1))
                    left, top = min(int(x), columns - 2), min(int(y), rows - 2)
                    right, down = x - np.float32(left), y - np.float32(top)
                    upper = p[top, left] + right * (p[top, left + 1] - p[top, left])
                    lower = p[top + 1, left] + right * (p[top + 1, left + 1] - p[top + 1, left])
                    o[i, j] = upper + down * (lower - upper)

        return self.ready(loops, out, image, matrix)

    def edge(self, image: Array) -> Peer:
        prange, rows, columns = self.prange, *image.shape
        ring = np.empty((rows - 2, columns - 6), np.uint8)
        out = np.empty((rows - 3, columns - 9), np.uint8)

        def loops(x: Array, r: Array, o: Array) -> None:
            for i in prange(r.shape[0]):
                for j in range(r.shape[1]):
                    upper = x[i, j] + x[i, j + 3] + x[i, j + 6]
                    lower = x[i + 2, j] + x[i + 2, j + 3] + x[i + 2, j + 6]
                    r[i, j] = (upper + lower + x[i + 1, j] + x[i + 1, j + 6]) >> 3
            for i in prange(o.shape[0]):
                for j in range(o.shape[1]):
                    first = abs(np.int16(r[i, j]) - np.int16(r[i + 1, j + 3]))
                    second = abs(np.int16(r[i + 1, j]) - np.int16(r[i, j + 3]))
                    o[i, j] = min(first + second, 255)

        return self.ready(loops, out, image, ring)

    def nb(self, image: Array) -> Peer:
        prange = self.prange
        dark, light = np.empty_like(image), np.empty_like(image)

        def loops(x: Array, d: Array, b: Array) -> None:
            for i in prange(x.shape[0]):
                for j in range(x.shape[1]):
                    value = np.uint16(x[i, j])
                    other = np.uint16(255 - value)
                    d[i, j] = 255 - min(value + (value >> 1), 255)
                    b[i, j] = min(other + (other >> 1), 255)

        return self.ready(loops, (dark, light), image)
