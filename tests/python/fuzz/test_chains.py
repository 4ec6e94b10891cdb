"""Recurrences inside the loops of their readers: the judge and the library agree."""

from __future__ import annotations

from typing import Any

import pytest

from fuzz.cases import Runner
from fuzz.programs import affine


def running() -> dict[str, Any]:
    """S[i, j] = x[j] + S[i, j - 1], T[i, j] = 2 S[i, j]."""
    square = {"iterators": ["i", "j"], "axes": ["N", "N"], "where": [], "dtype": "int64"}
    square |= {"ranges": [[affine(0), affine(N=1)], [affine(0), affine(N=1)]]}
    square |= {"domain": [c for d in "ij" for c in (affine(**{d: 1}), affine(-1, N=1, **{d: -1}))]}
    read = ["cast", "int64", ["read", "x", [affine(j=1)]]]
    before = ["read", "S", [affine(i=1), affine(-1, j=1)]]
    behind = [affine(-1, j=1)]
    pieces = [[["all", behind], ["add", read, before]], [["not", behind], read]]
    sums = {"name": "S", **square, "pieces": pieces}
    twice = {"name": "T", **square}
    twice["pieces"] = [[None, ["mul", ["const", 2], ["read", "S", [affine(i=1), affine(j=1)]]]]]
    x = {"name": "x", "axes": ["N"], "extents": [affine(N=1)], "dtype": "int32"}
    return {"inputs": [x], "computations": [sums, twice], "outputs": ["T"]}


AT_J = [["S", "compute_at", ["T", "j"]], ["S", "store_at", ["T", "i"]]]
RUNNING = [
    ([["S", "compute_at", ["T", "i"]]], True),
    ([["S", "compute_at", ["T", "i"]], ["T", "parallelize", ["i"]]], True),
    ([["S", "compute_at", ["T", "j"]]], False),
    ([["", "transaction", AT_J]], True),
    ([["", "transaction", AT_J], ["T", "parallelize", ["i"]]], True),
    ([["", "transaction", AT_J], ["T", "parallelize", ["j"]]], False),
    ([["", "transaction", AT_J], ["T", "reverse", ["j"]]], False),
]


@pytest.mark.parametrize(("commands", "legal"), RUNNING)
def test_judge_and_library_know_recurrences_inside_loops(commands: list[Any], legal: bool) -> None:
    case = {"program": running(), "sizes": [(0, 0, 0), (2, 0, 0), (5, 0, 0)], "seed": ""}
    statistics = Runner({**case, "commands": commands}).run()
    assert sum(c for w, c in statistics.items() if w.startswith("not judged")) == 0
    assert (statistics.get("verdicts: refused / refused", 0) == 0) == legal
