"""The model of commands that rewrite equations: inline, rfactor, cache."""

from __future__ import annotations

import itertools
from typing import Any

from fuzz.kept_values import kept_value
from fuzz.linear import Linear, Loop, Nest, Refused, iterator
from fuzz.order_model import OrderCommands
from fuzz.programs import AXES, type_of
from fuzz.reductions import of_type
from fuzz.rewriting import (
    copied,
    factored,
    has_states,
    inlined,
    is_computed,
    is_grouped,
    is_ordered,
    points,
    reading,
    reads_of,
    reduced_names,
    with_replaced,
)
from fuzz.state import NotModelled, Placement


class EquationCommands(OrderCommands):
    """Computations that go, come, or are computed otherwise."""

    def _taken(self, name: str) -> bool:
        buffers = {buffer for buffer, _ in self.storage.values()}
        return name in self.computations or name in self.inputs or name in buffers

    def _add(self, new: dict[str, Any], reader: str, loops: list[Loop], dtype: str) -> None:
        """A new computation in front of its reader."""
        name = new["name"]
        computations = list(self.computations.items())
        position = next(k for k, (n, _) in enumerate(computations) if n == reader)
        self.computations = dict([*computations[:position], (name, new), *computations[position:]])
        self.order.insert(self.order.index(reader), name)
        self.types[name] = dtype
        self._find_instances(name)
        self.nests[name] = Nest(loops)
        self.storage[name] = (name, [[0, {n: 1}] for n in new["iterators"]])

    def _missing_loops(self, c: str) -> None:
        """Iterators that no loop runs over get loops of their own, innermost."""
        nest = self.nests[c]
        for name in self.iterators[c]:
            if not any(loop.value.uses({name}) for loop in nest.loops):
                nest.loops.append(Loop(nest.fresh(name), self.declared_loop(c, name)))

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
            before = self.reduced_names(reader)
            self.computations[reader] = inlined(self.computations[reader], gone, self.types)
            now = self.reduced_names(reader)
            if before and now != before:
                raise Refused("the loops over its own terms would be those of another reduction")
            self._find_instances(reader)
            if not before:
                # What the reader now reduces runs inside its loops.
                nest = self.nests[reader]
                if now and nest.copies:
                    raise Refused("terms that are added several times")
                for name in now:
                    nest.loops.append(Loop(nest.fresh(name), self.declared_loop(reader, name)))
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
        if loop.value.own_range(1) is not None:
            raise Refused("one iteration")
        if not loop.value.uses(summed) or loop.value.uses(set(own)):
            raise Refused("not a loop over reduced iterators only")
        if any(one.value.uses(summed) and one.value.own_range(1) is not None for one in nest.loops):
            raise NotModelled(
                "a loop of one iteration, which belongs to either side of a reduction"
            )
        root = self.reduction(c)
        assert root is not None
        if not is_grouped(root):
            raise Refused("ordered")
        if self.computations[c].get("partial"):
            raise Refused("data decide which elements exist")
        itself = next((i for i in self.iterators[c] if loop.value == iterator(i)), None)
        if has_states(root) and itself and len(root[2]) == 1:
            raise Refused("partial results of one term")
        new = itself or loop.name
        taken = {*self.iterators[c], *reduced_names(self.computations[c]["pieces"][0][1])}
        while itself is None and new in taken:
            new += "_"
        before = self.computations[c]
        partial, final = factored(before, root, name, loop.value, new, itself is not None)
        alone = len(root[2]) == 1 and itself is not None
        self._require_a_range(self.computations[c], root, loop.value, alone)
        (condition, value), dtype = partial["pieces"][0], type_of(root, self.types).name
        partial["pieces"] = [[condition, of_type(value, dtype, self.types)]]
        loops = [
            one.but(value=iterator(new)) if d == position else one
            for d, one in enumerate(nest.loops)
        ]
        self._add(partial, c, loops, dtype)  # scheduled by what reduction is left in its value
        self.computations[c] = final
        self._find_instances(c)
        self.nests[c] = Nest(
            [one for d, one in enumerate(loops) if d == position or not one.value.uses(summed)]
        )
        self._missing_loops(name)
        self._missing_loops(c)
        self.planned.pop(c, None)
        self.rewritten += (("factored", c, name, loop.value, new),)
        if is_ordered(root):
            self.grouped += ((before, root, loop.value),)

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
        root = self.reduction(c)
        assert root is not None
        values = [root, *(self.computations[n]["pieces"][0][1] for n in between)]
        ranges = [r for value in values for r in value[2]]
        merged = ["reduce", root[1], ranges, [], values[-1][4]]
        whole = with_replaced(self.computations[c]["pieces"][0][1], root, merged)
        self.computations[c] = {**self.computations[c], "pieces": [[None, whole]]}
        self._find_instances(c)
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

    def _require_a_range(
        self, computation: dict[str, Any], root: list[Any], loop: Linear, alone: bool
    ) -> None:
        """Where each partial result is one term, the terms must stand without gaps."""
        names = [r[0] for r in root[2]]
        ranges = [r[1:] for r in root[2]]
        for sizes in [(4, 4, 4), (5, 3, 2), (9, 10, 11), *itertools.product(range(3), repeat=3)]:
            base = dict(zip(AXES, sizes, strict=True))
            for env in points(
                computation["iterators"], computation["ranges"], computation["where"], base
            ):
                values = {loop.evaluate(e) for e in points(names, ranges, root[3], env)}
                if values and alone and len(values) != max(values) - min(values) + 1:
                    raise Refused("gaps")

    def _cache(
        self,
        c: str,
        array: str,
        loop: str,
        name: str = "",
        memory: str = "auto",
        order: list[int] | None = None,
        pad: int = 0,
        stages: int = 1,
        keeps: str = "elements",
    ) -> None:
        """A copy's loops run in the `order` of its memory; which memory that is changes nothing that is judged."""
        if array not in self.computations and array not in self.inputs:
            raise Refused(f"nothing named {array}")
        if array in self.computations and has_states(self.reduction(array)):
            raise Refused("a copy of one state of several")
        number = 1
        while not name:
            suffix = "_local" if array == c else "_cache"
            candidate = f"{array}{suffix}{number if number > 1 else ''}"
            name = "" if self._taken(candidate) else candidate
            number += 1
        if self._taken(name):
            raise Refused("the name is taken")
        if array == c:
            if keeps == "values":
                raise Refused("what is computed is no value of an element that is read")
            self._cache_writes(c, loop, name)
            return
        dtype = self.types[array]
        if keeps == "values":
            kept = kept_value(self.computations[c], array, name, self.types)
            if kept is None:
                raise Refused("nothing is computed from an element alone")
            copy_of, self.computations[c], dtype = kept
        else:
            if not reads_of(self.computations[c], array):
                raise Refused("not read")
            copy_of = copied(self.computations.get(array) or self.inputs[array], name)
            self.computations[c] = reading(self.computations[c], array, name)
        own = copy_of["iterators"]
        by_memory = [own[d] for d in order] if order else own
        self._add(copy_of, c, [], dtype)
        self.nests[name] = Nest([Loop(i, self.declared_loop(name, i)) for i in by_memory])
        self.rewritten += (("cache", c, array, name, keeps),)
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
        if any(one.value.uses(summed) and one.value.own_range(1) is not None for one in nest.loops):
            raise NotModelled(
                "a loop of one iteration, which belongs to either side of a reduction"
            )
        driven = [d for d in range(level + 1) if nest.loops[d].value.uses(summed)]
        if driven:
            self._factor_several(c, driven, name)
        else:
            local = {**self.computations[c], "name": name}
            self._add(local, c, list(nest.loops), self.types[c])
            if not summed and self.reduced[name]:
                self._missing_loops(name)  # it read its own values, which are another's now
            index = [[0, {i: 1}] for i in own]
            self.computations[c] = {**local, "name": c, "pieces": [[None, ["read", name, index]]]}
            self._find_instances(c)
            self.nests[c] = Nest([one for one in nest.loops if not one.value.uses(summed)])
            self.planned.pop(c, None)
            self.rewritten += (("cache", c, c, name),)
        del self.nests[name].loops[: level + 1]
        if not self._tells_apart(c):
            kept = self.nests[c] = Nest(self.nests[c].loops[: level + 1])
            for i in self.iterators[c]:
                kept.loops.append(Loop(kept.fresh(i), self.declared_loop(c, i)))
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
            _, _, ranges, where, _ = self.reduction(c) or ["", "", [], [], None]
            for inner in points([r[0] for r in ranges], [r[1:] for r in ranges], where, env):
                seen.add(tuple(value.evaluate(inner) for value in loops))
                count += 1
        return len(seen) == count
