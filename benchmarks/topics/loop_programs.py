"""Functions with loops from many fields, with nothing but `@tw.jit`, beside Numba.

Everybody gets the same text (`loop_programs/`): Numba compiles it by ``njit``, with ``parallel=True`` where there are
several threads (its loops are no `prange`, so that this parallelises what stands as whole arrays); nobody has
fast-math. On one thread each function comes twice: a call, and its cold start, which is everything from the decorator
to the result of the first call, with an empty cache.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import peers
import tilewright as tw
from function_calls import first_call, repeated
from harness import Case, Context, Missing

TITLE = "Functions with loops from many fields"
THREADS = (1, 2)

FIELDS = ("images", "signals", "learning", "geometry", "numerics", "discrete")


def _cold_case(name: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Case:
    numba: Any = peers.module("numba")
    if not isinstance(numba, Missing):
        compile_anew = numba.njit
        numba = first_call(lambda: compile_anew(function), arguments)
    return Case(
        f"{name}, cold",
        first_call(lambda: tw.jit(function), arguments),
        peers={"Numba": numba},
        group="cold start",
        sampled=True,
        seconds=0.0,
        goals={"Numba": 3.0},
    )


def cases(context: Context) -> Iterator[Case]:
    numba: Any = peers.module("numba")
    if not isinstance(numba, Missing):
        numba.set_num_threads(min(context.threads, numba.config.NUMBA_NUM_THREADS))
    for field in FIELDS:
        programs = importlib.import_module(f"loop_programs.{field}").PROGRAMS
        for function, arguments in programs:
            name = f"{field}: {function.__name__}"
            if context.only not in name:
                continue
            made = tw.jit(function)
            ours = repeated(made, arguments)
            with contextlib.suppress(tw.TilewrightError):
                made.wait_optimized()
            by_numba: Any = numba
            if not isinstance(numba, Missing):
                by_numba = repeated(numba.njit(parallel=context.threads > 1)(function), arguments)
            yield Case(
                name,
                ours,
                peers={"Numba": by_numba},
                group="calls",
                rtol=1e-9,
                atol=1e-12,
                goals={"Numba": 1.0},
            )
            if context.threads == 1:
                yield _cold_case(name, function, arguments)
