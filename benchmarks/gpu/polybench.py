"""PolyBench/C's own files as kernels of a GPU: values beside gcc's, times beside the CPU's.

    python benchmarks/gpu/polybench.py --folder PolyBenchC-4.2.1 [--sizes MINI SMALL LARGE] [--output FILE]
    python benchmarks/gpu/polybench.py --folder PolyBenchC-4.2.1 --emulator       values only, MINI

Each file and size has a process of its own, several at a time; what is timed has the machine's GPU, or all of its
processor's cores, for itself. A call has the arrays of the host, so that its time counts copies to the device and
back. gcc's time is of one thread.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import fcntl
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from polybench_files import benchmarks, compiled_call, opened

SIZES = ("MINI", "SMALL", "LARGE")
LOCK = pathlib.Path(tempfile.gettempdir()) / "tilewright-polybench-lock"
Row = dict[str, Any]


def best(call: Callable[[], Any], repeats: int = 3, seconds: float = 4) -> float:
    """The least of several times in milliseconds, alone on the machine; fewer where calls are long."""
    with open(LOCK, "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        times: list[float] = []
        begin = time.perf_counter()
        while len(times) < repeats and (not times or time.perf_counter() - begin < seconds):
            since = time.perf_counter()
            call()
            times.append(1e3 * (time.perf_counter() - since))
    return min(times)


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> tuple[bool, float]:
    """Whether all bits are the same, and the largest difference by the largest value of an array."""
    same, largest = True, 0.0
    for name, value in ours.items():
        if not isinstance(value, np.ndarray) or not value.size:
            continue
        other = theirs[name]
        equal = (value == other) | ((value != value) & (other != other))
        same &= bool(equal.all())
        gap = np.abs(value.astype(np.float64) - other.astype(np.float64))[~equal]
        if gap.size:
            largest = max(largest, float(gap.max() / max(np.abs(other).max(), 1e-300)))
    return same, largest


def measured(path: pathlib.Path, folder: pathlib.Path, size: str, target: str) -> Row:
    """Values and times of one file."""
    row: Row = {"kernel": path.stem, "size": size}
    made = opened(path, folder, size, "double", "library")
    theirs, ours = made.copies(), made.copies()
    exact = compiled_call(made, folder, ("gcc", "-O2", "-ffp-contract=off"), theirs)
    exact()
    begin = time.perf_counter()
    made.function.auto_schedule(target=target)
    row["planned_ms"] = 1e3 * (time.perf_counter() - begin)
    begin = time.perf_counter()
    made.function(**ours)
    row["first_call_ms"] = 1e3 * (time.perf_counter() - begin)
    row["same_bits"], row["difference"] = differences(ours, theirs)
    row["on_gpu"] = "gpu_thread" in str(made.function.loops)
    if target != "cuda":
        return row
    given = made.copies()
    row["gpu_ms"] = best(lambda: made.function(**given))
    print(json.dumps(row), flush=True)  # what is known if time runs out
    given = made.copies()
    gcc = compiled_call(made, folder, ("gcc", "-O3", "-march=native"), given)
    begin = time.perf_counter()
    gcc()
    row["gcc_ms"] = 1e3 * (time.perf_counter() - begin)
    on_cpu = opened(path, folder, size, "double", "library")
    on_cpu.function.auto_schedule()
    given = on_cpu.copies()
    on_cpu.function(**given)
    row["cpu_ms"] = best(lambda: on_cpu.function(**given))
    return row


def by_child(path: pathlib.Path, size: str, options: argparse.Namespace) -> Row:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--folder", str(options.folder), "--sizes", size]
    command += ["--child", str(path)] + ["--emulator"] * options.emulator
    row: Row = {"kernel": path.stem, "size": size}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=options.seconds, check=False
        )
        out, problem = done.stdout, done.stderr.strip().splitlines()[-1:]
        if done.returncode == 0:
            problem = []
    except subprocess.TimeoutExpired as expired:
        out = (expired.stdout or b"").decode()
        problem = [f"took longer than {options.seconds:g} s"]
    for line in out.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
    return row | ({"problem": problem[0][:300]} if problem else {})


def line_of(row: Row) -> str:
    """A row of the table."""
    figures = "".join(
        f"{row[name]:>12.3f}" if name in row else f"{'':>12}"
        for name in ("gpu_ms", "cpu_ms", "gcc_ms", "planned_ms", "first_call_ms")
    )
    values = "equal bits" if row.get("same_bits") else f"differs by {row.get('difference', 1):.1e}"
    return f"{row['kernel']:<16}{row['size']:<7}{figures}  {row.get('problem', '') or values}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="PolyBench/C's")
    parser.add_argument("--sizes", nargs="*", help="of data sets; MINI SMALL LARGE")
    parser.add_argument("--only", default="", help="files whose name has this text")
    parser.add_argument("--output", type=pathlib.Path, help="a JSON file")
    parser.add_argument("--seconds", type=float, default=60, help="for each file and size")
    parser.add_argument("--limit", type=float, default=600, help="seconds for all of it")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--emulator", action="store_true", help="values only, without a GPU")
    parser.add_argument("--child", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = options.sizes or (["MINI"] if options.emulator else list(SIZES))
    if options.child:
        target = "gpu-emulator" if options.emulator else "cuda"
        print(json.dumps(measured(options.child, options.folder, sizes[0], target)))
        return 0
    paths = [path for path in benchmarks(options.folder) if options.only in path.stem]
    print(
        f"{'kernel':<16}{'size':<7}"
        + "".join(f"{n:>12}" for n in ("gpu", "cpu", "gcc", "plan", "first"))
    )
    rows: list[Row] = []
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [(path, size) for size in sizes for path in paths]

        def run(job: tuple[pathlib.Path, str]) -> Row | None:
            if time.monotonic() - begin > options.limit:
                return None
            return by_child(*job, options)

        for row in pool.map(run, jobs):
            if row is None:
                continue
            rows.append(row)
            print(line_of(row), flush=True)
            if options.output:
                options.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if len(rows) < len(jobs):
        print(f"left out for lack of time: {len(jobs) - len(rows)} of {len(jobs)}")
    good = sum("problem" not in row and row["difference"] < 1e-9 for row in rows)
    print(
        f"{good} of {len(rows)}: gcc's values; {sum(bool(r.get('same_bits')) for r in rows)} its bits"
    )
    return int(good < len(rows))


if __name__ == "__main__":
    sys.exit(main())
