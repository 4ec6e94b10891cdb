"""Loops whose number of iterations data decide: as loops over more iterations, which are left.

A `while` loop is a `for` loop over a parameter's worth of iterations that nobody counts, with a `break`
where the condition fails; what a jump becomes (see `control`) makes each iteration behind it do nothing, and
the kernel leaves the loop there (`leave_loops` of the compiler). So a loop that carries arrays has
instances, dependences and a schedule like any other (Benabderrahmane et al., "The polyhedral model is more
widely applicable than you think", 2010, section 3). A `for` loop with bounds of data runs over what its
iterator subscripts, guarded by the bounds, where it does subscript an array; else it is such a loop, too.

Before::

    while x[0] > 1:
        x[0] = x[0] // 2

After::

    for turn_while in range(while_limit):
        if not x[0] > 1:
            break
        x[0] = x[0] // 2
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from . import tree
from .rewriting import rewritten

__all__ = ["LIMIT", "bounded"]

LIMIT = 2**40
"""The largest size that a parameter may have: so many iterations take a quarter of an hour."""

_BOOL = np.dtype(np.bool_)
_INDEX = np.dtype(np.int64)


def bounded(program: tree.Program, of_data: frozenset[str] = frozenset()) -> tree.Program:
    """The program with `for` loops in place of those whose iterations data decide.

    A parameter that is no argument bounds those that need one: `LIMIT` is its value in calls.

    Args:
        program: any.
        of_data: labels of `for` loops whose bounds are not affine.
    """
    pass_ = _Pass(program, of_data)
    body = pass_.block(program.body)
    if not pass_.changed:
        return program
    made = replace(program, body=body, arrays={**program.arrays, **pass_.scalars})
    if not pass_.limit:
        return made
    limit = tree.Variable(pass_.limit, _INDEX)
    positive = tree.Operation(">=", (limit, _number(1)), _BOOL, program.location)
    parameters = {**program.parameters, pass_.limit: _INDEX}
    return replace(made, parameters=parameters, context=(*program.context, positive))


class _Pass:
    def __init__(self, program: tree.Program, of_data: frozenset[str]) -> None:
        self.program = program
        self.of_data = of_data
        self.taken = {*program.arrays, *program.parameters}
        for statement in tree.walk(program.body):
            if isinstance(statement, tree.For):
                self.taken.add(statement.iterator.name)
        self.scalars: dict[str, tree.Array] = {}
        self.limit = ""
        self.changed = False

    def name(self, wanted: str) -> str:
        while wanted in self.taken:
            wanted += "_"
        self.taken.add(wanted)
        return wanted

    def block(self, statements: tuple[tree.Statement, ...]) -> tuple[tree.Statement, ...]:
        return tuple(made for one in statements for made in self.statement(one))

    def statement(self, one: tree.Statement) -> tuple[tree.Statement, ...]:
        match one:
            case tree.While():
                return (self.while_loop(one),)
            case tree.For() if one.label in self.of_data:
                self.changed = True
                inner = replace(one, body=self.block(one.body))
                return self.within(inner) or self.counted(inner)
            case tree.For():
                return (replace(one, body=self.block(one.body)),)
            case tree.If():
                body, otherwise = self.block(one.body), self.block(one.otherwise)
                return (replace(one, body=body, otherwise=otherwise),)
        return (one,)

    # ---- loops without a bound ----

    def endless(
        self, label: str, body: tuple[tree.Statement, ...], location: tree.Location
    ) -> tuple[tree.Variable, tree.For]:
        """A loop that only a jump leaves, and its iterator."""
        self.changed = True
        if not self.limit:
            self.limit = self.name("while_limit")
        # The compiler leaves the loop over turn_X where left_X says so (passes/leave_loops.h).
        while {f"turn_{label}", f"left_{label}"} & self.taken:
            label += "_"
        turn = tree.Variable(self.name(f"turn_{label}"), _INDEX)
        stop = tree.Variable(self.limit, _INDEX)
        return turn, tree.For(turn, _number(0), stop, 1, body, label, location)

    def while_loop(self, one: tree.While) -> tree.For:
        body = self.block(one.body)
        if not (isinstance(one.condition, tree.Literal) and one.condition.value):
            leave = tree.Break(one.location)
            body = (tree.If(one.condition, body, (leave,), one.location),)
        return self.endless(one.label, body, one.location)[1]

    def counted(self, one: tree.For) -> tuple[tree.Statement, ...]:
        """start, start + step, ...: until it passes the stop, both evaluated before."""
        first, start = self.kept(one.start, f"{one.label}_start", one.location)
        second, stop = self.kept(one.stop, f"{one.label}_stop", one.location)
        turn, loop = self.endless(one.label, (), one.location)
        steps = tree.Operation("*", (turn, _number(one.step)), _INDEX, one.location)
        value = tree.Operation("+", (start, steps), _INDEX, one.location)
        goes = "<" if one.step > 0 else ">"
        test = tree.Operation(goes, (value, stop), _BOOL, one.location)
        body = _substituted(one.body, one.iterator.name, value)
        leave = tree.Break(one.location)
        loop = replace(loop, body=(tree.If(test, body, (leave,), one.location),))
        return (*first, *second, loop)

    # ---- loops within an array ----

    def within(self, one: tree.For) -> tuple[tree.Statement, ...]:
        """A loop over all that the iterator may subscript, guarded by the bounds."""
        extents = self.subscripted(one)
        if one.step != 1 or not extents:
            return ()
        written = {
            each.target.array for each in tree.walk(one.body) if isinstance(each, tree.Assign)
        }
        before: list[tree.Statement] = []
        bounds = []
        for bound, what in ((one.start, "start"), (one.stop, "stop")):
            if any(read.array in written for read in tree.reads_of(bound)):
                first, bound = self.kept(bound, f"{one.label}_{what}", one.location)
                before += first
            bounds.append(bound)
        iterator = (
            tree.Convert(one.iterator, _INDEX) if one.iterator.dtype != _INDEX else one.iterator
        )
        tests = [
            tree.Operation(sign, (iterator, bound), _BOOL, one.location)
            for sign, bound in zip((">=", "<"), bounds, strict=True)
        ]
        test = tree.Operation("&", (tests[0], tests[1]), _BOOL, one.location)
        body = (tree.If(test, one.body, (), one.location),)
        shortest = extents[0]
        for each in extents[1:]:
            shortest = tree.Operation("minimum", (shortest, each), _INDEX, one.location)
        return (*before, replace(one, start=_number(0), stop=shortest, body=body))

    def subscripted(self, one: tree.For) -> list[tree.Expression]:
        """The extents of the arrays that the iterator itself subscripts in each iteration."""
        found: list[tree.Expression] = []
        for statement in one.body:
            for expression in _always(statement):
                for read in tree.reads_of(expression):
                    extents = self.program.arrays[read.array].shape
                    for subscript, extent in zip(read.subscripts, extents, strict=True):
                        if _plain_name(subscript) == one.iterator.name and extent not in found:
                            found.append(extent)
            if isinstance(statement, tree.If | tree.While | tree.Break | tree.Continue):
                break
        return found

    def kept(
        self, value: tree.Expression, wanted: str, location: tree.Location
    ) -> tuple[list[tree.Statement], tree.Expression]:
        """The value in a scalar of its own, unless nothing can change it."""
        if not list(tree.reads_of(value)):
            return [], value
        name = self.name(wanted)
        self.scalars[name] = tree.Array(name, value.dtype, (), location, local=True)
        read = tree.Read(name, (), value.dtype, location)
        return [tree.Assign(read, value, f"{name}_is", location)], read


def _number(value: int) -> tree.Literal:
    return tree.Literal(value, _INDEX)


def _plain_name(subscript: tree.Expression) -> str:
    while isinstance(subscript, tree.Convert):
        subscript = subscript.value
    return subscript.name if isinstance(subscript, tree.Variable) else ""


def _always(statement: tree.Statement) -> Iterator[tree.Expression]:
    """What is evaluated whenever the statement runs, without the branches of choices."""
    if not isinstance(statement, tree.Assign):
        return
    yield statement.target
    pending: list[tree.Expression] = [statement.value]
    while pending:
        expression = pending.pop()
        if isinstance(expression, tree.Select):
            pending.append(expression.condition)
            continue
        if isinstance(expression, tree.Reduce):
            continue  # it may have no terms
        if isinstance(expression, tree.Read):
            yield replace(expression, subscripts=expression.subscripts)
        pending.extend(tree.parts_of(expression))


def _substituted(
    statements: tuple[tree.Statement, ...], name: str, value: tree.Expression
) -> tuple[tree.Statement, ...]:
    """The statements with a value in place of an iterator."""

    def change(part: tree.Expression) -> tree.Expression | None:
        if isinstance(part, tree.Variable) and part.name == name:
            if part.dtype == value.dtype:
                return value
            exact = _retyped(value, part.dtype) if part.dtype.kind == "i" else None
            return tree.Convert(value, part.dtype) if exact is None else exact
        return None

    return rewritten(statements, change)


def _retyped(value: tree.Expression, dtype: np.dtype) -> tree.Expression | None:
    """The value of an iterator in its own type, in which it does not overflow, so that it is affine
    there; None unless it is a sum of iterators and parameters."""
    match value:
        case tree.Literal():
            return replace(value, dtype=dtype)
        case tree.Variable():
            return replace(value, dtype=dtype)
        case tree.Convert() if value.value.dtype.kind == "i":
            return _retyped(value.value, dtype)
        case tree.Operation(name="+" | "-" | "*"):
            operands = [_retyped(each, dtype) for each in value.operands]
            known = tuple(each for each in operands if each is not None)
            if len(known) == len(operands):
                return replace(value, operands=known, dtype=dtype)
    return None
