"""Native peers: a second OpenBLAS with a chosen core type, and libxsmm through a C file of ours."""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import peers
from harness import Missing

__all__ = ["OpenBlas", "Xsmm", "numpy_core_type", "openblas", "xsmm"]

Matrix = npt.NDArray[Any]
HERE = pathlib.Path(__file__).resolve().parent


def _address(array: Matrix) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def numpy_core_type() -> str:
    """The core type that NumPy's OpenBLAS chose ("Haswell"); "?" where nobody can say."""
    types = [entry.get("architecture") for entry in peers.blas_libraries()]
    return next((str(name) for name in types if name), "?")


class OpenBlas:
    """NumPy's own OpenBLAS, loaded once more with kernels for another processor."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def gemm(self, a: Matrix, b: Matrix, c: Matrix) -> Callable[[], Matrix]:
        """What computes c = a @ b for row-major arrays when it is called."""
        single = a.dtype == np.float32
        function = getattr(self._library, f"scipy_cblas_{'sgemm' if single else 'dgemm'}64_")
        size, number = ctypes.c_int64, ctypes.c_float if single else ctypes.c_double
        (n, k), m = a.shape, b.shape[1]
        arguments = (
            *(ctypes.c_int(value) for value in (101, 111, 111)),  # row-major, not transposed
            *(size(value) for value in (n, m, k)),
            *(number(1), _address(a), size(k), _address(b), size(m)),
            *(number(0), _address(c), size(m)),
        )

        def call() -> Matrix:
            function(*arguments)
            return c

        return call


def openblas(core_type: str) -> OpenBlas | Missing:
    """A copy of NumPy's OpenBLAS that uses the kernels of a core type."""
    folder = pathlib.Path(np.__file__).parents[1] / "numpy.libs"
    found = sorted(folder.glob("libscipy_openblas64_*.so*"))
    if not found:
        return Missing("this NumPy has no OpenBLAS of its own")
    before = os.environ.get("OPENBLAS_CORETYPE")
    os.environ["OPENBLAS_CORETYPE"] = core_type
    try:
        with tempfile.TemporaryDirectory() as place:
            copy = pathlib.Path(place) / f"openblas_{core_type}.so"
            shutil.copy(found[0], copy)
            library = ctypes.CDLL(str(copy))
    except OSError as error:
        return Missing(f"OpenBLAS does not load again: {error}")
    finally:
        if before is None:
            del os.environ["OPENBLAS_CORETYPE"]
        else:
            os.environ["OPENBLAS_CORETYPE"] = before
    name = library.scipy_openblas_get_corename64_
    name.restype = ctypes.c_char_p
    if name().decode().lower() != core_type.lower():
        return Missing(f"OpenBLAS has no kernels for {core_type}")
    return OpenBlas(library)


class Xsmm:
    """libxsmm: batches of small products."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.target.restype = ctypes.c_char_p
        self.target = library.target().decode()

    def batch(self, a: Matrix, b: Matrix, c: Matrix) -> Callable[[], Matrix]:
        """What computes c[x] = a[x] @ b[x] for all x when it is called."""
        single = a.dtype == np.float32
        function = self._library.batch_float32 if single else self._library.batch_float64
        (count, n, k), m = a.shape, b.shape[2]
        arguments = (
            *(ctypes.c_int(value) for value in (n, m, k)),
            *(ctypes.c_long(count), _address(a), _address(b), _address(c)),
        )

        def call() -> Matrix:
            if not function(*arguments):
                raise RuntimeError(f"libxsmm makes no kernel for {n} x {m} x {k}")
            return c

        return call


def xsmm() -> Xsmm | Missing:
    """libxsmm, with `libxsmm.c` compiled for this run; or why not."""
    compiler = peers.program("gcc")
    if isinstance(compiler, Missing):
        return compiler
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "libxsmm_batch.so"
        command = [compiler, "-O2", "-shared", "-fPIC", str(HERE / "libxsmm.c"), "-o", str(output)]
        libraries = ["-lxsmm", "-lxsmmnoblas", "-lpthread", "-lrt", "-ldl", "-lm"]
        done = subprocess.run([*command, *libraries], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return Missing("libxsmm-dev is not installed")
        try:
            return Xsmm(ctypes.CDLL(str(output)))
        except OSError as error:
            return Missing(str(error))
