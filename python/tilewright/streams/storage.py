"""Buffers for arrays without an end: which elements are alive at one time, and how few places they need.

Storage conflicts and the successive modulo technique: Lefebvre and Feautrier, "Automatic storage
management for parallel programs" (Parallel Computing 24, 1998), as Leben and Tzanetakis use it (ACM TACO
16(3), 2019, sections 2.4 and 5.1); the kinds of buffers are those of their section 5.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..base.errors import DeclarationError
from ..sets.values import Map, Set
from .unbounded import extreme, names_of, rank_of

__all__ = ["Buffer", "StorageSize", "buffer_of", "conflicts", "storage_sizes", "successive_modulo"]

Vector = tuple[int, ...]


@dataclass(frozen=True)
class StorageSize:
    """The smallest modular mapping of an array.

    Attributes:
        extents: element i is stored at ``i mod extents``.
        moves: how far accesses move on from each period to the next one.
    """

    extents: Vector
    moves: Vector

    @property
    def elements(self) -> int:
        return math.prod(self.extents)


def _not_done(rank: int, parallel: Sequence[int], or_same: bool) -> Map:
    """Times w -> r, if r is not known to be before w: later, or in parallel."""
    first, second = names_of(rank, "w"), names_of(rank, "r")
    cases = (
        [" and ".join(f"{a} = {b}" for a, b in zip(first, second, strict=True))] if or_same else []
    )
    for d in range(rank):
        same = [f"{a} = {b}" for a, b in zip(first[:d], second[:d], strict=True)]
        sign = "!=" if d in parallel else "<"
        cases.append(" and ".join([*same, f"{first[d]} {sign} {second[d]}"]))
    return Map(f"{{ [{', '.join(first)}] -> [{', '.join(second)}] : {' or '.join(cases)} }}")


def conflicts(
    times: Map, writes: Map, reads: Map, array: str, rank: int, parallel: Sequence[int]
) -> Map:
    """Pairs of elements of an array that cannot share a place: the second one is written while the
    first one is alive.

    An element is alive from when it is written to when it is last accessed. What an instance reads
    is read before it stores its result, so that this may have the same place. Instances that run in
    parallel come neither before nor after each other.
    """
    names = ", ".join(names_of(rank, "e"))
    own = Set(f"{{ {array}[{names}] }}")
    written = writes.intersect_range(own).reverse().then(times)
    accessed = (writes | reads).intersect_range(own).reverse().then(times)
    depth = rank_of(times.range)
    since = written.then(_not_done(depth, parallel, or_same=True))
    until = accessed.then(_not_done(depth, parallel, or_same=False).reverse())
    return (since & until).then(written.reverse())


def successive_modulo(
    pairs: Map, rank: int, array: str, order: Sequence[int] | None = None
) -> Vector:
    """The smallest extents of ``i mod extents`` that keep the elements of all pairs apart, one
    dimension after the other (Definition 2.11).

    Args:
        order: of the dimensions; the first one first without it.

    Raises:
        DeclarationError: there is no end to them: an element is needed for ever.
    """
    names = names_of(rank, "d")
    unnamed = Map(f"{{ {array}[{', '.join(names)}] -> [{', '.join(names)}] }}")(pairs.deltas())
    extents = [1] * rank
    done: list[str] = []
    for axis in range(rank) if order is None else order:
        conditions = [
            f"(e = {names[axis]} or e = -{names[axis]})",
            *(f"{name} = 0" for name in done),
        ]
        along = Map(f"{{ [{', '.join(names)}] -> [e] : {' and '.join(conditions)} }}")(unnamed)
        done.append(names[axis])
        if along.is_empty:
            continue
        farthest = extreme(along, largest=True)
        if farthest is None:
            raise DeclarationError(
                f"{array} needs memory without bound: elements stay alive while unboundedly many others "
                f"are made, such as {pairs.sample()}"
            )
        extents[axis] = farthest + 1
    return tuple(extents)


def storage_sizes(
    times: Map, writes: Map, reads: Map, parallel: Sequence[int]
) -> dict[str, Vector]:
    """The extents of each array that is written: the smaller ones of successive modulo with the first
    dimension first and with the last one first."""
    sizes: dict[str, Vector] = {}
    for _, _, (_, (array, elements, _)) in writes._shapes():
        if array in sizes:
            continue
        rank = len(elements)
        pairs = conflicts(times, writes, reads, array, rank, parallel)
        if pairs.is_empty:
            sizes[array] = (1,) * rank
            continue
        sizes[array] = successive_modulo(pairs, rank, array)
        if rank > 1:
            backwards = successive_modulo(pairs, rank, array, range(rank - 1, -1, -1))
            if math.prod(backwards) < math.prod(sizes[array]):
                sizes[array] = backwards
    return sizes


# ---- kinds of buffers ----


@dataclass(frozen=True)
class Buffer:
    """How an array is stored.

    Attributes:
        array: its name.
        extents: of the buffer.
        kind: ``"one"`` (a single place along time: no index), ``"mask"`` (``i & (e - 1)``),
            ``"modulo"`` (``i % e``), ``"shift"`` (no modulo; what is needed later moves to the front
            after each period), ``"unrolled"`` (as many periods are written out as bring the
            index back to where it was).
        elements: how many it has.
        least: how many a modulo buffer has.
    """

    array: str
    extents: Vector
    kind: str
    elements: int
    least: int


def _mask(size: StorageSize, axis: int) -> Vector:
    e = size.extents[axis]
    return (*size.extents[:axis], 1 << (e - 1).bit_length(), *size.extents[axis + 1 :])


def _unrolled_periods(size: StorageSize, axis: int) -> int:
    e, move = size.extents[axis], size.moves[axis]
    return 1 if not move else e // math.gcd(e, move)


def buffer_of(
    array: str, size: StorageSize, axis: int | None, span: int, kind: str | None = None
) -> Buffer:
    """The kind of buffer that costs least, and at most twice the memory of a modulo buffer.

    The order of costs: no index along time, a mask, an index that is moved to the front after each
    period (if few elements stay), a period that is written out up to four times, a modulo.

    Args:
        axis: the dimension of time; None for arrays without one.
        span: how many elements along time a period accesses.
        kind: the kind that is asked for, whatever it costs.
    """
    least = size.elements
    if axis is None:
        return Buffer(array, size.extents, "one", least, least)
    e = size.extents[axis]
    masked = _mask(size, axis)
    longer = (*size.extents[:axis], max(span, e), *size.extents[axis + 1 :])
    offers = {
        "one": size.extents if e == 1 else None,
        "mask": masked,
        "shift": longer,
        "unrolled": size.extents,
        "modulo": size.extents,
    }
    if kind is not None:
        extents = offers.get(kind)
        if extents is None:
            raise DeclarationError(
                f"a buffer of {array} is a mask, a shift, an unrolled or a modulo one"
                + (f" (one, if a single element is kept: here it is {e})" if kind == "one" else "")
                + f", got {kind!r}"
            )
        return Buffer(array, extents, kind, math.prod(extents), least)
    for offered in ("one", "mask", "unrolled", "shift", "modulo"):
        extents = offers[offered]
        if extents is None or math.prod(extents) > 2 * least:
            continue
        if offered == "unrolled" and _unrolled_periods(size, axis) > 4:
            continue
        return Buffer(array, extents, offered, math.prod(extents), least)
    return Buffer(array, size.extents, "modulo", least, least)
