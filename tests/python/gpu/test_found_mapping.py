"""Mappings that are found by trying (`Function.gpu`): legal, printable, right."""

from __future__ import annotations

import numpy as np
import polybench
import pytest
from checks import check, random

import tilewright as tw

N, M, K = tw.params("N M K")
b, i, j, k, t = tw.iters("b i j k t")


def results(values: object) -> tuple[np.ndarray, ...]:
    return values if isinstance(values, tuple) else (values,)  # type: ignore[return-value]


@pytest.mark.parametrize("kernel", polybench.KERNELS, ids=lambda kernel: kernel.name)
def test_polybench(kernel: polybench.Kernel) -> None:
    f = kernel.build().reset_schedule().gpu()
    loops = str(f.loops)
    assert "gpu_thread_x" in loops
    for size in (5, 37):
        arguments = kernel.arguments(size)
        computed = results(f(**arguments))
        for own, right in zip(computed, results(kernel.expected(**arguments)), strict=True):
            single = own.dtype == np.float32
            np.testing.assert_allclose(own, right, rtol=1e-4 if single else 1e-9, atol=1e-9)


def on_gpu(*outputs: tw.Computation) -> tw.Function:
    return tw.function("f", outputs=list(outputs), target="gpu-emulator")


def test_the_mapping_is_a_schedule() -> None:
    a = tw.input("A", [N, M], tw.float32)
    c = tw.computation("C", {i: N, j: M}, 2 * a[i, j])
    f = on_gpu(c).gpu()
    assert str(f.schedule).splitlines() == [
        'C.tile("i", "j", 8, 128).split("j1", 4, "jt", "jv").gpu_block("i0", "j0")'
        '.gpu_thread("i1", "jt").vectorize("jv", 4)',
        'f.specialize("M mod 4 = 0")',
    ]
    other = f.copy().reset_schedule()
    assert other.set_schedule(f.schedule).key == f.key
    check(f, random(40, 70))
    check(f, random(40, 72))
    assert ".v4" in f.ptx


def test_elements_beside_each_other_only_have_vectors() -> None:
    """Neighbours that are read at another place would not lie at multiples of a vector."""
    a = tw.input("A", [N, M + 1], tw.float32)
    f = on_gpu(tw.computation("C", {i: N, j: M}, a[i, j] + a[i, j + 1])).gpu()
    assert str(f.schedule) == 'C.gpu("i", "j")'
    check(f, random(9, 41))


def test_a_version_that_a_mapping_made_is_not_kept_for_the_processor() -> None:
    a = tw.input("A", [N, M], tw.float32)
    c = tw.computation("C", {i: N, j: M}, 2 * a[i, j])
    f = tw.function("f", outputs=[c])
    f.auto_schedule(target="gpu-emulator")
    assert "specialize" in str(f.schedule)
    assert "specialize" not in str(f.auto_schedule(target="cpu"))
    g = tw.function("f", outputs=[c]).specialize("N mod 3 = 0")
    g.auto_schedule(target="gpu-emulator")
    assert "N mod 3" in str(g.auto_schedule(target="cpu"))


def test_a_sum_is_added_up_by_many_blocks() -> None:
    a = tw.input("A", [K], tw.float32)
    s = tw.computation("S", {}, tw.sum(a[k], over={k: K}))
    f = on_gpu(s).gpu()
    assert 'S.rfactor("k0")' in str(f.schedule)
    assert str(f.loops).count("256 threads a block") == 2
    for size in (0, 1, 255, 10000):
        check(f, random(size))


def test_a_sum_over_two_axes_is_made_of_rows() -> None:
    a = tw.input("A", [N, K], tw.float32)
    f = on_gpu(tw.computation("S", {}, tw.sum(a[i, k], over={i: N, k: K}))).gpu()
    assert 'S.rfactor("i")' in str(f.schedule)
    for sizes in ((0, 3), (1, 1), (300, 70)):
        check(f, random(*sizes))


def test_columns_are_added_up_in_parts() -> None:
    a = tw.input("A", [N, K], tw.float32)
    f = on_gpu(tw.computation("S", {j: K}, tw.sum(a[i, j], over={i: N}))).gpu()
    assert "S_partial" in str(f.schedule)
    for sizes in ((0, 3), (1, 40), (600, 5)):
        check(f, random(*sizes))


def product(dtype: tw.DType) -> tw.Function:
    a, b = tw.input("A", [N, K], dtype), tw.input("B", [K, M], dtype)
    term = tw.cast(a[i, k], tw.float32) * tw.cast(b[k, j], tw.float32)
    return on_gpu(tw.computation("C", {i: N, j: M}, tw.sum(term, over={k: K}))).gpu()


@pytest.mark.parametrize("name", ["float32", "float16"])
def test_products_have_tiles_in_shared_memory(name: str) -> None:
    dtype = getattr(tw, name)
    f = product(dtype)
    assert str(f.schedule).count('memory="shared"') == 2
    assert ("gpu_mma" in str(f.schedule)) == (name == "float16")
    for n, m, depth in ((1, 1, 1), (40, 70, 9), (128, 128, 64)):
        left = random(n, depth).astype(name)
        right = random(depth, m).astype(name)
        expected = left.astype(np.float32) @ right.astype(np.float32)
        np.testing.assert_array_equal(f(left, right), expected)


def test_many_products_and_one_with_its_factors_turned() -> None:
    a, c = tw.input("A", [2, K, N], tw.float32), tw.input("B", [2, M, K], tw.float32)
    term = tw.sum(a[b, k, i] * c[b, j, k], over={k: K})
    f = on_gpu(tw.computation("C", {b: 2, i: N, j: M}, term)).gpu()
    assert 'gpu_block("b", "i0", "j0")' in str(f.schedule)
    left, right = random(2, 9, 33), random(2, 20, 9)
    expected = left.swapaxes(1, 2) @ right.swapaxes(1, 2)
    np.testing.assert_array_equal(f(left, right), expected)


def test_rows_that_need_their_own_sums_have_a_block_each() -> None:
    a = tw.input("A", [N, M], tw.float32)
    top = tw.computation("top", {i: N}, tw.max(a[i, k], over={k: M}))
    above = tw.computation("above", {i: N, j: M}, a[i, j] - top[i])
    total = tw.computation("total", {i: N}, tw.sum(above[i, k], over={k: M}))
    f = on_gpu(tw.computation("Y", {i: N, j: M}, above[i, j] + total[i])).gpu()
    assert str(f.loops).count("kernel:") == 2  # for whole vectors, and for other sizes
    assert 'store_at("Y", "i", "shared")' in str(f.schedule)
    for sizes in ((0, 3), (1, 1), (5, 300), (5, 303)):
        check(f, random(*sizes))


def test_what_reads_across_rows_goes_by_tiles() -> None:
    a = tw.input("A", [M, N], tw.float32)
    f = on_gpu(tw.computation("C", {i: N, j: M}, 2 * a[j, i])).gpu()
    assert 'C.cache("A", "j0", memory="shared", pad=1)' in str(f.schedule)
    for sizes in ((0, 3), (1, 1), (40, 70)):
        check(f, random(*sizes))


def test_sums_of_rows_are_added_up_by_warps() -> None:
    a, x = tw.input("A", [N, K], tw.float32), tw.input("x", [K], tw.float32)
    f = on_gpu(tw.computation("S", {i: N}, tw.sum(a[i, k] * x[k], over={k: K}))).gpu()
    warps = 'split("i", 8).split("k", 32).gpu_block("i0").gpu_thread("i1", "k1")'
    assert str(f.schedule) == f"S.{warps}"
    assert "barrier" not in str(f.loops)
    for sizes in ((0, 5), (5, 0), (1, 1), (19, 100)):
        check(f, random(*sizes), random(sizes[1]))


A = tw.input("A", [N, K], tw.float32)
SMALL = tw.input("A", [N, 3], tw.float32)
OWN = {
    "short rows": tw.computation("S", {i: N}, tw.sum(SMALL[i, k], over={k: 3})),
    "in order": tw.computation("S", {i: N}, tw.sum(A[i, k], over={k: K}, ordered=True)),
}


@pytest.mark.parametrize("kind", OWN)
def test_other_sums_are_a_threads_own(kind: str) -> None:
    f = on_gpu(OWN[kind]).gpu()
    assert str(f.schedule).startswith("S.gpu(")
    assert "combined" not in str(f.loops)


def test_a_sum_in_order_is_left_to_one_thread() -> None:
    a = tw.input("A", [K], tw.float32)
    s = tw.computation("S", {}, tw.sum(a[k], over={k: K}, ordered=True))
    c = tw.computation("C", {i: N}, s[()] * i)
    f = on_gpu(c).gpu()
    assert "# 1 thread" in str(f.loops)
    check(f, random(100), N=50)


def test_more_loops_than_a_grid_has_axes() -> None:
    a = tw.input("A", [N, 3, 4, M, K], tw.float32)
    c = tw.computation("C", {b: N, t: 3, k: 4, i: M, j: K}, a[b, t, k, i, j] + t)
    f = on_gpu(c).gpu()
    check(f, random(2, 3, 4, 9, 40))


def test_steps_in_time_are_launches() -> None:
    a = tw.input("A", [N], tw.float32)
    u = tw.computation("U", {t: 5, i: N}, dtype=tw.float32)
    u.define(t == 0, a[i])
    inner = (i > 0) & (i < N - 1)
    u.define((t > 0) & inner, u[t - 1, i - 1] + u[t - 1, i + 1])
    u.define((t > 0) & ~inner, u[t - 1, i])
    f = on_gpu(u).gpu()
    loops = [line.strip() for line in str(f.loops).splitlines()]
    assert loops.index("for t in range(1, 5):") < loops.index("kernel:  # 256 threads a block", 1)
    check(f, random(300))


def test_what_is_given_stays() -> None:
    a = tw.input("A", [N, M], tw.float32)
    twice = tw.computation("T", {i: N, j: M}, 2 * a[i, j])
    row = tw.computation("R", {i: N}, tw.sum(twice[i, j], over={j: M}))
    c = tw.computation("C", {i: N, j: M}, twice[i, j] - row[i])
    f = on_gpu(c)
    twice.inline()
    c.gpu_tile(i, j, 4, 64)
    before = list(f.schedule.commands)
    f.gpu()
    assert list(f.schedule.commands)[: len(before)] == before
    assert {command[0] for command in f.schedule.commands[len(before) :]} == {"R"}
    check(f, random(9, 100))


def test_rows_whose_length_is_data_have_a_block_each() -> None:
    """Threads that put terms together come by all the same: rows of one block may not differ."""
    length, a = tw.input("length", [N], tw.int32), tw.input("A", [N, K], tw.float64)
    f = on_gpu(tw.computation("S", {i: N}, tw.sum(a[i, k], over={k: length[i]}))).gpu()
    assert str(f.schedule) == 'S.split("k", 256).gpu_block("i").gpu_thread("k1")'
    rows = np.arange(3 * 600.0).reshape(3, 600)
    lengths = np.array([2, 600, 0], np.int32)
    expected = [row[:count].sum() for row, count in zip(rows, lengths, strict=True)]
    np.testing.assert_array_equal(f(lengths, rows), expected)
