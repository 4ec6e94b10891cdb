"""Loops mapped to blocks and threads: values on the emulator, the mapping that is printed, refusals."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable

import numpy as np
import pytest
from checks import barriers, check, emulated, random

import tilewright as tw


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 1000])
def test_one_loop(n: int) -> None:
    N = tw.param("N")
    i = tw.iter("i")
    A = tw.input("A", [N], tw.float32)
    C = tw.computation("C", {i: N}, 2 * A[i] + 1)
    f = emulated("f", C)
    C.gpu(i)
    a = random(n)
    np.testing.assert_array_equal(check(f, a), 2 * a + 1)


@pytest.mark.parametrize("shape", [(1, 1), (8, 32), (9, 33), (37, 70)])
def test_two_loops(shape: tuple[int, int]) -> None:
    N, M = tw.params("N M")
    i, j = tw.iters("i j")
    A = tw.input("A", [N, M], tw.float64)
    C = tw.computation("C", {i: N, j: M}, A[i, j] * i - j)
    f = emulated("f", C)
    C.gpu(i, j)
    a = random(*shape, dtype=np.float64)
    rows, columns = np.indices(shape)
    np.testing.assert_array_equal(check(f, a), a * rows - columns)
    assert barriers(f) == 0


def test_three_loops() -> None:
    i, j, k = tw.iters("i j k")
    N = tw.param("N")
    A = tw.input("A", [5, N, 40], tw.int32)
    C = tw.computation("C", {i: 5, j: N, k: 40}, A[i, j, k] // 3)
    f = emulated("f", C)
    C.gpu(i, j, k)
    a = random(5, 6, 40, dtype=np.int32)
    np.testing.assert_array_equal(check(f, a), a // 3)


@pytest.mark.parametrize(
    "dtype", [tw.bool, tw.uint8, tw.int16, tw.int64, tw.float16, tw.bfloat16, tw.complex64]
)
def test_element_types(dtype: tw.DType) -> None:
    i = tw.iter("i")
    A = tw.input("A", [100], dtype)
    B = tw.input("B", [100], dtype)
    value = A[i] ^ B[i] if dtype == tw.bool else A[i] * B[i] + A[i]
    C = tw.computation("C", {i: 100}, value)
    f = emulated("f", C)
    C.gpu_tile(i, 32)
    a = np.abs(random(100)).astype(dtype.dtype)
    b = np.abs(random(100)[::-1]).astype(dtype.dtype)
    check(f, a, b)


def test_strided_arrays_and_given_outputs() -> None:
    N, M = tw.params("N M")
    i, j = tw.iters("i j")
    A = tw.input("A", [N, M], tw.float32)
    C = tw.computation("C", {i: N, j: M}, -A[i, j])
    f = emulated("f", C)
    C.gpu(i, j)
    a = random(40, 60)[::-2, ::3]
    out = np.zeros((20, 40), np.float32)[:, ::2]
    assert f(a, out=out) is out
    np.testing.assert_array_equal(out, -a)


def test_elements_that_are_not_defined_keep_what_they_had() -> None:
    N = tw.param("N")
    i, j = tw.iters("i j")
    A = tw.input("A", [N, N], tw.float32)
    C = tw.computation("C", {i: N, j: (0, i + 1)}, A[i, j], shape=[N, N])
    f = emulated("f", C)
    C.gpu(i, j)
    a = random(20, 20)
    np.testing.assert_array_equal(check(f, a), np.tril(a))
    out = np.full((20, 20), 7, np.float32)
    f(a, out=out)
    np.testing.assert_array_equal(out, np.where(np.tri(20) > 0, a, 7))


def test_a_kernel_for_each_step_of_a_loop_outside() -> None:
    T, N = tw.params("T N")
    t, i = tw.iters("t i")
    A = tw.input("A", [N + 2], tw.float64)
    X = tw.computation("X", {t: (0, T), i: (0, N + 2)}, dtype=tw.float64)
    X.define(t == 0, A[i])
    X.define((t > 0) & (i == 0), X[t - 1, i])
    X.define((t > 0) & (i == N + 1), X[t - 1, i])
    X.define(
        (t > 0) & (i > 0) & (i < N + 1),
        (X[t - 1, i - 1] + X[t - 1, i] + X[t - 1, i + 1]) / 3,
    )
    f = emulated("f", X)
    X.gpu_tile(i, 32)
    check(f, random(70, dtype=np.float64), T=5, exact=False)
    with pytest.raises(tw.IllegalScheduleError, match="gpu_block_y"):
        X.gpu_block(t, "i0")


@pytest.mark.parametrize("n", [65535, 65536, 2 * 65535 + 3])
def test_more_rows_than_a_grid_has_blocks_along_y(n: int) -> None:
    N, M = tw.params("N M")
    i, j = tw.iters("i j")
    A = tw.input("A", [N, M], tw.float32)
    C = tw.computation("C", {i: N, j: M}, A[i, j] + 1)
    f = emulated("f", C)
    C.gpu_block(i, j)
    a = np.arange(n, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(f(a), a + 1)


def test_threads_of_blocks_beyond_the_last_row_do_not_wait() -> None:
    n = 65537
    N = tw.param("N")
    i, j = tw.iters("i j")
    A = tw.input("A", [N, 2], tw.float32)
    P = tw.computation("P", {i: N, j: 2}, A[i, j] + 1)
    C = tw.computation("C", {i: N, j: 2}, P[i, 1 - j])
    f = emulated("f", C)
    C.split(j, 2).gpu_block(i, "j0").gpu_thread("j1")
    P.compute_at(C, "j0").store_at(C, "j0", memory="shared").gpu_thread(j)
    a = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
    np.testing.assert_array_equal(f(a), a[:, ::-1] + 1)
    assert barriers(f) == 1


def test_a_grid_of_known_size_has_no_more_planes() -> None:
    i, j = tw.iters("i j")
    A = tw.input("A", [64, 64], tw.float32)
    C = tw.computation("C", {i: 64, j: 64}, A[i, j] + 1)
    f = emulated("f", C)
    C.gpu(i, j)
    assert "%ctaid.z" not in str(f.ptx_for("sm_80"))


def test_too_many_blocks_along_z_say_what_to_do() -> None:
    N = tw.param("N")
    i, j, k = tw.iters("i j k")
    A = tw.input("A", [N], tw.float32)
    C = tw.computation("C", {i: N, j: 2, k: 2}, A[i] + 1)
    f = emulated("f", C)
    C.gpu_block(i, j, k)
    with pytest.raises(tw.DeviceError, match=r"65536 blocks is more.*have the longest one there"):
        f(np.ones(65536, np.float32))


@pytest.mark.parametrize("kernel_inside", [False, True])
@pytest.mark.parametrize("target", ["gpu-emulator", "cuda"])
def test_shared_memory_without_a_kernel_around_it_is_refused(
    target: str, kernel_inside: bool
) -> None:
    i, j = tw.iters("i j")
    A = tw.input("A", [64, 64], tw.float32)
    C = tw.computation("C", {i: 64, j: 64}, A[i, j] + 1)
    f = tw.function("f", outputs=[C], target=target)
    C.split(j, 8)
    C.cache(A, "j0", memory="shared")
    if kernel_inside:
        C.gpu_thread("j1")
    message = r'C.cache\("A", "j0", memory="shared"\).* loop \'j0\' is in no kernel.*gpu_block'
    with pytest.raises(tw.ScheduleError, match=message):
        str(f.ptx)
    C.gpu_block("i")
    C.gpu_thread("j1")
    if target == "gpu-emulator":
        check(f, random(64, 64))


def test_shared_memory_is_ordinary_on_the_cpu() -> None:
    i, j = tw.iters("i j")
    A = tw.input("A", [64, 64], tw.float32)
    C = tw.computation("C", {i: 64, j: 64}, A[i, j] + 1)
    f = tw.function("f", outputs=[C], target="cpu")
    C.split(j, 8)
    C.cache(A, "j0", memory="shared")
    a = random(64, 64)
    np.testing.assert_array_equal(f(a), a + 1)


def test_errors_of_a_mapping_point_at_its_command() -> None:
    i, j = tw.iters("i j")
    A = tw.input("A", [64, 64], tw.float32)
    C = tw.computation("C", {i: 64, j: 64}, A[i, j] + 1)
    f = emulated("f", C)
    C.gpu_thread(i, j)
    with pytest.raises(tw.ScheduleError, match="more than 1024") as refused:
        f(random(64, 64))
    location = refused.value.location
    assert location is not None and "C.gpu_thread(i, j)" in str(location.text)


def test_elements_on_no_gpu_loop_have_threads() -> None:
    N = tw.param("N")
    i = tw.iter("i")
    A = tw.input("A", [N], tw.float32)
    B = tw.computation("B", {i: N}, A[i] + 1)
    C = tw.computation("C", {i: N}, B[N - 1 - i])
    f = emulated("f", C)
    C.gpu(i)
    for size in (0, 1, 256, 300):
        a = random(size)
        np.testing.assert_array_equal(check(f, a), a[::-1] + 1)
    assert "1 thread a block" not in str(f.loops)


def test_what_needs_an_order_and_is_on_no_gpu_loop_runs_in_one_thread() -> None:
    N = tw.param("N")
    i = tw.iter("i")
    A = tw.input("A", [N], tw.int32)
    B = tw.computation("B", {i: N}, dtype=tw.int32)
    B.define(i == 0, A[0])
    B.define(i > 0, 3 * B[i - 1] + A[i])
    C = tw.computation("C", {i: N}, B[N - 1 - i])
    f = emulated("f", C)
    C.gpu(i)
    check(f, random(300, dtype=np.int32))
    assert "1 thread a block" in str(f.loops)


def test_first_values_of_shared_sums_are_dealt_out() -> None:
    """Unless thread 0 may have touched them before: there is no barrier then."""
    N = tw.param("N")
    i, k = tw.iters("i k")
    A = tw.input("A", [N], tw.int32)
    C = tw.computation("C", {i: 40}, tw.sum(A[k], over={k: N}, where=A[k] == i))
    f = emulated("f", C)
    C.split(k, 64)
    parts = C.rfactor("k0")
    parts.reorder("k0", "k1", i)
    sums_ = parts.cache(parts, "k0", memory="shared")
    parts.gpu_block("k0").gpu_thread(i)
    sums_.gpu_thread("k1").atomic()
    loops = str(f.loops)
    assert "for i in range(0, 40):  # gpu_spread" in loops
    check(f, np.random.default_rng(0).integers(-5, 45, 300).astype(np.int32))


@pytest.mark.parametrize("target", ["gpu-emulator", "cpu"])
def test_iterations_in_which_a_buffer_lives_stay_together(target: str) -> None:
    """Rows need one of the columns each, so nothing else keeps the loop over columns in one piece."""
    N, M = tw.params("N M")
    i, j = tw.iters("i j")
    A = tw.input("A", [N + M + 3, N + M + 3], tw.float64)
    P = tw.computation("P", {i: N + 2, j: M + 2}, A[i, j] + A[j, i] * 2)
    C = tw.computation(
        "C", {i: N, j: (1, M)}, P[i, j] + P[i + 1, j] - P[i + 2, j + 2], shape=[N, M]
    )
    f = tw.function("f", outputs=[C], target=target, default_schedule=False)
    if target != "cpu":
        C.gpu_block(i, j)
    P.compute_at(C, j).store_at(C, j, memory="auto" if target == "cpu" else "shared")
    if target != "cpu":
        P.gpu_spread(i, j)
    P.cache(P, j)
    assert str(f.loops).count("P_local = empty") == 1
    arguments = {"A": random(48, 48, dtype=np.float64), "N": 9, "M": 36}
    np.testing.assert_array_equal(f(**arguments), f.evaluate(**arguments))


def test_a_piece_that_no_size_has_is_in_no_kernel() -> None:
    N = tw.param("N")
    i, j = tw.iters("i j")
    A = tw.input("A", [N, N], tw.float64)
    C = tw.computation("C", {i: N, j: N}, dtype=tw.float64)
    C.define(i >= 0, A[i, j] + 1)
    C.define(i < 0, A[0, j])
    f = emulated("f", C)
    C.gpu(i, j)
    a = random(40, 40, dtype=np.float64)
    np.testing.assert_array_equal(check(f, a), a + 1)


def sums(size: int) -> tuple[tw.Function, tw.Computation, tw.Expression]:
    N, K = tw.params("N K")
    i, k = tw.iters("i k")
    A = tw.input("A", [N, K], tw.float32)
    C = tw.computation("C", {i: N}, tw.sum(A[i, k], over={k: K}))
    return emulated("f", C), C, k


def test_a_sum_in_each_thread() -> None:
    f, C, _ = sums(0)
    C.gpu("i")
    a = random(300, 17)
    np.testing.assert_array_equal(check(f, a), a.sum(axis=1))


def test_atomic_updates_of_many_blocks() -> None:
    f, C, k = sums(0)
    C.split(k, 64).reorder("k0", "i", "k1").atomic().gpu_block("k0", "i").gpu_thread("k1")
    a = random(3, 200)
    np.testing.assert_array_equal(check(f, a), a.sum(axis=1))
    assert "# atomic" in str(f.loops)


def test_a_sum_over_the_threads_of_a_block_by_parts() -> None:
    # Each thread adds up a part of a row in its own memory; thread 0 adds up the parts.
    f, C, k = sums(0)
    C.split(k, 32, "k0", "k1").reorder("i", "k1", "k0")
    P = C.rfactor("k1", "P")
    P.compute_at(C, "i").store_at(C, "i", memory="shared")
    C.gpu_block("i")
    P.gpu_thread("k1")
    a = random(5, 100)
    np.testing.assert_array_equal(check(f, a), a.sum(axis=1))
    assert barriers(f) == 1, str(f.loops)


def test_run_time_subscripts_are_checked_on_the_device() -> None:
    N, M = tw.params("N M")
    i = tw.iter("i")
    A = tw.input("A", [M], tw.float32)
    idx = tw.input("idx", [N], tw.int64)
    C = tw.computation("C", {i: N}, A[idx[i]])
    f = emulated("f", C)
    C.gpu(i)
    a = random(50)
    places = np.arange(300, dtype=np.int64) % 50
    np.testing.assert_array_equal(check(f, a, places), a[places])
    places[271] = 50
    with pytest.raises(tw.SubscriptError, match=r"A\[idx\[i\]\]"):
        f(a, places)


@pytest.mark.parametrize("n", [1, 4, 8, 9, 20])
@pytest.mark.parametrize("border", ["all", "last row", "corner"])
def test_pieces_on_the_border(n: int, border: str) -> None:
    # Loops over tiles stay in one piece, and what has one tile only runs in that tile's block and threads.
    N = tw.param("N")
    i, j = tw.iters("i j")
    A = tw.input("A", [N, N], tw.float64)
    C = tw.computation("C", {i: N, j: N}, dtype=tw.float64)
    if border == "all":
        C.define((i < N - 1) & (j < N - 1), 2 * A[i, j])
        C.define((i == N - 1) | (j == N - 1), A[i, j])
    elif border == "last row":
        C.define(i < N - 1, 2 * A[i, j])
        C.define(i == N - 1, A[i, j])
    else:
        C.define((i < N - 1) | (j < N - 1), 2 * A[i, j])
        C.define((i == N - 1) & (j == N - 1), A[i, j])
    f = emulated("f", C)
    C.gpu_tile(i, j, 8, 8)
    check(f, random(n, n, dtype=np.float64))


def test_the_only_thread_of_one_piece_is_the_one_that_others_know() -> None:
    # B's last element is thread 7's, who reads it: no barrier, and no other thread computes it.
    N = tw.param("N")
    i = tw.iter("i")
    A = tw.input("A", [8 * N], tw.float64)
    B = tw.computation("B", {i: 8 * N}, dtype=tw.float64)
    B.define(i < 8 * N - 1, A[i])
    B.define(i == 8 * N - 1, 3 * A[i])
    C = tw.computation("C", {i: 8 * N}, B[i] + 1)
    f = emulated("f", C)
    B.gpu_tile(i, 8)
    C.gpu_tile(i, 8)
    C.after(B, "i0")
    check(f, random(24, dtype=np.float64))
    assert barriers(f) == 0, str(f.loops)


def test_math_functions() -> None:
    i = tw.iter("i")
    A = tw.input("A", [64], tw.float32)
    C = tw.computation("C", {i: 64}, tw.exp(A[i]) + tw.sin(A[i]) * tw.sqrt(abs(A[i])))
    f = emulated("f", C)
    C.gpu_tile(i, 32)
    check(f, random(64) / 8, exact=False)


def test_a_long_emulation_can_be_interrupted() -> None:
    # An emulated thread that would run for hours ends soon.
    N = tw.param("N")
    i, k = tw.iters("i k")
    A = tw.input("A", [1], tw.float32)
    C = tw.computation("C", {i: 1}, tw.sum(A[i] * k, over={k: N}, ordered=True))
    f = emulated("f", C)
    C.gpu_block(i)
    a = random(1)
    f(a, N=3)
    timer = threading.Timer(0.2, _thread.interrupt_main)
    # Where a shell has started the tests in the background, the signal is ignored.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            f(a, N=1 << 40)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, handler)
    np.testing.assert_array_equal(f(a, N=3), 3 * a)


def test_hints_of_the_cpu_change_nothing() -> None:
    N = tw.param("N")
    i, j = tw.iters("i j")
    A = tw.input("A", [N, 8], tw.float32)
    C = tw.computation("C", {i: N, j: 8}, A[i, j] + 1)
    f = emulated("f", C)
    C.prefetch(A, i, 2).stream().gpu_tile(i, 32).vectorize(j, 8)
    a = random(40, 8)
    np.testing.assert_array_equal(check(f, a), a + 1)


def test_mapping_to_the_cpu_gives_the_same() -> None:
    N, M = tw.params("N M")
    i, j = tw.iters("i j")
    A = tw.input("A", [N, M], tw.float32)
    C = tw.computation("C", {i: N, j: M}, A[i, j] + 1)
    f = tw.function("f", outputs=[C], target="cpu")
    C.gpu(i, j)
    a = random(20, 50)
    np.testing.assert_array_equal(f(a), a + 1)
    assert "kernel" not in str(f.loops)


def test_schedules_print_and_replay() -> None:
    def program() -> tw.Function:
        i, j = tw.iters("i j")
        A = tw.input("A", [40, 50], tw.float32)
        return emulated("f", tw.computation("C", {i: 40, j: 50}, A[i, j] + 1))

    f = program()
    f["C"].gpu_tile("i", "j", 4, 16)
    g = program()
    f.schedule.apply_to(g)
    assert str(f.loops) == str(g.loops)
    assert "gpu_tile" in str(f.schedule)
    assert f.key == g.key
    h = program()
    h["C"].set_schedule(
        "{ C[i,j] -> [floor(i/4)(gpu_block_y), floor(j/16)(gpu_block_x), i mod 4 (gpu_thread_y), "
        "j mod 16 (gpu_thread_x)] }"
    )
    a = random(40, 50)
    np.testing.assert_array_equal(h(a), a + 1)


Refused = tuple[str, Callable[[tw.Computation], object]]


@pytest.mark.parametrize(
    ("message", "give"),
    [
        ("has no constant extent", lambda C: C.gpu_thread("j")),
        ("more than 1024", lambda C: C.gpu_tile("i", "j", 64, 64)),
        ("threads along z", lambda C: C.gpu_tile("i", "j", "k", 128, 1, 1)),
        ("blocks come first", lambda C: C.gpu_block("i", "k")),
        (
            "for threads of the CPU",
            lambda C: C.gpu_tile("j", 16).interchange("i", "j0").parallelize("i"),
        ),
    ],
)
def test_mappings_that_make_no_kernel_are_refused(
    message: str, give: Callable[[tw.Computation], object]
) -> None:
    N = tw.param("N")
    i, j, k = tw.iters("i j k")
    A = tw.input("A", [N, N, N], tw.float32)
    C = tw.computation("C", {i: N, j: N, k: N}, A[i, j, k])
    f = emulated("f", C)
    with pytest.raises(tw.ScheduleError, match=message):
        give(C)
        f(random(4, 4, 4))


@pytest.mark.parametrize(
    ("message", "give"),
    [
        ("one to three dimensions", lambda C: C.gpu_block("i", "i", "i", "i")),
        ("outermost first", lambda C: C.gpu_thread("i1", "i0")),
        ("expected gpu", lambda C: C.gpu()),
        ("no loop", lambda C: C.gpu("nothing")),
        ("must be at least 1", lambda C: C.gpu_tile("i0", 0)),
    ],
)
def test_commands_that_make_no_sense_are_refused(
    message: str, give: Callable[[tw.Computation], object]
) -> None:
    i = tw.iter("i")
    A = tw.input("A", [64], tw.float32)
    C = tw.computation("C", {i: 64}, A[i])
    f = emulated("f", C)
    C.split(i, 8)
    with pytest.raises(tw.ScheduleError, match=message):
        give(C)
    assert "gpu" not in str(f.schedule)


def test_a_device_that_is_not_there() -> None:
    i = tw.iter("i")
    A = tw.input("A", [64], tw.float32)
    C = tw.computation("C", {i: 64}, A[i])
    with pytest.raises(tw.ArgumentError, match="target must be"):
        tw.function("f", outputs=[C], target="tpu")
