"""The runner of benchmarks: values before times, every peer accounted for, ratios the right way."""

from __future__ import annotations

import json
import math
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))

import harness
import report
import run
from harness import OURS, Case, Context, Missing, Row


def sleeper(seconds, result):
    def call():
        time.sleep(seconds)
        return result

    return call


def rows_of(case):
    return {row.contender: row for row in harness.measure(case, threads=1, seconds=0.05)}


def test_a_ratio_is_the_time_of_the_peer_over_ours():
    values = np.arange(3.0)
    case = Case(
        "sleep",
        sleeper(0.001, values),
        peers={"slow": sleeper(0.02, values), "absent": Missing("not here")},
        work=1e6,
        unit="G/s",
        goals={"slow": 2.0, "best": 1000.0},
    )
    rows = rows_of(case)
    assert rows["slow"].ratio == pytest.approx(rows["slow"].minimum / rows[OURS].minimum)
    assert rows["slow"].ratio > 2 and rows["slow"].repeats >= 3
    assert rows["slow"].minimum <= rows["slow"].median
    assert rows[OURS].rate == pytest.approx(1e6 / rows[OURS].minimum / 1e9)
    assert math.isnan(rows[OURS].ratio)
    assert "not here" in rows["absent"].problem
    assert rows["slow"].reached is False and rows["slow"].goal == 1000.0  # "best" was asked last


def test_processor_time_leaves_out_waiting():
    values = np.arange(3.0)
    case = Case("sleep", sleeper(0.01, values))
    (row,) = harness.measure(case, threads=1, seconds=0.05, clock="cpu")
    assert row.minimum < 0.01
    with pytest.raises(ValueError, match="one thread"):
        harness.measure(case, threads=2, clock="cpu")


def test_wrong_values_are_not_timed():
    good, bad = np.arange(3.0), np.arange(3.0) + 1
    rows = rows_of(Case("values", lambda: good, peers={"bad": lambda: bad, "good": lambda: good}))
    assert "WRONG" in rows["bad"].problem and math.isnan(rows["bad"].minimum)
    assert rows["good"].ratio > 0
    ours_bad = rows_of(
        Case("values", lambda: bad, peers={"good": lambda: good}, expected=lambda: good)
    )
    assert list(ours_bad) == [OURS] and "WrongValuesError" in ours_bad[OURS].problem


def test_a_result_that_is_overwritten_is_compared_all_the_same():
    shared = np.zeros(2)

    def writes(value):
        def call():
            shared[:] = value
            return shared

        return call

    rows = rows_of(Case("shared", writes(1.0), peers={"other": writes(2.0)}))
    assert "WRONG" in rows["other"].problem


def test_samples_by_part():
    case = Case(
        "phases",
        lambda: {"a": 0.001, "b": 0.002},
        peers={"peer": lambda: {"a": 0.002}},
        sampled=True,
        goals={"ms: b": 1.0},
    )
    rows = harness.measure(case, threads=1, seconds=0.01)
    by_name = {(row.case, row.contender): row for row in rows}
    assert by_name["phases: a", "peer"].ratio == pytest.approx(2.0)
    assert by_name["phases: b", OURS].reached is False
    assert by_name["phases: a", OURS].goal is None
    assert ("phases: b", "peer") not in by_name


@pytest.mark.parametrize("limit, reached", [(2.5, True), (1.5, False)])
def test_a_goal_between_parts(limit, reached):
    case = Case(
        "push",
        lambda: {"median": 0.001, "99.9 %": 0.002},
        sampled=True,
        goals={"times: 99.9 % / median": limit},
    )
    rows = {row.case: row for row in harness.measure(case, threads=1, seconds=0.01)}
    assert rows["push: 99.9 %"].reached is reached
    assert rows["push: 99.9 %"].goal == pytest.approx(limit)  # in milliseconds
    assert rows["push: median"].goal is None


def test_a_peer_that_fails_takes_only_its_own_row():
    def failing():
        raise RuntimeError("beyond the image")

    values = np.arange(3.0)
    case = Case(
        "one fails",
        ours=sleeper(0.001, values),
        peers={"good": sleeper(0.002, values), "bad": failing},
    )
    rows = rows_of(case)
    assert rows["bad"].problem == "failed: RuntimeError: beyond the image"
    assert rows["good"].ratio > 1 and not rows[OURS].problem


def test_geometric_means_hold_losses_and_the_best_peer():
    rows = [
        Row("x", "g", 1, "one", ratio=4.0),
        Row("x", "g", 1, "two", ratio=0.5),
        Row("y", "g", 1, "one", ratio=1.0),
        Row("y", "g", 1, "two", ratio=2.0),
        Row("y", "g", 1, "three", problem="missing: x"),
    ]
    means = {mean["peer"]: mean["ratio"] for mean in harness.geometric_means(rows)}
    assert means["one"] == pytest.approx(2.0)
    assert means["two"] == pytest.approx(1.0)
    assert means["best peer"] == pytest.approx(math.sqrt(0.5))
    assert "three" not in means


def test_the_table_shows_losses_goals_and_problems():
    rows = [
        Row("x", "g", 1, OURS, minimum=2e-3, median=3e-3),
        Row("x", "g", 1, "one", minimum=1e-3, median=1e-3, ratio=0.5, goal=1.0, reached=False),
        Row("x", "g", 1, "two", problem="missing: two is not installed"),
    ]
    text = harness.table(rows)
    assert "0.50" in text and ">= 1 MISSED" in text and "two is not installed" in text


def test_every_topic_has_the_interface():
    import importlib

    assert {"analysis", "calls", "control"} <= set(run.all_topics())
    for name in run.all_topics():
        topic = importlib.import_module(f"topics.{name}")
        assert topic.TITLE and topic.THREADS
        assert callable(topic.cases)


def test_a_quick_run_stores_json_and_a_plot(tmp_path):
    path = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), "calls"]
    done = subprocess.run(
        [*command, "--quick", "--only", "2 arrays", "--output", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    stored = json.loads((tmp_path / "calls.json").read_text())
    assert stored["machine"]["processor"] and stored["machine"]["versions"]["numpy"]
    assert {row["contender"] for row in stored["rows"]} == {OURS, "NumPy", "Numba"}
    assert (tmp_path / "calls.png").stat().st_size > 1000


def test_context_is_quick_on_request():
    assert Context(threads=1).quick is False


def test_a_page_of_results(tmp_path, capsys):
    def row(contender, case="sum", **figures):
        return Row(case, "sums", 1, contender, **figures).as_json()

    rows = [
        row(OURS, minimum=2e-3, median=2e-3),
        row("NumPy", minimum=4e-3, ratio=2.0, goal=1.5, reached=True),
        row("Halide", minimum=1e-3, ratio=0.5, goal=1.5, reached=False),
        row("JAX", problem="missing: not installed"),
        row(OURS, "compile", minimum=0.07, goal=60.0, reached=False),
    ]
    stored = {
        "topic": "sums",
        "title": "Sums",
        "date": "today",
        "clock": "wall",
        "machine": run.peers.machine(),
        "means": [{"group": "sums", "threads": 1, "peer": "NumPy", "cases": 2, "ratio": 2.0}],
        "rows": rows,
    }
    (tmp_path / "sums.json").write_text(json.dumps(stored))
    (tmp_path / "soak.json").write_text(json.dumps({"topic": "soak", "trials": []}))
    assert report.main([str(tmp_path), "--write", str(tmp_path / "page.md")]) == 0
    page = (tmp_path / "page.md").read_text()
    assert page.startswith("# Measurements\n")
    assert "| sum | 1 | 2 ms | NumPy 2.00; Halide **0.50** (1.5 missed); JAX: missing |" in page
    assert "| compile | 1 | 70 ms (at most 60 ms missed) | |" in page
    assert "- sums, 1 thread: NumPy 2.00" in page
    with pytest.raises(SystemExit):
        report.main([str(tmp_path / "nothing")])
    assert "has no results of scripts/bench" in capsys.readouterr().err
