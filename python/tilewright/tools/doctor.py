"""``python -m tilewright doctor``: what this installation found, and what to do about the rest."""

from __future__ import annotations

import ctypes.util
import importlib.metadata
import importlib.util
import math
import os
import pathlib
import platform
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import _core
from ..base import caching, threads
from ..base.errors import DeviceError
from ..base.source import printable

__all__ = ["Finding", "examine", "main"]


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        name: what was looked at.
        found: what is there.
        advice: what to do about it, or empty.
        is_problem: whether something that the library needs does not work.
    """

    name: str
    found: str
    advice: str = ""
    is_problem: bool = False


def _versions() -> Finding:
    build = _core.describe_build()
    return Finding(
        "tilewright",
        f"{_core.__version__}, LLVM {build['llvm']}, {build['isl']}; "
        f"Python {platform.python_version()}, NumPy {np.__version__}",
    )


def _processor() -> Finding:
    build = _core.describe_build()
    found = f"{build['model']}; code is made for {build['cpu']}"
    slow = build["cpu"].split(",")[0] in ("x86-64", "x86-64-v2")
    advice = (
        "vectors have 16 bytes only; an emulated processor often hides AVX2 (see its settings)"
        if slow
        else ""
    )
    return Finding("processor", found, advice)


def _threads() -> Finding:
    count = threads.get_num_threads()
    allowed = len(os.sched_getaffinity(0))
    granted = _core.control_group_processors()
    limits = [f"{allowed} by the affinity mask"]
    if granted is not None:
        limits.append(f"{granted:g} by the control group")
    found = f"{count} of {os.cpu_count()} processors ({', '.join(limits)})"
    asked = [
        f"{name}={os.environ[name]}"
        for name in ("TILEWRIGHT_THREADS", "TILEWRIGHT_NUM_THREADS", "OMP_NUM_THREADS")
        if os.environ.get(name)
    ]
    # Nothing is wrong with what the library takes by itself: it keeps to both limits.
    most = allowed if granted is None else min(allowed, math.ceil(granted))
    advice = (
        f"more than may run at once: they will wait for each other; ask for {most} at most"
        if count > most
        else ""
    )
    return Finding("threads", ", ".join([found, *asked]), advice)


def _openmp() -> Finding:
    """The OpenMP runtimes at hand; parallel loops use one only where the environment says so."""
    try:
        mapped = pathlib.Path("/proc/self/maps").read_text()
    except OSError:
        mapped = ""
    libraries = {"LLVM's": "omp", "GNU's": "gomp", "Intel's": "iomp5"}
    there = [
        f"{whose} {'is in the process' if f'lib{name}.so' in mapped else 'is installed'}"
        for whose, name in libraries.items()
        if f"lib{name}.so" in mapped or ctypes.util.find_library(name)
    ]
    known = ", ".join(there) or "none is installed"
    if os.environ.get("TILEWRIGHT_THREADS") != "openmp":
        return Finding("OpenMP", f"not used, the library has threads of its own; {known}")
    if not there:
        advice = "TILEWRIGHT_THREADS=openmp is without effect: install libomp5 or libgomp1"
        return Finding("OpenMP", known, advice)
    return Finding("OpenMP", f"used for parallel loops; {known}")


def _cache() -> Finding:
    info = caching.info()
    if info.disabled_reason:
        return Finding(
            "cache",
            f"in memory only: {info.disabled_reason}",
            "every process compiles anew; set TILEWRIGHT_CACHE_DIR to a directory of your own",
        )
    directory = printable(str(info.directory))
    return Finding("cache", f"{directory}: {info.entries} kernels, {info.bytes:,} bytes")


def _cuda() -> Finding:
    from ..devices import cuda

    try:
        devices = cuda.devices()
    except DeviceError as error:
        found, _, advice = error.message.partition("; ")
        return Finding("CUDA driver", found, advice or "update the driver")
    listed = "; ".join(
        f"cuda:{device.number} {device.name} (sm_{device.compute_capability[0]}"
        f"{device.compute_capability[1]}, {device.memory / 2**30:.0f} GiB)"
        for device in devices
    )
    major, minor = devices[0].driver_version
    oldest = _core.oldest_compute_capability
    old = [device for device in devices if device.compute_capability < oldest]
    advice = (
        f"cuda:{old[0].number} is older than sm_{oldest[0]}{oldest[1]}, the oldest that has code"
        if old
        else ""
    )
    return Finding("CUDA driver", f"driver of CUDA {major}.{minor}; {listed}", advice)


def _mpi() -> Finding:
    unused = "this version sends no messages between nodes"
    if importlib.util.find_spec("mpi4py") is None:
        return Finding("MPI", "mpi4py is not installed", unused)
    return Finding("MPI", f"mpi4py {importlib.metadata.version('mpi4py')}", unused)


def _plots() -> Finding:
    if importlib.util.find_spec("matplotlib") is None:
        return Finding("pictures", "matplotlib is not installed", "pip install 'tilewright[plot]'")
    return Finding("pictures", f"matplotlib {importlib.metadata.version('matplotlib')}")


def _self_test() -> Finding:
    """Compiles a small parallel vector kernel and compares its values with NumPy's."""
    # The package is complete only when this runs.
    import tilewright as tw

    i = tw.iter("i")
    n = tw.param("N")
    x = tw.input("x", [n], tw.float32)
    y = tw.computation("y", {i: n}, x[i] * 2 + 1)
    f = tw.function("doctor", outputs=[y])
    y.split(i, 64, "block", "lane").parallelize("block").vectorize("lane", 8)
    values = np.arange(1000, dtype=np.float32)
    if not np.array_equal(f(values), values * 2 + 1):
        return Finding("a kernel", "gave wrong values", "please report this", is_problem=True)
    compiled = f.last_compile or {"from_cache": True, "milliseconds": {}}
    source = "loaded from the cache" if compiled["from_cache"] else "compiled"
    took = sum(compiled["milliseconds"].values())
    return Finding("a kernel", f"{source} in {took:.1f} ms, values as NumPy's")


def examine() -> list[Finding]:
    """Looks at everything; a part that fails is a finding of its own."""
    parts: list[Callable[[], Finding]] = [
        _versions,
        _processor,
        _threads,
        _openmp,
        _cache,
        _self_test,
        _cuda,
        _mpi,
        _plots,
    ]
    findings = []
    for part in parts:
        try:
            findings.append(part())
        except Exception as error:  # the report is wanted most where something is broken
            name = part.__name__.strip("_").replace("_", " ")
            findings.append(
                Finding(name, f"{type(error).__name__}: {error}", "please report this", True)
            )
    return findings


def main() -> int:
    """Prints the report; returns 1 where something that is needed does not work, else 0."""
    findings = examine()
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        mark = "!!" if finding.is_problem else "ok" if not finding.advice else "--"
        print(f"{mark} {finding.name:<{width}}  {finding.found}")
        if finding.advice:
            print(f"   {'':<{width}}  -> {finding.advice}")
    return 1 if any(finding.is_problem for finding in findings) else 0
