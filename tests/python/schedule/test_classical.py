"""The recurrences of the literature, declared as they are written there: which transformations are
legal, which are refused, and values against plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import tilewright as tw

i, j, k, t, s = tw.iters("i j k t s")


def integers(*shape: int, least: int = -9, most: int = 10) -> np.ndarray:
    return np.random.default_rng(5).integers(least, most, shape)


def agree(function: tw.Function, expected: np.ndarray, *arrays: np.ndarray, **sizes: int) -> None:
    """The kernel and the evaluator give the expected values exactly."""
    result = function(*arrays, **sizes)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(function.evaluate(*arrays, **sizes), expected)


def close(function: tw.Function, expected: np.ndarray, *arrays: np.ndarray) -> None:
    np.testing.assert_allclose(function(*arrays), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(function(*arrays), function.evaluate(*arrays))


@pytest.fixture
def products_round() -> Iterator[None]:
    """Sums round their products as the evaluator does: code for processors without fused multiply-add."""
    if "x86-64" not in tw.function("probe", [tw.computation("P", {}, 1)]).cpu:
        pytest.skip("the levels are those of x86")
    with tw.settings(cpu="x86-64-v2"):
        yield


def refused(command: Callable[[], object], source: str, sink: str) -> tw.IllegalScheduleError:
    with pytest.raises(tw.IllegalScheduleError) as caught:
        command()
    assert caught.value.source_instance.startswith(source)
    assert caught.value.sink_instance.startswith(sink)
    return caught.value


# ---- Jacobi in one dimension ----


def jacobi_1d(outputs_last: bool = False) -> tw.Function:
    """A[t, i] = A[t-1, i-1] + A[t-1, i] + A[t-1, i+1] inside, the border kept."""
    steps, n = tw.params("T N", "T >= 1")
    x = tw.input("x", [n], tw.int64)
    inside = (t > 0) & (i > 0) & (i < n - 1)
    a = tw.computation(
        "A",
        {t: steps, i: n},
        lambda a: [
            (t == 0, x[i]),
            (inside, a[t - 1, i - 1] + 2 * a[t - 1, i] + a[t - 1, i + 1]),
            ((t > 0) & ((i == 0) | (i == n - 1)), a[t - 1, i]),
        ],
        dtype=tw.int64,
    )
    if not outputs_last:
        return tw.function("jacobi_1d", outputs=[a])
    last = tw.computation("last", {i: n}, a[steps - 1, i])
    return tw.function("jacobi_1d", outputs=[last])


def jacobi_1d_numpy(x: np.ndarray, steps: int) -> np.ndarray:
    rows = [x]
    for _ in range(1, steps):
        new = rows[-1].copy()
        new[1:-1] = rows[-1][:-2] + 2 * rows[-1][1:-1] + rows[-1][2:]
        rows.append(new)
    return np.stack(rows)


JACOBI_SIZES = [(1, 0), (1, 1), (4, 1), (3, 2), (5, 3), (9, 17), (20, 33)]


def check_jacobi_1d(function: tw.Function, last: bool = False) -> None:
    for steps, n in JACOBI_SIZES:
        x = integers(n)
        expected = jacobi_1d_numpy(x, steps)
        agree(function, expected[-1] if last else expected, x, T=steps)


def test_jacobi_1d():
    check_jacobi_1d(jacobi_1d())


def test_jacobi_1d_time_tiles_need_a_skew():
    f = jacobi_1d()
    refused(lambda: f["A"].tile(t, i, 4, 8), "A", "A")
    refused(lambda: f["A"].interchange(t, i), "A", "A")
    check_jacobi_1d(f)


@pytest.mark.parametrize("tile", [(1, 1), (4, 8), (3, 5)])
def test_jacobi_1d_time_tiles_with_a_skew(tile):
    f = jacobi_1d()
    f["A"].skew(t, i).tile(t, i, *tile)
    assert f["A"].loops == ("t0", "i0", "t1", "i1")
    check_jacobi_1d(f)


def test_jacobi_1d_a_skew_the_wrong_way():
    f = jacobi_1d()
    f["A"].skew(t, i, -1)
    refused(lambda: f["A"].tile(t, i, 4, 8), "A", "A")


def test_jacobi_1d_wavefronts_of_tiles():
    """Tiles on one anti-diagonal are independent."""
    f = jacobi_1d()
    f["A"].skew(t, i).tile(t, i, 4, 8)
    refused(lambda: f["A"].parallelize("i0"), "A", "A")
    f["A"].transform(["t0", "i0"], [[1, 1], [1, 0]]).parallelize("i0")
    check_jacobi_1d(f)


def test_jacobi_1d_space_is_parallel():
    f = jacobi_1d()
    f["A"].parallelize(i)
    refused(lambda: f["A"].parallelize(t), "A", "A")
    check_jacobi_1d(f)


def test_jacobi_1d_space_is_a_vector():
    f = jacobi_1d()
    f["A"].vectorize(i, 8)
    check_jacobi_1d(f)


def test_jacobi_1d_ping_pong():
    f = jacobi_1d(outputs_last=True)
    check_jacobi_1d(f, last=True)
    error = refused(lambda: f["A"].storage_fold(t, 1), "A", "A")
    assert error.element.startswith("A[")
    f["A"].storage_fold(t, 2)
    assert "A: int64[2, " in str(f.layers)
    check_jacobi_1d(f, last=True)
    f["A"].parallelize(i)
    check_jacobi_1d(f, last=True)


def test_jacobi_1d_ping_pong_of_time_tiles():
    """Two rows are enough: what overwrites a value runs right of its last reader."""
    f = jacobi_1d(outputs_last=True)
    f["A"].skew(t, i).tile(t, i, 4, 8)
    refused(lambda: f["A"].storage_fold(t, 1), "A", "A")
    f["A"].storage_fold(t, 2)
    check_jacobi_1d(f, last=True)


def test_jacobi_1d_ping_pong_of_wavefronts():
    """Even with the tiles of an anti-diagonal at once."""
    f = jacobi_1d(outputs_last=True)
    f["A"].skew(t, i).tile(t, i, 4, 8)
    f["A"].transform(["t0", "i0"], [[1, 1], [1, 0]]).parallelize("i0")
    f["A"].storage_fold(t, 2)
    check_jacobi_1d(f, last=True)


# ---- Jacobi in two dimensions ----


def jacobi_2d() -> tw.Function:
    steps, n = tw.params("T N", "T >= 1")
    x = tw.input("x", [n, n], tw.int64)
    inside = (t > 0) & (i > 0) & (i < n - 1) & (j > 0) & (j < n - 1)
    border = (i == 0) | (i == n - 1) | (j == 0) | (j == n - 1)
    a = tw.computation(
        "A",
        {t: steps, i: n, j: n},
        lambda a: [
            (t == 0, x[i, j]),
            (
                inside,
                a[t - 1, i, j]
                + a[t - 1, i - 1, j]
                + a[t - 1, i + 1, j]
                + a[t - 1, i, j - 1]
                + a[t - 1, i, j + 1],
            ),
            ((t > 0) & border, a[t - 1, i, j]),
        ],
        dtype=tw.int64,
    )
    last = tw.computation("last", {i: n, j: n}, a[steps - 1, i, j])
    return tw.function("jacobi_2d", outputs=[last])


def check_jacobi_2d(function: tw.Function) -> None:
    for steps, n in [(1, 0), (1, 1), (3, 2), (4, 3), (6, 11)]:
        x = integers(n, n)
        a = x
        for _ in range(1, steps):
            new = a.copy()
            new[1:-1, 1:-1] = (
                a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
            )
            a = new
        agree(function, a, x, T=steps)


def test_jacobi_2d():
    check_jacobi_2d(jacobi_2d())


def test_jacobi_2d_time_tiles():
    f = jacobi_2d()
    refused(lambda: f["A"].tile(t, i, j, 4, 4, 4), "A", "A")
    f["A"].skew(t, i)
    refused(lambda: f["A"].tile(t, i, j, 4, 4, 4), "A", "A")
    f["A"].skew(t, j).tile(t, i, j, 4, 4, 4)
    assert f["A"].loops == ("t0", "i0", "j0", "t1", "i1", "j1")
    check_jacobi_2d(f)


def test_jacobi_2d_ping_pong():
    f = jacobi_2d()
    refused(lambda: f["A"].storage_fold(t, 1), "A", "A")
    f["A"].storage_fold(t, 2).parallelize(i).vectorize(j, 4)
    check_jacobi_2d(f)


# ---- Floyd and Warshall ----


def floyd_warshall() -> tw.Function:
    """Shortest paths: D[k, i, j] allows the first k vertices between."""
    n = tw.param("N")
    w = tw.input("W", [n, n], tw.int64)
    d = tw.computation(
        "D",
        {k: n + 1, i: n, j: n},
        lambda d: [
            (k == 0, w[i, j]),
            (k > 0, tw.minimum(d[k - 1, i, j], d[k - 1, i, k - 1] + d[k - 1, k - 1, j])),
        ],
        dtype=tw.int64,
    )
    paths = tw.computation("paths", {i: n, j: n}, d[n, i, j])
    return tw.function("floyd_warshall", outputs=[paths])


def check_floyd_warshall(function: tw.Function) -> None:
    for n in (0, 1, 2, 5, 9):
        w = integers(n, n, least=1, most=50)
        np.fill_diagonal(w, 0)
        d = w.copy()
        for via in range(n):
            d = np.minimum(d, d[:, via, None] + d[None, via, :])
        agree(function, d, w)


def test_floyd_warshall():
    f = floyd_warshall()
    check_floyd_warshall(f)
    f["D"].parallelize(i).vectorize(j, 4)
    check_floyd_warshall(f)


def test_floyd_warshall_order_of_k():
    f = floyd_warshall()
    refused(lambda: f["D"].interchange(k, i), "D", "D")
    refused(lambda: f["D"].parallelize(k), "D", "D")
    refused(lambda: f["D"].reverse(k), "D", "D")
    f["D"].interchange(i, j)
    check_floyd_warshall(f)


def test_floyd_warshall_two_planes():
    f = floyd_warshall()
    refused(lambda: f["D"].storage_fold(k, 1), "D", "D")
    f["D"].storage_fold(k, 2)
    check_floyd_warshall(f)


# ---- Gauss and Seidel ----


def seidel() -> tw.Function:
    """Newest values to the left and above, those of the step before to the right and below."""
    steps, n = tw.params("T N", "T >= 1")
    x = tw.input("x", [n, n], tw.int64)
    inside = (t > 0) & (i > 0) & (i < n - 1) & (j > 0) & (j < n - 1)
    border = (i == 0) | (i == n - 1) | (j == 0) | (j == n - 1)
    a = tw.computation(
        "A",
        {t: steps, i: n, j: n},
        lambda a: [
            (t == 0, x[i, j]),
            (
                inside,
                a[t, i - 1, j]
                + a[t, i, j - 1]
                + a[t - 1, i, j]
                + a[t - 1, i + 1, j]
                - a[t - 1, i, j + 1],
            ),
            ((t > 0) & border, a[t - 1, i, j]),
        ],
        dtype=tw.int64,
    )
    last = tw.computation("last", {i: n, j: n}, a[steps - 1, i, j])
    return tw.function("seidel", outputs=[last])


def check_seidel(function: tw.Function) -> None:
    for steps, n in [(1, 0), (1, 1), (3, 2), (4, 3), (4, 7)]:
        x = integers(n, n)
        a = x.copy()
        for _ in range(1, steps):
            for row in range(1, n - 1):
                for column in range(1, n - 1):
                    a[row, column] = (
                        a[row - 1, column]
                        + a[row, column - 1]
                        + a[row, column]
                        + a[row + 1, column]
                        - a[row, column + 1]
                    )
        agree(function, a, x, T=steps)


def test_seidel():
    check_seidel(seidel())


def test_seidel_is_not_parallel():
    f = seidel()
    for loop in (t, i, j):
        refused(lambda loop=loop: f["A"].parallelize(loop), "A", "A")
    refused(lambda: f["A"].tile(t, i, j, 2, 4, 4), "A", "A")


def test_seidel_tiles_with_skews():
    f = seidel()
    f["A"].skew(t, i).skew(t, j).tile(t, i, j, 2, 4, 4)
    check_seidel(f)


def test_seidel_wavefront():
    f = seidel()
    f["A"].transform([t, i, j], [[2, 1, 1], [1, 0, 0], [0, 1, 0]]).parallelize(i).parallelize(j)
    check_seidel(f)


def test_seidel_in_place():
    """One plane is enough in the order of the declaration."""
    f = seidel()
    f["A"].storage_fold(t, 1)
    check_seidel(f)


# ---- LU, triangular solve ----


def lu() -> tw.Function:
    """Right-looking elimination without pivots; the answer holds both factors."""
    n = tw.param("N")
    m = tw.input("M", [n, n], tw.float64)
    a = tw.computation(
        "A",
        {k: n + 1, i: n, j: n},
        lambda a: [
            (k == 0, m[i, j]),
            (
                (k > 0) & (i > k - 1) & (j > k - 1),
                a[k - 1, i, j] - a[k - 1, i, k - 1] / a[k - 1, k - 1, k - 1] * a[k - 1, k - 1, j],
            ),
            ((k > 0) & (i > k - 1) & (j == k - 1), a[k - 1, i, j] / a[k - 1, k - 1, k - 1]),
            ((k > 0) & ((i <= k - 1) | (j < k - 1)), a[k - 1, i, j]),
        ],
        dtype=tw.float64,
    )
    factors = tw.computation("LU", {i: n, j: n}, a[n, i, j])
    return tw.function("lu", outputs=[factors])


def check_lu(function: tw.Function) -> None:
    for n in (0, 1, 2, 5, 9):
        m = integers(n, n).astype(np.float64) + 20 * np.eye(n)
        expected = m.copy()
        for step in range(n):
            expected[step + 1 :, step] /= expected[step, step]
            expected[step + 1 :, step + 1 :] -= np.outer(
                expected[step + 1 :, step], expected[step, step + 1 :]
            )
        close(function, expected, m)
        lower = np.tril(expected, -1) + np.eye(n)
        np.testing.assert_allclose(lower @ np.triu(expected), m, rtol=1e-9, atol=1e-9)


def test_lu():
    f = lu()
    check_lu(f)
    refused(lambda: f["A"].reverse(i).reverse(k), "A", "A")
    refused(lambda: f["A"].parallelize(k), "A", "A")
    f["A"].parallelize(i).vectorize(j, 4)
    check_lu(f)


@pytest.mark.parametrize("order", ["kij", "kji", "ikj", "ijk", "jki", "jik"])
def test_lu_in_all_six_orders(order):
    """Right-looking, left-looking, by rows, by columns: all are legal."""
    f = lu()
    f["A"].reorder(*order)
    assert f["A"].loops == tuple(order)
    refused(lambda: f["A"].reverse(order[0]), "A", "A")
    check_lu(f)


def test_lu_in_tiles_of_rows_and_columns():
    f = lu()
    f["A"].tile(i, j, 4, 4).parallelize("i0")
    f["A"].storage_fold(k, 2)
    check_lu(f)


def triangular_solve() -> tw.Function:
    """x with L x = b, by forward substitution."""
    n = tw.param("N")
    lower = tw.input("L", [n, n], tw.float64)
    b = tw.input("b", [n], tw.float64)
    x = tw.computation(
        "x",
        {i: n},
        lambda x: (b[i] - tw.sum(lower[i, j] * x[j], over={j: i})) / lower[i, i],
        dtype=tw.float64,
    )
    return tw.function("trisolv", outputs=[x], inputs=[lower, b])


def check_triangular_solve(function: tw.Function) -> None:
    for n in (0, 1, 2, 5, 16):
        lower = np.tril(integers(n, n)).astype(np.float64) + 20 * np.eye(n)
        b = integers(n).astype(np.float64)
        close(function, np.linalg.solve(lower, b), lower, b)


def test_triangular_solve(products_round: None):
    f = triangular_solve()
    check_triangular_solve(f)
    refused(lambda: f["x"].reverse(i), "x", "x")
    refused(lambda: f["x"].parallelize(i), "x", "x")
    f["x"].split(i, 4)
    check_triangular_solve(f)


def test_triangular_solve_of_many_right_hand_sides(products_round: None):
    n, m = tw.params("N M")
    lower = tw.input("L", [n, n], tw.float64)
    b = tw.input("B", [n, m], tw.float64)
    x = tw.computation(
        "X",
        {i: n, j: m},
        lambda x: (b[i, j] - tw.sum(lower[i, k] * x[k, j], over={k: i})) / lower[i, i],
        dtype=tw.float64,
    )
    f = tw.function("trsm", outputs=[x], inputs=[lower, b])
    refused(lambda: f["X"].parallelize(i), "X", "X")
    f["X"].interchange(i, j).parallelize(j)
    for n_, m_ in [(0, 3), (1, 1), (5, 3), (9, 17)]:
        matrix = np.tril(integers(n_, n_)).astype(np.float64) + 20 * np.eye(n_)
        right = integers(n_, m_).astype(np.float64)
        close(f, np.linalg.solve(matrix, right), matrix, right)


# ---- Nussinov: intervals by length ----


def nussinov() -> tw.Function:
    """Most pairs of bases that fold onto each other, over intervals [i, j]."""
    n = tw.param("N")
    pairs = tw.input("P", [n, n], tw.int64)
    w = tw.computation(
        "W",
        {i: n, j: n},
        lambda w: [
            (j <= i, tw.cast(0, tw.int64)),
            (
                j == i + 1,
                tw.maximum(tw.maximum(w[i + 1, j], w[i, j - 1]), pairs[i, j]),
            ),
            (
                j > i + 1,
                tw.maximum(
                    tw.maximum(w[i + 1, j - 1] + pairs[i, j], tw.maximum(w[i + 1, j], w[i, j - 1])),
                    tw.max(w[i, k] + w[k + 1, j], over={k: (i, j)}),
                ),
            ),
        ],
        dtype=tw.int64,
    )
    return tw.function("nussinov", outputs=[w])


def check_nussinov(function: tw.Function) -> None:
    for n in (0, 1, 2, 3, 6, 11):
        pairs = integers(n, n, least=0, most=2)
        w = np.zeros((n, n), np.int64)
        for length in range(1, n):
            for first in range(n - length):
                last = first + length
                inner = w[first + 1, last - 1] if length > 1 else 0
                best = max(w[first + 1, last], w[first, last - 1], inner + pairs[first, last])
                for middle in range(first, last):
                    best = max(best, w[first, middle] + w[middle + 1, last])
                w[first, last] = best
        agree(function, w, pairs)


def test_nussinov_finds_a_legal_order_by_itself():
    check_nussinov(nussinov())


def test_nussinov_by_length():
    f = nussinov()
    f["W"].set_schedule("{ W[i,j] -> [j - i, i] }")
    check_nussinov(f)
    f["W"].set_schedule("{ W[i,j] -> [j - i, i(cpu)] }")
    check_nussinov(f)


def test_nussinov_in_the_order_of_the_indices():
    f = nussinov()
    refused(lambda: f["W"].set_schedule("{ W[i,j] -> [i, j] }"), "W", "W")
    f["W"].set_schedule("{ W[i,j] -> [-i, j] }")
    check_nussinov(f)
    refused(lambda: f["W"].set_schedule("{ W[i,j] -> [j - i(cpu), i] }"), "W", "W")


# ---- the dependence (0, 1, -1) ----


def lexicographic() -> tw.Function:
    """C[i, j, k] reads C[i, j-1, k+1]: earlier in lexicographic order, though k grows."""
    n = tw.param("N")
    x = tw.input("x", [n, n, n], tw.int64)
    c = tw.computation(
        "C",
        {i: n, j: n, k: n},
        lambda c: [
            ((j == 0) | (k == n - 1), x[i, j, k]),
            ((j > 0) & (k < n - 1), c[i, j - 1, k + 1] + x[i, j, k]),
        ],
        dtype=tw.int64,
    )
    return tw.function("lexicographic", outputs=[c])


def check_lexicographic(function: tw.Function) -> None:
    for n in (0, 1, 2, 5, 8):
        x = integers(n, n, n)
        c = x.copy()
        for column in range(1, n):
            c[:, column, :-1] += c[:, column - 1, 1:]
        agree(function, c, x)


def test_lexicographic_order_is_what_counts():
    f = lexicographic()
    check_lexicographic(f)
    f["C"].set_schedule("{ C[i,j,k] -> [i, j, k] }")
    check_lexicographic(f)


def test_lexicographic_refusals():
    f = lexicographic()
    error = refused(lambda: f["C"].interchange(j, k), "C", "C")
    assert error.parameters
    refused(lambda: f["C"].tile(j, k, 4, 4), "C", "C")
    refused(lambda: f["C"].reverse(j), "C", "C")
    f["C"].reverse(i).reverse(k).interchange(i, j)
    check_lexicographic(f)


def test_lexicographic_parallel_loops():
    f = lexicographic()
    refused(lambda: f["C"].parallelize(j), "C", "C")
    f["C"].parallelize(i).vectorize(k, 4)
    check_lexicographic(f)
    g = lexicographic()
    g["C"].parallelize(k)
    check_lexicographic(g)
