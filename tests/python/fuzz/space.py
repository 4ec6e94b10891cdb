"""The instances of a program at concrete sizes, and what each of them reads; independent of any mapping."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from fuzz.linear import Linear
from fuzz.model import Model
from fuzz.programs import AXES
from fuzz.rewriting import (
    evaluate,
    evaluate_affine,
    evaluate_index,
    holds,
    is_affine,
    is_value,
    points,
    with_replaced,
)

#: Sizes at which a refusal that the witness does not show is looked for.
SEARCHED = [
    (a, b, c)
    for total in range(16)
    for a in range(6)
    for b in range(6)
    for c in range(6)
    if a + b + c == total
] + [(7, 7, 7), (8, 8, 8), (9, 7, 8), (7, 9, 6)]

Sizes = dict[str, int]
#: Rather large ones, of every remainder by the small numbers that conditions have: some have no instances at others.
WIDE: list[Sizes] = [
    *(dict.fromkeys(AXES, size) for size in (9, 8, 10)),
    *(dict(zip(AXES, sizes, strict=True)) for sizes in ((8, 9, 10), (10, 9, 8))),
]
Cell = tuple[int, ...]
#: Of a computation, or of an input that is overwritten: its name, the cell, and whether it is this one for certain.
Read = tuple[str, Cell, bool]


Pairs = list[tuple[int, int, bool]]


class Base:
    """The instances of one role of a computation: value, or initialise, update and finish of a reduction; independent
    of any mapping."""

    __slots__ = ("by_cell", "cells", "name", "names", "reads", "role", "rows")

    def __init__(self, name: str, role: str, names: list[str]) -> None:
        self.name, self.role, self.names = name, role, names
        self.rows: list[Cell] = []
        self.cells: list[Cell] = []
        self.reads: list[list[Read]] = []
        self.by_cell: dict[Cell, list[int]] = {}

    def add(self, row: Cell, cell: Cell, reads: list[Read]) -> None:
        self.by_cell.setdefault(cell, []).append(len(self.rows))
        self.rows.append(row)
        self.cells.append(cell)
        self.reads.append(reads)


class Space:
    """The instances of a program at concrete sizes and what each reads."""

    def __init__(self, model: Model, sizes: Sizes, limit: int = 4000) -> None:
        self.sizes = sizes
        self.computations, self.types = model.computations, model.types
        self.inputs, self.overwritten = model.inputs, model.overwritten()
        self.assumed = model.assumed
        self.base: dict[Any, int] = {axis: sizes.get(axis, 0) for axis in AXES}
        self.cells: dict[str, set[Cell]] = {}
        self.bases: dict[str, list[Base]] = {}
        self.count = 0
        #: Time vectors and elements by the text of what makes them, and flows that are known to be in order.
        self.made: dict[Any, list[Any]] = {}
        self.in_order: set[Any] = set()
        self._edges: dict[Any, list[Any]] = {}
        environments = {}
        for name, one in self.computations.items():
            found = list(points(one["iterators"], one["ranges"], one["where"], self.base))
            environments[name] = found
            self.cells[name] = {tuple(env[i] for i in one["iterators"]) for env in found}
            self.count += len(found)
            if self.count > limit:
                raise OverflowError("too many instances")
        for name in self.overwritten:
            extents = [evaluate_affine(e, self.base) for e in self.inputs[name]["extents"]]
            self.cells[name] = set(itertools.product(*map(range, extents)))
        for name in self.computations:
            self.reader = name
            self._enumerate(name, environments[name], model.reduction(name), limit)

    def _enumerate(
        self,
        name: str,
        environments: list[dict[Any, int]],
        reduction: list[Any] | None,
        limit: int,
    ) -> None:
        computation = self.computations[name]
        names = list(computation["iterators"])
        if reduction is None:
            values = Base(name, "value", names)
            for env in environments:
                cell = tuple(env[i] for i in names)
                value = next(v for condition, v in computation["pieces"] if holds(condition, env))
                values.add(cell, cell, list(self._reads(value, env)))
            self.bases[name] = [values]
            return
        _, _, ranges, where, body = reduction
        inner_names = [r[0] for r in ranges]
        inits = Base(name, "initialise", names)
        updates = Base(name, "update", names + inner_names)
        for env in environments:
            cell = tuple(env[i] for i in names)
            inits.add(cell, cell, [])
            for inner in points(inner_names, [r[1:] for r in ranges], where, env):
                instance = (*cell, *(inner[k] for k in inner_names))
                updates.add(instance, cell, list(self._reads(body, inner)))
            if self.count + len(updates.rows) > limit:
                raise OverflowError("too many instances")
        self.count += len(updates.rows)
        self.bases[name] = [inits, updates]
        value = computation["pieces"][0][1]
        if computation.get("partial") and value[0] == "choose":
            value = value[3]
        if value is reduction:
            return
        finishes = Base(name, "finish", names)
        rest = with_replaced(value, reduction, ["read", name, [[0, {i: 1}] for i in names]])
        for env in environments:
            cell = tuple(env[i] for i in names)
            finishes.add(cell, cell, list(self._reads(rest, env)))
        self.bases[name].append(finishes)

    def _reads(self, value: list[Any], env: dict[Any, int]) -> Iterator[Read]:
        operation, *rest = value
        if operation == "read":
            name, subscripts = rest
            computed = {
                d: s[1] for d, s in enumerate(subscripts) if not callable(s) and s[0] == "at"
            }
            for subscript in computed.values():
                yield from self._reads(subscript, env)
            if name not in self.cells:
                return  # an input that is never overwritten
            known = {
                d: evaluate_index(s, env) for d, s in enumerate(subscripts) if d not in computed
            }
            if not computed:
                yield name, tuple(known.values()), True
                return
            # A subscript that is not affine may be any that nobody has excluded; a promise is 0 to so many.
            most = {
                d: self.assumed[self.reader, s[1]]
                for d, s in computed.items()
                if (self.reader, s[1]) in self.assumed
            }
            for cell in self.cells[name]:
                if all(cell[d] == at for d, at in known.items()) and all(
                    0 <= cell[d] <= limit for d, limit in most.items()
                ):
                    yield name, cell, False
        elif operation == "select":
            taken = all(evaluate_affine(c, env) >= 0 for c in rest[0])
            yield from self._reads(rest[1] if taken else rest[2], env)
        elif operation == "reduce":
            _, ranges, where, body = rest
            for inner in points([r[0] for r in ranges], [r[1:] for r in ranges], where, env):
                yield from self._reads(body, inner)
        elif operation == "choose" and all(is_affine(v, self.types) for v in rest[:2]):
            taken = evaluate(rest[0], env) < evaluate(rest[1], env)
            yield from self._reads(rest[2] if taken else rest[3], env)
        elif operation in ("choose", "while", "guard"):
            # Data decide whether a branch is taken, a loop goes on, a term counts.
            sure = {"choose": rest[:2], "while": rest[:2], "guard": rest[:2]}[operation]
            for child in rest:
                if is_value(child):
                    certain = any(child is one for one in sure)
                    for name, cell, here in self._reads(child, env):
                        yield name, cell, here and certain
        elif operation not in ("const", "aff"):
            for child in rest:
                if is_value(child):
                    yield from self._reads(child, env)

    def edges(self, sink: Base, producer: str) -> list[Pairs]:
        """For each role of the producer: its instances, the sink's that read what they define, and whether for
        certain."""
        key = (sink.name, sink.role, producer)
        if key not in self._edges:
            self._edges[key] = [
                [
                    (at, row, sure)
                    for row, reads in enumerate(sink.reads)
                    for name, cell, sure in reads
                    if name == producer
                    for at in source.by_cell.get(cell, ())
                ]
                for source in self.bases[producer]
            ]
        return self._edges[key]


class World:
    """The spaces of one set of equations, and what is known about it at all sizes."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.spaces: dict[tuple[int, ...], Space | None] = {}
        self._wide: dict[tuple[str, Cell], list[Cell]] = {}
        self._apart: dict[tuple[str, str, Cell], bool] = {}

    def space(self, sizes: tuple[int, ...], limit: int = 12000) -> Space | None:
        if sizes not in self.spaces:
            try:
                self.spaces[sizes] = Space(self.model, dict(zip(AXES, sizes, strict=True)), limit)
            except OverflowError:
                self.spaces[sizes] = None
        return self.spaces[sizes]

    def tells_apart(self, name: str, source: str, sizes: Sizes) -> bool:
        """Whether no two elements have the same values, at one of the sizes of `WIDE`."""
        size = tuple(sizes.values())
        if (name, size) not in self._wide:
            one = self.model.computations[name]
            base: dict[Any, int] = dict(sizes)
            self._wide[name, size] = [
                tuple(env[i] for i in one["iterators"])
                for env in points(one["iterators"], one["ranges"], one["where"], base)
            ]
        key = (name, source, size)
        if key not in self._apart:
            make = compiled(source)
            seen = {make(row) for row in self._wide[name, size]}
            self._apart[key] = len(seen) == len(self._wide[name, size])
        return self._apart[key]


COMPILED: dict[str, Callable[[Cell], Any]] = {}


def compiled(source: str) -> Callable[[Cell], Any]:
    """The function of an instance `e` with this text."""
    if source not in COMPILED:
        if len(COMPILED) > 20000:
            COMPILED.clear()
        COMPILED[source] = eval(f"lambda e: {source}")
    return COMPILED[source]


def places(names: list[str], starts: int = 0, sizes: Sizes | None = None) -> dict[Any, str]:
    """Where the iterators stand in an instance, and behind them the loops of the starting point; sizes are numbers."""
    result: dict[Any, str] = {axis: str(size) for axis, size in (sizes or {}).items()}
    result.update({name: f"e[{k}]" for k, name in enumerate(names)})
    result.update({("start", p): f"e[{len(names) + p}]" for p in range(starts)})
    return result


def index_source(index: Any, at: dict[Any, str]) -> str:
    if index[0] in ("mod", "div"):
        return f"({index_source(index[1], at)}){'%' if index[0] == 'mod' else '//'}{index[2]}"
    return Linear(index[0], {("iterator", n): c for n, c in index[1].items()}).source(at)
