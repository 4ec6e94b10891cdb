"""Alpha: scans in blocks beside NumPy's and the plain recurrence, and reductions with and without what they share.

The scans are JIT-compiled (`scan_blocks`) and C that gcc compiled (`generateScanC`); a copy shows what the memory
gives. Reductions are simplified by `simplify_reductions`; the sizes grow, so that the complexity shows.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw
from harness import Case, Context, Missing

TITLE = "Alpha: scans and simplified reductions"
THREADS = (1, 2)

PREFIX = """
affine prefix {N | N > 0}
  input  double A {i | 0 <= i < N};
  output double S {i | 0 <= i < N};
  let    S[i] = case {| i==0} : A[i]; {| i>0} : S[i-1] + A[i]; esac;
.
"""
SEGMENT = """
affine segment {N | N > 0}
  input  double A {i | 0 <= i < N};
  output double T {i | 0 <= i < N};
  local  double X {i | 0 <= i < N};
  let    X[i] = case {| i==0} : A[i]; {| i>0} : max(X[i-1] + A[i], A[i]); esac;
         T[i] = case {| i==0} : X[i]; {| i>0} : max(T[i-1], X[i]); esac;
.
"""
WINDOW = """
affine window {N, W | 0 < W < N}
  input  double A {i | 0 <= i < N};
  output double S {i | 0 <= i <= N-W};
  let    S[i] = reduce(+, [j], {| i <= j < i+W} : A[j]);
.
"""
RNA = """
affine loops {N | N > 5}
  input  double E {s | 0 <= s < N}; double V {k, l | 0 <= (k, l) < N};
  output double Y {i, j | 0 <= i && i+3 <= j < N};
  let    Y[i,j] = reduce(min, [k,l], {| i < k < l < j} : E[k-i+j-l] + V[k,l]);
.
"""
BLOCK = 8192


def cases(context: Context) -> Iterator[Case]:
    yield from _scans(context)
    yield from _reductions(context)


def _scans(context: Context) -> Iterator[Case]:
    size = 1 << 14 if context.quick else 100_000_000
    a = np.random.default_rng(1).random(size) - 0.5
    out = {key: np.empty(size) for key in ("ours", "plain", "c", "peer")}
    program = tw.alpha.load(PREFIX)
    scan = program["prefix"]["S"].scan_blocks(BLOCK, reassociate=True)
    peers = {
        "NumPy's cumsum": _into(np.cumsum, a, out["peer"]),
        "plain recurrence": _into(program["prefix"], a, out["plain"]),
        "ScanC, gcc": _scan_c(program, "prefix", a, out["c"], context),
    }
    yield Case(
        f"prefix sum {size:,}", _into(scan, a, out["ours"]), peers, work=16.0 * size, unit="GB/s",
        rtol=1e-6, atol=1e-3, goals={"NumPy's cumsum": 1.8},
    )  # fmt: skip
    program = tw.alpha.load(SEGMENT)
    once = program["segment"]["X"].scan_blocks(BLOCK, reassociate=True)
    twice = once["T"].scan_blocks(BLOCK)
    peers = {
        "plain recurrence": _into(program["segment"], a, out["plain"]),
        "ScanC, gcc": _scan_c(program, "segment", a, out["c"], context),
    }
    yield Case(
        f"maximum segment sum {size:,}", _into(twice, a, out["ours"]), peers, work=16.0 * size,
        unit="GB/s", rtol=1e-6, atol=1e-3,
    )  # fmt: skip
    yield Case(
        f"copy of {size:,}, the memory's limit", _into(scan, a, out["ours"]),
        {"NumPy's copy": _copied(a, out["peer"])}, work=16.0 * size, unit="GB/s",
        compare=lambda one, other: None,
    )  # fmt: skip


def _into(function: Any, a: Any, out: Any) -> Callable[[], Any]:
    return lambda: function(a, out=out)


def _copied(a: Any, out: Any) -> Callable[[], Any]:
    def run() -> Any:
        np.copyto(out, a)
        return out

    return run


def _scan_c(
    program: Any, name: str, a: Any, out: Any, context: Context
) -> Callable[[], Any] | Missing:
    """What ScanC writes, compiled; its threads are OpenMP's."""
    compiler = shutil.which("gcc")
    if compiler is None:
        return Missing("gcc is not installed")
    folder = Path(tempfile.mkdtemp())
    source = tw.alpha.generateScanC(program, name, folder, BLOCK, reassociate=True)
    library = folder / f"{name}.so"
    flags = ["-std=gnu11", "-O3", "-march=native", "-fopenmp", "-ffp-contract=off"]
    subprocess.run(
        [compiler, *flags, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"], check=True
    )
    loaded = ctypes.CDLL(str(library))
    ctypes.CDLL("libgomp.so.1").omp_set_num_threads(context.threads)
    arrays = [ctypes.c_void_p(each.ctypes.data) for each in (a, out)]

    def run() -> Any:
        getattr(loaded, name)(ctypes.c_int64(len(a)), *arrays)
        return out

    return run


def _reductions(context: Context) -> Iterator[Case]:
    """The same reduction at growing sizes, simplified and not."""
    random = np.random.default_rng(2)
    program = tw.alpha.load(WINDOW)
    fast, report = tw.alpha.simplify_reductions(program, reassociate=True)
    for size in (200,) if context.quick else (1_000, 10_000, 100_000):
        a = random.random(size)
        window = size // 10
        counted = report.before(N=size, W=window), report.after(N=size, W=window)
        yield Case(
            f"sum over {window:,} of {size:,}",
            _with(fast["window"], (a,), W=window),
            {"unsimplified": _with(program["window"], (a,), W=window)},
            group="windows", rtol=1e-9, note=f"{counted[0]:,} operations became {counted[1]:,}",
        )  # fmt: skip
    program = tw.alpha.load(RNA)
    fast, report = tw.alpha.simplify_reductions(program)
    for size in (12,) if context.quick else (50, 100, 200):
        given = random.random(size), random.random((size, size))
        counted = report.before(N=size), report.after(N=size)
        yield Case(
            f"internal loops of RNA, {size}",
            _with(fast["loops"], given),
            {"unsimplified": _with(program["loops"], given)},
            group="RNA", note=f"{counted[0]:,} operations became {counted[1]:,}",
        )  # fmt: skip


def _with(function: Any, arrays: tuple[Any, ...], **sizes: int) -> Callable[[], Any]:
    return lambda: function(*arrays, **sizes)
