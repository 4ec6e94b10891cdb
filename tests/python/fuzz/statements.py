"""Scheduled instances: when each runs, and which run beside each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuzz.space import Base, Cell

__all__ = ["Statement", "Time", "happens_before", "positions"]

Time = tuple[int, ...]


def happens_before(a: Time, b: Time, concurrent: frozenset[int] | set[int]) -> bool:
    """a and b: static position and loop value in turn; `concurrent`: the positions of parallel and vector loops."""
    if not concurrent:
        return a < b
    for position, (v, w) in enumerate(zip(a, b, strict=True)):
        if v != w:
            return v < w and position not in concurrent
    return False


def positions(tags: list[str], wanted: tuple[str, ...]) -> frozenset[int]:
    """Where in a time vector the loops with these tags stand."""
    return frozenset(2 * level + 1 for level, tag in enumerate(tags) if tag in wanted)


class Statement:
    """The scheduled instances of one role of a computation."""

    __slots__ = (
        "anew",
        "base",
        "cells",
        "concurrent",
        "copied",
        "keys",
        "name",
        "origin",
        "reads",
        "replicas",
        "role",
        "rows",
        "threads",
        "times",
    )

    def __init__(self, base: Base, concurrent: frozenset[int], replicas: int) -> None:
        self.base, self.name, self.role = base, base.name, base.role
        self.concurrent, self.replicas = concurrent, replicas
        self.anew = replicas  # so many of the shared loops make values anew in each iteration
        self.origin: list[int] = []  # the instances of `base` that replicas are of
        self.copied = False  # the replicas are the copies of a one-to-many map
        self.threads: frozenset[int] = frozenset()  # those of them that are not lanes of a vector
        self.rows, self.cells, self.reads = base.rows, base.cells, base.reads
        self.times: list[Time] = []
        #: What a read of it names: the cell, behind the iteration of the shared loops where there are replicas.
        self.keys: list[Any] = base.cells

    def origins(self) -> Iterable[int]:
        return range(len(self.rows)) if self.rows is self.base.rows else self.origin

    def instance(self, row: int) -> str:
        return f"{self.name}{self.rows[row]} ({self.role})"

    def spare(self, instance: Cell) -> bool:
        """May the library compute this one besides? It fills the gaps of what a reader's loops read (compute_at), where
        each iteration has memory of its own; nobody reads it, so that no verdict depends on it."""
        return (
            self.replicas > 0
            and not self.copied
            and instance[self.replicas :] in set(self.base.rows)
        )

    def prefix(self, row: int, levels: int) -> Cell:
        """The values of its outermost loops."""
        return self.times[row][1 : 2 * levels : 2]
