"""cache(keeps="values"): a buffer holds what is computed from elements; and the default schedule that uses it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

i, j, k, r = tw.iters("i j k r")
N, M, K = tw.params("N M K")
A = tw.input("A", [N, K], tw.float32)
B = tw.input("B", [M, K], tw.float32)
W = tw.input("W", [K, M], tw.float32)
a = tw.input("a", [N], tw.float32)
b = tw.input("b", [M], tw.float32)
SIZES = [(0, 3, 2), (2, 0, 3), (3, 2, 0), (1, 1, 1), (5, 40, 7), (70, 37, 300)]


def rows(*shape: int, seed: int = 5) -> Any:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)


def function(value: Any, inputs: Any, domain: Any = None, **options: Any) -> tw.Function:
    C = tw.computation("C", domain or {i: N, j: M}, value)
    return tw.function("f", outputs=[C], inputs=inputs, **options)


def centred() -> Any:
    return tw.sum((A[i, k] - a[i]) * (B[j, k] - b[j]), over={k: K})


def check(f: tw.Function, inputs: Any) -> None:
    """Small integers are exact in any order."""
    for n, m, s in SIZES:
        extents = {"N": n, "M": m, "K": s}
        arrays = [rows(*(extents[str(e)] for e in one.shape)) for one in inputs]
        np.testing.assert_array_equal(f(*arrays), f.evaluate(*arrays))


# ---- by hand ----


def test_the_buffer_holds_what_is_computed() -> None:
    f = function(centred(), [A, a, B, b])
    f["C"].split(i, 8).reorder("i0", j, "i1", k)
    kept = f["C"].cache(B, "j", keeps="values")
    assert kept.name == "B_cache"
    assert "B_cache[0, k] = B[j, k] - b[j]" in str(f.loops)
    assert "B_cache[0, k]" in str(f.loops).split("C[8 * i0 + i1, j] +")[1]
    check(f, [A, a, B, b])


def test_an_order_is_that_of_the_subscripts() -> None:
    f = function(centred(), [A, a, B, b])
    f["C"].tile(i, j, 8, 16).reorder("i0", "j0", k, "i1", "j1")
    f["C"].cache(B, "j0", order=[1, 0], keeps="values")
    assert "B_cache[k, j - 16 * j0] = B[j, k] - b[j]" in str(f.loops)
    check(f, [A, a, B, b])


def test_the_largest_part_is_kept_and_the_first_if_there_are_several() -> None:
    value = tw.sum(2 * tw.maximum(A[i, k] - a[i], 0) * A[i, k] * W[k, j], over={k: K})
    f = function(value, [A, a, W])
    f["C"].cache(A, "i", keeps="values")
    assert "A_cache[0, k] = 2.0 * max(A[i, k] - a[i], 0.0) * A[i, k]" in str(f.loops)
    check(f, [A, a, W])
    X = tw.input("X", [K, N], tw.float32)
    f = function(tw.sum((X[k, i] - a[i]) * (X[k, j] - a[j]), over={k: K}), [X, a], {i: N, j: N})
    f["C"].cache(X, "i", keeps="values")
    f["C"].cache(X, "i", keeps="values")
    assert "X_cache[k, 0] = X[k, i] - a[i]" in str(f.loops)
    assert "X_cache2[k, j] = X[k, j] - a[j]" in str(f.loops)
    check(f, [X, a])


def test_what_is_the_same_elsewhere_reads_the_buffer_too() -> None:
    f = function(tw.sum((A[i, k] - a[i]) * W[k, j] + (A[i, k] - a[i]), over={k: K}), [A, a, W])
    f["C"].cache(A, "i", keeps="values")
    assert "A_cache[0, k] * W[k, j] + A_cache[0, k]" in str(f.loops)
    check(f, [A, a, W])


def test_integers_become_numbers_of_the_buffers_type() -> None:
    q = tw.input("q", [K, M], tw.int8)
    f = function(tw.sum(A[i, k] * (tw.cast(q[k, j], tw.float32) - b[j]), over={k: K}), [A, q, b])
    f["C"].reorder(j, i, k).cache(q, j, keeps="values")
    assert "q_cache = empty((K, 1), float32)" in str(f.loops)
    x, w, z = rows(5, 4), rows(4, 7).astype(np.int8), rows(7)
    np.testing.assert_array_equal(f(x, w, z), x @ (w - z))


def test_reads_of_one_array_are_told_apart() -> None:
    f = function(tw.sum(A[i, k] * A[j, k], over={k: K}), [A], {i: N, j: N})
    f["C"].cache(A, "i", keeps="values")
    f["C"].cache(A, "i", order=[1, 0], keeps="values")
    text = str(f.loops)
    assert "A_cache[0, k] = A[i, k]" in text and "A_cache2[k, j] = A[j, k]" in text
    assert "A_cache[0, k] * A_cache2[k, j]" in text
    check(f, [A])


def test_it_is_printed_and_replayed() -> None:
    f = function(centred(), [A, a, B, b])
    f["C"].cache(B, "i", keeps="values")
    assert str(f.schedule) == 'B_cache = C.cache("B", "i", keeps="values")'
    g = function(centred(), [A, a, B, b])
    g.set_schedule(f.schedule)
    assert g.schedule == f.schedule and str(g.loops) == str(f.loops)


@pytest.mark.parametrize(
    ("array", "options", "message"),
    [
        ("Q", {"keeps": "values"}, "C reads no element of Q with one iterator for each dimension"),
        ("Z", {"keeps": "values"}, "C does not read Z|there is no input or computation named 'Z'"),
        ("C", {"keeps": "values"}, "values are kept of arrays that are read"),
        ("B", {"keeps": "sums"}, 'keeps "elements" or "values", got "sums"'),
        ("B", {"keeps": "values", "memory": "shared", "stages": 2}, "values are computed in one"),
    ],
)
def test_refusals(array: str, options: Any, message: str) -> None:
    Q = tw.input("Q", [M, M], tw.float32)
    f = function(centred() + Q[j, j], [A, a, B, b, Q])
    with pytest.raises(tw.ScheduleError, match=message):
        f["C"].cache(array, "i", **options)
    assert str(f.schedule) == ""


def test_what_may_be_no_value_is_not_kept() -> None:
    """Data decide which elements there are: the buffer would be read where it has none."""
    C = tw.computation("C", {i: N}, 2 * tw.exp(a[i]), where=a[i] < 3)
    D = tw.computation("D", {i: N}, tw.select(a[i] < 3, C[i] + 1, 0.0))
    f = tw.function("f", outputs=[D])
    with pytest.raises(tw.ScheduleError, match="whatever the data are; keep the elements"):
        f["C"].cache(a, "i", keeps="values")
    f["C"].cache(a, "i")
    values = rows(50) + 2
    np.testing.assert_allclose(f(values), f.evaluate(values), rtol=1e-6)


def test_what_data_decide_is_no_value() -> None:
    chosen = tw.select(a[i] > 0, tw.sqrt(A[i, k]), 0.0)
    f = function(tw.sum(chosen * W[k, j], over={k: K}), [A, a, W])
    f["C"].cache(A, "i", keeps="values")  # the choice is a part of the value
    assert str(f.loops).count("sqrt(A[i, k])") == 1 and "A_cache[0, k] * W[k, j]" in str(f.loops)
    outer = tw.select(b[j] > 0, A[i, k] - a[i], 0.0)  # uses j: the difference is in a branch
    g = function(tw.sum(outer * W[k, j], over={k: K}), [A, a, b, W])
    with pytest.raises(tw.ScheduleError, match="C reads no element of A"):
        g["C"].cache(A, "i", keeps="values")


# ---- the default schedule ----


@pytest.mark.parametrize(
    ("value", "inputs", "kept"),
    [
        (centred(), [A, a, B, b], {"A", "B"}),
        (tw.sum(A[i, k] * a[i] * W[k, j], over={k: K}), [A, a, W], {"A"}),
        (tw.sum(A[i, k] * (W[k, j] * b[j]), over={k: K}), [A, W, b], {"W"}),
        (tw.sum(tw.maximum(A[i, k], 0) * W[k, j], over={k: K}), [A, W], {"A"}),
        (tw.sum(A[i, k] * W[k, j], over={k: K}), [A, W], set()),
        (tw.sum(A[i, k] * A[j, k], over={k: K}), [A], {"A"}),
        (tw.sum(A[j, k] * A[i, k], over={k: K}), [A], {"A"}),
    ],
)
def test_products_of_values_are_packed(value: Any, inputs: Any, kept: set[str]) -> None:
    f = function(value, inputs, {i: N, j: N} if inputs == [A] else None)
    text = str(f.default_schedule)
    found = {
        one
        for one in "ABW"
        if f'cache("{one}"' in text
        and 'keeps="values"' in text.split(f'cache("{one}"')[1].split(")")[0]
    }
    assert found == kept
    check(f, inputs)


def test_costly_values_are_computed_once_for_each_element() -> None:
    f = function(tw.sum(tw.tanh(A[i, k]) * W[k, j], over={k: K}), [A, W])
    assert f.computations == ["C_tanh", "C"]
    assert f["C_tanh"].loops == ("i", "k")
    x, w = rows(9, 5), rows(5, 40)
    np.testing.assert_allclose(f(x, w), np.tanh(x) @ w, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "value",
    [
        tw.exp(a[i]) * A[i, j],  # the loop over j is inside: it is computed once for a row anyway
        tw.sum(tw.exp(A[i, k] * a[i]), over={k: K}),  # uses all loops
        tw.sum(tw.exp(A[i, k] + W[k, j]), over={k: K}),  # so does this
        tw.sum(W[k, j] * tw.cos(tw.cast(i * k, tw.float32)), over={k: K}),  # of no element
    ],
)
def test_other_costly_values_stay_where_they_are(value: Any) -> None:
    domain = {i: N, j: K} if "A[i, j]" in str(value) else {i: N, j: M}
    f = tw.function("f", outputs=[tw.computation("C", domain, value)])
    assert all("exp" not in name and "cos" not in name for name in f.computations)


def test_a_value_of_a_column_is_kept_if_rows_do_not_change_it() -> None:
    C = tw.computation("C", {i: N, j: M}, tw.exp(b[j]) * a[i])
    f = tw.function("f", outputs=[C])
    assert f.computations == ["C_exp", "C"]
    x, y = rows(6), rows(9)
    np.testing.assert_allclose(f(b=y, a=x), np.outer(x, np.exp(y)), rtol=1e-5)


def test_a_value_that_is_one_for_all_is_computed_once() -> None:
    t = tw.input("t", [], tw.float32)
    for value, name in ((tw.exp(-t[()]), "C_exp"), (t[()] ** 0.3, "C_power")):
        f = function(value * A[i, k], [t, A], {i: N, k: K})
        assert f.computations == [name, "C"] and f[name].loops == ()
        x, at = rows(9, 5), np.float32(1.5)
        wanted = x * (np.exp(-at) if name == "C_exp" else at ** np.float32(0.3))
        np.testing.assert_allclose(f(at, x), wanted, rtol=1e-5)


def test_powers_are_costly_unless_they_are_one_operation() -> None:
    for exponent in (0.7, 3, 2, 0.5, -1):
        f = function(a[i] * b[j] ** exponent, [a, b])
        assert ("C_power" in f.computations) == (exponent in (0.7, 3))
        x, y = rows(6), np.abs(rows(9)) + 1
        np.testing.assert_allclose(f(x, y), np.outer(x, y**exponent), rtol=1e-4)


def test_a_small_table_is_made_once() -> None:
    """Of values that depend on no element: of 33 x 64 there are few, whatever the rows are."""
    r, X = tw.iter("r"), tw.input("X", [N, 64], tw.float64)
    for terms, kept in ((64, True), (K, False)):
        turn = tw.cos(2 * np.pi / 64 * tw.cast(j * r, tw.float64))
        value = tw.sum(X[i, r] * turn, over={r: terms}, where=r < 64)
        f = tw.function("f", outputs=[tw.computation("C", {i: N, j: 33}, value)])
        assert ("C_cos" in f.computations) == kept
        x = np.random.default_rng(3).random((5, 64))
        given = {} if kept else {"K": 64}
        np.testing.assert_allclose(f(x, **given), np.fft.rfft(x).real, atol=1e-9)


def test_what_is_known_of_a_size_holds_for_kept_values():
    """With 6 for N, the value reads X[5], which is in X because N is 6."""
    n, k = tw.param("N"), tw.iter("k")
    x = tw.input("X", [n], tw.float32)
    least = tw.computation("least", {}, tw.min(abs(x[k]) + x[n - 1], over={k: (1, n)}))
    f = tw.function("f", outputs=[least], default_schedule=False)
    f.fix(N=6)
    f["least"].cache(x, "k", keeps="values")
    given = np.arange(6, dtype=np.float32) - 3
    assert f(given) == (abs(given) + given[5])[1:].min()
