"""Cost of a call with small arrays: beyond the kernel, by number of arrays and kind of argument,
beside NumPy's own functions and Numba. `latency` has the same by number of arrays beside JAX and
Halide, which take microseconds."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import peers
import tilewright as tw
from harness import Case, Context, Missing

TITLE = "A call with small arrays"
THREADS = (1,)

i = tw.iter("i")
N, M, K = tw.params("N M K")


def statement(text: str, names: dict[str, Any]) -> Callable[[], dict[str, float]]:
    """Times a statement as it stands, without a function around it."""
    timer, number = timeit.Timer(text, globals=names), 20_000
    return lambda: {"": timer.timeit(number) / number}


def matmul() -> tw.Function:
    j, k = tw.iters("j k")
    a = tw.input("A", [N, K], tw.float32)
    b = tw.input("B", [K, M], tw.float32)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    return tw.function("matmul", outputs=[c])


def added(inputs: int) -> tw.Function:
    """out[i] = the sum of so many arrays."""
    arrays = [tw.input(f"x{number}", [N], tw.float64) for number in range(inputs)]
    value: tw.Expression = tw.cast(i, tw.float64)
    for array in arrays:
        value = value + array[i]
    out = tw.computation("out", {i: N}, value)
    return tw.function(f"added{inputs}", outputs=[out], inputs=arrays)


def axpy() -> tw.Function:
    a = tw.input("a", [], tw.float64)
    x = tw.input("x", [N], tw.float64)
    out = tw.computation("out", {i: N}, a[()] * x[i])
    return tw.function("axpy", outputs=[out], inputs=[a, x])


def numba(source: str) -> Any:
    module = peers.module("numba")
    if isinstance(module, Missing):
        return module
    scope: dict[str, Any] = {}
    exec(source, scope)
    return module.njit(scope["f"])


def numba_added(inputs: int) -> Any:
    names = [f"x{number}" for number in range(inputs)]
    body = " + ".join([*(f"{name}[i]" for name in names), "float(i)"])
    return numba(
        f"def f({', '.join([*names, 'out'])}):\n"
        f"    for i in range(out.size):\n        out[i] = {body}\n"
    )


def beside(
    name: str, ours: str, names: dict[str, Any], theirs: dict[str, tuple[str, Any]], **more: Any
) -> Case:
    """A case of statements; a peer's compiled function is called ``g`` in its statement."""
    others: dict[str, Any] = {}
    for peer, (text, compiled) in theirs.items():
        if isinstance(compiled, Missing):
            others[peer] = compiled
        else:
            exec(text, scope := names | {"g": compiled, "np": np})
            others[peer] = statement(text, scope)
    exec(ours, names)
    return Case(name, statement(ours, names), peers=others, sampled=True, **more)


def by_number(context: Context) -> Iterator[Case]:
    for length, group in ((0, "no elements"), (16, "16 elements")):
        for inputs in (0, 1, 2, 5):
            given = [f"x{number}" for number in range(inputs)]
            names: dict[str, Any] = {name: np.ones(length) for name in given}
            names |= {"f": added(inputs), "out": np.empty(length)}
            total = inputs + 1
            yield beside(
                f"{total} array{'s' if total > 1 else ''}, {group}",
                f"f({', '.join([*given, 'out=out'])})",
                names,
                {"Numba": (f"g({', '.join([*given, 'out'])})", numba_added(inputs))},
                group=group,
                # What is left without elements is the call, with the loop that times it.
                goals={"ms": 0.0003} if (total, length) == (3, 0) else {},
            )


def by_kind(context: Context) -> Iterator[Case]:
    small = np.random.default_rng(0).random((4, 4), np.float32)
    names: dict[str, Any] = {"f": matmul(), "a": small, "out": np.empty_like(small)}
    np.testing.assert_allclose(names["f"](small, small), small @ small, rtol=1e-6)
    for name, ours, theirs in (
        ("matmul, out=", "f(a, a, out=out)", "np.matmul(a, a, out=out)"),
        ("matmul, by name", "f(A=a, B=a, out=out)", "np.matmul(a, a, out=out)"),
        ("matmul, new result", "f(a, a)", "np.matmul(a, a)"),
        ("matmul, views", "f(a[::-1], a.T, out=out)", "np.matmul(a[::-1], a.T, out=out)"),
    ):
        yield beside(name, ours, names, {"NumPy": (theirs, np)}, group="kinds")

    vector = np.ones(16)
    names = {"f": axpy(), "x": vector, "out": np.empty(16), "s": np.float64(2.0), "np": np}
    source = "def f(a, x, out):\n    for i in range(out.size):\n        out[i] = a * x[i]\n"
    compiled = numba(source)
    for name, number in (("a Python float", "2.0"), ("a NumPy scalar", "s")):
        yield beside(
            f"2 arrays and {name}",
            f"f({number}, x, out=out)",
            names,
            {
                "NumPy": (f"np.multiply({number}, x, out=out)", np),
                "Numba": (f"g({number}, x, out)", compiled),
            },
            group="kinds",
        )
    names = {"f": added(1), "v": vector.data, "w": np.empty(16).data}
    yield beside("a memoryview, out= another", "f(v, out=w)", names, {}, group="kinds")
    names = {"f": added(1), "x": vector}
    yield beside(
        "in place", "f(x, out=x)", names, {"NumPy": ("np.add(x, x, out=x)", np)}, group="kinds"
    )
    names = {"f": added(1), "x": vector, "out": np.empty(16), "n": 16}
    yield beside(
        "2 arrays, a parameter given",
        "f(x, N=n, out=out)",
        names,
        {"Numba": ("g(x, out)", numba_added(1))},
        group="kinds",
    )


def cases(context: Context) -> Iterator[Case]:
    yield from by_number(context)
    yield from by_kind(context)
