"""Pictures of sets and maps: points of a plane, and arrows between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..base.checks import SET, an_integer, described
from ..base.drawing import Drawing, new_figure
from ..base.errors import SetError, SetTypeError
from ..base.results import Result
from .points import Point, Shape

__all__ = ["SetPicture", "plot_points"]

_COLOURS = ("#2f6fab", "#c2571a", "#3d8b40", "#8250a8", "#a0762d", "#4a4a4a")
_MARKERS = ("o", "s", "^", "D", "v", "P")
_ARROW = "#3b3b3b"


@dataclass
class SetPicture(Drawing, Result):
    """A figure of a set or map, and what is drawn in it; notebooks show it.

    Attributes:
        figure: matplotlib's figure.
        axes: matplotlib's axes.
        points: where each point is.
        arrows: the pairs of a map that are drawn.
    """

    axes: Any
    points: dict[Point, tuple[float, float]]
    arrows: list[tuple[Point, Point]]

    made_by = "Set.plot"

    def __repr__(self) -> str:
        arrows = f" and {len(self.arrows)} arrows" if self.arrows else ""
        return f"<picture of {len(self.points)} points{arrows}>"


def plot_points(
    points: Sequence[Point],
    pairs: Sequence[tuple[Point, Point]],
    shapes: Sequence[Shape],
    x: str | int | None,
    y: str | int | None,
    axes: Any,
    title: str | None,
    text: str,
) -> SetPicture:
    """Draws points, one colour for each space, and arrows between pairs; `Set.plot` says more."""
    if axes is not None and not (hasattr(axes, "figure") and hasattr(axes, "scatter")):
        raise SetTypeError(f"axes must be matplotlib's, got {described(axes)}")
    if title is not None and not isinstance(title, str):
        raise SetTypeError(f"title must be a string, got {described(title)}")
    names = list(dict.fromkeys(_space(point) for point in points))
    dimensions = {_key(shape): shape[1] for shape in shapes}
    lanes = {name: lane for lane, name in enumerate(names)}
    ranks = {len(_numbers(point)) for point in points}
    in_rows = y is None and ranks <= {0, 1}
    positions = {}
    for point in points:
        numbers = _numbers(point)
        own = dimensions.get(_space(point), [""] * len(numbers))
        across = _coordinate(numbers, own, x, 0)
        lane = lanes[_space(point)]
        up = -lane if in_rows else _coordinate(numbers, own, y, 1) + 0.16 * lane
        positions[point] = (across + (0 if in_rows else 0.16 * lane), float(up))
    if axes is None:
        figure = new_figure(figsize=(5.2, 4.4), layout="constrained")
        axes = figure.subplots()
    else:
        figure = axes.figure
    for source, sink in pairs:
        _draw_arrow(axes, positions[source], positions[sink])
    for name, lane in lanes.items():
        own_points = [positions[point] for point in points if _space(point) == name]
        axes.scatter(
            [px for px, _ in own_points],
            [py for _, py in own_points],
            s=46,
            c=_COLOURS[lane % len(_COLOURS)],
            marker=_MARKERS[lane % len(_MARKERS)],
            label=name[0] or "points",
            zorder=4,
        )
    _label(axes, names, dimensions, (x, y), in_rows)
    heading = title if title is not None else text
    axes.set_title(
        heading if len(heading) <= 54 else heading[:51] + "...",
        fontsize=9,
        loc="left",
        family="monospace",
    )
    return SetPicture(figure, axes, positions, list(pairs))


_Space = tuple[str, int]


def _numbers(point: Point) -> tuple[int, ...]:
    """The coordinates, those of a wrapped pair one after the other."""
    if point.coordinates and isinstance(point.coordinates[0], Point):
        return _numbers(point.coordinates[0]) + _numbers(point.coordinates[1])
    return point.coordinates


def _space(point: Point) -> _Space:
    return point.name, len(_numbers(point))


def _key(shape: Shape) -> _Space:
    return shape[0], len(shape[1])


def _place(names: Sequence[str], chosen: str | int | None, default: int) -> int | None:
    """Which dimension lies along an axis; None where a space has none for it."""
    if chosen is None:
        return default if default < len(names) else None
    if isinstance(chosen, str):
        return list(names).index(chosen) if chosen in names else None
    number = an_integer(chosen, "the dimension to draw along", SET, minimum=0, bits=32)
    return number if number < len(names) else None


def _coordinate(
    numbers: Sequence[int], names: Sequence[str], chosen: str | int | None, default: int
) -> int:
    place = _place(names, chosen, default)
    return 0 if place is None else numbers[place]


def _label(
    axes: Any,
    spaces: Sequence[_Space],
    dimensions: dict[_Space, list[str]],
    chosen: tuple[str | int | None, str | int | None],
    in_rows: bool,
) -> None:
    for axis, (choice, default) in enumerate(zip(chosen, (0, 1), strict=True)):
        places = [_place(dimensions.get(space, []), choice, default) for space in spaces]
        if choice is not None and spaces and all(place is None for place in places):
            known = ", ".join(dict.fromkeys(n for own in dimensions.values() for n in own if n))
            raise SetError(
                f"there is no dimension {choice!r} to draw along; there are {known or 'none'}"
            )
        names = [
            dimensions[space][place]
            for space, place in zip(spaces, places, strict=True)
            if place is not None and space in dimensions
        ]
        label = ", ".join(dict.fromkeys(name for name in names if name))
        if axis == 0:
            axes.set_xlabel(label)
        elif not in_rows:
            axes.set_ylabel(label)
    axes.xaxis.get_major_locator().set_params(integer=True)
    if in_rows:
        axes.set_yticks([-lane for lane in range(len(spaces))])
        axes.set_yticklabels([name for name, _ in spaces])
        axes.set_ylim(-len(spaces) + 0.3, 0.7)
    else:
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.set_aspect("equal", adjustable="datalim")
        if len(spaces) > 1:
            axes.legend(loc="best", fontsize=8)
    axes.margins(0.12)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_arrow(axes: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.annotate(
        "",
        xy=end,
        xytext=start,
        arrowprops={
            "arrowstyle": "-|>",
            "color": _ARROW,
            "linewidth": 0.9,
            "shrinkA": 4,
            "shrinkB": 5,
            "connectionstyle": "arc3,rad=0.12",
        },
        zorder=3,
    )
