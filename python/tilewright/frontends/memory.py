"""The memory program of scanned statements: its references, and where each reads from.

What goes to the core is isl text (`_core.MemoryProgram`); what comes back says, for each reference,
which instance of which statement it reads (exact array dataflow, Feautrier 1991).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from .. import _core
from . import tree
from .affine import Affine, Scope, affine_of, condition_of
from .refusals import refuse
from .rewriting import plain
from .scan import free_name
from .scanned import Scanned, ScannedBlock, ScannedKill, ScannedStatement

__all__ = ["Memory", "Source", "memory_of", "tuple_text"]


@dataclass(frozen=True)
class Source:
    """Where the value comes from, for some of the readers.

    Attributes:
        kind: "written" by an instance of the statement `name`, "initial" in the array `name`, or
            "killed": it has no value.
        readers: isl text of them.
        condition: what tells them from the others; None for all readers.
        subscripts: of the instance or element, in terms of the reader's iterators.
    """

    kind: str
    name: str
    readers: str
    condition: _core.Expr | None
    subscripts: list[_core.Expr]

    def at(self, values: dict[str, _core.Expr]) -> Source:
        """The same with expressions in place of some of the reader's iterators."""
        condition = self.condition
        return replace(
            self,
            condition=None if condition is None else _core.substitute(condition, values),
            subscripts=[_core.substitute(subscript, values) for subscript in self.subscripts],
        )


@dataclass(frozen=True)
class Computed:
    """A read at a subscript that data decide about: what all elements hold then.

    Attributes:
        array: which one.
        reference: the read of an element.
        elements: the iterators that stand for subscripts which data decide about, by axis.
    """

    array: str
    reference: str
    elements: dict[int, str]


@dataclass
class Memory:
    """The program with its dataflow.

    Attributes:
        flow: the core's answer.
        times: isl text of the time of each statement, in one space.
        depth: how many numbers follow the first one in a time, which is 0 for the program's statements.
        references: of each statement, by array and isl text of subscripts.
        computed: of each statement, its reads at subscripts that data decide about.
        results: the names of what stands for the arrays' last values, by array.
        domains: of copies for blocks: the elements and the constraints, as isl text.
    """

    flow: _core.Dataflow
    times: dict[str, str]
    depth: int
    references: dict[str, dict[tuple[str, str], str]]
    computed: dict[str, dict[object, Computed]]
    results: dict[str, str]
    domains: dict[str, tuple[str, list[str]]]
    _found: dict[tuple[str, str, tuple[str, ...]], list[Source]] = field(default_factory=dict)

    def sources(self, reference: str, reader: str, free: tuple[str, ...] = ()) -> list[Source]:
        """The sources of a reference.

        Args:
            reader: the name of the readers' tuple in the text.
            free: iterators for which data will stand (`Source.at`).
        """
        found = self._found.get((reference, reader, free))
        if found is None:
            found = [Source(*row[:5]) for row in self.flow.sources(reference, reader, free)]
            self._found[reference, reader, free] = found
        return list(found)


def tuple_text(name: str, iterators: Sequence[str]) -> str:
    """S[i, j]."""
    return f"{name}[{', '.join(iterators)}]"


def references_of(
    expression: tree.Expression, scope: Scope, conditions: tuple[str, ...] = ()
) -> Iterator[tuple[tree.Read, tuple[Affine, ...] | None, tuple[str, ...]]]:
    """The reads of an expression, each with its subscripts and the affine choices around it."""
    if isinstance(expression, tree.Select):
        text = condition_of(expression.condition, scope)
        if text is None:
            yield from references_of(expression.condition, scope, conditions)
            first, second = conditions, conditions
        else:
            first, second = (*conditions, text), (*conditions, f"not ({text})")
        yield from references_of(expression.if_true, scope, first)
        yield from references_of(expression.if_false, scope, second)
        return
    for part in tree.parts_of(expression):
        yield from references_of(part, scope, conditions)
    if isinstance(expression, tree.Read):
        subscripts = [affine_of(subscript, scope) for subscript in expression.subscripts]
        known = tuple(subscript for subscript in subscripts if subscript is not None)
        yield expression, known if len(known) == len(subscripts) else None, conditions


def _extent(array: tree.Array, extent: tree.Expression, scope: Scope) -> Affine:
    found = affine_of(extent, scope)
    if found is None:
        refuse(
            array.location,
            f"the size of {array.name} is another one in each iteration of a loop",
            "declare it outside of the loop, with room for the largest",
        )
    return found


def box_text(
    array: tree.Array, names: dict[str, str], scope: Scope, name: str
) -> tuple[str, list[str]]:
    """The elements of an array as isl text of a set with a name, and its iterators."""
    iterators = [f"e{axis}" for axis in range(len(array.shape))]
    taken = set(iterators) & set(scope.variables.values())
    iterators = [iterator + "_" if iterator in taken else iterator for iterator in iterators]
    bounds = [
        f"0 <= {iterator} < {_extent(array, extent, scope)}"
        for iterator, extent in zip(iterators, array.shape, strict=True)
    ]
    return set_text(tuple_text(name, iterators), bounds), iterators


def set_text(elements: str, constraints: Sequence[str]) -> str:
    """{ S[i] : ... }"""
    where = " : " + " and ".join(f"({text})" for text in constraints) if constraints else ""
    return f"{{ {elements}{where} }}"


def _any(conditions: Sequence[tuple[str, ...]]) -> list[str]:
    """Where some of the conjunctions hold; nothing where one has no conditions."""
    if not all(conditions):
        return []
    return [" or ".join(f"({' and '.join(f'({text})' for text in all_)})" for all_ in conditions)]


def _named_times(name: str, iterators: Sequence[str], times: Sequence[str]) -> str:
    """The map of a schedule. Where loops have names of their own, the iterators give way to them."""
    if not any(" = " in time for time in times):
        return f"{tuple_text(name, iterators)} -> [{', '.join(times)}]"
    renamed = {iterator: f"{iterator}_of_{name}" for iterator in iterators}
    names = re.compile(r"\b(" + "|".join(iterators) + r")\b")
    written = []
    for time in times:
        loop, equals, value = time.rpartition(" = ")
        value = names.sub(lambda found: renamed[found[0]], value)
        written.append(f"{loop or time} = {value}" if equals or time in renamed else value)
    return f"{tuple_text(name, list(renamed.values()))} -> [{', '.join(written)}]"


class _Builder:
    def __init__(self, scanned: Scanned) -> None:
        self.scanned = scanned
        context = " and ".join(f"({text})" for text, _ in scanned.context)
        # A name that stands alone in a tuple is a parameter only if it is declared as one.
        self.listed = f"[{', '.join(scanned.parameters.values())}] -> "
        self.program = _core.MemoryProgram(f"{self.listed}{{ : {context} }}")
        everything: list[ScannedStatement | ScannedKill] = [*scanned.statements, *scanned.kills]
        self.depth = max(
            [
                len(one.times) + (len(one.terms) if isinstance(one, ScannedStatement) else 0)
                for one in everything
            ],
            default=0,
        )
        self.count = 0
        self.times: dict[str, str] = {}
        self.references: dict[str, dict[tuple[str, str], str]] = {}
        self.computed: dict[str, dict[object, Computed]] = {}
        self.results: dict[str, str] = {}
        self.domains: dict[str, tuple[str, list[str]]] = {}

    def statement(
        self, name: str, iterators: Sequence[str], domain: str, times: Sequence[str], live: bool
    ) -> None:
        first = "1" if live else "0"
        padded = [first, *times, *["0"] * (self.depth - len(times))]
        values = [time.rpartition(" = ")[2] for time in padded]
        self.times[name] = _named_times(name, iterators, padded)
        when = f"{tuple_text(name, iterators)} -> [{', '.join(values)}]"
        self.program.statement(domain, f"{{ {when} }}", live)

    def access(
        self, start: str, array: str, subscripts: str, kind: str, where: Sequence[str]
    ) -> str:
        self.count += 1
        reference = f"r{self.count}"
        target = f"{self.scanned.names[array]}[{subscripts}]"
        self.program.access(reference, self.listed + set_text(f"{start} -> {target}", where), kind)
        return reference

    def assignment(self, one: ScannedStatement) -> None:
        start = tuple_text(one.name, one.iterators)
        self.statement(one.name, one.iterators, set_text(start, one.constraints), one.times, False)
        place = ", ".join(str(subscript) for subscript in one.subscripts)
        self.access(start, one.target.array, place, "must write", ())
        if one.terms:
            start = self.terms(one)
        expressions = [(one.value, one.scope), *((g.condition, g.scope) for g in one.guards)]
        reads = [found for value, scope in expressions for found in references_of(value, scope)]
        if one.guards:
            reads.append((one.target, one.subscripts, ()))
        found: dict[tuple[str, str], list[tuple[str, ...]]] = {}
        for read, subscripts, conditions in reads:
            if subscripts is None:
                self.computed_read(one, read)
            else:
                key = read.array, ", ".join(str(subscript) for subscript in subscripts)
                found.setdefault(key, []).append(conditions)
        self.references[one.name] = {
            (array, elements): self.access(start, array, elements, "read", _any(conditions))
            for (array, elements), conditions in found.items()
        }

    def terms(self, one: ScannedStatement) -> str:
        """Who reads what the terms of a statement are made of, when the statement runs."""
        name = self.scanned.taken.take(f"{one.name}_terms")
        start = tuple_text(name, one.reading)
        inside = [*one.constraints, *one.of_terms]
        self.statement(name, one.reading, set_text(start, inside), one.times, False)
        padded = self.padded([*one.times, *one.terms])
        self.times[one.name] = _named_times(one.name, one.reading, padded)
        return start

    def computed_read(self, one: ScannedStatement, read: tree.Read) -> None:
        """All elements that the read may mean, as they are when the statement runs."""
        found = self.computed.setdefault(one.name, {})
        if plain(read) in found:
            return
        array = self.scanned.program.arrays[read.array]
        taken = {iterator: iterator for iterator in one.reading} | dict(one.scope.variables)
        elements: dict[int, str] = {}
        places = []
        inside = [*one.constraints, *one.of_terms]
        for axis, subscript in enumerate(read.subscripts):
            place = affine_of(subscript, one.scope)
            if place is None:
                name = elements[axis] = free_name(f"x{axis}", taken)
                taken[name] = name
                extent = affine_of(array.shape[axis], Scope(self.scanned.parameters, {}))
                inside.append(f"0 <= {name} < {extent}")
            places.append(elements.get(axis) or str(place))
        name = self.scanned.taken.take(f"{self.scanned.names[read.array]}_at_{one.name}")
        iterators = [*one.reading, *elements.values()]
        start = tuple_text(name, iterators)
        self.statement(name, iterators, set_text(start, inside), one.times, False)
        reference = self.access(start, read.array, ", ".join(places), "read", ())
        found[plain(read)] = Computed(read.array, reference, elements)

    def block(self, one: ScannedBlock) -> None:
        """Copies of what a call reads, and its results, element by element."""
        self.times[one.name] = _named_times(one.name, one.iterators, self.padded(one.times))
        for name, array, times in one.reads:
            elements = self.elements(name, array, one, times)
            iterators = [*one.iterators, *elements]
            place = ", ".join(elements)
            start = tuple_text(name, iterators)
            self.references[name] = {(array, place): self.access(start, array, place, "read", ())}
            all_times = self.padded([*times, *elements])
            self.times[name] = _named_times(name, iterators, all_times)
        for name, array in one.writes:
            elements = self.elements(name, array, one, one.times)
            start = tuple_text(name, [*one.iterators, *elements])
            self.access(start, array, ", ".join(elements), "must write", ())

    def elements(self, name: str, array: str, one: ScannedBlock, times: Sequence[str]) -> list[str]:
        """A statement over the elements of an array, in each iteration of a call; their iterators."""
        scope = Scope(self.scanned.parameters, {})
        whole = self.scanned.program.arrays[array]
        shape = whole.shape
        elements = [f"{name}_{axis}" for axis in range(len(shape))]
        inside = [
            *one.constraints,
            *(
                f"0 <= {element} < {_extent(whole, extent, scope)}"
                for element, extent in zip(elements, shape, strict=True)
            ),
        ]
        iterators = [*one.iterators, *elements]
        self.domains[name] = tuple_text(name, iterators), inside
        self.statement(name, iterators, set_text(*self.domains[name]), times, False)
        return elements

    def padded(self, times: Sequence[str]) -> list[str]:
        return ["0", *times, *["0"] * (self.depth - len(times))]

    def kill(self, one: ScannedKill) -> None:
        start = tuple_text(one.name, one.iterators)
        self.statement(one.name, one.iterators, set_text(start, one.constraints), one.times, False)
        array = self.scanned.program.arrays[one.array]
        scope = Scope(self.scanned.parameters, {})
        elements = [f"e{axis}" for axis in range(len(array.shape))]
        inside = [
            f"0 <= {element} < {_extent(array, extent, scope)}"
            for element, extent in zip(elements, array.shape, strict=True)
        ]
        self.access(start, one.array, ", ".join(elements), "kill", inside)

    def result(self, array: tree.Array) -> None:
        """What the array holds at the end."""
        name = self.scanned.taken.take(f"{self.scanned.names[array.name]}_out")
        scope = Scope(self.scanned.parameters, {})
        domain, iterators = box_text(array, self.scanned.names, scope, name)
        self.statement(name, iterators, domain, iterators, True)
        self.results[array.name] = name
        reference = self.access(
            tuple_text(name, iterators), array.name, ", ".join(iterators), "read", ()
        )
        self.references[name] = {(array.name, ", ".join(iterators)): reference}


def memory_of(scanned: Scanned) -> Memory:
    """The memory program of the statements, and its dataflow.

    Raises:
        AnalysisLimitError: isl would take too long.
    """
    builder = _Builder(scanned)
    arrays = scanned.program.arrays
    written = {one.target.array for one in scanned.statements}
    written |= {array for block in scanned.blocks for _, array in block.writes}
    results = [array for name, array in arrays.items() if name in written and not array.local]
    builder.depth = max([builder.depth, *(len(array.shape) for array in results)])
    for block in scanned.blocks:
        ranks = [len(arrays[array].shape) for _, array, _ in block.reads]
        builder.depth = max(builder.depth, len(block.times) + max(ranks, default=0))
    for one in scanned.statements:
        builder.assignment(one)
    for kill in scanned.kills:
        builder.kill(kill)
    for block in scanned.blocks:
        builder.block(block)
    for array in results:
        builder.result(array)
    return Memory(
        builder.program.dataflow(),
        builder.times,
        builder.depth,
        builder.references,
        builder.computed,
        builder.results,
        builder.domains,
    )
