"""Products of two factors on a GPU: tiles of the factors in shared memory, sums in each thread's registers, and
tensor cores where the factors are of two bytes.

A product is a sum over terms of two factors, of which one has the elements' rows and not their columns, the other one
the columns and not the rows: products of matrices, also of many, and convolutions. A block has a tile of the result
that is so large that each element of a factor that it loads serves 128 sums (Volkov and Demmel, Benchmarking GPUs to
Tune Dense Linear Algebra, SC 2008)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import cast

from .. import _core
from .commands import ComputationHandle
from .scheduled_functions import ScheduledFunction

__all__ = ["iterators_of", "product_candidates", "whole_tiles"]

TILE = 128
"""Rows and columns of a block's tile."""

THREAD = 4
"""Neighbouring rows and columns of a thread; it has several such groups."""

GROUP = 64
"""Rows, or columns, of one group of each thread: 16 threads along it."""

TERMS = 8
"""Terms between two copies."""

FEW = 8
"""Neighbouring terms whose elements a thread keeps in registers, as those of a convolution's window."""

TENSOR_TERMS = 64
WARP_TILE = (64, 32)

_HALVES = ("float16", "bfloat16")

Commands = Callable[[ComputationHandle], object]


def iterators_of(node: _core.Expr) -> set[str]:
    """The names of the iterators in an expression."""
    return {part.name for part in node.nodes() if part.kind == "iterator"}


@dataclass(frozen=True)
class Factor:
    """An array that is read once for each term.

    Attributes:
        name: of the array.
        along: its dimension that has the iterator of the tile, None where it is not an iterator alone.
        rank: how many dimensions it has.
        window: how many more elements than a tile's a row of it has, for a convolution.
    """

    name: str
    along: int | None
    rank: int
    window: int = 0

    @property
    def order(self) -> list[int] | None:
        """Its dimensions in shared memory, with that of the tile innermost; None as they are."""
        if self.along is None or self.along == self.rank - 1:
            return None
        return [axis for axis in range(self.rank) if axis != self.along] + [self.along]

    @property
    def pad(self) -> int:
        """Elements at the end of its rows in shared memory. Where it is turned, they put what is stored at once into
        different banks; of a window, they make rows as long as whole vectors."""
        return THREAD if self.order else -self.window % THREAD


@dataclass(frozen=True)
class Product:
    """What is computed.

    Attributes:
        outer: loops of results that neither factor has alone.
        row, column: loops of the tile.
        terms: loops over terms.
        left, right: the factors with rows, and with columns.
        tiles: rows and columns of a tile, less where the result is known to be smaller.
        few: the innermost loop over terms if it is so short that its code is written out.
        halves: whether tensor cores have such factors.
    """

    outer: tuple[str, ...]
    row: str
    column: str
    terms: tuple[str, ...]
    left: Factor
    right: Factor
    tiles: tuple[int, int]
    few: tuple[str, ...]
    halves: bool


def _factor(node: _core.Expr) -> _core.Expr | None:
    """The access that is a factor, as it is or converted."""
    while node.kind == "cast":
        (node,) = node.operands
    return node if node.kind == "access" and node.operands and node.producer is not None else None


def _made(access: _core.Expr, iterator: str, lengths: dict[str, int]) -> Factor:
    assert access.producer is not None
    plain = [axis for axis, at in enumerate(access.operands) if iterator in iterators_of(at)]
    alone = len(plain) == 1 and access.operands[plain[0]].kind == "iterator"
    others = iterators_of(access.operands[-1]) - {iterator}
    window = 0 if alone else sum(lengths.get(name, 1) - 1 for name in others)
    return Factor(access.producer.name, plain[0] if alone else None, len(access.operands), window)


def _lengths(access: _core.Expr) -> dict[str, int]:
    """How long the loops of iterators that are subscripts alone may be, where that is a number."""
    assert access.producer is not None
    pairs = zip(access.operands, access.producer.extents, strict=True)
    return {
        at.name: extent.value
        for at, extent in pairs
        if at.kind == "iterator" and at.name is not None and isinstance(extent.value, int)
    }


def _tile(extent: _core.Expr, most: int) -> int:
    value = extent.value
    if not isinstance(value, int):
        return most
    return most if value > GROUP else GROUP if value >= GROUP // 2 else 0


def product_of(function: ScheduledFunction, computation: str) -> Product | None:
    """What a computation is, if it is a product."""
    if computation not in function._declared:
        return None
    declared = function._array(computation)
    own, pieces, loops = declared.iterators, declared.pieces, function[computation].loops
    if len(pieces) != 1 or len(own) < 2 or list(loops[: len(own)]) != own:
        return None
    sums = [node for node in pieces[0][1].nodes() if node.kind == "reduce"]
    if len(sums) != 1 or sums[0].operation != "sum" or len(sums[0].operands) != 1:
        return None
    (term,) = sums[0].operands
    if term.kind != "binary" or term.operation != "*":
        return None
    factors = [_factor(node) for node in term.operands]
    terms = loops[len(own) :]
    first, second = factors
    if first is None or second is None or not terms:
        return None
    # Wide sums leave a thread registers for one group alone.
    most = TILE if sums[0].type in ("float32", "int32", "uint32") else GROUP
    return _oriented(own, tuple(terms), first, second, declared.extents, most)


def _oriented(
    own: list[str],
    terms: tuple[str, ...],
    first: _core.Expr,
    second: _core.Expr,
    extents: list[_core.Expr],
    most: int,
) -> Product | None:
    """The factors by what they have: the innermost loop of the result is that of columns."""
    column = own[-1]
    if column in iterators_of(first):
        first, second = second, first
    has_rows, has_columns = iterators_of(first), iterators_of(second)
    rows = [name for name in own if name in has_rows - has_columns]
    if column in has_rows or column not in has_columns or not rows:
        return None
    if not (set(terms) <= has_rows and set(terms) <= has_columns):
        return None
    row = rows[-1]
    lengths = {**_lengths(first), **_lengths(second)}
    left, right = _made(first, row, lengths), _made(second, column, lengths)
    # Rows of an image are shorter than those of matrices.
    rows_of_tile, columns_of_tile = (
        min(_tile(extents[own.index(name)], most), TILE if factor.along is not None else GROUP)
        for name, factor in ((row, left), (column, right))
    )
    if not rows_of_tile or not columns_of_tile:
        return None
    return Product(
        tuple(name for name in own if name not in (row, column)),
        row,
        column,
        terms,
        left,
        right,
        (rows_of_tile, columns_of_tile),
        tuple(name for name in terms[1:] if lengths.get(name, FEW + 1) <= FEW)[-1:],
        len(terms) == 1 and first.type == second.type and first.type in _HALVES,
    )


def _copied(sums: ComputationHandle, factor: Factor, loop: str, stages: int) -> None:
    """A tile of a factor in shared memory; where it is turned, loads stay in the array's order."""
    order = factor.order
    made = sums.cache(
        factor.name, loop, memory="shared", order=order, pad=factor.pad, stages=stages
    )
    copy = cast(ComputationHandle, made)
    if order:
        copy.reorder(*(copy.loops[order.index(axis)] for axis in range(factor.rank)))


def _blocks(product: Product) -> tuple[list[str], list[str]]:
    """Loops over blocks, and those in front of the terms: a grid has three axes, so that blocks go
    through tiles of columns where there are more."""
    row, column = f"{product.row}0", f"{product.column}0"
    outer = list(product.outer)
    if len(outer) <= 1:
        return [*outer, row, column], [*outer, row, column]
    return [*outer, row], [*outer, row, column]


def _bring_together(product: Product, own: ComputationHandle) -> None:
    if own.loops[len(product.outer)] != product.row:
        own.reorder(*product.outer, product.row, product.column, *product.terms)


def _to_tiles(product: Product, stages: int, vectors: bool, own: ComputationHandle) -> None:
    i, j = product.row, product.column
    _bring_together(product, own)
    own.tile(i, j, *product.tiles)
    for loop, tile in zip((i, j), product.tiles, strict=True):
        inner = f"{loop}1"
        if tile > GROUP:
            own.split(inner, GROUP, f"{loop}g", f"{loop}2")
            inner = f"{loop}2"
        own.split(inner, THREAD, f"{loop}t", f"{loop}r")
    first, *others = product.terms
    own.split(first, TERMS)
    blocks, front = _blocks(product)
    each = [f"{i}g"] * (product.tiles[0] > GROUP) + [f"{i}r"]
    along = [f"{j}g"] * (product.tiles[1] > GROUP)
    own.reorder(*front, f"{first}0", f"{i}t", f"{j}t", f"{first}1", *others, *each, *along, f"{j}r")
    own.gpu_block(*blocks).gpu_thread(f"{i}t", f"{j}t")
    for loop in [*product.few, *each, *along]:
        own.unroll(loop)
    sums = cast(ComputationHandle, own.cache(own.name, f"{j}0", memory="private"))
    sums.unroll(f"{j}r")
    _copied(sums, product.left, f"{first}0", stages)
    _copied(sums, product.right, f"{first}0", stages)
    if vectors:
        own.vectorize(f"{j}r", THREAD)
    else:
        own.unroll(f"{j}r")


def _to_tensor_cores(product: Product, own: ComputationHandle) -> None:
    i, j = product.row, product.column
    (k,) = product.terms
    _bring_together(product, own)
    own.tile(i, j, *product.tiles).split(k, TENSOR_TERMS)
    own.split(f"{i}1", WARP_TILE[0], f"{i}w", f"{i}2").split(f"{i}2", 16, f"{i}r", f"{i}m")
    own.split(f"{j}1", WARP_TILE[1], f"{j}w", f"{j}2").split(f"{j}2", 8, f"{j}r", f"{j}m")
    own.split(f"{k}1", 16, f"{k}r", f"{k}m")
    blocks, front = _blocks(product)
    products = (f"{i}m", f"{j}m", f"{k}m")
    steps = (f"{k}r", f"{i}r", f"{j}r")
    own.reorder(*front, f"{k}0", f"{i}w", f"{j}w", *steps, *products)
    own.gpu_block(*blocks).gpu_thread(f"{i}w", f"{j}w").gpu_mma(*products)
    for loop in steps:
        own.unroll(loop)
    sums = own.cache(own.name, f"{j}0", memory="private")
    for factor in (product.left, product.right):
        sums.cache(factor.name, f"{k}0", memory="shared", pad=8, stages=2)


def product_candidates(function: ScheduledFunction, computation: str) -> Iterator[Commands]:
    """Ways to map a computation that is a product, the best ones first."""
    product = product_of(function, computation)
    if product is None:
        return
    if product.halves:
        yield partial(_to_tensor_cores, product)
    for stages in (2, 1):
        for vectors in (True, False):
            yield partial(_to_tiles, product, stages, vectors)


def whole_tiles(function: ScheduledFunction, computation: str) -> list[str]:
    """What sizes have to be for a product's tiles to be whole, as isl has it: in such a version loops
    need no tests."""
    product = product_of(function.copy().reset_schedule(), computation)
    if product is None:
        return []
    declared = function._array(computation)
    steps = dict(zip((product.row, product.column), product.tiles, strict=True))
    if product.right.along is None:
        steps[product.column] = THREAD  # rows of an image are seldom whole tiles, but whole vectors
    found = []
    for name, extent in zip(declared.iterators, declared.extents, strict=True):
        if name in steps and extent.kind == "parameter":
            found.append(f"{extent.name} mod {steps[name]} = 0")
    depth = TENSOR_TERMS if product.halves else TERMS
    for node in declared.pieces[0][1].nodes():
        if node.kind != "access" or node.producer is None:
            continue
        for at, extent in zip(node.operands, node.producer.extents, strict=True):
            if at.kind == "iterator" and at.name == product.terms[0]:
                if extent.kind == "parameter":
                    found.append(f"{extent.name} mod {depth} = 0")
                break
    return list(dict.fromkeys(found))
