"""Vectors on a GPU: where memory is all that takes time, a thread moves up to 16 bytes at a time.

That pays where arrays are read and written along their rows, element by element, and rows begin at multiples of a
vector: in a version for sizes that are, beside which the same loops stand for all others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .. import _core
from ..language.expressions import as_dtype
from .commands import ComputationHandle
from .gpu_products import iterators_of
from .scheduled_functions import ScheduledFunction

__all__ = ["Lanes", "along_threads", "elements_by_vectors", "lanes_along", "vectors_of"]

BYTES = 16
MOST = 4
"""Bytes and elements of a vector."""

THREADS = (8, 32)
"""Of a block, along rows and columns."""

IN_A_ROW = 256
"""The same where there are columns only."""


@dataclass(frozen=True)
class Lanes:
    """How many neighbours a thread takes along a loop.

    Attributes:
        number: of them.
        sizes: the parameters that have to be multiples of it, so that there are only whole vectors.
    """

    number: int
    sizes: tuple[str, ...]

    @property
    def conditions(self) -> list[str]:
        """When there are only whole vectors, as isl has it."""
        return [f"{size} mod {self.number} = 0" for size in self.sizes]


def _expressions(function: ScheduledFunction, computation: str) -> list[_core.Expr]:
    declared = function._array(computation)
    return [part for piece in declared.pieces for part in piece[:2] if isinstance(part, _core.Expr)]


def lanes_along(function: ScheduledFunction, computation: str, loop: str) -> Lanes | None:
    """Vectors along a loop over columns or terms: all arrays that have it have it as their last subscript, alone."""
    if computation not in function._declared:
        return None
    declared = function._array(computation)
    rows: list[tuple[_core.Expr, bool]] = []  # how long, and whether a caller has it
    widest = 1
    if loop in declared.iterators:
        if declared.iterators[-1] != loop:
            return None
        rows.append((declared.extents[-1], computation in function.outputs))
        widest = as_dtype(declared.type).itemsize
    for node in (node for whole in _expressions(function, computation) for node in whole.nodes()):
        if node.kind == "reduce" and node.predicate is not None:
            return None
        if node.kind != "access" or not node.operands or node.producer is None:
            continue
        *before, last = (iterators_of(subscript) for subscript in node.operands)
        if any(loop in found for found in before):
            return None
        if loop in last:
            if node.operands[-1].kind != "iterator":
                return None
            rows.append((node.producer.extents[-1], node.producer.name in function.inputs))
            widest = max(widest, as_dtype(node.producer.type).itemsize)
    number = min(BYTES // widest, MOST)
    sizes: dict[str, None] = {}
    for extent, is_given in rows:
        if extent.kind == "parameter":
            sizes[str(extent.name)] = None
        elif is_given and not (isinstance(extent.value, int) and extent.value % number == 0):
            return None
    return Lanes(number, tuple(sizes)) if number > 1 and rows else None


def along_threads(own: ComputationHandle, loop: str, threads: int, lanes: int) -> None:
    """Threads side by side take vectors side by side, each of them several ones, one after the other."""
    own.split(loop, threads * lanes).split(f"{loop}1", lanes, f"{loop}t", f"{loop}v")
    outer = [each for each in own.loops if each not in (f"{loop}0", f"{loop}t", f"{loop}v")]
    own.reorder(*outer, f"{loop}t", f"{loop}0", f"{loop}v")
    own.gpu_thread(f"{loop}t").vectorize(f"{loop}v", lanes)


def _columns(lanes: int, own: ComputationHandle) -> None:
    *outer, column = own.loops
    if not outer:
        own.split(column, IN_A_ROW * lanes).split(f"{column}1", lanes, f"{column}t", f"{column}v")
        own.gpu_block(f"{column}0").gpu_thread(f"{column}t").vectorize(f"{column}v", lanes)
        return
    *outer, row = outer
    rows, columns = THREADS
    own.tile(row, column, rows, columns * lanes)
    own.split(f"{column}1", lanes, f"{column}t", f"{column}v")
    own.gpu_block(*outer, f"{row}0", f"{column}0").gpu_thread(f"{row}1", f"{column}t")
    own.vectorize(f"{column}v", lanes)


@dataclass(frozen=True)
class Vectors:
    """A mapping of elements by vectors: the commands, and when vectors are whole."""

    lanes: Lanes

    def __call__(self, own: ComputationHandle) -> None:
        _columns(self.lanes.number, own)


def elements_by_vectors(function: ScheduledFunction, computation: str) -> Iterator[Vectors]:
    """A way to map what is computed element by element."""
    lanes = vectors_of(function, computation)
    if lanes is not None:
        yield Vectors(lanes)


def vectors_of(function: ScheduledFunction, computation: str) -> Lanes | None:
    """The vectors of a computation whose elements need one element of each array, if it is one."""
    if computation not in function._declared:
        return None
    declared, loops = function._array(computation), function[computation].loops
    own = declared.iterators
    if len(declared.pieces) != 1 or not 1 <= len(own) <= 3 or list(loops) != own:
        return None
    for whole in _expressions(function, computation):
        # The terms of a sum have no loop here: what it adds up to is a computation of its own.
        if any(node.kind in ("fold", "while") for node in whole.nodes()):
            return None
    return lanes_along(function, computation, own[-1])
