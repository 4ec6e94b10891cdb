"""Kernels whose loops depend on data, beside NumPy and, where they are installed, SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import peers
import tilewright as tw
from harness import Case, Context, Missing

TITLE = "Loops that depend on data"
THREADS = (1, 2)

i, j, p, b = tw.iters("i j p b")
N, M, K, NNZ, B = tw.params("N M K NNZ B")


def sparse_product() -> tw.Function:
    """A CSR matrix times a vector, its rows in parallel."""
    val, x = tw.input("val", [NNZ], tw.float64), tw.input("x", [M], tw.float64)
    col, row = tw.input("col", [NNZ], tw.int32), tw.input("row", [N + 1], tw.int32)
    y = tw.computation("y", {i: N}, tw.sum(val[p] * x[col[p]], over={p: (row[i], row[i + 1])}))
    return tw.function("spmv", inputs=[val, col, row, x], outputs=[y])


def sparse_times_dense() -> tw.Function:
    """A CSR matrix times a dense one, whose rows are added in the order in which they lie in memory."""
    val, x = tw.input("val", [NNZ], tw.float64), tw.input("x", [M, K], tw.float64)
    col, row = tw.input("col", [NNZ], tw.int32), tw.input("row", [N + 1], tw.int32)
    y = tw.computation(
        "y", {i: N, j: K}, tw.sum(val[p] * x[col[p], j], over={p: (row[i], row[i + 1])})
    )
    f = tw.function("spmm", inputs=[val, col, row, x], outputs=[y])
    y.reorder(i, p, j).parallelize(i)
    return f


def histogram() -> tw.Function:
    """Counts of bytes."""
    image = tw.input("image", [N], tw.uint8)
    counts = tw.computation("counts", {b: B}, tw.sum(1, over={i: N}, where=image[i] == b))
    f = tw.function("histogram", outputs=[counts])
    f["counts"].interchange(b, i)
    return f


def escape_times() -> tw.Function:
    """Iterations of the Mandelbrot set's formula, in parallel."""
    c = tw.input("c", [N], tw.complex128)
    _, count = tw.while_loop(
        lambda z, n: (z * tw.conj(z)).real < 4,
        lambda z, n: (z * z + c[i], n + 1),
        (0j, 0),
        limit=200,
    )
    f = tw.function("escape_times", outputs=[tw.computation("count", {i: N}, count)])
    f["count"].parallelize(i)
    return f


def escape_times_numpy(c: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same with masks, as it is written without a loop over points."""
    z, count = np.zeros_like(c), np.zeros(c.shape, np.int64)
    live = np.arange(c.size)
    for _ in range(200):
        live = live[(z[live] * z[live].conj()).real < 4]
        z[live] = z[live] ** 2 + c[live]
        count[live] += 1
    return count


def cases(context: Context) -> Iterator[Case]:
    generator = np.random.default_rng(0)
    size, width = (1_000 if context.quick else 100_000), 20
    degree = generator.integers(0, 2 * width, size)
    start = np.concatenate([[0], np.cumsum(degree)]).astype(np.int32)
    col = generator.integers(0, size, start[-1]).astype(np.int32)
    val, x = generator.random(start[-1]), generator.random(size)
    spmv = sparse_product()
    spmv["y"].parallelize(i)
    owner = np.repeat(np.arange(size), degree)
    sparse = peers.module("scipy.sparse")
    by_scipy: Any = sparse
    if not isinstance(sparse, Missing):
        matrix = sparse.csr_array((val, col, start), shape=(size, size))
        by_scipy = lambda: matrix @ x  # noqa: E731
    yield Case(
        "CSR times vector",
        lambda: spmv(val, col, start, x),
        peers={
            "np.bincount with weights": lambda: np.bincount(owner, val * x[col], minlength=size),
            "scipy.sparse": by_scipy,
        },
        rtol=1e-9,
    )

    dense, spmm = generator.random((size, 16)), sparse_times_dense()
    yield Case(
        "CSR times 16 columns",
        lambda: spmm(val, col, start, dense),
        peers={"scipy.sparse": sparse if isinstance(sparse, Missing) else lambda: matrix @ dense},
        rtol=1e-9,
    )

    image = generator.integers(0, 256, 40_000 if context.quick else 4_000_000).astype(np.uint8)
    count, out = histogram(), np.zeros(256, np.int64)
    yield Case(
        "histogram of bytes",
        lambda: count(image, out=out),
        peers={"np.bincount": lambda: np.bincount(image, minlength=256)},
    )

    points = (np.linspace(-2, 1, 300)[None, :] + 1j * np.linspace(-1, 1, 200)[:, None]).ravel()
    escape = escape_times()
    yield Case(
        "Mandelbrot",
        lambda: escape(points),
        peers={"NumPy with masks": lambda: escape_times_numpy(points)},
    )
