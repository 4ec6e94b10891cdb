"""For loops as the tree has them: an iterator from start to stop by a constant step.

A C loop is one if its iterator is an integer that starts with a value, changes by a constant in the
third part and nowhere else, and is compared with something that the body does not change. Other
conditions joined by `&&` leave the loop where they fail. What is no such loop is a while loop.
"""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from ..tree import (
    Break,
    Expression,
    For,
    If,
    Literal,
    Location,
    Operation,
    Statement,
    Variable,
    While,
    reads_of,
)
from .c_types import BOOL, LONG, ArrayOf, Number, Pointer, is_integer
from .expressions import node_has_effects
from .loop_ends import LoopShape
from .loop_syntax import Promise, bound_of, conjuncts_of, listed, step_of
from .parsing import assigned_names, names_in, nodes, passed_names
from .refusals import refuse
from .renaming import Renaming, Turns
from .scopes import Known, PointerVariable, Storage
from .state import LoopFrame
from .values import (
    Place,
    Value,
    arithmetic,
    compared,
    converted,
    extended,
    integer,
    negated,
    selected,
    widened,
)

__all__ = ["Loops"]


class Loops(Renaming):
    """Translates loops."""

    def loop(self, node: Any, promise: Promise | None, label: str) -> None:
        """A `for`."""
        known, labels = dict(self.known), set(self.labels)
        with self.block() as counted, self.inner_scope():
            shape = self._shape(node)
            with self.unless_left_early() as attempt:
                attempt.done = shape is not None and self._counted(node, shape, promise, label)
            done = attempt.done
        if done:
            for statement in counted:
                self.emit(statement)
            return
        if promise is not None:
            refuse(
                promise.location,
                "the loop behind this pragma is not counted by an iterator",
                "write for (int i = start; i < stop; i++)",
            )
        self.known, self.labels = known, labels
        with self.inner_scope():
            self._general(node, label)

    # Recognition ------------------------------------------------------------------------------

    def _shape(self, node: Any) -> LoopShape | None:
        conjuncts = conjuncts_of(node.cond) if node.cond is not None else []
        steps = listed(node.next)
        for candidate in self._candidates(node, steps):
            name, start, before, declared = candidate
            mine = [each for each in steps if step_of(each) == name]
            if len(mine) != 1 or name in {
                n for s in steps if s is not mine[0] for n in assigned_names(s)
            }:
                continue
            amount = self._amount(mine[0], name, node)
            bounds = [(each, bound_of(each, name)) for each in conjuncts]
            found = tuple(bound for _, bound in bounds if bound is not None)
            if amount is None or not found:
                continue
            others = tuple(each for each, bound in bounds if bound is None)
            also = tuple(each for each in steps if each is not mine[0])
            if any(name in names_in(each) for each in also) or any(map(node_has_effects, others)):
                continue
            return LoopShape(name, start, amount, found, others, also, before, declared)
        return self._counting_down(node, conjuncts, steps)

    def _candidates(
        self, node: Any, steps: list[Any]
    ) -> list[tuple[str, Any, tuple[Any, ...], Any]]:
        """Variables that may be the iterator: name, start, the rest of the first part, declaration."""
        found: list[tuple[str, Any, tuple[Any, ...], Any]] = []
        if isinstance(node.init, c_ast.DeclList):
            for at, each in enumerate(node.init.decls):
                rest = tuple(other for other in node.init.decls if other is not each)
                # The iterator may not be needed for the others' values, which come first.
                later = node.init.decls[at + 1 :]
                if each.init is not None and not any(each.name in names_in(o.init) for o in later):
                    found.append((each.name, each.init, rest, each))
            return found
        parts = listed(node.init)
        for at, each in enumerate(parts):
            if (
                isinstance(each, c_ast.Assignment)
                and each.op == "="
                and isinstance(each.lvalue, c_ast.ID)
            ):
                name = each.lvalue.name
                rest = tuple(other for other in parts if other is not each)
                if not any(name in names_in(other) for other in parts[at + 1 :]):
                    found.append((name, each.rvalue, rest, None))
        started = {name for name, _, _, _ in found}
        for each in steps:
            name = step_of(each)
            if name and name not in started:
                found.append((name, None, tuple(parts), None))
        return found

    def _amount(self, node: Any, name: str, loop: Any) -> int | None:
        """The step, if it is a constant other than 0 that the loop leaves as it is."""
        match node:
            case c_ast.UnaryOp():
                return 1 if "+" in node.op else -1
            case c_ast.Assignment() if node.op in ("+=", "-="):
                sign, by = node.op[0], node.rvalue
            case c_ast.Assignment():
                sum_ = node.rvalue
                left = isinstance(sum_.left, c_ast.ID) and sum_.left.name == name
                sign, by = sum_.op, sum_.right if left else sum_.left
                if not left and sign == "-":
                    return None
            case _:
                return None
        written = assigned_names(loop.stmt) | assigned_names(loop.next) | {name}
        if written & names_in(by) or node_has_effects(by):
            return None
        with self.block() as effects:
            value = self.value(by)
        number = extended(value.tree)
        if effects or number is None or number == 0:
            return None
        return number if sign == "+" else -number

    def _counting_down(self, node: Any, conjuncts: list[Any], steps: list[Any]) -> LoopShape | None:
        """`for (i = n; i-- > 0;)`: from n - 1 down to 0, also of unsigned numbers."""
        if len(conjuncts) != 1 or steps:
            return None
        condition = conjuncts[0]
        decrement = condition
        if isinstance(condition, c_ast.BinaryOp) and condition.op in (">", "!="):
            if not (isinstance(condition.right, c_ast.Constant) and condition.right.value == "0"):
                return None
            decrement = condition.left
        if not (isinstance(decrement, c_ast.UnaryOp) and decrement.op == "p--"):
            return None
        if not isinstance(decrement.expr, c_ast.ID):
            return None
        name = decrement.expr.name
        for candidate, start, before, declared in self._candidates(node, [decrement]):
            if candidate == name:
                zero = c_ast.Constant("int", "0", decrement.coord)
                entity = self.scope.find(name)
                of = (
                    self.type_of(declared)
                    if declared is not None
                    else getattr(entity, "type", None)
                )
                signed = isinstance(of, Number) and of.dtype.kind == "i"
                if not signed:
                    first = c_ast.ID(name, condition.coord) if start is None else start
                    if extended(self.value(first).tree) == 0:
                        return None
                bound = (">=!", zero)
                return LoopShape(name, start, -1, (bound,), (), (), before, declared)
        return None

    # Translation ------------------------------------------------------------------------------

    def _counted(self, node: Any, shape: LoopShape, promise: Promise | None, label: str) -> bool:
        """Writes the loop if it has the tree's form; says whether it has."""
        here = self.place(node)
        of = self._iterator_type(shape)
        shape = shape if of is None else self.down_to_zero(shape, of)
        changed = assigned_names(node.stmt) | {
            n for each in shape.also for n in assigned_names(each)
        }
        changed |= {n for each in shape.others for n in assigned_names(each)}
        if of is None or shape.name in changed or not self._invariant(shape, node, changed):
            return False
        if self._meets_or_leaves(shape, node):
            return False
        for each in shape.before:
            if isinstance(each, c_ast.Decl):
                self.declare_local(each)
            else:
                self.effects(each)
        start = self.start(shape, of, here)
        stop = self.stop(shape, of, start, here)
        if stop is None:
            return False
        self._write(node, shape, of, start, stop, promise, label)
        return True

    @staticmethod
    def _meets_or_leaves(shape: LoopShape, node: Any) -> bool:
        """Whether the loop goes on until its iterator equals a bound, unless something else ends it: then
        it has a meaning also if the iterator starts behind that bound."""
        if shape.least is not None or all(sign != "!=" for sign, _ in shape.bounds):
            return False
        jumps = (c_ast.Break, c_ast.Return, c_ast.Goto)
        return (
            len(shape.bounds) > 1
            or bool(shape.others)
            or any(isinstance(each, jumps) for each in nodes(node.stmt))
        )

    def _iterator_type(self, shape: LoopShape) -> Number | None:
        if shape.declared is not None:
            of = self.type_of(shape.declared)
            entity = None
        else:
            entity = self.scope.find(shape.name)
            if not isinstance(entity, Storage) or entity.shared or entity.constant:
                return None
            of = entity.type
        return of if isinstance(of, Number) and is_integer(of) and of != BOOL else None

    def _invariant(self, shape: LoopShape, node: Any, changed: set[str]) -> bool:
        """Whether the loop leaves its bounds as they are."""
        parts = [bound for _, bound in shape.bounds]
        used = {name for bound in parts for name in names_in(bound)}
        if used & changed or shape.name in used:
            return False
        if any(
            isinstance(e, c_ast.FuncCall | c_ast.Assignment)
            for bound in parts
            for e in nodes(bound)
        ):
            return False
        passed = passed_names(node.stmt)
        calls = any(
            isinstance(each, c_ast.FuncCall) and self._is_defined(each) for each in nodes(node.stmt)
        )
        for name in used:
            entity = self.scope.find(name)
            if isinstance(entity, PointerVariable) and entity.address is not None:
                if calls or self._writes_memory(node.stmt):
                    return False
            if isinstance(entity, Storage):
                in_memory = isinstance(entity.type, ArrayOf | Pointer) or entity.shared
                if in_memory and (calls or name in passed or entity.may_alias or entity.shared):
                    if calls or self._writes_memory(node.stmt):
                        return False
        return True

    @staticmethod
    def _writes_memory(node: Any) -> bool:
        return any(
            isinstance(each, c_ast.Assignment) and not isinstance(each.lvalue, c_ast.ID)
            for each in nodes(node)
        )

    def _write(
        self,
        node: Any,
        shape: LoopShape,
        of: Number,
        start: Expression,
        stop: Expression,
        promise: Promise | None,
        label: str,
    ) -> None:
        here = self.place(node)
        # The other parts of the loop run within it.
        for part in (node.stmt, *shape.also, *shape.others):
            self.forget(part)
        storage = self._memory_of(shape)
        leaves = shape.others or any(
            isinstance(each, c_ast.Break | c_ast.Return) for each in nodes(node.stmt)
        )
        first: Place | None = None
        if storage is not None and leaves:
            first = Place(self.root_of(storage), (), (), of)
            begin = converted(Value(Number(start.dtype), start), of, here)
            self.store(first, begin, here)
            self.known.pop(first.root, None)
            if any(read.array == first.root for read in reads_of(start)):
                start = self.load(first, here).tree  # it has that value now: `while (k-- > 0)`
        name = shape.name
        if name in self.names or name in self.iterators:
            name = self._free_iterator(name)
        iterator = Variable(name, of.dtype)
        self.iterators.append(name)
        self.iterator_names.add(name)
        final = extended(stop)
        if self.is_never_negative(start) if shape.step > 0 else final is not None and final >= -1:
            self.never_negative.add(name)
        else:
            self.never_negative.discard(name)

        def turn(value: Value) -> list[Statement]:
            return self._turn(node, shape, value, of, first)

        meanings, knowledge = self.meanings(), dict(self.known)
        body = turn(Value(of, iterator))
        meanings = self.since(meanings)
        if self.differs(meanings):
            if promise is not None:
                self.unchanged(
                    meanings, node, "in a loop whose turns are promised to be independent"
                )
            self.turned(
                node,
                shape,
                of,
                (start, stop),
                iterator,
                meanings,
                body,
                turn,
                knowledge,
                label or name,
            )
            body = []
        self.iterators.pop()
        for part in (node.stmt, *shape.also, *shape.others):
            self.forget(part)
        self.forget_iterator(name)
        if first is not None:
            self.known.pop(first.root, None)
        independent = None if promise is None else self.promised(promise)
        if self.cases is None:
            self.emit(
                For(
                    iterator, start, stop, shape.step, tuple(body), label or name, here, independent
                )
            )
        if storage is not None and first is None:
            last = self._last(of, start, stop, shape.step, here)
            self.store(Place(self.root_of(storage), (), (), of), last, here)

    def _turn(
        self, node: Any, shape: LoopShape, value: Value, of: Number, first: Place | None
    ) -> list[Statement]:
        """The body, with a value of the iterator; `first`: the memory that has it, too."""
        here = self.place(node)
        with self.block() as body, self.inner_scope() as scope:
            scope.names[shape.name] = Known(value)
            if first is not None:
                self.store(first, value, here)
                self.known.pop(first.root, None)
            for each in shape.others:
                failed = negated(self.condition(each), self.place(each))
                self.emit(If(failed, (Break(self.place(each)),), (), self.place(each)))

            def end() -> None:
                with self.within(scope):
                    self._end_of_iteration(shape, value, of, first, here)

            self.loops.append(LoopFrame(end))
            self.statement(node.stmt)
            self.settle((), "", node.stmt)
            self.loops.pop()
            end()
        return body

    def _free_iterator(self, name: str) -> str:
        count = 1
        while f"{name}_{count}" in self.names or f"{name}_{count}" in self.iterators:
            count += 1
        return f"{name}_{count}"

    def _memory_of(self, shape: LoopShape) -> Storage | None:
        """Where the iterator's value is wanted after the loop, or None."""
        if shape.declared is not None:
            return None
        entity = self.scope.find(shape.name)
        assert isinstance(entity, Storage)
        wanted = shape.name in self.frames[-1].read_outside or not entity.local
        return entity if wanted else None

    def _end_of_iteration(
        self, shape: LoopShape, value: Value, of: Number, first: Place | None, here: Location
    ) -> None:
        for each in shape.also:
            self.effects(each)
        if first is not None:
            sign = "-" if shape.step < 0 else "+"  # a type without sign has no negative step
            following = arithmetic(sign, value, integer(abs(shape.step), of), of, here)
            self.store(first, following, here)

    def _last(
        self, of: Number, start: Expression, stop: Expression, step: int, here: Location
    ) -> Value:
        """The iterator's value behind a loop that was not left."""
        begin = widened(Value(of, start), here)
        end = widened(Value(Number(stop.dtype), stop), here)
        up = step > 0
        runs = compared("<" if up else ">", begin, end, LONG, here)
        size = abs(step)
        if size == 1:
            last = end
        else:
            distance = (
                arithmetic("-", end, begin, LONG, here)
                if up
                else arithmetic("-", begin, end, LONG, here)
            )
            rounded = arithmetic("+", distance, integer(size - 1, LONG), LONG, here)
            count = Value(
                LONG, Operation("//", (rounded.tree, Literal(size, LONG.dtype)), LONG.dtype, here)
            )
            moved = arithmetic("*", count, integer(step, LONG), LONG, here)
            last = arithmetic("+", begin, moved, LONG, here)
        chosen = Value(LONG, selected(runs, last.tree, begin.tree, LONG.dtype))
        return converted(chosen, of, here)

    def promised(self, promise: Promise) -> tuple[str, ...]:
        """The arrays that a promise is about; () is all."""
        if promise.reduced:
            reduced = set(self._arrays_of(promise.reduced, promise.location))
            return tuple(sorted(set(self.arrays) - reduced))
        return tuple(self._arrays_of(promise.arrays, promise.location))

    def _arrays_of(self, names: tuple[str, ...], here: Location) -> list[str]:
        found = []
        for name in names:
            entity = self.scope.find(name)
            if isinstance(entity, Storage):
                root = self.root_of(entity)
                found += [
                    each for each in self.arrays if each == root or self.owner.get(each) == root
                ]
            elif isinstance(entity, PointerVariable) and entity.address is not None:
                found.append(entity.address.place.name)
            else:
                refuse(here, f"{name} is no array of this function")
        return found

    # While ------------------------------------------------------------------------------------

    def while_statement(self, node: Any, label: str) -> None:
        """A `while`: counted, if it ends with a step of what its condition compares."""
        items = node.stmt.block_items if isinstance(node.stmt, c_ast.Compound) else None
        continues = any(isinstance(each, c_ast.Continue) for each in nodes(node.stmt))
        inner = {each.name for each in items or [] if isinstance(each, c_ast.Decl)}
        if items and step_of(items[-1]) and not continues and not inner & names_in(items[-1]):
            body = c_ast.Compound(items[:-1], node.stmt.coord)
            self.loop(c_ast.For(None, node.cond, items[-1], body, node.coord), None, label)
        else:
            self.loop(c_ast.For(None, node.cond, None, node.stmt, node.coord), None, label)

    def _general(self, node: Any, label: str) -> None:
        """A `for` without an iterator."""
        if isinstance(node.init, c_ast.DeclList):
            for each in node.init.decls:
                self.declare_local(each)
        elif node.init is not None:
            self.effects(node.init)
        steps = listed(node.next)
        self.while_loop(node.cond, node.stmt, steps, node, label, False)

    def while_loop(
        self, cond: Any, stmt: Any, steps: list[Any], node: Any, label: str, first: bool
    ) -> None:
        """`while`, `do` (the body comes `first`), and `for` without an iterator."""
        here = self.place(node)
        parts = [stmt, *steps, *([cond] if cond is not None else [])]
        for each in parts:
            self.forget(each)
        always, outer = Literal(True, BOOL.dtype), self.scope
        turns = Turns(self, node, here)

        def leave() -> None:
            if cond is not None:
                failed = negated(self.condition(cond), self.place(cond))
                if not (isinstance(failed, Literal) and not failed.value):
                    self.emit(If(failed, (Break(self.place(cond)),), (), self.place(cond)))

        def end() -> None:
            with self.within(outer):
                for each in steps:
                    self.effects(each)
                turns.note()
                if first:
                    leave()

        condition: Expression = always
        if not first and cond is not None:
            with self.block() as effects:
                condition = self.condition(cond)
            if effects:
                condition = always
        with self.block() as body:
            while True:
                with self.inner_scope():
                    if not first and (condition is always or turns.count):
                        with self.within(outer):
                            leave()
                    self.loops.append(LoopFrame(end))
                    self.statement(stmt)
                    self.settle((), "", stmt)
                    self.loops.pop()
                    end()
                if turns.are_done():
                    break
        for each in parts:
            self.forget(each)
        turns.begin()
        self.emit(While(condition, tuple(body), label or self.unique_label("while"), here))
        turns.tell_apart()

    def unique_label(self, wanted: str) -> str:
        """A name for a loop that has no iterator."""
        return self.label(wanted)

    @property
    def loops(self) -> list[LoopFrame]:
        """The loops around the statement, in its function."""
        return self.frames[-1].loops
