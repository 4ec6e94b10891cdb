"""NPBench as it is downloaded: its NumPy functions under `tw.jit`, beside what its authors wrote for others.

The files are not part of this project. A folder with them is given: what https://github.com/spcl/npbench has, with
`bench_info/` and `npbench/benchmarks/` (Ziogas et al., "NPBench: A Benchmarking Suite for High-Performance NumPy",
ICS 2021). Sizes are those of its presets (S, M, L, paper), arguments what `initialize` of the files makes, and
results count as right if they agree with NumPy's as NPBench asks: by the norm of the difference.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import peers
from harness import Missing

__all__ = ["Benchmark", "benchmarks", "by_dace", "by_numba", "by_pythran"]

#: How NPBench's files for Numba end: object mode and not, with Numba's parallel loops and with `prange`.
_NUMBA = ("n", "np", "npr", "o", "op", "opr")
#: What NPBench calls Pythran with.
_PYTHRAN = ("-DUSE_XSIMD", "-fopenmp", "-march=native", "-ffast-math")
#: A compilation of Pythran's or DaCe's may take this long.
_SECONDS = 180
#: Chaotic systems, and how many values over time are compared: rounding alone makes all that follow others.
_BEGINNINGS = {"nbody": 20}


@dataclass
class Benchmark:
    """A benchmark of NPBench at one size.

    Attributes:
        name: such as "jacobi_2d".
        arguments: what the function is called with, in its order.
        parameters: the sizes by name.
    """

    name: str
    folder: pathlib.Path
    info: dict[str, Any]
    arguments: tuple[Any, ...]
    parameters: dict[str, Any]
    changed: tuple[int, ...] = field(default=())
    tolerance: float = 1e-5

    def file(self, ending: str) -> pathlib.Path:
        """The file of one framework, such as "numba_n"."""
        path: pathlib.Path = self.folder / "npbench" / "benchmarks" / self.info["relative_path"]
        return path / f"{self.info['module_name']}_{ending}.py"

    def function(self, ending: str, anew: bool = False) -> Callable[..., Any]:
        """The function in the file of one framework.

        Args:
            anew: as of a module that was not imported before.

        Raises:
            Exception: whatever the import of the file raises.
        """
        module = _module(self.folder, self.file(ending))
        found = getattr(importlib.reload(module) if anew else module, self.info["func_name"])
        return found  # type: ignore[no-any-return]

    def call(self, function: Callable[..., Any]) -> Callable[[], Any]:
        """Calls it on arrays of its own, which begin as they were given each time if the benchmark changes them."""
        own = tuple(_copied(each) for each in self.arguments)

        def run() -> Any:
            for place in self.changed:
                own[place][...] = self.arguments[place]
            return self.results(function(*own), own)

        return run

    def results(self, returned: Any, own: tuple[Any, ...]) -> tuple[Any, ...]:
        """What is returned, and the arrays that are changed."""
        changed = tuple(own[place] for place in self.changed)
        if returned is None:
            return changed
        return changed + (tuple(returned) if isinstance(returned, tuple | list) else (returned,))

    def compare(self, results: Any, expected: Any) -> None:
        """Compares as NPBench does.

        Raises:
            AssertionError: if they differ.
        """
        assert expected, "nothing is returned or changed, so there is nothing to compare"
        # What is changed stands first; some frameworks' versions do not return it once more.
        counts = {len(expected), len(self.changed)} - {0}
        assert len(results) in counts, f"{len(results)} results, not {len(expected)}"
        for one, other in zip(results, expected, strict=False):
            mine, right = np.asarray(one), np.asarray(other)
            if self.name in _BEGINNINGS:
                if right.ndim > 1:
                    continue
                mine, right = mine[: _BEGINNINGS[self.name]], right[: _BEGINNINGS[self.name]]
            assert mine.shape == right.shape, f"shape {mine.shape}, not {right.shape}"
            known = np.isfinite(right)
            assert np.array_equal(np.isfinite(mine), known), "other elements are not finite"
            error = np.linalg.norm(np.ravel(mine - right)[np.ravel(known)])
            size = float(np.linalg.norm(np.ravel(right)[np.ravel(known)]))
            assert error <= self.tolerance * max(size, 1e-30), f"relative error {error / size}"


def benchmarks(folder: pathlib.Path, preset: str, only: str = "") -> Iterator[Benchmark]:
    """The benchmarks whose names contain `only`, made one by one.

    Raises:
        FileNotFoundError: if NPBench is not there.
    """
    listed = sorted((folder / "bench_info").glob("*.json"))
    if not listed:
        raise FileNotFoundError(f"{folder} has no bench_info/*.json: is it NPBench's folder?")
    for path in listed:
        if only in path.stem:
            yield _opened(path, folder, preset)


def _opened(path: pathlib.Path, folder: pathlib.Path, preset: str) -> Benchmark:
    info = json.loads(path.read_text(encoding="utf-8"))["benchmark"]
    parameters = dict(info["parameters"][preset])
    data = dict(parameters)
    if info.get("init"):
        own = (
            folder / "npbench" / "benchmarks" / info["relative_path"] / f"{info['module_name']}.py"
        )
        initialize = getattr(_module(folder, own), info["init"]["func_name"])
        made = initialize(*(data[name] for name in info["init"]["input_args"]))
        names = info["init"]["output_args"]
        data.update(zip(names, made if len(names) > 1 else (made,), strict=True))
    arguments = tuple(data[name] for name in info["input_args"])
    made_benchmark = Benchmark(
        path.stem,
        folder,
        info,
        arguments,
        parameters,
        tolerance=info.get("norm_error", 1e-5),
    )
    made_benchmark.changed = _changed_places(made_benchmark)
    return made_benchmark


def _changed_places(benchmark: Benchmark) -> tuple[int, ...]:
    """The arguments that NumPy's function changes."""
    own = tuple(_copied(each) for each in benchmark.arguments)
    with np.errstate(all="ignore"):
        benchmark.function("numpy")(*own)
    return tuple(
        place
        for place, (mine, given, name) in enumerate(
            zip(own, benchmark.arguments, benchmark.info["input_args"], strict=True)
        )
        if isinstance(mine, np.ndarray)
        and (
            name in benchmark.info["output_args"] or not np.array_equal(mine, given, equal_nan=True)
        )
    )


def _copied(each: Any) -> Any:
    return each.copy() if isinstance(each, np.ndarray) else each


def _module(folder: pathlib.Path, path: pathlib.Path) -> types.ModuleType:
    """A module of NPBench, by the name under which its files import one another."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    name = ".".join(path.relative_to(folder).with_suffix("").parts)
    return importlib.import_module(name)


# ---- the others ----


def by_numba(benchmark: Benchmark, threads: int) -> dict[str, Callable[[], Any] | Missing]:
    """What NPBench has for Numba, by the ending of the file."""
    numba = peers.module("numba")
    if isinstance(numba, Missing):
        return {"Numba": numba}
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    found: dict[str, Callable[[], Any] | Missing] = {}
    for ending in _NUMBA:
        if benchmark.file(f"numba_{ending}").exists():
            try:
                found[f"Numba {ending}"] = benchmark.call(benchmark.function(f"numba_{ending}"))
            except Exception as error:
                found[f"Numba {ending}"] = Missing(f"its file fails: {type(error).__name__}")
    return found or {"Numba": Missing("NPBench has no file for it")}


def by_pythran(benchmark: Benchmark, stored: pathlib.Path) -> Callable[[], Any] | Missing:
    """NPBench's file for Pythran, compiled into `stored` unless that has it."""
    path = benchmark.file("pythran")
    if not path.exists():
        return Missing("NPBench has no file for it")
    library = stored / f"{path.stem}.so"
    if not library.exists():
        program = pathlib.Path(sys.executable).with_name("pythran")
        if not program.exists():
            return Missing("pythran is not installed")
        stored.mkdir(parents=True, exist_ok=True)
        try:
            subprocess.run(
                [str(program), *_PYTHRAN, str(path), "-o", str(library)],
                check=True,
                capture_output=True,
                timeout=_SECONDS,
            )
        except (OSError, subprocess.SubprocessError) as error:
            return Missing(f"Pythran does not compile it ({type(error).__name__})")
    found = importlib.util.spec_from_file_location(path.stem, library)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return benchmark.call(getattr(module, benchmark.info["func_name"]))


def by_dace(benchmark: Benchmark, stored: pathlib.Path) -> Callable[[], Any] | Missing:
    """NPBench's file for DaCe, optimised by its `auto_optimize`."""
    dace = peers.module("dace")
    if isinstance(dace, Missing):
        return dace
    if not benchmark.file("dace").exists():
        return Missing("NPBench has no file for it")
    try:
        with (
            open(os.devnull, "w", encoding="utf-8") as nowhere,
            contextlib.redirect_stdout(nowhere),
        ):
            return _compiled_by_dace(benchmark, stored)
    except Exception as error:
        return Missing(f"DaCe refuses it ({type(error).__name__})")


def _compiled_by_dace(benchmark: Benchmark, stored: pathlib.Path) -> Callable[[], Any]:
    import dace  # type: ignore[import-not-found]
    from dace.transformation.auto import auto_optimize  # type: ignore[import-not-found]

    dace.Config.set("default_build_folder", value=str(stored / "dace"))
    dace.Config.set(
        "compiler", "cpu", "args", value="-std=c++14 -fPIC -O3 -march=native -ffast-math -fopenmp"
    )
    program = benchmark.function("dace").to_sdfg(simplify=True)  # type: ignore[attr-defined]
    sizes = {
        name: value for name, value in benchmark.parameters.items() if name in program.free_symbols
    }
    auto_optimize.auto_optimize(program, dace.dtypes.DeviceType.CPU, symbols=sizes)
    compiled = program.compile()
    names = benchmark.info["input_args"]
    taken = set(program.arglist())

    def run(*own: Any) -> Any:
        given = {name: value for name, value in zip(names, own, strict=True) if name in taken}
        return compiled(**{**sizes, **given})

    return benchmark.call(run)
