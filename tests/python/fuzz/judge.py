"""The independent judge: what a schedule means, on concrete sizes, without isl and without the library's code.

`Model` keeps, for each computation, its loops as linear combinations of iterators and floors, as the documentation
of the commands says. `Judge` enumerates the instances of a program at concrete sizes, gives each the time vector of
the model, and asks of every pair that matters whether one happens before the other: two iterations of a parallel or
vector loop are not ordered. It reads declarations from the same plain data that the declaration is made of.
"""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from fuzz.programs import AXES, Program, walk

Sizes = dict[str, int]
Cell = tuple[int, ...]


class Refused(Exception):
    """The command's arguments do not make sense; the library must refuse it too."""


# ---- linear combinations ----


class Linear:
    """constant + sum of coefficient * atom; atoms are ("iterator", name), ("floor", Linear, d), ("start", position)."""

    __slots__ = ("constant", "terms")

    def __init__(self, constant: int = 0, terms: dict[Any, int] | None = None) -> None:
        self.constant = constant
        self.terms = {a: c for a, c in (terms or {}).items() if c != 0}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Linear) and (self.constant, self.terms) == (
            other.constant,
            other.terms,
        )

    def __hash__(self) -> int:
        return hash((self.constant, frozenset(self.terms.items())))

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            terms[atom] = terms.get(atom, 0) + factor * c
        return Linear(self.constant + factor * other.constant, terms)

    def times(self, factor: int) -> Linear:
        return Linear().plus(self, factor)

    def floor(self, d: int) -> Linear:
        """floor(self / d), multiples of d taken out."""
        outside = Linear(self.constant // d, {a: c // d for a, c in self.terms.items()})
        inside = self.plus(outside, -d)
        if not inside.terms:
            return outside
        return outside.plus(Linear(0, {("floor", inside, d): 1}))

    def uses(self, names: set[Any]) -> bool:
        return any(
            atom[1].uses(names) if atom[0] == "floor" else (atom in names or atom[1] in names)
            for atom in self.terms
        )

    def evaluate(self, env: dict[Any, int]) -> int:
        total = self.constant
        for atom, c in self.terms.items():
            if atom[0] == "floor":
                total += c * (atom[1].evaluate(env) // atom[2])
            elif atom[0] == "iterator":
                total += c * env[atom[1]]
            else:
                total += c * env[atom]
        return total


def iterator(name: str) -> Linear:
    return Linear(0, {("iterator", name): 1})


class Loop:
    __slots__ = ("extent", "factor", "name", "tag", "value")

    def __init__(
        self, name: str, value: Linear, tag: str = "", factor: int = 0, extent: int = 0
    ) -> None:
        self.name, self.value, self.tag, self.factor, self.extent = name, value, tag, factor, extent

    @property
    def concurrent(self) -> bool:
        return self.tag in ("parallel", "vector")


# ---- the model of a mapping ----


class Nest:
    """The loops of one computation."""

    def __init__(self, loops: list[Loop], explicit: bool = False) -> None:
        self.loops = loops
        self.explicit = explicit

    def find(self, name: str) -> int:
        for position, loop in enumerate(self.loops):
            if loop.name == name:
                return position
        raise Refused(f"no loop {name}")

    def require_new(self, names: list[str]) -> None:
        if len(set(names)) != len(names) or any(loop.name in names for loop in self.loops):
            raise Refused(f"names {names} are taken")


class Model:
    """A mapping as the documentation describes it; `apply` is one command."""

    def __init__(self, description: dict[str, Any]) -> None:
        self.order: list[str] = list(description["order"])
        self.placements: list[tuple[str, str, int, bool]] = [
            tuple(p) for p in description["placements"]
        ]
        self.iterators: dict[str, list[str]] = {}
        self.reduced: dict[str, int] = {}
        self.nests: dict[str, Nest] = {}
        self.storage: dict[str, tuple[str, list[Any]]] = {}
        #: Computations whose loops at the start are a planner's: their values are looked up in a table.
        self.planned: set[str] = set()
        #: Those of them that reduced iterators drive: (computation, position).
        self.planned_driven: set[tuple[str, int]] = set()
        for name, one in description["computations"].items():
            names = list(one["iterators"])
            self.iterators[name] = names
            self.reduced[name] = one["reduced"]
            loops = []
            for position, loop in enumerate(one["loops"]):
                if not one["explicit"] and loop["name"] in names:
                    loops.append(Loop(loop["name"], iterator(loop["name"])))
                else:
                    loops.append(Loop(loop["name"], Linear(0, {("start", position): 1})))
                    self.planned.add(name)
                    reduced = set(names[len(names) - one["reduced"] :])
                    if reduced & set(re.findall(r"\w+", loop["value"].split("->", 2)[-1])):
                        self.planned_driven.add((name, position))
            self.nests[name] = Nest(loops, one["explicit"])
            own = names[: len(names) - one["reduced"]]
            self.storage[name] = (name, [[0, {n: 1}] for n in own])

    def after(self, command: list[Any]) -> Model:
        """The model after [computation, name, arguments]; raises Refused."""
        result = copy.deepcopy(self)
        computation, name, arguments = command
        getattr(result, "_" + name)(computation, *arguments)
        return result

    # ---- loops ----

    def _strip(self, loop: Loop, size: int, outer: str, inner: str) -> tuple[Loop, Loop]:
        block = loop.value.floor(size)
        return Loop(outer, block), Loop(inner, loop.value.plus(block, -size), extent=size)

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
        loop = self.nests[c].loops[self.nests[c].find(i)]
        loop.value = loop.value.times(-1)

    def _shift(self, c: str, i: str, s: int) -> None:
        loop = self.nests[c].loops[self.nests[c].find(i)]
        loop.value = loop.value.plus(Linear(s))

    def _skew(self, c: str, i: str, j: str, f: int = 1) -> None:
        nest = self.nests[c]
        if i == j:
            raise Refused("skewed by itself")
        loop = nest.loops[nest.find(j)]
        loop.value = loop.value.plus(nest.loops[nest.find(i)].value, f)
        loop.extent = 0

    def _parallelize(self, c: str, i: str) -> None:
        loop = self.nests[c].loops[self.nests[c].find(i)]
        loop.tag, loop.factor = "parallel", 0

    def _tag_strip(self, tag: str, c: str, i: str, v: int) -> None:
        nest = self.nests[c]
        position = nest.find(i)
        if nest.loops[position].extent != v:
            self._split(c, i, v)
            position += 1
        nest.loops[position].tag, nest.loops[position].factor = tag, v

    def _vectorize(self, c: str, i: str, v: int) -> None:
        self._tag_strip("vector", c, i, v)

    def _unroll(self, c: str, i: str, v: int) -> None:
        self._tag_strip("unroll", c, i, v)

    def _set_schedule(self, c: str, dimensions: list[Any]) -> None:
        loops: list[Loop] = []
        taken: set[str] = set()
        for position, (constant, terms) in enumerate(dimensions):
            value = Linear(constant, {("iterator", n): k for n, k in terms.items()})
            name = f"t{position}"
            for own in self.iterators[c]:
                if value == iterator(own) and own not in taken:
                    name = own
                    taken.add(own)
                    break
            loops.append(Loop(name, value))
        self.nests[c] = Nest(loops, True)
        self.placements = [p for p in self.placements if p[0] != c]

    # ---- order ----

    def _place(self, c: str, other: str, level: str, before: bool) -> None:
        if c == other:
            raise Refused("relative to itself")
        shared = 0
        if level:
            shared = self.nests[other].find(level) + 1
            if shared > len(self.nests[c].loops):
                raise Refused("too few loops")
        at = {p[0]: p[1] for p in self.placements}
        current: str | None = other
        while current is not None:
            current = at.get(current)
            if current == c:
                raise Refused("circular")
        self.placements = [p for p in self.placements if p[0] != c]
        self.nests[c].explicit = False
        self.placements.append((c, other, shared, before))

    def _after(self, c: str, other: str, level: str = "") -> None:
        self._place(c, other, level, False)

    def _before(self, c: str, other: str, level: str = "") -> None:
        self._place(c, other, level, True)

    def _then(self, c: str, other: str, level: str = "") -> None:
        self._place(other, c, level, False)

    def paths(self) -> dict[str, list[int]]:
        """Static positions s0, s1, ... of each computation: a tree of sequences, by nested lists."""
        root: list[Any] = []
        found: dict[str, list[list[Any]]] = {}
        placed = {p[0]: p for p in self.placements if not self.nests[p[0]].explicit}
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
            elif name not in placed:
                found[name] = branch(root, len(root), len(nest.loops) + 1)
            else:
                _, other, shared, before = placed[name]
                insert(other)
                theirs = found[other]
                shared = min(shared, len(theirs) - 1, len(nest.loops))
                parent = theirs[shared - 1] if shared else root
                at = index_of(parent, theirs[shared]) + (0 if before else 1)
                found[name] = theirs[:shared] + branch(parent, at, len(nest.loops) + 1 - shared)

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

    def _fuse_with(self, c: str, other: str, level: str = "") -> None:
        common = min(len(self.nests[c].loops), len(self.nests[other].loops))
        if not level and common == 0:
            raise Refused("no loops to share")
        self._place(c, other, level or self.nests[other].loops[common - 1].name, False)

    def _fission(self, c: str, i: str) -> None:
        level = self.nests[c].find(i)
        cut = [p for p in self.placements if c in p[:2] and p[2] > level]
        if not cut:
            raise Refused("not shared")
        self.placements = [(*p[:2], level, p[3]) if p in cut else p for p in self.placements]

    def _transform(self, c: str, *arguments: Any) -> None:
        nest, names, flat = self.nests[c], arguments[:-1], arguments[-1]
        loops = [nest.loops[nest.find(name)] for name in names]
        values = [loop.value for loop in loops]
        for row, loop in enumerate(loops):
            loop.value = Linear()
            for column, value in enumerate(values):
                loop.value = loop.value.plus(value, flat[row * len(names) + column])
            loop.extent = 0

    # ---- storage ----

    def _storage_fold(self, c: str, i: str, d: int) -> None:
        buffer, index = self.storage[c]
        if [0, {i: 1}] not in index:
            raise Refused("no such dimension")
        self.storage[c] = (buffer, [["mod", s, d] if s == [0, {i: 1}] else s for s in index])

    def _store_in(self, c: str, buffer: str, index: list[Any]) -> None:
        self.storage[c] = (buffer, index)


def index_of(parent: list[Any], node: list[Any]) -> int:
    return next(k for k, child in enumerate(parent) if child is node)


# ---- concrete sizes ----


def evaluate_affine(value: list[Any], env: dict[Any, int]) -> int:
    total: int = value[0]
    for name, coefficient in value[1].items():
        total += coefficient * env[name]
    return total


def evaluate_index(index: list[Any], env: dict[Any, int]) -> int:
    if index[0] == "mod":
        return evaluate_affine(index[1], env) % int(index[2])
    if index[0] == "div":
        return evaluate_affine(index[1], env) // int(index[2])
    return evaluate_affine(index, env)


def holds(condition: Any, env: dict[Any, int]) -> bool:
    if condition is None:
        return True
    together = all(evaluate_affine(c, env) >= 0 for c in condition[1])
    return together if condition[0] == "all" else not together


def points(
    names: list[str], ranges: list[Any], where: list[Any], env: dict[Any, int]
) -> Iterator[dict[Any, int]]:
    """All environments in a box with bounds over earlier names, where the constraints hold."""
    if not names:
        if all(evaluate_affine(c, env) >= 0 for c in where):
            yield dict(env)
        return
    low, high = (evaluate_affine(bound, env) for bound in ranges[0])
    for value in range(low, high):
        yield from points(names[1:], ranges[1:], where, {**env, names[0]: value})


class Space:
    """The instances of a program at concrete sizes and what each reads; independent of any mapping."""

    def __init__(
        self, program: Program, sizes: Sizes, by_body: set[str], limit: int = 4000
    ) -> None:
        self.sizes = sizes
        self.computations = {c["name"]: c for c in program["computations"]}
        self.outputs = set(program["outputs"])
        #: (computation, role) -> [(instance, environment, cell, reads)]; a read is (computation, cell)
        self.instances: dict[
            tuple[str, str], list[tuple[Cell, dict[Any, int], Cell, list[tuple[str, Cell]]]]
        ] = {}
        self.cells: dict[str, set[Cell]] = {}
        self._wide: dict[str, list[dict[Any, int]]] = {}
        self.count = 0
        base: dict[Any, int] = {axis: sizes.get(axis, 0) for axis in AXES}
        for computation in program["computations"]:
            self.cells[computation["name"]] = {
                tuple(env[i] for i in computation["iterators"])
                for env in points(
                    computation["iterators"], computation["ranges"], computation["where"], base
                )
            }
        for computation in program["computations"]:
            self._enumerate(computation, base, computation["name"] in by_body, limit)

    def wide(self, name: str) -> list[dict[Any, int]]:
        """The elements of a computation at rather large sizes."""
        if name not in self._wide:
            one = self.computations[name]
            base: dict[Any, int] = dict.fromkeys(AXES, 9)
            self._wide[name] = list(points(one["iterators"], one["ranges"], one["where"], base))
        return self._wide[name]

    def _enumerate(
        self, computation: dict[str, Any], base: dict[Any, int], by_body: bool, limit: int
    ) -> None:
        name, names = computation["name"], computation["iterators"]
        values: list[Any] = []
        inits: list[Any] = []
        updates: list[Any] = []
        for env in points(names, computation["ranges"], computation["where"], base):
            cell = tuple(env[i] for i in names)
            value = next(v for condition, v in computation["pieces"] if holds(condition, env))
            if by_body:
                inits.append((cell, env, cell, []))
                _, _, ranges, where, body = value
                reduced = [r[0] for r in ranges]
                for inner in points(reduced, [r[1:] for r in ranges], where, env):
                    instance = (*cell, *(inner[k] for k in reduced))
                    updates.append((instance, inner, cell, list(self._reads(body, inner))))
            else:
                values.append((cell, env, cell, list(self._reads(value, env))))
            self.count += 1
            if self.count + len(updates) > limit:
                raise OverflowError("too many instances")
        self.count += len(updates)
        if by_body:
            self.instances[name, "initialise"] = inits
            self.instances[name, "update"] = updates
        else:
            self.instances[name, "value"] = values

    def _reads(self, value: list[Any], env: dict[Any, int]) -> Iterator[tuple[str, Cell]]:
        operation, *rest = value
        if operation == "read":
            name, subscripts = rest
            for subscript in subscripts:
                if subscript[0] == "at":
                    yield from self._reads(subscript[1], env)
            if name not in self.computations:
                return
            if any(s[0] == "at" for s in subscripts):
                # A subscript that is not affine may be any.
                known = {
                    d: evaluate_index(s, env) for d, s in enumerate(subscripts) if s[0] != "at"
                }
                for cell in self.cells[name]:
                    if all(cell[d] == at for d, at in known.items()):
                        yield name, cell
            else:
                yield name, tuple(evaluate_index(s, env) for s in subscripts)
        elif operation == "select":
            taken = all(evaluate_affine(c, env) >= 0 for c in rest[0])
            yield from self._reads(rest[1] if taken else rest[2], env)
        elif operation == "reduce":
            _, ranges, where, body = rest
            for inner in points([r[0] for r in ranges], [r[1:] for r in ranges], where, env):
                yield from self._reads(body, inner)
        elif operation not in ("const", "aff"):
            for child in rest:
                yield from self._reads(child, env)


# ---- the verdict ----

Time = tuple[tuple[int, int, bool], ...]


def happens_before(a: Time, b: Time) -> bool:
    """a and b: (static position, loop value, whether that loop is concurrent) for each level."""
    for (s, v, concurrent), (t, w, other) in zip(a, b, strict=True):
        if s != t:
            return s < t
        if v != w:
            return v < w and not (concurrent or other)
    return False


class Judge:
    """One mapping at one set of sizes."""

    def __init__(
        self,
        model: Model,
        space: Space,
        start: dict[tuple[str, Cell], dict[int, int]] | None = None,
    ) -> None:
        self.model = model
        self.space = space
        self.start = start or {}
        self.depth = max([len(n.loops) for n in model.nests.values()], default=0) + 1
        self.paths = model.paths()
        #: (computation, role, instance) -> time
        self.times: dict[tuple[str, str, Cell], Time] = {}
        depth = 0
        for (name, role), instances in space.instances.items():
            make = self._initial_time(name) if role == "initialise" else self._time(name)
            for instance, env, _, _ in instances:
                time = make(instance, env)
                depth = max(depth, len(time))
                self.times[name, role, instance] = time
        for key, time in self.times.items():
            self.times[key] = time + ((0, 0, False),) * (depth - len(time))

    def _environment(self, name: str, instance: Cell, env: dict[Any, int]) -> dict[Any, int]:
        if name not in self.model.planned:
            return env
        values = self.start[name, instance]
        return {**env, **{("start", position): value for position, value in values.items()}}

    def _time(self, name: str) -> Any:
        loops, path = self.model.nests[name].loops, self.paths[name]
        statics = [2 * p + 1 for p in path]

        def make(instance: Cell, env: dict[Any, int]) -> Time:
            env = self._environment(name, instance, env)
            levels = [
                (s, loop.value.evaluate(env), loop.concurrent)
                for s, loop in zip(statics, loops, strict=False)
            ]
            levels.extend((s, 0, False) for s in statics[len(loops) :])
            return tuple(levels)

        return make

    def _initial_time(self, name: str) -> Any:
        """The loops before the first one that a reduced iterator drives; then those that are left, or, where these do
        not tell instances apart, the iterators."""
        loops, path = self.model.nests[name].loops, self.paths[name]
        names = self.model.iterators[name]
        own = names[: len(names) - self.model.reduced[name]]
        by_plan = {("start", position) for c, position in self.model.planned_driven if c == name}
        driven = [loop.value.uses(set(names[len(own) :]) | by_plan) for loop in loops]
        prefix = driven.index(True) if True in driven else len(loops)
        kept = [loop for loop, by_reduced in zip(loops, driven, strict=True) if not by_reduced]
        statics = [2 * p + 1 for p in path[: prefix + 1]]
        statics[-1] -= 1

        def with_loops(chosen: list[Loop]) -> Any:
            def make(instance: Cell, env: dict[Any, int]) -> Time:
                env = self._environment(name, instance, env)
                values = [(loop.value.evaluate(env), loop.concurrent) for loop in chosen]
                static = statics + [0] * (len(chosen) + 1 - len(statics))
                return tuple((s, *v) for s, v in zip(static, [*values, (0, False)], strict=True))

            return make

        if not self._tells_apart(name, kept):
            kept = loops[:prefix] + [Loop(i, iterator(i)) for i in own]
        return with_loops(kept)

    def _tells_apart(self, name: str, loops: list[Loop]) -> bool:
        """Whether no two instances have the same values of the loops, at sizes where a difference would show."""
        if name in self.model.planned:
            instances = self.space.instances[name, "initialise"]
            environments = [
                self._environment(name, instance, env) for instance, env, _, _ in instances
            ]
        else:
            environments = self.space.wide(name)
        seen = {tuple(loop.value.evaluate(env) for loop in loops) for env in environments}
        return len(seen) == len(environments)

    def element(self, name: str, cell: Cell) -> tuple[str, Cell]:
        buffer, index = self.model.storage[name]
        names = self.model.iterators[name]
        env: dict[Any, int] = {**self.space.sizes, **dict(zip(names, cell, strict=False))}
        return buffer, tuple(evaluate_index(i, env) for i in index)

    def violation(self) -> str | None:
        """The first thing that goes wrong, or None."""
        sources: dict[tuple[str, Cell], list[tuple[Any, Time]]] = defaultdict(list)
        writes: dict[tuple[str, Cell], list[tuple[tuple[str, Cell], Any, Time]]] = defaultdict(list)
        for (name, role), instances in self.space.instances.items():
            for instance, _, cell, _ in instances:
                key = (name, role, instance)
                sources[name, cell].append((key, self.times[key]))
                writes[self.element(name, cell)].append(((name, cell), key, self.times[key]))
        shared = {e for e, ws in writes.items() if len({w[0] for w in ws}) > 1}
        for (name, role), instances in self.space.instances.items():
            for instance, _, cell, reads in instances:
                key = (name, role, instance)
                time = self.times[key]
                if role == "update":
                    problem = self._accumulation(key, time, sources[name, cell], writes, shared)
                    if problem:
                        return problem
                for value in reads:
                    for source, at in sources[value]:
                        if not happens_before(at, time):
                            return f"{key} reads {value}, but {source} does not come before it"
                        problem = self._overwritten(value, source, at, key, time, writes, shared)
                        if problem:
                            return problem
        for name in self.space.outputs:
            for cell in self.space.cells[name]:
                element = self.element(name, cell)
                for source, at in sources[name, cell] if element in shared else ():
                    for other, writer, when in writes[element]:
                        if other != (name, cell) and not happens_before(when, at):
                            return f"{writer} overwrites {element}, the output of {source}"
        return None

    def _accumulation(
        self, key: Any, time: Time, sources: Any, writes: Any, shared: Any
    ) -> str | None:
        for source, at in sources:
            if source == key:
                continue
            if source[1] == "initialise":
                if not happens_before(at, time):
                    return f"{key} comes before {source}"
                problem = self._overwritten(
                    (key[0], source[2]), source, at, key, time, writes, shared
                )
                if problem:
                    return problem
            elif not happens_before(at, time) and not happens_before(time, at):
                return f"{key} and {source} are not ordered"
        return None

    def _overwritten(
        self, value: Any, source: Any, at: Time, sink: Any, time: Time, writes: Any, shared: Any
    ) -> str | None:
        element = self.element(*value)
        if element not in shared:
            return None
        for other, writer, when in writes[element]:
            if other == value or writer == sink:
                continue
            if not happens_before(when, at) and not happens_before(time, when):
                return f"{writer} overwrites {element}, which {source} wrote and {sink} reads"
        return None


class Unknown(Exception):
    """The starting point cannot be judged: the loops of an initialisation are not those of its updates."""


def start_table(
    description: dict[str, Any], model: Model
) -> dict[tuple[str, Cell], dict[int, int]]:
    """Loop values of the computations that a planner scheduled, from the description at concrete sizes."""
    table: dict[tuple[str, Cell], dict[int, int]] = {}
    for statement in description["statements"]:
        name = statement["computation"]
        if name not in model.planned:
            continue
        loops = [loop["name"] for loop in description["computations"][name]["loops"]]
        positions = list(range(len(loops)))
        if statement["role"] == "initialise":
            positions = [p for p in positions if (name, p) not in model.planned_driven]
            if statement["loop_names"] != [loops[p] for p in positions]:
                raise Unknown(name)
        for instance, time in statement["times"]:
            table[name, tuple(instance)] = {p: time[2 * d + 1] for d, p in enumerate(positions)}
    return table


def disagreement(judge: Judge, description: dict[str, Any]) -> str | None:
    """Where the time vectors of the library order instances otherwise than the judge's, or hold other loop values."""
    ours: list[Any] = []
    theirs: list[Any] = []
    # A reduction over nothing has an initialisation and no updates beside which it could be placed.
    idle = {
        c
        for (c, role), instances in judge.space.instances.items()
        if role == "update" and not instances
    }
    for statement in description["statements"]:
        name, role = statement["computation"], statement["role"]
        if name in idle:
            continue
        found = {tuple(instance): tuple(time) for instance, time in statement["times"]}
        for instance, time in found.items():
            mine = judge.times.get((name, role, instance))
            if mine is None:
                return f"{name}{instance} ({role}) is no instance"
            flat = tuple(x for level in mine for x in level[:2])
            if role != "initialise":
                values = [v for _, v, _ in mine]
                if any(time[2 * d + 1] != v for d, v in enumerate(values) if 2 * d + 1 < len(time)):
                    return f"{name}{instance} ({role}) runs at {time}, not at {flat}"
            ours.append(flat)
            theirs.append(time)
    expected = sum(len(i) for (c, _), i in judge.space.instances.items() if c not in idle)
    if len(ours) != expected:
        return f"{len(ours)} instances, expected {expected}"
    ranks_ours = {t: r for r, t in enumerate(sorted(set(ours)))}
    ranks_theirs = {t: r for r, t in enumerate(sorted(set(theirs)))}
    for mine, other in zip(ours, theirs, strict=True):
        if ranks_ours[mine] != ranks_theirs[other]:
            return f"the order differs at time {other} (here {mine})"
    return None


def has_reduction(program: Program) -> bool:
    return any(
        n[0] == "reduce" for c in program["computations"] for _, v in c["pieces"] for n in walk(v)
    )
