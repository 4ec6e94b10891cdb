"""What it takes until a kernel runs, and what a call costs: beside Numba, JAX and Halide.

Each sample of a first call is a process of its own (see cold.py). "cold": every contender's caches
are empty. "next process": those that have a cache on disk find what the cold one left; JAX's is on,
Halide has none. "compile" is all of our own time in the first call, its phases are indented.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import peers
import tilewright as tw
from harness import Case, Context, Missing

TITLE = "Import, first call, next process, small calls"
THREADS = (1,)

HERE = pathlib.Path(__file__).resolve().parents[1]
PEERS = {"Numba": "numba", "JAX": "jax", "Halide": "halide"}


def first_call(contender: str, kernel: str, folder: str) -> dict[str, float]:
    """A first call in a new process whose caches are in `folder`."""
    environment = os.environ | {
        "TILEWRIGHT_CACHE_DIR": f"{folder}/tilewright",
        "NUMBA_CACHE_DIR": f"{folder}/numba",
        "JAX_COMPILATION_CACHE_DIR": f"{folder}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    done = subprocess.run(
        [sys.executable, str(HERE / "cold.py"), contender, kernel],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{contender}, {kernel}: {done.stderr[-400:]}")
    parts: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return parts


def cold(contender: str, kernel: str) -> Callable[[], dict[str, float]]:
    def sample() -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            return first_call(contender, kernel, folder)

    return sample


def warm(contender: str, kernel: str, folder: str) -> Callable[[], dict[str, float]]:
    first_call(contender, kernel, folder)
    return lambda: first_call(contender, kernel, folder)


def there(name: str) -> bool:
    return importlib.util.find_spec(PEERS[name]) is not None


def first_calls(context: Context) -> Iterator[Case]:
    kernels = ("sum3",) if context.quick else ("gemm", "sum3")
    for kernel in kernels:
        with tempfile.TemporaryDirectory() as folder:
            missing: dict[str, Any] = {
                name: Missing(f"{module} is not installed")
                for name, module in PEERS.items()
                if not there(name)
            }
            present = [name for name in PEERS if name not in missing]
            if context.quick:
                present = []
            yield Case(
                f"{kernel}, cold",
                cold("tilewright", kernel),
                peers=missing | {name: cold(name, kernel) for name in present},
                sampled=True,
                group="cold",
                goals={"ms: compile": 50.0} if kernel == "gemm" else {},
                seconds=1.0 if context.quick else 15.0,
            )
            yield Case(
                f"{kernel}, next process",
                warm("tilewright", kernel, folder),
                peers=missing | {name: warm(name, kernel, folder) for name in present},
                sampled=True,
                group="next process",
                goals={"ms: compile": 1.0},
                seconds=1.0 if context.quick else 10.0,
            )


# ---- calls ----


def statement(text: str, names: dict[str, Any]) -> Callable[[], dict[str, float]]:
    """Times a statement as it stands, without a function around it."""
    timer = timeit.Timer(text, globals=names)
    timer.timeit(10)
    number = timer.autorange()[0] // 10 + 1
    return lambda: {"": timer.timeit(number) / number}


def added(arrays: int) -> tw.Function:
    """out[i] = the sum of so many arrays, or (with none) one number."""
    if arrays == 0:
        return tw.function("nothing", outputs=[tw.computation("out", {}, 1.0)])
    n = tw.param("N")
    i = tw.iter("i")
    inputs = [tw.input(f"x{number}", [n], tw.float32) for number in range(arrays)]
    value: tw.Expression = inputs[0][i] + 1.0
    for array in inputs[1:]:
        value = value + array[i]
    out = tw.computation("out", {i: n}, tw.cast(value, tw.float32))
    return tw.function(f"added{arrays}", outputs=[out], inputs=inputs)


def numba_nothing() -> Any:
    numba = peers.module("numba")
    return numba if isinstance(numba, Missing) else numba.njit(lambda: 1.0)


def numba_added(arrays: int) -> Any:
    numba = peers.module("numba")
    if isinstance(numba, Missing):
        return numba
    names = [f"x{number}" for number in range(arrays)]
    source = f"def added({', '.join([*names, 'out'])}):\n"
    source += "    for i in range(out.size):\n"
    source += f"        out[i] = {' + '.join([*(f'{name}[i]' for name in names), '1'])}\n"
    scope: dict[str, Any] = {}
    exec(source, scope)
    return numba.njit(scope["added"])


def jax_added(arrays: int) -> Any:
    jax = peers.module("jax")
    if isinstance(jax, Missing):
        return jax
    if arrays == 0:
        return jax.jit(lambda: jax.numpy.float32(1.0))
    return jax.jit(lambda *x: sum(x) + jax.numpy.float32(1.0))


def halide_added(arrays: int) -> Any:
    """A pipeline whose inputs are set, and a function that runs it into a buffer."""
    hl = peers.module("halide")
    if isinstance(hl, Missing):
        return hl
    x, f = hl.Var("x"), hl.Func("added")
    buffers = [hl.Buffer(np.ones(16, np.float32)) for _ in range(arrays)]
    value = hl.f32(1.0)
    for buffer in buffers:
        value = value + buffer[x]
    f[x] = value
    f.compile_jit()
    out = hl.Buffer(np.zeros(16, np.float32))
    f.realize(out)
    return {"f": f, "out": out}


def calls(context: Context) -> Iterator[Case]:
    for total in (0, 1, 3, 6):
        inputs = max(0, total - 1)
        x = [np.ones(16, np.float32) for _ in range(inputs)]
        out = np.empty(16, np.float32)
        if total == 1:  # an array that is overwritten
            n, i = tw.param("N"), tw.iter("i")
            array = tw.input("x0", [n], tw.float32)
            result = tw.computation("out", {i: n}, array[i] + tw.cast(1.0, tw.float32))
            f = tw.function("bump", outputs=[result])
            result.store_in(array[i])
            ours = statement("f(out)", {"f": f, "out": out})
        else:
            f = added(inputs)
            names: dict[str, Any] = {f"x{number}": array for number, array in enumerate(x)}
            given = ", ".join(names)
            text = f"f({given}, out=out)" if total else "f()"
            ours = statement(text, names | {"f": f, "out": out})
        theirs: dict[str, Any] = {}
        names = {f"x{number}": array for number, array in enumerate(x)}
        names |= {"out": out} if total else {}
        compiled = numba_added(inputs) if total else numba_nothing()
        theirs["Numba"] = compiled
        if not isinstance(compiled, Missing):
            theirs["Numba"] = statement(f"g({', '.join(names)})", names | {"g": compiled})
        # JAX makes its result: with one array, that is one it reads.
        read = max(1, inputs) if total else 0
        jitted = jax_added(read)
        theirs["JAX"] = jitted
        if not isinstance(jitted, Missing):
            arrays = [np.ones(16, np.float32) for _ in range(read)]
            theirs["JAX"] = statement("g(*x).block_until_ready()", {"g": jitted, "x": arrays})
        realized = halide_added(inputs)
        if isinstance(realized, Missing):
            theirs["Halide"] = realized
        elif total:
            theirs["Halide"] = statement("f.realize(out)", realized)
        yield Case(
            f"call, {total} array{'' if total == 1 else 's'}",
            ours,
            peers=theirs,
            sampled=True,
            group="calls",
            note="16 elements; JAX makes its result; Halide's arrays are wrapped beforehand",
        )


def cases(context: Context) -> Iterator[Case]:
    yield from first_calls(context)
    yield from calls(context)
