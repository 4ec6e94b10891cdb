"""Cost of a call with small arrays, beside NumPy's own functions."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Iterator

import numpy as np

import tilewright as tw
from harness import Case, Context

TITLE = "A call with small arrays"
THREADS = (1,)


def statement(text: str, names: dict[str, object]) -> Callable[[], dict[str, float]]:
    """Times a statement as it stands, without a function around it."""
    timer, number = timeit.Timer(text, globals=names), 20_000
    return lambda: {"": timer.timeit(number) / number}


def cases(context: Context) -> Iterator[Case]:
    n, m, k_size = tw.params("N M K")
    i, j, k = tw.iters("i j k")
    a = tw.input("A", [n, k_size], tw.float32)
    b = tw.input("B", [k_size, m], tw.float32)
    c = tw.computation("C", {i: n, j: m}, tw.sum(a[i, k] * b[k, j], over={k: k_size}))
    matmul = tw.function("matmul", outputs=[c])
    x = tw.input("x", [n], tw.float64)
    scale = tw.function("scale", outputs=[tw.computation("y", {i: n}, x[i] * 2.0)])

    small = np.random.default_rng(0).random((4, 4), np.float32)
    out = np.empty_like(small)
    vector, result = np.ones(4), np.empty(4)
    np.testing.assert_allclose(matmul(small, small), small @ small, rtol=1e-6)
    np.testing.assert_array_equal(scale(vector), vector * 2)
    names: dict[str, object] = dict(locals()) | {"np": np}
    for name, ours, theirs in (
        ("3 arrays, out=", "matmul(small, small, out=out)", "np.matmul(small, small, out=out)"),
        ("3 arrays", "matmul(small, small)", "np.matmul(small, small)"),
        ("2 arrays, out=", "scale(vector, out=result)", "np.multiply(vector, 2.0, out=result)"),
    ):
        yield Case(
            name, statement(ours, names), peers={"NumPy": statement(theirs, names)}, sampled=True
        )
