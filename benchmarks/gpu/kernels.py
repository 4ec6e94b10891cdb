"""The kernels that are measured on a GPU: what each computes, how it is mapped, and what NumPy says.

All are of float32 but for the product of bfloat16 with sums of float32. A `Kernel` has a function
`make(target)`, sizes to measure and small ones for the emulator, its arguments made at random, the
right result, and how much work a call is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tilewright as tw

__all__ = ["KERNELS", "Arrays", "Kernel", "Size"]

Size = tuple[int, ...]
Arrays = list[Any]


def sgemm(target: str, multiples: bool) -> tw.Function:
    """Tiles of 128 x 128, k by 8; 256 threads with 8 x 8 sums each, as 2 x 2 groups of 4 x 4.

    The next tiles are copied, 16 bytes at a time, while threads work on these.
    """
    tile, depth, each = 128, 8, 4
    n, m, depths = tw.params("N M K")
    i, j, k = tw.iters("i j k")
    a = tw.input("A", [n, depths], tw.float32)
    b = tw.input("B", [depths, m], tw.float32)
    c = tw.computation("C", {i: n, j: m}, tw.sum(a[i, k] * b[k, j], over={k: depths}))
    context = [n % tile == 0, m % tile == 0, depths % depth == 0] if multiples else []
    f = tw.function("sgemm", outputs=[c], target=target, fast_math=True, context=context)
    c.tile(i, j, tile, tile)
    c.split("i1", tile // 2, "gi", "ii").split("ii", each, "ti", "ri")
    c.split("j1", tile // 2, "gj", "jj").split("jj", each, "tj", "rj").split(k, depth)
    c.reorder("i0", "j0", "k0", "ti", "tj", "k1", "gi", "ri", "gj", "rj")
    c.gpu_block("i0", "j0").gpu_thread("ti", "tj")
    c.unroll("gi").unroll("ri").unroll("gj")
    own = c.cache("C", "j0", memory="private").unroll("rj")
    # A lies transposed, so that a thread's four rows are neighbours; its loads stay in order, and
    # the padding puts the four elements that a thread stores at once into different banks.
    own.cache("A", "k0", memory="shared", order=[1, 0], pad=4, stages=2).reorder("i", "j")
    own.cache("B", "k0", memory="shared", stages=2)
    c.vectorize("rj", each)
    return f


def tensor_gemm(target: str) -> tw.Function:
    """Factors of bfloat16: tiles of 128 x 128, k by 64, in shared memory; 2 x 4 warps, each with
    64 x 32 sums in registers, by products of 16 x 8 x 16 on tensor cores.

    The next tiles are copied while warps work on these. Eight elements of padding put
    the rows that are loaded together into different banks.
    """
    tile, depth = 128, 64
    n, m, depths = tw.params("N M K")
    i, j, k = tw.iters("i j k")
    a = tw.input("A", [n, depths], tw.bfloat16)
    b = tw.input("B", [depths, m], tw.bfloat16)
    term = tw.cast(a[i, k], tw.float32) * tw.cast(b[k, j], tw.float32)
    c = tw.computation("C", {i: n, j: m}, tw.sum(term, over={k: depths}))
    context = [n % tile == 0, m % tile == 0, depths % depth == 0]
    f = tw.function("tensor_gemm", outputs=[c], target=target, context=context)
    c.tile(i, j, tile, tile).split(k, depth)
    c.split("i1", 64, "wi", "i2").split("i2", 16, "ri", "mi")
    c.split("j1", 32, "wj", "j2").split("j2", 8, "rj", "mj").split("k1", 16, "rk", "mk")
    c.reorder("i0", "j0", "k0", "wi", "wj", "rk", "ri", "rj", "mi", "mj", "mk")
    c.gpu_block("i0", "j0").gpu_thread("wi", "wj").gpu_mma("mi", "mj", "mk")
    c.unroll("rk").unroll("ri").unroll("rj")
    own = c.cache("C", "j0", memory="private")
    for factor in ("A", "B"):
        own.cache(factor, "k0", memory="shared", pad=8, stages=2)
    return f


def copy(target: str) -> tw.Function:
    """256 threads a block, four elements each."""
    n = tw.param("N")
    i = tw.iter("i")
    a = tw.input("A", [n], tw.float32)
    c = tw.computation("C", {i: n}, a[i])
    f = tw.function("copy", outputs=[c], target=target, context=[n % 1024 == 0])
    c.split(i, 1024).split("i1", 256, "each", "t").reorder("i0", "t", "each")
    c.gpu_block("i0").gpu_thread("t").unroll("each")
    return f


def blur(target: str) -> tw.Function:
    """The mean of 3 x 3 elements; a thread has four rows of a column and shares what they load."""
    n, m = tw.params("N M")
    i, j = tw.iters("i j")
    a = tw.input("A", [n + 2, m + 2], tw.float32)
    first, *others = (a[i + di, j + dj] for di in range(3) for dj in range(3))
    c = tw.computation("C", {i: n, j: m}, sum(others, start=first) * (1 / 9))
    context = [n % 16 == 0, m % 64 == 0]
    f = tw.function("blur", outputs=[c], target=target, fast_math=True, context=context)
    c.tile(i, j, 16, 64).split("i1", 4, "ti", "ri").reorder("i0", "j0", "ti", "j1", "ri")
    c.gpu_block("i0", "j0").gpu_thread("ti", "j1").unroll("ri")
    return f


def heat_2d(target: str) -> tw.Function:
    """One step of heat in the plane; the border stays."""
    n, m = tw.params("N M")
    i, j = tw.iters("i j")
    a = tw.input("A", [n, m], tw.float32)
    near = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
    value = a[i, j] + 0.1 * (near - 4 * a[i, j])
    b = tw.computation("B", {i: (1, n - 1), j: (1, m - 1)}, value, shape=[n, m])
    f = tw.function("heat_2d", outputs=[b], target=target, fast_math=True)
    b.tile(i, j, 16, 64).split("i1", 4, "ti", "ri").reorder("i0", "j0", "ti", "j1", "ri")
    b.gpu_block("i0", "j0").gpu_thread("ti", "j1").unroll("ri")
    return f


def heat_3d(target: str) -> tw.Function:
    """One step of heat in space; a thread goes through eight planes."""
    n = tw.param("N")
    i, j, k = tw.iters("i j k")
    a = tw.input("A", [n, n, n], tw.float32)
    near = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k]
    near = near + a[i, j, k - 1] + a[i, j, k + 1]
    inner = (1, n - 1)
    value = a[i, j, k] + 0.1 * (near - 6 * a[i, j, k])
    b = tw.computation("B", {i: inner, j: inner, k: inner}, value, shape=[n, n, n])
    f = tw.function("heat_3d", outputs=[b], target=target, fast_math=True)
    b.split(i, 8).tile(j, k, 4, 64).reorder("i0", "j0", "k0", "j1", "k1", "i1")
    b.gpu_block("i0", "j0", "k0").gpu_thread("j1", "k1").unroll("i1")
    return f


def softmax(target: str, threads: int = 256) -> tw.Function:
    """A block for each row: maximum and sum over all of its threads, several elements in each."""
    rows, m = tw.params("R M")
    i, j, k, r = tw.iters("i j k r")
    a = tw.input("A", [rows, m], tw.float32)
    top = tw.computation("top", {i: rows}, tw.max(a[i, k], over={k: m}))
    e = tw.computation("E", {i: rows, j: m}, tw.exp(a[i, j] - top[i]))
    total = tw.computation("total", {i: rows}, tw.sum(e[i, r], over={r: m}))
    y = tw.computation("Y", {i: rows, j: m}, e[i, j] / total[i])
    f = tw.function("softmax", outputs=[y], target=target, fast_math=True)
    e.inline()
    y.split(j, threads).interchange("j0", "j1").gpu_block("i").gpu_thread("j1")
    for whole, over in ((total, "r"), (top, "k")):
        whole.split(over, threads).interchange(f"{over}0", f"{over}1").gpu_thread(f"{over}1")
        whole.compute_at(y, "i").store_at(y, "i", memory="shared")
    return f


def batched_gemm(target: str, n: int = 32) -> tw.Function:
    """A block for each product of small matrices: both in shared memory, 4 x 4 sums a thread."""
    count = tw.param("batch")
    s, i, j, k = tw.iters("s i j k")
    a = tw.input("A", [count, n, n], tw.float32)
    b = tw.input("B", [count, n, n], tw.float32)
    product = tw.sum(a[s, i, k] * b[s, k, j], over={k: n})
    c = tw.computation("C", {s: count, i: n, j: n}, product)
    f = tw.function("batched_gemm", outputs=[c], target=target, fast_math=True)
    c.split(i, 4, "ti", "ri").split(j, 4, "tj", "rj").reorder("s", "ti", "tj", k, "ri", "rj")
    c.gpu_block("s").gpu_thread("ti", "tj").unroll("ri").unroll("rj")
    c.cache("A", "s", memory="shared", order=[0, 2, 1])
    c.cache("B", "s", memory="shared")
    c.cache("C", "s", memory="private")
    return f


# ---- what they are given, and what is right ----


@dataclass(frozen=True)
class Kernel:
    """A kernel to be measured.

    Attributes:
        name: e.g. ``"sgemm"``; peers go by it.
        make: the function for a target.
        inputs: random arguments for a size.
        output: the shape of the result for a size.
        expected: what NumPy says, rows `rows` of the result only if they are given.
        work: how many operations, or bytes from and to the device's memory, a call is.
        unit: ``"GFLOP/s"`` or ``"GB/s"``.
        sizes: what is measured; the first one first, the others at the end if time is left.
        small: sizes for the emulator.
        steps: a call is so many launches, each of which reads what the one before wrote.
        sampled: so many rows are compared, where NumPy would take too long for all; 0 is all.
        goals: the ratio that is to be reached by peer; under ``"copy"`` of the copy's rate.
        positive: nothing is subtracted on the way to a result, so that it is exact relative to itself.
    """

    name: str
    make: Callable[[str], tw.Function]
    inputs: Callable[[Size, np.random.Generator], Arrays]
    output: Callable[[Size], Size]
    expected: Callable[[Arrays, Any], Any]
    work: Callable[[Size], float]
    unit: str
    sizes: Sequence[Size]
    small: Sequence[Size]
    steps: int = 1
    sampled: int = 0
    goals: tuple[tuple[str, float], ...] = ()
    positive: bool = False

    def tolerances(self, arrays: Arrays) -> dict[str, float]:
        """How far from NumPy's a result may be, as `numpy.testing.assert_allclose` takes it."""
        if self.positive:
            # An exponential of up to 8 has some 8 * 2**-24 of its argument's rounding, a sum of
            # thousands of positive terms less than that in any usual order.
            return {"rtol": 1e-5, "atol": 0}
        # Terms of both signs may leave little of themselves. Rounding errors of sums of random
        # products grow with the root of their number; those of tf32 would be ten times as large.
        terms = arrays[0].shape[-1] if self.unit == "GFLOP/s" else 1
        absolute = 2e-6 * math.sqrt(terms)
        if self.peers == "bf16 gemm":
            # Tensor cores cut sums off after every few terms, all to the same side, so that the
            # errors add up. A sum without one of its terms is a hundred times as far away.
            absolute = max(absolute, 4e-9 * terms**1.5)
        return {"rtol": 2e-4, "atol": absolute}

    @property
    def peers(self) -> str:
        """The name that peers know: all variants of a kernel have the same peers."""
        return self.name.split(",")[0]


def _random(generator: np.random.Generator, *shape: int) -> Any:
    values = generator.random(shape, dtype=np.float32)
    values -= np.float32(0.5)
    return values


def _random_bfloat16(generator: np.random.Generator, *shape: int) -> Any:
    import ml_dtypes

    return _random(generator, *shape).astype(ml_dtypes.bfloat16)


def _product(arrays: Arrays, rows: Any) -> Any:
    a, b = arrays
    if rows is not None:
        a, b = a[rows], b[rows] if b.ndim == 3 else b
    return a.astype(np.float64) @ b.astype(np.float64)


def _blurred(arrays: Arrays, rows: Any) -> Any:
    (a,) = arrays
    n, m = a.shape[0] - 2, a.shape[1] - 2
    columns = a[:, :m] + a[:, 1 : m + 1]
    columns += a[:, 2:]
    result = columns[:n] + columns[1 : n + 1]
    result += columns[2:]
    result *= np.float32(1 / 9)
    return result if rows is None else result[rows]


def _heated(arrays: Arrays, rows: Any) -> Any:
    values = arrays[0]
    for _ in range(2):
        inner = (slice(1, -1),) * values.ndim
        near = np.float32(1 - 0.2 * values.ndim) * values[inner]
        for axis in range(values.ndim):
            for side in (slice(None, -2), slice(2, None)):
                shifted = (*inner[:axis], side, *inner[axis + 1 :])
                near += np.float32(0.1) * values[shifted]
        values = values.copy()
        values[inner] = near
    return values if rows is None else values[rows]


def _soft(arrays: Arrays, rows: Any) -> Any:
    values = arrays[0] if rows is None else arrays[0][rows]
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _gemm(
    name: str,
    make: Callable[[str], tw.Function],
    sizes: Sequence[Size],
    small: Sequence[Size],
    goal: float | None = None,
    random: Callable[..., Any] = _random,
) -> Kernel:
    """A product of N x K by K x M; `goal` is a share of cuBLAS's speed."""
    return Kernel(
        name,
        make,
        lambda size, generator: [
            random(generator, size[0], size[2]),
            random(generator, size[2], size[1]),
        ],
        lambda size: size[:2],
        _product,
        lambda size: 2.0 * size[0] * size[1] * size[2],
        "GFLOP/s",
        sizes,
        small,
        sampled=48,
        goals=(("cuBLAS", goal),) if goal else (),
    )


_SQUARES = [(size,) * 3 for size in (4096, 1024, 2048, 8192)]
KERNELS = [
    Kernel(
        "copy",
        copy,
        lambda size, random: [_random(random, *size)],
        lambda size: size,
        lambda arrays, rows: arrays[0] if rows is None else arrays[0][rows],
        lambda size: 8.0 * size[0],
        "GB/s",
        [(1 << 26,)],
        [(2048,)],
    ),
    _gemm("bf16 gemm", tensor_gemm, _SQUARES, [(128, 128, 64)], 0.85, _random_bfloat16),
    _gemm("sgemm", lambda target: sgemm(target, True), _SQUARES, [(128, 256, 24)], 0.9),
    Kernel(
        "blur",
        blur,
        lambda size, random: [_random(random, size[0] + 2, size[1] + 2)],
        lambda size: size,
        _blurred,
        lambda size: 8.0 * size[0] * size[1],
        "GB/s",
        [(8192, 8192)],
        [(32, 128)],
        goals=(("copy", 0.9),),
    ),
    Kernel(
        "heat 2D",
        heat_2d,
        lambda size, random: [_random(random, *size)],
        lambda size: size,
        _heated,
        lambda size: 2 * 8.0 * size[0] * size[1],
        "GB/s",
        [(8192, 8192)],
        [(37, 70)],
        steps=2,
        goals=(("copy", 0.9),),
    ),
    Kernel(
        "heat 3D",
        heat_3d,
        lambda size, random: [_random(random, *size)],
        lambda size: size,
        _heated,
        lambda size: 2 * 8.0 * size[0] ** 3,
        "GB/s",
        [(512, 512, 512)],
        [(13, 13, 13)],
        steps=2,
        goals=(("copy", 0.9),),
    ),
    Kernel(
        "softmax",
        softmax,
        lambda size, random: [8 * _random(random, *size)],
        lambda size: size,
        _soft,
        lambda size: 8.0 * size[0] * size[1],
        "GB/s",
        [(16384, 4096)],
        [(3, 300), (2, 100)],
        sampled=512,
        positive=True,
    ),
    Kernel(
        "batched gemm",
        batched_gemm,
        lambda size, random: [_random(random, *size), _random(random, *size)],
        lambda size: size,
        _product,
        lambda size: 2.0 * size[0] * 32**3,
        "GFLOP/s",
        [(16384, 32, 32)],
        [(3, 32, 32)],
        sampled=512,
    ),
    _gemm(
        "sgemm, any size",
        lambda target: sgemm(target, False),
        [(4096,) * 3, (4095,) * 3],
        [(128, 128, 8), (131, 70, 9)],
    ),
]
