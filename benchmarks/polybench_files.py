"""PolyBench/C as it is downloaded: its kernels read by `tw.c.load`, beside the same files compiled.

The files are not part of this project. A folder with them is given: what
https://github.com/MatthiasJReisinger/PolyBenchC-4.2.1 has, with `utilities/` and the kernels' folders below.
Sizes are those of the data sets (MINI, SMALL, MEDIUM, LARGE, EXTRALARGE), arguments what `init_array` of the
file writes.
"""

from __future__ import annotations

import ctypes
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import tilewright as tw
from polyhedral_peers import Translator
from tilewright.frontends.c import CFunction
from tilewright.frontends.c.arguments import evaluated
from tilewright.frontends.c.parsing import parse
from tilewright.frontends.c.preprocessing import preprocess

__all__ = ["EXACT", "Benchmark", "benchmarks", "check", "check_all", "compiled_call", "opened"]

Array = npt.NDArray[Any]

#: gcc's flags for the bits that C says.
EXACT = ("-O0", "-ffp-contract=off")

_C_TYPES = {
    "int32": ctypes.c_int,
    "int64": ctypes.c_long,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


@dataclass
class Benchmark:
    """A file of PolyBench at one size.

    Attributes:
        name: such as "gemm".
        path: of the C file.
        function: what `tw.c.load` made of it.
        given: the arguments by name: numbers, and arrays as `init_array` leaves them.
        seconds: how long loading took.
    """

    name: str
    path: pathlib.Path
    function: CFunction
    macros: dict[str, object]
    given: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def copies(self) -> dict[str, Any]:
        """The arguments, arrays copied."""
        return {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in self.given.items()
        }


def benchmarks(folder: pathlib.Path) -> list[pathlib.Path]:
    """The C files of the kernels, in the order of `utilities/benchmark_list`.

    Raises:
        FileNotFoundError: if PolyBench is not there.
    """
    listed = folder / "utilities" / "benchmark_list"
    if not listed.exists():
        raise FileNotFoundError(
            f"{folder} has no utilities/benchmark_list: it is not PolyBench/C's folder"
        )
    return [folder / line.strip() for line in listed.read_text().split("\n") if line.strip()]


def opened(
    path: pathlib.Path,
    folder: pathlib.Path,
    size: str,
    dtype: str = "double",
    math: Literal["library", "libm"] = "libm",
) -> Benchmark:
    """Reads a file, and fills its arguments as the file's own `init_array` does.

    Args:
        path: of the C file.
        folder: PolyBench's.
        size: "MINI" to "EXTRALARGE".
        dtype: "double" or "float".
        math: as of `tw.c.load`; a GPU has "library" alone.
    """
    macros: dict[str, object] = {f"{size}_DATASET": None, f"DATA_TYPE_IS_{dtype.upper()}": None}
    utilities = folder / "utilities"
    begin = time.perf_counter()
    module = tw.c.load(path, include=[utilities], define=macros, math=math)
    (function,) = module.functions.values()
    made = Benchmark(path.stem, path, function, macros, seconds=time.perf_counter() - begin)
    _fill(made, utilities)
    return made


def _flags(macros: Mapping[str, object]) -> list[str]:
    return [f"-D{name}" for name in macros]


def _library(
    made: Benchmark,
    utilities: pathlib.Path,
    command: Sequence[str],
    numbers: Sequence[str],
    translator: Translator | None = None,
) -> ctypes.CDLL:
    """The file, or what a translator makes of it, as a shared library with all of its functions visible."""
    headers = "".join(
        f"#include <{each}.h>\n"
        for each in ("stdio", "stdlib", "string", "unistd", "math", "polybench")
    )
    sizes = "".join(f"const long polybench_size_{name} = {name.upper()};\n" for name in numbers)
    with tempfile.TemporaryDirectory() as place:
        file = made.path
        if translator is not None:
            file = pathlib.Path(place) / "translated.c"
            translator.write(made.path, file, [utilities, made.path.parent], made.macros)
        text = f'{headers}#define static\n#define main polybench_main\n#include "{file}"\n{sizes}'
        source, library = pathlib.Path(place) / "file.c", pathlib.Path(place) / "file.so"
        source.write_text(text, encoding="utf-8")
        words = [
            *command,
            "-w",
            "-shared",
            "-fPIC",
            *_flags(made.macros),
            f"-I{utilities}",
            f"-I{made.path.parent}",
        ]
        subprocess.run(
            [*words, str(source), str(utilities / "polybench.c"), "-o", str(library), "-lm"],
            check=True,
        )
        return ctypes.CDLL(str(library))


def _fill(made: Benchmark, utilities: pathlib.Path) -> None:
    """Runs the file's `init_array`."""
    folders = [str(utilities)]
    macros = dict.fromkeys(made.macros, "1")
    text = made.path.read_text(encoding="utf-8")
    parsed = parse(preprocess(text, str(made.path), macros, folders), str(made.path))
    wanted = [each.name for each in parsed.functions["init_array"].decl.type.args.params]
    translated = made.function._translated.arguments
    integers = [each.name for each in translated if not each.arrays]
    library = _library(made, utilities, ("gcc", *EXACT), integers)
    made.given = {
        name: ctypes.c_long.in_dll(library, f"polybench_size_{name}").value for name in integers
    }
    numbers: dict[str, Array] = {}
    for each in translated:
        if each.arrays:
            shape = [evaluated(extent, made.given) for extent in each.extents]
            made.given[each.name] = np.zeros(shape, each.dtype)
            if not shape:
                numbers[each.name] = made.given[each.name]
    arguments: list[Any] = []
    for name in wanted:
        value = made.given[name]
        arguments.append(
            ctypes.c_void_p(value.ctypes.data)
            if isinstance(value, np.ndarray)
            else ctypes.c_int(value)
        )
    library.init_array(*arguments)
    for name, value in numbers.items():
        made.given[name] = value[()]
    made.given = {name: made.given[name] for name in made.function.arguments}


def compiled_call(
    made: Benchmark,
    folder: pathlib.Path,
    command: Sequence[str],
    given: Mapping[str, Any],
    translator: Translator | None = None,
) -> Callable[[], None]:
    """A call of the file's kernel, as a compiler makes it, on arguments by name.

    Args:
        made: the benchmark.
        folder: PolyBench's.
        command: a compiler with its flags.
        given: the arguments; arrays are changed in place.
        translator: what writes the C that is compiled, from the file.
    """
    library = _library(made, folder / "utilities", command, (), translator)
    kernel = library[made.function.name]
    kernel.restype = None
    arguments: list[Any] = []
    for each in made.function._translated.arguments:
        value = given[each.name]
        if isinstance(value, np.ndarray):
            arguments.append(ctypes.c_void_p(value.ctypes.data))
        else:
            arguments.append(_C_TYPES[each.dtype.name](value))
    return lambda: kernel(*arguments)


def _same_bits(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """The names of arrays that differ in some bit; NaNs are equal to NaNs."""
    different = []
    for name, value in ours.items():
        if not isinstance(value, np.ndarray):
            continue
        other = theirs[name]
        same = (value == other) | ((value != value) & (other != other))
        if value.dtype.kind == "f":
            same &= (np.signbit(value) == np.signbit(other)) | (value != value)
        if not same.all():
            different.append(f"{name} ({int((~same).sum())} of {same.size})")
    return ", ".join(different)


def check(
    path: pathlib.Path, folder: pathlib.Path, size: str, dtype: str = "double", target: str = "cpu"
) -> Iterator[tuple[str, float, str]]:
    """Compares what each schedule computes with gcc, bit for bit.

    Args:
        path: of the C file.
        folder: PolyBench's.
        size: of the data set.
        dtype: "double" or "float".
        target: "cpu", or "gpu-emulator" for kernels of a GPU, which races end.

    Yields:
        The step ("load", then "program" for the order of the file and "found" for what `auto_schedule`
        finds; "kernels" for what it finds for a GPU), the seconds that it took up to a call, and what went wrong or "".
    """
    try:
        made = opened(path, folder, size, dtype, "libm" if target == "cpu" else "library")
    except tw.TilewrightError as error:
        yield "load", 0.0, str(error)
        return
    yield "load", made.seconds, ""
    theirs = made.copies()
    compiled_call(made, folder, ("gcc", *EXACT), theirs)()
    for schedule in ("program", "found") if target == "cpu" else ("kernels",):
        ours, first = made.copies(), made.copies()
        begin = time.perf_counter()
        try:
            if schedule != "program":
                made.function.auto_schedule(target=target)
            made.function(**first)
            seconds = time.perf_counter() - begin
            made.function(**ours)
        except tw.TilewrightError as error:
            yield schedule, time.perf_counter() - begin, f"{type(error).__name__}: {error}"
            continue
        different = _same_bits(ours, theirs)
        problem = f"wrong: {different}" if different else ""
        if schedule == "kernels" and "gpu_thread" not in str(made.function.loops):
            problem = "no loop is over threads"
        yield schedule, seconds, problem


def check_all(
    folder: pathlib.Path,
    size: str,
    dtype: str,
    only: str = "",
    limit: float = 120,
    target: str = "cpu",
) -> bool:
    """Checks each kernel in a process of its own, and prints a table; whether all went well."""
    good = 0
    paths = [path for path in benchmarks(folder) if only in path.stem]
    print(f"{'kernel':<16}{'step':<9}{'ms to the first call':>21}  {size}, {dtype}")
    for path in paths:
        command = [sys.executable, __file__, str(folder), size, dtype, target, str(path)]
        try:
            done = subprocess.run(command, timeout=limit, check=False)
            good += done.returncode == 0
        except subprocess.TimeoutExpired:
            print(f"{path.stem:<16}took longer than {limit:.0f} s", flush=True)
    how = "in the program's order and as scheduled" if target == "cpu" else f"on the {target}"
    print(f"{good} of {len(paths)} kernels: gcc's bits {how}")
    return good == len(paths)


def main() -> int:
    """Checks one file: what `check_all` starts."""
    folder, size, dtype, target, path = sys.argv[1:]
    good = True
    steps = check(pathlib.Path(path), pathlib.Path(folder), size, dtype, target)
    for step, seconds, problem in steps:
        name = pathlib.Path(path).stem
        print(f"{name:<16}{step:<9}{seconds * 1000:>21.0f}  {problem or 'ok'}", flush=True)
        good &= not problem
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
