"""Sweeps along a line within each step of time, in either direction: nobody has to schedule them."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import tilewright as tw

N = tw.param("N", "N >= 1")
T = tw.param("T")
t, i = tw.iters("t i")


def swept(kinds):
    """A step is one sweep after the other: f(orward), b(ackward), e(ach element alone)."""
    given = tw.input("given", [N], tw.float64)
    u = tw.computation("u", {t: T + 1, i: N}, dtype=tw.float64)
    before, at = u, t - 1
    for position, kind in enumerate(kinds):
        y = tw.computation(f"sweep_{position}", {t: (1, T + 1), i: N}, dtype=tw.float64)
        if kind == "e":
            y.define(0.5 * before[at, i] + 1)
        else:
            edge = i == (0 if kind == "f" else N - 1)
            y.define(edge, before[at, i])
            y.define(~edge, 0.5 * before[at, i] + 0.25 * y[t, i - 1 if kind == "f" else i + 1])
        before, at = y, t
    u.define(t == 0, given[i])
    u.define(t > 0, before[t, i])
    return tw.function("f", outputs=[tw.computation("last", {i: N}, u[T, i])])


def by_numpy(kinds, line, steps):
    line = line.copy()
    for _, kind in itertools.product(range(steps), kinds):
        if kind == "e":
            line = 0.5 * line + 1
            continue
        order = range(len(line)) if kind == "f" else range(len(line) - 1, -1, -1)
        for position, at in enumerate(order):
            neighbour = 0.25 * line[order[position - 1]] if position else 0.0
            line[at] = 0.5 * line[at] + neighbour if position else line[at]
    return line


ALL = ["".join(each) for n in (2, 3) for each in itertools.product("fbe", repeat=n)]
LONG = ["".join(each) for each in itertools.product("fbe", repeat=4)]


@pytest.mark.parametrize("kinds", [*ALL, "fbfb", "bffb", *random.Random(4).sample(LONG, 8)])
def test_sweeps(kinds):
    f = swept(kinds)
    for n, steps in ((6, 3), (1, 2), (4, 0)):
        line = np.arange(n) + 0.5
        np.testing.assert_allclose(f(line, T=steps), by_numpy(kinds, line, steps), rtol=1e-13)


def test_automatic_schedule():
    f = swept("fbfb")
    f.auto_schedule()
    line = np.arange(7.0)
    np.testing.assert_allclose(f(line, T=4), by_numpy("fbfb", line, 4), rtol=1e-13)
