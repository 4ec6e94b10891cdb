"""A small stream of each kernel of `tw.kernels.dsp`, for tests that take all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.kernels import dsp

_rng = np.random.default_rng(0)
_CHANNELS = tw.param("C")


def _floats(*shape: int) -> np.ndarray:
    return 0.3 * _rng.standard_normal(shape)


#: By name: what makes the function, and what a stream is given.
CASES: dict[str, tuple[Callable[[], tw.StreamFunction], dict[str, Any]]] = {
    "autocorrelation": (lambda: dsp.autocorrelation(tw.float32, 5), {"R": 8, "L": 3}),
    "biquads": (dsp.biquads, {"sos": _floats(2, 6)}),
    "cic": (lambda: dsp.cic(4, 2, 2), {}),
    "decimator": (lambda: dsp.decimator(3, tw.float64), {"h": _floats(7)}),
    "echo": (lambda: dsp.echo(tw.float64), {"gain": 0.5, "D": 9}),
    "feedback_delay_network": (
        lambda: dsp.feedback_delay_network((3, 5), tw.float64),
        {"A": _floats(2, 2), "b": _floats(2), "c": _floats(2), "d": 0.5},
    ),
    "filter_bank": (lambda: dsp.filter_bank(tw.float64), {"h": _floats(3, 6)}),
    "fir": (
        lambda: dsp.fir(tw.complex64, channels=_CHANNELS),
        {"h": (_floats(6) + 1j * _floats(6)).astype(np.complex64), "C": 2},
    ),
    "iir": (dsp.iir, {"b": _floats(3), "a": _floats(4)}),
    "istft": (lambda: dsp.istft(8, 2), {"window": np.ones(8, np.float32)}),
    "lms": (dsp.lms, {"mu": 0.01, "R": 4}),
    # States that are changed where they are.
    "lms with many weights": (dsp.lms, {"mu": 0.001, "R": 256}),
    "biquads of many channels": (
        lambda: dsp.biquads(tw.float32, channels=32),
        {"sos": _floats(4, 6).astype(np.float32)},
    ),
    "max_filter": (lambda: dsp.max_filter(tw.int16), {"R": 5}),
    "moving_statistics": (dsp.moving_statistics, {"R": 6}),
    "plucked_string": (lambda: dsp.plucked_string(tw.float32), {"gain": 0.99, "D": 7}),
    "resampler": (lambda: dsp.resampler(3, 2), {"h": _floats(8).astype(np.float32)}),
    "reverb": (
        lambda: dsp.reverb((5, 7), (3,)),
        {"gain": np.full(2, 0.5, np.float32), "diffusion": 0.6},
    ),
    "stft": (lambda: dsp.stft(8, 4, tw.float64), {"window": np.hanning(8)}),
    "wave_1d": (
        dsp.wave_1d,
        {"force": _floats(8), "pickup": _floats(8), "courant": 0.5, "loss": 0.01},
    ),
    "wave_2d": (
        lambda: dsp.wave_2d(tw.float32),
        {
            "force": _floats(5, 6).astype(np.float32),
            "pickup": _floats(5, 6).astype(np.float32),
            "courant": 0.25,
            "loss": 0.01,
        },
    ),
}


def chunk_of(port: np.ndarray, length: int, rng: np.random.Generator) -> np.ndarray:
    """Random elements of the type and shape of an empty chunk."""
    shape = (length, *port.shape[1:])
    if port.dtype.kind in "iu":
        return rng.integers(0, 100, shape, port.dtype)
    made = rng.standard_normal(shape)
    if port.dtype.kind == "c":
        made = made + 1j * rng.standard_normal(shape)
    return made.astype(port.dtype)
