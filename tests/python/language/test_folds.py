"""tw.fold: reductions that combine by a function of the caller, against loops of Python."""

import functools

import numpy as np
import pytest

import tilewright as tw
from tilewright import _core
from tilewright.language.expressions import operand

i, j, k, l = tw.iters("i j k l")
N, M, K = tw.params("N M K")

rng = np.random.default_rng(0)


def checked(f, *arrays, exact=True, **sizes):
    """The compiled values; the evaluator gives the same ones."""
    evaluated, compiled = f.evaluate(*arrays, **sizes), f(*arrays, **sizes)
    several = len(f.outputs) > 1
    for one, other in zip(evaluated, compiled, strict=True) if several else [(evaluated, compiled)]:
        assert one.dtype == other.dtype
        if exact:
            np.testing.assert_array_equal(other, one)
        else:
            np.testing.assert_allclose(other, one, rtol=1e-5)
    return compiled


def matrix(rows, columns, dtype=np.float64):
    return rng.integers(-9, 10, (rows, columns)).astype(dtype)


def horner(**options):
    """y[i] = ((c[0] x[i] + c[1]) x[i] + c[2]) ..., a fold of one state."""
    c, x = tw.input("c", [K], tw.float64), tw.input("x", [N], tw.float64)
    value = tw.fold(lambda s, v: s * x[i] + v, 0.0, c[k], over={k: K}, **options)
    return tw.computation("y", {i: N}, value)


def function(computation, **options):
    return tw.function("f", outputs=[computation], **options)


SCHEDULES = {
    "declared": lambda y: y,
    "parallel": lambda y: y.parallelize("i"),
    "vector": lambda y: y.interchange("i", "k").vectorize("i", 4),
    "rows last": lambda y: y.interchange("i", "k"),
    "tiles": lambda y: y.tile("i", "k", 4, 3),
    "split": lambda y: y.split("k", 4).unroll("k1", 4),
    "reversed rows": lambda y: y.reverse("i").shift("i", 2),
    "skewed": lambda y: y.skew("i", "k", 1),
}


class TestOneState:
    @pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
    def test_under_schedules(self, schedule):
        f = function(horner(), default_schedule=False)
        schedule(f["y"])
        for terms, count in ((5, 11), (1, 3), (0, 4), (7, 0)):
            c, x = rng.random(terms), rng.random(count)
            np.testing.assert_allclose(checked(f, c, x), np.polyval(c, x), rtol=1e-12)

    def test_by_default(self):
        f = function(horner())
        c, x = rng.random(6), rng.random(100)
        np.testing.assert_allclose(checked(f, c, x), np.polyval(c, x), rtol=1e-12)

    def test_has_a_loop_for_its_terms(self):
        f = function(horner(), default_schedule=False)
        assert "for k" in str(f.loops)
        f["y"].interchange("i", "k")
        text = str(f.loops)
        assert text.index("for k") < text.rindex("for i")

    @pytest.mark.parametrize("order", [lambda y: y.reverse("k"), lambda y: y.vectorize("k", 4)])
    def test_terms_keep_their_order(self, order):
        f = function(horner())
        with pytest.raises(tw.IllegalScheduleError, match="takes its terms in order"):
            order(f["y"])

    def test_parallel_terms_are_refused(self):
        f = function(horner())
        with pytest.raises(tw.IllegalScheduleError, match="takes its terms in order"):
            f["y"].parallelize("k")

    def test_epilogue(self):
        c, x = tw.input("c", [K], tw.float64), tw.input("x", [N], tw.float64)
        value = tw.fold(lambda s, v: s * x[i] + v, 0.0, c[k], over={k: K})
        f = function(tw.computation("y", {i: N}, tw.maximum(2 * value - x[i], 0)))
        c, x = rng.random(6) - 0.5, rng.random(100)
        np.testing.assert_allclose(
            checked(f, c, x), np.maximum(2 * np.polyval(c, x) - x, 0), rtol=1e-12
        )

    def test_initial_value_reads(self):
        """The old element is where the sum begins, over no terms, too."""
        A, old = tw.input("A", [N, K], tw.float64), tw.input("old", [N], tw.float64)
        total = tw.fold(lambda s, v: 0.5 * s + v, old[i], A[i, k], over={k: K})
        f = function(tw.computation("y", {i: N}, total))
        for terms in (0, 1, 5):
            a, before = matrix(6, terms), rng.random(6)
            wanted = functools.reduce(lambda s, v: 0.5 * s + v, a.T, before)
            np.testing.assert_array_equal(checked(f, a, before), wanted)

    def test_initial_value_in_place(self):
        """`out` may be the array in which the fold begins."""
        A, old = tw.input("A", [N, K], tw.float64), tw.input("old", [N], tw.float64)
        total = tw.fold(lambda s, v: 0.5 * s + v, old[i], A[i, k], over={k: K})
        f = function(tw.computation("y", {i: N}, total))
        a, before = matrix(6, 3), rng.random(6)
        wanted = f(a, before)
        f(a, before, out=before)
        np.testing.assert_array_equal(before, wanted)

    def test_conditions(self):
        x, keep = tw.input("x", [N, K], tw.int64), tw.input("keep", [K], tw.int32)
        value = tw.fold(
            lambda s, v: 3 * s + v, 1, x[i, k], over={k: K}, where=(k < i + 2) & (keep[k] > 0)
        )
        f = function(tw.computation("y", {i: N}, value))
        a, mask = matrix(7, 6, np.int64), np.array([1, 0, 1, 1, 0, 1], np.int32)
        wanted = [
            functools.reduce(
                lambda s, p, r=r: 3 * s + a[r, p],
                [p for p in range(6) if p < r + 2 and mask[p]],
                1,
            )
            for r in range(7)
        ]
        np.testing.assert_array_equal(checked(f, a, mask), wanted)

    def test_ranges_of_data(self):
        """The last entry of each row of a sparse matrix."""
        row, v = tw.input("row", [N + 1], tw.int64), tw.input("v", [M], tw.float64)
        last = tw.fold(lambda s, value: value, -1.0, v[k], over={k: (row[i], row[i + 1])})
        f = function(tw.computation("y", {i: N}, last))
        ends, values = np.array([0, 2, 2, 5]), rng.random(5)
        np.testing.assert_array_equal(checked(f, ends, values), [values[1], -1, values[4]])

    def test_on_a_gpu(self):
        f = function(horner(), target="gpu-emulator", default_schedule=False)
        f["y"].split("i", 32).gpu_block("i0").gpu_thread("i1")
        c, x = rng.random(6), rng.random(70)
        np.testing.assert_allclose(f(c, x), np.polyval(c, x), rtol=1e-12)

    def test_scatter(self):
        """out[at[p]] = v[p]: the last write stays."""
        at, v = tw.input("at", [M], tw.int64), tw.input("v", [M], tw.float64)
        old = tw.input("old", [N], tw.float64)
        written = tw.fold(lambda s, value: value, old[i], v[k], over={k: M}, where=at[k] == i)
        f = function(tw.computation("y", {i: N}, written))
        where, values, before = np.array([3, 1, 3, 0]), np.arange(4.0), np.full(5, 9.0)
        wanted = before.copy()
        wanted[where] = values
        np.testing.assert_array_equal(checked(f, where, values, before), wanted)

    def test_recurrence_is_inline(self):
        """A fold that reads its own computation is computed where it stands."""
        L, b = tw.input("L", [N, N], tw.float64), tw.input("b", [N], tw.float64)
        s = tw.computation(
            "s",
            {i: N},
            lambda s: tw.fold(lambda t, v: t - v, b[i], L[i, k] * s[k], over={k: (0, i)}),
            dtype=tw.float64,
        )
        f = function(s)
        lower, right = np.tril(matrix(6, 6), -1) * 0.1, rng.random(6)
        wanted = np.linalg.solve(np.eye(6) + lower, right)
        np.testing.assert_allclose(checked(f, lower, right), wanted, rtol=1e-10)


def welford(mean, squares, count, value):
    change = value - mean
    mean = mean + change / (count + 1)
    return mean, squares + change * (value - mean), count + 1


class TestSeveralStates:
    def test_mean_and_variance(self):
        x = tw.input("x", [N, K], tw.float64)
        mean, squares, count = tw.fold(welford, (0.0, 0.0, 0), x[i, k], over={k: K})
        f = tw.function(
            "f",
            outputs=[
                tw.computation("mean", {i: N}, mean),
                tw.computation("variance", {i: N}, squares / count),
            ],
        )
        a = rng.random((9, 40))
        means, variances = checked(f, a)
        np.testing.assert_allclose(means, a.mean(axis=1))
        np.testing.assert_allclose(variances, a.var(axis=1))

    def test_largest_with_its_place(self):
        """Over two iterators, with the value."""
        x = tw.input("x", [N, M], tw.int64)
        best, row, column = tw.fold(
            lambda best, row, column, value, a, b: (
                tw.maximum(best, value),
                tw.select(value > best, a, row),
                tw.select(value > best, b, column),
            ),
            (tw.cast(np.iinfo(np.int64).min, tw.int64), -1, -1),
            (x[k, l], k, l),
            over={k: N, l: M},
        )
        outputs = [
            tw.computation(name, {}, value)
            for name, value in (("best", best), ("row", row), ("column", column))
        ]
        f = tw.function("f", outputs=outputs)
        a = matrix(8, 9, np.int64)
        wanted = np.unravel_index(a.argmax(), a.shape)
        assert tuple(int(v) for v in checked(f, a)) == (a.max(), *wanted)

    def test_largest_two(self):
        x = tw.input("x", [N, K], tw.float64)
        low = -np.inf
        first, second = tw.fold(
            lambda a, b, v: (tw.maximum(a, v), tw.maximum(b, tw.minimum(a, v))),
            (low, low),
            x[i, k],
            over={k: K},
        )
        f = tw.function(
            "f",
            outputs=[
                tw.computation("first", {i: N}, first),
                tw.computation("second", {i: N}, second),
            ],
        )
        a = rng.random((5, 8))
        largest = np.sort(a, axis=1)[:, ::-1]
        for found, wanted in zip(checked(f, a), (largest[:, 0], largest[:, 1]), strict=True):
            np.testing.assert_array_equal(found, wanted)

    def test_states_change_at_once(self):
        """Fibonacci's numbers: neither state sees the other's new value."""
        f = tw.function(
            "f",
            outputs=[
                tw.computation(
                    "fibonacci", {i: N}, tw.fold(lambda a, b: (b, a + b), (0, 1), over={k: i})[0]
                )
            ],
        )
        np.testing.assert_array_equal(checked(f, N=8), [0, 1, 1, 2, 3, 5, 8, 13])

    def test_over_nothing(self):
        a, b = tw.fold(lambda a, b: (a + 1, b * 2), (i, 7), over={k: K})
        f = tw.function(
            "f", outputs=[tw.computation("a", {i: N}, a), tw.computation("b", {i: N}, b)]
        )
        found = checked(f, N=3, K=0)
        np.testing.assert_array_equal(found[0], [0, 1, 2])
        np.testing.assert_array_equal(found[1], [7, 7, 7])

    def test_inside_each_other(self):
        x = tw.input("x", [N, K], tw.int64)
        row = tw.fold(lambda s, v: 2 * s + v, 0, x[l, k], over={k: K})
        total = tw.fold(lambda s, t: 3 * s[0] if False else 3 * s + t, 1, row, over={l: N})
        f = function(tw.computation("y", {}, total))
        a = matrix(4, 5, np.int64)
        rows = [functools.reduce(lambda s, v: 2 * s + v, r, 0) for r in a]
        assert checked(f, a) == functools.reduce(lambda s, t: 3 * s + t, rows, 1)


class TestAssociative:
    def total(self, **options):
        x = tw.input("x", [N, K], tw.int64)
        value = tw.fold(
            lambda a, b: a + b + a * b, 0, x[i, k], over={k: K}, associative=True, **options
        )
        return tw.computation("y", {i: N}, value)

    @staticmethod
    def wanted(a):
        return functools.reduce(lambda s, v: s + v + s * v, a.T, np.zeros(len(a), np.int64))

    @pytest.mark.parametrize(
        "schedule",
        [
            lambda f: f["y"].reverse("k"),
            lambda f: f["y"].interchange("i", "k").parallelize("i"),
            lambda f: f["y"].split("k", 4, "k0", "k1").interchange("k0", "k1"),
            lambda f: f["y"].split("k", 4, "k0", "k1").rfactor("k0", "part").parallelize("k0"),
            lambda f: f["y"].split("k", 4, "k0", "k1").rfactor("k1", "part").vectorize("k1", 4),
            lambda f: f["y"].rfactor("k", "part"),
        ],
    )
    def test_terms_in_any_order(self, schedule):
        f = function(self.total(), default_schedule=False)
        schedule(f)
        for terms in (0, 1, 4, 13):
            a = matrix(6, terms, np.int64)
            np.testing.assert_array_equal(checked(f, a), self.wanted(a))

    def test_partial_results_with_a_condition(self):
        f = function(self.total(where=k >= i), default_schedule=False)
        f["y"].split("k", 4, "k0", "k1").rfactor("k0", "part").parallelize("k0")
        a = matrix(6, 13, np.int64)
        kept = np.where(np.arange(13) >= np.arange(6)[:, None], a, 0)
        np.testing.assert_array_equal(checked(f, a), self.wanted(kept))

    @pytest.mark.parametrize("tag", ["parallelize", "vectorize"])
    def test_not_at_once_in_one_element(self, tag):
        f = function(self.total(), default_schedule=False)
        with pytest.raises(tw.IllegalScheduleError, match="both combine a term with the same"):
            getattr(f["y"], tag)("k", *([4] if tag == "vectorize" else []))


class TestErrors:
    x = tw.input("x", [N, K], tw.float64)

    def refused(self, error, match, *arguments, **options):
        with pytest.raises(error, match=match):
            tw.fold(*arguments, **options)

    def test_no_iterators(self):
        self.refused(
            tw.DeclarationTypeError, "tw.fold needs the iterators", lambda s, v: s, 0, self.x[i, k]
        )

    def test_no_states(self):
        self.refused(
            tw.DeclarationError, "at least one state", lambda: (), (), self.x[i, k], over={k: K}
        )

    def test_another_number_of_states(self):
        self.refused(
            tw.DeclarationTypeError,
            "combine of tw.fold must give a tuple of 2 states",
            lambda a, b, v: a,
            (0, 0),
            self.x[i, k],
            over={k: K},
        )

    def test_no_function(self):
        self.refused(tw.DeclarationTypeError, "combine of tw.fold", 3, 0, over={k: K})

    def test_associative_of_another_number_of_values(self):
        self.refused(
            tw.DeclarationError,
            "as many values as there are states: 1, not 0",
            lambda s: s + self.x[i, k],
            0.0,
            over={k: K},
            associative=True,
        )

    def test_associative_by_one_term(self):
        self.refused(
            tw.DeclarationTypeError,
            "uses k, an iterator that it reduces over",
            lambda a, b: a + b * k,
            0.0,
            self.x[i, k],
            over={k: K},
            associative=True,
        )

    def test_a_state_outside(self):
        kept = []
        tw.fold(lambda s: kept.append(s) or s, 0.0, over={k: K})
        with pytest.raises(tw.DeclarationError, match="state variable of a while_loop or a fold"):
            tw.computation("y", {i: N}, kept[-1])

    def test_iterator_of_another_scope(self):
        value = tw.fold(lambda s, v: s + v, self.x[i, k], self.x[i, k], over={k: K})
        with pytest.raises(tw.DeclarationError, match="iterator k"):
            tw.computation("y", {i: N}, value)

    @pytest.mark.parametrize("command", [lambda y: y.rfactor("k"), lambda y: y.atomic()])
    def test_commands_for_sums(self, command):
        f = function(horner())
        with pytest.raises(tw.ScheduleError, match="fold"):
            command(f["y"])


def test_text():
    x = tw.input("x", [N, K], tw.float64)
    value = tw.fold(lambda s, v: 2 * s + v, 0.0, x[i, k], over={k: K}, where=k < i)
    assert str(value) == ("fold(s -> 2.0 * s + x[i, k] for k in range(0, K) if k < i, initial=0.0)")
    pair = tw.fold(lambda a, b: (b, a), (0, 1), over={k: K})
    assert str(pair[1]) == "fold(a -> b, b -> a for k in range(0, K), initial=(0, 1))[1]"


def test_kinds():
    value = tw.fold(lambda s: s + 1, 0, over={k: K})
    assert operand(value).kind == "fold"
    assert _core.Op.ReduceFold is not None


def test_copies_do_not_share_states():
    """An inlined fold that is read at a subscript that is made of it, too."""
    x = tw.input("x", [N, K], tw.int64)
    D = tw.computation("D", {i: N}, tw.fold(lambda s, v: (s + v) % 4, 0, x[i, k], over={k: K}))
    E = tw.computation("E", {i: N}, D[D[i] % N] + D[i])
    f = tw.function("f", outputs=[E], default_schedule=False)
    a = rng.integers(0, 4, (5, 3))
    d = functools.reduce(lambda s, v: (s + v) % 4, a.T, np.zeros(5, np.int64))
    np.testing.assert_array_equal(checked(f, a), d[d % 5] + d)


class TestInitialValuesOfReductions:
    """initial= of tw.sum and others, as of np.sum."""

    x = tw.input("x", [N, K], tw.float32)
    old = tw.input("old", [N], tw.float32)

    def run(self, value, *arrays, **options):
        return checked(function(tw.computation("y", {i: N}, value), **options), *arrays)

    @pytest.mark.parametrize("name", ["sum", "prod", "min", "max"])
    def test_as_numpy_has_it(self, name):
        value = getattr(tw, name)(self.x[i, k], over={k: K}, initial=2)
        for terms in (0, 5):
            a = matrix(4, terms, np.float32)
            found = self.run(value, a)
            assert found.dtype == np.float32
            np.testing.assert_array_equal(found, getattr(np, name)(a, axis=1, initial=2))

    def test_an_element(self):
        value = tw.sum(self.x[i, k], over={k: K}, initial=self.old[i])
        a, before = matrix(4, 5, np.float32), rng.random(4, np.float32)
        np.testing.assert_allclose(self.run(value, a, before), before + a.sum(axis=1), rtol=1e-6)

    def test_comes_first_in_order(self):
        value = tw.sum(self.x[i, k], over={k: K}, initial=self.old[i], ordered=True)
        a, before = rng.random((4, 50), np.float32), 100 * rng.random(4, np.float32)
        wanted = functools.reduce(lambda s, v: s + v, a.T, before)
        np.testing.assert_array_equal(self.run(value, a, before), wanted)

    def test_narrow_integers_are_summed_in_int64(self):
        n = tw.input("n", [N, K], tw.int8)
        for ordered in (False, True):
            value = tw.sum(n[i, k], over={k: K}, initial=100, ordered=ordered)
            a = np.full((3, 5), 100, np.int8)
            found = self.run(value, a)
            assert found.dtype == np.int64
            np.testing.assert_array_equal(found, [600] * 3)

    def test_of_several_values(self):
        with pytest.raises(tw.DeclarationTypeError, match="either several values"):
            tw.max(self.x[i, k], 2, initial=3)


@pytest.mark.parametrize("first", [0, 0.0], ids=str)
@pytest.mark.parametrize(
    "dtype",
    [tw.float16, tw.bfloat16, tw.float32, tw.float64, tw.complex64, tw.int8, tw.uint64, tw.int64],
    ids=str,
)
def test_numbers_do_not_widen_what_is_combined(dtype, first):
    """As beside an operand in NumPy; integers are kept in 64 bits."""
    v = tw.input("v", [K], dtype)
    value = tw.fold(lambda s, x: s + x, first, v[k], over={k: K})
    plain = tw.cast(0, dtype) + first
    exact = isinstance(first, int) and np.issubdtype(plain.dtype.dtype, np.integer)
    wide = tw.uint64 if dtype == tw.uint64 else tw.int64
    assert value.dtype == (wide if exact else plain.dtype)


def test_numbers_alone_are_wide():
    for first, wanted in ((0, tw.int64), (0.0, tw.float64), (False, tw.bool)):
        assert tw.fold(lambda s: s, first, over={k: K}).dtype == wanted
    mean, count = tw.fold(
        lambda m, n, v: (m + (v - m) / (n + 1), n + 1),
        (0.0, 0),
        tw.input("v", [K], tw.float32)[k],
        over={k: K},
    )
    assert count.dtype == tw.int64
    assert mean.dtype == tw.float64  # as float32 / int64 is in NumPy


def test_a_fold_written_twice_is_computed_once():
    x = tw.input("x", [K], tw.float64)

    def difference():
        return tw.fold(lambda s: x[k] - s, 0.5, over={k: K})

    def moments():
        start = (0.0, 0.0)
        return tw.fold(lambda n, m, v: (n + 1, m + n * v), start, x[k], over={k: K})

    values = np.arange(5) / 4
    for value in (difference() / (difference() + 3), moments()[1] - moments()[0] / moments()[1]):
        f = tw.function("f", outputs=[tw.computation("C", {}, value)])
        assert str(f.loops).count("for k in") == 1
        assert f(values) == f.evaluate(values)
