"""Expressions are graphs: what a name stands for is one node however often it is used, and nothing
that walks expressions comes to it more than once. A chain of 60 doublings is 60 nodes and a tree of
2**60; a walk of the tree would not end, so those run in processes of their own."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

import tilewright as tw
from children import run_python

i, r = tw.iters("i r")
N, M = tw.params("N M")

START = """
import pickle
import numpy as np
import tilewright as tw

i, r = tw.iters("i r")
N, M = tw.params("N M")
x = tw.input("x", [N], tw.int64)
data = np.arange(5, dtype=np.int64)

def doubled(e, levels=60):
    for _ in range(levels):
        e = e + e
    return e

def array_doubled(a, levels=60):
    for _ in range(levels):
        a = a + a
    return a

def function(value, **options):
    return tw.function("f", outputs=[tw.computation("A", {i: N}, value)], **options)
"""

ENTRIES = {
    "index": """
f = function(doubled(i))
assert (f(N=5) == array_doubled(data)).all()
""",
    "index that wraps": """
f = function(doubled(i, 70) + i)
assert (f(N=5) == data).all()
""",
    "read": """
f = function(doubled(x[i]))
assert (f(data) == array_doubled(data)).all()
assert (f.evaluate(data) == array_doubled(data)).all()
""",
    "subscript": """
f = function(x[(doubled(i, 40) - doubled(i, 40)) + i])
assert (f(data) == data).all()
""",
    "computed subscript": """
f = function(x[doubled(x[i] * 0) + i])
assert (f(data) == data).all()
""",
    "size": """
A = tw.computation("A", {i: doubled(N, 10)}, i + 0)
f = tw.function("f", outputs=[A])
assert f(N=2).shape == (2048,)
""",
    "input of a large size": """
y = tw.input("y", [doubled(N, 20) - doubled(N, 20) + N], tw.int64)
f = tw.function("f", outputs=[tw.computation("A", {i: N}, y[i])])
assert (f(data, N=5) == data).all()
""",
    "condition": """
f = function(tw.select(doubled(i, 30) >= doubled(i * 0 + 2, 30), x[i], -1))
assert (f(data) == [-1, -1, 2, 3, 4]).all()
""",
    "conditions of data": """
e = x[i]
for level in range(60):
    e = tw.select(x[i] > level, e, e + 1)
f = function(e)
expected = data.copy()
for level in range(60):
    expected = np.where(data > level, expected, expected + 1)
assert (f(data) == expected).all()
assert (f.evaluate(data) == expected).all()
""",
    "guarded reads": """
e = tw.select(i > 0, x[i - 1], 7)
for level in range(40):
    e = tw.select(x[i] > level, e, e + 1)
f = function(e)
expected = np.concatenate([[7], data[:-1]])
for level in range(40):
    expected = np.where(data > level, expected, expected + 1)
assert (f(data) == expected).all()
assert (f.evaluate(data) == expected).all()
""",
    "reduction": """
A = tw.computation("A", {i: N}, tw.sum(doubled(x[r]), over={r: i}, where=doubled(x[r] * 0) >= 0))
f = tw.function("f", outputs=[A])
assert (f(data) == array_doubled(np.concatenate([[0], np.cumsum(data)[:-1]]))).all()
""",
    "commands": """
f = function(doubled(x[i]))
f["A"].split(i, 4).vectorize("i1", 4)
assert (f(data) == array_doubled(data)).all()
B = tw.computation("B", {i: N}, doubled(x[i]))
C = tw.computation("C", {i: N}, doubled(B[i], 20) + B[i])
g = tw.function("g", outputs=[C])
g["B"].inline()
expected = array_doubled(array_doubled(data), 20) + array_doubled(data)
assert (g(data) == expected).all()
""",
    "texts": """
e = doubled(x[i])
f = function(e)
for text in (repr(e), str(e), str(f), repr(f), str(f.loops), str(f.layers), str(f.llvm), str(f.asm),
             f._repr_html_(), f.layers._repr_html_(), f.loops._repr_html_()):
    assert len(text) < 400_000, len(text)
assert "e1 = x[i] + x[i]; e2 = e1 + e1; " in repr(e)
""",
    "pickles": """
f = pickle.loads(pickle.dumps(function(doubled(x[i]))))
assert (f(data) == array_doubled(data)).all()
""",
    "errors": """
try:
    function(doubled(x[i]) + x[i + 1])
except tw.DomainError as error:
    assert len(str(error)) < 5000
else:
    raise AssertionError
try:
    tw.computation("B", {i: doubled(x[i])}, i + 0)
except tw.DeclarationError as error:
    assert len(str(error)) < 5000, len(str(error))
else:
    raise AssertionError
""",
    "loop": """
a, b = x[i], x[i] + 1
for _ in range(20):
    a, b = tw.while_loop(lambda s, t: s > 10, lambda s, t: (s - t, t), initial=(a + b, a), limit=2)
f = function(a + b)
str(f.layers), repr(a)
""",
}


@pytest.mark.parametrize("name", ENTRIES)
def test_each_entry_walks_the_graph(name):
    run_python("-W", "ignore", "-c", START + ENTRIES[name], timeout=120)


def test_visits_are_nodes_and_not_trees():
    x = tw.input("x", [N], tw.int64)
    e = x[i]
    for _ in range(60):
        e = e + e
    assert e._handle.tree_size == 3 * 2**60 - 1
    assert (e + e + e)._handle.tree_size == 2**62  # stands for more
    assert len(e._handle.nodes()) == 62
    assert [node.kind for node in e._handle.nodes()[-3:]] == ["binary", "access", "iterator"]


def test_short_expressions_are_written_out():
    x = tw.input("x", [N], tw.float64)
    y = x[i] * 2
    assert str(y + y) == "x[i] * 2.0 + x[i] * 2.0"


def test_shared_parts_of_large_expressions_have_names():
    x, e1 = tw.input("x", [N], tw.float64), tw.input("e1", [N], tw.float64)
    e = x[i] + e1[i]
    for _ in range(7):
        e = e * e
    # e1 is taken: the names go on behind it.
    assert str(e).startswith("e2 = x[i] + e1[i]; e3 = e2 * e2; ")
    assert str(e).endswith("; e8 * e8")


def test_casts_that_are_left_out_share_as_well():
    x = tw.input("x", [N], tw.float32)
    e = x[i]
    for level in range(40):
        e = tw.cast(e, tw.float64 if level % 2 else tw.float32)
        e = e * e
    assert len(str(e)) < 5000


def random_graph(generator, x, y):
    """Nodes that use earlier ones, with what NumPy makes of each: its arrays share nothing."""
    data_x, data_y = np.arange(1.0, 9.0), np.linspace(-2.0, 2.0, 8)
    index = np.arange(8)
    nodes = [(x[i], data_x), (y[i], data_y), (tw.cast(i, tw.float64), index.astype(float))]
    for _ in range(generator.randrange(20, 60)):
        a, b, c = (generator.choice(nodes[-6:]) for _ in range(3))
        kind = generator.randrange(6)
        if kind == 0:
            made = (a[0] + b[0], a[1] + b[1])
        elif kind == 1:
            made = (a[0] - b[0], a[1] - b[1])
        elif kind == 2:
            made = (tw.minimum(a[0], b[0] * 0.5), np.minimum(a[1], b[1] * 0.5))
        elif kind == 3:
            made = (tw.select(a[0] < b[0], c[0], a[0]), np.where(a[1] < b[1], c[1], a[1]))
        elif kind == 4:
            made = (tw.select(i < 4, a[0], b[0]), np.where(index < 4, a[1], b[1]))
        else:
            shifted = np.concatenate([[0.0], data_x[:-1]])
            read = tw.select(i > 0, x[i - 1], 0.0)
            made = (tw.select(c[0] > 1, a[0], read), np.where(c[1] > 1, a[1], shifted))
        nodes.append(made)
    return nodes[-1], (data_x, data_y)


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_have_the_values_of_their_trees(seed):
    x, y = tw.input("x", [8], tw.float64), tw.input("y", [8], tw.float64)
    (value, expected), arrays = random_graph(random.Random(seed), x, y)
    with np.errstate(all="ignore"):
        f = tw.function("f", outputs=[tw.computation("A", {i: 8}, value)], inputs=[x, y])
        np.testing.assert_array_equal(f(*arrays), expected)
        np.testing.assert_array_equal(f.evaluate(*arrays), expected)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(*arrays), expected)


def test_code_that_must_grow_ends_at_a_limit():
    x = tw.input("x", [N], tw.int64)
    e = tw.select(i > 0, x[i - 1], 7)
    for level in range(40):
        e = tw.select(x[i] > level, e, 0) + tw.select(x[i] < level, e, 1)
    f = tw.function("f", outputs=[tw.computation("A", {i: N}, e)])
    with pytest.raises(tw.AnalysisLimitError, match="parts in computations of their own"):
        f(np.arange(5))


# ---- conditions on remainders ----

PRIMES = (2, 3, 5, 7, 11, 13)


def unlike_halves(iterator):
    condition = iterator % 2 != 1
    for p in PRIMES[1:]:
        condition = condition & (iterator % p != p // 2)
    return condition


def unlike_half_of(values):
    return np.all([values % p != p // 2 for p in PRIMES], axis=0)


@pytest.mark.parametrize("form", ["where", "select", "negated", "sum"])
def test_many_conditions_on_remainders(form):
    x = tw.input("x", [N], tw.float64)
    data = np.arange(1.0, 401.0)
    holds = unlike_half_of(np.arange(400))
    condition = unlike_halves(i)
    if form == "where":
        a = tw.computation("A", {i: N}, x[i], where=condition, shape=[N])
        expected = np.where(holds, data, 0)
    elif form == "sum":
        a = tw.computation("A", [], tw.sum(x[r], over={r: N}, where=unlike_halves(r)))
        expected = data[holds].sum()
    else:
        value = tw.select(condition, x[i], -1.0)
        value = tw.select(~condition, -1.0, x[i]) if form == "negated" else value
        a = tw.computation("A", {i: N}, value)
        expected = np.where(holds, data, -1)
    f = tw.function("f", outputs=[a])
    got = f(data)
    if form == "where":
        got = np.where(holds, got, 0)
    np.testing.assert_array_equal(got, expected)


def test_a_shape_that_takes_too_long_is_asked_for():
    x = tw.input("x", [N], tw.float64)
    a = tw.computation("A", {i: N}, x[i], where=unlike_halves(i))
    with pytest.raises(tw.AnalysisLimitError, match=r"give the shape \(shape=") as caught:
        tw.function("f", outputs=[a])
    assert "test_shared_expressions.py" in str(caught.value)
    assert str(a.shape) == "(N,)"  # enough for a temporary


@pytest.mark.parametrize("value", [-1, 0, 1, 2, 3])
@pytest.mark.parametrize("negated", [False, True])
def test_an_unlike_remainder(value, negated):
    x = tw.input("x", [N], tw.int64)
    condition = ~(i % 3 == value) if negated else i % 3 != value
    f = tw.function("f", outputs=[tw.computation("A", {i: N}, tw.select(condition, x[i], -1))])
    data = np.arange(10)
    np.testing.assert_array_equal(f(data), np.where(data % 3 != value, data, -1))


# ---- many parameters ----


def test_many_parameters():
    count = 24  # more than statements carry without asking which they mention
    sizes = [tw.param(f"P{k}", f"P{k} >= 1") for k in range(count)]
    arrays = [tw.input(f"x{k}", [size], tw.float64) for k, size in enumerate(sizes)]
    outputs = [
        tw.computation(f"A{k}", {i: size}, arrays[k][i] * arrays[(k + 1) % count][0])
        for k, size in enumerate(sizes)
    ]
    f = tw.function("f", outputs=outputs)
    data = [np.arange(k + 1.0) + 1 for k in range(count)]
    got = f(*data)
    for k, result in enumerate(got):
        np.testing.assert_array_equal(result, data[k] * data[(k + 1) % count][0])
