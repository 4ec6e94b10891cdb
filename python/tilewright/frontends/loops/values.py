"""What an expression of the person's function is while it is translated.

A number is an expression of the statement tree with its kind. An array is a rule that gives the
expression of each element, so `0.5 * (B[:-2] + B[2:])` makes no temporary until something needs one; a
view of memory also says which element of which array it is. All else is known while translating: tuples,
modules, types, functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..tree import Convert, Expression, Literal, Location, Read, Select
from .groups import Group
from .indices import constant_of, literal, same, subtract
from .kinds import INT, Kind

__all__ = [
    "ArrayValue",
    "Begun",
    "Chosen",
    "Listed",
    "Method",
    "RangeValue",
    "Record",
    "RecordMethod",
    "Scalar",
    "Static",
    "Stepped",
    "TupleValue",
    "Value",
    "Zipped",
    "as_bool_literal",
    "broadcast_indices",
    "converted",
    "copied",
    "integer",
    "mask_of_positions",
    "same_shape",
    "selected",
]

Element = Callable[[tuple[Expression, ...]], Expression]
Place = Callable[[tuple[Expression, ...]], Read]


@dataclass(frozen=True)
class Scalar:
    """A number or truth value."""

    expression: Expression
    kind: Kind


@dataclass(frozen=True)
class ArrayValue:
    """An array: its extents and each element.

    Attributes:
        shape: the extents, int64 expressions.
        room: extents of parameters only that are at least those of `shape`: what a temporary needs.
        base: of a view, the array in memory, whose element `place` gives.
        whole: it is all of `base`, in its order.
        uninitialised: it has no values yet (`np.empty`).
        fresh: its memory was made for this value and has no other name.
        gathered: arrays of subscripts chose its elements: values, but for what is assigned to.
        reshaped: it is all of `base`, in its order, in another shape.
        backwards: it is all of `base`, with the axes reversed.
        listed: it is a list of Python's.
        borrowed: NumPy's would be a view or a copy, so that nobody may change one with that memory:
            the place in the program, and the reason.
    """

    shape: tuple[Expression, ...]
    room: tuple[Expression, ...]
    dtype: np.dtype
    element: Element
    base: str = ""
    place: Place | None = None
    whole: bool = False
    uninitialised: bool = False
    fresh: bool = False
    gathered: bool = False
    reshaped: bool = False
    backwards: bool = False
    listed: bool = False
    borrowed: tuple[Location, str] | None = None

    @property
    def kind(self) -> Kind:
        return Kind(self.dtype)


@dataclass(frozen=True)
class Chosen:
    """`A[mask]`, whose length data decide: what is made of its elements, and which are there.

    The mask may have fewer dimensions: it is about the first ones.

    Attributes:
        axis: of what `np.nonzero` gives, the axis along which these are the positions; else -1.
    """

    array: ArrayValue
    mask: ArrayValue
    axis: int = -1


@dataclass(frozen=True)
class Begun:
    """The arrays and statements that there are where a list begins."""

    arrays: frozenset[str]
    labels: frozenset[str]


@dataclass(frozen=True)
class Listed:
    """A list as an array.

    Attributes:
        key: under which the type and the shape of its values are remembered from round to round.
        there: which of them are there, if not all are.
        begun: what there was before it, of a list that is kept.
    """

    key: tuple[object, ...]
    memory: ArrayValue
    there: ArrayValue | None
    begun: Begun | None = None

    @property
    def value(self) -> Value:
        """All of it."""
        if self.there is None:
            return replace(self.memory, listed=True)
        return Chosen(self.memory, self.there)


@dataclass(frozen=True)
class Turning:
    """Arrays that take turns under the names (webs) that move on in a loop (see `rotations`), and the bases
    of what is copied before, which nothing may change while one of the names may mean it."""

    moving: tuple[str, ...]
    memories: tuple[ArrayValue, ...]
    copied: frozenset[str]


@dataclass(frozen=True)
class TupleValue:
    """A tuple whose parts are known one by one.

    Attributes:
        group: how it is made, of one that is no plain tuple.
    """

    parts: tuple[Value, ...]
    group: Group | None = None

    @property
    def form(self) -> Group:
        """How it is made."""
        return self.group or Group(tuple, tuple(range(len(self.parts))))


@dataclass(frozen=True)
class Record:
    """A dictionary or a dataclass, whose parts are known by their keys or fields."""

    parts: tuple[Value, ...]
    group: Group

    @property
    def form(self) -> Group:
        """How it is made."""
        return self.group

    def get(self, key: object) -> Value | None:
        """The part of this key or field."""
        keys = [(type(each), each) for each in self.group.keys]
        return self.parts[keys.index((type(key), key))] if (type(key), key) in keys else None


@dataclass(frozen=True)
class RangeValue:
    """What `range` and `tw.prange` give."""

    start: Expression
    stop: Expression
    step: int
    parallel: bool

    @property
    def distance(self) -> Expression:
        """From the start to the stop: so many turns, with a step of 1 or -1, if it is not negative."""
        ends = (self.stop, self.start) if self.step > 0 else (self.start, self.stop)
        return subtract(*ends)


@dataclass(frozen=True)
class Stepped:
    """What `range` with a step gives that is no number: start + i * step, so often."""

    start: Expression
    step: Expression
    turns: Expression


@dataclass(frozen=True)
class Zipped:
    """What `zip` and `enumerate` give: values side by side, the first `endless` of any number."""

    parts: tuple[Value, ...]
    endless: int = 0


@dataclass(frozen=True)
class Static:
    """An object known while translating: None, a module, a type, a function, a string."""

    value: object


@dataclass(frozen=True)
class Method:
    """`A.sum`: a method of an array, before its call."""

    array: ArrayValue | Chosen
    name: str


@dataclass(frozen=True)
class RecordMethod:
    """`d.items`: a method of a dictionary, before its call."""

    record: Record
    name: str


Value = (
    Scalar
    | Chosen
    | ArrayValue
    | TupleValue
    | Record
    | RangeValue
    | Stepped
    | Zipped
    | Static
    | Method
    | RecordMethod
)


def integer(value: int) -> Scalar:
    """A Python int."""
    return Scalar(literal(value), INT)


def as_bool_literal(expression: Expression) -> bool | None:
    """The truth value of a condition that is known, else None."""
    if isinstance(expression, Literal) and expression.dtype.kind == "b":
        return bool(expression.value)
    return None


def converted(expression: Expression, dtype: np.dtype, given: np.dtype) -> Expression:
    """The expression as another type; numbers at once."""
    if dtype == given:
        return expression
    if isinstance(expression, Literal):
        with np.errstate(all="ignore"):
            value = np.asarray(expression.value, given).astype(dtype)
        return Literal(value.item(), dtype)
    return Convert(expression, dtype)


def selected(
    condition: Expression, if_true: Expression, if_false: Expression, dtype: np.dtype
) -> Expression:
    """A choice; the branch itself when the condition is known."""
    known = as_bool_literal(condition)
    if known is None:
        return Select(condition, if_true, if_false, dtype)
    return if_true if known else if_false


def broadcast_indices(
    shape: Sequence[Expression], indices: tuple[Expression, ...]
) -> tuple[Expression, ...]:
    """The element of an array of that shape that stands at `indices` of a larger one."""
    trailing = indices[len(indices) - len(shape) :]
    return tuple(
        literal(0) if constant_of(extent) == 1 else index
        for extent, index in zip(shape, trailing, strict=True)
    )


def mask_of_positions(value: Value) -> ArrayValue | None:
    """The mask that chooses the same elements as these positions, if they are all that one chooses."""
    parts = value.parts if isinstance(value, TupleValue) else (value,)
    masks = [part.mask for part in parts if isinstance(part, Chosen)]
    if len(masks) < len(parts) or not masks or len(masks[0].shape) != len(parts):
        return None
    for axis, part in enumerate(parts):
        if not (
            isinstance(part, Chosen) and part.axis == axis and _same_memory(part.mask, masks[0])
        ):
            return None
    return masks[0]


def _same_memory(a: ArrayValue, b: ArrayValue) -> bool:
    both = (a.whole and b.whole) or (a.backwards and b.backwards)
    return a is b or (both and bool(a.base) and a.base == b.base)


def copied(array: ArrayValue) -> ArrayValue:
    """The same elements, in no memory: who keeps them makes a copy."""
    return ArrayValue(
        array.shape, array.room, array.dtype, array.element, uninitialised=array.uninitialised
    )


def same_shape(a: Sequence[Expression], b: Sequence[Expression]) -> bool:
    """Whether two shapes are known to be equal."""
    return len(a) == len(b) and all(map(same, a, b))
