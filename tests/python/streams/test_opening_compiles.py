"""Opening a stream compiles its kernel: what comes first in real time must not wait for a compiler."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw

(n,) = tw.iters("n")


def test_the_kernel_is_compiled_before_the_first_push(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    plain = tw.Function.compile

    def compile(self: tw.Function, /, *arrays: Any, **keywords: Any) -> dict[str, Any]:
        compiled.append(self)
        return plain(self, *arrays, **keywords)

    monkeypatch.setattr(tw.Function, "compile", compile)
    x = tw.stream("x", dtype=tw.float64)
    y = tw.computation("y", {n: tw.forever}, 0.5 * x[n] + x[n + 1])
    s = tw.stream_function("opened", outputs=[y]).stream()
    assert compiled == [s.kernel]
    np.testing.assert_array_equal(s.push(np.arange(4.0)), [1.0, 2.5, 4.0])


def test_both_kernels_of_a_filter_are_compiled_before_the_first_push(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sums in vectors have a kernel without tests for first elements, which most pushes run in."""
    h, x = np.random.default_rng(0).random((2, 32)), np.random.default_rng(1).random(2000)
    s = tw.kernels.dsp.fir(tw.float64).stream(h=h[0])
    assert s.long_kernel is not None
    assert "max(" not in s.long_kernel.loops
    kernels = (s.kernel, s.long_kernel)
    assert all(kernel.last_compile for kernel in kernels)
    monkeypatch.setattr(tw.Function, "compile", None)
    whole = s.clone().push(x)
    for cuts in ([64 * k for k in range(1, 31)], [1, 31, 63, 64, 100, 1000], [500]):
        t = s.clone()
        parts = [t.push(part) for part in np.split(x, cuts)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_allclose(whole, np.convolve(x, h[0])[: len(x)], rtol=1e-12)


@pytest.mark.parametrize(("up", "down"), [(3, 2), (2, 1), (4, 3), (2, 3), (160, 147)])
def test_resamplers_have_vectors_of_each_phase(up: int, down: int) -> None:
    h, x = np.random.default_rng(0).random(30 * up), np.random.default_rng(1).random(3000)
    s = tw.kernels.dsp.resampler(up, down, dtype=tw.float64).stream(h=h)
    if up < 8:
        assert s.long_kernel is not None
        assert re.search(r"for m01 in .*# vector\(16\)", str(s.long_kernel.loops))
        assert "gather" not in str(s.long_kernel.llvm)
    whole = s.clone().push(x)
    for cuts in ([64 * k for k in range(1, 40)], [1, 2, 100, 101, 1000], [511]):
        t = s.clone()
        parts = [t.push(part) for part in np.split(x, cuts)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    zeros = np.zeros(len(x) * up)
    zeros[::up] = x
    expected = np.convolve(zeros, h)[: len(zeros) : down]
    np.testing.assert_allclose(whole, expected[: len(whole)], rtol=1e-11)
