"""Products of sums: fused multiply-add where a reduction may be taken in any order, nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from compiled_c import COMPILERS, CompiledC

N, K = tw.params("N K")
i, j, k = tw.iters("i j k")

CPU = tw.function("probe", [tw.computation("P", {i: N}, 1)]).cpu
HAS_FMA = "x86-64-v3" in CPU or "x86-64-v4" in CPU
needs_fma = pytest.mark.skipif(not HAS_FMA, reason="this processor has no fused multiply-add")

SMALL = {tw.float64: 2.0**-30, tw.float32: 2.0**-13}


def terms(dtype: tw.DType, columns: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """-1 * 1 + (1 + e) * (1 - e), which is -e * e, or 0 if the product is rounded first."""
    e = SMALL[dtype]
    a = np.array([-1, 1 + e], dtype.dtype)
    b = np.repeat(np.array([[1], [1 - e]], dtype.dtype), columns, axis=1)
    return a, np.ascontiguousarray(b)


def product(dtype: tw.DType, **options: object) -> tw.Function:
    A = tw.input("A", [K], dtype)
    B = tw.input("B", [K, N], dtype)
    C = tw.computation("C", {i: N}, tw.sum(A[k] * B[k, i], over={k: K}))
    return tw.function("product", [C], **options)


@needs_fma
@pytest.mark.parametrize("dtype", SMALL)
@pytest.mark.parametrize("columns", [1, 5, 64])
def test_the_product_of_a_sum_is_not_rounded(dtype: tw.DType, columns: int) -> None:
    a, b = terms(dtype, columns)
    result = product(dtype)(a, b)
    assert np.array_equal(result, np.full(columns, -(SMALL[dtype] ** 2), dtype.dtype))


@needs_fma
@pytest.mark.parametrize(
    "schedule",
    [
        lambda C: C.vectorize("i", 4),
        lambda C: C.tile("i", "k", 2, 2),
        lambda C: C.interchange("i", "k").vectorize("i", 8),
        lambda C: C.split("i", 8).unroll("i1"),
        lambda C: C.parallelize("i"),
    ],
)
def test_by_any_schedule(schedule: object) -> None:
    a, b = terms(tw.float64, 19)
    f = product(tw.float64)
    schedule(f["C"])
    assert np.array_equal(f(a, b), np.full(19, -(SMALL[tw.float64] ** 2)))


@needs_fma
def test_within_an_expression() -> None:
    a, b = terms(tw.float64)
    A = tw.input("A", [K], tw.float64)
    B = tw.input("B", [K, N], tw.float64)
    C = tw.computation("C", {i: N}, tw.exp(tw.sum(A[k] * B[k, i], over={k: K})) * 2 - 2)
    assert tw.function("inside", [C])(a, b) == 0  # exp(-2**-60) is 1
    D = tw.computation("D", {i: N}, tw.sum(A[k] * B[k, i], over={k: K}) < 0)
    assert tw.function("sign", [D])(a, b).all()


@pytest.mark.parametrize("dtype", SMALL)
def test_processors_without_it_round(dtype: tw.DType) -> None:
    if "x86-64" not in CPU:
        pytest.skip("the levels are those of x86")
    a, b = terms(dtype, 5)
    assert np.array_equal(product(dtype, cpu="x86-64-v2")(a, b), np.zeros(5, dtype.dtype))


def test_all_else_rounds() -> None:
    a, b = terms(tw.float64)
    A = tw.input("A", [2], tw.float64)
    B = tw.input("B", [2, N], tw.float64)
    ordered = tw.sum(A[k] * B[k, i], over={k: 2}, ordered=True)
    fold = tw.fold(lambda s, x: s + x, 0.0, A[k] * B[k, i], over={k: 2})
    plain = A[0] * B[0, i] + A[1] * B[1, i]
    for name, value in {"ordered": ordered, "fold": fold, "plain": plain}.items():
        f = tw.function(name, [tw.computation("C", {i: N}, value)])
        assert f(a, b)[0] == 0.0, name


def test_float16_rounds_each_step() -> None:
    A = tw.input("A", [K], tw.float16)
    C = tw.computation("C", {}, tw.sum(A[k] * A[k], over={k: K}))
    values = np.array([1 + 2.0**-10, 2.0**-5], np.float16)
    assert tw.function("half", [C])(values) == tw.function("half", [C]).evaluate(values)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("columns", [1, 7])
def test_c_source_has_the_same_bits(compiler: str, columns: int, tmp_path: object) -> None:
    rng = np.random.default_rng(3)
    f = product(tw.float64)
    f["C"].interchange("i", "k")
    a, b = rng.standard_normal(40), rng.standard_normal((40, columns))
    assert ("fma(" in f.c) == HAS_FMA
    (result,), status = CompiledC(f, tmp_path, compiler)(A=a, B=b)
    assert status == 0
    assert np.array_equal(result, f(a, b))


def test_c_source_for_processors_without_it() -> None:
    if "x86-64" not in CPU:
        pytest.skip("the levels are those of x86")
    f = product(tw.float64, cpu="x86-64")
    assert "fma" not in f.c
    assert "-mfma" not in f.c


def test_threads_of_a_gpu() -> None:
    a, b = terms(tw.float32, 70)
    f = product(tw.float32, target="gpu-emulator")
    f["C"].gpu("i")
    assert np.array_equal(f(a, b), np.full(70, -(SMALL[tw.float32] ** 2), np.float32))
