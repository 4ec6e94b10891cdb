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
from .polynomials import affine_text, polynomial, tree_of
from .rewriting import substituted

__all__ = ["LIMIT", "bounded", "is_endless"]

LIMIT = 2**40
"""The largest size that a parameter may have: so many iterations take a quarter of an hour."""

_BOOL = np.dtype(np.bool_)
_INDEX = np.dtype(np.int64)
_JUMPS = (tree.While, tree.Break, tree.Continue, tree.Return)


def is_endless(loop: tree.For) -> bool:
    """Whether it is a loop over iterations that nobody counts, which only a jump leaves."""
    stop = loop.stop
    is_limit = isinstance(stop, tree.Variable) and stop.name.startswith("while_limit")
    return is_limit and loop.iterator.name.startswith("turn_")


def bounded(
    program: tree.Program, of_data: frozenset[str] = frozenset(), stepping: bool = False
) -> tree.Program:
    """The program with `for` loops in place of those whose iterations data decide.

    A parameter that is no argument bounds those that need one: `LIMIT` is its value in calls.

    Args:
        program: any.
        of_data: labels of `for` loops whose bounds are not affine.
        stepping: whether the iterators of these are scalars, of which nothing is known: what they
            subscript is checked while the kernel runs.
    """
    pass_ = _Pass(program, of_data, stepping)
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
    def __init__(self, program: tree.Program, of_data: frozenset[str], stepping: bool) -> None:
        self.program = program
        self.of_data = of_data
        self.stepping = stepping
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
                if self.stepping:
                    return self.stepped(inner)
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
        body = substituted(one.body, one.iterator.name, value)
        leave = tree.Break(one.location)
        loop = replace(loop, body=(tree.If(test, body, (leave,), one.location),))
        return (*first, *second, loop)

    def stepped(self, one: tree.For) -> tuple[tree.Statement, ...]:
        """The same with a scalar for the iterator, which each iteration finds and steps."""
        first, start = self.kept(one.start, f"{one.label}_start", one.location)
        second, stop = self.kept(one.stop, f"{one.label}_stop", one.location)
        loop = self.endless(one.label, (), one.location)[1]
        following = self.scalar(f"{one.label}_next", one.location)
        value = self.scalar(f"{one.label}_at", one.location)
        test = tree.Operation("<" if one.step > 0 else ">", (following, stop), _BOOL, one.location)
        after = tree.Operation("+", (value, _number(one.step)), _INDEX, one.location)
        body = (
            tree.Assign(value, following, f"{value.array}_is", one.location),
            tree.Assign(following, after, f"{following.array}_steps", one.location),
            *substituted(one.body, one.iterator.name, value),
        )
        leave = tree.Break(one.location)
        loop = replace(loop, body=(tree.If(test, body, (leave,), one.location),))
        begin = tree.Assign(following, start, f"{following.array}_is", one.location)
        return (*first, *second, begin, loop)

    # ---- loops within an array ----

    def within(self, one: tree.For) -> tuple[tree.Statement, ...]:
        """A loop over all for which what each iteration subscripts lies in its array, guarded by the
        bounds of data; none, if nothing says where these iterations end."""
        accesses = self.subscripted(one)
        ends = [end for each in accesses if (end := _end(*each, one)) is not None]
        begins = [begin for each in accesses if (begin := _begin(each[0], one)) is not None]
        begins_known = affine_text(polynomial(one.start)) is not None
        if not ends or (one.step < 0 and not begins) or not (begins_known or abs(one.step) == 1):
            return ()
        written = tree.assigned_arrays(one.body)
        before: list[tree.Statement] = []
        bounds = []
        for bound, what in ((one.start, "start"), (one.stop, "stop")):
            if any(
                read.array in written or any(map(_reads, read.subscripts))
                for read in tree.reads_of(bound)
            ):
                first, bound = self.kept(bound, f"{one.label}_{what}", one.location)
                before += first
            bounds.append(bound)
        start, stop = bounds
        up = one.step > 0
        over = (_number(0), ends[0]) if up else (_before(ends[0], one), begins[0])
        tests: list[tuple[str, tree.Expression, tree.Expression]] = []
        if begins_known:
            over = (start, over[1])
        else:
            tests.append((">=" if up else "<=", one.iterator, start))
        tests.append(("<" if up else ">", one.iterator, stop))
        tests += [("<", subscript, extent) for subscript, extent in accesses]
        operations = [
            tree.Operation(sign, (_index(left), _index(right)), _BOOL, one.location)
            for sign, left, right in tests
        ]
        test = operations[0]
        for each in operations[1:]:
            test = tree.Operation("&", (test, each), _BOOL, one.location)
        body = (tree.If(test, one.body, (), one.location),)
        return (*before, replace(one, start=over[0], stop=over[1], body=body))

    def subscripted(self, one: tree.For) -> list[tuple[tree.Expression, tree.Expression]]:
        """The affine subscripts that grow with the iterator and that each iteration uses, and the
        extents that they must stay below."""
        found: dict[object, tuple[tree.Expression, tree.Expression]] = {}
        for statement in one.body:
            for expression in _always(statement):
                for read in tree.reads_of(expression):
                    array = self.scalars.get(read.array) or self.program.arrays[read.array]
                    for subscript, extent in zip(read.subscripts, array.shape, strict=True):
                        form = polynomial(subscript)
                        is_affine = affine_text(form) is not None
                        if is_affine and form and form.get((one.iterator.name,), 0) > 0:
                            key = tuple(sorted(form.items())), repr(extent)
                            found.setdefault(key, (subscript, extent))
            if any(isinstance(each, _JUMPS) for each in tree.walk((statement,))):
                break
        return list(found.values())

    def scalar(self, wanted: str, location: tree.Location) -> tree.Read:
        """A new scalar for an index."""
        name = self.name(wanted)
        self.scalars[name] = tree.Array(name, _INDEX, (), location, local=True)
        return tree.Read(name, (), _INDEX, location)

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


def _reads(expression: tree.Expression) -> bool:
    return next(tree.reads_of(expression), None) is not None


def _number(value: int) -> tree.Literal:
    return tree.Literal(value, _INDEX)


def _index(expression: tree.Expression) -> tree.Expression:
    """As an index; of an iterator the number itself, which has no type to wrap in."""
    if isinstance(expression, tree.Variable):
        return replace(expression, dtype=_INDEX)
    return expression if expression.dtype == _INDEX else tree.Convert(expression, _INDEX)


def _before(end: tree.Expression, one: tree.For) -> tree.Expression:
    return tree.Operation("-", (end, _number(1)), _INDEX, one.location)


def _end(
    subscript: tree.Expression, extent: tree.Expression, one: tree.For
) -> tree.Expression | None:
    """Behind the last value of the iterator for which a subscript is below the extent."""
    form = dict(polynomial(subscript) or {})
    factor = form.pop((one.iterator.name,))
    where = one.location
    types = {each.name: each.dtype for each in _variables(subscript)}

    def variable(name: str) -> tree.Expression:
        return _index(tree.Variable(name, types[name]))

    room = _index(extent)
    if form:
        room = tree.Operation("-", (room, tree_of(form, variable, _INDEX, where)), _INDEX, where)
    if factor == 1:
        return room
    up = tree.Operation("+", (room, _number(factor - 1)), _INDEX, where)
    return tree.Operation("//", (up, _number(factor)), _INDEX, where)


def _begin(subscript: tree.Expression, one: tree.For) -> tree.Expression | None:
    """Before the first value of the iterator for which a subscript is not below 0, if it is a number."""
    form = dict(polynomial(subscript) or {})
    factor = form.pop((one.iterator.name,))
    if form.keys() - {()}:
        return None
    return _number(-(form.get((), 0) // factor) - 1)


def _variables(expression: tree.Expression) -> Iterator[tree.Variable]:
    if isinstance(expression, tree.Variable):
        yield expression
    for part in tree.parts_of(expression):
        yield from _variables(part)


def _always(statement: tree.Statement) -> Iterator[tree.Expression]:
    """What is evaluated whenever the statement runs, without the branches of choices."""
    pending: list[tree.Expression] = []
    match statement:
        case tree.Assign():
            yield statement.target
            pending = [statement.value]
        case tree.If():
            pending = [statement.condition]
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
