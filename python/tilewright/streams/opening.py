"""What a stream needs and does not change: computed once, when it is opened.

Windows, roots of unity, coefficients that are made of parameters have finitely many elements and read no
stream. The kernel of a push reads them as arrays, its *tables*, which another kernel has computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..functions.declaration import function
from ..functions.functions import Function
from ..language.expressions import Expression, as_dtype
from ..language.inputs import input as array_input
from ..language.names import Iterator
from ..schedule.computations import Computation, computation, view

__all__ = ["Opening", "Tables"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Opening:
    """What is computed when a stream is opened.

    Attributes:
        kernel: the function that computes all tables.
        tables: their names, as the kernel of a push has them, with shapes and types.
        outputs: the names that they have as outputs of this kernel.
    """

    kernel: Function
    tables: dict[str, tuple[tuple[int, ...], np.dtype[Any]]]
    outputs: tuple[str, ...]

    def compute(self, given: Mapping[str, Any]) -> dict[str, Array]:
        """The tables for finite arrays and sizes that are given."""
        taken = {*self.kernel.inputs, *self.kernel.parameters}
        found = self.kernel(**{name: value for name, value in given.items() if name in taken})
        arrays = found if isinstance(found, tuple) else (found,)
        return dict(zip(self.tables, arrays, strict=True))


class Tables:
    """The finite computations that streams read, as the kernel of a push has them: as arrays.

    Attributes:
        pairs: each of them, and what is read instead.
        opening: computes them; None where there are none.
    """

    def __init__(
        self,
        name: str,
        finite: Sequence[_core.Computation],
        read: Sequence[_core.Computation],
        sizes: Mapping[str, int],
    ) -> None:
        known = {_core.computation_identity(producer) for producer in read}
        self.pairs: list[tuple[_core.Computation, _core.Computation]] = []
        self.opening: Opening | None = None
        made: list[Computation] = []
        tables: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}
        for handle in finite:
            if _core.computation_identity(handle) not in known:
                continue  # what others read is computed with them
            low = _lowest(handle, sizes)
            own = Computation.__new__(Computation)
            own._handle = handle
            if any(low):
                own = _shifted(own, low, sizes)
            extents = own._handle.extents
            shape = tuple(_value(extent, sizes) for extent in extents)
            tables[handle.name] = shape, np.dtype(as_dtype(handle.type).dtype)
            made.append(own)
            self.pairs.append((handle, _table(handle, low, shape)))
        if made:
            kernel = function(f"{name}_opening", outputs=made)
            self.opening = Opening(kernel, tables, tuple(each.name for each in made))


def _value(expression: _core.Expr, sizes: Mapping[str, int]) -> int:
    """Of an extent, an affine expression in sizes that are known."""
    one = Iterator("one")
    points = computation("points", {one: Expression(expression)}, 0)._handle.domain
    return points.fix({name: sizes[name] for name in points.parameters() if name in sizes}).count()


def _lowest(handle: _core.Computation, sizes: Mapping[str, int]) -> list[int]:
    """Where its elements begin, along dimensions in which they begin below 0; elsewhere 0."""
    points = handle.domain.fix({p: sizes[p] for p in handle.domain.parameters() if p in sizes})
    if points.is_empty():
        return [0] * handle.rank
    found = []
    for axis in range(handle.rank):
        alone = points.project_out([d for d in range(handle.rank) if d != axis])
        first = alone.lexmin().sample()
        found.append(0 if first is None else min(0, first[1][0]))
    return found


def _shifted(own: Computation, low: list[int], sizes: Mapping[str, int]) -> Computation:
    """The same elements in memory that begins at 0, as that of every output does."""
    handle = own._handle
    iterators = [Iterator(each) for each in handle.iterators]
    names, old = ", ".join(handle.iterators), [f"{one}_old" for one in handle.iterators]
    places = " and ".join(
        f"{one} = {before} - {first}".replace("- -", "+ ")
        for one, before, first in zip(handle.iterators, old, low, strict=True)
    )
    points = handle.domain.apply(
        _core.IntegerMap(
            f"{{ {handle.name}[{', '.join(old)}] -> {handle.name}_table[{names}] : {places} }}"
        )
    )
    known = [f"{name} = {sizes[name]}" for name in points.parameters() if name in sizes]
    if known:
        every = ", ".join(points.parameters())
        points = points.intersect_parameters(
            _core.IntegerSet(f"[{every}] -> {{ : {' and '.join(known)} }}")
        )
    value = own[tuple(one + first for one, first in zip(iterators, low, strict=True))]
    return computation(points.text(), value)


def _table(handle: _core.Computation, low: list[int], shape: tuple[int, ...]) -> _core.Computation:
    """What is read in place of a finite computation: an array, whose memory begins at 0."""
    table = array_input(handle.name, list(shape), as_dtype(handle.type))
    if not any(low):
        return table._handle
    iterators = [Iterator(each) for each in handle.iterators]
    ranges: dict[Any, Any] = {
        one: (first, first + extent)
        for one, first, extent in zip(iterators, low, shape, strict=True)
    }
    places = tuple(one - first for one, first in zip(iterators, low, strict=True))
    return view(f"{handle.name}_line", ranges, table[places])._handle
