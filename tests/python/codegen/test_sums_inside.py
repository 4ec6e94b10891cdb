"""Sums that stay within an expression, since they sum what their computation gives: in lanes, beside NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tilewright as tw

N, M, T = tw.params("N M T")
i, j, k, q, t = tw.iters("i j k q t")
DRAW = np.random.default_rng(21)
SIZES = [0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 70, 131]


def _changed_by(function: tw.Function, name: str) -> bool:
    return any(each.name == name and each.changed for each in function.passes())


def _solve(dtype: object, **how: bool) -> tw.Function:
    matrix, right = tw.input("L", [N, N], dtype), tw.input("b", [N], dtype)
    s = tw.computation(
        "s",
        {i: N},
        lambda s: (right[i] - tw.sum(matrix[i, k] * s[k], over={k: (0, i)}, **how)) / matrix[i, i],
        dtype=dtype,
    )
    return tw.function("solve", outputs=[s])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("size", SIZES)
def test_triangular_solve(dtype: type, size: int) -> None:
    lower = (np.tril(DRAW.random((size, size))) + 2 * size * np.eye(size)).astype(dtype)
    right = DRAW.random(size).astype(dtype)
    found = _solve(dtype)(L=lower, b=right)
    wide = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    wanted = np.linalg.solve(lower.astype(wide), right.astype(wide)) if size else right
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_terms_are_added_in_lanes_unless_their_order_is_said() -> None:
    assert _changed_by(_solve(np.float64), "sum_in_lanes")
    ordered = _solve(np.float64, ordered=True)
    assert not _changed_by(ordered, "sum_in_lanes")
    size = 70
    lower = np.tril(DRAW.random((size, size))) + np.eye(size)
    right = DRAW.random(size)
    wanted = np.zeros(size)
    for row in range(size):
        total = 0.0
        for column in range(row):
            total += lower[row, column] * wanted[column]
        wanted[row] = (right[row] - total) / lower[row, row]
    fused = ordered(L=lower, b=right)  # products and sums may be one operation
    np.testing.assert_allclose(fused, wanted, rtol=1e-9)


@pytest.mark.parametrize("size", SIZES)
def test_recurrent_network(size: int) -> None:
    weights, given = tw.input("W", [N, N], np.float32), tw.input("x", [T, N], np.float32)
    h = tw.computation(
        "h",
        {t: T, i: N},
        lambda h: [
            (t == 0, given[0, i]),
            (t > 0, tw.maximum(given[t, i] + tw.sum(weights[i, q] * h[t - 1, q], over={q: N}), 0)),
        ],
        dtype=np.float32,
    )
    function = tw.function("rnn", outputs=[h])
    w = (DRAW.standard_normal((size, size)) / max(1, size)).astype(np.float32)
    x = DRAW.standard_normal((9, size)).astype(np.float32)
    wanted = x.copy()
    for step in range(1, 9):
        wanted[step] = np.maximum(x[step] + w @ wanted[step - 1], 0)
    np.testing.assert_allclose(function(w, x), wanted, rtol=1e-4, atol=1e-4)


def _powers(operation: object = None, dtype: type = np.float64) -> tw.Function:
    matrix, first = tw.input("A", [N, N], dtype), tw.input("B", [N, M], dtype)
    reduce = operation or tw.sum
    x = tw.computation(
        "X",
        {t: T, i: N, j: M},
        lambda x: [
            (t == 0, first[i, j]),
            (t > 0, reduce(matrix[i, k] + x[t - 1, k, j], over={k: N})),
        ],
        dtype=dtype,
    )
    return tw.function("powers", outputs=[x])


@pytest.mark.parametrize(
    ("operation", "numpy"), [(tw.sum, np.sum), (tw.max, np.max), (tw.min, np.min)]
)
@pytest.mark.parametrize("columns", [0, 1, 7, 8, 16, 17, 40])
def test_results_beside_each_other(operation: object, numpy: object, columns: int) -> None:
    function = _powers(operation)
    assert 'X.vectorize("j"' in str(function.default_schedule)
    a, b = DRAW.standard_normal((12, 12)), DRAW.standard_normal((12, columns))
    wanted = [b]
    for _ in range(4):
        wanted.append(numpy(a[:, :, None] + wanted[-1][None], axis=1))
    np.testing.assert_allclose(function(A=a, B=b, T=5), wanted, rtol=1e-12, atol=1e-12)


def test_a_range_that_depends_on_the_column_is_no_vector() -> None:
    matrix = tw.input("A", [N, N], np.float64)
    lower = tw.computation(
        "L",
        {i: N, j: (0, i + 1)},
        lambda low: [
            (
                i == j,
                tw.sqrt(matrix[i, i] - tw.sum(low[i, k] * low[i, k], over={k: (0, j)})),
            ),
            (i > j, (matrix[i, j] - tw.sum(low[i, k] * low[j, k], over={k: (0, j)})) / low[j, j]),
        ],
        dtype=np.float64,
    )
    function = tw.function("cholesky", outputs=[lower])
    for size in (1, 5, 40, 90):
        root = DRAW.random((size, size))
        given = root @ root.T + size * np.eye(size)
        np.testing.assert_allclose(np.tril(function(given)), np.linalg.cholesky(given), rtol=1e-9)
    assert _changed_by(function, "sum_in_lanes")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_streams_do_not_depend_on_the_cuts(dtype: type) -> None:
    n, r = tw.iters("n r")
    order = tw.param("R")
    given, taps = tw.stream("x", dtype), tw.input("a", [order], dtype)
    y = tw.computation(
        "y",
        {n: tw.forever},
        lambda y: given[n] + tw.sum(taps[r] * y[n - 1 - r], over={r: order}, where=n - 1 - r >= 0),
        dtype=dtype,
    )
    kernel = tw.stream_function("iir", outputs=[y])
    values = DRAW.standard_normal(700).astype(dtype)
    for length in (3, 40, 100):
        a = (DRAW.standard_normal(length) / length).astype(dtype)
        whole = kernel.stream(a=a).push(values)
        for cuts in ([1] * 700, [130, 1, 2, 200, 33, 334], [350, 350]):
            stream, at, parts = kernel.stream(a=a), 0, []
            for cut in cuts:
                parts.append(stream.push(values[at : at + cut]))
                at += cut
            np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_parts_that_an_expression_shares_are_looked_at_once() -> None:
    given = tw.input("x", [N], np.float64)
    value = given[j]
    for _ in range(60):
        value = value * value  # 2 ** 60 ways
    y = tw.computation(
        "y",
        {i: N, j: N},
        lambda y: value + tw.sum(y[k, j], over={k: (0, i)}),
        dtype=np.float64,
    )
    found = tw.function("shared", outputs=[y])(np.ones(5))
    np.testing.assert_array_equal(found, (2.0 ** np.arange(5))[:, None] * np.ones(5))


T, S = tw.params("T S")
t, s, r, r2 = tw.iters("t s r r2")


def of_rows(value):
    """a[t] of a[t - 1] and a matrix W."""
    weights = tw.input("W", [S, S], tw.float64)
    start = tw.input("start", [S], tw.float64)
    a = tw.computation(
        "a",
        {t: T + 1, s: S},
        lambda a: [(t == 0, start[s]), (t > 0, value(a, weights))],
        dtype=tw.float64,
    )
    return tw.function("f", outputs=[tw.computation("last", {s: S}, a[T, s])])


def log_of_sum(largest_first):
    def value(a, weights):
        largest = tw.max(a[t - 1, r] + weights[r, s], over={r: S})
        rest = tw.log(tw.sum(tw.exp(a[t - 1, r2] + weights[r2, s] - largest), over={r2: S}))
        return largest + rest if largest_first else rest + largest

    return value


def softmax(a, weights):
    largest = tw.max(a[t - 1, r] * weights[r, s], over={r: S})
    return tw.sum(tw.exp(a[t - 1, r2] * weights[r2, s] - largest), over={r2: S}) / tw.exp(
        a[t - 1, s] - largest
    )


def gate(a, weights):
    return tw.sigmoid(tw.sum(weights[r, s] * a[t - 1, r], over={r: S})) * a[t - 1, s]


@pytest.mark.parametrize(
    "value",
    [log_of_sum(True), log_of_sum(False), softmax, gate],
    ids=["log of a sum", "in the other order", "softmax", "gate"],
)
def test_what_all_terms_need_is_computed_once(value):
    """The largest term is not sought anew for each term of the sum, and lanes take all of it."""
    f = of_rows(value)
    rng = np.random.default_rng(3)
    for n, steps in ((17, 3), (1, 2), (0, 1)):
        weights, start = rng.random((n, n)), rng.random(n)
        np.testing.assert_allclose(
            f(weights, start, T=steps), f.evaluate(weights, start, T=steps), rtol=1e-12
        )
    lines = str(f.loops).splitlines()
    behind = lines[next(at for at, line in enumerate(lines) if line.startswith("for t in")) + 1 :]
    step = list(itertools.takewhile(lambda line: line.startswith(" "), behind))
    assert any("# vector(" in line for line in step), step
    depths = [len(line) - len(line.lstrip()) for line in step if "for r" in line]
    assert depths and len(set(depths)) == 1, step


def test_a_sum_that_only_a_branch_asks_for_stays_there():
    f = of_rows(
        lambda a, weights: tw.select(
            a[t - 1, s] > 0.5, tw.sum(weights[r, s] * a[t - 1, r], over={r: S}), a[t - 1, s]
        )
    )
    weights, start = np.random.default_rng(4).random((2, 9, 9))[0], np.linspace(0, 1, 9)
    np.testing.assert_allclose(f(weights, start, T=4), f.evaluate(weights, start, T=4), rtol=1e-12)
    lines = str(f.loops).splitlines()
    inner = next(at for at, line in enumerate(lines) if "for r in" in line)
    assert any("if " in line and "> 0.5" in line for line in lines[:inner])
