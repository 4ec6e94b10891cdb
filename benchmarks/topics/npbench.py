"""NPBench's NumPy functions with nothing but `@tw.jit`, beside NumPy, Numba, Pythran and DaCe.

The files are not part of this project: ``scripts/bench npbench --folder npbench``. We get the file that NumPy runs,
unchanged; the others get what NPBench's authors wrote for them (of Numba's versions the fastest), with fast-math, as
these have it; so we have it, too. On one thread each function comes twice: a call, and its cold start beside Numba's,
which is everything from the decorator to the first result, with an empty cache.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import npbench_files
import peers
import tilewright as tw
from function_calls import first_call
from harness import Case, Context, Missing

TITLE = "NPBench as it is downloaded"
THREADS = (1, 2)

Call = Callable[[], Any]

#: Sizes at which NumPy takes about a tenth of a second.
PRESET = "M"


def _fastest(calls: dict[str, Call | Missing], compare: Callable[[Any], None]) -> Call | Missing:
    """The fastest of several versions of one contender, among those that are right."""
    best: tuple[float, Call] | None = None
    why = ""
    for name, call in calls.items():
        if isinstance(call, Missing):
            why = why or f"{name}: {call.reason}"
            continue
        try:
            compare(call())
            start = time.perf_counter()
            call()
            taken = time.perf_counter() - start
        except Exception as error:
            why = why or f"{name} fails: {type(error).__name__}"
            continue
        if best is None or taken < best[0]:
            best = taken, call
    return best[1] if best else Missing(why)


def _ours(benchmark: npbench_files.Benchmark) -> Call:
    """The file for NumPy, compiled to the end. A function that we refuse says so when it is measured."""
    made = tw.jit(fast_math=True)(benchmark.function("numpy"))
    call = benchmark.call(made)
    with contextlib.suppress(tw.TilewrightError):
        call()
        made.wait_optimized()
    return call


def _is_translated(benchmark: npbench_files.Benchmark) -> bool:
    try:
        tw.jit(benchmark.function("numpy")).translate(*benchmark.arguments)
    except tw.TilewrightError:
        return False
    return True


def _cold_case(benchmark: npbench_files.Benchmark) -> Case:
    numba: Any = peers.module("numba")
    if not isinstance(numba, Missing):
        if benchmark.file("numba_n").exists():
            numba = first_call(
                lambda: benchmark.function("numba_n", anew=True), benchmark.arguments
            )
        else:
            numba = Missing("NPBench has no file for it")
    return Case(
        f"{benchmark.name}, cold",
        first_call(
            lambda: tw.jit(fast_math=True)(benchmark.function("numpy")), benchmark.arguments
        ),
        peers={"Numba": numba},
        group="cold start",
        sampled=True,
        seconds=0.0,
        goals={"Numba": 3.0},
    )


def _case(benchmark: npbench_files.Benchmark, context: Context) -> Case:
    by_numpy = benchmark.call(benchmark.function("numpy"))
    with np.errstate(all="ignore"):
        expected = tuple(np.array(each) for each in by_numpy())

    def compare(results: Any) -> None:
        benchmark.compare(results, expected)

    wanted = os.environ.get("NPBENCH_PEERS", "numba,pythran,dace").split(",")
    stored = peers.ROOT / "build" / "benchmarks" / "npbench"
    contenders: dict[str, Call | Missing] = {"NumPy": by_numpy}
    if "numba" in wanted:
        numba = npbench_files.by_numba(benchmark, context.threads)
        contenders["Numba"] = _fastest(numba, compare)
    if "pythran" in wanted:
        contenders["Pythran"] = npbench_files.by_pythran(benchmark, stored)
    if "dace" in wanted:
        contenders["DaCe"] = npbench_files.by_dace(benchmark, stored)
    return Case(
        benchmark.name,
        _ours(benchmark),
        peers=contenders,
        group="calls",
        expected=lambda: expected,
        compare=benchmark.compare,
        goals={"Numba": 2.0, "best": 1.3},
        note="fast-math for all",
    )


def cases(context: Context) -> Iterator[Case]:
    folder = os.environ.get("NPBENCH_FOLDER")
    if not folder:
        print("npbench: left out, --folder names NPBench")
        return
    preset = "S" if context.quick else os.environ.get("NPBENCH_PRESET", PRESET)
    for benchmark in npbench_files.benchmarks(pathlib.Path(folder), preset, context.only):
        yield _case(benchmark, context)
        if context.threads == 1 and _is_translated(benchmark):
            yield _cold_case(benchmark)
