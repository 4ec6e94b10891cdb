"""The largest errors of the elementary functions, ours and the peers', and loops to time them.

    PYTHONPATH=python .venv/bin/python benchmarks/accuracy.py              the table
    PYTHONPATH=python .venv/bin/python benchmarks/accuracy.py --exhaustive
                                          every float32 through every function, some minutes each

Errors are in units in the last place, against the long double functions of the C library, over
numbers of all sizes. libmvec is what GCC calls for `-O3 -ffast-math`; where GCC or a vector
function is missing, so is the figure. `topics/mathematics.py` times the same loops.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import math
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

import tilewright as tw

Array = np.ndarray[Any, Any]

# The names in C, and the range of the timed arguments.
FUNCTIONS: dict[str, tuple[str, float, float]] = {
    "exp": ("exp", -80, 80),
    "exp2": ("exp2", -100, 100),
    "log": ("log", 0.01, 100),
    "log2": ("log2", 0.01, 100),
    "log10": ("log10", 0.01, 100),
    "expm1": ("expm1", -2, 2),
    "log1p": ("log1p", -0.9, 100),
    "cbrt": ("cbrt", -100, 100),
    "sin": ("sin", -100, 100),
    "cos": ("cos", -100, 100),
    "tan": ("tan", -100, 100),
    "arcsin": ("asin", -1, 1),
    "arccos": ("acos", -1, 1),
    "arctan": ("atan", -10, 10),
    "sinh": ("sinh", -20, 20),
    "cosh": ("cosh", -20, 20),
    "tanh": ("tanh", -5, 5),
    "arcsinh": ("asinh", -20, 20),
    "arccosh": ("acosh", 1, 20),
    "arctanh": ("atanh", -1, 1),
    "erf": ("erf", -3, 3),
    "power": ("pow", 0.1, 10),
    "arctan2": ("atan2", -10, 10),
    "hypot": ("hypot", -10, 10),
}
BINARY = ("power", "arctan2", "hypot")
LANES = {"float32": 16, "float64": 8}
TIMED = 16384


def ours(name: str, dtype: str, fast_math: bool) -> tw.Function:
    n, i = tw.param("n"), tw.iter("i")
    a, b = tw.input("a", [n], dtype), tw.input("b", [n], dtype)
    if name == "power":
        body = a[i] ** b[i]
    else:
        arguments = (a[i], b[i]) if name in BINARY else (a[i],)
        body = getattr(tw, name)(*arguments)
    c = tw.computation("c", {i: n}, body)
    f = tw.function(f"{name}_{dtype}", outputs=[c], fast_math=fast_math)
    c.vectorize(i, LANES[dtype])
    return f


class Peers:
    """Loops over the C functions, compiled by GCC: vectorised ones and long double ones."""

    def __init__(self) -> None:
        self.library: ctypes.CDLL | None = None
        self.symbols = ""
        if shutil.which("gcc") is None:
            return
        loops = ["#include <math.h>"]
        exact = ["#include <math.h>"]
        for name, (c_name, _, _) in FUNCTIONS.items():
            second = ", y[k]" if name in BINARY else ""
            for dtype, c_type, suffix in (("float32", "float", "f"), ("float64", "double", "")):
                loops.append(
                    f"void {name}_{dtype}(const {c_type} *restrict x, const {c_type} *restrict y, "
                    f"{c_type} *restrict z, long n) {{ for (long k = 0; k < n; ++k) "
                    f"z[k] = {c_name}{suffix}(x[k]{second}); }}"
                )
            exact.append(
                f"void {name}_exact(const long double *x, const long double *y, long double *z, "
                f"long n) {{ for (long k = 0; k < n; ++k) z[k] = {c_name}l(x[k]{second}); }}"
            )
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "loops.c").write_text("\n".join(loops))
            (path / "exact.c").write_text("\n".join(exact))

            def gcc(*arguments: str) -> None:
                subprocess.run(["gcc", "-fPIC", *arguments], cwd=folder, check=True)

            # Linked without -ffast-math, which would switch subnormal numbers off in the process.
            gcc("-O3", "-march=native", "-ffast-math", "-c", "loops.c")
            gcc("-O2", "-c", "exact.c")
            gcc("-shared", "-o", "peers.so", "loops.o", "exact.o", "-lmvec", "-lm")
            self.library = ctypes.CDLL(str(path / "peers.so"))
            listing = subprocess.run(["nm", "loops.o"], cwd=folder, capture_output=True, text=True)
            self.symbols = listing.stdout

    def call(self, symbol: str, x: Array, y: Array, out: Array) -> None:
        assert self.library is not None
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, y, out)]
        getattr(self.library, symbol)(*pointers, ctypes.c_long(len(x)))

    def has(self, name: str, dtype: str) -> bool:
        suffix = "f" if dtype == "float32" else ""
        return f"_{FUNCTIONS[name][0]}{suffix}\n" in self.symbols and "_ZGV" in self.symbols

    def exact(self, name: str, x: Array, y: Array) -> Array | None:
        if self.library is None:
            return None
        out = np.empty(len(x), np.longdouble)
        with np.errstate(all="ignore"):
            wide = x.astype(np.longdouble), y.astype(np.longdouble)
        self.call(f"{name}_exact", *wide, out)
        return out


def samples(name: str, dtype: str, count: int) -> tuple[Array, Array]:
    random = np.random.default_rng(1)
    kind = np.dtype(dtype)
    integer = np.uint32 if dtype == "float32" else np.uint64

    def patterns() -> Array:
        top = np.iinfo(integer).max
        return random.integers(0, top, count, dtype=integer, endpoint=True).view(kind)

    _, low, high = FUNCTIONS[name]
    large = {"exp": 750.0, "exp2": 1080.0, "expm1": 750.0, "sinh": 712.0, "cosh": 712.0}
    ends = large.get(name, 10.0)
    ends = min(ends, 152.0) if dtype == "float32" else ends
    x = [patterns(), random.uniform(low, high, count), random.uniform(-ends, ends, count)]
    x += [1 + random.uniform(-1e-3, 1e-3, count), random.uniform(-1.5, 1.5, count)]
    if name in ("sin", "cos", "tan"):
        turns = random.integers(-500000, 500000, count)
        x += [(turns * (2 * np.arctan(np.longdouble(np.inf)))).astype(kind)]
    with np.errstate(all="ignore"):
        first = np.concatenate([part.astype(kind) for part in x])
        if name == "power":
            # Exponents whose results fill the range.
            size = np.abs(np.log(np.abs(first.astype(np.float64))))
            range_ = random.uniform(-1, 1, len(first)) * (100 if dtype == "float32" else 740)
            second = (range_ / size).astype(kind)
        else:
            second = np.concatenate([random.permutation(part).astype(kind) for part in x])
    return first, second


def largest_error(found: Array, exact: Array | None) -> float:
    """In units in the last place; infinite where one is NaN or infinite and the other is not."""
    if exact is None:
        return math.nan
    info = np.finfo(found.dtype)
    with np.errstate(all="ignore"):
        rounded = exact.astype(found.dtype)
        finite = np.isfinite(rounded) & np.isfinite(found)
        exponent = np.maximum(np.frexp(np.where(finite, exact, 1))[1] - 1, info.minexp)
        unit = np.ldexp(np.longdouble(1), exponent - info.nmant)
        error = np.abs(found.astype(np.longdouble) - exact) / unit
        # Beside the largest number, infinity is a rounding away.
        border = np.abs(exact) > np.longdouble(info.max) * (1 - np.longdouble(info.eps))
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded)) | (border & ~finite)
    return float(np.max(np.where(finite, error, np.where(same, 0, np.inf))))


Call = Callable[[Array, Array, Array], Any]


def two_arguments(name: str, function: Callable[..., Any]) -> Call:
    """Calls with both arguments or the first one."""

    def call(x: Array, y: Array, out: Array) -> Array:
        with np.errstate(all="ignore"):
            result: Array = function(*((x, y) if name in BINARY else (x,)), out=out)
            return result

    return call


def contenders(name: str, dtype: str, peers: Peers) -> dict[str, Call]:
    """Ours without and with fast_math, libmvec and NumPy; those that are there."""
    calls = {
        "exact": two_arguments(name, ours(name, dtype, False)),
        "fast_math": two_arguments(name, ours(name, dtype, True)),
    }
    if peers.has(name, dtype):
        calls["libmvec"] = functools.partial(peers.call, f"{name}_{dtype}")
    if hasattr(np, name):
        calls["NumPy"] = two_arguments(name, getattr(np, name))
    return calls


def errors(name: str, dtype: str, peers: Peers, count: int) -> dict[str, float]:
    """The largest error of each contender."""
    x, y = samples(name, dtype, count)
    exact = peers.exact(name, x, y)
    result = {}
    for who, call in contenders(name, dtype, peers).items():
        found = np.empty_like(x)
        call(x, y, found)
        result[who] = largest_error(found, exact)
    return result


def table(names: list[str], count: int) -> None:
    peers = Peers()
    columns = ["exact", "fast_math", "libmvec", "NumPy"]
    print(f"{'function':10}{'type':>10}", *(f"{column:>10}" for column in columns))
    for name in names:
        for dtype in ("float32", "float64"):
            found = errors(name, dtype, peers, count)
            cells = [f"{found[who]:10.4f}" if who in found else f"{'-':>10}" for who in columns]
            print(f"{name:10}{dtype:>10}", *cells, flush=True)


def exhaustive(names: list[str]) -> None:
    """All float32 against NumPy's float64 functions; only results that differ are measured."""
    peers = Peers()
    block = 1 << 22
    for name in names:
        if name in BINARY:
            continue
        functions = [ours(name, "float32", fast_math) for fast_math in (False, True)]
        worst = [0.0, 0.0]
        for first in range(0, 1 << 32, block):
            x = np.arange(first, first + block, dtype=np.uint32).view(np.float32)
            with np.errstate(all="ignore"):
                if hasattr(np, name):
                    close = getattr(np, name)(x.astype(np.float64)).astype(np.float32)
                else:
                    close = np.full_like(x, np.nan)
            for k, f in enumerate(functions):
                found = f(x)
                other = (found != close) & ~(np.isnan(found) & np.isnan(close))
                if other.any():
                    exact = peers.exact(name, x[other], x[other])
                    worst[k] = max(worst[k], largest_error(found[other], exact))
        print(f"{name:10} exact {worst[0]:.6f} fast_math {worst[1]:.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("functions", nargs="*", help=f"of {', '.join(FUNCTIONS)}; default: all")
    parser.add_argument("--exhaustive", action="store_true", help="every float32")
    parser.add_argument("--count", type=int, default=500_000, help="numbers of each kind sampled")
    arguments = parser.parse_args()
    names = arguments.functions or list(FUNCTIONS)
    if arguments.exhaustive:
        exhaustive(names)
    else:
        table(names, arguments.count)


if __name__ == "__main__":
    main()
