"""Cost of a call with small arrays, beside NumPy's own functions. Microseconds, the best of many."""

from __future__ import annotations

import timeit

import numpy as np

import tilewright as tw
from common import report


def microseconds(statement: str, names: dict[str, object]) -> float:
    number = 20_000
    return 1e6 / number * min(timeit.repeat(statement, globals=names, number=number, repeat=7))


def main() -> None:
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
    rows = [
        [
            "3 arrays, out=",
            microseconds("matmul(small, small, out=out)", names),
            microseconds("np.matmul(small, small, out=out)", names),
        ],
        [
            "3 arrays",
            microseconds("matmul(small, small)", names),
            microseconds("np.matmul(small, small)", names),
        ],
        [
            "2 arrays, out=",
            microseconds("scale(vector, out=result)", names),
            microseconds("np.multiply(vector, 2.0, out=result)", names),
        ],
    ]
    report("calls", ["call", "tilewright us", "NumPy us"], rows)


if __name__ == "__main__":
    main()
