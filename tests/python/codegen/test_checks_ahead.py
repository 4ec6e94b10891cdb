"""Subscripts that data give are asked about before the loop; what fails, fails where it did."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw


def gathered(y, x, at):
    for i in range(at.shape[0]):
        y[i] = x[at[i]] * 2.0


def added(y, x, at):
    s = 0.0
    for i in range(at.shape[0]):
        s += x[at[i]]
    return s


def moved(y, x, at):
    for i in range(at.shape[0]):
        at[i] = at[at[i]]


FUNCTIONS = {function.__name__: tw.jit(function) for function in (gathered, added, moved)}


def arguments(length, kind, seed=0):
    draw = np.random.default_rng(seed)
    at = draw.integers(0, length, length).astype(kind)
    return np.zeros(length), draw.random(length), at


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32, np.int16])
@pytest.mark.parametrize("length", [1, 63, 64, 65, 127, 1000])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_values(name, length, kind):
    mine, wanted = arguments(length, kind), arguments(length, kind)
    got = FUNCTIONS[name](*mine)
    expected = globals()[name](*wanted)
    for one, other in zip(mine, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    if expected is not None:
        np.testing.assert_allclose(got, expected)


@pytest.mark.parametrize("wrong", [0, 63, 64, 500, 999])
@pytest.mark.parametrize("value", [1000, -1001, 2**31 - 1])
def test_what_fails_fails_in_its_iteration(wrong, value):
    y, x, at = arguments(1000, np.int32)
    at[wrong] = value
    with pytest.raises(IndexError, match=r"x"):
        FUNCTIONS["gathered"](y, x, at)
    text = {each.name: str(each) for each in FUNCTIONS["gathered"].inspect(y, x, at).passes()}
    assert "are_inside" in text["check_ahead"]


def test_a_loop_that_changes_its_subscripts_asks_each_time():
    text = {
        each.name: str(each)
        for each in FUNCTIONS["moved"].inspect(*arguments(99, np.int32)).passes()
    }
    assert "are_inside" not in str(text)
