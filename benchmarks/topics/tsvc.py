"""The loops of TSVC as they are downloaded, called as C calls them, beside gcc and clang.

The files are not part of this project: ``scripts/bench tsvc --folder TSVC_2``. Everybody gets the same loops, one by
one; ours are what `tw.c.load` makes of them, without a command. Once with fast-math for all, and once without for all.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import peers
import tilewright as tw
import tsvc_files
from harness import Case, Context, Missing

TITLE = "TSVC: loops for vectorising compilers"
THREADS = (1,)

_FLAGS = ("-O3", "-march=native", "-w", "-shared", "-fPIC")
_COMPILERS = {"gcc": "gcc", "clang": "clang-19"}
_KINDS = {"fast-math": "-ffast-math", "strict": "-ffp-contract=off"}
#: Of arguments that are numbers; all others are 1.
_NUMBERS = {("s174", "M"): tsvc_files.LENGTH // 2, ("s4116", "j"): tsvc_files.SIDE // 2}


def _library(place: pathlib.Path, compiler: str, text: str, flag: str) -> ctypes.CDLL | Missing:
    program = peers.program(compiler)
    if isinstance(program, Missing):
        return program
    source, made = place / "tsvc.c", place / f"{compiler}{flag}.so"
    source.write_text(text, encoding="utf-8")
    subprocess.run([compiler, *_FLAGS, flag, str(source), "-o", str(made), "-lm"], check=True)
    return ctypes.CDLL(str(made))


def _arguments(loop: tsvc_files.Loop) -> list[Any]:
    draw = np.random.default_rng(1)
    length, side = tsvc_files.LENGTH, tsvc_files.SIDE
    made: list[Any] = []
    for each in loop.parameters:
        name = each.split("[")[0].split()[-1]
        if "[LEN_2D]" in each:
            made.append(draw.random((side, side), dtype=np.float32) + np.float32(0.1))
        elif "LEN_2D" in each:
            made.append(draw.random(side * side, dtype=np.float32))
        elif each.startswith("int") and "[" in each:
            most = side if loop.name == "s4116" else 4
            is_order = name == "ip" and loop.name != "s4116"
            drawn = (
                draw.permutation(length)
                if is_order
                else draw.integers(0, most, length) + (most == 4)
            )
            made.append(drawn.astype(np.int32))
        elif "[" in each:
            made.append(draw.random(length, dtype=np.float32) * np.float32(0.9) + np.float32(0.05))
        else:
            number = _NUMBERS.get((loop.name, name), 1)
            made.append(0.5 if each.startswith("real_t") else number)
    return made


def _run(call: Callable[..., Any], loop: tsvc_files.Loop) -> Callable[[], Any]:
    own = _arguments(loop)

    def run() -> Any:
        result = call(*own)
        arrays = [each for each in own if isinstance(each, np.ndarray)]
        return (*arrays, np.float32(result)) if loop.returns else tuple(arrays)

    return run


def _compiled(library: ctypes.CDLL, loop: tsvc_files.Loop) -> Callable[..., Any]:
    function = library[loop.name]
    function.restype = ctypes.c_float if loop.returns else None
    known: dict[int, list[Any]] = {}

    def call(*arguments: Any) -> Any:
        given = known.get(id(arguments[0])) if arguments else []
        if given is None:
            given = known[id(arguments[0])] = [
                ctypes.c_void_p(each.ctypes.data)
                if isinstance(each, np.ndarray)
                else (ctypes.c_float if isinstance(each, float) else ctypes.c_int)(each)
                for each in arguments
            ]
        return function(*given)

    return call


def _reordered(ours: Any, theirs: Any) -> None:
    """Sums of single precision in another order."""
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-2, atol=1e-4, equal_nan=True)


def _in_order(ours: Any, theirs: Any) -> None:
    """The same operations; sines are our library's."""
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7, equal_nan=True)


def cases(context: Context) -> Iterator[Case]:
    folder = os.environ.get("TSVC_FOLDER")
    if not folder:
        yield Case("TSVC", lambda: None, {"gcc": Missing("no --folder")})
        return
    root = pathlib.Path(folder)
    all_loops = tsvc_files.loops(root)
    head = tsvc_files.HEAD + tsvc_files.helpers(root)
    text = head + "".join(loop.text for loop in all_loops)
    with tempfile.TemporaryDirectory() as place:
        for kind, flag in _KINDS.items():
            libraries = {
                name: _library(pathlib.Path(place), compiler, text, flag)
                for name, compiler in _COMPILERS.items()
            }
            tw.settings.fast_math = kind == "fast-math"
            for loop in all_loops[:: 10 if context.quick else 1]:
                module = tw.c.load(head + loop.text, scop="function")
                try:
                    function = module.functions[loop.name]
                    _run(function, loop)()
                    function.wait_optimized()
                except tw.TranslationError as error:
                    print(f"{loop.name} is refused: {error.message}")
                    continue
                yield Case(
                    f"{loop.name} {kind}",
                    ours=_run(function, loop),
                    peers={
                        name: library
                        if isinstance(library, Missing)
                        else _run(_compiled(library, loop), loop)
                        for name, library in libraries.items()
                    },
                    group=kind,
                    compare=_in_order if kind == "strict" else _reordered,
                    goals={"best": 0.95},
                    note=f"{kind} for all",
                )
