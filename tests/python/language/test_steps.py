"""Ranges with a step: {i: (low, high, step)}, against NumPy's slices, the evaluator and C."""

import itertools
import pickle

import numpy as np
import pytest

import tilewright as tw
from language.oracles import checked, checked_on_emulator

i, j, k, l = tw.iters("i j k l")
N, M, K = tw.params("N M K")

rng = np.random.default_rng(0)


def numbers(*shape, dtype=np.float64):
    return rng.integers(-9, 10, shape).astype(dtype)


def every_second(bounds, **options):
    x = tw.input("x", [N], tw.float64)
    return tw.function("f", outputs=[tw.computation("B", {i: bounds}, 2 * x[i])], **options)


FORMS = {
    "triple": ((1, N, 3), slice(1, None, 3)),
    "from 0": ((0, N, 2), slice(0, None, 2)),
    "slice": (slice(2, N, 2), slice(2, None, 2)),
    "numpy's slice": (np.s_[:N:2], slice(None, None, 2)),
    "numpy's integer": ((0, N, np.int32(4)), slice(None, None, 4)),
    "step 1": ((1, N, 1), slice(1, None)),
    "longer than the array": ((0, N, 100), slice(None, None, 100)),
    "from a parameter's half": ((N // 2, N, 2), None),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("size", [9, 10, 23, 24, 64])
def test_forms(name, size):
    bounds, taken = FORMS[name]
    taken = taken or slice(size // 2, None, 2)
    x = numbers(size)
    expected = np.zeros(size)
    expected[taken] = 2 * x[taken]
    f = every_second(bounds)
    found = checked(f, x=x)
    np.testing.assert_array_equal(found, expected[: len(found)])
    assert not expected[len(found) :].any()


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_small_sizes(size):
    x = numbers(size)
    expected = np.zeros(size)
    expected[1::2] = 2 * x[1::2]
    np.testing.assert_array_equal(checked(every_second((1, N, 2)), x=x), expected)


def test_the_domain_and_the_loops():
    x = tw.input("x", [N], tw.float64)
    B = tw.computation("B", {i: (0, N, 2)}, 2 * x[i])
    f = tw.function("f", outputs=[B], default_schedule=False)
    assert B.domain == tw.Set("[N] -> { B[i] : 0 <= i < N and i mod 2 = 0 }")
    assert str(f.loops) == "for i in range(0, (N + 1) // 2):\n  B[2 * i] = 2.0 * x[2 * i]"
    assert tuple(map(str, B.shape)) == ("N",)
    ten = tw.computation("ten", {i: range(1, 10, 3)}, 2 * i)
    np.testing.assert_array_equal(
        checked(tw.function("g", outputs=[ten])), [0, 2, 0, 0, 8, 0, 0, 14, 0, 0]
    )


def test_a_loop_has_no_gaps():
    """Splits and vectors count iterations, not values."""
    f = every_second((0, N, 2), default_schedule=False)
    f["B"].vectorize(i, 8)
    text = str(f.loops)
    assert "vector(8)" in text
    assert "16 * i0 + 2 * i1" in text
    x = numbers(101)
    expected = np.zeros(101)
    expected[::2] = 2 * x[::2]
    np.testing.assert_array_equal(checked(f, x=x), expected)


SCHEDULES = {
    "declared": lambda f: f,
    "split": lambda f: f["C"].split(i, 3),
    "tile": lambda f: f["C"].tile(i, j, 4, 4),
    "vector": lambda f: f["C"].vectorize(j, 4),
    "unroll": lambda f: f["C"].split(j, 4).unroll("j1", 4),
    "parallel": lambda f: f["C"].parallelize(i),
    "reverse": lambda f: f["C"].reverse(j),
    "skew": lambda f: f["C"].skew(i, j, 1),
    "interchange": lambda f: f["C"].interchange(i, j),
    "values": lambda f: f["C"].scale(j, 3).shift(j, 1),
    "map": lambda f: f["C"].set_schedule("{ C[i, j] -> [j, i] }"),
    "copy": lambda f: f["C"].cache(f["C"], "i"),
    "copy of what is read": lambda f: f["C"].cache("A", "i"),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("shape", [(7, 10), (16, 33), (1, 1)])
def test_under_schedules(schedule, shape):
    A = tw.input("A", [N, M], tw.float64)
    C = tw.computation("C", {i: (0, N, 2), j: (1, M, 3)}, A[i, j] + 1)
    f = tw.function("f", outputs=[C], default_schedule=False)
    SCHEDULES[schedule](f)
    a = numbers(*shape)
    expected = np.zeros(shape)
    expected[::2, 1::3] = a[::2, 1::3] + 1
    np.testing.assert_array_equal(checked(f, A=a), expected)


def test_bounds_over_outer_iterators():
    A = tw.input("A", [N, N], tw.float64)
    C = tw.computation("C", {i: N, j: (i, N, 2)}, A[i, j])
    f = tw.function("f", outputs=[C])
    a = numbers(9, 9)
    expected = np.zeros((9, 9))
    for row in range(9):
        expected[row, row::2] = a[row, row::2]
    np.testing.assert_array_equal(checked(f, A=a), expected)


def test_red_and_black():
    """Two colours of a grid, each where the sum of the indices is even or odd."""
    A = tw.input("A", [N, N], tw.float64)
    red = tw.computation(
        "red", {i: (1, N - 1), j: (1 + i % 2, N - 1, 2)}, A[i, j - 1] + A[i, j + 1]
    )
    around = red[i - 1, j] + red[i + 1, j] + red[i, j - 1] + red[i, j + 1]
    black = tw.computation("black", {i: (2, N - 2), j: (2 + i % 2, N - 2, 2)}, around)
    f = tw.function("f", outputs=[black])
    a = numbers(11, 11)
    r, b = np.zeros((11, 11)), np.zeros((11, 11))
    for y in range(1, 10):
        for x in range(1 + y % 2, 10, 2):
            r[y, x] = a[y, x - 1] + a[y, x + 1]
    for y in range(2, 9):
        for x in range(2 + y % 2, 9, 2):
            b[y, x] = r[y - 1, x] + r[y + 1, x] + r[y, x - 1] + r[y, x + 1]
    found = checked(f, A=a)
    np.testing.assert_array_equal(found, b[: found.shape[0], : found.shape[1]])


def test_a_read_between_the_steps_is_an_error():
    x = tw.input("x", [N], tw.float64)
    B = tw.computation("B", {i: (0, N, 2)}, x[i])
    with pytest.raises(tw.DomainError, match=r"B\[1\]"):
        tw.function("f", outputs=[tw.computation("C", {i: N}, B[i])])


REDUCTIONS = {
    "sum": (lambda v, over: tw.sum(v, over=over), lambda a: a.sum(1)),
    "ordered sum": (lambda v, over: tw.sum(v, over=over, ordered=True), lambda a: a.sum(1)),
    "max": (lambda v, over: tw.max(v, over=over), lambda a: a.max(1)),
    "argmax": (lambda v, over: tw.argmax(v, over=over), lambda a: 1 + 3 * a.argmax(1)),
    "fold": (lambda v, over: tw.fold(lambda s, t: s + t, 0.0, v, over=over), lambda a: a.sum(1)),
    "within an expression": (
        lambda v, over: 2 * tw.sum(v, over=over) + 1,
        lambda a: 2 * a.sum(1) + 1,
    ),
    "two": (
        lambda v, over: tw.sum(v, over=over) / tw.sum(1.0 + 0 * v, over=over),
        lambda a: a.mean(1),
    ),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("size", [2, 10, 67])
def test_reductions(name, size):
    declared, expected = REDUCTIONS[name]
    A = tw.input("A", [N, K], tw.float64)
    y = tw.computation("y", {i: N}, declared(A[i, k], {k: (1, K, 3)}))
    a = numbers(5, size)
    for schedule in (lambda f: f, lambda f: f["y"].parallelize(i)):
        f = tw.function("f", outputs=[y])
        schedule(f)
        np.testing.assert_allclose(checked(f, A=a), expected(a[:, 1::3]))


@pytest.mark.parametrize(
    "schedule",
    [
        lambda y: y.split(k, 4).rfactor("k1"),
        lambda y: y.rfactor(k),
        lambda y: y.vectorize(k, 4),
        lambda y: y.interchange(i, k).vectorize(i, 4),
        lambda y: y.set_schedule("{ y[i, k] -> [k, i] }"),
        lambda y: y.cache("A", i),
        lambda y: y.cache(y, i),
    ],
)
def test_schedules_of_reductions(schedule):
    A = tw.input("A", [N, K], tw.int64)
    y = tw.computation("y", {i: (0, N, 2)}, tw.sum(A[i, k], over={k: (2, K, 3)}))
    f = tw.function("f", outputs=[y], default_schedule=False)
    schedule(f["y"])
    a = numbers(9, 31, dtype=np.int64)
    expected = np.zeros(9, np.int64)
    expected[::2] = a[::2, 2::3].sum(1)
    np.testing.assert_array_equal(checked(f, A=a), expected)


def test_products():
    A, B = tw.input("A", [N, K], tw.float64), tw.input("B", [K, M], tw.float64)
    C = tw.computation("C", {i: N, j: (0, M, 2)}, tw.sum(A[i, k] * B[k, j], over={k: (0, K, 2)}))
    f = tw.function("f", outputs=[C])
    a, b = numbers(70, 90), numbers(90, 50)
    expected = np.zeros((70, 49))
    expected[:, ::2] = a[:, ::2] @ b[::2, ::2]
    found = checked(f, A=a, B=b)
    np.testing.assert_array_equal(found[:, :49], expected)


def test_ranges_of_data():
    x, row = tw.input("x", [K], tw.float64), tw.input("row", [N + 1], tw.int64)
    y = tw.computation("y", {i: N}, tw.sum(x[k], over={k: (row[i], row[i + 1], 2)}))
    half = tw.computation("half", {i: N}, tw.sum(x[k], over={k: (1, row[i + 1], 2)}))
    f = tw.function("f", outputs=[y, half])
    values, rows = numbers(20), np.array([0, 3, 3, 10, 19])
    found, found_half = checked(f, x=values, row=rows, N=4)
    expected = [values[a:b:2].sum() for a, b in itertools.pairwise(rows)]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found_half, [values[1:b:2].sum() for b in rows[1:]])


def test_fused_with_its_reader():
    """Loops of ranges with one step count alike."""
    x = tw.input("x", [N], tw.float64)
    B = tw.computation("B", {i: (0, N, 2)}, x[i] + 1)
    C = tw.computation("C", {i: (0, N, 2)}, B[i] * 2)
    f = tw.function("f", outputs=[C], default_schedule=False)
    f["C"].after(f["B"], i)
    f["B"].private(i)
    values = numbers(17)
    expected = np.zeros(17)
    expected[::2] = (values[::2] + 1) * 2
    np.testing.assert_array_equal(checked(f, x=values), expected)


def test_computed_in_a_dense_reader():
    x = tw.input("x", [N], tw.float64)
    B = tw.computation("B", {i: (0, 2 * (N // 2), 2)}, x[i] + 1)
    C = tw.computation("C", {i: N // 2}, B[2 * i] * 2)
    f = tw.function("f", outputs=[C], default_schedule=False)
    f["C"].split(i, 4)
    f["B"].compute_at(f["C"], "i0").store_at(f["C"], "i0")
    values = numbers(17)
    np.testing.assert_array_equal(checked(f, x=values), (values[:16:2] + 1) * 2)


def test_on_the_gpu_emulator():
    def outputs():
        A = tw.input("A", [N, M], tw.float32)
        return [tw.computation("C", {i: (0, N, 2), j: (1, M, 2)}, A[i, j] + 1)]

    a = numbers(9, 40, dtype=np.float32)
    found = checked_on_emulator(
        outputs, lambda f: f["C"].split(j, 8).gpu_block(i).gpu_thread("j1"), A=a
    )
    expected = np.zeros_like(a)
    expected[::2, 1::2] = a[::2, 1::2] + 1
    np.testing.assert_array_equal(found, expected)


def test_pickles_and_text():
    A = tw.input("A", [N, K], tw.int64)
    y = tw.computation("y", {i: (0, N, 2)}, tw.sum(A[i, k], over={k: (2, K, 3)}))
    f = tw.function("f", outputs=[y], default_schedule=False)
    assert "for k in range(2, K, 3)" in str(y.pieces[0][1])
    again = pickle.loads(pickle.dumps(f))
    assert str(again.loops) == str(f.loops)
    a = numbers(9, 31, dtype=np.int64)
    np.testing.assert_array_equal(again(a), f(a))


@pytest.mark.parametrize(
    ("bounds", "error", "message"),
    [
        ((0, N, 0), tw.DeclarationError, "must be 1 to"),
        ((0, N, -1), tw.DeclarationError, "must be positive, not -1: .* reverse"),
        (range(9, -1, -1), tw.DeclarationError, "must be positive"),
        ((0, N, M), tw.DeclarationTypeError, "must be a number, not M"),
        ((0, N, 2.0), tw.DeclarationTypeError, "must be an integer such as 2, not 2.0"),
        ((0, N, True), tw.DeclarationTypeError, "not True"),
        ((0, N, None), tw.DeclarationTypeError, "not None"),
        ((0, N, 10**10), tw.DeclarationError, "must be 1 to 1000000000"),
        ((0, N, 2, 3), tw.DeclarationTypeError, "or a triple"),
        ((None, N, 2), tw.DeclarationError, "no lower bound"),
        (slice(0, None, 2), tw.DeclarationError, "no upper bound"),
    ],
)
def test_errors(bounds, error, message):
    x = tw.input("x", [N], tw.float64)
    with pytest.raises(error, match=message):
        tw.computation("B", {i: bounds}, x[i])
    with pytest.raises(error, match=message):
        tw.sum(x[i], over={i: bounds})


def test_the_evaluator_counts_by_the_step_of_each_range():
    """Sums over several ranges, each with a step of its own."""
    for first, second in ((3, 2), (2, 3), (5, 7)):
        total = tw.sum(i + 1, over={k: (0, K, first), l: (0, M, second), j: (1, M, 4)})
        C = tw.computation("C", {i: N}, total, dtype=tw.int64)
        f = tw.function("f", outputs=[C], context=[N >= 0, K >= 0, M >= 0])
        terms = len(range(0, 11, first)) * len(range(0, 13, second)) * len(range(1, 13, 4))
        np.testing.assert_array_equal(f.evaluate(N=3, K=11, M=13), terms * np.array([1, 2, 3]))
