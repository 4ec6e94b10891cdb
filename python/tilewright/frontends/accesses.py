"""What a program over memory accesses: its access relations, as pet has them (PENCIL report, INRIA
RT-0457, sections 3.1 and 3.6).

A statement instance may read or may write what data decide about, and must write what it writes
wherever it runs. Each access has a reference identifier, its relation and its index expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..sets.values import Map, Set
from . import tree
from .affine import Affine, Scope, affine_of
from .call_sites import with_calls_everywhere
from .control import without_jumps
from .memory import references_of, set_text, tuple_text
from .scan import scan
from .scanned import Scanned, ScannedBlock, ScannedStatement

__all__ = ["Access", "AccessRelations", "Summary", "access_relations", "context_of", "summary_of"]


@dataclass(frozen=True)
class Access:
    """One access of a program.

    Attributes:
        reference: its identifier: "r1", "r2", ... in the order of the statements.
        statement: the label.
        array: what it is of; an innermost field of a structure is an array of its own.
        kind: "read", "may write", "must write" or "kill".
        index: the index expressions as text; None for one that data decide about.
        relation: from instances to elements.
    """

    reference: str
    statement: str
    array: str
    kind: str
    index: tuple[str | None, ...]
    relation: Map

    def __str__(self) -> str:
        return f"{self.reference} ({self.kind}): {self.relation}"


@dataclass(frozen=True)
class AccessRelations:
    """All accesses of a program.

    Attributes:
        accesses: one by one.
    """

    accesses: tuple[Access, ...]

    @property
    def reads(self) -> Map:
        """What instances may read."""
        return self._of("read")

    @property
    def may_writes(self) -> Map:
        """What instances may write; what they must write is a part of it."""
        return self._of("may write", "must write")

    @property
    def must_writes(self) -> Map:
        """What instances write wherever they run."""
        return self._of("must write")

    @property
    def kills(self) -> Map:
        """What is not needed any more."""
        return self._of("kill")

    def _of(self, *kinds: str) -> Map:
        found = Map("{ }")
        for each in self.accesses:
            if each.kind in kinds:
                found = found | each.relation
        return found

    def __str__(self) -> str:
        return "\n".join(map(str, self.accesses))


@dataclass(frozen=True)
class Summary:
    """What a call of a function may do to its arguments, for all values of its parameters.

    Attributes:
        may_reads, may_writes, must_writes: sets of elements, with the integer arguments as
            parameters.
    """

    may_reads: Set
    may_writes: Set
    must_writes: Set

    def __str__(self) -> str:
        return (
            f"may read: {self.may_reads}\nmay write: {self.may_writes}\n"
            f"must write: {self.must_writes}"
        )


def access_relations(program: tree.Program) -> AccessRelations:
    """The access relations of a program.

    Raises:
        TranslationError: for what has no translation, with its place in the program.
    """
    return AccessRelations(tuple(_Accesses(program).all()))


def summary_of(program: tree.Program) -> Summary:
    """The access relations of a program as a whole, of the arrays of its caller.

    Raises:
        TranslationError: as `access_relations`.
    """
    found = access_relations(program)
    outside = [name for name, array in program.arrays.items() if not array.local]

    def elements(relation: Map) -> Set:
        everything = relation.range
        kept = Set("{ }")
        for name in outside:
            rank = len(program.arrays[name].shape)
            listed = ", ".join(f"e{axis}" for axis in range(rank))
            kept = kept | (everything & Set(f"{{ {name}[{listed}] }}"))
        return kept.coalesce()

    return Summary(elements(found.reads), elements(found.may_writes), elements(found.must_writes))


def context_of(program: tree.Program) -> Set:
    """What is known of the parameters: sizes that are not negative, accesses within arrays,
    assumptions (PENCIL report, section 3.4)."""
    straight, flags = without_jumps(program)
    scanned = scan(with_calls_everywhere(straight), flags)
    conditions = [f"({text})" for text, _ in scanned.context]
    listed = ", ".join(scanned.parameters.values())
    return Set(f"[{listed}] -> {{ [] : {' and '.join(conditions)} }}").params()


class _Accesses:
    def __init__(self, program: tree.Program) -> None:
        self.program = program
        straight, flags = without_jumps(program)
        straight = with_calls_everywhere(straight)
        self.scanned: Scanned = scan(straight, flags)
        self.count = 0
        context = [text for text, _ in self.scanned.context]
        self.context = context
        self.parameters = f"[{', '.join(self.scanned.parameters.values())}] -> "

    def all(self) -> Iterator[Access]:
        for one in self.scanned.statements:
            yield from self.statement(one)
        for block in self.scanned.blocks:
            yield from self.call(block)
        for kill in self.scanned.kills:
            array = self.scanned.program.arrays[kill.array]
            elements = [f"e{axis}" for axis in range(len(array.shape))]
            yield self.access(
                kill.name,
                kill.iterators,
                kill.array,
                "kill",
                elements,
                (*elements,),
                kill.constraints,
            )

    def call(self, one: ScannedBlock) -> Iterator[Access]:
        """Of an opaque function: all elements of its arrays."""
        reads = [(array, "read") for _, array, _ in one.reads]
        for array, kind in [*reads, *((array, "must write") for _, array in one.writes)]:
            if array in self.program.arrays:
                rank = len(self.program.arrays[array].shape)
                names = [f"{one.name}_{axis}" for axis in range(rank)]
                nothing = (None,) * rank
                yield self.access(
                    one.name, one.iterators, array, kind, names, nothing, one.constraints
                )

    def statement(self, one: ScannedStatement) -> Iterator[Access]:
        expressions = [(one.value, one.scope), *((g.condition, g.scope) for g in one.guards)]
        seen: set[tuple[str, str]] = set()
        # Iterators over the elements of an array, of which data choose one, are none of the program's.
        outer = [name for name in one.iterators if name not in one.elements]
        for value, scope in expressions:
            for read, subscripts, conditions in references_of(value, scope):
                if read.array not in self.program.arrays:
                    continue
                found = [affine_of(each, scope) for each in read.subscripts]
                if subscripts is not None and (read.array, _text(subscripts)) in seen:
                    continue
                if subscripts is not None:
                    seen.add((read.array, _text(subscripts)))
                yield self.at(one, outer, read.array, "read", found, conditions)
        if one.target.array in self.program.arrays:
            certain = not one.guards and not one.elements
            targets: list[Affine | None] = [
                None if set(each.terms) & set(one.elements) else each for each in one.subscripts
            ]
            kind = "must write" if certain else "may write"
            yield self.at(one, outer, one.target.array, kind, targets, ())

    def at(
        self,
        one: ScannedStatement,
        outer: Sequence[str],
        array: str,
        kind: str,
        subscripts: Sequence[Affine | None],
        conditions: Sequence[str],
    ) -> Access:
        taken = set(one.iterators) | set(one.scope.variables.values())
        places, index = [], []
        for axis, each in enumerate(subscripts):
            name = f"e{axis}"
            while name in taken:
                name += "_"
            places.append(name if each is None else str(each))
            index.append(None if each is None else str(each))
        constraints = [*one.constraints, *conditions]
        return self.access(
            one.name, outer, array, kind, places, tuple(index), constraints, one.elements
        )

    def access(
        self,
        statement: str,
        iterators: Sequence[str],
        array: str,
        kind: str,
        places: Sequence[str],
        index: tuple[str | None, ...],
        constraints: Sequence[str],
        hidden: Sequence[str] = (),
    ) -> Access:
        self.count += 1
        scope = Scope(self.scanned.parameters, {})
        extents = [affine_of(each, scope) for each in self.scanned.program.arrays[array].shape]
        inside = [
            f"0 <= {place} < {extent}"
            for place, at, extent in zip(places, index, extents, strict=True)
            if extent is not None and (at is None or kind == "kill")
        ]
        start = tuple_text(statement, [*iterators, *hidden])
        target = tuple_text(array, places)
        text = set_text(f"{start} -> {target}", [*constraints, *inside, *self.context])
        relation = Map(self.parameters + text)
        if hidden:
            relation = relation.project_out_domain(*hidden)
            named = ", ".join(iterators)
            rename = Map(f"{{ {tuple_text('', iterators)} -> {statement}[{named}] }}")
            if statement not in relation.domain.tuples:
                relation = relation.apply_domain(rename)
        return Access(f"r{self.count}", statement, array, kind, index, relation.coalesce())


def _text(subscripts: Sequence[Affine]) -> str:
    return ", ".join(map(str, subscripts))
