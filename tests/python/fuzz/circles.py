"""Does some instance of a program need its own value? By following reads at concrete sizes, without the library.

A read that only data decide about counts as one that happens, so an answer of no is certain.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fuzz.programs import Program
from fuzz.rewriting import evaluate_affine, evaluate_index, points

Instance = tuple[str, tuple[int, ...]]
Env = dict[str, int]


def has_circle(program: Program, sizes: dict[str, int]) -> bool:
    """Whether reads lead from an instance back to itself at these sizes."""
    computations = {c["name"]: c for c in program["computations"]}
    done: set[Instance] = set()
    for computation in computations.values():
        for env in points(
            computation["iterators"], computation["ranges"], computation["where"], sizes
        ):
            start = (computation["name"], tuple(env[i] for i in computation["iterators"]))
            if _returns(start, computations, sizes, done):
                return True
    return False


def _returns(
    start: Instance, computations: dict[str, Any], sizes: dict[str, int], done: set[Instance]
) -> bool:
    """Depth first: whether an instance that is still being looked at is read again."""
    if start in done:
        return False
    open_instances = {start}
    path = [(start, _reads(start, computations, sizes))]
    while path:
        instance, reads = path[-1]
        found = next(reads, None)
        if found is None:
            path.pop()
            open_instances.discard(instance)
            done.add(instance)
        elif found in open_instances:
            return True
        elif found not in done:
            open_instances.add(found)
            path.append((found, _reads(found, computations, sizes)))
    return False


def _reads(
    instance: Instance, computations: dict[str, Any], sizes: dict[str, int]
) -> Iterator[Instance]:
    name, at = instance
    computation = computations[name]
    env = {**sizes, **dict(zip(computation["iterators"], at, strict=True))}
    for condition, value in computation["pieces"]:
        if condition is not None:
            together = all(evaluate_affine(c, env) >= 0 for c in condition[1])
            if together != (condition[0] == "all"):
                continue
        for found in _reads_of(value, env):
            if found[0] in computations and _exists(found, computations, sizes):
                yield found


def _exists(instance: Instance, computations: dict[str, Any], sizes: dict[str, int]) -> bool:
    computation = computations[instance[0]]
    env = {**sizes, **dict(zip(computation["iterators"], instance[1], strict=True))}
    inside = all(
        env[i] in range(evaluate_affine(low, env), evaluate_affine(high, env), *step)
        for i, (low, high, *step) in zip(
            computation["iterators"], computation["ranges"], strict=True
        )
    )
    return inside and all(evaluate_affine(c, env) >= 0 for c in computation["where"])


def _reads_of(value: list[Any], env: Env) -> Iterator[Instance]:
    operation, *rest = value
    if operation == "read":
        yield from _read(rest[0], rest[1], env)
    elif operation == "select":
        taken = rest[1] if all(evaluate_affine(c, env) >= 0 for c in rest[0]) else rest[2]
        yield from _reads_of(taken, env)
    elif operation == "reduce":
        _, ranges, where, body = rest
        for inner in points([r[0] for r in ranges], [r[1:] for r in ranges], where, env):
            yield from _reads_of(body, inner)
    elif operation not in ("const", "aff"):
        for child in rest:
            if isinstance(child, list):
                yield from _reads_of(child, env)


def _read(name: str, subscripts: list[Any], env: Env) -> Iterator[Instance]:
    at = []
    for subscript in subscripts:
        if subscript[0] == "at":
            yield from _reads_of(subscript[1], env)
            at.append(0)  # what index inputs hold
        else:
            at.append(evaluate_index(subscript, env))
    yield name, tuple(at)
