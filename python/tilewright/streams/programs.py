"""What a stream function is made of: everything that its outputs need, and who reads what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .. import _core
from ..base.errors import DeclarationError
from ..schedule.computations import Computation
from .declarations import declaration_number
from .refusals import calls_block, declared_at, refusal, size_rate, times_a_size
from .timing import Reads

__all__ = ["Program", "gather"]


@dataclass(frozen=True)
class Program:
    """What a stream function is made of: everything that its outputs need.

    Attributes:
        computations: in the order in which they were found, outputs first.
        inputs: the streams that are pushed.
        arrays: the finite arrays that are given when a stream is opened.
        synchronise: whether parts that nothing connects run at one rate.
        relations: what each computation and input reads, by its identity.
    """

    name: str
    outputs: tuple[Computation, ...]
    computations: tuple[_core.Computation, ...]
    inputs: tuple[_core.Computation, ...]
    arrays: tuple[_core.Computation, ...]
    synchronise: bool
    relations: Mapping[int, Sequence[Reads]]

    def reads(self, handle: _core.Computation) -> Sequence[Reads]:
        """What it reads: (array, relation, whether it is exact)."""
        return self.relations[_core.computation_identity(handle)]


def _require_expression(handle: _core.Computation, order: tuple[str, ...]) -> None:
    """Only streams that are pushed have none: what `tw.stream` declared, or was pickled as such."""
    if handle.is_input or handle.pieces or declaration_number(handle) or handle.name in order:
        return
    raise refusal(
        f"the computation {handle.name} has no expression: define it before making a stream function, "
        "or declare it with tw.stream if its elements are pushed",
        handle,
    )


def _require_stream_values(handle: _core.Computation) -> None:
    """No block runs for ever, and the end of time is no number."""
    nodes = [node for _, value in handle.pieces for node in value.nodes()]
    if any(node.kind == "parameter" and node.name == "forever" for node in nodes):
        raise refusal(
            f"{handle.name} computes with tw.forever, which is no number: it is the end of a range that "
            "has none, {n: tw.forever}",
            handle,
        )
    if "forever" in handle.domain.parameters() and calls_block(handle):
        raise refusal(
            f"{handle.name} is what a block (tw.block) computes over tw.forever, and a stream has no opaque "
            "functions: nothing says what they keep from one element to the next. Say what it computes by "
            "expressions, or call the function on what push gives",
            handle,
        )
    _require_known_rates(handle, nodes)


def _require_known_rates(handle: _core.Computation, nodes: Sequence[_core.Expr]) -> None:
    """No size multiplies the time of a stream that is read."""
    for node in nodes:
        producer = node.producer
        if node.kind != "access" or producer is None or producer.is_input:
            continue
        if "forever" not in producer.domain.parameters():
            continue
        for subscript in node.operands:
            for iterator in _endless_iterators(handle):
                if size := times_a_size(subscript, iterator):
                    raise refusal(size_rate(handle.name, producer.name, size), handle)


def _endless_iterators(handle: _core.Computation) -> list[str]:
    """The iterators that run to the end of time."""
    return [
        name
        for name, extent in zip(handle.iterators, handle.extents, strict=True)
        if any(node.kind == "parameter" and node.name == "forever" for node in extent.nodes())
    ]


def gather(
    name: str,
    outputs: tuple[Computation, ...],
    order: tuple[str, ...] = (),
    synchronise: bool = False,
) -> Program:
    """All that the outputs read, directly or not. `order`: names of the inputs; else they are in the
    order in which they were declared."""
    found: dict[int, _core.Computation] = {}
    relations: dict[int, Sequence[Reads]] = {}
    waiting = [output._handle for output in outputs]
    while waiting:
        handle = waiting.pop(0)
        key = _core.computation_identity(handle)
        if key not in found:
            found[key] = handle
            _require_expression(handle, order)
            _require_stream_values(handle)
            relations[key] = _core.read_relations(handle)
            waiting += [producer for producer, _, _ in relations[key]]
    named: dict[str, _core.Computation] = {}
    for handle in found.values():
        if named.setdefault(handle.name, handle) is not handle:
            raise refusal(
                f"{name} has two arrays named {handle.name}, and another one was declared at "
                f"{declared_at(named[handle.name])}; give one of them another name",
                handle,
            )
    every = list(found.values())
    for handle in every:
        _core.check_defined_reads(handle)
    pushed = [one for one in every if not one.is_input and not one.pieces]
    if order and sorted(order) != sorted(one.name for one in pushed):
        names = ", ".join(one.name for one in pushed) or "nothing"
        raise DeclarationError(f"{name} pushes {names}; the order given names {', '.join(order)}")
    pushed.sort(key=lambda one: order.index(one.name) if order else declaration_number(one))
    return Program(
        name,
        outputs,
        tuple(one for one in every if not one.is_input and one.pieces),
        tuple(pushed),
        tuple(one for one in every if one.is_input),
        synchronise,
        relations,
    )
