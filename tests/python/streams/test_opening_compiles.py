"""Opening a stream compiles its kernel: what comes first in real time must not wait for a compiler."""

from __future__ import annotations

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
