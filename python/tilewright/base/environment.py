"""The variables ``TILEWRIGHT_...`` of the environment: settings, those that the core reads, and
names that nobody knows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from . import notices
from .configuration import Settings, all_settings, read_count, settings
from .errors import SettingError

__all__ = ["check_environment", "table"]

# Variables that are no settings: read by the core when it starts, or by scripts.
OTHER_VARIABLES = {
    "TILEWRIGHT_CUDA_DRIVER": "NVIDIA's driver library, where it is not the system's libcuda.so.1; "
    "read at the first use of a CUDA device",
    "TILEWRIGHT_LINKER": "the linker of `Function.export`, where linker= does not say it",
    "TILEWRIGHT_THREADS": "which threads run parallel loops: 'openmp' for the OpenMP runtime that "
    "is in the process, 'threads' (the default) for the library's own; read at the first parallel "
    "loop",
    "TILEWRIGHT_NUM_THREADS": "how many threads run a parallel loop where neither its call, its "
    "function nor set_num_threads says it; before OMP_NUM_THREADS; read at the first parallel loop",
    "TILEWRIGHT_LEAST_PARALLEL_WORK": "below so much estimated work a parallel loop stays in its "
    "thread (default 6000; 0 always takes threads); read at the first parallel loop",
    "TILEWRIGHT_PERF": "1 names kernels for perf, in /tmp/perf-PID.map; read at the first kernel",
    "TILEWRIGHT_GDB": "0 keeps kernels from debuggers; read at the first kernel",
    "TILEWRIGHT_DUMP_PASSES": "where the loops after each pass are written, with a check after each: "
    "'stderr', or a folder; read at each compilation",
}


def _read_threads(text: str) -> int:
    number = read_count(text)
    if not 1 <= number < 1 << 16:
        raise ValueError
    return number


# What the values of those are that the core takes anything else for nothing said.
_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "TILEWRIGHT_THREADS": (
        {"openmp": True, "threads": False}.__getitem__,
        "'openmp', or 'threads' for the library's own",
    ),
    "TILEWRIGHT_NUM_THREADS": (_read_threads, "an integer between 1 and 65535"),
    "TILEWRIGHT_LEAST_PARALLEL_WORK": (read_count, "an integer of at least 0"),
    "TILEWRIGHT_PERF": (("0", "1").index, "0 or 1"),
    "TILEWRIGHT_GDB": (("0", "1").index, "0 or 1"),
}
_OF_SCRIPTS = ("TILEWRIGHT_BENCHMARK_", "TILEWRIGHT_TEST_", "TILEWRIGHT_WHEEL_")


def check_environment() -> None:
    """Warns of variables that look like settings and are none; applies those of the process.

    Raises:
        SettingError: a variable that is read without Python has a value that is none.
    """
    variables = {setting.variable for setting in all_settings().values()}
    for name in os.environ:
        if not name.startswith("TILEWRIGHT_"):
            continue
        if name in variables:
            continue
        if name not in OTHER_VARIABLES and not name.startswith(_OF_SCRIPTS):
            import difflib

            near = difflib.get_close_matches(name, [*variables, *OTHER_VARIABLES], 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            notices.warn("unknown-variable", f"the environment sets {name}, which is unknown{hint}")
    for variable, (read, expected) in _READERS.items():
        text = os.environ.get(variable)
        try:
            if text:
                read(text)
        except (ValueError, KeyError):
            raise SettingError(f"{variable} must be {expected}, got {text!r}") from None
    Settings.keep_memory.found(settings)
    if os.environ.get(Settings.log.variable):
        Settings.log.changed(settings)


def table() -> str:
    """The settings as the table of docs/settings.md."""
    lines = [
        "| setting | variable | of | in the key | default | meaning |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, setting in all_settings().items():
        lines.append(
            f"| `{name}` | `{setting.variable}` | "
            f"{'functions' if setting.is_of_functions else 'the process'} | "
            f"{'yes' if setting.in_key else 'no'} | `{setting.default!r}` | {setting.text} |"
        )
    for variable, text in OTHER_VARIABLES.items():
        lines.append(f"|  | `{variable}` | the process | no |  | {text} |")
    return "\n".join(lines)
