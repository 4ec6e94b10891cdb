"""From the statement tree to statements in order: where each runs, when, and under which conditions.

The second phase of pet (PENCIL report, INRIA RT-0457, section 3.3): the tree is walked with the
iterators, the affine conditions and the scalars of known value at hand. What is affine becomes the
domain; what data decide stays a guard of the statement, whose array keeps its value where it does not
hold (Benabderrahmane et al., "The polyhedral model is more widely applicable than you think", 2010).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from ..sets.values import Set
from . import tree
from .affine import Affine, Scope, affine_of, compared, condition_of, divided, remainder
from .choices import chosen_values, updated_values
from .chosen import Chosen, FromEnd, as_index, is_counted
from .conditions import parsed_condition
from .names import Names
from .refusals import refuse
from .rewriting import plain, with_parts
from .scanned import Guard, Scanned, ScannedBlock, ScannedKill, ScannedStatement

__all__ = ["BoundsOfData", "free_name", "scan"]

BOOL = np.dtype(np.bool_)
INDEX = np.dtype(np.int64)


class BoundsOfData(Exception):
    """A loop's bounds are not affine in parameters and the iterators around it."""

    def __init__(self, loop: tree.For) -> None:
        super().__init__(loop.label)
        self.loop = loop


@dataclass(frozen=True)
class _Place:
    """Where the walk is."""

    iterators: tuple[str, ...]
    variables: dict[str, str]
    constraints: tuple[str, ...]
    times: tuple[str, ...]
    guards: tuple[Guard, ...]
    positions: Iterator[int]
    ranges: tuple[tuple[str, Affine, Affine], ...] = ()  # of loops without steps, and nothing else
    assumed: frozenset[str] = frozenset()  # of the constraints, those that are facts

    def next(self) -> _Place:
        """The place of the next statement or loop in the innermost loop."""
        return replace(self, times=(*self.times, str(next(self.positions))))


def scan(
    program: tree.Program,
    flags: frozenset[str] = frozenset(),
    whole: frozenset[str] = frozenset(),
    since: Mapping[str, str] | None = None,
    *,
    checks: bool = False,
    chooses: bool = True,
) -> Scanned:
    """The statements of a program in order.

    Args:
        program: without `Break`, `Continue`, `Return` and `While` (see `control`).
        flags: the truth values that jumps became.
        whole: the arrays of which each statement makes a version of all elements.
        since: for some of them, the label of the first statement behind which they do.
        checks: whether subscripts that data decide about count from the end below 0, and it is an error
            to write to an element that an array does not have; else that has no meaning, and nothing
            is written.
        chooses: whether both branches of a condition that assign the same elements become one
            statement (see `choices`).

    Raises:
        TranslationError: for what cannot be translated, with its place.
        BoundsOfData: for a loop that is to be made another one before (see `whiles`).
    """
    taken = Names()
    for own in ("out", "threads"):  # what every call takes besides the arguments
        taken.take(own)
    parameters = {name: taken.take(name) for name in program.parameters}
    names = {name: taken.take(name) for name in program.arrays}
    result = Scanned(program, taken, names, parameters, [])
    scanner = _Scanner(result, flags, whole, since or {}, checks, chooses)
    place = _Place((), dict(parameters), (), (), (), count())
    for condition in program.context:
        scanner.assume(condition, place)
    _simplify_context(result)
    scanner.block(program.body, place)
    return result


def _simplify_context(result: Scanned) -> None:
    """Says in one condition what several choices among parameters say: a conjunction of choices is what
    isl would have to multiply out each time that it reads it."""
    choices = [each for each in result.context if " or " in each[0]]
    if len(choices) < 2:
        return
    listed = ", ".join(result.parameters.values())
    known = Set(f"[{listed}] -> {{ : }}")
    for text, _ in choices:
        known = (known & Set(f"[{listed}] -> {{ : {text} }}")).coalesce()
    found = re.search(r"\{\s*:(.*)\}", str(known), re.S)
    names = {own: name for name, own in result.parameters.items()}
    whole = None if found is None else parsed_condition(found[1], names, result.program.location)
    if found is None or whole is None:
        return
    result.joined = [condition for _, condition in choices]
    others = [each for each in result.context if " or " not in each[0]]
    result.context[:] = [*others, (found[1].strip(), whole)]


class _Scanner:
    def __init__(
        self,
        result: Scanned,
        flags: frozenset[str],
        whole: frozenset[str],
        since: Mapping[str, str],
        checks: bool,
        chooses: bool,
    ) -> None:
        self.checks = checks
        self.chooses = chooses
        self.from_end = FromEnd(result.program) if checks else None
        self.result = result
        self.flags = flags
        self.whole = set(whole) - set(since)
        self.since = {label: array for array, label in since.items()}
        self.known: dict[str, Affine] = {}

    def scope(self, place: _Place) -> Scope:
        return Scope(place.variables, dict(self.known))

    def assume(self, condition: tree.Expression, place: _Place) -> str | None:
        """Takes what is always said of parameters into the context, and gives the rest back."""
        of_parameters = condition_of(condition, Scope(self.result.parameters, {}))
        is_always = not (place.iterators or place.constraints or place.guards)
        if of_parameters is not None and is_always:
            self.result.context.append((of_parameters, condition))
            return None
        return condition_of(condition, self.scope(place))

    def block(self, statements: tuple[tree.Statement, ...], place: _Place) -> None:
        for statement in statements:
            match statement:
                case tree.Assign():
                    self.assign(statement, place)
                case tree.For():
                    self.loop(statement, place.next())
                case tree.If():
                    self.branch(statement, place)
                case tree.Kill():
                    self.kill(statement, place.next())
                case tree.Block():
                    self.call(statement, place)
                case tree.Assume():
                    rest = self.assume(statement.condition, place)
                    if rest is not None:
                        constraints, assumed = (*place.constraints, rest), place.assumed | {rest}
                        place = replace(place, constraints=constraints, assumed=assumed)
                case _:
                    refuse(
                        statement.location,
                        f"{type(statement).__name__} was left in the tree by the passes before",
                    )

    # ---- assignments ----

    def assign(self, statement: tree.Assign, place: _Place) -> None:
        scope = self.scope(place)
        if self.from_end is not None:
            target = self.from_end(statement.target, scope)
            assert isinstance(target, tree.Read)
            value = self.from_end(statement.value, scope)
            statement = replace(statement, target=target, value=value)
        subscripts = [affine_of(subscript, scope) for subscript in statement.target.subscripts]
        terms: tuple[str, ...] = ()
        of_terms: tuple[str, ...] = ()
        if isinstance(statement.value, tree.Reduce):
            made = self.terms(statement.value, scope)
            if made is None or place.guards or self.is_chosen(statement.target, scope):
                self.block(one_by_one(statement), place)
                return
            scope, terms, of_terms = made
        elif self.is_chosen(statement.target, scope):
            self.element(statement, place)
            return
        self.result.statements.append(
            ScannedStatement(
                self.result.taken.take(statement.label),
                place.iterators,
                place.constraints,
                place.next().times,
                statement.target,
                tuple(subscript for subscript in subscripts if subscript is not None),
                statement.value,
                place.guards,
                scope,
                statement.location,
                (),
                terms,
                of_terms,
            )
        )
        self.note_value(statement, place, scope)
        if statement.label in self.since:
            self.whole.add(self.since[statement.label])

    def terms(
        self, reduce: tree.Reduce, scope: Scope
    ) -> tuple[Scope, tuple[str, ...], tuple[str, ...]] | None:
        """What names mean in the terms, their iterators and constraints; None if not affine."""
        constraints = []
        variables = dict(scope.variables)
        for iterator, extent in zip(reduce.iterators, reduce.extents, strict=True):
            stop = affine_of(extent, scope)
            if stop is None:
                return None
            name = free_name(iterator.name, variables)
            variables[iterator.name] = name
            constraints.append(f"0 <= {name} < {stop}")
        names = tuple(variables[iterator.name] for iterator in reduce.iterators)
        return Scope(variables, scope.known), names, tuple(constraints)

    def is_chosen(self, target: tree.Read, scope: Scope) -> bool:
        """Whether the statement goes over elements, of which one is written."""
        return bool(target.subscripts) and (
            target.array in self.whole
            or any(affine_of(subscript, scope) is None for subscript in target.subscripts)
        )

    def element(self, statement: tree.Assign, place: _Place) -> None:
        """A write to an element that data choose: of all elements, one gets a new value.

        A[g] = v is A[x] = v if x == g else A[x] for all x; passes turn the test into the one iteration
        of the loop over x in which it holds.
        """
        target = self.kept_subscripts(statement, place)
        array = self.result.program.arrays[target.array]
        before = self.scope(place)
        is_whole = target.array in self.whole
        places: list[Affine] = []
        elements: dict[str, tree.Expression] = {}
        asked: dict[str, tree.Expression] = {}
        constraints = list(place.constraints)
        guards = list(place.guards)
        variables = dict(place.variables)
        for axis, text in enumerate(target.subscripts):
            subscript = affine_of(text, before)
            if subscript is not None and not is_whole:
                places.append(subscript)
                continue
            name = free_name(f"x{axis}", variables)
            variables[name] = name
            places.append(Affine({name: 1}))
            extent = affine_of(array.shape[axis], Scope(self.result.parameters, {}))
            constraints.append(f"0 <= {name} < {extent}")
            elements[name] = text
            asked[name] = as_index(text)
            if self.checks and subscript is None:  # affine ones are proved to be inside
                at, line = target.location, statement.location.line
                chosen_by = Chosen(target.array, axis, at, line, is_counted(text))
                asked[name] = chosen_by.asked(text, array.shape[axis])
        scope = Scope(variables, dict(self.known))
        for name, text in asked.items():
            same = (tree.Variable(name, INDEX), text)
            test = tree.Operation("==", same, BOOL, statement.location)
            guards.append(Guard(test, True, scope))
        chosen = {
            (axis, plain(text)): tree.Variable(name, INDEX)
            for axis, text in enumerate(target.subscripts)
            for name, given in elements.items()
            if given is text
        }
        value = _at_elements(statement.value, target.array, chosen)
        if any(
            read.array == target.array and not _is_at(read, elements)
            for read in tree.reads_of(value)
        ):
            # The loop over elements would overwrite what is still read.
            value = self.kept(statement.value, f"{statement.label}_value", statement, place)
        self.result.statements.append(
            ScannedStatement(
                self.result.taken.take(statement.label),
                (*place.iterators, *elements),
                tuple(constraints),
                (*place.next().times, *elements),
                target,
                tuple(places),
                value,
                tuple(guards),
                scope,
                statement.location,
                tuple(elements),
            )
        )

    def kept_subscripts(self, statement: tree.Assign, place: _Place) -> tree.Read:
        """The target, with scalars for subscripts that read the array itself."""
        target = statement.target
        subscripts = tuple(
            self.kept(subscript, f"{statement.label}_at{axis}", statement, place)
            if any(read.array == target.array for read in tree.reads_of(subscript))
            else subscript
            for axis, subscript in enumerate(target.subscripts)
        )
        return replace(target, subscripts=subscripts)

    def kept(
        self, value: tree.Expression, wanted: str, statement: tree.Statement, place: _Place
    ) -> tree.Read:
        """A scalar that keeps a value, since what it reads is overwritten before it is used."""
        program = self.result.program
        name = wanted
        while name in program.arrays or name in program.parameters:
            name += "_"
        array = tree.Array(name, value.dtype, (), statement.location, local=True)
        self.result.program = replace(program, arrays={**program.arrays, name: array})
        self.result.names[name] = self.result.taken.take(name)
        read = tree.Read(name, (), value.dtype, statement.location)
        self.assign(tree.Assign(read, value, f"{name}_is", statement.location), place)
        return read

    def note_value(self, statement: tree.Assign, place: _Place, scope: Scope) -> None:
        """Of a scalar, the affine value that it has from here on."""
        array = statement.target.array
        if statement.target.subscripts:
            return
        self.known.pop(array, None)
        if place.guards or statement.target.dtype.kind not in "iu":
            return
        value = affine_of(statement.value, scope)
        if value is not None:
            self.known[array] = value

    # ---- loops and branches ----

    def loop(self, loop: tree.For, place: _Place) -> None:
        scope = self.scope(place)
        start, stop = affine_of(loop.start, scope), affine_of(loop.stop, scope)
        if start is None or stop is None:
            raise BoundsOfData(loop)
        name = loop.iterator.name
        if name in place.iterators or name in self.result.parameters.values():
            name = self.result.taken.take(name)
        constraints, time = _range(name, start, stop, loop.step)
        inside = replace(
            place,
            iterators=(*place.iterators, name),
            variables={**place.variables, loop.iterator.name: name},
            constraints=(*place.constraints, *constraints),
            times=(*place.times, time),
            positions=count(),
            ranges=(*place.ranges, (name, start, stop)) if loop.step == 1 else (),
        )
        self.forget(_written(loop.body))
        first = len(self.result.statements)
        self.block(loop.body, inside)
        self.forget(_written(loop.body))
        if loop.independent is not None or loop.parallel:
            inner = [statement.name for statement in self.result.statements[first:]]
            self.result.loops.append((loop, name, inner))

    def call(self, block: tree.Block, place: _Place) -> None:
        """A call of an opaque function: it reads copies of the arrays, made just before it."""
        constraints = tuple(each for each in place.constraints if each not in place.assumed)
        if place.guards or len(constraints) != 2 * len(place.ranges):
            refuse(
                block.location,
                f"{block.called} is called in a loop that data end",
                "call it in a loop over range(n)",
            )
        take = self.result.taken.take
        reads = tuple(
            (take(f"{block.label}_{self.result.names[array]}"), array, place.next().times)
            for array in block.reads
        )
        writes = tuple((take(f"{self.result.names[array]}_made"), array) for array in block.writes)
        self.result.blocks.append(
            ScannedBlock(
                take(block.label),
                place.ranges,
                constraints,
                place.next().times,
                reads,
                writes,
                self.scope(place),
                block,
            )
        )

    def forget(self, scalars: set[str]) -> None:
        for scalar in scalars:
            self.known.pop(scalar, None)

    def branch(self, branch: tree.If, place: _Place) -> None:
        scope = self.scope(place)
        if self.from_end is not None:
            branch = replace(branch, condition=self.from_end(branch.condition, scope))
        text = condition_of(branch.condition, scope)
        if text is not None:
            before = dict(self.known)
            self.block(
                branch.body,
                replace(place, constraints=(*place.constraints, text)),
            )
            self.known = before
            self.block(
                branch.otherwise,
                replace(place, constraints=(*place.constraints, f"not ({text})")),
            )
            self.forget(_written((branch,)))
            return
        parts = _conjuncts(branch.condition)
        affine = [part for part in parts if condition_of(part, scope) is not None]
        data = [part for part in parts if condition_of(part, scope) is None]
        if branch.otherwise or len(parts) < 2:
            self.guarded(branch, place)
            return
        # What is affine is asked first, and bounds the domain: reading data changes nothing.
        body = branch.body
        for part in reversed([*affine, *data]):
            body = (tree.If(part, body, (), branch.location),)
        self.block(body, place)

    def guarded(self, branch: tree.If, place: _Place) -> None:
        """A condition that data decide."""
        condition, scope = branch.condition, self.scope(place)

        def is_data(asked: tree.Expression) -> bool:
            return all(condition_of(part, scope) is None for part in _conjuncts(asked))

        chosen = chosen_values(branch, is_data)
        if chosen and not any(self.is_chosen(one.target, scope) for one in chosen):
            self.result.has_choices = True
            if self.chooses:
                self.block(chosen, place)
                return
        read = {read.array for read in tree.reads_of(condition)}
        written = _written((branch,))
        body = () if branch.otherwise else branch.body
        while len(body) == 1 and isinstance(body[0], tree.If) and not body[0].otherwise:
            body = body[0].body
        is_alone = [
            isinstance(one, tree.Assign) and not self.is_chosen(one.target, scope) for one in body
        ] == [True]
        if read & written - self.flags and not is_alone:
            updated = updated_values(
                branch, self.is_own_scalar, lambda read: self.is_inside(read, scope)
            )
            if updated:
                self.result.has_choices = True
                if self.chooses:
                    self.block(updated, place)
                    return
            condition = self.kept(condition, f"if_{branch.location.line}", branch, place)
        before = dict(self.known)
        texts = [condition_of(part, scope) for part in _conjuncts(branch.condition)]
        implied = tuple(text for text in texts if text is not None)
        for body, holds in ((branch.body, True), (branch.otherwise, False)):
            self.known = dict(before)
            self.block(
                body,
                replace(
                    place,
                    constraints=(*place.constraints, *implied) if holds else place.constraints,
                    guards=(*place.guards, Guard(condition, holds, scope)),
                ),
            )
        self.known = before
        self.forget(written)

    def is_own_scalar(self, array: str) -> bool:
        """Whether it is a variable of the program's own, without elements."""
        declared = self.result.program.arrays[array]
        return declared.local and not declared.shape

    def is_inside(self, read: tree.Read, scope: Scope) -> bool:
        """Whether an element is in its array wherever the conditions of sizes and iterators around hold."""
        return self.checks and all(affine_of(each, scope) is not None for each in read.subscripts)

    def kill(self, statement: tree.Kill, place: _Place) -> None:
        if place.guards:
            return  # it may not be killed, and need not be
        if not self.result.program.arrays[statement.array].shape:
            self.known.pop(statement.array, None)
        self.result.kills.append(
            ScannedKill(
                self.result.taken.take(f"kill_{statement.array}"),
                statement.array,
                place.iterators,
                place.constraints,
                place.times,
            )
        )


def one_by_one(statement: tree.Assign) -> tuple[tree.Statement, ...]:
    """An assignment of a `Reduce` as loops that combine its terms in order."""
    reduce, target, where = statement.value, statement.target, statement.location
    assert isinstance(reduce, tree.Reduce)
    combined = tree.Operation(reduce.operation, (target, reduce.term), reduce.dtype, where)
    made: tree.Statement = tree.Assign(target, combined, f"{statement.label}_terms", where)
    zero = tree.Literal(0, INDEX)
    first: tree.Expression | None = reduce.initial
    if first is None:  # the first term, for which the loops combine it with itself
        zeros = {iterator.name: zero for iterator in reduce.iterators}

        def at_zero(part: tree.Expression) -> tree.Expression:
            if isinstance(part, tree.Variable) and part.name in zeros:
                return zeros[part.name]
            return with_parts(part, at_zero)

        first = at_zero(reduce.term)
    for iterator, extent in reversed(list(zip(reduce.iterators, reduce.extents, strict=True))):
        made = tree.For(iterator, zero, extent, 1, (made,), iterator.name, where)
    return tree.Assign(target, first, statement.label, where), made


def _is_at(read: tree.Read, elements: Mapping[str, tree.Expression]) -> bool:
    """Whether a read is of the element that a loop over elements is at."""
    names = {part.name for part in read.subscripts if isinstance(part, tree.Variable)}
    return set(elements) <= names


def free_name(wanted: str, variables: Mapping[str, str]) -> str:
    """A name for an iterator that none of the others has."""
    while wanted in variables or wanted in variables.values():
        wanted += "_"
    return wanted


def _at_elements(
    expression: tree.Expression, array: str, chosen: Mapping[tuple[int, object], tree.Variable]
) -> tree.Expression:
    """The value with reads of the element that is written, A[g] in A[g] = A[g] + 1, as A[x]."""

    made = with_parts(expression, lambda part: _at_elements(part, array, chosen))
    if not isinstance(expression, tree.Read) or not isinstance(made, tree.Read):
        return made
    if expression.array != array:
        return made
    subscripts = tuple(
        chosen.get((axis, plain(given)), subscript)
        for axis, (given, subscript) in enumerate(
            zip(expression.subscripts, made.subscripts, strict=True)
        )
    )
    return replace(made, subscripts=subscripts)


def _range(name: str, start: Affine, stop: Affine, step: int) -> tuple[list[str], str]:
    """The values of an iterator, and when each comes."""
    at = Affine({name: 1})
    if step > 0:
        constraints = [compared(start, "<=", at), compared(at, "<", stop)]
        if step == 1:
            return constraints, name
        distance = at.plus(start, -1)
        constraints.append(compared(remainder(distance, step), "=", Affine()))
        return constraints, f"{name} = {divided(distance, step)}"
    constraints = [compared(stop, "<", at), compared(at, "<=", start)]
    if step == -1:
        return constraints, f"{name} = -{name}"
    distance = start.plus(at, -1)
    constraints.append(compared(remainder(distance, -step), "=", Affine()))
    return constraints, f"{name} = {divided(distance, -step)}"


def _written(statements: tuple[tree.Statement, ...]) -> set[str]:
    """The arrays that some statement writes or kills."""
    killed = {each.array for each in tree.walk(statements) if isinstance(each, tree.Kill)}
    return tree.assigned_arrays(statements) | killed


def _conjuncts(condition: tree.Expression) -> list[tree.Expression]:
    match condition:
        case tree.Select(if_false=tree.Literal(value=False)):
            return [*_conjuncts(condition.condition), *_conjuncts(condition.if_true)]
        case tree.Operation(name="&") if condition.dtype.kind == "b":
            return [part for operand in condition.operands for part in _conjuncts(operand)]
    return [condition]
