"""Reductions within expressions in kernels: scaling, bias and activation are done by the threads that have the sum,
on the emulator equal to the evaluator and to NumPy, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assemble, barriers, check, emulated, random

import tilewright as tw

N, M, K = tw.params("N M K")
i, j, k, r = tw.iters("i j k r")


def dense(dtype: tw.DType = tw.float32, multiples: int = 0) -> tuple[tw.Function, tw.Computation]:
    """C = relu(A @ B + bias), one computation."""
    a, b = tw.input("A", [N, K], dtype), tw.input("B", [K, M], dtype)
    bias = tw.input("bias", [M], tw.float32)
    term = tw.cast(a[i, k], tw.float32) * tw.cast(b[k, j], tw.float32)
    total = tw.sum(term, over={k: K})
    c = tw.computation("C", {i: N, j: M}, tw.maximum(total + bias[j], 0))
    context = [size % multiples == 0 for size in (N, M, K)] if multiples else []
    return emulated("dense", c, context=context), c


def layer(n: int, m: int, q: int, dtype: Any = np.float32) -> tuple[Any, Any, Any]:
    return random(n, q, dtype=dtype), random(q, m, dtype=dtype)[::-1].copy(), random(m)[::-1].copy()


def relu(a: Any, b: Any, bias: Any) -> Any:
    return np.maximum(a.astype(np.float32) @ b.astype(np.float32) + bias, np.float32(0))


def run(f: tw.Function, *sizes: int, dtype: Any = np.float32) -> None:
    arrays = layer(*sizes, dtype=dtype)
    np.testing.assert_array_equal(check(f, *arrays), relu(*arrays))


SIZES = [(1, 1, 1), (16, 8, 16), (33, 30, 17), (5, 40, 0), (0, 3, 4)]


@pytest.mark.parametrize("sizes", SIZES)
def test_an_element_for_each_thread(sizes: tuple[int, int, int]) -> None:
    f, c = dense()
    c.tile(i, j, 8, 8).gpu_block("i0", "j0").gpu_thread("i1", "j1")
    run(f, *sizes)
    assert str(f.loops).count("kernel:") == 1
    assert barriers(f) == 0


@pytest.mark.parametrize("sizes", SIZES)
def test_terms_outside_of_the_threads(sizes: tuple[int, int, int]) -> None:
    f, c = dense()
    c.tile(i, j, 8, 8).split(k, 4).reorder("i0", "j0", "k0", "i1", "j1", "k1")
    c.gpu_block("i0", "j0").gpu_thread("i1", "j1")
    run(f, *sizes)


@pytest.mark.parametrize("sizes", [(32, 32, 16), (40, 33, 21), (1, 2, 0)])
@pytest.mark.parametrize("memory", ["private", "shared"])
def test_tiles_in_memory_of_their_own(sizes: tuple[int, int, int], memory: str) -> None:
    f, c = dense()
    c.tile(i, j, 32, 32).split("i1", 4, "ti", "ri").split("j1", 4, "tj", "rj").split(k, 8)
    c.reorder("i0", "j0", "k0", "ti", "tj", "k1", "ri", "rj")
    c.gpu_block("i0", "j0").gpu_thread("ti", "tj").unroll("ri").unroll("rj")
    own = c.cache(c, "j0", memory=memory)
    own.cache("A", "k0", memory="shared")
    own.cache("B", "k0", memory="shared")
    run(f, *sizes)


@pytest.mark.parametrize("sizes", [(16, 8, 16), (37, 29, 21), (64, 64, 32), (3, 5, 0)])
def test_products_on_tensor_cores(sizes: tuple[int, int, int]) -> None:
    f, c = dense(tw.float16)
    c.tile(i, j, 16, 8).split(k, 16).reorder("i0", "j0", "k0", "i1", "j1", "k1")
    c.gpu_block("i0", "j0").gpu_mma("i1", "j1", "k1")
    arrays = layer(*sizes, dtype=np.float16)
    result = f(*arrays)
    np.testing.assert_array_equal(result, relu(*arrays))
    np.testing.assert_array_equal(result, f.evaluate(*arrays))
    assemble(f, ["sm_80", "sm_90"])


def test_tensor_cores_with_tiles_in_registers() -> None:
    f, c = dense(tw.float16, multiples=32)
    c.tile(i, j, 32, 32).split(k, 16).split("i1", 16, "ri", "mi").split("j1", 8, "rj", "mj")
    c.reorder("i0", "j0", "k0", "ri", "rj", "mi", "mj", "k1")
    c.gpu_block("i0", "j0").unroll("ri").unroll("rj").gpu_mma("mi", "mj", "k1")
    c.cache(c, "j0", memory="private")
    arrays = layer(64, 32, 64, dtype=np.float16)
    np.testing.assert_array_equal(f(*arrays), relu(*arrays))
    assert "mma.sync" in str(f.ptx_for("sm_80"))


# ---- terms that are the threads' ----


def row_sums(
    reduce: Callable[..., tw.Expression] = tw.sum, dtype: tw.DType = tw.float32
) -> tuple[tw.Function, tw.Computation]:
    """S[i] = 3 - 2 * reduction of a row."""
    a = tw.input("A", [N, K], dtype)
    s = tw.computation("S", {i: N}, 3 - 2 * reduce(a[i, k], over={k: K}))
    return emulated("rows", s), s


@pytest.mark.parametrize("threads", [2, 7, 32, 48, 100])
@pytest.mark.parametrize("terms", [0, 1, 31, 257])
def test_one_thread_finishes_what_all_have_summed(threads: int, terms: int) -> None:
    f, s = row_sums()
    s.split(k, threads).gpu_block(i).gpu_thread("k1")
    a = random(3, terms)
    np.testing.assert_array_equal(check(f, a), 3 - 2 * a.sum(axis=1))


@pytest.mark.parametrize("reduce", [tw.sum, tw.max, tw.min, tw.prod])
@pytest.mark.parametrize("dtype", [tw.float32, tw.int64, tw.float64])
def test_each_reduction(reduce: Callable[..., tw.Expression], dtype: tw.DType) -> None:
    f, s = row_sums(reduce, dtype)
    s.split(k, 64).gpu_block(i).gpu_thread("k1")
    a = random(4, 133)
    check(f, (np.sign(a) if reduce is tw.prod else a).astype(dtype.dtype))


@pytest.mark.parametrize("reduce", [tw.any, tw.all])
def test_truth_values(reduce: Callable[..., tw.Expression]) -> None:
    a = tw.input("A", [N, K], tw.bool)
    s = tw.computation("S", {i: N}, ~reduce(a[i, k], over={k: K}))
    f = emulated("truths", s)
    s.split(k, 64).gpu_block(i).gpu_thread("k1")
    values = np.full((5, 133), reduce is tw.all)
    values[1, 3] = values[2, 132] = reduce is tw.any
    check(f, values)


def test_complex_sums() -> None:
    f, s = row_sums(dtype=tw.complex64)
    s.split(k, 32).gpu_block(i).gpu_thread("k1")
    check(f, (random(3, 70) + 1j * random(3, 70)[:, ::-1]).astype(np.complex64))


def test_several_rows_in_a_block() -> None:
    f, s = row_sums()
    s.split(i, 4).split(k, 32).reorder("i0", "i1", "k0", "k1")
    s.gpu_block("i0").gpu_thread("i1", "k1")
    a = random(10, 90)
    np.testing.assert_array_equal(check(f, a), 3 - 2 * a.sum(axis=1))


def test_threads_of_a_block_read_the_finished_sum() -> None:
    """Softmax-like: what is subtracted from a row is made of its maximum."""
    a = tw.input("A", [N, K], tw.float32)
    s = tw.computation("S", {i: N}, tw.maximum(tw.max(a[i, k], over={k: K}), 0) * 0.5)
    y = tw.computation("Y", {i: N, j: K}, a[i, j] - s[i])
    f = emulated("scaled", y)
    y.split(j, 32).gpu_block(i).gpu_thread("j1")
    s.split(k, 32).compute_at(y, i).store_at(y, i, "shared").gpu_thread("k1")
    values = random(6, 75)
    expected = values - np.maximum(values.max(axis=1), 0)[:, None] * np.float32(0.5)
    np.testing.assert_array_equal(check(f, values), expected)


# ---- partial results, atomic updates ----


def dot() -> tuple[tw.Function, tw.Computation]:
    """The root of a sum of squares, and 1."""
    a = tw.input("A", [N], tw.float64)
    s = tw.computation("S", {}, tw.sqrt(tw.sum(a[k] * a[k], over={k: N}) + 1))
    return emulated("norm", s), s


@pytest.mark.parametrize("terms", [0, 1, 500, 3000])
def test_partial_results_of_blocks(terms: int) -> None:
    f, s = dot()
    s.split(k, 512, "b", "k1")
    s.rfactor("b", "P").split("k1", 128, "r", "t").gpu_block("b").gpu_thread("t")
    s.split("b", 64, "b0", "b1").gpu_thread("b1")
    a = random(terms, dtype=np.float64)
    assert check(f, a, exact=False) == np.sqrt(a @ a + 1)


@pytest.mark.parametrize("terms", [0, 1, 500, 1700])
def test_blocks_that_add_atomically(terms: int) -> None:
    f, s = dot()
    s.split(k, 512, "b", "k1").split("k1", 128, "r", "t")
    s.atomic().gpu_block("b").gpu_thread("t")
    a = random(terms, dtype=np.float64)
    assert check(f, a, exact=False) == np.sqrt(a @ a + 1)
    # What the sum begins with, and what is made of it, are kernels of their own.
    assert str(f.loops).count("kernel:") == 3
    assert "# atomic" in str(f.loops)


def test_blocks_over_terms_would_each_finish() -> None:
    f, s = row_sums()
    s.split(k, 512, "b", "k1").split("k1", 128, "r", "t").atomic()
    s.gpu_block("i", "b").gpu_thread("t")
    with pytest.raises(tw.ScheduleError, match="what stands outside of it, such as what the sum"):
        _ = str(f.loops)
    g, s = row_sums()
    s.split(k, 512, "b", "k1").split("k1", 128, "r", "t").atomic()
    s.reorder("b", "i", "r", "t").gpu_block("b", "i").gpu_thread("t")
    a = random(5, 1100)
    np.testing.assert_array_equal(check(g, a), 3 - 2 * a.sum(axis=1))


# ---- what is beside it ----


@pytest.mark.parametrize("memory", ["auto", "private", "shared"])
def test_what_only_the_expression_reads_is_computed_in_the_kernel(memory: str) -> None:
    a, x = tw.input("A", [N, K], tw.float32), tw.input("x", [N], tw.float32)
    b = tw.computation("b", {i: N}, x[i] * x[i])
    s = tw.computation("S", {i: N}, tw.sum(a[i, k], over={k: K}) - b[i])
    f = emulated("biased", s)
    s.split(i, 16).gpu_block("i0").gpu_thread("i1")
    at = "i1" if memory == "private" else "i0"
    b.compute_at(s, at).store_at(s, at, memory)
    values, row = random(37, 9), random(37)
    np.testing.assert_array_equal(check(f, values, row), values.sum(axis=1) - row * row)


def test_a_second_sum_is_part_of_the_expression() -> None:
    a = tw.input("A", [N, K], tw.float32)
    total, most = tw.sum(a[i, k], over={k: K}), tw.max(a[i, r], over={r: K})
    s = tw.computation("S", {i: N}, total * 2 - most)
    f = emulated("both", s)
    s.split(i, 16).gpu_block("i0").gpu_thread("i1")
    values = random(37, 9)
    np.testing.assert_array_equal(check(f, values), 2 * values.sum(axis=1) - values.max(axis=1))


def test_a_mapping_that_is_found() -> None:
    f, _ = dense()
    f.gpu()
    run(f, 40, 33, 21)
