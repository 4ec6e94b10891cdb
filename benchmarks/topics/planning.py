"""Time of `auto_schedule` and of compiling what it finds, by kernel: dense kernels and stencils declared in Python,
a pipeline of thirty stages, and, with ``--folder PolyBenchC-4.2.1``, PolyBench's C files, whose arrays are overwritten.
The cache is empty for each repeat, and everything is read and declared anew. No peer does the same.
"""

from __future__ import annotations

import functools
import importlib
import os
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import peers
import polybench_files
import tilewright as tw
from harness import Case, Context

TITLE = "Time to find a schedule"
THREADS = (1,)

#: Of the kernels that `auto` measures.
DECLARED = ("gemm", "2mm", "3mm", "atax", "gesummv", "jacobi-2d", "heat-3d", "fdtd-2d")


def pipeline(stages: int) -> tw.Function:
    """Sums of three neighbours, along rows and along columns in turn."""
    height, width = tw.params("H W", f"H >= {3 * stages} and W >= {3 * stages}")
    y, x = tw.iters("y x")
    last: tw.Input | tw.Computation = tw.input("image", [height, width], tw.float32)
    for number in range(stages):
        border = number + 1
        dy, dx = (0, 1) if number % 2 else (1, 0)
        around = last[y - dy, x - dx] + last[y, x] + last[y + dy, x + dx]
        inside = {y: (border, height - border), x: (border, width - border)}
        last = tw.computation(f"stage{number}", inside, 0.33 * around, shape=[height, width])
    assert isinstance(last, tw.Computation)
    return tw.function(f"pipeline{stages}", outputs=[last])


def seconds(make: Callable[[], Any]) -> dict[str, float]:
    """By part, of processor time."""
    with tempfile.TemporaryDirectory() as empty:
        os.environ["TILEWRIGHT_CACHE_DIR"] = empty
        tw.cache.clear()
        parts, last = {}, time.process_time()
        function = make()
        for part, work in (
            ("declare and compile", function.compile),
            ("plan", function.auto_schedule),
            ("compile", function.compile),
        ):
            work()
            now = time.process_time()
            parts[part], last = now - last, now
        return parts


def of_c(path: pathlib.Path, folder: pathlib.Path) -> Any:
    macros: dict[str, object] = {"MEDIUM_DATASET": None, "DATA_TYPE_IS_DOUBLE": None}
    module = tw.c.load(path, include=[folder / "utilities"], define=macros, math="libm")
    (function,) = module.functions.values()
    return function


def cases(context: Context) -> Iterator[Case]:
    def case(name: str, make: Callable[[], Any]) -> Case:
        return Case(name, functools.partial(seconds, make), sampled=True)

    sys.path.append(str(peers.ROOT / "tests" / "python" / "gpu"))
    kernels = {kernel.name: kernel for kernel in importlib.import_module("polybench").KERNELS}
    for name in DECLARED[:2] if context.quick else DECLARED:
        yield case(name, kernels[name].build)
    for stages in (5,) if context.quick else (5, 30):
        yield case(f"pipeline of {stages}", functools.partial(pipeline, stages))
    if folder := os.environ.get("POLYBENCH_FOLDER"):
        for path in polybench_files.benchmarks(pathlib.Path(folder)):
            yield case(f"{path.stem} in C", functools.partial(of_c, path, pathlib.Path(folder)))
