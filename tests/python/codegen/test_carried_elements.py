"""Recurrences whose last elements stay in registers: the same values as by definition, whatever is read of which
iteration."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tilewright as tw

n, s, j = tw.iters("n s j")


@pytest.mark.parametrize("seed", range(24))
def test_random_recurrences(seed: int) -> None:
    """One or two rows of integers, each of which reads earlier elements of both, some of them under conditions."""
    r = random.Random(seed)
    size = tw.param("N", "N >= 0")
    rows = r.randint(1, 3)
    x = tw.input("x", [size, rows], tw.int64)
    longest = r.randint(1, 6)

    def value(w: tw.Computation) -> list[tuple[tw.Expression, tw.Expression]]:
        total = x[n, s] + n
        for _ in range(r.randint(1, 4)):
            row = s if r.random() < 0.7 else r.randrange(rows)
            read = w[n - r.randint(1, longest), row]
            if r.random() < 0.3:
                read = tw.select(x[n, s] > r.randint(-3, 3), read, r.randint(-5, 5))
            total = total - read if r.random() < 0.5 else total + r.randint(-2, 2) * read
        if r.random() < 0.5:
            total = tw.select(s > 0, total + w[n, tw.maximum(s - 1, 0)], total)
        return [(n < longest, x[n, s]), (n >= longest, total % 1001)]

    w = tw.computation("w", {n: size, s: rows}, value, dtype=tw.int64)
    f = tw.function("random", outputs=[w])
    for length in (0, 1, longest, longest + 1, 40):
        given = np.random.default_rng(length).integers(-9, 9, (length, rows))
        np.testing.assert_array_equal(f(given), f.evaluate(given))


@pytest.mark.parametrize("dtype", [tw.float16, tw.float32, tw.float64, tw.complex64, tw.uint8])
@pytest.mark.parametrize("channels", [1, 8, 16])
def test_a_cascade(dtype: tw.DType, channels: int) -> None:
    """Sections of second order: written out, side by side in the lanes of channels."""
    size, c = tw.param("N", "N >= 2"), tw.iter("c")
    x = tw.input("x", [size, channels], dtype)

    def section(w: tw.Computation) -> list[tuple[tw.Expression, tw.Expression]]:
        late = w[n, s - 1, c] + w[n - 2, s - 1, c] - w[n - 1, s, c] - w[n - 2, s, c]
        return [(s == 0, x[n, c]), ((s > 0) & (n < 2), x[n, c]), ((s > 0) & (n >= 2), late)]

    w = tw.computation("w", {n: size, s: 4, c: channels}, section, dtype=dtype)
    f = tw.function("cascade", outputs=[w])
    given = np.random.default_rng(channels).integers(-2, 3, (23, channels)).astype(dtype.dtype)
    np.testing.assert_array_equal(f(given), f.evaluate(given))


def test_a_diagonal() -> None:
    size = tw.param("N", "N >= 1")
    a = tw.input("a", [size, size], tw.int64)
    w = tw.computation(
        "w",
        {n: size, j: size},
        lambda w: [
            ((n < 2) | (j < 2), a[n, j]),
            ((n >= 2) & (j >= 2), w[n - 2, j - 2] + w[n - 1, j - 1] + a[n, j]),
        ],
        dtype=tw.int64,
    )
    f = tw.function("diagonal", outputs=[w])
    f["w"].skew(n, j, 1).interchange(n, j)
    given = np.arange(49).reshape(7, 7)
    np.testing.assert_array_equal(f(given), f.evaluate(given))
