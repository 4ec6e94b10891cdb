"""Reductions in the kernel of long pushes: whether they add up in the order of all pushes, and tiles of windows.

Two kernels of one stream have to give the same bits, so both take the terms of each element in their declared order:
schedules that give lanes or threads partial results are left alone. Where elements at several times read
overlapping windows of rows (a maximum over the last elements of each channel), several times are computed together, so
that rows are read from a first-level cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import _core
from ..schedule.schedules import Schedule
from .timing import Streamed, Timing

__all__ = [
    "adds_up_in_order",
    "reduces",
    "terms_at_once",
    "with_each_time_alike",
    "with_window_tiles",
]

Command = tuple[str, str, tuple[Any, ...]]

_ROWS, _LANES, _TERMS, _BLOCK = 8, 16, 256, 256
"""A tile: times that are written out, elements side by side, terms of a block, times of a block."""

_MOST_PHASES, _MOST_APART = 8, 4
"""Phases that are written out, and distances of elements that vectors gather well."""

_WIDE = 64
"""Elements side by side in a tile of one time: eight vectors of doubles."""

_IN_BLOCKS = ["split", "split", "split", "reorder", "unroll", "vectorize", "parallelize"]
"""The column, its blocks, the terms; the order, terms that are written out, the vector, the time."""


def _is_part(loop: str, known: Iterable[str]) -> bool:
    """Whether a loop is one of these iterators, or a part that `split` made of one."""
    return any(re.fullmatch(re.escape(one) + "[01]*", loop) for one in known)


def _stream_of(name: str, streams: Mapping[str, Streamed]) -> Streamed | None:
    """The stream, or that of which a computation of its own is a part (`y_sum` of `y`)."""
    known = [one for one in streams if name == one or name.startswith(f"{one}_")]
    return streams[max(known, key=len)] if known else None


def reduces(handle: _core.Computation) -> bool:
    """Whether an element is made of several terms."""
    return any(node.kind == "reduce" for _, value in handle.pieces for node in value.nodes())


def adds_up_in_order(schedule: Schedule, streams: Mapping[str, Streamed]) -> bool:
    """Whether no command gives an element's terms to several lanes or threads."""
    loops_of: dict[str, set[str]] = {}
    for name, command, arguments in schedule.commands:
        stream = _stream_of(name, streams)
        known = loops_of.setdefault(name, set(stream.handle.iterators if stream else ()))
        if command == "rfactor":
            return False
        if stream is None:
            continue  # a copy
        if command == "join" and all(_is_part(f"{one}", known) for one in arguments[:2]):
            known.add(f"{arguments[2]}")
        if command in ("vectorize", "parallelize"):
            loops = [one for one in arguments if isinstance(one, str) and one != "dynamic"]
            if not all(_is_part(one, known) for one in loops):
                return False
    return True


def with_each_time_alike(schedule: Schedule, streams: Mapping[str, Streamed]) -> Schedule:
    """The schedule without tiles of several times whose elements have partial sums in lanes: at the borders
    of such tiles, and so where pushes begin, terms would be added up in another order. Lanes of the terms of
    one element after the other stay."""
    commands: list[Command] = list(schedule.commands)
    for name in schedule.computations:
        own = [one for one in commands if one[0] == name]
        stream = _stream_of(name, streams)
        if stream is None or adds_up_in_order(Schedule(own), streams):
            continue
        time = stream.handle.iterators[stream.axis]
        parts = {one[2][0] for one in own if one[1] == "split"}
        vectors = [one[2] for one in own if one[1] == "vectorize"]
        whole = [one for one in parts if vectors and _is_part(vectors[0][0], [one])]
        if time not in parts or not whole:
            continue
        first, lanes = min(whole, key=len), vectors[0][1]
        place = commands.index(own[0])
        gone = {name, *(f"{one[2][2]}" for one in own if one[1] == "cache" and len(one[2]) > 2)}
        commands = [one for one in commands if one[0] not in gone]
        commands[place:place] = [
            (name, "vectorize", (first, lanes)),
            (name, "parallelize", (time,)),
        ]
    return Schedule(commands)


def terms_at_once(stream: Streamed, sizes: Mapping[str, int], late: int) -> int:
    """How many terms the elements at a late time have in all; of what adds up nothing, how many there are."""
    handle, most = stream.handle, 1
    for _, instances in _core.computed_parts(handle):
        known = instances.project_out_parameters(["forever"])
        known = known.fix({p: sizes[p] for p in known.parameters() if p in sizes})
        if known.is_empty():
            continue
        ((name, dimensions, _),) = known.tuples()
        own = [f"i{d}" for d in range(len(dimensions))]
        place = f"{name}[{', '.join(own)}]"
        then = known.intersect(_core.IntegerSet(f"{{ {place} : {own[stream.axis]} = {late} }}"))
        if then.is_empty():
            continue
        terms = 1
        for d in range(len(own)):
            alone = then.project_out([other for other in range(len(own)) if other != d])
            low, high = alone.lexmin().sample(), alone.lexmax().sample()
            terms *= 0 if low is None or high is None else high[1][0] - low[1][0] + 1
        most = max(most, terms)
    return most


def with_window_tiles(
    schedule: Schedule, streams: Mapping[str, Streamed], timing: Timing
) -> Schedule:
    """The schedule with tiles that stay in registers for reductions of which a block of terms would run for
    one vector of elements after the other: of several times where windows move on by one element and vectors
    go along another dimension, else of several vectors. What reads at several phases, as a resampler does, has
    vectors of the elements of each phase."""
    times = {one.handle.iterators[one.axis] for one in streams.values()}
    steps: dict[str, set[tuple[int, int]]] = {}
    for edge in timing.edges:
        steps.setdefault(edge.reader, set()).add((edge.gain, edge.step))
    commands: list[Command] = list(schedule.commands)
    for name in schedule.computations:
        own = [one for one in commands if one[0] == name]
        if [one[1] for one in own] == ["parallelize"] and name in streams:
            in_phases = _of_phases(streams[name], steps.get(name, set()), own[0][2])
            place = commands.index(own[0])
            commands[place : place + 1] = [(name, *one) for one in in_phases] or own
            continue
        if not _is_in_blocks(own):
            continue
        together = _beside(name, commands)
        stream = _stream_of(name, streams)
        moves_on = stream is not None and steps.get(stream.name) == {(1, 1)}
        column, term, (time, *_) = own[0][2][0], own[2][2][0], own[-1][2]
        if not together and moves_on and time in times and column not in times:
            new = _of_times(time, column, term)
        elif together <= {time}:
            new = _of_vectors(column, term, own[-1][2])
        else:
            continue
        place = commands.index(own[0])
        commands = [one for one in commands if one[0] != name]
        commands[place:place] = [(name, command, tuple(given)) for command, given in new]
    return Schedule(commands)


def _is_in_blocks(own: Sequence[Command]) -> bool:
    """Whether these are the commands of one computation by which a block of terms runs for one vector after
    the other along a column."""
    if [one[1] for one in own] != _IN_BLOCKS:
        return False
    column, term = own[0][2][0], own[2][2][0]
    loops = [one[2][0] for one in own]
    return loops[1] == f"{column}1" and loops[4:6] == [f"{term}1", f"{column}11"] and term != column


def _beside(name: str, commands: Sequence[Command]) -> set[str]:
    """The loops that the computation shares with others."""
    return {
        one[2][1]
        for one in commands
        if one[1] in ("after", "before") and len(one[2]) == 2 and name in (one[0], one[2][0])
    }


def _of_times(time: str, column: str, term: str) -> list[tuple[str, list[Any]]]:
    order = [
        time + "0",
        column + "0",
        term + "0",
        time + "10",
        term + "1",
        time + "11",
        column + "1",
    ]
    return [
        ("split", [time, _BLOCK]),
        ("split", [time + "1", _ROWS]),
        ("split", [column, _LANES]),
        ("split", [term, _TERMS]),
        ("reorder", order),
        ("unroll", [time + "11", _ROWS]),
        ("vectorize", [column + "1", _LANES]),
        ("parallelize", [time + "0", column + "0"]),
    ]


def _of_phases(
    stream: Streamed, steps: set[tuple[int, int]], parallel: Sequence[Any]
) -> list[tuple[str, tuple[Any, ...]]]:
    """Of y[m], a sum over r of elements at (2 * m) // 3 - r: vectors of every third m, whose elements lie as
    many apart as the time moves on in a period. Nothing for others."""
    nodes = [node for _, value in stream.handle.pieces for node in value.nodes()]
    own = stream.handle.iterators
    terms = {node.name for node in nodes if node.kind == "iterator"}.difference(own)
    moves = {(gain, step) for gain, step in steps if step > 1}
    if (
        not reduces(stream.handle)
        or len(terms) != 1
        or len(own) != 1
        or len(moves) != 1
        or [*parallel] != own
    ):
        return []
    (time,), (term,), ((gain, period),) = own, terms, moves
    if period > _MOST_PHASES or gain > _MOST_APART:
        return []
    return [
        ("split", (time, period)),
        ("split", (f"{time}0", _LANES)),
        ("reorder", (f"{time}00", f"{time}1", term, f"{time}01")),
        ("unroll", (f"{time}1", period)),
        ("vectorize", (f"{time}01", _LANES)),
        ("parallelize", (f"{time}00",)),
    ]


def _of_vectors(column: str, term: str, parallel: Sequence[Any]) -> list[tuple[str, list[Any]]]:
    return [
        ("split", [column, _WIDE]),
        ("reorder", [column + "0", term, column + "1"]),
        ("vectorize", [column + "1", _WIDE]),
        ("parallelize", list(parallel)),
    ]
