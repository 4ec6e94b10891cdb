"""Small programs for the tests of commands, each with NumPy's answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import tilewright as tw

i, j, k = tw.iters("i j k")


@dataclass
class Program:
    """A fresh function, arrays of given sizes for it, and what NumPy says."""

    function: tw.Function
    arrays: Callable[..., tuple[np.ndarray, ...]]
    numpy: Callable[..., np.ndarray]


def _generator() -> np.random.Generator:
    return np.random.default_rng(7)


def matmul(fast_math: bool = False, ordered: bool = False) -> Program:
    n, m, q = tw.params("N M K")
    a = tw.input("A", [n, q], tw.float64)
    b = tw.input("B", [q, m], tw.float64)
    product = tw.sum(a[i, k] * b[k, j], over={k: q}, ordered=ordered)
    c = tw.computation("C", {i: n, j: m}, product)

    def arrays(n: int, m: int, q: int = 5) -> tuple[np.ndarray, ...]:
        generator = _generator()
        # Small integers: every order of the sum gives the same value.
        return (
            generator.integers(-8, 8, (n, q)).astype(np.float64),
            generator.integers(-8, 8, (q, m)).astype(np.float64),
        )

    function = tw.function("matmul", outputs=[c], fast_math=fast_math)
    return Program(function, arrays, lambda a, b: a @ b)


def pointwise() -> Program:
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.float32)
    c = tw.computation("C", {i: n, j: m}, a[i, j] * 2 + tw.cast(i - 3 * j, tw.float32))

    def arrays(n: int, m: int) -> tuple[np.ndarray, ...]:
        return (_generator().random((n, m), dtype=np.float32),)

    def numpy(a: np.ndarray) -> np.ndarray:
        rows, columns = np.indices(a.shape)
        return a * np.float32(2) + (rows - 3 * columns).astype(np.float32)

    return Program(tw.function("pointwise", outputs=[c]), arrays, numpy)


def triangle() -> Program:
    n = tw.param("N")
    a = tw.input("A", [n, n], tw.int64)
    c = tw.computation("C", {i: n, j: n}, a[i, j] + a[j, i], where=j <= i)

    def arrays(n: int, _: int = 0) -> tuple[np.ndarray, ...]:
        return (_generator().integers(0, 100, (n, n)),)

    return Program(tw.function("triangle", outputs=[c]), arrays, lambda a: np.tril(a + a.T))


def prefix() -> Program:
    """Each row depends on the one above: rows in order, columns in any."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int32)
    c = tw.computation(
        "C",
        {i: n, j: m},
        lambda c: [(i == 0, a[i, j]), (i > 0, c[i - 1, j] + a[i, j])],
        dtype=tw.int32,
    )

    def arrays(n: int, m: int) -> tuple[np.ndarray, ...]:
        return (_generator().integers(-50, 50, (n, m), dtype=np.int32),)

    def numpy(a: np.ndarray) -> np.ndarray:
        return np.cumsum(a, axis=0, dtype=np.int32)

    return Program(tw.function("prefix", outputs=[c]), arrays, numpy)


def pipeline() -> Program:
    """A producer and a stencil that reads two of its rows."""
    n, m = tw.params("N M", "N >= 2")
    a = tw.input("A", [n, m], tw.int32)
    b = tw.computation("B", {i: n, j: m}, a[i, j] * 3 + 1)
    c = tw.computation("C", {i: n - 1, j: m}, b[i, j] + b[i + 1, j])

    def arrays(n: int, m: int) -> tuple[np.ndarray, ...]:
        return (_generator().integers(-50, 50, (n, m), dtype=np.int32),)

    def numpy(a: np.ndarray) -> np.ndarray:
        b = a * 3 + 1
        return b[:-1] + b[1:]

    return Program(tw.function("pipeline", outputs=[c]), arrays, numpy)


def check(program: Program, *sizes: tuple[int, ...]) -> None:
    """The function, its evaluator and NumPy agree on arrays of these sizes."""
    for size in sizes:
        arrays = program.arrays(*size)
        expected = program.numpy(*arrays)
        result = program.function(*arrays)
        np.testing.assert_array_equal(result, expected, err_msg=f"kernel at {size}")
        assert result.dtype == expected.dtype
        if np.prod(size) <= 2000:
            oracle = program.function.evaluate(*arrays)
            np.testing.assert_array_equal(oracle, expected, err_msg=f"evaluator at {size}")
