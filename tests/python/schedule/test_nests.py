"""Nests: commands of computations that share loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tilewright as tw

N, M, K = tw.params("N M K")
i, j, k = tw.iters("i j k")


def chain() -> tw.Function:
    """Three computations of one pair of loops, and a fourth one in the outer loop only."""
    x = tw.input("x", [N, M], tw.float64)
    A = tw.computation("A", {i: N, j: M}, x[i, j] * 2)
    B = tw.computation("B", {i: N, j: M}, A[i, j] + 1)
    C = tw.computation("C", {i: N, j: M}, A[i, j] * B[i, j])
    D = tw.computation("D", {i: N, j: M}, C[i, M - 1 - j])
    f = tw.function("chain", [B, D], default_schedule=False)
    f["B"].after("A", j)
    f["C"].after("B", j)
    f["D"].after("C", i)
    return f


def agree(f: tw.Function) -> None:
    x = np.random.default_rng(4).standard_normal((11, 13))
    for result, expected in zip(f(x), f.evaluate(x), strict=True):
        np.testing.assert_array_equal(result, expected)


def bodies(f: tw.Function) -> list[list[str]]:
    """The computations that are stored in each innermost run of stores."""
    found: list[list[str]] = []
    last = ""
    for line in str(f.loops).splitlines():
        if " = empty(" in line:
            continue
        if "] = " in line:
            if "] = " not in last or len(line) - len(line.lstrip()) != len(last) - len(
                last.lstrip()
            ):
                found.append([])
            found[-1].append(line.strip()[0])
        last = line
    return found


@pytest.mark.parametrize(
    "command",
    [
        lambda nest: nest.tile(i, j, 4, 8),
        lambda nest: nest.tile(i, j, 4, 8).tile("i1", "j1", 2, 2),
        lambda nest: nest.split(j, 8),
        lambda nest: nest.split(i, 4).split(j, 8).interchange("i1", "j0"),
        lambda nest: nest.interchange(i, j),
        lambda nest: nest.reverse(i).shift(j, 3),
        lambda nest: nest.skew(i, j, 2),
        lambda nest: nest.tile(i, j, 4, 8).parallelize("i0").vectorize("j1", 8),
        lambda nest: nest.split(j, 4).unroll("j1"),
    ],
)
def test_what_is_shared_stays_shared(command: Callable[[tw.Nest], object]) -> None:
    f = chain()
    f.reset_schedule()
    f["B"].after("A", j)
    f["C"].after("B", j)
    assert ["A", "B", "C"] in bodies(f)
    command(f.nest("A", "B", "C"))
    assert ["A", "B", "C"] in bodies(f), str(f.loops)
    agree(f)
    g = chain().reset_schedule()
    f.schedule.apply_to(g)
    assert str(g.loops) == str(f.loops)


def test_an_outer_loop_that_more_share() -> None:
    f = chain()
    f.nest("A", "B", "C", "D").split(i, 4).parallelize("i0")
    assert ["A", "B", "C"] in bodies(f)
    assert str(f.loops).count("for i1 ") == 1, str(f.loops)
    agree(f)


def test_what_they_do_not_share_is_changed_in_each() -> None:
    f = chain().reset_schedule()
    f["B"].after("A", i)
    f.nest("A", "B").vectorize(j, 4)
    assert str(f.loops).count("# vector(4)") == 2
    f.nest("A", "B").split(i, 2)
    assert str(f.loops).count("for i1 in") == 1, str(f.loops)
    agree(f)


def test_part_of_a_transaction() -> None:
    f = chain().reset_schedule()
    with f.transaction():
        f["B"].after("A", j)
        f.nest("A", "B").tile(i, j, 4, 4)
        f["C"].tile(i, j, 4, 4).after("B", "j1")
    assert len(f.schedule.commands) == 1
    agree(f)


def test_illegal_for_one_is_refused_for_all() -> None:
    x = tw.input("x", [N], tw.float64)
    A = tw.computation("A", {i: N}, x[i] + 1)
    S = tw.computation(
        "S", {i: N}, lambda S: [(i < 1, A[i]), (i >= 1, S[i - 1] + A[i])], dtype=tw.float64
    )
    f = tw.function("scan", [S], default_schedule=False)
    f["S"].after("A", i)
    before = f.schedule
    with pytest.raises(tw.IllegalScheduleError, match=r"S_0\[0\] -> S_1\[1\]"):
        f.nest("A", "S").parallelize(i)
    assert f.schedule == before
    f.nest(A, S).split(i, 8)
    x = np.arange(21.0)
    np.testing.assert_array_equal(f(x), np.cumsum(x + 1))


def test_gpu() -> None:
    x = tw.input("x", [N, M], tw.float32)
    A = tw.computation("A", {i: N, j: M}, x[i, j] * 2)
    B = tw.computation("B", {i: N, j: M}, A[i, j] + 1)
    f = tw.function("f", [A, B], target="gpu-emulator")
    f["B"].after("A", j)
    f.nest("A", "B").gpu(i, j)
    x = np.random.default_rng(1).random((9, 40), np.float32)
    a, b = f(x)
    np.testing.assert_array_equal(a, x * 2)
    np.testing.assert_array_equal(b, x * 2 + 1)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda f: f.nest("A"), tw.ScheduleError, "two or more different computations, got A"),
        (lambda f: f.nest(), tw.ScheduleError, "got none"),
        (
            lambda f: f.nest("A", "A"),
            tw.ScheduleError,
            "two or more different computations, got A, A",
        ),
        (lambda f: f.nest("A", "Z"), tw.ScheduleError, "has no computation 'Z'"),
        (lambda f: f.nest("A", 3), tw.ScheduleTypeError, "takes computations or their names, got"),
        (lambda f: f.nest("A", "B").split("q", 4), tw.ScheduleError, "q"),
        (lambda f: f.nest("A", "B").split(i, 0), tw.ScheduleError, "split"),
    ],
)
def test_refused(
    make: Callable[[tw.Function], object], error: type[Exception], message: str
) -> None:
    f = chain()
    before = f.schedule
    with pytest.raises(error, match=message):
        make(f)
    assert f.schedule == before


def test_text() -> None:
    f = chain()
    nest = f.nest("A", f["B"])
    assert repr(nest) == "<nest of A, B in chain>"
    assert nest.computations == ("A", "B")
