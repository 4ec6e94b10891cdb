"""The kernel that a stream program runs for each chunk: an ordinary function of the library.

Its computations keep their own times n, which begin anywhere: of each stream, the elements from
`begin` to `end` are computed, and in front of them lie those that earlier calls have left. What later
calls need is handed out again. So any number of elements can be pushed at once, and each is computed
from the same expression, whatever the cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..base.errors import DeclarationError
from ..functions.declaration import function
from ..functions.functions import Function
from ..language.expressions import Expression, as_dtype
from ..language.inputs import input as array_input
from ..language.names import Iterator, Parameter
from ..schedule.computations import Computation, computation
from .declarations import declaration_number
from .repeating import Repeating, repeating
from .timing import Streamed, Timing, streamed, timing_of

__all__ = ["Program", "Step", "gather", "make_step"]


_THREADS = 60_000
"""Least work of a loop that starts threads."""


@dataclass(frozen=True)
class Program:
    """What a stream function is made of: everything that its outputs need.

    Attributes:
        computations: in the order in which they were found, outputs first.
        inputs: the streams that are pushed.
        arrays: the finite arrays that are given when a stream is opened.
    """

    name: str
    outputs: tuple[Computation, ...]
    computations: tuple[_core.Computation, ...]
    inputs: tuple[_core.Computation, ...]
    arrays: tuple[_core.Computation, ...]


def gather(name: str, outputs: tuple[Computation, ...], order: tuple[str, ...] = ()) -> Program:
    """All that the outputs read, directly or not. `order`: names of the inputs; else they are in the
    order in which they were declared."""
    found: dict[int, _core.Computation] = {}
    waiting = [output._handle for output in outputs]
    while waiting:
        handle = waiting.pop(0)
        key = _core.computation_identity(handle)
        if key not in found:
            found[key] = handle
            waiting += [producer for producer, _, _ in _core.read_relations(handle)]
    named: dict[str, _core.Computation] = {}
    for handle in found.values():
        if named.setdefault(handle.name, handle) is not handle:
            raise DeclarationError(f"{name} has two computations named {handle.name}")
    every = list(found.values())
    pushed = [one for one in every if not one.is_input and not one.pieces]
    pushed.sort(key=lambda one: order.index(one.name) if order else declaration_number(one))
    return Program(
        name,
        outputs,
        tuple(one for one in every if not one.is_input and one.pieces),
        tuple(pushed),
        tuple(one for one in every if one.is_input),
    )


@dataclass
class Step:
    """The kernel for known sizes.

    Attributes:
        past: what is copied in front of a chunk, a shape and a type; the arguments ``<name>_past``.
        rings: what is changed where it is, a shape and a type; the arguments ``<name>_ring``.
        types: of the elements of each stream.
        shapes: of a chunk of each stream, None for the time.
        own_times: the streams with parameters ``<name>_begin`` and ``<name>_end``.
        first_times: the outputs with a parameter ``<name>_first``: they wait in the beginning.
        repeats: when the program does the same again, if it does.
        collected: a push computes whole multiples of so many ticks.
    """

    kernel: Function
    timing: Timing
    streams: dict[str, Streamed]
    past: dict[str, tuple[tuple[int, ...], np.dtype[Any]]]
    rings: dict[str, tuple[tuple[int, ...], np.dtype[Any]]]
    types: dict[str, np.dtype[Any]]
    shapes: dict[str, tuple[int | None, ...]]
    own_times: tuple[str, ...]
    first_times: tuple[str, ...]
    repeats: Repeating | None
    collected: int = 1

    def phase(self, ticks: int) -> int:
        """The first number of ticks that is like this one; the number itself where none is."""
        return ticks if self.repeats is None else self.repeats.phase(ticks)


class _Times:
    """The parameters that say from when to when a step computes, and what is known of them."""

    def __init__(self, timing: Timing, outputs: list[str], sizes: Mapping[str, int]) -> None:
        self.timing = timing
        self.reference = timing.inputs[0]
        self.offsets = {
            name: 0 if name == self.reference else timing.offset(name, self.reference)
            for name in timing.rates
        }
        self.own = tuple(
            name
            for name, offset in self.offsets.items()
            if offset is None or name == self.reference
        )
        begins = timing.counts(0)
        self.first = tuple(name for name in outputs if begins[name] < 0)
        names = [f"{name}_{end}" for name in self.own for end in ("begin", "end")]
        names += [f"{name}_first" for name in self.first] + list(sizes)
        known = [*self._known(), *(f"{name} = {value}" for name, value in sizes.items())]
        self.constraint = f"[{', '.join(names)}] -> {{ : {' and '.join(known)} }}"

    def _known(self) -> list[str]:
        known = [f"0 <= {self.reference}_begin"]
        for name in self.own:
            known.append(f"{name}_begin <= {name}_end")
        for name in self.first:
            begin, end = (f"({self.text(name, which)})" for which in ("begin", "end"))
            first = f"{name}_first"
            known += [f"{begin} <= {first}", f"{first} <= {end}"]
            known.append(f"({first} >= 0 or {first} = {end})")
        for edge in self.timing.edges:
            if edge.reader in self.own or edge.producer in self.own:
                low, high = self.timing.bounds(edge)
                for which in ("begin", "end"):
                    reader = f"{edge.gain} * ({self.text(edge.reader, which)})"
                    producer = f"{edge.step} * ({self.text(edge.producer, which)})"
                    known.append(f"{low} <= {producer} - {reader} <= {high}")
        return known

    def text(self, name: str, which: str) -> str:
        """When a stream begins or ends, as isl's text."""
        offset = self.offsets[name]
        if offset is None or name == self.reference:
            return f"{name}_{which}"
        return f"{int(self.timing.rates[name])} * {self.reference}_{which} + {offset}"

    def value(self, name: str, which: str) -> Expression:
        offset = self.offsets[name]
        if offset is None or name == self.reference:
            return Parameter(f"{name}_{which}", self.constraint)
        reference = Parameter(f"{self.reference}_{which}", self.constraint)
        return int(self.timing.rates[name]) * reference + offset

    def first_output(self, name: str) -> Expression:
        """The first element that is handed out: none comes before 0."""
        if name in self.first:
            return Parameter(f"{name}_first", self.constraint)
        return self.value(name, "begin")


def _box(stream: Streamed, sizes: Mapping[str, int]) -> list[tuple[int, int]]:
    """The ranges of the other dimensions."""
    points = stream.handle.domain.project_out_parameters(["forever"])
    points = points.fix({name: sizes[name] for name in points.parameters() if name in sizes})
    rank = stream.handle.rank
    ranges = []
    for axis in range(rank):
        if axis == stream.axis:
            continue
        alone = points.project_out([d for d in range(rank) if d != axis])
        low, high = alone.lexmin().sample(), alone.lexmax().sample()
        ranges.append((0, 0) if low is None or high is None else (low[1][0], high[1][0] + 1))
    return ranges


class _Maker:
    def __init__(self, program: Program, sizes: Mapping[str, int]) -> None:
        self.program, self.sizes = program, sizes
        every = (*program.inputs, *program.computations)
        self.streams = {
            handle.name: found for handle in every if (found := streamed(handle, sizes)) is not None
        }
        self.inputs = tuple(handle.name for handle in program.inputs)
        self._check()
        self.timing = timing_of(self.streams, self.inputs, sizes)
        outputs = [output.name for output in program.outputs]
        self.times = _Times(self.timing, outputs, sizes)
        self.boxes = {name: _box(one, sizes) for name, one in self.streams.items()}
        self.lines: dict[str, Computation] = {}
        self.past: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}

    def _check(self) -> None:
        for output in self.program.outputs:
            if output.name not in self.streams:
                raise DeclarationError(
                    f"the output {output.name} of {self.program.name} is no stream: it has finitely "
                    "many elements; compute it with a function of its own"
                )
        for handle in self.program.computations:
            if handle.name in self.streams:
                continue
            for producer, _, _ in _core.read_relations(handle):
                if producer.name in self.streams:
                    raise DeclarationError(
                        f"{handle.name} has finitely many elements and reads the stream "
                        f"{producer.name}: what lasts for ever is read by what lasts for ever"
                    )

    def shape(self, name: str, time: Any) -> list[Any]:
        """The box of a stream, with `time` for the extent of its time."""
        sizes = [high - low for low, high in self.boxes[name]]
        sizes.insert(self.streams[name].axis, time)
        return sizes

    def _iterators(self, name: str) -> list[Iterator]:
        return [Iterator(own) for own in self.streams[name].handle.iterators]

    def _subscripts(self, name: str, time: Any) -> list[Any]:
        """Coordinates in an array whose other dimensions begin at 0."""
        stream = self.streams[name]
        others = [one for d, one in enumerate(self._iterators(name)) if d != stream.axis]
        shifted: list[Any] = [
            one - low if low else one
            for one, (low, _) in zip(others, self.boxes[name], strict=True)
        ]
        shifted.insert(stream.axis, time)
        return shifted

    def declare(self, name: str) -> None:
        """The stream from the first element that is kept to the last one."""
        stream, times = self.streams[name], self.times
        begin, end = times.value(name, "begin"), times.value(name, "end")
        kept = self.timing.kept[name]
        ranges: dict[Any, Any] = {}
        boxes = iter(self.boxes[name])
        for d, own in enumerate(self._iterators(name)):
            ranges[own] = (begin - kept, end) if d == stream.axis else next(boxes)
        line = name if name not in self.inputs else f"{name}_line"
        dtype = as_dtype(stream.handle.type)
        self.lines[name] = computation(line, ranges, None, dtype=dtype)
        self.past[name] = (tuple(self.shape(name, kept)), np.dtype(dtype.dtype))

    def define(self, name: str) -> None:
        stream, times, line = self.streams[name], self.times, self.lines[name]
        begin, end = times.value(name, "begin"), times.value(name, "end")
        kept = self.timing.kept[name]
        time = self._iterators(name)[stream.axis]
        dtype = as_dtype(stream.handle.type)
        past = array_input(f"{name}_past", self.shape(name, kept), dtype)
        line.define(time < begin, past[tuple(self._subscripts(name, time - begin + kept))])
        if name in self.inputs:
            chunk = array_input(name, self.shape(name, end - begin), dtype)
            line.define(time >= begin, chunk[tuple(self._subscripts(name, time - begin))])
            return
        pairs = [(self.streams[other].handle, self.lines[other]._handle) for other in self.lines]
        names = ", ".join(stream.handle.iterators)
        late = _core.IntegerSet(
            f"{{ {name}[{names}] : {stream.handle.iterators[stream.axis]} >= "
            f"({times.text(name, 'begin')}) }}"
        )
        rest = _core.IntegerSet(f"{line.domain}").intersect(late)
        for text, value in stream.handle.pieces:
            own = _core.IntegerSet(text).project_out_parameters(["forever"])
            now = own.intersect(_core.IntegerSet(f"{line.domain}")).intersect(late)
            rest = rest.subtract(own)
            if not now.is_empty():
                _core.define_piece_isl(
                    line._handle, now.text(), _core.with_producers(value, pairs), None
                )
        if not rest.is_empty():
            _core.define_piece_isl(line._handle, rest.coalesce().text(), 0, None)

    def make(self) -> Step:
        for name in self.streams:
            self.declare(name)
        for name in self.streams:
            self.define(name)
        results = [self._handed_out(output.name) for output in self.program.outputs]
        results += [self._kept(name) for name in self.streams]
        kernel = _scheduled(function(self.program.name, outputs=results))
        shapes = {name: tuple(self.shape(name, None)) for name in self.streams}
        return Step(
            kernel,
            self.timing,
            self.streams,
            self.past,
            {},
            {name: kept[1] for name, kept in self.past.items()},
            shapes,
            self.times.own,
            self.times.first,
            repeating(self.streams, self.timing, self.sizes),
        )

    def _handed_out(self, name: str) -> Computation:
        first, end = self.times.first_output(name), self.times.value(name, "end")
        return self._copied(name, f"{name}_out", end - first, first)

    def _kept(self, name: str) -> Computation:
        kept = self.timing.kept[name]
        return self._copied(name, f"{name}_next", kept, self.times.value(name, "end") - kept)

    def _copied(self, name: str, copy: str, extent: Any, first: Any) -> Computation:
        axis = self.streams[name].axis
        ranges: dict[Any, Any] = {}
        subscripts: list[Any] = []
        boxes = iter(self.boxes[name])
        for d, own in enumerate(self._iterators(name)):
            low, high = (0, 0) if d == axis else next(boxes)
            ranges[own] = extent if d == axis else high - low
            subscripts.append(own + first if d == axis else own + low)
        return computation(copy, ranges, self.lines[name][tuple(subscripts)])


def _scheduled(kernel: Function) -> Function:
    """The default schedule without its version for little work, so that each element is added up in
    the same order in chunks of any length."""
    return kernel.set_schedule(kernel.default_schedule).when_work(0, threads=_THREADS)


def make_step(program: Program, sizes: Mapping[str, int]) -> Step:
    """The kernel for these sizes.

    Raises:
        DeclarationError: the program is none that runs for ever in finite memory.
    """
    return _Maker(program, sizes).make()
