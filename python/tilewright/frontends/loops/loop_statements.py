"""Loops and branches of the person's function, and arrays that change their names in them.

`u, v = v, u` of arrays moves nothing: the names mean other arrays from then on. A loop that does so is
translated once for each of the ways in which its arrays are named, and a kernel is for one remainder
of its count, so that it is known which array a name means behind it.

Before::

    for t in range(T):
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        u, v = v, u

After, where T is odd::

    for t in range(0, T - 1, 2):
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        u[1:-1] = 0.5 * (v[:-2] + v[2:])
    v[1:-1] = 0.5 * (u[:-2] + u[2:])
    # u means v, and v means u
"""

from __future__ import annotations

import ast
from typing import NoReturn

from ..tree import (
    Assume,
    Break,
    Expression,
    For,
    If,
    Literal,
    Operation,
    Statement,
    Variable,
    While,
)
from .context import Storage
from .indices import Linear, add, constant_of, linear, literal, multiply, subtract
from .kinds import BOOL, INT, INT64
from .parallel_sums import ParallelSums
from .rotations import Rotations
from .unrolled_jumps import jumps_of, one_after_another
from .values import (
    ArrayValue,
    Listed,
    RangeValue,
    Scalar,
    Stepped,
    TupleValue,
    Value,
    as_bool_literal,
)

__all__ = ["LoopStatements"]

_MOST_NAMINGS = 8


class LoopStatements(ParallelSums, Rotations):
    """Loops and branches."""

    def store(self, target: ast.expr, value: Value, node: ast.stmt) -> None:
        raise NotImplementedError

    def for_loop(self, node: ast.For) -> None:
        iterated = self.expression(node.iter)
        if isinstance(iterated, TupleValue):
            self.unrolled(node, iterated)
            return
        over = self.iterated(iterated, node.iter)
        turns = self.turns_of(over, node) if iterated is over else None
        if turns is not None:
            self.unrolled(node, turns)
            return
        remarks = self.frame.source.remarks(node)
        start, stop = over.start, over.stop
        shown = node.target.id if isinstance(node.target, ast.Name) else "i"
        iterator = Variable(self.fresh(shown), INT64)
        first = linear(start)
        if over.step > 0 and _not_negative(first, self.nonnegative):
            self.nonnegative.add(iterator.name)
        if iterated is over:
            self.note_range(iterator, over, node)
        label = self.loop_label(remarks.loop or shown)
        rotating = self.begin_rotation(node)
        named, known = self.named_arrays(), set(self.arrays)
        body = self.growing_turn(node, iterated, over, iterator)
        if not self.names_are(named):
            self.renaming_loop(node, iterated, over, iterator, label, named, body)
            self.end_rotation(rotating, node, over, body)
            return
        self.end_rotation(rotating, node, over, body)
        independent = remarks.independent
        if independent:
            independent = self.arrays_named(independent, node)
        where, step = self.at(node), over.step
        loop = For(iterator, start, stop, step, body, label, where, independent, over.parallel)
        if over.parallel:
            self.parallel_loop(loop, known, node)
        else:
            self.emit(loop, node)

    def growing_list(self, node: ast.For, over: RangeValue) -> tuple[str, Listed] | None:
        raise NotImplementedError

    def leave_out(
        self, listed: Listed, index: Expression, condition: Expression, node: ast.AST
    ) -> None:
        raise NotImplementedError

    def growing_turn(
        self, node: ast.For, iterated: Value, over: RangeValue, iterator: Variable
    ) -> tuple[Statement, ...]:
        """The body, in which a list may get one value more."""
        growing = self.growing_list(node, over)
        if growing is None:
            return self.turn(node, iterated, iterator)
        web, listed = growing
        shift = subtract(iterator, over.start)
        place = shift if over.step > 0 else multiply(shift, -1)
        self.growing[web] = listed, place
        body = self.turn(node, iterated, iterator)
        del self.growing[web]
        self.frame.bindings[web] = listed.value
        if listed.there is None:
            return body
        with self.collected() as missing:
            self.leave_out(listed, place, Literal(False, BOOL.dtype), node)
        return (*missing, *body)

    def is_appended(self, node: ast.expr) -> bool:
        """list.append(value), of a list that grows once in each turn of a loop."""
        match node:
            case ast.Call(func=ast.Attribute(ast.Name() as name, "append"), args=[value]):
                found = self.growing.get(self.frame.webs.name_of.get(id(name), ""))
                if found is not None:
                    self.append(*found, self.expression(value), node)
                    return True
        return False

    def append(self, listed: Listed, index: Expression, value: Value, node: ast.AST) -> None:
        raise NotImplementedError

    def turn(self, node: ast.For, iterated: Value, index: Expression) -> tuple[Statement, ...]:
        """The body, in the iteration `index`."""
        value: Value = Scalar(index, INT)
        if not isinstance(iterated, RangeValue):
            value = self.value_at(iterated, index, node)
        self.turns += 1
        with self.collected() as body:
            self.store(node.target, value, node)
            body.extend(self.block_of(node.body))
        self.turns -= 1
        return tuple(body)

    # ---- arrays that change their names ----

    def named_arrays(self) -> dict[str, ArrayValue]:
        """The arrays that variables mean which may mean others elsewhere."""
        found = ((web, self.frame.bindings.get(web)) for web in self.frame.webs.renamed)
        return {web: value for web, value in found if isinstance(value, ArrayValue)}

    def names_are(self, named: dict[str, ArrayValue]) -> bool:
        """Whether these variables mean these arrays now."""
        return all(self.frame.bindings[web] is value for web, value in named.items())

    def refuse_renaming(self, node: ast.AST, named: dict[str, ArrayValue], where: str) -> NoReturn:
        changed = sorted(
            web for web, value in named.items() if self.frame.bindings[web] is not value
        )
        name = changed[0]
        self.refuse(
            node,
            f"{', '.join(changed)} names different arrays at different times, {where}",
            f"copy the elements, {name}[:] = ..., or use names of their own",
        )

    def renaming_loop(
        self,
        node: ast.For,
        iterated: Value,
        over: RangeValue,
        iterator: Variable,
        label: str,
        named: dict[str, ArrayValue],
        body: tuple[Statement, ...],
    ) -> None:
        """A loop after each turn of which names mean other arrays."""
        if over.parallel:
            self.refuse_renaming(node, named, "in a parallel loop")
        if any(isinstance(each, ast.Break | ast.Continue | ast.Return) for each in ast.walk(node)):
            self.refuse_renaming(node, named, "in a loop that data end")
        if abs(over.step) != 1:
            self.refuse_renaming(node, named, "in a loop with a step")
        namings: list[dict[str, Value | Storage]] = [dict(named)]
        bodies = list(body)
        while not self.names_are(named):
            if len(namings) == _MOST_NAMINGS:
                self.refuse_renaming(node, named, "and others in each turn of this loop")
            index = add(iterator, literal(over.step * len(namings)))
            namings.append({web: self.frame.bindings[web] for web in named})
            bodies += self.turn(node, iterated, index)
        rest = self.residue(node, over, len(namings), named)
        last = subtract(over.stop, literal(over.step * rest))
        step = over.step * len(namings)
        where = self.at(node)
        self.emit(For(iterator, over.start, last, step, tuple(bodies), label, where), node)
        for number in range(rest):
            self.frame.bindings.update(namings[number])
            for statement in self.turn(node, iterated, add(last, literal(over.step * number))):
                self.emit(statement, node)
        self.frame.bindings.update(namings[rest])

    def residue(
        self, node: ast.For, over: RangeValue, period: int, named: dict[str, ArrayValue]
    ) -> int:
        """What is left of the number of turns: the kernel is for this one, and the call finds out."""
        count = over.distance
        known = constant_of(count)
        if known is not None:
            return max(known, 0) % period
        if not self.of_parameters(count):
            self.refuse_renaming(node, named, "in a loop whose length is not one of arguments")
        self.claim_not_negative(count, node, "the number of turns of a loop that renames arrays")
        where = self.at(node)
        self.cases[where] = period
        rest = self.residues.get(where, 0)
        remainder = self.binary_index("%", count, period, node)
        condition = Operation("==", (remainder, literal(rest)), BOOL.dtype, where)
        self.emit(Assume(condition, where, checked=True), node)
        return rest

    def arrays_named(self, names: tuple[str, ...], node: ast.AST) -> tuple[str, ...]:
        """The arrays that variables of these names are."""
        found = []
        for name in names:
            value = self.frame.bindings.get(name)
            array = value.name if isinstance(value, Storage) else getattr(value, "base", "")
            if not array:
                self.refuse(node, f"# independent names {name}, which is no array here")
            found.append(array)
        return tuple(found)

    def iterated(self, value: Value, node: ast.expr) -> RangeValue:
        """What a loop runs over."""
        if isinstance(value, RangeValue):
            return value
        if isinstance(value, Stepped):
            return RangeValue(literal(0), value.turns, 1, False)
        return RangeValue(literal(0), self.length_of(value, node), 1, False)

    def length_of(self, value: Value, node: ast.AST) -> Expression:
        raise NotImplementedError

    def value_at(self, value: Value, index: Expression, node: ast.AST) -> Value:
        raise NotImplementedError

    def unrolled(self, node: ast.For, values: TupleValue) -> None:
        """A loop over the parts of a tuple or list: the body for each of them."""
        named = self.named_arrays()
        bodies = []
        renames = False
        for part in values.parts:
            with self.collected() as body:
                self.store(node.target, part, node)
                body.extend(self.block_of(node.body))
            bodies.append(tuple(body))
            renames |= not self.names_are(named)
        if any(True for body in bodies for _ in jumps_of(body)):
            if renames:
                self.refuse_renaming(node, named, "in a loop over a tuple that is left")
            self.require_places(node)
        joined = one_after_another(bodies, lambda body: self.once(body, node))
        if joined is None:
            self.refuse(
                node,
                "a loop over a tuple that is left in several ways",
                "loop over an array or range",
            )
        for statement in joined:
            self.emit(statement, node)

    def once(self, body: tuple[Statement, ...], node: ast.For) -> For:
        """A loop of one turn, which jumps leave."""
        turn = Variable(self.fresh("once"), INT64)
        label = self.loop_label("once")
        return For(turn, literal(0), literal(1), 1, body, label, self.at(node))

    def require_places(self, node: ast.For) -> None:
        """What a loop over a tuple assigns and others read has a place, and no value for each part that
        the text alone knows: jumps decide which one was the last."""
        webs = self.frame.webs.name_of
        inside = {id(each) for each in ast.walk(node)}
        elsewhere = {web for each, web in webs.items() if each not in inside}
        for each in ast.walk(node):
            web = webs.get(id(each), "")
            if (
                isinstance(each, ast.Name)
                and isinstance(each.ctx, ast.Store)
                and web in elsewhere
                and not isinstance(self.frame.bindings.get(web), Storage)
            ):
                self.refuse(
                    each,
                    f"{each.id} is used behind a loop over a tuple that is left",
                    f"assign what {each.id} is to a name of its own before the jump",
                )

    def while_loop(self, node: ast.While) -> None:
        remarks = self.frame.source.remarks(node)
        label = self.loop_label(remarks.loop or "while")
        with self.collected() as prelude:
            condition = self.truth(self.expression(node.test), node.test)
        if as_bool_literal(condition) is False:
            return
        named = self.named_arrays()
        self.turns += 1
        body = self.block_of(node.body)
        self.turns -= 1
        if not self.names_are(named):
            self.refuse_renaming(node, named, "in a loop that data end")
        if prelude:  # what the condition needs is computed in each iteration
            leave = If(condition, (), (Break(self.at(node)),), self.at(node))
            body = (*prelude, leave, *body)
            condition = Literal(True, BOOL.dtype)
        self.emit(While(condition, body, label, self.at(node)), node)

    def branch(self, node: ast.If) -> None:
        condition = self.truth(self.expression(node.test), node.test)
        known = as_bool_literal(condition)
        if known is not None:
            for statement in self.block_of(node.body if known else node.orelse):
                self.emit(statement, node)
            return
        before = self.within_tests
        self.within_tests = before | self.note_test(condition)
        named = self.named_arrays()
        self.branches += 1
        body = self.block_of(node.body)
        self.branches -= 1
        if _returns(node.body):
            self.frame.bindings.update(named)
        after = {web: self.frame.bindings[web] for web in named}
        self.frame.bindings.update(named)
        self.branches += 1
        otherwise = self.block_of(node.orelse)
        self.branches -= 1
        self.within_tests = before
        if _returns(node.orelse):
            self.frame.bindings.update(after)
        elif not _returns(node.body) and any(
            self.frame.bindings[web] is not value for web, value in after.items()
        ):
            if self.names_are(named):
                self.frame.bindings.update(after)
            self.refuse_renaming(node, named, "where data decide")
        self.emit(If(condition, body, otherwise, self.at(node)), node)


def _not_negative(form: Linear, known: set[str]) -> bool:
    return form.constant >= 0 and all(
        count >= 0 and isinstance(term, Variable) and term.name in known
        for count, term in form.terms.values()
    )


def _returns(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return)
