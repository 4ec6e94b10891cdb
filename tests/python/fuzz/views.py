"""Computations that only read: readers read what a view shows, and an output needs no statement where it lies in place.

From the documentation of the library, on equations as plain data.
"""

from __future__ import annotations

import ast
from typing import Any

from fuzz.programs import walk
from fuzz.rewriting import is_computed, replaced, substituted

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


def needs_elements(name: str, computations: Computations) -> bool:
    """Whether somebody reads it at a computed subscript."""
    return any(
        node[0] == "read" and node[1] == name and any(is_computed(s) for s in node[2])
        for one in computations.values()
        for _, value in one["pieces"]
        for node in walk(value)
    )


def read_through(computations: Computations, outputs: list[str]) -> Computations:
    """The computations without views that are no outputs; nobody reads those that are."""
    result = dict(computations)
    for name in computations:
        view = result[name]
        if not view.get("view") or needs_elements(name, result):
            continue

        def change(node: list[Any], view: dict[str, Any] = view) -> list[Any]:
            return shown_by(view, node) if node[1] == view["name"] else node

        for reader, one in result.items():
            if reader != name:
                pieces = [[c, replaced(value, change)] for c, value in one["pieces"]]
                result[reader] = {**one, "pieces": pieces}
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
            case ast.BinOp(ast.Constant(value), ast.Mult(), right):
                add(right, factor * int(value))  # type: ignore[arg-type]
            case ast.UnaryOp(ast.USub(), operand):
                add(operand, -factor)
            case ast.Name(name):
                terms[name] = terms.get(name, 0) + factor
            case ast.Constant(value):
                constant += factor * int(value)  # type: ignore[arg-type]
            case _:
                raise ValueError(f"not affine: {text}")

    add(ast.parse(text, mode="eval").body, 1)
    return [constant, {name: c for name, c in terms.items() if c}]
