"""Commands behind others: what an accepted schedule says can be said again, and runs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tilewright as tw

N, M = tw.params("N M")
i, j, k = tw.iters("i j k")


def test_a_fold_of_a_scalar_is_replayed() -> None:
    x = tw.input("x", [N], tw.float64)
    total = tw.computation("s", {}, tw.sum(x[i], over={i: N}))
    f = tw.function("f", outputs=[tw.computation("y", {i: N}, x[i] / total[()])])
    f["s"].storage_fold()
    for again in (pickle.loads(pickle.dumps(f)), f):
        np.testing.assert_allclose(again(np.ones(4)), np.full(4, 0.25))
    f.schedule.apply_to(f)
    tw.Schedule.from_json(f.schedule.to_json()).apply_to(f)
    np.testing.assert_allclose(f(np.ones(4)), np.full(4, 0.25))


@pytest.mark.parametrize("first", ["parallelize", "skew"])
def test_loops_that_run_as_one_keep_bounds_of_their_own(first: str) -> None:
    a = tw.input("A", [N, M], tw.float32)
    f = tw.function(
        "f", outputs=[tw.computation("C", {i: N, j: M}, 2 * a[i, j])], default_schedule=False
    )
    commands = [lambda: f["C"].parallelize(i, j), lambda: f["C"].skew(i, j, 1)]
    if first == "skew":
        commands.reverse()
    commands[0]()
    with pytest.raises(tw.ScheduleError, match="cannot run as one"):
        commands[1]()
    given = np.ones((3, 4), np.float32)
    np.testing.assert_array_equal(f(given), 2 * given)


def test_loops_of_many_cases_run_as_declared() -> None:
    z = tw.input("Z", [N, M], tw.float64)
    c = tw.computation(
        "C",
        {i: N, j: M},
        tw.sum(
            z[i, k],
            over={k: M},
            where=k < tw.maximum(N, j) + tw.clamp(i - j, 0, 50) - tw.clamp(j, 0, 50),
        ),
    )
    f = tw.function("f", outputs=[c], context=[N >= 1, M >= 1])
    given = np.random.default_rng(2).random((9, 13))
    wanted = np.zeros((9, 13))
    for row in range(9):
        for column in range(13):
            last = max(9, column) + np.clip(row - column, 0, 50) - np.clip(column, 0, 50)
            wanted[row, column] = given[row, : max(0, last)].sum()
    np.testing.assert_allclose(f(given), wanted, rtol=1e-12)
    lines = f.passes()[-1].loops.count("\n")
    assert lines < 300, "each of the cases was unrolled"
