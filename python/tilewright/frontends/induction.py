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
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from . import tree
from .loop_tests import bounds, goes_on, leaving_unless, reaches
from .polynomials import (
    Polynomial,
    added,
    affine_text,
    condition_text,
    exclude_each_other,
    loop_bounds,
    multiplied,
    polynomial,
    scaled,
    tree_of,
)
from .rewriting import with_parts

__all__ = ["with_counters_known"]

_INDEX = np.dtype(np.int64)
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
    wide = array.dtype.itemsize == _INDEX.itemsize
    return (
        not array.shape
        and array.local
        and (array.dtype.kind == "i" or (array.dtype.kind == "u" and wide))
    )


@dataclass(frozen=True)
class _Value:
    """What a scalar holds.

    Attributes:
        of: the number.
        only_if: conditions, isl text, under which it is that number: a loop whose stop lies before its
            start has no iterations, and not a negative number of them.
    """

    of: Polynomial
    only_if: tuple[str, ...] = ()

    def speaks_of(self, names: set[str]) -> bool:
        """Whether any of the names stands in it."""
        words = {word for each in self.only_if for word in re.findall(r"[A-Za-z_]\w*", each)}
        return not names.isdisjoint(words.union(*self.of))


@dataclass(frozen=True)
class _Counted:
    """A `while` loop that counts.

    Attributes:
        loop: the `for` loop that it is.
        scalar: what has the iterator's value in each iteration.
        steps: what each iteration adds to the scalars that it changes.
    """

    loop: tree.For
    scalar: str
    steps: dict[str, _Value]


_Known = dict[str, _Value]
_Statements = tuple[tree.Statement, ...]


class _Pass:
    def __init__(self, program: tree.Program, scalars: set[str], counting: set[str]) -> None:
        self.scalars = scalars
        self.counting = counting
        self.dtypes = {name: program.arrays[name].dtype for name in scalars}
        iterators = {
            each.iterator.name for each in tree.walk(program.body) if isinstance(each, tree.For)
        }
        self.taken = {*program.arrays, *program.parameters, *iterators}
        self.types = dict(program.parameters)
        self.changed = False
        self.asked = 0  # loops that are read for what they add, whose statements nobody keeps
        self.symbols = 0
        # What is known where the innermost loop is left, and where its iterations end early.
        self.breaks: list[list[_Known]] = []
        self.continues: list[list[_Known]] = []
        self.follows: dict[tuple[tuple[str, ...], tuple[str, ...]], bool] = {}

    # ---- statements ----

    def block(
        self, statements: _Statements, known: _Known | None, facts: tuple[str, ...]
    ) -> tuple[_Statements, _Known | None]:
        """The statements, and what is known behind them: None where nothing gets there."""
        made: list[tree.Statement] = []
        for one in statements:
            if known is not None:  # else nothing runs it
                one, known = self.statement(one, known, facts)
            made.append(one)
        return tuple(made), known

    def statement(
        self, one: tree.Statement, known: _Known, facts: tuple[str, ...]
    ) -> tuple[tree.Statement, _Known | None]:
        match one:
            case tree.Assign():
                return self.assignment(one, known, facts)
            case tree.For():
                return self.loop(one, known, facts)
            case tree.While():
                counted = self.counted(one, known, facts)
                if counted is not None:
                    return self.loop(counted.loop, known, facts, counted)
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
        self, one: tree.Assign, known: _Known, facts: tuple[str, ...]
    ) -> tuple[tree.Statement, _Known]:
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
        self, one: tree.For, known: _Known, facts: tuple[str, ...], counted: _Counted | None = None
    ) -> tuple[tree.Statement, _Known | None]:
        """A loop; `counted`, if it stands for a `while`."""
        varying = self.assigned(one.body)
        if self.asked and not varying:
            return one, known
        self.types[one.iterator.name] = one.iterator.dtype
        iterator: Polynomial = {(one.iterator.name,): 1}
        start, stop = self.value_of(one.start, known), self.value_of(one.stop, known)
        made = replace(
            one,
            start=self.opened(one.start, known, facts),
            stop=self.opened(one.stop, known, facts),
        )
        facts = (*facts, *loop_bounds(made))
        before = {name: known[name] for name in known.keys() - varying}
        begun, after = dict(before), dict(before)
        steps: dict[str, _Value] = {}
        if start is not None and not varying.isdisjoint(known):
            steps = counted.steps if counted else self.steps(one, before, varying, facts)
        for name in steps.keys() & known.keys():
            assert start is not None
            turn = added(iterator, scaled(start.of, -1))
            value = _advanced(known[name], steps[name], turn, one.step, start.only_if)
            if value is not None:
                begun[name] = value
            if stop is None or abs(one.step) != 1:
                continue
            turns = added(stop.of, scaled(start.of, -1))
            runs = affine_text(scaled(turns, one.step))
            if runs is not None:
                holding = _together(start.only_if, stop.only_if, (f"{runs} >= 0",))
                value = _advanced(known[name], steps[name], turns, one.step, holding)
                if value is not None:
                    after[name] = value
        if counted:
            begun[counted.scalar] = _Value(iterator)
        body, _, left = self.iteration(one.body, begun, facts)
        here = {one.iterator.name}
        behind = _joined([after, *left])
        assert behind is not None
        behind = {name: value for name, value in behind.items() if not value.speaks_of(here)}
        return replace(made, body=body), behind

    def counted(self, one: tree.While, known: _Known, facts: tuple[str, ...]) -> _Counted | None:
        """`while k < n: ...; k += 2` as a `for` loop over what k is, if it is one."""
        tests, rest = goes_on(one)
        varying = self.assigned(one.body)
        written = tree.assigned_arrays(one.body)
        before = {name: known[name] for name in known.keys() - varying}
        for test in tests:
            for name, sign, bound in bounds(test):
                if name not in varying or not written.isdisjoint(
                    r.array for r in tree.reads_of(bound)
                ):
                    continue
                iterator = tree.Variable(self.free_name(name), _INDEX)
                start = tree.Convert(tree.Read(name, (), self.dtypes[name], one.location), _INDEX)
                others = (leaving_unless(each, one.location) for each in tests if each is not test)
                body = (*others, *rest)
                stop = _behind(bound, sign, one.location)
                loop = tree.For(iterator, start, stop, 1, body, one.label, one.location)
                steps = self.steps(loop, before, varying, facts)
                step = steps.get(name)
                by = 0 if step is None or step.only_if else step.of.get((), 0)
                if step is not None and step.of == {(): by} and reaches(sign, by):
                    if sign == "!=" and not self.meets(loop, by, known, facts):
                        continue
                    if not self.asked:
                        self.taken.add(iterator.name)
                        self.changed = True
                    return _Counted(replace(loop, step=by), name, steps)
        return None

    def meets(self, loop: tree.For, by: int, known: _Known, facts: tuple[str, ...]) -> bool:
        """Whether a counter that goes on until it equals the stop does not begin behind it. If nothing
        else ends the loop, that would be a program without an end, or without a meaning."""
        leaves = (tree.Break, tree.Return)
        if not any(isinstance(each, leaves) for each in tree.walk(loop.body)):
            return True
        start, stop = self.value_of(loop.start, known), self.value_of(loop.stop, known)
        if start is None or stop is None:
            return False
        distance = affine_text(scaled(added(stop.of, scaled(start.of, -1)), by))
        conditions = _together(start.only_if, stop.only_if, (f"{distance} >= 0",))
        return distance is not None and self.hold(conditions, facts)

    def free_name(self, wanted: str) -> str:
        """A name for the iterator that takes a scalar's place."""
        wanted = wanted.removesuffix("_at") + "_"
        while wanted in self.taken:
            wanted += "_"
        return wanted

    def iteration(
        self, statements: _Statements, known: _Known, facts: tuple[str, ...]
    ) -> tuple[_Statements, _Known | None, list[_Known]]:
        """A loop's body; what is known where its next iteration begins; and wherever it is left."""
        self.breaks.append([])
        self.continues.append([])
        body, end = self.block(statements, dict(known), facts)
        return body, _joined([end, *self.continues.pop()]), self.breaks.pop()

    def steps(
        self, one: tree.For, known: _Known, varying: set[str], facts: tuple[str, ...]
    ) -> dict[str, _Value]:
        """What each iteration adds to the scalars that it changes, for those of which that is known."""
        symbols = {}
        for name in sorted(varying):
            self.symbols += 1
            symbols[name] = f"_counter_{self.symbols}"
        begun = known | {name: _Value({(symbol,): 1}) for name, symbol in symbols.items()}
        self.asked += 1
        _, end, _ = self.iteration(one.body, begun, facts)
        self.asked -= 1
        found: dict[str, _Value] = {}
        others = {*symbols.values(), one.iterator.name}
        for name in symbols.keys() & (end or {}).keys():
            assert end is not None
            step = _Value(added(end[name].of, {(symbols[name],): -1}), end[name].only_if)
            if not step.speaks_of(others) and all(
                abs(each) < _LARGEST for each in step.of.values()
            ):
                found[name] = step
        return found

    def assigned(self, statements: _Statements) -> set[str]:
        """The integer scalars that statements assign."""
        return {
            each.target.array
            for each in tree.walk(statements)
            if isinstance(each, tree.Assign) and each.target.array in self.scalars
        }

    # ---- expressions ----

    def value_of(
        self, expression: tree.Expression, known: _Known, index: bool = False
    ) -> _Value | None:
        """An expression as a polynomial, with what must hold for the scalars in it; or None."""

        def changed(part: tree.Expression) -> tree.Expression:
            if isinstance(part, tree.Read) and not part.subscripts and part.array in known:
                return self.written(known[part.array].of, _INDEX, part.location)
            return with_parts(part, changed)

        found = polynomial(changed(expression), index)
        if found is None:
            return None
        read = {each.array for each in tree.reads_of(expression)}
        return _Value(
            found, _together(*(known[name].only_if for name in sorted(read & known.keys())))
        )

    def index(
        self, expression: tree.Expression, known: _Known, facts: tuple[str, ...]
    ) -> tree.Expression:
        """A subscript: in 64 bits, if it has a scalar that counts."""
        return self.opened(expression, known, facts, index=True)

    def opened(
        self,
        expression: tree.Expression,
        known: _Known,
        facts: tuple[str, ...],
        index: bool = False,
    ) -> tree.Expression:
        """A bound, or a subscript: in 64 bits, if it has a scalar that counts."""
        names = self.counting & known.keys()
        reads = [each for each in tree.reads_of(expression) if each.array in names]
        value = self.value_of(expression, known, index) if reads and not self.asked else None
        if value is None or not self.hold(value.only_if, facts):
            return self.within(expression, known, facts)
        self.changed = True
        return self.written(value.of, _INDEX, reads[0].location)

    def within(
        self, expression: tree.Expression, known: _Known, facts: tuple[str, ...]
    ) -> tree.Expression:
        """The expression with polynomials in place of scalars, of the types that these have."""
        if self.asked:
            return expression

        def changed(part: tree.Expression) -> tree.Expression:
            if not isinstance(part, tree.Read):
                return with_parts(part, changed)
            if part.subscripts:
                subscripts = tuple(self.index(each, known, facts) for each in part.subscripts)
                return replace(part, subscripts=subscripts)
            value = known.get(part.array) if part.array in self.counting else None
            if value is None or not self.hold(value.only_if, facts):
                return part
            self.changed = True
            return self.written(value.of, part.dtype, part.location)

        return changed(expression)

    def written(self, of: Polynomial, dtype: np.dtype, location: tree.Location) -> tree.Expression:
        """A polynomial as an expression of that type."""
        types = {name: self.types.get(name, _INDEX) for key in of for name in key}
        narrow = all(np.can_cast(each, dtype, "safe") for each in types.values())
        # The scalar does not overflow, so that it is the polynomial, though iterators may be wider.
        exact = dtype.kind == "i" and all(each.kind == "i" for each in types.values())
        inner = dtype if narrow or exact else _INDEX

        def variable(name: str) -> tree.Expression:
            if exact and not np.can_cast(types[name], inner, "safe"):
                return tree.Variable(name, inner)
            return _as(tree.Variable(name, types[name]), inner)

        return _as(tree_of(of, variable, inner, location), dtype)

    def hold(self, conditions: tuple[str, ...], facts: tuple[str, ...]) -> bool:
        """Whether conditions follow from what holds around a place."""
        if not conditions:
            return True
        if (conditions, facts) not in self.follows:
            self.follows[conditions, facts] = all(
                each in facts or exclude_each_other((*facts, f"not ({each})"))
                for each in conditions
            )
        return self.follows[conditions, facts]


def _behind(bound: tree.Expression, sign: str, location: tree.Location) -> tree.Expression:
    """The stop of a loop whose iterator stays on this side of a bound."""
    stop = _as(bound, _INDEX)
    if sign not in ("<=", ">="):
        return stop
    return tree.Operation(
        "+" if sign == "<=" else "-", (stop, tree.Literal(1, _INDEX)), _INDEX, location
    )


def _as(expression: tree.Expression, dtype: np.dtype) -> tree.Expression:
    return expression if expression.dtype == dtype else tree.Convert(expression, dtype)


def _together(*conditions: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for some in conditions for each in some))


def _advanced(
    value: _Value, step: _Value, distance: Polynomial, stride: int, only_if: Iterable[str]
) -> _Value | None:
    """The value after the iterations in which an iterator moves by a distance in strides."""
    moved = multiplied(step.of, distance)
    if any(each % stride for each in moved.values()):
        return None  # a quotient, which is no polynomial
    turns = {key: each // stride for key, each in moved.items()}
    total = added(value.of, turns)
    return _Value(total, _together(value.only_if, step.only_if, only_if))


def _joined(ways: Iterable[_Known | None]) -> _Known | None:
    """What is known where ways of the program meet: those that nothing takes are None."""
    taken = [each for each in ways if each is not None]
    if not taken:
        return None
    first, *rest = taken
    joined = dict(first)
    for other in rest:
        joined = {
            name: _Value(value.of, _together(value.only_if, other[name].only_if))
            for name, value in joined.items()
            if name in other and other[name].of == value.of
        }
    return joined
