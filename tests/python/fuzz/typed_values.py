"""Values as the library has them: conversions and conditions on data are nodes, where programs leave them to what is
around them. For the question which parts of an expression are alike, and what each is made of.

Conditions are ["if", condition, a, b] and ["only", condition, term], with ["less", a, b].
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fuzz.programs import AXES, dtype_of, type_of
from fuzz.rewriting import is_affine, is_fold, is_ordered


def parts(value: list[Any]) -> list[list[Any]]:
    """What a node is made of, in the order in which it is written."""
    operation, *rest = value
    if operation in ("const", "aff"):
        return []
    if operation == "read":
        return [s[1] for s in rest[1] if not callable(s) and s[0] == "at"]
    if operation == "reduce":
        return [rest[3]]
    first = {"select": 1, "cast": 1, "call": 1}.get(operation, 0)
    last = len(rest) - 1 if operation == "while" else len(rest)
    return list(rest[first:last])


def with_parts(value: list[Any], new: list[list[Any]]) -> list[Any]:
    operation, *rest = value
    if operation in ("const", "aff"):
        return value
    if operation == "read":
        given = iter(new)
        computed = [not callable(s) and s[0] == "at" for s in rest[1]]
        subscripts = [
            ["at", next(given)] if c else s for c, s in zip(computed, rest[1], strict=True)
        ]
        return ["read", rest[0], subscripts]
    if operation == "reduce":
        return [operation, *rest[:3], *new]
    first = {"select": 1, "cast": 1, "call": 1}.get(operation, 0)
    tail = rest[-1:] if operation == "while" else []
    return [operation, *rest[:first], *new, *tail]


def converted(value: list[Any], dtype: Any, types: dict[str, str]) -> list[Any]:
    same = type_of(plain(value), types) == dtype
    return value if same else ["cast", np.dtype(dtype).name, value]


def explicit(value: list[Any], types: dict[str, str]) -> list[Any]:
    """With every conversion that NumPy's rules make, and none that changes nothing."""

    def common(*given: list[Any]) -> list[list[Any]]:
        dtype = np.result_type(*(type_of(plain(v), types) for v in given))
        return [converted(v, dtype, types) for v in given]

    inner = [explicit(part, types) for part in parts(value)]
    operation = value[0]
    if operation == "cast":
        return converted(inner[0], dtype_of(value[1]), types)
    if operation in ("add", "sub", "mul", "min", "max", "select", "call"):
        return with_parts(value, common(*inner))
    if operation == "choose":
        return ["if", ["less", *common(*inner[:2])], *common(*inner[2:])]
    if operation == "guard":
        return ["only", ["less", *common(*inner[:2])], inner[2]]
    if operation == "reduce":
        dtype = type_of(value, types)
        (body,) = inner
        if body[0] == "only":
            body = ["only", body[1], converted(body[2], dtype, types)]
        else:
            body = converted(body, dtype, types)
        return with_parts(value, [body])
    return with_parts(value, inner)


def plain(value: list[Any]) -> list[Any]:
    """The same in the notation of programs."""
    inner = [plain(part) for part in parts(value)]
    operation = value[0]
    if operation == "less":
        return ["cast", "bool", ["choose", *inner, ["const", 1], ["const", 0]]]
    if operation in ("if", "only"):
        condition = value[1]
        if condition[0] == "less":
            sides = [plain(side) for side in condition[1:]]
        else:
            sides = [["const", 0], ["cast", "int32", inner[0]]]
        return ["choose" if operation == "if" else "guard", *sides, *inner[1:]]
    return with_parts(value, inner)


def nodes(value: list[Any]) -> Iterator[list[Any]]:
    yield value
    for part in parts(value):
        yield from nodes(part)


def reduces(value: list[Any]) -> bool:
    return any(node[0] == "reduce" for node in nodes(value))


def mentioned(value: list[Any], bound: frozenset[str] = frozenset()) -> list[str]:
    """The iterators that a value uses from outside."""

    def names(affine: Any) -> list[str]:
        if affine[0] in ("mod", "div"):
            return names(affine[1])
        return [n for n in affine[1] if n not in AXES and n not in bound]

    operation = value[0]
    found: list[str] = []
    if operation == "aff":
        found = names(value[1])
    elif operation == "read":
        found = [n for s in value[2] if s[0] != "at" for n in names(s)]
    elif operation == "select":
        found = [n for condition in value[1] for n in names(condition)]
    elif operation == "reduce":
        for name, low, high, *_ in value[2]:
            found += mentioned(["aff", low], bound) + mentioned(["aff", high], bound)
            bound |= {name}
        found += [n for condition in value[3] for n in mentioned(["aff", condition], bound)]
    for part in parts(value):
        found += mentioned(part, bound)
    return list(dict.fromkeys(found))


def key_of(value: list[Any]) -> str:
    """One text for all values that differ in the names of iterators only."""
    names = {name: f"%{k}" for k, name in enumerate(mentioned(value))}

    def affine(given: Any, known: dict[str, str]) -> Any:
        if given[0] in ("mod", "div"):
            return [given[0], affine(given[1], known), given[2]]
        return [given[0], [(known.get(n, n), c) for n, c in given[1].items()]]

    def text(node: list[Any], known: dict[str, str], depth: int) -> Any:
        operation, *rest = node
        if operation == "aff":
            return [operation, affine(rest[0], known)]
        if operation == "read":
            return [
                operation,
                rest[0],
                [
                    ["at", text(s[1], known, depth)] if s[0] == "at" else affine(s, known)
                    for s in rest[1]
                ],
            ]
        if operation == "reduce":
            ranges = []
            for r, (name, low, high, *step) in enumerate(rest[1]):
                ranges.append([affine(low, known), affine(high, known), *step])
                known = {**known, name: f"%{depth}.{r}"}
            where = [affine(c, known) for c in rest[2]]
            return [operation, rest[0], ranges, where, text(rest[3], known, depth + 1)]
        inner = [text(part, known, depth) for part in parts(node)]
        kept = [affine(c, known) for c in rest[0]] if operation == "select" else []
        if operation in ("cast", "call", "const"):
            kept = [rest[0]]
        return [operation, kept, *inner, rest[-1] if operation == "while" else None]

    return repr(text(value, names, 0))


def with_inner_terms(value: list[Any], types: dict[str, str]) -> list[Any]:
    """A reduction of a reduction of the same operation as one over the iterators of both; others as they are."""
    if value[0] != "reduce" or is_ordered(value) or is_fold(value) or value[4][0] == "only":
        return value
    inner = with_inner_terms(value[4], types)
    if inner[0] != "reduce" or inner[4][0] == "only":
        return value
    ranges = [*value[2], *inner[2]]
    alike = inner[1].partition("/")[0] == value[1].partition("/")[0]
    if (
        not alike
        or type_of(plain(inner), types) != type_of(plain(value), types)
        or len({r[0] for r in ranges}) != len(ranges)
    ):
        return value
    return ["reduce", value[1], ranges, [*value[3], *inner[3]], inner[4]]


def joined(value: list[Any], types: dict[str, str]) -> list[Any]:
    both = with_inner_terms(value, types)
    if both is not value:
        return both
    return with_parts(value, [joined(part, types) for part in parts(value)])


def has_few_terms(reduction: list[Any]) -> bool:
    terms = 1
    for _, low, high, *step in reduction[2]:
        if low[1] or high[1]:
            return False
        terms *= len(range(low[0], high[0], *step))
    return terms <= 16


def decided(condition: list[Any], types: dict[str, str]) -> bool:
    """Whether a condition is one of iterators and sizes alone, as the library can tell."""
    return condition[0] == "less" and all(is_affine(plain(s), types) for s in condition[1:])


def computed_always(value: list[Any]) -> Iterator[list[Any]]:
    """The nodes that are computed for every element: no branches, no terms, no subscripts."""
    yield value
    if value[0] in ("reduce", "while", "read", "select"):
        return
    for part in parts(value)[:1] if value[0] in ("if", "only") else parts(value):
        yield from computed_always(part)


def plain_nodes(value: list[Any]) -> Iterator[list[Any]]:
    """As they are written, without conditions on terms."""
    yield value
    for part in parts(value)[1:] if value[0] == "only" else parts(value):
        yield from plain_nodes(part)


def terms_first(value: list[Any]) -> Iterator[list[Any]]:
    """As they are written, conditions on terms behind these."""
    yield value
    for part in reversed(parts(value)) if value[0] == "only" else parts(value):
        yield from terms_first(part)


def replaced(value: list[Any], reads: list[tuple[list[Any], list[Any]]]) -> list[Any]:
    for node, read in reads:
        if value is node:
            return read
    return with_parts(value, [replaced(part, reads) for part in parts(value)])
