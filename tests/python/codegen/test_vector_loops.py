"""Vector loops beyond full tiles: sums over lanes, rests under masks, lanes that differ in what they do, two vector
loops beside each other, gathers."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import pytest

import tilewright as tw

N, M, K = tw.params("N M K")
i, j, k, c = tw.iters("i j k c")

SIZES = [0, 1, 3, 8, 15, 16, 17, 40, 100]
TYPES = [tw.float32, tw.float64, tw.int8, tw.uint16, tw.int32, tw.int64, tw.bool]


def values(dtype: tw.DType, *shape: int) -> np.ndarray[Any, Any]:
    """Small integers: sums are exact in any order."""
    generator = np.random.default_rng(sum(shape))
    return generator.integers(0, 2 if dtype is tw.bool else 5, shape).astype(np.dtype(dtype))


def is_vector_code(function: tw.Function, lanes: int) -> bool:
    return f"<{lanes} x " in function.llvm


# ---- sums over lanes ----


@pytest.mark.parametrize("dtype", [tw.float32, tw.float64, tw.int32, tw.int64, tw.uint8])
@pytest.mark.parametrize("unroll", [1, 4])
def test_sum_over_lanes(dtype: tw.DType, unroll: int) -> None:
    x = tw.input("x", [N], dtype)
    total = tw.computation("S", {}, tw.sum(x[k], over={k: N}))
    f = tw.function("total", outputs=[total])
    total.vectorize(k, 16, "k0", "k1")
    if unroll > 1:
        total.unroll("k0", unroll)
    for size in SIZES:
        data = values(dtype, size)
        assert f(data) == f.evaluate(data) == data.sum(dtype=f(data).dtype)
    assert is_vector_code(f, 16)


@pytest.mark.parametrize("reduce", ["min", "max", "prod", "any", "all"])
def test_other_reductions_over_lanes(reduce: str) -> None:
    logical = reduce in ("any", "all")
    x = tw.input("x", [N, K], tw.bool if logical else tw.float64)
    body = getattr(tw, reduce)(x[i, k], over={k: K})
    result = tw.computation("R", {i: N}, body)
    f = tw.function("reduced", outputs=[result])
    result.vectorize(k, 8)
    for size in SIZES:
        data = values(tw.bool if logical else tw.float64, 5, size)
        if not logical and size > 2:
            data[2, size // 2] = np.nan
        np.testing.assert_array_equal(f(data), f.evaluate(data))


def test_complex_sum_over_lanes() -> None:
    x = tw.input("x", [N], tw.complex64)
    total = tw.computation("S", {}, tw.sum(x[k], over={k: N}))
    f = tw.function("total", outputs=[total])
    total.vectorize(k, 4)
    for size in SIZES:
        data = (values(tw.float32, size) + 1j * values(tw.float32, size, 1)[:, 0]).astype(
            np.complex64
        )
        assert f(data) == data.sum()


def test_dot_products_in_a_nest() -> None:
    """Lanes of the reduced loop; the accumulator of each row lives in a vector."""
    a, x = tw.input("A", [N, K], tw.float64), tw.input("x", [K], tw.float64)
    y = tw.computation("y", {i: N}, tw.sum(a[i, k] * x[k], over={k: K}))
    f = tw.function("gemv", outputs=[y])
    y.vectorize(k, 8, "k0", "k1").unroll("k0", 2)
    for size in SIZES:
        matrix, vector = values(tw.float64, 7, size), values(tw.float64, size)
        np.testing.assert_array_equal(f(matrix, vector), matrix @ vector)


def test_sum_over_two_reduced_loops_and_a_condition() -> None:
    a = tw.input("A", [N, M], tw.float64)
    upper = tw.sum(a[i, j], over={i: N, j: M}, where=i <= j)
    total = tw.computation("S", {}, upper)
    f = tw.function("upper", outputs=[total])
    total.vectorize(j, 4)
    for shape in [(1, 1), (3, 9), (9, 3), (17, 17)]:
        matrix = values(tw.float64, *shape)
        assert f(matrix) == np.triu(matrix).sum() == f.evaluate(matrix)


def test_terms_of_an_element_that_lanes_may_meet_in_stay_in_order() -> None:
    """Two neighbouring lanes add to one element: no vector store can do that."""
    x = tw.input("x", [2 * N], tw.int64)
    pairs = tw.computation(
        "P", {i: N}, tw.sum(x[k], over={k: 2 * N}, where=(k >= 2 * i) & (k < 2 * i + 2))
    )
    f = tw.function("pairs", outputs=[pairs])
    pairs.interchange(i, k).vectorize(k, 4)
    data = np.arange(26)
    np.testing.assert_array_equal(f(data), data.reshape(-1, 2).sum(1))


def test_lanes_of_an_ordered_sum_are_refused() -> None:
    x = tw.input("x", [N], tw.float64)
    total = tw.computation("S", {}, tw.sum(x[k], over={k: N}, ordered=True))
    _f = tw.function("total", outputs=[total])
    with pytest.raises(tw.IllegalScheduleError, match="ordered reduction"):
        total.vectorize(k, 4)


def test_reader_of_a_sum_may_not_stand_in_its_lanes() -> None:
    """Each lane would read a sum that the lanes after it have not added to."""
    x = tw.input("x", [N], tw.float64)
    total = tw.computation("S", {}, tw.sum(x[k], over={k: N}))
    y = tw.computation("y", {i: N}, total[()] * x[i])
    f = tw.function("normal", outputs=[y])
    total.vectorize(k, 4)
    y.split(i, 4, "k0", "k1")
    with pytest.raises(tw.IllegalScheduleError):
        y.after(total, "k1")
    data = np.arange(9.0)
    np.testing.assert_array_equal(f(data), data.sum() * data)


# ---- rests ----


@pytest.mark.parametrize("dtype", TYPES)
def test_rest_of_a_vector_loop(dtype: tw.DType) -> None:
    x, y = tw.input("x", [N], dtype), tw.input("y", [N], dtype)
    z = tw.computation("z", {i: N}, tw.maximum(x[i], y[N - 1 - i]))
    f = tw.function("largest", outputs=[z])
    z.vectorize(i, 16)
    for size in SIZES:
        a, b = values(dtype, size), values(dtype, size)[::-1].copy()
        expected = np.maximum(a, b[::-1])
        np.testing.assert_array_equal(f(a, b), expected)
        np.testing.assert_array_equal(f(a[::-1], b), np.maximum(a[::-1], b[::-1]))
        spread = np.zeros(3 * size, a.dtype)
        spread[::3] = a
        # Elements behind the border stay as they are.
        whole = np.full(size + 40, 3).astype(a.dtype)
        f(spread[::3], b, out=whole[20 : 20 + size])
        np.testing.assert_array_equal(whole[20 : 20 + size], expected)
        assert (whole[:20] == whole.dtype.type(3)).all() and (
            whole[20 + size :] == whole.dtype.type(3)
        ).all()


def test_rest_of_matmul_keeps_its_accumulators() -> None:
    a, b = tw.input("A", [N, K], tw.float32), tw.input("B", [K, M], tw.float32)
    product = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    f = tw.function("matmul", outputs=[product])
    product.split(j, 16, "j0", "j1").reorder(i, "j0", k, "j1").vectorize("j1")
    for n, m, length in [(1, 1, 1), (3, 15, 4), (5, 33, 0), (4, 50, 7)]:
        left, right = values(tw.float32, n, length), values(tw.float32, length, m)
        np.testing.assert_array_equal(f(left, right), left @ right)


# ---- lanes that differ ----


def test_border_case_stores_under_a_mask() -> None:
    x = tw.input("x", [N], tw.float64)
    inner = (i > 0) & (i < N - 1)
    y = tw.computation("y", {i: N}, [(inner, x[i - 1] + x[i + 1]), (~inner, -x[i])])
    f = tw.function("border", outputs=[y])
    y.vectorize(i, 8)
    for size in SIZES[1:]:
        data = values(tw.float64, size)
        np.testing.assert_array_equal(f(data), f.evaluate(data))


def test_triangular_loop_inside_lanes() -> None:
    """Each lane has its own number of iterations."""
    a = tw.input("A", [N, N], tw.float64)
    rows = tw.computation("R", {i: N}, tw.sum(a[i, k], over={k: N}, where=(k <= i) & (2 * k >= i)))
    f = tw.function("rows", outputs=[rows])
    rows.vectorize(i, 4)
    for size in SIZES:
        matrix = values(tw.float64, size, size)
        np.testing.assert_array_equal(f(matrix), f.evaluate(matrix))


def test_select_reads_only_where_it_may() -> None:
    x, flag = tw.input("x", [M], tw.float64), tw.input("flag", [N], tw.int32)
    y = tw.computation("y", {i: N}, tw.select(flag[i] > 0, x[flag[i] - 1], 7.0))
    f = tw.function("chosen", inputs=[x, flag], outputs=[y])
    y.vectorize(i, 8)
    for size in SIZES:
        flags = values(tw.int32, size)
        data = np.array([10.0, 20.0, 30.0, 40.0])
        np.testing.assert_array_equal(f(data, flags), np.where(flags > 0, data[flags - 1], 7.0))


def test_rows_of_a_sparse_matrix_in_lanes() -> None:
    nnz = tw.param("NNZ")
    val, x = tw.input("val", [nnz], tw.float64), tw.input("x", [M], tw.float64)
    col, row = tw.input("col", [nnz], tw.int32), tw.input("row", [N + 1], tw.int32)
    y = tw.computation("y", {i: N}, tw.sum(val[k] * x[col[k]], over={k: (row[i], row[i + 1])}))
    f = tw.function("spmv", inputs=[val, col, row, x], outputs=[y])
    y.vectorize(i, 4)
    generator = np.random.default_rng(3)
    for size in (1, 3, 4, 21):
        degree = generator.integers(0, 5, size)
        start = np.concatenate([[0], np.cumsum(degree)]).astype(np.int32)
        columns = generator.integers(0, 9, start[-1]).astype(np.int32)
        data, vector = values(tw.float64, start[-1]), values(tw.float64, 9)
        np.testing.assert_array_equal(
            f(data, columns, start, vector), f.evaluate(data, columns, start, vector)
        )


# ---- gathers ----


@pytest.mark.parametrize("dtype", [tw.float32, tw.uint8, tw.int64])
def test_gather_checks_all_lanes(dtype: tw.DType) -> None:
    x, at = tw.input("x", [M], dtype), tw.input("at", [N], tw.int32)
    y = tw.computation("y", {i: N}, x[at[i]])
    f = tw.function("gather", inputs=[x, at], outputs=[y])
    y.vectorize(i, 16)
    data = values(dtype, 50)
    for size in SIZES:
        index = np.random.default_rng(size).integers(0, 50, size).astype(np.int32)
        np.testing.assert_array_equal(f(data, index), data[index])
    for wrong in (0, 7, 15, 16, 39):
        index = np.zeros(40, np.int32)
        index[wrong] = 50 + wrong
        index[wrong + 1 :] = -1
        with pytest.raises(IndexError, match=str(50 + wrong)):
            f(data, index)
    assert is_vector_code(f, 16)


# ---- two vector loops beside each other ----


@pytest.mark.parametrize("dtype", [tw.uint8, tw.float32])
def test_channels_beside_pixels(dtype: tw.DType) -> None:
    image = tw.input("image", [N, M, 3], dtype)
    gain = tw.input("gain", [3], dtype)
    y = tw.computation("y", {i: N, j: M - 1, c: 3}, image[i, j + 1, c] + image[i, j, c] * gain[c])
    f = tw.function("channels", outputs=[y])
    y.vectorize(j, 8).vectorize(c, 3)
    factors = values(dtype, 3)
    for width in (1, 2, 8, 9, 10, 30):
        pixels = values(dtype, 4, width, 3)
        expected = pixels[:, 1:] + pixels[:, :-1] * factors
        np.testing.assert_array_equal(f(pixels, factors), expected)
        turned = np.ascontiguousarray(pixels.transpose(0, 2, 1)).transpose(0, 2, 1)
        np.testing.assert_array_equal(f(turned, factors), expected)
    assert is_vector_code(f, 24)


def test_sum_over_channels_in_lanes() -> None:
    """The inner lanes meet in one element: only the outer loop becomes a vector."""
    image = tw.input("image", [N, M, 3], tw.float32)
    gray = tw.computation("G", {i: N, j: M}, tw.sum(image[i, j, c], over={c: 3}))
    f = tw.function("gray", outputs=[gray])
    gray.vectorize(j, 8).vectorize(c, 3)
    pixels = values(tw.float32, 3, 21, 3)
    np.testing.assert_array_equal(f(pixels), pixels.sum(2))


# ---- subscripts that cannot leave their array ----


def clipped(lower: int, upper: int) -> tw.Function:
    """x[at[i] clipped to lower .. M - 1 + upper], and the element behind it."""
    x, at = tw.input("x", [M], tw.float64), tw.input("at", [N], tw.int32)
    index = tw.minimum(tw.maximum(at[i], lower), M - 1 + upper)
    y = tw.computation("y", {i: N}, x[index] + x[index + 1])
    return tw.function("clipped", inputs=[x, at], outputs=[y])


def test_clipped_subscripts_need_no_check() -> None:
    m = tw.param("M", "M >= 2")
    x, at = tw.input("x", [m], tw.float64), tw.input("at", [N], tw.int32)
    index = tw.minimum(tw.maximum(at[i], 0), m - 2)
    y = tw.computation("y", {i: N}, x[index] + x[index + 1])
    f = tw.function("clipped", inputs=[x, at], outputs=[y])
    assert "assert" not in f.loops
    y.vectorize(i, 8)
    data = np.arange(7.0) ** 2
    where = np.array([-(2**31), -1, 0, 3, 5, 6, 7, 2**31 - 1, 2], np.int32)
    low = np.clip(where, 0, 5)
    np.testing.assert_array_equal(f(data, where), data[low] + data[low + 1])


@pytest.mark.parametrize(("lower", "upper"), [(-1, -1), (0, 0), (0, 1)])
def test_subscripts_clipped_too_far_out_are_checked(lower: int, upper: int) -> None:
    f = clipped(lower, upper)
    assert "assert" in f.loops
    data = np.arange(7.0)
    with pytest.raises(IndexError):
        f(data, np.array([2, -5 if lower < 0 else 50], np.int32))


def test_types_and_remainders_bound_subscripts() -> None:
    table, x = tw.input("table", [256], tw.float32), tw.input("x", [N], tw.uint8)
    ring, at = tw.input("ring", [10], tw.float32), tw.input("at", [N], tw.int64)
    y = tw.computation("y", {i: N}, table[x[i]] + ring[at[i] % 10])
    f = tw.function("looked_up", inputs=[table, x, ring, at], outputs=[y])
    assert "assert" not in f.loops
    short = tw.computation("z", {i: N}, ring[x[i]])
    assert "assert" in tw.function("short", inputs=[ring, x], outputs=[short]).loops
    tables, rings = np.arange(256, dtype=np.float32), np.arange(10, dtype=np.float32)
    pixels = np.array([0, 255, 7], np.uint8)
    places = np.array([-1, -(2**63), 2**63 - 1])
    np.testing.assert_array_equal(
        f(tables, pixels, rings, places), tables[pixels] + rings[places % 10]
    )


def test_sums_that_wrap_are_checked() -> None:
    """The largest int64 and one more is the least one."""
    x, at = tw.input("x", [M], tw.float64), tw.input("at", [N], tw.int64)
    y = tw.computation("y", {i: N}, x[tw.minimum(tw.maximum(at[i], 0) + 1, M - 1)])
    f = tw.function("wrapping", inputs=[x, at], outputs=[y])
    assert "assert" in f.loops
    with pytest.raises(IndexError):
        f(np.arange(5.0), np.array([2**63 - 1]))


@pytest.mark.parametrize("dtype", [tw.uint8, tw.float32, tw.float64])
def test_every_third_element_with_a_rest(dtype: tw.DType) -> None:
    image = tw.input("image", [N, 3], dtype)
    y = tw.computation("y", {i: N}, image[i, 0] + 2 * image[i, 2])
    f = tw.function("channels", outputs=[y])
    y.vectorize(i, 16)
    for size in SIZES:
        # The last row of a larger array: what lies behind it is not ours.
        pixels = values(dtype, size, 3)
        np.testing.assert_array_equal(f(pixels), f.evaluate(pixels))


# ---- tiles of constant sizes that do not divide ----


def test_rest_of_a_constant_tile_stays_in_registers() -> None:
    """23 columns are 12 and 11, and 23 rows likewise: all known once the tile is unrolled."""
    a, b = tw.input("A", [N, 23, K], tw.float32), tw.input("B", [N, K, 23], tw.float32)
    x = tw.iter("x")
    total = tw.sum(a[x, i, k] * b[x, k, j], over={k: K})
    f = tw.function("products", outputs=[tw.computation("C", {x: N, i: 23, j: 23}, total)])
    product = f["C"]
    product.split(i, 12, "i0", "r").split(j, 24, "j0", "v").split("v", 12, "vector", "lane")
    product.reorder(x, "j0", "i0", k, "r", "vector", "lane")
    product.unroll("i0").unroll("r").unroll("vector").vectorize("lane")
    left, right = values(tw.float32, 3, 23, 5), values(tw.float32, 3, 5, 23)
    np.testing.assert_array_equal(f(left, right), left @ right)
    # Sums that stay in registers are stored behind the loop over k: no loop has scalar stores.
    assert "store float" not in f.llvm


def test_two_vector_loops_with_rests_of_their_own() -> None:
    """Where both loops end inside a vector, or a condition on data stands between them."""
    x = tw.input("x", [N], tw.float64)
    y = tw.computation("y", {i: N}, 2 * x[i])
    f = tw.function("double", outputs=[y])
    y.vectorize(i, 4, "i0", "i1").vectorize("i0", 2)
    rows = tw.input("A", [N, M], tw.int32)
    total = tw.sum(rows[i, j], over={j: M}, where=(j + 1 < 2 * i) & (i < 5))
    g = tw.function("sums", outputs=[tw.computation("S", {i: N}, total)])
    g["S"].vectorize(i, 2).vectorize(j, 4)
    for size in SIZES:
        np.testing.assert_array_equal(f(values(tw.float64, size)), 2 * values(tw.float64, size))
        matrix = values(tw.int32, 7, size)
        np.testing.assert_array_equal(g(matrix), g.evaluate(matrix))


@pytest.mark.parametrize("lanes", [2, 3, 5, 7])
@pytest.mark.parametrize("dtype", [tw.uint8, tw.float32, tw.float64])
def test_gathers_and_scatters_under_masks_of_any_number_of_lanes(
    lanes: int, dtype: tw.DType
) -> None:
    x = tw.input("x", [N, N], dtype)
    flipped = tw.computation("y", {i: N, j: N}, x[j, i] + x[j, N - 1 - i])
    f = tw.function("flipped", outputs=[flipped])
    flipped.interchange(i, j).vectorize(i, lanes)
    for size in SIZES[:-1]:
        data = values(dtype, size, size)
        np.testing.assert_array_equal(f(data), data.T + data.T[::-1])
        turned = np.asfortranarray(data)
        np.testing.assert_array_equal(f(turned), data.T + data.T[::-1])


@pytest.mark.parametrize(
    ("lanes", "dtype"),
    [(2, tw.float64), (8, tw.float64), (16, tw.float32), (32, tw.int16), (64, tw.uint8)],
)
@pytest.mark.parametrize("cpu", ["native", "x86-64-v3"])
def test_rests_of_every_length(lanes: int, dtype: tw.DType, cpu: str) -> None:
    x = tw.input("x", [N], dtype)
    y = tw.computation("y", {i: N}, x[i] + x[N - 1 - i])
    f = tw.function("f", outputs=[y], cpu=cpu)
    f["y"].vectorize(i, lanes)
    plain = np.dtype(str(dtype))
    for n in range(2 * lanes + 2):
        values = np.arange(1, n + 1).astype(plain)
        around = np.full(n + 2 * lanes, 77, plain)
        f(values, out=around[lanes : lanes + n])
        np.testing.assert_array_equal(around[lanes : lanes + n], values + values[::-1])
        assert (around[:lanes] == 77).all() and (around[lanes + n :] == 77).all()


def test_rests_are_bits_where_there_are_mask_registers() -> None:
    """Not a comparison of 64 numbers of 64 bits, which takes eight registers and as many of numbers."""
    x = tw.input("x", [N], tw.uint8)
    f = tw.function("f", outputs=[tw.computation("y", {i: N}, x[i] + 1)], cpu="x86-64-v4")
    f["y"].vectorize(i, 64)
    assert "icmp sgt <64 x i64>" not in f.llvm
    assert "to <64 x i1>" in f.llvm


def moved(p: Any, v: Any) -> None:
    for r in range(p.shape[0]):
        for c in range(2):
            p[r, c] += v[r, c]


def bounced(p: Any, v: Any) -> None:
    for r in range(p.shape[0]):
        for c in range(2):
            if p[r, c] < 0:
                p[r, c] = -p[r, c]
                v[r, c] = -v[r, c]


def normalised(p: Any, v: Any) -> None:
    for r in range(p.shape[0]):
        if v[r, 0] != 0:
            p[r, 0] = p[r, 1] / v[r, 0]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="a feature of x86")
@pytest.mark.parametrize(
    ("function", "by_data"), [(moved, False), (bounced, True), (normalised, False)]
)
def test_llvm_does_not_scatter_what_data_decide_about(function: Any, by_data: bool) -> None:
    rng = np.random.default_rng(5)
    p, v = rng.random((37, 2)) - 0.5, rng.random((37, 2)) - 0.5
    expected = p.copy(), v.copy()
    function(*expected)
    compiled = tw.jit(function)
    assert ("+prefer-no-scatter" in compiled.inspect(p, v).function.llvm) == by_data
    compiled(p, v)
    np.testing.assert_array_equal(p, expected[0])
    np.testing.assert_array_equal(v, expected[1])


def test_scatters_that_the_loop_passes_write_stay() -> None:
    x = tw.input("x", [N, M], tw.float64)
    positive = x[i, j] > 0
    t = tw.computation("T", {i: N, j: M}, 2.0 * x[i, j], where=positive)
    s = tw.computation("S", {i: N, j: M}, tw.select(positive, t[i, j], 0.0))
    f = tw.function("chosen", outputs=[s], default_schedule=False, cpu="x86-64-v4")
    f["T"].interchange("i", "j").vectorize("i", 8)
    assert "masked.scatter" in f.llvm
    assert "prefer-no-scatter" not in f.llvm
