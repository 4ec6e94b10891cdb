"""parallelize and vectorize of loops over terms, by partial results; folds that are not commutative."""

import functools
import pickle

import numpy as np
import pytest

import tilewright as tw
from refusals import raises

i, j, k, l = tw.iters("i j k l")
N, M, K = tw.params("N M K")
rng = np.random.default_rng(19)


def compose(slope, offset, other_slope, other_offset):
    """x -> slope x + offset, and then the other one."""
    return slope * other_slope, offset * other_slope + other_offset


def composed(**options):
    """The composition of K affine maps in each row: associative, and not commutative."""
    a, b = tw.input("a", [N, K], tw.int64), tw.input("b", [N, K], tw.int64)
    _, offset = tw.fold(
        compose, (1, 0), (a[i, k], b[i, k]), over={k: K}, associative=True, commutative=False
    )
    return tw.function("f", outputs=[tw.computation("C", {i: N}, offset)], **options)


def last(**options):
    """The last entry that is not 0."""
    x = tw.input("x", [K], tw.float64)
    value = tw.fold(
        lambda s, v: tw.select(v == 0, s, v),
        0.0,
        x[k],
        over={k: K},
        associative=True,
        commutative=False,
    )
    return tw.function("f", outputs=[tw.computation("C", {}, value)], **options)


def total(kind="sum", **options):
    x = tw.input("x", [N, K], tw.int64)
    if kind == "sum":
        value = tw.sum(x[i, k], over={k: K})
    elif kind == "ordered":
        value = tw.sum(x[i, k], over={k: K}, ordered=True)
    elif kind == "fold":
        value = tw.fold(lambda a, b: a + b + a * b, 0, x[i, k], over={k: K}, associative=True)
    else:
        value = tw.argmax(x[i, k], over={k: K})
    return tw.function("f", outputs=[tw.computation("C", {i: N}, value)], **options)


WANTED = {
    "sum": lambda a: a.sum(axis=1),
    "fold": lambda a: functools.reduce(lambda s, v: s + v + s * v, a.T, np.zeros(len(a), np.int64)),
    "argmax": lambda a: a.argmax(axis=1) if a.shape[1] else np.full(len(a), -1),
}
SIZES = ((5, 0), (3, 1), (4, 7), (2, 8), (3, 33), (0, 4))


def kept(a):
    """What is less than 7; -10, less than all, for the others."""
    return np.where(a < 7, a, -10)


def maps(rows, terms):
    return rng.integers(-9, 10, (rows, terms)), rng.integers(-9, 10, (rows, terms))


def compositions(a, b):
    value = np.zeros(len(a), np.int64)
    for slope, offset in zip(a.T, b.T, strict=True):
        value = value * slope + offset
    return value


IN_ORDER = {
    "declared": lambda f: f,
    "rows": lambda f: f["C"].interchange("i", "k").vectorize("i", 4),
    "threads": lambda f: f["C"].parallelize("k", partial=4),
    "one block": lambda f: f["C"].parallelize("k", partial=1000),
    "lanes": lambda f: f["C"].vectorize("k", 4, partial=3),
    "blocks of rows": lambda f: (
        f["C"].split("k", 4).rfactor("k0", "P").interchange("i", "k0").parallelize("k0")
    ),
    "columns of blocks": lambda f: (
        f["C"].split("k", 4).rfactor("k0", "P").interchange("k0", "k1").vectorize("k0", 2)
    ),
}


class TestOrderOfTerms:
    @pytest.mark.parametrize("schedule", IN_ORDER.values(), ids=IN_ORDER)
    def test_compositions(self, schedule):
        f = composed(default_schedule=False)
        schedule(f)
        for size in SIZES:
            arrays = maps(*size)
            np.testing.assert_array_equal(f(*arrays), compositions(*arrays))
            np.testing.assert_array_equal(f.evaluate(*arrays), compositions(*arrays))

    def test_partial_results_twice(self):
        f = composed(default_schedule=False)
        f["C"].split("k", 2).rfactor("k0", "P")
        f["C"].split("k0", 3).rfactor("k00", "Q").parallelize("k00")
        for size in SIZES:
            arrays = maps(*size)
            np.testing.assert_array_equal(f(*arrays), compositions(*arrays))

    def test_products_of_matrices(self):
        a = tw.input("a", [K, 2, 2], tw.int64)
        of = tuple(a[k, r, c] for r in (0, 1) for c in (0, 1))

        def product(p, q, r, s, t, u, v, w):
            return p * t + q * v, p * u + q * w, r * t + s * v, r * u + s * w

        results = tw.fold(
            product, (1, 0, 0, 1), of, over={k: K}, associative=True, commutative=False
        )
        outputs = [tw.computation(f"P{n}", {}, result) for n, result in enumerate(results)]
        f = tw.function("f", outputs=outputs, default_schedule=False)
        f["P0"].parallelize("k", partial=3)
        for count in (0, 1, 3, 10):
            matrices = rng.integers(-3, 4, (count, 2, 2))
            wanted = functools.reduce(np.matmul, matrices, np.eye(2, dtype=np.int64))
            assert [int(value) for value in f(matrices)] == list(wanted.ravel())

    def test_over_two_iterators(self):
        """The first iterator leads: its partial results are in order, those of the second are not."""
        x = tw.input("x", [M, K], tw.float64)
        value = tw.fold(
            lambda s, v: tw.select(v == 0, s, v),
            0.0,
            x[j, k],
            over={j: M, k: K},
            associative=True,
            commutative=False,
        )
        f = tw.function("f", outputs=[tw.computation("C", {}, value)], default_schedule=False)
        with pytest.raises(tw.IllegalScheduleError, match="takes its terms in order") as refusal:
            f["C"].rfactor("k")
        first, second = refusal.value.source_instance, refusal.value.sink_instance
        assert (first, second) == ("C[0,1]", "C[1,0]")
        f["C"].parallelize("j", partial=1)
        a = np.zeros((4, 5))
        a[1, 4], a[2, 0] = 3, 7
        assert f(a) == f.evaluate(a) == 7

    def test_conditions_on_data(self):
        x, keep = tw.input("x", [K], tw.float64), tw.input("keep", [K], tw.int32)
        value = tw.fold(
            lambda s, v: tw.select(v == 0, s, v),
            0.0,
            x[k],
            over={k: K},
            where=keep[k] > 0,
            associative=True,
            commutative=False,
        )
        f = tw.function("f", outputs=[tw.computation("C", {}, value)], default_schedule=False)
        f["C"].parallelize("k", partial=3)
        a, mask = np.arange(1.0, 12.0), np.array([1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0], np.int32)
        assert f(a, mask) == f.evaluate(a, mask) == 9

    @pytest.mark.parametrize("terms", [0, 1, 5, 70_000])
    def test_by_default(self, terms):
        """Threads have blocks of terms; there are no lanes."""
        f = last()
        assert "rfactor" in str(f.default_schedule)
        assert "vectorize" not in str(f.default_schedule)
        a = np.where(rng.random(terms) < 0.4, 0, rng.random(terms))
        assert f(a) == f.evaluate(a) == (a[a != 0][-1] if a.any() else 0)

    def test_rows_by_default(self):
        f = composed()
        arrays = maps(40, 100)
        np.testing.assert_array_equal(f(*arrays), compositions(*arrays))

    @pytest.mark.parametrize(
        "command",
        [
            lambda c: c.reverse("k"),
            lambda c: c.parallelize("k"),
            lambda c: c.vectorize("k", 4),
            lambda c: c.vectorize("k", 4, partial=True),
            lambda c: c.split("k", 4).rfactor("k1"),
            lambda c: c.split("k", 4).interchange("k0", "k1"),
        ],
    )
    def test_terms_keep_their_order(self, command):
        f = last(default_schedule=False)
        with pytest.raises(tw.IllegalScheduleError, match="takes its terms in order") as refusal:
            command(f["C"])
        assert refusal.value.source_instance and refusal.value.sink_instance

    def test_is_part_of_the_text_and_of_pickles(self):
        f = composed()
        assert "associative, commutative=False" in str(f.layers)
        again = pickle.loads(pickle.dumps(f))
        assert str(again.layers) == str(f.layers)
        arrays = maps(3, 9)
        np.testing.assert_array_equal(again(*arrays), compositions(*arrays))


class TestCommands:
    @pytest.mark.parametrize("kind", WANTED)
    @pytest.mark.parametrize(
        "command",
        [
            lambda c: c.parallelize("k", partial=4),
            lambda c: c.parallelize("k", "dynamic", 2, partial=3),
            lambda c: c.vectorize("k", 4, partial=True),
            lambda c: c.vectorize("k", 4, partial=5),
        ],
    )
    def test_values(self, kind, command):
        f = total(kind, default_schedule=False)
        command(f["C"])
        for size in SIZES:
            a = rng.integers(-9, 10, size)
            np.testing.assert_array_equal(f(a), WANTED[kind](a))

    def test_are_commands_of_the_schedule(self):
        f, g = total(default_schedule=False), total(default_schedule=False)
        f["C"].parallelize("k", partial=64)
        with g.transaction():
            g["C"].split("k", 64)
            g["C"].rfactor("k0", "C_partial")
            g["C_partial"].parallelize("k0")
        assert f.schedule == g.schedule
        again = total(default_schedule=False)
        f.schedule.apply_to(again)
        assert again.schedule == f.schedule
        assert "for k0 in range(0, (K + 63) // 64):  # parallel" in str(f.loops)

    def test_new_names(self):
        """Each time there are partial results of another name."""
        f = total(default_schedule=False)
        f["C"].parallelize("k", partial=64).parallelize("k0", partial=4)
        assert f.computations == ["C_partial", "C_partial2", "C"]
        a = rng.integers(-9, 10, (3, 1000))
        np.testing.assert_array_equal(f(a), a.sum(axis=1))

    def test_loops_that_are_blocks_already(self):
        f = total(default_schedule=False)
        f["C"].split("k", 16).parallelize("k0", partial=1)
        assert f["C_partial"].loops == ("i", "k0", "k1")

    def test_as_a_question(self):
        f = total("fold", default_schedule=False)
        assert not f["C"].can("parallelize", "k")
        assert f["C"].can("parallelize", "k", partial=8)
        assert f["C"].can("vectorize", "k", 8, partial=True)
        assert f["C"].loops == ("i", "k")

    @pytest.mark.parametrize("kind", ["sum", "fold", "argmax"])
    def test_refusals_name_them(self, kind):
        f = total(kind, default_schedule=False)
        with pytest.raises(tw.IllegalScheduleError, match="partial= of parallelize gives"):
            f["C"].parallelize("k")
        if kind != "sum":
            with pytest.raises(tw.IllegalScheduleError, match="partial= of vectorize gives"):
                f["C"].vectorize("k", 4)

    def test_what_has_no_partial_results(self):
        f = total("ordered", default_schedule=False)
        with pytest.raises(tw.IllegalScheduleError) as refusal:
            f["C"].parallelize("k")
        assert "partial=" not in str(refusal.value)
        with pytest.raises(tw.ScheduleError, match="is an ordered reduction"):
            f["C"].parallelize("k", partial=4)
        assert f["C"].loops == ("i", "k")

    def test_errors(self):
        f = total(default_schedule=False)
        c = f["C"]
        for match, call in (
            ("must run over the reduced iterators", lambda: c.parallelize("i", partial=4)),
            ("those of one loop, not of i, k", lambda: c.parallelize("i", "k", partial=4)),
            ("needs the number of lanes", lambda: c.vectorize("k", partial=True)),
            (
                "names the new loops itself",
                lambda: c.vectorize("k", 4, "a", "b", partial=True),
            ),
            ("no loop named 'm'", lambda: c.parallelize("m", partial=4)),
            ("at least 1", lambda: c.parallelize("k", partial=0)),
        ):
            with raises(tw.ScheduleError, match):
                call()
        for call in (
            lambda: c.parallelize("k", partial="4"),
            lambda: c.parallelize("k", partial=True),
        ):
            with pytest.raises(tw.ScheduleTypeError, match="terms of a partial result"):
                call()
        assert c.loops == ("i", "k") and len(f.schedule.commands) == 0

    def test_of_a_nest(self):
        x = tw.input("x", [N, K], tw.int64)
        first = tw.computation("A", {i: N}, tw.sum(x[i, k], over={k: K}))
        second = tw.computation("B", {i: N}, tw.max(x[i, k], over={k: K}))
        f = tw.function("f", outputs=[first, second], default_schedule=False)
        f["B"].after(f["A"], "i")
        with pytest.raises(tw.ScheduleError, match="not of A, B; give the command to f"):
            f.nest("A", "B").parallelize("k", partial=4)


class TestLanesByDefault:
    """Of folds over some of the terms: without a condition, machine code searches blocks of them."""

    def test_lanes_are_those_of_what_is_read(self):
        for dtype, lanes in ((tw.float64, 8), (tw.float32, 16), (tw.int8, 32)):
            x = tw.input("x", [N, K], dtype)
            value = tw.argmax(x[i, k], over={k: K}, where=x[i, k] < 7)
            f = tw.function("f", outputs=[tw.computation("y", {i: N}, value)])
            text = str(f.default_schedule)
            assert f'vectorize("k11", {lanes})' in text.splitlines()[2]
            a = rng.integers(-9, 10, (5, 100)).astype(x.dtype.name)
            assert (f(a) == kept(a).argmax(axis=1)).all()

    def test_vectors_become_one_before_its_lanes_do(self):
        x = tw.input("x", [N, K], tw.int64)
        value = tw.argmax(x[i, k], over={k: K}, where=x[i, k] < 7)
        f = tw.function("f", outputs=[tw.computation("C", {i: N}, value)])
        text = str(f.default_schedule)
        assert 'C_vector = C.rfactor("k11", "C_vector")\nC_vector.vectorize("k11", 8)' in text
        assert 'C_part.vectorize("k111", 2).after("C_vector", "i")' in text
        for size in (*SIZES, (3, 500)):
            a = rng.integers(-9, 10, size)
            wanted = [row.argmax() if len(row) and row.max() >= -9 else -1 for row in kept(a)]
            np.testing.assert_array_equal(f(a), wanted)
            np.testing.assert_array_equal(f.evaluate(a), wanted)

    def test_of_one_result(self):
        """Threads have blocks, and their lanes vectors of their own."""
        x = tw.input("x", [K], tw.float64)
        value = tw.argmin(x[k], over={k: K}, where=x[k] > 0.5)
        f = tw.function("f", outputs=[tw.computation("C", {}, value)])
        text = str(f.default_schedule)
        for name in ("C_blocks", "C_lanes", "C_vector"):
            assert f'{name}.parallelize("k0")' in text
        for terms in (1, 31, 70_001):
            a = rng.random(terms)
            wanted = np.where(a > 0.5, a, 2).argmin() if (a > 0.5).any() else -1
            assert f(a) == f.evaluate(a) == wanted

    @pytest.mark.parametrize("kind", ["argmax", "argmin"])
    def test_searches_keep_their_loop(self, kind):
        """Threads have rows, or blocks of one; the loop over the terms is left to machine code."""
        x = tw.input("x", [N, K], tw.float64)
        rows = tw.computation("y", {i: N}, getattr(tw, kind)(x[i, k], over={k: K}))
        v = tw.input("v", [K], tw.float64)
        one = tw.computation("C", {}, getattr(tw, kind)(v[k], over={k: K}))
        text = str(tw.function("f", outputs=[rows]).default_schedule)
        assert 'y.parallelize("i")' in text and "rfactor" not in text
        text = str(tw.function("g", outputs=[one]).default_schedule)
        assert 'C_blocks.parallelize("k0")' in text and "vectorize" not in text
        f, g = tw.function("f", outputs=[rows]), tw.function("g", outputs=[one])
        for terms in (1, 31, 70_001):
            a = rng.random((2, terms))
            np.testing.assert_array_equal(f(a), getattr(a, kind)(axis=1))
            assert g(a[0]) == getattr(a[0], kind)()
