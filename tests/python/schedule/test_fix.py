"""fix: parameters of one value. Bounds and strides are numbers, what is legal for one size is legal, and calls of other
sizes are refused by array and axis."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")


def product(name: str = "f", **options: Any) -> tw.Function:
    N, M, K = tw.params("N M K", "N >= 1 and M >= 1 and K >= 1")
    A, B = tw.input("A", [N, K], tw.float32), tw.input("B", [K, M], tw.float32)
    C = tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))
    return tw.function(name, outputs=[C], **options)


def scaled(default_schedule: bool = False) -> tw.Function:
    N = tw.param("N", "N >= 1")
    A = tw.input("A", [N], tw.float32)
    C = tw.computation("C", {i: N}, 2 * A[i])
    return tw.function("f", outputs=[C], default_schedule=default_schedule)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).random(shape, dtype=np.float32)


def test_bounds_are_numbers() -> None:
    f = scaled()
    f["C"].split(i, 32)
    assert "min(32, N - 32 * i0)" in f.loops
    f.fix(N=1024)
    assert "for i0 in range(0, 32):" in f.loops
    assert "for i1 in range(0, 32):" in f.loops
    a = random(1024)
    np.testing.assert_array_equal(f(a), 2 * a)


def test_remainders_are_known() -> None:
    f = scaled().fix(N=100)
    f["C"].split(i, 32)
    assert "min(32, 100 - 32 * i0)" in f.loops
    a = random(100)
    np.testing.assert_array_equal(f(a), 2 * a)


def test_machine_code_asks_for_no_remainder() -> None:
    free, fixed = (scaled()["C"].vectorize(i, 8).function for _ in range(2))
    fixed.fix(N=64)
    assert fixed.llvm.count(" br ") < free.llvm.count(" br ")
    a = random(64)
    np.testing.assert_array_equal(fixed(a), 2 * a)


@pytest.mark.parametrize("default", [True, False])
def test_a_product_of_known_sizes(default: bool) -> None:
    f, g = product(default_schedule=default), product()
    f.fix(N=33, K=16).fix({"M": 40})
    a, b = np.rint(8 * random(33, 16)), np.rint(8 * random(16, 40))  # their sums are exact
    np.testing.assert_array_equal(f(a, b), g(a, b))
    np.testing.assert_array_equal(f(a, b), f.evaluate(a, b))
    f["C"].tile(i, j, 11, 8).vectorize("j1", 8)
    np.testing.assert_allclose(f(a, b), g(a, b), rtol=1e-5)
    assert "N" not in f.loops.replace("None", "")


def test_it_is_a_command_of_the_schedule(tmp_path: Any) -> None:
    f = product(default_schedule=False).fix(N=64)
    f["C"].interchange(i, j)
    f.fix({"M": 32, "K": 8})
    text = 'f.fix(N=64)\nC.interchange("i", "j")\nf.fix(M=32, K=8)'
    assert str(f.schedule) == text
    assert f.schedule.commands[0] == ("", "fix", ("N", 64))
    assert f.schedule.computations == ("C",)
    f.schedule.save(tmp_path / "f.json")
    g = product("g", default_schedule=False)
    tw.Schedule.load(tmp_path / "f.json").apply_to(g)
    assert g.schedule == f.schedule
    assert g.loops == f.loops
    for copy in (f.copy(), pickle.loads(pickle.dumps(f))):
        assert copy.schedule == f.schedule
        assert copy.loops == f.loops
    other = product(default_schedule=False).fix(N=65)
    difference = str(other.schedule.diff(f.schedule))
    assert "- f.fix(N=65)" in difference
    assert "+ f.fix(N=64)" in difference
    names = {"f": product(default_schedule=False), "tw": tw}
    names["C"] = names["f"]["C"]
    exec(str(f.schedule), names)
    assert names["f"].schedule == f.schedule
    f.reset_schedule()
    assert not f.schedule
    assert "range(0, N)" in f.loops


def test_it_is_in_the_key_of_the_cache() -> None:
    keys = {scaled()._key(), *(scaled().fix(N=n)._key() for n in (8, 16))}
    assert len(keys) == 3
    assert scaled().fix(N=8)._key() == scaled().fix(N=8)._key()


def test_what_is_legal_for_one_size_alone() -> None:
    """B[i] needs B[i - N + 4]: with four elements it needs none."""
    N = tw.param("N", "N >= 1")
    A = tw.input("A", [N], tw.float32)
    B = tw.computation(
        "B",
        {i: N},
        lambda B: [(i < 4, A[i]), (i >= 4, B[i - 4] + A[i])],
        dtype=tw.float32,
    )
    f = tw.function("f", outputs=[B], default_schedule=False)
    with pytest.raises(tw.IllegalScheduleError):
        f["B"].parallelize(i)
    f.fix(N=4)
    f["B"].parallelize(i)
    a = random(4)
    np.testing.assert_array_equal(f(a), a)
    g = tw.function("g", outputs=[B], default_schedule=False).fix(N=5)
    with pytest.raises(tw.IllegalScheduleError, match="N = 5"):
        g["B"].parallelize(i)


def test_a_call_of_another_size_is_refused() -> None:
    f = product(default_schedule=False).fix(N=64, K=8)
    with pytest.raises(
        ValueError, match=r"argument A: axis 0 has 32 elements, expected N = 64: N is fixed at 64"
    ):
        f(random(32, 8), random(8, 16))
    with pytest.raises(
        ValueError, match=r"argument A: axis 1 has 9 elements, expected K = 8: K is fixed at 8"
    ):
        f(random(64, 9), random(9, 16))
    with pytest.raises(ValueError, match=r"N is fixed at 64 by the schedule, got N = 3"):
        f(random(3, 8), random(8, 16), N=3)
    with pytest.raises(ValueError, match="fixed at 64"):
        f.compile(random(32, 8), random(8, 16))
    a, b = random(64, 8), random(8, 5)
    np.testing.assert_allclose(f(a, b), a @ b, rtol=1e-5)
    # The evaluator knows no schedule.
    np.testing.assert_allclose(f.evaluate(random(2, 8), b), random(2, 8) @ b, rtol=1e-5)


def test_extents_with_offsets_say_what_is_expected() -> None:
    N = tw.param("N")
    A = tw.input("A", [2 * N + 1], tw.float32)
    f = tw.function("f", outputs=[tw.computation("C", {i: N}, A[2 * i])]).fix(N=4)
    with pytest.raises(
        ValueError, match=r"axis 0 has 7 elements, expected 2 \* N \+ 1 = 9: N is fixed at 4"
    ):
        f(random(7))
    np.testing.assert_array_equal(f(random(9)), random(9)[:8:2])


def test_a_fixed_parameter_need_not_be_given() -> None:
    N, T = tw.params("N T", "N >= 1 and T >= 1")
    A = tw.input("A", [N], tw.float32)
    f = tw.function("f", outputs=[tw.computation("C", {k: T, i: N}, A[i] * k)])
    with pytest.raises(TypeError, match="T"):
        f(random(3))
    f.fix(T=4)
    assert f(random(3)).shape == (4, 3)
    assert f(random(3), T=4).shape == (4, 3)
    with pytest.raises(ValueError, match="T is fixed at 4"):
        f(random(3), T=5)


def test_refusals() -> None:
    f = product(default_schedule=False)
    with pytest.raises(
        tw.ScheduleError, match="'Q' is no parameter of f; its parameters are: N, K, M"
    ):
        f.fix(Q=3)
    with pytest.raises(tw.ScheduleError, match="no call of f has such parameters, where"):
        f.fix(N=0)
    f.fix(N=8)
    with pytest.raises(tw.ScheduleError, match="N is fixed at 8 already"):
        f.fix(N=9)
    f.fix(N=8)
    with pytest.raises(tw.ScheduleError, match="at least one parameter"):
        f.fix()
    with pytest.raises(tw.ScheduleError, match="two values for N"):
        f.fix({"N": 8}, N=8)
    with pytest.raises(tw.ScheduleTypeError):
        f.fix(N="8")  # type: ignore[arg-type]
    with pytest.raises(tw.ScheduleTypeError):
        f.fix(N=8.0)  # type: ignore[arg-type]
    with pytest.raises(tw.ScheduleError, match="a command of the whole function"):
        f._apply("C", "fix", ["N", 8], None)
    with pytest.raises(tw.ScheduleError, match="a command of a computation"):
        f._apply("", "split", ["i", 8], None)
    assert str(f.schedule) == "f.fix(N=8)\nf.fix(N=8)"


def test_sizes_that_follow_are_known() -> None:
    N, M = tw.params("N M")
    A = tw.input("A", [M], tw.float32)
    C = tw.computation("C", {i: M}, A[i] + 1)
    f = tw.function("f", outputs=[C], context=[M == 2 * N, N >= 1], default_schedule=False)
    f.fix(N=8)
    assert "range(0, 16)" in f.loops
    np.testing.assert_array_equal(f(random(16), N=8), random(16) + 1)


def test_subscripts_by_known_sizes_are_affine() -> None:
    """A[i * M + j] of a matrix in one dimension: with M known, no subscript is checked and loops may be parallel."""
    N, M, P = tw.params("N M P", "N >= 1 and M >= 1")
    A = tw.input("A", [P], tw.float32)
    B = tw.computation("B", {k: P}, A[k] * 2)
    C = tw.computation("C", {i: N, j: M}, B[i * M + j])
    f = tw.function("f", outputs=[C], context=[P == 32 * M], default_schedule=False)
    a = random(32 * 8)
    expected = 2 * a.reshape(32, 8)
    np.testing.assert_array_equal(f(a, N=32, M=8), expected)
    with pytest.raises(tw.IllegalScheduleError):
        f["C"].after("B", "k")
    f.fix(M=8, N=32)
    assert "check" not in f.loops
    np.testing.assert_array_equal(f(a), expected)
    f["C"].after("B")
    f["B"].split(k, 8)
    f["C"].after("B", "k0")
    assert f.loops.count("for k0") == 1
    np.testing.assert_array_equal(f(a), expected)


def test_subscripts_that_may_leave_their_array_stay_checked() -> None:
    N, M, P = tw.params("N M P", "N >= 1 and M >= 1 and P >= 1")
    A = tw.input("A", [P], tw.float32)
    f = tw.function("f", outputs=[tw.computation("C", {i: N, j: M}, A[i * M + j])]).fix(M=8)
    a = random(64)
    np.testing.assert_array_equal(f(a, N=8), a.reshape(8, 8))
    with pytest.raises(tw.SubscriptError):
        f(a, N=9)


def test_buffers_fit_where_sizes_are_known() -> None:
    N, M = tw.params("N M", "N >= 1 and M >= 1")
    A = tw.input("A", [N, M], tw.float32)
    B = tw.computation("B", {i: N, j: M}, A[i, j] + 1)
    C = tw.computation("C", {i: N, j: M}, B[i, M - 1 - j])

    def scheduled(**sizes: int) -> tw.Function:
        f = tw.function("f", outputs=[C], default_schedule=False)
        if sizes:
            f.fix(**sizes)
        f["B"].compute_at("C", i).store_at("C", i, memory="stack")
        return f

    with pytest.raises(tw.ScheduleError, match="constant size"):
        scheduled()
    a = random(5, 16)
    np.testing.assert_array_equal(scheduled(M=16)(a), a[:, ::-1] + 1)


def test_strides_are_numbers() -> None:
    N, M = tw.params("N M", "N >= 1 and M >= 1")
    A = tw.input("A", [N, M], tw.float32)
    f = tw.function("f", outputs=[tw.computation("C", {j: M, i: N}, A[i, j])])
    f.fix(M=16)
    a = random(6, 16)
    np.testing.assert_array_equal(f(a), a.T)
    wide = random(6, 32)[:, ::2]
    np.testing.assert_array_equal(f(wide), wide.T)
    np.testing.assert_array_equal(f(wide[::-1]), wide[::-1].T)


def test_awkward_names_are_a_dict() -> None:
    N = tw.param("lambda")
    A = tw.input("A", [N], tw.float32)
    f = tw.function("f", outputs=[tw.computation("C", {i: N}, A[i])]).fix({N: 4})
    assert str(f.schedule) == 'f.fix({"lambda": 4})'
    assert tw._core.schedule_text(f._commands()) == 'f.fix({"lambda": 4})'
    np.testing.assert_array_equal(f(random(4)), random(4))


def test_both_printers_agree() -> None:
    f = product(default_schedule=False).fix(N=4, M=8).when_work(100, threads=20)
    f.specialize("K mod 4 = 0")
    assert tw._core.schedule_text(f._commands()) == str(f.schedule)


def test_c_source_has_the_numbers() -> None:
    f = scaled().fix(N=64)
    assert "64" in f.c


def test_partial_results_of_known_sizes() -> None:
    """What is read to decide about a term lies inside because of a size that is known."""
    N, K = tw.params("N K")
    x, y = tw.input("x", [N], tw.float32), tw.input("y", [K], tw.float32)
    S = tw.computation("S", {j: N}, tw.max(y[k] + x[j], over={k: K}, where=x[N - 1 - j] > 0))
    f = tw.function("f", outputs=[S], default_schedule=False)
    f.fix(N=4)
    f["S"].rfactor(k)
    given = np.array([1, -1, 2, 3], np.float32), random(5)
    np.testing.assert_array_equal(f(*given), f.evaluate(*given))
