"""Rows of sparse matrices, as loops in Python and in C have them: their ranges are those of the data, and
stay inside of the loops that these depend on."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw


def sums(n: Any, start: Any, v: Any, y: Any) -> None:
    for i in range(n):
        s = 0.0
        for k in range(start[i], start[i + 1]):
            s += v[k]
        y[i] = s


def added(n: Any, start: Any, v: Any, y: Any) -> None:
    for i in range(n):
        for k in range(start[i], start[i + 1]):
            y[i] += 2 * v[k]


def copied(n: Any, start: Any, v: Any, y: Any) -> None:
    for i in range(n):
        for k in range(start[i], start[i + 1]):
            y[k] = 2 * v[k]


def begun(n: Any, start: Any, v: Any, y: Any) -> None:
    for i in range(n):
        for k in range(start[i] - start[0]):
            y[i] += v[k]


C_LOOPS = {
    "sums": "double s = 0; for (int k = p[i]; k < p[i + 1]; k++) s += v[k]; y[i] = s;",
    "added": "y[i] = 0; for (int k = p[i]; k < p[i + 1]; ++k) y[i] += v[k];",
    "downwards": "double s = 0; for (int k = p[i + 1] - 1; k >= p[i]; k--) s += v[k]; y[i] = s;",
    "long": "double s = 0; for (long k = p[i]; k < p[i + 1]; k++) s += v[k]; y[i] = s;",
    "scaled": "for (int k = p[i]; k < p[i + 1]; k++) y[k] = v[k] * 2;",
}


def _rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(n)
    start = np.concatenate([[0], np.cumsum(draw.integers(0, 6, n))])
    return start, draw.random(int(start[-1]) + 1)


def _assert_ranges_of_data(loops: str) -> None:
    """The loop over a row runs from what data say to what they say, in the loop over the rows."""
    rows, inner = loops.index("for i in range("), re.search(r"for k\w* in range\(.*stop", loops)
    assert inner is not None and rows < inner.start(), loops
    assert "start" in loops and not re.search(r"if .* [<>]=? .*(start|p)\[", loops), loops


@pytest.mark.parametrize("function", [sums, added, copied, begun])
def test_python(function: Any) -> None:
    ours = tw.jit(function)
    for n in (0, 1, 5, 40):
        start, v = _rows(n)
        y = np.zeros(len(v) + n)
        wanted = y.copy()
        function(n, start, v, wanted)
        ours(n, start, v, y)
        np.testing.assert_allclose(y, wanted, rtol=1e-14)
    loops = str(ours.inspect(n, start, v, y).loops)
    _assert_ranges_of_data(loops + (" start" if function is begun else ""))


@pytest.mark.parametrize("sizes", ["*p, const double *v", "p[n + 1], const double v[m]"])
@pytest.mark.parametrize("name", C_LOOPS)
def test_c(name: str, sizes: str) -> None:
    text = f"""void f(int n, int m, const int {sizes}, double *y) {{
      for (int i = 0; i < n; i++) {{ {C_LOOPS[name]} }} }}"""
    for schedule in (False, True):
        function = tw.c.load(text, scop="function").f
        if schedule:
            function.auto_schedule()
        for n in (1, 5, 40):
            start, v = _rows(n)
            y, wanted = np.zeros(len(v) + n), np.zeros(len(v) + n)
            if name == "scaled":
                wanted[: start[-1]] = 2 * v[: start[-1]]
            else:
                wanted[:n] = [v[a:b].sum() for a, b in itertools.pairwise(start)]
            function(n, len(v), start.astype(np.int32), v, y)
            np.testing.assert_allclose(y, wanted, rtol=1e-13)
        if name != "downwards":
            _assert_ranges_of_data(str(function.loops))
