"""`scale` stretches a loop, so that what runs at another rate can share it."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

N, M = tw.params("N M")
i, j = tw.iters("i j")


def enlarged() -> tuple[tw.Function, tw.Computation, tw.Computation]:
    """Each row, halved, twice."""
    image = tw.input("image", [N, M], tw.float32)
    row = tw.computation("Row", {i: N, j: M}, image[i, j] / 2)
    large = tw.computation("Large", {i: 2 * N, j: M}, row[i // 2, j] + tw.cast(i % 2, tw.float32))
    return tw.function("enlarge", outputs=[large]), row, large


def right(image: np.ndarray) -> np.ndarray:
    large = np.repeat(image / 2, 2, axis=0)
    large[1::2] += 1
    return large


IMAGE = np.arange(35, dtype=np.float32).reshape(7, 5)


def test_a_producer_of_every_other_row_shares_the_loop() -> None:
    f, row, large = enlarged()
    row.scale(i, 2)
    large.after(row, i)
    row.storage_fold(i, 1)
    np.testing.assert_array_equal(f(IMAGE), right(IMAGE))
    loops = str(f.loops)
    assert loops.count("for i in") == 1, loops


def test_without_it_the_consumer_comes_too_soon() -> None:
    _, row, large = enlarged()
    row.scale(i, 3)
    with pytest.raises(tw.IllegalScheduleError, match=r"for example: Row\[.*\] -> Large\["):
        large.after(row, i)


@pytest.mark.parametrize(
    "commands",
    [
        lambda c: c.scale(i, 2).parallelize(i),
        lambda c: c.scale(j, 3).vectorize(j, 4),
        lambda c: c.scale(i, 2).scale(j, 3).tile(i, j, 4, 4),
        lambda c: c.split(j, 4).scale("j1", 2).unroll("j1", 4),
        lambda c: c.split(j, 4).scale("j1", 2).interchange("j0", "j1"),
        lambda c: c.scale(i, 1),
        lambda c: c.scale(i, 2).reverse(i).shift(i, 5).skew(i, j, 2),
        lambda c: c.scale(i, 2).scale(i, 5),
    ],
)
def test_values_stay(commands) -> None:
    f, _, large = enlarged()
    commands(large)
    np.testing.assert_array_equal(f(IMAGE), right(IMAGE))


@pytest.mark.parametrize("bad", [0, -1, 2**63, 1.5, "2", None, True])
def test_what_is_no_factor(bad: object) -> None:
    f, _, large = enlarged()
    with pytest.raises((tw.ScheduleError, TypeError)):
        large.scale(i, bad)
    assert not f.schedule.commands


def test_it_is_printed_and_replayed() -> None:
    f, _, large = enlarged()
    large.scale(i, 2)
    assert 'scale("i", 2)' in str(f.schedule)
    other, _, _ = enlarged()
    f.schedule.apply_to(other)
    assert other.schedule == f.schedule
