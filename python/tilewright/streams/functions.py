"""Stream functions: recurrences over unbounded time as kernels that take chunks of any length."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..base.checks import DECLARATION, a_list, a_string
from ..base.errors import ArgumentError, ArgumentTypeError, DeclarationError, DeclarationTypeError
from ..language.expressions import as_dtype
from ..schedule.computations import Computation
from .states import Stream
from .steps import Program, Step, gather, make_step

__all__ = ["StreamFunction", "stream_function"]


def stream_function(name: str, outputs: Sequence[Computation] | Computation) -> StreamFunction:
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

    Raises:
        DeclarationError: there is no stream to push, or the program needs memory without bound, or
            its rates are not consistent, or some element waits for itself, or parts of it have
            nothing to do with each other.

    Source: Leben and Tzanetakis, ACM TACO 16(3), 2019; here the period is one element (their
    untiled schedule), and what one call computes is as long as the chunk.
    """
    a_string(name, "the name of a function", DECLARATION)
    listed = [outputs] if isinstance(outputs, Computation) else outputs
    given = a_list(listed, "outputs", DECLARATION, "computations")
    for output in given:
        if not isinstance(output, Computation):
            raise DeclarationTypeError(f"outputs must be computations, got {output!r}")
    if not given:
        raise DeclarationError(f"{name} needs an output")
    return StreamFunction(name, tuple(given))


class StreamFunction:
    """What `tw.stream_function` makes. `stream` opens a stream; a call runs one over whole arrays."""

    def __init__(
        self, name: str, outputs: tuple[Computation, ...], order: tuple[str, ...] = ()
    ) -> None:
        self.name = name
        self._program: Program = gather(name, outputs, order)
        if not self._program.inputs:
            raise DeclarationError(
                f"{name} reads no stream, so nothing says how far it runs; declare one with tw.stream"
            )
        self._steps: dict[tuple[tuple[str, int], ...], Step] = {}
        self._lock = threading.Lock()
        if not self._parameters():
            self._step({})

    def __repr__(self) -> str:
        streams = ", ".join(self.inputs)
        return f"<StreamFunction {self.name}({streams}) -> {', '.join(self.outputs)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return StreamFunction, (self.name, self._program.outputs, self.inputs)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the streams that are pushed, in the order of `push`."""
        return tuple(handle.name for handle in self._program.inputs)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of what comes out."""
        return tuple(output.name for output in self._program.outputs)

    def stream(self, **arrays: Any) -> Stream:
        """A stream before its first element.

        Args:
            arrays: the finite arrays that the program reads, and its sizes where no array tells
                them: ``k.stream(b=taps, channels=2)``. The arrays are copied.

        Raises:
            ArgumentError: one is missing, unknown, or has another shape or type.
        """
        known = {handle.name: handle for handle in self._program.arrays}
        sizes: dict[str, int] = {}
        given: dict[str, np.ndarray[Any, Any]] = {}
        for name, value in arrays.items():
            if name in known:
                given[name] = self._array(known[name], value, sizes)
        for name, value in arrays.items():
            if name in self._parameters():
                self._learn(sizes, name, value, f"{name}=")
            elif name not in known:
                names = ", ".join([*known, *self._parameters()]) or "nothing"
                raise ArgumentError(f"{self.name}.stream takes {names}, not {name!r}")
        missing = [one for one in known if one not in given]
        missing += [one for one in self._parameters() if one not in sizes]
        if missing:
            raise ArgumentError(
                f"{self.name}.stream needs {', '.join(missing)}: pass {missing[0]}=..."
            )
        return Stream(self, self._step(sizes), given, sizes)

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
        """
        pushed = {name: named.pop(name) for name in self.inputs if name in named}
        if zi is not None:
            if named:
                raise ArgumentError(
                    f"{', '.join(named)}: zi has them already; pass zi alone or arrays alone"
                )
            state = zi.clone()
        else:
            state = self.stream(**named)
        return state.push(*arrays, **pushed), state

    def _parameters(self) -> tuple[str, ...]:
        """The sizes of finite arrays and of streams' other dimensions."""
        names: dict[str, None] = {}
        for handle in (
            *self._program.arrays,
            *self._program.inputs,
            *self._program.computations,
        ):
            for name in handle.domain.parameters():
                names[name] = None
            for _, value in handle.pieces:
                for node in value.nodes():
                    if node.kind == "parameter":
                        names[node.name] = None
            for _, read, _ in _core.read_relations(handle):  # the ranges of reductions
                names.update(dict.fromkeys(read.parameters()))
        names.pop("forever", None)
        return tuple(names)

    def _array(
        self, handle: _core.Computation, value: Any, sizes: dict[str, int]
    ) -> np.ndarray[Any, Any]:
        dtype = as_dtype(handle.type).dtype
        given = np.asarray(value)
        if not np.can_cast(given.dtype, dtype, "same_kind"):
            raise ArgumentTypeError(
                f"{handle.name} must hold {dtype}, got {given.dtype} of another kind"
            )
        if given.ndim != handle.rank:
            raise ArgumentError(
                f"{handle.name} must have {handle.rank} dimensions, got {given.ndim}"
            )
        for extent, expression in zip(given.shape, handle.extents, strict=True):
            if expression.kind == "parameter":
                self._learn(sizes, expression.name, extent, f"the shape of {handle.name}")
        return np.array(given, dtype=dtype, order="C")

    def _learn(self, sizes: dict[str, int], name: str, value: Any, what: str) -> None:
        try:
            size = value.__index__()
        except AttributeError:
            raise ArgumentTypeError(f"{name} must be an integer, got {value!r}") from None
        if sizes.setdefault(name, size) != size:
            raise ArgumentError(f"{name} is {sizes[name]}, and {size} by {what}")

    def _step(self, sizes: dict[str, int]) -> Step:
        key = tuple(sorted(sizes.items()))
        with self._lock:
            if key not in self._steps:
                self._steps[key] = make_step(self._program, sizes)
            return self._steps[key]
