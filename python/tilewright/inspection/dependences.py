"""The dependences of a function, and what its schedule does for each of them, as tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from .. import _core
from ..base.display import Text
from ..schedule.scheduled_functions import ScheduledFunction
from ..sets.values import Map

__all__ = ["Dependence", "Dependences", "StorageDependences"]


@dataclass(frozen=True)
class Dependence:
    """A read that needs a write.

    Attributes:
        source: the statement that writes.
        sink: the statement that reads.
        array: the computation that is written and read.
        relation: pairs of instances, as isl text, simplified for people.
        map: the same pairs, as a value.
        exact: False where a subscript is not affine, or a condition on data decides whether it is
            read: more pairs are listed than there are.
        loops: for each loop of the sink, outermost first, until nothing is left open: its name and
            "strict" (it orders every pair that the loops outside left open), "weak" (it orders
            some), "zero" (it orders none) or "violated" (it reverses some, or does not order them
            because it is parallel).
        by_order: whether the place of the statements in the text orders what the loops left open.
    """

    source: str
    sink: str
    array: str
    relation: str
    map: Map
    exact: bool
    loops: tuple[tuple[str, str], ...]
    by_order: bool

    @property
    def satisfied_by(self) -> str:
        """The loop that orders the last open pairs, "order" for the place in the text, or "" when
        the dependence is violated."""
        if any(verdict == "violated" for _, verdict in self.loops):
            return ""
        if self.by_order:
            return "order"
        return self.loops[-1][0] if self.loops and self.loops[-1][1] == "strict" else ""


class StorageDependences(NamedTuple):
    """Pairs of instances that share an element of one buffer, the one that runs earlier first.

    Attributes:
        anti: the first one reads the element, the second one writes it.
        output: both write it.
        input: both read it.
    """

    anti: Map
    output: Map
    input: Map


class Dependences(tuple[Dependence, ...]):
    """The flow dependences of a function; a tuple that prints as a table.

    As relations between instances, `flow` has all of them, whatever the schedule. The schedule and
    the storage that it chooses cause others: `anti`, `output` and `input`, between all instances that
    share an element, the one that runs earlier first, whether or not a third one comes between them
    and whether or not loops are parallel. `storage` has those of each buffer.
    """

    _function: ScheduledFunction
    _storage: dict[str, StorageDependences] | None

    @classmethod
    def _of(cls, rows: Iterable[Dependence], function: ScheduledFunction) -> Dependences:
        found = cls(rows)
        found._function = function.copy()  # whose schedule nobody changes
        found._storage = None
        return found

    @property
    def flow(self) -> Map:
        """The pairs of instances of which the second reads what the first computes."""
        return _union(row.map for row in self)

    @property
    def anti(self) -> Map:
        """The pairs of which the second overwrites an element that the first has read."""
        return _union(each.anti for each in self.storage.values())

    @property
    def output(self) -> Map:
        """The pairs that write one element."""
        return _union(each.output for each in self.storage.values())

    @property
    def input(self) -> Map:
        """The pairs that read one element: where reuse is."""
        return _union(each.input for each in self.storage.values())

    @property
    def storage(self) -> dict[str, StorageDependences]:
        """By the name of the buffer that causes them: `anti`, `output` and `input`."""
        if self._storage is None:
            self._storage = {
                buffer: StorageDependences(Map._of(anti), Map._of(output), Map._of(read))
                for buffer, anti, output, read in _core.storage_dependences(self._function)
            }
        return dict(self._storage)

    @property
    def table(self) -> Text:
        """One line a dependence."""
        if not self:
            return Text("no dependences")
        rows = [("dependence", "loops", "satisfied by")]
        for row in self:
            loops = "  ".join(f"{name}: {verdict}" for name, verdict in row.loops)
            rows.append((f"{row.source} -> {row.sink}", loops, row.satisfied_by or "violated"))
        widths = [max(len(line[column]) for line in rows) for column in range(3)]
        return Text(
            "\n".join(
                "  ".join(
                    cell.ljust(width) for cell, width in zip(line, widths, strict=True)
                ).rstrip()
                for line in rows
            )
        )

    def __repr__(self) -> str:
        return str(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def _union(maps: Iterable[Map]) -> Map:
    result = Map("{ }")
    for each in maps:
        result = result | each
    return result.coalesce()


def dependences_of(function: ScheduledFunction) -> Dependences:
    """The flow dependences of a function under its schedule."""
    rows = (
        Dependence(
            source=row["source"],
            sink=row["sink"],
            array=row["array"],
            relation=row["relation"],
            map=Map._of(row["map"]),
            exact=row["exact"],
            loops=tuple(row["loops"]),
            by_order=row["by_order"],
        )
        for row in _core.dependences(function)
    )
    return Dependences._of(rows, function)
