"""A first call in a process of its own: ``python cold.py CONTENDER KERNEL`` prints seconds by part.

The kernels: "gemm", the tiled, packed and register-tiled matrix product of `tw.kernels` (and what a
user of each peer writes in its place), and "sum3", three neighbours added up.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SIZE = 64
Parts = dict[str, float]


class Clock:
    """Seconds of consecutive parts."""

    def __init__(self) -> None:
        self.parts: Parts = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.parts[name] = now - self._last
        self._last = time.perf_counter()


def data(kernel: str) -> tuple[tuple[Any, ...], Any]:
    """The inputs and the right result."""
    generator = np.random.default_rng(0)
    if kernel == "gemm":
        a, b = (generator.integers(-4, 5, (SIZE, SIZE)).astype(np.float32) for _ in range(2))
        return (a, b), a @ b
    x = generator.integers(-4, 5, 1000).astype(np.float32)
    return (x,), x[:-2] + x[1:-1] + x[2:]


def tilewright(kernel: str, clock: Clock) -> Callable[..., Any]:
    import tilewright as tw

    clock.lap("import")
    f: tw.Function
    if kernel == "gemm":
        from tilewright.kernels import blas

        f = blas.gemm()
    else:
        n = tw.param("N", "N >= 2")
        i = tw.iter("i")
        x = tw.input("x", [n], tw.float32)
        y = tw.computation("y", {i: n - 2}, x[i] + x[i + 1] + x[i + 2])
        f = tw.function("sum3", outputs=[y])
        y.vectorize(i, 16)
    clock.lap("declare and schedule")

    def call(*arrays: Any) -> Any:
        result = f(*arrays)
        clock.lap("first call")
        info = f.last_compile or {}
        phases = {name: value / 1e3 for name, value in info["milliseconds"].items()}
        clock.parts["compile"] = sum(phases.values())
        clock.parts |= {f"  {name}": seconds for name, seconds in phases.items()}
        assert f(*arrays).shape == result.shape
        return result

    return call


def numba(kernel: str, clock: Clock) -> Callable[..., Any]:
    import numba as nb

    clock.lap("import")

    def gemm(a: Any, b: Any) -> Any:
        c = np.zeros((a.shape[0], b.shape[1]), np.float32)
        for i in range(a.shape[0]):
            for k in range(a.shape[1]):
                for j in range(b.shape[1]):
                    c[i, j] += a[i, k] * b[k, j]
        return c

    def sum3(x: Any) -> Any:
        y = np.empty(x.size - 2, np.float32)
        for i in range(y.size):
            y[i] = x[i] + x[i + 1] + x[i + 2]
        return y

    compiled = nb.njit(fastmath=True, cache=True)(gemm if kernel == "gemm" else sum3)
    clock.lap("declare and schedule")

    def call(*arrays: Any) -> Any:
        result = compiled(*arrays)
        clock.lap("first call")
        return result

    return call


def jax(kernel: str, clock: Clock) -> Callable[..., Any]:
    import jax as jx

    clock.lap("import")
    if kernel == "gemm":
        compiled = jx.jit(lambda a, b: a @ b)
    else:
        compiled = jx.jit(lambda x: x[:-2] + x[1:-1] + x[2:])
    clock.lap("declare and schedule")

    def call(*arrays: Any) -> Any:
        result = np.asarray(compiled(*arrays))
        clock.lap("first call")
        return result

    return call


def halide(kernel: str, clock: Clock) -> Callable[..., Any]:
    import halide as hl

    clock.lap("import")
    x, y, xi, yi = hl.Var("x"), hl.Var("y"), hl.Var("xi"), hl.Var("yi")
    if kernel == "gemm":
        a, b = hl.ImageParam(hl.Float(32), 2, "a"), hl.ImageParam(hl.Float(32), 2, "b")
        k = hl.RDom([hl.Range(0, a.width())], "k")
        product, c = hl.Func("product"), hl.Func("c")
        product[x, y] = 0.0
        product[x, y] += a[k, y] * b[x, k]
        c[x, y] = product[x, y]
        c.tile(x, y, xi, yi, 64, 6, hl.TailStrategy.GuardWithIf).vectorize(xi, 16).unroll(yi)
        product.compute_at(c, x).vectorize(x, 16).unroll(y)
        product.update().reorder(x, y, k).vectorize(x, 16).unroll(x).unroll(y)
        params, shape = (a, b), [SIZE, SIZE]
    else:
        v = hl.ImageParam(hl.Float(32), 1, "v")
        c = hl.Func("c")
        c[x] = v[x] + v[x + 1] + v[x + 2]
        c.vectorize(x, 16, hl.TailStrategy.GuardWithIf)
        params, shape = (v,), [998]
    clock.lap("declare and schedule")

    def call(*arrays: Any) -> Any:
        for param, array in zip(params, arrays, strict=True):
            param.set(hl.Buffer(array))
        result = np.array(c.realize(shape))
        clock.lap("first call")
        return result

    return call


CONTENDERS = {"tilewright": tilewright, "Numba": numba, "JAX": jax, "Halide": halide}


def main() -> None:
    contender, kernel = sys.argv[1:]
    arrays, expected = data(kernel)
    clock = Clock()
    call = CONTENDERS[contender](kernel, clock)
    result = call(*arrays)
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    print(json.dumps(clock.parts))


if __name__ == "__main__":
    main()
