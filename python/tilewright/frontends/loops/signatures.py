"""What a kernel is made for: types and ranks of a call's arguments, and which extents are equal.

Extents that are equal in a call share one parameter, extents of 1 are known, and one array that is
given twice is one array: so shapes are compared while translating, as NumPy's broadcasting needs it. A
call that differs in these gets a kernel of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...base.errors import ArgumentOverflowError, ArgumentTypeError
from .. import known_calls
from ..whiles import LIMIT
from .groups import MOST_PARTS, Group, flattened, group_of
from .kinds import Kind, kind_of

__all__ = [
    "RESERVED",
    "ArraySlot",
    "ConstantSlot",
    "GroupSlot",
    "NumberSlot",
    "ParameterSlot",
    "Signature",
    "alike",
    "is_turned",
    "signature_of",
]

#: What is spent on whether two arrays share an element (`np.shares_memory`).
_MOST_WORK: Any = 100_000  # which the stubs of NumPy do not know of

RESERVED = ("out", "threads")
"""What calls of a `tw.Function` have as keywords of their own: arrays are not called so."""


@dataclass(frozen=True)
class ArraySlot:
    """An array: `name` is that of the argument that gave it first, extents are parameters or 1.

    Attributes:
        turned: its elements follow each other along the first axis, as those of a transposed array
            (Fortran's order), and the program's array has the axes reversed.
    """

    argument: str
    name: str
    dtype: np.dtype
    shape: tuple[str | int, ...]
    turned: bool = False

    def __str__(self) -> str:
        text = f"{self.dtype}[{', '.join(map(str, self.shape))}]"
        return f"{text} in Fortran's order" if self.turned else text


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
    """A float, a complex number, or an integer that is too large for a size (`whiles.LIMIT`)."""

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


@dataclass(frozen=True)
class GroupSlot:
    """A tuple, a dataclass or the like, with a slot for each part."""

    argument: str
    group: Group
    parts: tuple[Slot, ...]

    def __str__(self) -> str:
        parts = [str(part) for part in self.parts]
        if self.group.has_fields or self.group.made_of is dict:
            parts = [f"{key}: {part}" for key, part in zip(self.group.keys, parts, strict=True)]
        return f"{self.group.made_of.__name__}({', '.join(parts)})"


Slot = ArraySlot | ParameterSlot | NumberSlot | ConstantSlot | GroupSlot


@dataclass(frozen=True)
class Signature:
    """The slots of the arguments, in order, and the parameters that are extents.

    Attributes:
        outer: the slots of arrays that are no arguments: the function finds them by their names.
        overlaps: pairs of different arrays of the call that share elements, by name. They are nothing that calls
            have in common: a kernel takes them if it writes neither.
    """

    slots: tuple[Slot, ...]
    extents: tuple[str, ...]
    outer: tuple[ArraySlot, ...] = ()
    overlaps: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return f"({', '.join(f'{slot.argument}: {slot}' for slot in self.slots)})"

    @property
    def is_turned(self) -> bool:
        """Whether all arrays of several dimensions lie as transposed ones do: then results do, too."""
        found = [
            slot.turned
            for slot in self.leaves()
            if isinstance(slot, ArraySlot) and len(slot.shape) > 1 and slot.shape.count(1) == 0
        ]
        return bool(found) and all(found)

    def leaves(self) -> Iterator[Slot]:
        """The slots of what has no parts."""
        yield from _leaves((*self.slots, *self.outer))

    @property
    def is_flat(self) -> bool:
        """Whether each argument is one of the program's, and all of those are arguments."""
        return not self.outer and not any(isinstance(slot, GroupSlot) for slot in self.slots)


def _leaves(slots: Iterable[Slot]) -> Iterator[Slot]:
    for slot in slots:
        if isinstance(slot, GroupSlot):
            yield from _leaves(slot.parts)
        else:
            yield slot


def signature_of(
    name: str, arguments: Mapping[str, Any], outer: Mapping[str, np.ndarray] | None = None
) -> tuple[Signature, dict[str, Any]]:
    """The signature of a call and the values of the program's arguments, by name.

    Args:
        name: the function's.
        arguments: by name.
        outer: arrays that are no arguments, by names of their own.

    Raises:
        ArgumentTypeError: an argument is no array or number, or of a type without a translation.
        ArgumentOverflowError: an integer does not fit 64 bits.
    """
    values: dict[str, Any] = {}
    extents: dict[int, str] = {}
    arrays: dict[tuple[Any, ...], str] = {}
    taken = {*arguments, *(outer or ())}

    def fresh(wanted: str) -> str:
        while wanted in taken:
            wanted += "_"
        taken.add(wanted)
        return wanted

    given = {
        argument: list(flattened(argument, argument, value, fresh))
        for argument, value in (*arguments.items(), *(outer or {}).items())
    }
    found = {
        argument: iter(
            [
                _leaf_slot(name, shown, own, value, arrays, values, extents, taken)
                for shown, own, value in parts
            ]
        )
        for argument, parts in given.items()
    }
    slots = tuple(
        _grouped(argument, value, found[argument]) for argument, value in arguments.items()
    )
    outside = tuple(next(found[argument]) for argument in outer or ())
    overlaps = tuple(
        pair
        for pair in itertools.combinations(dict.fromkeys(arrays.values()), 2)
        if _share_elements(*(values[each] for each in pair))
    )
    for extent, shown in extents.items():
        values[shown] = extent
    return Signature(slots, tuple(extents.values()), outside, overlaps), values  # type: ignore[arg-type]


def _share_elements(one: np.ndarray, other: np.ndarray) -> bool:
    """Asked exactly within a bound on the work, as the core does; beyond it, they count as if they did."""
    if not np.may_share_memory(one, other):
        return False
    try:
        return np.shares_memory(one, other, max_work=_MOST_WORK)
    except np.exceptions.TooHardError:
        return True


def _grouped(argument: str, value: Any, leaves: Iterator[Slot]) -> Slot:
    """The slot of an argument, of those of its parts."""
    found = group_of(value)
    if found is None or len(found[1]) > MOST_PARTS:
        return next(leaves)
    group, parts = found
    return GroupSlot(argument, group, tuple(_grouped(argument, part, leaves) for part in parts))


def _leaf_slot(
    name: str,
    argument: str,
    own: str,
    value: Any,
    arrays: dict[tuple[Any, ...], str],
    values: dict[str, Any],
    extents: dict[int, str],
    taken: Container[str],
) -> Slot:
    """The slot of a value without parts, which is shown as `argument`."""
    if own in RESERVED:
        own += "_"
    if isinstance(value, np.ndarray) and value.ndim:
        return _array_slot(name, argument, own, value, arrays, values, extents, taken)
    if isinstance(value, np.ndarray):
        raise ArgumentTypeError(
            f"{name}(): the argument {argument} is an array without dimensions; pass a number, "
            f"{argument}[()], or an array with one element"
        )
    if value is None or isinstance(value, bool | str):
        return ConstantSlot(argument, value)
    kind = kind_of(value)
    if kind is None:
        parts = group_of(value)
        raise ArgumentTypeError(
            f"{name}(): the argument {argument} must be a NumPy array or a number, not "
            f"{type(value).__name__}"
            + (
                f" of {len(parts[1])} parts, of which there may be {MOST_PARTS}; make it an array"
                if parts
                else "; make it an array, or pass its parts in a tuple or a dataclass"
            )
        )
    if kind.is_integer:
        if kind.dtype == np.uint64 and not kind.weak and int(value) >= 2**63:
            values[own] = np.asarray(value, kind.dtype)
            return NumberSlot(argument, own, kind)  # no size is as large
        if not -(2**63) <= int(value) < 2**63:
            raise ArgumentOverflowError(
                f"{name}(): the argument {argument} = {value} does not fit 64 bits"
            )
        if abs(int(value)) > LIMIT:
            values[own] = np.asarray(value, kind.dtype)
            return NumberSlot(argument, own, kind)
        values[own] = int(value)
        return ParameterSlot(argument, own, kind)
    values[own] = np.asarray(value, kind.dtype)
    return NumberSlot(argument, own, kind)


def _array_slot(
    name: str,
    argument: str,
    own: str,
    value: np.ndarray,
    arrays: dict[tuple[Any, ...], str],
    values: dict[str, Any],
    extents: dict[int, str],
    taken: Container[str],
) -> ArraySlot:
    if value.dtype.kind not in "biufc" or not value.dtype.isnative or value.dtype.itemsize > 16:
        raise ArgumentTypeError(
            f"{name}(): the argument {argument} has elements of type {value.dtype}, which has no "
            "translation; use a native type of numbers"
        )
    memory = value.__array_interface__["data"][0], value.strides, value.shape, value.dtype
    first = arrays.setdefault(memory, own) if value.size else own
    values[first] = value
    shape: list[str | int] = []
    for axis, extent in enumerate(value.shape):
        if extent == 1:
            shape.append(1)
            continue
        wanted = f"{own}_{axis}"
        while wanted in taken:
            wanted += "_"
        shape.append(extents.setdefault(extent, wanted))
    return ArraySlot(argument, first, value.dtype, tuple(shape), is_turned(value))


def is_turned(array: np.ndarray) -> bool:
    """Whether the elements follow each other in memory along the first axis, then the second, ..., as the
    core asks for calls like earlier ones (known_calls.cpp)."""
    steps = array.strides
    return (
        array.ndim > 1
        and steps[0] == array.itemsize
        and min(array.shape) > 1
        and all(one < other for one, other in itertools.pairwise(steps))
    )


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
                is_whole = slot.name in contiguous
                given.append(known_calls.array(extents, is_whole, slot.turned))
            case ParameterSlot():
                origins[slot.name] = known_calls.Origin(at)
                bounds = (-LIMIT, LIMIT) if is_general else (values[slot.name],) * 2
                given.append(known_calls.integer(*bounds))
            case NumberSlot():
                origins[slot.name] = known_calls.Origin(at)
                given.append(known_calls.number(slot.kind.dtype))
            case _:
                given.append(known_calls.constant())
    return given, origins
