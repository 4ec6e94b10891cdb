"""`periodic` takes what a stream function without it takes: pieces that nothing connects, and recurrences that
run down a finite dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

n, i, j = tw.iters("n i j")
(D,) = tw.params("D")
FOREVER = tw.forever
x, a, b, c = (tw.stream(name, tw.float64) for name in "xabc")


def first_is_zero() -> Any:
    return tw.computation("y", {n: FOREVER}, [(n == 0, 0.0), (n > 0, x[n])])


def delayed() -> Any:
    return tw.computation("y", {n: FOREVER}, [(n < D, 0.0), (n >= D, x[n - D])])


def interleaved() -> Any:
    pieces = [(n % 3 == k, one[n // 3]) for k, one in enumerate((a, b, c))]
    return tw.computation("y", {n: FOREVER}, pieces)


def downwards() -> Any:
    f = tw.computation("f", {n: FOREVER, i: 4}, dtype=tw.float64)
    f.define(i == 3, x[n])
    f.define(i < 3, 0.5 * f[n, i + 1] + 1.0)
    return tw.computation("y", {n: FOREVER}, f[n, 0])


def down_and_up() -> Any:
    f = tw.computation("f", {n: FOREVER, i: 4, j: 3}, dtype=tw.float64)
    f.define((i == 3) & (j == 0), x[n])
    f.define((i == 3) & (j > 0), f[n, i, j - 1] * 0.5)
    f.define(i < 3, 0.5 * f[n, i + 1, j] + 1.0)
    return tw.computation("y", {n: FOREVER}, f[n, 0, 2])


@pytest.mark.parametrize("latency", [1, 31])
@pytest.mark.parametrize(
    "make", [first_is_zero, delayed, interleaved, downwards, down_and_up], ids=lambda f: f.__name__
)
def test_the_same_comes_out_later(make: Any, latency: int) -> None:
    plain, later = (tw.stream_function("f", outputs=[make()]) for _ in range(2))
    later.periodic(latency=latency)
    given = {"D": 3} if make is delayed else {}
    chunks = np.random.default_rng(3).standard_normal((len(plain.inputs), 99))
    expected = plain.stream(**given).push(*chunks)
    s = later.stream(**given)
    found = [s.push(*chunks[:, :40]), s.push(*chunks[:, 40:]), s.flush()]
    np.testing.assert_array_equal(np.concatenate(found)[: len(expected)], expected)


@pytest.mark.parametrize(
    ("time", "reason"),
    [
        (30000 * n, "more than 20000 elements of x for each of its own"),
        (n // 70000, r"about 1\.42857e-05, which is no fraction with a denominator up to 65536"),
        (n * n, "at times that are not affine"),
    ],
)
def test_rates_beyond_the_limits_are_named(time: Any, reason: str) -> None:
    with pytest.raises(tw.DeclarationError, match=reason):
        tw.stream_function("f", outputs=[tw.computation("y", {n: FOREVER}, x[time])])
