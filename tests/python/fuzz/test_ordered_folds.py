"""Folds in the fuzz test: the judge and the library agree about lanes, threads and partial results of folds that are
commutative, that are associative only, and that are neither."""

from __future__ import annotations

from typing import Any

import pytest

from fuzz.cases import Runner
from fuzz.programs import affine

SIZES = [(0, 0, 0), (2, 3, 0), (3, 9, 0), (1, 4, 0)]


def rows(op: str, inner: bool = False) -> dict[str, Any]:
    """S[i] = the fold `op` of x[i, k] (inner: of 3 + a fold of y[i, k, l]); T[i] = S[i]."""
    domain = [affine(i=1), affine(-1, N=1, i=-1)]
    line: dict[str, Any] = {
        "iterators": ["i"], "axes": ["N"], "ranges": [[affine(0), affine(N=1)]],
        "domain": domain, "where": [], "dtype": "int64",
    }  # fmt: skip
    body: list[Any] = ["read", "x", [affine(i=1), affine(k=1)]]
    inputs = [
        {"name": "x", "axes": ["N", "M"], "extents": [affine(N=1), affine(M=1)], "dtype": "int64"}
    ]
    value = ["reduce", op, [["k", affine(0), affine(M=1)]], [], body]
    if inner:
        ranges = [["k", affine(0), affine(M=1)], ["l", affine(0), affine(2)]]
        value = ["reduce", op, ranges, [], body]
    return {
        "inputs": inputs,
        "computations": [
            {"name": "S", **line, "pieces": [[None, value]]},
            {"name": "T", **line, "pieces": [[None, ["read", "S", [affine(i=1)]]]]},
        ],
        "outputs": ["T"],
    }


SPLIT = ["S", "split", ["k", 2]]
COMMON = [
    ([["S", "vectorize", ["k", 2]]], False),
    ([["S", "parallelize", ["k"]]], False),
    ([["S", "interchange", ["i", "k"]], ["S", "vectorize", ["i", 2]]], True),
]
#: Of S[i], a fold over k: of one state or of several ones.
OF_ONE_ITERATOR = {
    "fold": [
        ([["S", "reverse", ["k"]]], True),
        ([SPLIT, ["S", "rfactor", ["k1"]], ["S_partial", "vectorize", ["k1", 2]]], True),
        ([SPLIT, ["S", "rfactor", ["k0"]], ["S_partial", "parallelize", ["k0"]]], True),
    ],
    "nfold": [
        ([["S", "reverse", ["k"]]], False),
        ([SPLIT, ["S", "rfactor", ["k1"]]], False),
        ([SPLIT, ["S", "rfactor", ["k0"]], ["S_partial", "parallelize", ["k0"]]], True),
        ([SPLIT, ["S", "rfactor", ["k0"]], ["S_partial", "vectorize", ["k0", 2]]], True),
        ([SPLIT, ["S", "rfactor", ["k0"]], ["S_partial", "parallelize", ["k1"]]], False),
        ([SPLIT, ["S", "rfactor", ["k0"]], ["S", "reverse", ["k0"]]], False),
        ([SPLIT, ["S", "interchange", ["k0", "k1"]]], False),
        # What is factored is the declared order: that of the loops plays no part.
        ([SPLIT, ["S", "rfactor", ["k0"]], ["S_partial", "interchange", ["i", "k0"]]], True),
        ([SPLIT, ["S", "rfactor", ["k0"]], ["S_partial", "interchange", ["k0", "k1"]]], True),
        # Partial results of partial results.
        (
            [
                SPLIT,
                ["S", "rfactor", ["k0"]],
                ["S", "split", ["k0", 2]],
                ["S", "rfactor", ["k00", "P"]],
                ["P", "parallelize", ["k00"]],
            ],
            True,
        ),
        (
            [
                SPLIT,
                ["S", "rfactor", ["k0"]],
                ["S", "split", ["k0", 2]],
                ["S", "rfactor", ["k01", "P"]],
            ],
            False,
        ),
        ([["", "transaction", [SPLIT, ["S", "rfactor", ["k0"]]]]], True),
        # What is refused in a transaction at once: no later command changes the declared order.
        ([["", "transaction", [SPLIT, ["S", "rfactor", ["k1"]]]]], False),
    ],
    "ofold": [
        ([["S", "reverse", ["k"]]], False),
        ([SPLIT, ["S", "rfactor", ["k0"]]], None),
    ],
}
CASES = [
    (op + several, commands, legal)
    for op, own in OF_ONE_ITERATOR.items()
    for several in ("", "s")
    for commands, legal in COMMON + own
]


def verdict(program: dict[str, Any], commands: list[Any]) -> bool | None:
    """Legal, illegal, or (None) without sense: of the last command, and of the judge and the library."""
    case = {"program": program, "sizes": SIZES, "commands": commands, "seed": ""}
    statistics = Runner(case).run()
    assert sum(c for w, c in statistics.items() if w.startswith("not judged")) == 0
    if statistics.get("verdicts: no sense / no sense", 0):
        return None
    return not statistics.get("verdicts: refused / refused", 0)


@pytest.mark.parametrize(("op", "commands", "legal"), CASES)
def test_judge_and_library_know_the_order_of_terms(
    op: str, commands: list[Any], legal: bool | None
) -> None:
    assert verdict(rows(op), commands) is legal


OF_TWO_ITERATORS = [
    ("fold", [["S", "rfactor", ["l"]]], True),
    ("nfold", [["S", "rfactor", ["k"]], ["S_partial", "parallelize", ["k"]]], True),
    ("nfold", [["S", "rfactor", ["l"]]], False),
    ("nfolds", [["S", "rfactor", ["l"]]], False),
    ("nfold", [["", "fix", ["M", 1]], ["S", "rfactor", ["l"]]], True),
    ("nfold", [["S", "cache", ["S", "k"]]], True),
    ("nfold", [["S", "cache", ["S", "l"]]], True),
    ("nfold", [["S", "split", ["l", 2]], ["S", "cache", ["S", "l0"]]], True),
    ("ofold", [["S", "rfactor", ["k"]]], None),
]


@pytest.mark.parametrize(("op", "commands", "legal"), OF_TWO_ITERATORS)
def test_judge_and_library_know_the_order_over_two_iterators(
    op: str, commands: list[Any], legal: bool | None
) -> None:
    assert verdict(rows(op, inner=True), commands) is legal


@pytest.mark.parametrize("op", ["fold", "nfold"])
def test_a_partial_result_of_one_term_that_is_a_fold(op: str) -> None:
    """It is the initial state combined with its term, which has terms of its own."""
    factor = ["S", "rfactor", ["k"]]
    assert verdict(rows(op, inner=True), [factor, ["S_partial", "inline", []], factor]) is True
