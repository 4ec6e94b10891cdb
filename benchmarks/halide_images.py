"""The image kernels in Halide, just-in-time from Python, writing into NumPy's memory.

Schedules: of sliding windows and strips (as in Halide's applications), whole rows and register
tiles, the fastest at 2112 x 3520 pixels on one core with AVX-512 is the one used here. Threads come
from HL_NUM_THREADS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import peers
from harness import Missing

__all__ = ["HalideKernels", "kernels"]

Array = npt.NDArray[Any]
Peer = Callable[[], Any] | Missing
GAUSSIAN = (8, 28, 56, 72, 56, 28, 8)


def kernels() -> HalideKernels | Absent:
    """The kernels, or an object whose kernels are all missing."""
    hl = peers.module("halide")
    return Absent(hl) if isinstance(hl, Missing) else HalideKernels(hl)


class Absent:
    """Halide is not installed."""

    def __init__(self, reason: Missing) -> None:
        self.reason = reason

    def stencil(self, kind: str, image: Array) -> Missing:
        return self.reason

    def gray(self, picture: Array) -> Missing:
        return self.reason

    def warp(self, image: Array, matrix: Array) -> Missing:
        return self.reason

    def edge(self, image: Array) -> Missing:
        return self.reason

    def nb(self, image: Array) -> Missing:
        return self.reason


class HalideKernels:
    """Each method compiles a kernel for an array and returns what runs it."""

    def __init__(self, hl: Any) -> None:
        self.hl = hl
        self.x, self.y, self.xi, self.yi = (hl.Var(name) for name in ("x", "y", "xi", "yi"))

    def u8(self, value: Any) -> Any:
        return self.hl.cast(self.hl.UInt(8), value)

    def u16(self, value: Any) -> Any:
        return self.hl.cast(self.hl.UInt(16), value)

    def runner(self, function: Any, *outputs: Array) -> Callable[[], Any]:
        """Compiles; the result runs into the arrays and returns them."""
        function.compile_jit()
        buffers = [self.hl.Buffer(output) for output in outputs]
        target = buffers[0] if len(buffers) == 1 else buffers
        result = outputs[0] if len(outputs) == 1 else outputs

        def run() -> Any:
            function.realize(target)
            return result

        return run

    def input(self, array: Array) -> Any:
        parameter = self.hl.ImageParam(
            self.hl.UInt(8) if array.dtype == np.uint8 else self.hl.Float(32), array.ndim
        )
        parameter.set(self.hl.Buffer(array))
        return parameter

    def stencil(self, kind: str, image: Array) -> Peer:
        """blur or gaussian: rows, then columns; the rows of a register tile stay in registers."""
        hl, x, y, xi, yi = self.hl, self.x, self.y, self.xi, self.yi
        small = image.dtype == np.uint8
        wide = self.u16 if small else (lambda value: value)
        source = self.input(image)
        across, out = hl.Func("across"), hl.Func("out")
        reach = 2 if kind == "blur" else 6
        if kind == "blur":
            across[x, y] = wide(source[x, y]) + wide(source[x + 3, y]) + wide(source[x + 6, y])
            total = across[x, y] + across[x, y + 1] + across[x, y + 2]
            ninth = hl.f32(1 / 9)
            out[x, y] = self.u8((total + self.u16(4)) // self.u16(9)) if small else total * ninth
        else:
            weights = [self.u16(w) if small else hl.f32(w / 256) for w in GAUSSIAN]

            def smoothed(p: list[Any]) -> Any:
                total = p[3] * weights[3]
                for k in (2, 1, 0):
                    total = (p[k] + p[6 - k]) * weights[k] + total
                return self.u8((total + self.u16(128)) >> self.u16(8)) if small else total

            across[x, y] = smoothed([wide(source[x + 3 * k, y]) for k in range(7)])
            out[x, y] = smoothed([wide(across[x, y + k]) for k in range(7)])
        lanes, height = 32 if small else 8, 8 if kind == "blur" else 12
        out.tile(x, y, xi, yi, lanes, height).vectorize(xi).unroll(yi).parallel(y)
        across.compute_at(out, x).vectorize(x, lanes).unroll(y)
        rows, columns = image.shape
        return self.runner(out, np.empty((rows - reach, columns - 3 * reach), image.dtype))

    def gray(self, picture: Array) -> Peer:
        hl, x, y = self.hl, self.x, self.y
        source = self.input(picture)
        source.dim(0).set_bounds(0, 3).set_stride(1)
        source.dim(1).set_stride(3)
        red, green, blue = (self.u16(source[c, x, y]) for c in range(3))
        total = red * self.u16(77) + green * self.u16(150) + blue * self.u16(29) + self.u16(128)
        out = hl.Func("out")
        out[x, y] = self.u8(total >> self.u16(8))
        out.vectorize(x, 64).parallel(y, 8)
        return self.runner(out, np.empty(picture.shape[:2], np.uint8))

    def warp(self, image: Array, matrix: Array) -> Peer:
        hl, x, y = self.hl, self.x, self.y
        source = self.input(image)
        rows, columns = image.shape
        m = [[hl.f32(float(value)) for value in row] for row in matrix]

        def place(k: int, size: int) -> tuple[Any, Any]:
            exact = (
                m[k][0] * hl.cast(hl.Float(32), x) + m[k][1] * hl.cast(hl.Float(32), y) + m[k][2]
            )
            inside = hl.clamp(exact, hl.f32(0.0), hl.f32(float(size - 1)))
            before = hl.clamp(hl.cast(hl.Int(32), inside), 0, size - 2)
            return before, inside - hl.cast(hl.Float(32), before)

        left, right = place(0, columns)
        top, down = place(1, rows)

        def mixed(row: Any) -> Any:
            first, second = source[left, row], source[left + 1, row]
            return first + right * (second - first)

        upper, lower = mixed(top), mixed(top + 1)
        out = hl.Func("out")
        out[x, y] = upper + down * (lower - upper)
        out.vectorize(x, 16).parallel(y, 8)
        return self.runner(out, np.empty_like(image))

    def edge(self, image: Array) -> Peer:
        hl, x, y, xi, yi = self.hl, self.x, self.y, self.xi, self.yi
        source = self.input(image)
        ring, out = hl.Func("ring"), hl.Func("out")
        around = [(a, b) for b in range(3) for a in range(3) if (a, b) != (1, 1)]
        total = self.u16(source[x, y])
        for a, b in around[1:]:
            total = total + self.u16(source[x + 3 * a, y + b])
        ring[x, y] = self.u8(total >> self.u16(3))
        first = hl.absd(ring[x, y], ring[x + 3, y + 1])
        second = hl.absd(ring[x, y + 1], ring[x + 3, y])
        out[x, y] = hl.saturating_add(first, second)
        out.tile(x, y, xi, yi, 256, 4, hl.TailStrategy.GuardWithIf)
        out.vectorize(xi, 64).unroll(yi).parallel(y)
        ring.compute_at(out, x).vectorize(x, 64).unroll(y)
        rows, columns = image.shape
        return self.runner(out, np.empty((rows - 3, columns - 9), np.uint8))

    def nb(self, image: Array) -> Peer:
        hl, x, y = self.hl, self.x, self.y
        source = self.input(image)

        def brighter(value: Any) -> Any:
            return hl.saturating_add(value, value >> self.u8(1))

        def negative(value: Any) -> Any:
            return self.u8(255) - value

        out = hl.Func("out")
        pixel = source[x, y]
        out[x, y] = hl.Tuple((negative(brighter(pixel)), brighter(negative(pixel))))
        out.vectorize(x, 64).parallel(y, 8)
        return self.runner(out, np.empty_like(image), np.empty_like(image))
