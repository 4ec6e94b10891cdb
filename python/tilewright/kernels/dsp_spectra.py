"""The short-time Fourier transform and its inverse by overlap-add.

Both are made of the fast Fourier transform as a recurrence over its stages (Cooley and Tukey, decimation in time).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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


class _Row:
    """A part of frames that lies in one of their rows."""

    def __init__(self, frames: tw.Computation, row: int) -> None:
        self._frames, self._row = frames, row

    def __getitem__(self, place: tuple[Any, Any, Any]) -> tw.Expression:
        m, j, k = place
        return self._frames[m, j + self._row, k]


Parts = tuple[tw.Computation | _Row, tw.Computation | _Row]
"""Real and imaginary parts, as arrays of their own: vectors take them as they lie."""


def fourier_stages(first: Parts, size: int, sign: int, dtype: tw.DType) -> Parts:
    """The Fourier transform of frames ``first[m, j, k]``, j = 0 and k < size, as the last of log2(size) stages,
    ``last[m, 0, j]``.

    Stage number t has frequency j of the transform of the 2**t elements k, k + size / 2**t, ... of frame m. It is made
    of two halves of the one before, with the roots of unity ``root[j] = exp(sign * 2j * pi * j / (2 * half))``::

        next[j, k] = stage[j, k] + root[j] * stage[j, k + size / (2 * half)]                        for j < half
        next[j, k] = stage[j - half, k] - root[j - half] * stage[j - half, k + size / (2 * half)]   for the others

    Elements lie side by side along k in the first stages, and along j in the last ones, whichever are more. Real
    and imaginary parts are computations of their own.
    """
    m, j, k = tw.iters("m j k")
    stage, half, turned = first, 1, False
    while half < size:
        apart = size // (2 * half)
        root = _roots(half, sign, dtype)

        def place(of: Any, which: Any, turned: bool = turned) -> tuple[Any, Any, Any]:
            return (m, which, of) if turned else (m, of, which)

        turned = half >= apart
        inner: dict[tw.Iterator, Any] = (
            {k: apart, j: 2 * half} if turned else {j: 2 * half, k: apart}
        )
        made = []
        for part, name in enumerate(("re", "im")):
            one = tw.computation(f"{name}{2 * half}", {m: tw.forever, **inner}, dtype=dtype)
            for of, is_lower in ((j, True), (j - half, False)):
                odd = [each[place(of, k + apart)] for each in stage]
                even, product = stage[part][place(of, k)], _product(root, of, odd)[part]
                one.define(
                    j < half if is_lower else j >= half,
                    even + product if is_lower else even - product,
                )
            made.append(one)
        stage, half = (made[0], made[1]), 2 * half
    return stage


def _product(root: Parts, which: Any, by: Sequence[tw.Expression]) -> Sequence[tw.Expression]:
    """Of complex numbers, in parts."""
    re, im = (each[which] for each in root)
    return re * by[0] - im * by[1], re * by[1] + im * by[0]


def _roots(half: int, sign: int, dtype: tw.DType) -> Parts:
    """Half of the roots of unity of order 2 * half."""
    i = tw.iter("i")
    angle = sign * math.pi / half * tw.cast(i, tw.float64)
    return (
        tw.computation(f"root{2 * half}_re", {i: half}, tw.cast(tw.cos(angle), dtype)),
        tw.computation(f"root{2 * half}_im", {i: half}, tw.cast(tw.sin(angle), dtype)),
    )


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
    # Elements at even and at odd places are the parts of half as many complex numbers.
    windowed = window[2 * k + j] * x[step * m + 2 * k + j]
    frames = tw.computation("frames", {m: tw.forever, j: 2, k: length // 2}, windowed)
    last = fourier_stages((_Row(frames, 0), _Row(frames, 1)), length // 2, -1, found)
    spectrum = tw.computation("X", {m: tw.forever, k: length // 2 + 1}, dtype=complex_type(found))
    re, im = (each[m, 0, 0] for each in last)
    spectrum.define(k == 0, tw.make_complex(re + im, 0))
    spectrum.define(k == length // 2, tw.make_complex(re - im, 0))
    if length > 2:
        spectrum.define((k > 0) & (k < length // 2), _of_halves(last, m, k, length, found))
    return tw.stream_function("stft", outputs=[spectrum])


def _of_halves(
    halves: Parts, m: tw.Iterator, k: tw.Iterator, length: int, dtype: tw.DType
) -> tw.Expression:
    """Frequency k of a real frame, from the transform of the numbers ``x[2 * i] + 1j * x[2 * i + 1]``, which is that
    of the even elements and 1j times that of the odd ones: the transform of what is real is conjugate at the
    other end."""
    mirrored = [
        tw.computation(
            f"{name}_from_the_end",
            {m: tw.forever, k: (1, length // 2)},
            each[m, 0, length // 2 - k],
        )
        for name, each in zip(("re", "im"), halves, strict=True)
    ]
    re, im = (each[m, 0, k] for each in halves)
    other_re, other_im = (each[m, k] for each in mirrored)
    odd = (0.5 * (im + other_im), 0.5 * (other_re - re))
    turned = _product(_roots(length // 2, -1, dtype), k, odd)
    return tw.make_complex(0.5 * (re + other_re) + turned[0], 0.5 * (im - other_im) + turned[1])


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
    whole = []
    for name, part, sign in (("whole_re", tw.real, 1), ("whole_im", tw.imag, -1)):
        one = tw.computation(name, {m: tw.forever, j: 1, k: length}, dtype=found)
        one.define(k <= length // 2, part(spectrum[m, k]))
        one.define(k > length // 2, sign * part(spectrum[m, length - k]))
        whole.append(one)
    last, _ = fourier_stages((whole[0], whole[1]), length, 1, found)
    frame = tw.computation("frame", {m: tw.forever, k: length}, last[m, 0, k] / length)
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
