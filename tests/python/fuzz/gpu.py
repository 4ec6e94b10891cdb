"""Random programs mapped to a GPU at random (gpu_programs.py): on the emulator they compute what the evaluator does,
without a race, an access outside or a barrier that some threads miss.

``python tests/python/fuzz/gpu.py --seed x --cases 1000`` runs cases; ``--case 17`` one of them again;
``--target cuda`` runs them on a real GPU, which a lost context ends early.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import tilewright as tw
from fuzz.gpu_programs import Draw

WORDS = (
    "barrier", "gpu_spread", "gpu_thread", "gpu_block", "combined over", "# atomic", "stages",
    "# vector(", "# unroll",
)  # fmt: skip


class GpuRunner:
    """One case: it is drawn with its mapping, printed, and called with what the evaluator is called with."""

    def __init__(self, seed: str, target: str = "gpu-emulator") -> None:
        self.seed = seed
        self.target = target
        self.given: list[str] = []
        self.statistics: dict[str, int] = {}

    def count(self, what: str) -> None:
        self.statistics[what] = self.statistics.get(what, 0) + 1

    def run(self) -> dict[str, int]:
        draw = Draw(self.seed, self.target)
        self.given = draw.given
        function = draw.function
        self.count(draw.family)
        for what in draw.refused:
            self.count("left out: " + " ".join(what.split()))
        try:
            loops = str(function.loops)
            str(function.ptx_for("sm_80"))
        except tw.ScheduleError as error:
            self.count("no kernel")
            self.count(f"no kernel: {error.message[:110].splitlines()[0]}")
            return self.statistics
        self.count("cases with a kernel" if "kernel:" in loops else "cases without")
        for word in WORDS:
            if word in loops:
                self.count("cases with " + word)
        if loops.count("kernel:") > 1:
            self.count("cases with several kernels")
        for arguments in draw.calls():
            self.compare(function, arguments)
        return self.statistics

    def compare(self, function: tw.Function, arguments: dict[str, Any]) -> None:
        sizes = {name: value for name, value in arguments.items() if isinstance(value, int)}
        self.given.append(f"# called with {sizes}")
        expected = function.evaluate(**arguments)
        found = function(**arguments)
        self.given.pop()
        own = found if isinstance(found, tuple) else (found,)
        right = expected if isinstance(expected, tuple) else (expected,)
        for one, other in zip(own, right, strict=True):
            if not np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
                first = np.argwhere(one != other)[0].tolist()
                raise AssertionError(
                    f"at {sizes}, element {first} is {one[tuple(first)]}, not {other[tuple(first)]}"
                )
        self.count("calls")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", default="gpu")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--case", type=int, help="this one alone")
    parser.add_argument("--target", choices=["gpu-emulator", "cuda"], default="gpu-emulator")
    options = parser.parse_args()
    total: dict[str, int] = {}
    cases = [options.case] if options.case is not None else range(options.cases)
    failed = 0
    for number in cases:
        runner = GpuRunner(f"{options.seed}:{number}", options.target)
        try:
            statistics = runner.run()
        except Exception as error:
            failed += 1
            print(
                f"--seed {options.seed} --case {number}: {type(error).__name__}: {error}",
                flush=True,
            )
            print("  " + "\n  ".join(runner.given))
            if isinstance(error, tw.DeviceError) and options.target == "cuda":
                break  # what comes next would find the same lost context
            continue
        for what, count in statistics.items():
            total[what] = total.get(what, 0) + count
    for what, count in sorted(total.items(), key=lambda entry: -entry[1]):
        print(f"{count:7} {what}")
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
