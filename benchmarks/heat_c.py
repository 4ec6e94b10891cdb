"""The heat equation in C, compiled when it is run: gcc, clang and clang with Polly.

The source is what one writes by hand: two grids, a loop over time steps, the rows of a step in
parallel by OpenMP. Polly gets it without the pragma and parallelizes by itself.
"""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from harness import Missing

__all__ = ["COMPILERS", "heat"]

Array = npt.NDArray[Any]

_HEAD = """
typedef {real} real;
void heat({sizes}, long steps, real *restrict grids) {{
  real (*g){array} = (void *)grids;
  for (long t = 1; t <= steps; t++) {{
    real (*from){inner} = g[(t + 1) % 2], (*to){inner} = g[t % 2];
"""
_BODY = {
    2: """
    {pragma}
    for (long i = 1; i < N - 1; i++)
      for (long j = 1; j < M - 1; j++)
        to[i][j] = (real)0.5 * from[i][j]
                   + (real)0.125 * (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]);
  }}
}}
""",
    3: """
    {pragma}
    for (long i = 1; i < N - 1; i++)
      for (long j = 1; j < M - 1; j++)
        for (long k = 1; k < L - 1; k++)
          to[i][j][k] = (real)0.4 * from[i][j][k]
                        + (real)0.1 * (from[i - 1][j][k] + from[i + 1][j][k] + from[i][j - 1][k]
                                       + from[i][j + 1][k] + from[i][j][k - 1] + from[i][j][k + 1]);
  }}
}}
""",
}
# Polly models arrays of constant extents and two loop bodies instead of pointers that alternate.
_POLLY = """
typedef {real} real;
void heat(long steps, real *restrict grids) {{
  real (*restrict a){inner} = (void *)grids;
  real (*restrict b){inner} = (void *)(grids + {points});
  for (long t = 0; t < steps / 2; t++) {{
{first}
{second}
  }}
}}
"""
_POLLY_STEP = {
    2: """
    for (long i = 1; i < {N} - 1; i++)
      for (long j = 1; j < {M} - 1; j++)
        {to}[i][j] = (real)0.5 * {of}[i][j]
          + (real)0.125 * ({of}[i - 1][j] + {of}[i + 1][j] + {of}[i][j - 1] + {of}[i][j + 1]);
""",
    3: """
    for (long i = 1; i < {N} - 1; i++)
      for (long j = 1; j < {M} - 1; j++)
        for (long k = 1; k < {L} - 1; k++)
          {to}[i][j][k] = (real)0.4 * {of}[i][j][k]
            + (real)0.1 * ({of}[i - 1][j][k] + {of}[i + 1][j][k] + {of}[i][j - 1][k]
                           + {of}[i][j + 1][k] + {of}[i][j][k - 1] + {of}[i][j][k + 1]);
""",
}

_COMMON = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
COMPILERS = {
    "gcc": ["gcc", *_COMMON, "-fopenmp"],
    "clang": ["clang-19", *_COMMON, "-fopenmp"],
    "Polly": [
        "clang-19",
        *_COMMON,
        *(
            f"-mllvm={flag}"
            for flag in ("-polly", "-polly-parallel", "-polly-vectorizer=stripmine")
        ),
        "-lgomp",
    ],
}


def _source(rank: int, shape: tuple[int, ...], dtype: np.dtype[Any], polly: bool) -> str:
    real = "float" if dtype == np.float32 else "double"
    if polly:
        extents = dict(zip("NML", shape, strict=False))
        inner = "".join(f"[{extent}]" for extent in shape[1:])
        first = _POLLY_STEP[rank].format(to="b", of="a", **extents)
        second = _POLLY_STEP[rank].format(to="a", of="b", **extents)
        points = int(np.prod(shape))
        return _POLLY.format(real=real, inner=inner, points=points, first=first, second=second)
    names = "NML"[:rank]
    array = "".join(f"[{name}]" for name in names)
    sizes = ", ".join(f"long {name}" for name in names)
    text = _HEAD + _BODY[rank]
    inner = "".join(f"[{name}]" for name in names[1:])
    pragma = "#pragma omp parallel for schedule(static)"
    return text.format(real=real, sizes=sizes, array=array, inner=inner, pragma=pragma)


def _flags(compiler: str) -> list[str] | Missing:
    command = COMPILERS[compiler]
    program = shutil.which(command[0])
    if program is None:
        return Missing(f"{command[0]} is not installed")
    return [program, *command[1:]]


def heat(compiler: str, grids: Array, pairs: int) -> Callable[[], Array] | Missing:
    """What makes ``2 * pairs`` steps on the grids (see `tilewright.kernels.stencils`), in place."""
    flags = _flags(compiler)
    if isinstance(flags, Missing):
        return flags
    shape = grids.shape[1:]
    polly = compiler == "Polly"
    with tempfile.TemporaryDirectory(prefix="heat-") as folder:
        source, target = os.path.join(folder, "heat.c"), os.path.join(folder, "heat.so")
        pathlib.Path(source).write_text(_source(len(shape), shape, grids.dtype, polly))
        done = subprocess.run(
            [*flags, source, "-o", target], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            return Missing(f"{compiler} failed: {done.stderr.strip()[:200]}")
        function = ctypes.CDLL(target).heat
    function.restype = None
    numbers = [2 * pairs] if polly else [*shape, 2 * pairs]
    arguments = [ctypes.c_long(number) for number in numbers]
    pointer = grids.ctypes.data_as(ctypes.c_void_p)

    def run() -> Array:
        function(*arguments, pointer)
        return grids

    return functools.partial(run)
