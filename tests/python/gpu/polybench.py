"""PolyBench/C 4.2 mapped to a GPU: the list of all kernels, and the table of their mappings.

`python tests/python/gpu/polybench.py` writes docs/gpu-kernels.md.
"""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass

import numpy as np
import polybench_algebra  # noqa: F401 (puts its kernels on the list)
import polybench_solvers  # noqa: F401
import polybench_stencils  # noqa: F401
from polybench_common import KERNELS, Kernel

import tilewright as tw

AXES = "xyz"
HEAD = """# PolyBench on a GPU

<!-- Written by `python tests/python/gpu/polybench.py`. Do not edit. -->

The {count} kernels of PolyBench/C 4.2, declared from their mathematical definitions and mapped to
[kernels for GPUs](gpu.md) by commands, in `tests/python/gpu/polybench_*.py`: {mapped} of {count} are
mapped. The tests run each on the emulator at two sizes, which finds races, accesses out of bounds
and barriers that not all threads reach; it gives what NumPy and the evaluator give. Its PTX for
sm_75, sm_80 and sm_90 goes through NVIDIA's assembler where there is one.

PPCG compiles 29 of 30 to CUDA. It finds its mappings by itself; these were written by hand, which
is the difference to keep in mind. None of them was timed: they show what can be mapped, not how
fast it is. Elements are float64; those of deriche float32, of floyd-warshall and nussinov int32.

- **launches**: kernels outside of loops, and in each iteration of loops on the host. These are
  where the whole grid waits: between time steps, or between the columns of a factorisation.
- **blocks of threads**: of each kernel that differs from the others, x first. One block of one
  thread computes a single value. `i0` and `t0` are places along y: further blocks of that row have
  nothing to do.
- **barriers**: those in all kernels together.
- **shared memory**: bytes of a block of the kernel that has most. Sums in a thread's own registers
  are not counted.

| kernel | computes | mapped | launches | blocks of threads | barriers | shared memory |
|---|---|---|---|---|---|---|
"""
TAIL = """
Written otherwise than PolyBench's programs do, with the same results:

- Results are arrays of their own, not written over inputs. Planes of time steps or of an
  elimination are stored in place (`store_in`) or two at a time (`storage_fold`).
- Borders of stencils are a `select` in the kernel.
- seidel-2d runs in waves `4 t + 2 i + j`: all that an element reads is in an earlier one (`skew`).
- Triangular systems, lu, ludcmp, durbin and gramschmidt are declared column by column: what is
  left after k steps.
- nussinov's table is declared by diagonals; adi's coefficients that are the same in all steps are
  made once.
"""


@dataclass
class Launch:
    """What f.loops shows of one kernel."""

    loops: tuple[str, ...]
    threads: str
    blocks: dict[str, str]
    barriers: int = 0
    shared: int = 0

    @property
    def shape(self) -> str:
        blocks = " x ".join(f"`{self.blocks[axis]}`" for axis in AXES if axis in self.blocks)
        return f"{blocks or '1'} of {self.threads}"


def bounds(text: str) -> tuple[str, str]:
    """Both arguments of a range; there may be commas in them."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            return text[:place], text[place + 2 :]
    raise ValueError(text)


def launches(function: tw.Function) -> list[Launch]:
    """The kernels in the order in which they stand in f.loops."""
    found: list[Launch] = []
    outside: list[tuple[int, str]] = []
    inside = -1  # the indentation of the kernel that is being read
    for line in str(function.loops).splitlines():
        text = line.strip()
        depth = len(line) - len(line.lstrip())
        if depth <= inside:
            inside = -1
        if inside < 0:
            outside = [loop for loop in outside if loop[0] < depth]
            if head := re.match(r"kernel:  # (.*?) threads? a block", text):
                found.append(Launch(tuple(name for _, name in outside), head[1], {}))
                inside = depth
            elif head := re.match(r"for (\w+) in ", text):
                outside.append((depth, head[1]))
            continue
        kernel = found[-1]
        if loop := re.match(r"for \w+ in range\((.*)\):  # gpu_block_([xyz])", text):
            first, last = bounds(loop[1])
            kernel.blocks.setdefault(loop[2], last if first == "0" else f"{last} - {first}")
        elif buffer := re.match(r"(\w+) = empty\(\((.*?),?\), (\w+)\)", text):
            if not buffer[1].endswith("_local"):  # of `cache(..., memory="private")`
                size = np.prod([int(extent) for extent in buffer[2].split(",")])
                kernel.shared += int(size) * np.dtype(buffer[3]).itemsize
        elif text == "barrier":
            kernel.barriers += 1
    return found


def row(kernel: Kernel) -> str:
    try:
        found = launches(kernel.build())
    except tw.TilewrightError as refusal:
        reason = str(refusal).splitlines()[0]
        return f"| {kernel.name} | {kernel.what} | no: {reason} | | | | |"
    counts: dict[tuple[str, ...], int] = {}
    for launch in found:
        counts[launch.loops] = counts.get(launch.loops, 0) + 1
    text = " + ".join(
        f"{count} for each {', '.join(loops)}" if loops else f"{count}"
        for loops, count in sorted(counts.items(), key=lambda item: len(item[0]))
    )
    shapes = ", ".join(dict.fromkeys(launch.shape for launch in found))
    barriers = sum(launch.barriers for launch in found)
    shared = max(launch.shared for launch in found)
    cells = [kernel.name, kernel.what, "yes", text, shapes, f"{barriers}", f"{shared or 'none'}"]
    return f"| {' | '.join(cells)} |"


def page() -> str:
    """The text of docs/gpu-kernels.md."""
    rows = [row(kernel) for kernel in sorted(KERNELS, key=lambda kernel: kernel.name)]
    mapped = sum("| yes |" in text for text in rows)
    return HEAD.format(count=len(rows), mapped=mapped) + "\n".join(rows) + "\n" + TAIL


PAGE = pathlib.Path(__file__).parents[3] / "docs" / "gpu-kernels.md"

if __name__ == "__main__":
    PAGE.write_text(page())
