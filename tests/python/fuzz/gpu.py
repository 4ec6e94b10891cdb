"""Random schedules of random programs mapped to a GPU at random: on the emulator they compute what the evaluator
does, without a race, an access outside or a barrier that some threads miss.

``python tests/python/fuzz/gpu.py --seed x --cases 1000`` runs cases; ``--case 17`` one of them again.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import tilewright as tw
from fuzz.cases import Failure, Runner, draw_case

MEMORY = ("auto", "shared", "shared", "private")


class GpuRunner:
    """One case: its schedule as it is drawn, then loops over blocks and threads where they are legal."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.given: list[str] = []
        self.statistics: dict[str, int] = {}

    def count(self, what: str) -> None:
        self.statistics[what] = self.statistics.get(what, 0) + 1

    def run(self) -> dict[str, int]:
        case = draw_case(self.seed)
        runner = Runner(case, compiled=False)
        with tw.settings(target="gpu-emulator", default_schedule=False):
            try:
                runner.run()
            except Failure:
                self.count("left to the other fuzzer")
                return self.statistics
        if not hasattr(runner, "function"):
            self.count("no program")
            return self.statistics
        function: tw.Function = runner.function
        if any(command[1] == "independent" for command in runner.done):
            self.count("a promise was drawn")
            return self.statistics
        self.given = [str(function.schedule)]
        self.map(function, random.Random(self.seed + ":gpu"))
        for sizes in case["sizes"]:
            try:
                runner.compare(sizes, function)
            except tw.ScheduleError as error:
                self.count("no kernel: " + str(error.message)[:60])
                return self.statistics
            self.count("calls")
        loops = str(function.loops)
        self.count("cases with a kernel" if "kernel:" in loops else "cases without")
        for word in (
            "barrier",
            "gpu_spread",
            "gpu_thread",
            "gpu_block",
            "combined over",
            "# atomic",
            "stages",
        ):
            if word in loops:
                self.count("cases with " + word)
        return self.statistics

    def attempt(
        self, function: tw.Function, computation: str, name: str, *arguments: object
    ) -> bool:
        try:
            getattr(function[computation], name)(*arguments)
        except (tw.ScheduleError, tw.AnalysisLimitError, KeyError):
            return False
        self.given.append(f"{computation}.{name}{arguments}")
        return True

    def map(self, function: tw.Function, rng: random.Random) -> None:
        """Gives commands until some hold; those that are refused are left out."""
        for computation in rng.sample(list(function.computations), len(function.computations)):
            if rng.random() < 0.3:
                self.cached(function, computation, rng)
        for computation in function.computations:
            loops = [name for name, _ in function._loops(computation)]
            if not loops or rng.random() < 0.15:
                continue
            if rng.random() < 0.3 and self.combined(function, computation, rng):
                continue
            split = rng.choice(loops)
            if rng.random() < 0.6:
                self.attempt(function, computation, "split", split, rng.choice((1, 2, 3, 4)))
            loops = [name for name, _ in function._loops(computation)]
            blocks = rng.choice((0, 1, 1, 1, 2))
            for count in range(blocks, 0, -1):
                first = rng.choice((0, 0, 0, 1))
                if self.attempt(function, computation, "gpu_block", *loops[first : first + count]):
                    break
            inner = [name for name, tag in function._loops(computation) if not tag]
            for _ in range(3):
                if not inner:
                    break
                chosen = rng.sample(inner, min(len(inner), rng.choice((1, 1, 2))))
                chosen.sort(key=inner.index)
                how = rng.choice(("gpu_thread", "gpu_thread", "gpu_spread"))
                if self.attempt(function, computation, how, *chosen):
                    break

    def combined(self, function: tw.Function, computation: str, rng: random.Random) -> bool:
        """A loop for the threads of a block, one of the last, which reduced iterators drive."""
        loops = [name for name, _ in function._loops(computation)]
        term = rng.choice(loops[-2:])
        width = rng.choice((2, 3, 4, 8, 32, 40))
        if not self.attempt(function, computation, "split", term, width, "rounds", "terms"):
            return False
        if rng.random() < 0.3:
            self.attempt(function, computation, "interchange", "rounds", "terms")
        threads = ["terms"]
        others = [name for name in loops if name != term]
        if others and rng.random() < 0.4:
            row = rng.choice(others)
            if self.attempt(function, computation, "split", row, rng.choice((2, 3)), "rs", "row"):
                threads.append("row")
                others[others.index(row)] = "rs"
        if others and rng.random() < 0.7:
            self.attempt(function, computation, "gpu_block", others[0])
        order = [name for name, _ in function._loops(computation)]
        threads.sort(key=order.index)
        return self.attempt(function, computation, "gpu_thread", *threads)

    def cached(self, function: tw.Function, computation: str, rng: random.Random) -> None:
        loops = [name for name, _ in function._loops(computation)]
        arrays = [computation, *function.inputs]
        if loops:
            array = rng.choice(arrays)
            memory = rng.choice(MEMORY)
            pad = rng.choice((0, 0, 1, 4)) if memory != "private" else 0
            ahead = memory == "shared" and array != computation
            stages = rng.choice((1, 2, 2, 3)) if ahead else 1
            self.attempt(
                function, computation, "cache", array, rng.choice(loops[:3]), None, memory, None,
                pad, stages,
            )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", default="gpu")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--case", type=int, help="this one alone")
    options = parser.parse_args()
    total: dict[str, int] = {}
    cases = [options.case] if options.case is not None else range(options.cases)
    failed = 0
    for number in cases:
        runner = GpuRunner(f"{options.seed}:{number}")
        try:
            statistics = runner.run()
        except Exception as error:
            failed += 1
            print(f"--seed {options.seed} --case {number}: {type(error).__name__}: {error}")
            print("  " + "\n  ".join(runner.given))
            continue
        for what, count in statistics.items():
            total[what] = total.get(what, 0) + count
    for what, count in sorted(total.items(), key=lambda entry: -entry[1]):
        print(f"{count:7} {what}")
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
