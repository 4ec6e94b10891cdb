"""Sums in blocks of terms whose rows begin and end among the terms: values at sizes around the blocks."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")


@pytest.mark.parametrize("dtype", [tw.int32, tw.float32])
@pytest.mark.parametrize("transposed", [False, True])
def test_products_with_something_behind_them(dtype, transposed):
    a = tw.input("A", [N, K], dtype)
    b = tw.input("B", [M, K] if transposed else [K, M], dtype)
    v = tw.input("v", [M], dtype)
    product = tw.sum(a[i, k] * (b[j, k] if transposed else b[k, j]), over={k: K})
    c = tw.computation("C", {i: N, j: M}, tw.maximum(product + v[j], 0))
    d = tw.computation("D", {i: N}, tw.sum(c[i, j], over={j: M}))
    f = tw.function("f", outputs=[c, d], inputs=[a, b, v])
    generator = np.random.default_rng(7)

    def integers(*shape: int) -> np.ndarray:
        return generator.integers(-3, 4, shape).astype(dtype.name)

    for n, m, terms in [(65, 70, 0), (65, 70, 1), (1, 1, 600), (130, 33, 256), (9, 64, 257),
                        (40, 31, 513), (64, 64, 100), (0, 5, 300), (5, 0, 300)]:  # fmt: skip
        x, y, z = integers(n, terms), integers(terms, m), integers(m)
        expected = np.maximum(x @ y + z, 0)
        got = f(x, np.ascontiguousarray(y.T) if transposed else y, z)
        np.testing.assert_array_equal(got[0], expected)
        np.testing.assert_array_equal(got[1], expected.sum(1))


def test_the_rows_begin_in_the_first_block():
    a, b = tw.input("A", [N, K], tw.float32), tw.input("B", [K, M], tw.float32)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    f = tw.function("f", outputs=[c])
    one = f.passes()["fuse_block_ends"]
    assert one.changed and "if k0 == 0:" in str(one.loops)
