"""The model of a mapping: what each command does to loops, order, storage and the equations, as its documentation says.

Written from the documentation of the commands, without isl and without the library's code. `Model.after` is one more
command; it raises `Refused` where the arguments make no sense, which the library must say too.
"""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from fuzz.linear import Linear, Loop, Nest, Refused, iterator
from fuzz.programs import AXES, Program, dtype_of, self_reads, type_of, types_of, walk
from fuzz.rewriting import (
    copied,
    evaluate_affine,
    evaluate_index,
    factored,
    inlined,
    is_computed,
    narrowed,
    points,
    reading,
    reads_of,
)


class NotModelled(Exception):
    """What the command makes of the loops follows from something that the model does not know."""


class Placement(NamedTuple):
    """`computation` runs after (or before) `other`, sharing its `shared` outermost loops; `inside`: by compute_at."""

    computation: str
    other: str
    shared: int
    before: bool
    inside: bool = False


class Model:
    """A mapping. Nests, equations and storage are never changed in place, but replaced."""

    def __init__(self, description: dict[str, Any], program: Program) -> None:
        self.order: list[str] = list(description["order"])
        self.placements = [Placement(*p) for p in description["placements"]]
        #: The equations, as rewritten by commands, in the order of the function.
        by_name = {c["name"]: c for c in program["computations"]}
        self.computations = {name: by_name[name] for name in description["computations"]}
        read = {
            node[1]
            for one in program["computations"]
            for _, value in one["pieces"]
            for node in walk(value)
            if node[0] == "read"
        }
        self.inputs = {a["name"]: a for a in program["inputs"] if a["name"] in read}
        self.outputs = list(program["outputs"])
        self.types = types_of(program)
        #: The extents of outputs, as texts.
        self.shapes: dict[str, list[str]] = {}
        #: Changes with every rewriting; programs with one key have the same instances.
        self.rewritten: tuple[Any, ...] = ()
        self.iterators: dict[str, list[str]] = {}
        self.reduced: dict[str, int] = {}
        self.nests: dict[str, Nest] = {}
        self.storage: dict[str, tuple[str, list[Any]]] = {}
        #: store_at: the buffer lives inside so many loops of a reader.
        self.allocations: dict[str, tuple[str, int]] = {}
        #: Reductions whose updates may meet; what is known of subscripts: (reader, index array) -> their largest value.
        self.atomic: set[str] = set()
        self.assumed: dict[tuple[str, str], int] = {}
        #: For each promise: the values of the loop that it was given for, by computation.
        self.independent: list[dict[str, Linear]] = []
        #: Computations whose loops at the start are a planner's: their values are looked up in a table, by the
        #: instances that they had at the start.
        self.planned: dict[str, list[str]] = {}
        #: Those of them that reduced iterators drive: (computation, position).
        self.planned_driven: set[tuple[str, int]] = set()
        for name, one in description["computations"].items():
            self._start(name, one)

    def _start(self, name: str, one: dict[str, Any]) -> None:
        names = list(one["iterators"])
        own = names[: len(names) - one["reduced"]]
        self.iterators[name] = names
        self.reduced[name] = one["reduced"]
        (condition, value), *_ = self.computations[name]["pieces"]
        if one["reduced"] and value[0] == "cast":
            # A sum that is converted to a narrow type is a sum in that type.
            whole = narrowed(value[2], self.types[name], self.types) or value[2]
            self.computations[name] = {**self.computations[name], "pieces": [[condition, whole]]}
        loops = []
        for position, loop in enumerate(one["loops"]):
            if not one["explicit"] and loop["name"] in names:
                loops.append(Loop(loop["name"], iterator(loop["name"])))
            else:
                loops.append(Loop(loop["name"], Linear(0, {("start", position): 1})))
                self.planned[name] = names
                reduced = set(names[len(own) :])
                if reduced & set(re.findall(r"\w+", loop["value"].split("->", 2)[-1])):
                    self.planned_driven.add((name, position))
        self.nests[name] = Nest(loops, one["explicit"])
        self.storage[name] = (name, [[0, {n: 1}] for n in own])

    def after(self, command: list[Any]) -> Model:
        """The model after [computation, name, arguments]; raises Refused."""
        result = copy.copy(self)
        for name in ("order", "placements", "inputs"):
            setattr(result, name, copy.copy(getattr(self, name)))
        for name in ("computations", "iterators", "reduced", "storage", "allocations"):
            setattr(result, name, dict(getattr(self, name)))
        result.types, result.planned = dict(self.types), dict(self.planned)
        result.atomic, result.assumed = set(self.atomic), dict(self.assumed)
        result.independent = list(self.independent)
        result.nests = {n: Nest(list(nest.loops), nest.explicit) for n, nest in self.nests.items()}
        computation, name, arguments = command
        if computation not in self.nests:
            raise Refused(f"no computation {computation}")
        getattr(result, "_" + name)(computation, *arguments)
        if result.rewritten != self.rewritten:
            result._forget_promises(self)
        result._fit()
        return result

    def key(self) -> Any:
        """Models with one key have the same instances and reads."""
        return (self.rewritten, frozenset(self.assumed.items()), tuple(self.overwritten()))

    def overwritten(self) -> list[str]:
        """The inputs in whose arrays computations are stored."""
        return sorted({buffer for buffer, _ in self.storage.values() if buffer in self.inputs})

    def own(self, c: str) -> list[str]:
        """The iterators of a computation without those that it reduces."""
        return self.iterators[c][: len(self.iterators[c]) - self.reduced[c]]

    # ---- loops ----

    def _strip(self, loop: Loop, size: int, outer: str, inner: str) -> tuple[Loop, Loop]:
        if loop.tag not in ("", "parallel"):
            raise Refused("a tag that neither of the two loops would have")
        block = loop.value.floor(size)
        return Loop(outer, block, tag=loop.tag), Loop(
            inner, loop.value.plus(block, -size), extent=size, prefetched=loop.prefetched
        )

    def _split(self, c: str, i: str, s: int, i0: str = "", i1: str = "") -> None:
        nest = self.nests[c]
        position = nest.find(i)
        loop = nest.loops.pop(position)
        names = [i0 or i + "0", i1 or i + "1"]
        nest.require_new(names)
        nest.loops[position:position] = self._strip(loop, s, *names)

    def _tile(self, c: str, *arguments: Any) -> None:
        nest = self.nests[c]
        loops = [a for a in arguments if isinstance(a, str)]
        sizes = [a for a in arguments if isinstance(a, int)]
        first = nest.find(loops[0])
        if [nest.find(name) for name in loops] != list(range(first, first + len(loops))):
            raise Refused("not neighbours")
        pairs = [
            self._strip(nest.loops[first + d], size, name + "0", name + "1")
            for d, (name, size) in enumerate(zip(loops, sizes, strict=True))
        ]
        del nest.loops[first : first + len(loops)]
        new = [p[0] for p in pairs] + [p[1] for p in pairs]
        nest.require_new([loop.name for loop in new])
        nest.loops[first:first] = new

    def _interchange(self, c: str, i: str, j: str) -> None:
        loops = self.nests[c].loops
        a, b = self.nests[c].find(i), self.nests[c].find(j)
        loops[a], loops[b] = loops[b], loops[a]

    def _reorder(self, c: str, *names: str) -> None:
        nest = self.nests[c]
        positions = [nest.find(name) for name in names]
        loops = [nest.loops[p] for p in positions]
        for position, loop in zip(sorted(positions), loops, strict=True):
            nest.loops[position] = loop

    def _reverse(self, c: str, i: str) -> None:
        nest = self.nests[c]
        nest.change(i, value=nest.loops[nest.find(i)].value.times(-1))

    def _shift(self, c: str, i: str, s: int) -> None:
        nest = self.nests[c]
        nest.change(i, value=nest.loops[nest.find(i)].value.plus(Linear(s)))

    def _skew(self, c: str, i: str, j: str, f: int = 1) -> None:
        nest = self.nests[c]
        if i == j:
            raise Refused("skewed by itself")
        value = nest.loops[nest.find(j)].value
        nest.change(j, value=value.plus(nest.loops[nest.find(i)].value, f), extent=0)

    def _parallelize(self, c: str, i: str, *dealing: str | int) -> None:
        nest = self.nests[c]
        self._require_no_other_tag(nest.loops[nest.find(i)], "parallel")
        nest.change(i, tag="parallel", factor=0)

    def _require_no_other_tag(self, loop: Loop, tag: str) -> None:
        if loop.tag not in ("", tag):
            raise Refused(f"a {loop.tag} loop that would be {tag} too")

    def _stream(self, c: str) -> None:
        pass

    def _prefetch(self, c: str, array: str, i: str, distance: int) -> None:
        nest = self.nests[c]
        if nest.loops[nest.find(i)].tag in ("vector", "unroll"):
            raise Refused("the iterations are one piece of code")
        nest.change(i, prefetched=True)

    def _tag_strip(self, tag: str, c: str, i: str, v: int) -> None:
        nest = self.nests[c]
        position = nest.find(i)
        if nest.loops[position].extent != v:
            self._split(c, i, v)
            if nest.loops[position + 1].prefetched:
                # What iterations asked for is asked for by those of the loop around them.
                for loop, asks in ((position, True), (position + 1, False)):
                    nest.loops[loop] = nest.loops[loop].but(prefetched=asks)
            position += 1
        self._require_no_other_tag(nest.loops[position], tag)
        if nest.loops[position].prefetched:
            raise Refused("the iterations become one piece of code")
        nest.loops[position] = nest.loops[position].but(tag=tag, factor=v)

    def _vectorize(self, c: str, i: str, v: int) -> None:
        self._tag_strip("vector", c, i, v)

    def _unroll(self, c: str, i: str, v: int) -> None:
        self._tag_strip("unroll", c, i, v)

    def _transform(self, c: str, *arguments: Any) -> None:
        nest, names, flat = self.nests[c], arguments[:-1], arguments[-1]
        values = [nest.loops[nest.find(name)].value for name in names]
        for row, name in enumerate(names):
            value = Linear()
            for column, old in enumerate(values):
                value = value.plus(old, flat[row * len(names) + column])
            nest.change(name, value=value, extent=0)

    def _set_schedule(self, c: str, dimensions: list[Any]) -> None:
        loops = [Loop(f"t{position}", time(value)) for position, value in enumerate(dimensions)]
        self.nests[c] = Nest(loops, True)
        self.placements = [p for p in self.placements if p.computation != c]

    def named(self, c: str, names: list[str]) -> None:
        """What set_schedule names its loops follows from which of them are iterators everywhere on the domain, so the
        library says it."""
        nest = self.nests[c]
        nest.loops = [one.but(name=name) for one, name in zip(nest.loops, names, strict=True)]

    # ---- order ----

    def placement(self, c: str) -> Placement | None:
        return next((p for p in self.placements if p.computation == c), None)

    def inherited(self, c: str) -> int:
        """How many loops a computation shares by compute_at; they stand outside its own."""
        found = self.placement(c)
        return found.shared if found is not None and found.inside else 0

    def _require_no_circle(self, c: str, other: str) -> None:
        current: str | None = other
        while current is not None:
            if current == c:
                raise Refused("circular")
            found = self.placement(current)
            current = found.other if found else None

    def _shared_with(self, other: str, level: str) -> int:
        """The number of loops of `other` down to the one of this name."""
        return self.inherited(other) + self.nests[other].find(level) + 1

    def _place(self, c: str, other: str, level: str, before: bool) -> None:
        if other not in self.nests:
            raise Refused(f"no computation {other}")
        shared = self._shared_with(other, level) if level else 0
        if shared > len(self.nests[c].loops):
            raise Refused("too few loops")
        self._require_no_circle(c, other)
        self.placements = [p for p in self.placements if p.computation != c]
        self.nests[c].explicit = False
        self.placements.append(Placement(c, other, shared, before))
        self.allocations.pop(c, None)

    def _after(self, c: str, other: str, level: str = "") -> None:
        self._place(c, other, level, False)

    def _before(self, c: str, other: str, level: str = "") -> None:
        self._place(c, other, level, True)

    def _then(self, c: str, other: str, level: str = "") -> None:
        if other not in self.nests:
            raise Refused(f"no computation {other}")
        self._place(other, c, level, False)

    def _fuse_with(self, c: str, other: str, level: str = "") -> None:
        if other not in self.nests:
            raise Refused(f"no computation {other}")
        common = min(len(self.nests[c].loops), len(self.nests[other].loops))
        if not level and common == 0:
            raise Refused("no loops to share")
        self._place(c, other, level or self.nests[other].loops[common - 1].name, False)

    def _fission(self, c: str, i: str) -> None:
        level = self.nests[c].find(i)  # the first that is not shared, those of compute_at included
        cut = [p for p in self.placements if c in p[:2] and p.shared > level]
        if not cut:
            raise Refused("not shared")
        self.placements = [p._replace(shared=level) if p in cut else p for p in self.placements]

    def paths(self) -> dict[str, list[int]]:
        """Static positions s0, s1, ... of each computation: a tree of sequences, by nested lists."""
        root: list[Any] = []
        found: dict[str, list[list[Any]]] = {}
        placed = {p.computation: p for p in self.placements if not self.nests[p[0]].explicit}
        shared_time: list[list[Any]] = []

        def branch(parent: list[Any], at: int, length: int) -> list[list[Any]]:
            made = []
            for _ in range(length):
                node: list[Any] = []
                parent.insert(at, node)
                made.append(node)
                parent, at = node, 0
            return made

        def insert(name: str) -> None:
            if name in found:
                return
            nest = self.nests[name]
            if nest.explicit:
                if not shared_time:
                    length = max(len(n.loops) for n in self.nests.values() if n.explicit) + 1
                    shared_time.extend(branch(root, len(root), length))
                found[name] = shared_time
                return
            length = len(nest.loops) + 1
            if name not in placed:
                found[name] = branch(root, len(root), length)
                return
            _, other, shared, before, inside = placed[name]
            insert(other)
            theirs = found[other]
            length += shared if inside else 0
            shared = min(shared, len(theirs) - 1, length - 1)
            parent = theirs[shared - 1] if shared else root
            at = index_of(parent, theirs[shared]) + (0 if before else 1)
            found[name] = theirs[:shared] + branch(parent, at, length - shared)

        for name in [n for n in self.order if n not in placed] + [
            n for n in self.order if n in placed
        ]:
            insert(name)
        return {
            name: [
                index_of(parent, node) for parent, node in zip([root, *path], path, strict=False)
            ]
            for name, path in found.items()
        }

    # ---- computing inside the loops of a reader ----

    def readers(self, c: str) -> list[str]:
        """Who reads a computation, in the order of the function. In a recurrence only those count that stand behind
        it: a computation cannot run in the loops of one that it is itself a part of."""
        names = list(self.computations)
        behind = names[names.index(c) + 1 :]
        return [n for n in behind if reads_of(self.computations[n], c)]

    def guide(self, c: str) -> str:
        """The reader whose loops a computation shares by compute_at: the one named, or one beside it."""
        placement = self.placement(c)
        readers = self.readers(c)
        assert placement is not None
        return placement.other if placement.other in readers else readers[-1]

    def _compute_at(self, c: str, reader: str, loop: str) -> None:
        if reader not in self.nests:
            raise Refused(f"no computation {reader}")
        self._require_no_circle(c, reader)
        if c in self.outputs:
            raise Refused("an output")
        if any(self_reads(value, c) for _, value in self.computations[c]["pieces"]):
            raise Refused("reads itself")
        shared = self._shared_with(reader, loop)
        self.placements = [p for p in self.placements if p.computation != c]
        self.nests[c].explicit = False
        self.placements.append(Placement(c, reader, shared, True, True))
        self.allocations.pop(c, None)

    def _store_at(self, c: str, reader: str, loop: str) -> None:
        placement = self.placement(c)
        if placement is None or not placement.inside or placement.other != reader:
            raise Refused("not computed there")
        levels = self._shared_with(reader, loop)
        if levels > placement.shared:
            raise Refused("deeper than it is computed")
        self.storage[c] = (c, [[0, {n: 1}] for n in self.own(c)])
        self.allocations[c] = (reader, levels)

    def _fit(self) -> None:
        """What has to hold after each command: readers inside the loops, buffers no deeper than their computations."""
        for c, (reader, levels) in list(self.allocations.items()):
            placement = self.placement(c)
            if placement is None or not placement.inside or placement.other != reader:
                del self.allocations[c]
            elif placement.shared == 0:
                del self.allocations[c]
            else:
                self.allocations[c] = (reader, min(levels, placement.shared))
        for c in self.allocations:
            if any(self.storage[n][0] == self.storage[c][0] for n in self.storage if n != c):
                raise Refused("a buffer inside loops holds two computations")
        inside = [p for p in self.placements if p.inside]
        paths = self.paths() if inside else {}
        for c, _, shared, _, _ in inside:
            names = list(self.computations)
            if any(reads_of(self.computations[n], c) for n in names[: names.index(c)]):
                raise Refused("a part of a recurrence")
            readers = self.readers(c)
            if not readers:
                raise Refused("nobody reads it there")
            for reader in readers:
                loops = self.inherited(reader) + len(self.nests[reader].loops)
                if loops < shared or paths[reader][:shared] != paths[c][:shared]:
                    raise Refused("read outside of the loops")

    # ---- equations ----

    def _taken(self, name: str) -> bool:
        buffers = {buffer for buffer, _ in self.storage.values()}
        return name in self.computations or name in self.inputs or name in buffers

    def _add(self, new: dict[str, Any], reader: str, loops: list[Loop], reduced: int) -> None:
        """A new computation in front of its reader."""
        name = new["name"]
        computations = list(self.computations.items())
        position = next(k for k, (n, _) in enumerate(computations) if n == reader)
        self.computations = dict([*computations[:position], (name, new), *computations[position:]])
        self.order.insert(self.order.index(reader), name)
        value = new["pieces"][0][1]
        self.iterators[name] = [*new["iterators"]]
        if reduced:
            self.iterators[name] += [r[0] for r in value[2]]
        self.reduced[name] = reduced
        self.nests[name] = Nest(loops)
        self.storage[name] = (name, [[0, {n: 1}] for n in new["iterators"]])

    def _missing_loops(self, c: str) -> None:
        """Iterators that no loop runs over get loops of their own, innermost."""
        nest = self.nests[c]
        for name in self.iterators[c]:
            if not any(loop.value.uses({name}) for loop in nest.loops):
                nest.loops.append(Loop(nest.fresh(name), iterator(name)))

    def _inline(self, c: str) -> None:
        gone = self.computations[c]
        if c in self.outputs or len(gone["pieces"]) != 1 or reads_of(gone, c):
            raise Refused("cannot be inlined")
        readers = [n for n in self.computations if reads_of(self.computations[n], c)]
        for reader in readers:
            for node in reads_of(self.computations[reader], c):
                if any(is_computed(s) for s in node[2]):
                    raise Refused("read at a computed subscript")
        for reader in readers:
            before = self.computations[reader]["pieces"]
            whole = len(before) == 1 and before[0][1][:2] == ["read", c]
            self.computations[reader] = inlined(self.computations[reader], gone, self.types)
            if whole and self.reduced[c] and self.types[reader] == self.types[c]:
                # The reader is now a reduction itself; what it reduces runs inside its loops.
                ranges = self.computations[reader]["pieces"][0][1][2]
                self.iterators[reader] = [*self.iterators[reader], *(r[0] for r in ranges)]
                self.reduced[reader] = len(ranges)
                nest = self.nests[reader]
                for r in ranges:
                    nest.loops.append(Loop(nest.fresh(r[0]), iterator(r[0])))
        self.rewritten += (("inline", c),)
        self.placements = [p for p in self.placements if c not in p[:2]]
        for table in (self.computations, self.nests, self.storage, self.iterators, self.reduced):
            del table[c]  # type: ignore[attr-defined]
        self.allocations.pop(c, None)
        self.order.remove(c)

    def _rfactor(self, c: str, k: str, name: str = "") -> None:
        if not self.reduced[c]:
            raise Refused("no reduction")
        position = self.nests[c].find(k)
        name = name or c + "_partial"
        if self._taken(name):
            raise Refused("the name is taken")
        self._factor(c, position, name)
        final = self.nests[c].loops
        factored_at = next(d for d, loop in enumerate(final) if loop.name == k)
        final[factored_at] = final[factored_at].but(tag="", factor=0)
        if self.placement(c) is not None:
            self.placements.append(Placement(name, c, 0, True))

    def _factor(self, c: str, position: int, name: str) -> None:
        """The loop at this position becomes an iterator of partial results of this name."""
        nest, own = self.nests[c], self.own(c)
        loop = nest.loops[position]
        summed = set(self.iterators[c][len(own) :])
        if any(one.value.looked_up() for one in nest.loops):
            raise NotModelled("loops that a planner made")
        if not loop.value.uses(summed) or loop.value.uses(set(own)):
            raise Refused("not a loop over reduced iterators only")
        if self.computations[c]["pieces"][0][1][1].startswith("osum"):
            raise Refused("ordered")
        itself = next((i for i in self.iterators[c] if loop.value == iterator(i)), None)
        new = itself or loop.name
        while itself is None and new in self.iterators[c]:
            new += "_"
        partial, final = factored(self.computations[c], name, loop.value, new, itself is not None)
        value = partial["pieces"][0][1]
        self._require_a_range(self.computations[c], loop.value, value[0] == "reduce")
        loops = [
            one.but(value=iterator(new)) if d == position else one
            for d, one in enumerate(nest.loops)
        ]
        # A nested reduction that is all that is left of the value is scheduled by its body.
        reduced = len(value[2]) if value[0] == "reduce" and not self._converted(c, value) else 0
        self._add(partial, c, loops, reduced)
        self.types[name] = self.types[c]
        self.computations[c] = final
        self.iterators[c] = [*own, new]
        self.reduced[c] = 1
        self.nests[c] = Nest(
            [one for d, one in enumerate(loops) if d == position or not one.value.uses(summed)]
        )
        self._missing_loops(name)
        self._missing_loops(c)
        self.planned.pop(c, None)
        self.rewritten += (("factored", c, name, loop.value),)

    def _factor_several(self, c: str, factored_loops: list[int], name: str) -> None:
        """One after the other through reductions of their own, which then become one."""
        between, current = [], c
        for position in factored_loops[:-1]:
            between.append(f"{name}_{len(between)}")
            self._factor(current, position, between[-1])
            current = between[-1]
        self._factor(current, factored_loops[-1], name)
        if not between:
            return
        values = [self.computations[n]["pieces"][0][1] for n in (c, *between)]
        ranges = [r for value in values for r in value[2]]
        whole = ["reduce", values[0][1], ranges, [], values[-1][4]]
        self.computations[c] = {**self.computations[c], "pieces": [[None, whole]]}
        self.iterators[c] = [*self.own(c), *(r[0] for r in ranges)]
        self.reduced[c] = len(ranges)
        self.nests[c] = self.nests[between[-1]]
        for gone in between:
            for table in (
                self.computations,
                self.nests,
                self.storage,
                self.iterators,
                self.reduced,
            ):
                del table[gone]  # type: ignore[attr-defined]
            self.order.remove(gone)

    def _converted(self, c: str, value: list[Any]) -> bool:
        """Whether the partial results are of another type than a reduction nested in their value."""
        same = type_of(value, self.types) == dtype_of(self.types[c])
        return not same and narrowed(value, self.types[c], self.types) is None

    def _require_a_range(self, computation: dict[str, Any], loop: Linear, gaps: bool) -> None:
        """Partial results are elements from 0 on; where each is one term, the terms must stand without gaps."""
        root = computation["pieces"][0][1]
        names = [r[0] for r in root[2]]
        ranges = [r[1:] for r in root[2]]
        for sizes in [(4, 4, 4), (5, 3, 2), (6, 6, 6), *itertools.product(range(3), repeat=3)]:
            base = dict(zip(AXES, sizes, strict=True))
            for env in points(
                computation["iterators"], computation["ranges"], computation["where"], base
            ):
                values = {loop.evaluate(e) for e in points(names, ranges, root[3], env)}
                if values and min(values) < 0:
                    raise Refused("negative")
                if values and not gaps and len(values) != max(values) - min(values) + 1:
                    raise Refused("gaps")

    def _cache(
        self,
        c: str,
        array: str,
        loop: str,
        name: str = "",
        memory: str = "auto",
        order: list[int] | None = None,
    ) -> None:
        """A copy's loops run in the `order` of its memory; which memory that is changes nothing that is judged."""
        if array not in self.computations and array not in self.inputs:
            raise Refused(f"nothing named {array}")
        number = 1
        while not name:
            suffix = "_local" if array == c else "_cache"
            candidate = f"{array}{suffix}{number if number > 1 else ''}"
            name = "" if self._taken(candidate) else candidate
            number += 1
        if self._taken(name):
            raise Refused("the name is taken")
        if array == c:
            self._cache_writes(c, loop, name)
            return
        if not reads_of(self.computations[c], array):
            raise Refused("not read")
        copy_of = copied(self.computations.get(array) or self.inputs[array], name)
        self.computations[c] = reading(self.computations[c], array, name)
        own = copy_of["iterators"]
        by_memory = [own[d] for d in order] if order else own
        self._add(copy_of, c, [Loop(i, iterator(i)) for i in by_memory], 0)
        self.types[name] = self.types[array]
        self.rewritten += (("cache", c, array, name),)
        self._compute_at(name, c, loop)
        self._store_at(name, c, loop)

    def _cache_writes(self, c: str, loop: str, name: str) -> None:
        """The loops inside of one become those of a local computation, whose results are copied out."""
        nest, own = self.nests[c], self.own(c)
        level = nest.find(loop)
        if nest.explicit:
            raise Refused("loops given as a map")
        outside = level + 1 + self.inherited(c)
        if any(p.shared > outside and c in p[:2] and not p.inside for p in self.placements):
            raise Refused("somebody else shares the loops inside")
        if any(one.value.looked_up() for one in nest.loops):
            raise NotModelled("loops that a planner made")
        summed = set(self.iterators[c][len(own) :])
        driven = [d for d in range(level + 1) if nest.loops[d].value.uses(summed)]
        if driven:
            self._factor_several(c, driven, name)
        else:
            local = {**self.computations[c], "name": name}
            self._add(local, c, list(nest.loops), self.reduced[c])
            self.types[name] = self.types[c]
            index = [[0, {i: 1}] for i in own]
            self.computations[c] = {**local, "name": c, "pieces": [[None, ["read", name, index]]]}
            self.iterators[c], self.reduced[c] = own, 0
            self.nests[c] = Nest([one for one in nest.loops if not one.value.uses(summed)])
            self.planned.pop(c, None)
            self.rewritten += (("cache", c, c, name),)
        del self.nests[name].loops[: level + 1]
        if not self._tells_apart(c):
            kept = self.nests[c] = Nest(self.nests[c].loops[: level + 1])
            for i in self.iterators[c]:
                kept.loops.append(Loop(kept.fresh(i), iterator(i)))
        self._compute_at(name, c, loop)
        self._store_at(name, c, loop)
        # What ran inside the loops for the reads of the computation runs there for the local one's.
        for p in [p for p in self.placements if p.inside and p.other == c]:
            if p.computation != name:
                self.placements[self.placements.index(p)] = p._replace(other=name)
                if p.computation in self.allocations:
                    levels = self.allocations[p.computation][1]
                    self.allocations[p.computation] = (name, levels)

    def _tells_apart(self, c: str) -> bool:
        """Whether the loops of a computation tell its instances apart, at rather large sizes."""
        loops = [loop.value for loop in self.nests[c].loops]
        if all(iterator(i) in loops for i in self.iterators[c]):
            return True
        one = self.computations[c]
        seen, count = set(), 0
        for env in points(one["iterators"], one["ranges"], one["where"], dict.fromkeys(AXES, 7)):
            ranges = one["pieces"][0][1][2] if self.reduced[c] else []
            where = one["pieces"][0][1][3] if self.reduced[c] else []
            for inner in points([r[0] for r in ranges], [r[1:] for r in ranges], where, env):
                seen.add(tuple(value.evaluate(inner) for value in loops))
                count += 1
        return len(seen) == count

    # ---- promises ----

    def _atomic(self, c: str) -> None:
        if not self.reduced[c] or self.computations[c]["pieces"][0][1][1].startswith("osum"):
            raise Refused("no reduction that takes its terms in any order")
        if self.types[c].startswith("complex"):
            raise Refused("two parts")
        self.atomic.add(c)

    def _assume(self, c: str, index: str, most: int) -> None:
        """The values of an array that are used as subscripts are 0 to `most`."""
        subscripts = [
            node
            for _, value in self.computations[c]["pieces"]
            for node in walk(value)
            if node[0] == "read" and any(is_computed(s) and s[1][1] == index for s in node[2])
        ]
        if not subscripts:
            raise Refused("no subscript")
        self.assumed[c, index] = min(most, self.assumed.get((c, index), most))

    def _independent(self, c: str, loop: str, *others: str) -> None:
        promise = {}
        for name in (c, *others):
            if name not in self.nests:
                raise Refused(f"no computation {name}")
            promise[name] = self.nests[name].loops[self.nests[name].find(loop)].value
        self.independent.append(promise)

    def _forget_promises(self, before: Model) -> None:
        """Promises are about instances: they stay where these are what they were."""
        self.atomic = {c for c in self.atomic if self.reduced.get(c)}
        same = {
            c
            for c in self.computations
            if self.iterators[c] == before.iterators.get(c) and self.reduced[c] == before.reduced[c]
        }
        for c, index in list(self.assumed):
            if c not in same:
                del self.assumed[c, index]
        self.independent = [{c: v for c, v in p.items() if c in same} for p in self.independent]

    # ---- storage ----

    def _storage_fold(self, c: str, i: str, d: int) -> None:
        buffer, index = self.storage[c]
        if [0, {i: 1}] not in index:
            raise Refused("no such dimension")
        if buffer in self.inputs:
            raise Refused("the size of an input is the caller's")
        self._store_in(c, buffer, [["mod", s, d] if s == [0, {i: 1}] else s for s in index])

    def _store_in(self, c: str, buffer: str, index: list[Any]) -> None:
        if buffer in self.inputs:
            self._require_same_array(c, self.inputs[buffer], index)
        self.storage[c] = (buffer, index)
        self.allocations.pop(c, None)
        if c in self.outputs and not self._everywhere(lambda sizes: self._in_its_place(c, sizes)):
            raise Refused("an output has its elements where the caller wants them")
        together = [n for n in self.storage if self.storage[n][0] == buffer]
        if any(
            self.types[n] != self.types[c] or len(self.storage[n][1]) != len(index)
            for n in together
        ):
            raise Refused("another type or rank")
        outputs = [n for n in together if n in self.outputs]
        if len(outputs) > 1:
            raise Refused("two outputs")
        if (
            outputs
            and buffer not in self.inputs
            and not self._everywhere(lambda sizes: self._has_room(together, sizes))
        ):
            raise Refused("the caller's array is written where the output does not write")

    def _require_same_array(self, c: str, array: dict[str, Any], index: list[Any]) -> None:
        """In place: elements of the caller's array, which is of one type and as large as it is."""
        if array["dtype"] != self.types[c] or len(array["extents"]) != len(index):
            raise Refused("another type or rank than the input's")

        def fits(sizes: dict[str, int]) -> bool:
            extents = [evaluate_affine(e, sizes) for e in array["extents"]]
            if c in self.outputs and self.shape(c, sizes) != extents:
                return False
            return all(
                0 <= evaluate_index(s, env) < extent
                for env in self._cells(c, sizes)
                for s, extent in zip(index, extents, strict=True)
            )

        if not self._everywhere(fits):
            raise Refused("another shape than the input's")

    def shape(self, c: str, sizes: dict[str, int]) -> list[int]:
        """Of an output, as the function tells callers."""
        known: dict[str, Any] = {"maximum": max, "minimum": min, **sizes}
        known["select"] = lambda condition, a, b: a if condition else b
        return [eval(text, {"__builtins__": {}}, known) for text in self.shapes[c]]

    @staticmethod
    def _everywhere(check: Callable[[dict[str, int]], bool]) -> bool:
        """Whether it holds at small sizes."""
        return all(
            check(dict(zip(AXES, sizes, strict=True)))
            for sizes in [
                *itertools.product(range(6), repeat=3),
                *itertools.product((0, 4, 9), repeat=3),
            ]
        )

    def _cells(self, c: str, sizes: dict[str, int]) -> list[dict[str, int]]:
        one = self.computations[c]
        return list(points(one["iterators"], one["ranges"], one["where"], sizes))

    def _in_its_place(self, c: str, sizes: dict[str, int]) -> bool:
        index, own = self.storage[c][1], self.own(c)
        return len(index) == len(own) and all(
            evaluate_index(s, env) == env[i]
            for env in self._cells(c, sizes)
            for s, i in zip(index, own, strict=True)
        )

    def _has_room(self, together: list[str], sizes: dict[str, int]) -> bool:
        """Whether the others write only what the one that is an output writes."""
        written: dict[bool, set[Any]] = {True: set(), False: set()}
        for name in together:
            index = self.storage[name][1]
            written[name in self.outputs] |= {
                tuple(evaluate_index(s, env) for s in index) for env in self._cells(name, sizes)
            }
        return written[False] <= written[True]

    def _auto_allocate_map(self, c: str) -> None:
        self.storage[c] = (c, [[0, {n: 1}] for n in self.own(c)])
        self.allocations.pop(c, None)


def time(value: list[Any]) -> Linear:
    """One dimension of set_schedule: affine in iterators, or a floor of that."""
    if value[0] == "div":
        return time(value[1]).floor(value[2])
    constant, terms = value
    return Linear(constant, {("iterator", n): k for n, k in terms.items()})


def index_of(parent: list[Any], node: list[Any]) -> int:
    return next(k for k, child in enumerate(parent) if child is node)
