"""Random programs under random schedules: every verdict agrees with an independent judge, every legal mapping
computes what the evaluator does. `scripts/fuzz` runs the same for as long as one likes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fuzz.run
import tilewright as tw
from compiled_c import COMPILERS
from fuzz import mutations
from fuzz.cases import Failure, Runner, draw_case
from fuzz.gpu import GpuRunner
from fuzz.judge import Judge, happens_before
from fuzz.linear import Linear
from fuzz.linear import iterator as linear
from fuzz.loops import run_case as run_loops
from fuzz.model import Model
from fuzz.programs import affine
from fuzz.reductions import of_type, scheduled
from fuzz.run import Child
from fuzz.sources import SourceOracle
from fuzz.space import Space, World


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    """A process for the cases, so that a crash of the compiler is one failed case."""
    child = Child(compiled=True)
    yield child
    child.stop()


@settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.integers(0, 2**40))
def test_verdicts_and_values(child: Child, seed: int) -> None:
    outcome = child.ask(f"test:{seed}")
    assert "statistics" in outcome, f"scripts/fuzz --seed test --case {seed}: {outcome['message']}"


def test_a_case_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what it has used of the processor: a busy machine makes no case late."""
    late = Child(compiled=False)
    assert "statistics" in late.ask("test:1")
    monkeypatch.setattr(fuzz.run, "CASE_SECONDS", -1.0)
    monkeypatch.setattr(fuzz.run, "ASKED_SECONDS", 0.0)  # before it can have answered
    assert late.ask("test:2")["kind"] == "hang"
    monkeypatch.undo()
    assert "statistics" in late.ask("test:3")  # by another process
    late.stop()


def test_cases_are_neither_all_legal_nor_all_refused(child: Child) -> None:
    total: Counter[str] = Counter()
    for case in range(40):
        outcome = child.ask(f"mixture:{case}")
        assert "statistics" in outcome, outcome["message"]
        total.update(outcome["statistics"])
    assert total["verdicts: refused / refused"] > 5
    assert total["verdicts: legal / legal"] > 40
    assert total["verdicts: no sense / no sense"] > 5
    assert total["calls equal to the evaluator"] > 60
    assert total["calls with checked accesses"] > 8


@pytest.mark.skipif(not COMPILERS, reason="no C compiler on PATH")
def test_c_source_is_a_third_oracle() -> None:
    child = Child(compiled=True, c_compiler=COMPILERS[0])
    total: Counter[str] = Counter()
    for case in range(15):
        outcome = child.ask(f"source:{case}")
        assert "statistics" in outcome, outcome["message"]
        total.update(outcome["statistics"])
    child.stop()
    assert total["calls of C source equal to the compiled function"] > 20


@pytest.mark.skipif(not COMPILERS, reason="no C compiler on PATH")
def test_one_wrong_bit_is_noticed() -> None:
    n, i = tw.param("N"), tw.iter("i")
    x = tw.input("x", [n], tw.float64)
    f = tw.function("f", outputs=[tw.computation("Y", {i: n}, x[i] / 3)])
    given = {"x": np.arange(5.0), "N": 5}
    oracle = SourceOracle(COMPILERS[0])
    right = f(given["x"])
    assert oracle.difference(f, (right,), set(), **given) == ""
    wrong = right.copy()
    wrong[3] = np.nextafter(wrong[3], 2)
    assert "C source gives" in oracle.difference(f, (wrong,), set(), **given)


def test_a_case_is_the_same_each_time() -> None:
    assert draw_case("seed:7") == draw_case("seed:7")
    assert draw_case("seed:7") != draw_case("seed:8")


# ---- the judge itself ----


def jacobi() -> dict[str, Any]:
    """A[i,j] = A[i-1,j-1] + A[i-1,j+1] + x[j] inside, x[j] on the border; R[j] = A[3,j]."""
    ranges = [[affine(0), affine(4)], [affine(0), affine(N=1)]]
    inside = [affine(-1, i=1), affine(-1, j=1), affine(-2, N=1, j=-1)]
    read = ["read", "x", [affine(j=1)]]
    body = [
        "add",
        ["read", "A", [affine(-1, i=1), affine(-1, j=1)]],
        ["read", "A", [affine(-1, i=1), affine(1, j=1)]],
    ]
    domain = [affine(i=1), affine(3, i=-1), affine(j=1), affine(-1, N=1, j=-1)]
    a = {
        "name": "A",
        "iterators": ["i", "j"],
        "axes": ["N", "N"],
        "ranges": ranges,
        "domain": domain,
        "where": [],
    }
    a |= {
        "dtype": "int32",
        "pieces": [[["all", inside], ["add", body, read]], [["not", inside], read]],
    }
    r = {
        "name": "R",
        "iterators": ["j"],
        "axes": ["N"],
        "ranges": ranges[1:],
        "domain": domain[2:],
        "where": [],
    }
    r |= {"dtype": "int32", "pieces": [[None, ["read", "A", [affine(3), affine(j=1)]]]]}
    x = {"name": "x", "axes": ["N"], "extents": [affine(N=1)], "dtype": "int32"}
    return {"inputs": [x], "computations": [a, r], "outputs": ["R"]}


def judged(commands: list[Any]) -> str | None:
    """The judge's verdict on Jacobi under commands, without asking the library anything but how it starts."""
    loops = [{"name": "i"}, {"name": "j"}]
    start = {
        "order": ["A", "R"],
        "placements": [],
        "computations": {
            "A": {"iterators": ["i", "j"], "reduced": 0, "explicit": False, "loops": loops},
            "R": {"iterators": ["j"], "reduced": 0, "explicit": False, "loops": loops[1:]},
        },
    }
    return verdict(Model(start, jacobi()), commands)


def verdict(model: Model, commands: list[Any]) -> str | None:
    for command in commands:
        model = model.after(command)
    return Judge(model, World(model), Space(model, {"N": 5})).violation()


MODULO = [["mod", affine(i=1), 2], affine(j=1)]
JUDGED = [
    ([], True),
    ([["A", "split", ["i", 2]], ["A", "join", ["i0", "i1"]]], True),
    ([["A", "parallelize", ["j"]]], True),
    ([["A", "parallelize", ["i"]]], False),
    ([["A", "interchange", ["i", "j"]]], False),
    ([["A", "reverse", ["i"]]], False),
    ([["A", "tile", ["i", "j", 2, 2]]], False),
    ([["A", "split", ["j", ["N", 3, 4]]]], True),
    ([["A", "split", ["j", ["N", 3, 4]]], ["A", "reorder", ["j0", "i", "j1"]]], False),
    ([["A", "skew", ["i", "j", 1]], ["A", "tile", ["i", "j", 2, 2]]], True),
    ([["A", "skew", ["i", "j", 1]], ["A", "interchange", ["i", "j"]]], True),
    ([["A", "vectorize", ["j", 2]]], True),
    ([["A", "store_in", ["ring", MODULO]]], True),
    ([["A", "store_in", ["row", [affine(j=1)]]]], False),
    ([["R", "before", ["A"]]], False),
    (
        [
            ["A", "set_schedule", [[affine(), affine(i=2, j=1), affine(i=1)]]],
            ["R", "set_schedule", [[affine(1), affine(j=1)]]],
        ],
        True,
    ),
    (
        [
            ["A", "set_schedule", [[affine(), affine(j=1), affine(i=1)]]],
            ["R", "set_schedule", [[affine(1), affine(j=1)]]],
        ],
        False,
    ),
]


@pytest.mark.parametrize(("commands", "legal"), JUDGED)
def test_the_judge_knows_jacobi(commands: list[Any], legal: bool) -> None:
    problem = judged(commands)
    assert (problem is None) == legal, problem


@pytest.mark.parametrize(("commands", "legal"), JUDGED)
def test_the_library_agrees_about_jacobi(commands: list[Any], legal: bool) -> None:
    case = {
        "program": jacobi(),
        "sizes": [(0, 0, 0), (4, 0, 0), (6, 0, 0)],
        "commands": commands,
        "seed": "",
    }
    statistics = Runner(case).run()
    assert (statistics.get("verdicts: refused / refused", 0) == 0) == legal


def window() -> dict[str, Any]:
    """B[i] = x[i] for i < N; S[i] = sum of B[k] for i <= k < i + 2; T[i] = 2 S[i], both for i < N - 1."""
    copy = {"name": "B", "iterators": ["i"], "axes": ["N"], "ranges": [[affine(0), affine(N=1)]]}
    copy |= {"domain": [affine(i=1), affine(-1, N=1, i=-1)], "where": [], "dtype": "int32"}
    copy["pieces"] = [[None, ["read", "x", [affine(i=1)]]]]
    short = {"ranges": [[affine(0), affine(-1, N=1)]], "where": [], "axes": ["N"]}
    short |= {"iterators": ["i"], "domain": [affine(i=1), affine(-2, N=1, i=-1)]}
    over = [["k", affine(i=1), affine(2, i=1)]]
    sums = {"name": "S", **short, "dtype": None}
    sums["pieces"] = [[None, ["reduce", "sum", over, [], ["read", "B", [affine(k=1)]]]]]
    twice = {"name": "T", **short, "dtype": "int64"}
    twice["pieces"] = [[None, ["mul", ["const", 2], ["read", "S", [affine(i=1)]]]]]
    x = {"name": "x", "axes": ["N"], "extents": [affine(N=1)], "dtype": "int32"}
    return {"inputs": [x], "computations": [copy, sums, twice], "outputs": ["T"]}


REPLICATED = [
    # Each iteration computes the two elements that it reads; with threads they need two buffers ...
    ([["B", "compute_at", ["S", "i"]]], True),
    ([["B", "compute_at", ["S", "i"]], ["S", "parallelize", ["i"]]], True),
    ([["B", "compute_at", ["S", "i"]], ["B", "storage_fold", ["i", 2]]], True),
    (
        [
            ["B", "compute_at", ["S", "i"]],
            ["B", "storage_fold", ["i", 2]],
            ["S", "parallelize", ["i"]],
        ],
        False,
    ),
    ([["B", "compute_at", ["S", "i"]], ["B", "storage_fold", ["i", 1]]], False),
    # ... inside the loop over k there is one element at a time.
    ([["B", "compute_at", ["S", "k"]], ["B", "storage_fold", ["i", 1]]], True),
    ([["B", "compute_at", ["S", "i"]], ["B", "parallelize", ["i"]]], True),
    ([["B", "compute_at", ["S", "k"]], ["S", "interchange", ["i", "k"]]], True),
    # A sum that is computed anew in another thread would begin anew in the same element.
    ([["S", "compute_at", ["T", "i"]], ["T", "parallelize", ["i"]]], True),
    ([["S", "compute_at", ["T", "i"]], ["S", "store_at", ["T", "i"]]], True),
    ([["S", "compute_at", ["T", "i"]], ["S", "parallelize", ["k"]]], False),
    ([["S", "cache", ["B", "i"]], ["S", "parallelize", ["i"]]], True),
    ([["S", "cache", ["B", "k"]], ["S", "parallelize", ["i"]], ["S", "parallelize", ["k"]]], False),
    ([["S", "cache", ["x", "i"]]], None),
    ([["B", "cache", ["x", "i"]], ["B", "vectorize", ["i", 2]]], True),
    ([["S", "cache", ["S", "i"]], ["S_local", "parallelize", ["k"]]], False),
    ([["S", "cache", ["S", "i"]], ["S", "parallelize", ["i"]]], True),
    ([["S", "rfactor", ["k"]], ["S_partial", "parallelize", ["k"]]], True),
    ([["S", "rfactor", ["k"]], ["S", "parallelize", ["k"]]], False),
    ([["S", "rfactor", ["i"]]], None),
    ([["B", "inline", []], ["S", "parallelize", ["i"]]], True),
    ([["S", "inline", []], ["T", "parallelize", ["i"]]], True),
    ([["T", "inline", []]], None),
    ([["B", "inline", []], ["B", "parallelize", ["i"]]], None),
    ([["T", "compute_at", ["S", "i"]]], None),
    ([["B", "compute_at", ["T", "i"]]], None),
    # Which memory it is changes no verdict.
    ([["S", "compute_at", ["T", "i"]], ["S", "store_at", ["T", "i", "stack", 1]]], True),
    ([["B", "store_at", ["S", "i"]]], None),
    ([["B", "compute_at", ["S", "i"]], ["B", "store_at", ["S", "k"]]], None),
    ([["B", "compute_at", ["S", "i"]], ["S", "inline", []]], True),
    # Stored further out, each value is made once, where it is read first.
    (
        [
            ["S", "split", ["i", 3, "i0", "i1"]],
            ["B", "compute_at", ["S", "i1"]],
            ["B", "store_at", ["S", "i0"]],
            ["S", "parallelize", ["i0"]],
        ],
        True,
    ),
    (
        [
            ["S", "split", ["i", 3, "i0", "i1"]],
            ["B", "compute_at", ["S", "k"]],
            ["B", "store_at", ["S", "i0"]],
            ["S", "reverse", ["i1"]],
        ],
        True,
    ),
]


@pytest.mark.parametrize(("commands", "legal"), REPLICATED)
def test_judge_and_library_know_what_is_computed_inside_loops(
    commands: list[Any], legal: bool | None
) -> None:
    """None: the last command makes no sense."""
    case = {"program": window(), "sizes": [(0, 0, 0), (2, 0, 0), (6, 0, 0)], "seed": ""}
    statistics = Runner({**case, "commands": commands}).run()
    assert sum(c for w, c in statistics.items() if w.startswith("not judged")) == 0
    assert statistics.get("verdicts: no sense / no sense", 0) == (legal is None)
    assert statistics.get("verdicts: refused / refused", 0) == (legal is False)


def finished() -> dict[str, Any]:
    """B[i] = x[i]; S[i] = 3 * sum of y[i,k] over k < M + B[i]; T[i] = S[i] + 1; D[i] = x[i]; E[i] = D[i]."""

    def line(name: str, value: list[Any], dtype: str = "int64") -> dict[str, Any]:
        return {
            "name": name, "iterators": ["i"], "axes": ["N"], "ranges": [[affine(0), affine(N=1)]],
            "domain": [affine(i=1), affine(-1, N=1, i=-1)], "where": [], "dtype": dtype,
            "pieces": [[None, value]],
        }  # fmt: skip

    def at(name: str) -> list[Any]:
        return ["read", name, [affine(i=1)]]

    term = ["read", "y", [affine(i=1), affine(k=1)]]
    total = ["reduce", "sum", [["k", affine(0), affine(M=1)]], [], term]
    x = {"name": "x", "axes": ["N"], "extents": [affine(N=1)], "dtype": "int64"}
    y = {"name": "y", "axes": ["N", "M"], "extents": [affine(N=1), affine(M=1)], "dtype": "int64"}
    computations = [
        line("B", at("x")),
        line("S", ["add", ["mul", ["const", 3], total], at("B")]),
        line("T", ["add", at("S"), ["const", 1]]),
        line("D", at("x")),
        line("E", at("D")),
    ]
    return {"inputs": [x, y], "computations": computations, "outputs": ["S", "T", "E"]}


def timed(name: str, *times: list[Any]) -> list[Any]:
    return [name, "set_schedule", [[affine(), affine(i=1), *times]]]


#: All terms at negative times.
TERMS_FIRST = timed("S", affine(-1, k=-1))
IN_BUFFER_OF_S = ["store_in", ["S", [affine(i=1)]]]
FINISHED = [
    ([], True),
    ([["S", "interchange", ["i", "k"]], ["S", "parallelize", ["i"]]], True),
    ([["S", "parallelize", ["k"]]], False),
    ([["S", "atomic", []], ["S", "parallelize", ["k"]]], True),
    # What the expression reads comes before all terms, beside them, or too late.
    ([["B", "before", ["S"]]], True),
    ([["B", "before", ["S", "i"]]], True),
    ([["B", "after", ["S"]]], False),
    ([["B", "after", ["S", "i"]]], False),
    ([["S", "interchange", ["i", "k"]], ["B", "fuse_with", ["S", "k"]]], True),
    ([["B", "compute_at", ["S", "i"]], ["S", "parallelize", ["i"]]], True),
    ([["B", "compute_at", ["S", "k"]]], None),
    ([["S", "interchange", ["i", "k"]], ["B", "compute_at", ["S", "i"]]], None),
    ([["B", "inline", []], ["S", "vectorize", ["i", 2]]], True),
    # Readers wait for the expression, also where all terms are there.
    ([["T", "after", ["S", "i"]]], True),
    ([["T", "before", ["S", "i"]]], False),
    ([TERMS_FIRST, timed("T", affine())], False),
    ([TERMS_FIRST, ["T", "set_schedule", [[affine(), affine(1, i=1)]]]], True),
    # Nothing comes between the last term and the expression.
    ([TERMS_FIRST, timed("D", affine()), timed("E", affine(1))], True),
    ([TERMS_FIRST, timed("D", affine()), timed("E", affine(1)), ["D", *IN_BUFFER_OF_S]], False),
    ([["D", *IN_BUFFER_OF_S]], False),
    ([["B", *IN_BUFFER_OF_S]], False),
    ([["S", "store_in", ["x", [affine(i=1)]]]], False),
    ([["D", "before", ["B"]], ["S", "store_in", ["x", [affine(i=1)]]]], True),
    # Partial results, and what the rest is done with.
    ([["S", "rfactor", ["k"]], ["S_partial", "parallelize", ["k"]]], True),
    ([["S", "rfactor", ["k"]], ["S", "parallelize", ["k"]]], False),
    ([["S", "rfactor", ["i"]]], None),
    ([["S", "split", ["k", 2]], ["S", "cache", ["S", "k0"]], ["S", "parallelize", ["i"]]], True),
    ([["S", "cache", ["S", "i"]], ["S", "parallelize", ["i"]]], True),
    ([["S", "cache", ["B", "i"]], ["S", "parallelize", ["i"]]], True),
    ([["S", "cache", ["B", "k"]]], None),
    ([["S", "inline", []]], None),
]


@pytest.mark.parametrize(("commands", "legal"), FINISHED)
def test_judge_and_library_know_what_an_expression_makes_of_a_reduction(
    commands: list[Any], legal: bool | None
) -> None:
    """None: the last command makes no sense."""
    case = {
        "program": finished(),
        "sizes": [(0, 0, 0), (2, 3, 0), (4, 0, 0), (5, 4, 0)],
        "seed": "",
    }
    statistics = Runner({**case, "commands": commands}).run()
    assert sum(c for w, c in statistics.items() if w.startswith("not judged")) == 0
    assert statistics.get("verdicts: no sense / no sense", 0) == (legal is None)
    assert statistics.get("verdicts: refused / refused", 0) == (legal is False)


def lagged() -> dict[str, Any]:
    """R[i] = x[i] + N for i < 4, else R[i - 4] + x[i] + N."""
    at = {"iterators": ["i"], "axes": ["N"], "ranges": [[affine(0), affine(N=1)]], "where": []}
    at |= {"domain": [affine(i=1), affine(-1, N=1, i=-1)], "dtype": "int64", "name": "R"}
    x = ["add", ["read", "x", [affine(i=1)]], ["aff", affine(N=1)]]
    later = ["add", ["read", "R", [affine(-4, i=1)]], x]
    first = [affine(3, i=-1)]
    at["pieces"] = [[["all", first], x], [["not", first], later]]
    array = {"name": "x", "axes": ["N"], "extents": [affine(N=1)], "dtype": "int64"}
    return {"inputs": [array], "computations": [at], "outputs": ["R"]}


IN_THREADS = ["R", "parallelize", ["i"]]
KNOWN = [
    ([IN_THREADS], False),
    ([["", "fix", ["N", 4]], IN_THREADS], True),
    ([["", "fix", ["N", 5]], IN_THREADS], False),
    ([["R", "split", ["i", 4]], ["", "fix", ["N", 8]], ["R", "parallelize", ["i1"]]], True),
    ([["", "fix", ["N", 4]], ["", "fix", ["N", 5]]], None),
    ([["", "fix", ["M", 4]]], None),
    # A version knows what the others do not; a schedule is legal for all of them.
    ([["", "specialize", [["eq", "N", 4]]], IN_THREADS], False),
    ([["", "specialize", [["mod", "N", 3, 0]]], ["R", "split", ["i", 3]]], True),
    ([["", "specialize", [["mod", "N", 2, 0]]], ["", "specialize", [["mod", "N", 4, 0]]]], None),
    ([["", "fix", ["N", 6]], ["", "specialize", [["mod", "N", 3, 0]]]], None),
    ([["", "when_work", [50]], ["R", "split", ["i", 3]]], True),
    ([["", "when_work", [50]], ["R", "store_in", ["x", [affine(i=1)]]]], None),
    ([["", "when_work", [0]], ["R", "store_in", ["x", [affine(i=1)]]]], True),
]


@pytest.mark.parametrize(("commands", "legal"), KNOWN)
def test_judge_and_library_know_what_is_known_of_parameters(
    commands: list[Any], legal: bool | None
) -> None:
    """None: the last command makes no sense."""
    case = {"program": lagged(), "sizes": [(0, 0, 0), (3, 0, 0), (8, 0, 0)], "seed": ""}
    statistics = Runner({**case, "commands": commands}).run()
    assert sum(c for w, c in statistics.items() if w.startswith("not judged")) == 0
    assert statistics.get("verdicts: no sense / no sense", 0) == (legal is None)
    assert statistics.get("verdicts: refused / refused", 0) == (legal is False)


def test_the_judge_finds_the_reduction_that_is_scheduled() -> None:
    sums = [["reduce", "sum", [[n, affine(0), affine(3)]], [], ["aff", affine(i=1)]] for n in "klm"]
    other = ["const", 2]

    def found(value: list[Any], dtype: str = "int64") -> list[Any] | None:
        one = {"name": "C", "pieces": [[None, value]]}
        return scheduled(one, {"C": dtype})

    assert found(sums[0]) is sums[0]
    assert found(["add", ["neg", sums[1]], sums[0]]) is sums[1]
    assert found(["choose", other, sums[2], sums[0], sums[1]]) is sums[2]
    assert found(["choose", other, other, sums[0], sums[1]]) is None
    assert found(["select", [affine(i=1)], sums[0], other]) is None
    assert found(["min", ["select", [affine(i=1)], sums[0], other], sums[1]]) is sums[1]
    assert found(["cast", "float64", ["add", sums[0], other]], "float64") is None
    assert found(["while", sums[0], other, other, 3]) is None
    assert found(["add", sums[0], ["read", "C", [affine(-1, i=1)]]]) is None
    narrow = of_type(["cast", "int32", sums[0]], "int32", {})
    assert narrow[1] == "sum/int32" and found(narrow, "int32") is narrow
    pieces = [[["all", []], sums[0]], [["not", []], other]]
    assert scheduled({"name": "C", "pieces": pieces}, {"C": "int64"}) is None


def test_replicas_are_what_is_read_in_an_iteration() -> None:
    runner = Runner({"program": window(), "sizes": [(5, 0, 0)], "seed": "", "commands": []})
    runner.run()
    model = runner.model.after(["B", "compute_at", ["S", "i"]]).after(["B", "store_at", ["S", "i"]])
    judge = Judge(model, World(model), Space(model, {"N": 4}))
    (copies,) = judge.statements["B"]
    assert sorted(copies.rows) == [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3)]
    assert dict(zip(copies.rows, judge.elements(copies), strict=True))[1, 2] == ("B", (1, 2))


def test_a_wrong_verdict_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the judge made to see violations everywhere, the library's 'legal' is reported."""
    monkeypatch.setattr(Judge, "violation", lambda _: "made up")
    with pytest.raises(Failure, match="missed"):
        Runner({"program": jacobi(), "sizes": [(4, 0, 0)], "commands": [], "seed": ""}).run()


def test_a_false_refusal_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Judge, "violation", lambda _: None)
    case = {
        "program": jacobi(),
        "sizes": [(4, 0, 0)],
        "commands": [["A", "reverse", ["i"]]],
        "seed": "",
    }
    with pytest.raises(Failure, match="false refusal"):
        Runner(case).run()


def test_wrong_values_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = tw.Function.evaluate
    monkeypatch.setattr(tw.Function, "evaluate", lambda self, *a, **k: evaluate(self, *a, **k) + 1)
    with pytest.raises(Failure, match="values"):
        Runner({"program": jacobi(), "sizes": [(4, 0, 0)], "commands": [], "seed": ""}).run()


def test_linear_combinations_take_multiples_out_of_floors() -> None:
    i, j = linear("i"), linear("j")
    assert i.times(4).plus(j).floor(4) == i.plus(j.floor(4))
    assert i.floor(1) == i
    assert Linear(7).floor(2) == Linear(3)
    assert i.times(-1).floor(2).evaluate({"i": 3}) == -2


def test_concurrent_iterations_are_not_ordered() -> None:
    first, second = (1, 0, 1, 0, 1), (1, 1, 1, 0, 1)
    assert not happens_before(first, second, {1})
    assert not happens_before(second, first, {1})
    assert happens_before(first, second, {3})
    assert happens_before((1, 0, 1), (1, 1, 1), frozenset())
    assert happens_before((1, 5, 1), (2, 0, 1), {1})


@pytest.mark.parametrize("mutation", mutations.MUTATIONS, ids=lambda mutation: mutation.what)
def test_mutations_fit_the_checker(mutation):
    """`python tests/python/fuzz/mutations.py` breaks the checker in these ways; each text is there."""
    text = (mutations.ROOT / mutation.file).read_text(encoding="utf-8")
    assert mutations.applied(mutation, text) != text


#: Of so many cases, more than so many have this.
COVERED_ON_A_GPU = {
    "calls": 240,
    "cases with a kernel": 80,
    "cases with several kernels": 13,
    "cases with gpu_block": 70,
    "cases with gpu_thread": 50,
    "cases with gpu_spread": 25,
    "cases with barrier": 20,
    "cases with combined over": 7,
    "cases with # atomic": 6,
    "cases with stages": 5,
    "cases with # vector(": 3,
    "cases with # unroll": 6,
}


def test_mapped_to_a_gpu() -> None:
    total: Counter[str] = Counter()
    for case in range(160):
        try:
            total.update(GpuRunner(f"test:{case}").run())
        except Exception as error:
            raise AssertionError(
                f"python tests/python/fuzz/gpu.py --seed test --case {case}: {error}"
            ) from error
    rare = {what: total[what] for what, least in COVERED_ON_A_GPU.items() if total[what] <= least}
    assert not rare, total


@pytest.mark.parametrize("case", [*range(12), 81, 275, 325])
def test_what_is_accepted_has_loops(case: int) -> None:
    """In 275, isl writes "or 1" for what always holds."""
    assert run_loops(case, values=True)
