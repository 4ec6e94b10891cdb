"""What functions that are dropped leave behind in Python: nothing."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import tilewright as tw


def declared(number: int) -> tw.Function:
    i, j = tw.iters("i j")
    n = tw.param("N")
    a = tw.input("a", [n, n], tw.float64)
    b = tw.computation("b", {i: n, j: n}, a[i, j] * float(number))
    c = tw.computation("c", {i: n}, tw.sum(b[i, j], over={j: n}))
    f = tw.function(f"f{number}", outputs=[c])
    b.tile(i, j, 8, 8).vectorize("j1")
    return f


def shown(number: int) -> None:
    f = declared(number)
    assert f.loops and f.layers and str(f.copy().schedule) == str(f.schedule)


def refused(number: int) -> None:
    with pytest.raises(tw.ScheduleError):
        declared(number)["b"].vectorize("nothing")


def evaluated(number: int) -> None:
    np.testing.assert_array_equal(declared(number).evaluate(np.ones((2, 2))), [2 * number] * 2)


@pytest.mark.parametrize("use", [declared, shown, refused, evaluated])
def test_dropped_functions_leave_nothing(use):
    for number in range(50):  # what is made once
        use(number)
    gc.collect()
    before = sys.getallocatedblocks()
    count = 200
    for number in range(50, 50 + count):
        use(number)
    gc.collect()
    assert sys.getallocatedblocks() - before < count


def test_computations_of_functions_that_are_gone_belong_to_nobody():
    i, n = tw.iter("i"), tw.param("N")
    c = tw.computation("c", {i: n}, 1.0)
    f, g = (tw.function(name, outputs=[c]) for name in "fg")
    with pytest.raises(tw.ScheduleError, match=r"f.*g"):
        c.vectorize(i, 8)
    del f
    c.vectorize(i, 8)  # of g alone
    assert "vector" in g.loops
    del g
    with pytest.raises(tw.ScheduleError, match="function"):
        c.unroll(i)
