"""Local values that need no memory: scalars and elements of small arrays of one iteration's own.

As a statement of its own, ``a = x[i, j - 1]`` in front of what reads it stands between its reader and a
vector loop: each lane would need an element for it. Computed where it is read, it needs none, and the
checker sees that what it reads has not been overwritten in between. So is whatever ends up in one
statement by way of others that are computed there::

    for i: for j: { t = min(p[i], q[j]); q1 = max(p[i], q[j]); s = t + q1; d = q1 - t; A[i, j] = s * d }

becomes one statement, in which each of them is computed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import tilewright as tw

from .. import _core
from .alpha.layer_one import linear_of

__all__ = ["inline_local_scalars"]

#: Operations that are done again where a value ends up in several statements.
_MOST_OPERATIONS = 2
#: What a division, or a function such as `exp`, counts for among them.
_COSTLY = 9
#: Parts of what a statement may become, shared ones once.
_MOST_NODES = 1000
#: Questions whether some of the values can be computed so, where not all of them can.
_MOST_ATTEMPTS = 16


def inline_local_scalars(
    function: tw.Function, commands: Iterable[tuple[str, str, Sequence[object]]]
) -> bool:
    """Computes local values in the statements that read them, where that is legal.

    Args:
        function: with the program's order as its schedule.
        commands: those of its schedule, one by one.

    Returns:
        whether there is a command more.
    """
    names = _Values(function, _own_memory(commands)).candidates()
    return bool(names) and _inlined(function, names, _MOST_ATTEMPTS) > 0


def _inlined(function: tw.Function, names: Sequence[str], attempts: int) -> int:
    """Computes in place what can be, of these and then of each half of them; how many that are."""
    try:
        with function.transaction():
            for name in names:
                function[name].inline()
    except tw.ScheduleError:
        left = attempts // 2
        if len(names) == 1 or left == 0:
            return 0
        half = len(names) // 2
        return _inlined(function, names[:half], left) + _inlined(function, names[half:], left)
    return len(names)


def _own_memory(commands: Iterable[tuple[str, str, Sequence[object]]]) -> dict[str, str]:
    """The computations that are stored in memory of the program's own, each with its buffer."""
    return {
        name: str(arguments[0]).partition("[")[0]
        for name, command, arguments in commands
        if command == "store_in" and len(arguments) == 2
    }


@dataclass
class _Value:
    """What a computation is, and who reads it."""

    computation: _core.Computation
    plain: _core.Expr | None
    operations: int
    nodes: int
    readers: set[str] = field(default_factory=set)
    #: The elements that are read of it: the constants among the subscripts.
    elements: set[tuple[str, ...]] = field(default_factory=set)
    is_local: bool = True
    #: Whether loops that it is not in are around some read of it.
    is_deeper: bool = False

    @property
    def is_copy(self) -> bool:
        """Whether it only reads an element, which others may as well read, in whichever iteration they are."""
        return self.plain is not None and self.plain.kind == "access"


class _Values:
    """The values of a function, and where each of them ends up."""

    def __init__(self, function: tw.Function, own: dict[str, str]) -> None:
        self._own = own
        self._outputs = set(function.outputs)
        computations = {name: function._array(name) for name in function.computations}
        self._values: dict[str, _Value] = {}
        for name, computation in computations.items():
            plain = _plain_value(computation) if name in own else None
            self._values[name] = _Value(
                computation,
                plain,
                _operations(plain) if plain is not None else 0,
                sum(len(value.nodes()) for _, value in computation.pieces),
            )
        self._seen: set[str] = set()  # views
        self._has_terms = {
            name for name, each in self._values.items() if _has_terms(each.computation)
        }
        for name in self._values:
            self._note_reads(name)

    def _note_reads(self, reader: str) -> None:
        computation = self._values[reader].computation
        views: dict[str, _core.Computation] = {}
        for _, value in computation.pieces:
            for node in value.nodes():
                producer = node.producer
                if producer is None:
                    continue
                read = self._values.get(producer.name)
                if read is None:
                    views[producer.name] = producer
                    continue
                read.readers.add(reader)
                element = _element_of(node, computation)
                if element is None and read.is_copy and producer.name != reader:
                    element = tuple(map(str, node.operands))
                is_deeper = len(producer.iterators) < len(computation.iterators)
                # What a sum begins with, in the sum's own place, stays there.
                begins = is_deeper and self._own.get(reader) == self._own.get(producer.name)
                if element is None or producer.name == reader or begins:
                    read.is_local = False
                else:
                    read.elements.add(element)
                    read.is_deeper |= is_deeper
        self._note_views(list(views.values()))

    def _note_views(self, open_views: list[_core.Computation]) -> None:
        """What is read through views is read in other iterations: of the step before, mostly."""
        while open_views:
            view = open_views.pop()
            if view.name in self._seen:
                continue
            self._seen.add(view.name)
            for _, value in view.pieces:
                for node in value.nodes():
                    if node.producer is None:
                        continue
                    read = self._values.get(node.producer.name)
                    if read is None:
                        open_views.append(node.producer)
                    elif not read.is_copy:
                        read.is_local = False

    def candidates(self) -> list[str]:
        """What is to be computed where it is read, readers before what they read."""
        roots: dict[str, set[str]] = {}
        grown = {name: each.nodes for name, each in self._values.items()}
        found: list[str] = []
        for name in self._readers_first():
            value = self._values[name]
            value.is_deeper |= any(
                reader in found and self._values[reader].is_deeper for reader in value.readers
            )
            # Around a recurrence, some readers are not known yet.
            ends = set().union(*(roots.get(reader, {reader}) for reader in value.readers))
            if not self._fits(name, ends) or any(
                grown[end] + value.nodes * len(value.elements) > _MOST_NODES for end in ends
            ):
                roots[name] = {name}
                continue
            roots[name] = ends
            for end in ends:
                grown[end] += value.nodes * len(value.elements)
            found.append(name)
        return found

    def _fits(self, name: str, ends: set[str]) -> bool:
        value = self._values[name]
        if value.plain is None or not value.is_local or not ends or name in self._outputs:
            return False
        if value.operations * (len(ends) - 1) > _MOST_OPERATIONS:
            return False
        # Each term, and each iteration of a loop inside, would compute it again.
        return not value.operations or not (value.is_deeper or ends & self._has_terms)

    def _readers_first(self) -> list[str]:
        order: list[str] = []
        seen: set[str] = set()
        for first in self._values:
            stack = [(first, iter(sorted(self._values[first].readers)))]
            if first in seen:
                continue
            seen.add(first)
            while stack:
                name, readers = stack[-1]
                following = next((each for each in readers if each not in seen), None)
                if following is None:
                    order.append(name)
                    stack.pop()
                else:
                    seen.add(following)
                    stack.append((following, iter(sorted(self._values[following].readers))))
        return order


def _element_of(node: _core.Expr, reader: _core.Computation) -> tuple[str, ...] | None:
    """Which element of its own iteration, or of one around it, a reader reads: None if it is one of
    others."""
    iterators = [each.name for each in node.operands if each.kind == "iterator"]
    if iterators != list(reader.iterators)[: len(iterators)]:
        return None
    others = [each for each in node.operands if each.kind != "iterator"]
    if any(each.kind != "constant" for each in others):
        return None
    return tuple(each.name if each.kind == "iterator" else str(each) for each in node.operands)


def _has_terms(computation: _core.Computation) -> bool:
    """Whether it adds up, or folds, in an iteration."""
    return any(
        node.kind in ("reduce", "fold") for _, value in computation.pieces for node in value.nodes()
    )


def _operations(value: _core.Expr) -> int:
    """Of arithmetic, not of subscripts: how many, as cheap ones."""
    if value.kind == "access":
        return 0
    is_costly = value.kind == "call" or value.operation in ("/", "//", "%", "**")
    is_one = value.kind in ("unary", "binary", "call", "select")
    here = _COSTLY if is_costly else int(is_one)
    return here + sum(map(_operations, value.operands))


def _plain_value(computation: _core.Computation) -> _core.Expr | None:
    """Its value, if that is one expression that always can be computed: elements, arithmetic, choices."""
    if len(computation.pieces) != 1:
        return None
    value = computation.pieces[0][1]
    if _changes_one_element(value):
        return None
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


def _changes_one_element(value: _core.Expr) -> bool:
    """Whether it is what `S[i[k]] = x` makes of the elements of S, `x if e == i[k] else S[e]`. As a statement of its
    own it takes no loop over e; within another's value it would be asked for each of them."""
    if value.kind != "select":
        return False
    return any(
        node.kind == "binary"
        and node.operation == "=="
        and any(_without_casts(side).kind == "iterator" for side in node.operands)
        and any(part.kind == "access" for part in node.nodes())
        for node in value.operands[0].nodes()
    )


def _without_casts(value: _core.Expr) -> _core.Expr:
    while value.kind == "cast":
        value = value.operands[0]
    return value
