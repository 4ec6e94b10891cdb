"""What a function does to which nobody has given a command, beside NumPy and beside its loops as declared.

Nothing small may be slower than the plain loops (the goal is 0.9 because of the clock), and nothing
large than what a few commands would have given it. The plain loops are compiled with "light", so
that no code changes while it is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import tilewright as tw
from harness import Case, Context

TITLE = "Default schedules"
THREADS = (1, 2)

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K", "N >= 1 and M >= 1 and K >= 1")

Make = Callable[[], tuple[list[tw.Computation], list[tw.Input]]]


def sum_of_products() -> tuple[list[tw.Computation], list[tw.Input]]:
    A, B = tw.input("A", [N, M], tw.float32), tw.input("B", [N, M], tw.float32)
    return [tw.computation("C", {i: N, j: M}, A[i, j] * B[i, j] + A[i, j])], [A, B]


def exponentials() -> tuple[list[tw.Computation], list[tw.Input]]:
    A = tw.input("A", [N], tw.float64)
    return [tw.computation("C", {i: N}, tw.exp(A[i]))], [A]


def row_sums() -> tuple[list[tw.Computation], list[tw.Input]]:
    A = tw.input("A", [N, M], tw.float32)
    return [tw.computation("C", {i: N}, tw.sum(A[i, j], over={j: M}))], [A]


def column_sums() -> tuple[list[tw.Computation], list[tw.Input]]:
    A = tw.input("A", [N, M], tw.float32)
    return [tw.computation("C", {j: M}, tw.sum(A[i, j], over={i: N}))], [A]


def matrix_product() -> tuple[list[tw.Computation], list[tw.Input]]:
    A, B = tw.input("A", [N, K], tw.float32), tw.input("B", [K, M], tw.float32)
    product = tw.sum(A[i, k] * B[k, j], over={k: K})
    return [tw.computation("C", {i: N, j: M}, product)], [A, B]


def stencil() -> tuple[list[tw.Computation], list[tw.Input]]:
    A = tw.input("A", [N, M], tw.float32)
    up, down = tw.clamp(i - 1, 0, N - 1), tw.clamp(i + 1, 0, N - 1)
    left, right = tw.clamp(j - 1, 0, M - 1), tw.clamp(j + 1, 0, M - 1)
    around = A[up, j] + A[down, j] + A[i, left] + A[i, right]
    return [tw.computation("C", {i: N, j: M}, around * 0.25)], [A]


def numpy_stencil(a: np.ndarray) -> np.ndarray:
    p = np.pad(a, 1, mode="edge")
    result: np.ndarray = (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) * np.float32(
        0.25
    )
    return result


def pair(name: str, make: Make) -> tuple[tw.Function, tw.Function]:
    """The function with the default schedule, and with its loops as declared."""
    (outputs, inputs), (again, others) = make(), make()
    return (
        tw.function(name, outputs, inputs, default_schedule=True),
        tw.function(f"{name}_plain", again, others, optimize="light", default_schedule=False),
    )


TOPICS: dict[str, tuple[Make, Callable[..., Any], list[tuple[tuple[int, ...], ...]], str]] = {
    "a * b + a": (
        sum_of_products,
        lambda a, b: a * b + a,
        [((n, n), (n, n)) for n in (4, 16, 64, 256, 1024, 4096)],
        "float32",
    ),
    "exp": (exponentials, np.exp, [((n,),) for n in (8, 100, 1000, 100_000)], "float64"),
    "row sums": (
        row_sums,
        lambda a: a.sum(axis=1),
        [((n, n),) for n in (4, 32, 256, 2048)],
        "float32",
    ),
    "column sums": (
        column_sums,
        lambda a: a.sum(axis=0),
        [((n, n),) for n in (4, 32, 256, 2048)],
        "float32",
    ),
    "matrix product": (
        matrix_product,
        np.matmul,
        [((n, n), (n, n)) for n in (2, 4, 8, 13, 32, 64, 256, 1024)],
        "float32",
    ),
    "stencil": (stencil, numpy_stencil, [((n, n),) for n in (3, 16, 64, 512, 2048)], "float32"),
}


def cases(context: Context) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for group, (make, in_numpy, sizes, dtype) in TOPICS.items():
        ours, plain = pair("".join(c for c in group if c.isalpha()), make)
        for shapes in sizes[:2] if context.quick else sizes:
            arrays = [rng.random(shape).astype(dtype) for shape in shapes]
            out, plain_out = np.empty_like(ours(*arrays)), np.empty_like(plain(*arrays))
            yield Case(
                f"{group} {'x'.join(map(str, shapes[0]))}",
                ours=partial(ours, *arrays, out=out),
                peers={
                    "plain loops": partial(plain, *arrays, out=plain_out),
                    "NumPy": partial(in_numpy, *arrays),
                },
                group=group,
                rtol=1e-3,
                goals={"plain loops": 0.9},
            )
