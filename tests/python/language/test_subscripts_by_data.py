"""What conditions say of subscripts that data decide about: which element an instance may read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw

N = 40
D = np.random.default_rng(5).integers(0, N, N).astype(np.int64)


def _recurrence(condition_of: Callable[[Any, Any], Any]) -> tw.Function:
    """y[i] is y[d[i]] where the condition holds, else x[i]."""
    n = tw.param("n")
    x, d = tw.input("x", [n], tw.float64), tw.input("d", [n], tw.int64)
    i = tw.iter("i")
    y = tw.computation("{ y[i] : 0 <= i < n }", dtype=tw.float64)
    y.define(None, tw.select(condition_of(d[i], i), y[d[i]] + 1, x[i]))
    return tw.function("f", outputs=[y])


LEGAL = {
    "one of two": lambda d, i: ((i > 3) & (d < i)) | ((i <= 3) & (d < i - 1)),
    "a chain": lambda d, i: (d < i - 5) | ((d < i) & ((d > 7) | (i == 9))),
    "none of two": lambda d, i: ~((d >= i) | ((i > 6) & (d >= i - 2))),
    "not both": lambda d, i: ~((d >= i) & (i > 3)) & ~((d >= i) & (i <= 3)),
    "only in some instances": lambda d, i: ((i > 3) & (i < 3)) | (d < i),
}
ILLEGAL = {
    "one of two may be itself": lambda d, i: ((i > 3) & (d < i)) | ((i <= 3) & (d <= i)),
    "one says nothing": lambda d, i: (d < i) | (i > 7),
    "not both": lambda d, i: ~((d >= i) & (i > 3)),
    "of something else": lambda d, i: (d < i) | (d + d < i),
}


@pytest.mark.parametrize("name", LEGAL)
def test_it_reads_what_is_there(name: str) -> None:
    function = _recurrence(LEGAL[name])
    x = np.random.default_rng(6).random(N)
    wanted = np.zeros(N)
    for i in range(N):
        holds = _holds(name, int(D[i]), i)
        wanted[i] = wanted[D[i]] + 1 if holds else x[i]
    np.testing.assert_array_equal(function(x=x, d=D), wanted)


def _holds(name: str, d: int, i: int) -> bool:
    return {
        "one of two": (i > 3 and d < i) or (i <= 3 and d < i - 1),
        "a chain": d < i - 5 or (d < i and (d > 7 or i == 9)),
        "none of two": not (d >= i or (i > 6 and d >= i - 2)),
        "not both": d < i,
        "only in some instances": d < i,
    }[name]


@pytest.mark.parametrize("name", ILLEGAL)
def test_it_may_read_what_is_not_there(name: str) -> None:
    function = _recurrence(ILLEGAL[name])
    with pytest.raises(tw.IllegalScheduleError, match="it may read any element"):
        function(x=np.zeros(N), d=D)
