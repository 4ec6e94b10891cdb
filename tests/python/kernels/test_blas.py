"""Linear algebra kernels: values at small and odd sizes, against NumPy and the evaluator."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from levels import LEVELS
from tilewright.kernels import blas, machine

# (N, M, K): one element, smaller than a tile, a tile and its neighbours, several blocks.
SIZES = [(1, 1, 1), (6, 64, 3), (7, 65, 1), (5, 63, 20), (13, 130, 17), (203, 40, 9)]
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


@pytest.mark.parametrize("cpu", LEVELS)
def test_syrk(cpu):
    f = blas.syrk(cpu=cpu)
    for n, k in [(1, 1), (7, 5), (100, 3), (137, 45)]:
        a, before = numbers(n, k), np.full((n, n), 99, np.float32)
        after = f(a, out=before.copy())
        np.testing.assert_array_equal(np.tril(after), np.tril(a @ a.T))
        np.testing.assert_array_equal(np.triu(after, 1), np.triu(before, 1))
        if n < 10:
            np.testing.assert_array_equal(np.tril(f.evaluate(a)), np.tril(a @ a.T))


@pytest.mark.parametrize("cpu", LEVELS)
def test_trmm(cpu):
    f = blas.trmm(cpu=cpu)
    for n, m in [(1, 1), (7, 5), (137, 70)]:
        a, b = numbers(n, n), numbers(n, m)
        expected = np.tril(a) @ b
        a[np.triu_indices(n, 1)] = np.nan  # not read
        np.testing.assert_array_equal(f(a, b), expected)
        if n < 10:
            np.testing.assert_array_equal(f.evaluate(a, b), expected)


@pytest.mark.parametrize("cpu", LEVELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gemv(dtype, cpu):
    f = blas.gemv(tw.as_dtype(dtype), cpu=cpu)
    for n, k in [(1, 1), (8, 16), (9, 17), (37, 45), (3, 200)]:
        a, x = numbers(n, k, dtype=dtype), numbers(k, dtype=dtype)
        np.testing.assert_array_equal(f(a, x), a @ x)
        np.testing.assert_array_equal(f.evaluate(a, x), a @ x)


@pytest.mark.parametrize("cpu", LEVELS)
@pytest.mark.parametrize(
    "size", [(1, 1, 1), (4, 4, 4), (5, 12, 3), (16, 16, 16), (3, 23, 2), (23, 23, 4), (13, 37, 3)]
)
def test_batched_gemm(size, cpu):
    n, m, k = size
    f = blas.batched_gemm(n, m, k, cpu=cpu)
    for count in (1, 3):
        a, b = numbers(count, n, k), numbers(count, k, m)
        np.testing.assert_array_equal(f(a, b), a @ b)
    np.testing.assert_array_equal(f.evaluate(a, b), a @ b)
    with pytest.raises(ValueError, match="A"):
        f(numbers(1, n + 1, k), b)


@pytest.mark.parametrize("dtype", [np.float64, "float64", np.dtype(np.float64), float])
def test_types_as_numpy_spells_them(dtype):
    for kernel in (blas.gemm, blas.gemv, lambda dtype: blas.batched_gemm(2, 2, 2, dtype)):
        signature = kernel(dtype).signature
        assert "float64" in signature and "float32" not in signature


def test_rests_of_small_products_stay_in_registers():
    """Sums are stored behind the loop over k: one vector for each 12 columns of each row."""
    stores = blas.batched_gemm(23, 23, 23, cpu=LEVELS[-1]).llvm.count("store float")
    assert stores == 0


def convolution(x, f):
    """Of images with channels last, by its definition."""
    n, h, w, _ = x.shape
    y = np.zeros((n, h - 2, w - 2, f.shape[3]), x.dtype)
    for dy in range(3):
        for dx in range(3):
            y += x[:, dy : h - 2 + dy, dx : w - 2 + dx] @ f[dy, dx]
    return y


@pytest.mark.parametrize("cpu", LEVELS)
@pytest.mark.parametrize("shape", [(1, 3, 3, 1, 1), (2, 5, 9, 3, 7), (1, 4, 70, 2, 66)])
def test_conv2d(shape, cpu):
    n, h, w, c, o = shape
    x, f = numbers(n, h, w, c), numbers(3, 3, c, o)
    expected = convolution(x, f)
    first = blas.conv2d_nhwc(cpu=cpu)
    np.testing.assert_array_equal(first(x, f), expected)
    x1, f1, expected1 = (
        x.transpose(0, 3, 1, 2),
        f.transpose(3, 2, 0, 1),
        expected.transpose(0, 3, 1, 2),
    )
    second = blas.conv2d_nchw(cpu=cpu, narrow=w < 20)
    np.testing.assert_array_equal(second(x1.copy(), f1.copy()), expected1)
    if x.size < 300:
        np.testing.assert_array_equal(first.evaluate(x, f), expected)
        np.testing.assert_array_equal(second.evaluate(x1.copy(), f1.copy()), expected1)


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
    assert machine.register_tile(tw.float32, "x86-64-v4", narrow=True) == machine.Tile(12, 32, 16)
