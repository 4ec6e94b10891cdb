"""How the kernel of a stream program (`steps`) is made: declared over its own times, scheduled, and stored in lines,
rings, outputs and memory of its own."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from .. import _core
from ..base.errors import ScheduleError, SelfDependenceError
from ..functions.declaration import function
from ..functions.functions import Function
from ..language.expressions import as_dtype, select
from ..language.inputs import input as array_input
from ..language.names import Iterator
from ..schedule.buffers import Buffer
from ..schedule.computations import Computation, computation, view
from ..schedule.schedules import Schedule
from .folding import (
    Order,
    folded_streams,
    members_of,
    plain_schedule,
    rescheduled,
    scheduled_with_rings,
)
from .opening import Tables
from .programs import Program
from .refusals import in_own_words, refusal
from .repeating import Repeating, repeating
from .steady import Steady, steady_start
from .steps import Line, Step
from .time_parameters import Times
from .time_tiles import Grid, found_tiles, least_ticks, scheduled_in_tiles
from .timing import Streamed, Timing, streamed, timing_of
from .windows import (
    adds_up_in_order,
    reduces,
    terms_at_once,
    with_each_time_alike,
    with_window_tiles,
)

__all__ = ["box_of", "define_pieces", "make_step", "timed"]


_THREADS = 60_000
"""Least work of a loop that starts threads."""

_MORE = 3
"""A folded stream has at most so many rows more than are kept."""

_MORE_IN_TILES = (0, 2, 6, 14, 30, 62)
"""How many more rows are tried in an order that was given."""

_HEAVY = 64
"""Programs of so many terms for each tick have a kernel of long pushes."""

_LONG = 2**15
"""Pushes are long if they have so many terms."""

_HEAVY_VECTORS = 16
"""`_HEAVY` of sums in vectors along the time, which tests for first elements take longest."""

_LONG_VECTORS = 2**10
"""`_LONG` of such sums."""


def define_pieces(
    handle: _core.Computation,
    made: Computation,
    domain: _core.IntegerSet,
    producers: Sequence[tuple[_core.Computation, _core.Computation]],
    rest: _core.IntegerSet,
) -> _core.IntegerSet:
    """Defines a part of a stream as its pieces define the whole.

    Args:
        handle: the stream's own computation.
        made: that of the part.
        domain: its points.
        producers: what stands for the computations that the stream reads.
        rest: points that are asked for.

    Returns:
        those of them that no piece defines.
    """
    for text, value in handle.pieces:
        piece = _core.IntegerSet(text).project_out_parameters(["forever"])
        now = piece.intersect(domain)
        if not now.is_empty():
            read = _core.with_producers(value, producers)
            _core.define_piece_isl(made._handle, now.text(), read, None)
        rest = rest.subtract(piece)
    return rest


def box_of(stream: Streamed, sizes: Mapping[str, int]) -> list[tuple[int, int]]:
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


def timed(program: Program, sizes: Mapping[str, int]) -> tuple[dict[str, Streamed], Timing]:
    """The streams of a program, and when their elements can be computed.

    Raises:
        DeclarationError: the program is none that runs for ever in finite memory.
    """
    every = (*program.inputs, *program.computations)
    streams = {
        handle.name: found for handle in every if (found := streamed(handle, sizes)) is not None
    }
    for output in program.outputs:
        if output.name not in streams:
            raise refusal(
                f"the output {output.name} of {program.name} is no stream: it has finitely many "
                "elements; compute it with a function of its own",
                output._handle,
            )
    for handle in program.computations:
        if handle.name in streams:
            continue
        for producer, _, _ in program.reads(handle):
            if producer.name in streams:
                raise refusal(
                    f"{handle.name} has finitely many elements and reads the stream {producer.name}, whose "
                    f"elements come one after the other: declare {handle.name} over {{n: tw.forever}}, or give "
                    "its values as an array (tw.input)",
                    handle,
                )
    inputs = tuple(handle.name for handle in program.inputs)
    return streams, timing_of(streams, inputs, sizes, program.synchronise)


class _Maker:
    def __init__(self, program: Program, sizes: Mapping[str, int], order: Order | None) -> None:
        self.program, self.sizes, self.order = program, sizes, order
        self.ordered = False
        self.streams, self.timing = timed(program, sizes)
        self.inputs = tuple(handle.name for handle in program.inputs)
        outputs = [output.name for output in program.outputs]
        self.times = Times(self.timing, outputs, sizes)
        self.boxes = {name: box_of(one, sizes) for name, one in self.streams.items()}
        self.outputs = tuple(outputs)
        self.lines: dict[str, Computation] = {}
        self.types = {
            name: np.dtype(as_dtype(one.handle.type).dtype) for name, one in self.streams.items()
        }
        self.rings: dict[str, int] = {}
        self._with_outputs: set[str] = set()
        self.new: dict[str, Computation] = {}
        finite = [one for one in program.computations if one.name not in self.streams]
        endless = [one for one in program.computations if one.name in self.streams]
        read = [producer for one in endless for producer, _, _ in program.reads(one)]
        self.tables = Tables(program.name, finite, read, sizes)

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
        shifted = self._others(name)
        shifted.insert(stream.axis, time)
        return shifted

    def _others(self, name: str) -> list[Any]:
        """The coordinates but for the time, from 0 on."""
        axis = self.streams[name].axis
        others = [one for d, one in enumerate(self._iterators(name)) if d != axis]
        return [
            one - low if low else one
            for one, (low, _) in zip(others, self.boxes[name], strict=True)
        ]

    def _ranges(self, name: str, first: Any, ahead: int = 0) -> dict[Any, Any]:
        stream, end = self.streams[name], self.times.value(name, "end")
        end = end + ahead if ahead else end
        boxes = iter(self.boxes[name])
        return {
            own: (first, end) if d == stream.axis else next(boxes)
            for d, own in enumerate(self._iterators(name))
        }

    def _line(self, name: str) -> Line | None:
        """Where elements that later calls need are written; None of rows in place, and where none are."""
        kept, ahead = self.timing.kept[name], self.timing.ahead[name]
        if not (kept or ahead) or name in self.rings:
            return None
        shape = tuple(high - low for low, high in self.boxes[name])
        return Line(kept, ahead, shape, self.types[name])

    def _is_direct(self, name: str) -> bool:
        """Whether what is computed lies in the array of an output. Of one that waits in the beginning not all
        does, which only matters to others that read it."""
        is_read = any(edge.producer == name for edge in self.timing.edges)
        is_kept = self.timing.kept[name] or self.timing.ahead[name]
        may_be = not is_kept and not (is_read and name in self.times.first)
        return name in self.outputs and may_be

    def _is_temporary(self, name: str) -> bool:
        """Whether only this call reads it, so that elements that no piece defines need no value."""
        return self._line(name) is None and name not in self.rings and not self._is_direct(name)

    def _computed_with_outputs(self) -> set[str]:
        """The streams of which nothing is needed before an output has elements: what is computed for this call
        alone, and read at its own time only by an output that waits in the beginning, or by what is read so."""
        found = {name for name in self.streams if self.times.told_first(name) is not None}
        found = {name for name in found if self._is_temporary(name) or self._is_direct(name)}
        while True:
            wrong = {
                edge.producer
                for edge in self.timing.edges
                if edge.producer in found
                and not (
                    edge.reader in found
                    and self.times.told_first(edge.reader) == self.times.told_first(edge.producer)
                    and edge.gain == edge.step
                    and edge.low == edge.high == 0
                )
            }
            if not wrong:
                return found
            found -= wrong

    def _first(self, name: str) -> Any:
        """The first element that is computed."""
        if self._is_direct(name) or name in self._with_outputs:
            return self.times.first_output(name)
        return self.times.value(name, "begin")

    def declare(self, name: str) -> None:
        """The elements that are computed, and how they and earlier ones are read."""
        begin, end = self.times.value(name, "begin"), self.times.value(name, "end")
        dtype = as_dtype(self.streams[name].handle.type)
        time = self._iterators(name)[self.streams[name].axis]
        chunk = None
        if name in self.inputs:
            chunk = array_input(name, self.shape(name, end - begin), dtype)
            pushed = chunk[tuple(self._subscripts(name, time - begin))]
        line = self._line(name)
        if chunk is not None and line is None:
            self.lines[name] = view(f"{name}_line", self._ranges(name, begin), pushed)
            return
        own = name if chunk is None else f"{name}_new"
        new = computation(own, self._ranges(name, self._first(name)), None, dtype=dtype)
        if chunk is not None:
            new.define(None, pushed)
        self.new[name] = self.lines[name] = new
        if name in self.rings:
            rows = self.rings[name]
            earlier = array_input(f"{name}_ring", self.shape(name, rows), dtype)
            before = earlier[tuple(self._subscripts(name, time % rows))]
            kept, ahead = max(1, self.timing.kept[name]), 0
        elif line is not None:
            kept, ahead = line.kept, line.ahead
            extent = kept + end - begin + ahead
            earlier = array_input(f"{name}_line", [extent, *line.shape], dtype)
            places = (time - begin + kept, *self._others(name))
            before = earlier[places]
        else:
            return
        here = new[tuple(self._iterators(name))]
        ranges = self._ranges(name, begin - kept, ahead)
        is_other = (time < begin) | (time >= end) if ahead else time < begin
        self.lines[name] = view(f"{name}_all", ranges, select(is_other, before, here))

    def define(self, name: str) -> None:
        if name in self.inputs:
            return
        stream, line = self.streams[name], self.new[name]
        handles = {other: one.handle for other, one in self.streams.items()}
        lines = [(handles[other], self.lines[other]._handle) for other in self.lines]
        lines += self.tables.pairs
        domain = _core.IntegerSet(f"{line.domain}")
        rest = domain.intersect_parameters(_core.IntegerSet(self.times.constraint))
        rest = define_pieces(stream.handle, line, domain, lines, rest)
        if not rest.is_empty() and not self._is_temporary(name):
            nothing = self.types[name].type(0).item()
            _core.define_piece_isl(line._handle, rest.coalesce().text(), nothing, None)

    def make(self) -> Step:
        outputs = [output.name for output in self.program.outputs]
        names = folded_streams(self.timing, self.boxes, outputs) if self._is_safe() else ()
        kernel = self._folded(names)
        if kernel is None:
            self._declared({})
            kernel = _scheduled(self._kernel(), self.streams)
        self._store(kernel)
        lines = {name: line for name in self.streams if (line := self._line(name)) is not None}
        repeats = repeating(self.streams, self.timing, self.sizes, self.rings)
        return Step(
            kernel,
            self.timing,
            self.streams,
            lines,
            {
                name: (tuple(self.shape(name, e)), self.types[name])
                for name, e in self.rings.items()
            },
            self.types,
            {name: tuple(self.shape(name, None)) for name in self.streams},
            self.times.own,
            self.times.first,
            repeats,
            self.tables.opening,
            ordered=self.ordered,
            steady=self._steady(kernel, repeats),
        )

    def _steady(self, kernel: Function, repeats: Repeating) -> Steady | None:
        start = steady_start(repeats)
        if start is None or self.order is not None or not self._is_safe():
            return None
        is_early = not self.rings and self._adds_up_in_vectors(kernel.schedule)
        if self.rings:
            least = least_ticks(self._grid(start))
        elif adds_up_in_order(kernel.schedule, self.streams):
            limits = (_HEAVY_VECTORS, _LONG_VECTORS) if is_early else (_HEAVY, _LONG)
            least = self._heavy_ticks(start, *limits)
        else:
            least = None
        if least is None:
            return None

        def make() -> Function | None:
            return self._steady_kernel(kernel.schedule, start)

        return Steady(make, repeats, start, least, is_early)

    def _adds_up_in_vectors(self, schedule: Schedule) -> bool:
        """Whether sums have lanes along the time in the kernel of long pushes."""
        schedule = with_window_tiles(schedule, self.streams, self.timing)
        times = {
            one.handle.name: one.handle.iterators[one.axis]
            for one in self.streams.values()
            if reduces(one.handle)
        }
        return any(
            command == "vectorize" and name in times and str(given[0]).rstrip("01") == times[name]
            for name, command, given in schedule.commands
        )

    def _heavy_ticks(self, start: int, heavy: int, long: int) -> int | None:
        """Pushes of fewer ticks do not pay for a kernel of their own; None if all do not."""
        counts, work = self.timing.counts(start), Fraction(0)
        for name in self.new:
            if name not in self.inputs:
                work += self.timing.rates[name] * terms_at_once(
                    self.streams[name], self.sizes, counts[name]
                )
        return None if work < heavy else math.ceil(long / work)

    def _grid(self, start: int) -> Grid:
        return Grid(
            tuple(members_of(self.timing, self.rings)),
            self.rings,
            self.streams,
            self.boxes,
            self.timing.counts(start),
            {name: dtype.itemsize for name, dtype in self.types.items()},
            self.sizes,
        )

    def _steady_kernel(self, schedule: Schedule, start: int) -> Function | None:
        """The kernel whose calls begin at a known tick; with rows in place in tiles of time.

        Args:
            schedule: of the kernel of all pushes.
        """
        own = copy.copy(self)
        own.times = Times(self.timing, self.outputs, self.sizes, start)
        if self.rings:
            tiles = found_tiles(grid := self._grid(start), self.timing)
            if tiles is None:
                return None
            own._declared(self.rings)
            kernel = own._kernel()
            accesses = {name: own._access(name) for name in self.rings}
            if not scheduled_in_tiles(kernel, grid, tiles, accesses, schedule, _THREADS):
                return None
        else:
            own._declared({})
            kernel = own._kernel()
            found = with_window_tiles(kernel.default_schedule, self.streams, self.timing)
            if not adds_up_in_order(found, self.streams):
                return None
            kernel.set_schedule(found).when_work(0, threads=_THREADS)
        own._store(kernel)
        kept = [name for name in self.streams if own._line(name) is not None]
        arrays = {*self.inputs, *(f"{name}_line" for name in kept)}
        arrays.update(f"{name}_ring" for name in self.rings)
        return kernel if arrays <= set(kernel.inputs) else None

    def _is_safe(self) -> bool:
        """Whether no read may fail: a kernel that stops midway would leave rows half changed."""
        return all(
            exact
            for handle in self.program.computations
            if handle.name in self.streams
            for _, _, exact in self.program.reads(handle)
        )

    def _declared(self, rings: dict[str, int]) -> None:
        self.rings = rings
        self._with_outputs = self._computed_with_outputs()
        self.lines, self.new = {}, {}
        for name in self.streams:
            self.declare(name)
        for name in self.streams:
            self.define(name)

    def _kernel(self) -> Function:
        return function(
            self.program.name, outputs=[self._handed_out(name) for name in self.outputs]
        )

    def _store(self, kernel: Function) -> None:
        """Says where new elements lie: in lines, in the arrays of outputs; what only this call reads, in memory of
        each iteration of its loop over time if its readers stand in that loop, else in memory of its own."""
        try:
            self._store_new(kernel, self._read_beside(kernel.schedule))
        except ScheduleError:  # something else reads them, or in another iteration
            self._store_new(kernel, set())

    def _read_beside(self, schedule: Schedule) -> set[str]:
        """What is read in the loop over time that it stands in, by all its readers."""
        times = {name: one.handle.iterators[one.axis] for name, one in self.streams.items()}
        beside = {name: {name} for name in times}
        for name, command, arguments in schedule.commands:
            if command not in ("after", "before") or len(arguments) != 2:
                continue
            other, loop = arguments
            if name in times and times.get(other) == loop:
                together = beside[name] | beside[other]
                beside.update(dict.fromkeys(together, together))
        return {
            name
            for name in times
            if self._is_temporary(name)
            and all(e.reader in beside[name] for e in self.timing.edges if e.producer == name)
        }

    def _store_new(self, kernel: Function, private: set[str]) -> None:
        with kernel.transaction():
            for name, new in self.new.items():
                if name in self.rings:
                    continue
                if name in private:
                    stream = self.streams[name]
                    kernel[new.name].private(stream.handle.iterators[stream.axis])
                    continue
                line = self._line(name)
                iterators, axis = self.streams[name].handle.iterators, self.streams[name].axis
                if line is not None:
                    place = f"{iterators[axis]} - ({self.times.text(name, 'begin')}) + {line.kept}"
                    places, array = [place, *self._places(name)], f"{name}_line"
                elif self._is_direct(name):
                    start = self.times.first_text(name)
                    places, array = self._places(name), f"{name}_out"
                    places.insert(axis, f"{iterators[axis]} - ({start})")
                else:
                    first, end = self._first(name), self.times.value(name, "end")
                    own = self._subscripts(name, self._iterators(name)[axis] - first)
                    memory = Buffer(name, self.shape(name, end - first))
                    kernel[new.name].store_in(memory[tuple(own)])
                    continue
                kernel[new.name].set_access(
                    f"[{', '.join(kernel.parameters)}] -> {{ {new.name}[{', '.join(iterators)}] -> "
                    f"{array}[{', '.join(places)}] }}"
                )

    def _folded(self, names: tuple[str, ...]) -> Function | None:
        """The kernel with buffers of few rows; None where there is none to make or none is legal."""
        rows = {name: self.timing.kept[name] for name in names}
        while rows:
            kernel, refused = self._time_first(rows)
            if refused is None:
                return kernel if self.order is None else self._reordered(rows)
            if refused not in rows or rows[refused] >= self.timing.kept[refused] + _MORE:
                return None
            rows = {**rows, refused: rows[refused] + 1}
        return None

    def _time_first(self, rows: dict[str, int]) -> tuple[Function, str | None]:
        """A kernel with buffers of so many rows, and which of them are too few, if any."""
        self._declared(rows)
        kernel = self._kernel()
        times = {name: one.handle.iterators[one.axis] for name, one in self.streams.items()}
        accesses = {name: self._access(name) for name in rows}
        given = (kernel, self.timing, accesses, times, _THREADS)
        plain = self._plain_schedule(rows)
        refused = "" if plain is None else scheduled_with_rings(*given, plain)
        if refused == "":
            own = with_each_time_alike(kernel.default_schedule, self.streams)
            refused = scheduled_with_rings(*given, own)
        return kernel, refused

    def _plain_schedule(self, rows: dict[str, int]) -> Schedule | None:
        """What is known of the schedule of one stream in place that adds up nothing, and of its readers."""
        ring, *more = rows
        if more or any(map(reduces, self.program.computations)):
            return None
        members = {*members_of(self.timing, rows), *self.inputs}
        stream = self.streams[ring]
        iterators = [one for d, one in enumerate(stream.handle.iterators) if d != stream.axis]
        return plain_schedule(
            ring,
            [name for name in self.streams if name not in members],
            self.boxes[ring],
            iterators,
            self.types[ring].itemsize,
        )

    def _reordered(self, rows: dict[str, int]) -> Function:
        """The kernel in the order that was given, with as many rows as that needs, within limits; else
        time first."""
        assert self.order is not None
        iterators = {name: one.handle.iterators for name, one in self.streams.items()}
        for more in _MORE_IN_TILES:
            kernel, refused = self._time_first({name: own + more for name, own in rows.items()})
            accesses = {name: self._access(name) for name in rows}
            if refused is None and rescheduled(
                kernel, self.timing, accesses, iterators, self.order, _THREADS
            ):
                self.ordered = True
                return kernel
        return self._time_first(rows)[0]

    def _places(self, name: str) -> list[str]:
        """`_others` as isl's text."""
        iterators, axis = self.streams[name].handle.iterators, self.streams[name].axis
        others = [one for d, one in enumerate(iterators) if d != axis]
        return [f"{own} - {low}" for own, (low, _) in zip(others, self.boxes[name], strict=True)]

    def _access(self, name: str) -> str:
        handle, axis = self.streams[name].handle, self.streams[name].axis
        places = self._places(name)
        places.insert(axis, f"{handle.iterators[axis]} mod {self.rings[name]}")
        own = f"{name}[{', '.join(handle.iterators)}]"
        return f"{{ {own} -> {name}_ring[{', '.join(places)}] }}"

    def _handed_out(self, name: str) -> Computation:
        """The elements of an output from 0 on, as its array has them."""
        axis, first = self.streams[name].axis, self.times.first_output(name)
        ranges: dict[Any, Any] = {}
        subscripts: list[Any] = []
        boxes = iter(self.boxes[name])
        for d, own in enumerate(self._iterators(name)):
            low, high = (0, 0) if d == axis else next(boxes)
            ranges[own] = self.times.value(name, "end") - first if d == axis else high - low
            subscripts.append(own + first if d == axis else own + low)
        shown = self.lines[name][tuple(subscripts)]
        declared = view if self._is_direct(name) else computation
        return declared(f"{name}_out", ranges, shown)


def _scheduled(kernel: Function, streams: Mapping[str, Streamed]) -> Function:
    """The default schedule without its version for little work, so that each element is added up in
    the same order in chunks of any length."""
    schedule = with_each_time_alike(kernel.default_schedule, streams)
    return kernel.set_schedule(schedule).when_work(0, threads=_THREADS)


def make_step(program: Program, sizes: Mapping[str, int], order: Order | None = None) -> Step:
    """The kernel for these sizes.

    Args:
        order: when rows that are kept in place are computed; else time comes first.

    Raises:
        DeclarationError: the program is none that runs for ever in finite memory.
    """
    try:
        return _Maker(program, sizes, order).make()
    except SelfDependenceError as error:
        raise in_own_words(error, program.computations) from None
