"""FAUST as a peer: programs in its language become C (Debian's `faust`), which gcc compiles, and are called block by
block from C. Inputs and outputs are an array for each channel, as FAUST has them."""

from __future__ import annotations

import ctypes
import pathlib
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import peers
from harness import Missing

__all__ = ["Faust", "biquads", "fir", "plucked_string", "reverb"]

Array = npt.NDArray[Any]

_DRIVER = """
#define FAUSTFLOAT float
#include "faust/gui/CInterface.h"
#include "{source}"
static prog state;
void start(void) {{ initprog(&state, 48000); }}
void run(float *x, float *y, long length, long block) {{
  float *in[{inputs}], *out[{outputs}];
  for (long n = 0; n < length; n += block) {{
    for (int k = 0; k < {inputs}; ++k) {{ in[k] = x + k * length + n; }}
    for (int k = 0; k < {outputs}; ++k) {{ out[k] = y + k * length + n; }}
    computeprog(&state, (int)(length - n < block ? length - n : block), in, out);
  }}
}}
"""


# ---- programs, of so many inputs and outputs ----


def _numbers(values: Any) -> list[str]:
    return [f"({float(value)!r})" for value in values]


def fir(taps: Array) -> str:
    """Filters with these rows of taps."""
    rows = []
    for row in np.atleast_2d(taps):
        terms = (f"{tap} * (x @ {r})" for r, tap in enumerate(_numbers(row)))
        rows.append(f"\\(x).({' + '.join(terms)})")
    return f"process = _ <: {', '.join(rows)};"


def biquads(sos: Array, channels: int) -> str:
    """A cascade for each channel, in direct form II."""
    sections = []
    for row in sos:
        b0, b1, b2, _, a1, a2 = _numbers(row)
        sections.append(f"biquad({b0}, {b1}, {b2}, {a1}, {a2})")
    return (
        "biquad(b0, b1, b2, a1, a2) = + ~ (\\(v).((0 - a1) * v + (0 - a2) * v')) "
        ": \\(v).(b0 * v + b1 * v' + b2 * v'');\n"
        f"process = par(c, {channels}, {' : '.join(sections)});"
    )


def plucked_string(gain: float, delay: int) -> str:
    return f"process = + ~ (\\(y).({gain * 0.5} * (y @ {delay - 1} + y @ {delay})));"


def reverb(gains: Array, combs: Array, diffusion: float, allpasses: Array) -> str:
    parallel = ", ".join(
        f"comb({delay}, {gain})" for delay, gain in zip(combs, _numbers(gains), strict=True)
    )
    passes = " : ".join(f"pass({delay}, {diffusion})" for delay in allpasses)
    return (
        "comb(d, g) = + ~ (\\(y).(g * (y @ (d - 1))));\n"
        "pass(d, g, x) = loop ~ _ with { loop(y) = x @ d - g * x + g * (y @ (d - 1)); };\n"
        f"process = _ <: {parallel} :> /({len(combs)}) : {passes};"
    )


# ---- running them ----


class Faust:
    """Compiles programs into a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = pathlib.Path(folder)
        self._made = 0

    def run(
        self, text: str, x: Array, outputs: int, block: int, *options: str
    ) -> Callable[[], Array] | Missing:
        """What pushes the rows of x in blocks, and gives a column for each output."""
        compiler, gcc = peers.program("faust"), peers.program("gcc")
        if isinstance(compiler, Missing):
            return compiler
        if isinstance(gcc, Missing):
            return gcc
        self._made += 1
        name = self._folder / f"faust{self._made}"
        name.with_suffix(".dsp").write_text(text)
        inputs = 1 if x.ndim == 1 else x.shape[1]
        driver = _DRIVER.format(source=f"{name.name}.c", inputs=inputs, outputs=outputs)
        target = self._folder / f"{name.name}-driver.c"
        target.write_text(driver)
        library = target.with_suffix(".so")
        flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", "-w"]
        for command in (
            [compiler, "-lang", "c", "-cn", "prog", *options, f"{name}.dsp", "-o", f"{name}.c"],
            [gcc, *flags, str(target), "-o", str(library), "-lm"],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                return Missing(f"{command[0]} fails: {done.stderr[:200]}")
        loaded = ctypes.CDLL(str(library))
        loaded.start()
        channels = np.ascontiguousarray(x.T)
        out = np.zeros((outputs, len(x)), np.float32)
        arguments = [ctypes.c_void_p(each.ctypes.data) for each in (channels, out)]
        lengths = [ctypes.c_long(len(x)), ctypes.c_long(block)]
        result: Array = out[0] if x.ndim == 1 and outputs == 1 else out.T

        def call() -> Array:
            loaded.run(*arguments, *lengths)
            return result

        call.kept = channels  # type: ignore[attr-defined]
        return call
