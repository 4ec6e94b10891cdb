"""Time of declaration, legality and compilation by the number of statements, and for a stencil
tiled at three levels. The kernel cache is empty for each repeat.
"""

from __future__ import annotations

import functools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tilewright as tw
from harness import Case, Context

TITLE = "Declaration, analysis and compilation of large programs"
THREADS = (1,)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def chain(length: int) -> dict[str, float]:
    """`length` computations, each reading the one before: declare, legality, one command, compile."""
    n = tw.param("N")
    i = tw.iter("i")
    data = tw.input("data", [n], tw.float64)

    def declare() -> tw.Function:
        last = tw.computation("c0", {i: n}, data[i] + 1.0)
        for number in range(1, length):
            last = tw.computation(f"c{number}", {i: n}, last[i] + 1.0)
        return tw.function(f"chain{length}", outputs=[last])

    declared, function = timed(declare)
    checked, _ = timed(lambda: function.dependences)
    command, _ = timed(lambda: function[f"c{length - 1}"].parallelize(i))
    compiled, _ = timed(function.compile)
    values = np.arange(5.0)
    np.testing.assert_array_equal(function(values), values + length)
    return {"declare": declared, "legality": checked, "command": command, "compile": compiled}


def stencil() -> dict[str, float]:
    """A 7-point stencil in three dimensions, tiled three times."""
    n = tw.param("N", "N >= 2")
    i, j, k = tw.iters("i j k")
    data = tw.input("data", [n, n, n], tw.float64)

    def declare() -> tw.Function:
        value = data[i, j, k] * 2.0
        for di, dj, dk in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
            value = value + data[i + di, j + dj, k + dk] + data[i - di, j - dj, k - dk]
        inside = dict.fromkeys((i, j, k), (1, n - 1))
        out = tw.computation("out", inside, value, shape=[n, n, n])
        return tw.function("stencil", outputs=[out])

    declared, function = timed(declare)
    checked, _ = timed(lambda: function.dependences)

    def schedule() -> None:
        out = function["out"]
        out.tile(i, j, k, 64, 64, 64, "i0", "j0", "k0", "i", "j", "k")
        out.tile("i", "j", "k", 16, 16, 16, "i1", "j1", "k1", "i", "j", "k")
        out.tile("i", "j", "k", 4, 4, 8, "i2", "j2", "k2", "i", "j", "k")
        out.parallelize("i0").vectorize("k")

    commands, _ = timed(schedule)
    compiled, _ = timed(function.compile)
    values = np.random.default_rng(0).random((21, 21, 21))
    np.testing.assert_array_equal(function(values), function.evaluate(values))
    return {"declare": declared, "legality": checked, "commands": commands, "compile": compiled}


def uncached(work: Callable[[], dict[str, float]]) -> Callable[[], dict[str, float]]:
    """The same with an empty kernel cache."""

    def run() -> dict[str, float]:
        with tempfile.TemporaryDirectory() as empty:
            os.environ["TILEWRIGHT_CACHE_DIR"] = empty
            tw.cache.clear()
            return work()

    return run


def cases(context: Context) -> Iterator[Case]:
    for length in [1, 10] if context.quick else [1, 10, 100, 500]:
        name = f"{length} statement{'s' if length > 1 else ''}"
        yield Case(name, uncached(functools.partial(chain, length)), sampled=True)
    yield Case("tiled 3-D stencil", uncached(stencil), sampled=True)
