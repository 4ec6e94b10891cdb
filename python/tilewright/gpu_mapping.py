"""A mapping to a GPU that is found by trying: of each computation, the loops that may run at the same time become
blocks and threads. Loops around them run on the host, which launches a kernel in each of their iterations; loops inside
of them run in each thread; what no such loop is around is done by a block that adds up, or by one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from .errors import AnalysisLimitError, ScheduleError

if TYPE_CHECKING:
    from .commands import ComputationHandle
    from .functions import Function

__all__ = ["map_to_gpu"]

Commands = Callable[["ComputationHandle"], object]

TERMS = 256
"""Threads of a block that adds up."""


def _succeeds(function: Function, computation: str, commands: Commands, lower: bool) -> bool:
    trial = function.copy()
    try:
        commands(trial[computation])
        if lower:
            str(trial.loops)  # limits of kernels are known then
    except (ScheduleError, AnalysisLimitError):
        return False
    return True


def _parallel_runs(function: Function, computation: str) -> Iterator[list[str]]:
    """Parallel loops directly inside each other: the outermost ones first, as many as there are."""
    run: list[str] = []
    runs = [run]
    for loop in function[computation].loops:
        if _succeeds(function, computation, partial(_parallelize, loop), False):
            run.append(loop)
        elif run:
            run = []
            runs.append(run)
    for found in runs:
        for start in range(len(found)):
            yield found[start:]


def _parallelize(loop: str, own: ComputationHandle) -> None:
    own.parallelize(loop)


def _to_blocks_and_threads(run: Sequence[str], own: ComputationHandle) -> None:
    if len(run) <= 3:
        own.gpu(*run)
        return
    # Blocks of the first one and of tiles of the last two; each thread runs through the others.
    first, *between, row, column = run
    own.tile(row, column, 8, 32)
    own.reorder(first, f"{row}0", f"{column}0", f"{row}1", f"{column}1", *between)
    own.gpu_block(first, f"{row}0", f"{column}0").gpu_thread(f"{row}1", f"{column}1")


def _to_terms(own: ComputationHandle) -> None:
    last = own.loops[-1]
    own.split(last, TERMS).gpu_thread(f"{last}1")


def _candidates(function: Function, computation: str) -> Iterator[tuple[Commands, bool]]:
    for run in _parallel_runs(function, computation):
        yield partial(_to_blocks_and_threads, run), False
    if function[computation].loops:
        yield _to_terms, True


def map_to_gpu(function: Function) -> None:
    """See `Function.gpu`."""
    for computation in function.computations:
        if any(tag.startswith("gpu") for tag in function[computation].tags.values()):
            continue
        for commands, lower in _candidates(function, computation):
            if _succeeds(function, computation, commands, lower):
                commands(function[computation])
                break
