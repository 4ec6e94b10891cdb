"""trace_nan: the first instance whose value is NaN although nothing it reads is."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

N, M, K, T = tw.params("N M K T")
i, j, k, t = tw.iters("i j k t")


def product(dtype: object = tw.float32) -> tw.Function:
    a, b = tw.input("A", [N, K], dtype), tw.input("B", [K, M], dtype)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    return tw.function("f", outputs=[c])


@pytest.mark.parametrize("schedule", ["declared", "default", "tiled", "parallel"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinity_times_zero_in_a_product(schedule, dtype):
    f = product(tw.as_dtype(dtype))
    if schedule == "declared":
        f["C"].interchange(i, j).interchange(j, i)
    elif schedule == "tiled":
        f["C"].tile(i, j, 4, 16).vectorize("j1").parallelize("i0")
    elif schedule == "parallel":
        f["C"].parallelize(i)
    a, b = np.ones((9, 6), dtype), np.ones((6, 40), dtype)
    assert f.trace_nan(a, b) is None
    a[3, 5], b[5, 7] = np.inf, 0.0
    found = f.trace_nan(a, b)
    assert found is not None
    assert (found.computation, found.element) == ("C", (3, 7))
    assert found.point == {"i": 3, "j": 7, "k": 5}
    assert np.isnan(found.value)
    reads = {(read.array, read.element): read.value for read in found.reads}
    assert reads[("A", (3, 5))] == np.inf
    assert reads[("B", (5, 7))] == 0.0
    assert str(found).startswith("C[3, 7] = nan at k = 5, from ")
    assert "A[3, 5] = inf, B[5, 7] = 0.0" in str(found)
    assert found.location is not None and "tw.computation" in found.location.text


def test_a_nan_that_was_given_is_nobodys_fault():
    f = product()
    a, b = np.ones((5, 4), np.float32), np.ones((4, 6), np.float32)
    a[1, 2] = np.nan
    assert np.isnan(f(a, b)).any()
    assert f.trace_nan(a, b) is None
    a[4, 0], b[0, 5] = np.inf, 0  # row 4 has one of its own
    found = f.trace_nan(a, b)
    assert found is not None and found.element == (4, 5)


def chain() -> tw.Function:
    x = tw.input("x", [N], tw.float64)
    b = tw.computation("B", {i: N}, tw.log(x[i]))
    c = tw.computation("C", {i: N}, b[i] - b[N - 1 - i])
    d = tw.computation("D", {i: N}, tw.select(tw.isnan(c[i]), 0.0, c[i]))
    return tw.function("chain", outputs=[d])


def test_one_computation_of_several():
    f = chain()
    x = np.array([1.0, 2.0, 0.0, 3.0, 0.0, 5.0, 6.0])
    x[6] = 0  # log gives -inf at 2, 4 and 6
    np.testing.assert_array_equal(np.isnan(f(x)), False)
    found = f.trace_nan(x)
    assert found is not None
    assert (found.computation, found.element) == ("C", (2,))
    assert [(r.array, r.element, r.value) for r in found.reads] == [
        ("B", (2,), -np.inf),
        ("B", (4,), -np.inf),
    ]
    x[1] = -1.0
    assert f.trace_nan(x).computation == "B"
    assert f.trace_nan(x, computation="B").element == (1,)
    assert f.trace_nan(x, computation=f["C"]).element == (2,)
    assert f.trace_nan(x, computation="D") is None
    with pytest.raises(KeyError, match="no computation 'E'; it has B, C, D"):
        f.trace_nan(x, computation="E")


def test_infinities_where_they_begin():
    f = chain()
    x = np.array([1.0, 2.0, 0.0, 3.0, 4.0])
    assert f.trace_nan(x) is not None  # C[2] = -inf - -inf
    found = f.trace_nan(x, infinities=True)
    assert found is not None
    assert (found.computation, found.element, found.value) == ("B", (2,), -np.inf)
    assert str(found).splitlines()[0] == "B[2] = -inf, from x[2] = 0.0"


def test_a_recurrence_names_the_first_step():
    x = tw.input("x", [N], tw.float64)
    u = tw.computation(
        "u",
        {t: T + 1, i: N},
        lambda u: [(t == 0, x[i]), (t > 0, tw.sqrt(u[t - 1, i] - 1.0))],
        dtype=tw.float64,
    )
    last = tw.computation("last", {i: N}, u[T, i])
    f = tw.function("steps", outputs=[last])
    given = np.array([50.0, 40.0, 5.0, 20.0])
    found = f.trace_nan(given, T=6)
    steps = [given]
    with np.errstate(invalid="ignore"):
        for _ in range(6):
            steps.append(np.sqrt(steps[-1] - 1))
    step = next(s for s, values in enumerate(steps) if np.isnan(values).any())
    where = int(np.argmax(np.isnan(steps[step])))
    assert found is not None
    assert (found.computation, found.element) == ("u", (step, where))
    assert found.reads[0].array == "u"
    assert found.reads[0].element == (step - 1, where)
    assert found.reads[0].value == pytest.approx(steps[step - 1][where])
    assert found.location is not None


def test_reads_in_branches_and_inner_sums():
    x, w = tw.input("x", [N], tw.float64), tw.input("w", [3], tw.float64)
    safe = tw.select(x[i] != 0, 1 / x[i], 0.0)
    y = tw.computation("y", {i: (1, N - 1)}, safe - tw.sum(w[k] * x[i + k - 1], over={k: 3}))
    f = tw.function("f", outputs=[y])
    values, weights = np.array([1.0, 2, 3, 0, np.inf, 1, 1, 1]), np.array([1.0, 0, 2])
    found = f.trace_nan(values, weights)
    assert found is not None
    assert found.element == (4,) and found.point == {"i": 4, "k": 1}
    reads = [(r.array, r.element, r.value) for r in found.reads]
    assert ("w", (1,), 0.0) in reads and ("x", (4,), np.inf) in reads
    values[4], values[6] = 1.0, np.nan  # untaken branches and given NaNs
    assert f.trace_nan(values, weights) is None


def test_a_branch_that_is_not_taken_does_not_count():
    x, y = tw.input("x", [N], tw.float64), tw.input("y", [N], tw.float64)
    c = tw.computation("C", {i: N}, tw.select(i % 2 == 0, x[i] / x[i], y[i]))
    f = tw.function("f", outputs=[c])
    a, b = np.ones(8), np.full(8, np.nan)
    assert f.trace_nan(a, b) is None
    a[4] = 0.0
    found = f.trace_nan(a, b)
    assert found is not None and found.element == (4,)
    assert [read.array for read in found.reads] == ["x"]


def test_complex_numbers_and_integers():
    x, p = tw.input("x", [N], tw.complex128), tw.input("p", [N], tw.int32)
    c = tw.computation("C", {i: N}, x[p[i]] * 0.0)
    f = tw.function("f", outputs=[c], inputs=[x, p])
    values, at = np.ones(5, complex), np.array([0, 1, 4, 2, 3], np.int32)
    assert f.trace_nan(values, at) is None
    values[4] = complex(1, np.inf)
    found = f.trace_nan(values, at)
    assert found is not None and found.element == (2,)
    reads = {read.array: read for read in found.reads}
    assert reads["p"].value == 4 and isinstance(reads["p"].value, int)
    assert reads["x"].value == values[4] and reads["x"].element == (4,)
    whole = tw.function("g", outputs=[tw.computation("D", {i: N}, p[i] // 2)])
    assert whole.trace_nan(at) is None


def test_the_callers_arrays_stay_as_they_are():
    a = tw.input("A", [N], tw.float64)
    c = tw.computation("C", {i: N}, tw.sqrt(a[i]))
    f = tw.function("f", outputs=[c])
    c.store_in(a[i])
    values = np.array([4.0, 9.0, -1.0, 16.0])
    found = f.trace_nan(values)
    assert found is not None and found.element == (2,)
    assert values.tolist() == [4.0, 9.0, -1.0, 16.0]
    assert [read.value for read in found.reads] == [-1.0]


def test_structured_arrays():
    p = tw.input("P", [N], np.dtype([("x", np.float32), ("m", np.int32)]))
    x = tw.computation("X", {i: N}, p.x[i] / p.m[i])
    f = tw.function("f", outputs=[tw.struct("Q", x=x)])
    points = np.ones(4, p.dtype)
    assert f.trace_nan(points) is None
    points[3] = (0.0, 0)
    found = f.trace_nan(P=points)
    assert found is not None and found.element == (3,)


def test_large_arrays_take_no_second():
    x, y = tw.input("x", [N, N], tw.float32), tw.input("y", [N, N], tw.float32)
    c = tw.computation("C", {i: N, j: N}, x[i, j] / y[i, j])
    f = tw.function("f", outputs=[c])
    a, b = np.ones((2000, 2000), np.float32), np.ones((2000, 2000), np.float32)
    a[1999, 1234] = b[1999, 1234] = 0
    found = f.trace_nan(a, b)
    assert found is not None and found.element == (1999, 1234)


def test_wrong_arguments_are_refused():
    f = product()
    a = np.ones((2, 2), np.float32)
    with pytest.raises(TypeError, match="takes 2 arrays"):
        f.trace_nan(a, a, a)
    with pytest.raises(TypeError, match="several values for the argument A"):
        f.trace_nan(a, a, A=a)
    with pytest.raises(TypeError):
        f.trace_nan(a)
