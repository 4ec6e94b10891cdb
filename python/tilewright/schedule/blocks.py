"""Blocks as they are declared and scheduled: `tw.block`."""

from __future__ import annotations

from collections.abc import Iterator as Iterable
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core
from ..base.checks import made_by
from ..base.source import caller_location
from ..language.arrays import Array, Part
from ..language.blocks import declaration
from ..language.expressions import DTypeLike, ExpressionLike, condition_operand
from ..language.names import Iterator
from ..language.reductions import RangeLike
from .computations import Computation

__all__ = ["Block", "block"]


class Block:
    """The computations of a block: its call, which is scheduled, and its results, which are read.

    Iterating gives the results in the order in which they were declared, updates first.
    """

    __slots__ = ("_call", "_results")

    def __init__(self, call: Computation, results: tuple[Computation, ...]) -> None:
        made_by("tw.block", call, Computation, "tw.Block")
        made_by("tw.block", results, tuple, "tw.Block")
        self._call = call
        self._results = results

    @property
    def name(self) -> str:
        """The name, which is that of the call."""
        return self._call.name

    @property
    def call(self) -> Computation:
        """The calls, one for each instance; an element is what the function returned, an int32."""
        return self._call

    @property
    def results(self) -> tuple[Computation, ...]:
        """The arrays that the calls write."""
        return self._results

    def __iter__(self) -> Iterable[Computation]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __repr__(self) -> str:
        return f"<Block {self.name}: {', '.join(result.name for result in self._results)}>"


def block(
    name: str,
    function: Any,
    instances: Mapping[Iterator, RangeLike],
    *,
    reads: Sequence[Array | Part] | Mapping[str, Array | Part] = (),
    updates: Mapping[str, Array | Part] | None = None,
    writes: Mapping[str, tuple[Sequence[ExpressionLike], DTypeLike]] | None = None,
    arguments: Sequence[str | bytes | ExpressionLike] | None = None,
    where: ExpressionLike | None = None,
) -> Block:
    """Declares a block: an opaque function that is called once for each instance::

        def fft(x, y):                                    # NumPy views of the parts
            y[...] = numpy.fft.fft(x)

        S, = tw.block("fft_rows", fft, {r: R}, reads=[A.part[r, :]],
                      writes={"S": ([N], tw.complex128)})
        P = tw.computation("P", {r: R, k: N}, tw.abs(S[r, k]))

    What the function reads and writes is declared, and nothing else is known of it. Each result is a
    computation over the instances and the dimensions of its part, ``S[r, k]``. A result of `writes`
    is written whole by each call. One of `updates` starts with the elements of another part, which
    the function reads and changes in place; what it leaves alone keeps its value (a may-write).
    The function is pure otherwise, and threads may call it at the same time.

    Loops of the calls are scheduled through `Block.call`::

        for r in range(0, R):                  # blk.call.parallelize(r): parallel r
            fft_rows(A[r, :], S[r, :])

    Args:
        name: the name of the call.
        function: of C, as ctypes (with argtypes and restype) or Numba's cfunc have it, which runs
            without Python's lock, and takes parts as pointers to their first elements, that lie
            without gaps in the order of their dimensions; or a Python function of NumPy views, which
            takes the lock for each call. It returns nothing, or (C) an int, which is the element of
            the call.
        instances: iterators with affine ranges, one call for each point; {} for one call.
        reads: arrays, or parts of them, A.part[b, :, 0:K]; a dict gives them other names.
        updates: results by name, with the part that each starts with.
        writes: results by name, with the shape in one call and the type.
        arguments: names of parts, and numbers (expressions in parameters and the instance's
            iterators), in the order in which the function takes them; without it reads, updates,
            writes. Numbers of a pointer type are passed by reference, as Fortran has them, and
            ``b"U"`` is a character.
        where: a condition on parameters, under which there are calls and results.

    Returns:
        The block; unpacking it gives its results.

    Raises:
        DeclarationError: where parts, results and arguments do not fit the function.
        DeclarationTypeError: for arguments of other types, and types that differ from the function's.
        DomainError: for a part that leaves its array.
    """
    place = caller_location()
    made = declaration(name, function, instances, reads, updates, writes, arguments)
    condition = None if where is None else condition_operand(where, f"where= of {name}")
    call, results = _core.declare_block(name, *made, condition, place)
    return Block(Computation(call), tuple(Computation(result) for result in results))
