"""Sums in parallel loops: `s += x[i]` in `tw.prange`, and products, minima and maxima.

Threads cannot add to one variable at once. Each block of so many iterations has a variable of its own,
and what they hold is added up behind the loop, in the order of the blocks: the result is the same for
any number of threads, and not that of adding in the order of the iterations, as in Numba.

Before::

    for i in tw.prange(n):
        s += x[i]

After::

    for block in tw.prange((n + 63) // 64):
        parts[block] = 0
        for i in range(64 * block, min(64 * block + 64, n)):
            parts[block] += x[i]
    for block in range((n + 63) // 64):
        s += parts[block]
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..rewriting import rewritten
from ..tree import (
    Assign,
    Expression,
    For,
    If,
    Literal,
    Operation,
    Read,
    Select,
    Statement,
    Variable,
    expressions_of,
    reads_of,
    walk,
)
from .context import Context
from .indices import add, key_of, literal, multiply, subtract
from .kinds import BOOL, INT64

__all__ = ["ParallelSums"]

_BLOCK = 64
#: What a variable of a block starts from; None: what the variable itself holds, which counts once only.
_STARTS: dict[str, int | None] = {
    "+": 0, "-": 0, "*": 1, "minimum": None, "maximum": None, "&": None, "|": None,
    "min": None, "max": None,
}  # fmt: skip


@dataclass(frozen=True)
class _Sum:
    """A variable, and how values are added to it: an operation, or the choice of Python's min and max."""

    name: str
    dtype: np.dtype
    operation: str


class ParallelSums(Context):
    """Parallel loops with sums."""

    def parallel_loop(self, loop: For, known: set[str], node: ast.For) -> None:
        """The loop, with a variable for each block in place of those that it adds to.

        Args:
            known: the arrays that there were before the loop.
        """
        sums = list(self._sums(loop, known))
        count = subtract(loop.stop, loop.start)
        if not sums or loop.step != 1 or not self.of_parameters(count):
            self.emit(loop, node)
            return
        self.claim_not_negative(count, node, "the length of a parallel loop that adds up")
        where = loop.location
        over = (add(count, literal(_BLOCK - 1)), literal(_BLOCK))
        blocks = Operation("//", over, INT64, where)
        block = Variable(self.fresh("block"), INT64)
        self.nonnegative.add(block.name)
        start: list[Statement] = []
        parts: dict[str, str] = {}
        for one in sums:
            parts[one.name] = self.new_array(f"{one.name}_parts", one.dtype, (blocks,), node)
            mine = self.read(parts[one.name], (block,), one.dtype, node)
            number = _STARTS[one.operation]
            first: Expression = self.read(one.name, (), one.dtype, node)
            if number is not None:
                first = Literal(one.dtype.type(number).item(), one.dtype)
            start.append(Assign(mine, first, self.label(), where))
        begin = add(loop.start, multiply(block, _BLOCK))
        inside = Operation("<", (loop.iterator, loop.stop), BOOL.dtype, where)

        def own(part: Expression) -> Expression | None:
            if not isinstance(part, Read) or part.array not in parts:
                return None
            return replace(part, array=parts[part.array], subscripts=(block,))

        inner = replace(
            loop,
            start=begin,
            stop=add(begin, literal(_BLOCK)),
            body=(If(inside, rewritten(loop.body, own), (), where),),
            parallel=False,
            independent=None,
        )
        outer = self.loop_label(f"{loop.label}_blocks")
        self.emit(
            For(
                block, literal(0), blocks, 1, (*start, inner), outer, where, loop.independent, True
            ),
            node,
        )
        again = Variable(self.fresh("block"), INT64)
        ends = []
        for one in sums:
            total = self.read(one.name, (), one.dtype, node)
            part = self.read(parts[one.name], (again,), one.dtype, node)
            ends.append(Assign(total, _together(one.operation, total, part), self.label(), where))
        label = self.loop_label(f"{loop.label}_blocks")
        self.emit(For(again, literal(0), blocks, 1, tuple(ends), label, where), node)

    def _sums(self, loop: For, known: set[str]) -> Iterator[_Sum]:
        """The variables from before the loop to which it only adds."""
        names = {
            each.target.array: each.target.dtype
            for each in walk(loop.body)
            if isinstance(each, Assign) and not each.target.subscripts
        }
        for name, dtype in names.items():
            if name not in known:
                continue
            operations = {
                _operation(each) if isinstance(each, Assign) and each.target.array == name else ""
                for each in walk(loop.body)
                if _speaks_of(each, name)
            }
            if len(operations) == 1 and (operation := operations.pop()) in _STARTS:
                yield _Sum(name, dtype, operation)


def _speaks_of(statement: Statement, name: str) -> bool:
    targets = isinstance(statement, Assign) and statement.target.array == name
    return targets or any(
        read.array == name for each in expressions_of(statement) for read in reads_of(each)
    )


def _operation(statement: Assign) -> str:
    """The operation by which a value is added to what the target holds, else ""."""
    name, value = statement.target.array, statement.value

    def is_it(expression: Expression) -> bool:
        return isinstance(expression, Read) and expression.array == name

    def is_free(expression: Expression) -> bool:
        return not any(read.array == name for read in reads_of(expression))

    match value:
        case Operation(name="-", operands=(left, right)):
            return "-" if is_it(left) and is_free(right) else ""
        case Operation(operands=(left, right)) if value.name in _STARTS:
            if (is_it(left) and is_free(right)) or (is_it(right) and is_free(left)):
                return value.name
        case Select(condition=Operation(operands=(left, right)) as test):
            chosen, other = value.if_true, value.if_false
            if is_it(chosen):  # s < x: s, else x
                chosen, other, left, right = other, chosen, right, left
            same = is_it(other) and is_it(right) and is_free(chosen)
            if same and key_of(left) == key_of(chosen):
                return {"<": "min", ">": "max"}.get(test.name, "")
    return ""


def _together(operation: str, total: Expression, part: Read) -> Expression:
    where = part.location
    if operation in ("min", "max"):
        sign = "<" if operation == "min" else ">"
        test = Operation(sign, (part, total), BOOL.dtype, where)
        return Select(test, part, total, part.dtype)
    return Operation("+" if operation == "-" else operation, (total, part), part.dtype, where)
