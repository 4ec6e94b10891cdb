"""Streams behind the interfaces of other systems: PortAudio's callback and GNU Radio's ``work``.

A callback gives as many elements as it takes, from the first call on: silence stands for what has not come out yet. A
``work`` takes as much of its inputs as gives what its outputs have room for, and says how much that was. Both use what
`Stream` promises to everybody: that results do not depend on the cuts, and that a push that is refused changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.checks import ARGUMENT, an_integer, described
from ..base.errors import ArgumentError, ArgumentTypeError
from .states import Stream

__all__ = ["AudioCallback", "Work", "callback", "work"]

Array = np.ndarray[Any, Any]

WORK_DONE = -1
"""What `Work` returns of a closed stream, as GNU Radio has it."""

WORK_CALLED_PRODUCE = -2
"""What `Work` returns where its outputs have got different numbers of elements, as GNU Radio has it."""


def _a_stream(value: object, what: str) -> Stream:
    if not isinstance(value, Stream):
        raise ArgumentTypeError(
            f"{what} takes a stream, which k.stream(...) opens, got {described(value)}"
        )
    return value


def _ports(stream: Stream, what: str) -> tuple[list[Array], list[Array]]:
    """Arrays without elements, as each input takes and each output gives. Compiles the kernel, so that
    the first call does not have to."""
    function = stream._function
    inputs = list(stream._nothing())
    given = stream.clone()
    given._closed = False
    stream.kernel.compile()
    found = given.push(*inputs)
    outputs = list(found) if isinstance(found, tuple) else [found]
    for name, array in zip((*function.inputs, *function.outputs), (*inputs, *outputs), strict=True):
        if array.ndim == 0 or array.shape[0] != 0:
            raise ArgumentError(
                f"{what} needs the time as the first dimension of each stream, which it is not of "
                f"{name} in {function.name}"
            )
    return inputs, outputs


# ---- PortAudio ----


def _columns(block: Any, port: Array, what: str, name: str) -> Array:
    """A block of frames as elements of a stream: one without channels has one column there."""
    if not isinstance(block, np.ndarray):
        raise ArgumentTypeError(f"{what} must be a NumPy array, got {described(block)}")
    if port.ndim == 1 and block.ndim == 2 and block.shape[1] == 1:
        frames: Array = block[:, 0]
        return frames
    if block.shape[1:] != port.shape[1:] or block.ndim != port.ndim:
        channels = port.shape[1] if port.ndim == 2 else 1
        raise ArgumentError(
            f"{what} must have the shape (frames, {channels}), which is what {name} is, got {block.shape}"
        )
    return block


class AudioCallback:
    """A stream as PortAudio's callback; made by `tw.streams.callback`.

    Attributes:
        stream: what it pushes.
        latency: by how many frames what is heard is late.
        dropouts: how many blocks were silence since another thread was pushing the stream.
        flagged: how many blocks came with a status: PortAudio says so of overflows and underflows.
        error: what was raised last, None if nothing.
    """

    def __init__(self, stream: Stream) -> None:
        own = "tw.streams.callback"
        function = _a_stream(stream, own)._function
        if len(function.inputs) != 1 or len(function.outputs) != 1:
            raise ArgumentError(
                f"{own} takes a stream with one input and one output; {function.name} has "
                f"{len(function.inputs)} and {len(function.outputs)}: use channels, or tw.streams.work"
            )
        self.stream = stream
        (self._input,), (self._output,) = _ports(stream, own)
        self._names = function.inputs[0], function.outputs[0]
        period = stream.period
        if period[self._names[0]] != period[self._names[1]]:
            raise ArgumentError(
                f"{own} gives as many elements as it takes, but {function.name} gives "
                f"{period[self._names[1]]} for {period[self._names[0]]}: use tw.streams.work"
            )
        for port in (self._input, self._output):
            if port.ndim > 2:
                raise ArgumentError(f"{own} takes streams of numbers or of channels")
        # What comes out is never more behind than after the latency, in one of a period.
        late = stream.latency[self._names[1]]
        numbers = range(late, late + stream._step.timing.onset + period[self._names[0]])
        self.latency = max(0, *(number - self._gives(number) for number in numbers), 0)
        # What comes out next; in the beginning, the silence before it.
        self._kept = np.zeros((self.latency, *self._output.shape[1:]), self._output.dtype)
        self.dropouts = 0
        self.flagged = 0
        self.error: BaseException | None = None

    def __repr__(self) -> str:
        return f"<callback of {self.stream!r}>"

    def __call__(
        self, indata: Any, outdata: Any, frames: Any, time: Any = None, status: Any = None
    ) -> None:
        """Pushes a block and fills another one.

        Args:
            indata: frames of shape (frames, channels).
            outdata: where what comes out goes, of the same shape but for the number of channels.
            frames: how many.
            time: not used.
            status: what PortAudio says of blocks that were lost; counted.

        Raises:
            ArgumentError: a block has another shape, or the stream is closed. `outdata` is silence then, the stream is
                as it was, and `error` keeps what was raised.
            ArgumentTypeError: a block is no array, or of another kind of type.
        """
        if status:
            self.flagged += 1
        try:
            self._call(indata, outdata, frames)
        except BaseException as error:
            self.error = error
            if isinstance(outdata, np.ndarray) and outdata.flags.writeable:
                outdata.fill(0)
            raise

    def _call(self, indata: Any, outdata: Any, frames: Any) -> None:
        number = an_integer(frames, "frames", ARGUMENT)
        given = _columns(indata, self._input, "indata", self._names[0])
        wanted = _columns(outdata, self._output, "outdata", self._names[1])
        for block, what in ((given, "indata"), (wanted, "outdata")):
            if len(block) != number:
                raise ArgumentError(f"{what} has {len(block)} frames, and frames is {number}")
        for source, target, what in (
            (given.dtype, self._input.dtype, "indata"),
            (self._output.dtype, wanted.dtype, "outdata"),
        ):
            if not np.can_cast(source, target, "same_kind"):
                raise ArgumentTypeError(
                    f"{what}: {source} does not become {target}, of another kind"
                )
        if not wanted.flags.writeable:
            raise ArgumentError("outdata is read-only")
        if self.stream._lock.locked():  # nobody may wait in a callback
            self.dropouts += 1
            wanted.fill(0)
            return
        given = given.astype(self._input.dtype, copy=False)
        direct = not len(self._kept) and wanted.dtype == self._output.dtype
        if direct and wanted.flags.c_contiguous and self._gives(number) == number:
            self.stream.push(given, out=wanted)
            return
        ready = np.concatenate([self._kept, self.stream.push(given)])
        wanted[:] = 0
        wanted[:] = ready[:number]
        self._kept = ready[number:]

    def _gives(self, number: int) -> int:
        return self.stream.counts_after(number)[self._names[1]]


def callback(stream: Stream) -> AudioCallback:
    """A stream as the callback of an audio system in PortAudio's manner (sounddevice, PyAudio)::

        heard = tw.streams.callback(k.stream(h=taps, C=2))
        with sounddevice.Stream(channels=2, callback=heard):
            ...

    It is called as ``heard(indata, outdata, frames, time, status)`` with arrays of shape (frames, channels), which have
    one column where elements of the stream are numbers. `outdata` is filled in each call; of a stream with latency, it
    begins with silence. It waits for nobody: while another thread is pushing the stream, it gives silence and counts a
    dropout. What goes wrong is raised, after `outdata` has become silence, and kept in ``heard.error``. The kernel is
    compiled before the first call.

    Args:
        stream: one with one input and one output, of the same rate.

    Raises:
        ArgumentError: the stream has several inputs or outputs, or another rate at the output.
        ArgumentTypeError: it is no stream.
    """
    return AudioCallback(stream)


# ---- GNU Radio ----


class Work:
    """A stream as what a block of GNU Radio does; made by `tw.streams.work`.

    Attributes:
        stream: what it pushes.
        in_sig: the types of the inputs, as ``gr.basic_block`` takes them: a type, or a pair of a type and a number of
            elements.
        out_sig: those of the outputs.
        consumed: how many elements of each input the latest call has taken.
        produced: how many elements of each output it has given.
    """

    def __init__(self, stream: Stream) -> None:
        own = "tw.streams.work"
        function = _a_stream(stream, own)._function
        self.stream = stream
        self._inputs, self._outputs = _ports(stream, own)
        self._names = function.inputs, function.outputs
        period = stream.period
        ticks = period[function.inputs[0]]
        # Pushes are of so many elements, or of a multiple.
        common = math.gcd(*(period[name] for name in function.inputs))
        self._unit = tuple(period[name] // common for name in function.inputs)
        self._per_tick = {name: (period[name], ticks) for name in function.outputs}
        self.in_sig = [self._signature(port) for port in self._inputs]
        self.out_sig = [self._signature(port) for port in self._outputs]
        self.consumed = [0 for _ in self._inputs]
        self.produced = [0 for _ in self._outputs]
        self._left = list(self._outputs)  # what there was no room for

    @staticmethod
    def _signature(port: Array) -> Any:
        if port.ndim == 1:
            return port.dtype.type
        return (port.dtype.type, math.prod(port.shape[1:]))

    def __repr__(self) -> str:
        return f"<work of {self.stream!r}>"

    @property
    def relative_rate(self) -> float:
        """How many elements of the first output there are for one of the first input."""
        number, ticks = self._per_tick[self._names[1][0]]
        return number / ticks

    def forecast(self, noutput_items: Any, ninputs: Any = None) -> list[int]:
        """How many elements of each input give so many of each output.

        Args:
            noutput_items: the number.
            ninputs: the number of inputs, which GNU Radio says again.
        """
        wanted = an_integer(noutput_items, "noutput_items", ARGUMENT)
        units = 0
        while wanted > 0 and min(self._gives(units)) < wanted:
            units = max(1, 2 * units)
        low = units // 2
        while units - low > 1:
            middle = (low + units) // 2
            if min(self._gives(middle)) < wanted:
                low = middle
            else:
                units = middle
        return [units * number for number in self._unit]

    def __call__(self, input_items: Sequence[Any], output_items: Sequence[Any]) -> int:
        """Takes elements of the inputs and gives elements of the outputs: of the inputs, as much as gives what
        the outputs have room for.

        Args:
            input_items: an array of each input: what there is.
            output_items: an array of each output: where there is room.

        Returns:
            how many elements each output has got, -1 of a closed stream, or -2 where the outputs have got different
            numbers. `consumed` and `produced` say it of each.

        Raises:
            ArgumentError: the number of arrays, or the shape of one, is another one.
            ArgumentTypeError: a type is another one.
        """
        given = self._arrays(input_items, self._inputs, self._names[0], "input_items")
        rooms = self._arrays(output_items, self._outputs, self._names[1], "output_items")
        for name, room in zip(self._names[1], rooms, strict=True):
            if not room.flags.writeable:
                raise ArgumentError(f"output_items of {name} are read-only")
        self.consumed = [0 for _ in given]
        self.produced = [0 for _ in rooms]
        if self.stream._closed and not any(len(left) for left in self._left):
            return WORK_DONE
        delivered = self._deliver(rooms, [0 for _ in rooms])
        free = [len(room) - number for room, number in zip(rooms, delivered, strict=True)]
        units = 0
        if not self.stream._closed and not any(len(left) for left in self._left):
            most = min(len(one) // number for one, number in zip(given, self._unit, strict=True))
            units = self._fitting(most, free)
            if units < most and min(free) > 0 and not any(self._gives(units)):
                units += 1  # a period gives more at once than there is ever room for
            self._push([one[: units * n] for one, n in zip(given, self._unit, strict=True)])
        self.consumed = [units * number for number in self._unit]
        self.produced = self._deliver(rooms, delivered)
        return self.produced[0] if len(set(self.produced)) == 1 else WORK_CALLED_PRODUCE

    work = general_work = __call__

    def _push(self, chunks: list[Array]) -> None:
        found = self.stream.push(*chunks)
        self._left = list(found) if isinstance(found, tuple) else [found]

    def _deliver(self, rooms: list[Array], filled: list[int]) -> list[int]:
        """Moves what there is to where there is room behind what is filled; how much is filled then."""
        ends = []
        for k, (room, begin) in enumerate(zip(rooms, filled, strict=True)):
            number = min(len(self._left[k]), len(room) - begin)
            room[begin : begin + number] = self._left[k][:number]
            self._left[k] = self._left[k][number:]
            ends.append(begin + number)
        return ends

    def _gives(self, units: int) -> list[int]:
        counts = self.stream.counts_after(units * self._unit[0])
        return [counts[name] for name in self._names[1]]

    def _fitting(self, most: int, rooms: list[int]) -> int:
        """The largest number of units that gives no more than there is room for."""
        low, high = 0, most + 1
        while high - low > 1:
            middle = (low + high) // 2
            if all(one <= room for one, room in zip(self._gives(middle), rooms, strict=True)):
                low = middle
            else:
                high = middle
        return low

    @staticmethod
    def _arrays(items: Any, ports: list[Array], names: Sequence[str], what: str) -> list[Array]:
        if not isinstance(items, list | tuple) or len(items) != len(ports):
            number = len(items) if isinstance(items, list | tuple) else described(items)
            raise ArgumentError(
                f"{what} must be a list of {len(ports)} arrays, of {', '.join(names)}; got {number}"
            )
        found = []
        for item, port, name in zip(items, ports, names, strict=True):
            if not isinstance(item, np.ndarray):
                raise ArgumentTypeError(
                    f"{what} of {name} must be a NumPy array, got {described(item)}"
                )
            if item.dtype != port.dtype:
                raise ArgumentTypeError(f"{what} of {name} must be {port.dtype}, got {item.dtype}")
            if item.ndim == 2 and port.ndim > 2 and item.shape[1] == math.prod(port.shape[1:]):
                item = item.reshape(-1, *port.shape[1:])
            if item.ndim != port.ndim or item.shape[1:] != port.shape[1:]:
                shape = ", ".join(["any", *map(str, port.shape[1:])])
                raise ArgumentError(
                    f"{what} of {name} must have the shape ({shape}), got {item.shape}"
                )
            found.append(item)
        return found


def work(stream: Stream) -> Work:
    """A stream as what a block of GNU Radio does, of any rates::

        class Resample(gr.basic_block):
            def __init__(self):
                self.stream = tw.streams.work(tw.kernels.dsp.resampler(3, 2).stream(h=taps))
                gr.basic_block.__init__(self, "resample", self.stream.in_sig, self.stream.out_sig)
            def forecast(self, noutput_items, ninputs):
                return self.stream.forecast(noutput_items, ninputs)
            def general_work(self, input_items, output_items):
                produced = self.stream.work(input_items, output_items)
                for port, number in enumerate(self.stream.consumed):
                    self.consume(port, number)
                return produced

    A call takes of its inputs what gives as much as its outputs have room for; ``consumed`` and ``produced`` say how
    many elements that were.

    Args:
        stream: any one whose arrays have the time as their first dimension.

    Raises:
        ArgumentError: the time is another dimension.
        ArgumentTypeError: it is no stream.
    """
    return Work(stream)
