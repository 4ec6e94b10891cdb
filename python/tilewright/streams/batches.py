"""A stream program over so many elements, as an ordinary function: for arrays that are there as a whole.

The function has an element of each stream for each one that these inputs suffice for, as `push` and `flush` together
give them, and nothing is kept. It is scheduled, tuned and exported like any other function.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _core
from ..base.checks import ARGUMENT, an_integer, described
from ..base.errors import ArgumentError, ArgumentTypeError
from ..functions.declaration import function
from ..functions.functions import Function
from ..language.arrays import Input
from ..language.expressions import Expression, as_dtype, select
from ..language.inputs import input as array_input
from ..language.names import Iterator, Parameter
from ..schedule.computations import Computation, computation, view
from .making import box_of, define_pieces
from .programs import Program
from .timing import Streamed, Timing

__all__ = ["batch_function"]

_SEEN = 4
"""So many periods are looked at for an expression that says how many elements there are."""


def batch_function(
    program: Program,
    streams: Mapping[str, Streamed],
    timing: Timing,
    sizes: Mapping[str, int],
    elements: Any,
) -> Function:
    """See `StreamFunction.batch`.

    Args:
        elements: of the first input: a number, or the parameter that is this number.
    """
    return _Batch(program, streams, timing, sizes, _checked(program, timing, elements)).made()


def _checked(program: Program, timing: Timing, elements: Any) -> int | Parameter:
    first = timing.inputs[0]
    if isinstance(elements, Parameter):
        if elements.name in (*timing.rates, *(one.name for one in program.arrays)):
            raise ArgumentError(
                f"{program.name} has an array named {elements.name}; give the number of elements another name"
            )
        return elements
    if isinstance(elements, Expression):
        raise ArgumentTypeError(
            f"batch() of {program.name} takes how many elements of {first} there are, a number or a "
            f'parameter such as tw.param("N"), got {described(elements)}'
        )
    what = f"the number of elements of {first}"
    number = an_integer(elements, what, ARGUMENT, minimum=0, bits=40)
    for name in timing.inputs:
        if (timing.rates[name] * number).denominator > 1:
            raise ArgumentError(
                f"{number} elements of {first} go with {timing.rates[name] * number} of {name}: give a "
                f"multiple of {timing.rates[name].denominator}"
            )
    return number


def _count(timing: Timing, name: str, elements: int | Parameter) -> Any:
    """How many elements of a stream there are, a number or an expression."""
    if not isinstance(elements, Parameter):
        return max(0, timing.counts(elements)[name])
    known = [timing.counts(tick)[name] for tick in range(timing.onset + _SEEN * timing.period)]
    rate = timing.rates[name]
    apart = math.gcd(*(one - known[0] for one in known))
    for group in (one for one in range(max(1, apart), 0, -1) if apart % one == 0):
        each, offset = rate / group, known[0] % group
        gain, step = each.numerator, each.denominator
        # (gain * tick + more) // step is the number for all ticks
        rests = [step * (one - offset) // group - gain * tick for tick, one in enumerate(known)]
        more = max(rests)
        if more <= min(rests) + step - 1:
            scaled = gain * elements if gain != 1 else elements
            moved = scaled + more if more else scaled
            groups = moved // step if step > 1 else moved
            whole = group * groups if group > 1 else groups
            return whole + offset if offset else whole
    raise ArgumentError(
        f"how many elements of {name} there are after {elements.name} of {timing.inputs[0]} is no affine "
        f"expression of {elements.name}: give a number, batch({timing.onset + timing.period})"
    )


class _Batch:
    def __init__(
        self,
        program: Program,
        streams: Mapping[str, Streamed],
        timing: Timing,
        sizes: Mapping[str, int],
        elements: int | Parameter,
    ) -> None:
        self.program, self.streams, self.timing, self.sizes = program, streams, timing, sizes
        self.counts = {name: _count(timing, name, elements) for name in streams}
        self.boxes = {name: box_of(stream, sizes) for name, stream in streams.items()}
        self.inputs: list[Input] = []
        self.own: dict[str, Any] = {}
        self.read: dict[str, Any] = {}

    def made(self) -> Function:
        """The function: streams in the order of `push`, then finite arrays in theirs."""
        for name in self.streams:
            self._declare(name)
        for handle in self.program.computations:
            if handle.name in self.streams:
                self._define(handle.name)
        outputs = [self._handed_out(output.name) for output in self.program.outputs]
        for handle in self.program.arrays:
            given = Input.__new__(Input)
            given._handle = handle
            self.inputs.append(given)
        context = [Parameter(name) == value for name, value in self.sizes.items()]
        return function(
            self.program.name, outputs=outputs, inputs=self.inputs, context=context or None
        )

    def _ranges(self, name: str, first: int = 0) -> dict[Any, Any]:
        stream, boxes = self.streams[name], iter(self.boxes[name])
        return {
            Iterator(own): (first, self.counts[name]) if d == stream.axis else next(boxes)
            for d, own in enumerate(stream.handle.iterators)
        }

    def _declare(self, name: str) -> None:
        """The elements of a stream, and how others read them."""
        stream = self.streams[name]
        handle, dtype = stream.handle, as_dtype(stream.handle.type)
        if handle.pieces:
            self.own[name] = computation(name, self._ranges(name), None, dtype=dtype)
        else:
            shape = [Expression(each) for each in handle.extents]
            shape[stream.axis] = self.counts[name]
            self.inputs.append(array_input(name, shape, dtype))
            self.own[name] = self.inputs[-1]
        self.read[name] = self.own[name]
        before = self._before(name)
        if before:
            nothing = computation(
                f"{name}_before", {}, np.dtype(dtype.dtype).type(0).item(), dtype=dtype
            )
            iterators = [Iterator(own) for own in handle.iterators]
            shown = select(
                iterators[stream.axis] < 0, nothing[()], self.own[name][tuple(iterators)]
            )
            self.read[name] = view(f"{name}_all", self._ranges(name, -before), shown)

    def _before(self, name: str) -> int:
        """How many elements before the first one are read as 0: at times that data decide about."""
        readers = {
            reader.name
            for reader in self.streams.values()
            for producer, _, is_exact in reader.reads
            if producer.name == name and not is_exact
        }
        edges = [one for one in self.timing.edges if one.producer == name and one.reader in readers]
        return max((-(one.low // one.step) for one in edges), default=0)

    def _known(self, points: _core.IntegerSet) -> _core.IntegerSet:
        """The points for these sizes, which all that is read at them may rely on."""
        if not self.sizes:
            return points
        values = " and ".join(f"{name} = {value}" for name, value in self.sizes.items())
        return points.intersect_parameters(
            _core.IntegerSet(f"[{', '.join(self.sizes)}] -> {{ : {values} }}")
        )

    def _define(self, name: str) -> None:
        handle, own = self.streams[name].handle, self.own[name]
        read = [(self.streams[one].handle, self.read[one]._handle) for one in self.streams]
        domain = self._known(_core.IntegerSet(f"{own.domain}"))
        rest = define_pieces(handle, own, domain, read, domain)
        nothing = np.dtype(as_dtype(handle.type).dtype).type(0).item()
        if domain.is_empty():
            own.define(None, nothing)
        elif not rest.is_empty():  # what no piece defines is 0, as in streams
            _core.define_piece_isl(own._handle, rest.coalesce().text(), nothing, None)

    def _handed_out(self, name: str) -> Computation:
        """An output as its array has it: along all dimensions from 0 on."""
        stream, boxes = self.streams[name], self.boxes[name]
        if not any(low for low, _ in boxes):
            own_array: Computation = self.own[name]
            return own_array
        ranges, places = self._ranges(name), []
        left = iter(boxes)
        for d, own in enumerate(ranges):
            low, high = (0, self.counts[name]) if d == stream.axis else next(left)
            ranges[own] = high - low if low else high
            places.append(own + low if low else own)
        return view(f"{name}_out", ranges, self.own[name][tuple(places)])
