"""How far accesses reach: what a translated file asks before it runs what it was translated to."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

import tilewright as tw
from tilewright.frontends.c.ranges import ranges_of


def ends(text: str, n: int) -> dict[str, tuple[int, int]]:
    """The least and the greatest element of each array, by the texts that C would have."""
    names: dict[str, Any] = {
        "tilewright_least": min,
        "tilewright_most": max,
        "tilewright_floor": lambda a, b: a // b,
        "n": n,
    }
    result = {}
    for array, found in ranges_of(tw.c.load(text, scop="function").f.program).items():
        assert found is not None
        low, high = (eval(each.replace("(long long)", ""), names) for each in found)
        result[array] = (low, high)
    return result


def test_a_triangle_ends_where_its_last_iteration_does() -> None:
    text = (
        "void f(int n, double *r, double *y) {"
        " for (int k = 1; k < n; k++) for (int i = 0; i < k; i++) y[i] += r[k - i - 1]; }"
    )
    assert ends(text, 10) == {"y": (0, 8), "r": (0, 8)}


@pytest.mark.parametrize(
    ("subscript", "wanted"),
    [
        ("i / 2", (0, 4)),
        ("i >> 1", (0, 4)),
        ("(i + 5) >> 2", (1, 3)),
        ("i << 1", (0, 18)),
        ("(i - 3) & 7", (0, 7)),
        ("7 & (int)b[0]", (0, 7)),
        ("(i + 1) / 2 + (i >> 3)", (0, 6)),
    ],
)
def test_divisions_and_shifts(subscript: str, wanted: tuple[int, int]) -> None:
    text = f"void f(int n, double *a, int *b) {{ for (int i = 0; i < n; i++) a[{subscript}] = 1; }}"
    assert ends(text, 10)["a"] == wanted


@pytest.mark.parametrize("seed", range(30))
def test_all_accesses_are_in_their_range(seed: int) -> None:
    """Random nests, upwards and downwards, with bounds of the loops outside."""
    rng = random.Random(seed)
    names = ["i", "j", "k"][: rng.randint(1, 3)]
    loops: list[tuple[str, str, str, int]] = []
    for at, name in enumerate(names):
        low = rng.choice(["0", "1", *names[:at]])
        high = rng.choice(["n", "n - 1", *(f"{outer} + 2" for outer in names[:at])])
        loops.append((name, low, high, rng.choice([1, 1, 2, -1])))
    factors = [rng.choice([-2, -1, 1, 1, 3]) for _ in names]
    subscript = (
        " + ".join(f"{c} * {x}" for c, x in zip(factors, names, strict=True)) + " + 2 * n + 9"
    )
    head = "".join(
        f"for (int {x} = {low}; {x} < {high}; {x} += {step}) "
        if step > 0
        else f"for (int {x} = {high} - 1; {x} >= {low}; {x}--) "
        for x, low, high, step in loops
    )
    text = f"void f(int n, double *a, double *b) {{ {head} a[{subscript}] = b[0] + 1; }}"
    for n in (1, 2, 5, 6):
        low, high = ends(text, n)["a"]
        for values in itertools.product(range(8), repeat=len(names)):
            here: dict[str, Any] = {"n": n, **dict(zip(names, values, strict=True))}
            if all(
                eval(first, here) <= here[x] < eval(last, here)
                and (step != 2 or (here[x] - eval(first, here)) % 2 == 0)
                for x, first, last, step in loops
            ):
                assert low <= eval(subscript, here) <= high, (text, n, values)
