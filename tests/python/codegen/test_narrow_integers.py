"""Minima and maxima of int32 numbers with sizes are int32 in vectors: the same values, half the vectors."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw

N, M = tw.params("N M", "N >= 2 and M >= 1")
i = tw.iter("i")
X = tw.input("x", [N], tw.int32)
LIMITS = np.iinfo(np.int32)


def vectorized(value: tw.Expression, dtype: tw.DType = tw.int64) -> tw.Function:
    y = tw.computation("y", {i: N}, tw.cast(value, dtype))
    f = tw.function("f", inputs=[X], outputs=[y], context=[M >= 1])
    y.vectorize(i, 16)
    return f


def wide_steps(f: tw.Function) -> int:
    return len(re.findall(r"@llvm\.s(?:min|max)\.v\d+i64\(", str(f.llvm).split("\ndeclare")[0]))


VALUES = {
    "clamp": lambda x: tw.clamp(x, 0, N - 2),
    "minimum": lambda x: tw.minimum(N - 1, x),
    "of a wide parameter": lambda x: tw.minimum(tw.cast(x, tw.int64), M),
    "twice": lambda x: tw.maximum(tw.minimum(x, N), tw.minimum(x, M)),
    "and a constant": lambda x: tw.maximum(tw.cast(x, tw.int64), -7),
    "and a large constant": lambda x: tw.minimum(tw.cast(x, tw.int64), 2**31 + 5),
    "and then more": lambda x: tw.minimum(x, N - 2) * 3 + tw.minimum(x, N - 2),
    "as a float": lambda x: tw.cast(tw.minimum(x, N - 2), tw.float64),
}
NARROW = {"clamp", "minimum", "of a wide parameter", "twice", "as a float", "and then more"}


@pytest.mark.parametrize("kind", VALUES)
@settings(max_examples=15, deadline=None)
@given(
    x=st.lists(
        st.one_of(
            st.sampled_from([LIMITS.min, LIMITS.min + 1, -1, 0, 1, LIMITS.max - 1, LIMITS.max]),
            st.integers(-50, 50),
        ),
        min_size=2,
        max_size=40,
    ),
    m=st.sampled_from([1, 5, 2**31 - 2, 2**31 - 1, 2**31, 2**31 + 1, 2**40]),
)
def test_values(kind: str, x: list[int], m: int) -> None:
    f = vectorized(VALUES[kind](X[i]))
    data = np.array(x, np.int32)
    more = {"M": m} if "M" in f.parameters else {}
    np.testing.assert_array_equal(f(data, **more), f.evaluate(data, **more))


@pytest.mark.parametrize("kind", sorted(NARROW))
def test_vectors_are_of_int32(kind: str) -> None:
    assert wide_steps(vectorized(VALUES[kind](X[i]))) == 0


def test_a_size_that_may_be_anything_stays_wide() -> None:
    free = tw.param("free")
    y = tw.computation("y", {i: N}, tw.maximum(tw.cast(X[i], tw.int64), free))
    f = tw.function("f", inputs=[X], outputs=[y])
    y.vectorize(i, 16)
    assert wide_steps(f) > 0
    data = np.array([LIMITS.min, 0, LIMITS.max], np.int32)
    for value in (0, 7, 2**31, 2**35):
        np.testing.assert_array_equal(f(data, free=value), np.maximum(data.astype(np.int64), value))


def test_locals_that_are_assigned_again() -> None:
    # The state of a loop is an int64 that begins as an int32.
    last = tw.while_loop(lambda t: t < N, lambda t: t + 2**33, tw.minimum(X[i], N - 2))
    y = tw.computation("y", {i: N}, last)
    f = tw.function("f", inputs=[X], outputs=[y])
    data = np.array([-4, 0, 1, 100, LIMITS.max], np.int32)
    np.testing.assert_array_equal(f(data), f.evaluate(data))


@pytest.mark.parametrize("dtype", [tw.float32, tw.uint8])
def test_an_interpolation_gathers_with_one_offset_for_both_rows(dtype: tw.DType) -> None:
    f = tw.kernels.images.warp_affine(dtype)
    text = str(f.llvm)
    assert not re.search(r"sitofp <\d+ x i64>", text)
    assert wide_steps(f) == 0
