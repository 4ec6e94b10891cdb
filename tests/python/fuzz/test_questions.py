"""Whether a schedule is legal, asked before: the answer is what the command itself then does.

Over the programs and commands that the fuzzer draws, and over whole schedules made of them.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import tilewright as tw
from fuzz import cases, commands
from fuzz.commands import Command, give
from fuzz.model import Model

KINDS = (tw.IllegalScheduleError, tw.ScheduleError, tw.AnalysisLimitError, KeyError)


class Recorder:
    """Stands for a computation: what would be called, and with what."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle
        self.called: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        getattr(self.handle, name)
        return lambda *arguments: self.called.append((name, arguments))


class Recording:
    """Stands for a function: hands out recorders."""

    def __init__(self, function: tw.Function) -> None:
        self.function = function
        self.recorder: Recorder | None = None

    def __getitem__(self, name: str) -> Recorder:
        self.recorder = Recorder(self.function[name])
        return self.recorder

    def _apply(self, *command: Any) -> None:
        """A command that the public language does not have."""


def outcome_of(work: Any) -> tuple[type[BaseException] | None, Any]:
    try:
        return None, work()
    except KINDS as error:
        return type(error), error


class Asking:
    """`give`, with the question before it."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def __call__(self, function: tw.Function, command: Command, model: Model) -> None:
        if not command[0]:  # questions are asked of computations
            give(function, command, model)
            return
        recording = Recording(function)
        if not command[0]:  # for the whole function, of which `can` does not speak
            give(function, command, model)
            return
        give(recording, command, model)
        called = recording.recorder.called if recording.recorder is not None else []
        if not called:
            give(function, command, model)
            return
        ((name, arguments),) = called
        schedule, times = function.schedule, function._loops_text()
        before = outcome_of(lambda: function[command[0]].can(name, *arguments))
        assert function.schedule == schedule and function._loops_text() == times
        kind, result = outcome_of(lambda: give(function, command, model))
        self.compare(before, kind, result)
        if kind is None:
            assert function.copy().reset_schedule().legal(function.schedule)
        if result is not None:
            raise result

    def compare(self, before: Any, kind: type[BaseException] | None, result: Any) -> None:
        asked, verdict = before
        if kind in (None, tw.IllegalScheduleError):
            assert asked is None, (asked, kind)
            assert bool(verdict) == (kind is None), (verdict, result)
            self.seen["legal" if kind is None else "refused"] += 1
        else:
            assert asked is kind, (asked, kind)  # arguments that make no sense
            self.seen["no sense"] += 1
        if kind is tw.IllegalScheduleError:
            assert verdict.reason == result.message and str(verdict).startswith("[TW21")
            assert verdict.error.details == result.details
            witness = verdict.witness
            assert (witness is None) == (not result.source_instance)
            if witness is not None:
                assert witness.source == result.source_instance
                assert witness.parameters == result.parameters
        elif kind is None:
            assert (verdict.reason, verdict.witness, verdict.error) == ("", None, None)


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Asking:
    asking = Asking()
    monkeypatch.setattr(cases, "give", asking)
    return asking


def test_the_answer_is_what_the_command_does(asking: Asking) -> None:
    for number in range(60):
        cases.Runner(cases.draw_case(f"asked:{number}"), compiled=False).run()
    assert asking.seen["legal"] > 40 and asking.seen["refused"] > 8 and asking.seen["no sense"] > 3
    assert cases.give is asking and commands.give is give


def test_whole_schedules() -> None:
    """A schedule that another function of the same computations has, legal or not."""
    N = tw.param("N")
    i = tw.iter("i")
    x = tw.input("x", [N], tw.float64)

    def function(backwards: bool) -> tw.Function:
        B = tw.computation("B", {i: N}, 2 * x[i])
        C = tw.computation("C", {i: N}, B[N - 1 - i] if backwards else B[i])
        return tw.function("f", outputs=[C], default_schedule=False)

    plain, backwards = function(False), function(True)
    plain["C"].after("B", "i").parallelize("i")
    assert plain.copy().reset_schedule().legal(plain.schedule)
    verdict = backwards.legal(plain.schedule)
    assert not verdict and verdict.error is not None and verdict.error.kind == "order"
    assert verdict.error.function is backwards and not backwards.schedule
    with pytest.raises(tw.IllegalScheduleError) as refusal:
        plain.schedule.apply_to(backwards)
    assert verdict.error.message == refusal.value.message
    assert backwards.legal(tw.Schedule()) and backwards.legal(backwards.schedule)
    other = tw.Schedule([("D", "reverse", ["i"])])
    with pytest.raises(tw.ScheduleError, match="needs a computation D"):
        plain.legal(other)
