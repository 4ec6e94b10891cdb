"""Measuring beside peers: what a topic declares, how it is timed, and what is made of the figures.

A topic is a module in `topics/` with

    TITLE = "Matrix products"                    # one line
    THREADS = (1, 2)                             # it runs once for each; (1,) where threads mean nothing

    def cases(context: Context) -> Iterator[Case]:
        ...
        yield Case("sgemm 1024", ours=lambda: f(a, b, out=c),
                   peers={"NumPy": lambda: np.matmul(a, b, out=d), "JAX": Missing("not installed")},
                   work=2 * 1024**3, unit="GFLOP/s", rtol=1e-4, goals={"NumPy": 1.0})

`cases` is a generator, so what a case needs may be made just before it and dropped after it. Each
callable does one unit of work and returns its result (an array, or several in a tuple), which is
compared with the peers' before anything is timed; peers that answer later must be waited for in it.
With ``sampled=True`` the callables are not timed: they return seconds themselves, by part of the
work, which is how phases and other processes are measured.

Repeats are interleaved (ours, each peer, ours, ...), so that a disturbance hits all alike, in an
order that changes: threads of one library still look for work while the next one runs. The minimum
and the median of the repeats are kept. A ratio is peer / ours: above 1 we are faster.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

__all__ = [
    "Case",
    "Context",
    "Missing",
    "Row",
    "WrongValuesError",
    "geometric_means",
    "measure",
    "table",
]

OURS = "tilewright"


@dataclass(frozen=True)
class Missing:
    """In the place of a peer that cannot be had, or cannot do this.

    Attributes:
        reason: why, e.g. ``"halide is not installed"``; it is printed.
    """

    reason: str


@dataclass(frozen=True)
class Context:
    """How the runner calls a topic.

    Attributes:
        threads: the number of threads that everybody uses; it is set already, for us and for peers.
        quick: small sizes and few repeats will do (the tests' smoke run).
        only: what the names of cases have to contain; the runner leaves the others out in any case, a topic asks if
            its cases take long to make.
    """

    threads: int
    quick: bool = False
    only: str = ""


@dataclass(frozen=True)
class Case:
    """One line of comparison.

    Attributes:
        name: what is done, e.g. ``"sgemm 1024"``.
        ours: does it with tilewright.
        peers: the same by name of the peer.
        group: cases of one group get a geometric mean of their own.
        work: how much of `unit` x 10^9 x seconds one call does; 0 prints no rate.
        unit: ``"GFLOP/s"``, ``"GB/s"``, ``"Gpixel/s"``, ...
        rtol, atol: the tolerances of the comparison of values.
        expected: the right result; without it, peers are compared with ours.
        compare: compares a result with the right one instead, and raises AssertionError.
        goals: the ratio that is to be reached, by peer (``"best"``: of the fastest one), or under
            ``"ms"`` the milliseconds that ours may take at most, under ``"times: part / other"`` how many times as
            long as another part of the work a part of ours may take.
        sampled: the callables return their own ``{part: seconds}``; ``compare`` is not used then.
        note: what else a reader should know (precision, fast-math, the peer's schedule).
        seconds: how long the case may be repeated; None leaves it to the runner.
    """

    name: str
    ours: Callable[[], Any]
    peers: Mapping[str, Callable[[], Any] | Missing] = field(default_factory=dict)
    group: str = ""
    work: float = 0.0
    unit: str = "GFLOP/s"
    rtol: float = 1e-5
    atol: float = 0.0
    expected: Callable[[], Any] | None = None
    compare: Callable[[Any, Any], None] | None = None
    goals: Mapping[str, float] = field(default_factory=dict)
    sampled: bool = False
    note: str = ""
    seconds: float | None = None


@dataclass
class Row:
    """The figures of one contender at one case; times in seconds."""

    case: str
    group: str
    threads: int
    contender: str
    minimum: float = math.nan
    median: float = math.nan
    repeats: int = 0
    rate: float = 0.0
    unit: str = ""
    ratio: float = math.nan  # contender's minimum / ours
    median_ratio: float = math.nan
    goal: float | None = None
    reached: bool | None = None
    problem: str = ""  # why there are no figures
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """The row as JSON has it: figures that are not there are left out."""
        return {
            key: value
            for key, value in asdict(self).items()
            if key == "group"
            or not (value in (None, "") or (isinstance(value, float) and math.isnan(value)))
        }


class WrongValuesError(AssertionError):
    """A contender's result differs from the right one."""


# ---- values ----


def _parts(result: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(part) for part in (result if isinstance(result, tuple) else (result,))]


def _compared(case: Case, name: str, result: Any, expected: Any) -> None:
    try:
        if case.compare is not None:
            case.compare(result, expected)
            return
        got, right = _parts(result), _parts(expected)
        assert len(got) == len(right), f"{len(got)} results in place of {len(right)}"
        for one, other in zip(got, right, strict=True):
            np.testing.assert_allclose(one, other, rtol=case.rtol, atol=case.atol)
    except AssertionError as error:
        raise WrongValuesError(f"{name} at {case.name}: {error}") from None


def _check_values(case: Case, run: Mapping[str, Callable[[], Any]]) -> dict[str, str]:
    """Runs all once; what is wrong, by contender: a peer that fails takes only its own row. Ours must be right."""
    ours = run[OURS]()
    # Results may lie in memory that the next call overwrites.
    right = ours if case.expected is None else case.expected()
    right = tuple(part.copy() for part in _parts(right))
    if case.expected is not None:
        _compared(case, OURS, tuple(_parts(ours)), right)
    wrong = {}
    for name, call in run.items():
        if name == OURS:
            continue
        try:
            _compared(case, name, tuple(_parts(call())), right)
        except WrongValuesError as error:
            wrong[name] = f"WRONG VALUES: {' '.join(str(error).split())[:200]}"
        except Exception as error:
            wrong[name] = f"failed: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return wrong


# ---- time ----


def _calls_in(call: Callable[[], Any], seconds: float) -> int:
    """How many calls fill the time of one repeat."""
    number = 1
    while True:
        start = time.perf_counter()
        for _ in range(number):
            call()
        taken = time.perf_counter() - start
        if taken >= seconds / 2 or number >= 1_000_000:
            return max(1, round(number * seconds / max(taken, 1e-9)))
        number *= 4


def _timed(call: Callable[[], Any], number: int, clock: Callable[[], float]) -> float:
    repeat = range(number)
    start = clock()
    for _ in repeat:
        call()
    return (clock() - start) / number


def _repeated(
    run: Mapping[str, Callable[[], Any]], case: Case, seconds: float, clock: Callable[[], float]
) -> dict[str, dict[str, list[float]]]:
    """The samples of each contender by part of the work ("" where it has one)."""
    samples: dict[str, dict[str, list[float]]] = {name: {} for name in run}
    counts = {}
    if not case.sampled:
        per_repeat = min(0.01, seconds / 10)
        counts = {name: _calls_in(call, per_repeat) for name, call in run.items()}
    names = list(run)
    order = random.Random(0)
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < 3 or (time.perf_counter() < end and rounds < 1000):
        for name in order.sample(names, len(names)):
            if case.sampled:
                for part, value in run[name]().items():
                    samples[name].setdefault(part, []).append(value)
            else:
                samples[name].setdefault("", []).append(_timed(run[name], counts[name], clock))
        rounds += 1
    return samples


def measure(case: Case, threads: int, seconds: float = 2.0, clock: str = "wall") -> list[Row]:
    """Checks values, times all contenders, and returns a row for each (ours first) and part.

    A peer that is missing, fails or is wrong gets a row with the reason. If ours fails or is wrong,
    nothing is timed and our row says so.

    Args:
        case: what is measured.
        threads: how many threads everybody uses, for the rows.
        seconds: how long it is repeated.
        clock: "wall", or "cpu": the processor time of this process, which says more where others
            use the machine at the same time. Threads that wait by spinning would count as work, so
            that is for one thread.
    """
    if clock == "cpu" and threads != 1:
        raise ValueError("processor time is measured with one thread only")
    timer = time.process_time if clock == "cpu" else time.perf_counter
    run: dict[str, Callable[[], Any]] = {OURS: case.ours}
    problems: dict[str, str] = {}
    for name, peer in case.peers.items():
        if isinstance(peer, Missing):
            problems[name] = f"missing: {peer.reason}"
        else:
            run[name] = peer
    if not case.sampled:
        try:
            wrong = _check_values(case, run)
        except Exception as error:
            text = " ".join(str(error).split())[:300]
            return [
                Row(case.name, case.group, threads, OURS, problem=f"{type(error).__name__}: {text}")
            ]
        problems |= wrong
        for name in wrong:
            del run[name]
    samples = _repeated(run, case, case.seconds or seconds, timer)
    rows = []
    for part in dict.fromkeys(part for by_part in samples.values() for part in by_part):
        ours = samples[OURS].get(part)
        title = f"{case.name}: {part}" if part else case.name
        for name, by_part in samples.items():
            if part not in by_part:
                continue
            row = Row(title, case.group, threads, name, note=case.note if name == OURS else "")
            row.minimum = min(by_part[part])
            row.median = statistics.median(by_part[part])
            row.repeats = len(by_part[part])
            if case.work and row.minimum > 0:
                row.rate, row.unit = case.work / row.minimum / 1e9, case.unit
            if name != OURS and ours:
                row.ratio = row.minimum / min(ours)
                row.median_ratio = row.median / statistics.median(ours)
            rows.append(row)
        _judge(case, part, [row for row in rows if row.case == title], samples)
    rows += [
        Row(case.name, case.group, threads, name, problem=why) for name, why in problems.items()
    ]
    return rows


def _judge(
    case: Case, part: str, rows: Sequence[Row], samples: Mapping[str, Mapping[str, list[float]]]
) -> None:
    """Sets which goals are reached. A goal "ms" may name a part: "ms: import"."""
    peers = [row for row in rows if row.contender != OURS]
    for name, goal in case.goals.items():
        if name == "ms" or name == f"ms: {part}":
            ours = next(row for row in rows if row.contender == OURS)
            ours.goal, ours.reached = goal, ours.minimum * 1e3 <= goal
            continue
        if name.startswith("times: "):
            one, other = name.removeprefix("times: ").split(" / ")
            if part == one:
                ours = next(row for row in rows if row.contender == OURS)
                limit = goal * min(samples[OURS][other])
                ours.goal, ours.reached = 1e3 * limit, ours.minimum <= limit
            continue
        judged = [row for row in peers if row.contender == name]
        if name == "best" and peers:
            judged = [min(peers, key=lambda row: row.ratio)]
        for row in judged:
            row.goal, row.reached = goal, row.ratio >= goal


# ---- what is made of them ----


def geometric_means(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """The geometric mean of the ratios, by group, threads and peer; "best peer": of the fastest."""
    ratios: dict[tuple[str, int, str], list[float]] = {}
    best: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        if math.isnan(row.ratio):
            continue
        ratios.setdefault((row.group, row.threads, row.contender), []).append(row.ratio)
        cases = best.setdefault((row.group, row.threads), {})
        cases[row.case] = min(cases.get(row.case, math.inf), row.ratio)
    for (group, threads), by_case in best.items():
        if len([key for key in ratios if key[:2] == (group, threads)]) > 1:
            ratios[group, threads, "best peer"] = list(by_case.values())
    return [
        {
            "group": group,
            "threads": threads,
            "peer": peer,
            "cases": len(values),
            "ratio": math.exp(sum(map(math.log, values)) / len(values)),
        }
        for (group, threads, peer), values in ratios.items()
    ]


def duration(seconds: float) -> str:
    """A time with its unit."""
    for unit, scale in (("s ", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def table(rows: Sequence[Row]) -> str:
    """The rows as text."""
    lines = [["case", "threads", "by", "minimum", "median", "rate", "ratio", "by median", "goal"]]
    problems = []
    for row in rows:
        if row.problem:
            problems.append(f"{row.case}, {row.threads} thread(s), {row.contender}: {row.problem}")
            continue
        ratio = "" if math.isnan(row.ratio) else f"{row.ratio:.2f}"
        by_median = "" if math.isnan(row.median_ratio) else f"{row.median_ratio:.2f}"
        rate = f"{row.rate:.3g} {row.unit}" if row.rate else ""
        goal = ""
        if row.goal is not None:
            limit = f"<= {row.goal:.4g} ms" if row.contender == OURS else f">= {row.goal:g}"
            goal = f"{limit} {'reached' if row.reached else 'MISSED'}"
        lines.append(
            [
                row.case if row.contender == OURS else "",
                str(row.threads) if row.contender == OURS else "",
                row.contender,
                duration(row.minimum),
                duration(row.median),
                rate,
                ratio,
                by_median,
                goal,
            ]
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    left = {0, 2, 8}
    text = [
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join(text + list(dict.fromkeys(problems)))
