"""What the benchmark scripts share: timing, the machine, tables on screen and as JSON."""

from __future__ import annotations

import json
import os
import pathlib
import platform
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tilewright as tw

RESULTS = pathlib.Path(__file__).parents[1] / "build" / "benchmarks"


def milliseconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """How long one call takes, and what it returns."""
    start = time.perf_counter()
    result = work()
    return 1e3 * (time.perf_counter() - start), result


def best(work: Callable[[], Any], repeats: int) -> float:
    """The shortest of several calls, in milliseconds."""
    return min(milliseconds(work)[0] for _ in range(repeats))


def machine() -> dict[str, Any]:
    """Where the figures were taken."""
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "tilewright": tw.__version__,
    }


def report(name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Prints a table and stores it as JSON."""
    cells = [list(columns)] + [
        [f"{value:.2f}" if isinstance(value, float) else str(value) for value in row]
        for row in rows
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(len(columns))]
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    stored = {
        "machine": machine(),
        "load": os.getloadavg(),
        "rows": [dict(zip(columns, row, strict=True)) for row in rows],
    }
    path.write_text(json.dumps(stored, indent=1))
    print(f"stored: {path}")
