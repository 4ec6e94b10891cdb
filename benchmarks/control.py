"""Kernels whose loops depend on data, beside NumPy and, where they are installed, SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tilewright as tw
from common import best, report

i, p, b = tw.iters("i p b")
N, M, NNZ, B = tw.params("N M NNZ B")


def sparse_product() -> tw.Function:
    """A CSR matrix times a vector, its rows in parallel."""
    val, x = tw.input("val", [NNZ], tw.float64), tw.input("x", [M], tw.float64)
    col, row = tw.input("col", [NNZ], tw.int32), tw.input("row", [N + 1], tw.int32)
    y = tw.computation("y", {i: N}, tw.sum(val[p] * x[col[p]], over={p: (row[i], row[i + 1])}))
    return tw.function("spmv", inputs=[val, col, row, x], outputs=[y])


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


def main() -> None:
    generator = np.random.default_rng(0)
    rows: list[list[Any]] = []

    def row(name: str, ours: Callable[[], Any], peer: str, theirs: Callable[[], Any]) -> None:
        np.testing.assert_allclose(ours(), theirs(), rtol=1e-9)
        ours_ms, theirs_ms = best(ours, 15), best(theirs, 15)
        rows.append([name, ours_ms, peer, theirs_ms, theirs_ms / ours_ms])

    size, width = 100_000, 20
    degree = generator.integers(0, 2 * width, size)
    start = np.concatenate([[0], np.cumsum(degree)]).astype(np.int32)
    col = generator.integers(0, size, start[-1]).astype(np.int32)
    val, x = generator.random(start[-1]), generator.random(size)
    spmv = sparse_product()
    owner = np.repeat(np.arange(size), degree)
    for threads in ("one thread", "all threads"):
        if threads == "all threads":
            spmv["y"].parallelize(i)
        row(
            f"CSR times vector, {threads}",
            lambda: spmv(val, col, start, x),
            "np.bincount with weights",
            lambda: np.bincount(owner, val * x[col], minlength=size),
        )
    try:
        from scipy.sparse import csr_array  # type: ignore[import-not-found]
    except ImportError:
        pass
    else:
        matrix = csr_array((val, col, start), shape=(size, size))
        row(
            "CSR times vector, all threads",
            lambda: spmv(val, col, start, x),
            "scipy.sparse",
            lambda: matrix @ x,
        )

    image = generator.integers(0, 256, 4_000_000).astype(np.uint8)
    count, out = histogram(), np.zeros(256, np.int64)
    row(
        "histogram of bytes",
        lambda: count(image, out=out),
        "np.bincount",
        lambda: np.bincount(image, minlength=256),
    )

    points = (np.linspace(-2, 1, 300)[None, :] + 1j * np.linspace(-1, 1, 200)[:, None]).ravel()
    escape = escape_times()
    row(
        "Mandelbrot, all threads",
        lambda: escape(points),
        "NumPy with masks",
        lambda: escape_times_numpy(points),
    )
    report("control", ["kernel", "tilewright ms", "peer", "peer ms", "times faster"], rows)


if __name__ == "__main__":
    main()
