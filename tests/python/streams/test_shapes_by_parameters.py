"""Parameters that stand in shapes of streams, and what is said of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw


@pytest.mark.parametrize("constraint", [{"minimum": 2}, {"constraint": "C >= 2"}])
def test_what_is_said_of_a_parameter_counts_where_only_shapes_have_it(constraint: Any) -> None:
    """As in a function of finite arrays: the channels of a stream, the taps of a filter, the points of a grid."""
    C = tw.param("C", **constraint)
    n, i = tw.iters("n i")
    stereo, x = tw.stream("stereo", tw.float64, shape=[C]), tw.stream("x", tw.float64)
    h = tw.input("h", [C], tw.float64)
    u = tw.computation("u", {n: tw.forever, i: C}, x[n] * tw.cast(i, tw.float64))
    y = tw.computation("y", {n: tw.forever}, stereo[n, 0] + stereo[n, 1] + h[1] * u[n, 1])
    s = tw.stream_function("f", outputs=[y]).stream(h=np.array([1.0, 3, 5]))
    given = {"stereo": np.arange(12.0).reshape(4, 3), "x": np.arange(4.0)}
    assert s.push(**given).tolist() == [1, 10, 19, 28]
    with pytest.raises(tw.DeclarationError, match=r"reads stereo\[0,2\]"):
        reads = tw.computation("y", {n: tw.forever}, stereo[n, 2])
        tw.stream_function("f", outputs=[reads])
