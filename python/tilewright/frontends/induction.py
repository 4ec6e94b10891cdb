"""Scalars that count: `k += 1` in each iteration of a loop, and pointers that step.

An integer scalar that each iteration of a loop changes by the same amount is a polynomial of iterators
and parameters (induction variable substitution: Haghighat and Polychronopoulos, "Symbolic analysis for
parallelizing compilers", TOPLAS 1996; of loops around loops as scalar evolutions have it: Pop, Cohen and
Silber, "Induction variable analysis with delayed abstractions", HiPEAC 2005). What reads it is given that
polynomial, so that subscripts are affine and no iteration waits for the one before.

Before::

    k = 0
    for i in range(n):
        y[k] = 2 * x[i]
        k = k + 1

After::

    k = 0
    for i in range(n):
        y[i] = 2 * x[i]
        k = i + 1

The assignments stay, for what still reads the scalar; nobody computes those that nobody reads. Signed
integers are taken not to overflow, as everywhere in the tree's affine parts.

A `while` loop whose condition compares what each iteration moves by the same amount is a `for` loop:
over the values of a scalar that is compared with something that stays, or over turns if both sides move
(`while i < j: ...; i += 1; j -= 1`). A `for` loop with steps runs over turns if a scalar's value in it
would be a quotient otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from . import tree
from .loop_tests import Sides, Test, bounds, goes_on, leaving_unless, ordered, reaches
from .polynomials import (
    Polynomial,
    added,
    affine_text,
    condition_text,
    loop_bounds,
    multiplied,
    scaled,
)
from .rewriting import substituted
from .scalar_values import INDEX, Known, ScalarValue, ScalarValues, as_type, together

__all__ = ["with_counters_known"]

# A longer value is read from memory instead of being written out at each read.
_MOST_TERMS = 8
# What is added in each iteration counts elements; larger numbers are meant to wrap (random numbers).
_LARGEST = 2**31


def with_counters_known(program: tree.Program) -> tree.Program:
    """The program with polynomials in place of the scalars that count.

    Args:
        program: any.

    Returns:
        The program itself, if no scalar counts.
    """
    scalars, counting = _counting(program)
    if not counting:
        return program
    pass_ = _Pass(program, scalars, counting)
    facts = tuple(filter(None, map(condition_text, program.context)))
    body, _ = pass_.block(program.body, {}, facts)
    return replace(program, body=body) if pass_.changed else program


def _counting(program: tree.Program) -> tuple[set[str], set[str]]:
    """The integer scalars, and those among them whose values are made of their own earlier ones."""
    made_of: dict[str, set[str]] = {}
    for each in tree.walk(program.body):
        if isinstance(each, tree.Assign) and _is_exact(program.arrays[each.target.array]):
            read = {found.array for found in tree.reads_of(each.value)}
            made_of.setdefault(each.target.array, set()).update(read)

    def reached(name: str) -> set[str]:
        found: set[str] = set()
        pending = set(made_of[name])
        while pending:
            one = pending.pop()
            if one in made_of and one not in found:
                found.add(one)
                pending |= made_of[one]
        return found

    reaches = {name: reached(name) for name in made_of}
    repeated = {name for name, found in reaches.items() if name in found}
    return set(made_of), {
        name for name, found in reaches.items() if not repeated.isdisjoint({name, *found})
    }


def _is_exact(array: tree.Array) -> bool:
    """Whether an integer scalar does not wrap: unsigned ones might where they count elements."""
    wide = array.dtype.itemsize == INDEX.itemsize
    return (
        not array.shape
        and array.local
        and (array.dtype.kind == "i" or (array.dtype.kind == "u" and wide))
    )


@dataclass(frozen=True)
class _Counted:
    """A `while` loop that counts.

    Attributes:
        loop: the `for` loop that it is.
        scalar: what has the iterator's value in each iteration; "" if the iterator counts turns.
        steps: what each iteration adds to the scalars that it changes.
        behind: what follows it.
    """

    loop: tree.For
    scalar: str
    steps: dict[str, ScalarValue]
    behind: Statements


Statements = tuple[tree.Statement, ...]
_LEAVES = (tree.Break, tree.Return)


class _Pass(ScalarValues):
    def __init__(self, program: tree.Program, scalars: set[str], counting: set[str]) -> None:
        super().__init__(program, scalars, counting)
        iterators = {
            each.iterator.name for each in tree.walk(program.body) if isinstance(each, tree.For)
        }
        self.taken = {*program.arrays, *program.parameters, *iterators}
        self.labels = {
            each.label for each in tree.walk(program.body) if isinstance(each, tree.Assign)
        }
        self.symbols = 0
        # What is known where the innermost loop is left, and where its iterations end early.
        self.breaks: list[list[Known]] = []
        self.continues: list[list[Known]] = []

    # ---- statements ----

    def block(
        self, statements: Statements, known: Known | None, facts: tuple[str, ...]
    ) -> tuple[Statements, Known | None]:
        """The statements, and what is known behind them: None where nothing gets there."""
        made: list[tree.Statement] = []
        for one in statements:
            counted = None
            if known is not None and isinstance(one, tree.While):
                counted = self.counted(one, known, facts)
            if known is not None and counted is not None:
                loop, known = self.loop(counted.loop, known, facts, counted)
                made.append(loop)
                following = counted.behind
            else:
                following = (one,)
            for each in following:
                if known is not None:  # else nothing runs it
                    each, known = self.statement(each, known, facts)
                made.append(each)
        return tuple(made), known

    def statement(
        self, one: tree.Statement, known: Known, facts: tuple[str, ...]
    ) -> tuple[tree.Statement, Known | None]:
        match one:
            case tree.Assign():
                return self.assignment(one, known, facts)
            case tree.For():
                return self.loop(one, known, facts)
            case tree.While():
                before = {name: known[name] for name in known.keys() - self.assigned(one.body)}
                condition = self.within(one.condition, before, facts)
                body, _, left = self.iteration(one.body, before, facts)
                return replace(one, condition=condition, body=body), _joined([before, *left])
            case tree.If():
                condition = self.within(one.condition, known, facts)
                holds = condition_text(condition)
                body, first = self.block(one.body, dict(known), (*facts, holds) if holds else facts)
                otherwise, second = self.block(one.otherwise, dict(known), facts)
                made = replace(one, condition=condition, body=body, otherwise=otherwise)
                return made, _joined([first, second])
            case tree.Assume():
                return replace(one, condition=self.within(one.condition, known, facts)), known
            case tree.Kill():
                known.pop(one.array, None)
            case tree.Break():
                self.breaks[-1].append(known)
                return one, None
            case tree.Continue():
                self.continues[-1].append(known)
                return one, None
            case tree.Return():
                return one, None
        return one, known

    def assignment(
        self, one: tree.Assign, known: Known, facts: tuple[str, ...]
    ) -> tuple[tree.Statement, Known]:
        target = one.target
        value = self.within(one.value, known, facts)
        subscripts = tuple(self.index(each, known, facts) for each in target.subscripts)
        if target.array in self.scalars:
            found = self.value_of(one.value, known)
            known.pop(target.array, None)
            if found is not None and len(found.of) <= _MOST_TERMS:
                known[target.array] = found
        return replace(one, target=replace(target, subscripts=subscripts), value=value), known

    def loop(
        self, one: tree.For, known: Known, facts: tuple[str, ...], counted: _Counted | None = None
    ) -> tuple[tree.Statement, Known | None]:
        """A loop; `counted`, if it stands for a `while`."""
        varying = self.assigned(one.body)
        if self.asked and not varying:
            return one, known
        self.types[one.iterator.name] = one.iterator.dtype
        start, stop = self.value_of(one.start, known), self.value_of(one.stop, known)
        before = {name: known[name] for name in known.keys() - varying}
        steps: dict[str, ScalarValue] = {}
        if start is not None and not varying.isdisjoint(known):
            steps = counted.steps if counted else self.steps(one, before, varying, facts)
        iterator: Polynomial = {(one.iterator.name,): 1}
        moved = [steps[name].of for name in steps.keys() & known.keys()]
        if start and stop and any(by % one.step for each in moved for by in each.values()):
            turned = self.over_turns(one, start, stop, facts)
            if turned is not None:
                iterator = added(scaled(iterator, one.step), start.of)
                one, start, stop = turned, ScalarValue({}), self.value_of(turned.stop, known)
        made = replace(
            one,
            start=self.opened(one.start, known, facts),
            stop=self.opened(one.stop, known, facts),
        )
        facts = (*facts, *loop_bounds(made))
        begun, after = dict(before), dict(before)
        for name in steps.keys() & known.keys():
            assert start is not None
            turn = added({(one.iterator.name,): 1}, scaled(start.of, -1))
            value = _advanced(known[name], steps[name], turn, one.step, start.only_if)
            if value is not None:
                begun[name] = value
            if stop is None or abs(one.step) != 1:
                continue
            turns = added(stop.of, scaled(start.of, -1))
            runs = affine_text(scaled(turns, one.step))
            if runs is not None:
                holding = together(start.only_if, stop.only_if, (f"{runs} >= 0",))
                value = _advanced(known[name], steps[name], turns, one.step, holding)
                if value is not None:
                    after[name] = value
        if counted and counted.scalar:
            begun[counted.scalar] = ScalarValue(iterator)
        body, _, left = self.iteration(one.body, begun, facts)
        here = {one.iterator.name}
        behind = _joined([after, *left])
        assert behind is not None
        behind = {name: value for name, value in behind.items() if not value.speaks_of(here)}
        return replace(made, body=body), behind

    def over_turns(
        self, one: tree.For, start: ScalarValue, stop: ScalarValue, facts: tuple[str, ...]
    ) -> tree.For | None:
        """The loop over 0, 1, 2 and so on, with its iterator's values in the body; None if these are not
        known there."""
        if not self.hold(start.only_if, facts) or not self.hold(stop.only_if, facts):
            return None
        where, name = one.location, one.iterator.name
        room = scaled(added(stop.of, scaled(start.of, -1)), 1 if one.step > 0 else -1)
        self.types[name] = INDEX
        value = self.written(added({(name,): one.step}, start.of), one.iterator.dtype, where)
        if not self.asked:
            self.changed = True
        return replace(
            one,
            iterator=tree.Variable(name, INDEX),
            start=tree.Literal(0, INDEX),
            stop=self.quotient(room, abs(one.step), where),
            step=1,
            body=substituted(one.body, name, value),
        )

    def counted(self, one: tree.While, known: Known, facts: tuple[str, ...]) -> _Counted | None:
        """`while k < n: ...; k += 2` as a `for` loop over what k is, or over turns, if it is one."""
        first, tests, rest = goes_on(one)
        if not all(
            isinstance(each, tree.Assign) and each.target.array in self.scalars for each in first
        ):
            return None
        for test in tests:
            others = (leaving_unless(each, one.location) for each in tests if each is not test)
            body = (*first, *others, *rest)
            found = None if first else self.over_values(one, test, body, known, facts)
            found = found or self.over_approach(one, test, first, body, known, facts)
            if found is None:
                continue
            if not self.asked:
                self.taken.add(found.loop.iterator.name)
                self.changed = True
            return found
        return None

    def over_values(
        self,
        one: tree.While,
        test: Test,
        body: Statements,
        known: Known,
        facts: tuple[str, ...],
    ) -> _Counted | None:
        """A loop over what a scalar is that is compared with something that stays."""
        varying = self.assigned(one.body)
        written = tree.assigned_arrays(one.body)
        before = {name: known[name] for name in known.keys() - varying}
        for name, sign, bound in bounds(test):
            if name not in varying or not written.isdisjoint(r.array for r in tree.reads_of(bound)):
                continue
            iterator = tree.Variable(self.free_name(name), INDEX)
            start = tree.Convert(tree.Read(name, (), self.dtypes[name], one.location), INDEX)
            stop = _behind(bound, sign, one.location)
            loop = tree.For(iterator, start, stop, 1, body, one.label, one.location)
            steps = self.steps(loop, before, varying, facts)
            step = steps.get(name)
            by = 0 if step is None or step.only_if else step.of.get((), 0)
            if step is not None and step.of == {(): by} and reaches(sign, by):
                if sign == "!=" and not self.meets(loop, by, known, facts):
                    continue
                return _Counted(replace(loop, step=by), name, steps, ())
        return None

    def over_approach(
        self,
        one: tree.While,
        test: Test,
        first: Statements,
        body: Statements,
        known: Known,
        facts: tuple[str, ...],
    ) -> _Counted | None:
        """A loop over turns, each of which brings the sides of a comparison closer by the same number.
        What comes `first`, before the comparison, runs once more behind the loop."""
        sides = ordered(test)
        leaves = any(isinstance(each, _LEAVES) for each in tree.walk(body))
        ends_early = any(isinstance(each, tree.Continue) for each in tree.walk(body))
        if sides is None or (leaves and (first or not sides.is_order)) or (first and ends_early):
            return None
        varying = self.assigned(one.body)
        moving = {
            each.array for side in (sides.near, sides.far) for each in tree.reads_of(side)
        } & varying
        if not first and moving.isdisjoint(known):
            return None
        zero, iterator = tree.Literal(0, INDEX), tree.Variable(self.free_name("turn"), INDEX)
        loop = tree.For(iterator, zero, zero, 1, body, one.label, one.location)
        before = {name: known[name] for name in known.keys() - varying}
        steps = self.steps(loop, before, varying, facts)
        steps = {name: step for name, step in steps.items() if not step.only_if}
        begin = before | {name: ScalarValue({(name,): 1}) for name in steps}
        end = begin | {name: ScalarValue(added({(name,): 1}, steps[name].of)) for name in steps}
        rooms = [self.room(sides, first, at, facts) for at in (known, begin, end)]
        at_first, one_turn, next_turn = rooms
        if at_first is None or one_turn is None or next_turn is None:
            return None
        closer = added(one_turn.of, scaled(next_turn.of, -1))
        by = closer.get((), 0)
        if closer != {(): by} or by == 0 or (sides.is_order and by < 0):
            return None
        if one_turn.only_if or next_turn.only_if or not self.hold(at_first.only_if, facts):
            return None
        stop = self.quotient(scaled(at_first.of, by // abs(by)), abs(by), one.location)
        return _Counted(replace(loop, stop=stop), "", steps, tuple(map(self.again, first)))

    def room(
        self, sides: Sides, first: Statements, known: Known, facts: tuple[str, ...]
    ) -> ScalarValue | None:
        """How far apart the sides of a comparison are behind some statements."""
        self.asked += 1
        _, behind = self.block(first, dict(known), facts)
        self.asked -= 1
        near, far = (self.value_of(each, behind or {}) for each in (sides.near, sides.far))
        if near is None or far is None:
            return None
        return ScalarValue(added(far.of, scaled(near.of, -1)), together(near.only_if, far.only_if))

    def again(self, one: tree.Statement) -> tree.Statement:
        """The assignment at a second place, under a label of its own."""
        assert isinstance(one, tree.Assign)
        label = f"{one.label}_again"
        while label in self.labels:
            label += "_"
        if not self.asked:
            self.labels.add(label)
        return replace(one, label=label)

    def meets(self, loop: tree.For, by: int, known: Known, facts: tuple[str, ...]) -> bool:
        """Whether a counter that goes on until it equals the stop does not begin behind it. If nothing
        else ends the loop, that would be a program without an end, or without a meaning."""
        if not any(isinstance(each, _LEAVES) for each in tree.walk(loop.body)):
            return True
        if abs(by) != 1:
            return False  # it may step over the stop
        start, stop = self.value_of(loop.start, known), self.value_of(loop.stop, known)
        if start is None or stop is None:
            return False
        distance = affine_text(scaled(added(stop.of, scaled(start.of, -1)), by))
        conditions = together(start.only_if, stop.only_if, (f"{distance} >= 0",))
        return distance is not None and self.hold(conditions, facts)

    def free_name(self, wanted: str) -> str:
        """A name for the iterator that takes a scalar's place."""
        wanted = wanted.removesuffix("_at") + "_"
        while wanted in self.taken:
            wanted += "_"
        return wanted

    def iteration(
        self, statements: Statements, known: Known, facts: tuple[str, ...]
    ) -> tuple[Statements, Known | None, list[Known]]:
        """A loop's body; what is known where its next iteration begins; and wherever it is left."""
        self.breaks.append([])
        self.continues.append([])
        body, end = self.block(statements, dict(known), facts)
        return body, _joined([end, *self.continues.pop()]), self.breaks.pop()

    def steps(
        self, one: tree.For, known: Known, varying: set[str], facts: tuple[str, ...]
    ) -> dict[str, ScalarValue]:
        """What each iteration adds to the scalars that it changes, for those of which that is known."""
        symbols = {}
        for name in sorted(varying):
            self.symbols += 1
            symbols[name] = f"_counter_{self.symbols}"
        begun = known | {name: ScalarValue({(symbol,): 1}) for name, symbol in symbols.items()}
        self.asked += 1
        _, end, _ = self.iteration(one.body, begun, facts)
        self.asked -= 1
        found: dict[str, ScalarValue] = {}
        others = {*symbols.values(), one.iterator.name}
        for name in symbols.keys() & (end or {}).keys():
            assert end is not None
            step = ScalarValue(added(end[name].of, {(symbols[name],): -1}), end[name].only_if)
            if not step.speaks_of(others) and all(
                abs(each) < _LARGEST for each in step.of.values()
            ):
                found[name] = step
        return found

    def assigned(self, statements: Statements) -> set[str]:
        """The integer scalars that statements assign."""
        return {
            each.target.array
            for each in tree.walk(statements)
            if isinstance(each, tree.Assign) and each.target.array in self.scalars
        }


def _behind(bound: tree.Expression, sign: str, location: tree.Location) -> tree.Expression:
    """The stop of a loop whose iterator stays on this side of a bound."""
    stop = as_type(bound, INDEX)
    if sign not in ("<=", ">="):
        return stop
    return tree.Operation(
        "+" if sign == "<=" else "-", (stop, tree.Literal(1, INDEX)), INDEX, location
    )


def _advanced(
    value: ScalarValue, step: ScalarValue, distance: Polynomial, stride: int, only_if: Iterable[str]
) -> ScalarValue | None:
    """The value after the iterations in which an iterator moves by a distance in strides."""
    moved = multiplied(step.of, distance)
    if any(each % stride for each in moved.values()):
        return None  # a quotient, which is no polynomial
    turns = {key: each // stride for key, each in moved.items()}
    total = added(value.of, turns)
    return ScalarValue(total, together(value.only_if, step.only_if, only_if))


def _joined(ways: Iterable[Known | None]) -> Known | None:
    """What is known where ways of the program meet: those that nothing takes are None."""
    taken = [each for each in ways if each is not None]
    if not taken:
        return None
    first, *rest = taken
    joined = dict(first)
    for other in rest:
        joined = {
            name: ScalarValue(value.of, together(value.only_if, other[name].only_if))
            for name, value in joined.items()
            if name in other and other[name].of == value.of
        }
    return joined
