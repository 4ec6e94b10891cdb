"""Ranges that move along with the result run as the windows that they are: written either way, a program gets the
same loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from counted_iterations import Iterations

N, M = tw.params("N M")
i, j, p, q = tw.iters("i j p q")
x = tw.input("x", [N], tw.float64)
X = tw.input("X", [N, M], tw.float64)


def tags(f: tw.Function) -> list[Any]:
    """The default schedule, without what moves a range to 0."""
    return [
        command for command in f.default_schedule.commands if command[1] not in ("skew", "shift")
    ]


def pair(ranges: tw.Computation, offsets: tw.Computation) -> tuple[tw.Function, tw.Function]:
    return tw.function("f", outputs=[ranges]), tw.function("f", outputs=[offsets])


def sliding(width: int) -> tuple[tw.Function, tw.Function]:
    results = {i: (0, N - width + 1)}
    return pair(
        tw.computation("y", results, tw.sum(x[q], over={q: (i, i + width)})),
        tw.computation("y", results, tw.sum(x[i + q], over={q: width})),
    )


def blocks(width: int) -> tuple[tw.Function, tw.Function]:
    results = {i: (0, N // width)}
    return pair(
        tw.computation("y", results, tw.max(x[q], over={q: (width * i, width * i + width)})),
        tw.computation("y", results, tw.max(x[width * i + q], over={q: width})),
    )


def rows(height: int) -> tuple[tw.Function, tw.Function]:
    results = {i: (0, N // height), j: M}
    return pair(
        tw.computation("y", results, tw.sum(X[q, j], over={q: (height * i, height * i + height)})),
        tw.computation("y", results, tw.sum(X[height * i + q, j], over={q: height})),
    )


def box(radius: int) -> tuple[tw.Function, tw.Function]:
    results = {i: (radius, N - radius), j: (radius, M - radius)}
    around = {p: (i - radius, i + radius + 1), q: (j - radius, j + radius + 1)}
    offsets = {p: (-radius, radius + 1), q: (-radius, radius + 1)}
    return pair(
        tw.computation("y", results, tw.sum(X[p, q], over=around)),
        tw.computation("y", results, tw.sum(X[i + p, j + q], over=offsets)),
    )


@pytest.mark.parametrize(
    ("both", "shape"),
    [
        (sliding(10), (100,)),
        (sliding(100), (500,)),
        (blocks(64), (1000,)),
        (blocks(10), (1000,)),
        (rows(8), (50, 40)),
        (box(2), (30, 50)),
    ],
)
def test_both_ways_to_write_a_window_are_one(
    both: tuple[tw.Function, tw.Function], shape: tuple[int, ...]
) -> None:
    values = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float64)
    ranges, offsets = both
    assert tags(ranges) == tags(offsets)
    np.testing.assert_array_equal(ranges(values), offsets(values))
    np.testing.assert_array_equal(ranges(values), ranges.evaluate(values))


def test_blocks_of_terms_are_not_searched_for_their_results() -> None:
    """Loops over all terms outside of those over all results had been 140 times slower."""
    results = {i: (0, N // 64)}
    y = tw.computation("y", results, tw.sum(x[q], over={q: (64 * i, 64 * i + 64)}))
    terms = 64 * 40
    counted = Iterations()
    f = tw.function("f", outputs=[y])
    counted.run(f, {"x": np.zeros(terms), "y": np.empty(40), "N": terms})
    assert counted.count < 2 * terms


def test_a_range_that_is_cut_short_at_a_border() -> None:
    blocks_and_rest = tw.computation(
        "y",
        {i: (0, (N + 99) // 100)},
        tw.sum(x[q], over={q: (100 * i, tw.minimum(100 * i + 100, N))}),
    )
    f = tw.function("f", outputs=[blocks_and_rest])
    values = np.arange(1050.0)
    np.testing.assert_array_equal(f(values), np.add.reduceat(values, np.arange(0, 1050, 100)))


def test_triangles_stay() -> None:
    for end in ((0, i + 1), (i, N)):
        f = tw.function("f", outputs=[tw.computation("y", {i: N}, tw.sum(x[q], over={q: end}))])
        assert "skew" not in str(f.default_schedule)
