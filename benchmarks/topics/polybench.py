"""PolyBench's C files, read by `tw.c.load` and scheduled by `auto_schedule`, beside gcc, clang, Polly, Pluto and PPCG.

The files are not part of this project: ``scripts/bench polybench --folder PolyBenchC-4.2.1``. Everybody gets the
same loops and no fast-math, so that values are compared bit for bit. gcc and clang run one thread; what Pluto and PPCG
write is compiled by gcc, with OpenMP.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import peers
import polybench_files
import polyhedral_peers
from harness import Case, Context, Missing

TITLE = "PolyBench/C 4.2.1 as it is downloaded"
THREADS = (1, 2)

_FLAGS = ("-O3", "-march=native", "-ffp-contract=off")
_POLLY = (
    "-mllvm",
    "-polly",
    "-mllvm",
    "-polly-parallel",
    "-mllvm",
    "-polly-omp-backend=LLVM",
    "-fopenmp",
)
COMMANDS = {
    "gcc": ("gcc", *_FLAGS),
    "clang": ("clang-19", *_FLAGS),
    "Polly": ("clang-19", *_FLAGS, *_POLLY),
}
#: What compiles the C that translators write.
_WRITTEN = (*COMMANDS["gcc"], "-fopenmp")
#: Kernels of about a tenth of a second at this size, unless all are asked for.
SIZE = "MEDIUM"
KERNELS = (
    "gemm",
    "2mm",
    "gemver",
    "syr2k",
    "trmm",
    "jacobi-2d",
    "seidel-2d",
    "heat-3d",
    "lu",
    "doitgen",
)


def _call(made: polybench_files.Benchmark, call: Callable[..., Any], given: dict[str, Any]) -> Any:
    """What does one unit of work: fresh arguments, and the kernel on them."""
    arrays = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    original = made.given

    def run() -> tuple[Any, ...]:
        for name, array in arrays.items():
            array[...] = original[name]
        call()
        return tuple(arrays.values())

    return run


def _same(result: Any, expected: Any) -> None:
    for one, other in zip(result, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def _case(path: pathlib.Path, folder: pathlib.Path, size: str, dtype: str) -> Case:
    made = polybench_files.opened(path, folder, size, dtype)
    function = made.function
    function.auto_schedule()
    given = made.copies()
    contenders: dict[str, Callable[[], Any] | Missing] = {}
    writers = dict.fromkeys(COMMANDS) | polyhedral_peers.TRANSLATORS
    for name, translator in writers.items():
        command = COMMANDS[name] if translator is None else _WRITTEN
        program = peers.program(command[0] if translator is None else translator.program)
        if isinstance(program, Missing):
            contenders[name] = program
            continue
        own = made.copies()
        try:
            call = polybench_files.compiled_call(made, folder, command, own, translator)
        except (OSError, subprocess.SubprocessError) as error:
            contenders[name] = Missing(f"{name} does not compile it: {error}"[:200])
            continue
        contenders[name] = _call(made, call, own)
    return Case(
        f"{made.name}, {size}, {dtype}",
        ours=_call(made, lambda: function(**given), given),
        peers=contenders,
        compare=_same,
        goals={"best": 1.5},
        note="no fast-math; equal bits",
    )


def cases(context: Context) -> Iterator[Case]:
    folder = os.environ.get("POLYBENCH_FOLDER")
    if not folder:
        print("polybench: left out, --folder names PolyBench/C 4.2.1")
        return
    size = "MINI" if context.quick else os.environ.get("POLYBENCH_SIZE", SIZE)
    wanted = os.environ.get("POLYBENCH_KERNELS", ",".join(KERNELS)).split(",")
    for path in polybench_files.benchmarks(pathlib.Path(folder)):
        if path.stem in wanted or wanted == ["all"]:
            yield _case(path, pathlib.Path(folder), size, "double")
