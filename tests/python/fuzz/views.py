"""Computations that only read: readers read what a view shows, and an output needs no statement where it lies in place.

From the documentation of the library, on equations as plain data.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection
from typing import Any

from fuzz.programs import AXES, walk
from fuzz.rewriting import holds, is_computed, points, replaced, substituted

Computations = dict[str, dict[str, Any]]


def at_subscripts(value: list[Any], view: dict[str, Any], read: list[Any]) -> list[Any]:
    return substituted(value, dict(zip(view["iterators"], read[2], strict=True)))


def shown_by(view: dict[str, Any], read: list[Any]) -> list[Any]:
    """What a read of the view reads."""
    pieces = view["pieces"]
    if len(pieces) == 1:
        return at_subscripts(pieces[0][1], view, read)
    (kind, condition), first = pieces[0]
    second = pieces[1][1]
    if kind == "not":
        first, second = second, first
    return at_subscripts(["select", condition, first, second], view, read)


def with_elements(view: dict[str, Any]) -> dict[str, Any]:
    """The view without pieces that have no element, whatever the sizes are, and without what holds for all of its
    elements in the condition between two pieces: a reader at other subscripts does not depend on that."""
    pieces = [piece for piece in view["pieces"] if _has_elements(view, piece[0])]
    if len(pieces) == 1:
        pieces = [[None, pieces[0][1]]]
    if len(pieces) == 2:
        condition = pieces[0][0][1]
        asked = [part for part in condition if _has_elements(view, ["not", [part]])]
        if asked and len(asked) < len(condition):
            pieces = [[[kind, asked], value] for (kind, _), value in pieces]
    return {**view, "pieces": pieces or view["pieces"][:1]}


def with_branches_that_show(view: dict[str, Any]) -> dict[str, Any]:
    """The view, which reads other views, without branches in which none of its elements is, whatever the sizes are."""

    def chosen(value: list[Any], conditions: list[Any]) -> list[Any]:
        if value[0] != "select":
            return value
        _, condition, first, second = value
        if any(is_computed(c) for c in condition):
            return value
        here, there = [*conditions, ["all", condition]], [*conditions, ["not", condition]]
        if not _has_elements(view, *here):
            return chosen(second, conditions)
        if not _has_elements(view, *there):
            return chosen(first, conditions)
        return ["select", condition, chosen(first, here), chosen(second, there)]

    return {**view, "pieces": [[c, chosen(value, [c])] for c, value in view["pieces"]]}


def _has_elements(view: dict[str, Any], *conditions: Any) -> bool:
    told = repr((view["ranges"], view["where"], conditions))
    tried = [(*range(6), 7, 9, 16, 30) if f"'{axis}'" in told else (3,) for axis in AXES]
    return any(
        all(holds(condition, env) for condition in conditions)
        for sizes in itertools.product(*tried)
        if sum(size > 5 for size in sizes) <= 1  # one may have to be several times another
        for env in points(
            view["iterators"], view["ranges"], view["where"], dict(zip(AXES, sizes, strict=True))
        )
    )


def names_reached(computations: Computations, outputs: list[str]) -> set[str]:
    """The arrays that the outputs are made of; pieces of views without elements need none."""
    reached: set[str] = set()
    waiting = list(outputs)
    while waiting:
        name = waiting.pop()
        if name in reached or name not in computations:
            reached.add(name)
            continue
        reached.add(name)
        one = computations[name]
        pieces = with_elements(one)["pieces"] if one.get("view") else one["pieces"]
        waiting += [n[1] for _, value in pieces for n in walk(value) if n[0] == "read"]
    return reached


def needs_elements(name: str, computations: Computations) -> bool:
    """Whether somebody reads it at a computed subscript."""
    return any(
        node[0] == "read" and node[1] == name and any(is_computed(s) for s in node[2])
        for one in computations.values()
        for _, value in one["pieces"]
        for node in walk(value)
    )


def read_through(
    computations: Computations, outputs: list[str], stored: Collection[str]
) -> Computations:
    """The computations without views that are no outputs; nobody reads those that are. Of a view that is read at
    computed subscripts the library says whether it is `stored` and read: whether such a subscript stays among its
    elements is a question to isl."""
    result = {n: with_elements(c) if c.get("view") else c for n, c in computations.items()}
    for name in computations:
        view = result[name]
        if not view.get("view") or (needs_elements(name, result) and name in stored):
            continue

        def change(node: list[Any], view: dict[str, Any] = view) -> list[Any]:
            return shown_by(view, node) if node[1] == view["name"] else node

        for reader, one in result.items():
            if reader != name:
                pieces = [[c, replaced(value, change)] for c, value in one["pieces"]]
                read = {**one, "pieces": pieces}
                result[reader] = with_branches_that_show(read) if one.get("view") else read
        if name not in outputs:
            del result[name]
    return result


def leaves(one: dict[str, Any]) -> list[tuple[list[Any], list[Any]]]:
    """The reads that an output consists of, each with the conditions under which it is this one; those of a view that
    chooses, or the pieces that are reads."""

    def below(conditions: list[Any], value: list[Any]) -> list[tuple[list[Any], list[Any]]]:
        if value[0] == "select" and one.get("view"):
            _, chosen, first, second = value
            return [
                *below([*conditions, ["all", chosen]], first),
                *below([*conditions, ["not", chosen]], second),
            ]
        return [(conditions, value)] if value[0] == "read" else []

    return [
        leaf
        for condition, value in one["pieces"]
        for leaf in below([] if condition is None else [condition], value)
    ]


def affine_of(text: str) -> list[Any]:
    """A sum of names and numbers with coefficients, as the library writes one."""
    constant, terms = 0, {}

    def add(node: ast.expr, factor: int) -> None:
        nonlocal constant
        match node:
            case ast.BinOp(left, ast.Add(), right):
                add(left, factor)
                add(right, factor)
            case ast.BinOp(left, ast.Sub(), right):
                add(left, factor)
                add(right, -factor)
            case ast.BinOp(ast.Constant(int(value)), ast.Mult(), right):
                add(right, factor * value)
            case ast.UnaryOp(ast.USub(), operand):
                add(operand, -factor)
            case ast.Name(name):
                terms[name] = terms.get(name, 0) + factor
            case ast.Constant(int(value)):
                constant += factor * value
            case _:
                raise ValueError(f"not affine: {text}")

    add(ast.parse(text, mode="eval").body, 1)
    return [constant, {name: c for name, c in terms.items() if c}]
