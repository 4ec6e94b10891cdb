"""Calls besides the tables of `library`: functions that are written with loops, shapes, iteration.

`np.std` and its like are loop functions of `numpy_functions`, inlined as a person's own would be.
"""

from __future__ import annotations

import ast
import builtins
import functools
from typing import Any

import numpy as np

from ..tree import Expression, Literal, Operation
from .indices import add, literal, multiply, same, subtract
from .kinds import COMPLEX, INT, INT64, Kind
from .numpy_functions import WRITTEN
from .reductions import Reductions
from .shapes import Shapes
from .values import ArrayValue, RangeValue, Scalar, TupleValue, Value, Zipped

__all__ = ["Calls"]

_METHODS = {
    "var": np.var, "std": np.std, "trace": np.trace, "argmax": np.argmax, "argmin": np.argmin,
    "cumsum": np.cumsum,
}  # fmt: skip


@functools.cache
def _loop_function(function: Any) -> Any:
    from .decorator import LoopFunction

    return LoopFunction(function, {})


class Calls(Reductions, Shapes):
    """Calls of other functions."""

    def other_call(
        self, target: Any, values: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value | None:
        """The value of a call; None for a function that is not known."""
        try:
            written = WRITTEN.get(target)
        except TypeError:  # an object without a hash
            return None
        if written is not None:
            return self.call_function(_loop_function(written), values, keywords, node)
        if target in (np.array, np.asarray):
            return self._array(values, keywords, node)
        if target is np.ndarray:
            return self.other_call_of_empty(values, keywords, node)
        if getattr(target, "__name__", "") == "outer" and isinstance(
            getattr(target, "__self__", None), np.ufunc
        ):
            return self._outer_of(target.__self__, values, node)
        if target in (builtins.enumerate, builtins.zip, builtins.reversed):
            return self._iterated_over(target, values, keywords, node)
        if keywords and target is not np.flip:
            return None
        if target is np.flip and values:
            axis = values[1] if len(values) > 1 else keywords.get("axis")
            return self.reversed_array(values[0], axis, node)
        if target is np.reshape and len(values) == 2:
            return self.reshaped(values[0], values[1], node)
        if target is np.ravel and len(values) == 1:
            return self.reshaped(values[0], Scalar(literal(-1), INT), node)
        if target is builtins.divmod and len(values) == 2:
            return TupleValue(
                tuple(self.binary(op, *values, node) for op in (ast.FloorDiv(), ast.Mod()))
            )
        if target is builtins.complex and 1 <= len(values) <= 2:
            return self._complex(values, node)
        return None

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
        if name in _METHODS:
            return self.other_call(_METHODS[name], [array, *values], keywords, node)
        if name == "reshape" and values and not keywords:
            wanted = values[0] if len(values) == 1 else TupleValue(tuple(values))
            return self.reshaped(array, wanted, node)
        if name in ("ravel", "flatten") and not values:
            given = array if name == "ravel" else self.materialised(array, "flat", node)
            if name == "flatten" and array.base:
                copy = ArrayValue(array.shape, array.room, array.dtype, array.element)
                given = self.materialised(copy, "flat", node)
            return self.reshaped(given, Scalar(literal(-1), INT), node)
        return None

    def _array(self, values: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        dtype = self.dtype_of(values[1] if len(values) > 1 else keywords.get("dtype"), node)
        if values and isinstance(values[0], ArrayValue):
            cast = self.cast(values[0], Kind(dtype or values[0].dtype), node)
            assert isinstance(cast, ArrayValue)
            return ArrayValue(cast.shape, cast.room, cast.dtype, cast.element)
        if not values:
            self.refuse(node, "np.array takes a list or an array")
        return self.array_of(values[0], dtype, node)

    def dtype_of(self, value: Value | None, node: ast.AST) -> np.dtype | None:
        raise NotImplementedError

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
            self.refuse(node, "reversed takes a range with the step 1 or -1, or an array")
        if target is builtins.zip:
            if not values or keywords:
                self.refuse(node, "zip takes arrays and ranges")
            return Zipped(tuple(values))
        start = values[1] if len(values) > 1 else keywords.get("start", Scalar(literal(0), INT))
        if not values:
            self.refuse(node, "enumerate takes an array or a range")
        first = self.as_index(start, node, "the start of enumerate")
        return Zipped((RangeValue(first, first, 1, False), values[0]), endless=1)

    def length_of(self, value: Value, node: ast.AST) -> Expression:
        """How many values a loop runs over."""
        if isinstance(value, ArrayValue) and value.shape:
            return value.shape[0]
        if isinstance(value, RangeValue) and abs(value.step) == 1:
            ends = (value.stop, value.start) if value.step > 0 else (value.start, value.stop)
            distance = subtract(*ends)
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
            "loop over range, tw.prange or an array",
        )

    def value_at(self, value: Value, index: Expression, node: ast.AST) -> Value:
        """The value of an iteration."""
        if isinstance(value, RangeValue):
            return Scalar(add(value.start, multiply(index, value.step)), INT)
        if isinstance(value, Zipped):
            return TupleValue(tuple(self.value_at(each, index, node) for each in value.parts))
        assert isinstance(value, ArrayValue)
        return self.part_of(value, index)
