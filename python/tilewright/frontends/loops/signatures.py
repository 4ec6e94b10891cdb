"""What a kernel is made for: types and ranks of a call's arguments, and which extents are equal.

Extents that are equal in a call share one parameter, extents of 1 are known, and one array that is
given twice is one array: so shapes are compared while translating, as NumPy's broadcasting needs it. A
call that differs in these gets a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.errors import ArgumentError, ArgumentOverflowError, ArgumentTypeError
from .. import known_calls
from .kinds import Kind, kind_of

__all__ = [
    "RESERVED",
    "ArraySlot",
    "ConstantSlot",
    "NumberSlot",
    "ParameterSlot",
    "Signature",
    "alike",
    "signature_of",
]

RESERVED = ("out", "threads")
"""What calls of a `tw.Function` have as keywords of their own: arrays are not called so."""


@dataclass(frozen=True)
class ArraySlot:
    """An array: `name` is that of the argument that gave it first, extents are parameters or 1."""

    argument: str
    name: str
    dtype: np.dtype
    shape: tuple[str | int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class ParameterSlot:
    """An integer."""

    argument: str
    name: str
    kind: Kind

    def __str__(self) -> str:
        return "int" if self.kind.weak else str(self.kind)


@dataclass(frozen=True)
class NumberSlot:
    """A float, a complex number or a truth value."""

    argument: str
    name: str
    kind: Kind

    def __str__(self) -> str:
        return str(self.kind).removeprefix("Python's ")


@dataclass(frozen=True)
class ConstantSlot:
    """None, a truth value of Python or a string: part of the signature itself."""

    argument: str
    value: Any

    def __str__(self) -> str:
        return repr(self.value)


Slot = ArraySlot | ParameterSlot | NumberSlot | ConstantSlot


@dataclass(frozen=True)
class Signature:
    """The slots of the arguments, in order, and the parameters that are extents."""

    slots: tuple[Slot, ...]
    extents: tuple[str, ...]

    def __str__(self) -> str:
        return f"({', '.join(f'{slot.argument}: {slot}' for slot in self.slots)})"


def signature_of(name: str, arguments: Mapping[str, Any]) -> tuple[Signature, dict[str, Any]]:
    """The signature of a call and the values of the program's arguments, by name.

    Raises:
        ArgumentTypeError: an argument is no array or number, or of a type without a translation.
        ArgumentOverflowError: an integer does not fit 64 bits.
        ArgumentError: arrays share memory in part.
    """
    slots: list[Slot] = []
    values: dict[str, Any] = {}
    extents: dict[int, str] = {}
    arrays: dict[tuple[Any, ...], str] = {}
    for argument, value in arguments.items():
        own = f"{argument}_" if argument in RESERVED else argument
        if isinstance(value, np.ndarray) and value.ndim:
            slots.append(_array_slot(name, argument, value, arrays, values, extents, arguments))
            continue
        if isinstance(value, np.ndarray):
            raise ArgumentTypeError(
                f"{name}(): the argument {argument} is an array without dimensions; pass a number, "
                f"{argument}[()], or an array with one element"
            )
        if value is None or isinstance(value, bool | str):
            slots.append(ConstantSlot(argument, value))
            continue
        kind = kind_of(value)
        if kind is None:
            raise ArgumentTypeError(
                f"{name}(): the argument {argument} must be a NumPy array or a number, not "
                f"{type(value).__name__}; make it an array, or pass its parts as arguments of their own"
            )
        if kind.is_integer:
            if not -(2**63) <= int(value) < 2**63:
                raise ArgumentOverflowError(
                    f"{name}(): the argument {argument} = {value} does not fit 64 bits"
                )
            slots.append(ParameterSlot(argument, own, kind))
            values[own] = int(value)
        else:
            slots.append(NumberSlot(argument, own, kind))
            values[own] = np.asarray(value, kind.dtype)
    for extent, shown in extents.items():
        values[shown] = extent
    return Signature(tuple(slots), tuple(extents.values())), values


def _array_slot(
    name: str,
    argument: str,
    value: np.ndarray,
    arrays: dict[tuple[Any, ...], str],
    values: dict[str, Any],
    extents: dict[int, str],
    arguments: Mapping[str, Any],
) -> ArraySlot:
    if value.dtype.kind not in "biufc" or not value.dtype.isnative or value.dtype.itemsize > 16:
        raise ArgumentTypeError(
            f"{name}(): the argument {argument} has elements of type {value.dtype}, which has no "
            "translation; use a native type of numbers"
        )
    memory = value.__array_interface__["data"][0], value.strides, value.shape, value.dtype
    own = f"{argument}_" if argument in RESERVED else argument
    first = arrays.setdefault(memory, own) if value.size else own
    if first == own:
        for other in arrays.values():
            if other != own and np.may_share_memory(values[other], value):
                raise ArgumentError(
                    f"{name}(): the arguments {other} and {argument} share memory in part; pass a "
                    "copy of one"
                )
    values[first] = value
    shape: list[str | int] = []
    for axis, extent in enumerate(value.shape):
        if extent == 1:
            shape.append(1)
            continue
        wanted = f"{argument}_{axis}"
        while wanted in arguments:
            wanted += "_"
        shape.append(extents.setdefault(extent, wanted))
    return ArraySlot(argument, first, value.dtype, tuple(shape))


def alike(
    signature: Signature, values: Mapping[str, Any], contiguous: frozenset[str], is_general: bool
) -> tuple[list[known_calls.Given], dict[str, known_calls.Origin]]:
    """What calls with a kernel of this signature have in common, and where its values come from.

    Args:
        values: the values of the call, by name.
        contiguous: arrays whose elements must lie without gaps.
        is_general: whether the kernel itself says for which sizes it is right; else these only.
    """
    given: list[known_calls.Given] = []
    origins: dict[str, known_calls.Origin] = {}
    numbers: dict[str, int] = {}
    for at, slot in enumerate(signature.slots):
        match slot:
            case ArraySlot():
                origins.setdefault(slot.name, known_calls.Origin(at))
                extents = []
                for axis, extent in enumerate(slot.shape):
                    if isinstance(extent, int):
                        extents.append(known_calls.exactly(extent))
                        continue
                    origins.setdefault(extent, known_calls.Origin(at, axis))
                    number = numbers.setdefault(extent, len(numbers))
                    extents.append(
                        number if is_general else known_calls.exactly(int(values[extent]))
                    )
                given.append(known_calls.array(extents, slot.name in contiguous))
            case ParameterSlot():
                origins[slot.name] = known_calls.Origin(at)
                bounds = () if is_general else (values[slot.name],) * 2
                given.append(known_calls.integer(*bounds))
            case NumberSlot():
                origins[slot.name] = known_calls.Origin(at)
                given.append(known_calls.number(slot.kind.dtype))
            case _:
                given.append(known_calls.constant())
    return given, origins
