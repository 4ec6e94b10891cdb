"""The soak: what happens to caches and kernels in years, in minutes.

    scripts/soak                            # all trials
    scripts/soak kills --count 500 --seed 7

Prints a line for each trial and stores the table beside those of the benchmarks, in
build/benchmarks/soak.json; ends with status 1 where one fails. The test-suite does the same with fewer
steps.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).parents[3]


def store(rows: list[dict[str, object]], folder: pathlib.Path) -> None:
    """The table as JSON, with the machine and the versions."""
    sys.path.append(str(ROOT / "benchmarks"))
    import peers

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "soak.json"
    stored = {
        "topic": "soak",
        "title": "What happens to caches and kernels in years",
        "date": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
        "machine": peers.machine(),
        "trials": rows,
    }
    path.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    print(f"stored: {path}")


def main() -> int:
    from soak.trials import TRIALS

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trials", nargs="*", metavar="trial", help=", ".join(TRIALS))
    parser.add_argument("--count", type=int, help="steps, instead of each trial's own number")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments (1)")
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=ROOT / "build" / "benchmarks",
        help="folder for the table (build/benchmarks)",
    )
    arguments = parser.parse_args()
    unknown = set(arguments.trials) - set(TRIALS)
    if unknown:
        parser.error(
            f"no trial is called {', '.join(sorted(unknown))}; there are {', '.join(TRIALS)}"
        )
    failed = False
    rows: list[dict[str, object]] = []
    for name in arguments.trials or TRIALS:
        trial, usual, _ = TRIALS[name]
        count = usual if arguments.count is None else arguments.count

        def progress(done: int, name: str = name, count: int = count) -> None:
            if sys.stderr.isatty():
                print(f"\r{name} {done}/{count}", end="", file=sys.stderr, flush=True)

        start = time.perf_counter()
        # A kernel that is improved in the background may be stored while the folder is removed.
        with tempfile.TemporaryDirectory(
            prefix="tilewright-soak-", ignore_cleanup_errors=True
        ) as folder:
            try:
                result = trial(pathlib.Path(folder) / "kernels", count, arguments.seed, progress)
            except Exception:
                traceback.print_exc()
                result, failed = "FAILED", True
        if sys.stderr.isatty():
            print("\r", end="", file=sys.stderr)
        seconds = time.perf_counter() - start
        print(f"{name:<10} {result} ({seconds:.0f} s)", flush=True)
        rows.append({"trial": name, "steps": count, "seed": arguments.seed})
        rows[-1] |= {"result": result, "seconds": round(seconds, 1)}
    store(rows, arguments.output)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
    raise SystemExit(main())
