"""One function by every way that runs it: the evaluator, the compiler, a C compiler, the GPU emulator."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

import tilewright as tw
from compiled_c import COMPILERS, CompiledC


def _as_tuple(values: Any) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)


def checked(f: tw.Function, **given: Any) -> Any:
    """The compiled values of `f`; the evaluator and C source give the same ones."""
    compiled = f(**given)
    for one, other in zip(_as_tuple(f.evaluate(**given)), _as_tuple(compiled), strict=True):
        np.testing.assert_array_equal(other, one)
    with tempfile.TemporaryDirectory() as folder:
        for compiler in COMPILERS[:1]:
            values = {name: np.asarray(value) for name, value in given.items()}
            found, status = CompiledC(f, pathlib.Path(folder), compiler)(**values)
            assert status == 0
            for one, other in zip(found, _as_tuple(compiled), strict=True):
                np.testing.assert_array_equal(one, other)
    return compiled


def checked_on_emulator(
    outputs: Callable[[], list[Any]], mapped: Callable[[tw.Function], Any], **given: Any
) -> Any:
    """The values of a mapping to a GPU, which are those of the evaluator."""
    f = tw.function("f", outputs=outputs(), target="gpu-emulator")
    mapped(f)
    found = f(**given)
    for one, other in zip(_as_tuple(f.evaluate(**given)), _as_tuple(found), strict=True):
        np.testing.assert_array_equal(other, one)
    return found
