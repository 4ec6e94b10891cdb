"""Affine functions and sets as rows of integers: what random mappings are made of."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

SIZE = 3
Row = tuple[int, ...]  # coefficients of the indices, and a constant
Point = tuple[int, ...]

SHAPES: dict[str, tuple[int, list[Row]]] = {
    "line": (1, [(1, 0), (-1, SIZE - 1)]),
    "square": (2, [(1, 0, 0), (-1, 0, SIZE - 1), (0, 1, 0), (0, -1, SIZE - 1)]),
    "triangle": (2, [(0, 1, 0), (1, -1, 0), (-1, 0, SIZE - 1)]),
    "long line": (1, [(1, 0), (-1, 2 * SIZE - 2)]),
}


def at(row: Row, point: Point) -> int:
    return sum(c * p for c, p in zip(row, point, strict=False)) + row[-1]


def affine(row: Row, names: Sequence[str]) -> str:
    terms = [f"{'-' if c < 0 else '+'}{abs(c)}{n}" for c, n in zip(row, names, strict=False) if c]
    text = "".join(terms) + (f"{row[-1]:+d}" if row[-1] or not terms else "")
    return text.lstrip("+")


def composed(row: Row, function: Sequence[Row]) -> Row:
    """The row at the point that a function gives."""
    total = [0] * len(function[0]) if function else [0]
    for factor, each in zip(row, function, strict=False):
        total = [t + factor * e for t, e in zip(total, each, strict=True)]
    total[-1] += row[-1]
    return tuple(total)


def names_of(count: int) -> tuple[str, ...]:
    return ("i", "j", "k")[:count]


def where(rows: Sequence[Row], names: Sequence[str]) -> str:
    return " && ".join(f"{affine(row, names)}>=0" for row in rows) or "0==0"


def points(rows: Sequence[Row], count: int) -> list[Point]:
    box = itertools.product(range(-2, 2 * SIZE + 2), repeat=count)
    return [each for each in box if all(at(row, each) >= 0 for row in rows)]
