"""Tuning: what is tried, what is kept, and that the caller's arrays stay as they are."""

from __future__ import annotations

import datetime
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import _core
from tilewright.schedule import kept_schedules
from tilewright.tuning import search
from tilewright.tuning.budgets import seconds_of
from tilewright.tuning.knobs import turns

N, M, K, T = tw.params("N M K T", "T >= 1")
i, j, k, t = tw.iters("i j k t")

SECOND = "1s"


def product(name: str = "product") -> tw.Function:
    A = tw.input("A", [N, K], tw.float64)
    B = tw.input("B", [K, M], tw.float64)
    C = tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))
    return tw.function(name, outputs=[C])


def rows(dtype: Any = tw.float64) -> tw.Function:
    """Two computations, one of which reads the other."""
    x = tw.input("x", [N, M], dtype)
    s = tw.computation("s", {i: N}, tw.sum(x[i, k], over={k: M}))
    y = tw.computation("y", {i: N, j: M}, x[i, j] * s[i])
    return tw.function("rows", outputs=[y])


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).random(shape)


# ---- budgets ----


@pytest.mark.parametrize(
    ("budget", "seconds"),
    [
        ("30s", 30), ("500ms", 0.5), ("2min", 120), ("1h", 3600), (" 1.5 s ", 1.5), ("7", 7),
        (3, 3), (0.25, 0.25), (np.float32(2), 2), (datetime.timedelta(minutes=1), 60),
    ],
)  # fmt: skip
def test_budgets(budget: Any, seconds: float) -> None:
    assert seconds_of(budget) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "budget", ["", "soon", "1d", "-1s", "0s", 0, -3, float("nan"), float("inf"), "1e9s", "nan"]
)
def test_no_budgets(budget: Any) -> None:
    f = rows()
    with pytest.raises(tw.ArgumentError, match="budget"):
        f.tune(random(4, 5), budget=budget)
    assert not f.schedule


@pytest.mark.parametrize("budget", [None, True, [30], {}, b"30s", object()])
def test_budgets_of_another_type(budget: Any) -> None:
    with pytest.raises(tw.ArgumentTypeError, match="budget"):
        rows().tune(random(4, 5), budget=budget)


def test_arguments_are_those_of_a_call() -> None:
    f = rows()
    with pytest.raises(TypeError):
        f.tune(budget=SECOND)
    with pytest.raises(tw.ArgumentError):
        f.tune(random(4), budget=SECOND)
    with pytest.raises(tw.ArgumentTypeError):
        f.tune(random(4, 5), random(4, 5), budget=SECOND)
    with pytest.raises(tw.ArgumentTypeError, match="progress"):
        f.tune(random(4, 5), budget=SECOND, progress="yes")
    with pytest.raises(tw.ScheduleError, match="a transaction is open"), f.transaction():
        f.tune(random(4, 5), budget=SECOND)
    assert tw.tuned(f, random(4, 5)) is None


# ---- what is found ----


def test_the_answer_is_a_schedule_that_is_found_again() -> None:
    f = product("found_again")
    a, b = random(40, 30), random(30, 50)
    found = f.tune(a, b, budget=SECOND)
    assert isinstance(found, tw.Schedule)
    assert f.schedule == found == tw.tuned(f, a, b)
    np.testing.assert_allclose(f(a, b), a @ b)
    assert not found.interrupted
    # Near sizes are alike, others are not.
    assert tw.tuned(f, random(42, 31), random(31, 47)) == found
    assert tw.tuned(f, random(400, 31), random(31, 47)) is None
    assert tw.tuned(product("other_name"), a, b) is None
    # auto_schedule knows it, unless it is asked for the planner's.
    g = product("found_again")
    assert g.auto_schedule() == found
    assert g.auto_schedule(tuned=False) == tw.Schedule(_found(g))


def _found(f: tw.Function) -> list[Any]:
    return [("", "transaction", _core.found_schedule(f)[1])]


def test_every_candidate_is_recorded() -> None:
    f = product("recorded")
    found = f.tune(random(33, 20), random(20, 40), budget=SECOND)
    origins = [trial.origin for trial in found.trials]
    assert origins[0] == search.DEFAULT
    assert len(origins) > 3
    timed = [trial for trial in found.trials if trial.outcome == "timed"]
    assert all(trial.seconds is not None and trial.repeats > 0 for trial in timed)
    assert found in [trial.schedule for trial in timed]
    assert found.seconds <= 1.02 * min(trial.seconds or 9 for trial in timed)
    for trial in timed:  # legal by construction
        assert f.legal(trial.schedule)
    table = found.table(rows=2)
    assert len(table.splitlines()) >= 3
    assert search.DEFAULT in found.table(rows=1000)
    with pytest.raises(tw.ArgumentError):
        found.table(rows=0)
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.trials == found.trials


def test_a_picture_of_the_search() -> None:
    pytest.importorskip("matplotlib")
    found = rows().tune(random(9, 8), budget="300ms")
    assert found.plot()._repr_png_().startswith(b"\x89PNG")


def test_the_search_goes_on_where_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    f = product("goes_on")
    a, b = random(24, 20), random(20, 28)
    first = f.tune(a, b, budget="600ms")
    known = {trial.schedule.key for trial in first.trials}
    second = product("goes_on").tune(a, b, budget="600ms")
    fresh = [trial.schedule.key for trial in second.trials[1:] if trial.schedule != first]
    assert fresh
    assert known.isdisjoint(fresh)
    assert "the best one before" in [trial.origin for trial in second.trials] or first == (
        second.trials[0].schedule
    )


def test_a_number_of_threads_is_a_machine_of_its_own() -> None:
    f = rows(tw.float32)
    x = random(50, 60).astype(np.float32)
    f.tune(x, budget="200ms", threads=1)
    assert tw.tuned(f, x, threads=1) is not None
    assert tw.tuned(f, x, threads=3) is None


# ---- what may not happen ----


def test_the_arrays_of_the_caller_stay_as_they_are() -> None:
    x = tw.input("x", [N, M], tw.float64)
    y = tw.computation("y", {i: N, j: M}, 2 * x[i, j] + 1)
    f = tw.function("twice", outputs=[y])
    y.store_in(x[i, j])
    given = random(20, 30)
    before = given.copy()
    found = f.tune(given, budget=SECOND)
    np.testing.assert_array_equal(given, before)
    assert any(command[1] == "store_in" for command in _flat(found))  # results stay where they were
    result = f(given)
    assert result is given
    np.testing.assert_array_equal(given, 2 * before + 1)


def _flat(schedule: tw.Schedule) -> list[Any]:
    flat: list[Any] = []
    for command in schedule.commands:
        flat += command[2] if command[:2] == ("", "transaction") else [command]
    return flat


def test_loops_in_python_are_tuned_on_copies() -> None:
    @tw.jit
    def relax(a: Any, steps: int) -> None:
        for _ in range(steps):
            for r in range(1, a.shape[0] - 1):
                a[r] = (a[r - 1] + a[r] + a[r + 1]) / 3

    given = random(200)
    before = given.copy()
    relax(given.copy(), 3)  # which translates it
    found = relax.tune(given, 3, budget=SECOND)
    np.testing.assert_array_equal(given, before)
    relax(given, 3)
    for _ in range(3):
        for r in range(1, 199):
            before[r] = (before[r - 1] + before[r] + before[r + 1]) / 3
    np.testing.assert_allclose(given, before, rtol=1e-13)
    assert found.trials


def test_wrong_values_are_never_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a schedule that the checker takes and whose code is wrong, as a fault of the compiler."""
    f = product("wrong_code")
    a, b = random(20, 20), random(20, 20)
    plain = search.Bench.difference

    def wrong(self: Any, function: tw.Function) -> str:
        given = [command for command in _flat(function.schedule) if command[1] == "parallelize"]
        return "1.0 at [0, 0], not 2.0" if given else plain(self, function)

    monkeypatch.setattr(search.Bench, "difference", wrong)
    found = f.tune(a, b, budget="500ms")
    outcomes = {trial.outcome for trial in found.trials}
    assert "wrong values: 1.0 at [0, 0], not 2.0" in outcomes
    assert not [command for command in _flat(found) if command[1] == "parallelize"]


def test_values_are_compared() -> None:
    bench = search.Bench(lambda f, given: f(**given), {"x": random(6, 7)}, frozenset())
    f = rows()
    bench.expect(f)
    assert bench.difference(f.copy()) == ""
    x = tw.input("x", [N, M], tw.float64)
    s = tw.computation("s", {i: N}, tw.sum(x[i, k], over={k: M}))
    y = tw.computation("y", {i: N, j: M}, x[i, j] * s[i] * (1 + 1e-9))
    assert " not " in bench.difference(tw.function("near", outputs=[y]))


def test_ctrl_c_keeps_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    f = product("interrupted")
    a, b = random(30, 30), random(30, 30)
    plain, calls = search.Bench.seconds, []

    def ended(self: Any, function: tw.Function, about: float | None = None) -> float:
        calls.append(function)
        if len(calls) == 12:
            raise KeyboardInterrupt
        return plain(self, function, about)

    monkeypatch.setattr(search.Bench, "seconds", ended)
    found = f.tune(a, b, budget="60s")
    assert found.interrupted
    assert len(calls) == 12
    assert f.schedule == found == tw.tuned(f, a, b)
    assert found.seconds > 0


def test_a_damaged_entry_is_not_there() -> None:
    f = rows(tw.float32)
    x = random(5, 6).astype(np.float32)
    f.tune(x, budget="200ms")
    place = kept_schedules._TUNED + "\n" + _place(f)
    known = _core.cache_load_note(place)
    assert known is not None
    for note in ("", "{", "[]", "null", '{"a": 3}', '{"N": {"commands": [[1, 2]]}}', known[:-30]):
        _core.cache_store_note(place, note)
        assert tw.tuned(f, x) is None
        assert f.auto_schedule() is not None
    _core.cache_store_note(place, known)
    assert tw.tuned(f, x) is not None


def _place(f: tw.Function) -> str:
    from tilewright.schedule.automatic import machine_key

    return machine_key(f)


def test_commands_that_are_refused_are_not_taken_from_disk() -> None:
    f = product("refused_note")
    wrong = tw.Schedule([("C", "parallelize", ["k"])])
    kept_schedules.store_tuned(_place(f), "some", kept_schedules.TunedBefore(wrong, 1.0))
    assert f.auto_schedule() == tw.Schedule(_found(f))


# ---- what can be turned ----


def test_sizes_that_belong_together_are_turned_together() -> None:
    f = product()
    f["C"].split("j", 16).split("i", 32).reorder("i0", "j0", "k", "i1", "j1").vectorize("j1", 16)
    loops = {"C": list(f["C"].loops)}
    texts = [str(each.schedule) for each in turns(f.schedule, loops)]
    both = 'C.split("j", 32).split("i", 32)'
    assert any(both in text and 'vectorize("j1", 32)' in text for text in texts)
    assert not any(both in text and 'vectorize("j1", 16)' in text for text in texts)
    assert any('split("i", 64)' in text and 'split("j", 16)' in text for text in texts)
    assert any("parallelize" in text for text in texts)
    assert not any("vectorize" in text and "split" not in text for text in texts)


def test_tiles_of_shared_loops_are_turned_together() -> None:
    x = tw.input("x", [N, M], tw.int64)
    y = tw.computation("y", {i: N, j: M}, x[i, j] + 1)
    z = tw.computation("z", {i: N, j: M}, y[i, j] * 2)
    f = tw.function("two", outputs=[z])
    z.after(y, j)
    f.nest(y, z).tile(i, j, 8, 4)
    every = list(turns(f.schedule, {name: list(f[name].loops) for name in f.computations}))
    turned = [each for each in every if each.what.endswith("i: 8 -> 16")]
    assert len(turned) == 1
    assert str(turned[0].schedule).count("16") == 2
    assert f.legal(turned[0].schedule)


# ---- other processes ----


def test_the_next_process_has_it(tmp_path: Path) -> None:
    """Without a run of the planner: neither what was tuned nor what was found is looked for again."""
    program = """
import sys
sys.path.insert(0, sys.argv[1])
from test_tune import product, random
import tilewright as tw
from tilewright import _core
if sys.argv[2] == "again":
    def refuse(*given):
        raise SystemExit("the planner ran")
    _core.found_schedule = refuse
f = product("in_processes")
if sys.argv[2] == "first":
    f.tune(random(20, 20), random(20, 20), budget="300ms")
print(tw.tuned(f, random(20, 20), random(20, 20)).key)
print(f.auto_schedule().key)
print(f.auto_schedule(tuned=False).key, len(f.explain()))
"""
    environment = {"TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
    texts = [
        subprocess.run(
            [sys.executable, "-c", program, str(Path(__file__).parent), which],
            capture_output=True, text=True, check=True, env={**_environment(), **environment},
        ).stdout
        for which in ("first", "again")
    ]  # fmt: skip
    assert texts[0] == texts[1]
    assert texts[0].splitlines()[0] == texts[0].splitlines()[1]


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)


def test_functions_in_c_are_tuned_on_copies(tmp_path: Path) -> None:
    source = tmp_path / "scale.c"
    source.write_text(
        "void scale(int n, double x[static const restrict n])\n"
        "{\n#pragma scop\n  for (int i = 0; i < n; i++) x[i] = 2 * x[i] + i;\n#pragma endscop\n}\n"
    )
    module = tw.c.load(source)
    x = random(300)
    before = x.copy()
    found = module.scale.tune(300, x, budget="400ms")
    np.testing.assert_array_equal(x, before)
    assert tw.tuned(module.scale, 300, x) == found
    module.scale(300, x)
    np.testing.assert_array_equal(x, 2 * before + np.arange(300))


def test_on_a_gpu_candidates_are_those_with_blocks_and_threads() -> None:
    n, m = tw.params("N M")
    i, j = tw.iters("i j")
    given = tw.input("A", [n, m + 1], tw.float64)
    doubled = tw.computation("C", {i: n, j: m}, 2 * given[i, j + 1])
    f = tw.function("on_gpu", outputs=[doubled], target="gpu-emulator")
    a = random(9, 8)
    found = f.tune(a, budget="2s")
    assert any(command[1].startswith("gpu") for command in _flat(found))
    assert found.trials[0].origin == "the schedule found"
    assert any("blocks of" in trial.origin for trial in found.trials)
    np.testing.assert_array_equal(f(a), 2 * a[:, 1:])
    for trial in found.trials:
        if trial.outcome == "timed":
            assert any(command[1].startswith("gpu") for command in _flat(trial.schedule))


def test_arrays_on_a_device() -> None:
    f = product("on_device")
    f.target = "gpu-emulator"
    f.gpu()
    a, b = (tw.to_device(random(*shape), "gpu-emulator") for shape in ((8, 7), (7, 9)))
    found = f.tune(a, b, budget="500ms")
    assert found.trials
    assert tw.tuned(f, a, b) == found
    result = f(a, b)
    assert isinstance(result, tw.DeviceArray)
    np.testing.assert_allclose(result.numpy(), random(8, 7) @ random(7, 9))


def test_structured_arrays() -> None:
    p = tw.input("p", [N], np.dtype([("x", np.float32), ("id", np.int64)]))
    moved = tw.computation("moved", {i: N}, p.x[i] + 1)
    kept = tw.computation("kept", {i: N}, p.id[i] * 2)
    f = tw.function("structured", outputs=[tw.struct("q", x=moved, id=kept)])
    given = np.zeros(40, [("x", np.float32), ("id", np.int64)])
    given["x"], given["id"] = np.arange(40), np.arange(40)[::-1]
    before = given.copy()
    found = f.tune(given, budget="300ms")
    assert tw.tuned(f, given) == f.schedule == found
    np.testing.assert_array_equal(given, before)
    np.testing.assert_array_equal(f(given)["x"], np.arange(40) + 1)


def test_results_are_made_by_tune() -> None:
    for trials in (3, [1], "ab"):
        with pytest.raises(tw.DeclarationTypeError):
            tw.TunedSchedule([], trials=trials)  # type: ignore[arg-type]
    with pytest.raises(tw.DeclarationTypeError):
        tw.TunedSchedule([], interrupted="no")  # type: ignore[arg-type]
    with pytest.raises(tw.ArgumentTypeError):
        tw.Trial("origin", "schedule", 1.0, 1, "timed")  # type: ignore[arg-type]
    for function in (3, None, tw.Schedule()):
        with pytest.raises(tw.ArgumentTypeError, match="takes a function first"):
            tw.tuned(function)  # type: ignore[arg-type]
    nothing = tw.TunedSchedule()
    assert np.isnan(nothing.seconds)
    assert np.isnan(nothing.speedup)
    assert len(nothing.table().splitlines()) == 1
