"""Domains that data bound: which elements there are, who may read them, and what runs."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest

import tilewright as tw

N, M, K, P, Q = tw.params("N M K P Q")
i, j, k, p, q = tw.iters("i j k p q")
val = tw.input("val", [P], tw.float64)
col = tw.input("col", [P], tw.int32)
row = tw.input("row", [N + 1], tw.int32)
x = tw.input("x", [M], tw.float64)
A = tw.input("A", [N, M], tw.float64)
length = tw.input("length", [N], tw.int32)

GENERATOR = np.random.default_rng(7)


def sparse(rows: int = 9, columns: int = 6, padding: int = 0) -> dict[str, Any]:
    """A sparse matrix by rows with integer values; `padding` unused places behind, of column -1."""
    lengths = GENERATOR.integers(0, 4, rows)
    count = int(lengths.sum())
    return {
        "val": np.concatenate([GENERATOR.integers(-4, 5, count), np.full(padding, 77)]) * 1.0,
        "col": np.concatenate([GENERATOR.integers(0, columns, count), np.full(padding, -1)]).astype(
            np.int32
        ),
        "row": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
        "x": GENERATOR.integers(-4, 5, columns) * 1.0,
    }


def times(arrays: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The sparse matrix times the vector."""
    row, products = arrays["row"], arrays["val"] * arrays["x"][arrays["col"]]
    return np.array([products[a:b].sum() for a, b in itertools.pairwise(row)])


def ragged(rows: int = 7, columns: int = 5) -> dict[str, Any]:
    return {
        "A": GENERATOR.integers(-4, 5, (rows, columns)) * 1.0,
        "length": GENERATOR.integers(-1, columns + 3, rows).astype(np.int32),
    }


def mask_of(arrays: dict[str, Any]) -> np.ndarray[Any, Any]:
    columns = np.arange(arrays["A"].shape[1])
    return columns[None] < arrays["length"][:, None]


def agree(f: tw.Function, arrays: dict[str, Any], expected: Any) -> None:
    np.testing.assert_array_equal(f(**arrays), expected)
    np.testing.assert_array_equal(f.evaluate(**arrays), expected)


def products() -> tuple[Any, tw.Function]:
    scaled = tw.computation("scaled", {i: N, p: (row[i], row[i + 1])}, val[p] * x[col[p]])
    y = tw.computation("y", {i: N}, tw.sum(scaled[i, p], over={p: (row[i], row[i + 1])}))
    return scaled, tw.function("spmv", outputs=[y])


@pytest.mark.parametrize("padding", [0, 5])
def test_a_sparse_matrix_in_its_natural_form(padding: int):
    _, f = products()
    arrays = sparse(padding=padding)
    agree(f, arrays, times(arrays))


def test_the_loops_of_a_sparse_matrix():
    scaled, f = products()
    f["y"].after(scaled, p)
    scaled.store_in("place[0]")
    assert (
        str(f.loops)
        == """\
place = empty((1,), float64)
for i in range(0, N):
  y[i] = 0.0
  if 0 < P:
    start = int64(row[i])
    stop = int64(row[i + 1])
    for p in range(max(0, start), min(P, stop)):
      index = int64(col[p])
      assert 0 <= index < M  # x[int64(col[p])]
      place[0] = val[p] * x[index]
      y[i] = y[i] + place[0]"""
    )
    arrays = sparse(padding=3)
    agree(f, arrays, times(arrays))


def test_ragged_rows():
    rows = tw.computation("rows", {i: N, j: length[i]}, 2 * A[i, j])
    total = tw.computation("total", {i: N}, tw.sum(rows[i, j] * A[i, j], over={j: length[i]}))
    f = tw.function("totals", outputs=[total])
    arrays = ragged()
    agree(f, arrays, (2 * arrays["A"] ** 2 * mask_of(arrays)).sum(axis=1))


def test_a_condition_without_otherwise():
    chosen = tw.computation("chosen", {i: N, j: M}, A[i, j] + 1, where=(j >= 1) & (A[i, j] > 0))
    y = tw.computation("y", {i: N, j: M}, tw.select((j >= 1) & (A[i, j] > 0), chosen[i, j], -1.0))
    f = tw.function("f", outputs=[y])
    a = ragged()["A"]
    expected = np.where((np.arange(5) >= 1) & (a > 0), a + 1, -1)
    agree(f, {"A": a}, expected)


def test_otherwise_of_a_domain():
    rows = tw.computation("rows", {i: N, j: length[i]}, 2 * A[i, j], otherwise=-1)
    f = tw.function("f", outputs=[rows])
    arrays = ragged()
    agree(f, arrays, np.where(mask_of(arrays), 2 * arrays["A"], -1))


def test_elements_of_an_array_that_stay_as_they_are():
    rows = tw.computation("rows", {i: N, j: length[i]}, 2 * A[i, j], otherwise=A[i, j])
    f = tw.function("f", outputs=[rows], default_schedule=False)
    rows.store_in(A[i, j])
    assert (
        str(f.loops)
        == """\
for i in range(0, N):
  if 0 < M:
    stop = int64(length[i])
    for j in range(0, min(M, stop)):
      A[i, j] = 2.0 * A[i, j]"""
    )
    arrays = ragged()
    expected = np.where(mask_of(arrays), 2 * arrays["A"], arrays["A"])
    rows.vectorize(j, 4)
    np.testing.assert_array_equal(f(**arrays), expected)
    np.testing.assert_array_equal(arrays["A"], expected)


def test_a_recurrence_along_ragged_rows():
    scan = tw.computation(
        "scan",
        {i: N, p: P},
        lambda scan: tw.select((p > 0) & (p > row[i]), scan[i, p - 1], 0.0) + val[p],
        where=(row[i] <= p) & (p < row[i + 1]),
        dtype=tw.float64,
    )
    y = tw.computation("y", {i: N}, tw.max(scan[i, p], over={p: (row[i], row[i + 1])}, initial=0.0))
    f = tw.function("f", outputs=[y])
    arrays = {name: array for name, array in sparse().items() if name in ("val", "row")}
    bounds = arrays["row"]
    expected = [max([0.0, *np.cumsum(arrays["val"][a:b])]) for a, b in itertools.pairwise(bounds)]
    agree(f, arrays, expected)


def test_sampled_products():
    """A product of dense matrices at the places of a sparse one, then its row sums."""
    B = tw.input("B", [K, M], tw.float64)
    C = tw.input("C", [K, N], tw.float64)
    places = {p: (row[i], row[i + 1])}
    sampled = tw.computation(
        "sampled", {i: N} | places, val[p] * tw.sum(C[k, i] * B[k, col[p]], over={k: K})
    )
    y = tw.computation("y", {i: N}, tw.sum(sampled[i, p], over=places))
    f = tw.function("sddmm", outputs=[y])
    arrays = sparse(padding=2)
    del arrays["x"]
    arrays |= {
        "B": GENERATOR.integers(-3, 4, (4, 6)) * 1.0,
        "C": GENERATOR.integers(-3, 4, (4, 9)) * 1.0,
    }
    dense = arrays["C"].T @ arrays["B"]
    at = arrays["row"]
    expected = [
        sum(arrays["val"][e] * dense[r, arrays["col"][e]] for e in range(at[r], at[r + 1]))
        for r in range(9)
    ]
    agree(f, arrays, expected)
    sampled.interchange(p, k)
    agree(f, arrays, expected)


def test_ranges_nested_in_data_nest_in_meaning():
    part = tw.input("part", [M + 1], tw.int32)
    w = tw.input("w", [Q], tw.float64)
    nested = {i: N, p: (row[i], row[i + 1]), q: (part[col[p]], part[col[p] + 1])}
    terms = tw.computation("terms", nested, val[p] * w[q])
    y = tw.computation(
        "y", {i: N}, tw.sum(terms[i, p, q], over={each: nested[each] for each in (p, q)})
    )
    f = tw.function("nested", inputs=[val, col, row, part, w], outputs=[y])
    arrays = sparse(padding=4)
    del arrays["x"]
    parts = np.array([0, 2, 2, 3, 6, 7, 9], np.int32)
    arrays |= {"part": parts, "w": GENERATOR.integers(-3, 4, 9) * 1.0}
    sums = [arrays["w"][a:b].sum() for a, b in itertools.pairwise(parts)]
    at = arrays["row"]
    expected = [
        sum(arrays["val"][e] * sums[arrays["col"][e]] for e in range(at[r], at[r + 1]))
        for r in range(9)
    ]
    agree(f, arrays, expected)


def test_steps_of_a_range_of_data():
    rows = tw.computation("rows", {i: N, j: (length[i], M, 2)}, A[i, j])
    y = tw.computation("y", {i: N}, tw.sum(rows[i, j], over={j: (length[i], M, 2)}))
    f = tw.function("f", outputs=[y])
    arrays = ragged()
    expected = [
        sum(arrays["A"][r, c] for c in range(start, 5, 2) if c >= 0)
        for r, start in enumerate(arrays["length"])
    ]
    agree(f, arrays, expected)


def test_it_goes_through_pickles():
    _, f = products()
    arrays = sparse()
    agree(pickle.loads(pickle.dumps(f)), arrays, times(arrays))


def test_layer_one_says_what_there_is():
    _, f = products()
    assert (
        "scaled[i, p] : 0 <= i < N and 0 <= p < P } : select(row[i] <= p, "
        "select(p < row[i + 1], val[p] * x[col[p]], nothing), nothing)"
    ) in str(f.layers)


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda c: c[i, j], id="under no condition"),
        pytest.param(lambda c: tw.select(j <= length[i], c[i, j], 0.0), id="under a weaker one"),
        pytest.param(lambda c: tw.select(j < length[i], 0.0, c[i, j]), id="in the other branch"),
        pytest.param(lambda c: tw.select(j < length[0], c[i, j], 0.0), id="of another element"),
        pytest.param(lambda c: tw.sum(c[i, k], over={k: M}), id="of all terms"),
    ],
)
def test_reads_of_what_may_not_exist(read: Any):
    rows = tw.computation("rows", {i: N, j: length[i]}, 2 * A[i, j])
    reader = tw.computation("reader", {i: N, j: M}, read(rows))
    with pytest.raises(
        tw.DeclarationError,
        match=r"reader reads rows\[i, .\], but an element of rows exists only where j < length\[i\]",
    ):
        tw.function("f", outputs=[reader])


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda c: tw.select(j < length[i], c[i, j], 0.0), id="the same"),
        pytest.param(lambda c: tw.select(j + 1 < length[i], c[i, j], 0.0), id="a stronger one"),
        pytest.param(lambda c: tw.select(j >= length[i], 0.0, c[i, j]), id="the other branch"),
        pytest.param(lambda c: tw.sum(c[i, k], over={k: length[i]}), id="a range"),
        pytest.param(
            lambda c: tw.sum(c[i, k], over={k: M}, where=(k < length[i]) & (A[i, k] > 0)),
            id="one of several",
        ),
        pytest.param(
            lambda c: tw.select((j > 0) & (j < length[i]), c[i, tw.maximum(j - 1, 0)], 0.0),
            id="an earlier element",
        ),
    ],
)
def test_reads_of_what_exists(read: Any):
    rows = tw.computation("rows", {i: N, j: length[i]}, 2 * A[i, j])
    all_rows = tw.computation("rows", {i: N, j: length[i]}, 2 * A[i, j], otherwise=0)
    arrays = ragged()
    results = []
    for producer in (rows, all_rows):
        reader = tw.computation("reader", {i: N, j: M}, read(producer))
        f = tw.function("f", outputs=[reader])
        results += [f(**arrays), f.evaluate(**arrays)]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_what_is_refused():
    rows = tw.computation("rows", {i: N, j: length[i]}, 2 * A[i, j])
    with pytest.raises(tw.DeclarationError, match=r"rows is an output.*otherwise=0"):
        tw.function("f", outputs=[rows])
    with pytest.raises(tw.DeclarationError, match=r"give the value here, or a range of numbers"):
        tw.computation("rows", {i: N, j: length[i]}, lambda rows: A[i, j], dtype=tw.float64)
    with pytest.raises(tw.DeclarationError, match="within which numbers is seen from what"):
        tw.computation("rows", {i: N, j: length[i]}, [(j == 0, 1.0), (j > 0, A[i, j])])
    with pytest.raises(
        tw.DeclarationError, match=r"the range of j in the domain of rows is not affine.*\{j: \(fir"
    ):
        tw.computation("rows", {i: N, j: length[i]}, 1.0 * j)
    with pytest.raises(tw.DeclarationError, match="data decide which elements the view v has"):
        tw.view("v", {i: N, j: length[i]}, A[i, j])
    with pytest.raises(tw.DeclarationError, match="give the value here, too"):
        tw.computation("rows", {i: N, j: M}, where=A[i, j] > 0, dtype=tw.float64)
    total = tw.computation("t", {i: N}, tw.sum(rows[i, j], over={j: length[i]}))
    tw.function("f", outputs=[total])
    sums = tw.computation("sums", {i: N, j: length[i]}, A[i, j] * tw.sum(x[k], over={k: M}))
    g = tw.function(
        "g", outputs=[tw.computation("t", {i: N}, tw.sum(sums[i, j], over={j: length[i]}))]
    )
    g["sums"].split(k, 4)
    with pytest.raises(tw.ScheduleError, match="data decide which elements of sums exist"):
        g["sums"].rfactor("k0")
