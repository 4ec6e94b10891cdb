"""What every test of GPU code shares: the emulator beside the evaluator, and the assembler."""

from __future__ import annotations

import functools
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

import tilewright as tw

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")


def random(*shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """Small integers, of which sums are exact in any order."""
    values: np.ndarray[Any, Any] = np.random.default_rng(0).integers(-8, 9, shape).astype(dtype)
    return values


@functools.cache
def assembler() -> str | None:
    """NVIDIA's assembler, where a toolkit is installed."""
    found = shutil.which("ptxas")
    usual = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "ptxas")
    return found or (str(usual) if usual.is_file() else None)


def assemble(function: tw.Function, architectures: Sequence[str] = ARCHITECTURES) -> list[str]:
    """Puts the PTX for each architecture through the assembler, if there is one; its reports."""
    reports = []
    ptxas = assembler()
    for architecture in architectures:
        ptx = str(function.ptx_for(architecture))
        assert f".target {architecture}" in ptx
        if ptxas is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "kernel.ptx")
            path.write_text(ptx)
            command = [
                ptxas,
                "-v",
                f"-arch={architecture}",
                "-o",
                f"{folder}/kernel.cubin",
                str(path),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{done.stderr}\n{ptx}"
        reports.append(done.stderr)
    return reports


def check(function: tw.Function, *arrays: Any, exact: bool = True, **keywords: Any) -> Any:
    """Runs on the emulator what the evaluator says, too, and assembles the PTX."""
    result = function(*arrays, **keywords)
    expected = function.evaluate(*arrays, **keywords)
    results = result if isinstance(result, tuple) else (result,)
    wanted = expected if isinstance(expected, tuple) else (expected,)
    for own, right in zip(results, wanted, strict=True):
        if exact:
            np.testing.assert_array_equal(own, right)
        else:
            np.testing.assert_allclose(own, right, rtol=1e-4, atol=1e-5)
    assemble(function)
    return result


def barriers(function: tw.Function) -> int:
    """How many barriers stand in the loops."""
    return sum(line.strip() == "barrier" for line in str(function.loops).splitlines())
