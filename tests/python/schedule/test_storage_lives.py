"""Smallest buffers from what is alive at one time: storage_fold without sizes."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

N, T = tw.params("N T")
i, j, k, t = tw.iters("i j k t")
A = tw.input("A", [N], tw.float64)


def stencil(reach: int = 1) -> tuple[tw.Function, tw.Computation]:
    """u[t] from u[t - 1], ..., u[t - reach], in two dimensions of one array."""
    u = tw.computation(
        "u",
        {t: T + 1, i: N},
        lambda u: [
            (t < reach, A[i] * t),
            (
                (t >= reach) & (i > 0) & (i < N - 1),
                u[t - reach, i - 1] + u[t - 1, i + 1] - u[t - 1, i],
            ),
            ((t >= reach) & ((i == 0) | (i == N - 1)), u[t - reach, i]),
        ],
        dtype=tw.float64,
    )
    last = tw.computation("last", {i: N}, u[T, i])
    return tw.function("stencil", outputs=[last]), u


def check(f: tw.Function, **sizes: int) -> None:
    a = np.arange(1.0, 9.0)
    np.testing.assert_array_equal(f(a, **sizes), f.evaluate(a, **sizes))


@pytest.mark.parametrize("reach", [1, 2, 3])
def test_time_steps_are_folded(reach: int):
    f, u = stencil(reach)
    u.storage_fold()
    assert str(f.schedule) == f"u.storage_fold([{reach + 1}, 0])"
    assert f"u = empty(({reach + 1}, N), float64)" in str(f.loops)
    check(f, T=7)
    again, _ = stencil(reach)
    f.schedule.apply_to(again)
    assert again.schedule == f.schedule
    g, u = stencil(reach)
    u.storage_fold(t)
    assert str(g.schedule) == f'u.storage_fold("t", {reach + 1})'
    with pytest.raises(tw.IllegalScheduleError):
        u.auto_allocate_map().storage_fold(t, reach)


def test_the_order_decides():
    f, u = stencil()
    u.reverse(i)  # what u[t - 1, i + 1] was is overwritten before it is read
    u.storage_fold()
    assert "u = empty((2, N), float64)" in str(f.loops)
    check(f, T=5)
    g, u = stencil()
    u.skew(t, i, 1)
    u.storage_fold()
    check(g, T=5)


def test_a_scan_needs_one_element():
    s = tw.computation(
        "s", {i: N}, lambda s: [(i == 0, A[0]), (i > 0, s[i - 1] + A[i])], dtype=tw.float64
    )
    out = tw.computation("out", {i: N}, s[i] * 2)
    f = tw.function("scan", outputs=[out])
    s.storage_fold()
    assert "s = empty((N,), float64)" in str(
        f.loops
    )  # every s[i] is read after the last is written
    out.after(s, i)
    s.storage_fold()
    assert "s = empty((1,), float64)" in str(f.loops)
    check(f)


def test_only_multiples_of_a_distance_meet():
    """b[i - 1] is still read when b[i + 1] is written: three places hold what is alive."""
    b = tw.computation("b", {i: N}, A[i] + 1)
    out = tw.computation("out", {i: (1, N - 1)}, b[i + 1] - b[i - 1], shape=[N])
    f = tw.function("f", outputs=[out])
    out.shift(i, 1).after(b, i)
    b.storage_fold(i)
    assert str(f.schedule).endswith('b.storage_fold("i", 3)')
    np.testing.assert_array_equal(f(np.arange(8.0))[1:-1], 2.0)


def test_sums_live_from_their_first_term():
    rows = tw.computation("rows", {i: N}, tw.sum(A[k] * A[i], over={k: N}))
    out = tw.computation("out", {i: N}, rows[i] + 1)
    f = tw.function("f", outputs=[out], default_schedule=False)
    out.after(rows, i)
    rows.storage_fold()
    assert "rows = empty((1,), float64)" in str(f.loops)
    a = np.arange(1.0, 6.0)
    np.testing.assert_array_equal(f(a), f.evaluate(a))
    g = tw.function("g", outputs=[out], default_schedule=False)
    g["rows"].interchange(i, k)  # now all sums are in the making together
    with pytest.raises(tw.IllegalScheduleError, match="no fold of up to 64"):
        g["rows"].storage_fold(i)


def test_threads_share_no_place():
    b = tw.computation("b", {i: N, j: N}, A[i] + A[j])
    out = tw.computation("out", {i: N, j: N}, b[i, j] * 2)
    f = tw.function("f", outputs=[out], default_schedule=False)
    out.after(b, j)
    b.storage_fold()
    assert "b = empty((1, 1), float64)" in str(f.loops)
    b.auto_allocate_map()
    b.parallelize(i)
    out.parallelize(i)
    b.storage_fold()
    assert "b = empty((N, 1), float64)" in str(f.loops)
    a = np.arange(1.0, 6.0)
    np.testing.assert_array_equal(f(a), f.evaluate(a))


def test_what_cannot_be_folded():
    f, u = stencil()
    with pytest.raises(tw.ScheduleError, match="needs the iterator"):
        u.storage_fold(None, 2)
    for folds, message in (
        ([2], "each of the 2 dimensions"),
        ([2, -1], "got -1"),
        ([0, 0, 0], "got 3"),
    ):
        with pytest.raises(tw.ScheduleError, match=message):
            u.storage_fold(folds)
    with pytest.raises(tw.ScheduleError, match="a list of folds, or"):
        u.storage_fold([2, 0], 2)
    with pytest.raises(tw.ScheduleError, match="last is an output"):
        f["last"].storage_fold(i)


def test_the_default_schedule_keeps_the_steps_that_are_needed():
    """Memory for two steps of T, under the same loops, and the same values."""
    steps, n = tw.params("T N", "T >= 1")
    t, i = tw.iters("t i")
    x = tw.input("x", [n], tw.float64)
    a = tw.computation(
        "A",
        {t: steps, i: n},
        lambda a: [
            ((t > 0) & (i > 0) & (i < n - 1), a[t - 1, i - 1] + a[t - 1, i + 1]),
            ((t == 0) | (i == 0) | (i == n - 1), x[i]),
        ],
        dtype=tw.float64,
    )
    last = tw.function("last", outputs=[tw.computation("L", {i: n}, a[steps - 1, i])])
    assert "A: float64[2, N]" in str(last.layers) or "empty((2, N), float64)" in str(last.loops)
    assert "vector(8)" in str(last.loops) and "parallel" in str(last.loops)
    values = np.arange(19) / 8
    for count in (1, 2, 7):
        assert np.array_equal(last(values, T=count), last.evaluate(values, T=count))
    every = tw.function("every", outputs=[a])
    assert "empty" not in str(every.loops)  # an output is as large as the caller's array
