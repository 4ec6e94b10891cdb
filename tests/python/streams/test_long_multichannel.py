"""Long pushes of several channels: the kernel of long pushes tiles what it may, and gives the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw

n, m, i, j, r, c = tw.iters("n m i j r c")


def autocorrelation(x: Any) -> Any:
    terms = tw.sum(x[5 * m + r, c] * x[5 * m + r + j, c], over={r: 16})
    return tw.computation("y", {m: tw.forever, j: 5, c: 8}, terms)


def covariance(x: Any) -> Any:
    terms = tw.sum(x[10 * m + r, i] * x[10 * m + r, j], over={r: 20})
    return tw.computation("y", {m: tw.forever, i: 8, j: 8}, terms)


def extent(x: Any) -> Any:
    window: dict[str, Any] = {"over": {r: 100}, "where": n >= r}
    value = tw.max(x[n - r, c], **window) - tw.min(x[n - r, c], **window)
    return tw.computation("y", {n: tw.forever, c: 8}, value)


def gains(x: Any) -> Any:
    total = tw.sum((r + 1) * x[n - r, c], over={r: 100}, where=n >= r)
    return tw.computation("y", {n: tw.forever, j: 3, c: 8}, total * (j + 1.0))


@pytest.mark.parametrize("declared", [autocorrelation, covariance, extent, gains])
def test_a_long_push_gives_what_short_ones_give(declared: Callable[[Any], Any]) -> None:
    x = tw.stream("x", tw.float64, shape=[8])
    kernel = tw.stream_function("f", outputs=[declared(x)])
    data = np.random.default_rng(0).normal(size=(1500, 8))
    stream = kernel.stream()
    whole = np.concatenate([stream.push(data[:700]), stream.push(data[700:])])
    stream.reset()
    pieces = [stream.push(data[at : at + 13]) for at in range(0, len(data), 13)]
    np.testing.assert_array_equal(whole, np.concatenate(pieces))


@pytest.mark.parametrize("bands", [8, 16, 33])
@pytest.mark.parametrize("outputs", [2, 4])
def test_the_bits_of_a_mixture_do_not_depend_on_the_cuts(bands: int, outputs: int) -> None:
    """A bank of filters, of which the bands are mixed: 16 terms may be lanes, and 6 times a tile."""
    x = tw.stream("x", tw.float64)
    taps, gain = (
        tw.input("taps", [bands, 100], tw.float64),
        tw.input("gain", [outputs, bands], tw.float64),
    )
    terms = tw.sum(taps[c, r] * x[n - r], over={r: 100}, where=n >= r)
    bank = tw.computation("bank", {n: tw.forever, c: bands}, terms)
    mixture = tw.sum(gain[j, c] * bank[n, c], over={c: bands})
    y = tw.computation("y", {n: tw.forever, j: outputs}, mixture)
    rng = np.random.default_rng(1)
    given = {"taps": rng.normal(size=(bands, 100)), "gain": rng.normal(size=(outputs, bands))}
    data = rng.normal(size=500)
    for kernel in (
        tw.stream_function("bank", outputs=[bank]),
        tw.stream_function("m", outputs=[y]),
    ):
        known = {
            name: array for name, array in given.items() if name != "gain" or kernel.name == "m"
        }
        stream = kernel.stream(**known)
        whole = stream.push(data)
        for step in (1, 7, 50):
            stream.reset()
            pieces = [stream.push(data[at : at + step]) for at in range(0, len(data), step)]
            np.testing.assert_array_equal(np.concatenate(pieces), whole)


@pytest.mark.parametrize("channels", [16, 17])
def test_the_bits_of_a_mixer_do_not_depend_on_the_cuts(channels: int) -> None:
    """Its terms are the channels: a tile of several times would add them up in lanes, but for its border."""
    x = tw.stream("x", tw.float64, shape=[channels])
    gain = tw.input("gain", [2, channels], tw.float64)
    y = tw.computation("y", {n: tw.forever, j: 2}, tw.sum(gain[j, c] * x[n, c], over={c: channels}))
    kernel = tw.stream_function("mixer", outputs=[y])
    rng = np.random.default_rng(1)
    gains, data = rng.normal(size=(2, channels)), rng.normal(size=(400, channels))
    stream = kernel.stream(gain=gains)
    whole = stream.push(data)
    stream.reset()
    pieces = [stream.push(data[at : at + 1]) for at in range(len(data))]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)
    first, state = kernel(data[:201], gain=gains)
    rest, _ = kernel(data[201:], zi=state)
    np.testing.assert_array_equal(np.concatenate([first, rest]), whole)


@pytest.mark.parametrize("channels", [8, 16, 17])
def test_a_mixer_of_a_transposed_matrix(channels: int) -> None:
    """The default schedule copies it for a tile that a stream does not have."""
    x = tw.stream("x", tw.float64, shape=[channels])
    gain = tw.input("gain", [channels, 2], tw.float64)
    y = tw.computation("y", {n: tw.forever, j: 2}, tw.sum(gain[c, j] * x[n, c], over={c: channels}))
    rng = np.random.default_rng(1)
    gains, data = rng.normal(size=(channels, 2)), rng.normal(size=(200, channels))
    stream = tw.stream_function("mixer", outputs=[y]).stream(gain=gains)
    whole = stream.push(data)
    np.testing.assert_allclose(whole, data @ gains)
    stream.reset()
    pieces = [stream.push(data[at : at + 1]) for at in range(len(data))]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)
