"""PolyBench's kernels on the emulator: NumPy's answer, the evaluator's, and PTX that assembles."""

from __future__ import annotations

import pathlib

import numpy as np
import polybench
import pytest
from checks import assemble, in_tuple

from compiled_c import COMPILERS, CompiledC, same_bits

# One block, partly empty; and several, the last ones partly empty.
SIZES = (5, 37)


@pytest.mark.parametrize("kernel", polybench.KERNELS, ids=lambda kernel: kernel.name)
def test_kernel(kernel: polybench.Kernel) -> None:
    f = kernel.build()
    for size in SIZES:
        arguments = kernel.arguments(size)
        computed = in_tuple(f(**arguments))
        evaluated = in_tuple(f.evaluate(**arguments))
        expected = in_tuple(kernel.expected(**arguments))
        for own, right, numpys in zip(computed, evaluated, expected, strict=True):
            single = own.dtype == np.float32
            # Of what cancels, the last places of the largest elements are left.
            near = 1e-15 * np.abs(right).max()
            np.testing.assert_allclose(own, right, rtol=1e-6 if single else 1e-13, atol=near)
            np.testing.assert_allclose(own, numpys, rtol=1e-4 if single else 1e-9, atol=1e-9)
    assemble(f)


@pytest.mark.skipif(not COMPILERS, reason="no C compiler on PATH")
@pytest.mark.parametrize("kernel", polybench.KERNELS, ids=lambda kernel: kernel.name)
def test_c_source_of_the_same_loops(kernel: polybench.Kernel, tmp_path: pathlib.Path) -> None:
    """On the processor: what a C compiler makes of them has the bits of the compiled function."""
    f = kernel.build()
    f.target = "cpu"
    arguments = kernel.arguments(13)
    fresh = {name: np.array(value) for name, value in arguments.items()}
    found, status = CompiledC(f, tmp_path, COMPILERS[0], "-fopenmp")(**fresh)
    assert status == 0
    for own, compiled in zip(found, in_tuple(f(**arguments)), strict=True):
        assert same_bits(own, compiled)


def test_kernels_of_one_thread_compute_single_values() -> None:
    alone = {
        kernel.name
        for kernel in polybench.KERNELS
        if any(launch.threads == "1" for launch in polybench.launches(kernel.build()))
    }
    assert alone == {"cholesky", "durbin", "gramschmidt", "trisolv"}


def test_the_table_is_up_to_date() -> None:
    assert polybench.PAGE.read_text() == polybench.page(), (
        "write it anew: python tests/python/gpu/polybench.py"
    )


def test_all_of_them_are_there() -> None:
    names = [kernel.name for kernel in polybench.KERNELS]
    assert len(names) == len(set(names)) == 30
