"""`parallelize` and `vectorize` of a loop over terms: commands that give threads and lanes partial
results of their own.

They are a transaction of `split`, `rfactor` and the command itself, of which `schedule` knows as of
any other. (Halide: rfactor, Suriana, Adams and Kamil, "Parallel Associative Reductions in Halide",
CGO 2017.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from ..base.errors import ScheduleError
from ..base.source import caller_location
from .receivers import give

__all__ = ["fold_in_lanes", "fold_in_threads", "require_lanes"]


def fold_in_threads(
    function: _core.Function, name: str, loop: str, terms: int, options: Sequence[Any]
) -> None:
    """Partial results of so many iterations of `loop`, in the order of these, on threads."""
    transaction: Any = _core.Transaction(function, caller_location())
    with transaction:
        outer, _ = _split(function, name, loop, terms)
        partial = _factored(function, name, outer)
        give(function, partial, "parallelize", [outer, *options])


def fold_in_lanes(
    function: _core.Function, name: str, loop: str, lanes: int, terms: int | None
) -> None:
    """A partial result for each lane. Of `lanes` terms beside each other, each lane takes one;
    with `terms`, each takes so many that follow each other."""
    transaction: Any = _core.Transaction(function, caller_location())
    with transaction:
        outer, inner = _split(function, name, loop, lanes if terms is None else terms)
        partial = _factored(function, name, inner if terms is None else outer)
        if terms is None:
            give(function, partial, "vectorize", [inner, lanes])
            return
        if outer != inner:
            give(function, partial, "interchange", [outer, inner])
        give(function, partial, "vectorize", [outer, lanes])


def _split(function: _core.Function, name: str, loop: str, size: int) -> tuple[str, str]:
    """The loops over blocks and in a block; both are `loop` itself if blocks have one iteration."""
    if size == 1:
        return loop, loop
    before = [own for own, _ in function._loops(name)]
    give(function, name, "split", [loop, size])
    position = before.index(loop)
    (outer, _), (inner, _) = function._loops(name)[position : position + 2]
    return outer, inner


def _factored(function: _core.Function, name: str, loop: str) -> str:
    """The name of the partial results, one for each iteration of a loop."""
    taken = set(function.computations)
    partial, number = f"{name}_partial", 2
    while partial in taken:
        partial, number = f"{name}_partial{number}", number + 1
    give(function, name, "rfactor", [loop, partial])
    return partial


def require_lanes(lanes: int | None) -> int:
    """The number of lanes, of which each has a partial result.

    Raises:
        ScheduleError: it was left out.
    """
    if lanes is None:
        raise ScheduleError(
            "vectorize with partial= needs the number of lanes: vectorize('k', 8, partial=True)"
        )
    return lanes
