"""Fifteen kernels of PolyBench, declared in Python and scheduled by `auto_schedule`, beside gcc, clang, Polly, Numba
and our own default schedule.

The compilers get the loops as PolyBench has them, for one thread. The declarations are those of the tests
(`tests/python/gpu/polybench_*.py`).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import peers
import polybench_c
import tilewright as tw
from harness import Case, Context, Missing

TITLE = "Schedules found for PolyBench's kernels"
THREADS = (1, 2)

Array = npt.NDArray[Any]

#: Extents of the results and of scratch arrays in C, and how many of them are results, by kernel.
_RESULTS: dict[str, tuple[list[str], int]] = {
    "gemm": (["nm"], 1),
    "2mm": (["nm", "nl"], 1),
    "3mm": (["nm", "mo", "no"], 1),
    "atax": (["m"], 1),
    "bicg": (["m", "n"], 2),
    "mvt": (["n", "n"], 2),
    "gesummv": (["n"], 1),
    "doitgen": (["nmk"], 1),
    "syrk": (["nn"], 1),
    "trmm": (["nm"], 1),
    "lu": (["nn"], 1),
    "cholesky": (["nn"], 1),
    "jacobi-2d": (["nn", "nn"], 1),
    "heat-3d": (["nnn", "nnn"], 1),
    "fdtd-2d": (["nm", "nm", "nm"], 3),
}


def random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).random(shape) + 0.5


def arguments(name: str, kernel: Any, quick: bool) -> tuple[dict[str, Any], dict[str, int]]:
    """The arguments of a call, and the sizes as C has them."""
    n = {"atax": 1500, "bicg": 1500, "mvt": 1500, "gesummv": 1500, "lu": 500}.get(name, 400)
    if quick:
        n = 24
    if name == "doitgen":
        shape = (n // 4, n // 4, n // 3)
        given = {"A": random(*shape), "C": random(shape[2], shape[2])}
        return given, dict(zip("nmk", shape, strict=True))
    if name == "jacobi-2d":
        side, steps = (n, 4) if quick else (1300, 50)
        return {"A": random(side, side), "T": steps}, {"n": side, "T": steps}
    if name == "heat-3d":
        side, steps = (n // 2, 3) if quick else (120, 50)
        return {"A": random(side, side, side), "T": steps}, {"n": side, "T": steps}
    if name == "fdtd-2d":
        side, steps = (n, 5) if quick else (1000, 50)
        fields = {field: random(side, side + 8) for field in ("ex", "ey", "hz")}
        given = {**fields, "fict": random(steps)}
        return given, {"n": side, "m": side + 8, "T": steps}
    given = kernel.arguments(n)
    sizes = {"n": n}
    if name in ("gemm", "2mm", "3mm"):
        sizes |= {"k": n + 4, "m": n + 2, "l": n + 6, "o": n + 1}
    elif name in ("atax", "bicg", "syrk"):
        sizes["m"] = n + 3
    elif name == "trmm":
        sizes["m"] = n + 2
    return given, sizes


def numba_of(name: str, given: dict[str, Any]) -> Callable[[], Any] | Missing:
    """The one that Numba's users write most often; other kernels have no Numba."""
    numba = peers.module("numba")
    if isinstance(numba, Missing):
        return numba
    if name != "jacobi-2d":
        return Missing("written for jacobi-2d alone")
    prange = numba.prange

    def steps(a: Array, b: Array, pairs: int) -> Array:
        for _ in range(pairs):
            for i in prange(1, a.shape[0] - 1):
                for j in range(1, a.shape[1] - 1):
                    b[i, j] = 0.2 * (
                        a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j]
                    )
            for i in prange(1, a.shape[0] - 1):
                for j in range(1, a.shape[1] - 1):
                    a[i, j] = 0.2 * (
                        b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j]
                    )
        return a

    compiled = numba.njit(parallel=True, fastmath=True)(steps)
    return lambda: compiled(given["A"].copy(), given["A"].copy(), given["T"])


def case(name: str, kernel: Any, quick: bool) -> Case:
    default = kernel.build()
    default.target = "cpu"
    default.reset_schedule()
    found = default.copy()
    found.auto_schedule()
    given, sizes = arguments(name, kernel, quick)
    extents, shown = _RESULTS[name]
    inputs = [np.atleast_1d(value) for key, value in given.items() if key != "T"]
    contenders: dict[str, Callable[[], Any] | Missing] = {}
    for compiler in polybench_c.COMPILERS:
        results = [np.zeros([sizes[size] for size in letters]) for letters in extents]
        contenders[compiler] = polybench_c.compiled(name, compiler, sizes, inputs, results, shown)
    contenders["Numba"] = numba_of(name, given)
    contenders["default"] = lambda: default(**given)
    size = " x ".join(f"{letter} = {value}" for letter, value in sizes.items())
    return Case(
        f"{name}, {size}",
        ours=lambda: found(**given),
        peers=contenders,
        rtol=1e-9,
        atol=1e-12,
        goals={"gcc": 1.5, "clang": 1.5, "Polly": 1.5, "default": 1.0},
    )


def cases(context: Context) -> Iterator[Case]:
    sys.path.append(str(peers.ROOT / "tests" / "python" / "gpu"))
    polybench = importlib.import_module("polybench")

    kernels = {kernel.name: kernel for kernel in polybench.KERNELS}
    tw.set_num_threads(context.threads)
    for name in _RESULTS:
        yield case(name, kernels[name], context.quick)
