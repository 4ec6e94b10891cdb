"""Reductions within expressions become computations of their own."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw

i, j, k, m, d, e = tw.iters("i j k m d e")
N, M, K = tw.params("N M K")
x = tw.input("x", [N, M], tw.float32)
y = tw.input("y", [M, K], tw.float32)
v = tw.input("v", [M], tw.float32)


def rows(*shape: int) -> Any:
    return np.random.default_rng(5).integers(-3, 4, shape).astype(np.float32)


def function(value: Any, domain: Any = None, **options: Any) -> tw.Function:
    C = tw.computation("C", domain or {i: N, j: M}, value)
    return tw.function("f", outputs=[C], **options)


def agree(f: tw.Function, *arrays: Any) -> None:
    """The default schedule, plain loops and the evaluator give the same (small integers are exact)."""
    expected = f.evaluate(*arrays)
    np.testing.assert_allclose(f(*arrays), expected, rtol=1e-5, atol=1e-6)
    plain = f.copy()
    plain[plain.computations[-1]].split(plain[plain.computations[-1]].loops[0], 2)
    np.testing.assert_allclose(plain(*arrays), expected, rtol=1e-5, atol=1e-6)


def isolated(f: tw.Function) -> dict[str, tuple[str, ...]]:
    return {name: f[name].loops for name in f.computations if name != "C"}


def test_what_fewer_iterators_need_is_computed_once() -> None:
    f = function(x[i, j] - tw.max(x[i, k], over={k: M}))
    assert isolated(f) == {"C_max": ("i", "k")}
    assert f["C"].loops == ("i", "j")
    agree(f, rows(4, 6))


def test_the_largest_part_is_isolated_not_the_reduction_alone() -> None:
    f = function(x[i, j] - tw.sqrt(tw.sum(x[i, k], over={k: M}) ** 2 + 1) / 2)
    assert isolated(f) == {"C_sum": ("i", "k")}
    assert "sqrt" in str(f.layers).split("output")[0]
    agree(f, rows(4, 6))


def test_what_no_iterator_needs_has_no_dimension() -> None:
    f = function(v[i] / tw.sum(v[k], over={k: M}), {i: M})
    assert isolated(f) == {"C_sum": ("k",)}
    agree(f, np.arange(1, 8, dtype=np.float32))


def test_the_reduction_that_an_element_needs_is_its_own_loop() -> None:
    f = function(
        tw.maximum(tw.sum(x[i, k] * y[k, j], over={k: M}) + tw.cast(i, tw.float32), 0), {i: N, j: K}
    )
    assert isolated(f) == {}
    assert f["C"].loops == ("i", "j", "k")
    agree(f, rows(4, 6), rows(6, 5))


def test_of_two_the_first_is_the_computations_own() -> None:
    first, second = (tw.sum(x[i, r] * y[r, j], over={r: M}) for r in (k, m))
    f = function(first - 2 * tw.abs(second + 1) * tw.max(y[d, j], over={d: M}), {i: N, j: K})
    # first and second are the same but for their iterators: both read one computation
    assert isolated(f) == {"C_sum": ("i", "j", "k"), "C_max": ("j", "d")}
    agree(f, rows(4, 6), rows(6, 5))


def test_two_different_ones_are_loops_both() -> None:
    first = tw.sum(x[i, k] * y[k, j], over={k: M})
    second = tw.prod(x[i, k] + y[k, j], over={k: M})
    f = function(first - second, {i: N, j: K})
    assert f["C"].loops == ("i", "j", "k")
    assert isolated(f) == {"C_prod": ("i", "j", "k")}
    agree(f, rows(4, 6), rows(6, 5))


def test_few_terms_are_written_out() -> None:
    first = tw.sum(x[i, j] * k, over={k: 3})
    second = tw.sum(x[i, j] + k, over={k: 4})
    assert isolated(function(first * second)) == {}


def test_a_sum_within_a_maximum_is_a_loop() -> None:
    f = function(tw.max(tw.sum(x[i, k] * y[k, j], over={k: M}), over={j: K}), {i: N})
    assert isolated(f) == {"C_sum": ("i", "j", "k")}
    assert f["C"].loops == ("i", "j")
    agree(f, rows(4, 6), rows(6, 5))


def test_sums_of_sums_are_one() -> None:
    f = function(2 * tw.sum(tw.sum(x[i, k] * y[k, j], over={k: M}), over={j: K}), {i: N})
    assert isolated(f) == {}
    assert f["C"].loops == ("i", "j", "k")
    agree(f, rows(4, 6), rows(6, 5))


def test_other_types_are_summed_in_their_own() -> None:
    total = tw.sum(tw.cast(x[i, k], tw.float64), over={k: M})
    f = function(tw.cast(total, tw.float32), {i: N})
    assert isolated(f) == {"C_sum": ("i", "k")}
    agree(f, rows(4, 6))
    f = function(tw.sum(tw.cast(x[i, k], tw.int32), over={k: M}) / 7, {i: N})
    assert isolated(f) == {"C_sum": ("i", "k")}
    agree(f, rows(4, 6))


def test_names_that_are_taken_are_left_alone() -> None:
    C_max = tw.computation("C_max", {i: N}, tw.cast(i, tw.float32))
    C = tw.computation("C", {i: N, j: M}, x[i, j] - tw.max(x[i, k], over={k: M}) + C_max[i])
    f = tw.function("f", outputs=[C])
    assert f.computations == ["C_max", "C_max2", "C"]
    agree(f, rows(4, 6))


def test_two_computations_share_what_both_need() -> None:
    A = tw.computation("A", {i: N, j: M}, x[i, j] - tw.max(x[i, k], over={k: M}))
    B = tw.computation("B", {i: N, j: M}, tw.exp(x[i, j] - tw.max(x[i, m], over={m: M})))
    f = tw.function("f", outputs=[A, B])
    assert f.computations == ["A_max", "A", "B"]
    for got, expected in zip(f(rows(4, 6)), f.evaluate(rows(4, 6)), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_where_the_iterators_stand_for_other_ones() -> None:
    """A transposed use reads the transposed elements, if they are all there."""
    w = tw.input("w", [N, N], tw.float32)
    gram = lambda a, b, r: tw.sum((1 + w[a, r]) * w[b, r], over={r: N})  # noqa: E731
    C = tw.computation("C", {i: N, j: N}, gram(i, j, k) - gram(j, i, m))
    square = tw.function("f", outputs=[C])
    # 0 <= i, j < N both ways: C_sum[i, j] and C_sum[j, i]
    assert square.computations == ["C_sum", "C"]
    agree(square, rows(5, 5))


def test_data_decide_nothing_that_is_isolated() -> None:
    guarded = tw.select(x[i, j] > 0, tw.max(x[i, k], over={k: M}), 0)
    assert isolated(function(guarded)) == {}
    agree(function(guarded), rows(4, 6))
    # A condition on indices does, exactly.
    border = tw.select(i > 0, tw.max(x[i - 1, k], over={k: M}), 0) + x[i, j]
    assert isolated(function(border)) == {"C_max_max": ("i", "k"), "C_max": ("i",)}
    agree(function(border), rows(4, 6))
    agree(function(border), rows(1, 6))


def test_a_condition_that_needs_the_reduction_makes_it_certain() -> None:
    total = tw.sum(x[i, k], over={k: M})
    f = function(tw.select(total > 0, total * x[i, j], 0))
    assert isolated(f)["C_sum"] == ("i", "k")
    agree(f, rows(6, 6))


def test_a_recurrence_stays_in_one_piece() -> None:
    L = tw.input("L", [N, N], tw.float64)
    b = tw.input("b", [N], tw.float64)
    s = tw.computation(
        "s", {i: N}, lambda s: b[i] - tw.sum(L[i, k] * s[k], over={k: i}), dtype=tw.float64
    )
    f = tw.function("solve", outputs=[s])
    assert f.computations == ["s"]
    lower = np.tril(np.full((5, 5), 0.5), -1)
    np.testing.assert_allclose(
        f(L=lower, b=np.arange(5.0)),
        np.linalg.solve(lower + np.eye(5), np.arange(5.0)),
    )


def test_over_nothing() -> None:
    f = function(x[i, j] - tw.max(x[i, k], over={k: M}) + tw.sum(v[k], over={k: M}))
    for shape in ((0, 4), (3, 0), (0, 0)):
        assert f(np.zeros(shape, np.float32), np.zeros(shape[1], np.float32)).shape == shape
    whole = function(1 + tw.sum(x[i, k], over={k: M}), {i: N})
    np.testing.assert_array_equal(whole(np.zeros((3, 0), np.float32)), np.ones(3))


def test_schedules_name_them_and_are_replayed() -> None:
    value = tw.exp(x[i, j]) / tw.sum(tw.exp(x[i, k]), over={k: M})
    f, g = function(value), function(value)
    f["C_sum"].compute_at("C", i).vectorize(k, 8)
    f["C"].parallelize(i)
    f.schedule.apply_to(g)
    assert g.schedule == f.schedule
    np.testing.assert_array_equal(f(rows(4, 9)), g(rows(4, 9)))
    np.testing.assert_allclose(f(rows(4, 9)), g.evaluate(rows(4, 9)), rtol=1e-6)


def test_the_declared_program_is_what_is_evaluated_and_pickled() -> None:
    import pickle

    f = function(x[i, j] - tw.max(x[i, k], over={k: M}))
    f["C_max"].parallelize(i)
    g = pickle.loads(pickle.dumps(f))
    assert g.computations == f.computations
    np.testing.assert_array_equal(g(rows(3, 4)), f.evaluate(rows(3, 4)))


def natural(depth: int) -> Any:
    """Expressions over i and j with reductions anywhere."""
    leaves = st.sampled_from([x[i, j], v[j], tw.cast(i, tw.float32), tw.cast(2, tw.float32)])
    if depth == 0:
        return leaves
    below = natural(depth - 1)

    def reduced(name: str, value: Any, over: Any, how: int) -> Any:
        names = {0: (x[i, over], M), 1: (v[over] * x[i, j], M), 2: (x[over, j] + value, N)}
        body, extent = names[how]
        return getattr(tw, name)(body, over={over: extent})

    reductions = st.builds(
        reduced,
        st.sampled_from(["sum", "max", "min"]),
        below,
        st.sampled_from([tw.iter(f"r{depth}"), tw.iter(f"s{depth}")]),
        st.integers(0, 2),
    )
    return st.one_of(
        leaves,
        st.builds(lambda a, b: a + b, below, below),
        st.builds(lambda a, b: tw.maximum(a, b), below, below),
        st.builds(lambda a, b: tw.select(a > b, a, b), below, below),
        st.builds(lambda a, b: tw.select(i < 2, a, b), below, below),
        reductions,
        reductions,
    )


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(natural(3))
def test_random_expressions(value: Any) -> None:
    f = function(value, inputs=[x, v])
    arrays = rows(3, 4), rows(4)
    np.testing.assert_allclose(f(*arrays), f.evaluate(*arrays), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("n", [40, 80])
def test_the_natural_softmax_does_linear_work(n: int) -> None:
    largest, also = (tw.max(x[i, r], over={r: M}) for r in (d, e))
    total = tw.sum(tw.exp(x[i, k] - also), over={k: M})
    f = function(tw.exp(x[i, j] - largest) / total)
    nests = f.profile(np.zeros((n, n), np.float32)).nests
    # a maximum, a sum of exponentials, and one more for each element
    assert sum(nest.flops for nest in nests) < 100 * n * n
