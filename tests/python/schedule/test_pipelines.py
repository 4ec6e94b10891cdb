"""Stages of pipelines under `auto_schedule`: computed where they are read, or row by row in strips."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tilewright as tw

H, W, P = tw.params("H W P")
i, j, n, c = tw.iters("i j n c")

Stage = Callable[[Any], Any]


def always(f: tw.Function) -> tw.Schedule:
    """Sets the schedule that is found, for little work, too."""
    found = f.auto_schedule()
    rest = [one for one in found.commands[0][2] if one[1] != "when_work"]
    schedule = tw.Schedule([("", "transaction", rest)])
    schedule.apply_to(f)
    return schedule


def commands(f: tw.Function, name: str) -> list[tuple[str, Any]]:
    """(computation, arguments) of the commands of a name."""
    every = f.schedule.commands[0][2]
    return [(of, arguments) for of, command, arguments in every if command == name]


def image(*shape: int, dtype: Any = np.int64) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(0, 50, shape).astype(dtype)


def agree(f: tw.Function, *arrays: np.ndarray, **parameters: int) -> None:
    """With the loops as declared, on one thread and on three."""
    plain = f.copy()
    tw.Schedule([("", "when_work", [1 << 39])]).apply_to(plain)
    right = plain(*arrays, **parameters)
    for threads in (1, 3):
        own = f(*arrays, threads=threads, **parameters)
        np.testing.assert_array_equal(own, right)


def across(a: Any, i: Any, j: Any) -> Any:
    return a[i, j - 1] + 2 * a[i, j] + a[i, j + 1]


def down(a: Any, i: Any, j: Any) -> Any:
    """Of two columns: rows of one column only would be computed where they are read."""
    return a[i - 1, j] + 3 * a[i, j] + a[i + 1, j - 1]


def straight(a: Any, i: Any, j: Any) -> Any:
    return a[i - 1, j] + 3 * a[i, j] + a[i + 1, j]


def chain(stages: Sequence[Callable[[Any, Any, Any], Any]], dtype: Any = tw.int64) -> tw.Function:
    """Each stage reads the one before, in a part of the image."""
    last: Any = tw.input("x", [H, W], dtype)
    for number, stage in enumerate(stages, 1):
        domain = {i: (number, H - number), j: (number, W - number)}
        last = tw.computation(f"s{number}", domain, stage(last, i, j), shape=[H, W])
    edge = 2 * len(stages) + 1
    return tw.function("chain", outputs=[last], context=[H >= edge, W >= edge])


SIZES = [(9, 9), (64, 30), (65, 33), (130, 40), (200, 17)]


# ---- strips ----


def test_rows_are_kept_while_they_are_read() -> None:
    f = chain([across, down])
    always(f)
    assert commands(f, "compute_at") == [("s1", ("s2", "i1"))]
    assert commands(f, "store_at") == [("s1", ("s2", "i0", "auto"))]
    assert ("s2", ("i0",)) in commands(f, "parallelize")
    assert "s1: computed row by row just before s2 needs them, in strips of 64 rows" in f.explain()
    assert "2 rows around a strip are computed again" in f.explain()
    assert "s1 = empty((3, " in f.loops
    for size in SIZES:
        agree(f, image(*size))


def test_against_the_evaluator() -> None:
    f = chain([across, down, across], tw.float64)
    always(f)
    x = image(70, 12, dtype=float)
    np.testing.assert_array_equal(f(x), f.evaluate(x))


@pytest.mark.parametrize(
    "stages", [[down] * 2, [down] * 5, [across, down] * 3, [down, across, down]]
)
def test_chains(stages: Any) -> None:
    f = chain(stages)
    always(f)
    assert commands(f, "compute_at")
    for size in [(2 * len(stages) + 1, 40), (64, 30), (150, 20), (193, 25)]:
        agree(f, image(*size))


def test_rows_ahead_and_behind() -> None:
    def later(a: Any, i: Any, j: Any) -> Any:
        return a[i + 1, j] - a[i, j]

    def earlier(a: Any, i: Any, j: Any) -> Any:
        return 5 * a[i - 2, j] + a[i - 1, j + 1]

    x = tw.input("x", [H, W], tw.int64)
    a = tw.computation("a", {i: H, j: W}, x[i, j] * 3 + x[i, 0] - x[0, j])
    b = tw.computation("b", {i: (2, H - 1), j: (0, W - 1)}, later(a, i, j) + earlier(a, i, j))
    f = tw.function("f", outputs=[b], context=[H >= 4, W >= 2])
    always(f)
    assert commands(f, "compute_at") == [("a", ("b", "i1"))]
    for size in SIZES:
        agree(f, image(*size))


def test_several_stages_of_one_result() -> None:
    x = tw.input("x", [H, W], tw.int64)
    inner = {i: (1, H - 1), j: (1, W - 1)}
    p = tw.computation("p", inner, down(x, i, j) * 7 - x[i, j] * x[i, j], shape=[H, W])
    q = tw.computation("q", inner, across(x, i, j) * 5 - x[i, j] * x[i - 1, j], shape=[H, W])
    deep = {i: (2, H - 2), j: (2, W - 2)}
    r = tw.computation("r", deep, down(p, i, j) - across(q, i, j) * q[i - 1, j], shape=[H, W])
    f = tw.function("f", outputs=[r], context=[H >= 5, W >= 5])
    always(f)
    assert sorted(of for of, _ in commands(f, "compute_at")) == ["p", "q"]
    for size in SIZES:
        agree(f, image(*size))


def test_a_batch_of_images() -> None:
    """Strips are along the first dimension in which rows around are read."""
    x = tw.input("x", [P, H, W], tw.int64)
    rows = {n: P, i: (1, H - 1), j: (1, W)}
    a = tw.computation("a", {n: P, i: H, j: W}, x[n, i, j] * x[n, i, j] + 2 * x[n, i, 0])
    b = tw.computation("b", rows, a[n, i - 1, j] + a[n, i + 1, j - 1] - a[n, i, j], shape=[P, H, W])
    f = tw.function("f", outputs=[b], context=[P >= 1, H >= 3, W >= 1])
    always(f)
    assert commands(f, "compute_at") == [("a", ("b", "i1"))]
    assert ("b", ("n",)) in commands(f, "parallelize")
    for size in [(1, 3, 5), (3, 70, 9), (2, 140, 20)]:
        agree(f, image(*size))


def test_three_channels() -> None:
    x = tw.input("x", [H, W, 3], tw.int64)
    a = tw.computation("a", {i: H, j: (1, W - 1), c: 3}, x[i, j - 1, c] + x[i, j + 1, c] * 3,
                       shape=[H, W, 3])  # fmt: skip
    b = tw.computation("b", {i: (1, H - 1), j: (1, W - 1), c: 3}, a[i - 1, j, c] - a[i + 1, j, c],
                       shape=[H, W, 3])  # fmt: skip
    f = tw.function("f", outputs=[b], context=[H >= 3, W >= 3])
    always(f)
    assert commands(f, "compute_at")
    for size in [(3, 3, 3), (80, 20, 3), (130, 9, 3)]:
        agree(f, image(*size))


# ---- no strips ----


def test_what_fits_into_a_cache_needs_no_strips() -> None:
    x = tw.input("x", [100, 100], tw.int64)
    a = tw.computation("a", {i: 100, j: 100}, x[i, j] * x[i, j] + 3 * x[i, 0])
    b = tw.computation("b", {i: (1, 99), j: (1, 100)}, down(a, i, j), shape=[100, 100])
    f = tw.function("f", outputs=[b])
    always(f)
    assert not commands(f, "compute_at")
    assert (
        "not computed strip by strip of b, since all values of it fit into a cache" in f.explain()
    )
    agree(f, image(100, 100))


def test_results_are_kept_whole() -> None:
    x = tw.input("x", [H, W], tw.int64)
    a = tw.computation("a", {i: H, j: W}, x[i, j] * x[i, j] + 3 * x[i, 0])
    b = tw.computation("b", {i: (1, H - 1), j: W}, straight(a, i, j), shape=[H, W])
    f = tw.function("f", outputs=[a, b], context=[H >= 3])
    f.auto_schedule()
    assert not commands(f, "compute_at")
    assert not commands(f, "inline")


def test_rows_far_away_are_no_window() -> None:
    x = tw.input("x", [H, W], tw.int64)
    a = tw.computation("a", {i: H, j: W}, x[i, j] * x[i, j] + 3 * x[i, 0])
    b = tw.computation("b", {i: H, j: W}, a[H - 1 - i, j] + a[i, j])
    f = tw.function("f", outputs=[b])
    always(f)
    assert not commands(f, "compute_at")
    agree(f, image(40, 20))


# ---- blocks of rows ----


@pytest.mark.parametrize(
    ("stages", "inlined"),
    [
        ([across, straight], ["s1"]),
        ([across, straight, down], []),  # s3 needs two columns of s2, which needs more memory
        ([straight] * 3, ["s1", "s2"]),
        ([across, lambda a, i, j: straight(a, i, j) - a[i - 1, j] * a[i + 1, j]], ["s1"]),
    ],
)
def test_rows_of_one_column_are_made_at_once(stages: Any, inlined: list[str]) -> None:
    f = chain(stages)
    always(f)
    assert sorted(of for of, _ in commands(f, "inline")) == inlined
    last = f"s{len(stages)}"
    assert bool(inlined) == ((last, ("i1", 8)) in commands(f, "unroll"))
    assert bool(inlined) == ("8 rows are made at once" in f.explain())
    for size in [*SIZES, (16, 8), (17, 41)]:
        if min(size) > 2 * len(stages):
            agree(f, image(*size))


def test_an_unsharp_mask_is_made_in_blocks_of_rows() -> None:
    weights = (0.0625, 0.25, 0.375, 0.25, 0.0625)
    x = tw.input("x", [H, W], tw.float32)
    wide, inner = {i: H, j: (2, W - 2)}, {i: (2, H - 2), j: (2, W - 2)}
    taps = [x[i, j + d - 2] * weight for d, weight in enumerate(weights)]
    rows = tw.computation("rows", wide, sum(taps[1:], taps[0]), shape=[H, W])
    taps = [rows[i + d - 2, j] * weight for d, weight in enumerate(weights)]
    blur = tw.computation("blur", inner, sum(taps[1:], taps[0]), shape=[H, W])
    sharp = tw.computation("sharp", inner, x[i, j] * 2.5 - blur[i, j] * 1.5, shape=[H, W])
    f = tw.function("unsharp", outputs=[sharp], context=[H >= 5, W >= 5])
    always(f)
    assert sorted(of for of, _ in commands(f, "inline")) == ["blur", "rows"]
    assert commands(f, "unroll") == [("sharp", ("i1", 8))]
    for size in SIZES:
        agree(f, image(*size, dtype=np.float32))


def test_blocks_of_rows_in_a_batch() -> None:
    x = tw.input("x", [P, H, W], tw.float64)
    a = tw.computation("a", {n: P, i: H, j: (1, W)}, x[n, i, j - 1] * 0.5 + x[n, i, j] * 2.0,
                       shape=[P, H, W])  # fmt: skip
    rows = {n: P, i: (1, H - 1), j: (1, W)}
    b = tw.computation("b", rows, a[n, i - 1, j] + a[n, i + 1, j] - a[n, i, j], shape=[P, H, W])
    f = tw.function("f", outputs=[b], context=[P >= 1, H >= 3, W >= 1])
    always(f)
    assert commands(f, "inline") == [("a", ())]
    assert ("b", ("n",)) in commands(f, "parallelize")
    for size in [(1, 3, 5), (3, 70, 9), (2, 41, 20)]:
        agree(f, image(*size, dtype=np.float64))


@pytest.mark.parametrize(
    "stage",
    [
        lambda x: x[i, j] / (2 + x[i, 0]),  # costly
        lambda x: sum((x[i, j] * k for k in range(1, 30)), x[i, j]),  # many operations
    ],
)
def test_what_costs_more_keeps_its_rows(stage: Stage) -> None:
    x = tw.input("x", [H, W], tw.float64)
    a = tw.computation("a", {i: H, j: W}, stage(x))
    b = tw.computation("b", {i: (1, H - 1), j: W}, straight(a, i, j), shape=[H, W])
    f = tw.function("f", outputs=[b], context=[H >= 3])
    always(f)
    assert not commands(f, "inline")
    assert commands(f, "compute_at") == [("a", ("b", "i1"))]
    agree(f, image(40, 20, dtype=np.float64))


# ---- stages that are computed where they are read ----


def test_a_stage_that_is_read_at_one_place() -> None:
    x = tw.input("x", [H, W], tw.float64)
    a = tw.computation("a", {i: H, j: W}, tw.exp(x[i, j]) / (1 + x[i, 0]))
    b = tw.computation("b", {i: (1, H), j: W}, a[i - 1, j] * 2 + a[i - 1, j])
    f = tw.function("f", outputs=[b], context=[H >= 1])
    always(f)
    assert commands(f, "inline") == [("a", ())]
    assert "a: computed where it is read, since nobody else reads it" in f.explain()
    x_ = np.random.default_rng(1).random((20, 30))
    np.testing.assert_allclose(f(x_), f.evaluate(x_), rtol=1e-14)


def test_what_costs_little_is_computed_again() -> None:
    x = tw.input("x", [H, W], tw.int64)
    a = tw.computation("a", {i: H, j: W}, x[i, j] * x[i, j])
    b = tw.computation("b", {i: (1, H - 1), j: W}, straight(a, i, j), shape=[H, W])
    f = tw.function("f", outputs=[b], context=[H >= 3])
    always(f)
    assert commands(f, "inline") == [("a", ())]
    agree(f, image(30, 20))


def expensive(x: Any) -> Any:
    return x[i, j] / (2 + x[i, 0])


@pytest.mark.parametrize(
    "reader",
    [
        lambda a: a[i, j] + a[i, W - 1 - j],  # at two places
        lambda a: a[i, 0] + a[0, j],  # an element by many
        lambda a: tw.sum(a[i, c], over={c: W}),
        lambda a: a[i, j // 2],
    ],
)
def test_stages_with_memory_of_their_own(reader: Stage) -> None:
    x = tw.input("x", [H, W], tw.float64)
    a = tw.computation("a", {i: H, j: W}, expensive(x))
    b = tw.computation("b", {i: H, j: W}, reader(a))
    f = tw.function("f", outputs=[b], context=[H >= 1, W >= 1])
    f.auto_schedule()
    assert not commands(f, "inline")
    x_ = np.random.default_rng(1).random((20, 30))
    np.testing.assert_allclose(f(x_), f.evaluate(x_), rtol=1e-13)


def test_facts_about_a_stage_keep_it() -> None:
    x = tw.input("x", [H, W], tw.int64)
    a = tw.computation("a", {i: H, j: W}, x[i, j] * 2)
    b = tw.computation("b", {i: H, j: W}, a[i, j] + 1)
    f = tw.function("f", outputs=[b])
    f["a"].independent("i")
    f.auto_schedule()
    assert "independent" in str(f.schedule)
    assert "inline" not in str(f.schedule)


def test_thirty_stages_are_bounded() -> None:
    """Windows are what takes isl its time: there is a limit of them, and the rest is as by default."""
    f = chain([down] * 30)
    found = f.auto_schedule()
    assert len(commands(f, "compute_at")) <= 12
    assert "stages of others are" in f.explain()
    assert found
    agree(f, image(150, 64))
