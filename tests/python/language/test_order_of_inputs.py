"""Without `inputs=`, a call takes the inputs in the order in which they were declared, whatever the
order in which expressions read them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tilewright as tw
from children import run_python

i, j = tw.iters("i j")
N, M = tw.params("N M")


def named(function: tw.Function) -> list[str]:
    return list(function.inputs)


def pointwise(value, name="C", size=N):
    return tw.function("f", outputs=[tw.computation(name, {i: size}, value)])


def test_the_order_in_which_an_expression_reads_does_not_matter():
    x, y = tw.input("x", [N], tw.float64), tw.input("y", [N], tw.float64)
    a, b = np.arange(3.0), np.ones(3)
    for value in (x[i] - y[i], -y[i] + x[i], tw.select(y[i] < 0, x[i], x[i] - y[i])):
        f = pointwise(value)
        assert named(f) == ["x", "y"]
        assert (f(a, b) == a - b).all()
        assert str(f.signature).startswith("f(x: float64[N], y: float64[N])")


def test_it_is_the_order_of_declaration_not_of_names():
    y, x = tw.input("y", [N], tw.float64), tw.input("x", [N], tw.float64)
    assert named(pointwise(x[i] - y[i])) == ["y", "x"]


def test_of_inputs_behind_other_computations():
    x, y, z = (tw.input(name, [N], tw.float64) for name in "xyz")
    last = tw.computation("last", {i: N}, z[i] * 2)
    first = tw.computation("first", {i: N}, x[i] * 2)
    both = tw.computation("both", {i: N}, last[i] + y[i] + first[i])
    assert named(tw.function("f", outputs=[both])) == ["x", "y", "z"]
    assert named(tw.function("g", outputs=[last, first])) == ["x", "z"]


def test_of_arrays_without_dimensions_and_of_those_read_only_in_conditions():
    alpha = tw.input("alpha", [], tw.float64)
    x = tw.input("x", [N], tw.float64)
    mask = tw.input("mask", [N], tw.bool)
    beta = tw.input("beta", [], tw.float64)
    scaled = tw.select(mask[i], beta[()], x[i] * alpha[()])
    assert named(pointwise(scaled)) == ["alpha", "x", "mask", "beta"]
    counted = tw.sum(x[j], over={j: N}, where=mask[j])
    assert named(tw.function("f", outputs=[tw.computation("C", {}, counted)])) == ["x", "mask"]


def test_sizes_are_named_by_the_inputs_in_their_order():
    x, y = tw.input("x", [M], tw.float64), tw.input("y", [N], tw.float64)
    sums = tw.sum(x[j], over={j: M}), tw.sum(y[j], over={j: N})
    for value in (sums[0] - sums[1], -sums[1] + sums[0]):
        f = tw.function("f", outputs=[tw.computation("C", {}, value)])
        assert list(f.parameters) == ["M", "N"]
        assert str(f.signature) == "f(x: float64[M], y: float64[N]) -> C: float64[]"


def test_of_records_and_their_fields():
    before = tw.input("before", [N], tw.float64)
    P = tw.input("P", [N], np.dtype([("u", np.float64), ("v", np.float64)]))
    after = tw.input("after", [N], tw.float64)
    f = pointwise(after[i] + P.v[i] - P.u[i] + before[i])
    assert str(f.signature).startswith(
        "f(before: float64[N], P: {u: float64, v: float64}[N], after: float64[N])"
    )
    p = np.array([(1.0, 2.0), (3.0, 4.0)], P.dtype)
    assert (f(np.zeros(2), p, np.full(2, 10.0)) == 11).all()


def test_of_sets_given_as_text():
    x, y = tw.input("x", [N], tw.float64), tw.input("y", [N], tw.float64)
    C = tw.computation("[N] -> { C[i] : 0 <= i < N }", y[i] - x[i])
    assert named(tw.function("f", outputs=[C])) == ["x", "y"]


def test_an_order_that_is_given_stays():
    x, y = tw.input("x", [N], tw.float64), tw.input("y", [N], tw.float64)
    C = tw.computation("C", {i: N}, x[i] - y[i])
    assert named(tw.function("f", inputs=[y, x], outputs=[C])) == ["y", "x"]


def test_copies_and_rewrites_keep_it():
    x, y = tw.input("x", [N], tw.float64), tw.input("y", [N], tw.float64)
    B = tw.computation("B", {i: N}, y[i] * 2)
    C = tw.computation("C", {i: N}, B[i] + x[i])
    f = tw.function("f", outputs=[C])
    g = f.copy()
    g["B"].inline()
    for each in (f, g, copy.deepcopy(f), pickle.loads(pickle.dumps(g))):
        assert named(each) == ["x", "y"]


def test_pickles_keep_it():
    x, y = tw.input("x", [N], tw.float64), tw.input("y", [N], tw.float64)
    late, early = pickle.dumps(y[i]), pickle.dumps(x[i])
    assert named(pointwise(pickle.loads(late) - pickle.loads(early))) == ["x", "y"]
    assert named(pointwise(pickle.loads(pickle.dumps(y[i] - x[i])))) == ["x", "y"]


def test_pickles_keep_it_in_another_process():
    """There, what is declared after loading comes after what was loaded."""
    x, y = tw.input("x", [N], tw.float64), tw.input("y", [N], tw.float64)
    program = (
        "import pickle, tilewright as tw\n"
        f"y, x = pickle.loads({pickle.dumps(y[i])!r}), pickle.loads({pickle.dumps(x[i])!r})\n"
        "N, i = tw.param('N'), tw.iter('i')\n"
        "z = tw.input('z', [N], tw.float64)\n"
        "f = tw.function('f', outputs=[tw.computation('C', {i: N}, z[i] + y - x)])\n"
        "print(*f.inputs)\n"
    )
    assert run_python("-c", program).stdout.split() == ["x", "y", "z"]


def test_functions_of_one_shape_share_a_kernel(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    keys = set()
    for _ in range(2):
        x, y = tw.input("x", [N], tw.float64), tw.input("y", [N], tw.float64)
        for value in (x[i] - y[i], x[i] - y[i]):
            f = pointwise(value)
            f(np.ones(2), np.ones(2))
            keys.add(f.last_compile["key"])
            tw.input("between", [N], tw.float64)
    assert len(keys) == 1


def test_a_declaration_made_again_counts_anew():
    """As when a cell of a notebook runs once more."""
    x, y = tw.input("x", [N], tw.float64), tw.input("y", [N], tw.float64)
    assert named(pointwise(x[i] - y[i])) == ["x", "y"]
    x = tw.input("x", [N], tw.float64)
    assert named(pointwise(x[i] - y[i])) == ["y", "x"]


def test_sizes_are_given_by_name():
    C = tw.computation("C", {i: N, j: M}, i + j)
    f = tw.function("f", outputs=[C])
    with pytest.raises(TypeError):
        f(2, 3)
    assert f(M=3, N=2).shape == (2, 3)
