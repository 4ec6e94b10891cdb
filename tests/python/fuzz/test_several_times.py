"""Judge and library on one-to-many maps, and on splits by a part of a size."""

from __future__ import annotations

from typing import Any

import pytest

from fuzz.cases import Runner
from fuzz.programs import affine


def smoothed() -> dict[str, Any]:
    """B[i] = x[i] and C[i] = B[i - 1] + B[i]."""
    x = {"name": "x", "axes": ["N"], "extents": [affine(N=1)], "dtype": "int64"}

    def line(name: str, low: int, pieces: list[Any]) -> dict[str, Any]:
        return {
            "name": name, "iterators": ["i"], "axes": ["N"], "dtype": "int64",
            "ranges": [[affine(low), affine(N=1)]], "where": [], "pieces": pieces,
            "domain": [affine(-low, i=1), affine(-1, N=1, i=-1)],
        }  # fmt: skip

    reads = ["add", ["read", "B", [affine(-1, i=1)]], ["read", "B", [affine(i=1)]]]
    b = line("B", 0, [[["all", []], ["read", "x", [affine(i=1)]]]])
    c = line("C", 1, [[["all", []], reads]])
    return {"inputs": [x], "computations": [b, c], "outputs": ["C"]}


Z = [0, {"z": 1}]


def at_times(low: Any, high: Any) -> list[Any]:
    return ["B", "set_schedule", [[Z, affine(), affine(i=1)], ["", "", ""], [low, high]]]


READER = ["C", "set_schedule", [[affine(i=1), affine(1), affine()]]]
TOGETHER = [[*READER[:2], READER[2]], at_times(affine(i=1), affine(1, i=1))]
TRANSACTION = ["", "transaction", TOGETHER]
LATE = ["", "transaction", [READER, at_times(affine(1, i=1), affine(2, i=1))]]
EARLY = ["", "transaction", [READER, at_times(affine(-1, i=1), affine(2, i=1))]]
OWN_TILES = [
    "",
    "transaction",
    [
        ["C", "set_schedule", [[["div", affine(i=1), 4], affine(1), affine(i=1)]]],
        at_times(["div", affine(3, i=1), 4], ["div", affine(7, i=1), 4]),
    ],
]
TILE_OF_C = ["C", "set_schedule", [[["div", affine(i=1), 4], affine(1), affine(i=1)]]]
#: Each tile of C has all that it reads; it has its own elements and those of the next tile, not the last one before it.
WITH_NEIGHBOURS = [
    "",
    "transaction",
    [TILE_OF_C, at_times(["div", affine(i=1), 4], ["div", affine(1, i=1), 4])],
]
FROM_THE_TILE_BEFORE = [
    "",
    "transaction",
    [TILE_OF_C, at_times(["div", affine(-4, i=1), 4], ["div", affine(i=1), 4])],
]
GIVEN = [
    ([WITH_NEIGHBOURS], True),
    ([WITH_NEIGHBOURS, ["B", "private", ["z"]]], True),
    ([FROM_THE_TILE_BEFORE], True),
    ([FROM_THE_TILE_BEFORE, ["B", "private", ["z"]]], False),
    ([TRANSACTION], True),
    ([EARLY], True),
    ([LATE], False),
    # The second copy of an element runs before the next element: two are enough, one is not.
    ([TRANSACTION, ["B", "store_in", ["b", [["mod", affine(i=1), 2]]]]], True),
    ([TRANSACTION, ["B", "store_in", ["b", [affine()]]]], False),
    ([OWN_TILES], False),
    ([["B", "set_schedule", [[Z, affine(i=1)], ["", ""], [affine(), affine(1)]]]], True),
    ([at_times(affine(), affine(1)), ["B", "parallelize", ["t0"]]], None),
    ([at_times(affine(), affine(1)), ["B", "inline", []]], None),
    ([at_times(affine(), affine(1)), ["B", "storage_fold", ["i", 2]]], None),
    ([["C", "split", ["i", ["N", 1, 2]]], ["C", "reverse", ["i0"]]], True),
    ([["B", "split", ["i", ["N", 0, 3]]], ["B", "parallelize", ["i0"]]], True),
    ([["", "fix", ["N", 8]], ["C", "split", ["i", ["N", 0, 2]]], ["C", "unroll", ["i1", 4]]], True),
]


@pytest.mark.parametrize(("commands", "legal"), GIVEN)
def test_judge_and_library_agree(commands: list[Any], legal: bool | None) -> None:
    """None: the last command makes no sense."""
    case = {"program": smoothed(), "sizes": [(0, 0, 0), (3, 0, 0), (9, 0, 0)], "seed": ""}
    statistics = Runner({**case, "commands": commands}).run()
    assert sum(c for w, c in statistics.items() if w.startswith("not judged")) == 0
    assert statistics.get("verdicts: no sense / no sense", 0) == (legal is None)
    assert statistics.get("verdicts: refused / refused", 0) == (legal is False)
