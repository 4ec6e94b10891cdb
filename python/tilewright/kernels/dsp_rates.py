"""Kernels that change the rate: resampling by L/M, decimation, cascades of integrators and combs."""

from __future__ import annotations

import tilewright as tw

from ..language.expressions import DTypeLike
from .dsp_parts import Channels, number_type, positive

__all__ = ["cic", "decimator", "resampler"]


def resampler(
    up: int = 3,
    down: int = 2,
    dtype: DTypeLike = tw.float32,
    channels: int | tw.Parameter | None = None,
) -> tw.StreamFunction:
    """Resampling by up/down with a filter h: `up - 1` zeros behind each element, the filter, and each `down`-th of what
    it gives. Zeros are not multiplied (the polyphase form)::

        y[m] = sum over r of h[up * r + (down * m) % up] * x[down * m // up - r]

    with zeros before x[0]. The values are those of ``scipy.signal.upfirdn(h, x, up, down)``.

    Args:
        up: `up` elements of y for `down` of x; at most 65536.
        down: see there.
        dtype: of x, h and y: float32, float64, complex64 or complex128.
        channels: how many, a number or a parameter; without, elements are numbers.

    Returns:
        ``resampler(x[, channels]) -> y[, channels]``, with ``h: [R]``.
    """
    found, each = number_type(dtype), Channels(channels)
    more, fewer = positive(up, "up"), positive(down, "down")
    m, r = tw.iters("m r")
    taps = tw.param("R")
    x, h = tw.stream("x", found, each.shape), tw.input("h", [taps], found)
    tap, time = more * r + (fewer * m) % more, fewer * m // more - r
    total = tw.sum(
        h[tap] * x[each.at(time)],
        over={r: (taps + more - 1) // more},
        where=(tap < taps) & (time >= 0),
    )
    y = tw.computation("y", {m: tw.forever, **each.ranges}, total)
    return tw.stream_function("resampler", outputs=[y])


def decimator(
    factor: int = 2, dtype: DTypeLike = tw.float32, channels: int | tw.Parameter | None = None
) -> tw.StreamFunction:
    """Each `factor`-th element of a filter with the finite impulse response h; the others are not computed::

        y[m] = h[0] * x[factor * m] + h[1] * x[factor * m - 1] + ... + h[R - 1] * x[factor * m - R + 1]

    with zeros before x[0]. The values are those of ``scipy.signal.upfirdn(h, x, 1, factor)``.

    Args:
        factor: so many elements of x for one of y.
        dtype: of x, h and y: float32, float64, complex64 or complex128.
        channels: how many, a number or a parameter; without, elements are numbers.

    Returns:
        ``decimator(x[, channels]) -> y[, channels]``, with ``h: [R]``.
    """
    found, each = number_type(dtype), Channels(channels)
    step = positive(factor, "factor")
    m, r = tw.iters("m r")
    taps = tw.param("R")
    x, h = tw.stream("x", found, each.shape), tw.input("h", [taps], found)
    product = h[r] * x[each.at(step * m - r)]
    total = tw.sum(product, over={r: taps}, where=step * m - r >= 0)
    y = tw.computation("y", {m: tw.forever, **each.ranges}, total)
    return tw.stream_function("decimator", outputs=[y])


def cic(
    factor: int = 8, stages: int = 3, delay: int = 1, channels: int | tw.Parameter | None = None
) -> tw.StreamFunction:
    """A decimator of integrators and combs (Hogenauer), which multiplies nothing::

        i[n, 0] = x[n]
        i[n, s + 1] = i[n - 1, s + 1] + i[n, s]
        c[m, 0] = i[factor * m, stages]
        c[m, s + 1] = c[m, s] - c[m - delay, s]
        y[m] = c[m, stages]

    with zeros before n = 0. Numbers of 64 bits wrap, and differences of what has wrapped are right as long as y fits.
    The gain is ``(factor * delay) ** stages``.

    Args:
        factor: so many elements of x for one of y.
        stages: integrators, and as many combs.
        delay: of each comb, in elements of y.
        channels: how many, a number or a parameter; without, elements are numbers.

    Returns:
        ``cic(x[, channels]) -> y[, channels]``, of int64.
    """
    each = Channels(channels)
    step, last = positive(factor, "factor"), positive(stages, "stages")
    late = positive(delay, "delay")
    n, m, s = tw.iters("n m s")
    x = tw.stream("x", tw.int64, each.shape)
    added = tw.computation("i", {n: tw.forever, s: last + 1, **each.ranges}, dtype=tw.int64)
    added.define(s == 0, x[each.at(n)])
    added.define((s > 0) & (n == 0), added[each.at(n, s - 1)])
    added.define((s > 0) & (n > 0), added[each.at(n - 1, s)] + added[each.at(n, s - 1)])
    comb = tw.computation("c", {m: tw.forever, s: last + 1, **each.ranges}, dtype=tw.int64)
    before = comb[each.at(m, s - 1)]
    comb.define(s == 0, added[each.at(step * m, last)])
    comb.define((s > 0) & (m < late), before)
    comb.define((s > 0) & (m >= late), before - comb[each.at(m - late, s - 1)])
    y = tw.computation("y", {m: tw.forever, **each.ranges}, comb[each.at(m, last)])
    return tw.stream_function("cic", outputs=[y])
