"""What `auto_schedule` finds for a random program: never refused, judged as any transaction, and right at sizes of
several tiles."""

from __future__ import annotations

from typing import Any

import tilewright as tw
from fuzz.commands import Command, as_drawn
from fuzz.linear import Refused
from fuzz.model import NotModelled
from fuzz.transactions import Failure, give_together


def commands_of(schedule: tw.Schedule) -> list[Command]:
    """As they would have been drawn, without the test for little work: all sizes shall run by the others."""
    return [
        [computation, name, as_drawn(name, arguments)]
        for _, _, inside in schedule.commands
        for computation, name, arguments in inside
        if name != "when_work"
    ]


def map_to_device(runner: Any, target: str) -> None:
    """Maps the program to a GPU, or its emulator, and compares its values; the emulator reports races besides."""
    found = runner.original.copy()
    try:
        found.auto_schedule(target=target)
    except tw.AnalysisLimitError:
        runner.count("automatic schedules beyond the operation limit")
        return
    except tw.TilewrightError as error:
        raise Failure("device", f"no schedule is found: {error}", []) from error
    runner.count("kernels found" if "kernel:" in str(found.loops) else "no kernel found")
    if runner.compiled:
        for sizes in runner.case["sizes"][:1]:
            runner.compare(sizes, found)
        runner.compare_large(found)


def judge_automatic(runner: Any) -> None:
    """Finds the schedule, compares its values, and gives it to the runner's function."""
    found = runner.function.copy()
    try:
        schedule = found.auto_schedule()
    except tw.AnalysisLimitError:
        runner.count("automatic schedules beyond the operation limit")
        return
    except tw.TilewrightError as error:
        raise Failure("automatic", f"no schedule is found: {error}", []) from error
    runner.count("automatic schedules")
    if schedule != found.auto_schedule():
        raise Failure("automatic", "another schedule is found the second time", [])
    if runner.compiled:
        runner.compare_large(found)
    commands = commands_of(schedule)
    if any(command[1] == "tile" for command in commands):
        runner.count("automatic schedules with tiles")
    model = runner.model
    try:
        for command in commands:
            model = model.after(command, whole=False)
    except Refused as error:
        record: Command = ["", "transaction", commands]
        raise Failure("automatic", f"{command} makes no sense: {error}", [record]) from error
    except NotModelled:
        runner.count("automatic schedules not judged")
        return
    if not commands:
        return
    done = runner.done
    give_together(runner, commands, abandoned=False)
    if runner.done is done:
        raise Failure("automatic", "its commands are refused", [["", "transaction", commands]])
    if runner.compiled:
        runner.compare_large(runner.function)
