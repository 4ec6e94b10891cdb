"""A mapping to a GPU that is found by trying: of each computation, the loops that may run at the same time become
blocks and threads. Loops around them run on the host, which launches a kernel in each of their iterations; loops inside
of them run in each thread; what no such loop is around is done by a block that adds up, or by one thread. Sums of rows
are added up by warps, since threads that have rows of their own would load what lies far apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from .. import _core
from ..base.errors import AnalysisLimitError, ScheduleError
from .commands import ComputationHandle
from .gpu_products import iterators_of, product_candidates, whole_tiles
from .gpu_rows import rows_by_blocks, sum_candidates, transposed_candidates
from .gpu_vectors import Lanes, Vectors, elements_by_vectors, vectors_of
from .scheduled_functions import ScheduledFunction

__all__ = ["functions_of_c", "is_own_version", "map_to_gpu"]

Commands = Callable[[ComputationHandle], object]

TERMS = 256
"""Threads of a block that adds up."""

WARP = 32
ROWS = 8
"""Rows of a block whose warps add up one each."""


def _succeeds(
    function: ScheduledFunction, computation: str, commands: Commands, lower: str
) -> bool:
    trial = function.copy()
    try:
        commands(trial[computation])
        if lower == "code":
            trial._ptx_text("")  # limits of kernels are known then
        elif lower == "loops":
            trial._passes()  # what a thread and a block have of their memory is known then
    except (ScheduleError, AnalysisLimitError):
        return False
    return True


def _parallel_runs(function: ScheduledFunction, computation: str) -> Iterator[list[str]]:
    """Parallel loops directly inside each other: the outermost ones first, as many as there are."""
    run: list[str] = []
    runs = [run]
    for loop in function[computation].loops:
        if _succeeds(function, computation, partial(_parallelize, loop), ""):
            run.append(loop)
        elif run:
            run = []
            runs.append(run)
    for found in runs:
        for start in range(len(found)):
            yield found[start:]


def _parallelize(loop: str, own: ComputationHandle) -> None:
    own.parallelize(loop)


def _to_blocks_and_threads(run: Sequence[str], own: ComputationHandle) -> None:
    if len(run) <= 3:
        own.gpu(*run)
        return
    # Blocks of the first one and of tiles of the last two; each thread runs through the others.
    first, *between, row, column = run
    own.tile(row, column, 8, 32)
    own.reorder(first, f"{row}0", f"{column}0", f"{row}1", f"{column}1", *between)
    own.gpu_block(first, f"{row}0", f"{column}0").gpu_thread(f"{row}1", f"{column}1")


def _to_terms(own: ComputationHandle) -> None:
    last = own.loops[-1]
    own.split(last, TERMS).gpu_thread(f"{last}1")


def _adds_up_rows(function: ScheduledFunction, computation: str) -> bool:
    """Whether the terms of an element are a row of an array, which nothing else is computed from: so
    its memory is what takes time, and its neighbours are terms, not elements."""
    if computation not in function._declared:
        return False  # what a command has made, such as a copy
    loops = function[computation].loops
    declared = function._array(computation)
    own, pieces = declared.iterators, declared.pieces
    if len(pieces) != 1 or not own or list(loops[:-1]) != own:
        return False
    term, is_row = loops[-1], False
    for access in pieces[0][1].nodes():
        if access.kind != "access" or not access.operands or access.producer is None:
            continue
        last = iterators_of(access.operands[-1])
        if last & set(own) and term in iterators_of(access):
            return False
        extent = access.producer.extents[-1].value
        if term in last and not (isinstance(extent, int) and extent < WARP):
            is_row = is_row or iterators_of(access) >= {*own, term}
    return is_row


def _to_rows(own: ComputationHandle) -> None:
    *outer, row, term = own.loops
    own.split(row, ROWS).split(term, WARP)
    own.gpu_block(*outer, f"{row}0").gpu_thread(f"{row}1", f"{term}1")


def _to_row_blocks(own: ComputationHandle) -> None:
    """A block for each row, where rows have numbers of terms that threads of one block may not share."""
    *outer, row, term = own.loops
    own.split(term, TERMS).gpu_block(*outer, row).gpu_thread(f"{term}1")


def _candidates(function: ScheduledFunction, computation: str) -> Iterator[tuple[Commands, str]]:
    # Code of tiles is long, and its limits are constants: it is not made to try them.
    for commands in product_candidates(function, computation):
        yield commands, "loops"
    for commands in (
        *transposed_candidates(function, computation),
        *sum_candidates(function, computation),
    ):
        yield commands, "code"
    if _adds_up_rows(function, computation):
        yield _to_rows, "code"
        yield _to_row_blocks, "code"
    for vectors in elements_by_vectors(function, computation):
        yield vectors, "code"
    for run in _parallel_runs(function, computation):
        yield partial(_to_blocks_and_threads, run), ""
    if function[computation].loops:
        yield _to_terms, "code"


def _maps_rows(function: ScheduledFunction) -> bool:
    """Gives a function whose rows need sums of themselves a block for each row, if it is one."""
    for commands, condition in rows_by_blocks(function):
        trial = function.copy()
        try:
            commands(trial)
            if condition:
                trial.specialize(condition)
            trial._ptx_text("")
        except (ScheduleError, AnalysisLimitError):
            continue
        commands(function)
        if condition:
            function.specialize(condition)
        return True
    return False


def _whole_tiles_of(function: ScheduledFunction, products: Sequence[str]) -> list[str]:
    """Of which sizes the tiles of all products are whole."""
    conditions = [text for name in products for text in whole_tiles(function, name)]
    return list(dict.fromkeys(conditions))


def is_own_version(function: ScheduledFunction, condition: str) -> bool:
    """Whether `map_to_gpu` may have made a version of these sizes for its tiles and vectors: then it is no
    fact that the function's author has stated."""
    declared = function.copy().reset_schedule()
    names = declared.computations
    rows = [text.split(" and ") for _, text in rows_by_blocks(declared) if text]
    vectors = [vectors_of(declared, name) for name in names]
    known = {
        *_whole_tiles_of(declared, names),
        *(part for parts in rows for part in parts),
        *(part for each in vectors if each is not None for part in each.conditions),
    }
    return set(condition.split(" and ")) <= known


def _specialize(
    function: ScheduledFunction, products: Sequence[str], vectors: Sequence[Lanes]
) -> None:
    """A version in which the tiles of all products, and all vectors, are whole."""
    conditions = _whole_tiles_of(function, products)
    tiled = {condition.partition(" mod ")[0] for condition in conditions}
    for each in vectors:
        # Tiles of products have more than a vector's elements.
        conditions += [text for text in each.conditions if text.partition(" mod ")[0] not in tiled]
    together = " and ".join(dict.fromkeys(conditions))
    if not together:
        return
    trial = function.copy()
    try:
        trial.specialize(together)
    except (ScheduleError, AnalysisLimitError):
        return
    function.specialize(together)


def functions_of_c(function: ScheduledFunction) -> list[str]:
    """The functions of C that its computations call, for which a GPU has no code."""
    whole = [
        part
        for declared in function._declared
        for piece in function._array(declared).pieces
        for part in piece[:2]
        if isinstance(part, _core.Expr)
    ]
    found: dict[str, None] = {}
    while whole:
        for node in whole.pop().nodes():
            if node.kind == "extern":
                found[str(node).partition("(")[0]] = None
            if node.predicate is not None:
                whole.append(node.predicate)
    return list(found)


def _choose(
    function: ScheduledFunction, careful: bool
) -> tuple[list[tuple[str, Commands]], list[str]]:
    """Gives commands to each computation that has none for a GPU.

    Args:
        function: it has the commands afterwards.
        careful: kernels are made to try each of them, also where legal commands nearly always make one.

    Returns:
        The commands by computation, and the computations that are tiled products.
    """
    chosen: list[tuple[str, Commands]] = []
    products = []
    for computation in function.computations:
        if any(tag.startswith("gpu") for tag in function[computation].tags.values()):
            continue
        tiled = len(list(product_candidates(function, computation)))
        for at, (commands, lower) in enumerate(_candidates(function, computation)):
            if _succeeds(function, computation, commands, lower or ("loops" if careful else "")):
                commands(function[computation])
                chosen.append((computation, commands))
                if at < tiled:
                    products.append(computation)
                break
    return chosen, products


def _makes_kernels(function: ScheduledFunction) -> bool:
    try:
        function._passes()
    except (ScheduleError, AnalysisLimitError):
        return False
    return True


def map_to_gpu(function: ScheduledFunction) -> None:
    """See `Function.gpu`."""
    if not function.schedule.commands and _maps_rows(function):
        return
    trial = function.copy()
    chosen, products = _choose(trial, careful=False)
    if not _makes_kernels(trial):
        chosen, products = _choose(function.copy(), careful=True)
    for computation, commands in chosen:
        commands(function[computation])
    vectors = [commands.lanes for _, commands in chosen if isinstance(commands, Vectors)]
    _specialize(function, products, vectors)
