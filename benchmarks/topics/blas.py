"""Dense linear algebra and convolution beside OpenBLAS, libxsmm, JAX, SciPy and NumPy.

OpenBLAS chooses its kernels by the processor's model, and takes those for AVX2 on models it does not
know though they have AVX-512; there it is measured a second time with the AVX-512 ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

import native
import peers
import tilewright as tw
from harness import Case, Context, Missing
from tilewright.kernels import blas, machine

TITLE = "Matrix products and convolutions"
THREADS = (1, 2)

Array = npt.NDArray[Any]
GENERATOR = np.random.default_rng(0)


def random(*shape: int, dtype: Any = np.float32) -> Array:
    return GENERATOR.standard_normal(shape).astype(dtype)


def close(dtype: Any, length: int) -> Callable[[Any, Any], None]:
    """Compares sums of `length` products of normal numbers, taken in any order."""
    step = float(np.finfo(dtype).eps)

    def compare(got: Any, expected: Any) -> None:
        np.testing.assert_allclose(got[0], expected[0], rtol=100 * step, atol=4 * step * length)

    return compare


def jax_of(function: Callable[[Any, Any], Callable[..., Any]], *arrays: Array) -> Any:
    """A function of jax.numpy, compiled, on arrays that it has already; or `Missing`."""
    jax = peers.module("jax")
    if isinstance(jax, Missing):
        return jax
    compiled = jax.jit(function(jax, jax.numpy))
    there = [jax.numpy.asarray(array) for array in arrays]
    return lambda: compiled(*there).block_until_ready()


# ---- products ----


class OpenBlasPeers:
    """NumPy's OpenBLAS as it is, and where that did not take the processor's vectors, with them."""

    def __init__(self) -> None:
        self.core = native.numpy_core_type()
        wide = self.core.lower() == "haswell" and machine.vector_bytes() == 64
        self.second = native.openblas("SkylakeX") if wide else None

    def gemm(self, a: Array, b: Array) -> dict[str, Any]:
        """Products of a and b by both."""
        c, d = (np.empty((a.shape[0], b.shape[1]), a.dtype) for _ in range(2))
        calls: dict[str, Any] = {f"OpenBLAS ({self.core})": lambda: np.matmul(a, b, out=c)}
        if self.second is not None:
            missing = isinstance(self.second, Missing)
            calls["OpenBLAS (SkylakeX)"] = self.second if missing else self.second.gemm(a, b, d)  # type: ignore[union-attr]
        return calls


def product(
    f: tw.Function, openblas: OpenBlasPeers, dtype: Any, sizes: tuple[int, int, int]
) -> Case:
    n, m, k = sizes
    a, b, c = random(n, k, dtype=dtype), random(k, m, dtype=dtype), np.empty((n, m), dtype)
    letter = "s" if dtype == np.float32 else "d"
    square = n == m == k
    theirs = openblas.gemm(a, b)
    return Case(
        f"{letter}gemm {n}" if square else f"{letter}gemm {n}x{m}x{k}",
        ours=lambda: f(a, b, out=c),
        peers=theirs,
        group=f"{letter}gemm {'square' if square else 'other'}",
        work=2.0 * n * m * k,
        compare=close(dtype, k),
        goals=dict.fromkeys(theirs, 1.0) if square and n in (512, 1024, 2048) else {},
        note="packs both operands at each call",
    )


def products(context: Context) -> Iterator[Case]:
    openblas = OpenBlasPeers()
    sizes = [(n, n, n) for n in (64, 128, 256, 512, 1024, 2048)]
    sizes += [(63, 63, 63), (1000, 1001, 999), (100, 2000, 50), (2000, 64, 2000), (48, 48, 3000)]
    if context.quick:
        sizes = [(64, 64, 64), (63, 65, 31)]
    for dtype in (np.float32, np.float64):
        f = blas.gemm(tw.as_dtype(dtype))
        for size in sizes:
            yield product(f, openblas, dtype, size)


def fused(n: int) -> Case:
    f = blas.gemm_relu()
    a, b, bias = random(n, n), random(n, n), random(n)
    c, d = np.empty((n, n), np.float32), np.empty((n, n), np.float32)

    def separate() -> Array:
        np.matmul(a, b, out=d)
        np.add(d, bias, out=d)
        return np.maximum(d, 0, out=d)

    return Case(
        f"relu(A @ B + bias) {n}",
        ours=lambda: f(a, b, bias, out=c),
        peers={
            "NumPy's three calls": separate,
            "JAX": jax_of(lambda jax, jnp: lambda a, b, v: jnp.maximum(a @ b + v, 0), a, b, bias),
        },
        group="fused",
        work=2.0 * n**3,
        compare=close(np.float32, n),
        goals={"NumPy's three calls": 1.2} if n == 1024 else {},
    )


def small(n: int, dtype: Any, xsmm: native.Xsmm | Missing, single: bool) -> Case:
    """As many products as fill half of a second-level cache, in one call; or one in a call."""
    letter = "s" if dtype == np.float32 else "d"
    f = blas.batched_gemm(n, n, n, tw.as_dtype(dtype))
    count = 1 if single else max(8, 400_000 // (3 * n * n * np.dtype(dtype).itemsize))
    a, b = random(count, n, n, dtype=dtype), random(count, n, n, dtype=dtype)
    c, d = np.empty_like(a), np.empty_like(a)
    theirs: dict[str, Any]
    if single:
        theirs = {"np.matmul": lambda: np.matmul(a, b, out=d)}
    else:
        theirs = {"libxsmm": xsmm if isinstance(xsmm, Missing) else xsmm.batch(a, b, d)}
    return Case(
        f"small {letter}gemm {n}, {'one' if single else count} in a call",
        ours=lambda: f(a, b, out=c),
        peers=theirs,
        group=f"small {letter}gemm{', one in a call' if single else ''}",
        work=2.0 * n**3 * count,
        compare=close(dtype, n),
        goals={"libxsmm": 0.9} if n >= 8 and not single else {},
        note=f"libxsmm's target: {xsmm.target}" if isinstance(xsmm, native.Xsmm) else "",
    )


def small_products(context: Context) -> Iterator[Case]:
    xsmm = native.xsmm()
    sizes = (4, 8, 23) if context.quick else (4, 8, 12, 16, 23, 24, 32, 48, 64)
    for dtype in (np.float32, np.float64):
        for n in sizes:
            yield small(n, dtype, xsmm, False)
    for n in sizes:
        yield small(n, np.float32, xsmm, True)


def gemv(n: int) -> Case:
    f = blas.gemv()
    a, x = random(n, n), random(n)
    y, z = np.empty(n, np.float32), np.empty(n, np.float32)
    return Case(
        f"sgemv {n}",
        ours=lambda: f(a, x, out=y),
        peers={"OpenBLAS": lambda: np.matmul(a, x, out=z)},
        group="gemv",
        work=4.0 * n * n,
        unit="GB/s",
        compare=close(np.float32, n),
    )


def syrk(n: int) -> Case:
    scipy_blas = peers.module("scipy.linalg.blas")
    f, a, c = blas.syrk(), random(n, n), np.zeros((n, n), np.float32)

    def lower(got: Any, expected: Any) -> None:
        close(np.float32, n)((np.tril(got[0]),), (np.tril(expected[0]),))

    # SciPy's arrays are column-major: they are handed over as transposes, without a copy.
    def theirs() -> Any:
        return scipy_blas.ssyrk(1.0, a.T, trans=1, lower=0).T

    return Case(
        f"ssyrk {n}",
        ours=lambda: f(a, out=c),
        peers={"OpenBLAS (SciPy)": scipy_blas if isinstance(scipy_blas, Missing) else theirs},
        expected=lambda: a @ a.T,
        compare=lower,
        group="syrk, trmm",
        work=1.0 * n**3,
    )


def trmm(n: int) -> Case:
    scipy_blas = peers.module("scipy.linalg.blas")
    f, a, b, c = blas.trmm(), random(n, n), random(n, n), np.empty((n, n), np.float32)

    def theirs() -> Any:
        return scipy_blas.strmm(1.0, a.T, b.T, side=1, lower=0).T

    return Case(
        f"strmm {n}",
        ours=lambda: f(a, b, out=c),
        peers={"OpenBLAS (SciPy)": scipy_blas if isinstance(scipy_blas, Missing) else theirs},
        group="syrk, trmm",
        work=1.0 * n**3,
        compare=close(np.float32, n),
    )


def batched(count: int, n: int) -> Case:
    f = blas.batched_gemm(n, n, n)
    a, b = random(count, n, n), random(count, n, n)
    c, d = np.empty_like(a), np.empty_like(a)
    return Case(
        f"batched sgemm {count} of {n}",
        ours=lambda: f(a, b, out=c),
        peers={
            "np.matmul": lambda: np.matmul(a, b, out=d),
            "JAX": jax_of(lambda jax, jnp: jnp.matmul, a, b),
        },
        group="batched",
        work=2.0 * count * n**3,
        compare=close(np.float32, n),
    )


# ---- convolutions ----


def jax_convolution(layout: str) -> Callable[[Any, Any], Callable[..., Any]]:
    order = ("NHWC", "HWIO", "NHWC") if layout == "NHWC" else ("NCHW", "OIHW", "NCHW")
    return lambda jax, jnp: (
        lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=order)
    )


NUMBA_NHWC = """
def convolve(x, f, y):
    for row in numba.prange(y.shape[0] * y.shape[1]):
        n, i = row // y.shape[1], row % y.shape[1]
        for j in range(y.shape[2]):
            y[n, i, j, :] = 0
            for dy in range(3):
                for dx in range(3):
                    for c in range(x.shape[3]):
                        for o in range(y.shape[3]):
                            y[n, i, j, o] += x[n, i + dy, j + dx, c] * f[dy, dx, c, o]
    return y
"""
NUMBA_NCHW = """
def convolve(x, f, y):
    for plane in numba.prange(y.shape[0] * y.shape[1]):
        n, o = plane // y.shape[1], plane % y.shape[1]
        y[n, o] = 0
        for c in range(x.shape[1]):
            for dy in range(3):
                for dx in range(3):
                    for i in range(y.shape[2]):
                        for j in range(y.shape[3]):
                            y[n, o, i, j] += x[n, c, i + dy, j + dx] * f[o, c, dy, dx]
    return y
"""


def numba_of(source: str, *arrays: Array) -> Any:
    numba = peers.module("numba")
    if isinstance(numba, Missing):
        return numba
    names: dict[str, Any] = {"numba": numba}
    exec(source, names)
    compiled = numba.njit(parallel=True, fastmath=True)(names["convolve"])
    return lambda: compiled(*arrays)


def convolution(layout: str, count: int, size: int, c: int, o: int) -> Case:
    nhwc = layout == "NHWC"
    inner = size - 2
    if nhwc:
        kernel, source, text = blas.conv2d_nhwc(), NUMBA_NHWC, "nyxcij,ijco->nyxo"
        x, f = random(count, size, size, c), random(3, 3, c, o)
        shape: tuple[int, ...] = (count, inner, inner, o)
    else:
        narrow = 2 * inner <= machine.register_tile(tw.float32).columns
        kernel = blas.conv2d_nchw(narrow=narrow)
        source, text = NUMBA_NCHW, "ncyxij,ocij->noyx"
        x, f = random(count, c, size, size), random(o, c, 3, 3)
        shape = (count, o, inner, inner)
    y, z = np.empty(shape, np.float32), np.empty(shape, np.float32)
    windows = sliding_window_view(x, (3, 3), axis=(1, 2) if nhwc else (2, 3))
    return Case(
        f"conv2d 3x3 {layout} {count}x{size}x{size}, {c} to {o}",
        ours=lambda: kernel(x, f, out=y),
        peers={
            "JAX": jax_of(jax_convolution(layout), x, f),
            "np.einsum": lambda: np.einsum(text, windows, f, optimize=True),
            "Numba": numba_of(source, x, f, z),
        },
        group=f"conv2d {layout}",
        work=2.0 * 9 * c * o * count * inner * inner,
        compare=close(np.float32, 9 * c),
    )


def cases(context: Context) -> Iterator[Case]:
    yield from products(context)
    yield from map(fused, (64,) if context.quick else (256, 1024))
    if context.threads == 1:
        yield from small_products(context)
    yield from map(gemv, (64,) if context.quick else (512, 1024, 4096))
    for n in (64,) if context.quick else (512, 1024):
        yield syrk(n)
        yield trmm(n)
    yield batched(4, 8) if context.quick else batched(64, 64)
    shapes = [(1, 8, 8, 8)] if context.quick else [(1, 58, 64, 64), (4, 30, 128, 128)]
    for shape in shapes:
        yield convolution("NHWC", *shape)
        yield convolution("NCHW", *shape)
