"""The judge's view of one-to-many maps: instances that run at several times, each of which computes the same value."""

from __future__ import annotations

from collections import defaultdict

from fuzz.linear import Nest
from fuzz.space import Base, Cell, Pairs, Space, compiled, places
from fuzz.statements import Statement, happens_before, positions


class JudgesCopies:
    """The part of the judge that makes copies, and asks what reads them."""

    space: Space
    width: int
    written: dict[Statement, list[tuple[str, Cell]]]

    def _overwritten(self, source: Statement, at: int, sink: Statement, row: int) -> str | None:
        raise NotImplementedError

    def _copy(self, base: Base, statics: list[int], nest: Nest) -> Statement:
        """Each instance runs once for each value of the map's dimension z; its outermost loops say which copy it is."""
        loops, tags = nest.loops, [loop.tag for loop in nest.loops]
        assert nest.copies
        levels, low, high = nest.copies
        statement = Statement(base, positions(tags, ("parallel", "vector")), levels)
        statement.threads = positions(tags, ("parallel",))
        at = places([*base.names, "z"], 0, self.space.sizes)
        bounds = compiled(f"range({low.source(at)},{high.source(at)}+1)")
        parts = []
        for level, static in enumerate(statics):  # of the longest map of all, not only of this one
            parts += [str(static), loops[level].value.source(at) if level < len(loops) else "0"]
        parts += ["0"] * (self.width - len(parts))
        make = compiled(f"({','.join(parts)})")
        statement.copied, statement.anew = True, 0
        statement.rows, statement.cells, statement.reads, statement.keys = [], [], [], []
        for row, instance in enumerate(base.rows):
            for z in bounds(instance):
                time = make((*instance, z))
                statement.times.append(time)
                statement.rows.append(time[1 : 2 * levels : 2] + instance)
                statement.origin.append(row)
                statement.cells.append(base.cells[row])
                statement.reads.append(base.reads[row])
                statement.keys.append(((), base.cells[row]))
        return statement

    def _copies(self, source: Statement, sink: Statement, pairs: Pairs, levels: int) -> str | None:
        """A reader takes any copy that comes before it, and all of these have to last until it has read."""
        concurrent = source.concurrent | sink.concurrent
        wanted: dict[tuple[int, Cell], list[int]] = defaultdict(list)
        for a, b, _ in pairs:
            usable = wanted[b, source.cells[a]]
            if source.prefix(a, levels) == sink.prefix(b, levels) and happens_before(
                source.times[a], sink.times[b], concurrent
            ):
                usable.append(a)
        for (b, cell), usable in wanted.items():
            if not usable:
                return (
                    f"{sink.instance(b)} reads {source.name}{cell}, of which no copy comes before"
                )
            for a in usable:
                problem = self._overwritten(source, a, sink, b) if source in self.written else None
                if problem:
                    return problem
        return None
