"""Which parts of expressions become computations of their own before anything is scheduled: reductions beside the one
that a computation is scheduled by, and what fewer iterators than there are around it need.

From the documentation of the library, on equations as plain data. The instances of such a part are those that its
reader needs; they are found by looking at every element of the reader, at the sizes that are asked for.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from fuzz.programs import AXES, dtype_of, type_of
from fuzz.reductions import of_type
from fuzz.rewriting import evaluate, evaluate_affine, points
from fuzz.typed_values import (
    computed_always,
    decided,
    explicit,
    has_few_terms,
    joined,
    key_of,
    mentioned,
    nodes,
    parts,
    plain,
    plain_nodes,
    reduces,
    replaced,
    terms_first,
)

Cells = set[tuple[int, ...]]
#: Sizes at which sets are compared.
COMPARED = [*itertools.product(range(5), repeat=3), (7, 7, 7), (8, 6, 7)]


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

    def strides(self) -> dict[str, tuple[Any, int]]:
        """The steps of its reader's ranges: loops of one name count the same values."""
        found = {}
        for name, (low, _, *step) in zip(
            self.reader["iterators"], self.reader["ranges"], strict=True
        ):
            low, given = self.reader.get("strides", {}).get(name, (low, (*step, 1)[0]))
            if given == 1 or name not in self.iterators:
                continue
            if set(low[1]) <= {*AXES, *self.iterators[: self.iterators.index(name)]}:
                found[name] = (low, given)
        return found

    def computation(self, name: str) -> dict[str, Any]:
        dimensions = range(len(self.iterators))
        return {
            "name": name,
            "iterators": list(self.iterators),
            "strides": self.strides(),
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
            # Conditions on terms belong to these. What changes the type leaves the reduction to others who need it.
            stays = value is own or value[0] == "only" or len(set(around)) < len(around)
            first = next(node for node in plain_nodes(value) if node[0] == "reduce")
            stays = stays or type_of(plain(value), self.types) != type_of(plain(first), self.types)
            if not stays:
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
        found = [part for part in found if not self._reaches(part.node, name)]
        for part in found:
            if not part.is_always_certain():
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
        for part in found:  # that data decide about, and others need for certain
            known = self.registry.get(part.key)
            is_new = all(node is not part.node for node, _ in reads)
            if known is not None and is_new and self._holds(known[1], part):
                reads.append((part.node, self._read(*known, part)))
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
            {tuple(cell[d] for d in at) for cells in part.cells(sizes) for cell in cells}
            <= isolated.cells(sizes)[0]
            for sizes in COMPARED
        )

    def _read(self, name: str, isolated: Part, part: Part) -> list[Any]:
        return ["read", name, [[0, {i: 1}] for i in self._places(isolated, part)]]

    def _new_name(self, reader: str, value: list[Any]) -> str:
        first = next(n for n in plain_nodes(value) if n[0] == "reduce")
        operation = first[1].partition("/")[0].removeprefix("o").removeprefix("n")
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
