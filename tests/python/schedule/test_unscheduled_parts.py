"""Reductions that were taken out of expressions, beside commands that do not speak of them."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

N, M = tw.params("N M")
i, j, k = tw.iters("i j k")


def shares(**options: object) -> tw.Function:
    """x[i, j] as shares of the sums of rows: C_sum is taken out."""
    x = tw.input("x", [N, M], tw.float32)
    C = tw.computation("C", {i: N, j: M}, x[i, j] / tw.sum(x[i, k], over={k: M}))
    return tw.function("shares", [C], **options)


def names(schedule: tw.Schedule) -> set[str]:
    return set(schedule.computations)


def lines_of(f: tw.Function, computation: str) -> str:
    """The nests of the printed loops that store to a computation."""
    nests = str(f.loops).split("\nfor ")
    return "\n".join(nest for nest in nests if f" {computation}[" in nest)


def agree(f: tw.Function) -> None:
    x = np.random.default_rng(2).random((9, 37), np.float32) + 1
    np.testing.assert_allclose(f(x), x / x.sum(1, keepdims=True), rtol=1e-5)


def test_they_get_vectors_and_threads() -> None:
    f = shares()
    f["C"].parallelize(i)
    assert names(f.default_schedule) == {"C_sum"}
    assert "# vector(16)" in lines_of(f, "C_sum")
    assert "# parallel" in lines_of(f, "C_sum")
    assert "# vector" not in lines_of(f, "C"), "nobody gave C vectors"
    agree(f)


def test_threads_only_beside_threads() -> None:
    f = shares()
    f["C"].vectorize(j, 8)
    assert "# parallel" not in str(f.loops)
    assert "# vector(16)" in lines_of(f, "C_sum")
    agree(f)


@pytest.mark.parametrize(
    "speak",
    [
        lambda f: f["C_sum"].split(k, 4),
        lambda f: f["C"].after("C_sum", i),
        lambda f: f["C_sum"].compute_at("C", i),
        lambda f: f.nest("C_sum", "C").parallelize(i),
    ],
)
def test_a_command_of_theirs_ends_it(speak: object) -> None:
    f = shares()
    speak(f)
    assert not f.default_schedule
    assert "# vector" not in str(f.loops)
    agree(f)


def test_within_a_transaction() -> None:
    f = shares()
    with f.transaction():
        f["C"].parallelize(i)
        f["C_sum"].reverse(i)
    assert not f.default_schedule
    agree(f)


def test_nothing_is_added_without_a_default_schedule() -> None:
    f = shares(default_schedule=False)
    f["C"].parallelize(i)
    assert not f.default_schedule
    assert "# vector" not in str(f.loops)
    agree(f)


def test_nothing_is_added_beside_loops_of_a_gpu() -> None:
    f = shares(target="gpu-emulator")
    f["C"].gpu(i, j)
    assert not f.default_schedule
    agree(f)


def test_replayed_schedules_run_by_the_same_loops() -> None:
    f, g = shares(), shares()
    f["C"].tile(i, j, 4, 8)
    f.schedule.apply_to(g)
    assert f.schedule == g.schedule
    assert f.default_schedule == g.default_schedule
    assert str(f.loops) == str(g.loops)
    agree(g)


def test_what_a_person_declared_is_left_to_them() -> None:
    x = tw.input("x", [N, M], tw.float32)
    S = tw.computation("S", {i: N}, tw.sum(x[i, k], over={k: M}))
    C = tw.computation("C", {i: N, j: M}, x[i, j] / S[i])
    f = tw.function("shares", [C])
    f["C"].parallelize(i)
    assert not f.default_schedule
    assert "# vector" not in str(f.loops)
