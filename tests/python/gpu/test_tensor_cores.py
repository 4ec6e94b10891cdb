"""Products on tensor cores (gpu_mma): on the emulator equal to the evaluator and to NumPy, through
the assembler, and refused where there is no such product."""

from __future__ import annotations

import random as random_module

import ml_dtypes
import numpy as np
import pytest
from checks import assemble, barriers, random, reports

import tilewright as tw

TYPES = {
    "float16": (tw.float16, np.float16),
    "bfloat16": (tw.bfloat16, ml_dtypes.bfloat16),
    "tf32": (tw.float32, np.float32),
}


def product(
    kind: str, epilogue: bool = False, multiples: int = 0
) -> tuple[tw.Function, tw.Computation]:
    """C = A @ B with factors of `kind`, unscheduled; D = relu(C + bias)."""
    N, M, K = tw.params("N M K")
    i, j, k = tw.iters("i j k")
    dtype = TYPES[kind][0]
    A = tw.input("A", [N, K], dtype)
    B = tw.input("B", [K, M], dtype)
    term = tw.cast(A[i, k], tw.float32) * tw.cast(B[k, j], tw.float32)
    C = tw.computation("C", {i: N, j: M}, tw.sum(term, over={k: K}))
    outputs = C
    if epilogue:
        bias = tw.input("bias", [M], tw.float32)
        outputs = tw.computation("D", {i: N, j: M}, tw.maximum(C[i, j] + bias[j], 0))
    context = [size % multiples == 0 for size in (N, M, K)] if multiples else []
    f = tw.function("gemm", outputs=[outputs], target="gpu-emulator", context=context)
    return f, C


def simple(kind: str, depth: int) -> tw.Function:
    """A warp for each tile, operands where they are."""
    f, C = product(kind)
    C.tile("i", "j", 16, 8).split("k", depth).reorder("i0", "j0", "k0", "i1", "j1", "k1")
    C.gpu_block("i0", "j0")
    if kind == "tf32":
        C.gpu_mma("i1", "j1", "k1", "tf32")
    else:
        C.gpu_mma("i1", "j1", "k1")
    return f


def blocked(
    kind: str,
    depth: int,
    tile: int = 64,
    steps: int = 32,
    multiples: int = 0,
    orders: tuple[list[int], list[int]] = ([0, 1], [0, 1]),
) -> tw.Function:
    """Tiles of A and B in shared memory, 2 x 2 warps, 2 x 4 tiles a warp in registers."""
    f, C = product(kind, multiples=multiples)
    C.tile("i", "j", tile, tile).split("k", steps)
    C.split("i1", tile // 2, "wi", "i2").split("i2", 16, "ri", "mi")
    C.split("j1", tile // 2, "wj", "j2").split("j2", 8, "rj", "mj").split("k1", depth, "rk", "mk")
    C.reorder("i0", "j0", "k0", "wi", "wj", "rk", "ri", "rj", "mi", "mj", "mk")
    C.gpu_block("i0", "j0").gpu_thread("wi", "wj").unroll("ri").unroll("rj").unroll("rk")
    precision = ["tf32"] if kind == "tf32" else []
    C.gpu_mma("mi", "mj", "mk", *precision)
    own = C.cache(C, "j0", memory="private")
    own.cache("A", "k0", memory="shared", order=orders[0])
    own.cache("B", "k0", memory="shared", order=orders[1])
    return f


CASES = [("float16", 8), ("float16", 16), ("bfloat16", 8), ("bfloat16", 16), ("tf32", 8)]


def architectures(kind: str, depth: int) -> list[str]:
    first = ["sm_75"] if (kind, depth) == ("float16", 8) else []
    return [*first, "sm_80", "sm_90"]


def run(f: tw.Function, kind: str, sizes: tuple[int, int, int]) -> None:
    n, m, k = sizes
    dtype = TYPES[kind][1]
    a, b = random(n, k, dtype=dtype), random(k, m, dtype=dtype)
    result = f(a, b)
    np.testing.assert_array_equal(result, f.evaluate(a, b))
    np.testing.assert_array_equal(result, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize(("kind", "depth"), CASES)
@pytest.mark.parametrize("sizes", [(16, 8, 16), (32, 24, 48), (37, 29, 21), (5, 3, 1)])
def test_a_tile_for_each_warp(kind: str, depth: int, sizes: tuple[int, int, int]) -> None:
    run(simple(kind, depth), kind, sizes)


@pytest.mark.parametrize(("kind", "depth"), CASES)
@pytest.mark.parametrize("sizes", [(64, 64, 32), (128, 64, 64), (70, 65, 33)])
def test_tiles_of_several_warps(kind: str, depth: int, sizes: tuple[int, int, int]) -> None:
    f = blocked(kind, depth)
    run(f, kind, sizes)
    assert barriers(f) == 2, str(f.loops)


@pytest.mark.parametrize(("kind", "depth"), CASES)
def test_code_of_products(kind: str, depth: int) -> None:
    f = blocked(kind, depth, multiples=64)
    operands = {"float16": "f16", "bfloat16": "bf16", "tf32": "tf32"}[kind]
    instruction = f"mma.sync.aligned.m16n8k{depth}.row.col.f32.{operands}.{operands}.f32"
    # 2 x 4 tiles of a warp, in each of the steps of 32 terms.
    assert str(f.ptx).count(instruction) == 8 * 32 // depth
    assert f".target {architectures(kind, depth)[0]}" in f.ptx
    run(f, kind, (64, 128, 64))
    for report in reports(f, architectures(kind, depth)):
        assert "0 bytes stack frame" in report, report
        assert "0 bytes spill stores" in report, report


@pytest.mark.parametrize(("kind", "depth"), CASES[:4])
@pytest.mark.parametrize("left", [[0, 1], [1, 0]])
@pytest.mark.parametrize("right", [[0, 1], [1, 0]])
def test_factors_in_shared_memory_are_loaded_as_matrices(
    kind: str, depth: int, left: list[int], right: list[int]
) -> None:
    f = blocked(kind, depth, multiples=64, orders=(left, right))
    run(f, kind, (64, 64, 64))
    ptx = str(f.ptx)
    counts = {
        f"ldmatrix.sync.aligned.m8n8.x{depth // 4}{'.trans' if left == [1, 0] else ''}.shared": 2,
        f"ldmatrix.sync.aligned.m8n8.x{depth // 8}{'.trans' if right == [0, 1] else ''}.shared": 4,
    }
    for instruction, tiles in counts.items():
        # Each once in a step of terms, for all products of its row or column of tiles.
        assert ptx.count(instruction) == tiles * 32 // depth, (instruction, ptx)
    assemble(f, architectures(kind, depth))


def test_factors_in_uneven_rows_are_loaded_one_by_one() -> None:
    f = blocked("bfloat16", 16, steps=20)
    run(f, "bfloat16", (64, 64, 40))
    assert "ldmatrix" in f.ptx  # of the factor whose rows are of 64
    f = blocked("tf32", 8, multiples=64)
    assert "ldmatrix" not in f.ptx


def test_code_for_any_sizes_keeps_sums_in_registers() -> None:
    for report in reports(blocked("bfloat16", 16), ["sm_80"]):
        assert "0 bytes stack frame" in report, report
        assert "0 bytes spill stores" in report, report


def test_a_version_for_whole_tiles_has_factors_of_its_own() -> None:
    """Warps load the factors of each version from that version's shared memory."""
    f = blocked("float16", 16)
    f.specialize("N mod 64 = 0 and M mod 64 = 0 and K mod 32 = 0")
    for sizes in ((64, 64, 32), (33, 24, 20)):
        run(f, "float16", sizes)


def test_what_is_computed_of_the_sums() -> None:
    f, C = product("bfloat16", epilogue=True)
    D = f["D"]
    D.tile("i", "j", 64, 32).split("i1", 32, "wi", "i2").split("i2", 16, "ri", "mi")
    D.split("j1", 8, "rj", "mj").reorder("i0", "j0", "wi", "ri", "rj", "mi", "mj")
    D.gpu_block("i0", "j0").gpu_thread("wi").gpu_mma("mi", "mj").unroll("ri").unroll("rj")
    C.compute_at(D, "j0").store_at(D, "j0", memory="private")
    C.split("i", 64, "it", "i1").split("i1", 32, "wi", "i2").split("i2", 16, "ri", "mi")
    C.split("j", 8, "rj", "mj").split("k", 16)
    C.reorder("it", "k0", "wi", "ri", "rj", "mi", "mj", "k1")
    C.gpu_thread("wi").gpu_mma("mi", "mj", "k1").unroll("ri").unroll("rj")
    a, b = random(70, 40, dtype=ml_dtypes.bfloat16), random(40, 50, dtype=ml_dtypes.bfloat16)
    bias = random(50)
    result = f(a, b, bias)
    np.testing.assert_array_equal(result, f.evaluate(a, b, bias))
    wanted = np.maximum(a.astype(np.float32) @ b.astype(np.float32) + bias, 0)
    np.testing.assert_array_equal(result, wanted)
    assert barriers(f) == 0, str(f.loops)
    for report in reports(f, ["sm_80", "sm_90"]):
        assert "0 bytes stack frame" in report, report


def test_factors_of_float32_are_rounded_to_tf32() -> None:
    f = simple("tf32", 8)
    a = np.zeros((16, 8), np.float32)
    # Ten bits of fraction stay; a tie goes away from zero.
    a[:, 0] = 1 + np.arange(16) * 2.0**-12
    b = np.zeros((8, 8), np.float32)
    b[0, 0] = 1
    expected = 1 + np.floor(np.arange(16) / 4 + 0.5) * 2.0**-10
    np.testing.assert_array_equal(f(a, b)[:, 0], expected)
    large = np.random.default_rng(1).random((40, 40)).astype(np.float32)
    # Each factor is off by 2**-11 of itself at most.
    np.testing.assert_allclose(f(large, large), large @ large, rtol=2.0**-10)


def test_sums_of_many_products_are_of_float32() -> None:
    f = blocked("bfloat16", 16)
    generator = np.random.default_rng(2)
    a = generator.random((64, 200)).astype(ml_dtypes.bfloat16)
    b = generator.random((200, 64)).astype(ml_dtypes.bfloat16)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    # 200 roundings of positive sums, 2**-24 each.
    np.testing.assert_allclose(f(a, b), exact, rtol=200 * 2.0**-24)
    np.testing.assert_allclose(f(a, b), f.evaluate(a, b), rtol=400 * 2.0**-24)


def test_the_schedule_prints_and_replays() -> None:
    f = simple("tf32", 8)
    assert 'gpu_mma("i1", "j1", "k1", "tf32")' in str(f.schedule)
    assert "gpu_mma_m" in str(f.loops) and "gpu_mma_tf32" in str(f.loops)
    assert "j1(gpu_mma_n)" in str(f.layers)
    other, _ = product("tf32")
    f.schedule.apply_to(other)
    assert str(other.loops) == str(f.loops)
    given, C = product("tf32")
    C.set_schedule(
        "{ C[i,j,k] -> [floor(i/16)(gpu_block_y), floor(j/8)(gpu_block_x), floor(k/8), "
        "i mod 16 (gpu_mma_m), j mod 8 (gpu_mma_n), k mod 8 (gpu_mma_tf32)] }"
    )
    run(given, "tf32", (32, 24, 16))


def test_the_cpu_runs_the_same_schedule() -> None:
    f = blocked("float16", 16)
    f.target = "cpu"
    run(f, "float16", (40, 30, 20))


def tiled(kind: str, rows: int = 16, columns: int = 8, depth: int = 16) -> tw.Function:
    f, C = product(kind)
    C.tile("i", "j", rows, columns).split("k", depth)
    C.reorder("i0", "j0", "k0", "i1", "j1", "k1").gpu_block("i0", "j0")
    return f


@pytest.mark.parametrize(
    ("f", "loops", "match"),
    [
        (tiled("float16", rows=32), "i1 j1 k1", "of which there are 16.*split it by 16"),
        (tiled("float16", columns=16), "i1 j1 k1", "its values must be 0 to 7"),
        (tiled("float16", depth=32), "i1 j1 k1", "has 32 iterations.*16 x 8 x 16 of float16"),
        (tiled("tf32"), "i1 j1 k1 tf32", "16 iterations.*16 x 8 x 8 of tf32"),
        (tiled("tf32", depth=8), "i1 j1 k1", "round to tf32.*say so"),
        (tiled("bfloat16"), "i1 j1 k1 tf32", 'precision "tf32" is for factors of float32'),
        (tiled("bfloat16"), "i1 j1 k1 bf16", 'the precision is "tf32"'),
        (tiled("float16"), "j1 i1 k1", "directly inside each other, rows outermost"),
        (tiled("float16"), "i1 i1 k1", "'i1' is given twice"),
        (tiled("float16"), "i1 j1 k0", "directly inside each other"),
    ],
)
def test_what_is_no_tile_is_refused(f: tw.Function, loops: str, match: str) -> None:
    with pytest.raises(tw.ScheduleError, match=match):
        f["C"].gpu_mma(*loops.split())
        str(f.loops)


def test_sums_of_float16_are_refused() -> None:
    i, j, k = tw.iters("i j k")
    A = tw.input("A", [16, 16], tw.float16)
    B = tw.input("B", [16, 8], tw.float16)
    C = tw.computation("C", {i: 16, j: 8}, tw.sum(A[i, k] * B[k, j], over={k: 16}))
    f = tw.function("f", outputs=[C], target="gpu-emulator")
    C.reorder(i, j, k).gpu_mma(i, j, k)
    with pytest.raises(tw.ScheduleError, match=r"sums float16 \* float16 in float16.*tw.cast"):
        str(f.loops)


def test_a_start_of_sums_between_the_loops_is_refused() -> None:
    i, j, k = tw.iters("i j k")
    A = tw.input("A", [16, 16], tw.float16)
    B = tw.input("B", [16, 8], tw.float16)
    term = tw.cast(A[i, k], tw.float32) * tw.cast(B[k, j], tw.float32)
    C = tw.computation("C", {i: 16, j: 8}, tw.sum(term, over={k: 16}))
    f = tw.function("f", outputs=[C], target="gpu-emulator")
    C.gpu_mma(i, j, k)
    with pytest.raises(tw.ScheduleError, match="more inside of its loops than one sum"):
        f(np.ones((16, 16), np.float16), np.ones((16, 8), np.float16))


def test_factors_that_both_change_with_a_loop_are_refused() -> None:
    i, j, k = tw.iters("i j k")
    A = tw.input("A", [16, 39], tw.float16)
    B = tw.input("B", [32, 8], tw.float16)
    term = tw.cast(A[i, k + j], tw.float32) * tw.cast(B[k, j], tw.float32)
    C = tw.computation("C", {i: 16, j: 8}, tw.sum(term, over={k: 32}))
    f = tw.function("f", outputs=[C], target="gpu-emulator")
    C.split(k, 16).reorder("k0", i, j, "k1").gpu_mma(i, j, "k1")
    with pytest.raises(tw.ScheduleError, match="both change with 'j'"):
        f(np.ones((16, 39), np.float16), np.ones((32, 8), np.float16))


def test_private_factors_are_refused() -> None:
    f = tiled("bfloat16")
    f["C"].gpu_mma("i1", "j1", "k1").cache("A", "k0", memory="private")
    with pytest.raises(tw.ScheduleError, match="cannot be each thread's own"):
        str(f.loops)


def test_architectures_without_such_tiles_are_refused() -> None:
    f = simple("bfloat16", 16)
    with pytest.raises(tw.ScheduleError, match=r"16 x 8 x 16 of bfloat16 need.*sm_80 or newer"):
        f.ptx_for("sm_75")
    assert ".version 6.5" in simple("float16", 8).ptx_for("sm_75")


def test_too_many_warps_are_refused() -> None:
    f, C = product("float16")
    C.tile("i", "j", 16 * 8, 8 * 8).split("i1", 16, "wi", "mi").split("j1", 8, "wj", "mj")
    C.split("k", 16).reorder("i0", "j0", "k0", "wi", "wj", "mi", "mj", "k1")
    C.gpu_block("i0", "j0").gpu_thread("wi", "wj").gpu_mma("mi", "mj", "k1")
    with pytest.raises(tw.ScheduleError, match="64 warps of 32 threads"):
        str(f.loops)


def test_threads_beside_tiles_are_along_y_and_z() -> None:
    for first in ("gpu_thread", "gpu_mma"):
        f, C = product("float16")
        C.tile("i", "j", 32, 32).split("i1", 16, "wi", "mi").split("j1", 8, "wj", "mj")
        C.split("k", 16).reorder("i0", "j0", "k0", "wi", "wj", "mi", "mj", "k1")
        C.gpu_block("i0", "j0")
        if first == "gpu_thread":
            C.gpu_thread("wi", "wj").gpu_mma("mi", "mj", "k1")
        else:
            C.gpu_mma("mi", "mj", "k1").gpu_thread("wi", "wj")
        for text in ("gpu_thread_y", "gpu_thread_z", "32 x 4 x 2 threads"):
            assert text in str(f.loops)
    f, C = product("float16")
    C.tile("i", "j", 32, 32).split("i1", 16, "wi", "mi").split("j1", 8, "wj", "mj").split("wi", 1)
    C.split("k", 16).reorder("i0", "j0", "k0", "wi0", "wi1", "wj", "mi", "mj", "k1")
    C.gpu_block("i0", "j0").gpu_mma("mi", "mj", "k1")
    with pytest.raises(tw.ScheduleError, match="at most two loops are over threads"):
        C.gpu_thread("wi0", "wi1", "wj")


@pytest.mark.parametrize("seed", range(16))
def test_random_products(seed: int) -> None:
    """Layouts of the factors, numbers of warps and of tiles, memory, unrolled loops, sizes."""
    choose = random_module.Random(seed)
    kind, depth = choose.choice(CASES)
    N, M, K = tw.params("N M K")
    i, j, k = tw.iters("i j k")
    dtype, numpy_type = TYPES[kind]
    is_left_transposed, is_right_transposed = choose.random() < 0.4, choose.random() < 0.4
    A = tw.input("A", [K, N] if is_left_transposed else [N, K], dtype)
    B = tw.input("B", [M, K] if is_right_transposed else [K, M], dtype)
    left = tw.cast(A[k, i] if is_left_transposed else A[i, k], tw.float32)
    right = tw.cast(B[j, k] if is_right_transposed else B[k, j], tw.float32)
    term = left * right if choose.random() < 0.5 else right * left
    C = tw.computation("C", {i: N, j: M}, tw.sum(term, over={k: K}))
    warps_y, warps_x, each_y, each_x = (choose.choice((1, 1, 2)) for _ in range(4))
    steps = depth * choose.choice((1, 2))
    tiles = (16 * warps_y * each_y, 8 * warps_x * each_x, steps)
    exact = choose.random() < 0.4
    context = [a % b == 0 for a, b in zip((N, M, K), tiles, strict=True)] if exact else []
    f = tw.function("gemm", outputs=[C], target="gpu-emulator", context=context)
    C.tile(i, j, tiles[0], tiles[1]).split(k, steps)
    C.split("i1", 16 * each_y, "wi", "i2").split("i2", 16, "ri", "mi")
    C.split("j1", 8 * each_x, "wj", "j2").split("j2", 8, "rj", "mj").split("k1", depth, "rk", "mk")
    inner = ["rk", "ri", "rj"]
    choose.shuffle(inner)
    C.reorder("i0", "j0", "k0", "wi", "wj", *inner, "mi", "mj", "mk")
    C.gpu_block("i0", "j0").gpu_thread("wi", "wj")
    C.gpu_mma("mi", "mj", "mk", *(["tf32"] if kind == "tf32" else []))
    for loop in inner:
        if choose.random() < 0.7:
            C.unroll(loop)
    own = C.cache(C, "j0", memory=choose.choice(("private", "shared"))) if seed % 3 else C
    for array in "AB":
        if choose.random() < 0.7:
            order = [0, 1] if choose.random() < 0.5 else [1, 0]
            own.cache(array, "k0", memory="shared", order=order)
    sizes = [choose.randint(1, 2) * b if exact else choose.randint(1, 2 * b) for b in tiles]
    n, m, depths = sizes
    a = random(*((depths, n) if is_left_transposed else (n, depths)), dtype=numpy_type)
    b = random(*((m, depths) if is_right_transposed else (depths, m)), dtype=numpy_type)
    wanted = (a.T if is_left_transposed else a).astype(np.float32) @ (
        b.T if is_right_transposed else b
    ).astype(np.float32)
    result = f(A=a, B=b)
    np.testing.assert_array_equal(result, wanted)
    np.testing.assert_array_equal(result, f.evaluate(A=a, B=b))
    assemble(f, architectures(kind, depth))


def test_sums_of_integers_say_what_tensor_cores_sum() -> None:
    N, M, K = tw.params("N M K")
    i, j, k = tw.iters("i j k")
    A, B = tw.input("A", [N, K], tw.int8), tw.input("B", [K, M], tw.int8)
    C = tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))
    f = tw.function("f", outputs=[C], target="gpu-emulator")
    C.tile(i, j, 16, 8).split(k, 16).reorder("i0", "j0", "k0", "i1", "j1", "k1")
    C.gpu_block("i0", "j0").gpu_mma("i1", "j1", "k1")
    with pytest.raises(tw.ScheduleError, match=r"sums products of int8 in int64; tensor cores sum"):
        str(f.ptx)
