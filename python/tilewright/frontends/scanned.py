"""What a scan of a program finds: statements, kills and calls of blocks, each with its place."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import tree
from .affine import Affine, Scope
from .names import Names

__all__ = ["Guard", "Scanned", "ScannedBlock", "ScannedKill", "ScannedStatement"]


@dataclass(frozen=True)
class Guard:
    """A condition that data decide, and whether it has to hold or not."""

    condition: tree.Expression
    holds: bool
    scope: Scope


@dataclass(frozen=True)
class ScannedStatement:
    """An assignment with its place in the program.

    Attributes:
        name: of the computation that it becomes.
        iterators: as isl has them, outermost first.
        constraints: isl text, all of which hold in the domain.
        times: isl text of its time: a position, an iterator, a position, ...; "i = -i" for a loop
            named i over other values.
        target: what it writes.
        subscripts: of the target.
        guards: outermost first; each is asked where those before it hold.
        scope: what names mean in its expressions.
        elements: those of the iterators that go over elements of the target, where data decide
            which of them is written.
        terms: the iterators of the terms, where the value is a `Reduce`, and what holds of them.
    """

    name: str
    iterators: tuple[str, ...]
    constraints: tuple[str, ...]
    times: tuple[str, ...]
    target: tree.Read
    subscripts: tuple[Affine, ...]
    value: tree.Expression
    guards: tuple[Guard, ...]
    scope: Scope
    location: tree.Location
    elements: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    of_terms: tuple[str, ...] = ()

    @property
    def reading(self) -> tuple[str, ...]:
        """The iterators of what the value reads."""
        return (*self.iterators, *self.terms)


@dataclass(frozen=True)
class ScannedKill:
    """A place where what an array holds is not needed any more."""

    name: str
    array: str
    iterators: tuple[str, ...]
    constraints: tuple[str, ...]
    times: tuple[str, ...]


@dataclass(frozen=True)
class ScannedBlock:
    """A call of an opaque function with its place in the program.

    Attributes:
        name: of the call.
        ranges: of the iterators around it: the first value, and the one behind the last.
        times: isl text of the time of the call.
        reads: the copies that the call reads: the name of each, its array, and its time.
        writes: the name of each result, and its array.
    """

    name: str
    ranges: tuple[tuple[str, Affine, Affine], ...]
    constraints: tuple[str, ...]
    times: tuple[str, ...]
    reads: tuple[tuple[str, str, tuple[str, ...]], ...]
    writes: tuple[tuple[str, str], ...]
    scope: Scope
    block: tree.Block

    @property
    def iterators(self) -> tuple[str, ...]:
        return tuple(name for name, _, _ in self.ranges)


@dataclass
class Scanned:
    """What `scan` finds.

    Attributes:
        program: with the arrays that were added.
        names: those of the program in tilewright: parameters and arrays.
        context: conditions on parameters, as isl text and as the program has them.
        joined: those of the program's that one of `context` stands for.
        has_choices: whether branches assign the same elements, so that they can be one statement.
        loops: those that something is asked or promised of, each with its name and the statements
            in it.
    """

    program: tree.Program
    taken: Names
    names: dict[str, str]
    parameters: dict[str, str]
    context: list[tuple[str, tree.Expression]]
    statements: list[ScannedStatement] = field(default_factory=list)
    kills: list[ScannedKill] = field(default_factory=list)
    blocks: list[ScannedBlock] = field(default_factory=list)
    loops: list[tuple[tree.For, str, list[str]]] = field(default_factory=list)
    joined: list[tree.Expression] = field(default_factory=list)
    has_choices: bool = False
