"""Elementary functions on arrays that stay in the cache, beside libmvec and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from accuracy import FUNCTIONS, Array, Call, Peers, contenders, errors
from harness import Case, Context, Missing

TITLE = "Elementary functions"
THREADS = (1,)
LENGTH = 16384


def filling(call: Call, a: Array, b: Array) -> Callable[[], Array]:
    """`call` into an array of its own, which it returns."""
    out = np.empty_like(a)

    def run() -> Array:
        call(a, b, out)
        return out

    return run


def cases(context: Context) -> Iterator[Case]:
    peers = Peers()
    random = np.random.default_rng(2)
    for name, (_, low, high) in FUNCTIONS.items():
        for dtype in ("float32", "float64"):
            a, b = (random.uniform(low, high, LENGTH).astype(dtype) for _ in range(2))
            largest = errors(name, dtype, peers, 2_000 if context.quick else 200_000)
            units = ", ".join(f"{who} {error:.2f}" for who, error in largest.items())
            calls = {
                who: filling(call, a, b) for who, call in contenders(name, dtype, peers).items()
            }
            others = {
                who: calls.get(who, Missing("no such function here"))
                for who in ("libmvec", "NumPy")
            }
            for mode in ("exact", "fast_math"):
                yield Case(
                    f"{name} {dtype} {mode}",
                    calls[mode],
                    peers=others,
                    group=f"{mode} {dtype}",
                    work=LENGTH,
                    unit="Gvalue/s",
                    rtol=float(64 * np.finfo(dtype).eps),
                    atol=float(np.finfo(dtype).eps),
                    note=f"largest errors in ULP: {units}",
                    seconds=0.3,
                )
