"""Some forty declared programs, small to large: what `auto_schedule` finds beside the default schedule, the loops as
declared, and these loops as C (`f.c`) by gcc and clang at -O3.

No schedule of ours may lose to another one that the library has at hand, nor to the compilers: the goal is 0.95,
because of the clock. Ours is what `auto_schedule` finds.
"""

from __future__ import annotations

import ctypes
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import tilewright as tw
from harness import Case, Context, Missing
from topics import defaults

TITLE = "No schedule loses: found, default, declared, gcc and clang"
THREADS = (1, 2)

Array = npt.NDArray[Any]
Shapes = list[tuple[int, ...]]
Declared = tuple[list[tw.Computation], list[tw.Input]]

i, j, k, c, t, p, q = tw.iters("i j k c t p q")
N, M, K, T = tw.params("N M K T", "N >= 1 and M >= 1 and K >= 1 and T >= 1")
COMPILERS = {"gcc": "gcc", "clang": "clang-19"}
FLAGS = ["-O3", "-march=native", "-shared", "-fPIC", "-lm"]


@dataclass(frozen=True)
class Program:
    """A program and what it is called with: the shapes of its inputs at each size."""

    make: Callable[[], Declared]
    shapes: Callable[[int], Shapes]
    sizes: tuple[int, ...]
    dtype: str = "float32"


def array(name: str, *extents: Any, dtype: Any = tw.float32) -> tw.Input:
    made: tw.Input = tw.input(name, list(extents), dtype)
    return made


def one(domain: dict[Any, Any], value: Any, *inputs: tw.Input) -> Declared:
    return [tw.computation("R", domain, value)], list(inputs)


def edge(x: Any, extent: Any) -> Any:
    return tw.clamp(x, 0, extent - 1)


# ---- dense ----


def matvec() -> Declared:
    A, x = array("A", N, K), array("x", K)
    return one({i: N}, tw.sum(A[i, k] * x[k], over={k: K}), A, x)


def vecmat() -> Declared:
    A, x = array("A", K, N), array("x", K)
    return one({i: N}, tw.sum(A[k, i] * x[k], over={k: K}), A, x)


def dot() -> Declared:
    x, y = array("x", K), array("y", K)
    return one({}, tw.sum(x[k] * y[k], over={k: K}), x, y)


def few_rows() -> Declared:
    A = array("A", 4, K)
    return one({i: 4}, tw.sum(A[i, k], over={k: K}), A)


def argmax() -> Declared:
    x = array("x", K)
    return one({}, tw.argmax(x[k], over={k: K}), x)


def outer() -> Declared:
    x, y = array("x", N), array("y", M)
    return one({i: N, j: M}, x[i] * y[j], x, y)


def syrk() -> Declared:
    A = array("A", N, K)
    return one({i: N, j: N}, tw.sum(A[i, k] * A[j, k], over={k: K}), A)


def distances() -> Declared:
    A, B = array("A", N, 3), array("B", M, 3)
    near = tw.sum((A[i, c] - B[j, c]) * (A[i, c] - B[j, c]), over={c: 3})
    return one({i: N, j: M}, near, A, B)


def gram_of_pairs() -> Declared:
    A, B = array("A", N, 2, dtype=tw.float64), array("B", N, 2, dtype=tw.float64)
    return one({i: N}, A[i, 0] * B[i, 0] + A[i, 1] * B[i, 1], A, B)


# ---- stencils ----


def jacobi_step() -> Declared:
    A = array("A", N + 2, M + 2)
    around = A[i, j + 1] + A[i + 2, j + 1] + A[i + 1, j] + A[i + 1, j + 2]
    return one({i: N, j: M}, around * 0.25, A)


def heat_1d() -> Declared:
    A = array("A", N)

    def step(x: Any) -> Any:
        inside = (i > 0) & (i < N - 1)
        mean = 0.25 * x[t - 1, i - 1] + 0.5 * x[t - 1, i] + 0.25 * x[t - 1, i + 1]
        return [(t == 0, A[i]), (t > 0, tw.select(inside, mean, x[t - 1, i]))]

    X = tw.computation("X", {t: 21, i: N}, step, dtype=tw.float32)
    return [tw.computation("R", {i: N}, X[20, i])], [A]


def laplacian_3d() -> Declared:
    A = array("A", N + 2, N + 2, N + 2)
    a = A[i, j + 1, k + 1] + A[i + 2, j + 1, k + 1] + A[i + 1, j, k + 1]
    b = A[i + 1, j + 2, k + 1] + A[i + 1, j + 1, k] + A[i + 1, j + 1, k + 2]
    return one({i: N, j: N, k: N}, a + b - 6 * A[i + 1, j + 1, k + 1], A)


# ---- images ----


def blur_hwc() -> Declared:
    A = array("A", N + 2, M + 2, 3, dtype=tw.uint8)
    total = sum(tw.cast(A[i + a, j + b, c], tw.uint16) for a in range(3) for b in range(3))
    return one({i: N, j: M, c: 3}, tw.cast(total // 9, tw.uint8), A)


def blur_hwc_float() -> Declared:
    A = array("A", N + 2, M + 2, 3)
    return one({i: N, j: M, c: 3}, tw.sum(A[i + p, j + q, c], over={p: 3, q: 3}) / 9, A)


def unsharp_hwc() -> Declared:
    A = array("A", N, M, 3)
    row: dict[Any, Any] = {i: N, j: M, c: 3}
    X = tw.computation(
        "X", row, (A[i, edge(j - 1, M), c] + 2 * A[i, j, c] + A[i, edge(j + 1, M), c]) / 4
    )
    Y = tw.computation(
        "Y", row, (X[edge(i - 1, N), j, c] + 2 * X[i, j, c] + X[edge(i + 1, N), j, c]) / 4
    )
    return [tw.computation("R", row, 2 * A[i, j, c] - Y[i, j, c])], [A]


def gray_bytes() -> Declared:
    A = array("A", N, M, 3, dtype=tw.uint8)
    r, g, b = (tw.cast(A[i, j, n], tw.uint16) for n in range(3))
    return one({i: N, j: M}, tw.cast((77 * r + 150 * g + 29 * b) // 256, tw.uint8), A)


def halve() -> Declared:
    A = array("A", 2 * N, 2 * M)
    four = A[2 * i, 2 * j] + A[2 * i, 2 * j + 1] + A[2 * i + 1, 2 * j] + A[2 * i + 1, 2 * j + 1]
    return one({i: N, j: M}, 0.25 * four, A)


def planes() -> Declared:
    A = array("A", N, M, 3)
    return one({c: 3, i: N, j: M}, A[i, j, c], A)


def pixels() -> Declared:
    A = array("A", 3, N, M)
    return one({i: N, j: M, c: 3}, A[c, i, j], A)


def swapped_channels() -> Declared:
    A = array("A", N, M, 3, dtype=tw.uint8)
    return one({i: N, j: M, c: 3}, A[i, j, 2 - c], A)


def gains() -> Declared:
    A, gain = array("A", N, M, 3), array("gain", 3)
    return one({i: N, j: M, c: 3}, A[i, j, c] * gain[c], A, gain)


def alpha_blend() -> Declared:
    A, B, w = array("A", N, M, 3), array("B", N, M, 3), array("w", N, M)
    return one({i: N, j: M, c: 3}, A[i, j, c] * w[i, j] + B[i, j, c] * (1 - w[i, j]), A, B, w)


def rgba() -> Declared:
    A = array("A", N, M, 4)
    return one({i: N, j: M, c: 4}, tw.minimum(tw.maximum(A[i, j, c] * 1.5 - 0.2, 0), 1), A)


def harris() -> Declared:
    A = array("A", N, M)
    up, down, left, right = edge(i - 1, N), edge(i + 1, N), edge(j - 1, M), edge(j + 1, M)
    box = {i: N, j: M}
    X = tw.computation("X", box, A[i, right] - A[i, left])
    Y = tw.computation("Y", box, A[down, j] - A[up, j])

    def window(name: str, value: Callable[[Any, Any], Any]) -> tw.Computation:
        near = [value(a, b) for a in (up, i, down) for b in (left, j, right)]
        return tw.computation(name, box, sum(near[1:], near[0]))

    XX = window("XX", lambda a, b: X[a, b] * X[a, b])
    YY = window("YY", lambda a, b: Y[a, b] * Y[a, b])
    XY = window("XY", lambda a, b: X[a, b] * Y[a, b])
    trace = XX[i, j] + YY[i, j]
    value = XX[i, j] * YY[i, j] - XY[i, j] * XY[i, j] - 0.04 * trace * trace
    return [tw.computation("R", box, value)], [A]


# ---- machine learning ----


def bias_relu() -> Declared:
    A, B, b = array("A", N, K), array("B", K, M), array("b", M)
    product = tw.sum(A[i, k] * B[k, j], over={k: K})
    return one({i: N, j: M}, tw.maximum(product + b[j], 0), A, B, b)


def layer_norm() -> Declared:
    A = array("A", N, M)
    mean = tw.computation("mean", {i: N}, tw.sum(A[i, k], over={k: M}) / M)
    square = (A[i, k] - mean[i]) * (A[i, k] - mean[i])
    spread = tw.computation("spread", {i: N}, tw.sum(square, over={k: M}) / M)
    return one({i: N, j: M}, (A[i, j] - mean[i]) / tw.sqrt(spread[i] + 1e-5), A)


def max_pool() -> Declared:
    A = array("A", K, 2 * N, 2 * M)
    return one({k: K, i: N, j: M}, tw.max(A[k, 2 * i + p, 2 * j + q], over={p: 2, q: 2}), A)


def gelu() -> Declared:
    A = array("A", N)
    return one({i: N}, 0.5 * A[i] * (1 + tw.tanh(0.79788456 * (A[i] + 0.044715 * A[i] ** 3))), A)


def depthwise() -> Declared:
    A, W = array("A", N + 2, M + 2, K), array("W", 3, 3, K)
    total = tw.sum(A[i + p, j + q, k] * W[p, q, k], over={p: 3, q: 3})
    return one({i: N, j: M, k: K}, total, A, W)


# ---- signals ----


def fir() -> Declared:
    x, h = array("x", N + 63), array("h", 64)
    return one({i: N}, tw.sum(x[i + k] * h[k], over={k: 64}), x, h)


def decimate() -> Declared:
    x, h = array("x", 2 * N + 16), array("h", 16)
    return one({i: N}, tw.sum(x[2 * i + k] * h[k], over={k: 16}), x, h)


def complex_product() -> Declared:
    a, b = array("a", N, dtype=tw.complex64), array("b", N, dtype=tw.complex64)
    return one({i: N}, a[i] * b[i], a, b)


def stereo_gain() -> Declared:
    x, g = array("x", N, 2), array("g", N)
    return one({i: N, c: 2}, x[i, c] * g[i], x, g)


def square(n: int) -> Shapes:
    return [(n, n)]


def picture(n: int) -> Shapes:
    return [(n, n, 3)]


PROGRAMS: dict[str, Program] = {
    "A @ x": Program(matvec, lambda n: [(n, n), (n,)], (16, 128, 1024)),
    "A @ x, few rows": Program(matvec, lambda n: [(4, n), (n,)], (100_000,)),
    "x @ A": Program(vecmat, lambda n: [(n, n), (n,)], (16, 128, 1024)),
    "dot": Program(dot, lambda n: [(n,), (n,)], (100, 10_000, 1_000_000)),
    "sums of 4 rows": Program(few_rows, lambda n: [(4, n)], (100, 10_000, 1_000_000)),
    "argmax": Program(argmax, lambda n: [(n,)], (100, 100_000)),
    "outer product": Program(outer, lambda n: [(n,), (n,)], (16, 1024)),
    "A @ A.T": Program(syrk, lambda n: [(n, n)], (8, 64, 300)),
    "distances": Program(distances, lambda n: [(n, 3), (n, 3)], (16, 512)),
    "pairs": Program(gram_of_pairs, lambda n: [(n, 2), (n, 2)], (100, 100_000), "float64"),
    "jacobi step": Program(jacobi_step, lambda n: [(n + 2, n + 2)], (16, 256, 2048)),
    "heat 1-D": Program(heat_1d, lambda n: [(n,)], (64, 4096, 1_000_000)),
    "laplacian 3-D": Program(laplacian_3d, lambda n: [(n + 2,) * 3], (8, 64, 200)),
    "uint8 blur HWC": Program(blur_hwc, lambda n: [(n + 2, n + 2, 3)], (16, 256, 1024), "uint8"),
    "float blur HWC": Program(blur_hwc_float, lambda n: [(n + 2, n + 2, 3)], (16, 256, 1024)),
    "unsharp HWC": Program(unsharp_hwc, picture, (16, 256, 1024)),
    "gray of uint8": Program(gray_bytes, picture, (16, 1024), "uint8"),
    "halve": Program(halve, lambda n: [(2 * n, 2 * n)], (16, 512)),
    "HWC to CHW": Program(planes, picture, (16, 512)),
    "CHW to HWC": Program(pixels, lambda n: [(3, n, n)], (16, 512)),
    "swap channels": Program(swapped_channels, picture, (16, 512), "uint8"),
    "gain by channel": Program(gains, lambda n: [(n, n, 3), (3,)], (16, 512)),
    "blend": Program(alpha_blend, lambda n: [(n, n, 3), (n, n, 3), (n, n)], (16, 512)),
    "RGBA": Program(rgba, lambda n: [(n, n, 4)], (16, 512)),
    "harris": Program(harris, square, (32, 512, 2048)),
    "relu(A @ B + b)": Program(bias_relu, lambda n: [(n, n), (n, n), (n,)], (8, 64, 400)),
    "layer norm": Program(layer_norm, square, (8, 64, 1024)),
    "max pool": Program(max_pool, lambda n: [(8, 2 * n, 2 * n)], (8, 128)),
    "gelu": Program(gelu, lambda n: [(n,)], (64, 100_000)),
    "depthwise": Program(depthwise, lambda n: [(n + 2, n + 2, 32), (3, 3, 32)], (8, 128)),
    "fir 64": Program(fir, lambda n: [(n + 63,), (64,)], (64, 100_000)),
    "decimate": Program(decimate, lambda n: [(2 * n + 16,), (16,)], (64, 100_000)),
    "complex product": Program(complex_product, lambda n: [(n,), (n,)], (64, 100_000), "complex64"),
    "stereo gain": Program(stereo_gain, lambda n: [(n, 2), (n,)], (64, 100_000)),
}


def compiled(
    compiler: str,
    function: tw.Function,
    inputs: list[tw.Input],
    arrays: list[Array],
    result: Array,
) -> Callable[[], Any] | Missing:
    """The loops as declared, as C, by a compiler; it writes into `result`."""
    program = shutil.which(COMPILERS[compiler])
    if program is None:
        return Missing(f"{COMPILERS[compiler]} is not installed")
    with tempfile.TemporaryDirectory(prefix="survey-") as folder:
        try:
            source = function.export_source(folder)
        except tw.TilewrightError as error:
            return Missing(str(error).splitlines()[0])
        files = [str(path) for path in pathlib.Path(folder).glob("*.c")]
        target = str(pathlib.Path(folder) / "kernel.so")
        done = subprocess.run(
            [program, *files, *FLAGS, "-o", target],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        if done.returncode != 0:
            return Missing(f"{compiler} failed: {done.stderr.strip()[:200]}")
        call = ctypes.CDLL(target)[function.name]
        prototype = str(source.prototype)
    sizes = [
        text.split()[-1]
        for text in prototype[prototype.index("(") + 1 : -1].split(", ")
        if text.startswith("int64_t ") and "*" not in text
    ]
    values = sizes_of(inputs, arrays)
    numbers = [ctypes.c_int64(values[name]) for name in sizes]
    pointers = [each.ctypes.data_as(ctypes.c_void_p) for each in (*arrays, result)]

    def run() -> Array:
        call(*numbers, *pointers)
        return result

    return run


def sizes_of(inputs: list[tw.Input], arrays: list[Array]) -> dict[str, int]:
    """The parameters of a call, by name: each is alone in some extent, as in ``2 * N + 16``."""
    values: dict[str, int] = {}
    for input_, given in zip(inputs, arrays, strict=True):
        for extent, size in zip(input_.shape, given.shape, strict=True):
            match = re.fullmatch(r"(?:(\d+) \* )?([A-Z])(?: \+ (\d+))?", str(extent))
            if match:
                factor, name, more = match.groups()
                values[name] = (size - int(more or 0)) // int(factor or 1)
    return values


def groups() -> Iterator[tuple[str, Callable[[], Declared], str, list[Shapes]]]:
    """Every program with the shapes that it is called with: these, and those of `defaults`."""
    for name, (make, _, sizes, dtype) in defaults.TOPICS.items():
        yield name, make, dtype, [list(shapes) for shapes in sizes]
    for name, program in PROGRAMS.items():
        yield name, program.make, program.dtype, [program.shapes(n) for n in program.sizes]


def cases(context: Context) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for group, make, dtype, sizes in groups():
        name = "".join(letter for letter in group if letter.isalnum()) or "f"
        name = f"p_{name}"
        default = tw.function(name, *make())
        outputs, inputs = make()
        declared = tw.function(name, outputs, inputs, default_schedule=False)
        found = tw.function(name, *make())
        found.auto_schedule(tuned=False)
        for shapes in sizes[:1] if context.quick else sizes:
            arrays = [(rng.random(shape) * 100).astype(dtype) for shape in shapes]
            result = np.empty_like(found(*arrays))
            ours = [
                partial(f, *arrays, out=np.empty_like(result)) for f in (found, default, declared)
            ]
            for f in (found, default, declared):
                f.wait_optimized(10.0)
            contenders: dict[str, Callable[[], Any] | Missing] = {
                "default": ours[1],
                "declared": ours[2],
            }
            for compiler in COMPILERS:
                contenders[compiler] = compiled(compiler, declared, inputs, arrays, result.copy())
            yield Case(
                f"{group} {'x'.join(map(str, shapes[0]))}",
                ours=ours[0],
                peers=contenders,
                group=group,
                rtol=1e-3,
                atol=1e-3,
                goals=dict.fromkeys(contenders, 0.95),
            )
