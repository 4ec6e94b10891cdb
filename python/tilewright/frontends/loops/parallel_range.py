"""`tw.prange`: `range` that asks for a parallel loop."""

from __future__ import annotations

from ...base.checks import described
from ...base.errors import ArgumentError, ArgumentTypeError

__all__ = ["prange"]


def prange(*bounds: int) -> range:
    """`range`, in a function with `@tw.jit` a request to run the loop in parallel.

    It is checked like every schedule, not believed: a loop whose iterations depend on each other is
    refused with the two iterations. In a plain function it is `range`.

    Before::

        for i in tw.prange(n):
            y[i] = 2 * x[i]

    After::

        for i in range(0, n):  # parallel
            y[i] = 2 * x[i]

    Args:
        bounds: as of `range`.

    Raises:
        ArgumentTypeError: there are not one, two or three bounds, or one is no integer.
        ArgumentError: the step is 0.
    """
    if not 1 <= len(bounds) <= 3:
        raise ArgumentTypeError(
            f"tw.prange takes a stop, or a start, a stop and a step, got {len(bounds)} arguments"
        )
    for bound in bounds:
        if not hasattr(type(bound), "__index__"):
            raise ArgumentTypeError(
                f"the bounds of tw.prange must be integers, got {described(bound)}"
            )
    if len(bounds) == 3 and bounds[2] == 0:
        raise ArgumentError("the step of tw.prange must not be 0")
    return range(*bounds)
