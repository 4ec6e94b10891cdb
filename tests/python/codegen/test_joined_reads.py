"""Elements that different statements wrote, and that lie in one place: one read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

N = tw.param("N", minimum=1)
i, j = tw.iters("i j")
x = tw.input("x", [N], tw.float64)


def levinson(r: Any, y: Any) -> None:
    """Durbin's recurrence, with the three writers of `y`."""
    z = np.zeros(len(r))
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, len(r)):
        beta = (1.0 - alpha * alpha) * beta
        total = 0.0
        for a in range(k):
            total += r[k - a - 1] * y[a]
        alpha = -(r[k] + total) / beta
        for b in range(k):
            z[b] = y[b] + alpha * y[k - b - 1]
        for c in range(k):
            y[c] = z[c]
        y[k] = alpha


def test_a_recurrence_reads_its_array_as_the_program_does() -> None:
    function = tw.jit(levinson)
    r = 1.0 / np.arange(2.0, 12.0)
    ours, plain = np.zeros(10), np.zeros(10)
    function(r, ours)
    levinson(r, plain)
    np.testing.assert_array_equal(ours, plain)
    loops = str(function.loops)
    assert " if " not in loops.replace("\n", " ").split("for a in")[1].split("alpha")[0]
    assert "y[a]" in loops


def chosen(place: str) -> tw.Function:
    """Elements of two computations, the second of which lies at `place` of the first one's memory."""
    memory = tw.Buffer("memory", [2 * N])
    first = tw.computation("first", {i: N}, x[i] * 2)
    second = tw.computation("second", {i: N}, x[i] * 3)
    value = tw.select(j < N, first[j], second[j - N])
    out = tw.computation("out", {j: 2 * N}, value)
    f = tw.function("f", outputs=[out])
    f["first"].store_in(memory, ["i"])
    f["second"].store_in(memory, [place])
    f.set_schedule("[N] -> { first[i] -> [0, i]; second[i] -> [1, i]; out[j] -> [2, j] }")
    return f


def test_side_by_side_in_one_buffer_they_are_one_read() -> None:
    f = chosen("i + N")
    given = np.arange(1.0, 5.0)
    wanted = np.concatenate([given * 2, given * 3])
    np.testing.assert_array_equal(f(given), wanted)
    np.testing.assert_array_equal(f.evaluate(given), wanted)
    assert "out[j] = memory[j]" in f.loops


def test_in_other_places_they_stay_a_choice() -> None:
    f = chosen("2 * N - 1 - i")
    given = np.arange(1.0, 5.0)
    wanted = np.concatenate([given * 2, given * 3])
    np.testing.assert_array_equal(f(given), wanted)
    assert "out[j] = memory[j]" not in f.loops


def test_what_is_computed_in_a_branch_stays_there() -> None:
    memory = tw.Buffer("memory", [N])
    first = tw.computation("first", {i: N}, x[i] * 2)
    out = tw.computation("out", {i: N}, tw.select(i < 2, first[i] + 1, first[i]))
    f = tw.function("f", outputs=[out])
    f["first"].store_in(memory, ["i"])
    np.testing.assert_array_equal(f(np.arange(4.0)), [1, 3, 4, 6])


def knapsack(w, v, best):
    for i in range(w.shape[0]):
        for c in range(best.shape[0] - 1, -1, -1):
            if c >= w[i]:
                best[c] = max(best[c], best[c - w[i]] + v[i])


def test_subscripts_that_data_say_are_read_in_one_place() -> None:
    """Whoever wrote the element last: it is checked once, and an error speaks of the array."""
    function = tw.jit(knapsack)
    rng = np.random.default_rng(0)
    w, v = rng.integers(1, 9, 12), rng.random(12)
    ours, plain = np.zeros(40), np.zeros(40)
    function(w, v, ours)
    knapsack(w, v, plain)
    np.testing.assert_array_equal(ours, plain)
    loops = str(function.loops)
    assert loops.count("assert ") == loops.count("# best[") == 2
    assert "S1[" not in loops
    with pytest.raises(IndexError, match=r"best\["):
        function(np.array([-100]), v, ours)


def swapped(p, a):
    for i in range(p.shape[0]):
        t = a[p[i]]
        a[p[i]] = a[i]
        a[i] = t


def test_elements_that_data_swap() -> None:
    function = tw.jit(swapped)
    rng = np.random.default_rng(1)
    for size in (1, 2, 7, 30):
        p, a = rng.integers(-size, size, size), rng.random(size)
        ours, plain = a.copy(), a.copy()
        function(p, ours)
        swapped(p, plain)
        np.testing.assert_array_equal(ours, plain)
