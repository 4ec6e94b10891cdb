"""Stream functions: recurrences over unbounded time as kernels that take chunks of any length."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..base.checks import (
    ARGUMENT,
    DECLARATION,
    a_boolean,
    a_list,
    a_string,
    an_integer,
    described,
)
from ..base.display import Text
from ..base.errors import (
    ArgumentError,
    ArgumentTypeError,
    DeclarationError,
    DeclarationTypeError,
    ExportError,
)
from ..base.plurals import counted
from ..functions.functions import Function
from ..language.expressions import as_dtype
from ..language.names import Parameter
from ..schedule.computations import Computation
from ..sets.values import Map
from .batches import batch_function
from .c_source import LARGEST, ExportedStream, export_stream_source, stream_c_text
from .declarations import StreamInput
from .kept import kept_step
from .making import timed
from .naming import check_names
from .periodic import PeriodicTiling
from .periods import Periods, asked_periods, collected_ticks, tiled, tiling_of
from .programs import Program, gather
from .refusals import refusal
from .reports import reported
from .states import Stream
from .steps import Step

__all__ = ["StreamFunction", "stream_function"]


def stream_function(
    name: str,
    outputs: Sequence[Computation] | Computation,
    *,
    inputs: Sequence[StreamInput] = (),
    synchronise: bool = False,
) -> StreamFunction:
    """A function of streams: elements are pushed in chunks of any length, and come out as soon as
    everything that they read is there::

        x = tw.stream("x", tw.float64)
        b, a = tw.input("b", [], tw.float64), tw.input("a", [], tw.float64)
        n = tw.iter("n")
        y = tw.computation("y", {n: tw.forever}, lambda y: [
            (n == 0, b[()] * x[0]), (n > 0, a[()] * y[n - 1] + b[()] * x[n])], dtype=tw.float64)
        smooth = tw.stream_function("smooth", outputs=[y])
        s = smooth.stream(a=0.9, b=0.1)
        first = s.push(np.ones(100))
        more = s.push(np.ones(7))

    Streams may run at different rates: ``y[m]`` that reads ``x[2 * m + 1]`` has one element for two of
    x. What is read before its first element is said by pieces for small n, as in any recurrence.

    Args:
        name: its name.
        outputs: computations over `tw.forever`, each with one infinite direction.
        inputs: the streams that are pushed, in the order of `push`; else they are in the order in
            which they were declared. Latencies count elements of the first one.
        synchronise: whether parts that no dependence connects run together, an element of the first
            input of each part for each one of the first input of all. They are refused without it.

    Raises:
        DeclarationError: there is no stream to push, or the program needs memory without bound, or
            its rates are not consistent, or some element waits for itself, or parts of it have
            nothing to do with each other. The message has an example.

    Source: Leben and Tzanetakis, ACM TACO 16(3), 2019. The period is one element (their untiled
    schedule) unless `StreamFunction.periodic` says otherwise.
    """
    order = []
    for one in a_list(inputs, "inputs", DECLARATION, "streams"):
        if not isinstance(one, StreamInput):
            raise DeclarationTypeError(f"inputs must be streams, got {one!r}")
        order.append(one.name)
    return StreamFunction(name, outputs, tuple(order), synchronise)


def _checked_outputs(
    name: str, outputs: Sequence[Computation] | Computation
) -> tuple[Computation, ...]:
    listed = [outputs] if isinstance(outputs, Computation) else outputs
    given = a_list(listed, "outputs", DECLARATION, "computations")
    for output in given:
        if not isinstance(output, Computation):
            raise DeclarationTypeError(f"outputs must be computations, got {output!r}")
    if not given:
        raise DeclarationError(f"{name} needs an output")
    return tuple(given)


class StreamFunction:
    """What `tw.stream_function` makes. `stream` opens a stream; a call runs one over whole arrays."""

    def __init__(
        self,
        name: str,
        outputs: Sequence[Computation] | Computation,
        order: tuple[str, ...] = (),
        synchronise: bool = False,
    ) -> None:
        self.name = a_string(name, "the name of a function", DECLARATION)
        if not self.name.isidentifier():
            raise DeclarationError(
                f"a function's name must be an identifier, got {described(name)}"
            )
        inputs = tuple(
            a_string(one, "the name of an input", DECLARATION)
            for one in a_list(order, "order", DECLARATION, "names of inputs")
        )
        a_boolean(synchronise, "synchronise", DECLARATION)
        self._program: Program = gather(name, _checked_outputs(name, outputs), inputs, synchronise)
        self._periods = Periods()
        self._parameters = _sizes_of(self._program)
        check_names(self._program, self._parameters)
        if not self._program.inputs:
            raise _without_stream(self._program)
        self._steps: dict[tuple[tuple[str, int], ...], Step] = {}
        self._lock = threading.Lock()
        if not self._parameters:
            self._step({})

    def __repr__(self) -> str:
        streams = ", ".join(self.inputs)
        return f"<StreamFunction {self.name}({streams}) -> {', '.join(self.outputs)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        packed = _core.pack([output._handle for output in self._program.outputs], [])
        made = (self.name, packed, self.inputs, self._program.synchronise)
        return _restored, (*made, self._periods)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the streams that are pushed, in the order of `push`."""
        return tuple(handle.name for handle in self._program.inputs)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of what comes out."""
        return tuple(output.name for output in self._program.outputs)

    def stream(self, start: Any = None, **arrays: Any) -> Stream:
        """A stream before its first element. What pushes call is compiled now, so that the first one takes
        no longer than others.

        Args:
            start: how many elements of the first input are taken to have been pushed already, none
                without it; they, and all that was computed, are taken to have been 0. If the
                program has an array or a size of this name, it is that one.
            arrays: the finite arrays that the program reads, and its sizes where no array tells
                them: ``k.stream(b=taps, channels=2)``. The arrays are copied.

        Raises:
            ArgumentError: one is missing, unknown, or has another shape or type; the program has no
                stream of these sizes; `start` is negative.
        """
        opened = self._open(start, arrays)
        opened.kernel.compile()
        steady = opened._step.steady
        if steady is not None and steady.is_early and steady.kernel is not None:
            steady.kernel.compile()
        return opened

    def _open(self, start: Any, arrays: dict[str, Any]) -> Stream:
        own = {handle.name for handle in self._program.arrays}.union(self._parameters)
        if "start" in own and start is not None:
            arrays, start = {**arrays, "start": start}, None
        begin = 0 if start is None else an_integer(start, "start", minimum=0)
        step, given, sizes = self._opened(arrays)
        return Stream(self, step, given, sizes, begin)

    def _opened(
        self, arrays: dict[str, Any]
    ) -> tuple[Step, dict[str, np.ndarray[Any, Any]], dict[str, int]]:
        known = {handle.name: handle for handle in self._program.arrays}
        sizes: dict[str, int] = {}
        given: dict[str, np.ndarray[Any, Any]] = {}
        for name, value in arrays.items():
            if name in known:
                given[name] = self._array(known[name], value, sizes)
        for name, value in arrays.items():
            if name in self._parameters:
                self._learn(sizes, name, value, f"{name}=")
            elif name not in known:
                names = ", ".join([*known, *self._parameters]) or "nothing"
                raise ArgumentError(f"{self.name}.stream takes {names}, not {name!r}")
        missing = [one for one in known if one not in given]
        missing += [one for one in self._parameters if one not in sizes]
        if missing:
            raise ArgumentError(
                f"{self.name}.stream needs {', '.join(missing)}: pass {missing[0]}=..."
            )
        return self._step(sizes), given, sizes

    def __call__(
        self, /, *arrays: Any, zi: Stream | None = None, **named: Any
    ) -> tuple[Any, Stream]:
        """The outputs for whole arrays, and the stream behind them, in SciPy's manner::

            y, zf = k(x)                    # from the beginning
            more, zf = k(x2, zi=zf)         # going on; zf of the first call stays as it was

        Args:
            arrays: the streams, as for `Stream.push`; by name, too.
            zi: where to go on; it is not changed.
            named: streams by name, and what `stream` takes.

        Raises:
            ArgumentError: as for `stream` and `Stream.push`; or `zi` is a stream of another function.
            ArgumentTypeError: as for these; or `zi` is no stream.
        """
        pushed = {name: named.pop(name) for name in self.inputs if name in named}
        if zi is not None:
            if not isinstance(zi, Stream):
                raise ArgumentTypeError(
                    f"zi must be the stream that an earlier call has given, got {described(zi)}"
                )
            other = zi._function
            if (other.name, other.inputs, other.outputs) != (self.name, self.inputs, self.outputs):
                raise ArgumentError(f"zi is a stream of {other.name}, not of {self.name}")
            if named:
                raise ArgumentError(
                    f"{', '.join(named)}: zi has them already; pass zi alone or arrays alone"
                )
            state = zi.clone()
        else:
            state = self._open(named.pop("start", None), named)
        return state._whole(arrays, pushed), state

    def batch(self, elements: int | Parameter, **sizes: int) -> Function:
        """The program over so many elements of the first input, as an ordinary function of whole arrays::

            f = k.batch(1000)                   # or k.batch(tw.param("N")): as many as the array has
            y = f(x, a=0.9)
            f.auto_schedule()
            print(f.loops)

        It takes the streams that are pushed, in the order of `push`, and then the finite arrays, and gives
        what `push` and `flush` give together: all elements whose time has begun and that depend on these
        inputs only. All that is said of functions holds: it has loops, a schedule, commands, and exports. Sums
        of floating-point numbers may be added in another order than `push` has, as its schedule says.

        Args:
            elements: how many, or the parameter that is this number, which the arrays then tell.
            sizes: of finite arrays and channels, by name, as for `report`.

        Raises:
            ArgumentError: a size is missing or unknown; the elements of other inputs that go with so many are
                no whole number; the number of elements of a stream is no expression of the parameter.
            ArgumentTypeError: `elements` is neither a number nor a parameter.
            DeclarationError: the program has no stream of these sizes.
        """
        known = self._sizes(sizes, ": k.batch(n, {}=...)")
        streams, timing = timed(self._program, known)
        return batch_function(self._program, streams, timing, known, elements)

    # ---- periods ----

    def periodic(
        self,
        *,
        direction: Sequence[int] | None = None,
        size: int | None = None,
        latency: int | None = None,
        schedule: str | Map | None = None,
        tiles: Sequence[int] = (),
        wavefront: bool = False,
    ) -> StreamFunction:
        """Says which periods the streams opened from now on run in: a command, like those of schedules.

        Without it, a push computes all that can be computed, element by element (a period of the
        untiled schedule). With it, elements wait until a period is complete, so that each call has
        work enough for tiles and threads::

            k.periodic(size=64)                 # 64 elements at a time
            k.periodic(latency=63)              # as many as make no output later than by 63 ticks
            k.periodic(latency=0)               # each element at once, as without the command
            k.periodic(schedule="{ x[n] -> [n, n]; u[n, i] -> [n, n + i] }", tiles=(4, 4),
                       direction=(1, 1), size=2)

        Args:
            direction: the tiling direction, a number for each dimension of the tiled schedule; the
                first legal unit vector without it.
            size: of a period along the direction; the smallest one without it.
            latency: instead of a size: by how many elements of the first input outputs may be later
                than they have to be.
            schedule: when each element of each stream is computed, as isl's text; by default time
                comes first. `report` and `tiling` speak of it, and rows that are kept in place
                are computed in this order, if that is legal.
            tiles: sizes of tiles of the schedule, whose numbers come in front of it.
            wavefront: whether the sum of these numbers comes first, so that tiles may run in
                parallel (Figure 5(b) and (c)); the direction then is (1,) or (0, 1).

        Returns:
            this function.

        Raises:
            DeclarationError: the direction or the size makes no periodic tiling; the message has the
                reason. Nothing changes then.

        Source: Leben and Tzanetakis, ACM TACO 16(3), 2019, section 4.
        """
        before = self._periods
        asked = asked_periods(direction, size, latency, schedule, tiles, wavefront)
        with self._lock:
            self._periods, steps, self._steps = asked, self._steps, {}
        if not self._parameters:
            try:
                self._step({})
            except BaseException:
                with self._lock:
                    self._periods, self._steps = before, steps
                raise
        return self

    def tiling(self, **sizes: int) -> PeriodicTiling:
        """The periodic tiling: direction, offset and size, for sizes by name."""
        return tiling_of(self._sized(sizes), sizes, self._periods)[1]

    def report(self, **sizes: int) -> Text:
        """Period, rates, latencies and buffers as a table, for sizes by name; `Stream.report` has it
        for the sizes of a stream."""
        step = self._sized(sizes)
        return Text(
            f"{reported(step, self.inputs, self.outputs)}\n\n{tiled(step, sizes, self._periods)}"
        )

    def _sized(self, sizes: dict[str, int]) -> Step:
        names = self._parameters
        for name, value in sizes.items():
            if name not in names:
                raise ArgumentError(
                    f"{self.name} has no size {name!r}; it has {', '.join(names) or 'none'}"
                )
            an_integer(value, name, minimum=0)
        missing = [name for name in names if name not in sizes]
        if missing:
            raise ArgumentError(
                f"{self.name} needs a size for {', '.join(missing)}: {missing[0]}=..."
            )
        return self._step(sizes)

    def export_source(
        self,
        directory: str | os.PathLike[str],
        *,
        name: str | None = None,
        largest: int = LARGEST,
        **sizes: int,
    ) -> ExportedStream:
        """Writes the function as C source for audio callbacks: functions that prepare a state, push, and flush, and
        allocate nothing::

            k.export_source("src", C=2)         # src/smooth.c, src/smooth.h

        The caller gives a block of memory for the state, and `push` takes any number of elements. What comes out has
        the bits of `Stream.push`. The page docs/streams.md has an example, docs/export.md says what C computes
        like Python.

        Args:
            directory: where the files go; made where it is not there.
            name: what the C functions' names begin with; by default, the function's own.
            largest: how many elements of the first input are computed at once. Longer pushes take several steps, and
                the state has room for the temporaries of one. Where subscripts are data, a push takes at most so many.
            sizes: of finite arrays and channels, by name.

        Raises:
            ArgumentError: a size is missing or unknown.
            ExportError: a name that C programs cannot have, or a program that needs what C does not give: subscripts
                that are data in what is computed when a stream is opened, time in another dimension than the first.
            OSError: the files cannot be written.
        """
        known = self._sizes(sizes, " to be written in C: k.export_source(directory, {}=...)")
        step = self._step(known)
        return export_stream_source(
            step, self.inputs, self.outputs, known, directory, name, largest
        )

    @property
    def c(self) -> Text:
        """The function as C source, header first; of one with sizes, `export_source` takes these.

        Raises:
            ExportError: the function has sizes; else as for `export_source`.
        """
        if self._parameters:
            example = f"k.export_source(directory, {self._parameters[0]}=...)"
            raise ExportError(
                f"{self.name} needs {', '.join(self._parameters)} to be written in C: {example}"
            )
        known: dict[str, int] = {}
        return Text(stream_c_text(self._step(known), self.inputs, self.outputs, known))

    def _sizes(self, given: dict[str, Any], call: str) -> dict[str, int]:
        """All sizes, checked.

        Args:
            call: for what, and how they are given, with braces for the first one that is missing.
        """
        known: dict[str, int] = {}
        for name, value in given.items():
            if name not in self._parameters:
                names = ", ".join(self._parameters) or "no sizes"
                raise ArgumentError(f"{self.name} has {names}, not {name!r}")
            self._learn(known, name, value, f"{name}=")
        missing = [name for name in self._parameters if name not in known]
        if missing:
            raise ArgumentError(f"{self.name} needs {', '.join(missing)}{call.format(missing[0])}")
        return known

    def _array(
        self, handle: _core.Computation, value: Any, sizes: dict[str, int]
    ) -> np.ndarray[Any, Any]:
        dtype = as_dtype(handle.type).dtype
        try:
            given = np.asarray(value)
        except (TypeError, ValueError) as error:
            raise ArgumentTypeError(f"{handle.name} must be an array: {error}") from None
        if not np.can_cast(given.dtype, dtype, "same_kind"):
            raise ArgumentTypeError(
                f"{handle.name} must hold {dtype}, got {given.dtype} of another kind"
            )
        if given.ndim != handle.rank:
            raise ArgumentError(
                f"{handle.name} must have {counted(handle.rank, 'dimension')}, got {given.ndim}"
            )
        for extent, expression in zip(given.shape, handle.extents, strict=True):
            if expression.kind == "parameter":
                self._learn(sizes, expression.name, extent, f"the shape of {handle.name}")
        try:
            return np.array(given, dtype=dtype, order="C")
        except (TypeError, ValueError, OverflowError) as error:
            raise ArgumentTypeError(f"{handle.name} must hold {dtype}: {error}") from None

    def _learn(self, sizes: dict[str, int], name: str, value: Any, what: str) -> None:
        size = an_integer(value, name, ARGUMENT, minimum=0, bits=64)
        if sizes.setdefault(name, size) != size:
            raise ArgumentError(f"{name} is {sizes[name]}, and {size} by {what}")

    def _step(self, sizes: dict[str, int]) -> Step:
        key = tuple(sorted(sizes.items()))
        with self._lock:
            if key not in self._steps:
                step = self._made(sizes)
                step.collected = collected_ticks(step, sizes, self._periods)
                self._steps[key] = step
            return self._steps[key]

    def _made(self, sizes: dict[str, int]) -> Step:
        try:
            return kept_step(self._program, sizes, self._periods.order(sizes))
        except DeclarationError as error:
            if not sizes:
                raise
            given = ", ".join(f"{name}={value}" for name, value in sizes.items())
            raise ArgumentError(f"no stream of {self.name} has {given}: {error.message}") from error


def _without_stream(program: Program) -> DeclarationError:
    """Nothing is pushed; perhaps an array was meant to be."""
    for handle in program.arrays:
        if "forever" in handle.domain.parameters():
            return refusal(
                f"the input {handle.name} of {program.name} has no end: declare it with "
                f'tw.stream("{handle.name}", ...), and its elements are pushed',
                handle,
            )
    return DeclarationError(
        f"{program.name} reads no stream, so nothing says how far it runs; declare one with tw.stream"
    )


def _restored(
    name: str,
    packed: tuple[Any, ...],
    order: tuple[str, ...],
    synchronise: bool,
    periods: Periods,
) -> StreamFunction:
    """What was pickled: the outputs together, so that they share what they read."""
    outputs = []
    for handle in _core.unpack(packed)[0]:
        output = Computation.__new__(Computation)
        output._handle = handle
        outputs.append(output)
    made = StreamFunction(name, tuple(outputs), order, synchronise)
    made._periods, made._steps = periods, {}
    return made


def _sizes_of(program: Program) -> tuple[str, ...]:
    """The sizes of finite arrays and of streams' other dimensions."""
    names: dict[str, None] = {}
    for handle in (*program.arrays, *program.inputs, *program.computations):
        for name in handle.domain.parameters():
            names[name] = None
        for _, value in handle.pieces:
            for node in value.nodes():
                if node.kind == "parameter":
                    names[node.name] = None
        for _, read, _ in program.reads(handle):  # the ranges of reductions
            names.update(dict.fromkeys(read.parameters()))
    names.pop("forever", None)
    return tuple(names)
