"""Calls like one before: how a door's arguments are handed to the kernel, without Python.

A door looks closely at a call's arguments, finds or makes a kernel, and then says here what calls have
to have in common with this one to be made the same way. The core compares and calls (known_calls.h);
what is not alike comes to the door again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .constants import Constant
from .translated import TranslatedFunction

__all__ = [
    "Constant",
    "Given",
    "Origin",
    "array",
    "constant",
    "exactly",
    "integer",
    "number",
    "remember",
]

Given = tuple[Any, ...]
"""What all calls of a kind have in common at one argument."""

_LEAST, _MOST = -(2**63), 2**63 - 1


def array(
    extents: Sequence[int] = (), contiguous: bool = False, turned: bool | None = None
) -> Given:
    """An array of the type and rank of this one; if this one is writeable, writeable.

    Args:
        extents: by axis a number, the same for those that are equal, counted from 0 in the order in
            which they come; -1 for an extent of 1; `exactly(n)`. None: the kernel knows.
        contiguous: whether its elements must lie without gaps.
        turned: whether they lie as those of a transposed array, and the kernel is given the array with
            its axes reversed; None: no matter how.
    """
    return "array", contiguous, list(extents), turned


def exactly(extent: int) -> int:
    """An extent that is the same in all calls."""
    return -1 if extent == 1 else -2 - extent


def integer(low: int = _LEAST, high: int = _MOST) -> Given:
    """An integer of this Python type, between two bounds."""
    return "integer", max(low, _LEAST), min(high, _MOST)


def number(dtype: np.dtype) -> Given:
    """A number of this Python type, for an input of a type that holds it."""
    low, high = _LEAST, _MOST
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = max(int(limits.min), low), min(int(limits.max), high)
    return "number", dtype == np.float32, low, high


def constant() -> Given:
    """This very value."""
    return ("constant",)


@dataclass(frozen=True)
class Origin:
    """The argument that gives a value of the program, by its position, or the extent of its axis."""

    argument: int
    axis: int = -1


def remember(
    door: _core.KnownCalls,
    given: tuple[Any, ...],
    arguments: Sequence[Given],
    translated: TranslatedFunction,
    origins: Mapping[str, Origin],
    constants: Sequence[Constant] = (),
    results: Sequence[tuple[str, bool, bool]] | None = None,
    gives_tuple: bool = False,
) -> None:
    """Keeps how a call was made, if that can be said.

    Args:
        door: the function that was called.
        given: its arguments, in order.
        arguments: what such calls have in common, by argument.
        translated: the kernel.
        origins: where the program's arguments come from, by name; the others are made of zeros.
        constants: what must still be so.
        results: what the call returns: arrays of the program, whether as a number of Python's, and
            whether with its axes reversed.
        gives_tuple: whether it returns a tuple of them.
    """
    function = translated.function
    inputs, parameters = translated.sources
    wheres = [origins.get(name) for name in inputs]
    stored = {name for name, _ in function._overwritten}
    for shown, where in zip(function.inputs, wheres, strict=True):
        if where is not None and arguments[where.argument][0] == "number" and shown in stored:
            return  # the kernel needs a place for it
    outputs = {name: at for at, name in enumerate(function.outputs)}
    found = []
    for name, weak, turned in results or ():
        if name in origins:
            found.append((origins[name].argument, -1, False, False))
        elif name in translated.results:
            found.append((-1, outputs[translated.results[name]], weak, turned))
        else:
            return
    door._remember(
        given,
        tuple(arguments),
        function,
        function._version(),
        [-1 if where is None else where.argument for where in wheres],
        [
            (-1, -1, name)
            if isinstance(name, int)
            else (origins[name].argument, origins[name].axis, 0)
            for name in parameters
        ],
        [(each.container, each.key, each.value, each.is_there) for each in constants],
        [
            (outputs[output], origins[name].argument)
            for output, name in translated.elsewhere.items()
            if name in origins
        ],
        None if results is None else found,
        gives_tuple,
    )
