"""Folds of several states, argmin and argmax: loops of their own, under commands, beside NumPy and the evaluator."""

import pickle

import numpy as np
import pytest

import tilewright as tw

i, j, k, l = tw.iters("i j k l")
N, M, K = tw.params("N M K")

rng = np.random.default_rng(3)
SHAPES = [(0, 5), (5, 0), (1, 1), (4, 7), (9, 40), (33, 200)]


def welford(mean, squares, count, value):
    change = value - mean
    mean = mean + change / (count + 1)
    return mean, squares + change * (value - mean), count + 1


def merged(mean, squares, count, mean2, squares2, count2):
    """Two results of Welford's method (Chan, Golub and LeVeque)."""
    both = count + count2
    share = tw.select(both > 0, count2 / tw.maximum(both, 1), 0.0)
    change = mean2 - mean
    return mean + change * share, squares + squares2 + change * change * count * share, both


def variance(associative=False, **options):
    x = tw.input("x", [N, K], tw.float64)
    if associative:
        mean, squares, count = tw.fold(
            merged, (0.0, 0.0, 0), (x[i, k], 0.0, 1), over={k: K}, associative=True
        )
    else:
        mean, squares, count = tw.fold(welford, (0.0, 0.0, 0), x[i, k], over={k: K})
    value = tw.select(count > 0, squares / tw.maximum(count, 1), 0.0) + 0 * mean
    return tw.function("f", outputs=[tw.computation("var", {i: N}, value)], **options)


def largest(dtype=tw.float64, name="argmax", **options):
    x = tw.input("x", [N, K], dtype)
    value = getattr(tw, name)(x[i, k], over={k: K})
    return tw.function("f", outputs=[tw.computation("y", {i: N}, value)], **options)


def wanted_position(a, name="argmax"):
    return getattr(np, name)(a, axis=1) if a.shape[1] else np.full(a.shape[0], -1)


def numbers(shape, dtype=np.float64, low=-9):
    return rng.integers(low, 10, shape).astype(dtype)


SCHEDULES = {
    "declared": lambda y: y,
    "parallel": lambda y: y.parallelize("i"),
    "columns": lambda y: y.interchange("i", "k").vectorize("i", 4),
    "rows in lanes": lambda y: y.vectorize("i", 4),
    "tiles": lambda y: y.tile("i", "k", 4, 3),
    "split": lambda y: y.split("k", 4).unroll("k1", 4),
    "shifted": lambda y: y.reverse("i").shift("i", 2),
    "skewed": lambda y: y.skew("i", "k", 1),
}
#: That change the order of terms.
ANY_ORDER = {
    "reversed": lambda f, y: y.reverse("k"),
    "rfactor of a loop": lambda f, y: y.split("k", 8).rfactor("k0"),
    "rfactor of lanes": lambda f, y: y.split("k", 8).rfactor("k1", "P"),
    "lanes": lambda f, y: (
        y.split("k", 8).rfactor("k1", "P"),
        f["P"].vectorize("k1", 8),
        y.after("P", "i"),
        f["P"].private("i"),
    ),
    "threads": lambda f, y: (y.split("k", 8).rfactor("k0", "P"), f["P"].parallelize("k0")),
}


def checked(f, *arrays, exact=True):
    evaluated, compiled = f.evaluate(*arrays), f(*arrays)
    pairs = zip(evaluated, compiled, strict=True) if len(f.outputs) > 1 else [(evaluated, compiled)]
    for one, other in pairs:
        assert one.dtype == other.dtype
        np.testing.assert_allclose(other, one, rtol=0 if exact else 1e-12)
    return compiled


class TestWelford:
    @pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
    def test_in_order(self, schedule):
        f = variance(default_schedule=False)
        schedule(f["var"])
        for shape in SHAPES:
            a = rng.random(shape)
            found = checked(f, a)
            if shape[1]:
                np.testing.assert_allclose(found, a.var(axis=1), atol=1e-12)

    @pytest.mark.parametrize("schedule", ANY_ORDER.values(), ids=ANY_ORDER)
    def test_in_any_order(self, schedule):
        f = variance(associative=True, default_schedule=False)
        schedule(f, f["var"])
        for shape in SHAPES:
            a = rng.random(shape)
            found = checked(f, a, exact=False)
            if shape[1]:
                np.testing.assert_allclose(found, a.var(axis=1), atol=1e-12)

    @pytest.mark.parametrize("associative", [False, True])
    def test_by_default(self, associative):
        f = variance(associative)
        for shape in [*SHAPES, (70, 1001)]:
            a = rng.random(shape)
            found = checked(f, a, exact=not associative)
            if shape[1]:
                np.testing.assert_allclose(found, a.var(axis=1), atol=1e-12)

    def test_its_loops(self):
        f = variance(default_schedule=False)
        assert f["var"].loops == ("i", "k")
        text = str(f.loops)
        assert "for k in range(0, K):" in text
        for name in ("var_squares", "var_count"):
            assert f"{name}[i] = " in text

    @pytest.mark.parametrize(
        "command",
        [lambda y: y.reverse("k"), lambda y: y.parallelize("k"), lambda y: y.vectorize("k", 4)],
    )
    def test_order_is_kept(self, command):
        f = variance(default_schedule=False)
        with pytest.raises(tw.IllegalScheduleError, match="takes its terms in order") as refusal:
            command(f["var"])
        assert refusal.value.source_instance and refusal.value.sink_instance

    def test_terms_meet(self):
        f = variance(associative=True, default_schedule=False)
        for command in (lambda y: y.parallelize("k"), lambda y: y.vectorize("k", 4)):
            with pytest.raises(tw.IllegalScheduleError, match="both combine a term"):
                command(f["var"])

    def test_rfactor_needs_the_promise(self):
        f = variance(default_schedule=False)
        with pytest.raises(tw.ScheduleError, match="associative=True"):
            f["var"].rfactor("k")

    def test_partial_results_have_several_terms(self):
        f = variance(associative=True, default_schedule=False)
        with pytest.raises(tw.ScheduleError, match=r'var\.split\("k", 8\)'):
            f["var"].rfactor("k")

    def test_cache_and_atomic_are_refused(self):
        f = variance(associative=True, default_schedule=False)
        with pytest.raises(tw.ScheduleError, match="fold of several states"):
            f["var"].cache("var", "i")
        with pytest.raises(tw.ScheduleError, match="is a fold"):
            f["var"].atomic()


class TestSharedFolds:
    def outputs(self, **options):
        x = tw.input("x", [N, K], tw.float64)
        mean, squares, count = tw.fold(welford, (0.0, 0.0, 0), x[i, k], over={k: K})
        return tw.function(
            "f",
            outputs=[
                tw.computation("variance", {i: N}, squares / tw.maximum(count, 1)),
                tw.computation("mean", {i: N}, mean),
                tw.computation("count", {i: N}, count),
            ],
            **options,
        )

    @pytest.mark.parametrize("default", [False, True])
    def test_is_computed_once(self, default):
        f = self.outputs(default_schedule=default)
        a = rng.random((9, 40))
        variances, means, counts = checked(f, a)
        np.testing.assert_allclose(variances, a.var(axis=1))
        np.testing.assert_allclose(means, a.mean(axis=1))
        np.testing.assert_array_equal(counts, np.full(9, 40))
        if not default:
            assert str(f.loops).count("for k in") == 1
            assert f["mean"].loops == ("i", "k")
            assert f["variance"].loops == f["count"].loops == ("i",)

    def test_stored_where_another_result_is_returned(self):
        """The element of `m` lies in the array of `c`, which its state `count` does not."""
        x = tw.input("x", [N, K], tw.float64)
        mean, _, count = tw.fold(welford, (0.0, 0.0, 0.0), x[i, k], over={k: K})
        m = tw.computation("m", {i: N}, mean)
        r, c = tw.computation("r", {i: N}, m[i] + 1), tw.computation("c", {i: N}, count)
        f = tw.function("f", outputs=[r, c], default_schedule=False)
        f["m"].store_in("c[i]")
        a = rng.random((5, 8))
        means, counts = checked(f, a)
        np.testing.assert_allclose(means, 1 + a.mean(axis=1))
        np.testing.assert_array_equal(counts, np.full(5, 8.0))

    def test_neither_is_the_fold(self):
        x = tw.input("x", [N, K], tw.float64)
        mean, squares, count = tw.fold(welford, (0.0, 0.0, 0), x[i, k], over={k: K})
        f = tw.function(
            "f",
            outputs=[
                tw.computation("double", {i: N}, 2 * mean),
                tw.computation("variance", {i: N}, squares / tw.maximum(count, 1)),
            ],
            default_schedule=False,
        )
        assert str(f.loops).count("for k in") == 1
        a = rng.random((9, 40))
        doubles, variances = checked(f, a)
        np.testing.assert_allclose(doubles, 2 * a.mean(axis=1))
        np.testing.assert_allclose(variances, a.var(axis=1))
        fold = "double_fold"
        assert f[fold].loops == ("i", "k") and f["double"].loops == ("i",)
        f[fold].parallelize("i")
        f["variance"].after(fold, "i")
        checked(f, a)

    def test_fewer_iterators_than_its_reader(self):
        """A layer norm in one pass over each row."""
        x = tw.input("x", [N, K], tw.float64)
        mean, squares, count = tw.fold(welford, (0.0, 0.0, 0), x[i, k], over={k: K})
        y = tw.computation("y", {i: N, j: K}, (x[i, j] - mean) / tw.sqrt(squares / count + 1e-5))
        for options in ({}, {"default_schedule": False}):
            f = tw.function("f", outputs=[y], **options)
            a = rng.random((12, 50))
            wanted = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)
            np.testing.assert_allclose(checked(f, a), wanted)

    def test_private_and_compute_at(self):
        x = tw.input("x", [N, K], tw.float64)
        mean, squares, count = tw.fold(welford, (0.0, 0.0, 0), x[i, k], over={k: K})
        y = tw.computation("y", {i: N, j: K}, (x[i, j] - mean) / tw.sqrt(squares / count + 1e-5))
        a = rng.random((12, 50))
        wanted = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)
        for memory in ("auto", "stack", "registers"):
            f = tw.function("f", outputs=[y], default_schedule=False)
            f["y_fold"].compute_at("y", "i").store_at("y", "i", memory)
            f["y"].parallelize("i")
            np.testing.assert_allclose(checked(f, a), wanted)
        f = tw.function("f", outputs=[y], default_schedule=False)
        f["y"].after("y_fold", "i")
        f["y_fold"].private("i")
        f["y_fold"].parallelize("i")
        f["y"].parallelize("i")
        np.testing.assert_allclose(checked(f, a), wanted)


class TestExtrema:
    @pytest.mark.parametrize("name", ["argmin", "argmax"])
    @pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
    def test_under_schedules(self, schedule, name):
        f = largest(name=name, default_schedule=False)
        schedule(f["y"])
        for shape in SHAPES:
            a = numbers(shape)
            np.testing.assert_array_equal(checked(f, a), wanted_position(a, name))

    @pytest.mark.parametrize("schedule", ANY_ORDER.values(), ids=ANY_ORDER)
    def test_in_any_order(self, schedule):
        f = largest(default_schedule=False)
        schedule(f, f["y"])
        for shape in SHAPES:
            a = numbers(shape)
            np.testing.assert_array_equal(checked(f, a), wanted_position(a))

    @pytest.mark.parametrize("default", [False, True])
    @pytest.mark.parametrize("name", ["argmin", "argmax"])
    @pytest.mark.parametrize(
        "dtype",
        [
            "bool",
            "int8",
            "uint8",
            "int16",
            "int32",
            "int64",
            "uint64",
            "float16",
            "float32",
            "float64",
        ],
    )
    def test_types(self, dtype, name, default):
        f = largest(getattr(tw, dtype), name, default_schedule=default)
        for shape in [*SHAPES, (3, 500)]:
            a = numbers(shape, dtype, low=0 if dtype.startswith(("u", "b")) else -9)
            np.testing.assert_array_equal(checked(f, a), wanted_position(a, name))

    def test_bfloat16(self):
        f = largest(tw.bfloat16)
        a = numbers((5, 130)).astype(tw.bfloat16)
        np.testing.assert_array_equal(f(a), np.argmax(a.astype(np.float32), axis=1))

    @pytest.mark.parametrize("default", [False, True])
    def test_not_a_number_and_infinities(self, default):
        f = largest(default_schedule=default)
        a = np.full((6, 300), -np.inf)
        a[1, 299] = -1e308
        a[2, [7, 5, 250]] = np.nan
        a[3, :] = np.nan
        a[4, 100:] = np.inf
        np.testing.assert_array_equal(checked(f, a), a.argmax(axis=1))
        least = largest(tw.int8, "argmax", default_schedule=default)
        np.testing.assert_array_equal(least(np.full((3, 99), -128, np.int8)), [0, 0, 0])

    @pytest.mark.parametrize("default", [False, True])
    def test_over_a_matrix(self, default):
        x = tw.input("x", [N, M], tw.float32)
        row, column = tw.argmax(x[k, l], over={k: N, l: M})
        outputs = [tw.computation("row", {}, row), tw.computation("column", {}, column)]
        f = tw.function("f", outputs=outputs, default_schedule=default)
        for shape in [(1, 1), (5, 9), (40, 300), (700, 90)]:
            a = numbers(shape, np.float32)
            found = tuple(int(v) for v in checked(f, a))
            assert found == np.unravel_index(a.argmax(), a.shape)
        assert tuple(int(v) for v in f(np.zeros((0, 4), np.float32))) == (-1, -1)

    def test_over_all_of_a_vector(self):
        x = tw.input("x", [N], tw.float32)
        f = tw.function("f", outputs=[tw.computation("at", {}, tw.argmin(x[k], over={k: N}))])
        for size in (1, 31, 1000, 200_001):
            a = rng.standard_normal(size).astype(np.float32)
            assert checked(f, a) == a.argmin()

    def test_of_columns(self):
        x = tw.input("x", [K, N], tw.float32)
        f = tw.function("f", outputs=[tw.computation("y", {i: N}, tw.argmax(x[k, i], over={k: K}))])
        for shape in [(3, 5), (40, 1), (50, 2100)]:
            a = numbers(shape, np.float32)
            np.testing.assert_array_equal(checked(f, a), a.argmax(axis=0))

    @pytest.mark.parametrize("default", [False, True])
    def test_where_data_say(self, default):
        x, mask = tw.input("x", [N, K], tw.float64), tw.input("mask", [K], tw.bool)
        value = tw.argmax(x[i, k], over={k: (1, K, 2)}, where=mask[k] & (k < 3 * i + 9))
        f = tw.function("f", outputs=[tw.computation("y", {i: N}, value)], default_schedule=default)
        a, chosen = numbers((6, 40)), rng.random(40) < 0.5
        found = checked(f, a, chosen)
        for n in range(6):
            terms = [t for t in range(1, 40, 2) if chosen[t] and t < 3 * n + 9]
            assert found[n] == (max(terms, key=lambda t: (a[n, t], -t)) if terms else -1)

    def test_within_an_expression(self):
        x, y = tw.input("x", [N, K], tw.float64), tw.input("y", [K], tw.float64)
        best = tw.argmax(x[i, k], over={k: K})
        f = tw.function("f", outputs=[tw.computation("z", {i: N, j: M}, y[best] * (j + 1))])
        a, b = numbers((6, 40)), rng.random(40)
        np.testing.assert_array_equal(
            f(a, b, M=3),
            b[a.argmax(axis=1)][:, None] * np.arange(1, 4),
        )

    def test_complex_numbers_have_no_order(self):
        x = tw.input("x", [N, K], tw.complex64)
        for over in ({k: K}, {i: N, k: K}):
            with pytest.raises(tw.DeclarationTypeError, match="complex numbers have no order"):
                tw.argmax(x[i, k], over=over)


def test_complex_states():
    """The product of complex numbers as two states, and of complex states themselves."""
    z = tw.input("z", [N, K], tw.complex128)
    first, second = tw.fold(lambda a, b, v: (a * v, b + v), (1.0 + 0j, 0j), z[i, k], over={k: K})
    f = tw.function("f", outputs=[tw.computation("p", {i: N}, first + second)])
    f["p"].parallelize(i)
    a = rng.random((4, 6)) + 1j * rng.random((4, 6))
    np.testing.assert_allclose(checked(f, a, exact=False), a.prod(axis=1) + a.sum(axis=1))


def test_initial_values_read_data():
    x, old = tw.input("x", [N, K], tw.float64), tw.input("old", [N], tw.float64)
    best, changes = tw.fold(
        lambda best, changes, v: (tw.maximum(best, v), changes + (v > best)),
        (old[i], tw.cast(0, tw.int32)),
        x[i, k],
        over={k: K},
    )
    f = tw.function("f", outputs=[tw.computation("c", {i: N}, changes + 0 * best)])
    f["c"].vectorize(i, 4)
    a, before = numbers((9, 12)), numbers(9)
    found = checked(f, a, before)
    for n in range(9):
        running = np.maximum.accumulate(np.concatenate([[before[n]], a[n]]))
        assert found[n] == (np.diff(running) > 0).sum()


def test_replay_pickle_and_keys():
    f = largest(default_schedule=False)
    f["y"].split("k", 8).rfactor("k1", "P")
    f["P"].vectorize("k1", 8)
    schedule = f.schedule
    again = largest(default_schedule=False)
    schedule.apply_to(again)
    a = numbers((5, 30))
    copy = pickle.loads(pickle.dumps(f))
    for other in (f, again, copy):
        assert str(other.loops) == str(f.loops)
        np.testing.assert_array_equal(other(a), a.argmax(axis=1))


def test_default_schedule_of_an_argmax_of_some_terms_has_lanes():
    x = tw.input("x", [N, K], tw.float32)
    value = tw.argmax(x[i, k], over={k: K}, where=x[i, k] < 7)
    y = tw.computation("y", {i: N}, value)
    f = tw.function("f", outputs=[y])
    text = str(f.default_schedule)
    assert 'rfactor("k1", "y_lanes")' in text and 'y_lanes.private("i")' in text
    again = tw.function("f", outputs=[y], default_schedule=False)
    f.default_schedule.apply_to(again)
    a = numbers((5, 300), np.float32)
    np.testing.assert_array_equal(again(a), np.where(a < 7, a, -10).argmax(axis=1))


@pytest.mark.parametrize("make", [variance, largest], ids=["welford", "argmax"])
def test_on_the_gpu_emulator(make):
    """A thread has a fold."""
    f = make(default_schedule=False, target="gpu-emulator")
    y = f["var" if make is variance else "y"]
    y.split("i", 32).gpu_block("i0").gpu_thread("i1")
    for shape in [(1, 1), (40, 70)]:
        checked(f, numbers(shape))


def test_threads_of_a_gpu_do_not_share_a_fold():
    f = largest(default_schedule=False, target="gpu-emulator")
    with pytest.raises(tw.IllegalScheduleError, match="both combine a term"):
        f["y"].split("k", 32).gpu_block("i").gpu_thread("k1")


def test_partial_states_on_the_gpu_emulator():
    f = largest(default_schedule=False, target="gpu-emulator")
    f["y"].split("k", 32).rfactor("k1", "P")
    f["P"].reorder("i", "k1", "k0").gpu_block("i").gpu_thread("k1")
    f["y"].split("i", 32).gpu_block("i0").gpu_thread("i1")
    a = numbers((7, 200))
    np.testing.assert_array_equal(f(a), a.argmax(axis=1))
