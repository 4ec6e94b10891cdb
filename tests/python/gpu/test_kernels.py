"""Kernels as people write them: promotion to shared and private memory, and where barriers stand."""

from __future__ import annotations

import pathlib
import re

import numpy as np
import pytest
from checks import assemble, barriers, check, random, reports
from checks import tiled_matmul as matmul

import tilewright as tw


@pytest.mark.parametrize("sizes", [(32, 32, 8), (64, 96, 40), (70, 65, 33), (5, 3, 1)])
def test_matmul(sizes: tuple[int, int, int]) -> None:
    n, m, k = sizes
    f = matmul()
    a, b = random(n, k), random(k, m)
    np.testing.assert_array_equal(check(f, a, b), a @ b)
    # One after both copies, one before the next ones overwrite them: no more, no less.
    assert barriers(f) == 2, str(f.loops)


def test_matmul_keeps_its_sums_in_registers() -> None:
    for report in reports(matmul()):
        assert "0 bytes stack frame" in report, report
        assert "0 bytes spill stores" in report, report


def blur() -> tw.Function:
    N, M = tw.params("N M")
    i, j = tw.iters("i j")
    A = tw.input("A", [N + 2, M + 2], tw.float32)
    first, *others = (A[i + di, j + dj] for di in range(3) for dj in range(3))
    C = tw.computation("C", {i: N, j: M}, sum(others, start=first) / 9)
    f = tw.function("blur", outputs=[C], target="gpu-emulator")
    C.gpu_tile(i, j, 8, 16)
    C.cache(A, "j0", memory="shared")
    return f


@pytest.mark.parametrize("shape", [(8, 16), (30, 50)])
def test_stencil_with_a_halo_in_shared_memory(shape: tuple[int, int]) -> None:
    f = blur()
    a = random(shape[0] + 2, shape[1] + 2)
    check(f, a, exact=False)
    assert barriers(f) == 1, str(f.loops)


def test_two_stages_in_one_kernel_through_shared_memory() -> None:
    N = tw.param("N")
    i = tw.iter("i")
    A = tw.input("A", [N + 2], tw.float32)
    B = tw.computation("B", {i: N + 1}, A[i] + A[i + 1])
    C = tw.computation("C", {i: N}, B[i] * B[i + 1])
    f = tw.function("f", outputs=[C], target="gpu-emulator")
    C.gpu_tile(i, 32)
    B.compute_at(C, "i0").store_at(C, "i0", memory="shared").gpu_spread("i")
    a = random(102)
    b = a[1:] + a[:-1]
    np.testing.assert_array_equal(check(f, a), b[1:] * b[:-1])
    assert barriers(f) == 1, str(f.loops)


def test_threads_that_read_their_own_need_no_barrier() -> None:
    N = tw.param("N")
    i = tw.iter("i")
    A = tw.input("A", [N], tw.float32)
    B = tw.computation("B", {i: N}, A[i] + 1)
    C = tw.computation("C", {i: N}, B[i] * 2)
    f = tw.function("f", outputs=[C], target="gpu-emulator")
    C.gpu_tile(i, 32)
    B.gpu_tile(i, 32)
    C.after(B, "i0")
    a = random(100)
    np.testing.assert_array_equal(check(f, a), (a + 1) * 2)
    assert barriers(f) == 0, str(f.loops)
    assert str(f.loops).count("kernel:") == 1


def test_threads_that_read_a_neighbours_wait_once() -> None:
    # In blocks of 32 threads, each reads what another thread of its block wrote.
    N = tw.param("N")
    i = tw.iter("i")
    A = tw.input("A", [32 * N], tw.float32)
    B = tw.computation("B", {i: 32 * N}, A[i] + 1)
    C = tw.computation("C", {i: 32 * N}, B[i - i % 32 + (i + 5) % 32])
    f = tw.function("f", outputs=[C], target="gpu-emulator")
    C.gpu_tile(i, 32)
    B.gpu_tile(i, 32)
    C.after(B, "i0")
    a = random(96)
    expected = np.roll((a + 1).reshape(3, 32), -5, axis=1).ravel()
    np.testing.assert_array_equal(check(f, a), expected)
    assert barriers(f) == 1, str(f.loops)


def test_private_memory_that_another_thread_reads_is_refused() -> None:
    i = tw.iter("i")
    A = tw.input("A", [130], tw.float32)
    B = tw.computation("B", {i: 129}, A[i] + A[i + 1])
    C = tw.computation("C", {i: 128}, B[i] * B[i + 1])
    f = tw.function("f", outputs=[C], target="gpu-emulator")
    C.gpu_tile(i, 32)
    B.compute_at(C, "i0").store_at(C, "i0", memory="private").gpu_spread("i")
    with pytest.raises(tw.ScheduleError, match="cannot be each thread's own"):
        f(random(130))


def test_shared_memory_that_is_too_large_is_refused() -> None:
    i = tw.iter("i")
    A = tw.input("A", [1 << 20], tw.float32)
    C = tw.computation("C", {i: 1 << 20}, A[i])
    f = tw.function("f", outputs=[C], target="gpu-emulator")
    C.split(i, 1 << 17).split("i1", 32).gpu_block("i0").gpu_thread("i11")
    with pytest.raises(tw.ScheduleError, match="shared memory holds"):
        f["C"].cache(A, "i0", memory="shared")


def test_profile() -> None:
    f = matmul()
    a, b = random(40, 20), random(20, 50)
    profile = f.profile(a, b, repeats=2)
    assert profile["C"].flops == 2 * 40 * 20 * 50
    assert profile["C"].machine is None and 0 < profile["C"].seconds <= profile.seconds
    assert profile.device == "gpu-emulator"
    text = str(profile)
    assert text.startswith("matmul(") and " on gpu-emulator: " in text
    assert re.search(r"copied to gpu-emulator: A 3.2 kB in .*, B 4 kB in ", text)
    assert re.search(r"copied back from gpu-emulator: C 8 kB in ", text)
    assert "copied back" in profile._repr_html_()


def test_profile_of_what_is_overwritten() -> None:
    N, i = tw.param("N"), tw.iter("i")
    x = tw.input("x", [N], tw.float32)
    y = tw.computation("y", {i: N}, 2 * x[i])
    f = tw.function("f", outputs=[y], target="gpu-emulator")
    y.store_in(x[i])
    y.gpu(i)
    host = random(100)
    before = host.copy()
    there = tw.to_device(host, "gpu-emulator")
    for given in (host, there):
        profile = f.profile(given, repeats=3)
        assert [copy.back for copy in profile.copies] == ([False, True] if given is host else [])
    np.testing.assert_array_equal(host, before)
    np.testing.assert_array_equal(there.numpy(), before)


def test_the_cpu_watches_the_same_schedule() -> None:
    f = matmul()
    a, b = random(40, 20), random(20, 50)
    assert f.trace_nan(a, b) is None
    f.check_bounds = True
    np.testing.assert_array_equal(f(a, b), a @ b)


def test_export_says_that_it_has_no_gpu(tmp_path: pathlib.Path) -> None:
    f = matmul()
    with pytest.raises(tw.ExportError, match='set its target to "cpu"'):
        f.export(tmp_path, kind="static")
    f.target = "cpu"
    assert f.export(tmp_path, kind="static").library.is_file()


def exponentials() -> tw.Function:
    N, i = tw.param("N"), tw.iter("i")
    x = tw.input("x", [N], tw.float32)
    y = tw.computation("y", {i: N}, tw.exp(x[i]))
    f = tw.function("f", outputs=[y])
    y.gpu(i)
    return f


def test_code_for_one_architecture_alone() -> None:
    f = exponentials()
    assert ".target sm_90a" in f.ptx_for("sm_90a")
    assert ".version 8.0" in f.ptx_for("sm_90a")
    assert ".target sm_90\n" in f.ptx_for("sm_90")
    assemble(f, ["sm_90a"])
    known = "known are sm_75, sm_80, sm_86, sm_87, sm_89, sm_90 and sm_90a"
    for name in ("sm_74", "sm_80a", "sm_91"):
        with pytest.raises(tw.ArgumentError, match=f"{name} is not known; {known}"):
            f.ptx_for(name)
    for wrong in ("90", "sm_", "sm_a", "sm_\u0668\u0660", "hopper", 90):
        with pytest.raises(tw.ArgumentError, match="such as 'sm_80', got"):
            f.ptx_for(wrong)  # type: ignore[arg-type]


def test_code_for_every_architecture_is_taken_by_the_assembler() -> None:
    f = exponentials()
    versions = {"sm_75": "6.3", "sm_80": "7.0", "sm_86": "7.1", "sm_87": "7.4", "sm_89": "7.8"}
    versions["sm_90"] = "7.8"
    for architecture, version in versions.items():
        assert f".version {version}" in f.ptx_for(architecture)
    assemble(f, list(versions))


def test_more_arguments_than_a_kernel_has_are_refused() -> None:
    def sum_of(count: int, *shape: tw.Expression | int) -> tw.Function:
        arrays = [tw.input(f"A{n}", list(shape), tw.float32) for n in range(count)]
        first, *others = (array[i, j] for array in arrays)
        C = tw.computation("C", {i: shape[0], j: shape[1]}, sum(others, start=first))
        f = tw.function("f", outputs=[C], target="gpu-emulator")
        C.gpu(i, j)
        return f

    i, j = tw.iters("i j")
    N, M = tw.params("N M")
    with pytest.raises(tw.ScheduleError, match=r"would have 605 arguments .* 512 is the most"):
        str(sum_of(300, N, M).ptx_for("sm_80"))
    check(sum_of(300, 4, 5), *(random(4, 5) for _ in range(300)))


def test_loads_stay_behind_barriers() -> None:
    # Each step reads what another thread wrote in the step before, in rows that come again.
    N = tw.param("N")
    b, t, i = tw.iters("b t i")
    steps = 4
    A = tw.input("A", [N, 64], tw.float32)
    X = tw.computation(
        "X",
        {b: N, t: steps + 1, i: 64},
        lambda x: [
            (t == 0, A[b, i]),
            ((t > 0) & (i < 32), x[b, t - 1, i + 1] + 1),
            ((t > 0) & (i >= 32), x[b, t - 1, i]),
        ],
        dtype=tw.float32,
    )
    R = tw.computation("R", {b: N, i: 64}, X[b, steps, i])
    f = tw.function("f", outputs=[R], target="gpu-emulator")
    X.storage_fold(t, 2)
    X.split(i, 32).gpu_block(b).gpu_thread("i1").unroll(t)
    R.gpu_block(b).gpu_thread(i)
    check(f, random(2, 64))
    kernel = str(f.ptx_for("sm_80")).split(".entry")[1]
    before, *after = kernel.split("bar.sync")
    assert "st.global" in before
    for step in after[:steps]:
        assert step.count("ld.global") == 2 and step.count("st.global") == 2, kernel


def test_local_memory_in_a_kernel_of_one_thread() -> None:
    N = tw.param("N")
    i = tw.iter("i")
    A = tw.input("A", [N], tw.float32)
    B = tw.computation("B", {i: N}, A[i] + 1)
    C = tw.computation("C", {i: N}, B[i] * 2)
    D = tw.computation("D", {i: N}, A[i] + 1)
    f = tw.function("f", outputs=[C, D], target="gpu-emulator")
    B.compute_at(C, "i")
    B.store_at(C, "i")
    D.gpu(i)
    check(f, random(40))
