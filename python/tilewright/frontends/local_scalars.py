"""Local scalars that need no memory: ``a = x[i, j - 1]`` in front of the only statement that reads it.

As a statement of its own, it stands between its reader and a vector loop: each lane would need an
element for it. Computed where it is read, it needs none, and the checker sees that what it reads has not
been overwritten in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import tilewright as tw

from .. import _core
from .alpha.layer_one import linear_of

__all__ = ["inline_local_scalars"]

#: Operations that a reader gets with a scalar that it reads at several places; each place is one more
#: for the compiler, which finds that they are the same.
_MOST_OPERATIONS = 8
#: What a reader may become.
_MOST_NODES = 1000
#: Attempts one by one, where not all at once are legal.
_MOST_ATTEMPTS = 8


def inline_local_scalars(
    function: tw.Function, commands: Iterable[tuple[str, str, Sequence[object]]]
) -> bool:
    """Computes local scalars in the statement that reads them, where that is legal.

    Args:
        function: with the program's order as its schedule.
        commands: those of its schedule, one by one.

    Returns:
        whether there is a command more.
    """
    names = _candidates(function, _scalars(commands))
    if not names:
        return False
    try:
        with function.transaction():
            for name in names:
                function[name].inline()
    except tw.ScheduleError:
        attempts = names[:_MOST_ATTEMPTS] if len(names) > 1 else []
        return sum(_inlined(function, name) for name in attempts) > 0
    return True


def _inlined(function: tw.Function, name: str) -> bool:
    try:
        function[name].inline()
    except tw.ScheduleError:
        return False
    return True


def _scalars(commands: Iterable[tuple[str, str, Sequence[object]]]) -> set[str]:
    """The computations whose place in memory is one element, of whichever instance comes last."""
    return {
        name
        for name, command, arguments in commands
        if command == "store_in" and len(arguments) == 2 and str(arguments[0]).endswith("[]")
    }


def _candidates(function: tw.Function, scalars: set[str]) -> list[str]:
    """Those of the scalars that one statement reads in the same iteration, in the program's order."""
    computations = {name: function._array(name) for name in function.computations}
    reads: dict[str, list[tuple[str, bool]]] = {}
    for name, computation in computations.items():
        for _, value in computation.pieces:
            for node in value.nodes():
                if node.producer is not None and node.producer.name in scalars:
                    here = _is_here(node, computation)
                    reads.setdefault(node.producer.name, []).append((name, here))
    grown = {
        name: sum(value.tree_size for _, value in computation.pieces)
        for name, computation in computations.items()
    }
    found = []
    for name in computations:
        readers = reads.get(name, [])
        if name not in scalars or name in function.outputs or not readers:
            continue
        (reader, _), places = readers[0], len(readers)
        is_one = all(each == reader and here for each, here in readers) and reader != name
        plain = _plain_value(computations[name])
        if not is_one or plain is None:
            continue
        more = grown[name] * places
        operations = _operations(plain)
        if operations * (places - 1) > _MOST_OPERATIONS or grown[reader] + more > _MOST_NODES:
            continue
        if operations and _has_terms(computations[reader]):
            continue  # each term would compute it again
        grown[reader] += more
        found.append(name)
    return found


def _has_terms(computation: _core.Computation) -> bool:
    """Whether it adds up, or folds, in an iteration."""
    return any(
        node.kind in ("reduce", "fold") for _, value in computation.pieces for node in value.nodes()
    )


def _operations(value: _core.Expr) -> int:
    """Of arithmetic, not of subscripts."""
    if value.kind == "access":
        return 0
    here = value.kind in ("unary", "binary", "call", "select")
    return here + sum(map(_operations, value.operands))


def _is_here(node: _core.Expr, reader: _core.Computation) -> bool:
    """Whether a read is of the reader's own iteration."""
    return [each.name if each.kind == "iterator" else "" for each in node.operands] == list(
        reader.iterators
    )


def _plain_value(computation: _core.Computation) -> _core.Expr | None:
    """Its value, if that is one expression that always can be computed: elements, arithmetic, choices."""
    if len(computation.pieces) != 1:
        return None
    value = computation.pieces[0][1]
    for node in value.nodes():
        if node.kind == "access":
            if any(linear_of(each) is None for each in node.operands):
                return None
        elif node.kind in ("unary", "binary", "call", "select"):
            if node.operation in ("//", "%") and node.type not in ("float32", "float64"):
                return None  # by zero is an error, where it is asked for
        elif node.kind not in ("constant", "iterator", "parameter", "cast"):
            return None
    return value
