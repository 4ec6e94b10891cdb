"""Mappings that are found by trying (`Function.gpu`): legal, printable, right."""

from __future__ import annotations

import numpy as np
import polybench
import pytest
from checks import check, random

import fake_cuda
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


def first_kernel(f: tw.Function) -> str:
    """The PTX of the kernel that a function begins with, in its version for whole tiles."""
    return f.ptx.split(".visible .entry")[1]


def test_a_tile_as_wide_as_the_result_is_read_by_vectors() -> None:
    """One block has all columns: what says so does not come between the sums and their registers."""
    e, v = tw.input("E", [N, M, M], tw.float32), tw.input("V", [N, M, 64], tw.float32)
    y = tw.computation("Y", {b: N, i: M, j: 64}, tw.sum(e[b, i, k] * v[b, k, j], over={k: M}))
    f = on_gpu(y).gpu()
    assert 'gpu_block("b", "i0", "j0")' in str(f.schedule)
    kernel = first_kernel(f)
    assert "ld.shared.v4" in kernel
    assert "ld.shared.f32" not in kernel
    for n in (128, 37):
        check(f, random(2, n, n), random(2, n, 64))


def test_a_window_is_read_by_vectors() -> None:
    x, d = tw.iters("x d")
    a, w = tw.input("A", [K, N + 2], tw.float32), tw.input("F", [64, K, 3], tw.float32)
    y = tw.computation("Y", {i: 64, x: N}, tw.sum(a[k, x + d] * w[i, k, d], over={k: K, d: 3}))
    f = on_gpu(y).gpu()
    assert '.unroll("d")' in str(f.schedule)  # its elements stay in registers
    assert "pad=2" in str(f.schedule)  # 64 + 2 + 2 are whole vectors
    assert 'f.specialize("N mod 4 = 0' in str(f.schedule)
    kernel = first_kernel(f)
    assert "ld.shared.v4" in kernel
    assert "ld.shared.f32" not in kernel
    for n in (56, 64, 67):
        check(f, random(16, n + 2), random(64, 16, 3))


def test_elements_of_rows_that_need_a_maximum_have_vectors() -> None:
    """The maximum is a computation of its own: it has no loop where the elements are."""
    (d,) = tw.iters("d")
    a, s = tw.input("A", [K, N, M], tw.float32), tw.input("W", [K, M, 64], tw.float32)
    top = tw.max(a[b, i, k], over={k: M})
    e = tw.computation("E", {b: K, i: N, j: M}, tw.exp(a[b, i, j] - top))
    y = tw.computation("Y", {b: K, i: N, d: 64}, tw.sum(e[b, i, k] * s[b, k, d], over={k: M}))
    f = on_gpu(y).gpu()
    assert 'vectorize("jv", 4)' in str(f.schedule)
    for m in (40, 41):
        check(f, random(2, 9, m), random(2, m, 64), exact=False)


@pytest.mark.parametrize("fast", [False, True])
def test_exponentials_are_inlined(fast: bool) -> None:
    """A call passes its arguments through memory."""
    a = tw.input("A", [N], tw.float32)
    c = tw.computation("C", {i: N}, tw.exp(a[i]))
    f = tw.function("f", outputs=[c], target="gpu-emulator", fast_math=fast).gpu()
    assert "call" not in f.ptx
    assert ("ex2.approx.ftz" in f.ptx) == fast
    check(f, random(100), exact=False)


def test_the_devices_own_exponential() -> None:
    """2^x by its instruction: 0, infinity and not-a-number stay right, and the product with log2(e) keeps its low part.

    The double of the driver runs the PTX; its 2^x is the host's.
    """
    code = """
N = tw.params("N")[0]
i, = tw.iters("i")
A = tw.input("A", [N], tw.float32)
f = tw.function("f", outputs=[tw.computation("C", {i: N}, tw.exp(A[i]))], fast_math=True, target="cuda")
f.gpu()
assert "ex2.approx" in f.ptx
x = np.linspace(-87, 88, 2001, dtype=np.float32)
expected = np.exp(x.astype(np.float64))
print(np.abs(f(x) / expected - 1).max() < 2.0 ** -22)
given = np.array([-np.inf, -1e30, -200, -110, 0.0, -0.0, 89, 200, 1e30, np.inf, np.nan], np.float32)
print(f(given).tolist())
"""
    right, special = fake_cuda.run(code, "run=1").splitlines()
    assert right == "True"
    assert special == "[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, inf, inf, inf, inf, nan]"
