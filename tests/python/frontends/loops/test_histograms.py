"""`np.histogram` in functions with loops: kernels of ours count, and every bit is NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.frontends.loops import histograms

r = np.random.default_rng(11)
N = 3 * 65536 + 1


def same(got, want):
    for one, other in zip(got, want, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.fixture
def counted(monkeypatch):
    """How often NumPy's own function was called."""
    calls = []
    numpys = np.histogram
    monkeypatch.setattr(
        histograms.np, "histogram", lambda *a, **k: calls.append(1) or numpys(*a, **k)
    )
    return calls


VALUES = {
    "float64": r.standard_normal(N),
    "at edges": np.repeat(np.linspace(-1, 1, 1001), 200),
    "one value": np.full(N, 7.0),
    "far away": r.random(N) + 1e6,
    "matrix": r.random((500, 400)),
    "strided": r.random(2 * N)[::2],
    "uint8": r.integers(0, 256, N).astype(np.uint8),
    "int32": r.integers(-9, 9, N).astype(np.int32),
}


@pytest.mark.parametrize("bins", [1, 7, 1000])
@pytest.mark.parametrize("name", VALUES)
def test_every_bit_is_numpys(name, bins):
    values = VALUES[name]
    weights = r.random(values.shape)
    for more in ({}, {"weights": weights}, {"density": True}):
        same(histograms.histogram(values, bins, **more), np.histogram(values, bins, **more))


def test_the_kernels_count_where_they_can(counted):
    histograms.histogram(VALUES["float64"], 50)
    assert not counted


@pytest.mark.parametrize(
    "given",
    [
        {"a": np.ones(9), "bins": 3},
        {"a": VALUES["float64"], "bins": np.array([0.0, 0.5, 2.0])},
        {"a": VALUES["float64"], "bins": 5, "range": (-1.0, 1.0)},
        {"a": VALUES["float64"].astype(np.float32), "bins": 5},
        {"a": VALUES["float64"], "bins": 5, "weights": np.ones(N, np.float32)},
    ],
)
def test_numpy_does_the_rest(given, counted):
    found = histograms.histogram(**given)
    assert counted
    same(found, np.histogram(**given))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_is_numpys_error(wrong):
    values = VALUES["float64"].copy()
    values[77] = wrong
    with pytest.raises(ValueError, match="is not finite"):
        histograms.histogram(values, 5)


def test_within_a_function():
    def profile(data, radius, n):
        return np.histogram(radius, n, weights=data)[0] / np.histogram(radius, n)[0]

    data, radius = r.random(N), r.random(N)
    np.testing.assert_array_equal(tw.jit(profile)(data, radius, 100), profile(data, radius, 100))
