"""Copies into shared memory: padding, accesses of several elements, several stages."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from checks import assemble, barriers, check, random, reports, tiled_matmul

import tilewright as tw

EMULATOR = "gpu-emulator"


#: k by 8; A lies transposed in shared memory.
matmul = functools.partial(tiled_matmul, multiples=True, transposed=True)


def compare(function: tw.Function, *arrays: Any) -> Any:
    """The emulator's result, which is the evaluator's."""
    result = function(*arrays)
    np.testing.assert_array_equal(result, function.evaluate(*arrays))
    return result


def instructions(function: tw.Function, architecture: str = "sm_80") -> set[str]:
    text = str(function.ptx_for(architecture))
    return set(re.findall(r"\b(?:ld|st|cp)\.[\w.]+", text))


# ---- padding ----


def test_padding_is_in_the_buffer_and_nowhere_else() -> None:
    f = matmul(pad=4)
    assert "A_cache = empty((8, 36), float32)" in str(f.loops)
    assert "pad=4" in str(f.schedule)
    a, b = random(64, 24), random(24, 32)
    np.testing.assert_array_equal(check(f, a, b), a @ b)


def test_padding_changes_the_kernel_and_its_key() -> None:
    f, other = matmul(pad=4), matmul()
    assert f.schedule != other.schedule
    assert f.schedule == matmul(pad=4).schedule
    assert str(f.ptx_for("sm_80")) != str(other.ptx_for("sm_80"))


@pytest.mark.parametrize("memory", ["auto", "stack", "heap"])
def test_padding_on_the_cpu(memory: str) -> None:
    i, j = tw.iters("i j")
    A = tw.input("A", [40, 40], tw.float32)
    C = tw.computation("C", {i: 40, j: 40}, A[j, i] + 1)
    f = tw.function("f", outputs=[C], target="cpu")
    C.tile(i, j, 8, 8)
    C.cache(A, "j0", memory=memory, pad=3)
    assert "A_cache = empty((8, 11), float32)" in str(f.loops)
    a = random(40, 40)
    np.testing.assert_array_equal(f(a), a.T + 1)


def test_padding_counts_in_the_limits() -> None:
    i, j = tw.iters("i j")
    A = tw.input("A", [1024, 1024], tw.float32)
    C = tw.computation("C", {i: 1024, j: 1024}, A[j, i])
    f = tw.function("f", outputs=[C], target=EMULATOR)
    f["C"].gpu_tile(i, j, 4, 32)
    with pytest.raises(tw.ScheduleError, match=r"float32\[32, 2004\], and its 256512 bytes"):
        C.cache(A, "j0", memory="shared", pad=2000)
    with pytest.raises(tw.ScheduleError, match="elements have none"):
        C.cache(A, "j0", memory="private", pad=1)
    with pytest.raises(tw.ScheduleError, match="the padding"):
        C.cache(A, "j0", memory="shared", pad=-1)


def test_store_at_takes_padding() -> None:
    N = tw.param("N")
    i = tw.iter("i")
    A = tw.input("A", [N + 2], tw.float32)
    B = tw.computation("B", {i: N + 1}, A[i] + A[i + 1])
    C = tw.computation("C", {i: N}, B[i] * B[i + 1])
    f = tw.function("f", outputs=[C], target=EMULATOR)
    C.gpu_tile(i, 32)
    B.compute_at(C, "i0").store_at(C, "i0", memory="shared", pad=7).gpu_spread("i")
    assert "B = empty((40,), float32)" in str(f.loops)
    assert 'store_at("C", "i0", "shared", 7)' in str(f.schedule)
    check(f, random(102))


# ---- accesses of several elements ----


def test_copies_move_sixteen_bytes() -> None:
    f = matmul(transposed=False)
    found = instructions(f, "sm_75")
    assert {"ld.global.nc.v4.f32", "st.shared.v4.f32"} <= found, found
    a, b = random(64, 24), random(24, 32)
    np.testing.assert_array_equal(check(f, a, b), a @ b)


def test_a_transposing_copy_loads_sixteen_bytes() -> None:
    # Rows of 36 elements: what four lanes store lies in different banks.
    f = matmul(pad=4)
    found = instructions(f, "sm_75")
    assert {"ld.global.nc.v4.f32", "st.shared.f32", "st.shared.v4.f32"} <= found, found


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("sizes", [(70, 65, 33), (64, 96, 36), (5, 3, 1), (32, 32, 8)])
def test_any_size(sizes: tuple[int, int, int], stages: int) -> None:
    n, m, k = sizes
    f = matmul(multiples=False, stages=stages)
    a, b = random(n, k), random(k, m)
    np.testing.assert_array_equal(compare(f, a, b), a @ b)


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("offset", [(0, 0), (0, 1), (3, 2), (1, 4)])
def test_arrays_that_begin_anywhere(offset: tuple[int, int], stages: int) -> None:
    # Views of device arrays are used where they are: at 4, 8 and 16 bytes, rows of 40 and 41.
    f = matmul(transposed=False, stages=stages)
    for width in (40, 41, 42):
        a, b = random(64, 24), random(24, 32)
        places = [np.zeros((70, width), np.float32), np.zeros((30, width), np.float32)]
        rows, columns = offset
        views = []
        for place, value in zip(places, (a, b), strict=True):
            window = (slice(rows, rows + value.shape[0]), slice(columns, columns + value.shape[1]))
            place[window] = value
            views.append(tw.to_device(place, EMULATOR)[window])
        np.testing.assert_array_equal(f(*views).numpy(), a @ b)


def elementwise(lanes: int, dtype: tw.DType = tw.float32) -> tw.Function:
    """y = 2 x + z with neighbours in a thread."""
    N = tw.param("N")
    i = tw.iter("i")
    X = tw.input("X", [N], dtype)
    Z = tw.input("Z", [N], dtype)
    Y = tw.computation("Y", {i: N}, 2 * X[i] + Z[i])
    f = tw.function("f", outputs=[Y], target=EMULATOR)
    Y.split(i, 32 * lanes).split("i1", lanes, "t", "v").gpu_block("i0").gpu_thread("t")
    Y.vectorize("v", lanes)
    return f


@pytest.mark.parametrize(
    ("dtype", "lanes", "access"),
    [
        (tw.float32, 4, "v4.f32"),
        (tw.float32, 2, "v2.f32"),
        (tw.float64, 2, "v2.f64"),
        (tw.float32, 8, "v4.f32"),
        (tw.int32, 4, "v4.u32"),
    ],
)
def test_neighbours_in_a_thread(dtype: tw.DType, lanes: int, access: str) -> None:
    f = elementwise(lanes, dtype)
    found = instructions(f)
    assert {f"ld.global.nc.{access}", f"st.global.{access}"} <= found, found
    numpy_type = np.dtype(str(dtype))
    for n in (0, 1, 100, 256, 1000):
        x, z = random(n, dtype=numpy_type), random(n, dtype=numpy_type)
        np.testing.assert_array_equal(f(x, z), 2 * x + z)
    check(f, random(300, dtype=numpy_type), random(300, dtype=numpy_type))


@pytest.mark.parametrize("offset", range(4))
def test_neighbours_in_arrays_that_begin_anywhere(offset: int) -> None:
    f = elementwise(4)
    x, z = random(300), random(300)
    place = np.zeros(310, np.float32)
    place[offset : offset + 300] = x
    view = tw.to_device(place, EMULATOR)[offset : offset + 300]
    out = tw.to_device(np.zeros(310, np.float32), EMULATOR)
    np.testing.assert_array_equal(f(view, tw.to_device(z, EMULATOR)).numpy(), 2 * x + z)
    f(tw.to_device(x, EMULATOR), tw.to_device(z, EMULATOR), out=out[offset : offset + 300])
    np.testing.assert_array_equal(out.numpy()[offset : offset + 300], 2 * x + z)


# ---- several stages ----


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("stages", [2, 3, 4])
def test_stages(stages: int, transposed: bool) -> None:
    f = matmul(stages=stages, transposed=transposed, pad=4)
    assert f"# {stages} stages" in str(f.loops) and barriers(f) == 0
    assert f"stages={stages}" in str(f.schedule)
    for k in (8, 16, 24, 80):
        a, b = random(64, k), random(k, 32)
        np.testing.assert_array_equal(compare(f, a, b), a @ b)
    assemble(f)
    ptx = str(f.ptx_for("sm_80"))
    # One barrier an iteration, where two would stand without stages.
    assert ptx.count("bar.sync") == 1
    assert str(matmul(pad=4).ptx_for("sm_80")).count("bar.sync") == 2
    assert (
        f"cp.async.wait_group \t{stages - 2}" in ptx or f"cp.async.wait_group {stages - 2}" in ptx
    )


def test_newer_devices_copy_asynchronously_and_older_ones_through_registers() -> None:
    f = matmul(stages=2)
    old, new = instructions(f, "sm_75"), instructions(f, "sm_80")
    assert not any(name.startswith("cp.async") for name in old)
    assert "cp.async.cg.shared.global" in new, new
    assert {"ld.global.nc.v4.f32", "st.shared.v4.f32"} <= old, old
    assert str(f.ptx_for("sm_75")).count("bar.sync") == 1


def test_registers_are_enough() -> None:
    f = matmul(stages=2, pad=4)
    for report in reports(f):
        assert "0 bytes stack frame, 0 bytes spill stores" in report, report


@pytest.mark.parametrize("dtype", [tw.float16, tw.int16, tw.float64, tw.int8, tw.int64])
def test_stages_of_other_elements(dtype: tw.DType) -> None:
    f = matmul(dtype=dtype, stages=2)
    numpy_type = np.dtype(str(dtype))
    a, b = (random(*shape, dtype=numpy_type) % 3 for shape in ((64, 24), (24, 32)))
    check(f, a, b)


def test_different_numbers_of_stages() -> None:
    N, M, K = tw.params("N M K")
    i, j, k = tw.iters("i j k")
    A = tw.input("A", [N, K], tw.float32)
    B = tw.input("B", [K, M], tw.float32)
    C = tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))
    f = tw.function("f", outputs=[C], target=EMULATOR)
    C.tile(i, j, 8, 8).split(k, 4).reorder("i0", "j0", "k0", "i1", "j1", "k1")
    C.gpu_block("i0", "j0").gpu_thread("i1", "j1")
    own = C.cache(C, "j0", memory="private")
    own.cache(A, "k0", memory="shared", stages=2)
    own.cache(B, "k0", memory="shared", stages=3)
    for size in (4, 5, 8, 30):
        a, b = random(20, size), random(size, 17)
        np.testing.assert_array_equal(compare(f, a, b), a @ b)


def rows(stages: int, extent: int | None = None) -> tw.Function:
    """C[i] = the sum of A[k, i] with its tiles turned around: a thread reads what another copied."""
    N = tw.param("N")
    K = tw.param("K") if extent is None else extent
    i, k = tw.iters("i k")
    A = tw.input("A", [K, 32 * N], tw.float32)
    turned = i - i % 32 + (31 - i % 32)
    C = tw.computation("C", {i: 32 * N}, tw.sum(A[k, turned], over={k: K}))
    f = tw.function("rows", outputs=[C], target=EMULATOR)
    C.split(i, 32).reorder("i0", "k", "i1").gpu_block("i0").gpu_thread("i1")
    own = C.cache(C, "i0", memory="private")
    own.cache(A, "k", memory="shared", stages=stages)
    return f


@pytest.mark.parametrize("extent", [None, 1, 2, 5])
def test_a_loop_of_any_number_of_iterations(extent: int | None) -> None:
    f = rows(3, extent)
    for k in (0, 1, 2, 7) if extent is None else (extent,):
        a = random(k, 96)
        expected = a.reshape(k, 3, 32)[:, :, ::-1].reshape(k, 96).sum(axis=0)
        np.testing.assert_array_equal(compare(f, a), expected)


def test_a_pipeline_in_a_loop_waits_before_it_begins_again() -> None:
    N, K, T = tw.params("N K T")
    i, k, t = tw.iters("i k t")
    A = tw.input("A", [T, K, 32 * N], tw.float32)
    turned = i - i % 32 + (31 - i % 32)
    C = tw.computation("C", {t: T, i: 32 * N}, tw.sum(A[t, k, turned], over={k: K}))
    f = tw.function("again", outputs=[C], target=EMULATOR)
    C.split(i, 32).reorder("i0", "t", "k", "i1").gpu_block("i0").gpu_thread("i1")
    own = C.cache(C, "t", memory="private")
    own.cache(A, "k", memory="shared", stages=2)
    a = random(3, 5, 64)
    expected = a.reshape(3, 5, 2, 32)[..., ::-1].reshape(3, 5, 64).sum(axis=1)
    np.testing.assert_array_equal(check(f, a), expected)
    assert str(f.ptx_for("sm_80")).count("bar.sync") == 2


def refusal(function: tw.Function, *arrays: Any) -> str:
    with pytest.raises(tw.ScheduleError) as caught:
        function(*arrays)
    return str(caught.value)


def test_what_is_written_meanwhile_is_not_copied_ahead() -> None:
    T = tw.param("T")
    i, t = tw.iters("i t")
    A = tw.input("A", [T, 64], tw.float32)
    B = tw.computation("B", {t: T, i: 64}, A[t, i] + 1)
    C = tw.computation("C", {t: (1, T), i: 64}, B[t - 1, i - i % 32 + 31 - i % 32], shape=[T, 64])

    def mapped(stages: int) -> tw.Function:
        f = tw.function("f", outputs=[C], target=EMULATOR, context=[T > 1])
        for computation in (B, C):
            computation = f[computation.name]
            computation.split(i, 32).reorder("i0", "t", "i1").gpu_block("i0").gpu_thread("i1")
        f["C"].after(f["B"], "t")
        f["C"].cache("B", "t", memory="shared", stages=stages)
        return f

    a = random(5, 64)
    expected = (a + 1).reshape(5, 2, 32)[:-1, :, ::-1].reshape(4, 64)
    np.testing.assert_array_equal(check(mapped(1), a)[1:], expected)
    message = refusal(mapped(2), a)
    assert "buffer 'B_cache' cannot be filled ahead (stages): B writes to B in loop 't'" in message
    assert "e.g. in B[" in message


def test_a_loop_of_one_iteration_leaves_the_one_around_alone() -> None:
    # k has one iteration; what is copied in it is written in the loop around, an iteration before.
    T = tw.param("T")
    i, t, k = tw.iters("i t k")
    A = tw.input("A", [T, 64], tw.float32)
    B = tw.computation("B", {t: T, i: 64}, A[t, i] + 1)
    turned = i - i % 32 + 31 - i % 32
    C = tw.computation(
        "C", {t: (1, T), i: 64}, tw.sum(B[t - 1 + k, turned], over={k: 1}), shape=[T, 64]
    )
    f = tw.function("f", outputs=[C], target=EMULATOR, context=[T > 1])
    B.split(i, 32).reorder("i0", "t", "i1").gpu_block("i0").gpu_thread("i1")
    C.split(i, 32).reorder("i0", "t", "k", "i1").gpu_block("i0").gpu_thread("i1")
    C.after(B, "t")
    C.cache(B, "k", memory="shared", stages=2)
    a = random(5, 64)
    expected = (a + 1).reshape(5, 2, 32)[:-1, :, ::-1].reshape(4, 64)
    np.testing.assert_array_equal(check(f, a)[1:], expected)


def test_commands_that_make_no_sense() -> None:
    f = matmul()
    C = f["C"]
    arrays: Sequence[tuple[dict[str, Any], str]] = (
        ({"memory": "private", "stages": 2}, 'memory="shared"'),
        ({"stages": 2}, 'memory="shared"'),
        ({"memory": "shared", "stages": 9}, "at most 8 stages"),
        ({"memory": "shared", "stages": 0}, "the number of stages"),
    )
    for keywords, message in arrays:
        with pytest.raises(tw.ScheduleError, match=message):
            C.cache("A", "j0", **keywords)


def test_stages_over_blocks_are_refused() -> None:
    i, j = tw.iters("i j")
    A = tw.input("A", [64, 64], tw.float32)
    C = tw.computation("C", {i: 64, j: 64}, A[j, i])
    f = tw.function("f", outputs=[C], target=EMULATOR)
    C.gpu_tile(i, j, 8, 8)
    C.cache(A, "j0", memory="shared", stages=2)
    assert "do not come one after the other in a block (gpu_block_x)" in refusal(f, random(64, 64))


def test_the_cpu_has_one_stage() -> None:
    f = matmul(stages=3)
    f.target = "cpu"
    a, b = random(64, 24), random(24, 32)
    np.testing.assert_array_equal(f(a, b), a @ b)
    f = matmul(stages=2)
    f.check_bounds = True
    np.testing.assert_array_equal(f(a, b), a @ b)
