"""The independent judge: what a schedule means, on concrete sizes, without isl and without the library's code.

`Judge` gives each instance of a program at concrete sizes (a `Space`) the time vector of a `Model`, and
asks of every pair that matters whether one happens before the other: two iterations of a parallel or vector loop are
not ordered. A computation inside the loops of a reader (compute_at) has, for each iteration of these loops, the
instances that are read in it, or those that are read in it first if it is stored further out (a sliding window); a
buffer inside loops (store_at) is another one in each iteration.
"""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from fuzz.copies import JudgesCopies
from fuzz.linear import Loop, first_of_each, iterator
from fuzz.model import Model
from fuzz.order_of_partials import turned_round
from fuzz.rewriting import evaluate_index, holds, is_fold, is_ordered, with_names
from fuzz.space import WIDE, Base, Cell, Pairs, Space, World, compiled, index_source, places
from fuzz.statements import Statement, Time, happens_before, positions

#: More than these are not looked at, but smaller sizes are.
MOST_REPLICAS, MOST_EFFORT = 30_000, 2_000_000


#: What runs once for each element of a reduction, and on which side of its terms.
BESIDE = {"initialise": -1, "finish": 1}


def static(position: int) -> int:
    """The static order of what stands at a position; before it and after it is room for what runs beside terms."""
    return 3 * position + 1


class TooLarge(Exception):
    """Too much to look at one by one."""


class Judge(JudgesCopies):
    """One mapping at one set of sizes."""

    def __init__(
        self,
        model: Model,
        world: World,
        space: Space,
        start: dict[tuple[str, Cell], dict[int, int]] | None = None,
    ) -> None:
        self.model, self.world, self.space, self.start = model, world, space, start or {}
        self.paths = model.paths()
        deepest = max(
            (len(path) + len(model.iterators[n]) for n, path in self.paths.items()), default=0
        )
        self.width = 2 * (deepest + -deepest % 8) + 1
        #: What outputs show without a copy: the output, the computation or input, and the cell of it.
        self.shown: list[tuple[str, str, Cell]] = []
        #: The statements of each computation; readers are made before what they read.
        self.statements: dict[str, list[Statement]] = {}
        self.tags: dict[str, list[str]] = {}
        for name in reversed(model.computations):
            self._schedule(name)

    # ---- times ----

    def _schedule(self, name: str) -> None:
        model = self.model
        inherited = model.inherited(name)
        outside = self.tags[model.guide(name)][:inherited] if inherited else []
        nest, path = model.nests[name], self.paths[name]
        self.tags[name] = outside + [loop.tag for loop in nest.loops]
        placement = model.placement(name)
        inside = placement is not None and placement.inside
        needed = self._needed(name, inherited) if inside else None
        anew = self._anew(name, inherited) if inside else 0
        if needed is not None and anew < inherited:
            needed = {cell: first_of_each(prefixes, anew) for cell, prefixes in needed.items()}
        self.statements[name] = []
        for base in self.space.bases[name]:
            if nest.copies:
                self.statements[name].append(self._copy(base, list(map(static, path)), nest))
                continue
            if base.role in BESIDE:
                statics, chosen = self._loops_beside(name, path, inherited, BESIDE[base.role])
            else:
                statics, chosen = list(map(static, path)), nest.loops
            tags = outside + [loop.tag for loop in chosen]
            statement = Statement(base, positions(tags, ("parallel", "vector")), inherited)
            statement.threads = positions(tags, ("parallel",))
            times = self._own_times(base, statics[inherited:], chosen, inherited)
            if needed is None and base.role == "value" and model.in_place(name):
                self._without(statement, times, model.in_place(name))
            elif needed is None:
                statement.times = times
            else:
                statement.anew = anew
                self._replicate(statement, times, statics[:inherited], needed)
            self.statements[name].append(statement)

    def _own_times(
        self, base: Base, statics: list[int], loops: list[Loop], inherited: int
    ) -> list[Time]:
        """The time vectors but for the loops that compute_at shares."""
        at = places(base.names, 32, self.space.sizes)
        parts = []
        for level, static in enumerate(statics):
            parts.append(str(static))
            parts.append(loops[level].value.source(at) if level < len(loops) else "0")
        parts.extend(["0"] * (self.width - 2 * inherited - len(parts)))
        source = f"({','.join(parts)})"
        key = (base.name, base.role, source)
        if key not in self.space.made:
            self.space.made[key] = list(map(compiled(source), self._extended(base)))
        return self.space.made[key]

    def _extended(self, base: Base) -> list[Cell]:
        """The instances, with the values of the loops that a planner gave behind."""
        if base.name not in self.model.planned:
            return base.rows
        key = (base.name, base.role)
        if key not in self.space.made:
            known = set(self.model.planned[base.name])
            kept = [k for k, name in enumerate(base.names) if name in known]
            rows = []
            for row in base.rows:
                values = self.start[base.name, tuple(row[k] for k in kept)]
                rows.append((*row, *(values.get(p, 0) for p in range(max(values, default=-1) + 1))))
            self.space.made[key] = rows
        return self.space.made[key]

    def _loops_beside(
        self, name: str, path: list[int], inherited: int, step: int
    ) -> tuple[list[int], list[Loop]]:
        """Of what runs before or after the terms: the loops before the first one that a reduced iterator drives; then
        those that are left, or, where loops mix reduced and other iterators so that these do not tell instances apart,
        the iterators."""
        model = self.model
        loops, own = model.nests[name].loops, model.own(name)
        driven, prefix = model.driven(name), model.outside_terms(name)
        kept = [loop for loop, by_reduced in zip(loops, driven, strict=True) if not by_reduced]
        mixed = any(
            by_reduced and (loop.value.uses(set(own)) or loop.value.looked_up())
            for loop, by_reduced in zip(loops, driven, strict=True)
        )
        if (mixed or model.nests[name].explicit) and not self._tells_apart(name, kept, own):
            kept = loops[:prefix] + [Loop(i, iterator(i)) for i in own]
        statics = list(map(static, path[: inherited + prefix + 1]))
        statics[-1] += step
        return statics + [0] * (inherited + len(kept) + 1 - len(statics)), kept

    def _tells_apart(self, name: str, loops: list[Loop], own: list[str]) -> bool:
        plain = {loop.name for loop in loops if loop.value == iterator(loop.name)}
        if plain >= set(own):
            return True
        sources = []
        for sizes in WIDE:
            at = places(own, 32, sizes)
            sources.append(f"({''.join(loop.value.source(at) + ',' for loop in loops)})")
        if name not in self.model.planned:
            return all(map(self.world.tells_apart, [name] * len(WIDE), sources, WIDE))
        rows = self._extended(self.space.bases[name][0])
        return len(set(map(compiled(sources[0]), rows))) == len(rows)

    def _without(
        self, statement: Statement, times: list[Time], shown: list[tuple[list[Any], list[Any]]]
    ) -> None:
        """An output's elements that lie in place make no instances; what they show has to survive."""
        base = statement.base
        statement.rows, statement.cells, statement.reads, statement.keys = [], [], [], []
        for row, cell in enumerate(base.rows):
            env = {**self.space.base, **dict(zip(base.names, cell, strict=True))}
            read = next(
                (r for conditions, r in shown if all(holds(c, env) for c in conditions)), None
            )
            if read is not None:
                at = tuple(evaluate_index(s, env) for s in read[2])
                self.shown.append((base.name, read[1], at))
                continue
            statement.rows.append(cell)
            statement.origin.append(row)
            statement.cells.append(base.cells[row])
            statement.reads.append(base.reads[row])
            statement.keys.append(((), base.cells[row]))
            statement.times.append(times[row])

    def _needed(self, name: str, levels: int) -> dict[Cell, set[Cell]]:
        """For each element: the iterations of the shared loops in which it is read."""
        needed: dict[Cell, set[Cell]] = defaultdict(set)
        for reader in self.model.readers(name):
            for statement in self.statements[reader]:
                for row, reads in enumerate(statement.reads):
                    for producer, cell, _ in reads:
                        if producer == name:
                            needed[cell].add(statement.prefix(row, levels))
        return needed

    def _anew(self, name: str, levels: int) -> int:
        """How many of the shared loops make values anew. What is stored outside of the others is made once in these,
        inside of the innermost concurrent one."""
        stored = self.model.allocations.get(name, ("", levels))[1]
        tags = [self.tags[reader][:levels] for reader in self.model.readers(name)]
        concurrent = [
            level + 1
            for own in tags
            for level, tag in enumerate(own)
            if tag in ("parallel", "vector")
        ]
        return max(stored, *concurrent) if concurrent else stored

    def _replicate(
        self,
        statement: Statement,
        times: list[Time],
        statics: list[int],
        needed: dict[Cell, set[Cell]],
    ) -> None:
        base = statement.base
        statement.rows, statement.cells, statement.reads, statement.keys = [], [], [], []
        for cell, prefixes in needed.items():
            for prefix in prefixes:
                outer = tuple(x for pair in zip(statics, prefix, strict=True) for x in pair)
                if len(statement.rows) > MOST_REPLICAS:
                    raise TooLarge("instances inside loops")
                for row in base.by_cell.get(cell, ()):
                    statement.rows.append(prefix + base.rows[row])
                    statement.origin.append(row)
                    statement.cells.append(cell)
                    statement.reads.append(base.reads[row])
                    statement.keys.append((prefix[: statement.anew], cell))
                    statement.times.append(outer + times[row])

    # ---- storage ----

    def elements(self, statement: Statement) -> list[tuple[str, Cell]]:
        """The element of memory that each instance writes."""
        name = statement.name
        buffer, index = self.model.storage[name]
        at = places(self.model.own(name))
        index = [self._sized(i) for i in index]
        source = f"({''.join(index_source(i, at) + ',' for i in index)})"
        key = (name, statement.role, buffer, source)
        make = compiled(source)
        if self._is_private(name):
            levels = self.model.allocations[name][1]
            return [
                (buffer, statement.prefix(row, levels) + make(cell))
                for row, cell in enumerate(statement.cells)
            ]
        if name in self.model.allocations:
            levels = self.model.allocations[name][1]
            return [
                (buffer, row[:levels] + make(cell))
                for row, cell in zip(statement.rows, statement.cells, strict=True)
            ]
        if statement.cells is not statement.base.cells:
            return [(buffer, make(cell)) for cell in statement.cells]
        if key not in self.space.made:
            self.space.made[key] = [(buffer, make(cell)) for cell in statement.cells]
        return self.space.made[key]

    def _sized(self, index: Any) -> Any:
        """A subscript of a place with numbers for sizes."""
        return with_names(index, {name: [size, {}] for name, size in self.space.sizes.items()})

    def _is_private(self, name: str) -> bool:
        """Whether each iteration of loops of its own has a buffer for it (private)."""
        return self.model.allocations.get(name, ("-", 0))[0] == ""

    def _shared_buffers(self) -> set[str]:
        """Buffers in which one element may hold several values."""
        owners: dict[str, list[str]] = defaultdict(list)
        for name, (buffer, _) in self.model.storage.items():
            owners[buffer].append(name)
        shared = set()
        for buffer, names in owners.items():
            (name, *others) = names
            index = self.model.storage[name][1]
            apart = all([0, {i: 1}] in index for i in self.model.own(name))
            again = self.model.reduced[name] and self.statements[name][0].keys is not (
                self.statements[name][0].base.cells
            )
            if others or not apart or again or buffer in self.model.inputs:
                shared.add(buffer)
        return shared

    # ---- violations ----

    def violation(self) -> str | None:
        """The first thing that goes wrong, or None."""
        self.writes: dict[tuple[str, Cell], list[tuple[Any, Statement, int]]] = defaultdict(list)
        self.shared: set[tuple[str, Cell]] = set()
        self.ordered: dict[tuple[str, Cell], tuple[list[Time], list[Any], list[int]]] = {}
        self.effort = 0
        self.iterations: dict[Any, list[int]] = {}
        self.written: dict[Statement, list[tuple[str, Cell]]] = {}
        problem = turned_round(self.model, self.space.base)
        if problem:
            return problem
        buffers = self._shared_buffers()
        for name, statements in self.statements.items():
            if self.model.storage[name][0] not in buffers:
                continue
            for statement in statements:
                self.written[statement] = self.elements(statement)
                for row, element in enumerate(self.written[statement]):
                    value = (name, self._value(statement, row))
                    self.writes[element].append((value, statement, row))
        self.shared = {e for e, ws in self.writes.items() if len({w[0] for w in ws}) > 1}
        for statements in self.statements.values():
            for sink in statements:
                problem = self._accumulation(sink) if sink.role == "update" else None
                problem = problem or self._flows(sink)
                if problem:
                    return problem
        return self._survival()

    @staticmethod
    def _value(statement: Statement, row: int) -> Any:
        """The value that is in the making: every replica of a plain one has the same, each sum is its own."""
        return statement.cells[row] if statement.role == "value" else statement.keys[row]

    def _chain(self, sink: Statement) -> str | None:
        """A recurrence inside a loop of its reader has its own values there, or earlier ones of the window."""
        made = {key for source in self.statements[sink.name] for key in source.keys}
        for row, reads in enumerate(sink.reads):
            for name, cell, _ in reads:
                if name == sink.name and (sink.prefix(row, sink.anew), cell) not in made:
                    return f"{sink.instance(row)} reads {name}{cell}, which is not computed there"
        return None

    def _flows(self, sink: Statement) -> str | None:
        problem = self._chain(sink) if sink.replicas and sink.role != "finish" else None
        if problem:
            return problem
        for producer in {name for reads in sink.base.reads for name, *_ in reads}:
            if producer in self.model.inputs:
                problem = self._input(sink, producer)
                if problem:
                    return problem
                continue
            for source, pairs in self._pairs(sink, producer):
                if source is sink and sink.role == "finish":
                    continue  # it reads what the terms came to, in its own element
                concurrent = source.concurrent | sink.concurrent
                known = (id(source.times), id(sink.times), concurrent)
                overwritten = bool(self.shared) and source in self.written
                promises = self._promises(source, sink)
                levels = self.model.allocations[producer][1] if self._is_private(producer) else 0
                if known in self.space.in_order and not overwritten and not promises and not levels:
                    continue
                if source.copied:
                    if problem := self._copies(source, sink, pairs, levels):
                        return problem
                    continue
                first, second = source.times, sink.times
                certain = not self._guarded(source) and not self._guarded(sink)
                for a, b, sure in pairs:
                    if promises and any(x[a] != y[b] for x, y in promises):
                        if sure and certain:
                            return f"{source.instance(a)} -> {sink.instance(b)} breaks a promise"
                        continue
                    if not happens_before(first[a], second[b], concurrent):
                        return (
                            f"{sink.instance(b)} reads what {source.instance(a)} writes, which "
                            "does not come before it"
                        )
                    if source.prefix(a, levels) != sink.prefix(b, levels):
                        return (
                            f"{sink.instance(b)} reads what {source.instance(a)} writes, which is "
                            "private to another iteration"
                        )
                    problem = self._overwritten(source, a, sink, b) if overwritten else None
                    if problem:
                        return problem
                if sink.rows is sink.base.rows and source.rows is source.base.rows and not promises:
                    self.space.in_order.add(known)
        return None

    def _input(self, sink: Statement, name: str) -> str | None:
        """An input's elements are read before computations that are stored there overwrite them."""
        for row, reads in enumerate(sink.reads):
            for array, cell, sure in reads:
                for _, writer, when in self.writes.get((name, cell), ()) if array == name else ():
                    if writer is sink and when == row:
                        continue
                    promises = self._promises(sink, writer)
                    if any(x[row] != y[when] for x, y in promises):
                        if sure and not self._guarded(sink) and not self._guarded(writer):
                            return (
                                f"{sink.instance(row)} -> {writer.instance(when)} breaks a promise"
                            )
                        continue
                    concurrent = sink.concurrent | writer.concurrent
                    if not happens_before(sink.times[row], writer.times[when], concurrent):
                        return (
                            f"{writer.instance(when)} overwrites {name}{cell} of the input, which "
                            f"{sink.instance(row)} still has to read"
                        )
        return None

    def _promises(self, first: Statement, second: Statement) -> list[tuple[list[int], list[int]]]:
        """For each promise (independent) that concerns both: the iterations that their instances belong to."""
        return [
            (self._iterations(first, p), self._iterations(second, p))
            for p in range(len(self.model.independent))
            if all(
                one.name in self.model.independent[p]
                and len(one.base.names) == len(self.model.iterators[one.name])
                for one in (first, second)
            )
        ]

    def _iterations(self, statement: Statement, promise: int) -> list[int]:
        key = (promise, statement.name, statement.role)
        if key not in self.iterations:
            at = places(statement.base.names, 32, self.space.sizes)
            make = compiled(self.model.independent[promise][statement.name].source(at))
            values = [make(row) for row in self._extended(statement.base)]
            self.iterations[key] = [values[origin] for origin in statement.origins()]
        return self.iterations[key]

    def _guarded(self, statement: Statement) -> bool:
        """Whether a condition on data decides if the instances run."""
        if self.model.computations[statement.name].get("partial"):
            return True
        reduction = self.model.reduction(statement.name)
        return statement.role == "update" and reduction is not None and reduction[4][0] == "guard"

    def _pairs(self, sink: Statement, producer: str) -> Iterator[tuple[Statement, Pairs]]:
        """The instances that define what the sink's instances read of a producer, those beside them."""
        plain = all(s.rows is s.base.rows for s in (sink, *self.statements[producer]))
        if plain:
            yield from zip(
                self.statements[producer], self.space.edges(sink.base, producer), strict=True
            )
            return
        for source in self.statements[producer]:
            index: dict[Any, list[int]] = defaultdict(list)
            for row, key in enumerate(source.keys):
                index[key].append(row)
            replicated = source.keys is not source.base.cells
            pairs = []
            for row, reads in enumerate(sink.reads):
                for name, cell, sure in reads:
                    if name == producer:
                        here = (sink.prefix(row, source.anew), cell) if replicated else cell
                        pairs.extend((at, row, sure) for at in index.get(here, ()))
            yield source, pairs

    def _accumulation(self, update: Statement) -> str | None:
        """Initialisation first; updates of one element in some order."""
        init = self.statements[update.name][0]
        concurrent = init.concurrent | update.concurrent
        begins = {key: row for row, key in enumerate(init.keys)}
        together: dict[Any, list[int]] = defaultdict(list)
        known = (id(init.times), id(update.times), concurrent)
        overwritten = bool(self.shared) and init in self.written
        if known in self.space.in_order and not overwritten:
            return None
        for row, key in enumerate(update.keys):
            together[key].append(row)
            begin = begins[key]
            if not happens_before(init.times[begin], update.times[row], concurrent):
                return f"{update.instance(row)} comes before {init.instance(begin)}"
            problem = self._overwritten(init, begin, update, row) if overwritten else None
            if problem:
                return problem
        reduction = self.model.reduction(update.name)
        ordered = reduction is not None and is_ordered(reduction)
        promises = [x for x, _ in self._promises(update, update)] if self._may_meet(update) else []
        if promises and not ordered:
            apart: dict[Any, list[int]] = defaultdict(list)
            for key, rows in together.items():
                for row in rows:
                    apart[key, tuple(x[row] for x in promises)].append(row)
            if len(apart) > len(together) and not self._guarded(update):
                return f"updates of one element of {update.name} break a promise"
            together = apart
        for rows in together.values():
            if ordered:
                rows.sort(key=update.rows.__getitem__)
                for a, b in itertools.pairwise(rows):
                    if not happens_before(update.times[a], update.times[b], update.concurrent):
                        return f"{update.instance(a)} does not come before {update.instance(b)}"
                continue
            # Neighbours in lexicographic order share the most loops: where two updates are not ordered, two
            # neighbours are not.
            times = sorted(update.times[row] for row in rows)
            # Lanes of a vector combine their terms, except of a fold; threads may meet where each update is one
            # step.
            races = frozenset() if update.name in self.model.atomic else update.threads
            if reduction is not None and is_fold(reduction):
                races = update.concurrent
            for a, b in itertools.pairwise(times):
                if not happens_before(a, b, races):
                    return f"two updates of {update.name}{update.cells[rows[0]]} are not ordered"
        if update.rows is update.base.rows:
            self.space.in_order.add(known)
        return None

    def _may_meet(self, update: Statement) -> bool:
        """Whether a loop that reduced iterators drive is concurrent."""
        loops, driven = self.model.nests[update.name].loops, self.model.driven(update.name)
        return any(loop.concurrent and d for loop, d in zip(loops, driven, strict=True))

    def _overwritten(self, source: Statement, at: int, sink: Statement, row: int) -> str | None:
        element = self.written[source][at]
        if element not in self.shared:
            return None
        value = (source.name, self._value(source, at))
        times, writes, following = self._ordered(element)
        if following and not sink.concurrent:
            # All in one order: only what stands between the source and the sink can be in the way.
            k = bisect.bisect_left(times, source.times[at])
            while k < len(times) and times[k] <= sink.times[row]:
                other, writer, when = writes[k]
                if other == value:
                    k = following[k]
                elif writer is sink and when == row:
                    k += 1
                else:
                    return self._conflict(writer, when, element, source, at, sink, row)
            return None
        self.effort += len(writes)
        if self.effort > MOST_EFFORT:
            raise TooLarge("writes to one element")
        for other, writer, when in writes:
            if other == value or (writer is sink and when == row):
                continue
            if not happens_before(
                writer.times[when], source.times[at], writer.concurrent | source.concurrent
            ) and not happens_before(
                sink.times[row], writer.times[when], sink.concurrent | writer.concurrent
            ):
                return self._conflict(writer, when, element, source, at, sink, row)
        return None

    @staticmethod
    def _conflict(
        writer: Statement,
        when: int,
        element: Any,
        source: Statement,
        at: int,
        sink: Statement,
        row: int,
    ) -> str:
        return (
            f"{writer.instance(when)} overwrites {element}, which {source.instance(at)} "
            f"wrote and {sink.instance(row)} reads"
        )

    def _ordered(self, element: Any) -> tuple[list[Time], list[Any], list[int]]:
        """The writes of an element in lexicographic order of time, and for each the next one of another value; the last
        is empty where loops are concurrent, so that this is no order."""
        if element not in self.ordered:
            writes = sorted(self.writes[element], key=lambda w: w[1].times[w[2]])
            following: list[int] = []
            if not any(writer.concurrent for _, writer, _ in writes):
                following = [len(writes)] * len(writes)
                for k in range(len(writes) - 2, -1, -1):
                    same = writes[k][0] == writes[k + 1][0]
                    following[k] = following[k + 1] if same else k + 1
            self.ordered[element] = ([w[1].times[w[2]] for w in writes], writes, following)
        return self.ordered[element]

    def _survival(self) -> str | None:
        for name in self.model.outputs:
            for source in self.statements[name]:
                for at in range(len(self.written.get(source, ()))):
                    problem = self._lost(source, at)
                    if problem:
                        return problem
        for _, name, cell in self.shown:
            for source in self.statements.get(name, ()):
                rows = source.base.by_cell.get(cell, ())
                if source.rows is not source.base.rows:
                    rows = [at for at, own in enumerate(source.cells) if own == cell]
                for at in rows if source in self.written else ():
                    problem = self._lost(source, at)
                    if problem:
                        return problem
        return None

    def _lost(self, source: Statement, at: int) -> str | None:
        """What overwrites a value that is there at the end."""
        element = self.written[source][at]
        value = (source.name, self._value(source, at))
        for other, writer, when in self.writes[element] if element in self.shared else ():
            concurrent = writer.concurrent | source.concurrent
            if other != value and not happens_before(
                writer.times[when], source.times[at], concurrent
            ):
                return f"{writer.instance(when)} overwrites {element}, the output of {source.instance(at)}"
        return None
