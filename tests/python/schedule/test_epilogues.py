"""Reductions within expressions: their terms have loops like those of a reduction that stands alone, and what the
expression makes of the result agrees with NumPy and the evaluator under every schedule that is accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilewright as tw

N, M, K = tw.params("N M K")
i, j, k, r = tw.iters("i j k r")

SIZES = [(0, 3, 4), (3, 0, 4), (4, 5, 0), (1, 1, 1), (7, 9, 5), (16, 16, 8)]


def integers(*shape: int, dtype: Any = np.float64, seed: int = 7) -> np.ndarray[Any, Any]:
    """Small ones, of which sums are exact in every order."""
    values: np.ndarray[Any, Any] = np.random.default_rng(seed).integers(-6, 7, shape)
    return values.astype(dtype)


def function_of(*outputs: tw.Computation, **options: Any) -> tw.Function:
    """With the loops as they are declared."""
    return tw.function("f", outputs=list(outputs), default_schedule=False, **options)


def layer(
    dtype: tw.DType = tw.float64, default: bool = False
) -> tuple[tw.Function, tw.Computation]:
    """C = maximum(A @ B + b, 0), one computation."""
    a, b = tw.input("A", [N, K], dtype), tw.input("B", [K, M], dtype)
    bias = tw.input("b", [M], dtype)
    total = tw.sum(a[i, k] * b[k, j], over={k: K})
    c = tw.computation("C", {i: N, j: M}, tw.maximum(total + bias[j], 0), dtype=total.dtype)
    return tw.function("layer", outputs=[c], default_schedule=default), c


def check(function: tw.Function, *sizes: tuple[int, int, int], dtype: Any = np.float64) -> None:
    for n, m, q in sizes:
        a, b, bias = (
            integers(*shape, dtype=dtype, seed=seed)
            for seed, shape in enumerate([(n, q), (q, m), (m,)])
        )
        expected = np.maximum(a @ b + bias, 0)
        np.testing.assert_array_equal(function(a, b, bias), expected)
        np.testing.assert_array_equal(function.evaluate(a, b, bias), expected)


def rows(
    expression: Callable[[tw.Expression, tw.Input], tw.Expression],
    reduce: Callable[..., tw.Expression] = tw.sum,
    dtype: tw.DType = tw.float64,
) -> tuple[tw.Function, tw.Computation]:
    """S[i] = what `expression` makes of the reduction of row i of A and of x."""
    a, x = tw.input("A", [N, K], dtype), tw.input("x", [N], dtype)
    s = tw.computation("S", {i: N}, expression(reduce(a[i, k], over={k: K}), x))
    return function_of(s, inputs=[a, x]), s


# ---- loops ----


def test_terms_have_loops_of_their_own():
    function, _c = layer()
    assert function["C"].loops == ("i", "j", "k")
    assert [s["role"] for s in tw._core.statements_at(function, {"N": 1, "M": 1, "K": 1})] == [
        "initialise",
        "update",
        "finish",
    ]
    check(function, *SIZES)


def test_the_default_schedule():
    function, _ = layer(default=True)
    check(function, *SIZES, (70, 65, 40))
    assert str(function.loops).count("= max(C[") == 1


@pytest.mark.parametrize(
    "order", ["i j k", "i k j", "j i k", "j k i", "k i j", "k j i"], ids=lambda order: order
)
def test_every_order_of_the_loops(order: str):
    function, c = layer()
    c.reorder(*order.split())
    check(function, *SIZES)


SCHEDULES: dict[str, Callable[[tw.Computation], object]] = {
    "tiled": lambda c: c.tile(i, j, k, 4, 4, 2),
    "threads": lambda c: c.parallelize(i),
    "lanes of elements": lambda c: c.reorder(i, k, j).vectorize(j, 4),
    "lanes of terms": lambda c: c.vectorize(k, 4),
    "register tile": lambda c: (
        c.tile(i, j, 4, 8).reorder("i0", "j0", k, "i1", "j1").unroll("i1", 4).vectorize("j1", 8)
    ),
    "reversed": lambda c: c.reverse(k).reverse(i),
    "skewed": lambda c: c.skew(k, j),
    "skewed the other way": lambda c: c.skew(j, k).interchange(i, k),
    "a map": lambda c: c.set_schedule("{ C[i,j,k] -> [k, floor(j/4), -i, j] }"),
    "a map with tags": lambda c: c.set_schedule("{ C[i,j,k] -> [i(cpu), k, j] }"),
    "transformed": lambda c: c.transform([i, k], [[1, 1], [0, 1]]),
    "scaled and shifted": lambda c: c.scale(j, 2).shift(k, -3),
    "local results": lambda c: c.tile(i, j, 4, 4).cache(c, "j0").reorder(k, "i1", "j1"),
    "local partial results": lambda c: c.split(k, 3).cache(c, "k0"),
    "local operands": lambda c: c.split(k, 3).reorder("k0", i, j, "k1").cache("B", "k0"),
    "local bias": lambda c: c.split(j, 4).reorder("j0", i, "j1", k).cache("b", "j0"),
    "partial results": lambda c: c.split(k, 4).rfactor("k1").reorder(i, j, "k1", "k0"),
    "partial results in threads": lambda c: c.split(k, 2).rfactor("k0").parallelize("k0"),
    "added atomically": lambda c: c.atomic().parallelize(k),
    "prefetched": lambda c: c.prefetch("B", k, 2),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name: str):
    function, c = layer()
    SCHEDULES[name](c)
    check(function, *SIZES)
    # What is printed makes the same schedule again.
    other, _ = layer()
    function.schedule.apply_to(other)
    assert other.schedule == function.schedule
    assert str(other.loops) == str(function.loops)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16", "float32", "float64"])
def test_types(dtype: str):
    function, c = layer(getattr(tw, dtype))
    c.tile(i, j, 4, 8).reorder("i0", "j0", k, "i1", "j1").vectorize("j1", 8).parallelize("i0")
    for n, m, q in SIZES:
        a, b, bias = (np.abs(integers(*s)).astype(dtype) for s in [(n, q), (q, m), (m,)])
        wide = c.dtype.dtype
        expected = np.maximum(a.astype(wide) @ b.astype(wide) + bias, 0).astype(wide)
        # Terms are products in the type of the operands, which these do not leave.
        np.testing.assert_array_equal(function(a, b, bias), expected)


# ---- operators ----

REDUCTIONS: dict[str, tuple[Any, Any]] = {
    "sum": (tw.sum, np.sum),
    "prod": (tw.prod, np.prod),
    "max": (tw.max, lambda a, axis: a.max(axis=axis, initial=-np.inf)),
    "min": (tw.min, lambda a, axis: a.min(axis=axis, initial=np.inf)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("how", ["interchange", "vectorize", "parallelize", "rfactor", "cache"])
def test_each_reduction(name: str, how: str):
    reduce, numpy = REDUCTIONS[name]
    function, s = rows(lambda total, x: 3 - 2 * tw.maximum(total, x[i]), reduce)
    {
        "interchange": lambda: s.interchange(i, k).vectorize(i, 4),
        "vectorize": lambda: s.vectorize(k, 4),
        "parallelize": lambda: s.atomic().parallelize(k),
        "rfactor": lambda: s.split(k, 4).rfactor("k1").vectorize("k1", 4),
        "cache": lambda: s.split(k, 4).cache(s, "k0"),
    }[how]()
    for n, q in [(0, 3), (5, 0), (1, 1), (6, 13)]:
        a, x = integers(n, q) % 3 - 1, integers(n)
        expected = 3 - 2 * np.maximum(numpy(a, axis=1), x)
        np.testing.assert_array_equal(function(a, x), expected)
        np.testing.assert_array_equal(function.evaluate(a, x), expected)


@pytest.mark.parametrize(("reduce", "numpy"), [(tw.any, np.any), (tw.all, np.all)])
def test_truth_values(reduce: Any, numpy: Any):
    a, x = tw.input("A", [N, K], tw.bool), tw.input("x", [N], tw.bool)
    s = tw.computation("S", {i: N}, ~reduce(a[i, k], over={k: K}) ^ x[i])
    function = function_of(s)
    assert function["S"].loops == ("i", "k")
    s.interchange(i, k).parallelize(i)
    for n, q in [(0, 3), (5, 0), (6, 4)]:
        values, row = integers(n, q) > 3, integers(n) > 0
        np.testing.assert_array_equal(function(values, row), ~numpy(values, axis=1) ^ row)


def test_complex_numbers():
    function, s = rows(lambda total, x: x[i] * 2 - total, dtype=tw.complex64)
    s.interchange(i, k).vectorize(i, 4)
    a, x = (integers(7, 5) + 1j * integers(7, 5, seed=3)).astype(np.complex64), integers(7)
    np.testing.assert_array_equal(
        function(a, x.astype(np.complex64)), (2 * x - a.sum(axis=1)).astype(np.complex64)
    )


def test_terms_that_data_choose():
    a, x = tw.input("A", [N, K], tw.float64), tw.input("x", [N], tw.float64)
    total = tw.sum(a[i, k], over={k: K}, where=a[i, k] > x[i])
    s = tw.computation("S", {i: N}, x[i] - total)
    function = function_of(s, inputs=[a, x])
    s.interchange(i, k)
    values, row = integers(6, 9), integers(6)
    expected = row - np.where(values > row[:, None], values, 0).sum(axis=1)
    np.testing.assert_array_equal(function(values, row), expected)


def test_an_ordered_sum_keeps_its_order():
    a, x = tw.input("A", [N, K], tw.float32), tw.input("x", [N], tw.float32)
    total = tw.sum(a[i, k], over={k: K}, ordered=True)
    s = tw.computation("S", {i: N}, total * x[i] + 1)
    function = function_of(s)
    for command in (lambda: s.reverse(k), lambda: s.vectorize(k, 4)):
        with pytest.raises(tw.IllegalScheduleError, match="ordered reduction"):
            command()
    for without_sense in (s.atomic, lambda: s.rfactor(k)):
        with pytest.raises(tw.ScheduleError, match="ordered reduction"):
            without_sense()
    s.interchange(i, k).parallelize(i)
    values = np.random.default_rng(1).random((9, 40), dtype=np.float32)
    row = np.random.default_rng(2).random(9, dtype=np.float32)
    expected = np.zeros(9, np.float32)
    for column in values.T:
        expected += column
    np.testing.assert_array_equal(function(values, row), expected * row + np.float32(1))


# ---- which reduction ----


def test_the_first_of_two_has_the_loops():
    a = tw.input("A", [N, K], tw.float64)
    total, most = tw.sum(a[i, k], over={k: K}), tw.max(a[i, r], over={r: K})
    values = integers(6, 5)
    for expression, loops in ((total * 2 + most, ("i", "k")), (most + total * 2, ("i", "r"))):
        s = tw.computation("S", {i: N}, expression)
        function = function_of(s)
        assert function["S"].loops == loops
        s.interchange(i, loops[1])
        np.testing.assert_array_equal(function(values), values.sum(axis=1) * 2 + values.max(axis=1))


def test_one_that_is_named_twice_is_summed_once():
    function, s = rows(lambda total, x: tw.select(total > x[i], total * total, total - x[i]))
    assert str(function.loops).count("for k") == 1
    s.interchange(i, k)
    values, row = integers(6, 5), integers(6)
    total = values.sum(axis=1)
    expected = np.where(total > row, total * total, total - row)
    np.testing.assert_array_equal(function(values, row), expected)


@pytest.mark.parametrize("side", ["then", "otherwise"])
def test_one_in_a_branch_has_no_loops_of_its_own(side: str):
    def chosen(total: tw.Expression, x: tw.Input) -> tw.Expression:
        sides = (total, x[i]) if side == "then" else (x[i], total)
        return tw.select(x[i] > 0, *sides)

    function, _s = rows(chosen)
    assert function["S"].loops == ("i",)
    values, row = integers(6, 5), integers(6)
    sides = (values.sum(axis=1), row) if side == "then" else (row, values.sum(axis=1))
    np.testing.assert_array_equal(function(values, row), np.where(row > 0, *sides))


def test_one_of_another_type_has_no_loops_of_its_own():
    a = tw.input("A", [N, K], tw.int32)
    s = tw.computation("S", {i: N}, tw.sum(a[i, k], over={k: K}) * 0.5)
    function = function_of(s)
    assert (s.dtype, function["S"].loops) == (tw.float64, ("i",))
    values = integers(6, 5, dtype=np.int32)
    np.testing.assert_array_equal(function(values), values.sum(axis=1) * 0.5)


# ---- beside other computations ----


def bordered() -> tuple[tw.Function, dict[str, tw.Computation]]:
    """b = x * x; S = sum of a row - b; T = S[i] + S[i + 1]."""
    a, x = tw.input("A", [N + 1, K], tw.float64), tw.input("x", [N + 1], tw.float64)
    b = tw.computation("b", {i: N + 1}, x[i] * x[i])
    s = tw.computation("S", {i: N + 1}, tw.sum(a[i, k], over={k: K}) - b[i])
    t = tw.computation("T", {i: N}, s[i] + s[i + 1])
    return function_of(t), {"b": b, "S": s, "T": t}


def check_bordered(function: tw.Function) -> None:
    for n, q in [(0, 3), (1, 1), (5, 0), (9, 7)]:
        a, x = integers(n + 1, q), integers(n + 1)
        s = a.sum(axis=1) - x * x
        np.testing.assert_array_equal(function(a, x), s[:-1] + s[1:])
        np.testing.assert_array_equal(function.evaluate(a, x), s[:-1] + s[1:])


BORDERED: dict[str, Callable[[dict[str, Any]], object]] = {
    "as it is": lambda c: None,
    "in the loops of a reader": lambda c: c["S"].compute_at("T", i),
    "in memory of a reader's loops": lambda c: c["S"].compute_at("T", i).store_at("T", i),
    "in a window": lambda c: c["T"].shift(i, 1).after("S", i) and c["S"].storage_fold(i, 2),
    "in the smallest window": lambda c: c["T"].shift(i, 1).after("S", i) and c["S"].storage_fold(i),
    "threads of a reader": lambda c: (
        c["S"].compute_at("T", i).store_at("T", i) and c["T"].parallelize(i)
    ),
    "the bias where it is needed": lambda c: c["b"].compute_at("S", i).store_at("S", i),
    "the bias inlined": lambda c: c["b"].inline(),
    "the bias fused": lambda c: c["b"].before("S", i),
    "both where they are needed": lambda c: c["S"].compute_at("T", i) and c["b"].compute_at("S", i),
    "inlined": lambda c: c["S"].inline(),
    "everything inlined": lambda c: (c["S"].inline(), c["b"].inline()),
}


@pytest.mark.parametrize("name", BORDERED)
def test_beside_other_computations(name: str):
    function, computations = bordered()
    BORDERED[name](computations)
    check_bordered(function)


def test_a_reader_waits_for_the_expression():
    _, c = bordered()
    with pytest.raises(tw.IllegalScheduleError) as caught:
        c["T"].after("S", i)  # S[i + 1] is not there
    assert (caught.value.source_instance, caught.value.sink_instance) == ("S_init[1]", "T[0]")
    c["T"].shift(i, 1).after("S", i)
    _, c = bordered()
    c["T"].split(i, 2)
    with pytest.raises(tw.IllegalScheduleError, match="T reads what S"):
        c["T"].after("S", k)


def test_the_expression_waits_for_what_it_reads():
    _, c = bordered()
    with pytest.raises(tw.IllegalScheduleError, match="S_finish reads what b writes") as caught:
        c["b"].after("S", i)
    assert (caught.value.source_instance, caught.value.sink_instance) == ("b[0]", "S_finish[0]")


def test_what_the_expression_reads_is_not_computed_for_each_term():
    _, c = bordered()
    with pytest.raises(tw.ScheduleError, match="S reads it outside of them"):
        c["b"].compute_at("S", k)


def test_a_window_that_is_too_small():
    _, c = bordered()
    c["T"].shift(i, 1).after("S", i)
    with pytest.raises(tw.IllegalScheduleError, match="overwrites an element"):
        c["S"].storage_fold(i, 1)


def test_a_reader_that_would_have_another_reduction_first():
    a = tw.input("A", [N, K], tw.float64)
    s = tw.computation("S", {i: N}, tw.sum(a[i, k], over={k: K}) + 1)
    t = tw.computation("T", {i: N}, s[i] - tw.max(a[i, r], over={r: K}))
    function = function_of(t)
    assert function["T"].loops == ("i", "r")
    with pytest.raises(tw.ScheduleError, match="S would bring another one before it"):
        s.inline()
    values = integers(6, 5)
    expected = values.sum(axis=1) + 1 - values.max(axis=1)
    np.testing.assert_array_equal(function(values), expected)


def test_inlining_gives_a_reader_loops_over_terms():
    a = tw.input("A", [N, K], tw.float64)
    s = tw.computation("S", {i: N}, tw.sum(a[i, k], over={k: K}))
    t = tw.computation("T", {i: N}, tw.sqrt(s[i] * s[i] + 1))
    function = function_of(t)
    assert function["T"].loops == ("i",)
    s.inline()
    assert function["T"].loops == ("i", "k")
    t.interchange(i, k).vectorize(i, 4)
    values = integers(6, 5)
    np.testing.assert_allclose(
        function(values), np.sqrt(values.sum(axis=1) ** 2 + 1), rtol=1e-15, atol=0
    )


# ---- in place ----


def test_in_place_of_what_is_read_no_more():
    function, s = rows(lambda total, x: 3 * total)
    s.store_in("x[i]")
    values, row = integers(6, 5), integers(6)
    result = function(values, row)
    assert result is row
    np.testing.assert_array_equal(row, 3 * values.sum(axis=1))


def test_not_in_place_of_what_the_expression_still_reads():
    function, s = rows(lambda total, x: total + x[i])
    with pytest.raises(tw.IllegalScheduleError) as caught:
        s.store_in("x[i]")
    assert (caught.value.source_instance, caught.value.sink_instance) == (
        "S_finish[0]",
        "S_init[0]",
    )
    values, row = integers(6, 5), integers(6)
    np.testing.assert_array_equal(function(values, row), values.sum(axis=1) + row)


# ---- watched calls ----


def test_accesses_are_checked_and_numbers_traced():
    function, s = rows(lambda total, x: x[i] / total)
    s.interchange(i, k)
    function.check_bounds = True
    values, row = integers(6, 5), np.arange(1.0, 7.0)
    values[:, 0] += 50
    np.testing.assert_array_equal(function(values, row), row / values.sum(axis=1))
    values[2], row[2] = 0, 0
    found = function.trace_nan(values, row)
    assert found is not None and np.isnan(found.value)
    assert [read.value for read in found.reads if not np.isnan(read.value)]


# ---- any expression, any schedule ----

STEPS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "scale": (lambda e, x: 3 * e, lambda e, x: 3 * e),
    "bias": (lambda e, x: e + x, lambda e, x: e + x),
    "bias in front": (lambda e, x: x - e, lambda e, x: x - e),
    "negative": (lambda e, x: -e, lambda e, x: -e),
    "relu": (lambda e, x: tw.maximum(e, 0), lambda e, x: np.maximum(e, 0)),
    "bound": (lambda e, x: tw.minimum(x, e), lambda e, x: np.minimum(x, e)),
    "absolute": (lambda e, x: tw.abs(e), lambda e, x: np.abs(e)),
    "leaky": (
        lambda e, x: tw.select(e < x, 2 * e, e),
        lambda e, x: np.where(e < x, 2 * e, e),
    ),
    "clamp": (lambda e, x: tw.clamp(e, -20, 20), lambda e, x: np.clip(e, -20, 20)),
    "half": (lambda e, x: e // 2, lambda e, x: e // 2),
}

COMMANDS: list[Callable[[tw.Computation, list[str], list[int]], object]] = [
    lambda c, loops, n: c.split(loops[n[0] % len(loops)], 2 + n[1] % 3),
    lambda c, loops, n: c.interchange(loops[n[0] % len(loops)], loops[n[1] % len(loops)]),
    lambda c, loops, n: c.reverse(loops[n[0] % len(loops)]),
    lambda c, loops, n: c.skew(loops[n[0] % len(loops)], loops[n[1] % len(loops)]),
    lambda c, loops, n: c.parallelize(loops[n[0] % len(loops)]),
    lambda c, loops, n: c.vectorize(loops[n[0] % len(loops)], 4),
    lambda c, loops, n: c.unroll(loops[n[0] % len(loops)], 2),
    lambda c, loops, n: c.rfactor(loops[n[0] % len(loops)]),
    lambda c, loops, n: c.cache(c, loops[n[0] % len(loops)]),
    lambda c, loops, n: c.cache("A", loops[n[0] % len(loops)]),
    lambda c, loops, n: c.cache("x", loops[n[0] % len(loops)]),
    lambda c, loops, n: c.atomic(),
]


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    steps=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4),
    reduction=st.sampled_from(sorted(REDUCTIONS)),
    dtype=st.sampled_from(["int32", "int64", "float32", "float64"]),
    commands=st.lists(
        st.tuples(
            st.integers(0, len(COMMANDS) - 1),
            st.lists(st.integers(0, 7), min_size=2, max_size=2),
        ),
        max_size=4,
    ),
    sizes=st.tuples(st.integers(0, 6), st.integers(1, 7)),
)
def test_any_expression_under_any_schedule(
    steps: list[str],
    reduction: str,
    dtype: str,
    commands: list[tuple[int, list[int]]],
    sizes: tuple[int, int],
):
    reduce, numpy = REDUCTIONS[reduction]

    def expression(total: tw.Expression, x: tw.Input) -> tw.Expression:
        for step in steps:
            total = STEPS[step][0](total, x[i])
        return total

    function, s = rows(expression, reduce, getattr(tw, dtype))
    assert len(function["S"].loops) == 2
    for which, numbers in commands:
        try:
            COMMANDS[which](function["S"], list(function["S"].loops), numbers)
        except tw.ScheduleError:
            continue
    n, q = sizes
    a, x = (integers(n, q) % 3 - 1).astype(dtype), integers(n).astype(dtype)
    expected = numpy(a, axis=1) if reduction in ("sum", "prod") else getattr(a, reduction)(axis=1)
    for step in steps:
        expected = STEPS[step][1](expected, x)
    computed = function(a, x)
    assert computed.dtype == s.dtype.dtype
    np.testing.assert_array_equal(computed, expected)
    np.testing.assert_array_equal(function.evaluate(a, x), expected)
