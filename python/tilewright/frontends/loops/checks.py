"""What must hold of sizes for a call to be right: subscripts inside arrays, facts of the program.

Python checks each subscript while it runs. Here the parameters for which a subscript leaves its array
somewhere are computed as a set when the kernel is made (the projection of the access relation's
outside part on the parameters), and a call with such parameters is refused before anything runs.
Conditions that depend on data are not seen: a subscript under one must be inside without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import tilewright as tw

from ...base.errors import AnalysisLimitError, ArgumentError, SubscriptError
from .. import tree
from ..affine import Scope, affine_of, condition_of
from ..loop_tests import all_of
from ..refusals import line_of
from .facts import region_of

__all__ = ["Checks", "FactError", "OutsideError"]


_JUMPS = (tree.Break, tree.Continue, tree.Return)


class OutsideError(SubscriptError):
    """What is raised for an access at a place of the text."""

    def __init__(self, place: tree.Location, plain: str, where: Any) -> None:
        super().__init__(plain, where)
        self.place = place
        self.plain = plain


class FactError(ArgumentError):
    """What is raised for a fact that does not hold."""

    def __init__(self, place: tree.Location, plain: str, where: Any) -> None:
        super().__init__(plain, where)
        self.place = place
        self.plain = plain


@dataclass(frozen=True)
class _Wrong:
    """Parameters for which something is wrong."""

    parameters: Any
    location: tree.Location
    access: tree.Read | None
    otherwise: str


@dataclass(frozen=True)
class _Place:
    """The loops and conditions around a statement, as isl text."""

    variables: dict[str, str]
    iterators: tuple[str, ...]
    constraints: tuple[str, ...]

    def with_constraints(self, *more: str) -> _Place:
        """The same place, of which more is known; each is kept once, however often it is stated."""
        return replace(self, constraints=tuple(dict.fromkeys((*self.constraints, *more))))


class Checks:
    """The checks of a program."""

    def __init__(self, program: tree.Program) -> None:
        self.program = program
        self.names = {name: f"p{number}" for number, name in enumerate(program.parameters)}
        self.wrong: list[_Wrong] = []
        self.seen: set[tuple[str, ...]] = set()
        self.passed: set[tuple[int, ...]] = set()
        start = tuple(
            text
            for each in program.context
            if (text := condition_of(each, Scope(self.names, {}))) is not None
        )
        self.start = tuple(dict.fromkeys(start))
        self.block(program.body, _Place(dict(self.names), (), self.start))

    def region(self, values: Mapping[str, Any]) -> tree.Expression | None:
        """Sizes around those of a call for which nothing is wrong: a conjunction, None for all."""
        if not self.wrong:
            return None
        space = f"[{', '.join(self.names.values())}] -> {{ : "
        allowed = tw.Set(f"{space}{' and '.join(self.start) or 'true'} }}")
        for each in self.wrong:
            allowed = allowed - each.parameters
        if allowed.is_empty:
            raise tw.TranslationError(
                "this is wrong for all sizes: a subscript leaves its array, or a fact does not hold",
                line_of(self.wrong[0].location),
            )
        return region_of(allowed, {own: name for name, own in self.names.items()}, values)

    def __call__(self, values: Mapping[str, Any]) -> None:
        """Refuses parameters for which the program is wrong.

        Raises:
            SubscriptError: a subscript would be outside its array.
            ArgumentError: a fact that the program states does not hold.
        """
        key = tuple(int(values[name]) for name in self.names)
        if key in self.passed:
            return
        fixed = " and ".join(f"{self.names[n]} = {v}" for n, v in zip(self.names, key, strict=True))
        for wrong in self.wrong:
            text = f"[{', '.join(self.names.values())}] -> {{ : {fixed or 'true'} }}"
            if not wrong.parameters.intersect_params(text).is_empty:
                self.refuse(wrong, dict(zip(self.names, key, strict=True)))
        self.passed.add(key)

    def refuse(self, wrong: _Wrong, values: dict[str, int]) -> None:
        sizes = ", ".join(f"{name} = {value}" for name, value in values.items())
        where = line_of(wrong.location)
        if wrong.access is None:
            plain = f"{wrong.otherwise or 'what this states does not hold'} for {sizes}"
            raise FactError(wrong.location, plain, where)
        raise OutsideError(
            wrong.access.location,
            f"a subscript of {wrong.access.array} is outside of the array for {sizes}; a slice must "
            "lie within its array, too",
            where,
        )

    # ---- the program ----

    def block(self, statements: tuple[tree.Statement, ...], place: _Place) -> None:
        for statement in statements:
            self.statement(statement, place)
            if isinstance(statement, tree.Assume):
                known = condition_of(statement.condition, self.scope(place))
                if known is not None:
                    place = place.with_constraints(known)
            elif isinstance(statement, tree.If) and not statement.otherwise and statement.body:
                if isinstance(statement.body[-1], _JUMPS):
                    place = self.under(statement.condition, place, False)

    def scope(self, place: _Place) -> Scope:
        return Scope(place.variables, {})

    def statement(self, statement: tree.Statement, place: _Place) -> None:
        for expression in tree.expressions_of(statement):
            self.expression(expression, place)
        match statement:
            case tree.Assign():
                self.access(statement.target, place)
            case tree.Assume():
                wrong = condition_of(statement.condition, self.scope(place))
                if wrong is None:
                    raise tw.TranslationError(
                        "whether this holds is not known from sizes before the function runs",
                        line_of(statement.location),
                    )
                self.note(place, f"not ({wrong})", statement.location, None, statement.otherwise)
            case tree.For():
                self.block(statement.body, self.inside(statement, place))
            case tree.While():
                self.block(statement.body, self.under(statement.condition, place, True))
            case tree.If():
                self.block(statement.body, self.under(statement.condition, place, True))
                self.block(statement.otherwise, self.under(statement.condition, place, False))

    def inside(self, loop: tree.For, place: _Place) -> _Place:
        name = f"i{len(place.iterators)}"
        scope = self.scope(place)
        start, stop = affine_of(loop.start, scope), affine_of(loop.stop, scope)
        constraints = list(place.constraints)
        up = loop.step > 0
        if start is not None:
            constraints.append(f"{name} {'>=' if up else '<='} {start}")
            if abs(loop.step) != 1:
                constraints.append(f"({name} - ({start})) mod {abs(loop.step)} = 0")
        if stop is not None:
            constraints.append(f"{name} {'<' if up else '>'} {stop}")
        if start is None or stop is None:  # data bound it: the kernel itself looks
            variables = {
                each: own for each, own in place.variables.items() if each != loop.iterator.name
            }
            return replace(place, variables=variables)
        variables = {**place.variables, loop.iterator.name: name}
        return _Place(variables, (*place.iterators, name), tuple(constraints))

    def under(self, condition: tree.Expression, place: _Place, holds: bool) -> _Place:
        """The place where a condition holds, or does not: what is affine of what that says."""
        found = []
        for test in all_of(condition, holds):
            text = condition_of(test.of, self.scope(place))
            if text is not None:
                found.append(f"({text})" if test.holds else f"(not ({text}))")
        return place.with_constraints(*found)

    def expression(self, expression: tree.Expression, place: _Place) -> None:
        """The reads in an expression; of a choice, each under its condition."""
        if isinstance(expression, tree.Select):
            self.expression(expression.condition, place)
            self.expression(expression.if_true, self.under(expression.condition, place, True))
            self.expression(expression.if_false, self.under(expression.condition, place, False))
            return
        if isinstance(expression, tree.Reduce):
            for iterator, extent in zip(expression.iterators, expression.extents, strict=True):
                self.expression(extent, place)
                zero, where = tree.Literal(0, extent.dtype), expression.location
                loop = tree.For(iterator, zero, extent, 1, (), iterator.name, where)
                place = self.inside(loop, place)
            self.expression(expression.term, place)
            return
        for part in tree.parts_of(expression):
            self.expression(part, place)
        if isinstance(expression, tree.Read):
            self.access(expression, place)

    def access(self, read: tree.Read, place: _Place) -> None:
        for axis, subscript in enumerate(read.subscripts):
            if isinstance(subscript, tree.Select):  # one that may count from the end
                for branch, holds in ((subscript.if_true, True), (subscript.if_false, False)):
                    chosen = list(read.subscripts)
                    chosen[axis] = branch
                    inside = self.under(subscript.condition, place, holds)
                    self.access(replace(read, subscripts=tuple(chosen)), inside)
                return
        scope = self.scope(place)
        for subscript, extent in zip(
            read.subscripts, self.program.arrays[read.array].shape, strict=True
        ):
            at, end = affine_of(subscript, scope), affine_of(extent, scope)
            if at is None or end is None:
                continue  # data decide: the kernel itself looks
            outside = f"({at} < 0 or {at.plus(end, -1)} >= 0)"
            self.note(place, outside, read.location, read)

    def note(
        self,
        place: _Place,
        wrong: str,
        location: tree.Location,
        access: tree.Read | None,
        otherwise: str = "",
    ) -> None:
        constraints = " and ".join([*(f"({each})" for each in place.constraints), wrong])
        text = (
            f"[{', '.join(self.names.values())}] -> {{ [{', '.join(place.iterators)}] : "
            f"{constraints} }}"
        )
        if (text, str(access is None)) in self.seen:
            return
        self.seen.add((text, str(access is None)))
        try:
            parameters = tw.Set(text).params()
        except AnalysisLimitError:
            raise tw.TranslationError(
                "whether this stays inside its array is too hard to find out", line_of(location)
            ) from None
        if not parameters.is_empty:
            self.wrong.append(_Wrong(parameters, location, access, otherwise))
