"""The schedule that the library finds: bands, tiles in time, values, and what it says of them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import _core
from tilewright.schedule.kept_schedules import _FOUND

sys.path.append(str(Path(__file__).parents[1] / "gpu"))  # PolyBench's kernels are declared there

import polybench

KERNELS = {kernel.name: kernel for kernel in polybench.KERNELS}
TILED = ("jacobi-1d", "jacobi-2d", "heat-3d", "fdtd-2d", "seidel-2d", "lu")
#: Here the default schedule is kept, or completed.
OTHERS = (
    "gemm", "2mm", "3mm", "atax", "bicg", "mvt", "gesummv", "doitgen", "syrk", "trmm", "cholesky",
    "gramschmidt", "ludcmp", "trisolv", "floyd-warshall",
)  # fmt: skip

N, M, T = tw.params("N M T", "T >= 1")
i, j, k, t = tw.iters("i j k t")


def declared(name: str) -> tw.Function:
    f = KERNELS[name].build()
    f.target = "cpu"
    return f.reset_schedule()


def commands(schedule: tw.Schedule) -> list[tuple[str, str, tuple[Any, ...]]]:
    """Those of the one transaction."""
    assert len(schedule.commands) == 1
    assert schedule.commands[0][:2] == ("", "transaction")
    return list(schedule.commands[0][2])


def always(schedule: tw.Schedule) -> tw.Schedule:
    """The same where little work runs by it, too; its legality is asked again."""
    rest = [command for command in commands(schedule) if command[1] != "when_work"]
    return tw.Schedule([("", "transaction", rest)])


def in_tuple(result: Any) -> tuple[np.ndarray, ...]:
    return result if isinstance(result, tuple) else (result,)


def agree(f: tw.Function, **arguments: Any) -> None:
    expected = in_tuple(f.evaluate(**arguments))
    plain = f.copy().reset_schedule()
    for own, right, default in zip(
        in_tuple(f(**arguments)), expected, in_tuple(plain(**arguments)), strict=True
    ):
        near = 1e-14 * np.abs(right).max()
        np.testing.assert_allclose(own, right, rtol=1e-12, atol=near)
        np.testing.assert_allclose(own, default, rtol=1e-12, atol=near)


# ---- bands ----


def test_listing_12_of_the_pencil_report_is_one_band() -> None:
    """Values in place of the scalars a0 and am1: all three loops are fused, two are coincident."""
    a = tw.input("a", [N, M, T], tw.int64)
    one = {i: N, j: M, k: (1, T)}
    two = {i: N, j: M, k: T - 1}
    S1 = tw.computation("S1", one, a[i, j, k] + 0, shape=[N, M, T])
    S2 = tw.computation("S2", one, a[i, j, k - 1] + 0, shape=[N, M, T])
    x = tw.computation("x", one, S1[i, j, k] + S2[i, j, k], shape=[N, M, T])
    S4 = tw.computation("S4", two, a[i, j, k] + 0, shape=[N, M, T])
    before = tw.select(k > 0, x[i, j, k], 0)
    rho = tw.computation("rho", two, S4[i, j, k] + (x[i, j, k + 1] - before), shape=[N, M, T])
    f = tw.function("listing_12", outputs=[x, rho])
    ((members, permutable, coincident),) = _core.bands(f)
    assert sorted(members) == ["S1", "S2", "S4", "rho", "x"]
    assert permutable
    assert coincident == [True, True, False]


def test_seidel_2d_is_tilable_and_a_wavefront() -> None:
    f = declared("seidel-2d")
    recurrent = [band for band in _core.bands(f) if "X" in band[0]]
    assert [(band[1], band[2]) for band in recurrent] == [(True, [False, False, False])]
    found = commands(f.auto_schedule())
    assert ("X", "skew", ("t", "i", 1)) in found
    assert ("X", "skew", ("t0", "i0", 1)) in found  # tiles on a diagonal
    assert ("X", "parallelize", ("t0", "dynamic")) in found
    assert not [command for command in found if command[:2] == ("X", "vectorize")]
    # Iterations of j wait for each other, so rows run beside each other; a row needs one more
    # column of the row before it.
    assert ("X", "skew", ("i11", "j", 2)) in found
    assert "8 iterations of i run side by side, each 2 iterations of j behind" in f.explain()


# ---- what is found ----


@pytest.mark.parametrize("name", TILED)
def test_tiles_in_time(name: str) -> None:
    f = declared(name)
    found = f.auto_schedule()
    assert [command for command in commands(found) if command[1] == "tile"]
    assert [command for command in commands(found) if command[1] == "storage_fold"]
    assert "tiles of" in f.explain()
    always(found).apply_to(f)
    for size in (5, 24):
        agree(f, **KERNELS[name].arguments(size))


@pytest.mark.parametrize("name", ["jacobi-2d", "heat-3d"])
def test_two_time_steps_are_kept(name: str) -> None:
    f = declared(name)
    f.auto_schedule()
    assert "X = empty((2, N, N" in f.loops


def test_many_tiles() -> None:
    """Several tiles in each direction, and a last one that is partly empty."""
    f = declared("jacobi-2d")
    always(f.auto_schedule()).apply_to(f)
    for n, steps in ((70, 13), (97, 20)):
        a = np.random.default_rng(n).random((n, n))
        np.testing.assert_allclose(
            f(A=a, T=steps), KERNELS["jacobi-2d"].expected(A=a, T=steps), rtol=1e-12
        )


def test_tiles_in_time_beside_another_recurrence() -> None:
    """Its first schedule puts C, which runs backwards, into the loops of D: tiles would not wait for C[1]."""
    L = tw.param("L", "L >= 2")
    A = tw.input("A", [L], tw.int64)
    C = tw.computation(
        "C", {i: L}, lambda C: [(i < L - 1, C[i + 1] + A[i]), (i == L - 1, A[i])], dtype=tw.int64
    )
    D = tw.computation(
        "D",
        {i: N, j: N},
        lambda D: [
            ((i > 0) & (j > 0), tw.maximum(D[i, j - 1] + 1 + D[i - 1, j - 1], D[i - 1, j]) % 1000),
            ((i == 0) | (j == 0), C[1]),
        ],
        dtype=tw.int64,
    )
    f = tw.function("beside", outputs=[D])
    found = f.auto_schedule()
    assert ("C", "before", ("D",)) in commands(found)
    assert "C: has loops of its own" in f.explain()
    again = f.copy().reset_schedule()
    always(found).apply_to(again)  # which proves it anew
    a = np.arange(5) + 1
    np.testing.assert_array_equal(f(a, N=70), f.evaluate(a, N=70))


@pytest.mark.parametrize("name", OTHERS)
def test_values_of_other_kernels(name: str) -> None:
    f = declared(name)
    always(f.auto_schedule()).apply_to(f)
    for size in (5, 24):
        agree(f, **KERNELS[name].arguments(size))


def test_a_contraction_keeps_what_the_default_schedule_does() -> None:
    f = declared("gemm")
    default = f.default_schedule.commands
    assert commands(f.auto_schedule()) == list(default)


def test_sums_side_by_side() -> None:
    """The terms of trmm lie a row apart: the results along a row are made in vectors."""
    f = declared("trmm")
    assert not [command for command in f.default_schedule.commands if command[1] == "vectorize"]
    found = commands(f.auto_schedule())
    assert ("R", "reorder", ("k", "j")) in found
    assert ("R", "vectorize", ("j", 8)) in found


def test_vectors_inside_of_a_recurrence() -> None:
    f = declared("cholesky")
    found = commands(f.auto_schedule())
    assert ("B", "vectorize", ("i", 8)) in found
    assert "inside of the loops of the recurrence" in f.explain()


def test_a_parallel_loop_needs_no_tiles_in_time() -> None:
    x = tw.input("x", [N, M], tw.float64)
    s = tw.computation(
        "s", {i: N, j: M}, lambda s: [(j == 0, x[i, j]), (j > 0, s[i, j - 1] + x[i, j])],
        dtype=tw.float64,
    )  # fmt: skip
    f = tw.function("scans", outputs=[s])
    f.auto_schedule()
    assert "one of them is parallel without it" in f.explain()
    assert f["s"].tags["i0"] == "parallel"
    assert f["s"].tags["i1"] == "unroll(8)"  # rows are chains that do not need each other
    a = np.random.default_rng(0).random((9, 33))
    np.testing.assert_allclose(f(a), np.cumsum(a, axis=1))


# ---- the schedule as a value ----


def test_it_is_printed_and_read_again() -> None:
    f, g, h = (declared("fdtd-2d") for _ in range(3))
    schedule = f.auto_schedule()
    assert f.schedule == schedule
    tw.Schedule.from_json(schedule.to_json()).apply_to(g)
    exec(str(schedule), {"f": h, "tw": tw, **{name: h[name] for name in h.computations}})
    assert g.schedule == h.schedule == schedule
    assert g.loops == f.loops


def test_the_same_again() -> None:
    f = declared("jacobi-1d")
    first = f.auto_schedule()
    text = f.explain()
    assert f.auto_schedule() == first
    assert f.explain() == text
    assert declared("jacobi-1d").explain() == text


def test_facts_stay_and_other_commands_go() -> None:
    f = declared("jacobi-2d")
    f.fix(N=40)
    f["X"].interchange("i", "j")
    schedule = f.auto_schedule()
    assert schedule.commands[0] == ("", "fix", ("N", 40))
    assert [command[:2] for command in schedule.commands] == [("", "fix"), ("", "transaction")]
    assert not [c for c in schedule.commands[1][2] if c[1] == "interchange"]
    a = np.random.default_rng(0).random((40, 40))
    np.testing.assert_allclose(f(A=a, T=9), KERNELS["jacobi-2d"].expected(A=a, T=9), rtol=1e-12)


def test_a_function_that_iterates_until_its_data_say_so_keeps_its_order() -> None:
    x = tw.input("x", [N], tw.int64)
    y = tw.computation(
        "y", {t: T, i: N}, lambda y: [(t == 0, x[i]), (t > 0, y[t - 1, i] // 2)], dtype=tw.int64
    )
    zero = tw.computation("zero", {t: T}, tw.all(y[t, k] == 0, over={k: N}))
    last = tw.computation("last", {i: N}, y[T - 1, i] + T)
    f = tw.function("halve", outputs=[last, tw.computation("n", {}, T)], until={T: zero})
    f.auto_schedule()
    assert "iterates until its data say so" in f.explain()
    assert f(np.array([5, 1000]))[1] == 11


# ---- misuse ----


def test_not_in_a_transaction() -> None:
    f = declared("jacobi-1d")
    with pytest.raises(tw.ScheduleError, match="a transaction is open"), f.transaction():
        f.auto_schedule()
    with pytest.raises(tw.ScheduleError, match="a transaction is open"), f.transaction():
        f.explain()


def test_no_arguments() -> None:
    f = declared("jacobi-1d")
    with pytest.raises(TypeError):
        f.auto_schedule("cuda")  # type: ignore[call-arg]


def test_the_page_shows_what_is_found() -> None:
    page = (Path(__file__).parents[3] / "docs" / "auto-schedule.md").read_text()
    code, *_ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    schedule, explained = re.findall(r"```\n((?:with|X:).*?)\n```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert str(names["heat"].schedule) == schedule
    assert names["heat"].explain() == explained


# ---- comments ----


def test_each_decision_is_a_comment() -> None:
    f = declared("jacobi-2d")
    schedule = f.auto_schedule()
    lines = str(schedule).splitlines()
    said = [line.strip()[2:] for line in lines if line.strip().startswith("# ")]
    assert sorted(said) == sorted(f.explain().splitlines())
    first = next(n for n, line in enumerate(lines) if line.strip().startswith("X."))
    assert lines[first - 1].strip().startswith("# X: ")
    assert f.schedule.comments == schedule.comments
    # They count in no comparison, and are saved.
    plain = tw.Schedule(schedule.commands)
    assert plain == schedule
    assert plain.key == schedule.key
    assert hash(plain) == hash(schedule)
    assert "#" not in str(plain)
    again = tw.Schedule.from_json(schedule.to_json())
    assert again.comments == schedule.comments
    assert str(again) == str(schedule)
    f["R"].unroll("i", 2)
    assert "#" not in str(f.schedule)  # it is another one


def test_bad_comments() -> None:
    for comments in ([1], [("X",)], [("X", 3)], 7, [["X", "a", "b"]]):
        with pytest.raises(tw.ScheduleTypeError):
            tw.Schedule([], comments)  # type: ignore[arg-type]
    schedule = tw.Schedule([("C", "parallelize", ["i"])], [("C", "two\nlines"), ("", "all of it")])
    lines = str(schedule).splitlines()
    assert lines == ["# all of it", "# C: two lines", 'C.parallelize("i")']
    text = schedule.to_json().replace('"comments": [', '"comments": 3, "other": [')
    with pytest.raises(tw.ScheduleError, match="comments"):
        tw.Schedule.from_json(text)


# ---- kept on disk ----


def test_what_was_found_is_not_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    found = declared("fdtd-2d").auto_schedule()
    explained = declared("fdtd-2d").explain()

    def refuse(function: tw.Function) -> None:
        raise AssertionError("the planner ran")

    monkeypatch.setattr(_core, "found_schedule", refuse)
    assert declared("fdtd-2d").auto_schedule() == found
    assert declared("fdtd-2d").explain() == explained
    f = declared("fdtd-2d").fix(T=3)
    with pytest.raises(AssertionError):  # other facts
        f.auto_schedule()


def test_a_damaged_entry_is_found_anew() -> None:
    found = declared("trmm").auto_schedule()
    key = f"{_FOUND}\ncpu\n{_core.automatic_key(declared('trmm'))}"
    note = _core.cache_load_note(key)
    assert note is not None
    refused = note.replace('"reorder"', '"fuse"')
    for text in ("", "nonsense", "{}", '{"commands": 3, "decisions": []}', note[:50], refused):
        _core.cache_store_note(key, text)
        assert declared("trmm").auto_schedule() == found
    assert _core.cache_load_note(key) == note


# ---- GPUs ----


@pytest.mark.parametrize("name", ["gemm", "atax", "jacobi-2d", "trisolv"])
def test_for_a_gpu(name: str) -> None:
    """The mapping that `gpu()` finds, as a value; on the emulator, without a race."""
    f = declared(name)
    found = f.auto_schedule(target="gpu-emulator")
    assert f.target == "gpu-emulator"
    assert any(command[1].startswith("gpu") for command in found.commands)
    assert found == declared(name).gpu().schedule
    assert "# " in str(found)
    assert declared(name).auto_schedule(target="cuda") == found
    g = declared(name)
    g.target = "gpu-emulator"
    assert g.auto_schedule() == found  # as its target is
    assert "blocks along" in g.explain() or "one thread runs it" in g.explain()
    assert g.auto_schedule(target="cpu") == declared(name).auto_schedule()
    agree_on_emulator(f, **KERNELS[name].arguments(9))


def agree_on_emulator(f: tw.Function, **arguments: Any) -> None:
    expected = in_tuple(f.evaluate(**arguments))
    for own, right in zip(in_tuple(f(**arguments)), expected, strict=True):
        np.testing.assert_allclose(own, right, rtol=1e-12, atol=1e-14 * np.abs(right).max())


def test_other_targets() -> None:
    f = declared("gemm")
    for target in ("opencl", ""):
        with pytest.raises(tw.ScheduleError, match="'cpu', 'cuda', 'gpu-emulator'"):
            f.auto_schedule(target=target)
    with pytest.raises(tw.ScheduleTypeError, match="target must be a string"):
        f.auto_schedule(target=3)  # type: ignore[arg-type]
    with pytest.raises(tw.ScheduleTypeError, match="tuned must be True or False"):
        f.auto_schedule(tuned="no")  # type: ignore[arg-type]
    assert not f.schedule


def test_registers_are_the_processors_whatever_the_target_is() -> None:
    """Functions whose target is a GPU have loops of the CPU as long as nobody maps them."""
    f = declared("gemm")
    f.target = "cuda"
    assert commands(f.auto_schedule()) == list(declared("gemm").default_schedule.commands)
