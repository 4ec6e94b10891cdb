"""What a function does to which nobody has given a command, beside NumPy and beside its loops as declared.

Nothing may be slower than the declared loops (the goal is 0.9 because of the clock). These are
compiled twice: by the short pipeline, which is what a first call would run, and by LLVM's long one,
which vectorises what it can.
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

i, j, k, t, di, dj = tw.iters("i j k t di dj")
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


def product_with_transposed() -> tuple[list[tw.Computation], list[tw.Input]]:
    A, B = tw.input("A", [N, K], tw.float32), tw.input("B", [M, K], tw.float32)
    product = tw.sum(A[i, k] * B[j, k], over={k: K})
    return [tw.computation("C", {i: N, j: M}, product)], [A, B]


def batched_product() -> tuple[list[tw.Computation], list[tw.Input]]:
    A, B = tw.input("A", [M, N, K], tw.float32), tw.input("B", [M, K, N], tw.float32)
    product = tw.sum(A[t, i, k] * B[t, k, j], over={k: K})
    return [tw.computation("C", {t: M, i: N, j: N}, product)], [A, B]


def transposition() -> tuple[list[tw.Computation], list[tw.Input]]:
    A = tw.input("A", [N, M], tw.float32)
    return [tw.computation("C", {i: M, j: N}, A[j, i])], [A]


def window() -> tuple[list[tw.Computation], list[tw.Input]]:
    A, W = tw.input("A", [N + 2, M + 2], tw.float32), tw.input("W", [3, 3], tw.float32)
    total = tw.sum(A[i + di, j + dj] * W[di, dj], over={di: 3, dj: 3})
    return [tw.computation("C", {i: N, j: M}, total)], [A, W]


def numpy_window(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    n, m = a.shape[0] - 2, a.shape[1] - 2
    total = np.zeros((n, m), np.float32)
    for p in range(3):
        for q in range(3):
            total += w[p, q] * a[p : p + n, q : q + m]
    return total


def softmax() -> tuple[list[tw.Computation], list[tw.Input]]:
    A = tw.input("A", [N, M], tw.float32)
    top = tw.computation("T", {i: N}, tw.max(A[i, j], over={j: M}))
    powers = tw.computation("E", {i: N, j: M}, tw.exp(A[i, j] - top[i]))
    total = tw.computation("S", {i: N}, tw.sum(powers[i, j], over={j: M}))
    return [tw.computation("C", {i: N, j: M}, powers[i, j] / total[i])], [A]


def numpy_softmax(a: np.ndarray) -> np.ndarray:
    powers = np.exp(a - a.max(axis=1, keepdims=True))
    result: np.ndarray = powers / powers.sum(axis=1, keepdims=True)
    return result


def gray() -> tuple[list[tw.Computation], list[tw.Input]]:
    A = tw.input("A", [N, M, 3], tw.float32)
    value = A[i, j, 0] * 0.299 + A[i, j, 1] * 0.587 + A[i, j, 2] * 0.114
    return [tw.computation("C", {i: N, j: M}, value)], [A]


def prefix_sums() -> tuple[list[tw.Computation], list[tw.Input]]:
    A = tw.input("A", [N], tw.float32)
    return [
        tw.computation(
            "S", {i: N}, lambda S: [(i == 0, A[i]), (i > 0, S[i - 1] + A[i])], dtype=tw.float32
        )
    ], [A]


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


def versions(name: str, make: Make) -> list[tw.Function]:
    """The function with the default schedule, and with its loops as declared, light and in full."""
    all_options: list[dict[str, Any]] = [
        {},
        {"default_schedule": False, "optimize": "light"},
        {"default_schedule": False, "optimize": "full"},
    ]
    return [tw.function(name, *make(), **options) for options in all_options]


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
    "product with B.T": (
        product_with_transposed,
        lambda a, b: a @ b.T,
        [((n, n), (n, n)) for n in (3, 8, 32, 256)],
        "float32",
    ),
    "batched product": (
        batched_product,
        np.matmul,
        [((8, n, n), (8, n, n)) for n in (2, 4, 8, 23, 64)],
        "float32",
    ),
    "transposition": (
        transposition,
        lambda a: np.ascontiguousarray(a.T),
        [((n, n),) for n in (3, 12, 64, 256, 2048)],
        "float32",
    ),
    "window 3x3": (
        window,
        numpy_window,
        [((n + 2, n + 2), (3, 3)) for n in (2, 8, 24, 64, 1024)],
        "float32",
    ),
    "softmax": (softmax, numpy_softmax, [((n, n),) for n in (2, 8, 64, 1024)], "float32"),
    "gray": (
        gray,
        lambda a: a @ np.array([0.299, 0.587, 0.114], np.float32),
        [((n, n, 3),) for n in (2, 16, 64, 1024)],
        "float32",
    ),
    "prefix sums": (prefix_sums, np.cumsum, [((n,),) for n in (4, 100, 10_000)], "float32"),
    "stencil": (stencil, numpy_stencil, [((n, n),) for n in (3, 16, 64, 512, 2048)], "float32"),
}


def cases(context: Context) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for group, (make, in_numpy, sizes, dtype) in TOPICS.items():
        functions = versions("".join(c for c in group if c.isalpha()), make)
        for shapes in sizes[:2] if context.quick else sizes:
            arrays = [rng.random(shape).astype(dtype) for shape in shapes]
            calls = [partial(f, *arrays, out=np.empty_like(f(*arrays))) for f in functions]
            functions[0].wait_optimized(10.0)
            yield Case(
                f"{group} {'x'.join(map(str, shapes[0]))}",
                ours=calls[0],
                peers={
                    "plain loops": calls[1],
                    "plain, in full": calls[2],
                    "NumPy": partial(in_numpy, *arrays),
                },
                group=group,
                rtol=1e-3,
                goals={"plain loops": 0.9, "plain, in full": 0.9},
            )
