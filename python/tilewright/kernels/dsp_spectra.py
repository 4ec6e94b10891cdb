"""The short-time Fourier transform and its inverse by overlap-add.

Both are made of the fast Fourier transform as a recurrence over its stages (Cooley and Tukey, decimation in time).
"""

from __future__ import annotations

import math
from typing import Any

import tilewright as tw

from ..language.expressions import DTypeLike
from .dsp_parts import complex_type, positive, real_type

__all__ = ["fourier_stages", "istft", "stft"]


def _sizes(size: int, hop: int) -> tuple[int, int]:
    length, step = positive(size, "size"), positive(hop, "hop")
    if length & (length - 1) or length < 2:
        raise tw.DeclarationError(f"size must be a power of two of at least 2, got {length}")
    if step > length:
        raise tw.DeclarationError(
            f"hop must be at most the size, {length}, so that no element is left out; got {step}"
        )
    return length, step


def fourier_stages(first: tw.Computation, size: int, sign: int, dtype: tw.DType) -> tw.Computation:
    """The Fourier transform of frames ``first[m, j, k]``, j = 0 and k < size, as the last of log2(size) stages.

    ``stage[m, j, k]`` of stage number t is frequency j of the transform of the 2**t elements k, k + size / 2**t, ... of
    frame m. It is made of two halves, with the roots of unity ``root[i] = exp(sign * 2j * pi * i / size)``::

        next[m, j, k] = stage[m, j % half, k] + root[size / (2 * half) * j] * stage[m, j % half, k + size / (2 * half)]
    """
    m, j, k, i = tw.iters("m j k i")
    angle = sign * 2 * math.pi / size * tw.cast(i, tw.float64)
    turn = tw.cast(tw.make_complex(tw.cos(angle), tw.sin(angle)), complex_type(dtype))
    root = tw.computation("root", {i: size}, turn)
    stage, half = first, 1
    while half < size:
        apart = size // (2 * half)
        even, odd = stage[m, j % half, k], stage[m, j % half, k + apart]
        domain: dict[tw.Iterator, Any] = {m: tw.forever, j: 2 * half, k: apart}
        half *= 2
        stage = tw.computation(f"stage{half}", domain, even + root[apart * j] * odd)
    return stage


def stft(size: int = 256, hop: int = 64, dtype: DTypeLike = tw.float32) -> tw.StreamFunction:
    """The spectra of windowed frames of `size` elements that begin every `hop` elements::

        X[m, k] = sum over r < size of window[r] * x[hop * m + r] * exp(-2j * pi * k * r / size)

    for the frequencies k = 0, ..., size / 2. The values are those of ``numpy.fft.rfft`` of each frame, and of
    ``scipy.signal.stft`` without padding, times the sum of the window.

    Args:
        size: of a frame: a power of two.
        hop: from one frame to the next; at most `size`.
        dtype: of x and the window: float32 or float64; X is complex64 or complex128.

    Returns:
        ``stft(x) -> X[, size / 2 + 1]``, with ``window: [size]``.
    """
    length, step = _sizes(size, hop)
    found = real_type(dtype)
    m, j, k = tw.iters("m j k")
    x, window = tw.stream("x", found), tw.input("window", [length], found)
    windowed = tw.cast(window[k] * x[step * m + k], complex_type(found))
    frames = tw.computation("frames", {m: tw.forever, j: 1, k: length}, windowed)
    last = fourier_stages(frames, length, -1, found)
    spectrum = tw.computation("X", {m: tw.forever, k: length // 2 + 1}, last[m, k, 0])
    return tw.stream_function("stft", outputs=[spectrum])


def istft(size: int = 256, hop: int = 64, dtype: DTypeLike = tw.float32) -> tw.StreamFunction:
    """The inverse of `stft` by overlap-add: what is nearest, by least squares, to having these spectra
    (Griffin and Lim). With X[m, size - k] = conj(X[m, k])::

        frame[m, r] = sum over k of X[m, k] * exp(2j * pi * k * r / size) / size
        y[n] = sum over m of window[n - hop * m] * frame[m, n - hop * m]
               / sum over m of window[n - hop * m] ** 2

    Where all windows are 0, or as good as 0 (their sum of squares at most 1e-10), y is the numerator. Of spectra that
    `stft` has made, y is x.

    Args:
        size: of a frame: a power of two.
        hop: from one frame to the next; at most `size`.
        dtype: of y and the window: float32 or float64; X is complex64 or complex128.

    Returns:
        ``istft(X[, size / 2 + 1]) -> y``, with ``window: [size]``.
    """
    length, step = _sizes(size, hop)
    found = real_type(dtype)
    n, m, j, k, q = tw.iters("n m j k q")
    spectrum = tw.stream("X", complex_type(found), [length // 2 + 1])
    window = tw.input("window", [length], found)
    whole = tw.computation("whole", {m: tw.forever, j: 1, k: length}, dtype=complex_type(found))
    whole.define(k <= length // 2, spectrum[m, k])
    whole.define(k > length // 2, tw.conj(spectrum[m, length - k]))
    last = fourier_stages(whole, length, 1, found)
    frame = tw.computation("frame", {m: tw.forever, k: length}, tw.real(last[m, k, 0]) / length)
    # Frame n // hop - q has element n at place r.
    r = n % step + step * q
    covers = (r < length) & (n // step - q >= 0)
    over = {q: (length + step - 1) // step}
    added = tw.computation(
        "added",
        {n: tw.forever},
        tw.sum(window[r] * frame[n // step - q, r], over=over, where=covers),
    )
    weight = tw.computation(
        "weight", {n: tw.forever}, tw.sum(tw.square(window[r]), over=over, where=covers)
    )
    y = tw.computation("y", {n: tw.forever}, added[n] / tw.select(weight[n] > 1e-10, weight[n], 1))
    return tw.stream_function("istft", outputs=[y])
