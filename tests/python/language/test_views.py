"""Views: computations that only read make no statement, and outputs that show others no copy."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tilewright as tw

N, M, K, T = tw.params("N M K T")
i, j, k, t = tw.iters("i j k t")
A = tw.input("A", [N], tw.float64)
B = tw.input("B", [M], tw.float64)
X = tw.input("X", [N, M], tw.float64)
Y = tw.input("Y", [N + 2, M], tw.float64)
Z = tw.input("Z", [N + 1], tw.float64)


def both_agree(f: tw.Function, *arrays: np.ndarray, **sizes: int) -> np.ndarray:
    result = f(*arrays, **sizes)
    np.testing.assert_array_equal(result, f.evaluate(*arrays, **sizes))
    return result


def test_readers_read_what_a_view_shows():
    V = tw.view("V", {i: N + M}, tw.select(i < N, A[i], B[i - N]))
    C = tw.computation("C", {i: N + M}, 2 * V[i])
    f = tw.function("f", outputs=[C])
    a, b = np.arange(3.0), np.arange(10.0, 14.0)
    np.testing.assert_array_equal(both_agree(f, a, b), 2 * np.concatenate([a, b]))
    assert "V" not in str(f.loops)
    assert "V" not in str(f.layers)


def test_a_view_of_views():
    V = tw.view("V", {i: N + 2}, [((i > 0) & (i <= N), Z[i - 1]), (i == 0, Z[0]), (i > N, Z[N])])
    W = tw.view("W", {i: N + 2}, V[N + 1 - i])
    C = tw.computation("C", {i: N}, W[i] + W[i + 1] + W[i + 2])  # N is one less than for Z
    f = tw.function("f", outputs=[C])
    a = np.arange(1.0, 6.0)
    w = np.concatenate([a[:1], a[:-1], a[-1:]])[::-1]
    np.testing.assert_array_equal(both_agree(f, a), w[:-2] + w[1:-1] + w[2:])
    assert "V" not in str(f.loops) and "W" not in str(f.loops)


def test_an_output_with_several_writers():
    left = tw.computation("left", {i: N}, A[i] + 1)
    right = tw.computation("right", {j: M}, B[j] * 2)
    out = tw.view("out", {i: N + M}, [(i < N, left[i]), (i >= N, right[i - N])])
    f = tw.function("f", outputs=[out])
    a, b = np.arange(3.0), np.arange(10.0, 14.0)
    np.testing.assert_array_equal(both_agree(f, a, b), np.concatenate([a + 1, b * 2]))
    assert "left" not in str(f.loops) and "right" not in str(f.loops)  # both write to out
    assert "left[i] -> out[i]" in str(f.layers).replace(" = i", "")
    left.parallelize(i)
    right.split(j, 2)
    np.testing.assert_array_equal(both_agree(f, a, b), np.concatenate([a + 1, b * 2]))


def test_the_last_values_of_a_recurrence():
    S = tw.computation(
        "S",
        {t: T + 1, i: N},
        lambda S: [(t == 0, A[i]), (t > 0, 2 * S[t - 1, i] + 1)],
        dtype=tw.float64,
    )
    out = tw.view("out", {i: N}, S[T, i])
    f = tw.function("f", outputs=[out])
    a = np.arange(4.0)
    for steps in (0, 1, 5):
        np.testing.assert_array_equal(both_agree(f, a, T=steps), 2**steps * (a + 1) - 1)
    assert "S" not in str(f.loops)  # in place of out, with nothing to copy


def test_values_that_do_not_fit_are_copied():
    S = tw.computation(
        "S",
        {t: T + 1, i: N},
        lambda S: [
            (t == 0, A[i]),
            ((t > 0) & (i == 0), S[t - 1, N - 1]),
            ((t > 0) & (i > 0), S[t - 1, i - 1]),
        ],
        dtype=tw.float64,
    )
    out = tw.view("out", {i: N}, S[T, i])
    f = tw.function("f", outputs=[out], default_schedule=False)
    a = np.arange(5.0)
    np.testing.assert_array_equal(both_agree(f, a, T=3), np.roll(a, 3))
    assert "out[i] = S[T, i]" in str(f.loops)
    out.parallelize(i)
    np.testing.assert_array_equal(both_agree(f, a, T=3), np.roll(a, 3))
    with pytest.raises(tw.IllegalScheduleError, match="overwrites"):
        S.store_in("out[i]")


def test_stored_by_hand():
    S = tw.computation("S", {t: T + 1, i: N}, A[i] + t)
    out = tw.computation("out", {i: N}, S[T, i])  # an ordinary output that only reads
    f = tw.function("f", outputs=[out], default_schedule=False)
    a = np.arange(3.0)
    assert "out[i] = S[T, i]" in str(f.loops)
    S.store_in("out[i]")
    assert "S" not in str(f.loops)
    np.testing.assert_array_equal(both_agree(f, a, T=3), a + 3)
    with pytest.raises(tw.IllegalScheduleError, match="the output out shows of S"):
        S.reverse(t)
    with pytest.raises(tw.IllegalScheduleError, match="S"):
        S.parallelize(t)
    S.parallelize(i)
    np.testing.assert_array_equal(both_agree(f, a, T=3), a + 3)


def test_what_is_shown_is_computed():
    """compute_at computes what its reader reads, and an output shows more."""
    S = tw.computation("S", {i: N}, A[i] + 1)
    half = tw.computation("half", {i: N // 2}, S[2 * i])
    out = tw.view("out", {i: N}, S[i])
    f = tw.function("f", outputs=[out, half])
    with pytest.raises(tw.ScheduleError):
        S.compute_at(half, i)
    a = np.arange(6.0)
    np.testing.assert_array_equal(f(a)[0], a + 1)


def test_the_rest_of_an_array_that_is_updated():
    """In place: what nobody writes is where it was, and is not copied."""
    row = tw.computation("row", {j: M}, Y[0, j] + Y[1, j])
    out = tw.view("out", {i: N + 2, j: M}, [(i == 0, row[j]), (i > 0, Y[i, j])])
    f = tw.function("f", outputs=[out])
    x = np.arange(12.0).reshape(4, 3)
    wanted = x.copy()
    wanted[0] += x[1]
    np.testing.assert_array_equal(both_agree(f, x), wanted)
    assert f(x, out=x) is x
    np.testing.assert_array_equal(x, wanted)


def test_what_is_shown_of_an_input_stays():
    twice = tw.computation("twice", {i: N}, 2 * A[i])
    out = tw.view("out", {i: N}, A[i])
    total = tw.computation("total", {}, tw.sum(twice[i], over={i: N}))
    f = tw.function("f", outputs=[out, total])
    out.store_in("A[i]")
    with pytest.raises(tw.IllegalScheduleError, match="overwrites"):
        twice.store_in("A[i]")
    a = np.arange(4.0)
    assert f(a)[1] == 12
    np.testing.assert_array_equal(a, np.arange(4.0))


def test_phi():
    first = tw.computation("first", {i: N}, A[i])
    steps = tw.computation(
        "steps", {i: N, k: K}, lambda s: tw.phi(first[i], s[i, k - 1]) + k, dtype=tw.float64
    )
    out = tw.view("out", {i: N}, tw.phi(first[i], steps[i, K - 1]))
    f = tw.function("f", outputs=[out])
    a = np.arange(4.0)
    np.testing.assert_array_equal(both_agree(f, a, K=6), a + 15)
    np.testing.assert_array_equal(both_agree(f, a, K=0), a)


def test_reads_at_computed_subscripts():
    index = tw.input("index", [N], tw.int64)
    V = tw.view("V", {i: N}, A[N - 1 - i])
    C = tw.computation("C", {i: N}, V[index[i]])
    f = tw.function("f", inputs=[A, index], outputs=[C])
    a, p = np.arange(4.0), np.array([3, 0, 1, 1])
    np.testing.assert_array_equal(f(a, p), a[::-1][p])
    assert "V" not in str(f.loops)
    for wrong in (-1, 4, 2**63 - 1, -(2**63)):
        p[2] = wrong
        with pytest.raises(tw.SubscriptError):
            f(a, p)


def test_a_gather_is_a_view():
    index = tw.input("index", [N], tw.int64)
    V = tw.view("V", {i: N}, B[index[i]])
    C = tw.computation("C", {i: N}, V[N - 1 - i] + 1)
    f = tw.function("f", outputs=[C])
    b, p = np.arange(4.0), np.array([3, 0, 1, 1, 2])
    np.testing.assert_array_equal(f(b, p), b[p][::-1] + 1)
    assert "V" not in str(f.loops)
    with pytest.raises(IndexError):
        f(b, p + 1)


def test_views_of_views_in_a_circle():
    V = tw.view("V", {i: N}, None, dtype=tw.float64)
    W = tw.view("W", {i: N}, [(i == 0, A[0]), (i > 0, V[i - 1])])
    V.define(None, W[i])
    out = tw.computation("out", {i: N}, V[i] + 1)
    f = tw.function("f", outputs=[out])
    a = np.arange(4.0)
    np.testing.assert_array_equal(both_agree(f, a), np.full(4, a[0] + 1))


def test_a_view_that_is_an_output_and_read():
    out = tw.view("out", {i: N, j: M}, X[i, M - 1 - j])
    total = tw.computation("total", {i: N}, tw.sum(out[i, j], over={j: M}))
    f = tw.function("f", outputs=[out, total])
    x = np.arange(12.0).reshape(3, 4)
    got = f(x)
    np.testing.assert_array_equal(got[0], x[:, ::-1])
    np.testing.assert_array_equal(got[1], x.sum(1))


def test_isl_text_and_pieces():
    V = tw.view(
        "[N] -> { V[i] : 0 <= i < N }",
        [
            ("[N] -> { V[i] : i < 1 and 0 <= i < N }", A[N - 1]),
            ("[N] -> { V[i] : 1 <= i < N }", A[i - 1]),
        ],
    )
    C = tw.computation("C", {i: N}, V[i])
    f = tw.function("f", outputs=[C])
    a = np.arange(4.0)
    np.testing.assert_array_equal(both_agree(f, a), np.roll(a, 1))


def test_copies_of_views():
    left = tw.computation("left", {i: N}, A[i] + 1)
    out = tw.view("out", {i: N}, left[N - 1 - i])
    f = tw.function("f", outputs=[out])
    g = pickle.loads(pickle.dumps(f))
    a = np.arange(3.0)
    np.testing.assert_array_equal(g(a), (a + 1)[::-1])
    assert str(g.loops) == str(f.loops) and "left" not in str(f.loops)


def test_schedules_of_several_writers_on_the_emulator():
    left = tw.computation("left", {i: N}, A[i] + 1)
    right = tw.computation("right", {j: M}, B[j] * 2)
    out = tw.view("out", {i: N + M}, [(i < N, left[i]), (i >= N, right[i - N])])
    f = tw.function("f", outputs=[out], target="gpu-emulator")
    left.split(i, 4).gpu("i0", "i1")
    right.split(j, 4).gpu("j0", "j1")
    a, b = np.arange(6.0), np.arange(10.0, 19.0)
    np.testing.assert_array_equal(both_agree(f, a, b), np.concatenate([a + 1, b * 2]))


def test_what_a_view_cannot_do():
    C = tw.computation("C", {i: N}, A[i] * 2)
    with pytest.raises(tw.DeclarationError, match=r"the view V computes A\[i\] \+ 1"):
        tw.view("V", {i: N}, A[i] + 1)
    with pytest.raises(tw.DeclarationError, match=r"chooses by .*which is not affine"):
        tw.view("V", {i: N}, tw.select(A[i] > 0, A[i], C[i]))
    with pytest.raises(tw.DeclarationTypeError, match="converts nothing"):
        tw.view("V", {i: N}, A[i], dtype=tw.float32)
    with pytest.raises(tw.DomainError):
        tw.view("V", {i: N + 1}, A[i])
    with pytest.raises(tw.DeclarationError, match=r"overlap|both"):
        tw.view("V", {i: N}, [(i < 2, A[i]), (i > 0, A[i])])
    with pytest.raises(tw.DeclarationError, match="phi chooses among reads"):
        tw.phi(A[i], A[i] + 1)
    with pytest.raises(tw.DeclarationTypeError, match="not 3"):
        tw.phi(A[i], 3)
    with pytest.raises(tw.DeclarationError, match="phi needs reads"):
        tw.phi()


def test_commands_for_what_makes_no_statement():
    V = tw.view("V", {i: N}, A[N - 1 - i])
    C = tw.computation("C", {i: N}, V[i] + 1)
    f = tw.function("f", outputs=[C])
    with pytest.raises(tw.ScheduleError, match="V is a view"):
        V.split(i, 4)
    with pytest.raises(tw.ScheduleError, match="V is a view"):
        C.after(V, i)
    np.testing.assert_array_equal(f(np.arange(3.0)), np.arange(3.0)[::-1] + 1)


def test_a_view_that_is_asked_for_says_what_it_is():
    V = tw.view("V", {i: N}, A[i])
    f = tw.function("f", outputs=[tw.computation("C", {i: N}, 2 * V[i])])
    with pytest.raises(KeyError, match="V has no loops and no memory in f: it is a view"):
        f["V"]
    with pytest.raises(tw.ScheduleError, match="V has no loops and no memory in f: it is a view"):
        V.can("split", i, 2)
    with pytest.raises(KeyError, match="no computation 'W'; it has C"):
        f["W"]


def gathered(view, rows=None):
    index = tw.input("index", [K], tw.int32)
    at = (index[k],) if rows is None else (rows, index[k])
    return tw.function("gathered", outputs=[tw.computation("C", {k: K}, 2 * view[at])])


@pytest.mark.parametrize("wrong", [-1, 7, 3000])
def test_a_computed_subscript_reads_through(wrong):
    V = tw.view("V", {i: N + M}, [(i < N, A[i]), (i >= N, B[i - N])])
    f = gathered(V)
    assert "V" not in str(f.loops)
    a, b = np.arange(3.0), np.arange(10.0, 14.0)
    index = np.array([6, 0, 2, 3, 3], np.int32)
    np.testing.assert_array_equal(both_agree(f, a, b, index), 2 * np.concatenate([a, b])[index])
    index[2] = wrong
    for call in (f, f.evaluate):
        with pytest.raises(tw.SubscriptError, match=r"C\[2\]"):
            call(a, b, index)


def test_a_computed_subscript_in_a_transposed_view():
    V = tw.view("V", {j: M, i: N}, X[i, j])
    f = gathered(V, rows=k % M)
    assert "V" not in str(f.loops)
    x, index = np.arange(12.0).reshape(4, 3), np.array([3, 0, 1, 2, 2], np.int32)
    np.testing.assert_array_equal(both_agree(f, x, index), 2 * x[index, np.arange(5) % 3])


@pytest.mark.parametrize(
    "view",
    [
        lambda: tw.view("V", {i: N - 1}, A[i + 1]),  # -1 would be A[0]
        lambda: tw.view("V", {i: (0, 2 * N, 2)}, A[i // 2]),  # 1 is between two elements
        lambda: tw.view("V", {i: (N + 1) // 2}, A[2 * i]),  # -(2**63) would be A[0]
        lambda: tw.view("V", {i: N}, [(i < N - 1, A[i]), (i == N - 1, A[0])]),  # N would be A[0]
    ],
)
def test_what_is_no_element_of_a_view_is_not_read(view):
    """The array that it shows has an element there, so the view keeps a copy of its own."""
    f = gathered(view())
    assert "V = empty" in str(f.loops)
    a = np.arange(1.0, 6.0)
    index = np.array([0, 2], np.int32)
    both_agree(f, a, index)
    for wrong in (-1, 10):
        index[0] = wrong
        for call in (f, f.evaluate):
            with pytest.raises(tw.SubscriptError, match="V"):
                call(a, index)


def test_a_computed_subscript_into_what_the_reader_makes():
    """Each row takes its elements from the rows before it: with elements that data choose, all of S would seem to need
    itself, so the view keeps its values."""
    index = tw.input("index", [N], tw.int32)
    S = tw.computation("S", {i: N, j: M}, dtype=tw.float64)
    V = tw.view("V", {i: N, j: M}, [(i == 0, X[0, j]), (i > 0, S[i - 1, j])])
    S.define(i >= 0, V[i, index[i]] + X[i, j])
    f = tw.function("f", outputs=[tw.computation("out", {i: N, j: M}, S[i, j])])
    x, at = np.arange(12.0).reshape(4, 3), np.array([2, 0, 1, 1], np.int32)
    expected, before = [], x[0]
    for row, column in zip(x, at, strict=True):
        before = before[column] + row
        expected.append(before)
    np.testing.assert_array_equal(both_agree(f, x, at), expected)
