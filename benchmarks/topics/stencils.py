"""Heat equations on grids beyond the last-level cache, beside gcc, clang, clang with Polly and Numba.

All make the same number of steps in place on two grids of their own. Ours is tiled in time; "by
steps" is ours without tiles. The number of steps is large enough for tiles to matter and is the
same for everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import heat_c
import peers
from harness import Case, Context, Missing
from tilewright.kernels import stencils

TITLE = "Heat equations, tiled in time"
THREADS = (1, 2)

Array = npt.NDArray[Any]


def numba_heat(grids: Array, pairs: int) -> Callable[[], Array] | Missing:
    """The loops over rows in parallel, one step after the other."""
    numba = peers.module("numba")
    if isinstance(numba, Missing):
        return numba
    prange = numba.prange
    real = grids.dtype.type

    def step2(u: Array, v: Array) -> None:
        a, b = real(0.5), real(0.125)
        for i in prange(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = a * u[i, j] + b * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

    def step3(u: Array, v: Array) -> None:
        a, b = real(0.4), real(0.1)
        for i in prange(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                for k in range(1, u.shape[2] - 1):
                    v[i, j, k] = a * u[i, j, k] + b * (
                        u[i - 1, j, k]
                        + u[i + 1, j, k]
                        + u[i, j - 1, k]
                        + u[i, j + 1, k]
                        + u[i, j, k - 1]
                        + u[i, j, k + 1]
                    )

    compiled = numba.njit(parallel=True, fastmath=True)(step2 if grids.ndim == 3 else step3)

    def run() -> Array:
        for _ in range(pairs):
            compiled(grids[0], grids[1])
            compiled(grids[1], grids[0])
        return grids

    return run


def cases(context: Context) -> Iterator[Case]:
    pairs = 4 if context.quick else 32
    for rank in (2, 3):
        for dtype in (np.float32, np.float64):
            if context.quick:
                shape = (66, 130) if rank == 2 else (18, 34, 66)
            else:
                shape = (4000, 4000) if rank == 2 else (260, 260, 500)
            start = np.random.default_rng(0).random(shape).astype(dtype)
            tiled = (stencils.heat2d if rank == 2 else stencils.heat3d)(dtype)
            steps = (stencils.heat2d_by_steps if rank == 2 else stencils.heat3d_by_steps)(dtype)

            # Everybody works on one pair of grids: steps are contractions, and what they do to
            # values is compared at the first run, when each starts from the same ones.
            grids = np.stack([start, start])

            def from_start(
                run: Callable[[], Any], grids: Array = grids, start: Array = start
            ) -> Any:
                fresh = [True]

                def call() -> Any:
                    if fresh[0]:
                        grids[:] = start
                        fresh[0] = False
                    return run()

                return call

            contenders: dict[str, Callable[[], Any] | Missing] = {
                name: heat_c.heat(name, grids, pairs) for name in heat_c.COMPILERS
            }
            contenders["Numba"] = numba_heat(grids, pairs)
            contenders["by steps"] = lambda f=steps, g=grids: f(g, P=pairs)  # type: ignore[misc]
            yield Case(
                f"heat {rank}D, {' x '.join(map(str, shape))}, {np.dtype(dtype).name}",
                from_start(lambda f=tiled, g=grids: f(g, P=pairs)),  # type: ignore[misc]
                peers={
                    name: peer if isinstance(peer, Missing) else from_start(peer)
                    for name, peer in contenders.items()
                },
                group=f"heat {rank}D",
                rtol=1e-4 if dtype == np.float32 else 1e-12,
                goals={"gcc": 2.0, "clang": 2.0, "Polly": 2.0},
                work=2.0 * pairs * start.size,
                unit="Gpoint/s",
                note=f"{2 * pairs} steps; the grids have {2 * start.nbytes / 2**20:.0f} MiB",
                seconds=None if context.quick else 4.0,
            )
