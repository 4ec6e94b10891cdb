"""Sums, rows and transpositions on a GPU: what memory alone bounds.

- A single sum, and sums of columns, are made in two kernels: parts of the terms by many blocks, then the parts.
- Sums whose terms say to which element they belong (histograms, sums of groups) go through the terms once, with atomic
  updates: of counters of the block's own in shared memory where these are few (Podlozhnyuk, Histogram Calculation in
  CUDA, 2007), else of the results.
- A result whose rows need sums of the same row (softmax, layer norms) has a block for each row, which keeps those sums
  in shared memory: a row is loaded from memory once, and again from the block's cache.
- What reads across rows goes by tiles in shared memory, so that loads and stores are both of neighbours (Ruetsch and
  Micikevicius, Optimizing Matrix Transpose in CUDA, 2009)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from .. import _core
from .commands import ComputationHandle
from .gpu_products import iterators_of
from .gpu_vectors import Lanes, along_threads, lanes_along
from .scheduled_functions import ScheduledFunction

__all__ = ["rows_by_blocks", "sum_candidates", "transposed_candidates"]

TERMS = 256
"""Threads of a block that adds up."""

PART = 4096
"""Terms of a block's part of a single sum."""

COLUMN_PART = 256
"""Terms of a thread's part of a column's sum."""

SHARED_PART = 1 << 16
"""The same where all results have the same terms: the parts are many, too."""

COUNTED_PART = 1 << 14
"""Terms of a block that adds up elements of its own in shared memory, and how many elements it has at most."""
COUNTERS = 1 << 11

WARP = 32
ROWS = 8
"""Rows of a block whose warps add up one each, or copy a tile together."""

Commands = Callable[[ComputationHandle], object]


def _expression(function: ScheduledFunction, computation: str) -> _core.Expr | None:
    """What a computation is, if it is declared in one piece."""
    if computation not in function._declared:
        return None
    pieces = function._array(computation).pieces
    return pieces[0][1] if len(pieces) == 1 else None


# ---- sums in two kernels ----


def _final(own: ComputationHandle) -> None:
    """The parts, added up by one block: each thread has a share, so that it is one kernel."""
    last = own.loops[-1]
    own.split(last, TERMS).interchange(f"{last}0", f"{last}1").gpu_thread(f"{last}1")


def _single_sum(own: ComputationHandle) -> None:
    (term,) = own.loops
    own.split(term, PART)
    parts = own.rfactor(f"{term}0")
    parts.split(f"{term}1", TERMS, f"{term}2", f"{term}3")
    parts.gpu_block(f"{term}0").gpu_thread(f"{term}3")
    _final(own)


def _sum_of_rows(own: ComputationHandle) -> None:
    row, *_, term = own.loops
    parts = own.rfactor(row)
    parts.split(row, ROWS).split(term, WARP)
    parts.gpu_block(f"{row}0").gpu_thread(f"{row}1", f"{term}1")
    _final(own)


def _column_sums(part: int, own: ComputationHandle) -> None:
    column, term = own.loops
    own.split(term, part)
    parts = own.rfactor(f"{term}0")
    parts.reorder(f"{term}0", column, f"{term}1").gpu(f"{term}0", column)
    own.gpu(column)


def _groups(whole: _core.Expr, own: list[str]) -> list[str]:
    """The iterators of a result that each term decides about: `where=key[k] == i`."""
    conditions = [node.predicate for node in whole.nodes() if node.kind == "reduce"]
    found: list[str] = []
    while conditions:
        condition = conditions.pop()
        if condition is not None and condition.operation == "&":
            conditions += condition.operands
        elif condition is not None and condition.operation == "==":
            for one, other in (condition.operands, condition.operands[::-1]):
                alone = not iterators_of(other) & {one.name, *found}
                if one.kind == "iterator" and one.name in own and alone:
                    found.append(one.name)
    return found


def _counted(column: str, term: str, own: ComputationHandle) -> None:
    """Blocks have counters of their own; a warp adds up those of one element."""
    own.split(term, COUNTED_PART)
    parts = own.rfactor(f"{term}0")
    parts.reorder(f"{term}0", f"{term}1", column)
    parts.split(f"{term}1", TERMS, f"{term}2", f"{term}3")
    counters = parts.cache(parts, f"{term}0", memory="shared")
    parts.split(column, TERMS)
    parts.gpu_block(f"{term}0").gpu_thread(f"{column}1")
    counters.gpu_thread(f"{term}3").atomic()
    own.split(column, ROWS).split(f"{term}0", WARP, f"{term}2", f"{term}3")
    own.gpu_block(f"{column}0").gpu_thread(f"{column}1", f"{term}3")


def _scattered(kept: list[str], terms: list[str], found: list[str], own: ComputationHandle) -> None:
    """Each term is a thread, which updates its element; another kernel sets what the sums begin with."""
    *between, last = terms
    outer = [*between, f"{last}0", *kept]
    own.atomic().split(last, TERMS).reorder(*outer, f"{last}1", *found)
    own.gpu_block(*outer[:3]).gpu_thread(f"{last}1")


def _scattered_candidates(
    function: ScheduledFunction, computation: str, whole: _core.Expr
) -> Iterator[Commands]:
    array = function._array(computation)
    found = _groups(whole, array.iterators)
    if not found:
        return
    own, loops = array.iterators, function[computation].loops
    kept = [each for each in own if each not in found]
    terms = [each for each in loops if each not in own]
    if not terms:
        return
    if len(own) == len(terms) == 1:
        extent = array.extents[0].value
        if isinstance(extent, int) and extent <= COUNTERS:
            yield partial(_counted, own[0], terms[0])
    yield partial(_scattered, kept, terms, found)


def sum_candidates(function: ScheduledFunction, computation: str) -> Iterator[Commands]:
    """Ways to map sums of which there are too few to give each a thread or a block."""
    whole = _expression(function, computation)
    if whole is None:
        return
    sums = [node for node in whole.nodes() if node.kind == "reduce"]
    own, loops = function._array(computation).iterators, function[computation].loops
    if len(sums) != 1:
        return
    yield from _scattered_candidates(function, computation, whole)
    if not own and loops:  # without loops, a computation of its own has the sum
        yield _single_sum if len(loops) == 1 else _sum_of_rows
    elif len(own) == 1 and len(loops) == 2:
        column, term = loops
        reads = [node for node in sums[0].nodes() if node.kind == "access" and node.operands]
        if not any(column in iterators_of(access) for access in reads):
            # As in a histogram, each result goes through the same terms.
            yield partial(_column_sums, SHARED_PART)
        elif any(
            column in iterators_of(access.operands[-1]) and term in iterators_of(access)
            for access in reads
        ):
            yield partial(_column_sums, COLUMN_PART)


# ---- rows whose elements need sums of the row ----


def _by_blocks(names: list[str], whole: str, lanes: int, function: ScheduledFunction) -> None:
    result = function[whole]
    *outer, column = result.loops
    for name in names:
        if len(function[name].loops) == len(result.loops) and not _sums_up(function, name):
            function[name].inline()
    result.gpu_block(*outer)
    _shared_out(result, column, lanes)
    for name in reversed(names):
        if name not in function.computations:
            continue  # inlined
        part = function[name]
        if len(part.loops) > len(outer):
            _shared_out(part, part.loops[-1], lanes)
        part.compute_at(result, outer[-1]).store_at(result, outer[-1], memory="shared")


def _shared_out(own: ComputationHandle, loop: str, lanes: int) -> None:
    """Among the threads of a block, element by element or vector by vector."""
    if lanes > 1:
        along_threads(own, loop, TERMS, lanes)
    else:
        own.split(loop, TERMS).interchange(f"{loop}0", f"{loop}1").gpu_thread(f"{loop}1")


def _sums_up(function: ScheduledFunction, name: str) -> bool:
    return len(function[name].loops) > len(function._array(name).iterators)


RowCommands = Callable[[ScheduledFunction], None]


def _lanes_of_rows(function: ScheduledFunction, names: list[str]) -> Lanes | None:
    """The vectors that all loops over the elements of a row have."""
    found = [
        lanes_along(function, name, function[name].loops[-1])
        for name in names
        if len(function[name].loops) > 1
    ]
    together = [each for each in found if each is not None]
    if len(together) < len(found):
        return None
    sizes = dict.fromkeys(size for each in together for size in each.sizes)
    return Lanes(min(each.number for each in together), tuple(sizes))


def rows_by_blocks(function: ScheduledFunction) -> list[tuple[RowCommands, str]]:
    """The commands for a function that has one result, whose rows need sums of the same row, best ones
    first, and of which sizes there shall be a version of its own."""
    *parts, result = function.computations
    if not parts or result not in function._declared or _sums_up(function, result):
        return []
    own = function._array(result).iterators
    if len(own) != 2 or list(function[result].loops) != own:
        return []
    sums = 0
    for name in parts:
        if name not in function._declared or function._array(name).iterators[:1] != own[:1]:
            return []
        rank = len(function._array(name).iterators)
        reduced = len(function[name].loops) - rank
        if (rank, reduced) not in ((1, 0), (1, 1), (2, 0)):
            return []
        sums += reduced
    if not sums:
        return []
    lanes = _lanes_of_rows(function, [*parts, result])
    plain: tuple[RowCommands, str] = (partial(_by_blocks, parts, result, 1), "")
    if lanes is None:
        return [plain]
    commands = partial(_by_blocks, parts, result, lanes.number)
    return [(commands, " and ".join(lanes.conditions)), plain]


# ---- across rows ----


def _by_tiles(arrays: list[str], own: ComputationHandle) -> None:
    row, column = own.loops[-2:]
    outer = own.loops[:-2]
    own.tile(row, column, WARP, WARP).split(f"{row}1", WARP // ROWS, f"{row}t", f"{row}r")
    own.reorder(*outer, f"{row}0", f"{column}0", f"{row}t", f"{column}1", f"{row}r")
    own.gpu_block(*outer, f"{row}0", f"{column}0").gpu_thread(f"{row}t", f"{column}1")
    own.unroll(f"{row}r")
    for array in arrays:
        own.cache(array, f"{column}0", memory="shared", pad=1)


def transposed_candidates(function: ScheduledFunction, computation: str) -> Iterator[Commands]:
    """Ways to map what reads arrays whose rows are its columns."""
    whole = _expression(function, computation)
    if whole is None:
        return
    own, loops = function._array(computation).iterators, function[computation].loops
    if not 2 <= len(own) <= 3 or list(loops) != own:
        return
    row, column = own[-2:]
    crossed = []
    for access in whole.nodes():
        if access.kind == "access" and access.operands and access.producer is not None:
            last = iterators_of(access.operands[-1])
            if row in last and column not in last and column in iterators_of(access):
                crossed.append(access.producer.name)
    if crossed:
        yield partial(_by_tiles, list(dict.fromkeys(crossed)))
