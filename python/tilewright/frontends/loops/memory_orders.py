"""In which order arrays of a function's own lie in memory: in that of the arguments.

A kernel for arrays in Fortran's order has them with the axes reversed, so that each loop finds what lies
side by side as it does in others. What is kept on the way, and the results, are made in the same order,
as NumPy's operations do (`order="K"`).
"""

from __future__ import annotations

import ast
from dataclasses import replace

from .expressions import Expressions
from .values import ArrayValue

__all__ = ["MemoryOrders"]


class MemoryOrders(Expressions):
    """Arrays in memory of their own."""

    def of_own_order(self, value: ArrayValue, wanted: str, node: ast.AST) -> ArrayValue:
        """The array in memory of its own, in the order in which the arguments lie."""
        if not self.turns_results or len(value.shape) < 2 or value.fresh:
            return self.materialised(value, wanted, node)
        turned = self.transposed(replace(value, base="", place=None))
        made = self.materialised(replace(turned, borrowed=value.borrowed), wanted, node)
        return self.transposed(made)

    def in_memory(self, array: ArrayValue, node: ast.AST) -> ArrayValue:
        """A copy of the array as it is now."""
        return self.materialised(replace(array, fresh=False, base=""), "kept", node)

    def materialised(self, value: ArrayValue, wanted: str, node: ast.AST) -> ArrayValue:
        raise NotImplementedError
