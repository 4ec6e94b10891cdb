"""Elements that data choose, under the schedule that is found: an iteration writes one of them, in place, and no
loop looks for it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from c_oracle import check, compiled, copies, run_c

import tilewright as tw

N, M = 70, 40
_DRAW = np.random.default_rng(3)
PLACES = _DRAW.integers(0, N, N).astype(np.int32)
ROWS = _DRAW.standard_normal((N, M)).astype(np.float32)
VALUES = _DRAW.standard_normal(N).astype(np.float32)


def _added(out: np.ndarray, values: np.ndarray) -> np.ndarray:
    for place, value in zip(PLACES, values, strict=True):
        out[place] += value
    return out


def _packed() -> np.ndarray:
    kept = VALUES[VALUES > 0]
    return np.concatenate([kept, np.zeros(N - len(kept), np.float32)])


CASES = {
    "histogram": (
        "void f(int n, const int *restrict p, int *restrict y) { for (int i = 0; i < n; i++) y[p[i]]++; }",
        (N, PLACES, np.zeros(N, np.int32)),
        np.bincount(PLACES, minlength=N).astype(np.int32),
    ),
    "elements": (
        "void f(int n, const int *restrict p, const float *restrict x, float *restrict y) {"
        " for (int i = 0; i < n; i++) y[p[i]] += x[i]; }",
        (N, PLACES, VALUES, np.zeros(N, np.float32)),
        _added(np.zeros(N, np.float32), VALUES),
    ),
    "rows": (
        "void f(int n, int m, const int *restrict p, const float x[restrict n][m], float y[restrict n][m]) {"
        " for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[p[i]][j] += x[i][j]; }",
        (N, M, PLACES, ROWS, np.zeros((N, M), np.float32)),
        _added(np.zeros((N, M), np.float32), ROWS),
    ),
    "rows that are set": (
        "void f(int n, int m, const int *restrict p, const float x[restrict n][m], float y[restrict n][m]) {"
        " for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[p[i]][j] = x[p[i]][j] + 1; }",
        (N, M, PLACES, ROWS, ROWS.copy()),
        np.where(np.isin(np.arange(N), PLACES)[:, None], ROWS + 1, ROWS).astype(np.float32),
    ),
    "packed": (
        "void f(int n, const float *restrict x, float *restrict y) { int k = 0;"
        " for (int i = 0; i < n; i++) if (x[i] > 0) y[k++] = x[i]; }",
        (N, VALUES, np.zeros(N, np.float32)),
        _packed(),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_no_loop_looks_for_the_element(name: str) -> None:
    text, arguments, expected = CASES[name]
    function = tw.c.load(text, scop="function").f
    function.auto_schedule()
    given = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
    function(*given)
    np.testing.assert_array_equal(given[-1], expected)
    loops = str(function.function.loops)
    assert not re.search(r"for x0", loops)
    assert not re.search(r"for x0\d* in .*(parallel|vector)", loops)


def test_rows_are_vectors() -> None:
    """A row that data choose is written by vectors, and its place is read once."""
    function = tw.c.load(CASES["rows"][0], scop="function").f
    function.auto_schedule()
    loops = str(function.function.loops)
    assert re.search(r"for j1 in .*# vector\(16\)\n +y\[x0, 16 \* j0 \+ j1\] = ", loops)
    assert loops.index("x0 = int64(p[i])") < loops.index("for j0")
    assert "data choose" not in str(function.explain())
    alone = tw.c.load(CASES["elements"][0], scop="function").f
    alone.auto_schedule()
    assert "data choose the element along x0 that an iteration writes" in str(alone.explain())


def test_the_error_of_a_read_says_what_the_text_says() -> None:
    m = tw.c.load(
        """void g(int n, int m, const int p[n], const double x[m], double out[n]) {
          for (int i = 0; i < n; i++)
            out[i] = x[p[i]] + x[p[i] + 1];
        }""",
        scop="function",
    )
    with pytest.raises(tw.SubscriptError) as caught:
        m.g(3, 4, np.array([0, 3, 1], np.int32), np.zeros(4), np.zeros(3))
    assert "g: x[p[i] + 1]: subscript 4 is out of bounds for axis 0 of x" in str(caught.value)


LU = """
int f(int n, double A[n][n], int p[n]) {
  for (int i = 0; i < n; i++) p[i] = i;
  for (int k = 0; k < n; k++) {
    int row = k; double most = A[k][k] < 0 ? -A[k][k] : A[k][k];
    for (int i = k + 1; i < n; i++) {
      double v = A[i][k] < 0 ? -A[i][k] : A[i][k];
      if (v > most) { most = v; row = i; }
    }
    if (most == 0) return k + 1;
    if (row != k) {
      for (int j = 0; j < n; j++) { double t = A[k][j]; A[k][j] = A[row][j]; A[row][j] = t; }
      int t = p[k]; p[k] = p[row]; p[row] = t;
    }
    for (int i = k + 1; i < n; i++) {
      A[i][k] /= A[k][k];
      for (int j = k + 1; j < n; j++)
UPDATE: A[i][j] -= A[i][k] * A[k][j];
    }
  }
  return 0;
}
"""


def test_rows_that_data_choose_in_an_array_that_changes() -> None:
    """Who wrote an element of the row with the pivot, depends on which row that is: the condition that says so
    bounds what is read, and all other statements are as free as without pivots."""
    function = tw.c.load(LU, scop="function").f
    for matrix in (_DRAW.standard_normal((37, 37)), np.ones((5, 5)), np.zeros((2, 2))):
        check(
            tw.c.load(LU, scop="function"),
            compiled(LU),
            "f",
            (len(matrix), matrix, np.zeros(len(matrix), np.int32)),
        )
        given = (len(matrix), matrix.copy(), np.zeros(len(matrix), np.int32))
        theirs = copies(given)
        assert function(*given) == run_c(compiled(LU), function, theirs)
        np.testing.assert_array_equal(given[1], theirs[1])
        np.testing.assert_array_equal(given[2], theirs[2])
    assert 'UPDATE.vectorize("j", 8)' in str(function.default_schedule)


EXCHANGES = """
void f(int n, unsigned char *data, const unsigned char K[256]) {
  unsigned char S[256], i = 0, j = 0, t;
  for (int k = 0; k < 256; k++) S[k] = K[k];
  for (int k = 0; k < n; k++) {
    i++; j += S[i];
    t = S[i]; S[i] = S[j]; S[j] = t;
    data[k] ^= S[(unsigned char)(S[i] + S[j])];
  }
}
"""


def test_exchanges_in_a_table_look_at_two_elements() -> None:
    n = 1000
    data = _DRAW.integers(0, 256, n).astype(np.uint8)
    table = _DRAW.permutation(256).astype(np.uint8)
    function = tw.c.load(EXCHANGES, scop="function").f
    given = (n, data.copy(), table)
    theirs = copies(given)
    function(*given)
    run_c(compiled(EXCHANGES), function, theirs)
    np.testing.assert_array_equal(given[1], theirs[1])
    loops = str(function._running.general.function.loops)
    assert loops.count("S[x0") == 2 and "for x0" not in loops, loops
