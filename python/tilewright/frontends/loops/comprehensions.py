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

import numpy as np

from ..tree import Expression, If, Literal
from .array_calls import ArrayCalls
from .indices import is_pure, subtract
from .kinds import BOOL, INT
from .values import ArrayValue, Chosen, RangeValue, Scalar, TupleValue, Value, converted

__all__ = ["Comprehensions"]


class Comprehensions(ArrayCalls):
    """Comprehensions with one `for`."""

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> Value:
        """[value for target in iterated if condition]"""
        if len(node.generators) > 1:
            self.refuse(node, "a comprehension with several `for`", "fill an array in loops")
        (generator,) = node.generators
        iterated = self.expression(generator.iter)
        place = ast.copy_location(ast.Pass(), node)
        if isinstance(iterated, TupleValue):
            return self._of_parts(node, iterated, place)
        if isinstance(iterated, RangeValue) and iterated.step == 1:
            length = subtract(iterated.stop, iterated.start)
        else:
            length = self.length_of(iterated, node)
        if not (is_pure(length) and self.of_parameters(length)):
            self.refuse(
                node,
                "the length of a list must depend on arguments only",
                "make an array that is large enough, and fill it in a loop",
            )
        self.claim_not_negative(length, node, "the length of a list")
        where = self.at(node)
        key = (self.frame.key, "listed", where.line, where.column)
        kind, _ = self.kinds.get(key, (INT, None))
        name = self.new_array("listed", kind.dtype, (length,), node)
        memory = self.view(name, kind.dtype, (length,), (length,), node)
        there: ArrayValue | None = None
        if generator.ifs:
            mask = self.new_array("there", np.dtype(bool), (length,), node)
            there = self.view(mask, np.dtype(bool), (length,), (length,), node)
        assert memory.place is not None
        with self.loops([length], node) as index:
            self.store(generator.target, self.value_at(iterated, index[0], node), place)
            target = memory.place(index)
            if there is None:
                value = self.number(node)
                kind, _ = self.remembered(key, value.kind, None)
                self.assign(target, converted(value.expression, kind.dtype, value.kind.dtype), node)
            else:
                assert there.place is not None
                test = there.place(index)
                self.assign(test, self._conditions(generator.ifs, node), node)
                zero = False if kind.dtype == BOOL.dtype else 0
                self.assign(target, Literal(zero, kind.dtype), node)
                with self.collected() as body:
                    value = self.number(node)
                    kind, _ = self.remembered(key, value.kind, None)
                    cast = converted(value.expression, kind.dtype, value.kind.dtype)
                    self.assign(target, cast, node)
                self.emit(If(test, tuple(body), (), where), node)
        return memory if there is None else Chosen(memory, there)

    def number(self, node: ast.ListComp | ast.GeneratorExp) -> Scalar:
        """The value of an iteration."""
        value = self.expression(node.elt)
        if not isinstance(value, Scalar):
            self.refuse(
                node.elt,
                f"a list of {self.described(value)}",
                "fill an array in a loop, A[i] = ...",
            )
        return value

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
