"""Filters that give one element for each one that is pushed, and windows over the latest elements."""

from __future__ import annotations

import tilewright as tw

from ..language.expressions import DTypeLike
from .dsp_parts import Channels, number_type, positive, real_type

__all__ = [
    "autocorrelation",
    "biquads",
    "filter_bank",
    "fir",
    "iir",
    "lms",
    "max_filter",
    "moving_statistics",
]


def fir(
    dtype: DTypeLike = tw.float32, channels: int | tw.Parameter | None = None
) -> tw.StreamFunction:
    """A filter with a finite impulse response h::

        y[n] = h[0] * x[n] + h[1] * x[n - 1] + ... + h[R - 1] * x[n - R + 1]

    with zeros before x[0]. The values are those of ``scipy.signal.lfilter(h, 1, x)``.

    Args:
        dtype: of x, h and y: float32, float64, complex64 or complex128.
        channels: how many, a number or a parameter; without, elements are numbers.

    Returns:
        ``fir(x[, channels]) -> y[, channels]``, with ``h: [R]``.
    """
    found, each = number_type(dtype), Channels(channels)
    n, r = tw.iters("n r")
    taps = tw.param("R")
    x, h = tw.stream("x", found, each.shape), tw.input("h", [taps], found)
    product = h[r] * x[each.at(n - r)]
    total = tw.sum(product, over={r: taps}, where=n - r >= 0)
    y = tw.computation("y", {n: tw.forever, **each.ranges}, total)
    return tw.stream_function("fir", outputs=[y])


def iir(
    dtype: DTypeLike = tw.float64, channels: int | tw.Parameter | None = None
) -> tw.StreamFunction:
    """A recursive filter in direct form, of numerator b and denominator a::

        y[n] = b[0] * x[n] + ... + b[R - 1] * x[n - R + 1] - a[1] * y[n - 1] - ... - a[S - 1] * y[n - S + 1]

    with zeros before n = 0. a[0] counts as 1. The values are those of ``scipy.signal.lfilter(b, a, x)``, which
    adds up in another order.

    Args:
        dtype: of everything: float32, float64, complex64 or complex128.
        channels: how many, a number or a parameter; without, elements are numbers.

    Returns:
        ``iir(x[, channels]) -> y[, channels]``, with ``b: [R]`` and ``a: [S]``.
    """
    found, each = number_type(dtype), Channels(channels)
    n, r, s = tw.iters("n r s")
    zeros, poles = tw.params("R S")
    x = tw.stream("x", found, each.shape)
    b, a = tw.input("b", [zeros], found), tw.input("a", [poles], found)
    ahead = tw.computation(
        "ahead",
        {n: tw.forever, **each.ranges},
        tw.sum(b[r] * x[each.at(n - r)], over={r: zeros}, where=n - r >= 0),
    )
    y = tw.computation("y", {n: tw.forever, **each.ranges}, dtype=found)
    back = tw.sum(a[s] * y[each.at(n - s)], over={s: poles}, where=(s >= 1) & (n - s >= 0))
    y.define(None, ahead[each.at(n)] - back)
    return tw.stream_function("iir", outputs=[y])


def biquads(
    dtype: DTypeLike = tw.float64, channels: int | tw.Parameter | None = None
) -> tw.StreamFunction:
    """A cascade of S recursive filters of order two, ``sos`` as SciPy has them: a row b0, b1, b2, a0, a1, a2 for each
    section, of which a0 counts as 1::

        w[n, 0] = x[n]
        w[n, s + 1] = b2 * w[n - 2, s] + b1 * w[n - 1, s] - a2 * w[n - 2, s + 1] - a1 * w[n - 1, s + 1] + b0 * w[n, s]
        y[n] = w[n, S]

    with zeros before n = 0. What is known last is added last: the next element waits for little, and so does the next
    section.
    The values are those of ``scipy.signal.sosfilt(sos, x)``, which adds up in another order.

    Args:
        dtype: of everything: float32 or float64.
        channels: how many, a number or a parameter; without, elements are numbers.

    Returns:
        ``biquads(x[, channels]) -> y[, channels]``, with ``sos: [S, 6]``.
    """
    found, each = real_type(dtype), Channels(channels)
    n, s = tw.iters("n s")
    sections = tw.param("S", minimum=1)
    x, sos = tw.stream("x", found, each.shape), tw.input("sos", [sections, 6], found)
    w = tw.computation("w", {n: tw.forever, s: sections + 1, **each.ranges}, dtype=found)

    def section(order: int) -> tw.Expression:
        """The terms that there are when so many elements lie before n."""
        newest = sos[s - 1, 0] * w[each.at(n, s - 1)]
        if order == 0:
            return newest
        total = sos[s - 1, order] * w[each.at(n - order, s - 1)]
        for k in range(order - 1, 0, -1):
            total = total + sos[s - 1, k] * w[each.at(n - k, s - 1)]
        for k in range(order, 0, -1):
            total = total - sos[s - 1, 3 + k] * w[each.at(n - k, s)]
        return total + newest

    w.define(s == 0, x[each.at(n)])
    w.define((s > 0) & (n == 0), section(0))
    w.define((s > 0) & (n == 1), section(1))
    w.define((s > 0) & (n >= 2), section(2))
    y = tw.computation("y", {n: tw.forever, **each.ranges}, w[each.at(n, sections)])
    return tw.stream_function("biquads", outputs=[y])


def filter_bank(
    dtype: DTypeLike = tw.float32, channels: int | tw.Parameter | None = None
) -> tw.StreamFunction:
    """K filters with finite impulse responses, all of the same input::

        y[n, k] = h[k, 0] * x[n] + h[k, 1] * x[n - 1] + ... + h[k, R - 1] * x[n - R + 1]

    with zeros before x[0].

    Args:
        dtype: of x, h and y: float32, float64, complex64 or complex128.
        channels: how many, a number or a parameter; without, elements are numbers.

    Returns:
        ``filter_bank(x[, channels]) -> y[, K, channels]``, with ``h: [K, R]``.
    """
    found, each = number_type(dtype), Channels(channels)
    n, k, r = tw.iters("n k r")
    bands, taps = tw.params("K R")
    x, h = tw.stream("x", found, each.shape), tw.input("h", [bands, taps], found)
    product = h[k, r] * x[each.at(n - r)]
    total = tw.sum(product, over={r: taps}, where=n - r >= 0)
    y = tw.computation("y", {n: tw.forever, k: bands, **each.ranges}, total)
    return tw.stream_function("filter_bank", outputs=[y])


def max_filter(
    dtype: DTypeLike = tw.float32, channels: int | tw.Parameter | None = None
) -> tw.StreamFunction:
    """The largest of the latest R elements, or of all while there are fewer::

        y[n] = max(x[n], x[n - 1], ..., x[n - R + 1])

    Args:
        dtype: of x and y: any real type.
        channels: how many, a number or a parameter; without, elements are numbers.

    Returns:
        ``max_filter(x[, channels]) -> y[, channels]``, with the size ``R=``.
    """
    each = Channels(channels)
    n, r = tw.iters("n r")
    window = tw.param("R", minimum=1)
    x = tw.stream("x", dtype, each.shape)
    largest = tw.max(x[each.at(n - r)], over={r: window}, where=n - r >= 0)
    y = tw.computation("y", {n: tw.forever, **each.ranges}, largest)
    return tw.stream_function("max_filter", outputs=[y])


def moving_statistics(
    dtype: DTypeLike = tw.float64, channels: int | tw.Parameter | None = None
) -> tw.StreamFunction:
    """Mean and variance of the latest R elements, or of all while there are fewer. With W = min(n + 1, R)::

        mean[n] = (x[n] + x[n - 1] + ... + x[n - W + 1]) / W
        variance[n] = ((x[n] - mean[n]) ** 2 + ... + (x[n - W + 1] - mean[n]) ** 2) / W

    The variance is that of ``numpy.var``: it is taken about the mean, so that nothing cancels and no error is
    carried on.

    Args:
        dtype: of everything: float32 or float64.
        channels: how many, a number or a parameter; without, elements are numbers.

    Returns:
        ``moving_statistics(x[, channels]) -> mean[, channels], variance[, channels]``, with the size ``R=``.
    """
    found, each = real_type(dtype), Channels(channels)
    n, r = tw.iters("n r")
    window = tw.param("R", minimum=1)
    x = tw.stream("x", found, each.shape)
    latest = x[each.at(n - r)]
    number = tw.cast(tw.minimum(n + 1, window), found)
    domain = {n: tw.forever, **each.ranges}
    total = tw.sum(latest, over={r: window}, where=n - r >= 0)
    mean = tw.computation("mean", domain, total / number)
    square = tw.square(latest - mean[each.at(n)])
    squares = tw.sum(square, over={r: window}, where=n - r >= 0)
    variance = tw.computation("variance", domain, squares / number)
    return tw.stream_function("moving_statistics", outputs=[mean, variance])


def autocorrelation(
    dtype: DTypeLike = tw.float32, hop: int = 64, channels: int | tw.Parameter | None = None
) -> tw.StreamFunction:
    """The short-time autocorrelation at lags below L, of windows of R elements that begin every `hop` elements::

        y[m, l] = x[hop * m] * x[hop * m + l] + ... + x[hop * m + R - 1] * x[hop * m + R - 1 + l]

    Args:
        dtype: of x and y: float32 or float64.
        hop: from one window to the next.
        channels: how many, a number or a parameter; without, elements are numbers.

    Returns:
        ``autocorrelation(x[, channels]) -> y[, L, channels]``, with the sizes ``R=`` and ``L=``.
    """
    found, each = real_type(dtype), Channels(channels)
    step = positive(hop, "hop")
    m, l, r = tw.iters("m l r")
    window, lags = tw.params("R L", minimum=1)
    x = tw.stream("x", found, each.shape)
    product = x[each.at(step * m + r)] * x[each.at(step * m + r + l)]
    domain = {m: tw.forever, l: lags, **each.ranges}
    y = tw.computation("y", domain, tw.sum(product, over={r: window}))
    return tw.stream_function("autocorrelation", outputs=[y])


def lms(dtype: DTypeLike = tw.float64) -> tw.StreamFunction:
    """An adaptive filter of R weights by least mean squares (Widrow and Hoff): it learns to make d of x::

        y[n] = w[n, 0] * x[n] + ... + w[n, R - 1] * x[n - R + 1]
        e[n] = d[n] - y[n]
        w[n + 1, r] = w[n, r] + mu * e[n] * x[n - r]

    with zeros before n = 0, and weights that begin with 0.

    Args:
        dtype: of everything: float32 or float64.

    Returns:
        ``lms(x, d) -> y, e``, with ``mu: []`` and the size ``R=``.
    """
    found = real_type(dtype)
    n, r = tw.iters("n r")
    taps = tw.param("R", minimum=1)
    x, d = tw.stream("x", found), tw.stream("d", found)
    mu = tw.input("mu", [], found)
    w = tw.computation("w", {n: tw.forever, r: taps}, dtype=found)
    y = tw.computation(
        "y", {n: tw.forever}, tw.sum(w[n, r] * x[n - r], over={r: taps}, where=n - r >= 0)
    )
    e = tw.computation("e", {n: tw.forever}, d[n] - y[n])
    w.define(n == 0, 0)
    w.define((n > 0) & (n - 1 - r < 0), w[n - 1, r])
    w.define((n > 0) & (n - 1 - r >= 0), w[n - 1, r] + mu[()] * e[n - 1] * x[n - 1 - r])
    return tw.stream_function("lms", outputs=[y, e])
