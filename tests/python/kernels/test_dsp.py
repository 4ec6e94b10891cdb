"""The stream kernels give the values of SciPy, or of a plain loop, and the same bits in any cuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import signal

import tilewright as tw
from refusals import raises
from tilewright.kernels import dsp

REALS = [np.float32, np.float64]
Arrays = Sequence[np.ndarray]


def noise(shape: Any, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "i":
        return rng.integers(-1000, 1000, shape, dtype)
    made = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * rng.standard_normal(shape)
    return made.astype(dtype)


def run(k: Any, inputs: Arrays, **given: Any) -> Any:
    """What comes out of whole inputs, which random cuts give, too, bit for bit."""
    whole = k.stream(**given).push(*inputs)
    listed = whole if isinstance(whole, tuple) else (whole,)
    rng = np.random.default_rng(len(inputs[0]))
    units = np.array([k.stream(**given).period[name] for name in k.inputs])
    units //= np.gcd.reduce(units)
    times = len(inputs[0]) // units[0]
    for most in (2, times):
        s, parts, place = k.stream(**given), [], 0
        while place < times:
            length = min(int(rng.integers(0, most + 1)), times - place)
            chunks = [
                one[place * unit : (place + length) * unit]
                for one, unit in zip(inputs, units, strict=True)
            ]
            if place == 0 and length:
                parts.append(s.push(*[chunk[:0] for chunk in chunks]))
            parts.append(s.push(*chunks))
            place += length
        found = zip(*parts, strict=True) if isinstance(whole, tuple) else [parts]
        for pieces, expected in zip(found, listed, strict=True):
            np.testing.assert_array_equal(np.concatenate(pieces), expected)
    return whole


def near(found: np.ndarray, expected: np.ndarray, factor: float = 100) -> None:
    """Up to rounding: by the largest value, for what cancels."""
    assert found.shape == expected.shape
    eps = np.finfo(found.dtype).eps
    scale = max(1.0, float(np.max(np.abs(expected), initial=0)))
    np.testing.assert_allclose(found, expected, rtol=factor * eps, atol=factor * eps * scale)


def by_channels(
    make: Callable[..., Any],
    reference: Callable[[np.ndarray], np.ndarray],
    dtype: Any,
    **given: Any,
) -> None:
    """Without channels, with some, and with a number of channels that the stream is told."""
    x = noise(70, dtype)
    near(run(make(dtype), [x], **given), reference(x))
    x = noise((50, 3), dtype)
    expected = np.stack([reference(x[:, c]) for c in range(3)], axis=-1)
    near(run(make(dtype, channels=3), [x], **given), expected)
    near(run(make(dtype, channels=tw.param("C")), [x], C=3, **given), expected)


# ---- filters ----


@pytest.mark.parametrize("dtype", [*REALS, np.complex64, np.complex128])
def test_fir(dtype: Any) -> None:
    h = noise(9, dtype, 1)
    by_channels(dsp.fir, lambda x: signal.lfilter(h, 1, x), dtype, h=h)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_iir(dtype: Any) -> None:
    b, a = signal.butter(4, 0.3)
    b, a = b.astype(dtype), a.astype(dtype)
    by_channels(dsp.iir, lambda x: signal.lfilter(b, a, x), dtype, b=b, a=a)


@pytest.mark.parametrize("dtype", REALS)
def test_biquads(dtype: Any) -> None:
    sos = signal.butter(6, [0.2, 0.5], "bandpass", output="sos").astype(dtype)
    by_channels(dsp.biquads, lambda x: signal.sosfilt(sos, x), dtype, sos=sos)


def test_one_tap_and_one_element() -> None:
    x = noise(20)
    near(run(dsp.fir(np.float64), [x], h=np.array([2.0])), 2 * x)
    near(run(dsp.fir(np.float64), [x[:1]], h=noise(5)), x[:1] * noise(5)[0])


@pytest.mark.parametrize("dtype", REALS)
def test_filter_bank(dtype: Any) -> None:
    h = noise((4, 7), dtype, 1)
    x = noise(60, dtype)
    expected = np.stack([signal.lfilter(row, 1, x) for row in h], axis=-1)
    near(run(dsp.filter_bank(dtype), [x], h=h), expected)
    near(
        run(dsp.filter_bank(dtype, channels=2), [np.stack([x, 2 * x], -1)], h=h),
        np.stack([expected, 2 * expected], -1),
    )


def latest(x: np.ndarray, length: int) -> list[np.ndarray]:
    return [x[max(0, n - length + 1) : n + 1] for n in range(len(x))]


@pytest.mark.parametrize("dtype", [*REALS, np.int32])
def test_max_filter(dtype: Any) -> None:
    x = noise((40, 2), dtype)
    expected = np.stack([np.max(part, axis=0) for part in latest(x, 6)])
    np.testing.assert_array_equal(run(dsp.max_filter(dtype, channels=2), [x], R=6), expected)
    np.testing.assert_array_equal(run(dsp.max_filter(dtype), [x[:, 0]], R=6), expected[:, 0])


@pytest.mark.parametrize("dtype", REALS)
def test_moving_statistics(dtype: Any) -> None:
    x = noise(50, dtype) + dtype(100)
    mean, variance = run(dsp.moving_statistics(dtype), [x], R=8)
    wide = x.astype(np.float64)
    near(mean, np.array([np.mean(part) for part in latest(wide, 8)]))
    # Of numbers near 100; E[x**2] - E[x]**2 would lose eps * 10**4.
    eps = np.finfo(dtype).eps
    expected = np.array([np.var(part) for part in latest(wide, 8)])
    np.testing.assert_allclose(variance, expected, rtol=1000 * eps, atol=1000 * eps)


def test_autocorrelation() -> None:
    x = noise(100)
    found = run(dsp.autocorrelation(np.float64, hop=7), [x], R=10, L=5)
    expected = [
        [x[m : m + 10] @ x[m + lag : m + lag + 10] for lag in range(5)]
        for m in range(0, 100 - 13, 7)
    ]
    near(found, np.array(expected))


@pytest.mark.parametrize("dtype", REALS)
def test_lms(dtype: Any) -> None:
    """It finds the filter that made d of x; each step beside a plain loop."""
    x = noise(400, dtype)
    h = np.array([0.5, -0.3, 0.2, 0.1], dtype)
    d = signal.lfilter(h, 1, x).astype(dtype)
    y, e = run(dsp.lms(dtype), [x, d], mu=dtype(0.05), R=4)
    weights = np.zeros(4)
    for n in range(400):
        before = np.array([x[n - r] if n >= r else 0 for r in range(4)], np.float64)
        expected = weights @ before
        assert abs(y[n] - expected) < 1e4 * np.finfo(dtype).eps
        weights = weights + 0.05 * (d[n] - expected) * before
    assert np.abs(e[-50:]).max() < 1e-3 < np.abs(e[:20]).max()


# ---- rates ----


@pytest.mark.parametrize(
    ("up", "down"), [(3, 2), (2, 3), (1, 4), (5, 1), (1, 1), (7, 5), (16, 15), (37, 36)]
)
def test_resampler(up: int, down: int) -> None:
    x, h = noise(60), noise(11, seed=1)
    found = run(dsp.resampler(up, down, np.float64), [x], h=h)
    # SciPy leaves out zeros at the end, where the filter has no tap.
    expected = np.concatenate([signal.upfirdn(h, x, up, down), np.zeros(2)])
    near(found, expected[: len(found)])
    assert len(found) == (60 * up + down - 1) // down


def test_resampler_of_channels() -> None:
    x, h = noise((40, 2), np.complex64), noise(8, np.complex64, 1)
    found = run(dsp.resampler(3, 2, np.complex64, channels=2), [x], h=h)
    near(found, signal.upfirdn(h, x, 3, 2, axis=0)[: len(found)])


def test_from_one_sound_card_to_another() -> None:
    """44.1 to 48 kHz: 147 elements become 160."""
    h = signal.firwin(160 * 3, 1 / 160) * 160
    k = dsp.resampler(160, 147, np.float64)
    s = k.stream(h=h)
    assert s.period == {"x": 147, "y": 160}
    x = np.sin(2 * np.pi * 1000 / 44100 * np.arange(1470))
    found = np.concatenate([s.push(part) for part in np.array_split(x, 13)])
    near(found, signal.upfirdn(h, x, 160, 147)[: len(found)])


@pytest.mark.parametrize("factor", [1, 2, 5])
def test_decimator(factor: int) -> None:
    def reference(x: np.ndarray) -> np.ndarray:
        return signal.upfirdn(h, x, 1, factor)[: len(x) // factor]

    h = noise(9, seed=1)
    by_channels(lambda *a, **b: dsp.decimator(factor, *a, **b), reference, np.float64, h=h)


@pytest.mark.parametrize(
    ("factor", "stages", "delay"), [(8, 3, 1), (5, 4, 2), (1, 1, 1), (3, 2, 3)]
)
def test_cic(factor: int, stages: int, delay: int) -> None:
    x = noise(60 * factor, np.int64)
    box = np.ones(factor * delay, np.int64)
    expected = x
    for _ in range(stages):
        expected = np.convolve(expected, box)[: len(x)]
    found = run(dsp.cic(factor, stages, delay), [x])
    np.testing.assert_array_equal(found, expected[::factor])


def test_cic_wraps() -> None:
    """The integrators overflow, and what comes out is right."""
    x = np.full(40000, 2**40, np.int64)
    found = dsp.cic(8, 3, channels=1).stream().push(x[:, None])
    np.testing.assert_array_equal(found[3:], 2**40 * 8**3)


# ---- spectra ----


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize(("size", "hop"), [(16, 4), (32, 32), (8, 3), (2, 1)])
def test_stft(size: int, hop: int, dtype: Any) -> None:
    x, window = noise(6 * size + 3, dtype), signal.get_window("hann", size).astype(dtype)
    found = run(dsp.stft(size, hop, dtype), [x], window=window)
    starts = range(0, len(x) - size + 1, hop)
    expected = np.stack([np.fft.rfft((window * x[m : m + size]).astype(float)) for m in starts])
    near(found, expected)
    if size > 2:
        _, _, theirs = signal.stft(
            x, window=window, nperseg=size, noverlap=size - hop, boundary=None, padded=False
        )
        near(found, theirs.T * window.sum(), 1000)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize(("size", "hop"), [(16, 4), (8, 8), (8, 3)])
def test_istft(size: int, hop: int, dtype: Any) -> None:
    window = (signal.get_window("hann", size) + 0.1).astype(dtype)
    x = noise(12 * size, dtype)
    spectra = dsp.stft(size, hop, dtype).stream(window=window).push(x)
    found = run(dsp.istft(size, hop, dtype), [spectra], window=window)
    near(found, x[: len(found)])
    assert len(found) == len(spectra) * hop


def test_spectra_that_belong_to_no_sound() -> None:
    """What is nearest by least squares, beside SciPy."""
    size, hop = 16, 4
    window = signal.get_window("hann", size)
    spectra = noise((20, size // 2 + 1), np.complex128)
    found = run(dsp.istft(size, hop, np.float64), [spectra], window=window)
    top = np.zeros(hop * 19 + size)
    weight = np.zeros_like(top)
    for m, spectrum in enumerate(spectra):
        top[hop * m : hop * m + size] += window * np.fft.irfft(spectrum, size)
        weight[hop * m : hop * m + size] += window**2
    expected = top / np.where(weight > 1e-10, weight, 1)
    near(found, expected[: len(found)], 1e4)


# ---- delays ----


@pytest.mark.parametrize("dtype", REALS)
def test_echo(dtype: Any) -> None:
    a = np.zeros(13)
    a[0], a[12] = 1, -0.5
    by_channels(dsp.echo, lambda x: signal.lfilter([1], a, x), dtype, gain=dtype(0.5), D=12)


def comb(delay: int, b: float, d: float, a: float) -> tuple[np.ndarray, np.ndarray]:
    """b + d z**-delay over 1 - a z**-delay."""
    top, below = np.zeros(delay + 1), np.zeros(delay + 1)
    top[0], top[delay], below[0], below[delay] = b, d, 1, -a
    return top, below


def test_reverb() -> None:
    combs, passes = (11, 13, 17), (3, 5)
    gain, diffusion = np.array([0.7, 0.6, 0.5]), 0.6
    k = dsp.reverb(combs, passes, np.float64)
    x = noise(120)
    expected = sum(
        signal.lfilter(*comb(delay, 1, 0, g), x) for delay, g in zip(combs, gain, strict=True)
    )
    expected = expected / 3
    for delay in passes:
        expected = signal.lfilter(*comb(delay, -diffusion, 1, diffusion), expected)
    near(run(k, [x], gain=gain, diffusion=diffusion), expected)


def test_feedback_delay_network() -> None:
    delays = (3, 5, 8)
    matrix, b, c, d = noise((3, 3), seed=1) * 0.4, noise(3, seed=2), noise(3, seed=3), 0.3
    x = noise(80)
    lines = np.zeros((80, 3))
    for n in range(80):
        for k, delay in enumerate(delays):
            if n >= delay:
                lines[n, k] = b[k] * x[n - delay] + matrix[k] @ lines[n - delay]
    found = run(dsp.feedback_delay_network(delays, np.float64), [x], A=matrix, b=b, c=c, d=d)
    near(found, d * x + lines @ c)


def test_plucked_string() -> None:
    a = np.zeros(22)
    a[0], a[20], a[21] = 1, -0.99 / 2, -0.99 / 2
    x = np.concatenate([noise(20), np.zeros(180)])
    near(run(dsp.plucked_string(np.float64), [x], gain=0.99, D=20), signal.lfilter([1], a, x))


def test_wave_1d() -> None:
    points, courant, loss = 12, 0.8, 0.01
    force, pickup, x = noise(points, seed=1), noise(points, seed=2), noise(60)
    u = np.zeros((62, points))
    for n in range(2, 62):
        one, two = u[n - 1], u[n - 2]
        bent = courant * (one[:-2] - 2 * one[1:-1] + one[2:])
        inner = slice(1, -1)
        u[n, inner] = 2 * one[inner] - two[inner] + bent - loss * (one[inner] - two[inner])
        u[n, inner] += force[inner] * x[n - 2]
    given = {"force": force, "pickup": pickup, "courant": courant, "loss": loss}
    near(run(dsp.wave_1d(), [x], **given), u[2:] @ pickup, 1e4)


def test_wave_2d() -> None:
    rows, columns, courant, loss = 6, 7, 0.4, 0.02
    force, pickup = noise((rows, columns), seed=1), noise((rows, columns), seed=2)
    x = noise(40)
    u = np.zeros((42, rows, columns))
    for n in range(2, 42):
        one, two = u[n - 1], u[n - 2]
        beside = one[:-2, 1:-1] + one[2:, 1:-1] + one[1:-1, :-2] + one[1:-1, 2:]
        inner = (slice(1, -1), slice(1, -1))
        u[n][inner] = 2 * one[inner] - two[inner] + courant * (beside - 4 * one[inner])
        u[n][inner] -= loss * (one[inner] - two[inner])
        u[n][inner] += force[inner] * x[n - 2]
    given = {"force": force, "pickup": pickup, "courant": courant, "loss": loss}
    near(run(dsp.wave_2d(), [x], **given), np.einsum("nij,ij->n", u[2:], pickup), 1e4)


# ---- what is refused ----


def test_kernels_say_what_they_take() -> None:
    for make, error, match in (
        (lambda: dsp.fir(tw.int32), TypeError, "float32 or float64 or complex64 or complex128"),
        (lambda: dsp.biquads(tw.complex64), TypeError, "takes float32 or float64, not complex64"),
        (lambda: dsp.fir(channels=0), ValueError, "channels must be at least 1, got 0"),
        (lambda: dsp.fir(channels="c"), TypeError, "channels must be an integer"),
        (lambda: dsp.resampler(0, 2), ValueError, "up must be at least 1"),
        (lambda: dsp.decimator(1.5), TypeError, "factor must be an integer"),
        (lambda: dsp.stft(100), ValueError, "power of two"),
        (lambda: dsp.stft(16, 17), ValueError, "hop must be at most the size, 16"),
        (lambda: dsp.reverb(()), ValueError, "combs needs at least one delay"),
        (lambda: dsp.reverb((3, 0)), ValueError, "combs must be at least 1"),
        (lambda: dsp.cic(stages=-1), ValueError, "stages must be at least 1"),
        (lambda: dsp.feedback_delay_network(5), TypeError, "delays must be"),
        (lambda: dsp.max_filter().stream(R=0), ValueError, "no stream of max_filter has R=0: "),
        (
            lambda: dsp.echo().stream(gain=0.5, D=0),
            ValueError,
            "no stream of echo has D=0: the constraints",
        ),
        (
            lambda: dsp.biquads().stream(sos=np.zeros((0, 6))),
            ValueError,
            "no stream of biquads has S=0: the constraints",
        ),
        (lambda: dsp.lms().stream(mu=0.1), ValueError, "needs R"),
    ):
        with raises(error, match):
            make()
