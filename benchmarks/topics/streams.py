"""Stores past the caches: results larger than the caches, with plain and with streaming stores.

A triad writes one array and reads two; a copy writes one and reads one; a fill reads nothing. The
peers are the same kernels without `stream()`, and NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tilewright as tw
from harness import Case, Context

TITLE = "Streaming stores"
THREADS = (1, 2)


def cases(context: Context) -> Iterator[Case]:
    n = tw.param("N")
    i = tw.iter("i")
    x, y = (tw.input(name, [n], tw.float32) for name in "xy")
    # The cache holds a part of the small ones.
    sizes = (1 << 12,) if context.quick else (1 << 16, 1 << 20, 1 << 26)
    kernels: dict[str, tuple[list[Any], Any, int, Callable[..., Any]]] = {
        "triad": ([x, y], x[i] + 3 * y[i], 3, lambda a, b, out: np.add(a, 3 * b, out=out)),
        "copy": ([x], x[i], 2, lambda a, out: np.copyto(out, a)),
        "fill": ([], tw.cast(1, tw.float32), 1, lambda out: out.fill(1)),
    }
    for name, (inputs, value, moved, reference) in kernels.items():
        made = {}
        for stream in (False, True):
            z = tw.computation("z", {i: n}, value)
            f = tw.function(f"{name}{'_stream' * stream}", outputs=[z], inputs=inputs)
            f["z"].split(i, 1 << 14).vectorize("i1", 16)
            if context.threads > 1:
                f["z"].parallelize("i0")
            if stream:
                f["z"].stream()
            made[stream] = f
        for size in sizes:
            arrays = [np.random.default_rng(k).random(size, np.float32) for k in range(len(inputs))]
            out = {key: np.empty(size, np.float32) for key in ("ours", "plain", "numpy")}

            def run(f: tw.Function, key: str, arrays: Any = arrays, out: Any = out) -> Any:
                return lambda: f(*arrays, out=out[key])

            def theirs(work: Any = reference, arrays: Any = arrays, out: Any = out) -> Any:
                work(*arrays, out["numpy"])
                return out["numpy"]

            yield Case(
                f"{name} {4 * size >> 10} KiB",
                run(made[True], "ours"),
                peers={"plain stores": run(made[False], "plain"), "NumPy": theirs},
                work=4.0 * moved * size,
                unit="GB/s",
            )
