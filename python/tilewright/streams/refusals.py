"""What is said of programs that are no streams: at the line of the computation that makes them so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from .. import _core
from ..base.errors import DeclarationError, SelfDependenceError
from ..base.source import SourceLocation

__all__ = [
    "calls_block",
    "declared_at",
    "in_own_words",
    "refusal",
    "size_rate",
    "times_a_size",
    "unbounded_times",
]

_LOCATION = 10
"""Where a computation's line is among what it is packed as."""


_PIECES, _OPERANDS = 3, 2
"""Where its pieces are, (domain, node, line), and the operands of a node."""


class _Stream(Protocol):
    @property
    def handle(self) -> _core.Computation: ...

    @property
    def axis(self) -> int: ...

    @property
    def name(self) -> str: ...


def declared_at(handle: _core.Computation) -> SourceLocation | None:
    """The line of the user's program where it was declared."""
    (_, _, _, computations), (own,), _ = _core.pack([handle], [])
    where = computations[own][_LOCATION]
    return None if where is None else SourceLocation(*where)


def calls_block(handle: _core.Computation) -> bool:
    """Whether a computation is the call of a block, an opaque function, or a result of one. Functions of numbers
    (`tw.extern`) are none."""
    if not any(node.kind == "extern" for _, value in handle.pieces for node in value.nodes()):
        return False
    (_, _, nodes, computations), (own,), _ = _core.pack([handle], [])
    waiting = [node for _, node, *_ in computations[own][_PIECES]]
    externs: list[_core.Extern] = []
    while waiting:
        node = nodes[waiting.pop()]
        waiting += node[_OPERANDS]
        if isinstance(node[-1], _core.Extern):
            externs.append(node[-1])
    return not externs or any(one.is_block for one in externs)


def times_a_size(time: _core.Expr, iterator: str) -> str | None:
    """The parameter that a subscript multiplies the time by: ``R`` of ``R * n + 1``."""
    for node in time.nodes():
        if node.kind == "binary" and node.operation == "*":
            kinds = {one.kind: one.name for one in node.operands}
            if "parameter" in kinds and kinds.get("iterator") == iterator:
                return kinds["parameter"]
    return None


def size_rate(name: str, other: str, size: str) -> str:
    """What is said of ``other[size * n]``."""
    return (
        f"{name} reads {other}[{size} * n]: {size} decides how many elements of {other} go with one of {name}, and "
        f"that is a number; make a function for each {size}, with Python's number in its place: "
        f"def made({size}): ... {other}[{size} * n] ..."
    )


def refusal(message: str, handle: _core.Computation) -> DeclarationError:
    """The error for what a computation says, at its line."""
    return DeclarationError(message, declared_at(handle))


def unbounded_times(reader: _Stream, producer: _Stream) -> str:
    """Why it is not known how far a computation reaches, and what would say it."""
    times = [
        node.operands[producer.axis]
        for _, value in reader.handle.pieces
        for node in value.nodes()
        if node.kind == "access"
        and node.producer is not None
        and node.producer.name == producer.name
        and len(node.operands) > producer.axis
    ]
    by_data = any(node.kind == "access" for time in times for node in time.nodes())
    name, other = reader.name, producer.name
    own = reader.handle.iterators[reader.axis]
    for time in times:
        if size := times_a_size(time, own):
            return size_rate(name, other, size)
    what = "that data decide about" if by_data else "that are not affine (n * n)"
    return (
        f"{name} reads {other} at times {what}, without a bound, so that no finite memory keeps enough: say how "
        f"far they reach, for example {other}[tw.clamp(time, n - 200, n)]"
    )


def in_own_words(
    error: SelfDependenceError, computations: Sequence[_core.Computation]
) -> SelfDependenceError:
    """The error of a kernel without the parameters of its times, which the user has not declared.

    Args:
        computations: of the program, one of which it is about.
    """

    def left(found: re.Match[str]) -> str:
        own = [
            one for one in found[1].split(", ") if not re.match(r"\w+_(begin|end|first) = ", one)
        ]
        return f" (with {', '.join(own)})" if own else ""

    message = re.sub(r" \(with ([^()]*)\)", left, error.message)
    named = re.search(r"'(\w+)'", message)
    handle = next((one for one in computations if named and one.name == named[1]), None)
    return SelfDependenceError(
        f"{message}; let one of them read an earlier element, such as that at n - 1",
        error.location if handle is None else declared_at(handle),
        error.details,
    )
