"""The model of commands that change the loops of one computation."""

from __future__ import annotations

from typing import Any

from fuzz.linear import Linear, Loop, Nest, Refused, iterations_of
from fuzz.state import MappingState, NotModelled

#: The dimension of a one-to-many map that takes several values for an instance.
COPYING = [0, {"z": 1}]


class LoopCommands(MappingState):
    """Loops: cut, exchanged, moved, tagged, or given as a map."""

    def _strip(self, loop: Loop, size: int, outer: str, inner: str) -> tuple[Loop, Loop]:
        if loop.tag not in ("", "parallel"):
            raise Refused("a tag that neither of the two loops would have")
        block = loop.value.floor(size)
        return Loop(outer, block, tag=loop.tag), Loop(
            inner, loop.value.plus(block, -size), extent=size, prefetched=loop.prefetched
        )

    def _split(
        self, c: str, i: str, s: int | tuple[str, int, int], i0: str = "", i1: str = ""
    ) -> None:
        """A size that is an expression is (axis, constant, divisor): (axis + constant) // divisor, at least 1."""
        nest = self.nests[c]
        position = nest.find(i)
        loop = nest.loops.pop(position)
        names = [i0 or i + "0", i1 or i + "1"]
        nest.require_new(names)
        if not isinstance(s, int) and s[0] in self.fixed:
            if (self.fixed[s[0]] + s[1]) // s[2] < 1:
                raise Refused("no iteration in a block")
            s = iterations_of(tuple(s), self.fixed)
        if isinstance(s, int):
            nest.loops[position:position] = self._strip(loop, s, *names)
            return
        if loop.tag not in ("", "parallel"):
            raise Refused("a tag that neither of the two loops would have")
        block, rest = loop.value.blocks(tuple(s))
        inner = Loop(names[1], rest, prefetched=loop.prefetched)
        nest.loops[position:position] = [Loop(names[0], block, tag=loop.tag), inner]

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

    def _join(self, c: str, i: str, j: str, name: str = "") -> None:
        """Of a loop with a known number of iterations; others are test_joins.py's."""
        nest = self.nests[c]
        position = nest.find(i)
        if nest.find(j) != position + 1:
            raise Refused("not neighbours")
        outer, inner = nest.loops[position : position + 2]
        name = name or i + j
        if name not in (i, j):
            nest.require_new([name])
        if {outer.tag, inner.tag} not in ({""}, {"parallel"}):
            raise Refused("tags that the joined loop would not have")
        driven = self.driven(c)[position : position + 2]
        is_one = [one.extent == 1 or one.value.own_range(1) is not None for one in (outer, inner)]
        if driven[0] != driven[1] and any(is_one):
            raise NotModelled(
                "a loop of one iteration, which belongs to either side of a reduction"
            )
        if driven[0] != driven[1]:
            raise Refused("a reduction begins and ends between the two")
        if not inner.extent:
            raise NotModelled("join of a loop of which nobody says how many iterations it has")
        value = outer.value.times(inner.extent).plus(inner.value)
        prefetched = outer.prefetched or inner.prefetched
        joined = Loop(name, value, outer.tag, 0, outer.extent * inner.extent, prefetched)
        nest.loops[position : position + 2] = [joined]

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

    def _scale(self, c: str, i: str, s: int) -> None:
        nest = self.nests[c]
        if s < 1:
            raise Refused("a factor below 1")
        nest.change(i, value=nest.loops[nest.find(i)].value.times(s), extent=0)

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

    def _set_schedule(
        self,
        c: str,
        dimensions: list[Any],
        names: list[str] | None = None,
        copies: list[Any] | None = None,
    ) -> None:
        """`names` are those that the map gives, "" where it gives none; `copies` are the bounds of its dimension z."""
        if copies and self.reduced[c]:
            raise Refused("terms that are added several times")
        given = [""] * len(dimensions) if names is None else list(names)
        for position, value in enumerate(dimensions):  # a loop over an iterator has its name
            plain = [i for i in self.iterators[c] if value == [0, {i: 1}] and i not in given]
            given[position] = given[position] or "".join(plain)
        loops = [
            Loop(name or f"t{position}", time(value))
            for position, (name, value) in enumerate(zip(given, dimensions, strict=True))
        ]
        several = None
        if copies:
            place = dimensions.index(COPYING)
            several = (place + 1, time(copies[0]), time(copies[1]))
        self.nests[c] = Nest(loops, True, several)
        self.placements = [p for p in self.placements if p.computation != c]

    def _function_set_schedule(self, maps: list[list[Any]]) -> None:
        """The maps of all computations: [computation, dimensions, names] of each."""
        if sorted(c for c, *_ in maps) != sorted(self.nests):
            raise Refused("other computations than there are")
        if len({len(dimensions) for _, dimensions, _ in maps}) > 1:
            raise Refused("times of several spaces")
        for c, dimensions, names in maps:
            self._set_schedule(c, dimensions, names)

    def _apply_schedule(self, c: str, dimensions: list[Any], names: list[str]) -> None:
        """Each dimension is a value of the loops, by their names."""
        nest = self.nests[c]
        old = {loop.name: loop for loop in nest.loops}
        kept: list[Loop | None] = []
        for value in dimensions:
            same = [name for name in old if value == [0, {name: 1}] and old[name] not in kept]
            kept.append(old[same[0]] if same else None)
        for loop in nest.loops:
            if loop not in kept and (loop.tag or loop.prefetched):
                raise Refused("another loop is made of one of which something is said")
        inherited = self.inherited(c)
        for placed, other, shared, _, inside in self.placements:
            shares = other == c or (placed == c and not inside)
            if shares and shared > len(dimensions) + inherited:
                raise Refused("loops that another computation shares")
        taken = {name for name in names if name}
        made = []
        for position, (name, value, loop) in enumerate(zip(names, dimensions, kept, strict=True)):
            if not name and loop is not None and loop.name not in taken:
                name = loop.name
            if not name:
                name = f"t{position}"
                while name in taken:
                    name += "_"
            taken.add(name)
            made.append(
                loop.but(name=name) if loop is not None else Loop(name, of_loops(value, old))
            )
        self.nests[c] = Nest(made, nest.explicit)

    def named(self, c: str, names: list[str]) -> None:
        """What set_schedule names its loops follows from which of them are iterators everywhere on the domain, so the
        library says it."""
        nest = self.nests[c]
        nest.loops = [one.but(name=name) for one, name in zip(nest.loops, names, strict=True)]


def time(value: list[Any]) -> Linear:
    """One dimension of set_schedule: affine in iterators, or a floor of that."""
    if value[0] == "div":
        return time(value[1]).floor(value[2])
    constant, terms = value
    return Linear(constant, {("iterator", n): k for n, k in terms.items()})


def of_loops(value: list[Any], loops: dict[str, Loop]) -> Linear:
    """One dimension of apply_schedule: affine in loops, or a floor of that, or what it leaves."""
    if value[0] in ("div", "mod"):
        inner = of_loops(value[1], loops)
        block = inner.floor(value[2])
        return block if value[0] == "div" else inner.plus(block, -value[2])
    result = Linear(value[0])
    for name, coefficient in value[1].items():
        result = result.plus(loops[name].value, coefficient)
    return result
