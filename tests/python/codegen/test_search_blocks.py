"""Positions of extrema: blocks of terms are searched for values first, and for a position where it matters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw

TYPES = {
    np.dtype(name): getattr(tw, name)
    for name in ("float32", "float64", "int8", "uint8", "int16", "int32", "int64", "uint64")
}
#: Of these, a drawn array has many.
FEW = {"f": [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 2.5], "i": [0, 1, -1, 5], "u": [0, 1, 5, 200]}


def function_of(finds, dtype, rank):
    N, M = tw.params("N M")
    i, j = tw.iters("i j")
    if rank == 1:
        x = tw.input("x", [M], TYPES[dtype])
        result = tw.computation("at", {}, finds(x[j], over={j: M}))
    else:
        x = tw.input("x", [N, M], TYPES[dtype])
        result = tw.computation("at", {i: N}, finds(x[i, j], over={j: M}))
    return tw.function(f"{finds.__name__}_{rank}_{dtype}", outputs=[result])


FUNCTIONS = {
    (finds.__name__, dtype, rank): function_of(finds, dtype, rank)
    for finds in (tw.argmin, tw.argmax)
    for dtype in TYPES
    for rank in (1, 2)
}


@st.composite
def arrays(draw):
    dtype = draw(st.sampled_from(sorted(TYPES, key=str)))
    length = draw(st.one_of(st.integers(1, 70), st.integers(120, 140), st.integers(255, 1200)))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    kind = draw(st.sampled_from(["few", "many", "rising", "falling", "one"]))
    few = np.array(FEW[dtype.kind]).astype(dtype)
    if kind == "few":
        values = random.choice(few, (3, length))
    elif kind == "one":
        values = np.full((3, length), few[0])
        values[:, random.integers(length)] = few[-1]
    else:
        wide = random.standard_normal((3, length)) * 50
        values = np.sort(wide, axis=1) if kind != "many" else wide
        values = (values[:, ::-1] if kind == "falling" else values).clip(-100, 100)
        values = (values + 100 * (dtype.kind == "u")).astype(dtype)
    if dtype.kind == "f" and draw(st.booleans()):
        values[0, random.integers(0, length, 2)] = np.nan
    return np.ascontiguousarray(values)


@tw.jit
def positions(x):
    rows = np.argmax(x, axis=1), np.argmin(x, axis=1)
    columns = np.argmax(x, axis=0), np.argmin(x, axis=0)
    return rows, columns, np.argmax(x[0]), np.argmin(x[0])


@settings(max_examples=60, deadline=None)
@given(arrays())
def test_positions_of_python_functions_are_those_of_numpy(x):
    for found, want in zip(positions(x), positions.py_func(x), strict=True):
        np.testing.assert_array_equal(found, want)


@settings(max_examples=150, deadline=None)
@given(arrays())
def test_positions_are_those_of_numpy(x):
    for name in ("argmin", "argmax"):
        want = getattr(np, name)(x, axis=1)
        np.testing.assert_array_equal(FUNCTIONS[name, x.dtype, 2](x), want)
        assert FUNCTIONS[name, x.dtype, 1](x[0]) == want[0]


def test_sizes_around_a_vector_and_a_block():
    kernel = FUNCTIONS["argmax", np.dtype(np.float32), 2]
    for length in [*range(1, 40), *range(254, 262), *range(510, 520)]:
        x = np.zeros((length, length), np.float32)
        np.fill_diagonal(x, 1)
        np.testing.assert_array_equal(kernel(x), np.arange(length))


def test_vectors_of_values_and_one_position_a_row():
    kernel = function_of(tw.argmax, np.dtype(np.float32), 2)
    text = {each.name: str(each) for each in kernel.passes()}["search_blocks"]
    assert "max(most, x[i, " in text
    assert "found = block" in text
    assert "rfactor" not in str(kernel.default_schedule)


def test_terms_may_be_computed():
    N, M = tw.params("N M")
    i, j = tw.iters("i j")
    x = tw.input("x", [N, M], tw.float64)
    w = tw.input("w", [M], tw.float64)
    farthest = tw.computation("farthest", {i: N}, tw.argmax(abs(x[i, j] - 2.0 * w[j]), over={j: M}))
    f = tw.function("farthest_of", outputs=[farthest])
    r = np.random.default_rng(3)
    a, b = r.standard_normal((20, 333)), r.standard_normal(333)
    np.testing.assert_array_equal(f(a, b), np.argmax(abs(a - 2 * b), axis=1))
    assert "found = block" in {each.name: str(each) for each in f.passes()}["search_blocks"]


def test_every_other_term_and_terms_that_data_choose():
    N = tw.param("N")
    j = tw.iter("j")
    x = tw.input("x", [2 * N], tw.float32)
    mask = tw.input("mask", [2 * N], tw.bool)
    every = tw.computation("every", {}, tw.argmax(x[2 * j], over={j: N}))
    some = tw.computation("some", {}, tw.argmin(x[j], over={j: 2 * N}, where=mask[j]))
    f = tw.function("chosen_terms", outputs=[every, some])
    r = np.random.default_rng(4)
    a = r.standard_normal(778).astype(np.float32)
    chosen = r.random(778) < 0.3
    got = f(a, chosen)
    assert got[0] == np.argmax(a[::2])
    assert got[1] == np.flatnonzero(chosen)[np.argmin(a[chosen])]


@pytest.mark.parametrize("first", [0.5, np.nan])
def test_loops_without_a_word_about_nan_pass_it_by(first):
    def largest(x, out):
        best = x[0]
        at = 0
        for k in range(1, x.shape[0]):
            if x[k] > best:
                best = x[k]
                at = k
        out[0] = at

    x = np.random.default_rng(5).random(1000)
    x[0] = first
    x[[3, 500, 999]] = np.nan
    got, want = np.zeros(1, np.int64), np.zeros(1, np.int64)
    largest(x, want)
    tw.jit(largest)(x, got)
    assert got == want


def smallest(x):
    at = 0
    best = x[0]
    for i in range(1, x.shape[0]):
        if x[i] < best:
            best = x[i]
            at = i
    return at


def test_loops_that_keep_the_best_value_search_blocks():
    x = np.random.default_rng(6).random(1000)
    kernel = tw.jit(smallest)
    assert kernel(x) == np.argmin(x)
    text = {each.name: str(each) for each in kernel.inspect(x).passes()}["search_blocks"]
    assert "found = block" in text
    for length in range(1, 60):
        assert kernel(x[:length]) == np.argmin(x[:length])
