"""Fifteen kernels of PolyBench in C, compiled when they are run: gcc and clang, one thread, as written there.

The loops and their order are those of PolyBench/C 4.2's definitions; nothing is tiled or annotated.
Each function takes its inputs and writes its results into arrays of their own, as ours do.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from harness import Missing

__all__ = ["COMPILERS", "compiled"]

Array = npt.NDArray[Any]

COMPILERS = {"gcc": "gcc", "clang": "clang-19", "Polly": "clang-19"}
#: Polly tiles; its threads need an OpenMP library, so it has one thread like the others.
_MORE_FLAGS = {"Polly": ["-mllvm", "-polly"]}
#: Polly does not end for some programs.
_COMPILE_SECONDS = 120
_FLAGS = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", "-lm"]

#: Parameters (arrays with their extents, results last) and loops, by kernel. Sizes are n, m, k, l, o, T.
SOURCES: dict[str, tuple[str, str]] = {
    "gemm": (
        "A[n][k], B[k][m], C[n][m], alpha[1], beta[1], R[n][m]",
        """for (long i = 0; i < n; i++) {
             for (long j = 0; j < m; j++) R[i][j] = C[i][j] * beta[0];
             for (long q = 0; q < k; q++)
               for (long j = 0; j < m; j++) R[i][j] += alpha[0] * A[i][q] * B[q][j];
           }""",
    ),
    "2mm": (
        "A[n][k], B[k][m], C[m][l], D[n][l], alpha[1], beta[1], P[n][m], R[n][l]",
        """for (long i = 0; i < n; i++)
             for (long j = 0; j < m; j++) {
               P[i][j] = 0;
               for (long q = 0; q < k; q++) P[i][j] += alpha[0] * A[i][q] * B[q][j];
             }
           for (long i = 0; i < n; i++)
             for (long j = 0; j < l; j++) {
               R[i][j] = D[i][j] * beta[0];
               for (long q = 0; q < m; q++) R[i][j] += P[i][q] * C[q][j];
             }""",
    ),
    "3mm": (
        "A[n][k], B[k][m], C[m][l], D[l][o], P[n][m], Q[m][o], G[n][o]",
        """for (long i = 0; i < n; i++)
             for (long j = 0; j < m; j++) {
               P[i][j] = 0;
               for (long q = 0; q < k; q++) P[i][j] += A[i][q] * B[q][j];
             }
           for (long i = 0; i < m; i++)
             for (long j = 0; j < o; j++) {
               Q[i][j] = 0;
               for (long q = 0; q < l; q++) Q[i][j] += C[i][q] * D[q][j];
             }
           for (long i = 0; i < n; i++)
             for (long j = 0; j < o; j++) {
               G[i][j] = 0;
               for (long q = 0; q < m; q++) G[i][j] += P[i][q] * Q[q][j];
             }""",
    ),
    "atax": (
        "A[n][m], x[m], y[m]",
        """for (long j = 0; j < m; j++) y[j] = 0;
           for (long i = 0; i < n; i++) {
             double p = 0;
             for (long j = 0; j < m; j++) p += A[i][j] * x[j];
             for (long j = 0; j < m; j++) y[j] += A[i][j] * p;
           }""",
    ),
    "bicg": (
        "A[n][m], r[n], p[m], s[m], q[n]",
        """for (long j = 0; j < m; j++) s[j] = 0;
           for (long i = 0; i < n; i++) {
             q[i] = 0;
             for (long j = 0; j < m; j++) { s[j] += r[i] * A[i][j]; q[i] += A[i][j] * p[j]; }
           }""",
    ),
    "mvt": (
        "A[n][n], x1[n], y1[n], x2[n], y2[n], R1[n], R2[n]",
        """for (long i = 0; i < n; i++) {
             R1[i] = x1[i];
             for (long j = 0; j < n; j++) R1[i] += A[i][j] * y1[j];
           }
           for (long i = 0; i < n; i++) {
             R2[i] = x2[i];
             for (long j = 0; j < n; j++) R2[i] += A[j][i] * y2[j];
           }""",
    ),
    "gesummv": (
        "A[n][n], B[n][n], x[n], alpha[1], beta[1], y[n]",
        """for (long i = 0; i < n; i++) {
             double a = 0, b = 0;
             for (long j = 0; j < n; j++) { a += A[i][j] * x[j]; b += B[i][j] * x[j]; }
             y[i] = alpha[0] * a + beta[0] * b;
           }""",
    ),
    "doitgen": (
        "A[n][m][k], C[k][k], R[n][m][k]",
        """for (long r = 0; r < n; r++)
             for (long q = 0; q < m; q++)
               for (long p = 0; p < k; p++) {
                 R[r][q][p] = 0;
                 for (long s = 0; s < k; s++) R[r][q][p] += A[r][q][s] * C[s][p];
               }""",
    ),
    "syrk": (
        "A[n][m], C[n][n], alpha[1], beta[1], R[n][n]",
        """for (long i = 0; i < n; i++) {
             for (long j = 0; j <= i; j++) R[i][j] = C[i][j] * beta[0];
             for (long q = 0; q < m; q++)
               for (long j = 0; j <= i; j++) R[i][j] += alpha[0] * A[i][q] * A[j][q];
           }""",
    ),
    "trmm": (
        "A[n][n], B[n][m], alpha[1], R[n][m]",
        """memcpy(R, B, sizeof(double) * n * m);
           for (long i = 0; i < n; i++)
             for (long j = 0; j < m; j++) {
               for (long q = i + 1; q < n; q++) R[i][j] += A[q][i] * R[q][j];
               R[i][j] = alpha[0] * R[i][j];
             }""",
    ),
    "lu": (
        "A[n][n], R[n][n]",
        """memcpy(R, A, sizeof(double) * n * n);
           for (long i = 0; i < n; i++) {
             for (long j = 0; j < i; j++) {
               for (long q = 0; q < j; q++) R[i][j] -= R[i][q] * R[q][j];
               R[i][j] /= R[j][j];
             }
             for (long j = i; j < n; j++)
               for (long q = 0; q < i; q++) R[i][j] -= R[i][q] * R[q][j];
           }""",
    ),
    "cholesky": (
        "A[n][n], R[n][n]",
        """for (long i = 0; i < n; i++) {
             for (long j = 0; j <= i; j++) R[i][j] = A[i][j];
             for (long j = 0; j < i; j++) {
               for (long q = 0; q < j; q++) R[i][j] -= R[i][q] * R[j][q];
               R[i][j] /= R[j][j];
             }
             for (long q = 0; q < i; q++) R[i][i] -= R[i][q] * R[i][q];
             R[i][i] = sqrt(R[i][i]);
           }""",
    ),
    "jacobi-2d": (
        "A[n][n], X[n][n], R[n][n]",
        """memcpy(R, A, sizeof(double) * n * n);
           memcpy(X, A, sizeof(double) * n * n);
           for (long t = 0; t < T; t++) {
             for (long i = 1; i < n - 1; i++)
               for (long j = 1; j < n - 1; j++)
                 X[i][j] = 0.2 * (R[i][j] + R[i][j-1] + R[i][j+1] + R[i+1][j] + R[i-1][j]);
             for (long i = 1; i < n - 1; i++)
               for (long j = 1; j < n - 1; j++)
                 R[i][j] = 0.2 * (X[i][j] + X[i][j-1] + X[i][j+1] + X[i+1][j] + X[i-1][j]);
           }""",
    ),
    "heat-3d": (
        "A[n][n][n], X[n][n][n], R[n][n][n]",
        """memcpy(R, A, sizeof(double) * n * n * n);
           memcpy(X, A, sizeof(double) * n * n * n);
           #define STEP(Y, Z) \\
             for (long i = 1; i < n - 1; i++) \\
               for (long j = 1; j < n - 1; j++) \\
                 for (long q = 1; q < n - 1; q++) \\
                   Y[i][j][q] = 0.125 * (Z[i+1][j][q] - 2.0 * Z[i][j][q] + Z[i-1][j][q]) \\
                     + 0.125 * (Z[i][j+1][q] - 2.0 * Z[i][j][q] + Z[i][j-1][q]) \\
                     + 0.125 * (Z[i][j][q+1] - 2.0 * Z[i][j][q] + Z[i][j][q-1]) + Z[i][j][q];
           for (long t = 0; t < T; t++) {
             STEP(X, R)
             STEP(R, X)
           }""",
    ),
    "fdtd-2d": (
        "ex[n][m], ey[n][m], hz[n][m], fict[T], X[n][m], Y[n][m], H[n][m]",
        """memcpy(X, ex, sizeof(double) * n * m);
           memcpy(Y, ey, sizeof(double) * n * m);
           memcpy(H, hz, sizeof(double) * n * m);
           for (long t = 0; t < T; t++) {
             for (long j = 0; j < m; j++) Y[0][j] = fict[t];
             for (long i = 1; i < n; i++)
               for (long j = 0; j < m; j++) Y[i][j] -= 0.5 * (H[i][j] - H[i-1][j]);
             for (long i = 0; i < n; i++)
               for (long j = 1; j < m; j++) X[i][j] -= 0.5 * (H[i][j] - H[i][j-1]);
             for (long i = 0; i < n - 1; i++)
               for (long j = 0; j < m - 1; j++)
                 H[i][j] -= 0.7 * (X[i][j+1] - X[i][j] + Y[i+1][j] - Y[i][j]);
           }""",
    ),
}


def _source(name: str) -> str:
    parameters, body = SOURCES[name]
    arrays = []
    for text in parameters.split(", "):
        array, _, extents = text.partition("[")
        inner = extents.partition("]")[2]  # of all dimensions but the outermost
        arrays.append(
            f"double (*restrict {array}){inner}" if inner else f"double *restrict {array}"
        )
    sizes = ", ".join(f"long {size}" for size in "nmkloT")
    head = "#include <math.h>\n#include <string.h>\n"
    return f"{head}void run({sizes}, {', '.join(arrays)}) {{\n{body}\n}}\n"


def compiled(
    name: str,
    compiler: str,
    sizes: Mapping[str, int],
    inputs: Sequence[Array],
    results: Sequence[Array],
    shown: int,
) -> Callable[[], tuple[Array, ...]] | Missing:
    """What runs a kernel on these arrays.

    Args:
        sizes: values of n, m, k, l, o and T, as far as the kernel has them.
        inputs, results: the arrays in the order of `SOURCES`.
        shown: how many of the last results are returned; those before are scratch.
    """
    program = shutil.which(COMPILERS[compiler])
    if program is None:
        return Missing(f"{COMPILERS[compiler]} is not installed")
    with tempfile.TemporaryDirectory(prefix="polybench-") as folder:
        source, target = os.path.join(folder, "kernel.c"), os.path.join(folder, "kernel.so")
        pathlib.Path(source).write_text(_source(name))
        command = [program, source, "-o", target, *_FLAGS, *_MORE_FLAGS.get(compiler, [])]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=_COMPILE_SECONDS
            )
        except subprocess.TimeoutExpired:
            return Missing(f"{compiler} does not end within {_COMPILE_SECONDS} s")
        if done.returncode != 0:
            return Missing(f"{compiler} failed: {done.stderr.strip()[:200]}")
        function = ctypes.CDLL(target).run
    function.restype = None
    arrays = [np.ascontiguousarray(array, np.float64) for array in inputs] + list(results)
    numbers = [ctypes.c_long(sizes.get(size, 1)) for size in "nmkloT"]
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]

    def run() -> tuple[Array, ...]:
        function(*numbers, *pointers)
        return tuple(arrays[-shown:])

    return run
