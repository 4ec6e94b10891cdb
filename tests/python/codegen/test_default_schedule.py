"""Functions without any command: what runs is fast, legal and the same as the plain loops; the first command starts
from these."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw

i, j, k, t = tw.iters("i j k t")
N, M, K = tw.params("N M K", "N >= 1 and M >= 1 and K >= 1")
SIZES = [(1, 1, 1), (2, 3, 4), (5, 17, 3), (16, 16, 16), (33, 40, 70), (70, 130, 300)]


def function(*outputs: tw.Computation) -> tw.Function:
    return tw.function("f", outputs=list(outputs))


def check(f: tw.Function, make: Callable[..., tuple[Any, ...]], rtol: float = 1e-4) -> None:
    """`make(n, m, k)`: the arguments, then the expected result."""
    for size in SIZES:
        *arrays, expected = make(*size)
        np.testing.assert_allclose(f(*arrays), expected, rtol=rtol, atol=1e-5)
        if max(size) < 20:
            np.testing.assert_allclose(f.evaluate(*arrays), expected, rtol=rtol, atol=1e-5)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).random(shape, dtype=np.float32)


def test_elementwise() -> None:
    A, B = tw.input("A", [N, M], tw.float32), tw.input("B", [M], tw.float32)
    f = function(tw.computation("C", {i: N, j: M}, A[i, j] * B[j] + 1))
    text = f.loops
    assert "for i in range(0, N):  # parallel" in text
    assert "# vector(16)" in text
    assert str(f.schedule) == str(tw.function("f", outputs=[f_plain()]).schedule)

    def make(n: int, m: int, _: int) -> tuple[np.ndarray, ...]:
        a, b = random(n, m), random(m)
        return a, b, a * b + 1

    check(f, make)


def f_plain() -> tw.Computation:
    A = tw.input("A", [N], tw.float32)
    return tw.computation("C", {i: N}, A[i])


@pytest.mark.parametrize(
    ("dtype", "lanes"), [("uint8", 64), ("int16", 32), ("float32", 16), ("float64", 8)]
)
def test_lanes_follow_the_largest_type(dtype: str, lanes: int) -> None:
    A = tw.input("A", [N], dtype)
    f = function(tw.computation("C", {i: N}, A[i] + A[i]))
    assert f"# vector({lanes})" in f.loops
    a = np.arange(100).astype(dtype)
    np.testing.assert_array_equal(f(a), a + a)
    mixed = function(tw.computation("D", {i: N}, tw.cast(A[i], tw.float64) * 2))
    assert "# vector(8)" in mixed.loops


def test_matrix_product_is_tiled() -> None:
    A, B = tw.input("A", [N, K], tw.float32), tw.input("B", [K, M], tw.float32)
    f = function(tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K})))
    text = f.loops
    for part in ("# parallel", "# unroll", "# vector("):
        assert part in text

    def make(n: int, m: int, terms: int) -> tuple[np.ndarray, ...]:
        a, b = random(n, terms), random(terms, m)
        return a, b, a @ b

    check(f, make)


def test_column_sums_stream() -> None:
    A = tw.input("A", [N, M], tw.float32)
    f = function(tw.computation("C", {j: M}, tw.sum(A[i, j], over={i: N})))
    assert "# vector(16)" in f.loops
    check(f, lambda n, m, _: (random(n, m), random(n, m).sum(axis=0)))


def test_row_sums() -> None:
    A = tw.input("A", [N, M], tw.float32)
    f = function(tw.computation("C", {i: N}, tw.sum(A[i, j], over={j: M})))
    assert "# parallel" in f.loops
    check(f, lambda n, m, _: (random(n, m), random(n, m).sum(axis=1)))


@pytest.mark.parametrize("rows", [1, 4])
def test_terms_of_a_few_known_results_are_shared_by_threads(rows: int) -> None:
    A, x = tw.input("A", [rows, M], tw.float32), tw.input("x", [M], tw.float32)
    f = function(tw.computation("C", {i: rows}, tw.sum(A[i, j] * x[j], over={j: M})))
    text = str(f.default_schedule)
    assert 'C.rfactor("j0", "C_blocks")' in text
    assert 'parallelize("j0")' in text
    for m in (1, 100, 32_768, 70_001):
        a, b = random(rows, m), random(m)
        one, two = f(a, b, threads=1), f(a, b, threads=2)
        np.testing.assert_array_equal(one, two)
        np.testing.assert_allclose(one, a @ b, rtol=1e-4)


def test_clamped_stencil_is_vectorised() -> None:
    A = tw.input("A", [N, M], tw.float32)
    left, right = tw.clamp(j - 1, 0, M - 1), tw.clamp(j + 1, 0, M - 1)
    f = function(tw.computation("C", {i: N, j: M}, A[i, left] + A[i, right]))
    assert "# vector(16)" in f.loops

    def make(n: int, m: int, _: int) -> tuple[np.ndarray, ...]:
        a = random(n, m)
        p = np.pad(a, ((0, 0), (1, 1)), mode="edge")
        return a, p[:, :-2] + p[:, 2:]

    check(f, make)


def test_small_window() -> None:
    A, W = tw.input("A", [N + 2, M + 2], tw.float32), tw.input("W", [3, 3], tw.float32)
    di, dj = tw.iters("di dj")
    total = tw.sum(A[i + di, j + dj] * W[di, dj], over={di: 3, dj: 3})
    f = function(tw.computation("C", {i: N, j: M}, total))
    assert "# vector(16)" in f.loops

    def make(n: int, m: int, _: int) -> tuple[np.ndarray, ...]:
        a, w = random(n + 2, m + 2), random(3, 3)
        expected = sum(w[p, q] * a[p : p + n, q : q + m] for p in range(3) for q in range(3))
        return a, w, expected

    check(f, make)


def test_recurrences_keep_their_order() -> None:
    A = tw.input("A", [M], tw.float32)
    H = tw.computation(
        "H",
        {t: N, j: M},
        lambda H: [
            (t == 0, A[j]),
            ((t > 0) & (j > 0), H[t - 1, j - 1] + H[t - 1, j]),
            ((t > 0) & (j == 0), H[t - 1, j]),
        ],
        dtype=tw.float32,
    )
    f = function(H)
    assert "for t in range(0, N):  # parallel" not in f.loops

    def make(n: int, m: int, _: int) -> tuple[np.ndarray, ...]:
        n = min(n, 20)
        a = random(m)
        h = np.empty((n, m), np.float32)
        h[0] = a
        for step in range(1, n):
            h[step] = h[step - 1]
            h[step, 1:] += h[step - 1, :-1]
        return a, h

    for size in SIZES:
        a, expected = make(*size)
        np.testing.assert_allclose(f(a, N=expected.shape[0]), expected, rtol=1e-4)


def test_a_prefix_sum_stays_serial() -> None:
    A = tw.input("A", [N], tw.float32)
    S = tw.computation(
        "S", {i: N}, lambda S: [(i == 0, A[i]), (i > 0, S[i - 1] + A[i])], dtype=tw.float32
    )
    f = function(S)
    assert "#" not in f.loops
    np.testing.assert_allclose(f(random(50)), np.cumsum(random(50)), rtol=1e-4)


def test_several_computations() -> None:
    A = tw.input("A", [N, M], tw.float32)
    B = tw.computation("B", {i: N, j: M}, A[i, j] * 2)
    total = tw.computation("T", {i: N}, tw.sum(B[i, j], over={j: M}))
    C = tw.computation("C", {i: N, j: M}, B[i, j] - total[i])
    f = function(C)

    def make(n: int, m: int, _: int) -> tuple[np.ndarray, ...]:
        a = random(n, m)
        return a, 2 * a - (2 * a).sum(axis=1, keepdims=True)

    check(f, make, rtol=1e-3)


def test_scalars_and_gathers_stay_as_they_are() -> None:
    A, P = tw.input("A", [N], tw.float32), tw.input("P", [N], tw.int64)
    f = function(tw.computation("C", {i: N}, A[P[i]]))
    p = np.random.default_rng(0).permutation(100)
    np.testing.assert_array_equal(f(random(100), p), random(100)[p])
    with pytest.raises(tw.SubscriptError):
        f(random(100), p + 1)
    g = function(tw.computation("D", {}, tw.sum(A[i], over={i: N})))
    np.testing.assert_allclose(g(random(100)), random(100).sum(), rtol=1e-5)


def test_the_first_command_starts_from_the_plain_loops() -> None:
    A = tw.input("A", [N, M], tw.float32)
    C = tw.computation("C", {i: N, j: M}, A[i, j] * 2)
    f = function(C)
    default = f.loops
    plain = tw.function("g", outputs=[C], default_schedule=False).loops
    assert "#" in default
    assert "#" not in plain
    assert f.default_schedule
    assert not f.schedule
    f["C"].interchange(i, j)
    assert "#" not in f.loops
    assert not f.default_schedule
    assert f.loops.startswith("for j in range(0, M):")
    f.reset_schedule()
    assert f.loops == default
    np.testing.assert_array_equal(f(random(5, 9)), 2 * random(5, 9))
    copy = f.copy()
    assert copy.loops == default


def test_many_threads_and_one_give_the_same() -> None:
    A = tw.input("A", [N, M], tw.float32)
    f = function(tw.computation("C", {i: N, j: M}, tw.sqrt(A[i, j]) + A[i, j]))
    threads = tw.get_num_threads()
    try:
        for count in (1, 3):
            tw.set_num_threads(count)
            for size in ((3, 5), (300, 700)):
                a = random(*size)
                np.testing.assert_allclose(f(a), np.sqrt(a) + a, rtol=1e-6)
    finally:
        tw.set_num_threads(threads)


def test_it_is_a_schedule_to_go_on_from() -> None:
    A, B = tw.input("A", [N, K], tw.float32), tw.input("B", [K, M], tw.float32)
    C = tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))
    f = function(C)
    chosen, loops, layers = f.default_schedule, f.loops, f.layers
    assert "parallelize" in str(chosen)
    assert "(cpu)" in layers
    chosen.apply_to(f)
    assert f.schedule == chosen
    assert (f.loops, f.layers) == (loops, layers)
    assert not f.default_schedule
    f.reset_schedule()
    assert f.default_schedule == chosen
    assert not tw.function("g", outputs=[C], default_schedule=False).default_schedule


def test_a_command_of_one_computation_ends_it_for_all() -> None:
    A = tw.input("A", [N], tw.float32)
    B = tw.computation("B", {i: N}, A[i] * 2)
    C = tw.computation("C", {i: N}, A[i] * 3)
    f = function(B, C)
    assert f.loops.count("# vector") == 2
    B.vectorize(i, 8)
    assert f.loops.count("# vector") == 1
    assert "# parallel" not in f.loops


def test_ordered_sums_are_not_reassociated() -> None:
    A = tw.input("A", [N], tw.float32)
    a = (np.random.default_rng(3).random(10_001) * 1e4).astype(np.float32)
    f = function(tw.computation("C", {}, tw.sum(A[i], over={i: N}, ordered=True)))
    assert "#" not in f.loops
    assert f(a) == np.cumsum(a)[-1]
    loose = function(tw.computation("D", {}, tw.sum(A[i], over={i: N})))
    assert "# vector(16)" in loose.loops
    np.testing.assert_allclose(loose(a), a.sum(), rtol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_values_are_those_of_the_declared_loops(threads: int) -> None:
    """The same bits where nothing is a sum."""
    A = tw.input("A", [N, M], tw.float32)
    left = tw.clamp(j - 1, 0, M - 1)
    B = tw.computation("B", {i: N, j: M}, tw.exp(A[i, j]) / (A[i, left] + 1))
    C = tw.computation("C", {i: N, j: M}, tw.tan(B[i, j]) * A[i, j] + B[N - 1 - i, j])
    f, g = function(C), tw.function("g", outputs=[C], default_schedule=False)
    before = tw.get_num_threads()
    tw.set_num_threads(threads)
    try:
        for n, m in ((1, 1), (3, 7), (5, 33), (64, 100), (300, 517)):
            a = random(n, m)
            np.testing.assert_array_equal(f(a), g(a))
    finally:
        tw.set_num_threads(before)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("cpu", ["native", "x86-64-v3", "x86-64"])
def test_products_are_packed_and_summed_in_the_declared_order(transposed: bool, cpu: str) -> None:
    A = tw.input("A", [N, K], tw.float32)
    B = tw.input("B", [M, K] if transposed else [K, M], tw.float32)
    right = B[j, k] if transposed else B[k, j]
    C = tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * right, over={k: K}))
    bias = tw.computation("R", {i: N, j: M}, tw.maximum(C[i, j] - K, 0))
    f = tw.function("f", outputs=[bias], cpu=cpu)
    g = tw.function("g", outputs=[bias], cpu=cpu, default_schedule=False)
    assert "B_cache" in f.loops
    order = "order=[1, 0]" if transposed else "C.cache("
    assert order in str(f.default_schedule)
    for n, m, terms in [*SIZES, (8, 8, 8), (9, 9, 9), (23, 23, 23), (65, 100, 257), (64, 1, 600)]:
        a, b = random(n, terms), random(terms, m)
        b = np.ascontiguousarray(b.T) if transposed else b
        np.testing.assert_array_equal(f(a, b), g(a, b))


def test_batched_products() -> None:
    A, B = tw.input("A", [M, N, K], tw.float64), tw.input("B", [M, K, N], tw.float64)
    product = tw.sum(A[t, i, k] * B[t, k, j], over={k: K})
    f = function(tw.computation("C", {t: M, i: N, j: N}, product))
    assert "for t in range(0, M):  # parallel" in f.loops
    assert f.loops.count("one with the loop outside") == 2  # blocks of one product, too
    for n, m, terms in SIZES:
        a, b = random(m, n, terms).astype(float), random(m, terms, n).astype(float)
        np.testing.assert_allclose(f(a, b), a @ b, rtol=1e-10)


def test_small_products_of_a_batch_are_those_of_plain_loops() -> None:
    """Whether a product is small does not depend on how many there are; all versions agree."""
    A, B = tw.input("A", [M, N, K], tw.float32), tw.input("B", [M, K, N], tw.float32)
    product = tw.sum(A[t, i, k] * B[t, k, j], over={k: K})
    C = tw.computation("C", {t: M, i: N, j: N}, product)
    f, g = function(C), tw.function("g", outputs=[C], default_schedule=False)
    # One product of the batch is asked about, not only the whole.
    assert f.llvm.count("icmp") > g.llvm.count("icmp")
    for batch, n, terms in [(8, n, n) for n in (1, 2, 4, 5, 6, 7, 8, 9, 16, 17)] + [
        (1, 4, 4),
        (40, 4, 4),
        (1000, 4, 4),
        (3, 8, 1),
        (3, 1, 8),
    ]:
        a, b = random(batch, n, terms), random(batch, terms, n)
        np.testing.assert_array_equal(f(a, b), g(a, b))


def test_few_columns_are_summed_by_plain_loops() -> None:
    A = tw.input("A", [N, M], tw.float32)
    C = tw.computation("C", {j: M}, tw.sum(A[i, j], over={i: N}))
    f, g = function(C), tw.function("g", outputs=[C], default_schedule=False)
    for n, m in [(n, m) for n in (1, 4, 8, 9, 40) for m in (1, 3, 4, 15, 16, 17, 33)]:
        a = random(n, m)
        np.testing.assert_array_equal(f(a), g(a))


@pytest.mark.parametrize("columns", [3, 4, 6, 8, 15])
@pytest.mark.parametrize("transposed", [False, True])
def test_few_columns_of_a_known_number_are_lanes(columns: int, transposed: bool) -> None:
    """Filters of one signal: their results lie side by side, and are fewer than a vector has lanes."""
    x = tw.input("x", [N + 9], tw.float32)
    h = tw.input("h", [columns, 9] if transposed else [9, columns], tw.float32)
    tap = h[j, k] if transposed else h[k, j]
    C = tw.computation("C", {i: N, j: columns}, tw.sum(tap * x[i - k + 9], over={k: 9}))
    f, g = function(C), tw.function("g", outputs=[C], default_schedule=False)
    lanes = 4 if columns == 4 else 8 if columns <= 8 else 16
    if not transposed:
        assert (f", {lanes})" in str(f.default_schedule)) == (columns >= 4)
    for n in (1, 7, 8, 40, 700):
        signal, taps = random(n + 9), random(*((columns, 9) if transposed else (9, columns)))
        np.testing.assert_array_equal(f(signal, taps), g(signal, taps))


def test_an_operand_read_twice_is_packed_for_one_of_its_reads() -> None:
    A = tw.input("A", [N, K], tw.float32)
    f = function(tw.computation("C", {i: N, j: N}, tw.sum(A[i, k] * A[j, k], over={k: K})))
    assert "A_cache2" in f.loops
    assert re.search(r"\* A_cache2\[k1, 32 \* j10 \+ j11\]", str(f.loops))
    for n, _, terms in SIZES:
        a = random(n, terms)
        np.testing.assert_allclose(f(a), a @ a.T, rtol=1e-4)


@pytest.mark.parametrize("twice", [False, True])
def test_rows_that_lie_side_by_side_are_packed_for_several_vectors(twice: bool) -> None:
    """A[k, i] of one term after the other stand far apart: each tile of rows is copied once for many columns."""
    A = tw.input("A", [K, N], tw.float64)
    B = A if twice else tw.input("B", [K, M], tw.float64)
    columns = N if twice else M
    f = function(tw.computation("C", {i: N, j: columns}, tw.sum(A[k, i] * B[k, j], over={k: K})))
    lines = str(f.default_schedule).splitlines()
    rows = next(line for line in lines if '"i10"' in line and "cache" in line)
    assert rows.strip().startswith('A_cache = C.cache("A", "i10"')
    assert ('"values"' in rows) == twice
    order = next(line for line in lines if "reorder" in line)
    assert '"i10", "j10", "k1", "i11", "j11"' in order
    for n, m, terms in SIZES:
        a, b = (np.random.default_rng(n).random((terms, size)) for size in (n, m))
        if twice:
            np.testing.assert_allclose(f(a), a.T @ a)
        else:
            np.testing.assert_allclose(f(a, b), a.T @ b)


def test_transpositions_are_tiled() -> None:
    A, B = tw.input("A", [N, M], tw.float32), tw.input("B", [M, N], tw.float32)
    f = function(tw.computation("C", {i: M, j: N}, A[j, i] * 2 + B[i, j]))
    assert "# vector(16)" in f.loops and "for i1 in" in f.loops
    for n, m, _ in SIZES:
        a, b = random(n, m), random(m, n)
        np.testing.assert_array_equal(f(a, b), a.T * 2 + b)


def test_windows_of_a_constant_size_are_unrolled() -> None:
    A, W = tw.input("A", [N + 2, M + 4], tw.float32), tw.input("W", [3, 5], tw.float32)
    di, dj = tw.iters("di dj")
    total = tw.sum(A[i + di, j + dj] * W[di, dj], over={di: 3, dj: 5})
    C = tw.computation("C", {i: N, j: M}, total)
    f, g = function(C), tw.function("g", outputs=[C], default_schedule=False)
    assert f.loops.count("# unroll") == 2
    for n, m, _ in SIZES:
        a, w = random(n + 2, m + 4), random(3, 5)
        np.testing.assert_array_equal(f(a, w), g(a, w))


CONVOLUTIONS = [(1, 1, 1, 1), (3, 5, 4, 7), (8, 16, 2, 33), (9, 3, 17, 40), (17, 40, 6, 65)]


@pytest.mark.parametrize("cpu", ["native", "x86-64-v3", "x86-64"])
@pytest.mark.parametrize("padded", [False, True])
def test_convolutions_have_tiles_of_filters(padded: bool, cpu: str) -> None:
    """Filters are the rows of a tile, as all of them read the same of the image."""
    F, C, H, W = tw.params("F C H W", "F >= 1 and C >= 1 and H >= 1 and W >= 1")
    f, y, x, c, r, s = tw.iters("f y x c r s")
    edge = 0 if padded else 2
    X = tw.input("X", [C, H + edge, W + edge], tw.float32)
    w = tw.input("w", [F, C, 3, 3], tw.float32)
    b = tw.input("b", [F], tw.float32)
    inside = (y + r >= 1) & (y + r < H + 1) & (x + s >= 1) & (x + s < W + 1)
    read = tw.select(inside, X[c, y + r - 1, x + s - 1], 0) if padded else X[c, y + r, x + s]
    total = tw.sum(w[f, c, r, s] * read, over={c: C, r: 3, s: 3})
    Y = tw.computation("Y", {f: F, y: H, x: W}, tw.maximum(total + b[f], 0))
    g = tw.function("g", outputs=[Y], inputs=[X, w, b], cpu=cpu)
    chosen = str(g.default_schedule)
    assert 'unroll("f11"' in chosen and 'vectorize("x1"' in chosen
    assert 'parallelize("f0", "y", "x0")' in chosen
    if padded:  # conditions are asked outside of the long loop
        assert g.loops.index("for s in") < g.loops.index("for c1 in")
    for filters, channels, height, width in CONVOLUTIONS:
        image = random(channels, height, width) - 0.5
        weights, bias = random(filters, channels, 3, 3) - 0.5, random(filters) - 0.5
        wide = np.pad(image, ((0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (1, 2))
        expected = np.tensordot(weights, windows, ((1, 2, 3), (0, 3, 4))) + bias[:, None, None]
        arrays = (image if padded else wide, weights, bias)
        np.testing.assert_allclose(g(*arrays), np.maximum(expected, 0), rtol=1e-4, atol=1e-5)
        if height * width < 30:
            np.testing.assert_allclose(g.evaluate(*arrays), g(*arrays), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 3])
def test_convolutions_with_channels_last_have_tiles_of_neighbours(size: int) -> None:
    F, C, H, W = tw.params("F C H W", "F >= 1 and C >= 1 and H >= 1 and W >= 1")
    f, y, x, c, r, s = tw.iters("f y x c r s")
    X = tw.input("X", [H + size - 1, W + size - 1, C], tw.float32)
    w = tw.input("w", [size, size, C, F], tw.float32)
    terms = X[y + r, x + s, c] * w[r, s, c, f]
    Y = tw.computation("Y", {y: H, x: W, f: F}, tw.sum(terms, over={r: size, s: size, c: C}))
    g = tw.function("g", outputs=[Y], inputs=[X, w])
    chosen = str(g.default_schedule)
    assert 'unroll("x11"' in chosen and 'vectorize("f1"' in chosen
    for filters, channels, height, width in CONVOLUTIONS:
        image = random(height + size - 1, width + size - 1, channels) - 0.5
        weights = random(size, size, channels, filters) - 0.5
        windows = np.lib.stride_tricks.sliding_window_view(image, (size, size), (0, 1))
        expected = np.tensordot(windows, weights, ((3, 4, 2), (0, 1, 2)))
        np.testing.assert_allclose(g(image, weights), expected, rtol=1e-4, atol=1e-5)


def test_three_factors_are_one_contraction() -> None:
    A, B = tw.input("A", [N, K], tw.float32), tw.input("B", [M, K], tw.float32)
    v = tw.input("v", [K], tw.float32)
    f = function(tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * v[k] * B[j, k], over={k: K})))
    assert "B_cache" in f.loops

    def make(n: int, m: int, terms: int) -> tuple[np.ndarray, ...]:
        a, b, c = random(n, terms), random(m, terms), random(terms)
        return a, b, c, (a * c) @ b.T

    check(f, make)


def test_the_exponentials_of_a_softmax_are_computed_once() -> None:
    x = tw.input("x", [N, M], tw.float32)
    d, e = tw.iters("d e")
    largest, also = (tw.max(x[i, r], over={r: M}) for r in (d, e))
    total = tw.sum(tw.exp(x[i, k] - also), over={k: M})
    f = function(tw.computation("y", {i: N, j: M}, tw.exp(x[i, j] - largest) / total))
    assert f.computations == ["y_exp_max", "y_exp", "y_sum", "y"]
    assert f.loops.count("exp(") == 1
    assert 'y_exp.store_in("y[i, j]")' in str(f.default_schedule)
    assert "y_exp = empty" not in f.loops

    def make(n: int, m: int, _: int) -> tuple[np.ndarray, ...]:
        a = random(n, m)
        powers = np.exp(a - a.max(axis=1, keepdims=True))
        return a, powers / powers.sum(axis=1, keepdims=True)

    check(f, make)


def test_one_recurrence_among_many_keeps_the_others_scheduled() -> None:
    A = tw.input("A", [N, M], tw.float32)
    x = A
    for number in range(6):
        before = x
        if number == 3:
            x = tw.computation(
                "R",
                {i: N, j: M},
                lambda R, x=before: [(i == 0, x[i, j]), (i > 0, R[i - 1, j] + x[i, j])],
                dtype=tw.float32,
            )
        else:
            x = tw.computation(f"C{number}", {i: N, j: M}, before[i, j] * 0.5)
    f = function(x)
    assert f.loops.count("# parallel") >= 6  # rows, and columns of R
    for n, m, _ in SIZES:
        a = random(n, m)
        expected = np.cumsum(a * np.float32(0.125), axis=0) * np.float32(0.25)
        np.testing.assert_allclose(f(a), expected, rtol=1e-4)


def test_functions_of_very_many_computations_keep_their_loops() -> None:
    x = tw.input("A", [N], tw.float32)
    for number in range(130):
        x = tw.computation(f"C{number}", {i: N}, x[i] + 1)
    f = function(x)
    assert not f.default_schedule
    assert "#" not in f.loops
