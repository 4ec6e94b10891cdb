"""Walks over expressions are counted: a chain in which each part is used twice has as many nodes as
levels, and each thing that can be asked of it comes to a small multiple of them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tilewright as tw
from tilewright import _core

LEVELS = 60
# Walks for each node: analyses ask several questions of each read, and none of each path to it.
WALKS = 180

i, r = tw.iters("i r")
N = tw.param("N")
x = tw.input("x", [N], tw.int64)
data = np.arange(5, dtype=np.int64)


def doubled(e):
    for _ in range(LEVELS):
        e = e + e
    return e


def conditional(e):
    for level in range(LEVELS):
        e = tw.select(x[i] > level, e + 1, e)
    return e


def remainders(e):
    for _ in range(LEVELS):
        e = (e + e) % 7
    return e + x[i]


VALUES = {
    "reads": lambda: doubled(x[i]),
    "indices": lambda: doubled(i) + x[i],
    "conditions": lambda: conditional(x[i]),
    "remainders": lambda: remainders(i),
    "subscripts": lambda: x[doubled(x[i] * 0) + i],
    "terms": lambda: tw.sum(doubled(x[r]), over={r: N}, where=doubled(x[r]) >= 0) + i,
    "casts": lambda: doubled(tw.cast(doubled(x[i]), tw.int32)),
}


def inlined(f, value):
    A = tw.computation("A", {i: N}, value)
    B = tw.computation("B", {i: N}, A[i] + A[i])
    g = tw.function("g", outputs=[B])
    g["A"].inline()
    g(data)


def on_blocks(f, value):
    f.target = "gpu-emulator"
    f["A"].split(i, 4, "b", "t").gpu_block("b").gpu_thread("t")
    f(data)


ENTRIES = {
    "texts": lambda f, value: (repr(value), str(value), repr(f), f._repr_html_()),
    "layers": lambda f, value: (str(f.layers), str(f.loops), str(f.schedule), f.key),
    "code": lambda f, value: (str(f.llvm), str(f.asm)),
    "calls": lambda f, value: f(data),
    "evaluation": lambda f, value: f.evaluate(data),
    "copies": lambda f, value: (pickle.loads(pickle.dumps(f)), copy.copy(f), f.copy()),
    "dependences": lambda f, value: (str(f.dependences), f.legality),
    "profile": lambda f, value: f.profile(data, roofline=False),
    "commands": lambda f, value: (f["A"].split(i, 4).unroll("i1"), f(data)),
    "inline": inlined,
    "gpu": on_blocks,
}


def nodes_of(value):
    return len(value._handle.nodes())


@pytest.mark.parametrize("name", VALUES)
def test_declarations_visit_each_node(name):
    value = VALUES[name]()
    before = _core.expression_visits()
    tw.function("f", outputs=[tw.computation("A", {i: N}, value)])
    assert nodes_of(value) < _core.expression_visits() - before < WALKS * nodes_of(value)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("name", VALUES)
def test_entries_visit_each_node(name, entry):
    value = VALUES[name]()
    f = tw.function("f", outputs=[tw.computation("A", {i: N}, value)])
    before = _core.expression_visits()
    ENTRIES[entry](f, value)
    assert _core.expression_visits() - before < WALKS * nodes_of(value)


def test_what_inlining_multiplies_ends_at_a_limit():
    chain = [tw.computation("A0", {i: N}, x[i] + 1)]
    for level in range(1, 24):
        last = chain[-1]
        chain.append(tw.computation(f"A{level}", {i: N}, last[i] + last[N - 1 - i]))
    f = tw.function("f", outputs=[chain[-1]])
    with pytest.raises(tw.ScheduleError, match=r"A\d+\.inline\(\): .* can be computed in place"):
        for computation in chain[:-1]:
            f[computation.name].inline()
    expected = data + 1
    for _ in chain[1:]:
        expected = expected + expected[::-1]
    np.testing.assert_array_equal(f.evaluate(data), expected)


def test_reductions_in_shared_reductions_end_at_a_limit():
    e = x[i]
    for level in range(30):
        within = tw.iter(f"r{level}")
        e = tw.sum(e, over={within: 1}) + tw.sum(e * 2, over={within: 1})
    with pytest.raises(tw.AnalysisLimitError):
        tw.computation("A", {i: N}, e)


def test_a_circle_below_shared_selects_is_found():
    A = tw.computation("A", {i: N}, dtype=tw.int64)
    B = tw.computation("B", {i: N}, dtype=tw.int64)
    e = B[i]
    for level in range(40):
        e = tw.select(i > level, e + 1, e + 2)
    A.define(None, e)
    B.define(None, A[i])
    with pytest.raises(tw.SelfDependenceError):
        tw.function("f", outputs=[A])
