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
import pytest

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


def reports(function: tw.Function, architectures: Sequence[str] = ARCHITECTURES) -> list[str]:
    """What the assembler says of registers and stacks. Skips the rest of the test where there is none: check values
    before."""
    found = assemble(function, architectures)
    if not found:
        pytest.skip("no ptxas to say what registers the code takes")
    return found


def emulated(name: str, *outputs: tw.Computation, **options: Any) -> tw.Function:
    """A function whose kernels the emulator runs."""
    return tw.function(name, outputs=list(outputs), target="gpu-emulator", **options)


def in_tuple(result: Any) -> tuple[Any, ...]:
    """The outputs of a call, also of a single one."""
    return result if isinstance(result, tuple) else (result,)


def check(function: tw.Function, *arrays: Any, exact: bool = True, **keywords: Any) -> Any:
    """Runs on the emulator what the evaluator says, too, and assembles the PTX."""
    result = function(*arrays, **keywords)
    expected = function.evaluate(*arrays, **keywords)
    for own, right in zip(in_tuple(result), in_tuple(expected), strict=True):
        if exact:
            np.testing.assert_array_equal(own, right)
        else:
            np.testing.assert_allclose(own, right, rtol=1e-4, atol=1e-5)
    assemble(function)
    return result


def barriers(function: tw.Function) -> int:
    """How many barriers stand in the loops."""
    return sum(line.strip() == "barrier" for line in str(function.loops).splitlines())


def tiled_matmul(
    tile: int = 32,
    steps: int = 8,
    each: int = 4,
    multiples: bool = False,
    dtype: tw.DType = tw.float32,
    transposed: bool = False,
    **copies: Any,
) -> tw.Function:
    """Tiles of the inputs in shared memory, of A transposed or not; each x each sums in every thread's own."""
    N, M, K = tw.params("N M K")
    i, j, k = tw.iters("i j k")
    A = tw.input("A", [N, K], dtype)
    B = tw.input("B", [K, M], dtype)
    C = tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))
    context = [N % tile == 0, M % tile == 0, K % steps == 0] if multiples else []
    f = emulated("matmul", C, context=context)
    C.tile(i, j, tile, tile).split("i1", each, "ti", "ri").split("j1", each, "tj", "rj")
    C.split(k, steps).reorder("i0", "j0", "k0", "ti", "tj", "k1", "ri", "rj")
    C.gpu_block("i0", "j0").gpu_thread("ti", "tj").unroll("ri").unroll("rj")
    own = C.cache(C, "j0", memory="private")
    if transposed:
        own.cache(A, "k0", memory="shared", order=[1, 0], **copies).reorder("i", "j")
    else:
        own.cache(A, "k0", memory="shared", **copies)
    own.cache(B, "k0", memory="shared", **copies)
    return f
