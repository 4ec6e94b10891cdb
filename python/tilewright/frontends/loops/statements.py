"""Statements of the person's function: assignments, loops, branches.

A variable that is assigned once and holds an integer of parameters and iterators, a view or a tuple is a
name for that while translating; others have a place in memory, a scalar or an array of their own. A
slice is assigned element by element; through a temporary, if an element would be overwritten before it
is read.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...base.plurals import counted
from ..refusals import refuse
from ..tree import (
    Assume,
    Break,
    Continue,
    Expression,
    Literal,
    Read,
    Return,
    Statement,
    Variable,
    reads_of,
)
from .context import Storage
from .indices import constant_of, is_pure, literal
from .inner_returns import Gives
from .kinds import INT, INT64
from .local_functions import Definition, LocalFunction
from .loop_statements import LoopStatements
from .masks import Masks
from .overlaps import Overlaps
from .sugar import Raising
from .values import (
    ArrayValue,
    Chosen,
    Record,
    Scalar,
    Static,
    TupleValue,
    Value,
    as_bool_literal,
    broadcast_indices,
    converted,
    same_shape,
)

__all__ = ["Statements"]

_WAYS_OUT: dict[type[ast.AST], tuple[str, str]] = {
    ast.Try: ("try", "check the values before"),
    ast.With: ("with", "call the function inside of it"),
    ast.Raise: ("raise", "return a value that says what is wrong"),
    ast.ClassDef: ("a class", "define it outside"),
    ast.Import: ("import", "import at the top of the file"),
    ast.ImportFrom: ("import", "import at the top of the file"),
    ast.Global: ("global", "pass the variable and return its value"),
    ast.Nonlocal: ("nonlocal", "pass the variable and return its value"),
    ast.Delete: ("del", "leave the name as it is"),
    ast.Match: ("match", "write if and elif"),
}


class Statements(Masks, LoopStatements, Overlaps):
    """Statements."""

    def block_of(self, body: Sequence[ast.stmt]) -> tuple[Statement, ...]:
        with self.collected() as statements:
            for node in body:
                if id(node) in self.frame.webs.dead:
                    break
                self.statement(node)
        return tuple(statements)

    def statement(self, node: ast.stmt) -> None:
        remarks = self.frame.source.remarks(node)
        before = self.wanted_label
        self.wanted_label = remarks.name or (before if len(self.frames) > 1 else "")
        if remarks.loop and not isinstance(node, ast.For | ast.While):
            self.refuse(node, "the comment # loop: names a loop, and this is none", "use # name:")
        if remarks.independent is not None and not isinstance(node, ast.For):
            self.refuse(node, "the comment # independent stands above a for loop")
        match node:
            case ast.Assign():
                self.assignment(node)
            case ast.AnnAssign():
                if node.value is not None:
                    self.store(node.target, self.expression(node.value), node)
            case ast.AugAssign():
                self.augmented(node)
            case ast.For():
                self.for_loop(node)
            case ast.While():
                self.while_loop(node)
            case ast.If():
                self.branch(node)
            case ast.Break():
                self.emit(Break(self.at(node)), node)
            case ast.Continue():
                self.emit(Continue(self.at(node)), node)
            case ast.Return():
                self.return_statement(node)
            case Gives():
                self.return_inlined(self.expression(node.value), node)
            case Raising():
                self.raising(node)
            case ast.Assert():
                condition = self.truth(self.expression(node.test), node.test)
                if self.frame.called_at and as_bool_literal(condition) is False:
                    function = self.frame.source.tree
                    known = (ast.get_docstring(function) or function.name).splitlines()[0]
                    refuse(
                        self.frame.called_at,
                        f"this form of the function is not translated; what is: {known}",
                        "write it in loops",
                    )
                text = node.msg.value if isinstance(node.msg, ast.Constant) else ""
                said = text if isinstance(text, str) else ""
                fact = Assume(condition, self.at(node), checked=True, otherwise=said)
                self.emit(fact, node)
            case ast.Expr():
                is_text = isinstance(node.value, ast.Constant)  # a docstring
                if not is_text and not self.is_appended(node.value):
                    self.expression(node.value)
            case Definition():
                self.define(node.defines, node)
            case ast.Pass():
                pass
            case _:
                what, way_out = _WAYS_OUT.get(type(node), (type(node).__name__, ""))
                self.refuse(node, f"{what} is not translated", way_out)
        self.wanted_label = before

    def raising(self, node: Raising) -> None:
        """An exception that sizes decide about: raised by the call, before anything runs."""
        condition = self.truth(self.expression(node.test), node.test)
        if list(reads_of(condition)):
            self.refuse(
                node.place,
                "an exception that data decide about",
                "return a value that says what is wrong",
            )
        made, given = node.exception, []
        if isinstance(made, ast.Call):
            for each in made.args:
                if not isinstance(each, ast.Constant):
                    self.refuse(each, "an exception's text must be a constant", "write it out")
                given.append(each.value)
            made = made.func
        value = self.expression(made)
        kind = value.value if isinstance(value, Static) else None
        if not isinstance(kind, type) or not issubclass(kind, Exception):
            self.refuse(node.place, "raise takes a class of exceptions here")
        where = self.at(node)
        self.raised[where] = (kind, tuple(given))
        self.emit(Assume(condition, where, checked=True), node)

    def define(self, function: ast.FunctionDef, node: ast.stmt) -> None:
        """A function inside of this one."""
        known = self.frame.functions.get(function.name)
        if function.name in self.frame.webs.names or (known and known.node is not function):
            self.refuse(node, f"{function.name} is something else, too", "use names of their own")
        self.frame.functions[function.name] = known or LocalFunction(function, self.frame)

    def return_statement(self, node: ast.Return) -> None:
        raise NotImplementedError

    def return_inlined(self, value: Value, node: ast.stmt) -> None:
        raise NotImplementedError

    # ---- assignments ----

    def assignment(self, node: ast.Assign) -> None:
        if len(node.targets) == 1 and (found := self.as_mask(node.targets[0])):
            with self.under(found[1]):
                value = self.expression(node.value)
            with self.storing_new(not self.means_given(node.targets[0])):
                self.store_masked(*found, value, node.targets[0])
            return
        value = self.expression(node.value)
        for target in node.targets:
            self.store(target, value, node)

    def store(self, target: ast.expr, value: Value, node: ast.stmt) -> None:
        """target = value."""
        match target:
            case ast.Tuple() | ast.List():
                self.store_tuple(target, value, node)
            case ast.Name():
                self.bind(target, value, node)
            case ast.Subscript():
                array = self.expression(target.value)
                if not isinstance(array, ArrayValue):
                    self.refuse(target, f"{self.described(array)} has no elements to assign")
                place = self.indexed(array, target)
                with self.storing_new(not self.means_given(target)):
                    self.store_elements(place, value, target)
            case ast.Attribute(value=ast.Name(name), attr="shape"):
                self.refuse(
                    target,
                    f"the shape of {name} is assigned, and an array keeps its shape",
                    f"write {name} = {name}.reshape(...)",
                )
            case _:
                self.refuse(target, "only names and elements of arrays are assigned")

    def store_tuple(self, target: ast.Tuple | ast.List, value: Value, node: ast.stmt) -> None:
        parts = self.unpacked(value, node, len(target.elts))
        if len(parts) != len(target.elts):
            self.refuse(node, f"{counted(len(parts), 'value')} for {len(target.elts)} names")
        kept: list[Value] = []
        for part in parts:
            if isinstance(part, Scalar) and len(parts) > 1:
                part = self.kept(part, node)  # before any of the targets changes
            elif isinstance(part, ArrayValue) and isinstance(node, ast.Assign):
                if not all(isinstance(each, ast.Name) for each in target.elts):
                    part = self.materialised(part, "value", node)
            kept.append(part)
        for each, part in zip(target.elts, kept, strict=True):
            self.store(each, part, node)

    def unpacked(self, value: Value, node: ast.AST, wanted: int) -> tuple[Value, ...]:
        """The parts of a tuple, or of an array that has so many."""
        if isinstance(value, TupleValue):
            return value.parts
        if isinstance(value, ArrayValue) and value.shape:
            count = constant_of(value.shape[0])
            if count is None and wanted <= 16:
                self.claim_equal(value.shape[0], literal(wanted), node, "names for the parts")
                count = wanted
            if count is not None and count <= 16:
                return tuple(self.part_of(value, literal(index)) for index in range(count))
        self.refuse(node, f"{self.described(value)} cannot be unpacked here")

    def part_of(self, array: ArrayValue, index: Expression) -> Value:
        """array[index]."""
        place = array.place
        if len(array.shape) == 1:
            return Scalar(array.element((index,)), array.kind)
        return ArrayValue(
            array.shape[1:],
            array.room[1:],
            array.dtype,
            lambda rest: array.element((index, *rest)),
            array.base,
            None if place is None else lambda rest: place((index, *rest)),
        )

    def bind(self, target: ast.Name, value: Value, node: ast.stmt) -> None:
        """name = value."""
        web = self.frame.webs.name_of[id(target)]
        webs = self.frame.webs
        if self.bind_rotating(web, value, target, node):
            return
        known = webs.once | webs.renamed if isinstance(value, ArrayValue) else webs.single
        if web in known:
            if isinstance(value, Scalar):
                number = isinstance(value.expression, Literal)
                if number or (value.kind.is_integer and is_pure(value.expression)):
                    self.frame.bindings[web] = value
                    return
            elif not isinstance(value, ArrayValue):
                self.frame.bindings[web] = self.settled(value, web, node)
                return
            elif value.fresh:
                self.frame.bindings[web] = replace(value, fresh=False)
                return
            elif value.base:
                self.require_fixed(value, target)
                self.frame.bindings[web] = value
                return
            else:
                self.frame.bindings[web] = self.of_own_order(value, web, node)
                return
        if (self.frame.key, web) in self.direct:
            self.anew.add((self.frame.key, web))
            self.changed = True
        if isinstance(value, Scalar):
            self.store_scalar(web, value, target, node)
        elif isinstance(value, ArrayValue):
            self.store_rebound(web, value, target, node)
        elif isinstance(value, TupleValue) and value.parts:
            self.store_parts(web, value, target, node)
        else:
            self.decide_tests()
            self.refuse(
                node,
                f"{target.id} is {self.described(value)} here, and something else elsewhere",
                "use names of their own",
            )

    def settled(self, value: Value, wanted: str, node: ast.AST) -> Value:
        """The value as it is now, whatever becomes of what it was made of."""
        match value:
            case Scalar():
                return self.kept(value, node, wanted)
            case Chosen():
                return self.kept_chosen(value, node)
            case ArrayValue() if value.fresh:
                return replace(value, fresh=False)
            case ArrayValue() if value.base:
                self.require_fixed(value, node)
            case ArrayValue():
                return self.materialised(value, wanted, node)
            case TupleValue() | Record():
                parts = tuple(self.settled(part, wanted, node) for part in value.parts)
                return replace(value, parts=parts)
        return value

    def store_parts(self, web: str, value: TupleValue, target: ast.Name, node: ast.stmt) -> None:
        """A tuple for a variable that is assigned in several places: each part into its place."""
        known = self.frame.bindings.get(web)
        if known is not None and not (isinstance(known, TupleValue) and known.form == value.form):
            self.decide_tests()
            self.refuse(
                node,
                f"{target.id} is {self.described(value)} here, and something else elsewhere",
                "use names of their own",
            )
        parts = [
            self.kept(part, node, web) if isinstance(part, Scalar) else part for part in value.parts
        ]
        places: list[Value] = []
        for number, part in enumerate(parts):
            own = f"{web}[{number}]"
            if isinstance(part, Scalar):
                self.store_scalar(own, part, target, node)
            elif isinstance(part, ArrayValue):
                self.store_rebound(own, part, target, node)
            else:
                self.refuse(
                    node,
                    f"{target.id}[{number}] is {self.described(part)}, and is assigned again",
                    "use names of their own",
                )
            place = self.frame.bindings[own]
            places.append(self.stored(place, target) if isinstance(place, Storage) else place)
        self.frame.bindings[web] = TupleValue(tuple(places), value.group)

    def store_scalar(self, web: str, value: Scalar, target: ast.Name, node: ast.stmt) -> None:
        """A number into a variable with a place."""
        place = self.frame.bindings.get(web)
        kind, shape = self.remembered((self.frame.key, web), value.kind, None)
        if shape is not None:
            self.decide_tests()
            self.refuse(node, f"{target.id} is an array elsewhere, and a number here")
        if not isinstance(place, Storage):
            place = Storage(self.new_array(web, kind.dtype, (), node), kind)
            self.frame.bindings[web] = place
            if web in self.frame.webs.single:
                self.fixed.add(place.name)
        where = self.read(place.name, (), place.kind.dtype, target)
        self.assign(where, converted(value.expression, place.kind.dtype, value.kind.dtype), node)

    def store_rebound(self, web: str, value: ArrayValue, target: ast.Name, node: ast.stmt) -> None:
        """A new array for a variable that is assigned in several places: into one place."""
        place = self.frame.bindings.get(web)
        if value.base and not value.fresh:
            self.decide_tests()
            self.refuse(
                node,
                f"{target.id} names different arrays at different times",
                f"copy the elements, {target.id}[:] = ..., or use names of their own",
            )
        kind, shape = self.remembered((self.frame.key, web), value.kind, value.shape)
        if shape is None or not same_shape(shape, value.shape):
            self.decide_tests()
            self.claim_same_shape(shape, value.shape, target.id, node)
        if kind != value.kind:
            self.decide_tests()
            self.refuse(
                node, f"{target.id} holds {value.dtype} here and {kind} elsewhere", "convert one"
            )
        if not isinstance(place, Storage):
            name = self.new_array(web, kind.dtype, value.room, node)
            place = Storage(name, kind, value.shape, value.room)
            self.frame.bindings[web] = place
            self.rebound.add(name)
        if not value.uninitialised:
            memory = self.view(place.name, kind.dtype, value.shape, value.room, node)
            with self.storing_new():
                self.store_elements(memory, value, node)

    def means_given(self, target: ast.expr) -> bool:
        """Whether the name that a target begins with may mean what an argument was given."""
        while isinstance(target, ast.Subscript | ast.Attribute):
            target = target.value
        return not isinstance(target, ast.Name) or id(target) in self.frame.webs.given

    def require_fixed(self, value: ArrayValue, node: ast.AST) -> None:
        """A name for a view is right if neither its place nor its array is given anew."""
        assert value.place is not None
        probe = tuple(Variable("", INT64) for _ in value.shape)
        if not all(map(self.is_fixed, value.place(probe).subscripts)):
            self.refuse(
                node, "a name for a part of an array whose place depends on data", "write it out"
            )
        if value.base in self.rebound:
            self.refuse(
                node, "a second name for an array that is assigned anew", "use a copy, .copy()"
            )

    def materialised(self, value: ArrayValue, wanted: str, node: ast.AST) -> ArrayValue:
        """The array in memory of its own, computed now."""
        if value.fresh:
            return value
        name = self.new_array(wanted, value.dtype, value.room, node)
        memory = self.view(name, value.dtype, value.shape, value.room, node)
        if not value.uninitialised:
            self.store_elements(memory, value, node)
        if value.borrowed is not None:
            self.unchanged[name] = (*value.borrowed, frozenset(self.labels))
        return memory

    def augmented(self, node: ast.AugAssign) -> None:
        """target += value: arrays in place, numbers as a new value. What the target holds is read first."""
        if found := self.as_mask(node.target):
            self._augmented_under_mask(*found, node)
            return
        target = node.target
        place: ArrayValue | None = None
        if isinstance(target, ast.Name):
            left = self._value_before(target)
        elif isinstance(target, ast.Subscript):
            array = self.expression(target.value)
            if isinstance(array, ArrayValue):
                place = self.indexed(array, target)
                left = self._held_in(place, target)
            else:
                left = self.subscript(array, target)
        else:
            self.refuse(target, "only names and elements of arrays are assigned")
        element = place.place(()) if place and place.place and not place.shape else None
        indices = [Scalar(each, INT) for each in element.subscripts] if element else []
        before: list[Value] = [left, *indices]
        with self.behind(before, node):
            right = self.expression(node.value)
        left = before[0]
        if isinstance(node.op, ast.MatMult):
            value = self.matmul(left, right, node)
        else:
            value = self.binary(node.op, left, right, node)
        if isinstance(left, ArrayValue):
            assert isinstance(value, Scalar | ArrayValue)
            if not _casts(value.kind.dtype, left.dtype):
                self.refuse(
                    node,
                    f"the result is {value.kind}, and an array of {left.dtype} is changed in place",
                    "convert with .astype",
                )
            with self.storing_new(not self.means_given(target)):
                self.store_elements(place or left, value, node)
            return
        if isinstance(value, ArrayValue) and (self.turns or self.branches):
            self.refuse(
                node,
                "a number becomes an array in a loop or branch",
                "begin with an array, np.zeros(...)",
            )
        if element is None:
            self.store(target, value, node)
            return
        assert place is not None
        known = tuple(each.expression for each in before[1:] if isinstance(each, Scalar))
        found_there = replace(element, subscripts=known)
        with self.storing_new(not self.means_given(target)):
            self.store_elements(replace(place, place=lambda _: found_there), value, target)

    def _value_before(self, target: ast.Name) -> Value:
        load = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        web = self.frame.webs.name_of[id(target)]
        self.frame.webs.name_of[id(load)] = web
        if id(target) in self.frame.webs.unassigned:
            self.refuse(target, f"{target.id} may have no value here", "assign it before")
        left = self.expression(load)
        del self.frame.webs.name_of[id(load)]
        return left

    def _held_in(self, place: ArrayValue, node: ast.AST) -> Value:
        """What a place in memory holds, as `subscript` gives it."""
        if place.shape:
            return replace(place, place=None) if place.gathered else place
        if place.uninitialised:
            self.refuse(node, "the elements of np.empty have no values yet", "name the array first")
        return Scalar(place.element(()), place.kind)

    def _augmented_under_mask(
        self, array: ArrayValue, mask: ArrayValue, node: ast.AugAssign
    ) -> None:
        held = replace(array, base="", place=None)  # elements that are chosen are copies
        before: list[Value] = [mask, held]
        with self.behind(before, node), self.under(mask):
            right = self.expression(node.value)
        chosen, left = before
        assert isinstance(chosen, ArrayValue)
        value = self.binary(node.op, array if left is held else left, right, node)
        assert isinstance(value, ArrayValue)
        if not _casts(value.dtype, array.dtype):
            self.refuse(node, f"the result is {value.dtype}, the array {array.dtype}")
        with self.storing_new(not self.means_given(node.target)):
            self.store_masked(array, chosen, value, node.target)

    # ---- elements ----

    def store_elements(self, target: ArrayValue, value: Value, node: ast.AST) -> None:
        """The elements of a view get those of a value, all of which are read before."""
        if target.place is None:
            self.refuse(node, "this is no place in memory to assign to")
        if isinstance(value, TupleValue):
            self._store_list(target, value, node)
            return
        if not isinstance(value, Scalar | ArrayValue):
            self.refuse(node, f"{self.described(value)} is no value of an element")
        if value.kind.dtype.kind == "c" and target.dtype.kind != "c":
            self.refuse(node, f"a complex number does not become {target.dtype}", "take .real")
        rule = self._rule(target, value, node)
        if not target.shape:
            self.assign(target.place(()), rule(()), node)
            return
        probe = tuple(Variable(f"*{axis}", INT64) for axis in range(len(target.shape)))
        subscripts = target.place(probe).subscripts
        if any(
            read.array == target.place(probe).array for at in subscripts for read in reads_of(at)
        ):
            self.refuse(node, "an array at its own values is assigned to", "copy the subscripts")
        rule = self.without_overlap(target, rule, node)
        if target.backwards:  # in the order of memory
            with self.loops(target.shape[::-1], node) as turned:
                self.assign(target.place(turned[::-1]), rule(turned[::-1]), node)
            return
        with self.loops(target.shape, node) as indices:
            self.assign(target.place(indices), rule(indices), node)

    def _rule(self, target: ArrayValue, value: Scalar | ArrayValue, node: ast.AST):  # type: ignore[no-untyped-def]
        """What each element of the target becomes."""
        if isinstance(value, Scalar):
            literal_value = self.in_range(value.expression, value.kind, target.dtype, node)
            scalar = converted(literal_value, target.dtype, value.kind.dtype)
            return lambda _: scalar
        if value.uninitialised:
            self.refuse(node, "the elements of np.empty have no values yet")
        shape = value.shape
        while len(shape) > len(target.shape) and constant_of(shape[0]) == 1:
            shape = shape[1:]
        if len(shape) > len(target.shape):
            self.refuse(
                node, f"{counted(len(shape), 'dimension')} do not broadcast to {len(target.shape)}"
            )
        extra = len(value.shape) - len(shape)
        for wanted, given in zip(reversed(target.shape), reversed(shape), strict=False):
            if constant_of(given) != 1:
                self.claim_equal(wanted, given, node, "what is assigned has another shape")

        def rule(indices: tuple[Expression, ...]) -> Expression:
            inner = (literal(0),) * extra + broadcast_indices(shape, indices)
            return converted(value.element(inner), target.dtype, value.dtype)

        return rule

    def _store_list(self, target: ArrayValue, value: TupleValue, node: ast.AST) -> None:
        """A[i] = (a, b, c)."""
        if not target.shape:
            self.refuse(node, "a tuple is no value of an element")
        self.claim_equal(
            target.shape[0], literal(len(value.parts)), node, "what is assigned has another length"
        )
        parts = [
            self.kept(part, node) if isinstance(part, Scalar) else part for part in value.parts
        ]
        for index, part in enumerate(parts):
            place = self.part_of(target, literal(index))
            if isinstance(place, Scalar):
                place = _one_element(target, place)
            assert isinstance(place, ArrayValue)
            self.store_elements(place, part, node)

    # ---- control ----

    def emit_return(self, node: ast.AST) -> None:
        self.emit(Return(self.at(node)), node)


def _one_element(array: ArrayValue, element: Scalar) -> ArrayValue:
    """An element as a view without axes."""
    read = element.expression
    assert isinstance(read, Read)
    return ArrayValue((), (), array.dtype, lambda _: read, array.base, lambda _: read)


def _casts(given: np.dtype, wanted: np.dtype) -> bool:
    """Whether NumPy's in-place operations convert so."""
    return bool(np.can_cast(given, wanted, "same_kind"))
