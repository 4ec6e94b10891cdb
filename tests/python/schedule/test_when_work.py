"""when_work: the loops as declared where there is little to do, as a command that the default schedule has, too."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K", "N >= 1 and M >= 1 and K >= 1")


def product(name: str = "f", **options: bool) -> tw.Function:
    A, B = tw.input("A", [N, K], tw.float32), tw.input("B", [K, M], tw.float32)
    C = tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))
    return tw.function(name, outputs=[C], **options)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).random(shape, dtype=np.float32)


def test_the_default_schedule_says_when_its_loops_run() -> None:
    f = product()
    assert str(f.default_schedule).endswith("f.when_work(1500, threads=60000)")
    assert f.loops.startswith(
        "# work < 1500: loops as declared\n# parallel loops of work < 60000: one thread\n"
    )


def test_a_default_schedule_replays_to_the_same_code() -> None:
    f, g = product(), product()
    f.default_schedule.apply_to(f)
    assert f.loops == g.loops
    assert f.llvm == g.llvm
    for n in (2, 6, 40):
        a, b = random(n, n), random(n, n)
        np.testing.assert_array_equal(f(a, b), g(a, b))


def test_small_calls_run_as_declared() -> None:
    """A sum in another order has other last digits: it tells which loops ran."""
    A = tw.input("A", [N], tw.float32)
    C = tw.computation("C", {}, tw.sum(A[k], over={k: N}))

    def make() -> tw.Function:
        return tw.function("f", outputs=[C], default_schedule=False)

    declared, vector, both = make(), make(), make()
    vector["C"].vectorize(k, 16)
    both["C"].vectorize(k, 16)
    both.when_work(1000)
    few, many = random(300), random(100_000)
    assert declared(few) != vector(few)
    assert declared(many) != vector(many)
    assert both(few) == declared(few)
    assert both(many) == vector(many)
    both.when_work(0)
    assert both(few) == vector(few)


def test_work_may_be_that_of_one_iteration_outside() -> None:
    A = tw.input("A", [M, N], tw.float32)
    C = tw.computation("C", {i: M}, tw.sum(A[i, k], over={k: N}))

    def make() -> tw.Function:
        return tw.function("f", outputs=[C], default_schedule=False)

    declared, vector, both = make(), make(), make()
    for f in (vector, both):
        f["C"].vectorize(k, 16)
    both.when_work(1000, around=1)
    a = random(50, 300)
    assert (declared(a) != vector(a)).any()
    np.testing.assert_array_equal(both(a), declared(a))
    both.when_work(1000)
    np.testing.assert_array_equal(both(a), vector(a))


def test_it_is_a_command_of_the_schedule() -> None:
    f = (
        product(default_schedule=False)
        .when_work(200)
        .when_work(100, threads=7)
        .when_work(3, around=2)
    )
    assert str(f.schedule).split("\n") == [
        "f.when_work(200)",
        "f.when_work(100, threads=7)",
        "f.when_work(3, around=2)",
    ]
    g = f.schedule.apply_to(product("g", default_schedule=False))
    assert g.schedule == f.schedule
    keys = [
        product(default_schedule=False).when_work(*limits)._key()
        for limits in [(0,), (1,), (2,), (2, 3), (2, 3, 1)]
    ]
    assert len(set(keys)) == 5
    assert keys[0] == product(default_schedule=False)._key()


def test_what_the_schedule_changed_beside_loops() -> None:
    """Inlined, cached and folded computations: the declared loops have all their own arrays."""
    A = tw.input("A", [N, M], tw.float32)
    B = tw.computation("B", {i: N, j: M}, A[i, j] + 1)
    D = tw.computation("D", {i: N, j: M}, B[i, j] * 2)
    C = tw.computation("C", {i: N, j: M}, D[i, j] - A[i, j])
    f = tw.function("f", outputs=[C], default_schedule=False)
    f["B"].inline()
    f["C"].after("D", i)
    f["D"].store_in("D[j]")
    f.when_work(500).specialize(M % 4 == 0)
    for n, m in ((2, 3), (3, 4), (40, 41), (40, 44)):
        a = random(n, m)
        np.testing.assert_array_equal(f(a), f.evaluate(a))


def test_with_fixed_parameters() -> None:
    f = product(default_schedule=False)
    f["C"].vectorize(j, 8)
    f.fix(N=4, M=8).when_work(10_000)
    for n in (2, 500):
        a, b = random(4, n), random(n, 8)
        np.testing.assert_allclose(f(a, b), a @ b, rtol=1e-5)


def test_arrays_that_share_memory() -> None:
    A = tw.input("A", [N], tw.float32)
    C = tw.computation("C", {i: N}, A[i] * 2)
    f = tw.function("f", outputs=[C], default_schedule=False)
    f["C"].vectorize(i, 8)
    f.when_work(100)
    for n in (5, 500):
        a = random(n)
        expected = 2 * a
        f(a, out=a)
        np.testing.assert_array_equal(a, expected)


def test_declared_loops_that_arrays_in_one_do_not_allow_are_left_out() -> None:
    """Backwards, each element is read before it is overwritten; as declared, after."""
    A = tw.input("A", [N + 1], tw.float32)
    C = tw.computation("C", {i: N}, A[i] * 2)
    f = tw.function("f", outputs=[C], default_schedule=False)
    f["C"].reverse(i)
    f.when_work(10**6)
    whole = random(9)
    expected = 2 * whole[:8]
    f(whole, out=whole[1:])
    np.testing.assert_array_equal(whole[1:], expected)


def test_threads_where_worth_while() -> None:
    f = product(default_schedule=False)
    f["C"].parallelize(i)
    always = f.llvm
    f.when_work(0, threads=60_000)
    assert "# parallel loops of work < 60000: one thread" in f.loops
    assert f.llvm.count("icmp") > always.count("icmp")
    assert "if(" in f.c
    a, b = random(30, 30), random(30, 30)
    np.testing.assert_allclose(f(a, b), a @ b, rtol=1e-4)


def test_refusals() -> None:
    A = tw.input("A", [N], tw.float32)
    C = tw.computation("C", {i: N}, 2 * A[i])

    def make() -> tw.Function:
        return tw.function("f", outputs=[C], default_schedule=False)

    f = make()
    with pytest.raises(tw.ScheduleError, match="must be at least 0, got -1"):
        f.when_work(-1)
    with pytest.raises(tw.ScheduleError, match="at most 64, got 65"):
        f.when_work(1, around=65)
    with pytest.raises(tw.ScheduleTypeError):
        f.when_work(1.5)  # type: ignore[arg-type]
    f["C"].gpu_tile(i, 8)
    with pytest.raises(tw.ScheduleError, match="is a GPU's, where arrays may lie"):
        f.when_work(100)
    f.when_work(0, threads=100)
    f = make().when_work(100)
    with pytest.raises(tw.ScheduleError, match="is a GPU's, where arrays may lie"):
        f["C"].gpu_tile(i, 8)
    with pytest.raises(tw.ScheduleError, match="C is stored in the array of A"):
        f["C"].store_in("A[i]")
    f.when_work(0)
    f["C"].store_in("A[i]")


def test_an_output_in_a_buffer_of_another_name():
    n = tw.param("N")
    i = tw.iter("i")
    x = tw.input("x", [n], tw.int32)
    c = tw.computation("C", {i: n}, x[i] + 1)
    f = tw.function("f", outputs=[c])
    f.when_work(2000, threads=100)
    c.store_in("other[i]").parallelize(i)
    for size in (0, 5, 4000):
        assert f(np.arange(size, dtype=np.int32)).tolist() == list(range(1, size + 1))
