"""Expressions of the person's function, node by node.

Names, constants, subscripts, attributes and calls become values; operators are in `operators`, slices in
`subscripts`, functions of NumPy in `library`. Short circuit is `Select`: what `and`, `or` and
conditional expressions do not evaluate is not evaluated.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..tree import Expression, If, Literal, Operation
from .context import Frame, Known, NeedsArray, Storage
from .evaluation_order import EvaluationOrder
from .functions import ModuleNames, Outside
from .groups import Group
from .kinds import BOOL, INT, Kind, kind_of
from .operators import Operators
from .records import Records
from .subscripts import Subscripts
from .values import (
    ArrayValue,
    Chosen,
    Method,
    Record,
    RecordMethod,
    Scalar,
    Static,
    TupleValue,
    Value,
    as_bool_literal,
    integer,
)

__all__ = ["Expressions"]

_WAYS_OUT: dict[type[ast.AST], tuple[str, str]] = {
    ast.SetComp: ("a set", "use arrays"),
    ast.DictComp: ("a dictionary", "use arrays"),
    ast.Set: ("a set", "use arrays"),
    ast.Lambda: ("a lambda", "give it a name, f = lambda ..., and call that"),
    ast.JoinedStr: ("a formatted string", "format outside of the function"),
    ast.Await: ("await", ""),
    ast.Yield: ("a generator", "write the values to an array"),
    ast.YieldFrom: ("a generator", "write the values to an array"),
    ast.NamedExpr: ("an assignment inside an expression", "assign in a statement before"),
    ast.Starred: ("a starred expression", "write the parts"),
}


_FIXED = ("math", "numpy", "tilewright")
"""Modules whose constants are constants."""


def _is_of_ufunc(found: object, name: str) -> bool:
    return isinstance(found, np.ufunc) and name in ("outer", "at", "reduce", "accumulate")


class Expressions(Operators, Records, Subscripts, EvaluationOrder):
    """Expressions."""

    def expression(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant():
                return self.constant(node.value, node)
            case Known():
                return node.value
            case ast.Name():
                return self.name_value(node)
            case ast.Tuple() | ast.List():
                parts = self._parts_in_turn(node.elts)
                is_list = isinstance(node, ast.List)
                return TupleValue(parts, Group(list, tuple(range(len(parts)))) if is_list else None)
            case ast.Dict():
                return self.dictionary(node)
            case ast.BinOp():
                before = [self.expression(node.left)]
                with self.behind(before, node):
                    right = self.expression(node.right)
                (left,) = before
                if any(isinstance(each, ArrayValue) and each.listed for each in (left, right)):
                    self.refuse(node, "an operator of lists", "make arrays of them, np.array(...)")
                if isinstance(node.op, ast.MatMult):
                    return self.matmul(left, right, node)
                return self.binary(node.op, left, right, node)
            case ast.UnaryOp():
                return self.unary(node.op, self.expression(node.operand), node)
            case ast.BoolOp():
                return self.short_circuit(node)
            case ast.Compare():
                return self.comparisons(node)
            case ast.IfExp():
                return self.conditional(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                return self.subscript(self.expression(node.value), node)
            case ast.Call():
                return self.call(node)
            case ast.ListComp() | ast.GeneratorExp():
                return self.comprehension(node)
        what, way_out = _WAYS_OUT.get(type(node), (f"{type(node).__name__}", ""))
        self.refuse(node, f"{what} is not translated", way_out)

    def _parts_in_turn(self, nodes: Sequence[ast.expr]) -> tuple[Value, ...]:
        parts: list[Value] = []
        for each in nodes:
            with self.behind(parts, each):
                found = self._parts(each)
            parts.extend(found)
        return tuple(parts)

    def _parts(self, node: ast.expr) -> tuple[Value, ...]:
        """A part of a tuple, or those of a starred one."""
        if not isinstance(node, ast.Starred):
            return (self.expression(node),)
        value = self.expression(node.value)
        if not isinstance(value, TupleValue):
            self.refuse(node, f"* of {self.described(value)} is not translated", "write the parts")
        return value.parts

    def matmul(self, left: Value, right: Value, node: ast.AST) -> Value:
        raise NotImplementedError

    def call(self, node: ast.Call) -> Value:
        raise NotImplementedError

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> Value:
        raise NotImplementedError

    # ---- names and constants ----

    def constant(self, value: object, node: ast.AST) -> Value:
        """A constant of the text, or of a global variable."""
        kind = kind_of(value)
        if kind is not None:
            if kind == INT and not -(2**63) <= int(value) < 2**63:  # type: ignore[call-overload]
                self.refuse(
                    node,
                    f"the integer {value} does not fit 64 bits",
                    "write np.uint64(...) around one of 2**63 and more",
                )
            plain = value.item() if isinstance(value, np.generic) else value
            return Scalar(Literal(plain, kind.dtype), kind)  # type: ignore[arg-type]
        if isinstance(value, tuple):
            return TupleValue(tuple(self.constant(each, node) for each in value))
        if isinstance(value, np.ndarray):
            self.refuse(
                node,
                "an array that is no argument, in a tuple or without dimensions",
                "pass it as an argument",
            )
        if isinstance(value, list | dict | set):
            self.refuse(node, f"a {type(value).__name__} is not translated", "pass an array")
        return Static(value)

    def name_value(self, node: ast.Name) -> Value:
        web = self.frame.webs.name_of.get(id(node))
        if web is None and id(node) not in self.frame.webs.unassigned:
            return self.global_value(node.id, node)
        if id(node) in self.frame.webs.unassigned:
            self.refuse(
                node,
                f"{node.id} may have no value here: it is assigned only on some of the ways, or in a "
                "loop that may run no time",
                f"assign {node.id} before",
            )
        assert web is not None
        found = self.frame.bindings.get(web)
        if found is None:
            self.refuse(node, f"{node.id} has no value here", f"assign {node.id} before")
        if isinstance(found, Storage):
            return self.stored(found, node)
        return found

    def stored(self, place: Storage, node: ast.AST) -> Value:
        """What a variable with a place of its own holds."""
        if place.shape is None:
            return Scalar(self.read(place.name, (), place.kind.dtype, node), place.kind)
        return self.view(place.name, place.kind.dtype, place.shape, place.room, node)

    def global_value(self, name: str, node: ast.AST) -> Value:
        """A global, a variable of the function around, or one of Python's own names."""
        scope: Frame | None = self.frame
        while scope is not None:
            if name in scope.functions:
                return Static(scope.functions[name])
            scope = scope.outer
            if scope is not None and name in scope.webs.of_name:
                return self.outer_value(name, scope, node)
        try:
            value = self.frame.lookup(name)
        except NameError:
            self.refuse(node, f"the name {name!r} is not defined")
        if isinstance(value, np.ndarray) and value.ndim:
            return self.array_outside(self.frame.lookup, name)
        self.remember_constant(name, value)
        return self.constant(value, node)

    def array_outside(self, lookup: Callable[[str], Any], name: str) -> Value:
        """An array that is found by its name: one more argument of the program."""
        outside = Outside(lookup, name)
        for known, own in self.outside.items():
            if known == outside:
                return self.found_outside[own]
        raise NeedsArray(outside)

    def outer_value(self, name: str, scope: Frame, node: ast.AST) -> Value:
        """A variable of the function around this one."""
        webs = scope.webs.of_name[name]
        found = scope.bindings.get(next(iter(webs)))
        if len(webs) > 1:
            self.refuse(
                node,
                f"{name} is several variables of the function around this one",
                "use names of their own",
            )
        if found is None:
            self.refuse(node, f"{name} has no value here", f"assign {name} before the call")
        return self.stored(found, node) if isinstance(found, Storage) else found

    def remember_constant(self, name: str, value: Any) -> None:
        """Constants are part of the signature: another value makes another kernel."""
        key = (id(getattr(self.frame.lookup, "__self__", None)), name)
        self.constants[key] = (self.frame.lookup, value)

    # ---- attributes ----

    def attribute(self, node: ast.Attribute) -> Value:
        value = self.expression(node.value)
        match value:
            case Static(value=found):
                if not hasattr(found, node.attr):
                    self.refuse(node, f"{self.described(value)} has no attribute {node.attr!r}")
                if not isinstance(
                    found, types.ModuleType | type | np.finfo | np.iinfo
                ) and not _is_of_ufunc(found, node.attr):
                    self.refuse(
                        node,
                        f"an attribute of an object of type {type(found).__name__}",
                        "pass its value as an argument",
                    )
                attribute = getattr(found, node.attr)
                is_array = isinstance(attribute, np.ndarray) and attribute.ndim > 0
                if is_array and isinstance(found, types.ModuleType):
                    return self.array_outside(ModuleNames(found).lookup, node.attr)
                if isinstance(found, types.ModuleType) and found.__name__ not in _FIXED:
                    names = ModuleNames(found)
                    if node.attr in names.names:
                        self.constants[id(found), node.attr] = (names.lookup, attribute)
                return self.constant(attribute, node)
            case ArrayValue():
                return self.array_attribute(value, node)
            case Chosen() if node.attr == "size":
                size: Value = self.count_of(value, node)
                for extent in value.array.shape[len(value.mask.shape) :]:
                    size = self.binary(ast.Mult(), size, Scalar(extent, INT), node)
                return size
            case Chosen() if node.attr == "shape":
                rest = value.array.shape[len(value.mask.shape) :]
                extents = tuple(Scalar(extent, INT) for extent in rest)
                return TupleValue((self.count_of(value, node), *extents))
            case Chosen() if node.attr in ("sum", "prod", "min", "max", "mean", "any", "all"):
                return Method(value, node.attr)
            case Scalar() if node.attr == "dtype":
                return Static(value.kind.dtype)
            case Scalar() if node.attr in ("real", "imag") and value.kind.dtype.kind == "c":
                ufunc_like = np.dtype(f"f{value.kind.dtype.itemsize // 2}")
                return self.component(node.attr, value, ufunc_like, node)
            case Scalar() if node.attr in ("real", "imag"):
                return value if node.attr == "real" else self.as_numbers(integer(0))
            case Scalar() if node.attr in ("conjugate", "conj", "item"):
                return Method(
                    ArrayValue((), (), value.kind.dtype, lambda _: value.expression), node.attr
                )
            case TupleValue() | Record() if value.form.has_fields:
                return self.field_of(value, node.attr, node)
            case Record() if node.attr in ("keys", "values", "items", "get"):
                return RecordMethod(value, node.attr)
        if isinstance(value, TupleValue) and node.attr in ("append", "extend", "pop", "insert"):
            self.refuse(
                node, "a list that grows or shrinks", "make an array, and fill it by its subscripts"
            )
        self.refuse(
            node, f"the attribute {node.attr!r} of {self.described(value)} is not translated"
        )

    def component(self, name: str, value: Value, dtype: np.dtype, node: ast.AST) -> Value:
        """The real or the imaginary part."""
        where = self.at(node)

        def make(operand: Expression) -> Expression:
            return Operation(name, (operand,), dtype, where)

        weak = isinstance(value, Scalar) and value.kind.weak
        return self.apply((value,), make, Kind(dtype, weak), node)

    def array_attribute(self, array: ArrayValue, node: ast.Attribute) -> Value:
        match node.attr:
            case "shape":
                return TupleValue(tuple(Scalar(extent, INT) for extent in array.shape))
            case "ndim":
                return integer(len(array.shape))
            case "dtype":
                return Static(array.dtype)
            case "size":
                size: Value = integer(1)
                for extent in array.shape:
                    size = self.binary(ast.Mult(), size, Scalar(extent, INT), node)
                return size
            case "T":
                return self.transposed(array)
            case "real" | "imag" if array.dtype.kind == "c":
                return self.component(
                    node.attr, array, np.dtype(f"f{array.dtype.itemsize // 2}"), node
                )
        return Method(array, node.attr)

    # ---- conditions ----

    @contextmanager
    def conditionally(self, why: str) -> Iterator[None]:
        """Within, statements cannot be added: the expression may not be evaluated at all."""
        before = self.pure_only
        self.pure_only = before or why
        try:
            yield
        finally:
            self.pure_only = before

    def evaluated_if(
        self, condition: Expression, holds: bool, node: ast.expr, why: str
    ) -> tuple[Expression, Value]:
        """What is evaluated only where the condition holds, or does not. A call that is made of statements
        is one number, which these find under the condition as it was before them.

        Returns:
            the condition as it is asked behind them, and the value.
        """
        if self.pure_only:
            with self.conditionally(why):
                return condition, self.expression(node)
        self.branches += 1
        with self.collected() as made:
            value = self.expression(node)
        self.branches -= 1
        if not made:
            return condition, value
        if not isinstance(value, Scalar):
            self.refuse(node, f"this needs statements of its own {why}", "assign it first")
        dtype = value.kind.dtype
        place = self.read(self.new_array("value", dtype, (), node), (), dtype, node)
        asked = self.kept(Scalar(condition, BOOL), node, "test").expression
        self.assign(place, Literal(dtype.type(0).item(), dtype), node)
        with self.collected() as last:
            self.assign(place, value.expression, node)
        body, nothing = (*made, *last), ()
        then, otherwise = (body, nothing) if holds else (nothing, body)
        self.emit(If(asked, then, otherwise, self.at(node)), node)
        return asked, Scalar(place, value.kind)

    def short_circuit(self, node: ast.BoolOp) -> Value:
        is_and = isinstance(node.op, ast.And)
        result = self.expression(node.values[0])
        for each in node.values[1:]:
            condition = self.truth(result, each)
            known = as_bool_literal(condition)
            if known is not None:
                if known == is_and:
                    result = self.expression(each)
                continue
            condition, following = self.evaluated_if(
                condition, is_and, each, "and may not be evaluated at all (and, or)"
            )
            if is_and:
                result = self.choose(condition, following, self._falsy(result, following), node)
            else:
                result = self.choose(condition, self._truthy(result, following), following, node)
        return result

    def _falsy(self, first: Value, second: Value) -> Value:
        """What `and` gives when its first operand is false."""
        bools = all(isinstance(each, Scalar) and each.kind.is_bool for each in (first, second))
        if bools and isinstance(first, Scalar):
            return Scalar(Literal(False, BOOL.dtype), first.kind)
        return first

    def _truthy(self, first: Value, second: Value) -> Value:
        """What `or` gives when its first operand is true."""
        bools = all(isinstance(each, Scalar) and each.kind.is_bool for each in (first, second))
        if bools and isinstance(first, Scalar):
            return Scalar(Literal(True, BOOL.dtype), first.kind)
        return first

    def comparisons(self, node: ast.Compare) -> Value:
        left = self.expression(node.left)
        result: Value | None = None
        for operator, right_node in zip(node.ops, node.comparators, strict=True):
            if result is None:
                before = [left]
                with self.behind(before, node):
                    right = self.expression(right_node)
                (left,) = before
                result = self.compare(operator, left, right, node)
            else:
                condition = self.truth(result, node)
                with self.conditionally("and may not be evaluated at all (a chained comparison)"):
                    right = self.expression(right_node)
                    following = self.compare(operator, left, right, node)
                result = self.choose(condition, following, self._falsy(result, following), node)
            left = right
        assert result is not None
        return result

    def conditional(self, node: ast.IfExp) -> Value:
        condition = self.truth(self.expression(node.test), node.test)
        known = as_bool_literal(condition)
        if known is not None:
            return self.expression(node.body if known else node.orelse)
        why = "and may not be evaluated at all (a conditional expression)"
        condition, if_true = self.evaluated_if(condition, True, node.body, why)
        condition, if_false = self.evaluated_if(condition, False, node.orelse, why)
        return self.choose(condition, if_true, if_false, node)

    def length(self, value: Value, node: ast.AST) -> Value:
        """len(value)."""
        if isinstance(value, TupleValue) or (
            isinstance(value, Record) and value.form.made_of is dict
        ):
            return integer(len(value.parts))
        if isinstance(value, ArrayValue) and value.shape:
            return Scalar(value.shape[0], INT)
        if isinstance(value, Chosen):
            return self.count_of(value, node)
        self.refuse(node, f"{self.described(value)} has no length")

    def count_of(self, chosen: Chosen, node: ast.AST) -> Scalar:
        raise NotImplementedError
