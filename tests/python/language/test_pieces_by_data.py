"""Pieces whose conditions read data: of those asked in order, the first that holds counts."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw

i, N = tw.iter("i"), tw.param("N")
x = tw.input("x", [N], tw.float64)
k = tw.input("k", [N], tw.int64)

X = np.array([1.0, -1, 2, -2, 3, -3, 0, 0.5])
K = np.array([0, -1, 2, 99, 4, 5, -7, 7])

Test = tuple[Any, Callable[[int], bool]]
"""A condition, and whether it holds at an element."""


def chosen(pieces: list[tuple[Any, Any]], **options: Any) -> np.ndarray:
    f = tw.function("f", outputs=[tw.computation("c", {i: N}, pieces, **options)])
    given = {name: {"x": X, "k": K}[name] for name in f.inputs}
    result = f(**given)
    np.testing.assert_array_equal(result, f.evaluate(**given))
    return result


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ((i > 2) & (x[i] > 0), [0, 0, 0, 0, 1, 0, 0, 1]),
        ((x[i] > 0) & (i > 2), [0, 0, 0, 0, 1, 0, 0, 1]),
        ((x[i] > 1) & (x[i] < 3), [0, 0, 1, 0, 0, 0, 0, 0]),
        (~((i > 2) & (x[i] > 0)), [1, 1, 1, 1, 0, 1, 1, 0]),
        ((i > 2) | (x[i] > 0), [1, 0, 1, 1, 1, 1, 1, 1]),
    ],
    ids=str,
)
def test_all_of_a_conjunction_has_to_hold(condition: Any, expected: list[int]) -> None:
    assert chosen([(condition, 1.0), (None, 0.0)]).tolist() == expected
    assert chosen([(condition, 1.0)], otherwise=0.0).tolist() == expected


def test_what_stands_before_guards_what_stands_behind() -> None:
    guarded = (k[i] >= 0) & (k[i] < N) & (x[k[i]] > 0)
    expected = [X[at] if 0 <= at < 8 and X[at] > 0 else -1 for at in K]
    assert chosen([(guarded, x[k[i]]), (None, -1.0)]).tolist() == expected
    before = [(i > 0) & (x[i - 1] > 0), (i > 1) & (x[i - 2] < 0)]
    pieces = [(before[0], x[i - 1]), (before[1], x[i - 2]), (None, 0.0)]
    expected = [
        X[e - 1] if e > 0 and X[e - 1] > 0 else X[e - 2] if e > 1 and X[e - 2] < 0 else 0
        for e in range(8)
    ]
    assert chosen(pieces).tolist() == expected


def test_in_a_stream() -> None:
    n, s = tw.iter("n"), tw.stream("s", tw.float64)

    def smoothed(e: Any) -> list[tuple[Any, Any]]:
        rises = e[n - 1] + 0.5 * (s[n] - e[n - 1])
        falls = e[n - 1] + 0.25 * (s[n] - e[n - 1])
        return [(n == 0, s[0]), ((n > 0) & (s[n] > e[n - 1]), rises), (None, falls)]

    e = tw.computation("e", {n: tw.forever}, smoothed, dtype=tw.float64)
    stream = tw.stream_function("envelope", outputs=[e]).stream()
    assert stream.push(np.array([4.0, 0, 0, 8])).tolist() == [4, 3, 2.25, 5.125]


def drawn(draw: random.Random, depth: int = 2) -> Test:
    """A comparison of indices or of data, or what is made of two of them."""
    kind = draw.choice(["index", "data", "both", "and", "or", "not"][: 6 if depth else 3])
    a = draw.randint(-3, 6)
    if kind == "index":
        return i > a, lambda e: e > a
    if kind == "data":
        return x[i] > a / 2, lambda e: bool(X[e] > a / 2)
    if kind == "both":
        return (k[i] < a + i), lambda e: bool(K[e] < a + e)
    one, first = drawn(draw, depth - 1)
    if kind == "not":
        return ~one, lambda e: not first(e)
    other, second = drawn(draw, depth - 1)
    if kind == "and":
        return one & other, lambda e: first(e) and second(e)
    return one | other, lambda e: first(e) or second(e)


@pytest.mark.parametrize("seed", range(25))
def test_drawn_pieces(seed: int) -> None:
    draw = random.Random(seed)
    tests = [drawn(draw) for _ in range(draw.randint(1, 4))]
    tests.append(((x[i] > 0) & drawn(draw, 1)[0], lambda e: False))  # data decide somewhere
    condition, _ = tests.pop()
    pieces = [(test, float(at)) for at, (test, _) in enumerate(tests)]
    result = chosen([*pieces, (condition, -2.0), (None, -1.0)])
    for e in range(8):
        first = next((float(at) for at, (_, holds) in enumerate(tests) if holds(e)), None)
        assert result[e] in ((-1.0, -2.0) if first is None else (first,))
