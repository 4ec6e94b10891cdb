"""Streams that are open: what was kept of the elements so far, and the pushing of more."""

from __future__ import annotations

import math
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from .. import _core
from ..base.checks import an_integer, described, made_by
from ..base.display import Text
from ..base.errors import ArgumentError, ArgumentTypeError, TilewrightError
from ..functions.functions import Function
from .plans import Memory, Plan, make_plan, new_rows, output_shapes
from .reports import reported
from .steps import Step
from .waiting import Waiting

__all__ = ["Stream"]

_PLANS = 256
"""So many kinds of pushes are remembered."""

Array = np.ndarray[Any, Any]


def _fit(arrays: tuple[Any, ...], shapes: tuple[tuple[int, ...], ...]) -> bool:
    if len(arrays) != len(shapes) or len(shapes) == 1:
        return False
    for array, shape in zip(arrays, shapes):  # noqa: B905
        if type(array) is not np.ndarray or array.shape != shape:
            return False
    return True


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
        start: int = 0,
        tables: dict[str, Array] | None = None,
    ) -> None:
        made_by("StreamFunction.stream", step, Step, "tw.Stream")
        self._function, self._step = function, step
        self._arrays, self._sizes, self._start = arrays, sizes, start
        if tables is None:
            tables = {} if step.opening is None else step.opening.compute({**arrays, **sizes})
        self._tables = tables  # which nothing changes: clones have the same ones
        self._inputs, self._outputs = function.inputs, function.outputs
        self._input_types = tuple(step.types[name] for name in self._inputs)
        self._kernel = step.kernel
        self._kind = step.repeats.kind
        self._is_plain = len(self._inputs) == 1 and step.collected == 1
        self._lock = threading.Lock()
        self._closed = False
        self.reset()

    def reset(self) -> None:
        """Back to the time before the first element; the finite arrays stay, those that opening the
        stream has computed, too. A closed stream stays
        closed."""
        with self._lock:
            self._memory = Memory(self._step, {**self._arrays, **self._tables}, self._sizes)
            self._side = 0  # of the memory: the copy that is read next
            self._plans: dict[Any, Plan] = {}
            self._again: Any = None  # what the next push is like if it is like the last one
            self._torn = False
            self._go_to(self._start)
            self._waiting = Waiting(self._step, self._inputs)

    # ---- what it is like ----

    @property
    def kernel(self) -> Function:
        """The function that each push calls: to look at its loops, layers and code."""
        return self._step.kernel

    @property
    def long_kernel(self) -> Function | None:
        """The function that pushes call that are long enough to be computed in tiles of time, once no
        element depends on the beginning; None if there is none. It is made when it is first needed."""
        return None if self._step.steady is None else self._step.steady.kernel

    @property
    def latency(self) -> dict[str, int]:
        """By how many elements each output is behind the input, at most: how far it reads ahead, and
        how many elements a period collects."""
        step = self._step
        return {name: step.timing.latency(name, step.collected) for name in self._outputs}

    @property
    def period(self) -> dict[str, int]:
        """How many elements of each input and output make up a period: the smallest time after which
        everything repeats, or what `StreamFunction.periodic` says."""
        step = self._step
        ticks = math.lcm(step.timing.period, step.collected)
        return {name: int(step.timing.rates[name] * ticks) for name in self._inputs + self._outputs}

    @property
    def state_nbytes(self) -> int:
        """Bytes of what is kept from one call to the next; what no call changes is not counted."""
        return self._memory.nbytes() + self._waiting.nbytes

    @property
    def pushed(self) -> dict[str, int]:
        """How many elements of each input there were so far."""
        counts = self._step.timing.counts(self._ticks + self._waiting.ticks)
        return {name: counts[name] for name in self._inputs}

    def report(self) -> Text:
        """Period, rates, latencies and buffers as a table; see `StreamFunction.report`."""
        return reported(self._step, self._inputs, self._outputs, self._waiting.nbytes)

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"after {self._ticks}"
        return f"<Stream of {self._function.name}, {state}, {self.state_nbytes} bytes>"

    # ---- pushing ----

    def counts_after(self, elements: int) -> dict[str, int]:
        """How many elements of each output a push of so many elements of the first input gives.

        Raises:
            ArgumentTypeError: the number is no integer.
            ArgumentError: it is negative.
        """
        ticks = an_integer(elements, "the number of elements", minimum=0)
        end = self._ticks + self._due(ticks)
        before, after = self._known(self._ticks), self._known(end)
        return {name: after[name] - before[name] for name in self._outputs}

    def _known(self, ticks: int) -> dict[str, int]:
        counts = self._step.timing.counts(ticks)
        return {name: max(0, count) for name, count in counts.items()}

    def _due(self, ticks: int) -> int:
        """How many ticks run after so many more: those up to the end of a period."""
        collected = self._step.collected
        end = self._ticks + self._waiting.ticks + ticks
        return max(0, end // collected * collected - self._ticks)

    @_core.push_method
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
            if out is not None and len(chunks) == 1 and not named:
                chunk = chunks[0]
                if type(chunk) is np.ndarray and chunk.dtype is self._input_types[0]:
                    plan = self._plans.get((self._phase, chunk.shape))
                    if plan is not None and plan.calls is not None:
                        if type(out) is np.ndarray:
                            if len(plan.shapes) == 1 and out.shape == plan.shapes[0]:
                                self._run(plan, chunks, (out,))
                                return out
                        elif type(out) is tuple and _fit(out, plan.shapes):
                            self._run(plan, chunks, out)
                            return out
            self._require_open()
            if named or len(chunks) != len(self._inputs):
                chunks = self._ordered(chunks, named)
            chunks = self._checked(chunks)
            if self._step.collected > 1 or self._ahead(chunks):
                return self._collect(chunks, out, everything=False)
            plan = self._plan(chunks)
            results = self._into(out, plan.shapes)
            self._run(plan, chunks, results)
        return results[0] if len(results) == 1 else results

    def flush(self) -> Any:
        """The elements that depend on what was pushed only and have not come out yet. `push` gives
        each element as soon as it can be computed, so that there are none, unless it collects
        whole periods (`StreamFunction.periodic`)."""
        with self._lock:
            self._require_open()
            return self._collect(self._nothing(), None, everything=True)

    def _whole(self, chunks: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """`push` and `flush` at once."""
        with self._lock:
            self._require_open()
            return self._collect(self._checked(self._ordered(chunks, named)), None, everything=True)

    # ---- running ----

    def _go_to(self, ticks: int) -> None:
        self._ticks = ticks
        self._phase = self._kind(ticks)
        self._again = None

    def _forget_plans(self) -> None:
        self._plans.clear()
        self._again = None

    def _plan(self, chunks: tuple[Array, ...]) -> Plan:
        """Of chunks that were checked."""
        shapes = tuple(chunk.shape for chunk in chunks)
        key = (self._phase, shapes[0] if self._is_plain else shapes)
        plan = self._plans.get(key)
        if plan is None:
            ticks = self._elapsed(chunks)
            rows = new_rows(self._step, self._phase, self._phase + ticks)
            if len(self._plans) >= _PLANS or not self._memory.has_room(rows):
                self._forget_plans()
            if not self._memory.has_room(rows):
                self._memory.make_room(rows, self._side)
            plan = make_plan(self._step, self._memory, self._outputs, self._phase, ticks, rows)
            self._plans[key] = plan
        return plan

    def _interrupted(self, error: BaseException) -> None:
        """Ctrl-C is heard when the kernel is done, whose rows in place are then those of a later time:
        the stream refuses to go on with them."""
        if self._step.rings and not isinstance(error, TilewrightError):
            self._torn = True
            self._forget_plans()

    def _require_open(self) -> None:
        name = self._function.name
        if self._closed:
            raise ArgumentError(f"the stream of {name} is closed")
        if self._torn:
            raise ArgumentError(
                f"a push of the stream of {name} stopped midway; "
                f"reset() begins anew, and an earlier clone() goes on"
            )

    def _run(self, plan: Plan, chunks: tuple[Array, ...], results: tuple[Array, ...]) -> None:
        if plan.calls is not None:
            self._call(plan, plan.calls, chunks, results)
            return
        arguments = {**plan.arguments, **self._memory.parts(plan.rows, self._side)}
        for name, chunk in zip(self._inputs, chunks, strict=True):
            arguments[name] = chunk
        self._tell(plan, arguments)
        ticks = self._ticks + plan.ticks
        phase = self._kind(ticks)
        try:
            self._kernel(**arguments, out=results)
            self._side = 1 - self._side
            self._ticks = ticks
            self._phase = phase
            self._again = None
        except BaseException as error:
            self._interrupted(error)
            raise

    def _call(
        self,
        plan: Plan,
        calls: tuple[Callable[..., None], Callable[..., None]],
        chunks: tuple[Array, ...],
        results: tuple[Array, ...],
    ) -> None:
        """`_run` for chunks and outputs, where no times are told."""
        if plan.alike is None and self._step.collected == 1 and plan.after == plan.phase:
            alike = self._lock, chunks, results, calls, plan.ticks
            plan.alike = _core.alike_push(*alike)
        try:
            calls[self._side](*chunks, *results)
            # Without a call in between, no signal is heard before all of this is changed.
            self._side = 1 - self._side
            self._ticks += plan.ticks
            self._phase = plan.after
            self._again = plan.alike
        except BaseException as error:
            self._interrupted(error)
            raise

    def _tell(self, plan: Plan, arguments: dict[str, Any]) -> None:
        """The times, where values depend on them."""
        repeats = self._step.repeats
        periods = (repeats.time(self._ticks) - plan.phase) // repeats.period
        for name, time, growth in plan.moving:
            arguments[name] = time + growth * periods

    def _collect(self, chunks: tuple[Array, ...], out: Any, everything: bool) -> Any:
        """Runs the periods that are complete now, and those that are not if `everything` is to run."""
        waiting, step = self._waiting, self._step
        ticks = self._elapsed(chunks)
        due = waiting.ticks + ticks if everything else self._due(ticks)
        whole = output_shapes(step, self._outputs, self._ticks, self._ticks + due)
        results = self._into(out, whole)
        filled = [0] * len(results)
        begun, waited = False, waiting.ticks
        try:
            for whole_parts in waiting.parts(chunks, ticks, due, self._ticks):
                for parts in self._split(whole_parts):
                    plan = self._plan(parts)
                    pieces = []
                    for number, name in enumerate(self._outputs):
                        axis, begin = step.streams[name].axis, filled[number]
                        filled[number] = end = begin + plan.shapes[number][axis]
                        pieces.append(results[number][(slice(None),) * axis + (slice(begin, end),)])
                    self._run(plan, parts, tuple(pieces))
                    begun = True
        except BaseException:
            if begun:
                self._torn = True  # what the first parts gave is lost
            waiting.ticks = waited
            raise
        return results[0] if len(results) == 1 else results

    def _ahead(self, chunks: tuple[Array, ...]) -> int:
        """How many ticks run before the kernel of long pushes takes over; 0 if it need not, or does not."""
        steady = self._step.steady
        if steady is None:
            return 0
        ahead = steady.ahead(self._phase)
        return ahead if ahead and self._elapsed(chunks) - ahead >= steady.least else 0

    def _split(self, chunks: tuple[Array, ...]) -> Iterator[tuple[Array, ...]]:
        """The chunks in two parts, if the second one is to run in the kernel of long pushes."""
        ahead = self._ahead(chunks)
        if ahead:
            yield self._waiting.cut(chunks, 0, ahead)
            yield self._waiting.cut(chunks, ahead, self._elapsed(chunks))
        else:
            yield chunks

    def close(self) -> None:
        """No more elements: `push` is refused from now on."""
        with self._lock:
            self._closed = True
            self._forget_plans()

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
        try:
            listed = iter(chunks)
        except TypeError:
            raise ArgumentTypeError(f"chunks must be iterable, got {described(chunks)}") from None
        for chunk in listed:
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
                "tables": self._tables,
                "start": self._start,
                "ticks": self._ticks,
                "past": {
                    name: array.copy() for name, array in self._memory.arrays(self._side).items()
                },
                "waiting": self._waiting.state(),
                "closed": self._closed,
                "torn": self._torn,
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        function = state["function"]
        step = function._step(state["sizes"])
        own = (state["arrays"], state["sizes"], state["start"], state["tables"])
        Stream.__init__(self, function, step, *own)
        self._memory.load(state["past"], self._side)
        self._waiting.load(state["waiting"])
        self._closed, self._torn = state["closed"], state["torn"]
        self._go_to(state["ticks"])

    # ---- checks ----

    def _nothing(self) -> tuple[Array, ...]:
        step = self._step
        return tuple(
            np.empty([extent or 0 for extent in step.shapes[name]], step.types[name])
            for name in self._inputs
        )

    def _ordered(self, chunks: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        names, own = self._inputs, self._function.name
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
        return tuple(given[name] for name in names)

    def _checked(self, chunks: tuple[Any, ...]) -> tuple[Array, ...]:
        return tuple([self._chunk(*pair) for pair in zip(self._inputs, chunks, strict=True)])

    def _chunk(self, name: str, value: Any) -> Array:
        try:
            chunk = np.asarray(value)
        except (TypeError, ValueError) as error:
            raise ArgumentTypeError(f"{name} must be an array: {error}") from None
        dtype = self._step.types[name]
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

    def _elapsed(self, chunks: tuple[Array, ...]) -> int:
        step, first = self._step, self._inputs[0]
        lengths = [
            chunk.shape[step.streams[name].axis]
            for name, chunk in zip(self._inputs, chunks, strict=True)
        ]
        for name, length in zip(self._inputs, lengths, strict=True):
            expected = step.timing.rates[name] * lengths[0]
            if length != expected:
                raise ArgumentError(
                    f"{lengths[0]} elements of {first} go with {expected} of {name}, got {length}"
                )
        return int(lengths[0])

    def _into(self, out: Any, shapes: tuple[tuple[int, ...], ...]) -> tuple[Array, ...]:
        """The arrays that results go to."""
        if out is None:
            types = self._step.types
            return tuple(
                np.empty(shape, types[name])
                for name, shape in zip(self._outputs, shapes, strict=True)
            )
        arrays = out if type(out) is tuple or isinstance(out, list) else (out,)
        if len(arrays) != len(shapes):
            raise ArgumentError(f"out must have {len(shapes)} arrays, got {len(arrays)}")
        for name, shape, array in zip(self._outputs, shapes, arrays, strict=True):
            if not isinstance(array, np.ndarray) or array.shape != shape:
                got = getattr(array, "shape", type(array).__name__)
                raise ArgumentError(f"out of {name} must have the shape {shape}, got {got}")
            if array.dtype != self._step.types[name]:
                raise ArgumentTypeError(
                    f"out of {name} must be {self._step.types[name]}, got {array.dtype}"
                )
            if not array.flags.writeable:
                raise ArgumentError(f"out of {name} is read-only")
        return tuple(arrays)
