"""Programs as they are written down, without a command: what `auto_schedule(target="cuda")` makes of them is measured.

A `Program` is a `Kernel` whose function is declared and given to the planner, and which knows how the same is
written with PyTorch and CuPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tilewright as tw
from kernels import Arrays, Kernel, Size

__all__ = ["PROGRAMS", "Program"]

N, M, K, D, H = tw.params("N M K D H")
b, i, j, k, d, e, m, r, t, y, x = tw.iters("b i j k d e m r t y x")

HEADS, CHANNELS = 32, 64
STEPS = 20
BINS = 256

Library = Any
"""The module torch or cupy."""


@dataclass(frozen=True)
class Program(Kernel):
    """A program for the planner.

    Attributes:
        torch: the same by PyTorch: a function of the module that gives one of its tensors.
        cupy: likewise by CuPy; None where it has no such thing.
        relative, absolute: how far from NumPy's a result may be.
        fused: whether torch.compile has something to fuse.
        keywords: arguments of a call that are no arrays.
    """

    torch: Callable[[Library], Callable[..., Any]] | None = None
    cupy: Callable[[Library], Callable[..., Any]] | None = None
    relative: float = 1e-4
    absolute: float = 0.0
    fused: bool = False
    keywords: dict[str, int] = field(default_factory=dict)

    def tolerances(self, arrays: Arrays) -> dict[str, float]:
        """How far from NumPy's a result may be."""
        return {"rtol": self.relative, "atol": self.absolute}


def planned(declare: Callable[[], tw.Computation]) -> Callable[[str], tw.Function]:
    """A program as its author leaves it to the planner."""

    def make(target: str) -> tw.Function:
        f = tw.function(declare.__name__, outputs=[declare()], fast_math=True)
        f.auto_schedule(target=target)
        return f

    return make


def _array(name: str, *extents: Any, dtype: tw.DType = tw.float32) -> tw.Input:
    return tw.input(name, list(extents), dtype)


# ---- what is declared ----


def product() -> tw.Computation:
    A, B = _array("A", N, K), _array("B", K, M)
    return tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))


def half_product() -> tw.Computation:
    A, B = _array("A", N, K, dtype=tw.float16), _array("B", K, M, dtype=tw.float16)
    term = tw.cast(A[i, k], tw.float32) * tw.cast(B[k, j], tw.float32)
    return tw.computation("C", {i: N, j: M}, tw.sum(term, over={k: K}))


def soft_rows() -> tw.Computation:
    A = _array("A", N, M)
    top, same = (tw.max(A[i, over], over={over: M}) for over in (d, e))
    total = tw.sum(tw.exp(A[i, k] - same), over={k: M})
    return tw.computation("Y", {i: N, j: M}, tw.exp(A[i, j] - top) / total)


def layer_norm() -> tw.Computation:
    A, weight, bias = _array("A", N, M), _array("weight", M), _array("bias", M)
    mean = tw.computation("mean", {i: N}, tw.sum(A[i, k], over={k: M}) / M)
    centred = A[i, d] - mean[i]
    variance = tw.computation("variance", {i: N}, tw.sum(centred * centred, over={d: M}) / M)
    scaled = (A[i, j] - mean[i]) * tw.rsqrt(variance[i] + 1e-5)
    return tw.computation("Y", {i: N, j: M}, scaled * weight[j] + bias[j])


def attention() -> tw.Computation:
    Q, T, V = (_array(name, HEADS, N, CHANNELS) for name in "QTV")
    score = tw.sum(Q[b, i, d] * T[b, j, d], over={d: CHANNELS}) / math.sqrt(CHANNELS)
    S = tw.computation("S", {b: HEADS, i: N, j: N}, score)
    top = tw.max(S[b, i, k], over={k: N})
    E = tw.computation("E", {b: HEADS, i: N, j: N}, tw.exp(S[b, i, j] - top))
    total = tw.computation("total", {b: HEADS, i: N}, tw.sum(E[b, i, m], over={m: N}))
    mixed = tw.sum(E[b, i, m] * V[b, m, d], over={m: N})
    return tw.computation("Y", {b: HEADS, i: N, d: CHANNELS}, mixed / total[b, i])


def convolution() -> tw.Computation:
    A = _array("A", N, CHANNELS, H + 2, H + 2)
    F, bias = _array("F", CHANNELS, CHANNELS, 3, 3), _array("bias", CHANNELS)
    over = {r: CHANNELS, d: 3, e: 3}
    total = tw.sum(A[b, r, y + d, x + e] * F[k, r, d, e], over=over)
    domain = {b: N, k: CHANNELS, y: H, x: H}
    return tw.computation("Y", domain, tw.maximum(total + bias[k], 0))


def row_sums() -> tw.Computation:
    A = _array("A", N, M)
    return tw.computation("S", {i: N}, tw.sum(A[i, k], over={k: M}))


def column_sums() -> tw.Computation:
    A = _array("A", N, M)
    return tw.computation("S", {j: M}, tw.sum(A[k, j], over={k: N}))


def total() -> tw.Computation:
    A = _array("A", N, M)
    return tw.computation("S", {}, tw.sum(A[i, k], over={i: N, k: M}))


def matrix_vector() -> tw.Computation:
    A, v = _array("A", N, M), _array("x", M)
    return tw.computation("Y", {i: N}, tw.sum(A[i, k] * v[k], over={k: M}))


def outer_product() -> tw.Computation:
    v, w = _array("v", N), _array("w", M)
    return tw.computation("C", {i: N, j: M}, v[i] * w[j])


def transpose() -> tw.Computation:
    A = _array("A", M, N)
    return tw.computation("C", {i: N, j: M}, A[j, i])


def histogram() -> tw.Computation:
    A = _array("A", N, dtype=tw.uint8)
    return tw.computation(
        "C", {i: BINS}, tw.sum(tw.cast(1, tw.int32), over={k: N}, where=A[k] == i)
    )


def jacobi_2d() -> tw.Computation:
    A = _array("A", N, N)
    u = tw.computation("U", {t: STEPS + 1, i: N, j: N}, dtype=tw.float32)
    inner = (i > 0) & (i < N - 1) & (j > 0) & (j < N - 1)
    u.define(t == 0, A[i, j])
    near = u[t - 1, i, j - 1] + u[t - 1, i, j + 1] + u[t - 1, i + 1, j] + u[t - 1, i - 1, j]
    u.define((t > 0) & inner, 0.2 * (u[t - 1, i, j] + near))
    u.define((t > 0) & ~inner, u[t - 1, i, j])
    return tw.computation("last", {i: N, j: N}, u[STEPS, i, j])


def heat_3d() -> tw.Computation:
    A = _array("A", N, N, N)
    u = tw.computation("U", {t: STEPS + 1, i: N, j: N, k: N}, dtype=tw.float32)
    inner = (i > 0) & (i < N - 1) & (j > 0) & (j < N - 1) & (k > 0) & (k < N - 1)
    u.define(t == 0, A[i, j, k])
    old = u[t - 1, i, j, k]
    along = [
        0.125 * (u[t - 1, i + p, j + q, k + s] - 2 * old + u[t - 1, i - p, j - q, k - s])
        for p, q, s in ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    ]
    u.define((t > 0) & inner, along[0] + along[1] + along[2] + old)
    u.define((t > 0) & ~inner, old)
    return tw.computation("last", {i: N, j: N, k: N}, u[STEPS, i, j, k])


# ---- what they are given, what is right, and the same by others ----


def _random(generator: np.random.Generator, *shape: int) -> Any:
    values = generator.random(shape, dtype=np.float32)
    values -= np.float32(0.5)
    return values


def _some(values: Any, rows: Any) -> Any:
    return values if rows is None else values[rows]


def _expected_product(arrays: Arrays, rows: Any) -> Any:
    return _some(arrays[0], rows).astype(np.float64) @ arrays[1].astype(np.float64)


def _expected_softmax(arrays: Arrays, rows: Any) -> Any:
    values = _some(arrays[0], rows)
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _expected_layer_norm(arrays: Arrays, rows: Any) -> Any:
    values = _some(arrays[0], rows).astype(np.float64)
    centred = values - values.mean(axis=1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    return centred / scale * arrays[1] + arrays[2]


def _expected_attention(arrays: Arrays, rows: Any) -> Any:
    q, kept, v = (_some(each, rows).astype(np.float64) for each in arrays)
    scores = q @ kept.swapaxes(1, 2) / math.sqrt(CHANNELS)
    powers = np.exp(scores - scores.max(axis=2, keepdims=True))
    return powers / powers.sum(axis=2, keepdims=True) @ v


def _expected_convolution(arrays: Arrays, rows: Any) -> Any:
    a, f, bias = arrays
    a = _some(a, rows).astype(np.float64)
    h = a.shape[2] - 2
    result = np.zeros((a.shape[0], CHANNELS, h, h))
    for row in range(3):
        for column in range(3):
            part = a[:, :, row : row + h, column : column + h]
            result += np.einsum("bchw,fc->bfhw", part, f[:, :, row, column], optimize=True)
    return np.maximum(result + bias[:, None, None], 0)


def _expected_steps(arrays: Arrays, rows: Any) -> Any:
    values = arrays[0]
    for _ in range(STEPS):
        values = _stepped(values, values.copy())
    return _some(values, rows)


def _stepped(old: Any, new: Any) -> Any:
    """A step from one array to the other, in any library's arrays."""
    inner = (slice(1, -1),) * old.ndim

    def near(axis: int, side: int) -> Any:
        along = slice(2, None) if side > 0 else slice(None, -2)
        return old[(*inner[:axis], along, *inner[axis + 1 :])]

    if old.ndim == 2:
        new[inner] = 0.2 * (old[inner] + near(1, -1) + near(1, 1) + near(0, 1) + near(0, -1))
    else:
        along = [0.125 * (near(a, 1) - 2 * old[inner] + near(a, -1)) for a in range(3)]
        new[inner] = along[0] + along[1] + along[2] + old[inner]
    return new


def _steps_with(copy: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def steps(values: Any) -> Any:
        old, new = copy(values), copy(values)
        for _ in range(STEPS):
            old, new = _stepped(old, new), old
        return old

    return steps


def _torch_convolution(torch: Library) -> Callable[..., Any]:
    def call(a: Any, f: Any, bias: Any) -> Any:
        return torch.relu(torch.nn.functional.conv2d(a, f, bias))

    return call


def _torch_attention(torch: Library) -> Callable[..., Any]:
    def call(q: Any, kept: Any, v: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q[None], kept[None], v[None])[0]

    return call


def _torch_layer_norm(torch: Library) -> Callable[..., Any]:
    return lambda a, w, c: torch.nn.functional.layer_norm(a, a.shape[1:], w, c, 1e-5)


def _torch_half(torch: Library) -> Callable[..., Any]:
    def call(a: Any, b: Any) -> Any:
        return torch.mm(a, b, out_dtype=torch.float32)

    return call


def _cupy_softmax(cp: Library) -> Callable[..., Any]:
    def call(a: Any) -> Any:
        powers = cp.exp(a - a.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    return call


def _matrix(size: Size, generator: np.random.Generator) -> Arrays:
    return [_random(generator, *size)]


def _pair(size: Size, generator: np.random.Generator) -> Arrays:
    return [_random(generator, size[0], size[2]), _random(generator, size[2], size[1])]


def _half_pair(size: Size, generator: np.random.Generator) -> Arrays:
    return [each.astype(np.float16) for each in _pair(size, generator)]


def _bytes_once(arrays: int) -> Callable[[Size], float]:
    return lambda size: 4.0 * arrays * math.prod(size)


def _operations(each: float) -> Callable[[Size], float]:
    return lambda size: each * math.prod(size)


def _products(
    name: str, declare: Callable[[], tw.Computation], sizes: Sequence[Size], **of_program: Any
) -> Program:
    return Program(
        name,
        planned(declare),
        output=lambda size: size[:2],
        expected=_expected_product,
        work=_operations(2),
        unit="GFLOP/s",
        sizes=sizes,
        small=[(33, 70, 20), (128, 128, 64)],
        sampled=48,
        relative=2e-4,
        absolute=1e-3,
        **of_program,
    )


def _sums(
    name: str,
    declare: Callable[[], tw.Computation],
    axis: int | None,
    output: Callable[[Size], Size],
    small: Sequence[Size],
) -> Program:
    return Program(
        name,
        planned(declare),
        _matrix,
        output,
        lambda arrays, rows: np.sum(arrays[0], axis=axis, dtype=np.float64),
        _bytes_once(1),
        "GB/s",
        [(8192, 8192)],
        small,
        torch=lambda torch: lambda a: torch.sum(a) if axis is None else torch.sum(a, axis),
        cupy=lambda cp: lambda a: cp.sum(a, axis),
        relative=1e-3,
        absolute=0.05 if axis is None else 2e-3,
    )


def _by_rows(
    name: str,
    declare: Callable[[], tw.Computation],
    inputs: Callable[[Size, np.random.Generator], Arrays],
    expected: Callable[[Arrays, Any], Any],
    **of_program: Any,
) -> Program:
    return Program(
        name,
        planned(declare),
        inputs,
        lambda size: size,
        expected,
        _bytes_once(2),
        "GB/s",
        [(16384, 4096)],
        [(3, 300), (33, 64)],
        sampled=256,
        fused=True,
        **of_program,
    )


def _stencil(
    name: str,
    declare: Callable[[], tw.Computation],
    sizes: Sequence[Size],
    small: Sequence[Size],
) -> Program:
    return Program(
        name,
        planned(declare),
        _matrix,
        lambda size: size,
        _expected_steps,
        _bytes_once(2 * STEPS),
        "GB/s",
        sizes,
        small,
        torch=lambda torch: _steps_with(lambda a: a.clone()),
        cupy=lambda cp: _steps_with(lambda a: a.copy()),
        absolute=1e-6,
    )


PROGRAMS: list[Kernel] = [
    _products(
        "sgemm, found",
        product,
        [(4096, 4096, 4096), (1024, 1024, 1024)],
        inputs=_pair,
        torch=lambda torch: torch.mm,
        cupy=lambda cp: cp.matmul,
    ),
    _products(
        "f16 gemm",
        half_product,
        [(4096, 4096, 4096)],
        inputs=_half_pair,
        torch=_torch_half,
    ),
    _by_rows(
        "softmax, found",
        soft_rows,
        lambda size, generator: [8 * _random(generator, *size)],
        _expected_softmax,
        torch=lambda torch: lambda a: torch.softmax(a, 1),
        cupy=_cupy_softmax,
        relative=2e-5,
    ),
    _by_rows(
        "layer norm",
        layer_norm,
        lambda size, generator: [
            _random(generator, *size),
            _random(generator, size[1]),
            _random(generator, size[1]),
        ],
        _expected_layer_norm,
        torch=_torch_layer_norm,
        absolute=1e-4,
    ),
    Program(
        "attention",
        planned(attention),
        lambda size, generator: [_random(generator, HEADS, *size, CHANNELS) for _ in range(3)],
        lambda size: (HEADS, *size, CHANNELS),
        _expected_attention,
        lambda size: 4.0 * HEADS * size[0] ** 2 * CHANNELS,
        "GFLOP/s",
        [(1024,)],
        [(40,)],
        torch=_torch_attention,
        absolute=1e-4,
        sampled=2,
    ),
    Program(
        "conv + bias + relu",
        planned(convolution),
        lambda size, generator: [
            _random(generator, size[0], CHANNELS, size[1] + 2, size[1] + 2),
            _random(generator, CHANNELS, CHANNELS, 3, 3),
            _random(generator, CHANNELS),
        ],
        lambda size: (size[0], CHANNELS, size[1], size[1]),
        _expected_convolution,
        lambda size: 2.0 * size[0] * CHANNELS**2 * 9 * size[1] ** 2,
        "GFLOP/s",
        [(32, 56)],
        [(1, 9)],
        torch=_torch_convolution,
        sampled=2,
        absolute=1e-3,
        fused=True,
    ),
    _sums("row sums", row_sums, 1, lambda size: size[:1], [(19, 100)]),
    _sums("column sums", column_sums, 0, lambda size: size[1:], [(100, 19)]),
    _sums("sum of all", total, None, lambda size: (), [(19, 100)]),
    Program(
        "A @ x",
        planned(matrix_vector),
        lambda size, generator: [_random(generator, *size), _random(generator, size[1])],
        lambda size: size[:1],
        _expected_product,
        _bytes_once(1),
        "GB/s",
        [(8192, 8192)],
        [(19, 100)],
        torch=lambda torch: torch.mv,
        cupy=lambda cp: cp.matmul,
        absolute=1e-3,
    ),
    Program(
        "outer product",
        planned(outer_product),
        lambda size, generator: [_random(generator, size[0]), _random(generator, size[1])],
        lambda size: size,
        lambda arrays, rows: np.outer(*arrays),
        _bytes_once(1),
        "GB/s",
        [(8192, 8192)],
        [(19, 100)],
        torch=lambda torch: torch.outer,
        cupy=lambda cp: cp.outer,
    ),
    Program(
        "transpose",
        planned(transpose),
        lambda size, generator: [_random(generator, size[1], size[0])],
        lambda size: size,
        lambda arrays, rows: arrays[0].T,
        _bytes_once(2),
        "GB/s",
        [(8192, 8192)],
        [(19, 100), (64, 64)],
        torch=lambda torch: lambda a: a.T.contiguous(),
        cupy=lambda cp: lambda a: cp.ascontiguousarray(a.T),
    ),
    Program(
        "histogram",
        planned(histogram),
        lambda size, generator: [generator.integers(0, BINS, size, np.uint8)],
        lambda size: (BINS,),
        lambda arrays, rows: np.bincount(arrays[0], minlength=BINS).astype(np.int32),
        lambda size: 1.0 * size[0],
        "GB/s",
        [(1 << 26,)],
        [(1000,)],
        torch=lambda torch: lambda a: torch.bincount(a, minlength=BINS),
        cupy=lambda cp: lambda a: cp.bincount(a, minlength=BINS),
    ),
    _stencil("jacobi-2d", jacobi_2d, [(4096, 4096)], [(37, 37)]),
    _stencil("heat-3d", heat_3d, [(256, 256, 256)], [(11, 11, 11)]),
]
