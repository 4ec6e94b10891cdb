"""Default schedules of elements of several channels: one loop over pixels and channels, in vectors."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

N, C, R = tw.params("N C R")
n, c, r = tw.iters("n c r")


@pytest.mark.parametrize("channels", [2, 3, 4, 5, 7, 8, 12])
@pytest.mark.parametrize("dtype", [tw.float32, tw.float64, tw.int16], ids=lambda dtype: dtype.name)
def test_sums_of_channels_have_vectors_over_pixels(channels, dtype):
    """Of a filter of each channel, and whole pixels in a block of vectors."""
    x, h = tw.input("x", [N, channels], dtype), tw.input("h", [R], dtype)
    value = tw.sum(h[r] * x[n + r, c], over={r: R})
    y = tw.computation("y", {n: N - R + 1, c: channels}, value)
    f = tw.function("f", outputs=[y])
    text = str(f.default_schedule)
    lanes = {"float32": 16, "float64": 8, "int16": 32}[dtype.name]
    if channels < 8 or dtype is tw.float32:
        assert 'join("n", "c", "nc")' in text
    if 'join("n"' in text and np.lcm(channels, lanes) // lanes <= 6:
        assert 'reorder("nc0", "r", "nc10", "nc11")' in text
    draw = np.random.default_rng(channels)
    for rows, terms in ((1, 1), (9, 4), (40, 3), (130, 64)):
        a = draw.integers(-9, 9, (rows, channels)).astype(dtype.name)
        b = draw.integers(-9, 9, terms).astype(dtype.name)
        windows = np.lib.stride_tricks.sliding_window_view(a, terms, axis=0)
        np.testing.assert_array_equal(f(h=b, x=a), (windows * b).sum(axis=-1, dtype=a.dtype))
