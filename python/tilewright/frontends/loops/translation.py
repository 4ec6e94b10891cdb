"""A Python function and the types of a call, as a program of the statement tree.

The function is translated again until no variable's type changes. Calls of other loop functions are
inlined. What the function returns is written to arrays that the caller of the program makes.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...base.errors import ArgumentError, TranslationError
from ..induction import with_counters_known
from ..tree import (
    Array,
    Expression,
    Literal,
    Location,
    Operation,
    Program,
    Variable,
    assigned_arrays,
)
from .checks import FactError
from .context import Frame, NextRound, Storage
from .definitions import find_webs
from .groups import Group
from .indices import NOWHERE, literal
from .inner_returns import Gives, without_inner_returns
from .kinds import BOOL, INT64, Kind
from .library import Library
from .signatures import (
    ArraySlot,
    ConstantSlot,
    GroupSlot,
    NumberSlot,
    ParameterSlot,
    Signature,
    Slot,
)
from .values import ArrayValue, Chosen, Record, Scalar, Static, TupleValue, Value, converted

__all__ = ["Result", "Translated", "Translation"]

_ROUNDS = 20


@dataclass(frozen=True)
class Result:
    """A value that the function returns: an array of the program, and whether it is a Python number.

    Attributes:
        kind: None for one that is an array.
        mask: an array of the program that says which elements there are; "" for all.
        turned: whether what is returned has the array's axes reversed.
    """

    array: str
    kind: Kind | None = None
    mask: str = ""
    turned: bool = False


@dataclass(frozen=True)
class Given:
    """A part of what the function returns that is known while translating, such as None."""

    value: Any


Form = tuple[Group, tuple["Form", ...]] | Given | None
"""How results make up what is returned: a value of parts, something known, or a result (None)."""


@dataclass(frozen=True)
class Translated:
    """A program and what the function makes of it.

    Attributes:
        contiguous: arrays whose elements must lie without gaps.
        results: of its `return`, without what has parts; None without one.
        form: how they make up what is returned.
        cases: the loops of which it is right for one remainder of their count only.
        constants: the names outside of the function that it uses, with their values.
        numbers: the parameters of the function that are numbers in the program.
        raised: the exceptions for facts that do not hold, where the function has some.
        turned: the arguments whose axes are reversed in the program.
    """

    program: Program
    results: tuple[Result, ...] | None
    form: Form
    constants: list[tuple[Any, str, Any]]
    contiguous: frozenset[str] = frozenset()
    cases: frozenset[Location] = frozenset()
    numbers: dict[str, int] = field(default_factory=dict)
    raised: dict[Location, tuple[type[Exception], tuple[Any, ...]]] = field(default_factory=dict)
    turned: frozenset[str] = frozenset()

    @property
    def is_tuple(self) -> bool:
        """Whether it returns several results."""
        return self.form is not None

    @property
    def is_flat(self) -> bool:
        """Whether it returns nothing, a result, or a tuple of results, whose elements are all there."""
        plain = self.form is None or (
            not isinstance(self.form, Given)
            and self.form[0].made_of is tuple
            and not any(self.form[1])
        )
        return plain and not any(result.mask for result in self.results or ())

    def error_of(self, error: FactError) -> Exception:
        """What a call raises where a fact does not hold."""
        if error.place in self.raised:
            kind, arguments = self.raised[error.place]
            return kind(*arguments)
        return ArgumentError(error.plain, error.location)


class Translation(Library):
    """One translation of a function for a signature."""

    def run(self, function: Any, signature: Signature) -> Translated:
        """The program.

        Raises:
            TranslationError: something in the function is not translated.
        """
        rounds = _ROUNDS
        while rounds > 0:
            known = len(self.in_turns)
            self.begin()
            self.constants = {}
            self.results: tuple[Result, ...] | None = None
            self.result_names: dict[str, str] = {}  # of arrays that are made for results
            self.form: Form = None
            self.added: list[str] = []
            self.sizes = frozenset(signature.extents)
            self.turns_results = signature.is_turned
            try:
                with self.collected() as body:
                    self.whole(function, signature)
            except NextRound:
                self.frames.clear()
                rounds -= len(self.in_turns) == known  # of loops there are only so many
                continue
            written = assigned_arrays(body)
            if self.lent & written:
                self.overwritten |= self.lent & written
                self.changed = True
            if not self.changed:
                break
            rounds -= 1
        else:
            raise TranslationError(
                f"the types of {self.name}'s variables do not settle; convert them explicitly"
            )
        self.check_unchanged(tuple(body))
        location = function.source.location(function.source.tree)
        names = [
            slot.name for slot in signature.leaves() if isinstance(slot, ArraySlot | NumberSlot)
        ]
        names = list(dict.fromkeys(names))
        program = Program(
            self.name,
            (*self.parameters, *names, *self.added),
            dict(self.parameters),
            dict(self.arrays),
            tuple(body),
            location,
            tuple(
                Operation(">=", (Variable(name, INT64), literal(0)), BOOL.dtype, NOWHERE)
                for name in signature.extents
                if name not in self.numbers
            ),
        )
        constants = [(lookup, name, value) for (_, name), (lookup, value) in self.constants.items()]
        return Translated(
            with_counters_known(program),
            self.results,
            self.form,
            constants,
            frozenset(self.contiguous),
            frozenset(self.cases),
            dict(self.numbers),
            dict(self.raised),
            frozenset(self.turned),
        )

    def whole(self, function: Any, signature: Signature) -> None:
        source = function.source
        webs = find_webs(source.tree)
        self.frames = [Frame(source, webs, (), function.lookup, function)]
        for name in signature.extents:
            self.taken.add(name)
            if name not in self.numbers:
                self.parameters[name] = INT64
                self.nonnegative.add(name)
        arguments = {each.arg: each for each in _argument_nodes(source.tree)}
        for slot in signature.slots:
            node = arguments[slot.argument]
            self.bind_argument(webs.name_of[id(node)], self.argument(slot, node), node)
        self.found_outside = {
            slot.argument: self.argument(slot, source.tree) for slot in signature.outer
        }
        for each in ast.walk(source.tree):
            if isinstance(each, ast.Try):
                self.statement(each)  # which refuses it
        if webs.falls_through and _returns_value(source.tree):
            self.refuse(
                source.tree,
                "some ways through the function return a value, others none",
                "return on all of them",
            )
        for statement in self.block_of(tailed(source.tree.body)):
            self.out.append(statement)
        self.frames = []

    # ---- arguments ----

    def argument(self, slot: Slot, node: ast.AST) -> Value:
        """What an argument of the call is, or a part of it."""
        where = self.at(node)
        match slot:
            case GroupSlot():
                parts = tuple(self.argument(part, node) for part in slot.parts)
                made = TupleValue if slot.group.is_tuple else Record
                return made(parts, slot.group)
            case ConstantSlot(value=bool() as known):
                return self.constant(known, node)
            case ConstantSlot():
                return Static(slot.value)
            case ParameterSlot() if slot.name in self.numbers:
                return Scalar(Literal(self.numbers[slot.name], slot.kind.dtype), slot.kind)
            case ParameterSlot():
                if slot.name not in self.parameters:
                    self.taken.add(slot.name)
                    self.parameters[slot.name] = slot.kind.dtype
                return Scalar(Variable(slot.name, slot.kind.dtype), slot.kind)
            case NumberSlot():
                self.taken.add(slot.name)
                self.arrays[slot.name] = Array(slot.name, slot.kind.dtype, (), where)
                return Scalar(self.read(slot.name, (), slot.kind.dtype, node), slot.kind)
            case ArraySlot():
                shape = tuple(self.extent(each) for each in slot.shape)
                memory = shape[::-1] if slot.turned else shape
                if slot.name not in self.arrays:
                    self.taken.add(slot.name)
                    self.arrays[slot.name] = Array(slot.name, slot.dtype, memory, where)
                array = self.view(slot.name, slot.dtype, memory, memory, node)
                if slot.turned:
                    self.turned.add(slot.name)
                    array = self.transposed(array)
                return array
        raise AssertionError(slot)

    def extent(self, extent: str | int) -> Expression:
        """That of an argument."""
        number = self.numbers.get(extent) if isinstance(extent, str) else extent
        return Variable(str(extent), INT64) if number is None else literal(number)

    def bind_argument(self, web: str, value: Value, node: ast.arg) -> None:
        """An argument that is assigned in the function gets a place of its own."""
        webs = self.frame.webs
        array = isinstance(value, ArrayValue)
        fixed = web in (webs.once | webs.renamed if array else webs.single)
        if fixed or isinstance(value, Static | TupleValue | Record | Chosen):
            self.frame.bindings[web] = value
        elif isinstance(value, Scalar):
            kind, _ = self.remembered((self.frame.key, web), value.kind, None)
            place = Storage(self.new_array(web, kind.dtype, (), node), kind)
            self.frame.bindings[web] = place
            target = self.read(place.name, (), kind.dtype, node)
            self.assign(target, converted(value.expression, kind.dtype, value.kind.dtype), node)
        elif isinstance(value, ArrayValue) and (self.frame.key, web) not in self.anew:
            # Unless a statement that is reached gives the name another array.
            self.frame.bindings[web] = value
            self.direct.add((self.frame.key, web))
        elif isinstance(value, ArrayValue):
            own = self.materialised(replace(value, fresh=False), web, node)
            self.copied[own.base] = node.arg
            self.remembered((self.frame.key, web), value.kind, value.shape)
            self.frame.bindings[web] = Storage(own.base, value.kind, value.shape, value.room)
            self.rebound.add(own.base)

    # ---- calls of other loop functions ----

    def call_function(
        self, function: Any, arguments: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value:
        """The body of another function with @tw.jit, in place of its call."""
        loops = function.__tilewright_loops__
        if any(frame.function is loops or frame.is_of(function.py_func) for frame in self.frames):
            self.refuse(node, f"{loops.name} calls itself", "write a loop")
        try:
            bound = inspect.signature(function.py_func).bind(*arguments, **keywords)
        except TypeError as error:
            self.refuse(node, f"{loops.name}: {error}")
        for name, parameter in bound.signature.parameters.items():
            if name not in bound.arguments:
                bound.arguments[name] = self.constant(parameter.default, node)
        kept = {name: self.for_callee(value, name, node) for name, value in bound.arguments.items()}
        where = self.at(node)
        key = (*self.frame.key, where.line, where.column)
        tree = without_inner_returns(loops.source.tree)
        webs = find_webs(tree)
        known = set(self.arrays)
        outer = getattr(function, "outer", None)
        frame = Frame(loops.source, webs, key, loops.lookup, loops, outer=outer)
        if function.__dict__.get("is_numpys"):
            frame.called_at = self.frame.called_at or where
        self.frames.append(frame)
        try:
            for each in _argument_nodes(tree):
                self.bind_argument(webs.name_of[id(each)], kept[each.arg], each)
            body = tailed(tree.body)
            for statement in self.block_of(body):
                self.emit(statement, node)
            results = self.frame.results
        finally:
            self.frames.pop()
        return _given_away(results[-1], known) if results else Static(None)

    def for_callee(self, value: Value, name: str, node: ast.AST) -> Value:
        """An argument, evaluated once."""
        if isinstance(value, Scalar):
            return self.kept(value, node, name)
        if isinstance(value, ArrayValue):
            if not value.base:
                return self.materialised(value, name, node)
            if not value.fresh:
                self.require_place(value, node)
            return replace(value, fresh=False)
        if isinstance(value, TupleValue | Record):
            parts = tuple(self.for_callee(part, name, node) for part in value.parts)
            return replace(value, parts=parts)
        if isinstance(value, Chosen):
            return self.kept_chosen(value, node)
        return value

    def require_place(self, value: ArrayValue, node: ast.AST) -> None:
        before = set(self.rebound)
        self.rebound.clear()  # the callee cannot assign the caller's variable anew
        self.require_fixed(value, node)
        self.rebound |= before

    # ---- results ----

    def return_statement(self, node: ast.Return) -> None:
        value = Static(None) if node.value is None else self.expression(node.value)
        if len(self.frames) > 1:
            self.return_inlined(value, node)
            return
        parts, form = _parts_and_form(value)
        nothing = isinstance(value, Static) and value.value is None
        several = sum(isinstance(each, ast.Return) for each in ast.walk(self.frame.source.tree)) > 1
        if not nothing:
            found = tuple(
                self.result(part, number, several, form is not None, node)
                for number, part in enumerate(parts)
            )
            if self.results is not None and (len(self.results) != len(found) or self.form != form):
                self.decide_tests()
                self.refuse(node, "this returns another number of values than before")
            self.results = found
            self.form = form
        if self.frame.source.tree.body[-1] is not node:
            self.emit_return(node)

    def result(
        self, value: Value, number: int, several: bool, is_part: bool, node: ast.Return
    ) -> Result:
        """Writes a value that is returned to an array of the caller."""
        wanted = f"result_{number}" if is_part else "result"
        if isinstance(value, Scalar):
            kind, shape = self.remembered(("result", number), value.kind, None)
            if shape is not None:
                self.decide_tests()
                self.refuse(node, "this returns a number, and an array elsewhere")
            name = self.result_array(wanted, kind.dtype, (), node)
            target = self.read(name, (), kind.dtype, node)
            self.assign(target, converted(value.expression, kind.dtype, value.kind.dtype), node)
            return Result(name, kind)
        if isinstance(value, Chosen):
            return self.chosen_result(value, number, several, wanted, node)
        if not isinstance(value, ArrayValue):
            self.refuse(
                node, f"{self.described(value)} cannot be returned", "return numbers or arrays"
            )
        return self.array_result(value, number, several, wanted, node)

    def chosen_result(
        self, value: Chosen, number: int, several: bool, wanted: str, node: ast.Return
    ) -> Result:
        """All elements, and which of them there are: the caller gets those."""
        array = self.array_result(value.array, number, several, wanted, node, False)
        mask = self.array_result(
            value.mask, f"{number} mask", several, f"{wanted}_mask", node, False
        )
        return Result(array.array, None, mask.array)

    def array_result(
        self,
        value: ArrayValue,
        number: int | str,
        several: bool,
        wanted: str,
        node: ast.Return,
        may_turn: bool = True,
    ) -> Result:
        """Writes an array that is returned, unless it is one of the caller's."""
        if value.base and not several:
            array = self.arrays[value.base]
            if not array.local and value.base not in self.added:  # an argument
                if value.backwards if value.base in self.turned else value.whole:
                    return Result(value.base)
            elif value.whole or (value.backwards and may_turn):
                found = Result(value.base, turned=value.backwards)
                if value.base in self.added:
                    return found
                if value.room == value.shape:
                    self.arrays[value.base] = replace(array, local=False)
                    self.added.append(value.base)
                    return found
        for extent in value.shape:
            if not self.of_parameters(extent):
                self.refuse(
                    node,
                    "the extents of a result must depend on integer arguments and sizes of arrays only",
                )
        kind, shape = self.remembered(("result", number), value.kind, value.shape)
        if shape is None or kind != value.kind:
            self.decide_tests()
            self.refuse(node, "this returns another type than before")
        turns = may_turn and self.turns_results and len(value.shape) > 1
        memory = value.shape[::-1] if turns else value.shape
        name = self.result_array(wanted, value.dtype, memory, node)
        made = self.view(name, value.dtype, memory, memory, node)
        self.store_elements(self.transposed(made) if turns else made, value, node)
        return Result(name, turned=turns)

    def result_array(
        self, wanted: str, dtype: np.dtype, shape: tuple[Expression, ...], node: ast.AST
    ) -> str:
        """A result; the same one for each `return`."""
        if self.results is not None and wanted in self.result_names:
            return self.result_names[wanted]
        name = self.result_names[wanted] = self.fresh(wanted)
        self.arrays[name] = Array(name, dtype, shape, self.at(node))
        self.added.append(name)
        return name

    def given_back(self, value: Value, node: ast.AST) -> Value:
        """What an inlined call returns, computed now."""
        if isinstance(value, ArrayValue) and not value.base:
            return self.materialised(value, "result", node)
        if isinstance(value, Scalar):
            return self.kept(value, node, "result")
        if isinstance(value, Chosen):
            return self.kept_chosen(value, node)
        if isinstance(value, TupleValue | Record):
            return replace(value, parts=tuple(self.given_back(each, node) for each in value.parts))
        return value

    def return_inlined(self, value: Value, node: ast.stmt) -> None:
        """The value of an inlined call: the only one, or one place for all ways."""
        tree = self.frame.source.tree
        count = sum(isinstance(each, ast.Return) for each in ast.walk(tree))
        if count == 1 and not isinstance(node, Gives):
            self.frame.results = [self.given_back(value, node)]
            return
        parts = value.parts if isinstance(value, TupleValue) else (value,)
        places: list[Value] = []
        for number, part in enumerate(parts):
            if isinstance(part, Static) and part.value is None:
                continue
            if not isinstance(part, Scalar):
                self.refuse(node, "arrays are returned in one place only here", "return once")
            key = f"*{number}"
            kind, _ = self.remembered((self.frame.key, key), part.kind, None)
            place = self.frame.bindings.get(key)
            if not isinstance(place, Storage):
                place = Storage(self.new_array("result", kind.dtype, (), node), kind)
                self.frame.bindings[key] = place
            target = self.read(place.name, (), kind.dtype, node)
            self.assign(target, converted(part.expression, kind.dtype, part.kind.dtype), node)
            places.append(self.stored(place, node))
        if places:
            result = TupleValue(tuple(places)) if isinstance(value, TupleValue) else places[0]
            self.frame.results = [result]


def _parts_and_form(value: Value) -> tuple[list[Value], Form]:
    """What is returned, without what has parts, and how it makes up the value."""
    if isinstance(value, TupleValue | Record):
        found = [_parts_and_form(part) for part in value.parts]
        forms = tuple(form for _, form in found)
        return [part for parts, _ in found for part in parts], (value.form, forms)
    if isinstance(value, Static) and (value.value is None or isinstance(value.value, str)):
        return [], Given(value.value)
    return [value], None


def tailed(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The body with what follows an `if` that returns in its `else`: no statement after a return."""
    result: list[ast.stmt] = []
    for number, statement in enumerate(body):
        rest = body[number + 1 :]
        if isinstance(statement, ast.If) and rest:
            ends, other_ends = _ends(statement.body), _ends(statement.orelse)
            if ends or other_ends:
                first = [*statement.body] if ends else [*statement.body, *rest]
                second = [*statement.orelse, *rest] if ends else [*statement.orelse]
                made = ast.If(statement.test, tailed(first), tailed(second))
                result.append(ast.copy_location(made, statement))
                return result
        result.append(statement)
    return result


def _ends(body: Sequence[ast.stmt]) -> bool:
    """Whether the body always returns."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    return isinstance(last, ast.Return)


def _given_away(result: Value, known: set[str]) -> Value:
    """What a call gives: arrays that it made have no other name any more."""
    parts = result.parts if isinstance(result, TupleValue | Record) else (result,)
    made = [part.base for part in parts if isinstance(part, ArrayValue) and part.base]
    given: list[Value] = []
    for part in parts:
        if (
            isinstance(part, ArrayValue)
            and (part.whole or part.backwards)
            and part.base not in known
        ):
            part = replace(part, fresh=made.count(part.base) == 1)
        given.append(part)
    if isinstance(result, TupleValue | Record):
        return replace(result, parts=tuple(given))
    return given[0]


def _argument_nodes(tree: ast.FunctionDef) -> list[ast.arg]:
    return [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]


def _returns_value(tree: ast.FunctionDef) -> bool:
    return any(
        isinstance(each, ast.Return)
        and each.value is not None
        and not (isinstance(each.value, ast.Constant) and each.value.value is None)
        for each in ast.walk(tree)
    )
