"""Schedules of restructuring commands as values: they replay, print as Python, and are taken back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import programs
import pytest
from programs import Program, check
from restructured import SIZES, blur, diagonals, i, j, k, pair

import tilewright as tw


def rich_schedules() -> list[tuple[Callable[[], Program], Callable[[tw.Function], object]]]:
    def factored(f):
        partial = f["C"].split(k, 4).rfactor("k1", "lanes")
        partial.reorder("k0", i, j, "k1").vectorize("k1", 4)

    def inlined(f):
        f["B"].inline()
        f["C"].tile(i, j, 4, 8).parallelize("i0")

    def windows(f):
        f["C"].split(i, 4)
        f["B"].compute_at("C", "i0").storage_fold(i, 6)

    def stored(f):
        f["C"].fuse_with("B").fission(j)
        f["B"].store_in(tw.Buffer("rows", [tw.param("M")]), [j])
        f["B"].set_access("{ B[i,j] -> columns[j, i] }").auto_allocate_map()

    def private(f):
        f["C"].tile(i, j, 4, 8).parallelize("i0")
        f["B"].compute_at("C", "j0").store_at("C", "j0", "stack")

    def transformed(f):
        f["C"].transform([i, j], [[1, 0], [1, 1]]).tile(i, j, 4, 4)

    def given(f):
        f["C"].set_schedule("{ C[i,j] -> [i(cpu), floor(j/8), j mod 8(vec(8))] }")

    return [
        (programs.matmul, factored),
        (blur, inlined),
        (blur, windows),
        (blur, private),
        (pair, stored),
        (diagonals, transformed),
        (programs.pointwise, given),
    ]


@pytest.mark.parametrize(("make", "give"), rich_schedules())
def test_a_schedule_replays(make, give):
    first, second = make(), make()
    give(first.function)
    assert first.function.schedule.apply_to(second.function) is second.function
    assert second.function.schedule == first.function.schedule
    assert second.function.loops == first.function.loops
    check(second, *SIZES)
    third = second.function.copy()
    assert third.loops == first.function.loops


@pytest.mark.parametrize(("make", "give"), rich_schedules())
def test_a_schedule_prints_as_python(make, give):
    first, second = make(), make()
    give(first.function)
    text = str(first.function.schedule)
    names: dict[str, object] = {"tw": tw}
    for name in second.function.computations:
        names[name] = second.function[name]
    exec(text, names)
    assert second.function.schedule == first.function.schedule
    assert str(second.function.schedule) == text
    check(second, *SIZES)


def test_replay_of_a_schedule_that_does_not_fit():
    first = blur()
    first.function["B"].inline()
    other = programs.pointwise()
    other.function["C"].split(i, 4)
    before = other.function.schedule
    with pytest.raises(tw.ScheduleError, match=r"does not fit pointwise: B.inline\(\) needs"):
        first.function.schedule.apply_to(other.function)
    assert other.function.schedule == before
    check(other, *SIZES)


def test_reset_takes_rewrites_back():
    program = programs.matmul()
    program.function["C"].split(k, 4).rfactor("k0")
    program.function.reset_schedule()
    assert program.function.computations == ["C"]
    assert program.function["C"].loops == ("i", "j", "k")
    check(program, *SIZES)


@pytest.mark.parametrize("command", ["after", "fuse_with"])
def test_what_follows_moves_along(command: str) -> None:
    """As the docstring says of D, which was put into the loop of C."""
    n, p = tw.param("N"), tw.iter("p")
    x = tw.input("x", [n], tw.float64)
    first = tw.computation("B", {p: n}, 2 * x[p])
    second = tw.computation("C", {p: n}, first[p] + 1)
    third = tw.computation("D", {p: n}, second[p] * 2)
    f = tw.function("f", outputs=[third], default_schedule=False)
    third.after(second, p)
    assert str(f.loops).count("for ") == 2
    getattr(second, command)(first, p)
    assert str(f.loops).count("for ") == 1
    data = np.arange(5.0)
    np.testing.assert_array_equal(f(data), (2 * data + 1) * 2)
