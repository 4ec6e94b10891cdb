"""How long each of a million pushes of 64 elements takes: the distribution that an audio callback lives with.

Each push is timed on its own. Ours is `push(chunk, out=room)` from Python, "exported C" is the source that
`export_source` writes, called from C: the arithmetic of a push without Python. SciPy is called once for each chunk,
with its state, by what can be. The readings of the clock are part of each figure. "beyond the exported C" is the
difference of the medians, so it is what a call from Python costs.
"""

from __future__ import annotations

import array
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

import tilewright as tw
from harness import OURS, Case, Context, Missing, Row
from topics import streams_dsp
from topics.streams_dsp import EXPORTED, SCIPY, Program

TITLE = "The time of single pushes of 64 elements"
THREADS = (1,)

BLOCK = 64
#: Percentages of the pushes that take no longer; the names of the parts of a case.
PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99, 100.0)
BEYOND = "beyond the exported C"
WITHOUT_STATE = ("resampling", "stft")

Times = npt.NDArray[np.float64]
Sample = Callable[[], dict[str, float]]


def part(percentage: float) -> str:
    """The name of a percentile, e.g. ``"99.9 %"``."""
    return "median" if percentage == 50 else "longest" if percentage == 100 else f"{percentage:g} %"


def _parts(seconds: Times) -> dict[str, float]:
    found = np.percentile(seconds, PERCENTILES)
    return {part(each): float(value) for each, value in zip(PERCENTILES, found, strict=True)}


def pushed(k: tw.StreamFunction, program: Program, pushes: int) -> Callable[[], Times]:
    """Times ours.

    Raises:
        AssertionError: chunks give other values than the whole signal.
    """
    streams_dsp.check_chunks(k, program, BLOCK)
    chunks = streams_dsp.blocks_of(program.x, BLOCK)
    s = k.stream(**program.given)
    room = np.empty_like(s.push(program.x))
    pairs = []
    # A room for each chunk, as long as that chunk's elements: the counts repeat with the signal.
    for chunk in chunks:
        pairs.append((chunk, room[: s.counts_after(len(chunk))[k.outputs[0]]]))
        s.push(chunk)

    def call() -> Times:
        clock, push = time.perf_counter_ns, s.push
        # Memory is there before the first push: new pages would be counted among the pushes' time.
        taken = array.array("q", bytes(8 * pushes))
        for number, (chunk, out) in zip(range(pushes), itertools.cycle(pairs), strict=False):
            start = clock()
            push(chunk, out=out)
            taken[number] = clock() - start
        return np.array(taken) * 1e-9

    return call


def by_scipy(program: Program, pushes: int) -> Sample | Missing:
    if isinstance(program.scipy, Missing):
        return program.scipy
    if program.name.startswith(WITHOUT_STATE):
        return Missing("SciPy's function keeps no state from call to call")
    calls = [program.scipy([chunk]) for chunk in streams_dsp.blocks_of(program.x, BLOCK)]
    fewer = max(pushes // 20, 1000)

    def sample() -> dict[str, float]:
        clock = time.perf_counter_ns
        taken = []
        for call in itertools.islice(itertools.cycle(calls), fewer):
            start = clock()
            call()
            taken.append(clock() - start)
        return _parts(np.array(taken) * 1e-9)

    return sample


def from_c(k: tw.StreamFunction, program: Program, pushes: int) -> Callable[[], Times] | Missing:
    library = streams_dsp.exported_library(k, program, BLOCK)
    if isinstance(library, Missing):
        return library
    return streams_dsp.timed_in_c(library, k, program, BLOCK, pushes)


def _samples(
    ours: Callable[[], Times], c: Callable[[], Times] | Missing
) -> tuple[Sample, Sample | Missing]:
    """What a case measures of both; ours has the difference of the medians, too, unless there is no C."""
    if isinstance(c, Missing):
        return lambda: _parts(ours()), c
    of_c = c
    least = float(np.median(of_c()))

    def sample_c() -> dict[str, float]:
        nonlocal least
        found = _parts(of_c())
        least = min(least, found["median"])
        return found

    def sample() -> dict[str, float]:
        found = _parts(ours())
        return found | {BEYOND: max(found["median"] - least, 0.0)}

    return sample, sample_c


def cases(context: Context) -> Iterator[Case]:
    pushes = 2_000 if context.quick else 1_000_000
    for program in streams_dsp.programs(1 << 13):
        if context.quick and program.name not in ("fir of 32", "resampling by 3/2"):
            continue
        k = program.make()
        sample, sample_c = _samples(pushed(k, program, pushes), from_c(k, program, pushes))
        yield Case(
            program.name,
            sample,
            peers={
                EXPORTED: sample_c,
                SCIPY: by_scipy(program, pushes),
            },
            sampled=True,
            goals={f"times: {part(99.9)} / {part(50)}": 3.0, f"ms: {BEYOND}": 1e-3},
            note=f"{pushes:,} pushes; SciPy a twentieth of them",
        )


def pictures(rows: Sequence[Row], folder: Path) -> list[Path]:
    """The time of a push by the share of pushes that take longer.

    Args:
        rows: what was measured.
        folder: of the picture.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = {part(each): each for each in PERCENTILES}
    # The longest of a million stands where one in a million is longer.
    shares = [100 - each if each < 100 else 1e-4 for each in PERCENTILES]
    programs = sorted({row.case.rpartition(": ")[0] for row in rows if row.minimum == row.minimum})
    columns = 3
    lines = -(-len(programs) // columns)
    figure, panels = pyplot.subplots(
        lines, columns, figsize=(4 * columns, 3 * lines), layout="constrained", squeeze=False
    )
    for axes in panels.flat[len(programs) :]:
        axes.set_visible(False)
    for axes, program in zip(panels.flat, programs, strict=False):
        for contender in (OURS, EXPORTED, SCIPY):
            of_it = {
                row.case.rpartition(": ")[2]: 1e6 * row.median
                for row in rows
                if row.contender == contender and row.case.rpartition(": ")[0] == program
            }
            if set(names) <= set(of_it):
                axes.loglog(shares, [of_it[name] for name in names], "o-", label=contender)
        axes.set(title=program, xlabel="% of pushes that take longer", ylabel="us")
        axes.invert_xaxis()
        axes.minorticks_off()
        axes.legend(fontsize=7)
    path = folder / "streams_pushes_distribution.png"
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return [path]
