"""The dependences of a function, and what its schedule does for each of them, as tables."""

from __future__ import annotations

from dataclasses import dataclass

from .. import _core
from ..base.display import Text
from ..schedule.scheduled_functions import ScheduledFunction

__all__ = ["Dependence", "Dependences"]


@dataclass(frozen=True)
class Dependence:
    """A read that needs a write.

    Attributes:
        source: the statement that writes.
        sink: the statement that reads.
        array: the computation that is written and read.
        relation: pairs of instances, as isl text.
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


class Dependences(tuple[Dependence, ...]):
    """The dependences of a function; a tuple that prints as a table."""

    __slots__ = ()

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


def dependences_of(function: ScheduledFunction) -> Dependences:
    """The flow dependences of a function under its schedule."""
    return Dependences(
        Dependence(
            source=row["source"],
            sink=row["sink"],
            array=row["array"],
            relation=row["relation"],
            exact=row["exact"],
            loops=tuple(row["loops"]),
            by_order=row["by_order"],
        )
        for row in _core.dependences(function)
    )
