"""Periodic subscripts: quotients and remainders by a size, of numbers that are a few periods away at most.

`(i + 1) % n` is no affine function, but where 0 <= i < n it is a choice of two: `i + 1 >= n ? i + 1 - n : i + 1`.
The same is done to expressions of Layer I when they are declared; here, dataflow hears of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tilewright as tw

__all__ = ["FARTHEST", "known_at"]

#: Quotients farther from 0 are not looked for. ``(i + 3) % n`` has one of 3 where n is 1.
FARTHEST = 4


def known_at(
    parameters: Sequence[str], iterators: Sequence[str], constraints: Sequence[str]
) -> Callable[[str], bool]:
    """A question: whether a condition holds in all iterations of a place of the program.

    Args:
        parameters: names, as isl's text of the place has them.
        iterators: of the loops around it.
        constraints: what holds in its iterations.
    """
    head = f"[{', '.join(parameters)}] -> {{ [{', '.join(iterators)}] :"
    known: dict[str, bool] = {}

    def holds(condition: str) -> bool:
        if condition not in known:
            given = " and ".join(f"({each})" for each in (*constraints, f"not ({condition})"))
            known[condition] = tw.Set(f"{head} {given} }}").is_empty
        return known[condition]

    return holds
