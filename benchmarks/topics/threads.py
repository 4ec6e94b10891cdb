"""What parallel loops cost: an empty region of two threads, and iterations that are uneven.

An empty region is a parallel loop of two iterations that store one element each; the same loop
without threads is taken off. "hot" is one region right after another, "after 1 ms" is one after a
pause in which threads go to sleep. The triangle is a triangular sum, whose rows grow: equal ranges
of rows are unequal work.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tilewright as tw
from harness import Case, Context, Missing
from peers import module, program

TITLE = "Parallel loops"
THREADS = (2,)

# Ours would run an empty region in its thread.
os.environ["TILEWRIGHT_LEAST_PARALLEL_WORK"] = "0"

REGIONS = 2000
Regions = Callable[[int], Any]

C_SOURCE = r"""
void regions(double *out, long count) {
  for (long t = 0; t < count; ++t) {
    #pragma omp parallel for num_threads(2) schedule(static)
    for (long i = 0; i < 2; ++i) ((volatile double *)out)[64 * i] = t;
  }
}
void serial(double *out, long count) {
  for (long t = 0; t < count; ++t)
    for (long i = 0; i < 2; ++i) ((volatile double *)out)[64 * i] = t;
}
#define TRIANGLE(name, dealing) \
void name(const double *a, double *out, long n) { \
  _Pragma(dealing) \
  for (long i = 0; i < n; ++i) { \
    double sum = 0; \
    for (long j = 0; j <= i; ++j) sum += a[i * n + j]; \
    out[i] = sum; \
  } \
}
TRIANGLE(triangle_static, "omp parallel for num_threads(2) schedule(static)")
TRIANGLE(triangle_dynamic, "omp parallel for num_threads(2) schedule(dynamic, 8)")
"""


def gcc_library() -> ctypes.CDLL | Missing:
    compiler = program("gcc")
    if isinstance(compiler, Missing):
        return compiler
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        (folder / "peer.c").write_text(C_SOURCE)
        flags = ["-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"]
        command = [compiler, *flags, str(folder / "peer.c"), "-o", str(folder / "peer.so")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return Missing(f"gcc -fopenmp: {done.stderr.strip()[:200]}")
        return ctypes.CDLL(str(folder / "peer.so"))


def our_regions() -> tuple[Regions, Regions]:
    """A serial loop of parallel loops of two iterations, and the same without threads."""
    (steps,) = tw.params("T", "T >= 1")
    t, i = tw.iters("t i")
    start = tw.input("start", [2], tw.float64)

    def declared(name: str) -> tw.Function:
        last = tw.computation(
            "last",
            {t: steps, i: 2},
            lambda last: [(t == 0, start[i]), (t > 0, last[t - 1, i] + 1)],
            dtype=tw.float64,
        )
        result = tw.computation("result", {i: 2}, last[steps - 1, i])
        f = tw.function(name, outputs=[result])
        f["last"].store_in(tw.Buffer("cells", [128])[64 * i])
        return f

    parallel, serial = declared("regions"), declared("serial")
    parallel["last"].parallelize(i)
    zeros = np.zeros(2)
    np.testing.assert_array_equal(parallel(zeros, T=7), [6, 6])
    return (lambda n: parallel(zeros, T=n)), (lambda n: serial(zeros, T=n))


def gcc_regions(library: ctypes.CDLL) -> tuple[Regions, Regions]:
    out = np.zeros(128)
    pointer = ctypes.c_void_p(out.ctypes.data)
    return (
        lambda n: (library.regions(pointer, ctypes.c_long(n)), out),
        lambda n: library.serial(pointer, ctypes.c_long(n)),
    )


def numba_regions(numba: Any) -> tuple[Regions, Regions]:
    out = np.zeros(128)

    def loops(out: Any, count: int) -> None:
        for t in range(count):
            for i in numba.prange(2):
                out[64 * i] = t

    parallel, serial = numba.njit(parallel=True)(loops), numba.njit(loops)
    return (lambda n: parallel(out, n)), (lambda n: serial(out, n))


def sampled(pair: tuple[Regions, Regions]) -> Callable[[], dict[str, float]]:
    """Seconds that a region costs."""
    many, serial = pair

    def seconds(work: Regions, count: int) -> float:
        start = time.perf_counter()
        work(count)
        return time.perf_counter() - start

    def one() -> float:
        time.sleep(1e-3)
        return seconds(many, 1)

    many(REGIONS)
    base = min(seconds(serial, REGIONS) for _ in range(9))
    single = min(seconds(serial, 1) for _ in range(200))
    return lambda: {
        "hot": (seconds(many, REGIONS) - base) / REGIONS,
        "after 1 ms": one() - single,
    }


def triangle(size: int, library: ctypes.CDLL | Missing) -> Iterator[Case]:
    n = tw.param("N")
    i, j = tw.iters("i j")
    a = tw.input("A", [n, n], tw.float64)
    s = tw.computation("S", {i: n}, tw.sum(a[i, j], over={j: n}, where=j <= i))
    data, out = np.random.default_rng(0).random((size, size)), np.empty(size)

    def scheduled(**options: Any) -> Callable[[], Any]:
        f = tw.function("triangle", outputs=[s], fast_math=True)
        f["S"].parallelize(i, **options)
        return lambda: f(data, out=out)

    def peer(name: str) -> Callable[[], Any] | Missing:
        if isinstance(library, Missing):
            return library
        result = np.empty(size)
        pointers = ctypes.c_void_p(data.ctypes.data), ctypes.c_void_p(result.ctypes.data)
        call = getattr(library, name)
        return lambda: (call(*pointers, ctypes.c_long(size)), result)[1]

    yield Case(
        f"triangle {size}",
        scheduled(schedule="dynamic", chunk=8),
        peers={
            "equal ranges": scheduled(),
            "chunks of 8 in turn": scheduled(schedule="static", chunk=8),
            "gcc, dynamic": peer("triangle_dynamic"),
            "gcc, static": peer("triangle_static"),
        },
        expected=lambda: np.tril(data).sum(1),
        goals={"gcc, dynamic": 1.0},
        note="chunks of 8 rows to whoever is free; of equal ranges, too, threads take each other's rest",
    )


def cases(context: Context) -> Iterator[Case]:
    library, numba = gcc_library(), module("numba")
    yield Case(
        "an empty region",
        sampled(our_regions()),
        peers={
            "gcc -fopenmp": library
            if isinstance(library, Missing)
            else sampled(gcc_regions(library)),
            "Numba prange": numba if isinstance(numba, Missing) else sampled(numba_regions(numba)),
        },
        sampled=True,
    )
    yield from triangle(300 if context.quick else 1000, library)
