"""Pointers that point into one array and later into another: `double *t = a; a = b; b = t;`.

Such a pointer is a name, which means an array here and another one there; nothing of it is in memory. A
loop that exchanges names runs as many of its turns at once as it takes until they mean again what they
meant, and what is left of them behind it. What follows a loop or a condition behind which names may mean
one thing or another is translated for each case.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from ..rewriting import retyped
from ..tree import Expression, For, If, Literal, Location, Operation, Statement, Variable
from .c_types import BOOL, LONG, Number
from .jumps import LeaveLoop
from .loop_ends import LoopEnds, LoopShape
from .parsing import assigned_names, names_in, nodes
from .pointers import moved_pointers
from .refusals import refuse
from .scopes import PointerVariable
from .state import is_static
from .values import (
    Address,
    Place,
    Value,
    arithmetic,
    compared,
    converted,
    integer,
    selected,
    widened,
)

__all__ = ["Case", "Meanings", "Renaming", "renamed_pointers"]

#: Turns of a loop after which names mean again what they meant.
MOST_TURNS = 4
#: Cases within cases that are told apart: each doubles what follows.
MOST_CASES = 3

Meanings = dict[int, tuple[PointerVariable, Address | None]]


@dataclass
class Case:
    """What a program comes to behind a loop or a condition.

    Attributes:
        condition: when; None for all other cases.
        statements: that run then.
        meanings: what names mean then.
    """

    condition: Expression | None
    statements: Sequence[Statement]
    meanings: Meanings


class LeftEarly(Exception):
    """Names change their meaning in a loop whose turns may end early."""


@dataclass
class Attempt:
    """Whether something was done."""

    done: bool = False


def may_skip(body: Any, in_switch: bool = False) -> bool:
    """Whether a part of a loop's turn may be left out: jumps of inner loops are their own."""
    match body:
        case c_ast.For() | c_ast.While() | c_ast.DoWhile():
            return False
        case LeaveLoop():
            return True
        case c_ast.Break():
            return not in_switch
        case c_ast.Continue() | c_ast.Goto():
            return True
    inner = in_switch or isinstance(body, c_ast.Switch)
    return any(may_skip(child, inner) for _, child in body.children())


def renamed_pointers(body: Any) -> set[str]:
    """The pointers that are only assigned as a whole, from names of arrays and of such pointers; what
    they are initialised with may be something else."""
    moved = moved_pointers(body)
    sources: dict[str, set[str]] = {name: set() for name in moved}
    renamed = set(moved)
    for each in nodes(body):
        name, value = "", None
        if isinstance(each, c_ast.Assignment) and isinstance(each.lvalue, c_ast.ID):
            name, value = each.lvalue.name, each.rvalue
        elif isinstance(each, c_ast.Decl) and each.init is not None:
            name, value = each.name, each.init
        elif isinstance(each, c_ast.UnaryOp) and isinstance(each.expr, c_ast.ID):
            if each.op in ("++", "--", "p++", "p--", "&"):
                renamed.discard(each.expr.name)
            continue
        if name not in sources:
            continue
        if isinstance(value, c_ast.ID) and getattr(each, "op", "=") == "=":
            sources[name].add(value.name)
        elif not isinstance(each, c_ast.Decl):
            renamed.discard(name)
    while True:
        others = {name for name in renamed if sources[name] & (moved - renamed)}
        if not others:
            return renamed
        renamed -= others


class Renaming(LoopEnds):
    """Follows what pointers mean."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.renaming: list[PointerVariable] = []
        self.cases: list[Case] | None = None
        self._depth = 0

    @abstractmethod
    def sequence(self, items: list[Any], label: str = "") -> None:
        """Translates statements in order."""

    def rename(self, pointer: PointerVariable) -> None:
        """The pointer may mean other arrays later."""
        pointer.renamed = True
        self.renaming.append(pointer)

    def meanings(self) -> Meanings:
        """What such pointers mean now."""
        return {id(each): (each, each.address) for each in self.renaming}

    @staticmethod
    def mean(meanings: Meanings) -> None:
        """Lets them mean that again."""
        for pointer, address in meanings.values():
            pointer.address = address

    def check_meaning(self, pointer: PointerVariable, node: Any) -> None:
        """Refuses addresses that are others when the memory that they are computed of changes."""
        address = pointer.address
        if not pointer.renamed or address is None:
            return
        parts = [*address.place.subscripts, *([address.offset.tree] if address.offset else [])]
        if not all(map(is_static, parts)):
            refuse(
                self.place(node),
                f"the pointer {pointer.name} points into one array and later into another, at an element "
                "that data decide about",
                "use a pointer for each",
            )

    def unchanged(self, before: Meanings, node: Any, where: str) -> None:
        """Refuses names that mean others now than before."""
        for pointer, address in before.values():
            if pointer.address != address:
                refuse(
                    self.place(node),
                    f"the pointer {pointer.name} points into one array and later into another, {where}",
                    "use a pointer for each; write a step that swaps two arrays as two steps",
                )

    # ---- loops ----

    def turned(
        self,
        node: Any,
        shape: LoopShape,
        of: Number,
        bounds: tuple[Expression, Expression],
        iterator: Variable,
        before: Meanings,
        body: list[Statement],
        turn: Callable[[Value], list[Statement]],
        known: dict[str, Value],
        label: str,
    ) -> None:
        """A loop after each turn of which names mean other arrays.

        Args:
            bounds: where it starts and stops.
            before: what names mean in front of it.
            body: its first turn, which was translated.
            turn: translates another one, with this value of the iterator.
            known: what is known of scalars at the beginning of any turn.
        """
        here = self.place(node)
        if shape.others or may_skip(node.stmt):
            raise LeftEarly
        bodies = list(body)
        period = 1
        while self.differs(before):
            lost = any(each.address is None and was is not None for each, was in before.values())
            if period == MOST_TURNS or lost:
                self.unchanged(before, node, "and into others in each turn of this loop")
            shifted = arithmetic(
                "+", Value(of, iterator), integer(period * shape.step, of), of, here
            )
            bodies += turn(shifted)
            period += 1
        start, stop = (widened(Value(of, each), here) for each in bounds)
        count = self._turns(start, stop, shape.step, here)
        earlier = arithmetic("-", stop, integer((period - 1) * shape.step, LONG), LONG, here)
        step = period * shape.step
        self.emit(For(iterator, start.tree, earlier.tree, step, tuple(bodies), label, here))
        behind = self.meanings()
        cases = []
        runs = compared(">", count, integer(0, LONG), LONG, here)
        for rest in range(1, period):
            self.mean(before)
            self.known = dict(known)
            statements: list[Statement] = []
            for number in range(rest):
                passed = arithmetic("+", count, integer(number - rest, LONG), LONG, here)
                by = arithmetic("*", passed, integer(shape.step, LONG), LONG, here)
                at = arithmetic("+", start, by, LONG, here)
                inside = retyped(at.tree, of.dtype) if of.dtype.kind == "i" else None
                statements += turn(converted(at, of, here) if inside is None else Value(of, inside))
            left = Operation("%", (count.tree, Literal(period, LONG.dtype)), LONG.dtype, here)
            is_rest = compared("==", Value(LONG, left), integer(rest, LONG), LONG, here)
            condition = selected(runs, is_rest, Literal(False, BOOL.dtype), BOOL.dtype)
            cases.append(Case(condition, statements, self.meanings()))
        self.mean(before)
        self.known = dict(known)
        self.cases = [*cases, Case(None, (), {**behind, **before})]

    @staticmethod
    def since(before: Meanings) -> Meanings:
        """What names meant, as far as they meant something: others have to be set in each turn before they
        are used, as the first turn could not be translated otherwise."""
        return {key: each for key, each in before.items() if each[1] is not None}

    @staticmethod
    def differs(before: Meanings) -> bool:
        """Whether a name means something else now."""
        return any(pointer.address != address for pointer, address in before.values())

    def _turns(self, start: Value, stop: Value, step: int, here: Location) -> Value:
        """How many turns a loop has; 0 or less where it has none."""
        ends = (stop, start) if step > 0 else (start, stop)
        distance = arithmetic("-", *ends, LONG, here)
        size = abs(step)
        if size == 1:
            return distance
        rounded = arithmetic("+", distance, integer(size - 1, LONG), LONG, here)
        whole = Operation("//", (rounded.tree, Literal(size, LONG.dtype)), LONG.dtype, here)
        return Value(LONG, whole)

    @contextmanager
    def unless_left_early(self) -> Iterator[Attempt]:
        """An attempt to write a loop that is counted; not done where names change their meaning in one
        that may be left early, and all is as it was then."""
        attempt = Attempt()
        iterators, frames, before = (
            list(self.iterators),
            list(self.frames[-1].loops),
            self.meanings(),
        )
        try:
            yield attempt
        except LeftEarly:
            attempt.done = False
            self.iterators[:] = iterators
            self.frames[-1].loops[:] = frames
            self.mean(before)

    # ---- cases ----

    def branch(
        self, condition: Expression, if_true: list[Statement], if_false: list[Statement],
        meanings: tuple[Meanings, Meanings, Meanings], here: Location,
    ) -> None:  # fmt: skip
        """An `if` behind whose branches names may mean different arrays.

        Args:
            meanings: in front of it, behind the first branch, and behind the second one.
        """
        before, first, second = meanings
        taken = None if not isinstance(condition, Literal) else bool(condition.value)
        if taken is not None:
            self.mean(first if taken else second)
            for statement in if_true if taken else if_false:
                self.emit(statement)
            return
        if all(first[key][1] == second[key][1] for key in before):
            self.mean(first)
            if if_true or if_false:
                self.emit(If(condition, tuple(if_true), tuple(if_false), here))
            return
        self.mean(before)
        self.cases = [Case(condition, if_true, first), Case(None, if_false, second)]

    def settle(self, rest: Sequence[Any], label: str, node: Any) -> None:
        """Writes the cases that there are, each with what follows: `rest` of the sequence."""
        if self.cases is None:
            return
        cases, self.cases = self.cases, None
        apart = {
            each.name for each in self._told_apart(cases) if self.scope.find(each.name) is each
        }
        rest, later = self._divided(rest, apart)
        self._depth += 1
        if self._depth > MOST_CASES:
            for case in cases:
                self.mean(case.meanings)
                self.unchanged(cases[-1].meanings, node, "in more cases than are told apart")
        known = dict(self.known)
        written: list[tuple[Expression | None, list[Statement], Meanings]] = []
        for case in cases:
            self.known = dict(known)
            for pointer in self.renaming:
                pointer.address = None  # unless the case says more
            self.mean(case.meanings)
            with self.block() as statements, self.inner_scope():
                for statement in case.statements:
                    self.emit(statement)
                if rest:
                    self.sequence(list(rest), label)
            written.append((case.condition, statements, self.meanings()))
        self._depth -= 1
        self.known = known
        for each in (node, *rest):
            self.forget(each)
        arm: tuple[Statement, ...] = ()
        for condition, statements, _ in reversed(written):
            if condition is None:
                arm = tuple(statements)
            elif statements or arm:
                arm = (If(condition, tuple(statements), arm, self.place(node)),)
        for statement in arm:
            self.emit(statement)
        last = written[-1][2]
        for pointer in self.renaming:
            found = [each.get(id(pointer), (pointer, None))[1] for _, _, each in written]
            same = all(each == found[0] for each in found)
            pointer.address = last[id(pointer)][1] if same and id(pointer) in last else None
        if later:
            self.sequence(list(later), label)

    def _divided(self, rest: Sequence[Any], names: set[str]) -> tuple[Sequence[Any], Sequence[Any]]:
        """What follows cases: what is translated for each of them, up to the last use of names that mean
        different arrays, and what is translated once."""
        used = [at for at, each in enumerate(rest) if names & names_in(each)]
        if not used:
            return [], rest
        first, later = rest[: used[-1] + 1], rest[used[-1] + 1 :]
        own = {each.name for each in first if isinstance(each, c_ast.Decl | c_ast.Typedef)}
        changed = {name for each in first for name in assigned_names(each)}
        own |= changed & {each.name for each in self.renaming}
        if any(own & _names_of(part) for each in later for part in nodes(each)):
            return rest, []
        return first, later

    def _told_apart(self, cases: Sequence[Case]) -> Iterator[PointerVariable]:
        for pointer in self.renaming:
            found = [case.meanings.get(id(pointer), (pointer, None))[1] for case in cases]
            if any(each != found[0] for each in found):
                yield pointer


def _names_of(node: Any) -> set[str]:
    """The variable or the types that a node names."""
    if isinstance(node, c_ast.IdentifierType):
        return set(node.names)
    return {node.name} if isinstance(node, c_ast.ID) else set()


class Turns:
    """The turns of a loop that data end, after which names mean something else.

    The loop has as many turns in its body as it takes until names mean what they meant, and leaves it
    between them where its condition fails. A scalar counts them: behind the loop it says what names mean.
    """

    def __init__(self, translation: Renaming, node: Any, here: Location) -> None:
        self.count = 0
        self._translation = translation
        self._node = node
        self._here = here
        self._before = translation.meanings()
        self._seen: list[Meanings] = []
        self._counter: Place | None = None

    def note(self) -> None:
        """A turn is over, and its condition is asked next."""
        own = self._translation
        if not self._seen:
            self._before = own.since(self._before)
        if self._counter is None and own.differs(self._before):
            if may_skip(self._node.stmt):
                own.unchanged(
                    self._before,
                    self._node,
                    "in a loop that is left early, or whose turns are skipped",
                )
            self._counter = own.temporary("turn", LONG, self._here)
        self.count += 1
        if self._counter is not None:
            known = self.count if own.differs(self._before) else 0
            own.store(self._counter, integer(known, LONG), self._here)
            own.known.pop(self._counter.root, None)

    def are_done(self) -> bool:
        """Whether names mean what they meant."""
        own = self._translation
        self._seen.append(own.meanings())
        if not own.differs(self._before):
            return True
        if self.count == MOST_TURNS:
            own.unchanged(self._before, self._node, "and into others in each turn of this loop")
        return False

    def begin(self) -> None:
        """Writes what stands in front of the loop."""
        if self._counter is not None:
            own = self._translation
            own.store(self._counter, integer(0, LONG), self._here)
            own.known.pop(self._counter.root, None)

    def tell_apart(self) -> None:
        """The cases behind the loop."""
        if self._counter is None:
            return
        own = self._translation
        found = own.load(self._counter, self._here)
        own.cases = [
            Case(
                compared("==", found, integer(at, LONG), LONG, self._here),
                (),
                meanings,
            )
            for at, meanings in enumerate(self._seen[:-1], 1)
        ]
        own.mean(self._before)
        own.cases.append(Case(None, (), self._before))
