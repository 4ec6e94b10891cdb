"""Reductions against NumPy's."""

import numpy as np
import pytest

import tilewright as tw
from refusals import raises
from tilewright.language.expressions import ALL_TYPES

i, j, k, m = tw.iters("i j k m")
N, K = tw.params("N K")

NAMES = ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"]


def rows(dtype, shape=(4, 5)):
    generator = np.random.default_rng(3)
    if np.dtype(dtype).kind == "b":
        return generator.integers(0, 2, shape).astype(bool)
    values = generator.integers(0 if dtype.name.startswith("u") else -3, 4, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * generator.integers(-3, 4, shape)
    return values.astype(np.dtype(dtype))


def run(computation, a):
    """The value by the evaluator; compiled code must give the same."""
    f = tw.function("f", outputs=[computation])
    evaluated, compiled = f.evaluate(a), f(a)
    assert compiled.dtype == evaluated.dtype
    np.testing.assert_allclose(compiled, evaluated, rtol=1e-6)
    return evaluated


def reduce_rows(name, a, **options):
    A = tw.input("A", [N, K], a.dtype)
    function = getattr(tw, name)
    C = tw.computation("C", {i: N}, function(A[i, k], over={k: K}, **options))
    return run(C, a)


@pytest.mark.parametrize("step", [2, 3, 4])
@pytest.mark.parametrize("few", [1, 2, 3])
def test_terms_at_steps_and_a_few_more(step, few):
    """The few lie within one step: isl may not join them with the others to all of them."""
    a = rows(np.dtype(np.int64), (3, 11)) + 5
    chosen = [n for n in range(11) if n % step == 0 or n < few]
    result = reduce_rows("sum", a, where=(k % step == 0) | (k < few))
    np.testing.assert_array_equal(result, a[:, chosen].sum(axis=1))
    x = tw.input("x", [N], np.int64)
    of_one = tw.sum(x[k], over={k: N}, where=(k % step == 0) | (k < few))
    assert run(tw.computation("C", {}, of_one), a[0]) == a[0, chosen].sum()


@pytest.mark.parametrize("dtype", [t for t in ALL_TYPES if t.name != "bfloat16"], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_reductions_of_rows(name, dtype):
    a = rows(dtype)
    if np.dtype(dtype).kind == "c" and name in ("min", "max", "argmin", "argmax"):
        with pytest.raises(tw.DeclarationTypeError):
            reduce_rows(name, a)
        return
    expected = getattr(np, name)(a, axis=1)
    found = reduce_rows(name, a)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax", "sum"])
def test_nan_is_passed_on(name):
    a = rows(tw.float64)
    a[1, 3] = a[2, 0] = a[2, 4] = np.nan
    np.testing.assert_array_equal(reduce_rows(name, a), getattr(np, name)(a, axis=1))


@pytest.mark.parametrize(
    ("name", "dtype", "identity"),
    [
        ("sum", tw.float32, 0),
        ("prod", tw.float32, 1),
        ("min", tw.float32, np.inf),
        ("max", tw.float32, -np.inf),
        ("min", tw.int8, 127),
        ("max", tw.int8, -128),
        ("max", tw.uint16, 0),
        ("any", tw.bool, False),
        ("all", tw.bool, True),
        ("argmin", tw.float32, -1),
        ("argmax", tw.int32, -1),
    ],
)
def test_reductions_over_nothing(name, dtype, identity):
    assert reduce_rows(name, rows(dtype, (3, 0))).tolist() == [identity] * 3


def test_several_iterators_and_bounds_that_depend_on_them():
    a = rows(tw.int64, (6, 6))
    A = tw.input("A", [N, N], tw.int64)
    total = tw.computation("total", {}, tw.sum(A[j, k], over={j: N, k: (j, N)}))
    np.testing.assert_array_equal(run(total, a), np.triu(a).sum())
    prefix = tw.computation("prefix", {i: N}, tw.sum(A[i, k], over={k: (0, i + 1)}))
    np.testing.assert_array_equal(run(prefix, a), np.tril(a).sum(axis=1))


def test_a_condition_on_what_is_reduced():
    a = rows(tw.int64)
    np.testing.assert_array_equal(
        reduce_rows("sum", a, where=(k % 2 == 0) & (k > i)),
        [a[r, [c for c in range(5) if c % 2 == 0 and c > r]].sum() for r in range(4)],
    )


def test_ways_to_write_the_ranges():
    x = tw.input("x", [8], tw.int64)
    over = [{k: 5}, {k: (0, 5)}, [(k, 5)], [(k, (0, 5))], {k: range(5)}, {"k": 5}]
    assert {repr(tw.sum(x[k], over=way)) for way in over} == {"sum(x[k] for k in range(0, 5))"}


def test_reductions_inside_expressions_and_reductions():
    a = rows(tw.float64)
    A = tw.input("A", [N, K], tw.float64)
    mean = tw.sum(A[i, k], over={k: K}) / K
    C = tw.computation("C", {i: N}, tw.max(A[i, m] - mean, over={m: K}))
    np.testing.assert_allclose(
        run(C, a),
        (a - a.mean(axis=1, keepdims=True)).max(axis=1),
        rtol=1e-14,
    )


x = tw.input("x", [N], tw.float32)


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda: tw.sum(x[k]), tw.DeclarationTypeError, "tw.sum needs the iterators"),
        (lambda: tw.min(x[k]), tw.DeclarationTypeError, "tw.min needs the iterators"),
        (lambda: tw.sum(x[k], over=k), tw.DeclarationError, "unbounded: k has no upper bound"),
        (lambda: tw.sum(x[k], over=[k]), tw.DeclarationError, "unbounded: k has no upper bound"),
        (lambda: tw.sum(x[k], over={k: None}), tw.DeclarationError, "k has no upper bound"),
        (lambda: tw.sum(x[k], over={k: (None, 3)}), tw.DeclarationError, "k has no lower bound"),
        (lambda: tw.sum(x[k], over={k: 1.5}), tw.DeclarationTypeError, "1.5 is of type float"),
        (lambda: tw.sum(x[k], over={k: x[0]}), tw.DeclarationTypeError, "is of type float32"),
        (lambda: tw.sum(x[k], over={N: 3}), tw.DeclarationTypeError, "N is no iterator"),
        (lambda: tw.sum(x[k], over={k: (0, 1, 2, 3)}), tw.DeclarationTypeError, "a pair"),
        (lambda: tw.sum(x[k], over={k: range(8, 0, -2)}), tw.DeclarationError, "positive"),
        (
            lambda: tw.sum(x[k], over=3),
            tw.DeclarationTypeError,
            "must be a list of iterators with ranges",
        ),
        (lambda: tw.min(x[k], 3, over={k: N}), tw.DeclarationTypeError, "not both"),
        (lambda: tw.sum(x[k], over={k: N}, where=k), tw.DeclarationTypeError, "of type int64"),
        (lambda: tw.sum(x[k], over={k: N}, where=3), tw.DeclarationTypeError, "not 3"),
        (lambda: tw.sum(x[k], over=[(k, 3), (k, 4)]), tw.DeclarationError, "k"),
    ],
)
def test_reductions_that_make_no_sense(use, error, message):
    with raises(error, message):
        use()


def ordered_sum(ordered):
    n = tw.param("N")
    i = tw.iter("i")
    x = tw.input("x", [n], tw.float32)
    total = tw.computation("total", {}, tw.sum(x[i], over={i: n}, ordered=ordered))
    return tw.function("ordered", outputs=[total])


def test_ordered_reductions_keep_their_order():
    function = ordered_sum(True)
    total = function["total"]
    total.split("i", 4)
    for command in (
        lambda: total.reverse("i1"),
        lambda: total.interchange("i0", "i1"),
        lambda: total.parallelize("i0"),
        lambda: total.vectorize("i1"),
    ):
        with pytest.raises(tw.IllegalScheduleError, match="ordered reduction"):
            command()
    with pytest.raises(tw.ScheduleError, match="partial results would change its order"):
        total.rfactor("i0")
    values = np.random.default_rng(0).random(1001, np.float32)
    expected = np.float32(0)
    for value in values:
        expected += value
    assert function(values) == expected
    assert "ordered" in function.layers


def test_other_reductions_may_be_reordered():
    function = ordered_sum(False)
    function["total"].split("i", 4).interchange("i0", "i1")
    values = np.arange(11, dtype=np.float32)
    assert function(values) == 55
