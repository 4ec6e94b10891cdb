"""Steps that are kept beside the kernels on disk, so that the next process neither times nor schedules anew.

A step is kept under the program, the sizes, the order that was given, the settings and this build of the
library. It is a pickle of this library's own values, in a note of the cache (`base.notes`), beside the machine
code that it calls: whoever may write the one may write the other. No other class is loaded from it.
"""

from __future__ import annotations

import base64
import io
import pickle
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .. import _core
from ..base import notes
from ..base.errors import TilewrightError
from ..functions.declaration import options_of
from ..functions.functions import Function
from .folding import Order
from .making import make_step
from .programs import Program
from .steady import Steady
from .steps import Step
from .timing import Streamed

__all__ = ["kept_step"]

_UNPICKLED = (TilewrightError, TypeError, ValueError, pickle.PicklingError)
"""What pickling raises of a program that has values of this process, such as callbacks."""

_CLASSES = {
    ("fractions", "Fraction"),
    ("numpy", "dtype"),
    ("tilewright._core", "Options"),
    ("tilewright.functions.functions", "Function"),
    ("tilewright.functions.pickling", "_function"),
    ("tilewright.streams.counting", "Edge"),
    ("tilewright.streams.needs", "Needs"),
    ("tilewright.streams.opening", "Opening"),
    ("tilewright.streams.repeating", "Repeating"),
    ("tilewright.streams.steps", "Line"),
    ("tilewright.streams.steps", "Step"),
    ("tilewright.streams.timing", "Timing"),
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _CLASSES:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a step")
        return super().find_class(module, name)


def _load(key: str) -> Any:
    """What was stored; None if nothing was, or nothing of use."""
    text = notes.load(key)
    if not isinstance(text, str):
        return None
    try:
        return _Reader(io.BytesIO(base64.b64decode(text))).load()
    except Exception:  # whatever is in it
        return None


def _store(key: str, content: Any) -> None:
    try:
        packed = pickle.dumps(content)
    except _UNPICKLED:
        return
    notes.store(key, base64.b64encode(packed).decode())


def _key(program: Program, sizes: Mapping[str, int], order: Order | None) -> str:
    """Under which a step is kept; nothing if the program has values of this process, such as callbacks."""
    given = "" if order is None else f"{order.times} {order.tiles} {order.wavefront}"
    inputs = [handle.name for handle in program.inputs]
    content = io.BytesIO()
    pickler = pickle.Pickler(content)
    pickler.fast = True  # by values alone: not by which of them are one object
    try:
        packed = _core.pack([output._handle for output in program.outputs], [])
        pickler.dump((inputs, program.synchronise, sorted(sizes.items()), given, packed))
    except _UNPICKLED:
        return ""
    settings = _core.environment_text(options_of())
    return notes.identity("step of a stream", program.name, settings, content.getvalue().hex())


def _found(key: str, program: Program) -> tuple[Step, tuple[int, int, bool] | None] | None:
    """What is kept: the step, but for the kernel of long pushes, of which it says (start, least, is_early)."""
    found = _load(key)
    try:
        step, axes, steady = found
        handles = {one.name: one for one in (*program.inputs, *program.computations)}
        step.streams = {name: Streamed(handles[name], axis) for name, axis in axes.items()}
        return step, steady
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _keep(key: str, step: Step) -> None:
    axes = {name: one.axis for name, one in step.streams.items()}
    own = step.steady
    steady = None if own is None else (own.start, own.least, own.is_early)
    _store(key, (replace(step, streams={}, steady=None), axes, steady))


def kept_step(program: Program, sizes: Mapping[str, int], order: Order | None = None) -> Step:
    """The step of `make_step`: as it is kept, or else made, and kept for other processes.

    Raises:
        DeclarationError: as for `make_step`.
    """
    key = _key(program, sizes, order)
    if not key:
        return make_step(program, sizes, order)
    found = _found(key, program)
    if found is None:
        step = make_step(program, sizes, order)
        _keep(key, step)
        if step.steady is None:
            return step
        own = step.steady
        times = own.start, own.least, own.is_early
    else:
        step, known = found
        if known is None:
            return step
        own, times = None, known

    def long_kernel() -> Function | None:
        kept = _load(f"{key}\nlong pushes")
        if isinstance(kept, tuple):
            kernel: Function | None = kept[0]
            return kernel
        made = make_step(program, sizes, order).steady if own is None else own
        kernel = None if made is None else made.kernel
        _store(f"{key}\nlong pushes", (kernel,))
        return kernel

    step.steady = Steady(long_kernel, step.repeats, *times)
    return step
