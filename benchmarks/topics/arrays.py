"""Python functions of whole arrays, `@tw.jit`, beside NumPy and, where they are installed, Numba and Pythran.

Everybody gets the same text (`array_functions`): NumPy runs it, Numba compiles it with
``parallel=True`` where there are several threads, Pythran with OpenMP; nobody has fast-math. Each
function comes twice: a call, and its cold start, which is everything from the decorator to the result of
the first call, with an empty cache.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import array_functions
import peers
import tilewright as tw
from function_calls import first_call, repeated
from harness import Case, Context, Missing

TITLE = "Python functions of whole arrays"
THREADS = (1, 2)


def _by_numba(function: Callable[..., Any], arguments: tuple[Any, ...], threads: int) -> Any:
    numba = peers.module("numba")
    if isinstance(numba, Missing):
        return numba
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    try:
        return repeated(numba.njit(parallel=threads > 1)(function), arguments)
    except Exception as error:  # what Numba raises for what it does not compile
        return Missing(f"Numba refuses it ({type(error).__name__})")


def _by_pythran(function: Callable[..., Any], arguments: tuple[Any, ...], quick: bool) -> Any:
    pythran = peers.module("pythran")
    if isinstance(pythran, Missing):
        return pythran
    if quick:
        return Missing("Pythran compiles for many seconds")
    types = ", ".join(
        f"{each.dtype}[{','.join(':' * each.ndim)}]"
        if isinstance(each, np.ndarray)
        else type(each).__name__
        for each in arguments
    )
    name = function.__name__
    body = inspect.getsource(function).replace(": Any", "").replace(" -> Any", "")
    text = f"import numpy as np\n# pythran export {name}({types})\n{body}"
    try:
        folder = tempfile.mkdtemp()
        file = pythran.compile_pythrancode(
            name, text, output_file=f"{folder}/{name}.so", extra_compile_args=["-fopenmp"]
        )
        import importlib.util

        found = importlib.util.spec_from_file_location(name, file)
        assert found is not None and found.loader is not None
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)
        return repeated(getattr(module, name), arguments)
    except Exception as error:  # of Pythran, or of the C++ compiler
        return Missing(f"Pythran refuses it ({type(error).__name__})")


def _ours(function: Callable[..., Any]) -> Callable[..., Any]:
    return tw.jit(function)


def cases(context: Context) -> Iterator[Case]:
    numba = peers.module("numba")
    for function, arguments in array_functions.problems(context.quick):
        name = function.__name__
        cold: dict[str, Any] = {"Numba": numba}
        by_numba = _by_numba(function, arguments, context.threads)
        if isinstance(by_numba, Missing):
            cold["Numba"] = by_numba
        else:
            options = {"parallel": context.threads > 1}
            cold["Numba"] = first_call(
                lambda f=function, o=options: numba.njit(**o)(f),  # type: ignore[misc]
                arguments,
            )
        yield Case(
            f"{name}, cold",
            first_call(lambda f=function: _ours(f), arguments),  # type: ignore[misc]
            peers=cold,
            group="cold start",
            sampled=True,
            seconds=0.0,
            goals={"Numba": 3.0},
        )
        yield Case(
            name,
            repeated(_ours(function), arguments),
            peers={
                "NumPy": repeated(function, arguments),
                "Numba": by_numba,
                "Pythran": _by_pythran(function, arguments, context.quick),
            },
            group="calls",
            rtol=1e-9,
            atol=1e-12,
            goals={"Numba": 1.0},
        )
