"""A push that is refused loses nothing; where a part of it is done, the stream says that it is torn."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

(n,) = tw.iters("n")
at = tw.stream("at", tw.int64)
table = tw.input("table", [5], tw.float64)


def looked_up(**periodic: int) -> tw.Stream:
    y = tw.computation("y", {n: tw.forever}, table[at[n]])
    k = tw.stream_function("looked_up", outputs=[y])
    return (k.periodic(**periodic) if periodic else k).stream(table=np.arange(5.0))


@pytest.mark.parametrize("latency", [0, 3, 7])
def test_nothing_is_lost(latency: int) -> None:
    s = looked_up(latency=latency) if latency else looked_up()
    found = [s.push(np.array([1, 2, 3]))]
    for _ in range(2):
        with pytest.raises(tw.SubscriptError):
            s.push(np.array([7, 4, 0, 0, 0]))
        assert s.pushed == {"at": 3}
    found += [s.push(np.array([0, 4])), s.flush()]
    assert np.concatenate(found).tolist() == [1, 2, 3, 0, 4]


def test_a_later_part_that_fails_is_told() -> None:
    s = looked_up(latency=3)
    s.push(np.array([1, 2, 3]))
    with pytest.raises(tw.SubscriptError):
        s.push(np.array([4, 0, 0, 0, 7]))
    with pytest.raises(tw.ArgumentError, match="stopped midway"):
        s.push(np.array([4]))
    s.reset()
    assert np.concatenate([s.push(np.array([4, 0])), s.flush()]).tolist() == [4, 0]
