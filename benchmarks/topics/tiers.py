"""Where LLVM's long pipeline pays: the same kernels under the light and under the full one.

For each kernel the time that a first call waits for LLVM (milliseconds of optimisation and code
generation) and the time of a call, light beside full. "scheduled" kernels ask for vectors
themselves, the others leave everything to LLVM. One thread.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tilewright as tw
from harness import Case, Context

TITLE = "The light and the full pipeline"
THREADS = (1,)

i, j, k, t = tw.iters("i j k t")
n, m, depth = tw.params("N M K")
(steps,) = tw.params("T", "T >= 1")
serial = itertools.count()

Declared = tuple[tw.Function, tuple[Any, ...], dict[str, int]]
Declaration = Callable[[str], Declared]


def random(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(0).random(shape).astype(dtype)


def function(outputs: list[Any], optimize: str, fast_math: bool, **options: Any) -> tw.Function:
    """A function of its own name: nothing comes from the cache."""
    name = f"tier{next(serial)}"
    return tw.function(name, outputs, fast_math=fast_math, optimize=optimize, **options)


def product(size: int, schedule: str, fast_math: bool = False) -> Declaration:
    def declare(optimize: str) -> Declared:
        a = tw.input("A", [n, depth], tw.float32)
        b = tw.input("B", [depth, m], tw.float32)
        c = tw.computation("C", {i: n, j: m}, tw.sum(a[i, k] * b[k, j], over={k: depth}))
        f = function([c], optimize, fast_math, inputs=[a, b])
        if schedule == "interchanged":
            f["C"].interchange(j, k)
        elif schedule == "tiled":
            f["C"].tile(i, j, 32, 64).interchange("j1", k).interchange("i1", k)
        elif schedule == "register tile":
            f["C"].tile(i, j, 8, 32).vectorize("j1", 16).unroll("i1")
            f["C"].reorder(k, "i1", "j10", "j11").unroll("j10", 2)
        return f, (random(size, size), random(size, size)), {}

    return declare


def pointwise(size: int, lanes: int) -> Declaration:
    def declare(optimize: str) -> Declared:
        x = tw.input("x", [n], tw.float32)
        y = tw.input("y", [n], tw.float32)
        z = tw.computation("z", {i: n}, tw.sqrt(x[i] * x[i] + y[i] * y[i]) + 1)
        f = function([z], optimize, False, inputs=[x, y])
        if lanes:
            f["z"].vectorize(i, lanes)
        return f, (random(size), random(size)), {}

    return declare


def total(size: int) -> Declaration:
    def declare(optimize: str) -> Declared:
        x = tw.input("x", [n], tw.float64)
        s = tw.computation("s", {}, tw.sum(x[i] * x[i], over={i: n}))
        return function([s], optimize, True), (random(size, dtype=np.float64),), {}

    return declare


def laplace(size: int, lanes: int) -> Declaration:
    def declare(optimize: str) -> Declared:
        a = tw.input("A", [n + 2, m + 2], tw.float32)
        around = a[i, j + 1] + a[i + 2, j + 1] + a[i + 1, j] + a[i + 1, j + 2]
        c = tw.computation("C", {i: n, j: m}, around - 4 * a[i + 1, j + 1])
        f = function([c], optimize, False)
        if lanes:
            f["C"].vectorize(j, lanes)
        return f, (random(size, size),), {}

    return declare


def heat(size: int, skewed: bool) -> Declaration:
    def declare(optimize: str) -> Declared:
        a = tw.input("A", [n], tw.float32)
        b = tw.computation(
            "B",
            {t: steps, i: n},
            lambda b: [
                (t == 0, a[i]),
                ((t > 0) & ((i == 0) | (i == n - 1)), b[t - 1, i]),
                (
                    (t > 0) & (i > 0) & (i < n - 1),
                    (b[t - 1, i - 1] + b[t - 1, i] + b[t - 1, i + 1]) * tw.cast(0.25, tw.float32),
                ),
            ],
            dtype=tw.float32,
        )
        c = tw.computation("C", {i: n}, b[steps - 1, i])
        f = function([c], optimize, False)
        f["B"].storage_fold(t, 2)
        if skewed:
            f["B"].skew(t, i).tile(t, i, 16, 256)
        return f, (random(size),), {"T": 100}

    return declare


def image(size: int) -> Declaration:
    def declare(optimize: str) -> Declared:
        c = tw.iter("c")
        rgb = tw.input("rgb", [n, m, 3], tw.uint8)
        weights = tw.input("w", [3], tw.float32)
        gray = tw.computation(
            "gray",
            {i: n, j: m},
            tw.sum(tw.cast(rgb[i, j, c], tw.float32) * weights[c], over={c: 3}),
        )
        f = function([gray], optimize, True, inputs=[rgb, weights])
        pixels = np.random.default_rng(0).integers(0, 256, (size, size, 3), np.uint8)
        return f, (pixels, random(3)), {}

    return declare


def gather(size: int) -> Declaration:
    def declare(optimize: str) -> Declared:
        x = tw.input("x", [m], tw.float32)
        at = tw.input("at", [n], tw.int64)
        y = tw.computation("y", {i: n}, x[at[i]] * 2)
        f = function([y], optimize, False, inputs=[at, x])
        return f, (np.random.default_rng(0).integers(0, size, size), random(size)), {}

    return declare


def histogram(size: int) -> Declaration:
    def declare(optimize: str) -> Declared:
        bins = tw.param("B")
        b = tw.iter("b")
        values = tw.input("values", [n], tw.uint8)
        h = tw.computation("H", {b: bins}, tw.sum(1, over={i: n}, where=values[i] == b))
        f = function([h], optimize, False)
        f["H"].interchange(b, i)
        return f, (np.random.default_rng(0).integers(0, 256, size, np.uint8),), {"B": 256}

    return declare


def compared(name: str, declare: Declaration) -> Iterator[Case]:
    light, arrays, sizes = declare("light")
    full, *_ = declare("full")
    yield Case(
        name,
        lambda: light(*arrays, **sizes),
        peers={"full": lambda: full(*arrays, **sizes)},
        rtol=1e-4,
        group="code",
    )

    def compiled(optimize: str) -> Callable[[], dict[str, float]]:
        def once() -> dict[str, float]:
            f, *_ = declare(optimize)
            times = f.compile(*arrays, **sizes)["milliseconds"]
            return {"LLVM": 1e-3 * (times["optimise"] + times["codegen"])}

        return once

    yield Case(
        name, compiled("light"), peers={"full": compiled("full")}, sampled=True, group="compile"
    )


def cases(context: Context) -> Iterator[Case]:
    small = context.quick
    square, line = (64, 10_000) if small else (256, 1_000_000)
    side = 64 if small else 1000
    for name, declare in {
        "matmul, default": product(square, ""),
        "matmul, default, fast_math": product(square, "", True),
        "matmul, interchanged": product(square, "interchanged"),
        "matmul, tiled": product(square, "tiled"),
        "matmul, scheduled": product(square, "register tile", True),
        "pointwise, default": pointwise(line, 0),
        "pointwise, scheduled": pointwise(line, 16),
        "sum, default, fast_math": total(line),
        "laplace, default": laplace(side + 2, 0),
        "laplace, scheduled": laplace(side + 2, 16),
        "heat 1-D, default": heat(line // 10, False),
        "heat 1-D, skewed tiles": heat(line // 10, True),
        "gray, default, fast_math": image(side),
        "gather, default": gather(line),
        "histogram, interchanged": histogram(line),
    }.items():
        yield from compared(name, declare)
