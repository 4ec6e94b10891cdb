"""Which parts of expressions become computations of their own before anything is scheduled: reductions beside the one
that a computation is scheduled by, and what fewer iterators than there are around it need.

From the documentation of the library, on equations as plain data. The instances of such a part are those that its reader
needs; they are found by looking at every element of the reader, at the sizes that are asked for. Conditions on data are
nodes here, as the library has them: ["if", condition, a, b] and ["only", condition, term] with ["less", a, b].
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fuzz.programs import AXES, dtype_of, type_of
from fuzz.reductions import of_type
from fuzz.rewriting import evaluate, evaluate_affine, is_affine, points

Cells = set[tuple[int, ...]]
#: Sizes at which sets are compared.
COMPARED = [*itertools.product(range(5), repeat=3), (7, 7, 7), (8, 6, 7)]


# ---- expressions with conditions and conversions as nodes ----


def parts(value: list[Any]) -> list[list[Any]]:
    """What a node is made of, in the order in which it is written."""
    operation, *rest = value
    if operation in ("const", "aff"):
        return []
    if operation == "read":
        return [s[1] for s in rest[1] if not callable(s) and s[0] == "at"]
    if operation == "reduce":
        return [rest[3]]
    first = {"select": 1, "cast": 1, "call": 1}.get(operation, 0)
    last = len(rest) - 1 if operation == "while" else len(rest)
    return list(rest[first:last])


def with_parts(value: list[Any], new: list[list[Any]]) -> list[Any]:
    operation, *rest = value
    if operation in ("const", "aff"):
        return value
    if operation == "read":
        given = iter(new)
        computed = [not callable(s) and s[0] == "at" for s in rest[1]]
        subscripts = [
            ["at", next(given)] if c else s for c, s in zip(computed, rest[1], strict=True)
        ]
        return ["read", rest[0], subscripts]
    if operation == "reduce":
        return [operation, *rest[:3], *new]
    first = {"select": 1, "cast": 1, "call": 1}.get(operation, 0)
    tail = rest[-1:] if operation == "while" else []
    return [operation, *rest[:first], *new, *tail]


def converted(value: list[Any], dtype: Any, types: dict[str, str]) -> list[Any]:
    same = type_of(plain(value), types) == dtype
    return value if same else ["cast", np.dtype(dtype).name, value]


def explicit(value: list[Any], types: dict[str, str]) -> list[Any]:
    """With every conversion that NumPy's rules make, and none that changes nothing."""

    def common(*given: list[Any]) -> list[list[Any]]:
        dtype = np.result_type(*(type_of(plain(v), types) for v in given))
        return [converted(v, dtype, types) for v in given]

    inner = [explicit(part, types) for part in parts(value)]
    operation = value[0]
    if operation == "cast":
        return converted(inner[0], dtype_of(value[1]), types)
    if operation in ("add", "sub", "mul", "min", "max", "select", "call"):
        return with_parts(value, common(*inner))
    if operation == "choose":
        return ["if", ["less", *common(*inner[:2])], *common(*inner[2:])]
    if operation == "guard":
        return ["only", ["less", *common(*inner[:2])], inner[2]]
    if operation == "reduce":
        dtype = type_of(value, types)
        (body,) = inner
        if body[0] == "only":
            body = ["only", body[1], converted(body[2], dtype, types)]
        else:
            body = converted(body, dtype, types)
        return with_parts(value, [body])
    return with_parts(value, inner)


def plain(value: list[Any]) -> list[Any]:
    """The same in the notation of programs."""
    inner = [plain(part) for part in parts(value)]
    operation = value[0]
    if operation == "less":
        return ["cast", "bool", ["choose", *inner, ["const", 1], ["const", 0]]]
    if operation in ("if", "only"):
        condition = value[1]
        if condition[0] == "less":
            sides = [plain(side) for side in condition[1:]]
        else:
            sides = [["const", 0], ["cast", "int32", inner[0]]]
        return ["choose" if operation == "if" else "guard", *sides, *inner[1:]]
    return with_parts(value, inner)


def nodes(value: list[Any]) -> Iterator[list[Any]]:
    yield value
    for part in parts(value):
        yield from nodes(part)


def reduces(value: list[Any]) -> bool:
    return any(node[0] == "reduce" for node in nodes(value))


def mentioned(value: list[Any], bound: frozenset[str] = frozenset()) -> list[str]:
    """The iterators that a value uses from outside."""

    def names(affine: Any) -> list[str]:
        if affine[0] in ("mod", "div"):
            return names(affine[1])
        return [n for n in affine[1] if n not in AXES and n not in bound]

    operation = value[0]
    found: list[str] = []
    if operation == "aff":
        found = names(value[1])
    elif operation == "read":
        found = [n for s in value[2] if s[0] != "at" for n in names(s)]
    elif operation == "select":
        found = [n for condition in value[1] for n in names(condition)]
    elif operation == "reduce":
        for name, low, high in value[2]:
            found += mentioned(["aff", low], bound) + mentioned(["aff", high], bound)
            bound |= {name}
        found += [n for condition in value[3] for n in mentioned(["aff", condition], bound)]
    for part in parts(value):
        found += mentioned(part, bound)
    return list(dict.fromkeys(found))


def key_of(value: list[Any]) -> str:
    """One text for all values that differ in the names of iterators only."""
    names = {name: f"%{k}" for k, name in enumerate(mentioned(value))}

    def affine(given: Any, known: dict[str, str]) -> Any:
        if given[0] in ("mod", "div"):
            return [given[0], affine(given[1], known), given[2]]
        return [given[0], [(known.get(n, n), c) for n, c in given[1].items()]]

    def text(node: list[Any], known: dict[str, str], depth: int) -> Any:
        operation, *rest = node
        if operation == "aff":
            return [operation, affine(rest[0], known)]
        if operation == "read":
            return [
                operation,
                rest[0],
                [
                    ["at", text(s[1], known, depth)] if s[0] == "at" else affine(s, known)
                    for s in rest[1]
                ],
            ]
        if operation == "reduce":
            ranges = []
            for r, (name, low, high) in enumerate(rest[1]):
                ranges.append([affine(low, known), affine(high, known)])
                known = {**known, name: f"%{depth}.{r}"}
            where = [affine(c, known) for c in rest[2]]
            return [operation, rest[0], ranges, where, text(rest[3], known, depth + 1)]
        inner = [text(part, known, depth) for part in parts(node)]
        kept = [affine(c, known) for c in rest[0]] if operation == "select" else []
        if operation in ("cast", "call"):
            kept = [rest[0]]
        return [operation, kept, *inner, rest[-1] if operation == "while" else None]

    return repr(text(value, names, 0))


def with_inner_terms(value: list[Any], types: dict[str, str]) -> list[Any]:
    """A reduction of a reduction of the same operation as one over the iterators of both; others as they are."""
    if value[0] != "reduce" or value[1].startswith("osum") or value[4][0] == "only":
        return value
    inner = with_inner_terms(value[4], types)
    if inner[0] != "reduce" or inner[4][0] == "only":
        return value
    ranges = [*value[2], *inner[2]]
    alike = inner[1].partition("/")[0] == value[1].partition("/")[0]
    if (
        not alike
        or type_of(plain(inner), types) != type_of(plain(value), types)
        or len({r[0] for r in ranges}) != len(ranges)
    ):
        return value
    return ["reduce", value[1], ranges, [*value[3], *inner[3]], inner[4]]


def joined(value: list[Any], types: dict[str, str]) -> list[Any]:
    both = with_inner_terms(value, types)
    if both is not value:
        return both
    return with_parts(value, [joined(part, types) for part in parts(value)])


def has_few_terms(reduction: list[Any]) -> bool:
    terms = 1
    for _, low, high in reduction[2]:
        if low[1] or high[1]:
            return False
        terms *= max(0, high[0] - low[0])
    return terms <= 16


def decided(condition: list[Any], types: dict[str, str]) -> bool:
    """Whether a condition is one of iterators and sizes alone, as the library can tell."""
    return condition[0] == "less" and all(is_affine(plain(s), types) for s in condition[1:])


# ---- the instances of a part ----


class Part:
    """A part of a reader's value, and for which values of its iterators it is computed at given sizes."""

    def __init__(
        self,
        reader: dict[str, Any],
        node: list[Any],
        iterators: list[str],
        certain: bool,
        types: dict[str, str],
    ) -> None:
        self.certain = certain  # no data decide whether it is computed
        self.reader, self.node, self.iterators, self.types = reader, node, iterators, types
        self.key, self.written = key_of(node), mentioned(node)
        self.known: dict[tuple[int, ...], tuple[Cells, Cells]] = {}

    def cells(self, sizes: tuple[int, ...]) -> tuple[Cells, Cells]:
        """Those for certain; those for which data decide."""
        if sizes not in self.known:
            found: tuple[Cells, Cells] = (set(), set())
            one, base = self.reader, dict(zip(AXES, sizes, strict=True))
            for env in points(one["iterators"], one["ranges"], one["where"], base):
                for condition, value in one["pieces"]:
                    if condition is not None:
                        together = all(evaluate_affine(c, env) >= 0 for c in condition[1])
                        if together != (condition[0] == "all"):
                            continue
                    self._walk(value, env, True, found)
            self.known[sizes] = found
        return self.known[sizes]

    def _walk(
        self, value: list[Any], env: dict[str, int], certain: bool, found: tuple[Cells, Cells]
    ) -> None:
        if value is self.node:
            found[0 if certain else 1].add(tuple(env[i] for i in self.iterators))
            return
        operation, *rest = value
        if not any(node is self.node for node in nodes(value)):
            return
        if operation == "reduce":
            _, ranges, where, body = rest
            for inner in points([r[0] for r in ranges], [r[1:] for r in ranges], where, env):
                self._walk(body, inner, certain, found)
        elif operation == "select":
            taken = all(evaluate_affine(c, env) >= 0 for c in rest[0])
            self._walk(rest[1] if taken else rest[2], env, certain, found)
        elif operation in ("if", "only"):
            if operation == "if" and decided(rest[0], self.types):
                first, second = (evaluate(plain(side), env) for side in rest[0][1:])
                taken = first < second
                self._walk(rest[1] if taken else rest[2], env, certain, found)
                return
            self._walk(rest[0], env, certain, found)
            for branch in rest[1:]:
                self._walk(branch, env, False, found)
        else:
            for k, part in enumerate(parts(value)):
                self._walk(part, env, certain and not (operation == "while" and k == 2), found)

    def is_always_certain(self) -> bool:
        """Computed for certain, if anywhere, and then wherever data may ask for it."""
        sets = [self.cells(sizes) for sizes in COMPARED]
        return self.certain and all(doubtful <= certain for certain, doubtful in sets)

    def needed(self, env: dict[Any, int]) -> Cells:
        return self.cells(tuple(env[axis] for axis in AXES))[0]

    def bound(self, position: int, largest: bool) -> Callable[[dict[Any, int]], int]:
        def value(env: dict[Any, int]) -> int:
            values = [cell[position] for cell in self.needed(env)]
            return (max(values) + 1 if largest else min(values)) if values else 0

        return value

    def is_needed(self, env: dict[Any, int]) -> int:
        """Not negative where it is."""
        return 0 if tuple(env[i] for i in self.iterators) in self.needed(env) else -1

    def computation(self, name: str) -> dict[str, Any]:
        dimensions = range(len(self.iterators))
        return {
            "name": name,
            "iterators": list(self.iterators),
            "ranges": [[self.bound(d, False), self.bound(d, True)] for d in dimensions],
            "where": [self.is_needed],
            "pieces": [[None, self.node]],
        }


# ---- what is isolated ----


class Isolation:
    """The computations of a program in which parts of expressions are isolated; `types` gets theirs."""

    def __init__(self, computations: dict[str, Any], inputs: list[str], types: dict[str, str]):
        self.types = types
        self.computations: dict[str, Any] = {}
        for name, one in computations.items():
            pieces = [
                [c, explicit(of_type(v, types[name], types), types)] for c, v in one["pieces"]
            ]
            self.computations[name] = {**one, "pieces": pieces}
        self.taken = {*AXES, *inputs, *computations}
        self.several = self._several()
        self.registry: dict[str, tuple[str, Part]] = {}
        self.isolated: set[str] = set()
        waiting = list(self.computations)
        while waiting:
            waiting[:0] = self._isolate(waiting.pop(0))
        self._put_before_readers()
        for name, one in self.computations.items():
            pieces = [[condition, plain(value)] for condition, value in one["pieces"]]
            self.computations[name] = {**one, "pieces": pieces}

    def _several(self) -> set[str]:
        """Reductions that are written more than once in a computation."""
        found = set()
        for one in self.computations.values():
            keys = [
                key_of(node) for _, v in one["pieces"] for node in nodes(v) if node[0] == "reduce"
            ]
            found |= {key for key in keys if keys.count(key) > 1}
        return found

    def _own(self, name: str) -> list[Any] | None:
        """The first that uses all iterators and that nobody else needs."""
        one = self.computations[name]
        if len(one["pieces"]) != 1 or any(
            node[:2] == ["read", name] for node in nodes(one["pieces"][0][1])
        ):
            return None
        value = one["pieces"][0][1]
        wanted = dtype_of(self.types[name])
        for node in computed_always(value):
            if node is value and node[0] == "reduce":
                return node
            if (
                node[0] == "reduce"
                and type_of(plain(node), self.types) == wanted
                and len(mentioned(node)) == len(one["iterators"])
                and key_of(node) not in self.several
            ):
                return node
        return None

    def _isolate(self, name: str) -> list[str]:
        one = self.computations[name]
        pieces = [[condition, joined(value, self.types)] for condition, value in one["pieces"]]
        one = self.computations[name] = {**one, "pieces": pieces}
        own = self._own(name)
        found: list[Part] = []

        def search(value: list[Any], around: list[str], certain: bool) -> None:
            if not reduces(value):
                return
            used = mentioned(value)
            kept = [n for n in around if n in used]
            # A loop's states are known inside of it only; conditions on terms belong to these.
            loops = any(node[0] == "while" for node in nodes(value))
            if (
                value is not own
                and value[0] != "only"
                and not loops
                and len(set(around)) == len(around)
            ):
                part = Part(one, value, kept, certain, self.types)
                if len(kept) < len(around) or self._whole(name, part):
                    found.append(part)
                    return
            inner = [*around, *(r[0] for r in value[2])] if value[0] == "reduce" else around
            for k, child in enumerate(parts(value)):
                search(child, inner, certain and not self._by_data(value, k))

        for _, value in one["pieces"]:
            search(value, one["iterators"], True)
        made, reads = [], []
        for part in found:
            if not part.is_always_certain() or self._reaches(part.node, name):
                continue
            known = self.registry.get(part.key)
            if known is not None and self._holds(known[1], part):
                reads.append((part.node, self._read(*known, part)))
                continue
            new = self._new_name(name, part.node)
            self.types[new] = type_of(plain(part.node), self.types).name
            isolated = part.computation(new)
            whole = of_type(plain(part.node), self.types[new], self.types)
            isolated["pieces"] = [[None, explicit(whole, self.types)]]
            self.computations[new] = isolated
            self.isolated.add(new)
            made.append(new)
            reads.append((part.node, self._read(new, part, part)))
            self.registry[part.key] = (new, part)
        if reads:
            pieces = [[c, replaced(value, reads)] for c, value in one["pieces"]]
            self.computations[name] = {**one, "pieces": pieces}
        return made

    def _by_data(self, value: list[Any], part: int) -> bool:
        """Whether data decide if this part of a value that is computed is computed too."""
        if value[0] == "if":
            return part > 0 and not decided(value[1], self.types)
        return (value[0] == "only" and part > 0) or (value[0] == "while" and part == 2)

    def _whole(self, name: str, part: Part) -> bool:
        """Of what uses all iterators around it."""
        known = self.registry.get(part.key)
        if known is not None:
            return known[0] != name
        is_reduction = part.node[0] == "reduce"
        return is_reduction and (part.key in self.several or not has_few_terms(part.node))

    def _reaches(self, value: list[Any], reader: str) -> bool:
        seen: set[str] = set()
        waiting = [value]
        while waiting:
            for node in nodes(waiting.pop()):
                if node[0] != "read" or node[1] in seen:
                    continue
                if node[1] == reader:
                    return True
                seen.add(node[1])
                if node[1] in self.computations:
                    waiting += [v for _, v in self.computations[node[1]]["pieces"]]
        return False

    @staticmethod
    def _places(isolated: Part, part: Part) -> list[str]:
        """For each iterator of what was isolated, the one that stands for it here."""
        return [part.written[isolated.written.index(i)] for i in isolated.iterators]

    def _holds(self, isolated: Part, part: Part) -> bool:
        places = self._places(isolated, part)
        at = [part.iterators.index(name) for name in places]
        return all(
            {tuple(cell[d] for d in at) for cell in part.cells(sizes)[0]}
            <= isolated.cells(sizes)[0]
            for sizes in COMPARED
        )

    def _read(self, name: str, isolated: Part, part: Part) -> list[Any]:
        return ["read", name, [[0, {i: 1}] for i in self._places(isolated, part)]]

    def _new_name(self, reader: str, value: list[Any]) -> str:
        first = next(n for n in plain_nodes(value) if n[0] == "reduce")
        operation = first[1].partition("/")[0].replace("osum", "sum")
        stem = name = f"{reader}_{operation}"
        number = 2
        while name in self.taken:
            name, number = f"{stem}{number}", number + 1
        self.taken.add(name)
        return name

    def _put_before_readers(self) -> None:
        ordered: dict[str, Any] = {}
        open_names: set[str] = set()

        def place(name: str) -> None:
            if name in open_names:
                return
            open_names.add(name)
            for _, value in self.computations[name]["pieces"]:
                for node in terms_first(value):
                    if node[0] == "read" and node[1] in self.isolated:
                        place(node[1])
            ordered[name] = self.computations[name]

        for name in [n for n in self.computations if n not in self.isolated]:
            place(name)
        self.computations = ordered


def computed_always(value: list[Any]) -> Iterator[list[Any]]:
    """The nodes that are computed for every element: no branches, no terms, no subscripts."""
    yield value
    if value[0] in ("reduce", "while", "read", "select"):
        return
    for part in parts(value)[:1] if value[0] in ("if", "only") else parts(value):
        yield from computed_always(part)


def plain_nodes(value: list[Any]) -> Iterator[list[Any]]:
    """As they are written, without conditions on terms."""
    yield value
    for part in parts(value)[1:] if value[0] == "only" else parts(value):
        yield from plain_nodes(part)


def terms_first(value: list[Any]) -> Iterator[list[Any]]:
    """As they are written, conditions on terms behind these."""
    yield value
    for part in reversed(parts(value)) if value[0] == "only" else parts(value):
        yield from terms_first(part)


def replaced(value: list[Any], reads: list[tuple[list[Any], list[Any]]]) -> list[Any]:
    for node, read in reads:
        if value is node:
            return read
    return with_parts(value, [replaced(part, reads) for part in parts(value)])
