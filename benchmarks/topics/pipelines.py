"""Pipelines of image stages under the schedules that `auto_schedule` finds, beside the same stages in C, one loop nest
each, by gcc and clang (one thread), NumPy, the default schedule, and what Halide's autoschedulers find for the same
stages. Of a camera's mosaic, of a filter by a grid and of pyramids there is no C.

Images are float32, small enough for a cache, and larger than one. Borders, which stages do not compute, stay zero.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import camera_pipelines
import halide_pipelines
import local_laplacian
import tilewright as tw
from harness import Case, Context, Missing

TITLE = "Schedules found for image pipelines"
THREADS = (1, 2)

Array = npt.NDArray[Any]
H, W = tw.params("H W")
i, j, c = tw.iters("i j c")


class Pipeline(NamedTuple):
    """One pipeline: its declaration, its stages in C, and in NumPy."""

    declare: Callable[[], tw.Function]
    scratch: int  # images beside the result that C needs
    body: str  # of x (the image) to r, with scratch images s[0], s[1], ...; empty: none
    numpy: Callable[[Array], Array]
    channels: int = 0


def _inner(edge: int) -> dict[Any, Any]:
    return {i: (edge, H - edge), j: (edge, W - edge)}


def _stage(name: str, edge: int, value: Any) -> Any:
    return tw.computation(name, _inner(edge), value, shape=[H, W])


def harris() -> tw.Function:
    x = tw.input("x", [H, W], tw.float32)
    vertical = sum((x[i + 1, j + b] - x[i - 1, j + b]) * ((2 - abs(b)) / 12) for b in (-1, 0, 1))
    horizontal = sum((x[i + a, j + 1] - x[i + a, j - 1]) * ((2 - abs(a)) / 12) for a in (-1, 0, 1))
    gy, gx = _stage("gy", 1, vertical), _stage("gx", 1, horizontal)

    def box(name: str, one: Any, other: Any) -> Any:
        product = _stage(f"{name}p", 1, one[i, j] * other[i, j])
        around = [product[i + a, j + b] for a in (-1, 0, 1) for b in (-1, 0, 1)]
        return _stage(name, 2, sum(around[1:], around[0]))

    xx, yy, xy = box("xx", gx, gx), box("yy", gy, gy), box("xy", gx, gy)
    determinant = _stage("det", 2, xx[i, j] * yy[i, j] - xy[i, j] * xy[i, j])
    trace = _stage("trace", 2, xx[i, j] + yy[i, j])
    corners = _stage("corners", 2, determinant[i, j] - trace[i, j] * trace[i, j] * 0.04)
    return tw.function("harris", outputs=[corners], context=[H >= 5, W >= 5])


HARRIS = """
  for (long i = 1; i < h - 1; i++) for (long j = 1; j < w - 1; j++)
    s[0][i*w+j] = (x[(i+1)*w+j-1] - x[(i-1)*w+j-1] + x[(i+1)*w+j+1] - x[(i-1)*w+j+1]) / 12
                + (x[(i+1)*w+j] - x[(i-1)*w+j]) / 6;
  for (long i = 1; i < h - 1; i++) for (long j = 1; j < w - 1; j++)
    s[1][i*w+j] = (x[(i-1)*w+j+1] - x[(i-1)*w+j-1] + x[(i+1)*w+j+1] - x[(i+1)*w+j-1]) / 12
                + (x[i*w+j+1] - x[i*w+j-1]) / 6;
  for (long n = 1 * w; n < (h - 1) * w; n++) s[2][n] = s[1][n] * s[1][n];
  for (long n = 1 * w; n < (h - 1) * w; n++) s[3][n] = s[0][n] * s[0][n];
  for (long n = 1 * w; n < (h - 1) * w; n++) s[4][n] = s[0][n] * s[1][n];
  for (int k = 0; k < 3; k++)
    for (long i = 2; i < h - 2; i++) for (long j = 2; j < w - 2; j++) {
      const float *p = s[2 + k] + i * w + j;
      s[5 + k][i*w+j] = p[-w-1] + p[-w] + p[-w+1] + p[-1] + p[0] + p[1] + p[w-1] + p[w] + p[w+1];
    }
  for (long i = 2; i < h - 2; i++) for (long j = 2; j < w - 2; j++) {
    long n = i * w + j;
    float t = s[5][n] + s[6][n];
    r[n] = s[5][n] * s[6][n] - s[7][n] * s[7][n] - t * t * 0.04f;
  }
"""


def harris_in_numpy(x: Array) -> Array:
    def part(a: Array, di: int, dj: int, edge: int) -> Array:
        return a[edge + di : a.shape[0] - edge + di, edge + dj : a.shape[1] - edge + dj]

    third = np.float32(1 / 12)
    sides = part(x, 1, -1, 1) - part(x, -1, -1, 1) + part(x, 1, 1, 1) - part(x, -1, 1, 1)
    gy = sides * third + (part(x, 1, 0, 1) - part(x, -1, 0, 1)) * (2 * third)
    sides = part(x, -1, 1, 1) - part(x, -1, -1, 1) + part(x, 1, 1, 1) - part(x, 1, -1, 1)
    gx = sides * third + (part(x, 0, 1, 1) - part(x, 0, -1, 1)) * (2 * third)

    def box(p: Array) -> Array:
        total = sum(part(p, a, b, 1) for a in (-1, 0, 1) for b in (-1, 0, 1))
        return np.asarray(total)

    xx, yy, xy = box(gx * gx), box(gy * gy), box(gx * gy)
    result = np.zeros_like(x)
    result[2:-2, 2:-2] = xx * yy - xy * xy - (xx + yy) ** 2 * np.float32(0.04)
    return result


WEIGHTS = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)


def unsharp(channels: int = 0) -> tw.Function:
    """Of one channel, or of interleaved ones."""
    last: tuple[Any, ...] = (c,) if channels else ()
    shape: list[Any] = [H, W, channels] if channels else [H, W]
    more = {c: channels} if channels else {}

    def at(below: int, right: int) -> tuple[Any, ...]:
        return (i + below, j + right, *last)

    x = tw.input("x", shape, tw.float32)
    across = [x[at(0, d - 2)] * weight for d, weight in enumerate(WEIGHTS)]
    rows = tw.computation(
        "rows", {i: H, j: (2, W - 2), **more}, sum(across[1:], across[0]), shape=shape
    )
    down = [rows[at(d - 2, 0)] * weight for d, weight in enumerate(WEIGHTS)]
    inner = {**_inner(2), **more}
    blur = tw.computation("blur", inner, sum(down[1:], down[0]), shape=shape)
    sharp = tw.computation("sharp", inner, x[at(0, 0)] * 2.5 - blur[at(0, 0)] * 1.5, shape=shape)
    return tw.function("unsharp", outputs=[sharp], context=[H >= 5, W >= 5])


UNSHARP = """
  long q = {channels}, v = w * q;
  for (long i = 0; i < h; i++) for (long j = 2 * q; j < v - 2 * q; j++)
    s[0][i*v+j] = x[i*v+j-2*q] * 0.0625f + x[i*v+j-q] * 0.25f + x[i*v+j] * 0.375f
                + x[i*v+j+q] * 0.25f + x[i*v+j+2*q] * 0.0625f;
  for (long i = 2; i < h - 2; i++) for (long j = 2 * q; j < v - 2 * q; j++) {{
    const float *p = s[0] + i * v + j;
    s[1][i*v+j] = p[-2*v] * 0.0625f + p[-v] * 0.25f + p[0] * 0.375f + p[v] * 0.25f + p[2*v] * 0.0625f;
  }}
  for (long i = 2; i < h - 2; i++) for (long j = 2 * q; j < v - 2 * q; j++)
    r[i*v+j] = x[i*v+j] * 2.5f - s[1][i*v+j] * 1.5f;
"""


def unsharp_in_numpy(x: Array) -> Array:
    weights = np.array(WEIGHTS, np.float32)
    rows = sum(weights[d] * x[:, d : x.shape[1] - 4 + d] for d in range(5))
    blur = sum(weights[d] * np.asarray(rows)[d : x.shape[0] - 4 + d] for d in range(5))
    result = np.zeros_like(x)
    result[2:-2, 2:-2] = x[2:-2, 2:-2] * np.float32(2.5) - np.asarray(blur) * np.float32(1.5)
    return result


def blurs(stages: int = 6) -> tw.Function:
    last: Any = tw.input("x", [H, W], tw.float32)
    for number in range(1, stages + 1):
        around = last[i - 1, j] + last[i + 1, j] + last[i, j - 1] + last[i, j + 1] + last[i, j]
        last = _stage(f"blur{number}", number, around * 0.2)
    edge = 2 * stages + 1
    return tw.function("blurs", outputs=[last], context=[H >= edge, W >= edge])


BLURS = """
  const float *a = x;
  for (int k = 1; k <= 6; k++) {
    float *b = k == 6 ? r : s[k % 2];
    for (long i = k; i < h - k; i++) for (long j = k; j < w - k; j++)
      b[i*w+j] = (a[(i-1)*w+j] + a[(i+1)*w+j] + a[i*w+j-1] + a[i*w+j+1] + a[i*w+j]) * 0.2f;
    a = b;
  }
"""


def blurs_in_numpy(x: Array) -> Array:
    result = np.zeros_like(x)
    for _ in range(6):
        around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[1:-1, 1:-1]
        x = around * np.float32(0.2)
    result[6:-6, 6:-6] = x
    return result


PIPELINES = {
    "Harris": Pipeline(harris, 8, HARRIS, harris_in_numpy),
    "unsharp": Pipeline(unsharp, 2, UNSHARP.format(channels=1), unsharp_in_numpy),
    "unsharp, 3 channels": Pipeline(
        lambda: unsharp(3), 2, UNSHARP.format(channels=3), unsharp_in_numpy, 3
    ),
    "six blurs": Pipeline(blurs, 2, BLURS, blurs_in_numpy),
    "demosaic": Pipeline(camera_pipelines.demosaic, 0, "", camera_pipelines.demosaic_in_numpy),
    "bilateral grid": Pipeline(
        camera_pipelines.bilateral, 0, "", camera_pipelines.bilateral_in_numpy
    ),
    "local Laplacian": Pipeline(
        local_laplacian.local_laplacian, 0, "", local_laplacian.local_laplacian_in_numpy
    ),
}


def in_c(pipeline: Pipeline, compiler: str, x: Array) -> Callable[[], Array] | Missing:
    program = shutil.which(compiler)
    if program is None:
        return Missing(f"{compiler} is not installed")
    head = (
        "void run(long h, long w, const float *restrict x, float *restrict r, float **restrict s)"
    )
    with tempfile.TemporaryDirectory(prefix="pipelines-") as folder:
        source, target = os.path.join(folder, "p.c"), os.path.join(folder, "p.so")
        pathlib.Path(source).write_text(f"{head} {{{pipeline.body}}}")
        flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
        done = subprocess.run(
            [program, source, "-o", target, *flags], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            return Missing(f"{compiler} failed: {done.stderr.strip()[:200]}")
        function = ctypes.CDLL(target).run
    function.restype = None
    result = np.zeros_like(x)
    scratch: Sequence[Array] = [np.zeros_like(x) for _ in range(pipeline.scratch)]
    sizes = [ctypes.c_long(extent) for extent in x.shape[:2]]

    def run() -> Array:
        images = (ctypes.c_void_p * len(scratch))(*(each.ctypes.data for each in scratch))
        function(
            *sizes, ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(result.ctypes.data), images
        )
        return result

    return run


def title(name: str, size: int) -> str:
    channels = PIPELINES[name].channels
    return f"{name}, {size} x {size}" + (f" x {channels}" if channels else "")


def _results(function: tw.Function, x: Array) -> Array:
    """Memory for the result, or for the planes of which there are several."""
    planes = len(function.outputs)
    return np.zeros((planes, *x.shape) if planes > 1 else x.shape, x.dtype)


def _called(function: tw.Function, x: Array, out: Array) -> Array:
    function(x, out=tuple(out) if len(function.outputs) > 1 else out)
    return out


def case(name: str, size: int, threads: int) -> Case:
    pipeline = PIPELINES[name]
    shape = (size, size, pipeline.channels) if pipeline.channels else (size, size)
    x = np.random.default_rng(size).random(shape, np.float32)
    default = pipeline.declare()
    found = pipeline.declare()
    found.auto_schedule(tuned=False)
    out, other = (_results(default, x) for _ in range(2))
    in_compilers = {
        peer: in_c(pipeline, compiler, x)
        for peer, compiler in {"gcc": "gcc", "clang": "clang-19"}.items()
        if pipeline.body
    }
    return Case(
        title(name, size),
        ours=lambda: _called(found, x, out),
        peers={
            **in_compilers,
            "NumPy": lambda: pipeline.numpy(x),
            "default": lambda: _called(default, x, other),
            **{
                planner: halide_pipelines.kernel(name, planner, x, threads)
                for planner in halide_pipelines.AUTOSCHEDULERS
            },
        },
        rtol=1e-3,
        atol=1e-4,
        goals={
            **dict.fromkeys(in_compilers, 1.5),
            "default": 1.0,
            **dict.fromkeys(halide_pipelines.AUTOSCHEDULERS, 1.0),
        },
    )


def cases(context: Context) -> Iterator[Case]:
    tw.set_num_threads(context.threads)
    for name in PIPELINES:
        # Adams2019 plans for seconds, and for minutes where there are twenty stages.
        sizes = (512, 1500) if name == "local Laplacian" else (128, 512, 1500, 3000)
        for size in (64,) if context.quick else sizes:
            if context.only in title(name, size):
                yield case(name, size, context.threads)
