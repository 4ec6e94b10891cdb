"""Tests of data leave the loops that they do not depend on: the work is that of the data.

Loops as they are printed are Python. They run here with a counter in each iteration, so that no clock is
needed to see how many there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tilewright as tw
from counted_iterations import Iterations

i, j, k, p, q, b = tw.iters("i j k p q b")
N, M, K, B, P, Q = tw.params("N M K B P Q")


def rows_of(lengths: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


class Problem(NamedTuple):
    f: tw.Function
    arrays: tuple[Any, ...]
    sizes: dict[str, int]
    expected: np.ndarray[Any, Any]
    work: int
    """Iterations of the loops that the data ask for."""


def sparse_times_dense() -> Problem:
    """60 rows of 0 to 5 elements, times 10 columns."""
    lengths = np.random.default_rng(1).integers(0, 6, 60)
    generator = np.random.default_rng(2)
    start = rows_of(lengths)
    at = generator.integers(0, 9, start[-1]).astype(np.int32)
    values, x = generator.integers(-4, 5, start[-1]) * 1.0, generator.integers(-4, 5, (9, 10)) * 1.0
    val, X = tw.input("val", [P], tw.float64), tw.input("X", [K, M], tw.float64)
    col, row = tw.input("col", [P], tw.int32), tw.input("row", [N + 1], tw.int32)
    C = tw.computation(
        "C", {i: N, j: M}, tw.sum(val[p] * X[col[p], j], over={p: (row[i], row[i + 1])})
    )
    dense = np.zeros((60, 9))
    np.add.at(dense, (np.repeat(np.arange(60), lengths), at), values)
    f = tw.function("spmm", inputs=[val, X, col, row], outputs=[C])
    sizes = {"N": 60, "M": 10, "K": 9, "P": len(values)}
    return Problem(f, (values, x, at, start), sizes, dense @ x, 60 * 10 + start[-1] * 10)


def nested_rows() -> Problem:
    """Rows of rows: 20 of 0 to 4 of 0 to 3 elements each."""
    generator = np.random.default_rng(3)
    outer = rows_of(generator.integers(0, 5, 20))
    inner = rows_of(generator.integers(0, 4, outer[-1]))
    weights, values = (
        generator.integers(1, 5, outer[-1]) * 1.0,
        generator.integers(1, 5, inner[-1]) * 1.0,
    )
    w, v = tw.input("w", [P], tw.float64), tw.input("v", [Q], tw.float64)
    row, part = tw.input("row", [N + 1], tw.int32), tw.input("part", [P + 1], tw.int32)
    y = tw.computation(
        "y",
        {i: N},
        tw.sum(w[p] * v[q], over={p: (row[i], row[i + 1]), q: (part[p], part[p + 1])}),
    )
    sums = np.array(
        [weights[at] * values[inner[at] : inner[at + 1]].sum() for at in range(outer[-1])]
    )
    expected = np.array([sums[outer[at] : outer[at + 1]].sum() for at in range(20)])
    f = tw.function("nested", inputs=[w, v, row, part], outputs=[y])
    sizes = {"N": 20, "P": len(weights), "Q": len(values)}
    work = 20 + outer[-1] + inner[-1]
    return Problem(f, (weights, values, outer, inner), sizes, expected, work)


def segment_sums() -> Problem:
    """300 rows of 6 columns, each added to one of 40 bins."""
    generator = np.random.default_rng(4)
    x, bins = generator.integers(-4, 5, (300, 6)) * 1.0, generator.integers(-2, 43, 300)
    X, bin_of = tw.input("X", [P, M], tw.float64), tw.input("bin", [P], tw.int64)
    H = tw.computation("H", {b: B, j: M}, tw.sum(X[p, j], over={p: P}, where=bin_of[p] == b))
    expected = np.zeros((40, 6))
    inside = (bins >= 0) & (bins < 40)
    np.add.at(expected, bins[inside], x[inside])
    f = tw.function("segments", inputs=[X, bin_of], outputs=[H])
    sizes = {"B": 40, "M": 6, "P": 300}
    return Problem(f, (x, bins), sizes, expected, 40 * 6 + 300 + 300 * 6)


def chosen_columns() -> Problem:
    """Sums of 8 columns over the 20 chosen ones of 200 rows."""
    generator = np.random.default_rng(5)
    x, rows = generator.integers(-4, 5, (200, 8)) * 1.0, np.arange(200) % 10 == 3
    X, chosen = tw.input("X", [N, M], tw.float64), tw.input("chosen", [N], tw.bool)
    y = tw.computation("y", {j: M}, tw.sum(X[i, j], over={i: N}, where=chosen[i]))
    f = tw.function("chosen", inputs=[X, chosen], outputs=[y])
    return Problem(f, (x, rows), {"N": 200, "M": 8}, x[rows].sum(axis=0), 8 + 200 + 20 * 8)


def blocks_of_rows() -> Problem:
    """Two reduced iterators, of which the data bound the outer one only."""
    generator = np.random.default_rng(6)
    start = rows_of(generator.integers(0, 5, 50))
    x = generator.integers(-4, 5, (start[-1], 7)) * 1.0
    X, row = tw.input("X", [P, K], tw.float64), tw.input("row", [N + 1], tw.int32)
    y = tw.computation("y", {i: N}, tw.sum(X[p, k], over={p: (row[i], row[i + 1]), k: K}))
    expected = np.array([x[start[at] : start[at + 1]].sum() for at in range(50)])
    f = tw.function("blocks", inputs=[X, row], outputs=[y])
    sizes = {"N": 50, "P": len(x), "K": 7}
    return Problem(f, (x, start), sizes, expected, 50 + start[-1] * 8)


def sums_of_ragged_rows() -> Problem:
    """40 rows of 0 to 30 elements each: twice the elements, then their sums."""
    generator = np.random.default_rng(7)
    lengths = generator.integers(0, 4, 40).astype(np.int32)
    x = generator.integers(-4, 5, (40, 30)) * 1.0
    X, length = tw.input("X", [N, M], tw.float64), tw.input("length", [N], tw.int32)
    D = tw.computation("D", {i: N, j: length[i]}, 2 * X[i, j])
    y = tw.computation("y", {i: N}, tw.sum(D[i, j] * X[i, j], over={j: length[i]}))
    f = tw.function("ragged", inputs=[X, length], outputs=[y], default_schedule=False)
    expected = np.where(np.arange(30) < lengths[:, None], 2 * x * x, 0).sum(axis=1)
    return Problem(f, (x, lengths), {"N": 40, "M": 30}, expected, 80 + 2 * int(lengths.sum()))


def sampled_products() -> Problem:
    """Products of two dense matrices at the places of a sparse one, and their sums by rows."""
    generator = np.random.default_rng(8)
    start = rows_of(generator.integers(0, 5, 30))
    at = generator.integers(0, 9, start[-1]).astype(np.int32)
    a, b = generator.integers(-4, 5, (30, 6)) * 1.0, generator.integers(-4, 5, (9, 6)) * 1.0
    A, B = tw.input("A", [N, K], tw.float64), tw.input("B", [M, K], tw.float64)
    col, row = tw.input("col", [P], tw.int32), tw.input("row", [N + 1], tw.int32)
    places = {p: (row[i], row[i + 1])}
    C = tw.computation("C", {i: N} | places, tw.sum(A[i, k] * B[col[p], k], over={k: K}))
    y = tw.computation("y", {i: N}, tw.sum(C[i, p], over=places))
    f = tw.function("sddmm", inputs=[A, B, col, row], outputs=[y], default_schedule=False)
    products = (a @ b.T)[np.repeat(np.arange(30), np.diff(start)), at]
    expected = np.array([products[s:e].sum() for s, e in itertools.pairwise(start)])
    sizes = {"N": 30, "M": 9, "K": 6, "P": len(at)}
    return Problem(f, (a, b, at, start), sizes, expected, 60 + 8 * len(at))


Schedule = Callable[[tw.Function], object]

CASES: list[tuple[str, Callable[[], Problem], Schedule]] = [
    ("as written", sparse_times_dense, lambda f: f),
    ("i, p, j", sparse_times_dense, lambda f: f["C"].reorder(i, p, j)),
    ("vectors", sparse_times_dense, lambda f: f["C"].reorder(i, p, j).vectorize(j, 4)),
    ("threads", sparse_times_dense, lambda f: f["C"].reorder(i, p, j).parallelize(i)),
    ("split", sparse_times_dense, lambda f: f["C"].reorder(i, p, j).split(j, 4)),
    ("tiles", sparse_times_dense, lambda f: f["C"].reorder(i, p, j).tile(p, j, 2, 4)),
    (
        "cached tiles",
        sparse_times_dense,
        lambda f: f["C"].reorder(i, p, j).split(p, 2).cache("val", "p0"),
    ),
    ("cached elements", sparse_times_dense, lambda f: f["C"].reorder(i, p, j).cache("val", p)),
    ("cached tests", sparse_times_dense, lambda f: f["C"].reorder(i, p, j).cache("row", p)),
    ("cached tests of rows", sparse_times_dense, lambda f: f["C"].reorder(i, p, j).cache("row", i)),
    (
        "cached tests of tiles",
        sparse_times_dense,
        lambda f: f["C"].reorder(i, p, j).split(p, 2).cache("row", "p0"),
    ),
    ("nested", nested_rows, lambda f: f),
    ("nested, split", nested_rows, lambda f: f["y"].split(q, 2)),
    ("segments", segment_sums, lambda f: f["H"].reorder(p, b, j)),
    ("segments, vectors", segment_sums, lambda f: f["H"].reorder(p, b, j).vectorize(j, 4)),
    ("segments, cached", segment_sums, lambda f: f["H"].reorder(p, b, j).cache("X", p)),
    ("chosen", chosen_columns, lambda f: f["y"].reorder(i, j)),
    ("chosen, vectors", chosen_columns, lambda f: f["y"].reorder(i, j).vectorize(j, 4)),
    ("ragged", sums_of_ragged_rows, lambda f: f),
    ("ragged, fused rows", sums_of_ragged_rows, lambda f: f["y"].after(f["D"], i)),
    ("ragged, fused elements", sums_of_ragged_rows, lambda f: f["y"].after(f["D"], j)),
    ("ragged, vectors", sums_of_ragged_rows, lambda f: f["D"].vectorize(j, 4)),
    ("ragged, inlined", sums_of_ragged_rows, lambda f: f["D"].inline()),
    ("ragged, beside", sums_of_ragged_rows, lambda f: f["D"].compute_at(f["y"], i)),
    ("sampled", sampled_products, lambda f: f),
    ("sampled, fused", sampled_products, lambda f: f["y"].after(f["C"], p)),
    ("sampled, i, k, p", sampled_products, lambda f: f["C"].reorder(i, k, p)),
    ("blocks", blocks_of_rows, lambda f: f),
    ("blocks, vectors", blocks_of_rows, lambda f: f["y"].vectorize(k, 4)),
    ("blocks, unrolled", blocks_of_rows, lambda f: f["y"].split(k, 2).unroll("k1", 2)),
]


@pytest.mark.parametrize(
    ("make", "command"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_work_is_that_of_the_data(make, command):
    f, arrays, sizes, expected, work = make()
    command(f)
    (name,) = f.outputs
    for call in (f, f.evaluate):
        out = np.full(expected.shape, np.nan)
        np.testing.assert_array_equal(call(*arrays, out=out), expected)
    found = np.full(expected.shape, np.nan)
    loops = Iterations()
    loops.run(f, sizes | dict(zip(f.inputs, arrays, strict=True)) | {name: found})
    np.testing.assert_array_equal(found, expected)
    # Tiles begin and end inside of rows, and have loops of their own; a cache is filled.
    assert loops.count <= 3 * work, f"{loops.count} iterations for {work}\n{f.loops}"
