"""`auto_schedule` of functions with loops that data end."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw


def test_the_order_of_the_program_stays() -> None:
    @tw.jit
    def halvings(values, counts):  # type: ignore[no-untyped-def]
        for i in range(len(values)):
            k = 0
            while values[i] > 1:
                values[i] = values[i] // 2
                k += 1
            counts[i] = k

    values, counts = np.array([1, 2, 9, 64]), np.zeros(4, np.int64)
    halvings(values.copy(), counts)
    before = halvings.schedule
    with pytest.warns(tw.TilewrightWarning, match="keeps the order of the program: data decide"):
        assert halvings.auto_schedule() == before
    counts[:] = 0
    halvings(values, counts)
    assert counts.tolist() == [0, 1, 3, 6] and (values == 1).all()
    with pytest.raises(tw.ScheduleError, match="data decide how often its loops run"):
        halvings.tune(values, counts, budget="1s")
