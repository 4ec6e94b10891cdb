"""Kernels in the manner of PolyBench/C, of ours: bit for bit gcc's, in the program's order and under the
schedules that are found.

PolyBench's own thirty files are compared by ``scripts/bench polybench --check FOLDER``.
"""

from __future__ import annotations

import pathlib
import re

import numpy as np
import pytest
from c_oracle import assert_same_bits, compiled, copies, run_c

import tilewright as tw
from tilewright.frontends.c.arguments import evaluated

_FILE = pathlib.Path(__file__).parent / "polybench_like.txt"
KERNELS = dict(
    re.findall(r"^=== ([^\n]*)\n(.*?)(?=^===|\Z)", _FILE.read_text(encoding="utf-8"), re.M | re.S)
)
SIZES = {"N": 11, "M": 9, "L": 7, "T": 5}


def arguments(function: tw.c.CFunction) -> list[object]:
    """Sizes as declared, or a little less; numbers and arrays of well-conditioned values."""
    draw = np.random.default_rng(3)
    found: dict[str, object] = {}
    for each in function._translated.arguments:
        if not each.arrays:
            found[each.name] = {"n": 9, "m": 9, "l": 7, "steps": 5}[each.name]
            continue
        shape = [evaluated(extent, found) for extent in each.extents]
        values = draw.uniform(0.5, 1.5, shape)
        if len(shape) == 2 and shape[0] == shape[1]:
            values = values @ values.T + shape[0] * np.eye(shape[0])
        found[each.name] = np.asarray(values, each.dtype) if shape else float(values)
    return [found[name] for name in function.arguments]


@pytest.mark.parametrize("data", ["double", "float"])
@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name: str, data: str) -> None:
    macros = {**SIZES, "DATA": data}
    function = tw.c.load(KERNELS[name], define=macros).kernel
    library = compiled(KERNELS[name], tuple(f"-D{key}={value}" for key, value in macros.items()))
    given = arguments(function)
    theirs = copies(given)
    run_c(library, function, theirs)
    assert any(
        isinstance(value, np.ndarray) and not np.array_equal(value, before)
        for value, before in zip(theirs, given, strict=True)
    )
    for schedule in ("program", "found"):
        if schedule == "found":
            function.auto_schedule()
        ours = copies(given)
        function(*ours)
        for value, wanted, argument in zip(ours, theirs, function.arguments, strict=True):
            if isinstance(value, np.ndarray):
                assert_same_bits(value, wanted, f"{name}, {schedule}: {argument}")
