"""Streams that are open: what was kept of the elements so far, and the pushing of more."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from ..base.checks import ARGUMENT, an_integer, described, made_by
from ..base.errors import ArgumentError, ArgumentTypeError
from ..functions.functions import Function
from .steps import Step

__all__ = ["Stream"]

Array = np.ndarray[Any, Any]


class _Owner(Protocol):
    """The stream function that a stream runs."""

    name: str

    @property
    def inputs(self) -> tuple[str, ...]: ...

    @property
    def outputs(self) -> tuple[str, ...]: ...

    def _step(self, sizes: dict[str, int]) -> Step: ...


class Stream:
    """A run of a stream function; made by `StreamFunction.stream`.

    Streams of one function are independent; several threads may push one each. Pickles and clones
    go on where the original was.
    """

    def __init__(
        self,
        function: _Owner,
        step: Step,
        arrays: dict[str, Array],
        sizes: dict[str, int],
    ) -> None:
        made_by("StreamFunction.stream", step, Step, "tw.Stream")
        self._function, self._step = function, step
        self._arrays, self._sizes = arrays, sizes
        self._lock = threading.Lock()
        self._closed = False
        self._begin()

    def reset(self) -> None:
        """Back to the time before the first element; the finite arrays stay. A closed stream stays
        closed."""
        with self._lock:
            self._begin()

    def _begin(self) -> None:
        self._ticks = 0
        self._past = {
            name: np.zeros(shape, dtype) for name, (shape, dtype) in self._step.past.items()
        }
        self._spare = {name: np.empty_like(array) for name, array in self._past.items()}

    # ---- what it is like ----

    @property
    def kernel(self) -> Function:
        """The function that each push calls: to look at its loops, layers and code."""
        return self._step.kernel

    @property
    def latency(self) -> dict[str, int]:
        """By how many elements each output is behind the input, at most: how far it reads ahead."""
        return {name: self._step.timing.latency(name) for name in self._function.outputs}

    @property
    def period(self) -> dict[str, int]:
        """How many elements of each input and output make up the smallest time after which
        everything repeats."""
        timing = self._step.timing
        names = (*self._function.inputs, *self._function.outputs)
        return {name: int(timing.rates[name] * timing.period) for name in names}

    @property
    def state_nbytes(self) -> int:
        """Bytes of what is kept from one call to the next."""
        return sum(array.nbytes for array in self._past.values())

    @property
    def pushed(self) -> dict[str, int]:
        """How many elements of each input there were so far."""
        counts = self._step.timing.counts(self._ticks)
        return {name: counts[name] for name in self._function.inputs}

    def report(self) -> str:
        """Rates, latencies and memory as a table."""
        timing = self._step.timing
        rows = [("stream", "rate", "latency", "kept", "bytes")]
        for name in timing.rates:
            late = str(timing.latency(name)) if name in self._function.outputs else ""
            size = self._past[name].nbytes
            rows.append((name, str(timing.rates[name]), late, str(timing.kept[name]), str(size)))
        widths = [max(len(row[c]) for row in rows) for c in range(5)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"after {self._ticks}"
        return f"<Stream of {self._function.name}, {state}, {self.state_nbytes} bytes>"

    # ---- pushing ----

    def counts_after(self, elements: int) -> dict[str, int]:
        """How many elements of each output a push of so many elements of the first input gives.

        Raises:
            ArgumentError: the number is negative.
            ArgumentTypeError: it is no integer.
        """
        ticks = self._ticks + an_integer(elements, "elements", ARGUMENT, minimum=0, bits=64)
        before, after = self._known(self._ticks), self._known(ticks)
        return {name: after[name] - before[name] for name in self._function.outputs}

    def _known(self, ticks: int) -> dict[str, int]:
        counts = self._step.timing.counts(ticks)
        return {name: max(0, count) for name, count in counts.items()}

    def push(self, /, *chunks: Any, out: Any = None, **named: Any) -> Any:
        """The elements that can be computed now that these are there.

        Args:
            chunks: the next elements of each input, in the order of `StreamFunction.inputs`; any
                number of them, 0 and 1 included. Of several inputs, numbers that fit their rates.
            out: arrays for the results, which then are not allocated; of several outputs a tuple.
            named: chunks by the names of their inputs.

        Returns:
            an array of the elements that are new; a tuple where there are several outputs. They are
            those of the definition, bit for bit, however the input is cut into chunks.

        Raises:
            ArgumentError: a chunk is missing, has another shape or a number of elements that does
                not fit. Nothing is lost then: the chunk can be pushed again, mended.
            ArgumentTypeError: a chunk has another type.
        """
        with self._lock:
            if self._closed:
                raise ArgumentError(f"the stream of {self._function.name} is closed")
            pushed = self._chunks(chunks, named)
            ticks = self._ticks + self._elapsed(pushed)
            outputs = self._outputs(out, ticks)
            times = self._times(ticks)
            past = {f"{name}_past": array for name, array in self._past.items()}
            self._step.kernel(
                **pushed,
                **past,
                **self._needed(),
                **times,
                out=(*outputs, *self._spare.values()),
            )
            self._past, self._spare = self._spare, self._past
            self._ticks = ticks
        return outputs[0] if len(outputs) == 1 else outputs

    def flush(self) -> Any:
        """The elements that depend on what was pushed only and have not come out yet. There are
        none: `push` gives each element as soon as it can be computed."""
        return self.push(*self._nothing())

    def close(self) -> None:
        """No more elements: `push` is refused from now on."""
        self._closed = True

    def clone(self) -> Stream:
        """Another stream in the same state."""
        other = Stream.__new__(Stream)
        other.__setstate__(self.__getstate__())
        return other

    def process(self, chunks: Iterable[Any]) -> Iterator[Any]:
        """Pushes chunk after chunk (of several inputs: tuples) and gives what comes out.

        Raises:
            ArgumentTypeError: `chunks` is not iterable; what `push` raises.
        """
        if not isinstance(chunks, Iterable):
            raise ArgumentTypeError(f"chunks must be iterable, got {described(chunks)}")
        for chunk in chunks:
            yield self.push(*chunk) if isinstance(chunk, tuple) else self.push(chunk)

    async def aprocess(self, chunks: AsyncIterable[Any]) -> AsyncIterator[Any]:
        """`process` for asyncio."""
        if not isinstance(chunks, AsyncIterable):
            raise ArgumentTypeError(
                f"chunks must be an asynchronous iterable, got {described(chunks)}; use process"
            )
        async for chunk in chunks:
            yield self.push(*chunk) if isinstance(chunk, tuple) else self.push(chunk)

    # ---- state as a value ----

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {
                "function": self._function,
                "arrays": self._arrays,
                "sizes": self._sizes,
                "ticks": self._ticks,
                "past": {name: array.copy() for name, array in self._past.items()},
                "closed": self._closed,
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        function = state["function"]
        step = function._step(state["sizes"])
        Stream.__init__(self, function, step, state["arrays"], state["sizes"])
        self._ticks, self._past, self._closed = state["ticks"], state["past"], state["closed"]

    # ---- checks ----

    def _nothing(self) -> list[Array]:
        step = self._step
        return [
            np.empty(
                [0 if extent is None else extent for extent in step.shapes[name]],
                step.past[name][1],
            )
            for name in self._function.inputs
        ]

    def _chunks(self, chunks: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Array]:
        names = self._function.inputs
        own = self._function.name
        if len(chunks) > len(names):
            raise ArgumentError(
                f"{own} has {len(names)} streams to push ({', '.join(names)}), got {len(chunks)}"
            )
        given = dict(zip(names, chunks, strict=False))
        for name, chunk in named.items():
            if name not in names:
                raise ArgumentError(f"{own} has no stream {name!r}; it has {', '.join(names)}")
            if name in given:
                raise ArgumentError(f"{name} is given twice")
            given[name] = chunk
        missing = [name for name in names if name not in given]
        if missing:
            raise ArgumentError(f"a chunk of {', '.join(missing)} is missing")
        return {name: self._chunk(name, given[name]) for name in names}

    def _chunk(self, name: str, value: Any) -> Array:
        try:
            chunk = np.asarray(value)
        except (TypeError, ValueError) as error:
            raise ArgumentTypeError(f"{name} must be an array: {error}") from None
        dtype = self._step.past[name][1]
        if chunk.dtype != dtype:
            raise ArgumentTypeError(
                f"{name} must be {dtype}, got {chunk.dtype}; convert it with .astype({dtype.name!r})"
            )
        shape = self._step.shapes[name]
        fits = chunk.ndim == len(shape) and all(
            extent is None or extent == own for extent, own in zip(shape, chunk.shape, strict=True)
        )
        if not fits:
            wanted = ", ".join("any" if extent is None else str(extent) for extent in shape)
            raise ArgumentError(
                f"a chunk of {name} must have the shape ({wanted}), got {chunk.shape}"
            )
        return chunk

    def _elapsed(self, pushed: dict[str, Array]) -> int:
        step = self._step
        first = self._function.inputs[0]
        lengths: dict[str, int] = {
            name: chunk.shape[step.streams[name].axis] for name, chunk in pushed.items()
        }
        for name, length in lengths.items():
            expected = step.timing.rates[name] * lengths[first]
            if Fraction(length) != expected:
                raise ArgumentError(
                    f"{lengths[first]} elements of {first} go with {expected} of {name}, got {length}"
                )
        return lengths[first]

    def _outputs(self, out: Any, ticks: int) -> tuple[Array, ...]:
        step, names = self._step, self._function.outputs
        before, after = self._known(self._ticks), self._known(ticks)
        shapes = [
            tuple(after[name] - before[name] if e is None else e for e in step.shapes[name])
            for name in names
        ]
        if out is None:
            return tuple(
                np.empty(shape, step.past[name][1])
                for name, shape in zip(names, shapes, strict=True)
            )
        arrays = out if isinstance(out, tuple | list) else (out,)
        if len(arrays) != len(names):
            raise ArgumentError(f"out must have {len(names)} arrays, got {len(arrays)}")
        for name, shape, array in zip(names, shapes, arrays, strict=True):
            if not isinstance(array, np.ndarray) or array.shape != shape:
                got = getattr(array, "shape", type(array).__name__)
                raise ArgumentError(f"out of {name} must have the shape {shape}, got {got}")
        return tuple(arrays)

    def _times(self, ticks: int) -> dict[str, int]:
        timing = self._step.timing
        before, after = timing.counts(self._ticks), timing.counts(ticks)
        times: dict[str, int] = {}
        for name in self._step.own_times:
            times[f"{name}_begin"], times[f"{name}_end"] = before[name], after[name]
        for name in self._step.first_times:
            times[f"{name}_first"] = max(before[name], min(0, after[name]))
        return times

    def _needed(self) -> dict[str, Any]:
        return {**self._arrays, **self._sizes}
