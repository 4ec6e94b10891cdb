"""Heat equations in two and three dimensions: explicit steps in time on a grid with a fixed border.

A kernel takes two grids as one array ``grids[2, ...]``: the values at time 0 in ``grids[0]``, and
the border, which never changes, in both. It makes 2 P steps in place and returns the array:
``grids[0]`` then has time 2 P and ``grids[1]`` time 2 P - 1. Nothing else is stored::

    heat = tw.kernels.stencils.heat2d(tw.float32)
    heat(np.stack([grid, grid]), P=50)[0]     # after 100 steps
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tilewright as tw

from ..language.expressions import Expression
from ..language.names import Iterator, Parameter

__all__ = ["heat2d", "heat2d_by_steps", "heat3d", "heat3d_by_steps"]


def _heat(
    name: str,
    dtype: Any,
    space: Sequence[Iterator],
    sizes: Sequence[Parameter],
    pairs: Parameter,
    rate: float,
) -> tuple[tw.Function, tw.Computation]:
    """The declaration: ``heat[t, ...]`` is the interior after t steps, kept in the two grids.

    A step adds `rate` times the sum of differences to the two neighbours in each direction.
    """
    found = tw.as_dtype(dtype)
    if found not in (tw.float32, tw.float64):
        raise tw.ArgumentTypeError(f"heat kernels take float32 or float64, not {found}")
    t, p = tw.iters("t p")
    grids = tw.input("grids", [2, *sizes], found)

    def inside(place: Sequence[Expression]) -> Expression:
        result: Expression = (place[0] > 0) & (place[0] < sizes[0] - 1)
        for x, size in list(zip(place, sizes, strict=True))[1:]:
            result = result & (x > 0) & (x < size - 1)
        return result

    def before(heat: tw.Computation, *offset: int) -> Expression:
        """The value one step ago at a neighbour: of the border and of time 0, the caller's."""
        place = [x + d for x, d in zip(space, offset, strict=True)]
        computed = (t > 1) & inside(place)
        now, then = (t - 1, *place), (t - 1 - 2 * ((t - 1) // 2), *place)
        return tw.select(computed, heat[now], grids[then])

    def step(heat: tw.Computation) -> Expression:
        neighbours = []
        for axis in range(len(space)):
            for d in (-1, 1):
                offset = [0] * len(space)
                offset[axis] = d
                neighbours.append(before(heat, *offset))
        total = neighbours[0]
        for value in neighbours[1:]:
            total = total + value
        return (1 - 2 * len(space) * rate) * before(heat, *[0] * len(space)) + rate * total

    interior = {x: (1, size - 1) for x, size in zip(space, sizes, strict=True)}
    heat = tw.computation("heat", {t: (1, 2 * pairs + 1), **interior}, step, dtype=found)
    even, odd = (2 * pairs, *space), (2 * pairs - 1, *space)
    last = [((p == 0) & inside(space), heat[even]), ((p == 1) & inside(space), heat[odd])]
    domain: dict[Iterator, Any] = {p: 2, **dict(zip(space, sizes, strict=True))}
    final = tw.computation("final", domain, last)
    function = tw.function(name, outputs=[final])

    # In place: time t lies in grid t % 2, so the results are where they belong.
    of_time, of_result = (t % 2, *space), (p, *space)
    heat.store_in(grids[of_time])
    final.store_in(grids[of_result])
    return function, heat


def _heat2d(name: str, dtype: Any) -> tuple[tw.Function, tw.Computation]:
    pairs, n, m = tw.params("P N M", "P >= 1 and N >= 3 and M >= 3")
    return _heat(name, dtype, tw.iters("i j"), [n, m], pairs, 0.125)


def _heat3d(name: str, dtype: Any) -> tuple[tw.Function, tw.Computation]:
    pairs, n, m, q = tw.params("P N M L", "P >= 1 and N >= 3 and M >= 3 and L >= 3")
    return _heat(name, dtype, tw.iters("i j k"), [n, m, q], pairs, 0.1)


_SHOWN = (_heat,)  # on the page of kernels


def heat2d(dtype: Any = tw.float32, time: int = 16, rows: int = 8) -> tw.Function:
    """The heat equation in two dimensions, tiled in time: ``rows`` rows stay in the cache for
    ``time`` steps.

    A step is ``0.5 * u[i, j] + 0.125 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])``.

    Args:
        dtype: float32 or float64.
        time: steps in a tile.
        rows: rows in a tile; in each step they lie one row further up.

    Returns:
        ``heat2d(grids: inout[2, N, M], P=...) -> final[2, N, M] in grids``.
    """
    function, heat = _heat2d("heat2d", dtype)

    # Rows are skewed by time, so that a tile needs nothing of the tiles after it. Tiles on a
    # diagonal need nothing of each other: the sum of their two numbers is the outermost loop, and
    # the tiles of one sum run in parallel.
    tile, row = f"floor(t/{time})", f"floor((i + t)/{rows})"
    heat.set_schedule(f"{{ heat[t,i,j] -> [{tile} + {row}, {tile}, t, i + t, j] }}")
    heat.parallelize("t1").vectorize("j", 64 // tw.as_dtype(dtype).itemsize)
    return function


def heat2d_by_steps(dtype: Any = tw.float32) -> tw.Function:
    """`heat2d` without tiles, for comparison: each step goes once through memory.

    Args:
        dtype: float32 or float64.

    Returns:
        ``heat2d(grids: inout[2, N, M], P=...) -> final[2, N, M] in grids``.
    """
    function, heat = _heat2d("heat2d", dtype)
    heat.parallelize("i").vectorize("j", 64 // tw.as_dtype(dtype).itemsize)
    return function


def heat3d(
    dtype: Any = tw.float32, time: int = 36, planes: int = 36, rows: int = 36, strip: int = 2
) -> tw.Function:
    """The heat equation in three dimensions, tiled in time twice: blocks of ``planes x rows`` rows
    stay in the last cache for ``time`` steps, and blocks of a third of that in the one before it.

    A step is ``0.4 * u[i, j, k]`` and ``0.1`` times the sum of the six neighbours.

    Args:
        dtype: float32 or float64.
        time: steps in a tile.
        planes: extent of a tile in the first dimension.
        rows: extent of a tile in the second dimension.
        strip: rows of a tile that go through all its planes before the next ones do, so that the
            planes before and after are still there.

    Returns:
        ``heat3d(grids: inout[2, N, M, L], P=...) -> final[2, N, M, L] in grids``.
    """
    function, heat = _heat3d("heat3d", dtype)

    # As in two dimensions, with two dimensions skewed and tiled, and tiles in tiles. Rows are short,
    # and the processor does not foresee where the next one is: it is asked for ahead.
    def blocks(time: int, planes: int, rows: int) -> tuple[str, str, str]:
        return f"floor(t/{time})", f"floor((i + t)/{planes})", f"floor((j + t)/{rows})"

    tile, plane, row = blocks(time, planes, rows)
    within = ", ".join(blocks(max(time // 3, 1), max(planes // 3, 1), max(rows // 3, 1)))
    point = f"t, floor((j + t)/{strip}), i + t, j + t, k"
    heat.set_schedule(
        f"{{ heat[t,i,j,k] -> [{tile} + {plane} + {row}, {plane}, {tile}, {within}, {point}] }}"
    )
    # A diagonal has few tiles, and those at the border are small.
    heat.parallelize("t1", schedule="dynamic").vectorize("k", 64 // tw.as_dtype(dtype).itemsize)
    heat.prefetch("grids", "k0", 20)
    return function


def heat3d_by_steps(dtype: Any = tw.float32) -> tw.Function:
    """`heat3d` without tiles, for comparison: each step goes once through memory.

    Args:
        dtype: float32 or float64.

    Returns:
        ``heat3d(grids: inout[2, N, M, L], P=...) -> final[2, N, M, L] in grids``.
    """
    function, heat = _heat3d("heat3d", dtype)
    heat.parallelize("i").vectorize("k", 64 // tw.as_dtype(dtype).itemsize)
    return function
