"""Reductions whose terms are the threads' of a block: values, shuffles and barriers, refusals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from checks import assemble, barriers, check, emulated, random

import tilewright as tw


def shuffles(function: tw.Function) -> int:
    return str(function.ptx_for("sm_80")).count("shfl.sync.bfly.b32")


def row_sums(
    reduce: Callable[..., tw.Expression] = tw.sum, dtype: tw.DType = tw.float32
) -> tuple[tw.Function, tw.Computation]:
    N, K = tw.params("N K")
    i, k = tw.iters("i k")
    A = tw.input("A", [N, K], dtype)
    S = tw.computation("S", {i: N}, reduce(A[i, k], over={k: K}))
    return emulated("f", S), S


@pytest.mark.parametrize("threads", [2, 7, 16, 32, 48, 64, 100, 256])
@pytest.mark.parametrize("k", [0, 1, 31, 257, 600])
def test_sums_of_rows(threads: int, k: int) -> None:
    f, S = row_sums()
    S.split("k", threads).gpu_block("i").gpu_thread("k1")
    a = random(3, k)
    np.testing.assert_array_equal(check(f, a), a.sum(axis=1))


def test_one_tree_for_all_rounds() -> None:
    f, S = row_sums()
    S.split("k", 256).gpu_block("i").gpu_thread("k1")
    assert "S[i] += A[i, 256 * k0 + k1]  # combined over gpu_thread_x" in str(f.loops)
    assert shuffles(f) == 5 + 3  # in each warp, then the eight warps' results in one
    assert str(f.ptx_for("sm_80")).count("bar.sync") == 1
    g, S = row_sums()
    S.split("k", 256).interchange("k0", "k1").gpu_block("i").gpu_thread("k1")
    a = random(2, 700)
    np.testing.assert_array_equal(check(g, a), a.sum(axis=1))
    assert shuffles(g) == 8
    h, S = row_sums()
    S.split("k", 256).interchange("k0", "k1").gpu_block("i").gpu_thread("k1")
    S.cache(S, "k1", memory="private")
    np.testing.assert_array_equal(check(h, a), a.sum(axis=1))
    assert shuffles(h) == 8
    assert ".local" not in str(h.ptx_for("sm_80"))


def dot(dtype: tw.DType) -> tuple[tw.Function, tw.Computation]:
    N, k = tw.param("N"), tw.iter("k")
    A, B = tw.input("A", [N], dtype), tw.input("B", [N], dtype)
    S = tw.computation("S", {}, tw.sum(A[k] * B[k], over={k: N}))
    return emulated("dot", S), S


def test_a_product_in_one_block() -> None:
    f, S = dot(tw.float64)
    S.split("k", 128).gpu_thread("k1")
    a, b = random(1000, dtype=np.float64), random(1000, dtype=np.float64)[::-1].copy()
    assert check(f, a, b) == a @ b
    assert shuffles(f) == 2 * (5 + 2)  # of 32 bits


def test_a_product_in_many_blocks_with_an_atomic_update_each() -> None:
    f, S = dot(tw.float32)
    S.split("k", 512, "b", "k1").split("k1", 128, "r", "t")
    S.atomic().gpu_block("b").gpu_thread("t")
    a, b = random(1700), random(1700)[::-1].copy()
    assert check(f, a, b) == a @ b
    assert "# atomic, combined over gpu_thread_x" in str(f.loops)
    assert shuffles(f) == 5 + 2
    assert str(f.ptx_for("sm_80")).count("atom.") == 1


def test_a_product_in_two_kernels() -> None:
    f, S = dot(tw.float32)
    S.split("k", 512, "b", "k1")
    P = S.rfactor("b", "P")
    P.split("k1", 128, "r", "t").gpu_block("b").gpu_thread("t")
    S.split("b", 64, "b0", "b1").gpu_thread("b1")
    a, b = random(3000), random(3000)[::-1].copy()
    assert check(f, a, b) == a @ b
    assert str(f.loops).count("kernel:") >= 2


@pytest.mark.parametrize("dtype", [tw.int8, tw.uint16, tw.int32, tw.int64, tw.float16, tw.bfloat16])
def test_sums_of_other_types(dtype: tw.DType) -> None:
    f, S = row_sums(dtype=dtype)
    S.split("k", 64).gpu_block("i").gpu_thread("k1")
    check(f, (np.abs(random(3, 150)) % 3).astype(dtype.dtype))


def test_sums_of_complex_numbers() -> None:
    f, S = row_sums(dtype=tw.complex64)
    S.split("k", 64).gpu_block("i").gpu_thread("k1")
    check(f, (random(3, 150) + 1j * random(3, 150)[:, ::-1]).astype(np.complex64))


@pytest.mark.parametrize("reduce", [tw.max, tw.min, tw.prod])
@pytest.mark.parametrize("dtype", [tw.float32, tw.int32, tw.uint8, tw.float64])
def test_other_reductions(reduce: Callable[..., tw.Expression], dtype: tw.DType) -> None:
    f, S = row_sums(reduce, dtype)
    S.split("k", 64).gpu_block("i").gpu_thread("k1")
    a = np.abs(random(4, 133)) if dtype == tw.uint8 else random(4, 133)
    check(f, np.sign(a).astype(dtype.dtype) if reduce is tw.prod else a.astype(dtype.dtype))


@pytest.mark.parametrize("reduce", [tw.any, tw.all])
def test_any_and_all(reduce: Callable[..., tw.Expression]) -> None:
    f, S = row_sums(reduce, tw.bool)
    S.split("k", 64).gpu_block("i").gpu_thread("k1")
    a = np.full((5, 133), reduce is tw.all)
    a[1, 3] = a[2, 132] = a[4, 64] = reduce is tw.any
    np.testing.assert_array_equal(check(f, a), a.any(axis=1) if reduce is tw.any else a.all(axis=1))


@pytest.mark.parametrize("shape", [(4, 32), (8, 8), (5, 6), (3, 64)])
@pytest.mark.parametrize("n", [1, 9, 16])
def test_rows_side_by_side(shape: tuple[int, int], n: int) -> None:
    # A warp, or a part of one, for each of several rows of a block.
    rows, threads = shape
    f, S = row_sums()
    S.split("i", rows).split("k", threads).gpu_block("i0").gpu_thread("i1", "k1")
    a = random(n, 100)
    np.testing.assert_array_equal(check(f, a), a.sum(axis=1))
    assert barriers(f) == 0
    if 32 % threads == 0:
        assert "bar.sync" not in str(f.ptx_for("sm_80"))


@pytest.mark.parametrize("shape", [(8, 32), (4, 8), (6, 5), (16, 16)])
@pytest.mark.parametrize("n", [1, 33, 64])
def test_sums_of_columns(shape: tuple[int, int], n: int) -> None:
    rows, columns = shape
    N, K = tw.params("N K")
    i, k = tw.iters("i k")
    A = tw.input("A", [K, N], tw.float32)
    S = tw.computation("S", {i: N}, tw.sum(A[k, i], over={k: K}))
    f = emulated("f", S)
    S.split("i", columns).split("k", rows).reorder("i0", "k0", "k1", "i1")
    S.gpu_block("i0").gpu_thread("k1", "i1")
    a = random(50, n)
    np.testing.assert_array_equal(check(f, a), a.sum(axis=0))


def test_sums_over_two_axes() -> None:
    N, K = tw.params("N K")
    i, j, k = tw.iters("i j k")
    A = tw.input("A", [N, K, K], tw.float32)
    S = tw.computation("S", {i: N}, tw.sum(A[i, j, k], over={j: K, k: K}))
    f = emulated("f", S)
    S.tile("j", "k", 8, 16).gpu_block("i").gpu_thread("j1", "k1")
    a = random(3, 37, 37)
    np.testing.assert_array_equal(check(f, a), a.sum(axis=(1, 2)))
    assert "# combined over gpu_thread_x, gpu_thread_y" in str(f.loops)
    assert shuffles(f) == 5 + 2


def test_threads_that_do_not_lie_side_by_side() -> None:
    N, K = tw.params("N K")
    i, j, k = tw.iters("i j k")
    A = tw.input("A", [K, N, K], tw.float32)
    S = tw.computation("S", {i: N}, tw.sum(A[j, i, k], over={j: K, k: K}))
    f = emulated("f", S)
    S.split("i", 3).tile("j", "k", 2, 4).reorder("i0", "j0", "k0", "j1", "i1", "k1")
    S.gpu_block("i0").gpu_thread("j1", "i1", "k1")
    a = random(10, 7, 10)
    np.testing.assert_array_equal(check(f, a), a.sum(axis=(0, 2)))


def test_several_rows_in_each_thread() -> None:
    f, S = row_sums()
    S.split("i", 4).split("k", 64).reorder("i0", "k0", "k1", "i1")
    S.gpu_block("i0").gpu_thread("k1").unroll("i1")
    a = random(8, 150)
    np.testing.assert_array_equal(check(f, a), a.sum(axis=1))
    a = random(9, 150)
    np.testing.assert_array_equal(check(f, a), a.sum(axis=1))


@pytest.mark.parametrize("n", [5, 70])
def test_triangular_sums(n: int) -> None:
    N = tw.param("N")
    i, k = tw.iters("i k")
    A = tw.input("A", [N, N], tw.float32)
    S = tw.computation("S", {i: N}, tw.sum(A[i, k], over={k: (0, i)}))
    f = emulated("f", S)
    S.split("k", 32).gpu_block("i").gpu_thread("k1")
    a = random(n, n)
    np.testing.assert_array_equal(check(f, a), np.tril(a, -1).sum(axis=1))
    f = emulated("f", S)
    S.split("i", 4).split("k", 32).gpu_block("i0").gpu_thread("i1", "k1")
    np.testing.assert_array_equal(check(f, a), np.tril(a, -1).sum(axis=1))


@pytest.mark.parametrize("n", [1, 3, 8])
def test_rows_that_are_not_there_are_not_touched(n: int) -> None:
    # A copy of the loop over rows runs where both its row and this thread's term are there.
    N, K = tw.params("N K")
    i, k = tw.iters("i k")
    A = tw.input("A", [N, K], tw.float32)
    S = tw.computation("S", {i: N}, tw.sum(A[i, k], over={k: (i, K)}))
    f = emulated("f", S)
    S.split("i", 2).split("k", 8).reorder("i0", "k0", "k1", "i1")
    S.unroll("i1").gpu_block("i0").gpu_thread("k1")
    a = random(n, 21)
    np.testing.assert_array_equal(check(f, a), np.triu(a).sum(axis=1))


def test_shared_memory_inside_of_threads_is_refused() -> None:
    f, S = row_sums()
    S.split("k", 16).interchange("k0", "k1").gpu_block("i").gpu_thread("k1")
    S.cache("A", "k0", memory="shared")
    with pytest.raises(tw.ScheduleError, match="stands inside of loop 'k1' of A_cache"):
        f(random(3, 40))


def test_terms_that_data_leaves_out() -> None:
    N, K = tw.params("N K")
    i, k = tw.iters("i k")
    A = tw.input("A", [N, K], tw.float32)
    S = tw.computation("S", {i: N}, tw.sum(tw.select(A[i, k] > 0, A[i, k], 0), over={k: K}))
    f = emulated("f", S)
    S.split("k", 64).gpu_block("i").gpu_thread("k1")
    a = random(3, 100)
    np.testing.assert_array_equal(check(f, a), np.maximum(a, 0).sum(axis=1))


def test_a_tile_in_shared_memory_beside() -> None:
    # Barriers of the copies stand in the loop that the threads' sums go through.
    f, S = row_sums()
    S.split("k", 64).gpu_block("i").gpu_thread("k1")
    S.cache("A", "k0", memory="shared")
    a = random(3, 200)
    np.testing.assert_array_equal(check(f, a), a.sum(axis=1))


def test_results_that_all_threads_read() -> None:
    N, K = tw.params("N K")
    i, j, k, r = tw.iters("i j k r")
    A = tw.input("A", [N, K], tw.float32)
    top = tw.computation("top", {i: N}, tw.max(A[i, k], over={k: K}))
    total = tw.computation("total", {i: N}, tw.sum(A[i, r] - top[i], over={r: K}))
    Y = tw.computation("Y", {i: N, j: K}, A[i, j] - top[i] - total[i])
    f = emulated("f", Y)
    Y.split("j", 64).gpu_block("i").gpu_thread("j1")
    for whole, over in ((total, "r"), (top, "k")):
        whole.split(over, 64).compute_at(Y, "i").store_at(Y, "i", memory="shared")
        whole.gpu_thread(over + "1")
    a = random(3, 150)
    tops = a.max(axis=1, keepdims=True)
    np.testing.assert_array_equal(check(f, a), a - tops - (a - tops).sum(axis=1, keepdims=True))
    assert barriers(f) == 2, str(f.loops)
    assert "kernel:" in str(f.loops) and str(f.loops).count("kernel:") == 1


def test_beside_threads_that_have_no_part() -> None:
    # The block is 32 x 8: the sum is along x, by the threads that are 0 along y.
    N, K = tw.params("N K")
    i, j, k = tw.iters("i j k")
    A = tw.input("A", [N, K], tw.float32)
    S = tw.computation("S", {i: N}, tw.sum(A[i, k], over={k: K}))
    Y = tw.computation("Y", {i: N, j: K}, A[i, j] - S[i])
    f = emulated("f", Y)
    Y.split("j", 256, "j0", "r").split("r", 32, "y", "x").gpu_block("i").gpu_thread("y", "x")
    S.split("k", 32).compute_at(Y, "i").store_at(Y, "i", memory="shared").gpu_thread("k1")
    a = random(3, 150)
    np.testing.assert_array_equal(check(f, a), a - a.sum(axis=1, keepdims=True))


def test_again_and_again_in_one_kernel() -> None:
    # The partial results of one row are read before those of the next one overwrite them.
    f, S = row_sums()
    S.split("i", 3).split("k", 64).gpu_block("i0").gpu_thread("k1")
    a = random(7, 150)
    np.testing.assert_array_equal(check(f, a), a.sum(axis=1))
    assert str(f.ptx_for("sm_80")).count("bar.sync") == 2


def test_schedules_replay() -> None:
    f, S = row_sums()
    S.split("k", 64).gpu_block("i").gpu_thread("k1")
    g, _ = row_sums()
    f.schedule.apply_to(g)
    assert f.key == g.key
    assert str(f.loops) == str(g.loops)
    h, S = row_sums()
    S.split("k", 64).gpu_block("i")
    assert h.key != f.key


def histogram() -> tuple[tw.Function, tw.Computation]:
    """H[j]: how many elements have the value j."""
    N = tw.param("N")
    i, j = tw.iters("i j")
    image = tw.input("image", [N], tw.int64)
    H = tw.computation("H", {j: 16}, tw.sum(1, over={i: N}, where=image[i] == j))
    return emulated("histogram", H), H


@pytest.mark.parametrize("how", ["gpu_thread", "gpu_spread"])
def test_threads_update_elements_of_their_own_choice(how: str) -> None:
    f, H = histogram()
    H.interchange("j", "i").atomic().split("i", 32).gpu_block("i0")
    getattr(H, how)("i1")
    image = np.random.default_rng(1).integers(0, 16, 500)
    np.testing.assert_array_equal(check(f, image), np.bincount(image, minlength=16))
    assert shuffles(f) == 0


def test_threads_put_atomic_terms_of_one_element_together() -> None:
    f, H = histogram()
    H.atomic().split("i", 32).reorder("i0", "j", "i1").gpu_block("i0").gpu_thread("i1")
    image = np.random.default_rng(1).integers(0, 16, 500)
    np.testing.assert_array_equal(check(f, image), np.bincount(image, minlength=16))
    assert "combined over gpu_thread_x" in str(f.loops)


@pytest.mark.parametrize("dtype", [tw.float32, tw.float16, tw.int8])
@pytest.mark.parametrize("k", [0, 128, 384])
def test_terms_of_a_thread_side_by_side(dtype: tw.DType, k: int) -> None:
    N, K = tw.params("N K")
    i, r = tw.iters("i k")
    A = tw.input("A", [N, K], dtype)
    S = tw.computation("S", {i: N}, tw.sum(A[i, r], over={r: K}))
    f = emulated("f", S, context=[K % 128 == 0])
    S.split(r, 128).split("k1", 4, "t", "v").gpu_block(i).gpu_thread("t").vectorize("v", 4)
    a = (random(3, k) % 3).astype(dtype.dtype)
    check(f, a)
    loads = [line for line in str(f.ptx_for("sm_80")).splitlines() if "ld.global" in line]
    wide = {tw.float32: "v4.f32", tw.float16: "v4.u16", tw.int8: "u32"}[dtype]
    assert any(wide in line for line in loads), loads


def test_blocks_for_terms_need_a_kernel_that_sets_the_sum() -> None:
    f, S = row_sums()
    S.atomic().split("k", 64).gpu_block("i", "k0").gpu_thread("k1")
    with pytest.raises(tw.ScheduleError, match=r"'k0' of S .* over terms .*done by each.*reorder"):
        f(random(3, 70))
    S.reorder("k0", "i", "k1").gpu_block("k0", "i")
    a = random(3, 200)
    np.testing.assert_array_equal(check(f, a), a.sum(axis=1))


def test_what_cannot_be_put_together_is_refused() -> None:
    f, S = row_sums()
    with pytest.raises(tw.IllegalScheduleError, match="both add to the same element"):
        S.split("k", 64).gpu_block("k0")
    f, S = row_sums()
    with pytest.raises(tw.IllegalScheduleError, match="both add to the same element"):
        S.split("k", 64).gpu_block("i").gpu_spread("k1")
    f, S = row_sums()
    S.split("i", 4).split("k", 64).reorder("i0", "k1", "i1", "k0")
    S.gpu_block("i0").gpu_thread("k1")
    with pytest.raises(tw.ScheduleError, match="bring the loops that tell its elements apart"):
        f(random(9, 100))


def test_ptx_without_a_warp_of_threads() -> None:
    f, S = row_sums()
    S.split("k", 7).gpu_block("i").gpu_thread("k1")
    assert shuffles(f) == 0
    assemble(f)
