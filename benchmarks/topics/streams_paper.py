"""The five programs of the paper on periodic tiling, beside C++ in three forms (`streams_paper.cpp`).

Leben and Tzanetakis, ACM TACO 16(3), 2019, section 6: a bank of N filters of N taps, N maxima over N elements, the
autocorrelation of windows of 5 N elements, and wave equations of N * N points in one and in two dimensions, of doubles.
A call pushes one block. The C++ is compiled by gcc and by clang, -O3 -march=native -ffast-math -fopenmp, and runs with
as many threads as ours. Ours is the definition as it stands; schedule, tiles and buffers are found. On a machine that
others use, too, `GOMP_SPINCOUNT=0` lets gcc's threads sleep while they wait; else they take time from all.
"""

from __future__ import annotations

import ctypes
import pathlib
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import peers
import tilewright as tw
from harness import Case, Context, Missing

TITLE = "The five programs of the paper on periodic tiling"
THREADS = (1, 2)

Array = npt.NDArray[Any]
Call = Callable[[], Any]

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "streams_paper.cpp"
FORMS = ("plain", "by hand", "tiled by hand")
GOALS = {"by hand": 1.0, "tiled by hand": 1.0}
_FOLDER = tempfile.TemporaryDirectory(prefix="streams-paper-")


# ---- the programs as they are declared ----


def filter_bank(size: int) -> tw.StreamFunction:
    n, i, k = tw.iters("n i k")
    x, b = tw.stream("x", tw.float64), tw.input("b", [size, size], tw.float64)
    total = tw.sum(b[i, k] * x[n - k], over={k: size}, where=n - k >= 0)
    y = tw.computation("y", {n: tw.forever, i: size}, total)
    return tw.stream_function("filter_bank", outputs=[y])


def max_filter(size: int) -> tw.StreamFunction:
    n, i, k = tw.iters("n i k")
    x = tw.stream("x", tw.float64, shape=[size])
    most = tw.max(x[n - k, i], over={k: size}, where=n - k >= 0)
    y = tw.computation("y", {n: tw.forever, i: size}, most)
    return tw.stream_function("max_filter", outputs=[y])


def autocorrelation(size: int) -> tw.StreamFunction:
    window, (m, lag, k) = 5 * size, tw.iters("m l k")
    hop = window // 4
    x = tw.stream("x", tw.float64)
    total = tw.sum(x[hop * m + k] * x[hop * m + k + lag], over={k: window})
    y = tw.computation("y", {m: tw.forever, lag: window}, total)
    return tw.stream_function("autocorrelation", outputs=[y])


def wave1d(size: int) -> tw.StreamFunction:
    points, (n, i) = size * size, tw.iters("n i")
    x = tw.stream("x", tw.float64)
    inside = (i > 0) & (i < points - 1)
    u = tw.computation("u", {n: tw.forever, i: points}, dtype=tw.float64)
    late = 1.5 * u[n - 1, i] + 0.19 * (u[n - 1, i - 1] + u[n - 1, i + 1]) + x[n]
    u.define(~inside, 0.0)
    u.define(inside & (n == 0), x[n])
    u.define(inside & (n == 1), late)
    u.define(inside & (n >= 2), -0.9 * u[n - 2, i] + late)
    y = tw.computation("y", {n: tw.forever}, u[n, size // 2])
    return tw.stream_function("wave1d", outputs=[y])


def wave2d(size: int) -> tw.StreamFunction:
    n, i, j = tw.iters("n i j")
    x = tw.stream("x", tw.float64)
    inside = (i > 0) & (i < size - 1) & (j > 0) & (j < size - 1)
    u = tw.computation("u", {n: tw.forever, i: size, j: size}, dtype=tw.float64)
    sides = u[n - 1, i - 1, j] + u[n - 1, i + 1, j] + u[n - 1, i, j - 1] + u[n - 1, i, j + 1]
    late = 1.1 * u[n - 1, i, j] + 0.19 * sides + x[n]
    u.define(~inside, 0.0)
    u.define(inside & (n == 0), x[n])
    u.define(inside & (n == 1), late)
    u.define(inside & (n >= 2), -0.9 * u[n - 2, i, j] + late)
    y = tw.computation("y", {n: tw.forever}, u[n, size // 2, size // 2])
    return tw.stream_function("wave2d", outputs=[y])


@dataclass(frozen=True)
class Program:
    """One of them: its number in C++, the elements of a block, and of which shape they are.

    Attributes:
        blocks: how many elements are pushed at once, by N.
        past: of how many elements of the past those that are measured have all, by N.
    """

    number: int
    make: Callable[[int], tw.StreamFunction]
    block: Callable[[int], int]
    is_wide: bool = False
    past: Callable[[int], int] = lambda size: 0


PROGRAMS = (
    Program(0, filter_bank, lambda size: 256, past=lambda size: size),
    Program(1, max_filter, lambda size: 256 if size < 2000 else 64, True, lambda size: size),
    Program(2, autocorrelation, lambda size: 5 * size // 4 * (16 if size < 1000 else 2)),
    Program(3, wave1d, lambda size: 256 if size < 1000 else 64),
    Program(4, wave2d, lambda size: 256 if size < 1000 else 64),
)


# ---- contenders ----


def _library(compiler: str) -> ctypes.CDLL | Missing:
    found = peers.program(f"{compiler}-19")  # Debian's names of newer versions
    if isinstance(found, Missing):
        found = peers.program(compiler)
    if isinstance(found, Missing):
        return found
    target = pathlib.Path(_FOLDER.name) / f"{compiler}.so"
    flags = ["-std=c++17", "-O3", "-march=native", "-ffast-math", "-fopenmp", "-shared", "-fPIC"]
    command = [found, *flags, str(SOURCE), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return Missing(f"{compiler} fails: {done.stderr[:200]}")
    library = ctypes.CDLL(str(target))
    library.open_program.restype = ctypes.c_void_p
    library.open_program.argtypes = [ctypes.c_long] * 3 + [ctypes.c_void_p, ctypes.c_long]
    pointer, number = ctypes.c_void_p, ctypes.c_long
    library.push_program.argtypes = [pointer, pointer, number, pointer]
    library.close_program.argtypes = [ctypes.c_void_p]
    return library


class _Cpp:
    """A program in C++ that is open: a call pushes the block."""

    def __init__(
        self, library: ctypes.CDLL, program: int, form: int, x: Array, b: Array, shape: Any
    ) -> None:
        size = len(b)
        self._library, self._x, self._b = library, x, b
        self._out = np.zeros(shape)
        self._state = library.open_program(program, form, size, b.ctypes.data, len(x))

    def __call__(self) -> Array:
        self._library.push_program(
            self._state, self._x.ctypes.data, len(self._x), self._out.ctypes.data
        )
        return self._out

    def __del__(self) -> None:
        self._library.close_program(self._state)


def _case(
    program: Program, size: int, threads: int, libraries: dict[str, ctypes.CDLL | Missing]
) -> Case:
    rng = np.random.default_rng(size)
    block = program.block(size)
    x = rng.standard_normal((block, size) if program.is_wide else block)
    b = rng.standard_normal((size, size)) / size
    k = program.make(size)
    given = {"b": b} if program.number == 0 else {}
    s = k.stream(**given)
    # The first windows are complete after some blocks; all contenders get these.
    before = 0
    while not s.counts_after(block)[k.outputs[0]] or before * block < program.past(size):
        s.push(x)
        before += 1
    first = s.push(x)
    s.push(x)
    number = s.counts_after(block)[k.outputs[0]]
    out = np.empty((number, *first.shape[1:]))
    contenders: dict[str, Call | Missing] = {}
    for form, name in enumerate(FORMS):
        for compiler, library in libraries.items():
            if isinstance(library, Missing):
                contenders[f"{name}, {compiler}"] = library
                continue
            open_one = _Cpp(library, program.number, form, x, b, (number, *first.shape[1:]))
            for _ in range(before + 2):
                open_one()
            contenders[f"{name}, {compiler}"] = open_one
    return Case(
        f"{k.name} {size}",
        lambda: s.push(x, out=out),
        peers=contenders,
        group=f"{threads} thread{'s' * (threads > 1)}",
        work=float(out.size),
        unit="G/s",
        rtol=1e-9,
        atol=1e-9 * float(np.abs(first).max()),
        goals={
            contender: GOALS[name]
            for contender in contenders
            if (name := contender.split(", ")[0]) in GOALS
        },
        note=f"blocks of {block}; elements of the output",
    )


def cases(context: Context) -> Iterator[Case]:
    libraries = {compiler: _library(compiler) for compiler in ("g++", "clang++")}
    for size in (200,) if context.quick else (200, 1000, 2000):
        for program in PROGRAMS:
            if context.only in f"{program.make.__name__} {size}":
                yield _case(program, size, context.threads, libraries)
