"""The iterations of printed loops, counted: what tests of complexity compare with the work that data ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import tilewright as tw


class Iterations:
    """Runs printed loops, a GPU's kernels too, and counts."""

    def __init__(self) -> None:
        self.count = 0

    def range(self, lower: int, upper: int) -> Iterator[int]:
        for at in range(lower, upper):
            self.count += 1
            yield at

    def run(self, f: tw.Function, names: dict[str, Any]) -> None:
        text = str(f.loops).replace("kernel:", "if True:")
        types = {
            "int64": int,
            "int32": np.int32,
            "empty": np.empty,
            "float64": float,
            "range": self.range,
        }
        exec(compile(text, f.name, "exec"), types | names)
