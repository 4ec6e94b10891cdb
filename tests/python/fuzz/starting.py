"""What the library says of its own program at concrete sizes: where a model starts, and whether it still agrees."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

from fuzz.judge import BESIDE, Judge
from fuzz.model import Model
from fuzz.space import Cell
from fuzz.statements import Statement, Time


class Unknown(Exception):
    """The starting point cannot be judged: the loops of an initialisation are not those of its updates."""


def start_table(
    description: dict[str, Any], statements: list[dict[str, Any]], model: Model
) -> dict[tuple[str, Cell], dict[int, int]]:
    """Loop values of the computations that a planner scheduled, from the statements at concrete sizes."""
    table: dict[tuple[str, Cell], dict[int, int]] = {}
    for statement in statements:
        name = statement["computation"]
        if name not in model.planned:
            continue
        loops = [loop["name"] for loop in description["computations"][name]["loops"]]
        positions = list(range(len(loops)))
        if statement["role"] in BESIDE:
            positions = [p for p in positions if (name, p) not in model.planned_driven]
            if statement["loop_names"] != [loops[p] for p in positions]:
                raise Unknown(name)
        for instance, time in statement["times"]:
            table[name, tuple(instance)] = {p: time[2 * d + 1] for d, p in enumerate(positions)}
    return table


def copy_at(own: Statement, instance: tuple[int, ...], time: tuple[int, ...]) -> int | None:
    """The copy of an instance that runs at a time: how copies are told apart is each side's own."""
    rank = len(own.base.names)
    for row, other in enumerate(own.rows):
        if other[-rank:] == instance[-rank:] and own.times[row][1 : len(time) : 2] == time[1::2]:
            return row
    return None


def disagreement(judge: Judge, statements: list[dict[str, Any]]) -> str | None:
    """Where the time vectors of the library order instances otherwise than the judge's, hold other loop values, or
    where it stores them in other elements."""
    ours: list[Time] = []
    theirs: list[Any] = []
    mine = {(s.name, s.role): s for ss in judge.statements.values() for s in ss}
    # A reduction over nothing has an initialisation and no updates beside which it could be placed.
    idle = {name for (name, role), s in mine.items() if role == "update" and not s.rows}
    windows: dict[str, dict[Any, Any]] = defaultdict(dict)
    known = {key: {row: k for k, row in enumerate(s.rows)} for key, s in mine.items()}
    for statement in statements:
        name, role = statement["computation"], statement["role"]
        if name in idle:
            continue
        own = mine[name, role]
        elements = judge.elements(own)
        buffer = statement["buffer"]
        for (instance, time), (_, element) in zip(
            sorted(statement["times"]), sorted(statement["elements"]), strict=True
        ):
            row = copy_at(own, instance, time) if own.copied else known[name, role].get(instance)
            if row is None and name in judge.model.allocations and own.spare(instance):
                continue
            if row is None:
                return f"{name}{instance} ({role}) is no instance"
            flat = own.times[row]
            if role not in BESIDE and time[1::2] != flat[1 : len(time) : 2]:
                return f"{name}{instance} ({role}) runs at {time}, not at {flat}"
            if own.anew < own.replicas and not own.copied:
                windows[name][own.keys[row]] = (buffer, tuple(element))
            elif (buffer, element) != elements[row]:
                return f"{name}{instance} ({role}) is at {buffer}{element}, not {elements[row]}"
            ours.append(flat)
            theirs.append(time)
    for name, stored in windows.items():
        problem = overlap(judge, name, stored)
        if problem:
            return problem
    expected = sum(len(s.rows) for (name, _), s in mine.items() if name not in idle)
    if len(ours) != expected:
        return f"{len(ours)} instances, expected {expected}"
    ranks_ours = {t: r for r, t in enumerate(sorted(set(ours)))}
    ranks_theirs = {t: r for r, t in enumerate(sorted(set(theirs)))}
    for a, b in zip(ours, theirs, strict=True):
        if ranks_ours[a] != ranks_theirs[b]:
            return f"the order differs at time {b} (here {a})"
    return None


def overlap(judge: Judge, name: str, stored: dict[Any, Any]) -> str | None:
    """Two values of a sliding window that are alive at one time in one element: from the iteration of the shared loops
    that computes the one to the last one that reads it."""
    lives: dict[Any, tuple[Cell, Cell]] = {}
    (first, *_) = judge.statements[name]
    for row, key in enumerate(first.keys):
        prefix = first.prefix(row, first.replicas)
        lives[key] = (prefix, prefix)
    for statements in judge.statements.values():
        for sink in statements:
            for row, reads in enumerate(sink.reads):
                for cell in [cell for producer, cell, _ in reads if producer == name]:
                    key = (sink.prefix(row, first.anew), cell)
                    begin, end = lives[key]
                    lives[key] = (begin, max(end, sink.prefix(row, first.replicas)))
    by_element = defaultdict(list)
    for key, element in stored.items():
        by_element[element].append((*lives[key], key))
    for element, values in by_element.items():
        values.sort()
        for (_, end, one), (begin, _, other) in itertools.pairwise(values):
            if begin <= end:
                return f"{name}: {one} and {other} are alive at one time, both in {element}"
    return None
