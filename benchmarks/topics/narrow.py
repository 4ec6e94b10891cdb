"""Narrow arrays, written without a thought of their width: a batch of one, one column, three coordinates, ten classes.

Every program is declared once for all sizes and runs by the default schedule. The goal is NumPy's
speed at each shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import tilewright as tw
from harness import Case, Context

TITLE = "Narrow arrays by the default schedule"
THREADS = (1,)

i, j, k, d, e = tw.iters("i j k d e")
N, M, D, E = tw.params("N M D E")
Shapes = list[tuple[int, ...]]


@dataclass(frozen=True)
class Program:
    """What is declared, what NumPy has for it, and the shapes that it is called with."""

    name: str
    function: tw.Function
    numpy: Callable[..., Any]
    shapes: list[Shapes]


def array(name: str, *extents: Any) -> tw.Input:
    made: tw.Input = tw.input(name, list(extents), tw.float32)
    return made


def one(name: str, domain: Any, value: Any) -> tw.Function:
    function: tw.Function = tw.function(name, outputs=[tw.computation("R", domain, value)])
    return function


X, Y, A = array("X", N, D), array("Y", M, D), array("A", N, M)
T, W, v = array("T", D, E), array("W", E, D), array("v", M)
P, Q = array("P", N, D, D), array("Q", N, D, D)


def linear(x: Any, w: Any) -> Any:
    return x @ w.T


def product(x: Any, t: Any) -> Any:
    return x @ t


def distances(x: Any, y: Any) -> Any:
    return ((x[:, None, :] - y[None]) ** 2).sum(-1)


PROGRAMS = (
    Program(
        "x @ W.T",
        one("linear", {i: N, e: E}, tw.sum(X[i, d] * W[e, d], over={d: D})),
        linear,
        [
            [(rows, terms), (results, terms)]
            for rows, results, terms in (
                (1, 1024, 1024),
                (1, 4096, 1024),
                (4, 1024, 1024),
                (1024, 1, 1024),
                (1024, 2, 1024),
                (1024, 10, 512),
                (1024, 1024, 1),
                (1024, 1024, 4),
            )
        ],
    ),
    Program(
        "x @ T",
        one("product", {i: N, e: E}, tw.sum(X[i, d] * T[d, e], over={d: D})),
        product,
        [
            [(rows, terms), (terms, results)]
            for rows, results, terms in (
                (1, 1024, 1024),
                (1024, 1, 1024),
                (1024, 2, 1024),
                (1024, 4, 1024),
                (1024, 8, 1024),
                (1024, 16, 1024),
                (100_000, 2, 2),
                (100_000, 3, 3),
                (100_000, 4, 4),
            )
        ],
    ),
    Program(
        "A - v",
        one("centre", {i: N, j: M}, A[i, j] - v[j]),
        np.subtract,
        [[(100_000, columns), (columns,)] for columns in (1, 2, 3, 8)],
    ),
    Program(
        "norms of rows",
        one("norms", {i: N}, tw.sqrt(tw.sum(X[i, d] * X[i, d], over={d: D}))),
        lambda x: np.sqrt((x * x).sum(1)),
        [[(100_000, columns)] for columns in (1, 2, 3, 8)],
    ),
    Program(
        "distances of points",
        one(
            "distances",
            {i: N, j: M},
            tw.sum((X[i, d] - Y[j, d]) * (X[i, d] - Y[j, d]), over={d: D}),
        ),
        distances,
        [[(500, columns), (400, columns)] for columns in (1, 2, 3)],
    ),
    Program(
        "products of small matrices",
        one("small", {i: N, d: D, e: D}, tw.sum(P[i, d, k] * Q[i, k, e], over={k: D})),
        np.matmul,
        [[(50_000, columns, columns)] * 2 for columns in (2, 3, 4)],
    ),
)


def cases(context: Context) -> Iterator[Case]:
    random = np.random.default_rng(1)
    for program in PROGRAMS:
        for shapes in program.shapes[:2] if context.quick else program.shapes:
            arrays = [random.random(shape, dtype=np.float32) for shape in shapes]
            text = ", ".join("x".join(map(str, shape)) for shape in shapes)
            yield Case(
                f"{program.name} {text}",
                partial(program.function, *arrays),
                peers={"NumPy": partial(program.numpy, *arrays)},
                goals={"NumPy": 1.0},
                rtol=1e-3,
                atol=1e-4,
                seconds=0.3,
            )
