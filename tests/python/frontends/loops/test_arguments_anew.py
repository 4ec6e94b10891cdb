"""Arguments to which a statement gives another array: the caller's array has what Python stores into it, or the
function is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw


def into(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    if out is None:
        out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = 2 * x[i]
    return out


def into_whole(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    if out is None:
        out = np.zeros(len(x))
    else:
        out[0] = 5.0
    out[1:] = x[1:]
    out += 1
    return out


def halves(v: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    if out is None:
        out = np.zeros(len(v))
    out[:] = v / 2
    return out


def by_a_helper(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    made = halves(x)
    given = halves(x, out) if out is not None else halves(x)
    return made + given


def never(x: np.ndarray, out: np.ndarray) -> None:
    if False:
        out = x.copy()
    if x.ndim == 3:
        x = x[0]
    out[1] = x[0] + 98.0


@pytest.mark.parametrize("function", [into, into_whole, by_a_helper])
@pytest.mark.parametrize("given", [False, True])
def test_an_array_that_is_made_unless_it_is_given(
    function: Callable[..., Any], given: bool
) -> None:
    x = np.arange(1.0, 6)
    ours, theirs = np.full(5, 9.0), np.full(5, 9.0)
    found = tw.jit(function)(x, ours) if given else tw.jit(function)(x)
    expected = function(x, theirs) if given else function(x)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(ours, theirs)
    if given and function is not by_a_helper:
        assert found is ours


def test_statements_that_are_never_reached() -> None:
    out = np.zeros(3)
    tw.jit(never)(np.ones(3), out)
    assert out.tolist() == [0, 99, 0]


def copied(x: np.ndarray, k: int) -> float:
    if k > 0:
        x = x.copy()
        x[0] = 42.0
        x[x < 2] = 1.5
        x[x > 2] += 1
    return x.sum()


def rolled(x: np.ndarray, n: int) -> np.ndarray:
    for _ in range(n):
        x = np.roll(x, 1)
    return x


def chosen(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x[0] > 1:
        x = x + y
    return 2 * x


@pytest.mark.parametrize(
    ("function", "seconds"),
    [(copied, (0, 1)), (rolled, (0, 1, 3)), (chosen, (np.ones(4), np.zeros(4)))],
)
def test_what_is_stored_into_the_new_array_alone(
    function: Callable[..., Any], seconds: Any
) -> None:
    for second in seconds:
        for first in (0.0, 2.0):
            x = np.arange(first, first + 4)
            before = x.copy()
            np.testing.assert_array_equal(
                tw.jit(function)(x, second), function(before.copy(), second)
            )
            np.testing.assert_array_equal(x, before)


def stores_behind(x: np.ndarray, k: int) -> float:
    if not k:
        x = x.copy()
    x[0] = 42.0
    return x[0]


def adds_behind(x: np.ndarray, k: int) -> None:
    if k > 0:
        x *= 2
    else:
        x = x * 3
    x += 1


def stores_in_the_other_branch(x: np.ndarray, k: int) -> np.ndarray:
    if k > 0:
        x = x + 1
    else:
        x[0] = 1
    return x


def rolled_and_stored(x: np.ndarray, n: int) -> np.ndarray:
    for _ in range(n):
        x = np.roll(x, 1)
    x[0] = 42.0
    return x


def data_decide(x: np.ndarray, k: int) -> None:
    if x[0] > k:
        x = x.copy()
    x[1:3] = 99.0


def masked(x: np.ndarray, k: int) -> None:
    if k > 0:
        x = x + 1
    x[x > 1] = 0


@pytest.mark.parametrize(
    "function",
    [
        stores_behind,
        adds_behind,
        stores_in_the_other_branch,
        rolled_and_stored,
        data_decide,
        masked,
    ],
)
def test_what_would_be_lost_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(tw.TranslationError, match="may be the array that was given here") as caught:
        tw.jit(function)(np.arange(5.0), 1)
    assert "a name of its own" in str(caught.value)
