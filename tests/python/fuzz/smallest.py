"""storage_fold whose folds the library finds: they are legal, and of one dimension the smallest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tilewright as tw
from fuzz.commands import Command, give
from fuzz.linear import Refused
from fuzz.space import SEARCHED
from fuzz.state import NotModelled
from fuzz.transactions import Failure

if TYPE_CHECKING:
    from fuzz.cases import Runner


def smallest_fold(runner: Runner, command: Command) -> None:
    """storage_fold without a size: the library's is legal, and no smaller one is."""
    computation, name, (iterator,) = command
    attempted = [*runner.done, command]
    runner.attempted.append(command)
    runner.count("commands")
    try:
        before = [runner.model.after([computation, name, [iterator, d]]) for d in (1, 2)]
    except (Refused, NotModelled):
        before = []
    try:
        give(runner.function, command, runner.model)
    except tw.IllegalScheduleError as error:
        if not before:
            raise Failure("accepted", f"no sense, yet only refused: {error}", attempted) from error
        # Each size has a witness of its own.
        for d, model in enumerate(before, start=1):
            try:
                give(runner.function, [computation, name, [iterator, d]], runner.model)
            except tw.IllegalScheduleError as refusal:
                runner.confirm(refusal, model, attempted)
            else:
                raise Failure("false refusal", f"{error}; yet {d} is legal", attempted) from error
        runner.count("refused: storage_fold without a size")
        return
    except (tw.ScheduleError, KeyError) as error:
        if before:
            raise Failure("command", f"refused, but it makes sense: {error}", attempted) from error
        runner.count("without sense: storage_fold without a size")
        runner.count("verdicts: no sense / no sense")
        return
    except tw.AnalysisLimitError:
        runner.count("operation limit reached")
        return
    if not before:
        raise Failure("accepted", "accepted, but it makes no sense", attempted)
    size = runner.function._commands()[-1][2][1]
    for smaller in range(1, size):
        model = runner.model.after([computation, name, [iterator, smaller]])
        if not any(runner.problem(model, sizes) for sizes in [*runner.case["sizes"], *SEARCHED]):
            text = f"a fold of {smaller} does as well as the smallest, {size}"
            raise Failure("false refusal", text, attempted)
    runner.done = attempted
    runner.model = runner.model.after([computation, name, [iterator, size]])
    runner.agree(runner.model)
    runner.count("verdicts: legal / legal")
    runner.count("legal: storage_fold without a size")


def smallest_buffer(runner: Runner, command: Command) -> None:
    """storage_fold of everything: the library's folds are legal, wherever some are."""
    computation, name, _ = command
    rank = len(runner.model.storage[computation][1]) if computation in runner.model.storage else 0
    runner.attempted.append(command)
    runner.count("commands")
    try:
        give(runner.function, command, runner.model)
    except tw.IllegalScheduleError as error:
        # What lay inside loops of a reader lies outside of them then, and may be illegal whatever its sizes are.
        for size in (1, 1000):
            folded = [computation, name, [[size] * rank]]
            try:
                give(runner.function, folded, runner.model)
            except tw.IllegalScheduleError as refusal:
                runner.confirm(refusal, runner.model.after(folded), [*runner.done, folded])
            else:
                text = f"the library's own folds are illegal, yet {size} is legal: {error}"
                raise Failure("false refusal", text, [*runner.done, command]) from error
        runner.count("refused: storage_fold of everything")
        return
    except (tw.ScheduleError, KeyError):
        runner.count("without sense: storage_fold of everything")
        return
    except tw.AnalysisLimitError:
        runner.count("operation limit reached")
        return
    (folds,) = runner.function._commands()[-1][2]
    if len(folds) != rank:
        raise Failure("accepted", f"{folds} for {rank} dimensions", [*runner.done, command])
    runner.done = [*runner.done, [computation, name, [folds]]]
    runner.model = runner.model.after(runner.done[-1])
    runner.agree(runner.model)
    runner.count("verdicts: legal / legal")
    runner.count("legal: storage_fold of everything")
