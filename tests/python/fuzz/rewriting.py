"""What inline, rfactor and cache make of a program: the same computations, in other equations.

Programs stay plain data as `programs` describes them. Bounds and constraints that are not affine (the range of the
partial results of a reduction) are objects that are called with an environment.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fuzz.linear import Linear
from fuzz.programs import OPERATIONS, dtype_of, substitute, type_of, walk

Env = dict[Any, int]


def evaluate_affine(value: Any, env: Env) -> int:
    if callable(value):
        computed: int = value(env)
        return computed
    total: int = value[0]
    for name, coefficient in value[1].items():
        total += coefficient * env[name]
    return total


def evaluate_index(index: Any, env: Env) -> int:
    if not callable(index) and index[0] == "mod":
        return evaluate_index(index[1], env) % int(index[2])
    if not callable(index) and index[0] == "div":
        return evaluate_index(index[1], env) // int(index[2])
    return evaluate_affine(index, env)


def holds(condition: Any, env: Env) -> bool:
    """Of a piece."""
    if condition is None:
        return True
    together = all(evaluate_affine(c, env) >= 0 for c in condition[1])
    return together if condition[0] == "all" else not together


def points(names: list[str], ranges: list[Any], where: list[Any], env: Env) -> Iterator[Env]:
    """All environments in a box with bounds over earlier names, where the constraints hold."""
    if not names:
        if all(evaluate_affine(c, env) >= 0 for c in where):
            yield dict(env)
        return
    low, high = (evaluate_affine(bound, env) for bound in ranges[0][:2])
    for value in range(low, high, *ranges[0][2:]):
        yield from points(names[1:], ranges[1:], where, {**env, names[0]: value})


# ---- expressions that are not affine ----


#: A loop with more values of its own than this has partial results only for those with terms.
MOST_OWN_VALUES = 1024


class Extreme:
    """The smallest value of a loop over the terms of a reduction, or one more than the largest; 0 without terms. A loop
    that has a range of its own, as the inner one of a split has, has all of its values."""

    def __init__(self, root: list[Any], loop: Linear, largest: bool) -> None:
        _, _, ranges, self.where, _ = root
        self.names = [r[0] for r in ranges]
        self.ranges = [r[1:] for r in ranges]
        self.loop, self.largest = loop, largest
        self.own = loop.own_range(MOST_OWN_VALUES)

    def __call__(self, env: Env) -> int:
        if self.own is not None:
            return self.own[1] + 1 if self.largest else self.own[0]
        values = [self.loop.evaluate(e) for e in points(self.names, self.ranges, self.where, env)]
        if not values:
            return 0
        return max(values) + 1 if self.largest else min(values)


class Equal:
    """Not negative where the loop has the value of an iterator."""

    def __init__(self, loop: Linear, name: str) -> None:
        self.loop, self.name = loop, name

    def __call__(self, env: Env) -> int:
        return 0 if self.loop.evaluate(env) == env[self.name] else -1


class AmongSteps:
    """Not negative where an iterator is a whole number of steps from the first value of its range."""

    def __init__(self, name: str, low: Any, step: int) -> None:
        self.name, self.low, self.step = name, low, step

    def __call__(self, env: Env) -> int:
        return -((env[self.name] - evaluate_affine(self.low, env)) % self.step)


class Substituted:
    def __init__(self, value: Any, names: dict[str, Any]) -> None:
        self.value, self.names = value, names

    def __call__(self, env: Env) -> int:
        inner = {}
        for name, value in self.names.items():
            with contextlib.suppress(KeyError):  # one that is not in scope here is not used here
                inner[name] = evaluate_affine(value, env)
        return evaluate_affine(self.value, {**env, **inner})


def with_names(value: Any, names: dict[str, Any]) -> Any:
    """An affine expression or a subscript with iterators replaced; what depends on a computed one is computed."""
    if not callable(value) and value[0] not in ("mod", "div"):
        for name in value[1]:
            if name in names and is_computed(names[name]):
                computed: Any = names[name]
                return computed
    if not callable(value) and value[0] in ("mod", "div"):
        return [value[0], with_names(value[1], names), value[2]]
    if callable(value) or any(callable(new) for new in names.values()):
        return Substituted(value, names)
    return substitute(value, names)


# ---- values ----


def with_children(value: list[Any], change: Callable[[list[Any]], list[Any]]) -> list[Any]:
    """The value with each operand changed; those in subscripts too."""
    if value[0] == "read":
        subscripts = [["at", change(s[1])] if is_computed(s) else s for s in value[2]]
        return ["read", value[1], subscripts]
    return [value[0], *(change(child) if is_value(child) else child for child in value[1:])]


def is_value(child: Any) -> bool:
    return (
        isinstance(child, list)
        and bool(child)
        and isinstance(child[0], str)
        and child[0] in OPERATIONS
    )


def is_computed(subscript: Any) -> bool:
    return not callable(subscript) and subscript[0] == "at"


def replaced(value: list[Any], change: Callable[[list[Any]], list[Any]]) -> list[Any]:
    """The value with each read changed, innermost first."""
    result = with_children(value, lambda child: replaced(child, change))
    return change(result) if result[0] == "read" else result


def substituted(value: list[Any], names: dict[str, Any]) -> list[Any]:
    """The value with free iterators replaced by affine expressions."""
    operation = value[0]
    result = with_children(value, lambda child: substituted(child, names))
    if operation == "aff":
        return ["aff", with_names(result[1], names)]
    if operation == "read":
        subscripts = [s if is_computed(s) else with_names(s, names) for s in result[2]]
        return ["read", result[1], subscripts]
    if operation == "select":
        conditions = [with_names(c, names) for c in result[1]]
        computed = [c[1] for c in conditions if is_computed(c)]
        if (
            computed
        ):  # a view at computed subscripts: data decide, and which of them do is all that is judged
            return [
                "choose",
                functools.reduce(lambda a, b: ["add", a, b], computed),
                ["const", 0],
                *result[2:],
            ]
        return ["select", conditions, *result[2:]]
    if operation == "reduce":
        _, op, ranges, where, body = result
        bounds = [
            [n, with_names(low, names), with_names(high, names), *step]
            for n, low, high, *step in ranges
        ]
        return ["reduce", op, bounds, [with_names(c, names) for c in where], body]
    return result


def reduced_names(value: list[Any]) -> set[str]:
    return {r[0] for node in walk(value) if node[0] == "reduce" for r in node[2]}


def with_other_iterators(value: list[Any], taken: set[str]) -> list[Any]:
    """Reduced iterators whose names are taken get underscores."""
    value = with_children(value, lambda child: with_other_iterators(child, taken))
    if value[0] != "reduce" or not any(r[0] in taken for r in value[2]):
        return value
    _, op, ranges, where, body = value
    used = taken | {r[0] for r in ranges} | reduced_names(body)
    names: dict[str, Any] = {}
    for r in ranges:
        if r[0] in taken:
            new = r[0]
            while new in used:
                new += "_"
            used.add(new)
            names[r[0]] = [0, {new: 1}]
    bounds = [
        [
            next(iter(names[n][1])) if n in names else n,
            with_names(low, names),
            with_names(high, names),
            *step,
        ]
        for n, low, high, *step in ranges
    ]
    return [
        "reduce",
        op,
        bounds,
        [with_names(c, names) for c in where],
        substituted(body, names),
    ]


def reads_of(computation: dict[str, Any], name: str) -> list[list[Any]]:
    return [
        node
        for _, value in computation["pieces"]
        for node in walk(value)
        if node[0] == "read" and node[1] == name
    ]


# ---- types, and what can be decided without the contents of arrays ----


def is_ordered(reduction: list[Any]) -> bool:
    """Whether a reduction takes its terms in the order of its iterators only."""
    return bool(reduction[1].partition("/")[0] in ("osum", "ofold", "ofolds", "nfold", "nfolds"))


def is_fold(reduction: list[Any]) -> bool:
    return bool(reduction[1] in ("fold", "ofold", "nfold", "folds", "ofolds", "nfolds"))


def is_grouped(reduction: list[Any]) -> bool:
    """Whether terms that stand together may be combined first."""
    return reduction[1] in ("nfold", "nfolds") or not is_ordered(reduction)


def has_states(reduction: list[Any] | None) -> bool:
    """Whether it is a fold of several states."""
    return reduction is not None and reduction[1] in ("folds", "ofolds", "nfolds")


def narrowed(value: list[Any], dtype: str, types: dict[str, str]) -> list[Any] | None:
    """A sum or product of integers in a type with as many bits or fewer, which is a reduction again; else None."""
    natural, wanted = type_of(value, types), dtype_of(dtype)
    if value[0] != "reduce" or value[1].partition("/")[0] not in ("sum", "prod", "osum"):
        return None
    if natural.kind not in "iu" or wanted.kind not in "iu" or wanted.itemsize > natural.itemsize:
        return None
    return ["reduce", f"{value[1].partition('/')[0]}/{dtype}", *value[2:]]


def is_affine(value: list[Any], types: dict[str, str]) -> bool:
    """Whether isl may see the value: integers made of iterators, where nothing wraps around. Constants here are
    converted to int32, which is not looked through."""
    operation, *rest = value
    if operation in ("const", "aff"):
        return operation == "aff"
    if operation == "cast":
        inner = type_of(rest[1], types)
        wider = (
            inner.kind in "iu" and np.can_cast(inner, rest[0]) and dtype_of(rest[0]).kind in "iu"
        )
        return wider and is_affine(rest[1], types)
    if operation == "select":
        return is_affine(rest[1], types) and is_affine(rest[2], types)
    if operation == "choose":
        return all(is_affine(child, types) for child in rest)
    if operation not in ("neg", "add", "sub", "mul", "min", "max"):
        return False
    if operation not in ("min", "max") and type_of(value, types) != np.dtype("int64"):
        return False
    if operation == "mul" and not any(is_constant(child) for child in rest):
        return False
    return all(is_affine(child, types) for child in rest)


def is_constant(value: list[Any]) -> bool:
    return all(
        node[0] in ("const", "cast", "neg", "add", "sub", "mul", "min", "max")
        or (node[0] == "aff" and not callable(node[1]) and not node[1][1])
        for node in walk(value)
    )


def evaluate(value: list[Any], env: Env) -> int:
    """An affine value."""
    operation, *rest = value
    if operation == "const":
        return int(rest[0])
    if operation == "aff":
        return evaluate_affine(rest[0], env)
    if operation == "cast":
        return evaluate(rest[1], env)
    if operation == "select":
        taken = all(evaluate_affine(c, env) >= 0 for c in rest[0])
        return evaluate(rest[1] if taken else rest[2], env)
    numbers = [evaluate(child, env) for child in rest]
    if operation == "neg":
        return -numbers[0]
    if operation == "choose":
        return numbers[2] if numbers[0] < numbers[1] else numbers[3]
    a, b = numbers
    return {"add": a + b, "sub": a - b, "mul": a * b, "min": min(a, b), "max": max(a, b)}[operation]


# ---- programs ----


def inlined(reader: dict[str, Any], gone: dict[str, Any], types: dict[str, str]) -> dict[str, Any]:
    """The reader with the value of `gone`, which has one piece, in place of its reads."""
    pieces = []
    dtype = types[gone["name"]]
    whole = gone["pieces"][0][1]
    if type_of(whole, types) != dtype_of(dtype):
        whole = narrowed(whole, dtype, types) or ["cast", dtype, whole]
    for condition, value in reader["pieces"]:
        body = with_other_iterators(whole, set(reader["iterators"]) | reduced_names(value))

        def change(node: list[Any], body: list[Any] = body) -> list[Any]:
            if node[1] != gone["name"]:
                return node
            return substituted(body, dict(zip(gone["iterators"], node[2], strict=True)))

        pieces.append([condition, replaced(value, change)])
    return {**reader, "pieces": pieces}


def with_replaced(value: list[Any], node: list[Any], by: list[Any]) -> list[Any]:
    """The value with one node of it, this very one, replaced."""
    if value is node:
        return by
    return with_children(value, lambda child: with_replaced(child, node, by))


def combined(op: str, term: list[Any]) -> list[Any]:
    """The one term of a reduction and its initial state: for a fold, what its function makes of both."""
    if op == "fold":
        return ["add", term, term]
    if op == "nfold":
        return ["choose", term, ["const", 1], term, term]
    return term


def factored(
    computation: dict[str, Any],
    root: list[Any],
    name: str,
    loop: Linear,
    iterator: str,
    is_iterator: bool,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The partial results of a reduction, one for each value of a loop, and the computation with the reduction of
    these."""
    _, op, ranges, where, body = root
    low, high = Extreme(root, loop, False), Extreme(root, loop, True)
    kept = [r for r in ranges if not is_iterator or r[0] != iterator]
    if is_iterator:
        own = next(r for r in ranges if r[0] == iterator)
        where = [
            *where,
            with_names([0, {iterator: 1, "low": -1}], {"low": own[1]}),
            with_names([-1, {iterator: -1, "high": 1}], {"high": own[2]}),
            *(AmongSteps(iterator, own[1], step) for step in own[3:]),
        ]
    else:
        where = [*where, Equal(loop, iterator)]
    partial = {
        "name": name,
        "iterators": [*computation["iterators"], iterator],
        "ranges": [*computation["ranges"], [low, high]],
        "strides": computation.get("strides", {}),
        "where": computation["where"],
        "pieces": [[None, ["reduce", op, kept, where, body] if kept else combined(op, body)]],
    }
    index = [[0, {i: 1}] for i in partial["iterators"]]
    sums = ["reduce", op, [[iterator, low, high]], [], ["read", name, index]]
    final = with_replaced(computation["pieces"][0][1], root, sums)
    return partial, {**computation, "pieces": [[None, final]]}


INPUT_ITERATORS = ("i", "j", "k", "l", "m", "n")


def copied(array: dict[str, Any], name: str) -> dict[str, Any]:
    """A computation that holds a copy of an input or of a computation."""
    if "extents" in array:
        rank = len(array["extents"])
        many = rank > len(INPUT_ITERATORS)
        iterators = [f"dim{d}" if many else INPUT_ITERATORS[d] for d in range(rank)]
        ranges = [[[0, {}], extent] for extent in array["extents"]]
        where: list[Any] = []
    else:
        iterators, ranges, where = array["iterators"], array["ranges"], array["where"]
    own = [[0, {i: 1}] for i in iterators]
    return {
        "name": name,
        "iterators": iterators,
        "ranges": ranges,
        "strides": array.get("strides", {}),
        "where": where,
        "pieces": [[None, ["read", array["name"], own]]],
    }


def reading(reader: dict[str, Any], array: str, copy: str) -> dict[str, Any]:
    """The reader with reads of the copy in place of those of the array."""

    def change(node: list[Any]) -> list[Any]:
        return ["read", copy, node[2]] if node[1] == array else node

    return {**reader, "pieces": [[c, replaced(v, change)] for c, v in reader["pieces"]]}
