"""What `cache` with keeps="values" keeps: the values that a computation makes of the elements of an array.

From the documentation of the library, on equations whose conversions are written out (`typed_values`). The elements
are those for which the computation needs the value, found by looking at each of its own elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fuzz.isolation import Cells, Part
from fuzz.programs import AXES, EXTERNS, type_of
from fuzz.reductions import of_type
from fuzz.rewriting import is_fold
from fuzz.state import NotModelled
from fuzz.typed_values import (
    decided,
    explicit,
    key_of,
    mentioned,
    nodes,
    parts,
    plain,
    replaced,
)


class Kept(Part):
    """A value that is computed in one place or in several, over the subscripts of the element that it is made of."""

    def __init__(self, places: list[Part], iterators: list[str]) -> None:
        first = places[0]
        super().__init__(first.reader, first.node, iterators, True, first.types)
        self.places = places

    def cells(self, sizes: tuple[int, ...]) -> tuple[Cells, Cells]:
        return set().union(*(place.cells(sizes)[0] for place in self.places)), set()

    def strides(self) -> dict[str, tuple[Any, int]]:
        """Its loops count its own subscripts."""
        return {}


def kept_value(
    computation: dict[str, Any], array: str, name: str, types: dict[str, str]
) -> tuple[dict[str, Any], dict[str, Any], str] | None:
    """The computation of the values, its reader, and the type; nothing where there is no such value."""
    if computation.get("partial") and any(value[0] != "read" for _, value in computation["pieces"]):
        # Its one value is there for some of the elements only, as data decide; what copies it from
        # where it is accumulated (cache of its own elements) copies all of them.
        return None
    dtype = types[computation["name"]]
    given = _pieces_of_view(computation) if computation.get("view") else computation["pieces"]
    pieces = [[c, explicit(of_type(v, dtype, types), types)] for c, v in given]
    one = {**computation, "pieces": pieces}
    if any(callable(s) for _, v in pieces for n in nodes(v) if n[0] == "read" for s in n[2]):
        raise NotModelled("subscripts that are no plain data")
    found = [
        f for bare in (False, True) for _, v in pieces for f in _values(v, one, array, types, bare)
    ]
    if not found:
        return None
    value, iterators = found[0]
    alike = [
        Part(one, node, iterators, True, types)
        for _, v in pieces
        for node, certain in _computed(v, True, types)
        if node is value or (certain and _is_same(node, value))
    ]
    kept = Kept(alike, iterators).computation(name)
    kept["pieces"] = [[None, plain(value)]]
    reads = [(part.node, ["read", name, [[0, {i: 1}] for i in iterators]]) for part in alike]
    made = type_of(plain(value), types).name
    reader = {**one, "pieces": [[c, plain(replaced(v, reads))] for c, v in pieces]}
    return kept, reader, made


def _pieces_of_view(computation: dict[str, Any]) -> list[list[Any]]:
    """A view has a piece for each read, where an affine choice of reads is one value of others."""
    pieces: list[list[Any]] = []
    for condition, value in computation["pieces"]:
        if value[0] != "select":
            pieces.append([condition, value])
            continue
        _, asked, yes, no = value
        if condition is not None or yes[0] == "select" or no[0] == "select":
            raise NotModelled("choices within the pieces of a view")
        pieces += [[["all", asked], yes], [["not", asked], no]]
    return pieces


def _is_same(node: list[Any], value: list[Any]) -> bool:
    if node[0] != value[0] or any(part[0] == "reduce" for part in nodes(node)):
        return False
    return key_of(node) == key_of(value) and mentioned(node) == mentioned(value)


def _values(
    value: list[Any], computation: dict[str, Any], array: str, types: dict[str, str], bare: bool
) -> Iterator[tuple[list[Any], list[str]]]:
    """The largest ones of an array as they are written, each with the subscripts of the element. The elements
    themselves are values if nothing is computed from any of them."""
    if value[0] == "only":
        if decided(value[1], types):
            yield from _values(value[2], computation, array, types, bare)
        return
    may_be = value[0] == "read" if bare else _computes(value, types)
    if may_be and _is_plain(value, computation["name"]):
        used = set(mentioned(value))
        for read in _reads(value):
            iterators = _subscripts(read)
            if read[1] == array and iterators and used <= set(iterators):
                yield value, iterators
                return
    if value[0] in ("select", "if", "read", "while") or (value[0] == "reduce" and is_fold(value)):
        return
    for part in parts(value):
        yield from _values(part, computation, array, types, bare)


def _computes(value: list[Any], types: dict[str, str]) -> bool:
    operation = value[0]
    if operation in ("const", "aff", "read", "reduce", "neg", "while", "less", "select"):
        return False
    if type_of(plain(value), types).kind not in "fV":
        return False
    if operation == "cast":
        return bool(type_of(plain(value[2]), types).kind not in "fV")
    return operation != "if" or any(node[0] == "read" for node in nodes(value[1]))


def _is_plain(value: list[Any], own: str) -> bool:
    return not any(
        node[0] in ("reduce", "while", "only")
        or (node[0] == "call" and node[1] in EXTERNS)
        or node[:2] == ["read", own]
        for node in nodes(value)
    )


def _reads(value: list[Any]) -> Iterator[list[Any]]:
    """Those that are no subscripts of others."""
    if value[0] == "read":
        yield value
        return
    for part in parts(value):
        yield from _reads(part)


def _subscripts(read: list[Any]) -> list[str]:
    """The iterators, one for each dimension, of a read that has nothing else."""
    found: list[str] = []
    for subscript in read[2]:
        if callable(subscript) or not isinstance(subscript[0], int):
            return []
        (name, coefficient), *others = [*subscript[1].items(), ("", 0)]
        if subscript[0] != 0 or coefficient != 1 or name in AXES or len(others) != 1:
            return []
        found.append(name)
    return found if len(set(found)) == len(found) else []


def _computed(
    value: list[Any], certain: bool, types: dict[str, str]
) -> Iterator[tuple[list[Any], bool]]:
    """All nodes but those in subscripts, and whether no data decide if they are computed."""
    yield value, certain
    if value[0] == "read":
        return
    for k, part in enumerate(parts(value)):
        by_data = value[0] in ("if", "only") and k > 0 and not decided(value[1], types)
        yield from _computed(
            part, certain and not by_data and not (value[0] == "while" and k == 2), types
        )
