"""`tw.function(..., schedule=)`: the default schedule first, then the one that is found."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.functions import automatic_start

N, M, T = tw.params("N M T", "T >= 1")
i, j, k, t = tw.iters("i j k t")


def stencil(name: str, schedule: Any = None, **options: Any) -> tw.Function:
    x = tw.input("x", [N], tw.int64)

    def step(y: Any) -> Any:
        around = y[t - 1, i - 1] + y[t - 1, i + 1]
        inside = (i > 0) & (i < N - 1)
        return [(t == 0, x[i]), (t > 0, tw.select(inside, around % 1000, y[t - 1, i]))]

    y = tw.computation("y", {t: T + 1, i: N}, step, dtype=tw.int64)
    last = tw.computation("last", {i: N}, y[T, i])
    return tw.function(name, outputs=[last], schedule=schedule, context=[N >= 3], **options)


def expected(x: np.ndarray, steps: int) -> np.ndarray:
    x = x.copy()
    for _ in range(steps):
        x[1:-1] = (x[:-2] + x[2:]) % 1000
    return x


X = np.arange(300) ** 2 % 1000


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """What is found is given when this is set."""
    event = threading.Event()
    plain = automatic_start.choice_for

    def wait(function: tw.Function) -> tw.Schedule:
        found = plain(function)
        assert event.wait(60)
        return found

    monkeypatch.setattr(automatic_start, "choice_for", wait)
    return event


def test_the_default_first_then_what_is_found(held: threading.Event) -> None:
    f = stencil("first_default", "auto")
    assert not f.schedule
    assert not f.wait_scheduled(0.01)
    before = f(X, T=40)
    held.set()
    assert f.wait_scheduled()
    assert f.schedule == stencil("first_default").auto_schedule()
    assert "# y: tiles of" in str(f.schedule)
    after = f(X, T=40)
    np.testing.assert_array_equal(before, expected(X, 40))
    np.testing.assert_array_equal(after, before)


def test_now() -> None:
    f = stencil("now", "auto-now")
    assert f.schedule == stencil("now").auto_schedule()
    assert f.wait_scheduled(0)
    np.testing.assert_array_equal(f(X, T=17), expected(X, 17))


@pytest.mark.parametrize("schedule", [None, "default"])
def test_the_default(schedule: Any) -> None:
    f = stencil("as_today", schedule)
    assert f.wait_scheduled()
    assert not f.schedule
    assert f.default_schedule == stencil("as_today").default_schedule


@pytest.mark.parametrize("schedule", ["", "Auto", "auto_now", "fast"])
def test_other_words(schedule: str) -> None:
    with pytest.raises(tw.DeclarationError, match="schedule must be one of 'default', 'auto'"):
        stencil("words", schedule)


@pytest.mark.parametrize("schedule", [True, 3, ["auto"], b"auto", tw.Schedule()])
def test_other_types(schedule: Any) -> None:
    with pytest.raises(TypeError, match="schedule must be a string"):
        stencil("types", schedule)


def test_commands_given_meanwhile_stay(held: threading.Event) -> None:
    f = stencil("meanwhile", "auto")
    f["last"].parallelize("i")
    given = f.schedule
    held.set()
    assert not f.wait_scheduled()
    assert f.schedule == given
    np.testing.assert_array_equal(f(X, T=5), expected(X, 5))


def test_the_first_command_starts_from_the_loops_as_declared() -> None:
    f = stencil("first_command", "auto")
    assert f.wait_scheduled()
    with pytest.raises(tw.IllegalScheduleError):
        f["y"].parallelize("t")
    assert f.schedule == stencil("first_command").auto_schedule()  # a refused one changes nothing
    np.testing.assert_array_equal(f(X, T=5), expected(X, 5))
    f["last"].parallelize("i")
    assert str(f.schedule) == 'last.parallelize("i")'
    np.testing.assert_array_equal(f(X, T=5), expected(X, 5))
    g = stencil("first_command", "auto")
    assert g.wait_scheduled()
    with g.transaction():
        g["last"].split("i", 4)
        g["last"].parallelize("i0")
    assert len(g.schedule) == 1
    assert "storage_fold" not in str(g.schedule)
    np.testing.assert_array_equal(g(X, T=5), expected(X, 5))


def test_a_copy_begins_where_the_function_is() -> None:
    f = stencil("copied", "auto")
    assert f.wait_scheduled()
    g = f.copy()
    assert g.schedule == f.schedule
    g["last"].parallelize("i")
    assert str(g.schedule) == 'last.parallelize("i")'
    assert f.schedule != g.schedule


def test_what_prevents_it_is_raised_by_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(function: tw.Function) -> tw.Schedule:
        raise tw.AnalysisLimitError("too long")

    monkeypatch.setattr(automatic_start, "choice_for", refuse)
    f = stencil("prevented", "auto")
    with pytest.raises(tw.AnalysisLimitError, match="too long"):
        f.wait_scheduled()
    np.testing.assert_array_equal(f(X, T=5), expected(X, 5))


def test_calls_while_it_is_found() -> None:
    """Several threads call; each call is by one schedule or the other, and right."""
    f = stencil("while_found", "auto")
    wrong: list[int] = []
    right = expected(X, 30)

    def work() -> None:
        for _ in range(20):
            if not np.array_equal(f(X, T=30), right):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert f.wait_scheduled()
    assert not wrong
    np.testing.assert_array_equal(f(X, T=30), right)
