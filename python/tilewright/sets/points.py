"""Points of sets: the name of a tuple and integers."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, overload

from ..base.checks import SET, a_list, a_string, an_integer, described
from ..base.errors import SetError, SetTypeError
from .parameters import parameter_values

__all__ = ["Point", "PointLike", "Shape", "as_point", "point_of", "shape_text"]

Shape: TypeAlias = tuple[str, list[str], list[Any]]
"""The name of a tuple, the names of its dimensions, and the shapes of the two tuples inside it."""


@functools.total_ordering
class Point:
    """An integer point: ``Point("S", (1, 2))``, printed ``S[1, 2]``.

    A point is gone through, indexed and unpacked as its coordinates are, and compares with other
    points only: by name, then by coordinates.

    Args:
        name: of the tuple; empty where it has none.
        coordinates: integers; or two points, for what `Map.wrap` makes of a pair.

    Raises:
        SetError: neither of both; a coordinate of more than 64 bits.

    Attributes:
        name: the name.
        coordinates: the integers.
        parameters: the values of parameters for which the point is there, where `Set.sample` chose
            them; they do not count in comparisons.

    Example:
        >>> i, j = tw.Point("S", (1, 2))
        >>> print(tw.Point("S", (i, j + 1)))
        S[1, 3]
    """

    __slots__ = ("coordinates", "name", "parameters")

    name: str
    coordinates: tuple[Any, ...]
    parameters: dict[str, int]

    def __init__(
        self,
        name: str = "",
        coordinates: Sequence[Any] = (),
        parameters: Mapping[str, int] | None = None,
    ) -> None:
        self.name = a_string(name, "the name of a point", SET)
        given = a_list(coordinates, "the coordinates of a point", SET, "integers")
        if any(isinstance(each, Point) for each in given):
            if len(given) != 2 or not all(isinstance(each, Point) for each in given):
                raise SetTypeError(
                    "the coordinates of a point are integers, or two points for a wrapped pair; "
                    f"got {described(coordinates)}"
                )
            self.coordinates = tuple(given)
        else:
            self.coordinates = tuple(
                an_integer(each, "a coordinate of a point", SET, bits=64) for each in given
            )
        self.parameters = parameter_values(parameters, {}, "a point")

    def __iter__(self) -> Iterator[Any]:
        return iter(self.coordinates)

    def __len__(self) -> int:
        return len(self.coordinates)

    @overload
    def __getitem__(self, position: int) -> Any: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, position: int | slice) -> Any:
        return self.coordinates[position]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Point):
            return NotImplemented
        return self.name == other.name and self.coordinates == other.coordinates

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Point):
            return NotImplemented
        return (self.name, self.coordinates) < (other.name, other.coordinates)

    def __hash__(self) -> int:
        return hash((self.name, self.coordinates))

    def __str__(self) -> str:
        between = " -> " if self._is_pair() else ", "
        return f"{self.name}[{between.join(map(str, self.coordinates))}]"

    def __repr__(self) -> str:
        return f"tw.Point({self.name!r}, {self.coordinates!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return Point, (self.name, self.coordinates, self.parameters)

    def _is_pair(self) -> bool:
        return bool(self.coordinates) and isinstance(self.coordinates[0], Point)


PointLike: TypeAlias = Point | Sequence[int] | int | str


def point_of(
    shape: Shape, coordinates: tuple[int, ...], parameters: Mapping[str, int] | None = None
) -> Point:
    """The point of a shape with these coordinates, those of tuples inside it one after the other."""
    name, _, nested = shape
    point: Point = Point.__new__(Point)
    point.name = name
    point.parameters = dict(parameters or {})
    if nested:
        first, second = nested
        cut = len(first[1])
        point.coordinates = (
            point_of(first, coordinates[:cut]),
            point_of(second, coordinates[cut:]),
        )
    else:
        point.coordinates = coordinates
    return point


def as_point(value: PointLike, shapes: Sequence[Shape], what: str) -> str:
    """A point in isl's notation; coordinates without a name belong to the only shape.

    Args:
        shapes: those that the point may have.
        what: the argument, for messages.
    """
    if isinstance(value, str):
        return a_string(value, what, SET)
    if isinstance(value, Point):
        return str(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        coordinates = [an_integer(each, f"a coordinate of {what}", SET, bits=64) for each in value]
    else:
        coordinates = [_coordinate(value, what)]
    if len(shapes) != 1:
        known = ", ".join(shape_text(shape) for shape in shapes) or "none"
        raise SetError(
            f'{what} needs the name of its tuple, as in tw.Point("S", (1, 2)) or "S[1, 2]": there '
            f"are {known}"
        )
    name, dimensions, nested = shapes[0]
    if nested or len(coordinates) != len(dimensions):
        raise SetError(
            f"{what} must be of the form {shape_text(shapes[0])}, got {len(coordinates)} coordinates"
        )
    return f"{name}[{', '.join(map(str, coordinates))}]"


def _coordinate(value: object, what: str) -> int:
    try:
        return an_integer(value, what, SET, bits=64)
    except SetTypeError:
        raise SetTypeError(
            f'{what} must be a point, as tw.Point("S", (1, 2)), "S[1, 2]" or (1, 2), got '
            f"{described(value)}"
        ) from None


def shape_text(shape: Shape) -> str:
    """``S[i, j]``; a dimension without a name is a star."""
    name, dimensions, nested = shape
    if nested:
        return f"{name}[{shape_text(nested[0])} -> {shape_text(nested[1])}]"
    return f"{name}[{', '.join(dimension or '*' for dimension in dimensions)}]"
