"""Folds over the terms that data pick for each element: each term goes to its element, and none is looked
for."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

N, K = tw.params("N K")
i, p, g = tw.iters("i p g")
at = tw.input("at", [N], tw.int64)
x = tw.input("x", [N], tw.float64)


def picked(combine, initial, value, element, extent):
    return tw.computation(
        "picked",
        {element: extent},
        tw.fold(combine, initial, value, over={p: N}, where=at[p] == element),
    )


def goes_over_terms_once(f):
    lines = str(f.loops).splitlines()
    return any(line.startswith("for p in") for line in lines)


@pytest.mark.parametrize("automatic", [False, True])
def test_inverse_of_a_permutation(automatic):
    f = tw.function("f", outputs=[picked(lambda s, v: v, np.int64(-1), tw.cast(p, tw.int64), i, N)])
    if automatic:
        f.auto_schedule()
    assert goes_over_terms_once(f)
    for n in (0, 1, 33):
        order = np.random.default_rng(n).permutation(n)
        np.testing.assert_array_equal(f(order), np.argsort(order))
    repeated = np.array([2, 2, 0, 4, 2])  # the last one holds, and some elements have none
    np.testing.assert_array_equal(f(repeated), [2, -1, 4, -1, 3])


@pytest.mark.parametrize("automatic", [False, True])
def test_mean_and_variance_of_groups(automatic):
    """Welford's updates: three states of each group."""

    def update(count, mean, squares, value):
        after = count + 1
        moved = mean + (value - mean) / after
        return after, moved, squares + (value - mean) * (value - moved)

    count, mean, squares = tw.fold(update, (0.0, 0.0, 0.0), x[p], over={p: N}, where=at[p] == g)
    outputs = [
        tw.computation(name, {g: K}, value)
        for name, value in (("mean", mean), ("squares", squares), ("count", count))
    ]
    f = tw.function("f", outputs=outputs)
    if automatic:
        f.auto_schedule()
    assert goes_over_terms_once(f)
    rng = np.random.default_rng(5)
    group, values = rng.integers(-1, 5, 200), rng.random(200)  # some are in no group
    found = f(group, values, K=4)
    parts = [values[group == k] for k in range(4)]
    for one, wanted in zip(found, (np.mean, lambda part: part.var() * len(part), len), strict=True):
        np.testing.assert_allclose(one, [wanted(part) for part in parts], rtol=1e-12)
