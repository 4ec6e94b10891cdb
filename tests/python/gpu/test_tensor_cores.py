"""Products on tensor cores (gpu_mma): on the emulator equal to the evaluator and to NumPy, through
the assembler, and refused where there is no such product."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from checks import assemble, barriers

import tilewright as tw

TYPES = {
    "float16": (tw.float16, np.float16),
    "bfloat16": (tw.bfloat16, ml_dtypes.bfloat16),
    "tf32": (tw.float32, np.float32),
}


def random(*shape: int, dtype: object = np.float32) -> np.ndarray:
    """Small integers, of which all sums are exact in float32, in whatever order."""
    values = np.random.default_rng(sum(shape)).integers(-4, 5, shape)
    return values.astype(dtype)  # type: ignore[no-any-return, call-overload]


def product(kind: str, depth: int, epilogue: bool = False) -> tuple[tw.Function, tw.Computation]:
    """C = A @ B with factors of `kind`, unscheduled."""
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
    f = tw.function("gemm", outputs=[outputs], target="gpu-emulator")
    return f, C


def simple(kind: str, depth: int) -> tw.Function:
    """A warp for each tile, operands where they are."""
    f, C = product(kind, depth)
    C.tile("i", "j", 16, 8).split("k", depth).reorder("i0", "j0", "k0", "i1", "j1", "k1")
    C.gpu_block("i0", "j0")
    if kind == "tf32":
        C.gpu_mma("i1", "j1", "k1", "tf32")
    else:
        C.gpu_mma("i1", "j1", "k1")
    return f


def blocked(kind: str, depth: int, tile: int = 64, steps: int = 32) -> tw.Function:
    """Tiles of A and B in shared memory, 2 x 2 warps, 2 x 4 tiles a warp in registers."""
    f, C = product(kind, depth)
    C.tile("i", "j", tile, tile).split("k", steps)
    C.split("i1", tile // 2, "wi", "i2").split("i2", 16, "ri", "mi")
    C.split("j1", tile // 2, "wj", "j2").split("j2", 8, "rj", "mj").split("k1", depth, "rk", "mk")
    C.reorder("i0", "j0", "k0", "wi", "wj", "rk", "ri", "rj", "mi", "mj", "mk")
    C.gpu_block("i0", "j0").gpu_thread("wi", "wj").unroll("ri").unroll("rj").unroll("rk")
    precision = ["tf32"] if kind == "tf32" else []
    C.gpu_mma("mi", "mj", "mk", *precision)
    own = C.cache(C, "j0", memory="private")
    own.cache("A", "k0", memory="shared")
    own.cache("B", "k0", memory="shared")
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
    f = blocked(kind, depth)
    for report in assemble(f, architectures(kind, depth)):
        assert "0 bytes stack frame" in report, report
        assert "0 bytes spill stores" in report, report
