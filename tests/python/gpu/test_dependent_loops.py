"""Loops whose bounds depend on loops around them, that may run no iteration, or that only some threads have:
each iteration is done once, and threads wait where they must."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from checks import barriers, check, random

import tilewright as tw
from counted_iterations import Iterations

N, M, K = tw.params("N M K")
b, i, j, k, t = tw.iters("b i j k t")


def on_gpu(*outputs: Any, **options: Any) -> tw.Function:
    return tw.function("f", outputs=list(outputs), target="gpu-emulator", **options)


# ---- copies of footprints that are no boxes ----


def row_sums(bounds: Any) -> tuple[tw.Function, Any, Any]:
    a = tw.input("A", [N, N], tw.float32)
    s = tw.computation("S", {i: N}, tw.sum(a[i, k], over={k: bounds}))
    return on_gpu(s), a, s


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("bounds", [(0, i + 1), (i, N), (i + 1, N), (0, i)])
def test_triangular_footprints_are_copied_whole(bounds: Any, stages: int) -> None:
    function, a, s = row_sums(bounds)
    s.split(i, 16).split(k, 8).reorder("i0", "k0", "i1", "k1").gpu_block("i0").gpu_thread("i1")
    s.cache(a, "k0", memory="shared", stages=stages)
    check(function, random(40, 40))


def test_a_triangle_in_each_block() -> None:
    a = tw.input("A", [N, 16, 16], tw.float32)
    c = tw.computation("C", {b: N, i: 16}, tw.sum(a[b, i, k], over={k: (0, i + 1)}))
    function = on_gpu(c)
    c.gpu_block(b).gpu_thread(i)
    c.cache(a, b, memory="shared")
    check(function, random(3, 16, 16))


def test_spread_loops_inside_of_each_other() -> None:
    a = tw.input("A", [N, N], tw.float32)
    triangle = tw.computation("C", {i: N, j: (0, i + 1)}, a[i, j] + 1)
    function = on_gpu(triangle)
    triangle.gpu_spread(i, j)
    check(function, random(16, 16))
    apart = tw.computation("C", {i: N, j: N, k: 4}, a[i, j] * k)
    function = on_gpu(apart)
    apart.gpu_spread(i, k)
    check(function, random(16, 16))


def test_spread_loops_leave_no_threads_over() -> None:
    a = tw.input("A", [N, M], tw.float32)
    c = tw.computation("C", {i: N, j: M}, a[i, j] + 1)
    function = on_gpu(c)
    c.split(i, 8).gpu_block("i0").gpu_thread("i1").gpu_spread(j)
    with pytest.raises(
        tw.ScheduleError, match=r"'i1' of C is gpu_thread_x, but another .* tag both"
    ):
        function(random(16, 20))


# ---- barriers in loops that may not run ----


def test_a_loop_without_iterations_serves_nobody() -> None:
    """In the last step there are no terms, but what the step has written is read all the same."""
    x = tw.input("X", [N, 8, 64], tw.float32)
    a = tw.input("A", [8, 64], tw.float32)
    y = tw.computation("Y", {b: N, t: 8, i: 64}, x[b, t, i] + 1)
    s = tw.computation("S", {b: N, t: 8, i: 64}, tw.sum(a[k, 63 - i], over={k: (t + 1, 8)}))
    d = tw.computation("D", {b: N, i: 64}, y[b, 7, 63 - i])
    function = on_gpu(d, s)
    for computation in (y, s, d):
        computation.gpu_block(b).gpu_thread(i)
    s.reorder(b, t, k, i)
    d.after(s, b)
    s.after(y, t)
    s.cache(a, k, memory="shared")
    check(function, random(3, 8, 64), random(8, 64))


@pytest.mark.parametrize("terms", [0, 3, 9])
def test_a_sum_of_no_terms_between_two_that_exchange(terms: int) -> None:
    a = tw.input("A", [K, 64], tw.float32)
    x = tw.input("X", [64], tw.float32)
    shared = tw.computation("T", {i: 64}, x[i] + 1)
    s = tw.computation("S", {i: 64}, tw.sum(a[k, 63 - i], over={k: K}))
    e = tw.computation("E", {i: 64}, s[i] * 2)
    d = tw.computation("D", {i: 64}, shared[63 - i] + e[i])
    function = on_gpu(d, inputs=[a, x])
    d.split(i, 64).gpu_block("i0").gpu_thread("i1")
    e.compute_at(d, "i0").store_at(d, "i0", memory="private").gpu_thread(i)
    s.compute_at(d, "i0").store_at(d, "i0", memory="private")
    s.split(k, 4).reorder("k0", i, "k1").gpu_thread(i)
    shared.compute_at(d, "i0").store_at(d, "i0", memory="shared").gpu_thread(i)
    s.cache(a, "k0", memory="shared")
    assert barriers(function) >= 2
    check(function, random(terms, 64), random(64))


# ---- what thread 0 does alone ----


def sum_for_all(stages: int) -> tuple[tw.Function, Any]:
    """Thread 0 of a block adds up what the others read."""
    a = tw.input("A", [K], tw.float32)
    s = tw.computation("S", {b: N}, tw.sum(a[k], over={k: K}))
    d = tw.computation("D", {b: N, i: 64}, s[b] * i)
    function = on_gpu(d)
    d.gpu_block(b).gpu_thread(i)
    s.split(k, 4).compute_at(d, b).store_at(d, b, memory="shared")
    s.cache(a, "k0", memory="shared", stages=stages)
    return function, function["A_cache"]


@pytest.mark.parametrize("size", [0, 4, 8, 19])
def test_sums_of_one_thread_stay_its_own(size: int) -> None:
    function, _ = sum_for_all(1)
    check(function, random(size), N=3)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_copies_ahead_by_the_thread_that_needs_them(stages: int) -> None:
    function, copy = sum_for_all(stages)
    copy.unroll("i")
    check(function, random(19), N=3)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_copies_ahead_in_blocks_without_threads(stages: int) -> None:
    a = tw.input("A", [N, K], tw.float32)
    s = tw.computation("S", {i: N}, tw.sum(a[i, k] * a[i, k], over={k: K}))
    function = on_gpu(s)
    s.split(k, 4).split(i, 3).reorder("i0", "k0", "i1", "k1").gpu_block("i0")
    s.cache(a, "k0", memory="shared", stages=stages)
    function["A_cache"].unroll("i").unroll("j")
    check(function, random(5, 19))


# ---- threads that put terms together, in tiles that are not full ----


@pytest.mark.parametrize("shape", [(16, 8, 9), (20, 8, 9), (7, 3, 2)])
def test_terms_of_threads_in_a_partial_tile_of_a_warp(shape: tuple[int, int, int]) -> None:
    a = tw.input("A", [N, M, K], tw.float32)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, j, k], over={k: K}))
    function = on_gpu(c)
    c.tile(i, j, 16, 8, "i0", "j0", "mi", "mj").split(k, 4, "k0", "k1")
    c.reorder("i0", "j0", "mi", "mj", "k0", "k1")
    c.gpu_block("i0", "j0").gpu_mma("mi", "mj").gpu_thread("k1")
    check(function, random(*shape))


# ---- each thread's own memory ----


def test_vectors_that_run_backwards_stay_in_their_thread() -> None:
    x = tw.input("X", [N], tw.float32)
    p = tw.computation("P", {i: N}, x[i] + 1)
    c = tw.computation("C", {i: N}, p[i] * 2)
    function = on_gpu(c, context=[N % 256 == 0])
    for computation in (c, p):
        computation.split(i, 256, "i0", "i1").split("i1", 4, "t", "v").reverse("v")
    p.compute_at(c, "t").store_at(c, "i0", memory="private")
    c.gpu_block("i0").gpu_thread("t").vectorize("v", 4)
    p.vectorize("v", 4)
    check(function, random(512))


def neighbours() -> tuple[tw.Function, Any, Any]:
    a = tw.input("A", [N + 2], tw.float32)
    between = tw.computation("B", {i: N + 1}, a[i] + a[i + 1])
    c = tw.computation("C", {i: N}, between[i] * between[i + 1])
    function = on_gpu(c)
    c.gpu_tile(i, 32)
    return function, between, c


def test_each_thread_computes_what_it_needs() -> None:
    function, between, c = neighbours()
    between.compute_at(c, "i1").store_at(c, "i1", memory="private")
    check(function, random(72))
    between.unroll(i)
    check(function, random(72))
    assert "local" not in str(function.ptx_for("sm_80")), "registers are enough for two elements"


@pytest.mark.parametrize("loop", ["i0", "i1"])
def test_blocks_do_not_write_one_element(loop: str) -> None:
    function, between, c = neighbours()
    between.compute_at(c, loop)
    with pytest.raises(
        tw.ScheduleError, match=r"B is computed in several .*'i0'.*gpu_block_x.*store_at"
    ):
        function(random(72))
    between.store_at(c, "i0", memory="shared")
    if loop == "i1":
        with pytest.raises(
            tw.ScheduleError, match=r"several iterations of loop 'i1'.*gpu_thread_x"
        ):
            function(random(72))
    else:
        check(function, random(72))


# ---- a thread that gives up ----


def test_a_wrong_subscript_is_reported_where_others_wait() -> None:
    places = tw.input("X", [64], tw.int64)
    a = tw.input("A", [M], tw.float32)
    read = tw.computation("B", {i: 64}, a[places[i]])
    c = tw.computation("C", {i: 64}, read[i] + read[63 - i])
    function = on_gpu(c, inputs=[a, places])
    c.split(i, 64).gpu_block("i0").gpu_thread("i1")
    read.compute_at(c, "i0").store_at(c, "i0", memory="shared").gpu_thread(i)
    x = random(64, dtype="int64") % 10
    check(function, random(10), x)
    x[5] = 99
    with pytest.raises(tw.SubscriptError, match=r"subscript 99 is out of bounds"):
        function(random(10), x)


def test_shared_memory_inside_of_threads_is_not_chosen_either() -> None:
    a = tw.input("A", [N + 2], tw.float32)
    between = tw.computation("B", {i: N + 1}, a[i] + a[i + 1])
    c = tw.computation("C", {i: N}, between[i] * between[i + 1])
    function = on_gpu(c)
    c.gpu_tile(i, 32)
    between.compute_at(c, "i1").store_at(c, "i1").gpu_spread(i)
    with pytest.raises(tw.ScheduleError, match=r"stands inside of loop 'i1' of B"):
        function(random(72))


# ---- bounds that are data ----


@pytest.mark.parametrize("columns", [3, 8, 40])
def test_threads_over_columns_of_rows_that_data_bound(columns: int) -> None:
    """A sparse matrix times a dense one: a block for each row; the loop over its elements is around the threads."""
    P = tw.param("P")
    p = tw.iter("p")
    val, X = tw.input("val", [P], tw.float64), tw.input("X", [K, M], tw.float64)
    col, row = tw.input("col", [P], tw.int32), tw.input("row", [N + 1], tw.int32)
    places = {p: (row[i], row[i + 1])}
    C = tw.computation("C", {i: N, j: M}, tw.sum(val[p] * X[col[p], j], over=places))
    f = on_gpu(C, default_schedule=False)
    C.split(j, 8).reorder(i, p, "j0", "j1").gpu_block(i).gpu_thread("j1")
    generator = np.random.default_rng(columns)
    lengths = generator.integers(0, 4, 30)
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    at = generator.integers(0, 5, start[-1]).astype(np.int32)
    values = generator.integers(-4, 5, start[-1]) * 1.0
    x = generator.integers(-4, 5, (5, columns)) * 1.0
    dense = np.zeros((30, 5))
    np.add.at(dense, (np.repeat(np.arange(30), lengths), at), values)
    arrays = {"val": values, "col": at, "row": start, "X": x}
    np.testing.assert_array_equal(f(**arrays), dense @ x)
    found = np.full((30, columns), np.nan)
    loops = Iterations()
    loops.run(f, arrays | {"C": found, "N": 30, "M": columns, "K": 5, "P": len(at)})
    np.testing.assert_array_equal(found, dense @ x)
    # Rows, elements of them, tiles of columns, columns; twice, as results begin at 0.
    work = 30 + len(at) + (30 + len(at)) * (columns + (columns + 7) // 8)
    assert loops.count <= work, f"{loops.count} iterations for {work}\n{f.loops}"


def test_elements_that_exist_by_data_on_threads() -> None:
    length = tw.input("length", [N], tw.int32)
    a = tw.input("A", [N, M], tw.float64)
    rows = {j: length[i]}
    twice = tw.computation("twice", {i: N} | rows, 2 * a[i, j])
    sums = tw.computation("sums", {i: N}, tw.sum(twice[i, j], over=rows))
    x = np.random.default_rng(1).integers(-4, 5, (21, 37)) * 1.0
    lengths = np.arange(21, dtype=np.int32) * 2 - 1
    expected = np.where(np.arange(37) < lengths[:, None], 2 * x, 0).sum(axis=1)
    for whole in (False, True):
        f = on_gpu(sums, default_schedule=False)
        for c in (f["twice"], f["sums"]):
            c.split(j, 8) if whole else c.split(i, 8)
            c.gpu_block(i if whole else "i0").gpu_thread("j1" if whole else "i1")
        np.testing.assert_array_equal(f(A=x, length=lengths), expected)
