"""The soak: what happens to caches and kernels in years, in minutes.

    scripts/soak                            # all trials
    scripts/soak kills --count 500 --seed 7

Prints a line for each trial; ends with status 1 where one fails. The test-suite does the same with
fewer steps.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
import time
import traceback


def main() -> int:
    from soak.trials import TRIALS

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trials", nargs="*", metavar="trial", help=", ".join(TRIALS))
    parser.add_argument("--count", type=int, help="steps, instead of each trial's own number")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments (1)")
    arguments = parser.parse_args()
    unknown = set(arguments.trials) - set(TRIALS)
    if unknown:
        parser.error(
            f"no trial is called {', '.join(sorted(unknown))}; there are {', '.join(TRIALS)}"
        )
    failed = False
    for name in arguments.trials or TRIALS:
        trial, usual, _ = TRIALS[name]
        count = usual if arguments.count is None else arguments.count

        def progress(done: int, name: str = name, count: int = count) -> None:
            if sys.stderr.isatty():
                print(f"\r{name} {done}/{count}", end="", file=sys.stderr, flush=True)

        start = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="tilewright-soak-") as folder:
            try:
                result = trial(pathlib.Path(folder) / "kernels", count, arguments.seed, progress)
            except Exception:
                traceback.print_exc()
                result, failed = "FAILED", True
        if sys.stderr.isatty():
            print("\r", end="", file=sys.stderr)
        print(f"{name:<10} {result} ({time.perf_counter() - start:.0f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
    raise SystemExit(main())
