"""List comprehensions and generators: arrays of their values, or what a mask chooses of these.

Before::

    s = sum(x * x for x in A if x > 0)

After::

    for k in range(len(A)):
        x = A[k]
        there[k] = x > 0
        if there[k]:
            listed[k] = x * x
    s = listed[there].sum()
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from ..tree import Expression, If, Literal
from .array_calls import ArrayCalls
from .context import NextRound
from .indices import is_pure, literal, subtract
from .kinds import BOOL, INT, Kind
from .values import ArrayValue, Begun, Listed, RangeValue, Scalar, TupleValue, Value, converted

__all__ = ["Comprehensions"]


def _appended(loop: ast.For) -> tuple[ast.Call, ast.Name, bool] | None:
    """The only call `list.append(value)` of a loop, if it is one of its own statements, or of an `if`
    among these, and the list is not spoken of elsewhere in it; and whether it may not happen."""
    if any(isinstance(each, ast.Break | ast.Continue | ast.Return) for each in ast.walk(loop)):
        return None
    tests = [each for each in loop.body if isinstance(each, ast.If)]
    behind = [each for test in tests for part in (test.body, test.orelse) for each in part]
    for statements in (loop.body, behind):
        for each in statements:
            match each:
                case ast.Expr(
                    ast.Call(ast.Attribute(ast.Name() as name, "append"), [_], []) as call
                ):
                    named = (
                        one.id == name.id for one in ast.walk(loop) if isinstance(one, ast.Name)
                    )
                    if sum(named) == 1:
                        return call, name, statements is behind
    return None


def _begins_beside(function: ast.FunctionDef, loop: ast.For, name: str) -> bool:
    """Whether the list is made empty before the loop, in the same block: no other loop or condition stands
    between them."""
    for node in ast.walk(function):
        for part in ("body", "orelse"):
            block = getattr(node, part, None)
            if isinstance(block, list) and loop in block:
                before = block[: block.index(loop)]
                return any(
                    isinstance(one, ast.Name) and one.id == name
                    for each in before
                    if isinstance(each, ast.Assign)
                    for target in each.targets
                    for one in ast.walk(target)
                )
    return False


class Comprehensions(ArrayCalls):
    """Comprehensions, and lists that are appended to."""

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> Value:
        """[value for target in iterated if condition]"""
        if len(node.generators) > 1:
            return self._flattened(node)
        (generator,) = node.generators
        iterated = self.expression(generator.iter)
        place = ast.copy_location(ast.Pass(), node)
        if isinstance(iterated, TupleValue):
            return self._of_parts(node, iterated, place)
        length = self._length_of_list(iterated, node)
        listed = self.list_of(length, bool(generator.ifs), node)
        with self.loops([length], node) as index:
            self.store(generator.target, self.value_at(iterated, index[0], node), place)
            if generator.ifs:
                test = self._conditions(generator.ifs, node)
                self.set_in_list(listed, index[0], test, lambda: self._item(node), node)
            else:
                self.put_in_list(listed, index[0], self._item(node), node)
        return listed.value

    def _flattened(self, node: ast.ListComp | ast.GeneratorExp) -> Value:
        """With several `for`: a list of lists, one after the other."""
        if any(generator.ifs for generator in node.generators):
            self.refuse(
                node, "a comprehension with several `for` and a condition", "fill an array in loops"
            )
        inner = ast.copy_location(ast.ListComp(node.elt, node.generators[1:]), node.elt)
        outer = ast.copy_location(ast.ListComp(inner, node.generators[:1]), node)
        lists = self.comprehension(outer)
        if isinstance(lists, TupleValue):
            parts = [
                part.parts if isinstance(part, TupleValue) else (part,) for part in lists.parts
            ]
            if all(isinstance(each, Scalar) for part in parts for each in part):
                return TupleValue(tuple(each for part in parts for each in part))
        if not isinstance(lists, ArrayValue) or len(lists.shape) < 2:
            self.refuse(node, "a comprehension with several `for`", "fill an array in loops")
        flat = [Scalar(literal(-1), INT), *(Scalar(each, INT) for each in lists.shape[2:])]
        return self.reshaped(lists, TupleValue(tuple(flat)), node)

    def _length_of_list(self, iterated: Value, node: ast.AST) -> Expression:
        if isinstance(iterated, RangeValue) and iterated.step == 1:
            length = subtract(iterated.stop, iterated.start)
        else:
            length = self.length_of(iterated, node)
        self.require_parameters(
            length,
            node,
            "the length of a list",
            "make an array that is large enough, and fill it in a loop",
        )
        self.claim_not_negative(length, node, "the length of a list")
        return length

    # ---- lists of values that are there one by one ----

    def list_of(self, length: Expression, chooses: bool, node: ast.AST) -> Listed:
        """A list of so many values, whose type and shape those decide that are put into it; of which
        some may be missing."""
        where = self.at(node)
        key = (self.frame.key, "listed", where.line, where.column)
        kind, inner = self.kinds.get(key, (INT, None))
        shape = (length, *(inner or ()))
        name = self.new_array("listed", kind.dtype, shape, node)
        memory = self.view(name, kind.dtype, shape, shape, node)
        there: ArrayValue | None = None
        keeps = self.keeps_parts(node)
        begun = Begun(frozenset(self.arrays), frozenset(self.labels)) if keeps else None
        if chooses:
            mask = self.new_array("there", np.dtype(bool), (length,), node)
            there = self.view(mask, np.dtype(bool), (length,), (length,), node)
        return Listed(key, memory, there, begun)

    def put_in_list(self, listed: Listed, index: Expression, value: Value, node: ast.AST) -> None:
        """list[index] = value"""
        if not isinstance(value, Scalar | ArrayValue):
            self.refuse(
                node, f"a list of {self.described(value)}", "fill an array in a loop, A[i] = ..."
            )
        shape = value.shape if isinstance(value, ArrayValue) and value.shape else ()
        if not all(is_pure(each) and self.of_parameters(each) for each in shape):
            self.refuse(
                node,
                f"a list of {self.described(value)}, each of its own length",
                "fill an array in a loop, A[i, j] = ...",
            )
        kind, known = self.remembered(listed.key, value.kind, shape)
        memory = listed.memory
        if len(memory.shape) != 1 + len(shape):
            if len(known or ()) != len(shape):
                self.refuse(node, "a list of values of different dimensions")
            raise NextRound
        for own, wanted in zip(shape, known or (), strict=True):
            self.claim_equal(own, wanted, node, "a list of arrays of different extents")
        part = self.part_of(memory, index)
        if isinstance(part, ArrayValue):
            self.store_elements(part, value, node)
            self._note_part(listed, value, node)
        else:
            assert isinstance(value, Scalar) or not shape
            assert memory.place is not None
            number = value.element(()) if isinstance(value, ArrayValue) else value.expression
            cast = converted(number, kind.dtype, value.kind.dtype)
            self.assign(memory.place((index,)), cast, node)

    def keeps_parts(self, node: ast.AST) -> bool:
        """Whether a list outlives the expression that it stands in."""
        return not isinstance(node, ast.GeneratorExp) and id(node) not in self.consumed

    def _note_part(self, listed: Listed, value: Value, node: ast.AST) -> None:
        """Python's list has the array itself, and this one a copy: so neither may change any more."""
        begun = listed.begun
        if begun is None or not isinstance(value, ArrayValue) or not value.base:
            return
        where = self.at(node)
        known = begun.labels if value.base in begun.arrays else frozenset(self.labels)
        reason = f"{value.base}, which stands in a list, is changed"
        self.unchanged.setdefault(value.base, (where, reason, known))
        reason = f"a part of a list is changed, and so would be {value.base}"
        self.unchanged[listed.memory.base] = where, reason, frozenset(self.labels)

    def set_in_list(
        self,
        listed: Listed,
        index: Expression,
        condition: Expression,
        item: Callable[[], Value],
        node: ast.AST,
    ) -> None:
        """The value is there if the condition holds."""
        assert listed.there is not None and listed.there.place is not None
        self.leave_out(listed, index, condition, node)
        with self.collected() as body:
            self.put_in_list(listed, index, item(), node)
        self.emit(If(listed.there.place((index,)), tuple(body), (), self.at(node)), node)

    def leave_out(
        self, listed: Listed, index: Expression, condition: Expression, node: ast.AST
    ) -> None:
        """The value is there if this holds; so far it is 0."""
        memory = listed.memory
        assert listed.there is not None and listed.there.place is not None
        self.assign(listed.there.place((index,)), condition, node)
        dtype = memory.dtype
        zero = Scalar(Literal(False if dtype == BOOL.dtype else 0, dtype), Kind(dtype))
        part = self.part_of(memory, index)
        if isinstance(part, ArrayValue):
            self.store_elements(part, zero, node)
        else:
            assert memory.place is not None
            self.assign(memory.place((index,)), zero.expression, node)

    def append(self, listed: Listed, index: Expression, value: Value, node: ast.AST) -> None:
        """list.append(value), in the turn that has this place in it."""
        if listed.there is not None:
            assert listed.there.place is not None
            yes = Literal(True, BOOL.dtype)
            self.assign(listed.there.place((index,)), yes, node)
        self.put_in_list(listed, index, value, node)

    # ---- lists that grow ----

    def growing_list(self, node: ast.For, over: RangeValue) -> tuple[str, Listed] | None:
        """A list that a loop appends to once in each turn: the variable, and what it becomes."""
        found = _appended(node)
        if found is None:
            return None
        call, name, may_miss = found
        web = self.frame.webs.name_of.get(id(name), "")
        empty = self.frame.bindings.get(web)
        is_empty = isinstance(empty, TupleValue) and not empty.parts
        is_empty = is_empty and _begins_beside(self.frame.source.tree, node, name.id)
        if not is_empty or abs(over.step) != 1 or over.parallel:
            return None
        length = over.distance
        if not (is_pure(length) and self.of_parameters(length)):
            return None
        self.claim_not_negative(length, call, "the length of a list")
        return web, self.list_of(length, may_miss, call)

    def _item(self, node: ast.ListComp | ast.GeneratorExp) -> Value:
        """The value of an iteration."""
        return self.expression(node.elt)

    def _conditions(self, tests: list[ast.expr], node: ast.AST) -> Expression:
        joined: ast.expr = tests[0]
        if len(tests) > 1:
            joined = ast.copy_location(ast.BoolOp(ast.And(), tests), tests[0])
        return self.truth(self.expression(joined), node)

    def _of_parts(
        self, node: ast.ListComp | ast.GeneratorExp, iterated: TupleValue, place: ast.stmt
    ) -> Value:
        """Over a tuple or list: a list whose parts are known one by one."""
        (generator,) = node.generators
        if generator.ifs:
            self.refuse(node, "a comprehension over a tuple with a condition", "write the loop")
        parts: list[Value] = []
        for part in iterated.parts:
            self.store(generator.target, part, place)
            value = self.expression(node.elt)
            parts.append(self.kept(value, node) if isinstance(value, Scalar) else value)
        return TupleValue(tuple(parts))
