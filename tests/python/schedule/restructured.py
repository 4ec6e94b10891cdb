"""Programs and checks that the tests of restructuring commands share."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable

import numpy as np
import pytest
from programs import Program

import tilewright as tw

i, j, k, l, t = tw.iters("i j k l t")
SIZES = [(0, 0), (0, 3), (1, 0), (1, 1), (3, 5), (16, 8), (17, 33)]
AT_LEAST_TWO = [(2, 0), (2, 1), (3, 5), (17, 33), (40, 21)]
LENGTHS = [(0,), (1,), (2,), (5,), (8,), (31,), (64,), (100,)]


def integers(shape: tuple[int, ...], dtype: type = np.int32) -> np.ndarray:
    generator = np.random.default_rng(7)
    return generator.integers(-50, 50, shape).astype(dtype)


def cube() -> Program:
    """Three loops that may run in any order."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m, 3], tw.int32)
    c = tw.computation("C", {i: n, j: m, k: 3}, a[i, j, k] + tw.cast(100 * i - j, tw.int32))

    def numpy(a: np.ndarray) -> np.ndarray:
        rows, columns, _ = np.indices(a.shape)
        return (a + 100 * rows - columns).astype(np.int32)

    return Program(tw.function("cube", outputs=[c]), lambda n, m: (integers((n, m, 3)),), numpy)


def diagonals() -> Program:
    """Each element depends on the one to the lower left: distance (1, -1)."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int32)
    c = tw.computation(
        "C",
        {i: n, j: m},
        lambda c: [
            ((i == 0) | (j == m - 1), a[i, j]),
            ((i > 0) & (j < m - 1), c[i - 1, j + 1] + a[i, j]),
        ],
        dtype=tw.int32,
    )

    def numpy(a: np.ndarray) -> np.ndarray:
        result = a.copy()
        for row in range(1, a.shape[0]):
            result[row, :-1] += result[row - 1, 1:]
        return result

    return Program(tw.function("diagonals", outputs=[c]), lambda n, m: (integers((n, m)),), numpy)


def pair() -> Program:
    """A producer and a pointwise consumer of it."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int32)
    b = tw.computation("B", {i: n, j: m}, a[i, j] * 3 + 1)
    c = tw.computation("C", {i: n, j: m}, b[i, j] * b[i, j])
    return Program(
        tw.function("pair", outputs=[c]),
        lambda n, m: (integers((n, m)),),
        lambda a: (a * 3 + 1) ** 2,
    )


def fused() -> Program:
    """C in the loops of B, which it reads: neither can be reversed alone."""
    program = pair()
    program.function["C"].after("B", "i")
    return program


def backwards(function: tw.Function) -> None:
    with function.transaction():
        function["C"].reverse(i)
        function["B"].reverse(i)


def stencils() -> Program:
    """Three stages in one dimension, each of two neighbours."""
    n = tw.param("N")
    x = tw.input("x", [n + 3], tw.int32)
    a = tw.computation("A", {i: n + 2}, x[i] - 2 * x[i + 1])
    b = tw.computation("B", {i: n + 1}, 3 * a[i] + a[i + 1])
    c = tw.computation("C", {i: n}, b[i] * b[i + 1])

    def numpy(x: np.ndarray) -> np.ndarray:
        a = x[:-1] - 2 * x[1:]
        b = 3 * a[:-1] + a[1:]
        return b[:-1] * b[1:]

    return Program(tw.function("stencils", outputs=[c]), lambda n: (integers((n + 3,)),), numpy)


def blur() -> Program:
    """A window over rows of a window over columns."""
    n, m = tw.params("N M")
    a = tw.input("A", [n + 2, m + 2], tw.int32)
    b = tw.computation("B", {i: n + 2, j: m}, a[i, j] + a[i, j + 1] + a[i, j + 2])
    c = tw.computation("C", {i: n, j: m}, b[i, j] + b[i + 1, j] + b[i + 2, j])

    def numpy(a: np.ndarray) -> np.ndarray:
        b = a[:, :-2] + a[:, 1:-1] + a[:, 2:]
        return b[:-2] + b[1:-1] + b[2:]

    return Program(
        tw.function("blur", outputs=[c]), lambda n, m: (integers((n + 2, m + 2)),), numpy
    )


def row_sums() -> Program:
    """A reduction that each element of its reader divides into."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int64)
    s = tw.computation("S", {i: n}, tw.sum(a[i, k], over={k: m}))
    c = tw.computation("C", {i: n, j: m}, s[i] - a[i, j])
    return Program(
        tw.function("row_sums", outputs=[c]),
        lambda n, m: (integers((n, m), np.int64),),
        lambda a: a.sum(axis=1, keepdims=True) - a,
    )


def total(reduction: Callable = tw.sum, dtype: type = np.int64) -> Program:
    """Everything in one number, over two iterators."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], dtype)
    c = tw.computation("C", {}, reduction(a[i, j], over={i: n, j: m}))
    return Program(
        tw.function("total", outputs=[c]),
        lambda n, m: (integers((n, m), dtype),),
        lambda a: a.sum(dtype=dtype),
    )


def refused(program: Program, command: Callable, message: str, kind: type = tw.ScheduleError):
    """The command is refused with this message, names its line, and changes nothing."""
    before = program.function.schedule
    with pytest.raises(kind) as caught:
        command(program.function)
    # Not the text of the error, which quotes the line: the message expected may stand in it.
    assert re.search(message, caught.value.message), caught.value.message
    assert pathlib.Path(command.__code__.co_filename).name in str(caught.value)
    assert program.function.schedule == before
    return caught.value


def illegal(program: Program, command: Callable, message: str = "illegal"):
    error = refused(program, command, message, tw.IllegalScheduleError)
    assert error.source_instance
    assert error.sink_instance
    return error


def nonsense(program: Program, command: Callable, message: str):
    error = refused(program, command, message)
    assert not isinstance(error, tw.IllegalScheduleError)


def packed() -> Program:
    """A matrix product that reads a copy of its second factor."""
    n, m, q = tw.params("N M K")
    a = tw.input("A", [n, q], tw.int64)
    b = tw.input("B", [q, m], tw.int64)
    copy = tw.computation("P", {k: q, j: m}, b[k, j])
    c = tw.computation("C", {i: n, j: m}, tw.sum(a[i, k] * copy[k, j], over={k: q}))
    return Program(
        tw.function("packed", outputs=[c], inputs=[a, b]),
        lambda n, m, q=7: (integers((n, q), np.int64), integers((q, m), np.int64)),
        lambda a, b: a @ b,
    )
