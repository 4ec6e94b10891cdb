"""The expressions of a declared function as they are kept for pickling, read as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from ..domains import Domain
from ..linear import Floor, Linear
from ..presburger import Constraint

__all__ = [
    "KINDS",
    "CannotSay",
    "Node",
    "Nodes",
    "affine_bounds",
    "affine_condition",
    "affine_value",
    "refuse",
]

KINDS = (
    "constant", "iterator", "parameter", "access", "unary", "binary", "call", "cast", "select", "reduce",
    "while", "while", "state", "fold", "extern",
    "checked",
)  # fmt: skip


class CannotSay(Exception):
    """What Alpha has no words for."""


def refuse(reason: str) -> NoReturn:
    """Ends the translation of a computation."""
    raise CannotSay(reason)


@dataclass(frozen=True)
class Node:
    """One expression; the fields are those of `Expr` in the core."""

    nodes: Nodes
    number: int

    @property
    def state(self) -> tuple[Any, ...]:
        return self.nodes.states[self.number]

    @property
    def kind(self) -> str:
        return KINDS[self.state[0]]

    @property
    def type(self) -> str:
        return str(self.state[1])

    @property
    def operands(self) -> list[Node]:
        return [self.nodes[number] for number in self.state[2]]

    @property
    def operation(self) -> str:
        return str(self.state[3])

    @property
    def value(self) -> Any:
        return self.state[4][1]

    @property
    def name(self) -> str:
        return str(self.state[5])

    @property
    def producer(self) -> int:
        return int(self.state[7])

    @property
    def ranges(self) -> list[tuple[str, Node, Node, int]]:
        """Of a reduction: the iterator, its half-open range, and the step."""
        return [(n, self.nodes[a], self.nodes[b], step) for n, a, b, step in self.state[8]]

    @property
    def condition(self) -> Node | None:
        return self.nodes.maybe(self.state[9])

    @property
    def predicate(self) -> Node | None:
        return self.nodes.maybe(self.state[10])

    @property
    def position(self) -> int:
        return int(self.state[12])

    @property
    def is_ordered(self) -> bool:
        return bool(self.state[13])

    @property
    def external(self) -> Any:
        return self.state[15]

    def below(self) -> Iterator[Node]:
        """This node and those that it is made of."""
        seen: set[int] = set()
        pending = [self]
        while pending:
            node = pending.pop()
            if node.number not in seen:
                seen.add(node.number)
                yield node
                pending += node.operands


class Nodes:
    """All expressions of a function by number."""

    def __init__(self, states: Sequence[tuple[Any, ...]]) -> None:
        self.states = states

    def __getitem__(self, number: int) -> Node:
        return Node(self, number)

    def maybe(self, number: int) -> Node | None:
        return None if number < 0 else Node(self, number)


def affine_value(node: Node) -> Linear | None:
    """An affine expression of iterators and parameters; None for another."""
    if node.kind in ("iterator", "parameter"):
        return Linear.of(node.name)
    if node.kind == "constant":
        return Linear(None, node.value) if type(node.value) is int else None
    if node.kind == "cast" and node.type == "int64":
        (inner,) = node.operands
        return affine_value(inner) if inner.type in ("int64", "int32") else None
    if node.kind == "unary" and node.operation == "Neg":
        value = affine_value(node.operands[0])
        return None if value is None else -value
    if node.kind != "binary" or node.type != "int64":
        return None
    left, right = (affine_value(each) for each in node.operands)
    if left is None or right is None:
        return None
    return _combined(node.operation, left, right)


def _combined(operation: str, left: Linear, right: Linear) -> Linear | None:
    if operation == "Add":
        return left + right
    if operation == "Sub":
        return left - right
    if operation == "Mul" and not right.terms:
        return left * right.constant
    if operation == "Mul" and not left.terms:
        return right * left.constant
    if operation in ("FloorDiv", "Mod") and not right.terms and right.constant > 0:
        quotient = Linear({Floor(left, right.constant): 1})
        return quotient if operation == "FloorDiv" else left - quotient * right.constant
    return None


def affine_bounds(node: Node, operation: str) -> list[Linear]:
    """The affine expressions of which a bound is the least or greatest; none if one is not affine."""
    if node.kind == "binary" and node.operation == operation:
        sides = [affine_bounds(each, operation) for each in node.operands]
        return [*sides[0], *sides[1]] if all(sides) else []
    value = affine_value(node)
    return [] if value is None else [value]


_MIRRORED = {"Lt": "Gt", "Le": "Ge"}


def affine_condition(node: Node, indices: tuple[str, ...]) -> Domain | None:
    """Where an affine condition holds; None for one that reads data."""
    if node.kind == "unary" and node.operation == "Not":
        inner = affine_condition(node.operands[0], indices)
        return None if inner is None else Domain.universe(indices) - inner
    if node.kind == "constant" and node.type == "bool":
        return Domain.where(indices, [[]] if node.value else [])
    if node.kind != "binary":
        return None
    if node.operation in ("And", "Or", "Xor"):
        if node.type != "bool":
            return None
        both = [affine_condition(each, indices) for each in node.operands]
        if both[0] is None or both[1] is None:
            return None
        if node.operation == "And":
            return both[0] & both[1]
        if node.operation == "Or":
            return both[0] | both[1]
        return (both[0] - both[1]) | (both[1] - both[0])
    return _compared(node, indices)


def _compared(node: Node, indices: tuple[str, ...]) -> Domain | None:
    if any(each.type != "int64" for each in node.operands):
        return None
    left, right = (affine_value(each) for each in node.operands)
    if left is None or right is None:
        return None
    operation = node.operation
    if operation in _MIRRORED:
        left, right, operation = right, left, _MIRRORED[operation]
    difference = left - right
    if operation == "Gt":
        return Domain.where(indices, [[Constraint(difference - Linear(None, 1), False)]])
    if operation == "Ge":
        return Domain.where(indices, [[Constraint(difference, False)]])
    equal = Domain.where(indices, [[Constraint(difference, True)]])
    if operation == "Eq":
        return equal
    return Domain.universe(indices) - equal if operation == "Ne" else None
