"""Functions of NumPy whose results are as long as data decide: `np.unique` and operations of sets.

Each is a block, as those of `opaque` are, that fills arrays which are long enough and says in a mask what is
there. So the results are what a mask chooses: sums of them, operations on them, and results of the
function.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..tree import Block, Literal
from .indices import add, literal
from .kinds import INT
from .opaque import Opaque
from .values import ArrayValue, Chosen, Scalar, TupleValue, Value

__all__ = ["VARYING", "Varying"]

VARYING: dict[Any, tuple[str, ...]] = {
    np.unique: ("return_index", "return_inverse", "return_counts"),
    np.union1d: (),
    np.intersect1d: (),
    np.setdiff1d: (),
}
"""The functions, and what they take besides arrays."""


class Varying(Opaque):
    """Calls of them."""

    def varying_call(
        self, target: Any, values: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value:
        """The results, of a function of the table."""
        name = f"np.{target.__name__}"
        options = dict(zip(VARYING[target], values[1:], strict=False)) if VARYING[target] else {}
        given = values[:1] if VARYING[target] else values
        flags: dict[str, bool] = {}
        for key, value in {**options, **keywords}.items():
            is_known = isinstance(value, Scalar) and isinstance(value.expression, Literal)
            if key not in VARYING[target] or not is_known:
                self.refuse(node, f"the argument {key}= of {name} is not translated")
            flags[key] = bool(value.expression.value)  # type: ignore[union-attr]
        arrays = [self._flat(value, name, node) for value in given]
        if len(arrays) != (1 if VARYING[target] else 2):
            self.refuse(node, f"{name} takes {1 if VARYING[target] else 2} arrays here")
        self.decide_outer_tests()
        room = arrays[0].shape[0]
        if target is np.union1d:
            room = add(room, arrays[1].shape[0])

        def function(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
            found = target(*operands, **flags)
            return found if isinstance(found, tuple) else (found,)

        sample = function(*(np.ones(1, array.dtype) for array in arrays))
        made = [
            self.new_array(f"{target.__name__}_result", each.dtype, (room,), node)
            for each in (*sample, np.ones(1, np.bool_))
        ]
        inverse = (
            [key for key in VARYING[target] if flags.get(key)].index("return_inverse") + 1
            if (flags.get("return_inverse"))
            else -1
        )
        reads = list(dict.fromkeys(array.base for array in arrays))
        fill = _filler(function, [reads.index(array.base) for array in arrays], len(reads), inverse)
        label = self.fresh(target.__name__)
        self.emit(Block(fill, tuple(reads), tuple(made), label, name, self.at(node)), node)
        views = [self.view(each, self.arrays[each].dtype, (room,), (room,), node) for each in made]
        *results, mask = views
        parts = tuple(
            replace(view, fresh=True) if at == inverse else Chosen(view, mask)
            for at, view in enumerate(results)
        )
        return parts[0] if len(parts) == 1 else TupleValue(parts)

    def _flat(self, value: Value, name: str, node: ast.Call) -> ArrayValue:
        """An operand in memory of its own, with one dimension."""
        if not isinstance(value, ArrayValue) or not value.shape:
            self.refuse(node, f"{name} takes an array here, not {self.described(value)}")
        if len(value.shape) > 1:
            if "return_inverse" in {each.arg for each in node.keywords}:
                self.refuse(node, f"return_inverse= of {name} for several dimensions", "ravel it")
            value = self.reshaped(value, Scalar(literal(-1), INT), node)
            assert isinstance(value, ArrayValue)
        self.require_parameters(
            value.shape[0],
            node,
            f"the extents of what {name} takes",
            "call it outside of the loop, or of the function",
        )
        if self._is_whole(value):
            return value
        value = replace(value, room=value.shape, fresh=False, base="")
        return self.materialised(value, "operand", node)


def _filler(
    function: Callable[..., tuple[np.ndarray, ...]], places: list[int], count: int, inverse: int
) -> Callable[..., None]:
    """The block's function: it reads the first `count` arrays, and fills the others and the mask."""

    def fill(*arrays: Any) -> None:
        *targets, mask = arrays[count:]
        length = 0
        for at, result in enumerate(function(*(arrays[place] for place in places))):
            targets[at][: len(result)] = result
            targets[at][len(result) :] = 0
            if at != inverse:
                length = len(result)
        mask[:] = np.arange(len(mask)) < length

    return fill
