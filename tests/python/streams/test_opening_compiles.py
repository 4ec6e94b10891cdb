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
