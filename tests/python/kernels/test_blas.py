"""Linear algebra kernels: values at small and odd sizes, against NumPy and the evaluator."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.kernels import blas, machine

# (N, M, K): one element, smaller than a tile, a tile and its neighbours, several blocks.
SIZES = [(1, 1, 1), (6, 64, 3), (7, 65, 1), (5, 63, 20), (13, 130, 17), (203, 40, 9)]
# The levels of processors that this one runs.
LEVELS = {16: ["x86-64"], 32: ["x86-64", "x86-64-v3"], 64: ["x86-64", "x86-64-v3", "x86-64-v4"]}[
    machine.vector_bytes()
]
GENERATOR = np.random.default_rng(0)


def numbers(*shape, dtype=np.float32):
    """Small integers, so that every order of a sum gives the same."""
    return GENERATOR.integers(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize("cpu", LEVELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gemm(dtype, cpu):
    f = blas.gemm(tw.as_dtype(dtype), cpu=cpu)
    for n, m, k in SIZES:
        a, b = numbers(n, k, dtype=dtype), numbers(k, m, dtype=dtype)
        np.testing.assert_array_equal(f(a, b), a @ b)
        if n * m * k < 4000:
            np.testing.assert_array_equal(f.evaluate(a, b), a @ b)


def test_gemm_of_views():
    f = blas.gemm()
    a, b = numbers(40, 30), numbers(50, 60)
    c = np.zeros((80, 40), np.float32)
    left, right, out = a[::2, ::-1], b[:30, ::3], c[::4, 1::2]
    f(left, right, out=out)
    np.testing.assert_array_equal(out, left @ right)
    assert not c[1::4].any() and not c[:, ::2].any()
    np.testing.assert_array_equal(f(b[:30].T, a.T), b[:30].T @ a.T)


def test_gemm_without_elements():
    f = blas.gemm()
    assert f(np.zeros((0, 3), np.float32), np.zeros((3, 4), np.float32)).shape == (0, 4)
    np.testing.assert_array_equal(
        f(np.zeros((2, 0), np.float32), np.zeros((0, 4), np.float32)), np.zeros((2, 4))
    )


@pytest.mark.parametrize("cpu", LEVELS)
def test_gemm_relu(cpu):
    f = blas.gemm_relu(cpu=cpu)
    for n, m, k in SIZES:
        a, b, bias = numbers(n, k), numbers(k, m), numbers(m)
        expected = np.maximum(a @ b + bias, 0)
        np.testing.assert_array_equal(f(a, b, bias), expected)
        if n * m * k < 4000:
            np.testing.assert_array_equal(f.evaluate(a, b, bias), expected)


def test_the_same_on_one_thread_and_on_two():
    f = blas.gemm()
    a, b = numbers(200, 70), numbers(70, 300)
    threads = tw.get_num_threads()
    try:
        for count in (1, 2):
            tw.set_num_threads(count)
            np.testing.assert_array_equal(f(a, b), a @ b)
    finally:
        tw.set_num_threads(threads)


def test_sums_stay_in_registers():
    f = blas.gemm(cpu="x86-64-v3")
    assert "alloca <" not in f.llvm
    assert f.llvm.count("llvm.fma") or f.llvm.count("fmul")


def test_the_vectors_of_this_processor():
    assert machine.vector_bytes() in (16, 32, 64)
    assert machine.vector_bytes("x86-64-v4") == 64 and machine.vector_bytes("x86-64") == 16
    assert machine.register_tile(tw.float32, "x86-64-v4") == machine.Tile(6, 64, 16)
    assert machine.register_tile(tw.float64, "x86-64-v3") == machine.Tile(6, 8, 4)
