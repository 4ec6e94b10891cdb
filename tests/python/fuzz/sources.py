"""The third oracle: the C source of a case, compiled by a compiler that is not ours."""

from __future__ import annotations

import pathlib
import shutil
import tempfile
import weakref
from typing import Any

import numpy as np

import tilewright as tw
from compiled_c import CompiledC, same_bits


class SourceOracle:
    """Calls functions by their C source; each schedule is compiled once."""

    def __init__(self, compiler: str) -> None:
        self.compiler = compiler
        self.known: dict[tuple[int, str], CompiledC] = {}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tilewright-fuzz-c-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def __call__(self, function: tw.Function, **given: Any) -> tuple[Any, ...]:
        key = (id(function), str(function.schedule))
        if key not in self.known:
            where = self.folder / str(len(self.known))
            self.known[key] = CompiledC(function, where, self.compiler, "-fopenmp", "-w")
        results, status = self.known[key](**given)
        if status != 0:
            raise AssertionError(f"the C function returns {status}")
        return results

    def difference(
        self, function: tw.Function, got: tuple[Any, ...], loose: set[int], **given: Any
    ) -> str:
        """What the C function gives beside `got`, what the compiled one gave: the same bits, unless
        terms of floats were added in another order; empty where they agree."""
        for number, (a, b) in enumerate(zip(self(function, **given), got, strict=True)):
            if number not in loose and not same_bits(a, b):
                return f"C source gives\n{a}\nthe compiled function\n{np.asarray(b)}\n{function.c}"
        return ""
