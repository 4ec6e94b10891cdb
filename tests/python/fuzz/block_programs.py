"""Random programs with a block, and a judge of their schedules that shares nothing with the library.

    A[i, j] = 2 x[i, j] + 1                              two rows more than there are calls
    S[i]: T[i, :] starts with A[i + keeps, :] or x, and the function reads a part of A
    C[i, j] = T[at, j] + A[i + behind, j]

The judge writes out all instances at small sizes, with the time of each, what it reads and which cell it writes, and
asks of every read whether its value is there: written before, and not overwritten in between. A call reads and writes
at one time."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

import tilewright as tw
from fuzz.statements import Time, happens_before

__all__ = [
    "SIZES",
    "BlockCase",
    "declared",
    "draw_block_case",
    "expected",
    "problem_of",
    "schedule",
]

SIZES = tuple(itertools.product((0, 1, 2, 3, 5), (0, 1, 3)))

i, j = tw.iters("i j")
N, M = tw.params("N M")


@dataclass
class BlockCase:
    """What was drawn."""

    rows: tuple[int, int]  # of A that a call reads: first and number, from its own row
    keeps: int | None  # the row of A that T starts with, from its own; None: x
    reader: int  # C[i] reads T[i + reader], in its domain
    behind: int  # and A[i + behind]
    stored: int | None = None  # T[i] lies in row i + stored of A
    folded: bool = False  # T has two rows, taken in turn
    private: bool = False  # each iteration of the loop of S has a T of its own
    backwards: frozenset[str] = frozenset()
    parallel: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()  # those that run in the loop over i of the one before


def draw_block_case(rng: random.Random) -> BlockCase:
    first = rng.choice((0, 0, 1, 2))
    case = BlockCase(
        rows=(first, rng.randint(0, 3 - first)),
        keeps=rng.choice((None, 0, 0, 1, 2)),
        reader=rng.choice((0, 0, -1)),
        behind=rng.choice((0, 1, 2)),
    )
    where = rng.random()
    if where < 0.5:
        case.stored = rng.choice((0, 0, 1, 2))
    elif where < 0.65:
        case.folded = True
    names = ("A", "S", "C")
    case.backwards = frozenset(name for name in names if rng.random() < 0.25)
    case.parallel = frozenset(name for name in names if rng.random() < 0.25)
    case.shared = frozenset(name for name in names[1:] if rng.random() < 0.4)
    if case.stored is None and not case.folded and rng.random() < 0.35:
        case.private = True
        if rng.random() < 0.8:
            case.shared |= {"C"}
    return case


def scaled(part: np.ndarray, row: np.ndarray) -> None:
    """The function of the block: an update, of which it leaves the first element alone."""
    row[1:] = 3 * row[1:] + part.sum()


def declared(case: BlockCase) -> Any:
    x = tw.input("x", [N + 2, M], tw.int64)
    A = tw.computation("A", {i: N + 2, j: M}, 2 * x[i, j] + 1)
    first, number = case.rows
    start = x.part[i, :] if case.keeps is None else A.part[i + case.keeps, :]
    (T,) = tw.block(
        "S",
        scaled,
        {i: N},
        reads={"part": A.part[i + first : i + first + number, :]},
        updates={"T": start},
    )
    taken = tw.select(i >= 1, T[i - 1, j], T[i, j]) if case.reader else T[i, j]
    C = tw.computation("C", {i: N, j: M}, taken + 10 * A[i + case.behind, j])
    return tw.function("blocked", outputs=[C])


def expected(case: BlockCase, x: np.ndarray) -> np.ndarray:
    a = 2 * x + 1
    n = len(x) - 2
    t = (x if case.keeps is None else a[case.keeps :])[:n].copy()
    first, number = case.rows
    for row in range(n):
        scaled(a[row + first : row + first + number], t[row])
    taken = t[[max(row + case.reader, 0) for row in range(n)]] if n else t
    return taken + 10 * a[case.behind : case.behind + n]


def schedule(f: Any, case: BlockCase) -> None:
    """The commands, checked once at their end."""
    with f.transaction():
        for name in ("A", "S", "C"):
            if name in case.backwards:
                f[name].reverse(i)
        for before, name in (("A", "S"), ("S", "C")):
            if name in case.shared:
                f[name].after(before, i)
            else:
                f[name].after(before)
        for name in ("A", "S", "C"):
            if name in case.parallel:
                f[name].parallelize(i)
        if case.stored is not None:
            f["T"].store_in(f"A[i + {case.stored}, T_0]")
        if case.folded:
            f["T"].set_access("{ T[i, j] -> T_rows[i mod 2, j] }")
        if case.private:
            f["T"].private(i)


# ---- the judge ----


@dataclass
class Instance:
    name: str
    time: Time
    parallel: bool
    reads: list[tuple[str, int, int]]  # elements: computation, row, column
    writes: list[tuple[str, int, int]]
    passed: int = 0  # so many reads, the first ones, last as long as the call


def instances_of(case: BlockCase, n: int, m: int) -> list[Instance]:
    statics: dict[str, tuple[int, int]] = {"A": (0, 0)}
    for before, name in (("A", "S"), ("S", "C")):
        outer, inner = statics[before]
        statics[name] = (outer, inner + 1) if name in case.shared else (outer + 1, 0)
    columns = range(m)
    first, number = case.rows

    def at(name: str, row: int, column: int = 0) -> Time:
        outer, inner = statics[name]
        return (outer, -row if name in case.backwards else row, inner, column)

    made = [
        Instance("A", at("A", r, c), "A" in case.parallel, [], [("A", r, c)])
        for r in range(n + 2)
        for c in columns
    ]
    for r in range(n):
        read = [("A", row, c) for row in range(r + first, r + first + number) for c in columns]
        if case.keeps is not None:
            read += [("A", r + case.keeps, c) for c in columns]
        written = [("T", r, c) for c in columns]
        passed = number * m
        made.append(Instance("S", at("S", r), "S" in case.parallel, read, written, passed))
    for r in range(n):
        for c in columns:
            read = [("T", max(r + case.reader, 0), c), ("A", r + case.behind, c)]
            made.append(Instance("C", at("C", r, c), "C" in case.parallel, read, [("C", r, c)]))
    return made


def cell_of(case: BlockCase, element: tuple[str, int, int]) -> tuple[str, int, int]:
    name, row, column = element
    if name == "T" and case.stored is not None:
        return "A", row + case.stored, column
    if name == "T" and case.folded:
        return "T", row % 2, column
    return element


def before(a: Instance, b: Instance) -> bool:
    return happens_before(a.time, b.time, {1} if a.parallel or b.parallel else frozenset())


def problem_of(case: BlockCase, n: int, m: int) -> str | None:
    """Why the schedule is illegal at these sizes; None where it is not."""
    made = instances_of(case, n, m)
    producer = {element: one for one in made for element in one.writes}
    writers: dict[tuple[str, int, int], list[tuple[Instance, tuple[str, int, int]]]] = {}
    for element, one in producer.items():
        writers.setdefault(cell_of(case, element), []).append((one, element))
    for reader in made:
        for position, element in enumerate(reader.reads):
            source = producer[element]
            if not before(source, reader):
                return f"{reader.name}{reader.time} reads {element} before it is written"
            if case.private and element[0] == "T" and source.time[:2] != reader.time[:2]:
                return f"{reader.name}{reader.time} reads {element} of another iteration"
            for other, written in writers[cell_of(case, element)]:
                if other is reader and position < reader.passed:
                    return f"{reader.name}{reader.time} writes {written} where it reads {element}"
                if written == element or other is reader:  # what it starts with is read first
                    continue
                if not (before(other, source) or before(reader, other)):
                    return f"{reader.name}{reader.time} reads {element}, which {written} overwrites"
    return None
