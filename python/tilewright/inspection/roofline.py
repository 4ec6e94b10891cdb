"""What the machine can do: arithmetic and memory traffic per second, measured by kernels.

The roofline of Williams, Waterman and Patterson (2009): no code is faster than its operations at the
peak of the arithmetic units, or its bytes at the bandwidth of the memory.
"""

from __future__ import annotations

import json
import os
import pathlib
import platform
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..base import threads
from ..base.checks import a_boolean, a_number, described
from ..base.configuration import settings
from ..base.errors import ArgumentError
from ..base.processor import vector_bytes
from ..base.results import Result
from ..language.expressions import as_dtype, float64
from ..language.inputs import input
from ..language.names import iter, iters, param
from ..language.reductions import sum
from ..schedule.computations import Computation, computation
from ..schedule.scheduled_functions import ScheduledFunction

__all__ = ["Machine", "machine"]

_VERSION = 1
_REPEATS = 7


@dataclass(frozen=True)
class Machine(Result):
    """What was measured on this machine with a number of threads.

    Attributes:
        processor: its name.
        threads: that worked.
        flops: operations per second by type ("float32", "float64"): fused multiplications and
            additions on registers, two operations each.
        bandwidth: bytes per second between memory and processor, of ``a = b + s * c`` on arrays
            larger than the caches.
    """

    processor: str
    threads: int
    flops: dict[str, float]
    bandwidth: float

    made_by = "tw.machine"

    def attainable(self, intensity: float, dtype: str = "float64") -> float:
        """Operations per second that code of so many operations per byte can reach at most."""
        return min(self._peak(dtype), a_number(intensity, "the intensity") * self.bandwidth)

    def least_seconds(self, flops: float, bytes: float, dtype: str = "float64") -> float:
        """The time below which so many operations on so many bytes of memory cannot be done."""
        operations, traffic = a_number(flops, "flops"), a_number(bytes, "bytes")
        return max(operations / self._peak(dtype), traffic / self.bandwidth)

    def _peak(self, dtype: str) -> float:
        if not isinstance(dtype, str) or dtype not in self.flops:
            known = ", ".join(map(repr, self.flops))
            raise ArgumentError(f"the peak is known of {known}, got {described(dtype)}")
        return self.flops[dtype]

    def __str__(self) -> str:
        peaks = ", ".join(f"{rate / 1e9:.4g} GFLOP/s {name}" for name, rate in self.flops.items())
        many = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{self.processor}, {many}: {peaks}, {self.bandwidth / 1e9:.4g} GB/s"


_known: dict[int, Machine] = {}


def machine(threads_used: int | None = None, remeasure: bool = False) -> Machine:
    """What this machine can do with so many threads.

    It is measured when it is first asked for, which takes about half a second and some hundred
    megabytes, and kept beside the compiled kernels. A machine that was busy then is measured again
    by ``remeasure=True``.

    Args:
        threads_used: how many threads; as many as parallel loops use without it. More than the
            processors that this process may use share these: the machine can do no more with them,
            and what it can do with so many is measured.
        remeasure: measures even if it is known.

    Raises:
        ArgumentTypeError: a number of threads that is no integer; a TypeError.
        ArgumentError: a number below 1; a ValueError.

    Example:
        >>> one = tw.machine(1)
        >>> one.attainable(0.1, "float32") <= one.flops["float32"]
        True
    """
    count = (
        threads.get_num_threads() if threads_used is None else threads.checked_threads(threads_used)
    )
    count = min(count, len(os.sched_getaffinity(0)))
    if not a_boolean(remeasure, "remeasure"):
        found = _known.get(count) or _stored(count)
        if found is not None:
            _known[count] = found
            return found
    measured = _measure(count)
    _known[count] = measured
    text = json.dumps({"flops": measured.flops, "bandwidth": measured.bandwidth})
    _core.cache_store_note(_identity(count), text)
    return measured


def _identity(count: int) -> str:
    build = _core.describe_build()
    return json.dumps(["machine", _VERSION, _processor(), count, sorted(build.items())])


def _stored(count: int) -> Machine | None:
    note = _core.cache_load_note(_identity(count))
    if note is None:
        return None
    try:
        known = json.loads(note)
        flops = {str(name): float(rate) for name, rate in known["flops"].items()}
        return Machine(_processor(), count, flops, float(known["bandwidth"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _processor() -> str:
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def _measure(count: int) -> Machine:
    flops = {name: _peak(name, count) for name in ("float32", "float64")}
    return Machine(_processor(), count, flops, _bandwidth(count))


def _fastest(run: Callable[[], Any]) -> float:
    run()
    best = float("inf")
    for _ in range(_REPEATS):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def _kernel(name: str, output: Computation, fast_math: bool | None = None) -> ScheduledFunction:
    """A function as `tw.function` makes it, for the processor that the settings name."""
    options = _core.Options(
        fast_math=settings.fast_math if fast_math is None else fast_math,
        cpu=settings.cpu,
        optimize=settings.optimize,
        target=settings.target,
    )
    return ScheduledFunction(name, [output], options=options)


def _peak(dtype: str, count: int) -> float:
    """Sums in registers, each a fused multiply-add behind the other, enough to hide its latency."""
    lanes = vector_bytes() // np.dtype(dtype).itemsize
    length, steps, rows = 12 * lanes, 2048, 512 * count
    p, t, i = iters("p t i")
    x = input("x", [steps], as_dtype(dtype))
    y = input("y", [length], as_dtype(dtype))
    total = computation(
        "S", {p: rows, i: length}, sum(x[t] * y[i], over={t: steps}), dtype=as_dtype(dtype)
    )
    kernel = _kernel("peak", total, fast_math=True)
    kernel["S"].reorder(p, t, i).split(i, lanes).unroll("i0").vectorize("i1")
    kernel["S"].parallelize(p)
    given = np.ones(steps, dtype), np.ones(length, dtype)
    out = np.empty((rows, length), dtype)
    return 2.0 * rows * steps * length / _fastest(lambda: kernel(*given, out=out, threads=count))


def _bandwidth(count: int) -> float:
    n = param("N")
    i = iter("i")
    b, c = input("b", [n], float64), input("c", [n], float64)
    a = computation("a", {i: n}, b[i] + 3.0 * c[i])
    kernel = _kernel("triad", a)
    chunk = 1 << 15
    kernel["a"].split(i, chunk).split("i1", 8).vectorize("i11").stream().parallelize("i0")
    size = _larger_than_caches() // 8
    given = np.ones(size), np.ones(size)
    out = np.empty(size)
    return 24.0 * size / _fastest(lambda: kernel(*given, out=out, threads=count))


def _larger_than_caches() -> int:
    """Bytes of an array of which the caches hold a part at most: 256 MiB and 1/16 of the memory at most."""
    largest = 0
    for index in range(6):
        size = pathlib.Path(f"/sys/devices/system/cpu/cpu0/cache/index{index}/size")
        try:
            found = re.fullmatch(r"(\d+)([KM]?)", size.read_text(encoding="utf-8").strip())
        except OSError:
            continue
        if found:
            unit = {"": 1, "K": 1 << 10, "M": 1 << 20}[found.group(2)]
            largest = max(largest, int(found.group(1)) * unit)
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        memory = 1 << 32
    return min(max(2 * largest, 1 << 26), 1 << 28, memory // 16)
