"""Temporaries whose domains go below 0: halos, recurrences from -1, windows; wherever they are stored."""

import pickle

import numpy as np
import pytest

import tilewright as tw
from language.oracles import checked, checked_on_emulator

i, j, k, r = tw.iters("i j k r")
N, M, K, R = tw.params("N M K R")
L, W = tw.params("L W", minimum=1)  # of arrays whose border is read

rng = np.random.default_rng(0)


def numbers(*shape, dtype=np.float64):
    return rng.integers(-9, 10, shape).astype(dtype)


def at(array, index, size):
    """The element that is nearest to a place outside."""
    return array[tw.minimum(tw.maximum(index, 0), size - 1)]


def three_points(**options):
    """y[i] = T[i - 1] + T[i] + T[i + 1], where T is x with an element of its own at either end."""
    x = tw.input("x", [N], tw.float64)
    T = tw.computation(
        "T", {i: (-1, N + 1)}, [(i < 0, 1.0), (i >= N, 2.0), ((i >= 0) & (i < N), x[i])]
    )
    y = tw.computation("y", {i: N}, T[i - 1] + 10 * T[i] + 100 * T[i + 1])
    return tw.function("f", outputs=[y], **options)


def three_points_of(x):
    t = np.concatenate([[1.0], x, [2.0]])
    return t[:-2] + 10 * t[1:-1] + 100 * t[2:]


SCHEDULES = {
    "default": lambda f: f,
    "declared": lambda f: f,
    "vector": lambda f: f["T"].vectorize(i, 4),
    "parallel": lambda f: f["T"].parallelize(i),
    "inside": lambda f: (f["y"].split(i, 4), f["T"].compute_at(f["y"], "i0")),
    "inside, stored there": lambda f: (
        f["y"].split(i, 4),
        f["T"].compute_at(f["y"], "i0").store_at(f["y"], "i0"),
    ),
    "in a buffer": lambda f: f["T"].store_in("buffer[i]"),
    "moved": lambda f: f["T"].store_in("buffer[i + 1]"),
    "further below": lambda f: f["T"].store_in("buffer[i - 5]"),
    "backwards": lambda f: f["T"].store_in("buffer[-i]"),
    "of a size": lambda f: f["T"].store_in(tw.Buffer("buffer", [N + 2])[i + 1]),
    "strided": lambda f: f["T"].store_in("buffer[2 * i]"),
    "a copy": lambda f: f["y"].cache("T", i),
    "a copy of what is written": lambda f: (f["T"].split(i, 4), f["T"].cache("T", "i0")),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("size", [0, 1, 2, 9, 40])
def test_a_halo(schedule, size):
    f = three_points(default_schedule=schedule == "default")
    SCHEDULES[schedule](f)
    x = numbers(size)
    np.testing.assert_array_equal(checked(f, x=x), three_points_of(x))


def test_what_layers_and_loops_say():
    T = tw.computation("T", {i: (-1, N + 1)}, 1.0 * i)
    y = tw.computation("y", {i: N}, T[i - 1] + T[i + 1])
    f = tw.function("f", outputs=[y], default_schedule=False)
    assert tuple(map(str, T.origin)) == ("-1",)
    assert tuple(map(str, T.shape)) == ("N + 2",)
    assert tuple(map(str, y.origin)) == ("0",)
    assert "T[-1:N + 1]" in str(f.layers)
    assert "T[i + 1]" in str(f.layers)
    assert "T = empty((N + 2,), float64)" in str(f.loops)


def test_a_fold_of_a_window():
    """Three elements are enough: storage_fold takes indices below 0 modulo the size."""
    x = tw.input("x", [N], tw.float64)
    T = tw.computation("T", {i: (-1, N)}, [(i < 0, 1.0), (i >= 0, x[i])])
    y = tw.computation("y", {i: N}, T[i - 1] + 10 * T[i])
    f = tw.function("f", outputs=[y], default_schedule=False)
    f["y"].after(f["T"], i)
    f["T"].storage_fold(i, 2)
    values = numbers(11)
    before = np.concatenate([[1.0], values[:-1]])
    np.testing.assert_array_equal(checked(f, x=values), before + 10 * values)
    assert "T = empty((2,), float64)" in str(f.loops)


def test_a_fold_that_is_too_small_is_refused():
    x = tw.input("x", [N], tw.float64)
    T = tw.computation("T", {i: (-1, N)}, [(i < 0, 1.0), (i >= 0, x[i])])
    y = tw.computation("y", {i: N}, T[i - 1] + 10 * T[i])
    f = tw.function("f", outputs=[y], default_schedule=False)
    f["y"].after(f["T"], i)
    with pytest.raises(tw.IllegalScheduleError, match=r"T\["):
        f["T"].storage_fold(i, 1)


def test_a_recurrence_from_minus_one():
    """As Alpha programs have it: the initial value stands at t = -1."""
    x = tw.input("x", [N], tw.float64)
    T = tw.computation(
        "T",
        {k: (-1, M), i: N},
        lambda T: [(k < 0, x[i]), (k >= 0, 2 * T[k - 1, i] + 1)],
        dtype=tw.float64,
    )
    y = tw.computation("y", {i: N}, T[M - 1, i])
    for schedule in (
        lambda f: f,
        lambda f: f["T"].storage_fold(k, 2),
        lambda f: f["T"].storage_fold(k, 1),
        lambda f: f["T"].interchange(k, i),
        lambda f: f["T"].store_in("line[i]"),
        lambda f: f["T"].vectorize(i, 4),
    ):
        f = tw.function("f", outputs=[y])
        schedule(f)
        values = numbers(6)
        expected = values
        for _ in range(5):
            expected = 2 * expected + 1
        np.testing.assert_array_equal(checked(f, x=values, M=5), expected)


@pytest.mark.parametrize("radius", [0, 1, 3])
@pytest.mark.parametrize("size", [1, 8, 30])
def test_a_window_of_parametric_size(size, radius):
    x, w = tw.input("x", [N], tw.float64), tw.input("w", [2 * R + 1], tw.float64)
    P = tw.computation(
        "P", {i: (-R, N + R)}, [((i >= 0) & (i < N), x[i]), ((i < 0) | (i >= N), 0.0)]
    )
    y = tw.computation("y", {i: N}, tw.sum(P[i + r] * w[r + R], over={r: (-R, R + 1)}))
    values, weights = numbers(size), numbers(2 * radius + 1)
    padded = np.pad(values, radius)
    expected = [padded[n : n + 2 * radius + 1] @ weights for n in range(size)]
    for schedule in (
        lambda f: f,
        lambda f: f["y"].interchange(i, r),
        lambda f: f["P"].compute_at(f["y"], i).store_at(f["y"], i),
    ):
        f = tw.function("f", outputs=[y])
        schedule(f)
        np.testing.assert_array_equal(checked(f, x=values, w=weights, R=radius), expected)
    assert tuple(map(str, P.origin)) == ("-R",)
    assert set(map(str, P.shape)) <= {"N + 2 * R", "2 * R + N"}


def test_two_dimensions_and_tiles():
    A = tw.input("A", [L, W], tw.float64)
    inside = [tw.minimum(tw.maximum(n, 0), size - 1) for n, size in ((i, L), (j, W))]
    P = tw.computation("P", {i: (-1, L + 1), j: (-1, W + 1)}, A[tuple(inside)])
    y = tw.computation("y", {i: L, j: W}, P[i - 1, j] + P[i + 1, j] + P[i, j - 1] + P[i, j + 1])
    f = tw.function("f", outputs=[y])
    a = numbers(13, 17)
    p = np.pad(a, 1, mode="edge")
    expected = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    np.testing.assert_array_equal(checked(f, A=a), expected)
    f["y"].tile(i, j, 4, 8)
    f["P"].compute_at(f["y"], "j0").store_at(f["y"], "j0")
    np.testing.assert_array_equal(checked(f, A=a), expected)


def test_private():
    A = tw.input("A", [N, M], tw.float64)
    P = tw.computation("P", {i: N, j: (-1, M)}, [(j < 0, 1.0), (j >= 0, A[i, j])])
    y = tw.computation("y", {i: N, j: M}, P[i, j - 1] + 2 * P[i, j])
    f = tw.function("f", outputs=[y], default_schedule=False)
    f["y"].after(f["P"], i)
    f["P"].private(i).parallelize(i)
    f["y"].parallelize(i)
    a = numbers(5, 7)
    before = np.concatenate([np.ones((5, 1)), a[:, :-1]], 1)
    np.testing.assert_array_equal(checked(f, A=a), before + 2 * a)


def test_one_buffer_of_several():
    """What shares a buffer may begin at different elements."""
    x = tw.input("x", [N], tw.float64)
    S = tw.computation("S", {i: (-2, N)}, tw.select(i < 0, 1.0, x[tw.maximum(i, 0)]))
    y = tw.computation("y", {i: N}, S[i - 2] + S[i])
    T = tw.computation("T", {i: (-1, N)}, tw.select(i < 0, 3.0, y[tw.maximum(i, 0)]))
    z = tw.computation("z", {i: N}, T[i - 1] + T[i])
    f = tw.function("f", outputs=[y, z])
    f["S"].store_in("both[i]")
    f["T"].store_in("both[i]")
    values = numbers(7)
    s = np.concatenate([[1.0, 1.0], values])
    first = s[:-2] + s[2:]
    t = np.concatenate([[3.0], first])
    found = checked(f, x=values)
    np.testing.assert_array_equal(found[0], first)
    np.testing.assert_array_equal(found[1], t[:-1] + t[1:])


def test_computed_subscripts():
    index, x = tw.input("index", [N], tw.int64), tw.input("x", [K], tw.float64)
    T = tw.computation("T", {k: (-2, K)}, tw.select(k < 0, 1.0 * k, x[tw.maximum(k, 0)]))
    y = tw.computation("y", {i: N}, T[index[i]])
    f = tw.function("f", outputs=[y])
    values, at = numbers(5), np.array([-2, -1, 0, 4, 3])
    t = np.concatenate([[-2.0, -1.0], values])
    np.testing.assert_array_equal(checked(f, x=values, index=at), t[at + 2])
    for bad in (-3, 5, 2**62, -(2**62)):
        with pytest.raises(tw.BoundsError if hasattr(tw, "BoundsError") else IndexError) as caught:
            f(x=values, index=np.array([0, bad, 0, 0, 0]))
        assert f"subscript {bad} is out of bounds for axis 0 of T" in str(caught.value)


def test_large_unsigned_subscripts_are_not_negative():
    index, x = tw.input("index", [N], tw.uint64), tw.input("x", [K], tw.float64)
    T = tw.computation("T", {k: (-2, K)}, tw.select(k < 0, 1.0 * k, x[tw.maximum(k, 0)]))
    f = tw.function("f", outputs=[tw.computation("y", {i: N}, T[index[i]])])
    with pytest.raises(IndexError):
        f(x=numbers(5), index=np.array([2**64 - 1], np.uint64))
    with pytest.raises(IndexError):
        f.evaluate(x=numbers(5), index=np.array([2**64 - 1], np.uint64))


def test_check_bounds():
    f = three_points(check_bounds=True)
    x = numbers(6)
    np.testing.assert_array_equal(f(x), three_points_of(x))


def test_isolated_reductions():
    """A reduction for each row of a halo becomes a computation below 0."""
    A = tw.input("A", [L, K], tw.float64)
    T = tw.computation("T", {i: (-1, L), j: 3}, tw.sum(A[tw.maximum(i, 0), k], over={k: K}) * j)
    y = tw.computation("y", {i: L, j: 3}, T[i - 1, j] + T[i, j])
    f = tw.function("f", outputs=[y])
    a = numbers(6, 5)
    sums = np.concatenate([a[:1], a]).sum(1)[:, None] * np.arange(3)
    np.testing.assert_array_equal(checked(f, A=a), sums[:-1] + sums[1:])


def test_with_steps():
    x = tw.input("x", [N], tw.float64)
    T = tw.computation("T", {i: (-3, N, 3)}, tw.select(i < 0, 5.0, x[tw.maximum(i, 0)]))
    y = tw.computation("y", {i: (0, N, 3)}, T[i - 3] + 2 * T[i])
    f = tw.function("f", outputs=[y])
    values = numbers(14)
    t = np.concatenate([[5.0], values[::3]])
    expected = np.zeros(14)
    expected[::3] = t[:-1] + 2 * t[1:]
    np.testing.assert_array_equal(checked(f, x=values), expected)


@pytest.mark.parametrize(
    "mapped",
    [
        lambda f: f.gpu(),
        lambda f: (
            f["y"].split(i, 8).gpu_block("i0").gpu_thread("i1"),
            f["T"].compute_at(f["y"], "i0").store_at(f["y"], "i0", memory="shared"),
        ),
    ],
)
def test_on_the_gpu_emulator(mapped):
    def outputs():
        x = tw.input("x", [L], tw.float32)
        T = tw.computation("T", {i: (-1, L + 1)}, at(x, i, L))
        return [tw.computation("y", {i: L}, T[i - 1] + 10 * T[i] + 100 * T[i + 1])]

    x = numbers(29, dtype=np.float32)
    found = checked_on_emulator(outputs, mapped, x=x)
    t = np.pad(x, 1, mode="edge")
    np.testing.assert_array_equal(found, t[:-2] + 10 * t[1:-1] + 100 * t[2:])


def test_fixed_sizes():
    f = three_points()
    f.fix(N=12)
    x = numbers(12)
    np.testing.assert_array_equal(checked(f, x=x), three_points_of(x))


def test_pickles():
    f = three_points()
    x = numbers(12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(x), three_points_of(x))


def test_text_domains():
    x = tw.input("x", [L], tw.float64)
    T = tw.computation("[L] -> { T[i] : -2 <= i < L }", at(x, i, L))
    y = tw.computation("y", {i: L}, T[i - 2])
    f = tw.function("f", outputs=[y])
    values = numbers(9)
    np.testing.assert_array_equal(checked(f, x=values), values[[0, 0, 0, 1, 2, 3, 4, 5, 6]])


class TestErrors:
    def test_an_output(self):
        C = tw.computation("C", {i: (-1, N)}, 1.0 * i)
        with pytest.raises(tw.DeclarationError, match=r"C\[-1\].*output.*begins at 0.*shift i"):
            tw.function("f", outputs=[C])

    def test_a_given_shape(self):
        with pytest.raises(tw.DeclarationError, match=r"C\[-1\].*shape= may be left out.*shift i"):
            tw.computation("C", {i: (-1, N)}, 1.0, shape=[N])

    def test_a_buffer_of_a_given_size(self):
        f = three_points()
        with pytest.raises(tw.ScheduleError, match=r"buffer\[-1\].*leave the size out, or shift"):
            f["T"].store_in(tw.Buffer("buffer", [N + 2])[i])

    def test_an_input(self):
        f = three_points()
        with pytest.raises(tw.ScheduleError, match=r"x\[-1\] .*lies outside.*shift the subscript"):
            f["T"].store_in("x[i]")

    def test_an_output_s_array(self):
        f = three_points()
        with pytest.raises(tw.ScheduleError, match=r"y\[-1\]"):
            f["T"].store_in("y[i]")
