"""Computations as people have them: declared in Layer I, with the commands of Layers II and III."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, overload

from ..language.computations import DeclaredComputation, declare
from ..language.expressions import DTypeLike, ExpressionLike
from ..language.names import Iterator
from ..language.reductions import RangeLike
from .commands import ScheduleCommands
from .questions import Questions
from .scans import Scans

__all__ = ["Computation", "computation", "view"]

Piece: TypeAlias = tuple[ExpressionLike, ExpressionLike]
IslPiece: TypeAlias = tuple[str, ExpressionLike]
Value: TypeAlias = ExpressionLike | Sequence[Piece]


class Computation(ScheduleCommands, Questions, Scans, DeclaredComputation):
    """What is computed, see `computation`; the commands of a schedule are its methods.

    The commands may be used while the computation belongs to exactly one function; otherwise use
    `f["C"]`.
    """

    __slots__ = ()


@overload
def computation(
    name: str,
    domain: Mapping[Iterator, RangeLike],
    value: Value | Callable[[Computation], Value] | None = None,
    *,
    where: ExpressionLike | None = None,
    otherwise: ExpressionLike | None = None,
    dtype: DTypeLike | None = None,
    shape: Sequence[ExpressionLike] | None = None,
) -> Computation: ...


@overload
def computation(
    name: str,
    domain: Iterable[tuple[Iterator, RangeLike]],
    value: Value | Callable[[Computation], Value] | None = None,
    *,
    where: ExpressionLike | None = None,
    otherwise: ExpressionLike | None = None,
    dtype: DTypeLike | None = None,
    shape: Sequence[ExpressionLike] | None = None,
) -> Computation: ...


@overload
def computation(
    name: str,
    domain: ExpressionLike
    | Sequence[IslPiece]
    | Callable[[Computation], ExpressionLike | Sequence[IslPiece]]
    | None = None,
    *,
    dtype: DTypeLike | None = None,
    shape: Sequence[ExpressionLike] | None = None,
) -> Computation: ...


def computation(  # the isl form gives the value in the second place
    name: str,
    domain: object = None,
    value: object = None,
    *,
    where: ExpressionLike | None = None,
    otherwise: ExpressionLike | None = None,
    dtype: DTypeLike | None = None,
    shape: Sequence[ExpressionLike] | None = None,
) -> Computation:
    """Declares a computation::

        C = tw.computation("C", {i: N, j: (1, M)}, A[i, j] * 2)           # 0 <= i < N, 1 <= j < M
        C = tw.computation("C", {i: N, j: M}, A[i, j], where=j <= i)
        C = tw.computation("C", {i: N}, [(i == 0, x[0]), (i > 0, y[i])])  # disjoint pieces
        C = tw.computation("C", {i: N}, x[i], where=mask[i], otherwise=y[i])
        C = tw.computation("C", {i: N, p: (row[i], row[i + 1])}, val[p] * x[col[p]])  # bounds are data
        C = tw.computation("C", {i: N}, [(x[i] < 0, -1), (x[i] > 0, 1), (None, 0)])
        C = tw.computation("C", {i: N}, lambda C: [(i == 0, x[0]), (i > 0, C[i - 1] + x[i])],
                           dtype=tw.float64)                              # over earlier instances
        C = tw.computation("[N] -> { C[i,j] : 0 <= j <= i < N }", A[i, j])

    Args:
        name: the name; or isl text of the domain with the name in it, and then the value comes
            next.
        domain: iterators, outermost first, with their ranges: an upper bound, a half-open pair, or a
            triple with a step, (1, N, 2), whose loop counts the values. Bounds may use parameters and
            earlier iterators, and they may read integer arrays where the value reads some array at
            the iterator itself: what lies beyond that array's extent is left out. {} for a single
            value. Of outputs, from 0 on; other computations may
            have negative coordinates.
        value: the element; a list of (condition, element) for disjoint pieces (with isl text: of
            (isl text, element)), of which the first that holds counts where conditions read data,
            and (None, element) at the end is for all others; a function that gets the computation
            and returns either, for recurrences; or None, and `Computation.define` follows.
        where: a condition. What is affine in it restricts the domain; what reads data is asked of
            each element, its parts in order, each where those before it hold.
        otherwise: the elements where `where` or bounds that read data do not hold, or no piece that
            data decide about; the domain is that of the ranges then. Without it, elements that data
            leave out do not exist: who reads one must stand under the same conditions, which is
            proved, and an output must have all of its elements.
        dtype: the type of an element; that of the value unless given. Needed where the value is a
            function or comes later.
        shape: the shape of the array, unless it is index 0 (or the smallest of the domain, if that
            may be negative) to the largest of the domain.

    Raises:
        DeclarationError: for an unbounded domain, pieces that overlap, a bound that is neither affine
            nor data in a known range.
        DomainError: when the value reads outside a domain or shape.
        DeclarationTypeError: when a type is missing, or does not hold the value.
    """
    return declare(Computation, name, domain, value, where, dtype, shape, otherwise)


@overload
def view(
    name: str,
    domain: Mapping[Iterator, RangeLike] | Iterable[tuple[Iterator, RangeLike]],
    value: Value | None = None,
    *,
    where: ExpressionLike | None = None,
    dtype: DTypeLike | None = None,
    shape: Sequence[ExpressionLike] | None = None,
) -> Computation: ...


@overload
def view(
    name: str,
    domain: ExpressionLike | Sequence[IslPiece] | None = None,
    *,
    dtype: DTypeLike | None = None,
    shape: Sequence[ExpressionLike] | None = None,
) -> Computation: ...


def view(  # the isl form gives the value in the second place
    name: str,
    domain: object = None,
    value: object = None,
    *,
    where: ExpressionLike | None = None,
    dtype: DTypeLike | None = None,
    shape: Sequence[ExpressionLike] | None = None,
) -> Computation:
    """Declares a computation that only reads: which element of which array each of its own is::

        edges = tw.view("edges", {i: N}, [(i == 0, left[0]), (i > 0, body[i - 1])])
        x = tw.view("x", {i: N}, tw.select(i < 3, head[i], tail[i - 3]))
        last = tw.view("last", {i: N}, u[T, i])                # the last values of a recurrence
        t = tw.view("t", {i: N, j: M}, A[j, i])

    A view makes no statement and no copy. Whoever reads one reads what it shows instead. An output
    that is a view lies in the caller's array, as every output does; the default schedule stores
    what it shows there too, wherever that is legal, so that several computations write one array
    and a recurrence leaves its last values in it. What cannot be stored there is copied: loops of
    the view's own, which commands schedule.

    A view that needs its own elements, or that a block reads, is stored like any other computation.
    So is one that is read at a subscript from data, ``x[index[k]]``, if what it shows has elements
    at subscripts that are none of its own (a part of an array, every second element), as the call
    could not tell wrong subscripts then, or if what it shows is computed from its readers.

    Args:
        name, domain, where, shape: as of `computation`.
        value: reads of arrays, A[i], chosen by `select` with affine conditions, by `phi`, or by a
            list of (condition, read) for disjoint pieces; None, and `Computation.define` follows.
        dtype: the type of an element, which is that of what is read.

    Raises:
        DeclarationError: as of `computation`; for a value that computes anything, or that is chosen
            by data.
        DomainError: when a read is outside a domain or shape.
        DeclarationTypeError: when a type is missing, or what is read has another one.

    Source: array versions of exact dataflow (PENCIL report, INRIA RT-0457, section 4); output
    equations of Alpha (CSU TR CS12-101, section 2).
    """
    return declare(Computation, name, domain, value, where, dtype, shape, is_view=True)
