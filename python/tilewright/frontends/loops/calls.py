"""Calls besides the tables of `library`: functions that are written with loops, shapes, iteration.

`np.std` and its like are loop functions of `numpy_functions`, inlined as a person's own would be.
"""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
import types
from typing import Any

import numpy as np

from ..tree import Expression, Literal, Operation
from .comprehensions import Comprehensions
from .functions import Loops, undecorated
from .indices import add, literal, multiply, same, subtract
from .joins import JOINING
from .kinds import COMPLEX, INT, INT64, Kind
from .numpy_functions import WRITTEN, running_maximum, running_minimum
from .opaque import OPAQUE
from .values import (
    ArrayValue,
    Chosen,
    RangeValue,
    Scalar,
    Static,
    Stepped,
    TupleValue,
    Value,
    Zipped,
    broadcast_indices,
    converted,
    copied,
    integer,
)
from .varying import VARYING, Varying

__all__ = ["Calls"]

_METHODS = {
    "var": np.var, "std": np.std, "trace": np.trace, "argmax": np.argmax, "argmin": np.argmin,
    "cumsum": np.cumsum, "cumprod": np.cumprod, "ptp": np.ptp, "repeat": np.repeat,
    "swapaxes": np.swapaxes, "diagonal": np.diag, "nonzero": np.nonzero, "argsort": np.argsort,
    "searchsorted": np.searchsorted,
}  # fmt: skip


_AT: dict[np.ufunc, str] = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.minimum: "minimum", np.maximum: "maximum",
}  # fmt: skip


_REDUCE: dict[np.ufunc, Any] = {
    np.add: np.sum, np.multiply: np.prod, np.minimum: np.min, np.maximum: np.max,
    np.logical_and: np.all, np.logical_or: np.any,
}  # fmt: skip
_ACCUMULATE: dict[np.ufunc, Any] = {
    np.add: np.cumsum, np.multiply: np.cumprod, np.minimum: running_minimum,
    np.maximum: running_maximum,
}  # fmt: skip


@functools.cache
def _loop_function(function: Any) -> Any:
    return types.SimpleNamespace(
        py_func=function, __tilewright_loops__=Loops(function), is_numpys=True
    )


class Calls(Comprehensions, Varying):
    """Calls of other functions."""

    def other_call(
        self, target: Any, values: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value | None:
        """The value of a call; None for a function that is not known."""
        try:
            written = WRITTEN.get(target)
        except TypeError:  # an object without a hash
            return None
        found = self.array_call(target, values, keywords, node)
        if found is not None:
            return found
        if target is np.nan_to_num and isinstance(values[0], ArrayValue):
            if values[0].dtype.kind in "biu":  # all of them are numbers
                return copied(values[0])
        if written is not None:
            return self.call_function(_loop_function(written), values, keywords, node)
        if target in OPAQUE:
            return self.opaque_call(target, values, keywords, node)
        if target in (np.real, np.imag) and len(values) == 1 and not keywords:
            return self._component_of(target.__name__, values[0], node)
        if target in VARYING:
            return self.varying_call(target, values, keywords, node)
        if target in (np.array, np.asarray):
            given = values[0] if values else None
            if target is np.asarray and isinstance(given, ArrayValue) and not given.listed:
                if not keywords and len(values) == 1:
                    return given  # the array itself
            return self._array(values, keywords, node)
        if target in JOINING:
            axis = values[1] if len(values) > 1 else keywords.get("axis")
            if keywords.keys() - {"axis"} or len(values) > 2:
                self.refuse(node, f"np.{target.__name__} takes arrays and axis= here")
            return self.joined(target, values, axis, node)
        if target is np.ndarray:
            return self.other_call_of_empty(values, keywords, node)
        if target in (np.finfo, np.iinfo) and len(values) == 1 and not keywords:
            try:
                return Static(target(self.dtype_of(values[0], node)))
            except ValueError as error:
                self.refuse(node, f"{target.__name__}: {error}")
        if isinstance(getattr(target, "__self__", None), np.ufunc):
            return self._ufunc_method(target.__self__, target.__name__, values, keywords, node)
        if target in (builtins.enumerate, builtins.zip, builtins.reversed):
            return self._iterated_over(target, values, keywords, node)
        if target is np.transpose and keywords.keys() == {"axes"}:
            values, keywords = [*values, keywords["axes"]], {}
        if keywords and target is not np.flip:
            return None
        if target is np.flip and values:
            axis = values[1] if len(values) > 1 else keywords.get("axis")
            return self.reversed_array(values[0], axis, node)
        if target in (np.transpose, np.swapaxes) and isinstance(values[0], ArrayValue):
            return self._axes_moved(target, values, node)
        if target is np.reshape and len(values) == 2:
            return self.reshaped(values[0], values[1], node)
        if target is np.ravel and len(values) == 1:
            return self.reshaped(values[0], Scalar(literal(-1), INT), node)
        if target is builtins.divmod and len(values) == 2:
            left, right = values
            ways: tuple[ast.operator, ...] = (ast.FloorDiv(), ast.Mod())
            return TupleValue(tuple(self.binary(op, left, right, node) for op in ways))
        if target is builtins.complex and 1 <= len(values) <= 2:
            return self._complex(values, node)
        return None

    def call_undecorated(
        self, target: Any, values: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value | None:
        """The value of a call of the person's own function, which nobody gave to `tw.jit`; else None."""
        function = undecorated(target, self.frames[0].module)
        if function is None:
            return None
        function.__tilewright_loops__.check_definition()
        return self.call_function(function, values, keywords, node)

    def _component_of(self, name: str, value: Value, node: ast.AST) -> Value:
        """np.real(value) and np.imag(value)."""
        self.require_numbers((value,), node)
        assert isinstance(value, Scalar | ArrayValue)
        if value.kind.dtype.kind == "c":
            return self.component(name, value, np.dtype(f"f{value.kind.dtype.itemsize // 2}"), node)
        return value if name == "real" else self.binary(ast.Mult(), value, integer(0), node)

    def _axes_moved(self, target: Any, values: list[Value], node: ast.AST) -> Value | None:
        """np.transpose(a, axes) and np.swapaxes(a, one, other)."""
        array = values[0]
        assert isinstance(array, ArrayValue)
        rank = len(array.shape)
        if target is np.transpose and len(values) == 2:
            order = self.axes_listed(values[1], rank, node)
        elif target is np.swapaxes and len(values) == 3:
            one, other = self.axes_listed(TupleValue((values[1], values[2])), rank, node)
            order = list(range(rank))
            order[one], order[other] = other, one
        else:
            return None
        if sorted(order) != list(range(rank)):
            self.refuse(node, "the axes of transpose must be numbers, each once")
        return self.transposed(array, order)

    def axes_listed(self, value: Value, rank: int, node: ast.AST) -> list[int]:
        """Axes in the order in which they are given."""
        parts = value.parts if isinstance(value, TupleValue) else (value,)
        return [self.axes_of(part, rank, node)[0] for part in parts]

    def other_call_of_empty(
        self, values: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value:
        """np.ndarray(shape, dtype), which is np.empty."""
        return self.call_of(np.empty, values, keywords, node)

    def call_of(
        self, target: Any, values: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value:
        raise NotImplementedError

    def other_method(
        self,
        array: ArrayValue,
        name: str,
        values: list[Value],
        keywords: dict[str, Value],
        node: ast.Call,
    ) -> Value | None:
        """array.name(...)"""
        if name == "sort":
            self.store_elements(
                array, self.opaque_call(np.sort, [array, *values], keywords, node), node
            )
            return Static(None)
        if name in _METHODS:
            return self.other_call(_METHODS[name], [array, *values], keywords, node)
        if name == "clip":
            return self.call_of(np.clip, [array, *values], keywords, node)
        if name == "reshape" and values and not keywords:
            wanted = values[0] if len(values) == 1 else TupleValue(tuple(values))
            return self.reshaped(array, wanted, node)
        if name in ("ravel", "flatten") and not values and not keywords:
            given = array if name == "ravel" else self.materialised(array, "flat", node)
            if name == "flatten" and array.base:
                given = self.materialised(copied(array), "flat", node)
            return self.reshaped(given, Scalar(literal(-1), INT), node)
        return None

    def _array(self, values: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        dtype = self.dtype_of(values[1] if len(values) > 1 else keywords.get("dtype"), node)
        if values and isinstance(values[0], ArrayValue):
            cast = self.cast(values[0], Kind(dtype or values[0].dtype), node)
            assert isinstance(cast, ArrayValue)
            return copied(cast)
        if not values:
            self.refuse(node, "np.array takes a list or an array")
        if isinstance(values[0], Chosen) and dtype in (None, values[0].array.dtype):
            return values[0]
        return self.array_of(values[0], dtype, node)

    def dtype_of(self, value: Value | None, node: ast.AST) -> np.dtype | None:
        raise NotImplementedError

    def _ufunc_method(
        self,
        ufunc: np.ufunc,
        name: str,
        values: list[Value],
        keywords: dict[str, Value],
        node: ast.Call,
    ) -> Value:
        """np.add.reduce and its like, which take the axis 0 unless told."""
        if name == "outer" and not keywords:
            return self._outer_of(ufunc, values, node)
        if name == "at" and not keywords:
            return self.scattered(ufunc, values, node)
        known = {"reduce": _REDUCE, "accumulate": _ACCUMULATE}.get(name, {})
        axis = values[1] if len(values) > 1 else keywords.pop("axis", integer(0))
        if ufunc not in known or len(values) not in (1, 2):
            self.refuse(
                node, f"this call of np.{ufunc.__name__}.{name} is not translated", "write a loop"
            )
        return self.call_of(known[ufunc], [values[0]], {**keywords, "axis": axis}, node)

    def _outer_of(self, ufunc: np.ufunc, values: list[Value], node: ast.Call) -> Value:
        if len(values) != 2 or not all(
            isinstance(each, ArrayValue) and len(each.shape) == 1 for each in values
        ):
            self.refuse(node, f"np.{ufunc.__name__}.outer takes two vectors here")
        column = values[0]
        assert isinstance(column, ArrayValue)
        element = column.element
        one = literal(1)
        tall = ArrayValue(
            (*column.shape, one), (*column.room, one), column.dtype, lambda i: element(i[:1])
        )
        return self.call_of(ufunc, [tall, values[1]], {}, node)

    def scattered(self, ufunc: np.ufunc, values: list[Value], node: ast.Call) -> Value:
        """np.add.at(array, subscripts, values): one element after the other."""
        if len(values) != 3 or ufunc not in _AT:
            self.refuse(node, f"np.{ufunc.__name__}.at is not translated here", "write a loop")
        array, chosen, value = values
        parts = chosen.parts if isinstance(chosen, TupleValue) else (chosen,)
        if not isinstance(array, ArrayValue) or array.place is None:
            self.refuse(node, "what changes must be an array with a name")
        places = [part for part in parts if isinstance(part, ArrayValue)]
        if len(places) != len(parts):
            self.refuse(node, "the subscripts must be arrays of integers", "write A[i] += ...")
        view = self.gathered_view(array, places, node)
        if isinstance(value, ArrayValue):
            value = self.in_memory(value, node)
        elif isinstance(value, Scalar):
            value = self.kept(value, node)
        self.require_numbers((value,), node)
        assert isinstance(value, Scalar | ArrayValue) and view.place is not None
        dtype, make = self.operation(_AT[ufunc], ufunc, (view, value), node)
        if not np.can_cast(dtype, array.dtype, "same_kind"):
            self.refuse(node, f"the result is {dtype}, the array {array.dtype}")
        with self.loops(view.shape, node) as indices:
            place = view.place(indices)
            right = (
                value.element(broadcast_indices(value.shape, indices))
                if isinstance(value, ArrayValue)
                else value.expression
            )
            self.assign(place, converted(make(place, right), array.dtype, dtype), node)
        return Static(None)

    def _complex(self, values: list[Value], node: ast.AST) -> Value:
        self.require_numbers(values, node)
        imaginary = Scalar(Literal(1j, COMPLEX.dtype), COMPLEX)
        result = self.cast(values[0], COMPLEX, node)  # type: ignore[arg-type]
        if len(values) == 1:
            return result
        return self.binary(
            ast.Add(), result, self.binary(ast.Mult(), values[1], imaginary, node), node
        )

    # ---- what loops run over ----

    def _iterated_over(
        self, target: Any, values: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value:
        if target is builtins.reversed:
            if len(values) == 1 and isinstance(values[0], RangeValue) and abs(values[0].step) == 1:
                over = values[0]
                last = subtract(over.stop, literal(over.step))
                first = subtract(over.start, literal(over.step))
                return RangeValue(last, first, -over.step, over.parallel)
            if len(values) == 1 and isinstance(values[0], ArrayValue):
                return self.reversed_array(values[0], Scalar(literal(0), INT), node)
            if len(values) == 1 and isinstance(values[0], TupleValue):
                return TupleValue(values[0].parts[::-1])
            self.refuse(node, "reversed takes a range with the step 1 or -1, an array, or a tuple")
        if target is builtins.zip:
            keywords.pop("strict", None)
            if not values or keywords:
                self.refuse(node, "zip takes arrays and ranges")
            tuples = [each.parts for each in values if isinstance(each, TupleValue)]
            if len(tuples) == len(values):
                return TupleValue(tuple(map(TupleValue, zip(*tuples, strict=False))))
            return Zipped(tuple(values))
        start = values[1] if len(values) > 1 else keywords.get("start", Scalar(literal(0), INT))
        if not values:
            self.refuse(node, "enumerate takes an array or a range")
        first = self.as_index(start, node, "the start of enumerate")
        if isinstance(values[0], TupleValue):
            numbers = (Scalar(add(first, literal(k)), INT) for k in itertools.count())
            pairs = zip(numbers, values[0].parts, strict=False)
            return TupleValue(tuple(map(TupleValue, pairs)))
        return Zipped((RangeValue(first, first, 1, False), values[0]), endless=1)

    def length_of(self, value: Value, node: ast.AST) -> Expression:
        """How many values a loop runs over."""
        if isinstance(value, ArrayValue) and value.shape:
            return value.shape[0]
        if isinstance(value, RangeValue) and abs(value.step) == 1:
            distance = value.distance
            return Operation("maximum", (distance, literal(0)), INT64, self.at(node))
        if isinstance(value, Zipped):
            lengths = [self.length_of(each, node) for each in value.parts[value.endless :]]
            shortest = lengths[0]
            for each in lengths[1:]:
                if not same(shortest, each):
                    shortest = Operation("minimum", (shortest, each), INT64, self.at(node))
            return shortest
        self.refuse(
            node,
            f"a loop over {self.described(value)} is not translated",
            "loop over range, tw.prange or an array, or zip tuples with tuples",
        )

    def value_at(self, value: Value, index: Expression, node: ast.AST) -> Value:
        """The value of an iteration."""
        if isinstance(value, RangeValue):
            return Scalar(add(value.start, multiply(index, value.step)), INT)
        if isinstance(value, Stepped):
            steps = Operation("*", (index, value.step), INT64, self.at(node))
            return Scalar(add(value.start, steps), INT)
        if isinstance(value, Zipped):
            return TupleValue(tuple(self.value_at(each, index, node) for each in value.parts))
        assert isinstance(value, ArrayValue)
        return self.part_of(value, index)
