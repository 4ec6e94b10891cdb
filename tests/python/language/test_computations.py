"""Domains, pieces, recurrences and shapes of computations, by their values."""

import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")
N, M = tw.params("N M")
x = tw.input("x", [N], tw.float64)
y = tw.input("y", [N], tw.float64)
A = tw.input("A", [N, M], tw.float32)

a = np.arange(12, dtype=np.float32).reshape(3, 4)
u = np.arange(1.0, 6.0)
v = 10 * u


def run(computation, *arrays, **arguments):
    """The value by the evaluator; compiled code must give the same."""
    f = tw.function("f", outputs=[computation])
    evaluated = f.evaluate(*arrays, **arguments)
    np.testing.assert_array_equal(f(*arrays, **arguments), evaluated)
    return evaluated


def test_ranges():
    C = tw.computation("C", {i: N, j: (1, M)}, A[i, j] * 2)
    expected = a * 2
    expected[:, 0] = 0
    np.testing.assert_array_equal(run(C, a), expected)
    assert C.dtype == tw.float32 and C.ndim == 2 and C.iterators == (i, j)
    assert repr(C) == "<Computation C[N, M] float32>"


def test_bounds_that_use_earlier_iterators_and_conditions():
    C = tw.computation("C", {i: N, j: (0, tw.minimum(i + 1, M))}, A[i, j])
    D = tw.computation("D", {i: N, j: M}, A[i, j], where=j <= i, shape=[N, M])
    np.testing.assert_array_equal(run(C, a)[:, :3], np.tril(a)[:, :3])
    np.testing.assert_array_equal(run(D, a), np.tril(a))
    E = tw.computation("E", {i: N, j: M}, A[i, j], where=((i + j) % 2 == 0) | (i == 0))
    mask = (np.indices(a.shape).sum(axis=0) % 2 == 0) | (np.arange(3)[:, None] == 0)
    np.testing.assert_array_equal(run(E, a), np.where(mask, a, 0))


def test_ways_to_write_a_domain():
    ways = [{i: N, j: 3}, {i: (0, N), j: (0, 3)}, [(i, N), (j, 3)], {i: N, j: range(3)}]
    assert len({tw.computation("C", way, i).domain for way in ways}) == 1


def test_pieces():
    C = tw.computation("C", {i: N}, [(i == 0, x[0]), (i > 0, y[i])])
    expected = v.copy()
    expected[0] = u[0]
    np.testing.assert_array_equal(run(C, u, v), expected)
    assert len(C.pieces) == 2 and repr(C.pieces[1][1]) == "y[i]"


def test_the_type_of_pieces_is_their_promotion():
    n = tw.input("n", [N], tw.int16)
    f = tw.input("f", [N], tw.float32)
    C = tw.computation("C", {i: N}, [(i == 0, 0), (i == 1, n[i]), (i > 1, f[i])])
    assert C.dtype == tw.float32
    assert tw.computation("C", {i: N}, [(i == 0, 1.5), (i > 0, n[i])]).dtype == tw.float64
    assert tw.computation("C", {i: N}, 3).dtype == tw.int64
    assert tw.computation("C", {i: N}, True).dtype == tw.bool
    assert tw.computation("C", {i: N}, 1, dtype=tw.uint8).dtype == tw.uint8
    assert tw.computation("C", {i: N}, f[i], dtype="float16").dtype == tw.float16


def test_recurrences():
    C = tw.computation(
        "C", {i: N}, lambda C: [(i == 0, x[0]), (i > 0, C[i - 1] + x[i])], dtype=tw.float64
    )
    np.testing.assert_array_equal(run(C, u), np.cumsum(u))
    D = tw.computation("D", {i: N}, dtype=tw.float64)
    D.define(i == 0, x[0]).define(i > 0, D[i - 1] * x[i])
    np.testing.assert_array_equal(run(D, u), np.cumprod(u))


def test_a_long_recurrence_needs_no_stack():
    count = 200_000
    C = tw.computation(
        "C", {i: N}, lambda C: [(i == 0, 1), (i > 0, (C[i - 1] * 3 + 1) % 1009)], dtype=tw.int64
    )
    last = tw.computation("last", {}, tw.select(N > 0, C[N - 1], 0))
    value = 1
    for _ in range(count - 1):
        value = (value * 3 + 1) % 1009
    assert run(last, N=count) == value


def test_computations_that_need_each_other():
    P = tw.computation("P", {i: N}, dtype=tw.int64)
    Q = tw.computation("Q", {i: N}, dtype=tw.int64)
    P.define(i == 0, 1).define(i > 0, Q[i - 1] + 1)
    Q.define(None, P[i] * 2)
    p, q = tw.function("f", outputs=[P, Q]).evaluate(N=5)
    assert p.tolist() == [1, 3, 7, 15, 31] and q.tolist() == [2, 6, 14, 30, 62]


def test_isl_text():
    C = tw.computation("[N] -> { C[i,j] : 0 <= i < N and 0 <= j <= i }", x[i] * x[j])
    np.testing.assert_array_equal(run(C, u), np.tril(np.outer(u, u)))
    assert C.name == "C" and C.iterators == (i, j)
    D = tw.computation(
        "[N] -> { D[i] : 0 <= i < N }",
        lambda D: [
            ("[N] -> { D[0] : N > 0 }", x[0]),
            ("[N] -> { D[i] : 0 < i < N }", D[i - 1] + 1),
        ],
        dtype=tw.float64,
    )
    np.testing.assert_array_equal(run(D, u), u[0] + np.arange(5))
    E = tw.computation("[N] -> { E[i] : 0 <= i < N and i % 2 = 0 }", x[i], shape=[N])
    np.testing.assert_array_equal(run(E, u), np.where(np.arange(5) % 2 == 0, u, 0))


def test_no_dimensions_and_no_elements():
    total = tw.computation("total", {}, tw.sum(x[k], over={k: N}))
    found = run(total, u)
    assert found.shape == () and found == u.sum()
    C = tw.computation("C", {i: N}, x[i] / total)
    np.testing.assert_array_equal(run(C, u), u / u.sum())
    assert run(C, np.ones(0)).shape == (0,)


def test_subscripts_that_are_not_affine():
    index = tw.input("index", [M], tw.int32)
    C = tw.computation("C", {j: M}, x[index[j]])
    f = tw.function("f", outputs=[C])
    order = np.array([4, 0, 0, 2], np.int32)
    np.testing.assert_array_equal(f.evaluate(x=u, index=order), u[order])
    with pytest.raises(tw.SubscriptError, match="5"):
        f.evaluate(x=u, index=np.array([1, 5], np.int32))
    D = tw.computation("D", {i: N}, x[i * i % N])
    np.testing.assert_array_equal(run(D, u), u[np.arange(5) ** 2 % 5])


def test_shapes():
    assert [repr(extent) for extent in A.shape] == ["N", "M"]
    C = tw.computation("C", {i: N}, x[i], shape=[N + 2])
    assert run(C, u).tolist() == [*u, 0, 0]
    D = tw.computation("D", {i: (2, N)}, x[i])
    assert run(D, u).tolist() == [0, 0, *u[2:]]
    B = tw.input("B", 3, tw.float32)
    assert B.ndim == 1 and repr(B) == "<Input B[3] float32>"


def test_a_constraint_on_parameters_is_relied_upon():
    size = tw.param("size", "size > 2")
    z = tw.input("z", [size], tw.float64)
    first = tw.computation("first", {}, z[2])
    assert run(first, u) == 3
    with pytest.raises(ValueError):
        run(first, np.ones(2))


def test_a_function_of_a_pair_of_constrained_parameters():
    low, high = tw.params("low high", "high >= low")
    z = tw.input("z", [high], tw.float64)
    C = tw.computation("C", {i: low}, z[i])
    assert run(C, u, low=2).tolist() == [1, 2]
    with pytest.raises(ValueError):
        run(C, u, low=6)


def test_define_without_a_condition_is_for_the_whole_domain():
    i, N = tw.iter("i"), tw.param("N")
    x = tw.input("x", [N], tw.float64)
    y = tw.computation("y", {i: N}, dtype=tw.float64).define(2 * x[i])
    assert (tw.function("f", outputs=[y])(np.ones(3)) == 2).all()
    for given in (("i > 0",), (None,), (i > 0, None)):
        with pytest.raises(tw.DeclarationTypeError, match="an operand must be an expression"):
            tw.computation("z", {i: N}, dtype=tw.float64).define(*given)
