"""`tw.prange`: `range` that asks for a parallel loop."""

from __future__ import annotations

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
    """
    return range(*bounds)
