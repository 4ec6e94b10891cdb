"""Transactions in a case: commands that are given together, and judged at their end."""

from __future__ import annotations

import random
from typing import Any

import tilewright as tw
from fuzz.commands import Command, draw_command, give
from fuzz.linear import Refused
from fuzz.model import Model, NotModelled
from fuzz.refused_at import is_senseless_at


class Abandoned(Exception):
    """Raised in a transaction, which then changes nothing."""


class Failure(Exception):
    """The library and the judge disagree, or values differ."""

    def __init__(self, kind: str, message: str, commands: list[Command]) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.commands = commands


def kind_of(command: Command) -> str:
    """What a command is counted as."""
    return command[1] if command[0] else f"{command[1]} of a function"


def needs_legal_order(command: Command) -> bool:
    """Whether a command is looked for by asking which orders are legal: no part of a transaction."""
    return command[1] == "storage_fold" and (
        not command[2] or (len(command[2]) == 1 and isinstance(command[2][0], str))
    )


def flat(commands: list[Command]) -> list[Command]:
    """Commands, those of transactions one by one."""
    return [
        one
        for command in commands
        for one in (command[2] if command[1] == "transaction" else [command])
    ]


def inside(model: Model) -> bool:
    """Whether the loops in which computations run are there."""
    try:
        model.require_inside()
    except Refused:
        return False
    return True


def give_together(runner: Any, commands: list[Command] | None, abandoned: bool) -> None:
    """Commands that are judged together, given ones or some that are drawn. Each is asked whether it makes sense;
    what is abandoned, or refused at the end, changes nothing."""
    rng = random.Random(f"{runner.case['seed']}:transaction:{len(runner.attempted)}")
    schedule, given = runner.function.schedule, [] if commands is None else commands
    record: Command = ["", "abandoned" if abandoned else "transaction", given]
    runner.attempted.append(record)
    attempted = [*runner.done, record]
    model = runner.model
    count = rng.randint(2, 4) if commands is None else len(commands)
    try:
        with runner.function.transaction():
            for number in range(count):
                command = draw_command(rng, model) if commands is None else commands[number]
                if command is None or needs_legal_order(command):
                    continue
                for one in flat([command]):
                    if commands is None:
                        given.append(one)
                    model = part(runner, one, model, attempted)
            if abandoned:
                raise Abandoned
    except Abandoned:
        runner.count("transactions abandoned")
    except tw.IllegalScheduleError as error:
        runner.count("refused: transaction")
        if not inside(model):
            raise Failure("accepted", "loops are not inside others", attempted) from error
        runner.confirm(error, model, attempted)
    except tw.ScheduleError as error:
        if inside(model):
            text = f"refused at the end, but it makes sense: {error}"
            raise Failure("command", text, attempted) from error
        runner.count("without sense: transaction")
        runner.count("verdicts: no sense / no sense")
    except tw.AnalysisLimitError:
        runner.count("operation limit reached")
    else:
        if not inside(model):
            raise Failure("accepted", "loops are not inside others", attempted)
        runner.count("legal: transaction")
        runner.done, runner.model = attempted, model
        runner.agree(model)
        runner.lower()
        runner.count("verdicts: legal / legal")
        return
    if runner.function.schedule != schedule:
        raise Failure("transaction", "it left commands behind", attempted)


def part(runner: Any, command: Command, model: Model, attempted: list[Command]) -> Model:
    """The model after one command of a transaction, if it makes sense."""
    runner.count("commands")
    after: Model | None = None
    if command[1] == "independent" and any(
        model.storage.get(name) != runner.model.storage.get(name)
        for name in (command[0], *command[2][1:])
    ):
        return model  # not given: the model has no promises of places, which nothing but a promise makes legal
    try:
        after = model.after(command, whole=False)
    except Refused:
        pass
    except NotModelled:
        return model  # not given
    try:
        give(runner.function, command, model)
    except tw.IllegalScheduleError as error:
        if after is None and "takes its terms in order" in str(error):
            runner.count("without sense: partial results that would be out of order as well")
            return model  # either may be said
        if after is None or after.grouped == model.grouped:
            raise Failure("command", f"legality is asked early: {error}", attempted) from error
        runner.count("refused: order of partial results in a transaction")
        runner.confirm(error, after, attempted)
        return model
    except (tw.ScheduleError, KeyError) as error:
        if after is not None and not is_senseless_at(model, command, str(error)):
            text = f"{command} is refused, but it makes sense: {error}"
            raise Failure("command", text, attempted) from error
        runner.count(f"without sense: {kind_of(command)}")
        return model
    if after is None and command[0] and runner.has_no_instances(command[0], model):
        raise Abandoned  # no term comes several times where there is none; the model knows no such order
    if after is None:
        raise Failure("accepted", f"{command} makes no sense", attempted)
    runner.take_names(command, after, attempted)
    return after
