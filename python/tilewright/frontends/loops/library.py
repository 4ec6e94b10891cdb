"""Calls: functions of NumPy, of `math` and of Python, methods of arrays, other loop functions.

A function is known by the object that it is, whatever name the person gave it. What is in no table here
is refused.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.language import elementary

from ...base.plurals import counted
from ..tree import Convert, Expression, Literal, Operation
from .calls import Calls
from .indices import add, constant_of, linear, literal, simplified, subtract
from .kinds import BOOL, FLOAT, INT, INT64, Kind
from .numpy_functions import OUTSIDE
from .parallel_range import prange
from .values import (
    ArrayValue,
    Chosen,
    Method,
    RangeValue,
    RecordMethod,
    Scalar,
    Static,
    TupleValue,
    Value,
    converted,
    copied,
)

__all__ = ["Library"]

_NONE = Static(None)

_UFUNCS = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/", np.floor_divide: "//",
    np.remainder: "%", np.power: "**", np.negative: "neg", np.absolute: "abs",
    np.bitwise_and: "&", np.bitwise_or: "|", np.bitwise_xor: "^", np.invert: "~",
    np.left_shift: "<<", np.right_shift: ">>", np.less: "<", np.less_equal: "<=",
    np.greater: ">", np.greater_equal: ">=", np.equal: "==", np.not_equal: "!=",
    np.conjugate: "conj", np.deg2rad: "radians", np.rad2deg: "degrees", np.fabs: "abs",
}  # fmt: skip
_OPERATORS: dict[np.ufunc, ast.operator] = {
    np.add: ast.Add(), np.subtract: ast.Sub(), np.multiply: ast.Mult(), np.power: ast.Pow(),
}  # fmt: skip
_UFUNCS.update(
    {
        getattr(np, name): name
        for name in elementary.__all__
        if isinstance(getattr(np, name, None), np.ufunc) and name not in ("abs", "square")
    }
)

_MATH = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atanh": "arctanh", "atan2": "arctan2", "fabs": "abs", "pow": "**",
}  # fmt: skip
_MATH.update(
    {
        name: name
        for name in (
            "cbrt copysign cos cosh degrees erf exp exp2 expm1 fmod hypot isfinite isinf isnan log "
            "log10 log1p log2 radians sin sinh sqrt tan tanh"
        ).split()
    }
)
_OF_MATH = {getattr(math, name): op for name, op in _MATH.items() if hasattr(math, name)}
_TO_INTEGERS = {math.floor: "floor", math.ceil: "ceil", math.trunc: "trunc"}

_REDUCING = {
    np.sum: "sum", np.prod: "prod", np.min: "min", np.max: "max", np.mean: "mean",
    np.any: "any", np.all: "all", np.amin: "min", np.amax: "max",
}  # fmt: skip
_FILLED: dict[Any, float | None] = {np.zeros: 0, np.ones: 1, np.empty: None}
_FILLED_LIKE: dict[Any, float | None] = {np.zeros_like: 0, np.ones_like: 1, np.empty_like: None}


class Library(Calls):
    """Calls."""

    def call(self, node: ast.Call) -> Value:
        function = self.expression(node.func)
        arguments: list[Value] = []
        for each in node.args:
            if isinstance(each, ast.Starred):
                self.refuse(each, "a starred argument is not translated", "write the arguments")
            if isinstance(each, ast.ListComp) and isinstance(function, Static):
                if not hasattr(function.value, "__tilewright_loops__"):  # which may keep it
                    self.consumed.add(id(each))
            with self.behind(arguments, each):
                value = self._large(function, each) or self.expression(each)
            arguments.append(value)
        count, names = len(arguments), []
        for keyword in node.keywords:
            if keyword.arg is None:
                self.refuse(node, "** in a call is not translated", "write the arguments")
            with self.behind(arguments, keyword.value):
                value = self.expression(keyword.value)
            arguments.append(value)
            names.append(keyword.arg)
        keywords = dict(zip(names, arguments[count:], strict=True))
        arguments = arguments[:count]
        if isinstance(function, Method):
            return self.method(function, arguments, keywords, node)
        if isinstance(function, RecordMethod):
            return self.record_method(function, arguments, node)
        if not isinstance(function, Static):
            self.refuse(node, f"{self.described(function)} cannot be called")
        target = function.value
        if hasattr(target, "__tilewright_loops__"):
            return self.call_function(target, arguments, keywords, node)
        found = self.made_record(target, arguments, keywords, node)
        if found is None:
            found = self._of_python(target, arguments, keywords, node)
        if found is None:
            found = self._of_numpy(target, arguments, keywords, node)
        if found is None:
            found = self.other_call(target, arguments, keywords, node)
        if found is None:
            found = self.call_undecorated(target, arguments, keywords, node)
        if found is None:
            name = getattr(target, "__qualname__", None) or getattr(target, "__name__", "this")
            module = getattr(target, "__module__", None) or ""
            way_out = OUTSIDE.get(
                str(name).rpartition(".")[2], "write it in terms of what docs/python-loops.md lists"
            )
            if type(target).__name__ == "function" and not module.startswith("numpy"):
                way_out = f"decorate {name} with @tw.jit, too"
            self.refuse(node, f"the function {name} is not translated", way_out)
        return found

    def _large(self, function: Value, argument: ast.expr) -> Value | None:
        """The argument of `np.uint64(2**64 - 1)` as digits: it is no integer of 64 bits elsewhere."""
        if isinstance(function, Static) and function.value is np.uint64:
            if isinstance(argument, ast.Constant) and type(argument.value) is int:
                if 2**63 <= argument.value < 2**64:
                    return self.constant(np.uint64(argument.value), argument)
        return None

    def call_of(
        self, target: Any, values: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value:
        """The value of a function of NumPy that is known."""
        found = self._of_numpy(target, values, keywords, node)
        if found is None:
            found = self.other_call(target, values, keywords, node)
        if found is None:
            self.refuse(node, f"np.{target.__name__} is not translated")
        return found

    def _take(
        self,
        names: str,
        arguments: Sequence[Value],
        keywords: dict[str, Value],
        node: ast.AST,
    ) -> list[Value | None]:
        """Arguments by their names; None for those that are not given."""
        wanted = names.split()
        if len(arguments) > len(wanted):
            known, passed = ", ".join(wanted), counted(len(arguments), "argument")
            self.refuse(node, f"{passed}; at most {known} are known here")
        given = dict(zip(wanted, arguments, strict=False))
        for name, value in keywords.items():
            if name not in wanted:
                self.refuse(node, f"the argument {name}= is not translated")
            given[name] = value
        return [given.get(name) for name in wanted]

    def _one(self, values: Sequence[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        if len(values) != 1 or keywords:
            self.refuse(node, "this takes one argument here")
        return values[0]

    # ---- Python and math ----

    def _of_python(
        self, target: Any, values: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value | None:
        if target is builtins.range or target is prange:
            return self._range(values, target is prange, node)
        if isinstance(target, type):
            return self._converted_to(target, values, keywords, node)
        if target is len:
            return self.length(self._one(values, keywords, node), node)
        if target is abs:
            return self._absolute(self._one(values, keywords, node), node)
        if target in (builtins.min, builtins.max):
            return self._extremum(target is builtins.max, values, node)
        if target is builtins.sum and len(values) == 2 and not keywords:
            return self.binary(ast.Add(), values[1], self.sum_in_python(values[0], node), node)
        if target is builtins.sum:
            return self.sum_in_python(self._one(values, keywords, node), node)
        if target in (builtins.any, builtins.all):
            value = self._one(values, keywords, node)
            self.require_vector(value, target.__name__, node)
            found = self.reduction(target.__name__, value, _NONE, False, node)
            return Scalar(self.truth(found, node), BOOL)
        if target is builtins.pow and len(values) == 2:
            return self.binary(ast.Pow(), values[0], values[1], node)
        if target is builtins.round and len(values) == 1:
            return self._to_integer("rint", values[0], node)
        if target is builtins.round:
            self.refuse(node, "round to a number of digits is not translated", "use np.round")
        try:
            if target in _TO_INTEGERS:
                return self._to_integer(
                    _TO_INTEGERS[target], self._one(values, keywords, node), node
                )
            if target in _OF_MATH:
                return self._of_math(_OF_MATH[target], values, node)
        except TypeError:  # an object that has no hash is in no table
            return None
        return None

    def _range(self, values: list[Value], parallel: bool, node: ast.Call) -> Value:
        if not 1 <= len(values) <= 3:
            self.refuse(node, "range takes one to three arguments")
        bounds = [
            self.as_index(value, each, "a bound of range")
            for value, each in zip(values, node.args, strict=True)
        ]
        if len(bounds) == 1:
            return RangeValue(literal(0), bounds[0], 1, parallel)
        step = constant_of(bounds[2]) if len(bounds) == 3 else 1
        if step is None and not parallel:
            return self.stepped_range(bounds[0], bounds[1], bounds[2], node)
        if not step:
            self.refuse(node, "the step of range must be a number other than 0")
        return RangeValue(bounds[0], bounds[1], step, parallel)

    def _converted_to(
        self, target: type, values: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value | None:
        kinds: dict[type, Kind] = {int: INT, float: FLOAT}
        if target is bool:
            return Scalar(self.truth(self._one(values, keywords, node), node), BOOL)
        if target in kinds:
            kind = kinds[target]
        elif issubclass(target, np.generic) and np.dtype(target).kind in "biufc":
            kind = Kind(np.dtype(target))
        else:
            return None
        value = self._one(values, keywords, node)
        if isinstance(value, ArrayValue) and kind.weak:
            self.refuse(node, f"{target.__name__} of an array", "use .astype, or an element")
        if isinstance(value, Static) and isinstance(value.value, str) and kind == FLOAT:
            return self.constant(float(value.value), node)
        self.require_numbers((value,), node)
        assert isinstance(value, Scalar | ArrayValue)
        return self.cast(value, kind, node)

    def _absolute(self, value: Value, node: ast.AST) -> Value:
        self.require_numbers((value,), node)
        assert isinstance(value, Scalar | ArrayValue)
        if value.kind.weak:
            value = self.as_numbers(value)
        dtype, make = self.operation("abs", np.absolute, (value,), node)
        return self.apply((value,), make, Kind(dtype, value.kind.weak), node)

    def _extremum(self, largest: bool, values: list[Value], node: ast.AST) -> Value:
        """Python's min and max: the first of those that no other is smaller, or larger, than."""
        if len(values) == 1 and isinstance(values[0], ArrayValue | Chosen):
            self.require_vector(values[0], "max" if largest else "min", node)
            return self.reduction("max" if largest else "min", values[0], _NONE, False, node)
        if len(values) == 1 and isinstance(values[0], TupleValue):
            values = list(values[0].parts)
        result = values[0]
        for value in values[1:]:
            operator = ast.Gt() if largest else ast.Lt()
            condition = self.truth(self.compare(operator, value, result, node), node)
            result = self.choose(condition, value, result, node)
        return result

    def _to_integer(self, name: str, value: Value, node: ast.AST) -> Value:
        if not isinstance(value, Scalar):
            self.refuse(node, f"an integer of {self.described(value)}")
        if value.kind.is_integer or value.kind.is_bool:
            return self.cast(value, INT, node)
        number = Operation(name, (value.expression,), value.kind.dtype, self.at(node))
        return Scalar(Convert(number, INT64), INT)

    def _of_math(self, name: str, values: list[Value], node: ast.AST) -> Value:
        """A function of `math`: of floats, and Python's float."""
        parts: list[Scalar] = []
        for value in values:
            if not isinstance(value, Scalar) or value.kind.dtype.kind == "c":
                self.refuse(
                    node,
                    f"a function of math takes numbers, not {self.described(value)}",
                    "use NumPy's for arrays",
                )
            cast = self.cast(value, FLOAT, node)
            assert isinstance(cast, Scalar)
            parts.append(cast)
        if name == "log" and len(parts) == 2:
            logarithms = [self._of_math("log", [part], node) for part in parts]
            return self.binary(ast.Div(), logarithms[0], logarithms[1], node)
        result = BOOL if name.startswith("is") else FLOAT
        operands = tuple(part.expression for part in parts)
        return Scalar(Operation(name, operands, result.dtype, self.at(node)), result)

    # ---- NumPy ----

    def _of_numpy(
        self, target: Any, values: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value | None:
        if isinstance(target, np.ufunc):
            return self._of_ufunc(target, values, keywords, node)
        try:
            hash(target)
        except TypeError:
            return None
        if target in _REDUCING:
            array, axis, keep = self._take("a axis keepdims", values, keywords, node)
            return self.reduction(
                _REDUCING[target], array or _NONE, axis or _NONE, self._flag(keep, node), node
            )
        if target in _FILLED or target is np.full:
            return self._filled(target, values, keywords, node)
        if target in _FILLED_LIKE or target is np.full_like:
            return self._filled_like(target, values, keywords, node)
        if target in (np.nonzero, np.flatnonzero):
            of = self._one(values, keywords, node)
            if target is np.flatnonzero and isinstance(of, ArrayValue):
                of = self.reshaped(of, Scalar(literal(-1), INT), node)
            found = self.positions(of, node)
            return found if target is np.nonzero else found.parts[0]
        simple: dict[Any, Callable[..., Value]] = {
            np.dot: self._dot,
            np.outer: self._outer,
            np.clip: self._clip,
            np.copy: self._copy,
            np.arange: self._arange,
            np.where: self.where,
            np.transpose: self._transposed,
            np.vdot: self._dot,
            np.inner: self._inner,
        }
        if target not in simple or (target is np.transpose and len(values) + len(keywords) == 2):
            return None
        if target is np.clip:
            given = self._take("a a_min a_max", values, keywords, node)
            values, keywords = [each or _NONE for each in given], {}
        if target is np.where and len(values) == 1:
            return self.positions(values[0], node)
        if target is np.arange and "dtype" in keywords:
            dtype = self.dtype_of(keywords.pop("dtype"), node)
            made = self._arange(*values, node=node)
            assert isinstance(made, ArrayValue)
            return self.cast(made, Kind(dtype or made.dtype), node)
        if keywords:
            self.refuse(node, f"the argument {next(iter(keywords))}= is not translated")
        counts = {np.clip: 3, np.where: 3, np.copy: 1, np.transpose: 1, np.arange: len(values)}
        if len(values) != counts.get(target, 2):
            passed = counted(len(values), "argument")
            self.refuse(node, f"np.{target.__name__} with {passed} is not translated")
        return simple[target](*values, node=node)

    def _of_ufunc(
        self, target: np.ufunc, values: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value | None:
        if keywords:
            self.refuse(
                node,
                f"the argument {next(iter(keywords))}= is not translated",
                "assign the result: A[:] = ...",
            )
        if target is np.matmul:
            return self.matmul(values[0], values[1], node)
        if len(values) != target.nin:
            self.refuse(node, f"np.{target.__name__} takes {counted(target.nin, 'argument')}")
        if target is np.square:
            return self._strong(self.binary(ast.Mult(), values[0], values[0], node))
        if target in _OPERATORS:
            return self._strong(self.binary(_OPERATORS[target], values[0], values[1], node))
        if target in (np.logical_and, np.logical_or, np.logical_not):
            zero = Scalar(literal(0), INT)
            truths = [self.compare(ast.NotEq(), value, zero, node) for value in values]
            bitwise: dict[np.ufunc, np.ufunc] = {
                np.logical_and: np.bitwise_and,
                np.logical_or: np.bitwise_or,
            }
            ufunc = bitwise.get(target, np.invert)
            return self.ufunc(_UFUNCS[ufunc], ufunc, truths, node)
        if target not in _UFUNCS:
            return None
        return self.ufunc(_UFUNCS[target], target, values, node)

    def _strong(self, value: Value) -> Value:
        """What a function of NumPy gives is NumPy's, of Python's numbers too."""
        return (
            Scalar(value.expression, Kind(value.kind.dtype)) if isinstance(value, Scalar) else value
        )

    def dtype_of(self, value: Value | None, node: ast.AST) -> np.dtype | None:
        """What `dtype=` says."""
        if value is None or (isinstance(value, Static) and value.value is None):
            return None
        if isinstance(value, Static):
            try:
                return np.dtype(value.value)  # type: ignore[call-overload,no-any-return]
            except TypeError:
                pass
        self.refuse(node, f"{self.described(value)} is no dtype")

    def shape_of(
        self, value: Value | None, node: ast.AST
    ) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
        """A shape, an integer or a tuple of them; and the extents of memory that has room for it."""
        if value is None:
            self.refuse(node, "a shape is missing")
        parts = value.parts if isinstance(value, TupleValue) else (value,)
        shape = tuple(self.so_far(self.as_index(part, node, "an extent")) for part in parts)
        room = tuple(self.room_of_array(extent, node) for extent in shape)
        for extent in shape:
            self.claim_not_negative(extent, node, "an extent")
        return shape, room

    def _full(
        self,
        shape: tuple[Expression, ...],
        room: tuple[Expression, ...],
        dtype: np.dtype,
        fill: Expression | None,
    ) -> ArrayValue:
        value = fill if fill is not None else converted(literal(0), dtype, INT64)
        return ArrayValue(shape, room, dtype, lambda _: value, uninitialised=fill is None)

    def _fill_value(
        self, value: Value | None, dtype: np.dtype | None, node: ast.AST
    ) -> tuple[Expression, np.dtype]:
        if not isinstance(value, Scalar):
            self.refuse(node, "the value to fill with must be a number")
        dtype = value.kind.dtype if dtype is None else dtype
        kept = self.kept(value, node)
        return converted(kept.expression, dtype, value.kind.dtype), dtype

    def _filled(
        self, target: Any, values: list[Value], keywords: dict[str, Value], node: ast.AST
    ) -> Value:
        if target is np.full:
            shape_value, given, dtype_value = self._take(
                "shape fill_value dtype", values, keywords, node
            )
            fill, dtype = self._fill_value(given, self.dtype_of(dtype_value, node), node)
            shape, room = self.shape_of(shape_value, node)
            return self._full(shape, room, dtype, fill)
        shape_value, dtype_value = self._take("shape dtype", values, keywords, node)
        dtype = self.dtype_of(dtype_value, node) or np.dtype(np.float64)
        shape, room = self.shape_of(shape_value, node)
        number = _FILLED[target]
        filled = None if number is None else converted(literal(int(number)), dtype, INT64)
        return self._full(shape, room, dtype, filled)

    def _filled_like(
        self, target: Any, values: list[Value], keywords: dict[str, Value], node: ast.AST
    ) -> Value:
        given: Value | None = None
        if target is np.full_like:
            array, given, dtype_value = self._take("a fill_value dtype", values, keywords, node)
        else:
            array, dtype_value = self._take("a dtype", values, keywords, node)
        if not isinstance(array, ArrayValue):
            self.refuse(node, f"np.{target.__name__} takes an array")
        dtype = self.dtype_of(dtype_value, node) or array.dtype
        if target is np.full_like:
            fill, dtype = self._fill_value(given, dtype, node)
            return self._full(array.shape, array.room, dtype, fill)
        number = _FILLED_LIKE[target]
        filled = None if number is None else converted(literal(int(number)), dtype, INT64)
        return self._full(array.shape, array.room, dtype, filled)

    def _dot(self, a: Value, b: Value, node: ast.AST) -> Value:
        if isinstance(a, Scalar) or isinstance(b, Scalar):
            return self.binary(ast.Mult(), a, b, node)
        if isinstance(b, ArrayValue) and len(b.shape) > 2:
            self.refuse(node, "np.dot of more than two dimensions", "use @ if that is meant")
        return self.matmul(a, b, node)

    def _inner(self, a: Value, b: Value, node: ast.AST) -> Value:
        if isinstance(b, ArrayValue) and len(b.shape) == 2:
            b = self.transposed(b)
        return self._dot(a, b, node)

    def _outer(self, a: Value, b: Value, node: ast.AST) -> Value:
        if not (isinstance(a, ArrayValue) and isinstance(b, ArrayValue)) or (
            len(a.shape) != 1 or len(b.shape) != 1
        ):
            self.refuse(node, "np.outer takes two vectors here")
        column = ArrayValue(
            (*a.shape, literal(1)), (*a.room, literal(1)), a.dtype, lambda i: a.element(i[:1])
        )
        return self.binary(ast.Mult(), column, b, node)

    def _clip(self, value: Value, low: Value, high: Value, node: ast.AST) -> Value:
        for name, ufunc, bound in (("maximum", np.maximum, low), ("minimum", np.minimum, high)):
            if not (isinstance(bound, Static) and bound.value is None):
                value = self.ufunc(name, ufunc, (value, bound), node)
        return value

    def _copy(self, value: Value, node: ast.AST) -> Value:
        if isinstance(value, ArrayValue):
            return copied(value)
        return value

    def _arange(self, *values: Value, node: ast.AST) -> Value:
        if not 1 <= len(values) <= 3:
            self.refuse(node, "np.arange takes one to three numbers")
        numbers: list[Any] = [
            each.expression.value
            for each in values
            if isinstance(each, Scalar) and isinstance(each.expression, Literal)
        ]
        if any(isinstance(each, Scalar) and not each.kind.is_integer for each in values):
            if len(numbers) < len(values):
                self.refuse(
                    node, "np.arange of floats must be of numbers", "use np.linspace, or integers"
                )
            return self.known_range(np.arange(*numbers), node)
        bounds = [self.as_index(value, node, "a bound of np.arange") for value in values]
        step = 1 if len(bounds) < 3 else constant_of(bounds[2])
        if not step:
            self.refuse(node, "the step of np.arange must be a number other than 0")
        start = bounds[0] if len(bounds) > 1 else literal(0)
        count = subtract(bounds[1] if len(bounds) > 1 else bounds[0], start)
        if step != 1:  # rounded up
            count = linear(count).scaled(1 if step > 0 else -1).expression()
            by = literal(abs(step))
            over = add(count, literal(abs(step) - 1))
            count = simplified(Operation("//", (over, by), INT64, self.at(node)))
        room = self.room_of_array(count, node)
        self.claim_not_negative(count, node, "the length of np.arange")
        first = linear(start)
        return ArrayValue(
            (count,), (room,), INT64, lambda i: first.combined(linear(i[0]), step).expression()
        )

    def _transposed(self, value: Value, node: ast.AST) -> Value:
        if not isinstance(value, ArrayValue):
            self.refuse(node, "np.transpose takes an array")
        return self.transposed(value)

    # ---- methods ----

    def method(
        self, method: Method, values: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value:
        """array.name(...)."""
        array, name = method.array, method.name
        if isinstance(array, Chosen):
            axis, keep = self._take("axis keepdims", values, keywords, node)
            return self.reduction(name, array, axis or _NONE, self._flag(keep, node), node)
        if not array.shape and name in ("conj", "conjugate", "item") and not values:
            number = Scalar(array.element(()), array.kind)
            if name == "item":
                return Scalar(number.expression, Kind(array.dtype, array.dtype.itemsize >= 8))
            return self.ufunc("conj", np.conjugate, (number,), node)
        if name in ("sum", "prod", "min", "max", "mean", "any", "all"):
            axis, keep = self._take("axis keepdims", values, keywords, node)
            return self.reduction(name, array, axis or _NONE, self._flag(keep, node), node)
        if name == "copy":
            return self._copy(array, node)
        if name == "astype":
            dtype = self.dtype_of(self._one(values, keywords, node), node)
            cast = self.cast(array, Kind(dtype or array.dtype), node)
            return self._copy(cast, node)
        if name == "fill":
            self.store_elements(array, self._one(values, keywords, node), node)
            return _NONE
        if name == "dot":
            return self._dot(array, self._one(values, keywords, node), node)
        if name == "transpose":
            parts = (
                values[0].parts
                if len(values) == 1 and isinstance(values[0], TupleValue)
                else values
            )
            order = [constant_of(self.as_index(part, node, "an axis")) for part in parts]
            if order and sorted(each or 0 for each in order) != list(range(len(array.shape))):
                self.refuse(node, "the axes of transpose must be numbers, each once")
            return self.transposed(array, [each or 0 for each in order] or None)
        if name in ("conj", "conjugate"):
            return self.ufunc("conj", np.conjugate, (array,), node)
        found = self.other_method(array, name, values, keywords, node)
        if found is None:
            self.refuse(node, f"the method {name!r} of arrays is not translated")
        return found
