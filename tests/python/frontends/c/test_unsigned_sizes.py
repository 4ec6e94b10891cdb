"""Differences of unsigned sizes: exact as bounds and subscripts, and C's where they wrap in conditions."""

from __future__ import annotations

import numpy as np
import pytest
from c_oracle import assert_same_bits, compiled, copies, run_c

import tilewright as tw

# Bodies of functions of a size n, and the smallest n for which they have a meaning.
LOOPS = {
    "i < n - 1": ("for (U i = 1; i < n - 1; i++) y[i] = x[i - 1] + x[i + 1];", 1),
    "i + 1 < n": ("for (U i = 1; i + 1 < n; i++) y[i] = x[i - 1] + x[i + 1];", 0),
    "i <= n - 2": ("for (U i = 0; i <= n - 2; i++) y[i] = x[n - 1 - i];", 2),
    "down from n - 1": ("for (U i = n - 1; i > 0; i--) y[i] = x[i - 1];", 1),
    "down to 0": ("for (U i = n; i-- > 0;) y[i] = x[n - 1 - i] - i;", 0),
    "while, down to 0": ("U i = n; while (i--) y[i] = x[n - 1 - i] - i;", 0),
    "while, down to 0, compared": ("U i = n; while (i-- > 0) y[i] = x[n - 1 - i]; y[7] = i;", 0),
    "through 0": ("for (U i = n - 1; i < n; i--) y[i] = x[n - 1 - i] - i;", 0),
    "through 0, by two": ("U i; for (i = n - 2; i < n; i--) y[i] = x[n - 2 - i]; y[7] = i;", 0),
    "until -1": ("U i; for (i = n - 1; i != -1; i--) y[i] = x[n - 1 - i] - i; y[7] = i;", 0),
    "until -1, ended by data": (
        "for (U i = n - 1; i != (U)-1; i--) { if (x[i] < 3) break; y[i] = i; }",
        0,
    ),
    "triangle": (
        "for (U i = 0; i + 2 < n; i++) for (U j = i + 1; j < n - i; j++) y[j - 1] += x[j - i];",
        0,
    ),
}
CONDITIONS = {
    "below": "if (i < n - 3) y[i] = 1;",
    "not above": "if (n - 4 >= i) y[i] += 2;",
    "above": "if (i - 2 > n - 5) y[i] += 4;",
    "equal": "if (i - 1 == n - 3) y[i] += 8; else if (n - i != i - n) y[i] += 16;",
    "both": "if (i - 3 < 2 && n - 1 <= i - 5) y[i] += 32;",
}


@pytest.mark.parametrize("of", ["unsigned", "unsigned long"])
@pytest.mark.parametrize("name", LOOPS)
def test_loops(name: str, of: str) -> None:
    body, least = LOOPS[name]
    text = f"typedef {of} U;\nvoid f(U n, const double *x, double *y) {{ {body} }}\n"
    function, library = tw.c.load(text, scop="function").f, compiled(text)
    assert "while" not in str(function.function.loops) and "assert" not in str(
        function.function.loops
    )
    for n in range(least, 7):
        _same(function, library, (n, np.arange(1.0, 9.0), np.zeros(8)))


@pytest.mark.parametrize("of", ["unsigned", "unsigned long"])
@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions(name: str, of: str) -> None:
    """Also for an n from which more is taken than there is."""
    text = f"typedef {of} U;\nvoid f(U n, int y[9]) {{ for (U i = 0; i < 9; i++) {{ {CONDITIONS[name]} }} }}\n"
    function, library = tw.c.load(text, scop="function").f, compiled(text)
    for n in range(9):
        _same(function, library, (n, np.zeros(9, np.int32)))


def test_all_bits() -> None:
    """-1 beside unsigned numbers, in conditions that decide about statements."""
    text = """void f(int n, double x[n], unsigned long g[n]) {
        unsigned long last = -1;
        for (int i = 0; i < n; i++) {
            if (g[i] == -1 && g[0] != -2) x[i] += 1;
            if (g[i] == last) x[i] += 2;
            if (g[i] > 18446744073709551614UL || -3 == g[i]) x[i] += 4;
            last = g[i];
        }
        int k = 0;
        while (k < n) { if (-1 == g[k]) break; x[k] = k; k++; }
    }
    """
    function, library = tw.c.load(text, scop="function").f, compiled(text)
    given = np.array([5, 2**64 - 3, 2**64 - 2, 2**64 - 1, 2**64 - 1, 0], np.uint64)
    for at in range(6):
        _same(function, library, (6 - at, np.zeros(6 - at), given[at:].copy()), at=1)


def _same(function, library, arguments, at=-1) -> None:
    ours, theirs = copies(arguments), copies(arguments)
    run_c(library, function, theirs)
    function(*ours)
    assert_same_bits(ours[at], theirs[at], "y")
