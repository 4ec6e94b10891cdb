"""What the verifier answers, as values: verdicts by dependence and dimension, with instances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import tilewright as tw

__all__ = [
    "DependenceVerdict",
    "DimensionVerdict",
    "Instance",
    "MemoryVerdict",
    "Problem",
    "Verification",
    "Witness",
]


@dataclass(frozen=True)
class Instance:
    """One instance of a statement.

    Attributes:
        variable: whose.
        point: its indices.
        time: when it runs.
    """

    variable: str
    point: tuple[int, ...]
    time: tuple[int, ...]

    def __str__(self) -> str:
        time = ", ".join(map(str, self.time))
        return f"{self.variable}[{', '.join(map(str, self.point))}] at ({time})"


@dataclass(frozen=True)
class Witness:
    """Instances that show what is wrong.

    Attributes:
        instances: the consumer, the producer, and of memory who overwrites its value.
        parameters: the sizes for which they are there.
    """

    instances: tuple[Instance, ...]
    parameters: dict[str, int] = field(hash=False)

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        text = f"{self.instances[0]} needs {self.instances[1]}"
        if len(self.instances) > 2:
            text += f", overwritten by {self.instances[2]}"
        return f"{text}, with {sizes}" if sizes else text


@dataclass(frozen=True)
class DimensionVerdict:
    """What one dimension does for a dependence.

    Attributes:
        dimension: its number as text; "phase", "own" and "text" order what has no space-time map.
        type: "sequential", "parallel" or "ordering".
        verdict: of the pairs that the dimensions before it left open: "strict" (it orders all of
            them), "weak" (it orders some or none), "violated", or "" if none is left.
        alone: the verdict if only this dimension is considered: "strict", "weak" or "violated".
        satisfied: the pairs that it orders, from consumers to producers.
        violated: the pairs that it reverses or, if it is parallel, carries.
        witness: one of these, or None.
    """

    dimension: str
    type: str
    verdict: str
    alone: str
    satisfied: tw.Map
    violated: tw.Map
    witness: Witness | None = None

    @property
    def domain(self) -> tw.Set:
        """The instances of the consumer for which the dependence is violated here."""
        return self.violated.domain


@dataclass(frozen=True)
class DependenceVerdict:
    """One dependence under a space-time mapping.

    Attributes:
        consumer: the variable whose equation reads.
        producer: the variable that is read.
        text: what is read: ``A[t-1,i]``.
        kind: "read", or "accumulation" between terms of a reduction whose body is scheduled.
        relation: from instances of the consumer to those of the producer.
        dimensions: what each dimension does, outermost first.
        unordered: the pairs whose times are equal.
        unordered_witness: one of these, or None.
        untileable: the tiled dimensions that are not weakly satisfied, with a pair.
    """

    consumer: str
    producer: str
    text: str
    kind: str
    relation: tw.Map
    dimensions: tuple[DimensionVerdict, ...]
    unordered: tw.Map
    unordered_witness: Witness | None = None
    untileable: tuple[tuple[str, Witness | None], ...] = ()

    @property
    def verdict(self) -> str:
        """ "strict"; "weak" if some times are equal and none is wrong; or "violated"."""
        if any(each.verdict == "violated" for each in self.dimensions):
            return "violated"
        return "strict" if self.unordered.is_empty else "weak"

    @property
    def is_legal(self) -> bool:
        """Whether each producer is sure to run first, and tiling keeps that."""
        return self.verdict == "strict" and not self.untileable

    @property
    def satisfied_at(self) -> str | None:
        """The dimension that orders the last pairs; None if the dependence is not strictly
        satisfied."""
        if self.verdict != "strict":
            return None
        found = [each.dimension for each in self.dimensions if each.verdict == "strict"]
        return found[0] if found else None

    def alone(self, dimension: int | str) -> str:
        """The verdict if only one dimension is considered.

        Raises:
            DeclarationError: there is none of this number.
        """
        for each in self.dimensions:
            if each.dimension == str(dimension):
                return each.alone
        known = ", ".join(each.dimension for each in self.dimensions)
        raise tw.DeclarationError(f"there is no dimension {dimension!r}; there are {known}")

    @property
    def witness(self) -> Witness | None:
        """Two instances that show what is wrong, or None."""
        for each in self.dimensions:
            if each.witness is not None:
                return each.witness
        if self.unordered_witness is not None:
            return self.unordered_witness
        return self.untileable[0][1] if self.untileable else None

    def __str__(self) -> str:
        return f"{self.consumer} -> {self.text}: {_reason(self)}"


def _reason(row: DependenceVerdict) -> str:
    for each in row.dimensions:
        if each.verdict == "violated":
            what = "carried by the parallel" if each.type == "parallel" else "violated by"
            what += " dimension " + each.dimension
            return f"{what} for {each.domain}; {each.witness}"
    if row.verdict == "weak":
        return f"equal times for {row.unordered.domain}; {row.unordered_witness}"
    if row.untileable:
        dimension, witness = row.untileable[0]
        return f"dimension {dimension} cannot be tiled, as it is not weakly satisfied; {witness}"
    return f"strictly satisfied at dimension {row.satisfied_at}"


@dataclass(frozen=True)
class MemoryVerdict:
    """Whether a value is kept until it is read.

    Attributes:
        variable: whose values.
        consumer: who reads them.
        overwriter: whose values are kept in the same memory.
        text: what is read.
        conflicts: from instances that read to those that overwrite before.
        witness: three of these, or None.
        is_clearing: whether a sum that is cleared before the loops over its terms is in the way: that of
            the overwriter, or the variable's own, which is overwritten before the terms come.
    """

    variable: str
    consumer: str
    overwriter: str
    text: str
    conflicts: tw.Map
    witness: Witness | None = None
    is_clearing: bool = False

    @property
    def is_legal(self) -> bool:
        """Whether nothing is overwritten before its last use."""
        return self.conflicts.is_empty

    def __str__(self) -> str:
        head = f"memory of {self.variable}, read by {self.consumer} as {self.text}"
        if self.is_legal:
            return f"{head}: kept"
        told = f"overwritten by {self.overwriter} for {self.conflicts.domain}; {self.witness}"
        if self.is_clearing:
            told += (
                "; a sum is cleared before the outermost loop over its terms begins: put an ordering "
                "dimension in front of that loop, or keep it in a memory of its own"
            )
        return f"{head}: {told}"


@dataclass(frozen=True)
class Problem:
    """What is wrong with a mapping apart from dependences and memory.

    Attributes:
        message: what.
        witness: two instances, or None.
    """

    message: str
    witness: Witness | None = None

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Verification:
    """The answer of `verify`: true if the mapping is legal. Printed, it is a table.

    Attributes:
        system: the name.
        dependences: a verdict for each.
        memory: a verdict for each read of what has a memory map.
        problems: what else is wrong.
    """

    system: str
    dependences: tuple[DependenceVerdict, ...] = ()
    memory: tuple[MemoryVerdict, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def is_legal(self) -> bool:
        """Whether nothing is wrong."""
        return not self.violations

    @property
    def violations(self) -> tuple[DependenceVerdict | MemoryVerdict | Problem, ...]:
        """What is wrong: problems, dependences, memory."""
        dependences = tuple(each for each in self.dependences if not each.is_legal)
        memory = tuple(each for each in self.memory if not each.is_legal)
        return (*self.problems, *dependences, *memory)

    def __bool__(self) -> bool:
        return self.is_legal

    def __iter__(self) -> Iterator[DependenceVerdict]:
        return iter(self.dependences)

    def __len__(self) -> int:
        return len(self.dependences)

    @property
    def table(self) -> str:
        """A line for each dependence, a column for each dimension."""
        if not self.dependences:
            return ""
        dimensions = self.dependences[0].dimensions
        heads = [f"{e.dimension} ({e.type[:3]})" for e in dimensions]
        rows = [["dependence", *heads, "satisfied at"]]
        for each in self.dependences:
            last = each.satisfied_at or each.verdict
            if each.kind == "accumulation" and each.is_legal:
                last = "any order"
            rows.append(
                [
                    f"{each.consumer} -> {each.text}",
                    *(one.verdict or "-" for one in each.dimensions),
                    last,
                ]
            )
        return _aligned(rows)

    def __str__(self) -> str:
        lines = [f"{self.system}: {'legal' if self.is_legal else 'not legal'}"]
        if self.dependences:
            lines += ["", self.table]
        if self.memory:
            lines += ["", *(str(each) for each in self.memory if each.is_legal)]
        if wrong := self.violations:
            lines += ["", *(str(each) for each in wrong)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
