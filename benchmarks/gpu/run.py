"""Kernels on an NVIDIA GPU beside what else is there: cuBLAS, CUDA C, PyTorch, CuPy, Triton.

    python benchmarks/gpu/run.py [--output DIRECTORY] [--limit 420]     on a machine with a GPU
    python benchmarks/gpu/run.py --emulator                             anywhere: values only
    python benchmarks/gpu/run.py --topic auto                           programs that the planner maps

Prints a table, and writes gpu.csv, gpu.json and gpu.png. Times are of the device, by events around
bursts of calls, after one to warm up; the contenders' bursts take turns. Values are compared with
NumPy's before anything is timed. What does not fit into the limit is left out, and named.

The measuring is done by a child process. If the device is lost to it, or a case does not end, it is
replaced by another one, which goes on with the next case.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import tilewright as tw
from kernels import Arrays, Kernel, Size

OURS = "tilewright"
FOLDER = pathlib.Path(__file__).resolve().parent
BUILT = FOLDER.parents[1] / "build" / "benchmarks"
RESULTS = {"kernels": BUILT / "gpu", "auto": BUILT / "gpu-auto"}
COLUMNS = [
    "kernel",
    "size",
    "by",
    "minimum_ms",
    "median_ms",
    "repeats",
    "rate",
    "unit",
    "ratio",
    "goal",
    "reached",
    "problem",
]
CASE_SECONDS = 90  # the first one imports and compiles all there is
LAUNCH_SECONDS = 60
# What there is to measure: a module and its list of kernels, and the module that has the contenders.
TOPICS = {
    "kernels": ("kernels", "KERNELS", "contenders"),
    "auto": ("programs", "PROGRAMS", "program_peers"),
}
Row = dict[str, Any]


def kernels_of(topic: str) -> list[Kernel]:
    """What a topic has."""
    module, name, _ = TOPICS[topic]
    found: list[Kernel] = getattr(importlib.import_module(module), name)
    return found


def cases(topic: str) -> list[tuple[Kernel, Size]]:
    """All, the first size of each kernel before the others."""
    kernels = kernels_of(topic)
    first = [(kernel, kernel.sizes[0]) for kernel in kernels]
    return first + [(kernel, size) for kernel in kernels for size in kernel.sizes[1:]]


def title(kernel: Kernel, size: Size) -> str:
    """What a case is called, e.g. ``"sgemm 4096"``."""
    extents = [size[0]] if len(set(size)) == 1 else size
    return f"{kernel.name} {'x'.join(map(str, extents))}"


def row(kernel: Kernel, size: Size, by: str, **figures: Any) -> Row:
    """A line of the table."""
    text = "x".join(map(str, size))
    return {"kernel": kernel.name, "size": text, "by": by, "unit": kernel.unit, **figures}


def problem_of(error: BaseException) -> str:
    """An error in a line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:250]}"


# ---- values ----


class Values:
    """What is right at a case: all of it, or some rows where NumPy would take too long."""

    def __init__(self, kernel: Kernel, size: Size, arrays: Arrays) -> None:
        self.rows = None
        if kernel.sampled and kernel.output(size)[0] > kernel.sampled:
            # The first and last ones are where tiles are cut off.
            some = np.random.default_rng(1).integers(0, kernel.output(size)[0], kernel.sampled)
            some[:2] = 0, kernel.output(size)[0] - 1
            self.rows = some
        self.expected = kernel.expected(arrays, self.rows)
        self.tolerances = kernel.tolerances(arrays)

    def check(self, result: Any) -> None:
        """Raises an AssertionError that says where a result is wrong."""
        got = result if self.rows is None else result[self.rows]
        np.testing.assert_allclose(got, self.expected, **self.tolerances)


# ---- in the process that measures ----


def burst_time(call: Any, number: int) -> float:
    """Milliseconds of the device for one of so many calls."""
    start, end = tw.cuda.Event(), tw.cuda.Event()
    start.record()
    for _ in range(number):
        call()
    end.record()
    end.synchronize()
    return end.elapsed_since(start) / number


def measure(
    kernel: Kernel, size: Size, only: Sequence[str], seconds: float, topic: str
) -> list[Row]:
    """Checks and times all contenders at a case; a row each, ours first."""
    from contenders import MissingError

    known = importlib.import_module(TOPICS[topic][2])
    arrays = kernel.inputs(size, np.random.default_rng(0))
    values = Values(kernel, size, arrays)
    numbers: dict[str, int] = {}
    samples: dict[str, list[float]] = {}
    calls, problems = {}, {}
    for name, make in {OURS: known.ours, **known.PEERS}.items():
        if name != OURS and only and name not in only:
            continue
        try:
            contender = make(kernel, size, arrays)
            if contender is None:
                continue
            contender.call()
            values.check(contender.result())
            # Bursts of some milliseconds hide the time between a launch and its start.
            once = burst_time(contender.call, 3)
            numbers[name] = max(1, min(100, math.ceil(4 / max(once, 1e-3))))
            samples[name] = [burst_time(contender.call, numbers[name])]
            calls[name] = contender.call
        except (ImportError, MissingError) as missing:
            problems[name] = f"missing: {missing}"
        except AssertionError as error:
            problems[name] = f"WRONG VALUES: {' '.join(str(error).split())[:250]}"
        except Exception as error:
            problems[name] = problem_of(error)
            if name == OURS and isinstance(error, tw.DeviceError):
                break
    end = time.monotonic() + seconds
    for repeat in range(50):
        if repeat >= 5 and time.monotonic() > end:
            break
        for name in list(calls):
            try:
                samples[name].append(burst_time(calls[name], numbers[name]))
            except Exception as error:
                # What was measured before, say before a peer lost the device, counts.
                print(f"{name} at {title(kernel, size)}: {problem_of(error)}", file=sys.stderr)
                del calls[name]
    rows = []
    for name, taken in samples.items():
        least = min(taken)
        figures: Row = {"minimum_ms": least / kernel.steps}
        figures["median_ms"] = statistics.median(taken) / kernel.steps
        figures["repeats"] = len(taken)
        figures["rate"] = kernel.work(size) / least / 1e6
        if name != OURS and OURS in samples:
            figures["ratio"] = least / min(samples[OURS])
        rows.append(row(kernel, size, name, **figures))
    return rows + [row(kernel, size, name, problem=why) for name, why in problems.items()]


def child(options: argparse.Namespace) -> int:
    """Measures the cases that are not done, a line of JSON each; status 3 if the device is lost."""
    done = set(json.loads(options.child))
    for kernel, size in cases(options.topic):
        name = title(kernel, size)
        if name in done:
            continue
        print(json.dumps({"begin": name}), flush=True)
        try:
            rows = measure(kernel, size, options.peers, options.seconds, options.topic)
        except Exception as error:
            rows = [row(kernel, size, OURS, problem=problem_of(error))]
        print(json.dumps({"end": name, "rows": rows}), flush=True)
        try:
            tw.cuda.synchronize()
            tw.cuda.release_memory()
        except tw.DeviceError:
            return 3
    return 0


# ---- in the process that starts it ----


def measured(options: argparse.Namespace, begin: float) -> tuple[list[Row], list[str]]:
    """All rows, from as many children as it takes, and what was left out for lack of time."""
    import selectors

    rows: list[Row] = []
    by_name = {title(*case): case for case in cases(options.topic)}
    done = [name for name in by_name if options.only not in name]
    while len(done) < len(by_name):
        command = [sys.executable, str(FOLDER / "run.py"), "--child", json.dumps(done)]
        command += ["--topic", options.topic, "--seconds", str(options.seconds)]
        command += ["--peers", *options.peers]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        selector = selectors.DefaultSelector()
        selector.register(process.stdout, selectors.EVENT_READ)
        running, since, text, ended = "", time.monotonic(), b"", False
        before = len(done)
        while not ended:
            now = time.monotonic()
            out_of_time = now - begin > options.limit
            if out_of_time or now - since > CASE_SECONDS:
                process.kill()
                break
            if not selector.select(timeout=1):
                continue
            new = process.stdout.read()
            ended = new == b""
            text += new or b""
            *lines, text = text.split(b"\n")
            for line in lines:
                if not line.startswith(b"{"):
                    continue  # what a library prints
                report = json.loads(line)
                since = time.monotonic()
                running = report.get("begin", "")
                if "end" in report:
                    done.append(report["end"])
                    rows += report["rows"]
                    judge(rows, options.topic)
                    print(table([r for r in rows if r in report["rows"]], False), flush=True)
                    store(rows, options.output, {})
        process.wait()
        selector.close()
        process.stdout.close()
        if time.monotonic() - begin > options.limit:
            break
        if running or (len(done) == before and process.returncode != 0):
            # The case that was running ended the process, or did not end itself.
            name = running or next(name for name in by_name if name not in done)
            why = "did not end" if process.returncode == -9 else "ended the process"
            why += f" (status {process.returncode})"
            rows.append(row(*by_name[name], OURS, problem=why))
            print(f"{name}: {why}", flush=True)
            done.append(name)
        elif process.returncode not in (0, 3):
            print(f"the measuring process ended with status {process.returncode}", flush=True)
    judge(rows, options.topic)
    return rows, [name for name in by_name if name not in done]


def judge(rows: list[Row], topic: str) -> None:
    """Sets which goals are reached: ratios to peers, and shares of the copy's rate."""
    copied = [r["rate"] for r in rows if r["kernel"] == "copy" and "rate" in r]
    goals = {kernel.name: dict(kernel.goals) for kernel in kernels_of(topic)}
    for r in rows:
        goal = goals[r["kernel"]]
        if r["by"] in goal and "ratio" in r and r["size"].startswith("4096x"):
            r["goal"] = f"ratio >= {goal[r['by']]:g}"
            r["reached"] = r["ratio"] >= goal[r["by"]]
        if r["by"] == OURS and "copy" in goal and copied and "rate" in r:
            share = r["rate"] / max(copied)
            r["goal"] = f"of the copy's rate: {share:.2f}, >= {goal['copy']:g}"
            r["reached"] = share >= goal["copy"]


def table(rows: Sequence[Row], head: bool = True) -> str:
    """The rows as text."""
    lines = []
    if head:
        names = ["case", "by", "minimum", "median", "rate", "", "ratio", "goal"]
        lines = ["{:30} {:10} {:>10} {:>10} {:>9} {:8} {:>6}  {}".format(*names)]
    for r in rows:
        case = f"{r['kernel']} {r['size']}"
        if r.get("problem", "").startswith("missing"):
            continue
        if "problem" in r:
            lines.append(f"{case:30} {r['by']:10} {r['problem']}")
            continue
        ratio = f"{r['ratio']:.2f}" if "ratio" in r else ""
        goal = f"{r['goal']}: {'reached' if r['reached'] else 'MISSED'}" if "goal" in r else ""
        if "minimum_ms" not in r:
            lines.append(f"{case:30} {r['by']:10} {r.get('note', '')}")
            continue
        lines.append(
            f"{case:30} {r['by']:10} {r['minimum_ms']:7.3f} ms {r['median_ms']:7.3f} ms "
            f"{r['rate']:9.1f} {r['unit']:8} {ratio:>6}  {goal}".rstrip()
        )
    return "\n".join(lines)


def store(rows: Sequence[Row], folder: pathlib.Path, about: dict[str, Any]) -> None:
    """gpu.csv and gpu.json, anew."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "gpu.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    text = json.dumps({**about, "rows": list(rows)}, indent=1)
    (folder / "gpu.json").write_text(text + "\n", encoding="utf-8")


def plot(rows: Sequence[Row], path: pathlib.Path, name: str) -> str:
    """Bars of the rates, a group for each case; what was done, or why nothing."""
    shown = [r for r in rows if "rate" in r]
    if not shown:
        return "no plot: nothing was timed"
    try:
        import matplotlib
    except ImportError:
        return "no plot: matplotlib is not installed"
    matplotlib.use("Agg")
    from matplotlib import pyplot

    units = list(dict.fromkeys(r["unit"] for r in shown))
    height = 1.5 + 0.24 * len(shown)
    figure, parts = pyplot.subplots(
        len(units), figsize=(9, height), layout="constrained", squeeze=False
    )
    for axes, unit in zip(parts[:, 0], units, strict=True):
        those = [r for r in shown if r["unit"] == unit]
        labels = [f"{r['kernel']} {r['size']}, {r['by']}" for r in those]
        colours = ["#2a7f62" if r["by"] == OURS else "#8a8f98" for r in those]
        bars = axes.barh(range(len(those)), [r["rate"] for r in those], color=colours)
        axes.bar_label(bars, fmt="%.0f", fontsize=7, padding=2)
        axes.set_yticks(range(len(those)), labels, fontsize=7)
        axes.set_ylim(len(those) - 0.4, -0.6)
        axes.set_xlabel(unit)
        axes.margins(x=0.1)
    figure.suptitle(name, fontsize=9)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return f"stored: {path}"


def smi() -> dict[str, str]:
    """The driver's version and the clocks, as nvidia-smi has them; nothing without it."""
    program = shutil.which("nvidia-smi")
    names = "driver_version,clocks.sm,clocks.max.sm,clocks.mem,temperature.gpu,power.limit"
    if program is None:
        return {}
    done = subprocess.run(
        [program, "--id=0", f"--query-gpu={names}", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        return {}
    return dict(zip(names.split(","), done.stdout.strip().split(", "), strict=False))


def launches() -> list[dict[str, Any]]:
    """What a launch costs the host: benchmarks/gpu/launch.py's rows, from a process of its own."""
    code = "[(*row, launch.judged(*row[:2])) for row in launch.rows(10)]"
    command = [sys.executable, "-c", f"import json, launch; print(json.dumps({code}))"]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=LAUNCH_SECONDS,
            check=False,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(FOLDER), *sys.path])},
        )
    except subprocess.TimeoutExpired:
        print("launch cost: left out, it did not end")
        return []
    if done.returncode != 0:
        print(f"launch cost: left out, {' '.join(done.stderr.split())[-250:]}")
        return []
    return [
        {"call": call, "minimum_us": least, "median_us": median, "goal": goal}
        for call, least, median, goal in json.loads(done.stdout.strip().splitlines()[-1])
    ]


def on_the_device(options: argparse.Namespace) -> int:
    """All of it on device 0."""
    begin = time.monotonic()
    try:
        device = tw.cuda.devices()[0]
    except tw.DeviceError as error:
        print(f"nothing was measured: {error.message}", file=sys.stderr)
        print("--emulator checks the values of all kernels without a GPU", file=sys.stderr)
        return 1
    import contenders

    capability = f"sm_{device.compute_capability[0]}{device.compute_capability[1]}"
    driver = ".".join(map(str, device.driver_version))
    name = f"{device.name} ({capability}), driver of CUDA {driver}"
    about: dict[str, Any] = {
        "device": device.name,
        "capability": capability,
        "cuda": driver,
        "before": smi(),
        "versions": contenders.versions(),
        "date": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
    }
    print(f"{name}; {about['before'] or 'clocks unknown: no nvidia-smi'}")
    print(table([]))
    rows, left_out = measured(options, begin)
    about |= {"after": smi(), "left_out": left_out, "launches": []}
    print(f"\n{name}\n{table(rows)}\n")
    missing = {r["by"]: r["problem"] for r in rows if r.get("problem", "").startswith("missing")}
    for by, why in missing.items():
        print(f"{by}: {why}")
    for case in left_out:
        print(f"{case}: left out, the limit of {options.limit:g} s was reached")
    if time.monotonic() - begin + 20 > options.limit:
        print("launch cost: left out, the limit was reached")
    elif not options.only and options.topic == "kernels":
        about["launches"] = launches()
        for launch in about["launches"]:
            figures = f"minimum {launch['minimum_us']:.2f} us, median {launch['median_us']:.2f} us"
            print(f"launch, {launch['call']}: {figures} of the host{launch['goal']}")
    about["seconds"] = time.monotonic() - begin
    store(rows, options.output, about)
    print(f"stored: {options.output / 'gpu.csv'}, {options.output / 'gpu.json'}")
    print(plot(rows, options.output / "gpu.png", name))
    return int(any(r["by"] == OURS and "problem" in r for r in rows))


def on_the_emulator(options: argparse.Namespace) -> int:
    """The values of all kernels at small sizes."""
    rows = []
    for kernel in kernels_of(options.topic):
        for size in kernel.small:
            if options.only not in title(kernel, size):
                continue
            arrays = kernel.inputs(size, np.random.default_rng(0))
            values = Values(kernel, size, [array.copy() for array in arrays])
            try:
                f = kernel.make("gpu-emulator")
                if kernel.steps == 1:
                    result = f(*arrays)
                else:
                    other = arrays[0].copy()
                    f(arrays[0], out=other)
                    result = f(other, out=arrays[0])
                values.check(result)
                rows.append(row(kernel, size, OURS, note="values are right"))
            except (AssertionError, tw.TilewrightError) as error:
                rows.append(row(kernel, size, OURS, problem=problem_of(error)))
            print(table(rows[-1:], False), flush=True)
    about = {"device": "gpu-emulator"}
    store(rows, options.output, about)
    print(f"stored: {options.output / 'gpu.csv'}, {options.output / 'gpu.json'}")
    print(plot(rows, options.output / "gpu.png", "emulator"))
    return int(any("problem" in r for r in rows))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", type=pathlib.Path, help="for what is stored")
    parser.add_argument("--topic", choices=TOPICS, default="kernels", help="what is measured")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--peers", nargs="*", default=[], help="these only, e.g. cuBLAS")
    parser.add_argument("--seconds", type=float, default=3, help="of repeats for each case")
    parser.add_argument("--limit", type=float, default=420, help="seconds for all of it")
    parser.add_argument("--emulator", action="store_true", help="values only, without a GPU")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.output = options.output or RESULTS[options.topic]
    if options.child:
        return child(options)
    return on_the_emulator(options) if options.emulator else on_the_device(options)


if __name__ == "__main__":
    sys.exit(main())
