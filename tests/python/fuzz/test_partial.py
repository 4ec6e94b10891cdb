"""What the fuzz test knows of elements that exist where data say so: the library refuses who may not read them, and
agrees with the judge about what their conditions read."""

from __future__ import annotations

import random
from typing import Any

import pytest

import tilewright as tw
from fuzz.cases import Runner
from fuzz.generator import draw_program
from fuzz.programs import Declaration, affine

SIZES = [(0, 0, 0), (3, 0, 0), (5, 0, 0)]


def program(read: list[Any]) -> dict[str, Any]:
    """Q[i] = x[i] + y[i]; P[i] = 2 y[i] where Q[i] < x[i]; R[i] reads P."""
    line: dict[str, Any] = {"iterators": ["i"], "axes": ["N"], "where": [], "dtype": "int32"}
    line |= {"ranges": [[affine(0), affine(N=1)]], "domain": [affine(i=1), affine(-1, N=1, i=-1)]}
    x, y, q = (["read", name, [affine(i=1)]] for name in "xyQ")
    chosen = ["choose", q, x, ["mul", ["const", 2], y], ["const", 0]]
    return {
        "inputs": [
            {"name": name, "axes": ["N"], "extents": [affine(N=1)], "dtype": "int32"}
            for name in "xy"
        ],
        "computations": [
            {"name": "Q", **line, "pieces": [[None, ["add", x, y]]]},
            {"name": "P", **line, "pieces": [[None, chosen]], "partial": True},
            {"name": "R", **line, "pieces": [[None, read]]},
        ],
        "outputs": ["R"],
    }


def read(*condition: Any) -> list[Any]:
    read_p = ["read", "P", [affine(i=1)]]
    return ["choose", *condition, read_p, ["const", 1]] if condition else read_p


Q, X = ["read", "Q", [affine(i=1)]], ["read", "x", [affine(i=1)]]


@pytest.mark.parametrize(
    ("commands", "legal"),
    [
        ([], True),
        ([["P", "after", ["Q", "i"]], ["R", "after", ["P", "i"]]], True),
        ([["Q", "after", ["P", "i"]]], False),
        ([["P", "after", ["R", "i"]]], False),
        ([["P", "shift", ["i", 1]], ["P", "after", ["Q", "i"]]], True),
        ([["P", "storage_fold", ["i", 1]]], False),
    ],
)
def test_the_library_agrees_about_conditions(commands: list[Any], legal: bool) -> None:
    case = {"program": program(read(Q, X)), "sizes": SIZES, "commands": commands, "seed": ""}
    statistics = Runner(case).run()
    assert statistics.get("schedules with loops", 0) > 0 or not legal or not commands
    assert (statistics.get("verdicts: refused / refused", 0) == 0) == legal


@pytest.mark.parametrize(
    "wrong",
    [
        read(),
        read(X, Q),
        ["choose", Q, X, ["const", 1], read()],
        ["choose", Q, ["add", X, ["const", 1]], read(), ["const", 1]],
        ["add", read(Q, X), read()],
    ],
)
def test_the_library_refuses_who_may_not_read_them(wrong: list[Any]) -> None:
    with pytest.raises(tw.DeclarationError, match="but an element of P exists only where"):
        Declaration(program(wrong))


def test_some_programs_have_them() -> None:
    drawn = [draw_program(random.Random(f"partial:{k}")) for k in range(400)]
    assert 10 < sum(any(c.get("partial") for c in one["computations"]) for one in drawn) < 100
