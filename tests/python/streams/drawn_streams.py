"""Random programs over unbounded time, run in random chunks and periods, beside their definition.

    PYTHONPATH=python python tests/python/streams/drawn_streams.py --cases 500 --seed 1

A case is a program of several arrays of int64 (so that every order of additions gives the same bits): one
after the other reads earlier ones at other rates, with delays, ahead of time, at neighbours in a grid, and
itself; some say how their values depend on the time. It runs with random cuts, clones and pickles, with rows
in place, in small tiles of time if there are any, or sliding, in random periods.
Inadmissible programs are admissible ones with one defect, whose refusal has to be for that defect.
"""

from __future__ import annotations

import argparse
import math
import pickle
import random
import re
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.streams import folding, making, time_tiles

n, i, s = tw.iters("n i s")
LONGEST = 60


@dataclass(frozen=True)
class Read:
    """weight * array[(gain * n + shift) // step, i + over], 0 outside.

    Attributes:
        block: n is counted backwards within blocks of so many elements; 0 for none.
        begin: nothing is read before this time.
        mirrored: what is before the first element is what is as far behind it.
    """

    array: int
    gain: int
    step: int
    shift: int
    over: int
    weight: int
    block: int = 0
    begin: int = 0
    mirrored: bool = False

    def place(self, n: Any) -> Any:
        """The time that is read at a time, which may be none."""
        if self.block:
            n = self.block * (n // self.block) + self.block - 1 - n % self.block
        return (self.gain * n + self.shift) // self.step

    def at(self, time: int) -> int:
        """`place`; negative if nothing is read."""
        if time < self.begin:
            return -1
        found = int(self.place(time))
        return abs(found) if self.mirrored else found


@dataclass(frozen=True)
class Array:
    """Its elements are a sum of reads, and of what depends on the time.

    Attributes:
        points: of its grid; 0 for none.
        total: whether it adds up all points of the (one) array that it reads.
        clock: every so many elements one more, 0 for never; negative: the time itself.
        table: adds ``table[n % table - 1]``, of so many elements that are computed from another
            finite array, 0 for none.
    """

    points: int
    reads: tuple[Read, ...]
    total: bool = False
    clock: int = 0
    table: int = 0


@dataclass(frozen=True)
class Case:
    arrays: tuple[Array, ...]  # the first one is the input
    outputs: tuple[int, ...]
    in_place: bool
    command: tuple[tuple[str, Any], ...]


def drawn_in_place(rng: random.Random) -> Case:
    """A grid that needs itself, and is heard at some places."""
    points = rng.randint(3, 9)
    arrays = [Array(0, ())]
    for own in range(1, rng.randint(2, 3)):
        reads = [Read(0, 1, 1, rng.randint(-2, 1), 0, rng.choice([-1, 2]))]
        reads += [_read(rng, own, -rng.randint(1, 3)) for _ in range(rng.randint(1, 4))]
        reads += [_read(rng, other, rng.randint(-2, 2)) for other in range(1, own)]
        table = rng.choice([0, 0, 3])
        arrays.append(Array(points, tuple(reads), clock=rng.choice([0, 0, 2, -1]), table=table))
    grids = range(1, len(arrays))
    for _ in range(rng.randint(1, 2)):
        reads = [
            _read(rng, rng.choice(grids), rng.randint(-3, 2)) for _ in range(rng.randint(1, 2))
        ]
        total = len(reads) == 1 and rng.random() < 0.4
        arrays.append(Array(0, tuple(reads), total))
    command = (("latency", rng.randint(0, 12)),) if rng.random() < 0.4 else ()
    outputs = tuple(range(len(grids) + 1, len(arrays)))
    return Case(tuple(arrays), outputs, True, command)


def drawn(rng: random.Random) -> Case:
    points = rng.choice([0, 0, 3, 5, 8])
    arrays = [Array(points if rng.random() < 0.3 else 0, ())]
    rates = [1.0]
    for own in range(1, rng.randint(2, 5)):
        source = rng.randrange(own)
        gain, step = rng.choice([(1, 1)] * 6 + [(2, 1), (3, 1), (1, 2), (3, 2), (2, 3)])
        rate = rates[source] * step / gain
        rates.append(rate)
        grid = points if rng.random() < 0.7 else 0
        total = bool(arrays[source].points) and not grid and rng.random() < 0.5
        weight = rng.choice([-3, -2, 1, 2, 5])
        block = rng.choice([0, 0, 0, 2, 3, 4, 6])
        begin = rng.choice([0, 0, 0, 1, 3])
        mirrored = rng.random() < 0.2
        shift = rng.randint(-4, 3)
        over = rng.randint(-1, 1)
        reads = [Read(source, gain, step, shift, over, weight, block, begin, mirrored)]
        if not total:
            for other in range(own):
                if rates[other] == rate and rng.random() < 0.5:
                    reads.append(_read(rng, other, rng.randint(-5, 2)))
            for _ in range(rng.choice([0, 1, 1, 2, 3])):
                reads.append(_read(rng, own, -rng.randint(1, 3)))
        clock = rng.choice([0, 0, 0, 0, 2, 3, -1])
        arrays.append(Array(grid, tuple(reads), total, clock, rng.choice([0, 0, 0, 1, 2, 4])))
    outputs = sorted({len(arrays) - 1, rng.randint(1, len(arrays) - 1)})
    command: dict[str, Any] = {}
    kind = rng.random()
    if kind < 0.3:
        command["latency"] = rng.randint(0, 12)
    elif kind < 0.5:
        command["factor"] = rng.randint(1, 6)
    return Case(tuple(arrays), tuple(outputs), rng.random() < 0.7, tuple(command.items()))


def _read(rng: random.Random, array: int, shift: int) -> Read:
    return Read(array, 1, 1, shift, rng.randint(-1, 1), rng.choice([-2, -1, 1, 3]))


# ---- as a program ----


def _value(case: Case, own: Array, read: Read, arrays: list[Any]) -> Any:
    at = read.place(n)
    if read.mirrored:
        plain = replace(read, mirrored=False)
        before = _part(case, own, plain, arrays, -at, at < 0)
        return _part(case, own, plain, arrays, at, at >= 0) + before
    return _part(case, own, read, arrays, at, at >= 0)


def _part(case: Case, own: Array, read: Read, arrays: list[Any], at: Any, inside: Any) -> Any:
    source = case.arrays[read.array]
    inside = inside & (n >= read.begin)
    subscripts: list[Any] = [at]
    if own.total:
        subscripts.append(s)
        value = tw.sum(arrays[read.array][tuple(subscripts)], over={s: source.points}, where=inside)
        return read.weight * value
    if source.points:
        point = (i if own.points else source.points // 2) + read.over
        subscripts.append(point)
        if own.points:
            inside = inside & (point >= 0) & (point < source.points)
    return tw.select(inside, read.weight * arrays[read.array][tuple(subscripts)], 0)


def _table(number: int, length: int) -> Any:
    """``5 + 3 * s`` from -1 on."""
    given = tw.cast(3 * s, tw.int64)
    first = tw.computation(f"first{number}", {s: (-1, length)}, given)
    return tw.computation(f"table{number}", {s: (-1, length - 1)}, first[s + 1] + 2)


def declared(case: Case, defect: str = "") -> Any:
    first = case.arrays[0]
    x = tw.stream("x", tw.int64, shape=[first.points] if first.points else [])
    arrays: list[Any] = [x]
    for number, one in enumerate(case.arrays[1:], 1):
        ranges = {n: tw.forever, i: one.points} if one.points else {n: tw.forever}
        arrays.append(tw.computation(f"c{number}", ranges, None, dtype=tw.int64))
    for number, one in enumerate(case.arrays[1:], 1):
        value = None
        for read in one.reads:
            term = _value(case, one, read, arrays)
            value = term if value is None else value + term
        if one.clock > 0:
            value = value + tw.select(n % one.clock == 0, 1, 0)
        elif one.clock < 0:
            value = value + tw.cast(n, tw.int64)
        if one.table:
            value = value + _table(number, one.table)[n % one.table - 1]
        if defect and number == len(case.arrays) - 1:
            value = value + _defective(defect, x, arrays[number], first, one)
        arrays[number].define(None, value)
    outputs = [arrays[k] for k in case.outputs]
    if defect == "connected":
        outputs.append(tw.computation("alone", {n: tw.forever}, tw.stream("v", tw.int64)[n]))
    return tw.stream_function("drawn", outputs=outputs)


REASONS = {
    "rate": "at distances that grow without bound|rates of",
    "first": "needs the same elements for ever",
    "all": "needs the same elements for ever|rates of",
    "circle": "waits for elements that wait for it",
    "connected": "nothing connects",
}


def _defective(defect: str, x: Any, own: Any, first: Array, one: Array) -> Any:
    def of(array: Any, points: int, time: Any) -> Any:
        return array[time, 0] if points else array[time]

    if defect == "rate":
        return of(x, first.points, 5 * n) + of(x, first.points, 7 * n)
    if defect == "first":
        return of(x, first.points, 3 + 0 * n)
    if defect == "all":
        return tw.sum(of(x, first.points, s), over={s: n + 1})
    if defect == "circle":
        return of(own, one.points, n + 1)
    return tw.cast(0, tw.int64)


# ---- as it is defined ----


def definition(case: Case, x: np.ndarray, ends: list[int]) -> Callable[[int, int, int], int]:
    @lru_cache(None)
    def element(array: int, time: int, point: int) -> int:
        """Raises IndexError where it needs what has not been pushed, or whose time has not begun."""
        if time >= ends[array]:
            raise IndexError
        if array == 0:
            return int(x[time, point]) if x.ndim == 2 else int(x[time])
        own, value = case.arrays[array], 0
        for read in own.reads:
            source = case.arrays[read.array]
            at = read.at(time)
            if at < 0:
                continue
            if own.total:
                terms = (element(read.array, at, q) for q in range(source.points))
                value += read.weight * sum(terms)
                continue
            q = 0
            if source.points:
                q = (point if own.points else source.points // 2) + read.over
                if own.points and not 0 <= q < source.points:
                    continue
            value += read.weight * element(read.array, at, q)
        if own.clock > 0:
            value += time % own.clock == 0
        elif own.clock < 0:
            value += time
        if own.table:
            value += 5 + 3 * (time % own.table - 1)
        return (value + 2**63) % 2**64 - 2**63

    return element


# ---- running ----


def _chunks(rng: random.Random, x: np.ndarray) -> list[np.ndarray]:
    places = sorted(rng.randint(0, LONGEST) for _ in range(rng.randint(1, 9)))
    return np.split(x, places)


def check(seed: int, in_place: bool = False) -> str:
    """Runs a case; says which kind it was. Raises AssertionError where anything is wrong."""
    rng = random.Random(seed)
    case = drawn_in_place(rng) if in_place else drawn(rng)
    before = folding._LEAST, time_tiles._size, time_tiles._LOWEST
    names = ("_HEAVY", "_LONG", "_HEAVY_VECTORS", "_LONG_VECTORS")
    work, long = [getattr(making, name) for name in names], folding._LONG
    tile = rng.randint(1, 6), rng.randint(1, 5)
    folding._LEAST = 1 if case.in_place else 2**30
    time_tiles._size, time_tiles._LOWEST = lambda grid, skew=1: tile, 1
    making._HEAVY = making._HEAVY_VECTORS = 1
    making._LONG = making._LONG_VECTORS = 24
    folding._LONG = rng.choice([0, 8])
    try:
        return _checked(case, rng, seed, not in_place)
    finally:
        folding._LEAST, time_tiles._size, time_tiles._LOWEST = before
        folding._LONG = long
        for name, value in zip(names, work, strict=True):
            setattr(making, name, value)


def _checked(case: Case, rng: random.Random, seed: int, may_be_defective: bool) -> str:
    defect = rng.choice([*REASONS]) if may_be_defective and rng.random() < 0.2 else ""
    if defect:
        try:
            declared(case, defect)
        except tw.DeclarationError as error:
            assert re.search(REASONS[defect], str(error)), f"{defect}: {error}"
            return f"refused: {defect}"
        raise AssertionError(f"a program with the defect {defect!r} was accepted")
    k = declared(case)
    command = dict(case.command)
    if "factor" in command:
        command = {"size": command["factor"] * k.tiling().smallest_size}
    if command:
        k.periodic(**command)
    stream = k.stream()
    points = case.arrays[0].points
    shape = (LONGEST, points) if points else (LONGEST,)
    x = np.random.default_rng(seed).integers(-99, 99, shape)
    rates = stream._step.timing.rates
    names = ["x", *(f"c{k}" for k in range(1, len(case.arrays)))]
    ends = [math.ceil(rates.get(name, 0) * LONGEST) for name in names]
    element, is_there = definition(case, x, ends), _rows(case, ends)
    found: list[list[np.ndarray]] = [[] for _ in case.outputs]

    def keep(results: Any) -> None:
        for kept, result in zip(
            found, (results,) if len(case.outputs) == 1 else results, strict=True
        ):
            kept.append(np.array(result))

    _check_counts(case, stream._step.timing)
    folded = bool(stream._step.rings)
    for chunk in _chunks(rng, x):
        expected = stream.counts_after(len(chunk))
        if rng.random() < 0.5:
            outs = tuple(
                np.empty((expected[f"c{k}"], *(p for p in (case.arrays[k].points,) if p)), np.int64)
                for k in case.outputs
            )
            keep(stream.push(chunk, out=outs if len(outs) > 1 else outs[0]))
        else:
            keep(stream.push(chunk))
        choice = rng.random()
        stream = stream.clone() if choice < 0.1 else stream
        stream = pickle.loads(pickle.dumps(stream)) if choice > 0.95 else stream
    keep(stream.flush())
    for number, parts in zip(case.outputs, found, strict=True):
        own, values = case.arrays[number], np.concatenate(parts)
        exact = [
            [element(number, time, q) for q in range(own.points)]
            if own.points
            else element(number, time, 0)
            for time in range(len(values))
        ]
        np.testing.assert_array_equal(
            values, np.array(exact, np.int64).reshape(values.shape), err_msg=f"c{number}"
        )
        # After a flush, an output is shorter than its time only if its next element needs more.
        held_back = len(values) < ends[number] and is_there(number, len(values))
        assert not held_back, f"c{number}[{len(values)}] was held back"
    if rng.random() < 0.3:
        batch = k.batch(LONGEST)(x)
        for values, parts in zip(batch if len(found) > 1 else (batch,), found, strict=True):
            np.testing.assert_array_equal(values, np.concatenate(parts), err_msg="batch")
    long = stream.long_kernel is not None
    how = ("in tiles" if long else "in place") if folded else "long" if long else "sliding"
    return f"{how}{', periods' if command else ''}"


def _check_counts(case: Case, timing: Any) -> None:
    """After some numbers of ticks, elements are there as soon as they can be computed."""
    names = ["x", *(f"c{k}" for k in range(1, len(case.arrays)))]
    for ticks in (*range(13), 24, 37):
        rates = [timing.rates.get(name, 0) for name in names]
        ends = [math.floor(ticks * rates[0]), *(math.ceil(ticks * rate) for rate in rates[1:])]
        is_there, counts = _rows(case, ends), timing.counts(ticks)
        for number in case.outputs:
            exact = 0
            while is_there(number, exact):
                exact += 1
            found = max(0, counts[names[number]])
            assert found == exact, f"c{number}: {found} elements after {ticks}, not {exact}"


def _rows(case: Case, ends: list[int]) -> Callable[[int, int], bool]:
    """Whether all that an array has at a time can be computed: what lies at one time comes together, and elements
    come one after the other."""

    @lru_cache(None)
    def is_there(array: int, time: int) -> bool:
        if time >= ends[array] or (time > 0 and not is_there(array, time - 1)):
            return False
        own = case.arrays[array]
        return all(is_there(read.array, at) for read in own.reads if (at := read.at(time)) >= 0)

    return is_there


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop then")
    asked = parser.parse_args()
    kinds: Counter[str] = Counter()
    end = time.monotonic() + 60 * asked.minutes
    for seed in range(asked.seed, asked.seed + asked.cases):
        if time.monotonic() > end:
            break
        try:
            kinds[check(seed, in_place=seed % 3 == 0)] += 1
        except Exception:
            kinds["WRONG"] += 1
            print(f"seed {seed}")
            traceback.print_exc()
    for kind, count in sorted(kinds.items()):
        print(f"{kind}: {count}")


if __name__ == "__main__":
    main()
