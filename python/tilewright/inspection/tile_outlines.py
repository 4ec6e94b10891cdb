"""The tiles of a schedule as outlines around the instances that they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..schedule.schedule_text import commands_with, each_command
from ..schedule.scheduled_functions import ScheduledFunction
from .instances import Instance

__all__ = ["Box", "Position", "tile_boxes"]

Position: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A tile as it was drawn: the loops over tiles that it belongs to, and its outline."""

    computation: str
    loops: dict[str, int]
    instances: tuple[Instance, ...]
    corners: tuple[Position, ...]


def _tile_loops(function: ScheduledFunction, computation: str) -> list[list[str]]:
    """The loops over tiles that are still there, one list for each level of tiling."""
    level: dict[str, int] = {}  # loops that splits made -> how often they were cut
    outer: dict[str, int] = {}
    for own, name, arguments in each_command(function.schedule.commands):
        if own != computation or name not in commands_with("cuts"):
            continue
        loops = [argument for argument in arguments if isinstance(argument, str)]
        count = sum(isinstance(argument, int) for argument in arguments)
        if count == 0 and len(loops) == 1:
            continue  # a tag alone
        if count == 0:  # by an expression in parameters
            loops, count = [loops[0], *loops[2:]], 1
        cut, new = loops[:count], loops[count:]
        if not new:
            new = [f"{loop}0" for loop in cut] + [f"{loop}1" for loop in cut]
        for loop, over, inside in zip(cut, new[:count], new[count:], strict=False):
            outer[over] = outer.pop(loop, level.get(loop, 0) + 1)
            level[over] = level[inside] = outer[over]
    present = function[computation].loops
    levels = sorted({n for loop, n in outer.items() if loop in present})
    return [[loop for loop in present if outer.get(loop, n + 1) <= n] for n in levels]


def tile_boxes(
    function: ScheduledFunction, shown: list[Instance], points: dict[Instance, Position]
) -> list[Box]:
    """The tiles of each level of tiling, around the instances that are shown."""
    boxes = []
    for computation in dict.fromkeys(instance.computation for instance in shown):
        for loops in _tile_loops(function, computation):
            tiles: dict[tuple[int, ...], list[Instance]] = {}
            for instance in shown:
                if instance.computation == computation:
                    values = instance.loops
                    tiles.setdefault(tuple(values[loop] for loop in loops), []).append(instance)
            tiles = dict(sorted(tiles.items()))
            places = [[points[instance] for instance in inside] for inside in tiles.values()]
            outlines = [_outline(inside, 0.4) for inside in places]
            if any(len(outline) > 4 for outline in outlines):
                # Slanted: drawn so narrow that neighbours do not overlap.
                outlines = [_outline(inside, 0.22) for inside in places]
            boxes += [
                Box(computation, dict(zip(loops, numbers, strict=True)), tuple(inside), outline)
                for (numbers, inside), outline in zip(tiles.items(), outlines, strict=True)
            ]
    return boxes


def _outline(points: Sequence[Position], margin: float) -> tuple[Position, ...]:
    """The convex hull of squares around the points, counter-clockwise."""
    corners = sorted(
        {
            (px + sx * margin, py + sy * margin)
            for px, py in points
            for sx in (-1, 1)
            for sy in (-1, 1)
        }
    )

    def chain(ordered: list[Position]) -> list[Position]:
        hull: list[Position] = []
        for point in ordered:
            while len(hull) >= 2 and _turn(hull[-2], hull[-1], point) <= 1e-9:
                hull.pop()
            hull.append(point)
        return hull[:-1]

    return (*chain(corners), *chain(corners[::-1]))


def _turn(a: Position, b: Position, c: Position) -> float:
    """Positive where a, b, c turn left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
