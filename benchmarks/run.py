"""Runs benchmark topics: tables on screen, JSON and a plot of the ratios in build/benchmarks/.

    scripts/bench                    all topics
    scripts/bench blas images        these
    scripts/bench --list             which there are
    scripts/bench polybench --folder PolyBenchC-4.2.1 --check MINI    values alone, bit for bit
    scripts/bench polybench --folder PolyBenchC-4.2.1 --check MINI --target gpu-emulator    as kernels
    scripts/bench npbench --folder npbench    NPBench's NumPy functions, beside Numba, Pythran and DaCe
    scripts/bench tsvc --folder TSVC_2    TSVC's loops in C without a command, beside gcc and clang
    scripts/bench --install-peers    first makes a virtual environment with the peers from PyPI

Each topic runs in a process of its own for each number of threads, which its affinity mask and the
variables of all peers' libraries set before anything is loaded.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import os
import pathlib
import pkgutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import peers
import topics
from harness import OURS, Context, Row, geometric_means, measure, table

RESULTS = peers.ROOT / "build" / "benchmarks"


def all_topics() -> list[str]:
    """The modules in topics/."""
    return sorted(entry.name for entry in pkgutil.iter_modules(topics.__path__))


# ---- in the process that measures ----


def measure_topic(
    name: str, threads: int, quick: bool, seconds: float, only: str, clock: str
) -> dict[str, Any]:
    """Runs all cases of a topic in this process, printing each table as it is there."""
    import tilewright as tw

    tw.set_num_threads(threads)
    topic = importlib.import_module(f"topics.{name}")
    rows: list[Row] = []
    load = os.getloadavg()[0]
    for case in topic.cases(Context(threads, quick, only)):
        if only not in case.name:
            continue
        new = measure(case, threads, seconds, clock)
        print(table(new), flush=True)
        rows += new
    return {
        "load": [load, os.getloadavg()[0]],
        "libraries": peers.blas_libraries(),
        "rows": [row.as_json() for row in rows],
    }


# ---- in the process that starts them ----


def run_topic(name: str, options: argparse.Namespace) -> bool:
    """Runs a topic for all numbers of threads, prints and stores; whether all values were right."""
    topic = importlib.import_module(f"topics.{name}")
    available = sorted(os.sched_getaffinity(0))
    print(f"\n== {name}: {topic.TITLE}")
    rows: list[Row] = []
    runs = []
    good = True
    for threads in options.threads or topic.THREADS:
        if threads > 1 and options.clock == "cpu":
            print(f"{threads} threads: left out, processor time is for one thread")
            continue
        if threads > len(available):
            print(f"{threads} threads: left out, this process may use {len(available)} processors")
            continue
        with tempfile.TemporaryDirectory() as folder:
            answer = pathlib.Path(folder) / "rows.json"
            command = [sys.executable, str(pathlib.Path(__file__).resolve()), name]
            command += ["--measure", str(threads), str(answer), "--seconds", str(options.seconds)]
            command += [
                "--clock",
                options.clock,
                "--only",
                options.only,
                *(["--quick"] if options.quick else []),
            ]
            cpus = available[:threads]
            done = subprocess.run(
                command,
                env=os.environ | peers.threads_environment(threads),
                preexec_fn=functools.partial(os.sched_setaffinity, 0, cpus),
                check=False,
            )
            if done.returncode != 0 or not answer.exists():
                print(f"{name} with {threads} thread(s) FAILED with status {done.returncode}")
                good = False
                continue
            run = json.loads(answer.read_text(encoding="utf-8"))
        new = [Row(**row) for row in run.pop("rows")]
        runs.append({"threads": threads, **run})
        rows += new
    means = geometric_means(rows)
    print(f"\n{name}: {topic.TITLE}\n{table(rows)}\n")
    for mean in means:
        group = f"{mean['group']}, " if mean["group"] else ""
        print(
            f"geometric mean of {mean['cases']} ratio(s), {group}{mean['threads']} thread(s), "
            f"to {mean['peer']}: {mean['ratio']:.2f}"
        )
    stored = {
        "topic": name,
        "title": topic.TITLE,
        "date": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
        "machine": peers.machine(),
        "clock": options.clock,
        "runs": runs,
        "means": means,
        "rows": [row.as_json() for row in rows],
    }
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / f"{name}.json"
    path.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    print(f"stored: {path}")
    picture = plot(name, topic.TITLE, rows, options.output / f"{name}.png")
    if picture is not None:
        own = getattr(topic, "pictures", None)
        for each in [picture, *(own(rows, options.output) if own else ())]:
            print(f"stored: {each}")
    wrong = [row for row in rows if row.problem and not row.problem.startswith("missing")]
    return good and not any(row.contender == OURS or "WRONG" in row.problem for row in wrong)


def plot(name: str, title: str, rows: Sequence[Row], path: pathlib.Path) -> pathlib.Path | None:
    """Bars of all ratios on a logarithmic axis; None without matplotlib or ratios."""
    shown = [row for row in rows if row.ratio == row.ratio]
    if not shown:
        return None
    try:
        import matplotlib
    except ImportError:
        print("no plot: matplotlib is not installed")
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    labels = [f"{row.case}, {row.threads} thr., {row.contender}" for row in shown]
    ratios = [row.ratio for row in shown]
    figure, axes = pyplot.subplots(figsize=(9, 1.2 + 0.22 * len(shown)), layout="constrained")
    colours = ["#2a7f62" if ratio >= 1 else "#b5483a" for ratio in ratios]
    axes.barh(range(len(shown)), [ratio - 1 for ratio in ratios], left=1, color=colours)
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(shown)), labels, fontsize=7)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    for place, ratio in enumerate(ratios):
        axes.annotate(
            f" {ratio:.2f} ",
            (ratio, place),
            va="center",
            ha="left" if ratio >= 1 else "right",
            fontsize=7,
        )
    axes.margins(x=0.15)
    axes.set_xlabel("time of the peer / time of tilewright (above 1: tilewright is faster)")
    axes.set_title(f"{name}: {title}", fontsize=9)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return path


def check_files(options: argparse.Namespace) -> int:
    """Compares PolyBench's files with gcc, and returns the exit status."""
    import polybench_files

    dtype = "float" if options.float else "double"
    good = polybench_files.check_all(
        options.folder.resolve(), options.check, dtype, options.only, target=options.target
    )
    return 0 if good else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    known = all_topics()
    parser.add_argument("topics", nargs="*", help=f"of {', '.join(known)}; none: all")
    parser.add_argument("--threads", type=int, nargs="*", help="numbers of threads")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--seconds", type=float, default=2.0, help="repeats of one case")
    parser.add_argument(
        "--clock",
        choices=["wall", "cpu"],
        default="wall",
        help="cpu: processor time, for a busy machine and one thread",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    parser.add_argument("--output", type=pathlib.Path, default=RESULTS, help="folder for results")
    parser.add_argument("--list", action="store_true", help="names the topics")
    parser.add_argument(
        "--install-peers", action="store_true", help=f"installs peers into {peers.VENV}"
    )
    parser.add_argument(
        "--folder",
        type=pathlib.Path,
        help="PolyBench/C 4.2.1, for the topics polybench and planning; NPBench, for npbench; TSVC_2, for tsvc",
    )
    parser.add_argument(
        "--check",
        metavar="SIZE",
        help="polybench: MINI to EXTRALARGE, compared with gcc bit for bit",
    )
    parser.add_argument(
        "--target",
        choices=("cpu", "gpu-emulator"),
        default="cpu",
        help="of --check: loops of the processor, or kernels of a GPU on the emulator",
    )
    parser.add_argument("--float", action="store_true", help="polybench: float in place of double")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.topics = [name.replace("-", "_") for name in options.topics]
    unknown = set(options.topics) - set(known)
    if unknown:
        parser.error(f"no topic {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if options.list:
        for name in known:
            print(f"{name:<12} {importlib.import_module(f'topics.{name}').TITLE}")
        return 0
    if options.install_peers:
        peers.install()
        if not options.topics:
            return 0
    if options.folder:
        names = {("npbench",): "NPBENCH", ("tsvc",): "TSVC"}
        topic_of_files = names.get(tuple(options.topics), "POLYBENCH")
        os.environ[f"{topic_of_files}_FOLDER"] = str(options.folder.resolve())
    if options.check:
        if options.topics != ["polybench"] or not options.folder:
            parser.error("--check is of the topic polybench, with --folder")
        return check_files(options)
    if options.quick:
        options.seconds = min(options.seconds, 0.2)
    if options.measure:
        threads, answer = options.measure
        found = measure_topic(
            options.topics[0],
            int(threads),
            options.quick,
            options.seconds,
            options.only,
            options.clock,
        )
        pathlib.Path(answer).write_text(json.dumps(found), encoding="utf-8")
        return 0
    print(f"machine: {json.dumps(peers.machine())}")
    results = [run_topic(name, options) for name in options.topics or known]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
