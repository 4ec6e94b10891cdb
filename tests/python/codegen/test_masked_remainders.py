"""Vectors of which some lanes are left over keep their sums in registers, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

O, W, K = tw.params("O W K", "K >= 1 and W >= K")
o, w, q = tw.iters("o w q")


def strided(stride: int, **options: Any) -> tw.Function:
    x, f = tw.input("x", [W], tw.float32), tw.input("f", [O, K], tw.float32)
    value = tw.sum(x[stride * w + q] * f[o, q], over={q: K})
    y = tw.computation("y", {o: O, w: (W - K) // stride + 1}, value)
    return tw.function("strided", outputs=[y], **options)


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_strided_sums(stride: int) -> None:
    function = strided(stride)
    draw = np.random.default_rng(stride)
    for width, outputs, terms in ((3, 1, 3), (35, 4, 3), (65, 9, 3), (70, 6, 5), (300, 5, 7)):
        x = draw.integers(-4, 5, width).astype(np.float32)
        f = draw.integers(-4, 5, (outputs, terms)).astype(np.float32)
        windows = np.lib.stride_tricks.sliding_window_view(x, terms)[::stride]
        np.testing.assert_array_equal(function(x, f), f @ windows.T)


def test_the_test_for_lanes_is_asked_outside_of_the_terms() -> None:
    """Whether a vector has an iteration is the same for all terms: no sum goes through memory for that."""
    loops = strided(2, cpu="x86-64-v3")._passes()[-1][3]
    assert "masked(" in loops
    lines = loops.splitlines()
    terms = [at for at, line in enumerate(lines) if "for q1 in" in line]
    assert len(terms) > 2
    assert not any("if 0 <" in lines[at + 1] for at in terms), loops
