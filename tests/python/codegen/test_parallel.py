"""Parallel loops: how iterations are dealt out to threads, and several loops that run as one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tilewright as tw

i, j, k, l = tw.iters("i j k l")
N, M, K, L, P = tw.params("N M K L P")


@pytest.fixture(autouse=True)
def three_threads():
    before = tw.get_num_threads()
    tw.set_num_threads(3)
    yield
    tw.set_num_threads(before)


def integers(*shape):
    return np.random.default_rng(3).integers(-9, 9, shape).astype(np.float64)


def matmul():
    a = tw.input("A", [N, K], tw.float64)
    b = tw.input("B", [K, M], tw.float64)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    return tw.function("matmul", outputs=[c])


def cube():
    a = tw.input("A", [N, M, K], tw.float64)
    c = tw.computation("C", {i: N, j: M, k: K}, a[i, j, k] * 2 + i + 10 * j + 100 * k)
    return tw.function("cube", outputs=[c])


def triangle():
    a = tw.input("A", [N, N], tw.float64)
    c = tw.computation("C", {i: N, j: N}, a[i, j] * 2, where=j <= i, shape=[N, N])
    return tw.function("triangle", outputs=[c])


DEALINGS = [
    {},
    {"schedule": "static"},
    {"chunk": 1},
    {"schedule": "static", "chunk": 3},
    {"schedule": "dynamic"},
    {"schedule": "dynamic", "chunk": 4},
    {"schedule": "dynamic", "chunk": 1000},
]


@pytest.mark.parametrize("options", DEALINGS)
def test_every_dealing_computes_the_same(options):
    f = matmul()
    f["C"].parallelize(i, **options)
    for n in (0, 1, 2, 7, 23):
        a, b = integers(n, 5), integers(5, 6)
        np.testing.assert_array_equal(f(a, b), a @ b)
    a, b = integers(4, 3), integers(3, 5)
    np.testing.assert_array_equal(f(a, b), f.evaluate(a, b))


@pytest.mark.parametrize("options", DEALINGS)
@pytest.mark.parametrize("loops", [("i", "j"), ("j", "k"), ("i", "j", "k")])
def test_loops_that_run_as_one(loops, options):
    f = cube()
    f["C"].parallelize(*loops, **options)
    assert f.loops.count("one with the loop outside") == len(loops) - 1
    for shape in itertools.product((0, 1, 2, 7), (1, 3, 5), (0, 1, 4)):
        a = integers(*shape)
        grid = np.indices(shape)
        expected = a * 2 + grid[0] + 10 * grid[1] + 100 * grid[2]
        np.testing.assert_array_equal(f(a), expected)
    a = integers(3, 2, 4)
    np.testing.assert_array_equal(f(a), f.evaluate(a))


@pytest.mark.parametrize("options", DEALINGS)
def test_tiles_that_run_as_one(options):
    f = matmul()
    f["C"].tile(i, j, 4, 16).parallelize("i0", "j0", **options).vectorize("j1", 8).unroll("i1")
    for n, m in ((1, 1), (4, 16), (9, 40), (23, 33), (8, 64)):
        a, b = integers(n, 5), integers(5, m)
        np.testing.assert_array_equal(f(a, b), a @ b)


def test_one_region_for_tiles_that_run_as_one():
    """The loop passes separate full from partial tiles inside of the parallel loops."""
    f = matmul()
    f["C"].tile(i, j, 4, 16).parallelize("i0", "j0").vectorize("j1", 8).unroll("i1")
    llvm = f.llvm
    assert llvm.count("call i32 @tilewright_parallel_for(") == 1
    assert "<8 x double>" in llvm


def test_reversed_and_shifted_loops_run_as_one():
    f = cube()
    f["C"].reverse(j).shift(i, 5).parallelize(i, j, k, schedule="dynamic", chunk=3)
    a = integers(4, 3, 5)
    np.testing.assert_array_equal(f(a), f.evaluate(a))


def test_schedules_print_and_replay():
    f = cube()
    f["C"].parallelize(i, j, schedule="dynamic", chunk=4)
    text = str(f.schedule)
    assert text == 'C.parallelize("i", "j", "dynamic", 4)'
    g = cube()
    f.schedule.apply_to(g)
    assert g.schedule == f.schedule
    assert g.loops == f.loops
    h = cube()
    eval(text, {"C": h["C"]})
    assert h.schedule == f.schedule
    plain = cube()
    plain["C"].parallelize(i, schedule="static")
    assert str(plain.schedule) == 'C.parallelize("i")'


def test_the_loops_say_how_they_are_dealt_out():
    f = cube()
    f["C"].parallelize(i, schedule="dynamic")
    assert "# parallel, dynamic, 1 at a time" in f.loops
    f["C"].parallelize(i, "static", 16)
    assert "# parallel, static, 16 at a time" in f.loops
    f["C"].parallelize(i)
    assert f.loops.splitlines()[0].endswith("# parallel")


def test_the_dealing_is_in_the_cache_key():
    keys = set()
    for options in DEALINGS:
        f = matmul()
        f["C"].parallelize(i, **options)
        keys.add(f.compile()["key"])
    for loops in (("i", "j"),):
        f = matmul()
        f["C"].parallelize(*loops)
        keys.add(f.compile()["key"])
    assert len(keys) == len(DEALINGS)  # {} and static are one; and the joined one


def test_interchanged_loops_still_run_as_one():
    f = cube()
    f["C"].parallelize(i, j, schedule="dynamic").interchange(i, j)
    lines = f.loops.splitlines()
    assert lines[0].startswith("for j") and "dynamic" in lines[0]
    assert lines[1].lstrip().startswith("for i") and "one with the loop outside" in lines[1]
    a = integers(4, 3, 2)
    np.testing.assert_array_equal(f(a), f.evaluate(a))


def test_a_loop_that_others_came_between_runs_alone():
    f = cube()
    f["C"].parallelize(i, j).interchange(j, k)
    assert "one with" not in f.loops
    a = integers(4, 3, 2)
    np.testing.assert_array_equal(f(a), f.evaluate(a))
    f = cube()
    f["C"].parallelize(i, j).split(i, 2)
    assert "one with" not in f.loops
    np.testing.assert_array_equal(f(a), f.evaluate(a))


@pytest.mark.parametrize("first", [12, 13, 15])
def test_terms_in_the_last_blocks_only_stay_in_the_joined_loop(first):
    """Without help, isl makes a loop for what comes first and, as one block is left, none for the terms."""
    a = tw.input("A", [N, K], tw.float64)
    b = tw.input("B", [K, 16], tw.float64)
    largest = tw.max(a[i, k] * b[k, j], over={k: K}, where=j >= first)
    c = tw.computation("C", {i: N, j: 16}, largest)
    f = tw.function("f", outputs=[c])
    f["C"].split(j, 4).split(k, 4).reorder("i", "j0", "k0", "k1", "j1").parallelize("i", "j0")
    assert f.loops.count("j0 in range") == 1
    given = integers(5, 7), integers(7, 16)
    np.testing.assert_array_equal(f(*given), f.evaluate(*given))


def test_triangles_cannot_run_as_one():
    f = triangle()
    with pytest.raises(
        tw.ScheduleError, match="bounds of loop 'j' depend on those outside"
    ) as seen:
        f["C"].parallelize(i, j)
    assert "dynamic" in str(seen.value)
    f["C"].parallelize(i, schedule="dynamic")
    a = integers(9, 9)
    np.testing.assert_array_equal(np.tril(f(a)), np.tril(a * 2))


def test_triangles_without_terms_cannot_run_as_one():
    """What gives elements their first value runs over all of them, though no term belongs to any."""
    a = tw.input("A", [N, K], tw.float64)
    c = tw.computation("C", {i: N, j: i + 1}, tw.sum(a[i, k], over={k: K}, where=K < 0))
    f = tw.function("terms", outputs=[c])
    with pytest.raises(tw.ScheduleError, match="bounds of loop 'j' depend on those outside"):
        c.parallelize(i, j)
    c.tile(i, j, 4, 4)
    with pytest.raises(tw.ScheduleError, match="bounds of loop 'j0' depend on those outside"):
        c.parallelize("i0", "j0")
    c.parallelize("i0")
    assert (np.tril(f(integers(9, 2))) == 0).all()


def test_joined_loops_of_terms_that_exist_for_some_sizes():
    """One inner loop has all statements: parts of it would stand under conditions of the outer one."""
    c = tw.computation("C", {i: N, j: N - 1}, tw.max(i + j, over={k: (i, N)}, where=3 * k == N))
    d = tw.computation("D", {k: 2, i: N, j: N - 1}, tw.select(k >= 1, c[i, j], 0))
    f = tw.function("terms", outputs=[d])
    c.split(i, 4).split("i1", 2).split(j, 4).split(k, 4)
    c.reorder("i0", "j0", "k0", "i10", "k1", "i11", "j1").parallelize("i0", "j0")
    assert "one with the loop outside" in str(f.loops)
    for n in (3, 4, 12, 17):
        np.testing.assert_array_equal(f(N=n), f.evaluate(N=n))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("by_default", [False, True])
def test_joined_loops_without_an_iteration_beside_others_with_many(by_default, threads):
    """All iterations are one thread's if there is little to do, none included."""
    a, b = tw.input("a", [N, M, K], tw.float64), tw.input("b", [N, K, L], tw.float64)
    products = tw.computation("C", {i: N, j: M, l: L}, tw.sum(a[i, j, k] * b[i, k, l], over={k: K}))
    x = tw.input("x", [P], tw.float64)
    roots = tw.computation("D", {i: P}, tw.sqrt(x[i]) + 1)
    f = tw.function("both", outputs=[products, roots], default_schedule=by_default)
    if not by_default:
        products.parallelize(i, j, l)
        f.when_work(0, threads=60000)
        assert f.loops.count("one with the loop outside") == 2
    for n, m, o, q in itertools.product((0, 3), repeat=4):
        product, root = f(np.ones((n, m, o)), np.ones((n, o, q)), np.ones(20000), threads=threads)
        assert product.shape == (n, m, q)
        assert (product == o).all()
        assert (root == 2).all()


def test_tiled_triangles_cannot_run_as_one():
    f = triangle()
    f["C"].tile(i, j, 4, 4)
    with pytest.raises(tw.ScheduleError, match="bounds of loop 'j0' depend"):
        f["C"].parallelize("i0", "j0")


def test_a_loop_that_carries_a_dependence_cannot_join():
    f = matmul()
    with pytest.raises(tw.IllegalScheduleError):
        f["C"].parallelize(i, j, k)
    assert str(f.schedule) == ""


def test_loops_must_be_neighbours():
    f = cube()
    with pytest.raises(tw.ScheduleError, match="neighbours"):
        f["C"].parallelize(i, k)
    with pytest.raises(tw.ScheduleError, match="neighbours"):
        f["C"].parallelize(j, i)


def test_nothing_stands_between_loops_that_run_as_one():
    a = tw.input("A", [N, M], tw.float64)
    x = tw.input("x", [N], tw.float64)
    row = tw.computation("R", {i: N}, x[i] + 1)
    c = tw.computation("C", {i: N, j: M}, a[i, j] * row[i])
    f = tw.function("scaled", inputs=[a, x], outputs=[c])
    f["C"].after("R", i)
    f["R"].parallelize(i)
    f["C"].parallelize(i, j)
    with pytest.raises(tw.ScheduleError, match="cannot run as one parallel loop: several stat"):
        f.loops
    f["C"].parallelize(i)
    array, scale = integers(4, 3), integers(4)
    np.testing.assert_array_equal(f(array, scale), array * (scale[:, None] + 1))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("i",), {"schedule": "guided"}, "'static' or 'dynamic'"),
        (("i",), {"chunk": 0}, "at least 1"),
        (("i",), {"chunk": 1.5}, "must be an integer"),
        (("i", "dynamic", 2, 3), {}, "expected parallelize"),
        (("i", "dynamic"), {"chunk": 3}, "expected parallelize"),
        (("i", 3), {}, "expected parallelize"),
        (("x",), {}, "no loop named 'x'"),
    ],
)
def test_arguments_that_make_no_sense(arguments, options, message):
    f = cube()
    with pytest.raises(tw.ScheduleError, match=message):
        f["C"].parallelize(*arguments, **options)


def test_failures_of_dealt_chunks_reach_the_caller():
    x = tw.input("x", [M], tw.float64)
    at = tw.input("at", [N], tw.int64)
    y = tw.computation("y", {i: N}, x[at[i]])
    for options in DEALINGS:
        f = tw.function("gather", inputs=[at, x], outputs=[y])
        f["y"].parallelize(i, **options)
        indices = np.arange(100) % 7
        np.testing.assert_array_equal(f(indices, np.arange(7.0)), indices)
        indices[55] = 7
        with pytest.raises(tw.SubscriptError, match="subscript 7 is out of bounds"):
            f(indices, np.arange(7.0))


def test_parallel_loops_in_serial_ones():
    """Many regions in one call, with temporaries that threads touch first."""
    (T,) = tw.params("T", "T >= 1")
    t = tw.iter("t")
    a = tw.input("A", [N], tw.float64)
    b = tw.computation(
        "B", {t: T, i: N}, lambda b: [(t == 0, a[i]), (t > 0, b[t - 1, i] + 1)], dtype=tw.float64
    )
    c = tw.computation("C", {i: N}, b[T - 1, i])
    f = tw.function("steps", outputs=[c])
    f["B"].parallelize(i)
    f["C"].parallelize(i, schedule="dynamic", chunk=10)
    x = integers(257)
    np.testing.assert_array_equal(f(x, T=300), x + 299)
