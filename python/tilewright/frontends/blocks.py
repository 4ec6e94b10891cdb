"""Calls of opaque functions in Layer I: blocks that read copies of whole arrays.

Nobody looks into such a function; its arrays are what stands for it, as PENCIL's summary functions have it
(PENCIL report, INRIA RT-0457, section 2.6). A copy of each array that it reads is made just before the
call, so that the elements may come from any statements; what it writes are computations like others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tilewright as tw

from ..base.source import located_at
from . import tree
from .refusals import line_of, refuse
from .scanned import Scanned, ScannedBlock
from .values import affine_expression

__all__ = ["Blocks"]


class Blocks:
    """The blocks of a program.

    Args:
        scanned: the program.
        extents: those of an array.
        variables: what names mean at a place.
        condition: what is known of the parameters.
    """

    def __init__(
        self,
        scanned: Scanned,
        extents: Callable[[tree.Array], list[Any]],
        variables: dict[str, tw.Expression],
        condition: tw.Expression | None,
    ) -> None:
        self.scanned = scanned
        self.extents = extents
        self.variables = variables
        self.condition = condition
        self.calls: dict[str, tw.Block] = {}

    def declare(self, one: ScannedBlock, domains: dict[str, str]) -> dict[str, tw.Computation]:
        """The computations that a call needs and makes, by name; copies are not defined yet.

        Args:
            one: the call.
            domains: isl text of those of the copies.
        """
        arrays = self.scanned.program.arrays
        made: dict[str, tw.Computation] = {}
        parts = {}
        with located_at(line_of(one.block.location)):
            iterators = [tw.iter(name) for name in one.iterators]
            for name, array, _ in one.reads:
                made[name] = tw.computation(domains[name], None, dtype=arrays[array].dtype)
                whole = [slice(0, extent) for extent in self.extents(arrays[array])]
                parts[name] = made[name].part.__getitem__((*iterators, *whole))
            block = tw.block(
                one.name,
                one.block.function,
                {tw.iter(name): self.range(one, name) for name in one.iterators},
                reads=parts,
                writes={
                    name: (self.extents(arrays[array]), arrays[array].dtype)
                    for name, array in one.writes
                },
                where=self.condition,
            )
        self.calls[one.name] = block
        made.update({name: result for (name, _), result in zip(one.writes, block, strict=True)})
        return made

    def range(self, one: ScannedBlock, iterator: str) -> tuple[Any, Any]:
        (bounds,) = [(start, stop) for name, start, stop in one.ranges if name == iterator]
        known = {**self.variables, **{name: tw.iter(name) for name in one.iterators}}
        start, stop = (affine_expression(bound, known) for bound in bounds)
        if start is None or stop is None:
            refuse(
                one.block.location,
                f"{one.block.called} is called in a loop whose bounds are no sums of sizes",
                "call it in a loop over range(n)",
            )
        return start, stop
