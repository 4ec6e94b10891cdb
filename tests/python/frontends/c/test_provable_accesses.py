"""Accesses that stay within their arrays for reasons that the text shows: none is refused, and all give
gcc's bits, in the program's order and under auto_schedule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from c_oracle import assert_same_bits, check_text, compiled, copies, run_c, schedule

import tilewright as tw
from tilewright.frontends.scan import scan

PROGRAMS: dict[str, str] = {
    "chosen by an affine condition": """
void f(int n, int m, double x[n * m], double *y) {
  for (int i = 0; i < n; i++)
    y[i] = (i > 0 ? x[i - 1] : 0.5) + (i + 1 < n ? x[i + 1] : 0) + (i < 2 || i >= n - 2 ? 1 : x[i - 2] - x[i + 2]);
}""",
    "chosen, downwards by two": """
void f(int n, int m, double *x, double *y) {
  for (int i = n - 1; i >= 0; i -= 2) x[i] = y[i] + (i + 1 < n ? x[i + 1] : 0);
}""",
    "behind && and ||": """
void f(int n, int m, double *x, double *y) {
  for (int i = 0; i < n; i++) {
    if (i > 0 && x[i - 1] > 1) y[i] += x[i - 1];
    int out = i == n - 1 || x[i + 1] < 0;
    if (!out) y[i] -= 1;
  }
}""",
    "all elements of a local matrix": """
void f(int n, int m, double *x, double *y) {
  double t[n * m];
  for (int i = 0; i < n * m; i++) t[i] = x[i] * 2 + i;
  for (int i = 0; i < n; i++)
    for (int j = 1; j < m; j++) t[i * m + j] += t[i * m + j - 1];
  for (int i = 0; i < n * m; ++i) y[i] = t[i];
}""",
    "all elements by columns": """
void f(int n, int m, double *x, double *y) {
  for (int i = 0; i < m * n; i++) x[i] += 1;
  for (int j = 0; j < m; j++)
    for (int i = 0; i < n; i++) y[j * n + i] = x[j * n + i] * 3;
}""",
    "all elements of memory of malloc": """
#include <stdlib.h>
void f(int n, int m, double x[n][m], double y[n][m]) {
  double *t = malloc(sizeof *t * n * m);
  for (int i = 0; i < n * m; i++) t[i] = i % 3;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) y[i][j] = t[i * m + j] + x[i][j];
  free(t);
}""",
    "all elements, some left out": """
void f(int n, int m, double *x, double *y) {
  for (int i = 0; i < n * m; i++) {
    if (x[i] < 0) continue;
    y[i] = x[i] * i;
  }
}""",
    "halves of halves": """
void f(int n, int m, double x[n][m], double y[n][m]) {
  for (int len = m; len > 1; len /= 2) {
    for (int i = 0; i < len / 2; i++) {
      y[0][i] = (x[0][2 * i] + x[0][2 * i + 1]) * 0.5;
      y[0][len / 2 + i] = x[0][2 * i] - x[0][2 * i + 1];
    }
    for (int i = 0; i < len / 2 * 2; i++) x[0][i] = y[0][i];
  }
}""",
    "down to a number that data say": """
void f(int n, int m, double x[n][m], double y[n][m]) {
  double best[m];
  for (int c = 0; c < m; c++) best[c] = 0;
  for (int i = 0; i < n; i++) {
    int w = (x[i][0] > 0) + 1;
    for (int c = m - 1; c >= w; c--)
      if (best[c - w] + x[i][c] > best[c]) best[c] = best[c - w] + x[i][c];
  }
  for (int c = 0; c < m; c++) y[0][c] = best[c];
}""",
    "steps of a size": """
void f(int n, int m, double x[n][m], double y[n][m]) {
  for (int s = 0; s + 2 * n <= m; s += 2 * n)
    for (int k = 0; k < n; k++) { y[0][s + k] -= x[0][s + k + n]; y[0][s + k + n] += x[k][0]; }
}""",
    "pointer to rows": """
#include <stdlib.h>
void f(int n, int m, double x[n][m], double y[n][m]) {
  double (*t)[m] = malloc(n * sizeof *t);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) t[i][j] = x[i][j] / 3;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) y[i][j] = t[n - 1 - i][j];
  free(t);
}""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_is_not_refused(name: str) -> None:
    text = PROGRAMS[name] + "\n"
    f = tw.c.load(text, scop="function").f

    def arguments(n: int, m: int) -> list[Any]:
        values = np.linspace(-1, 2, n * m), np.linspace(3, -1, n * m)
        shape = (n, m) if "x[n][m]" in text else (n * m,)
        return [n, m, *(each.reshape(shape).copy() for each in values)]

    for is_scheduled in (False, True):
        for n, m in ((5, 4), (2, 9), (1, 1)):
            wanted = arguments(n, m)
            run_c(compiled(text), f, wanted)
            given = arguments(n, m)
            f(*given)
            assert [each.tolist() for each in given[2:]] == [each.tolist() for each in wanted[2:]]
        if not is_scheduled:
            schedule(f)


def test_loops_over_all_elements_are_loops_over_rows() -> None:
    f = tw.c.load(PROGRAMS["all elements of a local matrix"] + "\n", scop="function").f
    assert "t[i0, i1]" in str(f.loops) and "while" not in str(f.loops)
    with pytest.raises(tw.ArgumentError):
        f(-1, -1, np.ones(1), np.ones(1))


def test_choices_by_counters_of_loops_that_data_end() -> None:
    """`k == 0 ? ... : e[k - 1]` reads no element before the first, however often the loop runs."""
    text = """void f(int n, const int c[n], const int e[n][2], int out[n]) {
      for (int l = 0; l < n; l++)
        for (int k = 0; k < c[l] && k < 3; k++) { int p = k == 0 ? l : e[l][k - 1]; out[l] += p * (k + 1); } }
    """
    draw = np.random.default_rng(4)
    given = (
        4,
        np.array([0, 1, 3, 9], np.int32),
        draw.integers(-9, 9, (4, 2)).astype(np.int32),
        np.ones(4, np.int32),
    )
    theirs = check_text(text, given)
    function = tw.c.load(text, scop="function").f
    ours = copies(given)
    function(*ours)
    assert_same_bits(ours[3], theirs[3], "out")


def test_rows_where_conditions_exclude_the_rest() -> None:
    """What an else branch and an assumption say keeps subscripts in their rows."""
    text = """void f(int n, int m, float *restrict out, const float *restrict in) {
      __pencil_assume(m > 1);
      for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
          float d;
          if (i == 0 && j == 0) d = in[1];
          else if (i == 0) d = in[j - 1];
          else if (j == 0) d = in[(i - 1) * m];
          else d = in[(i - 1) * m + j] - in[i * m + j - 1];
          out[i * m + j] = in[i * m + j] + d; } }
    """
    draw = np.random.default_rng(5)
    given = (4, 5, np.zeros(20, np.float32), draw.standard_normal(20).astype(np.float32))
    theirs = check_text(text, given)
    function = tw.c.load(text, scop="function").f
    assert [len(function.program.arrays[name].shape) for name in ("in", "out")] == [2, 2]
    ours = copies(given)
    function(*ours)
    assert_same_bits(ours[2], theirs[2], "out")


def test_choices_among_sizes_are_one_condition() -> None:
    """Conjunctions of choices are multiplied out each time that they are read."""
    text = """void f(int n, int m, int l, double A[8][9], double B[9][10], double C[8][10]) {
      for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)
        for (int k = 0; k < l; k++) A[i][k] += B[k][j] * C[i][j]; }
    """
    program = tw.c.load(text, scop="function").f.program
    choices = [each for each in program.context if "|" in str(each)]
    assert len(choices) > 1
    scanned = scan(program)
    assert len([said for said, _ in scanned.context if " or " in said]) == 1
    assert all(any(each is one for one in scanned.joined) for each in choices)
    function = tw.c.load(text, scop="function").f
    arrays = [np.ones((8, 9)), np.ones((9, 10)), np.ones((8, 10))]
    function(100, 0, 3, *arrays)  # no iteration leaves an array
    function(8, 10, 9, *arrays)
    assert (arrays[0] == 11).all()
    with pytest.raises(tw.ArgumentError, match="n = 9"):
        function(9, 10, 9, *arrays)


FIXED: dict[str, str] = {
    "continue": "if (x[i] > 3) continue; x[i] += i;",
    "continue, downwards": "int j = n - 1 - i; if (x[j] > 3) continue; x[j] += x[0];",
    "continue of an inner loop": "for (int j = 0; j < i; j++) { if (x[j] > y[i]) continue; y[i] += x[j]; }",
    "an iteration less": "if (i == 3) continue; y[i] += 1; if (y[i] > 7) continue; x[i] += 1;",
    "sentinel": "if (x[i] == 3) break; y[i] = x[i];",
    "pairs": "if (i > 0 && x[i - 1] > x[i]) { y[0] = i; break; }",
    "return": "if (x[i] == 2) return; x[i] += 1; y[i] = x[i];",
}


@pytest.mark.parametrize("name", FIXED)
def test_arrays_of_constant_length(name: str) -> None:
    """Of a loop that data leave, nothing says how far it goes: it stays within the array."""
    text = f"void f(int n, double x[8], double y[8]) {{\n  for (int i = 0; i < n; i++) {{ {FIXED[name]} }}\n}}"
    function, library = tw.c.load(text, scop="function").f, compiled(text)
    draw = np.random.default_rng(6)
    for n in (0, 1, 5, 8):
        given = (n, draw.integers(0, 5, 8).astype(float), draw.integers(0, 5, 8).astype(float))
        ours, theirs = copies(given), copies(given)
        run_c(library, function, theirs)
        function(*ours)
        assert_same_bits(ours[1], theirs[1], "x")
        assert_same_bits(ours[2], theirs[2], "y")


def test_arrays_of_constant_length_are_left_by_accesses_that_all_iterations_make() -> None:
    text = """void f(int n, double x[8], double y[8]) {
      for (int i = 0; i < n; i++) {
        if (x[i] > 3) continue;
        y[0] += 1; } }
    """
    function = tw.c.load(text, scop="function").f
    with pytest.raises(tw.ArgumentError, match=r"with n = 9, the program leaves an array at .*:3"):
        function(9, np.zeros(8), np.zeros(8))
