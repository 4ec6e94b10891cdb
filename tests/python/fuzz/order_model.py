"""The model of commands that say which computation runs when: order, shared loops, loops of a reader."""

from __future__ import annotations

from typing import Any

from fuzz.linear import Refused
from fuzz.rewriting import (
    reads_of,
)
from fuzz.state import MappingState, Placement


class OrderCommands(MappingState):
    """Order among computations."""

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
        # In no loop of its reader any more, all of it is computed before.
        left = {p.computation for p in cut if p.inside and level == 0}
        self.placements = [
            p._replace(shared=level, inside=p.inside and level > 0) if p in cut else p
            for p in self.placements
        ]
        for name in left:
            self.allocations.pop(name, None)

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
        shared = self._shared_with(reader, loop)
        self.placements = [p for p in self.placements if p.computation != c]
        self.nests[c].explicit = False
        self.placements.append(Placement(c, reader, shared, True, True))
        self.allocations.pop(c, None)

    def _store_at(self, c: str, reader: str, loop: str, memory: str = "auto", pad: int = 0) -> None:
        """Which memory it is, and how far apart its rows are, changes nothing that is judged."""
        placement = self.placement(c)
        if placement is None or not placement.inside or placement.other != reader:
            raise Refused("not computed there")
        levels = self._shared_with(reader, loop)
        if levels > placement.shared:
            raise Refused("deeper than it is computed")
        self.storage[c] = (c, [[0, {n: 1}] for n in self.own(c)])
        self.allocations[c] = (reader, levels)

    def _private(self, c: str, loop: str, memory: str = "auto") -> None:
        placement = self.placement(c)
        if c in self.outputs or (placement is not None and placement.inside):
            raise Refused("an output, or computed in its reader")
        names = [one.name for one in self.nests[c].loops]
        if loop not in names:
            raise Refused("no such loop")
        buffer = self.storage[c][0]
        together = [n for n in self.storage if self.storage[n][0] == buffer]
        if (together == [c] and buffer == c) or buffer in self.inputs or buffer in self.outputs:
            self.storage[c] = (c, [[0, {n: 1}] for n in self.own(c)])
            together = [c]
        for n in together:  # all that is in the buffer, where store_in has put it
            own = [one.name for one in self.nests[n].loops]
            inside = self.placement(n)
            if len(own) <= names.index(loop) or (inside is not None and inside.inside):
                raise Refused("no such loop of what is in the buffer, too")
            self.allocations[n] = ("", names.index(loop) + 1)
            self.private_loops[n] = own[names.index(loop)]

    def _fit_private(self, c: str) -> None:
        """The loop that was named, wherever it is now; of one that was split, what took its place."""
        names = [one.name for one in self.nests[c].loops]
        _, levels = self.allocations[c]
        placement = self.placement(c)
        if self.private_loops[c] in names:
            self.allocations[c] = ("", names.index(self.private_loops[c]) + 1)
        elif levels <= len(names):
            self.private_loops[c] = names[levels - 1]
        else:
            del self.allocations[c]
        if placement is not None and placement.inside:
            self.allocations.pop(c, None)

    def _require_together(self, c: str) -> None:
        """All that writes and reads a private computation stands in the loops of its buffer."""
        _, levels = self.allocations[c]
        paths = self.paths()
        if self.outside_terms(c) < levels:
            raise Refused("it begins or ends outside of the loop")
        for n in self.allocations:
            if self.storage[n][0] == self.storage[c][0] and paths[n][:levels] != paths[c][:levels]:
                raise Refused("what is in the same buffer is outside of the loop")
        for reader in {n for n, one in self.computations.items() if reads_of(one, c)}:
            loops = self.inherited(reader) + len(self.nests[reader].loops)
            if loops < levels or paths[reader][:levels] != paths[c][:levels]:
                raise Refused("read outside of the loop")
            around = self.inherited(reader) + self.outside_terms(reader)
            if around < levels and self.finish_reads(reader, c):
                raise Refused("read when all terms are there, outside of the loops over these")

    def _fit(self) -> None:
        """What has to hold after each command: buffers no deeper than their computations, and for one of them."""
        for c in [c for c, (reader, _) in self.allocations.items() if not reader]:
            self._fit_private(c)
        for c, (reader, levels) in list(self.allocations.items()):
            if not reader:
                continue
            placement = self.placement(c)
            if placement is None or not placement.inside or placement.other != reader:
                del self.allocations[c]
            elif placement.shared == 0:
                del self.allocations[c]
            else:
                self.allocations[c] = (reader, min(levels, placement.shared))
        for c, allocation in self.allocations.items():
            for n in self.storage:
                together = allocation[0] == "" and self.allocations.get(n) == allocation
                if n != c and self.storage[n][0] == self.storage[c][0] and not together:
                    raise Refused("a buffer inside loops holds another computation, too")

    def require_inside(self) -> None:
        """Readers are inside the loops in which a computation runs, and in those of its buffer."""
        for c in [c for c, (reader, _) in self.allocations.items() if not reader]:
            self._require_together(c)
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
                around = self.inherited(reader) + self.outside_terms(reader)
                if around < shared and self.finish_reads(reader, c):
                    raise Refused("read when all terms are there, outside of the loops over these")


def index_of(parent: list[Any], node: list[Any]) -> int:
    return next(k for k, child in enumerate(parent) if child is node)
