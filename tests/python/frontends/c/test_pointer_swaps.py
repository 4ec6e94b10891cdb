"""Pointers that point into one array and later into another, beside gcc, for each number of turns."""

from __future__ import annotations

import numpy as np
import pytest
from c_oracle import check_text, compiled, run_c, schedule

import tilewright as tw

SWEEP = "for (int i = 1; i < n - 1; i++) y[i] = x[i - 1] * 0.25 + x[i] * 0.5 + x[i + 1] * 0.25;"
SWAP = "double *t = x; x = y; y = t;"

PROGRAMS = {
    "arguments": f"""
void f(int n, int steps, double x[n], double y[n]) {{
  for (int k = 0; k < steps; k++) {{ {SWEEP} {SWAP} }}
}}""",
    "pointers to arguments": f"""
void f(int n, int steps, double *a, double *b) {{
  double *x = a, *y = b;
  for (int k = 0; k < steps; k++) {{ {SWEEP} {SWAP} }}
}}""",
    "what they mean behind the loop": f"""
double f(int n, int steps, double a[n], double b[n]) {{
  double *x = a, *y = b, s = 0;
  for (int k = 0; k < steps; k++) {{ {SWEEP} {SWAP} }}
  for (int i = 0; i < n; i++) {{ s += x[i] * i; y[i] = -x[i]; }}
  x[0] = s;
  return s;
}}""",
    "down, by two": f"""
void f(int n, int steps, double a[n], double b[n]) {{
  double *x = a, *y = b;
  for (int k = 2 * steps; k > 0; k -= 2) {{ {SWEEP} y[0] += k; {SWAP} }}
  x[1] += 1;
}}""",
    "a temporary that is declared in front, and means something behind": f"""
double f(int n, int steps, double a[n], double b[n]) {{
  double *x = a, *y = b, *t;
  for (int k = 0; k < steps; k++) {{ {SWEEP} t = x; x = y; y = t; }}
  t = x;
  double s = 0;
  for (int i = 0; i < n; i++) s += a[i];
  if (s > 0) t = y;
  return t[2] + s;
}}""",
    "pairs, one behind the other": f"""
double f(int n, int steps, double a[n], double b[n]) {{
  double s = 0;
  {{ double *x = a, *y = b; for (int k = 0; k < steps; k++) {{ {SWEEP} {SWAP} }} s += x[1]; }}
  {{ double *x = b, *y = a; for (int k = 0; k < steps; k++) {{ {SWEEP} {SWAP} }} s += x[1]; }}
  double *x = a, *y = b;
  for (int k = 0; k < steps; k++) {{ {SWEEP} {SWAP} }}
  s += y[1];
  double *p = a, *q = b, *t;
  for (int k = 0; k < steps; k++) {{ q[0] = p[0] + k; t = p; p = q; q = t; }}
  s += p[0];
  double *v = a, *w = b, *u;
  for (int k = 0; k < steps; k++) {{ w[1] = v[1] - k; u = v; v = w; w = u; }}
  return s + v[1];
}}""",
    "three in turn": """
void f(int n, int steps, double a[n], double b[n]) {
  double c[n], *x = a, *y = b, *z = c;
  for (int i = 0; i < n; i++) c[i] = 0;
  for (int k = 0; k < steps; k++) {
    for (int i = 1; i < n - 1; i++) z[i] = 2 * y[i] - x[i] + 0.1 * (y[i - 1] - 2 * y[i] + y[i + 1]);
    double *t = x; x = y; y = z; z = t;
  }
  for (int i = 0; i < n; i++) { double v = y[i]; a[i] += v; }
}""",
    "scalars beside them": f"""
int f(int n, int steps, double a[n], double b[n]) {{
  double *x = a, *y = b;
  int count = 3, last = 0;
  for (int k = 0; k < steps; k++) {{ count = count + k; {SWEEP} y[0] = count; last = k; {SWAP} }}
  x[n - 1] = last + count;
  return count * 100 + last;
}}""",
    "iterator behind the loop": f"""
int f(int n, int steps, double a[n], double b[n]) {{
  double *x = a, *y = b;
  int k;
  for (k = 1; k <= steps; k++) {{ {SWEEP} {SWAP} }}
  x[2] += k;
  return k;
}}""",
    "rows of a grid": """
void f(int n, int steps, double a[n], double b[n]) {
  double g[2][n];
  for (int i = 0; i < n; i++) { g[0][i] = a[i]; g[1][i] = b[i]; }
  double *x = g[0], *y = g[1];
  for (int k = 0; k < steps; k++) {
    for (int i = 1; i < n - 1; i++) y[i] = x[i - 1] + x[i + 1];
    double *t = x; x = y; y = t;
  }
  for (int i = 0; i < n; i++) { a[i] = x[i]; b[i] = y[i] - x[i]; }
}""",
    "memory of malloc": f"""
#include <stdlib.h>
void f(int n, int steps, double a[n], double b[n]) {{
  double *x = malloc(n * sizeof(double)), *y = malloc(n * sizeof *y);
  for (int i = 0; i < n; i++) {{ x[i] = a[i]; y[i] = b[i]; }}
  for (int k = 0; k < steps; k++) {{ {SWEEP} {SWAP} }}
  for (int i = 0; i < n; i++) a[i] = x[i];
  free(x);
  free(y);
}}""",
    "in a function that is inlined": f"""
static double run(int n, int steps, double *x, double *y) {{
  for (int k = 0; k < steps; k++) {{ {SWEEP} {SWAP} }}
  return x[1] - y[2];
}}
void f(int n, int steps, double a[n], double b[n]) {{
  double s = run(n, steps, a, b);
  a[0] = s;
  run(n, 3, b, a);
}}""",
    "in each turn of a loop": f"""
void f(int n, int steps, double a[n], double b[n]) {{
  for (int r = 0; r < 3; r++) {{
    double *x = a, *y = b;
    for (int k = 0; k < steps; k++) {{ {SWEEP} {SWAP} }}
    x[1] += y[2] + r;
  }}
}}""",
    "under a condition of sizes": """
void f(int n, int steps, double a[n], double b[n]) {
  double *x = a;
  if (steps > 2) x = b;
  for (int i = 0; i < n; i++) x[i] = x[i] + i;
}""",
    "under a condition of data": """
void f(int n, int steps, double a[n], double b[n]) {
  double *x = a, *y = b;
  if (a[1] > 0.5 * steps) { double *t = x; x = y; y = t; }
  for (int i = 0; i < n; i++) x[i] = y[i] + i;
}""",
    "until data say so": f"""
int f(int n, int steps, double a[n], double b[n]) {{
  double *x = a, *y = b, most = 9;
  int k = 0;
  while (most > 0.3 && k < steps) {{
    most = 0;
    {SWEEP}
    for (int i = 1; i < n - 1; i++) {{ if (y[i] > 100) break; if (y[i] - x[i] > most) most = y[i] - x[i]; }}
    {SWAP}
    k++;
  }}
  if (x != a) for (int i = 0; i < n; i++) a[i] = x[i] + k;
  return k;
}}""",
    "at least once": f"""
void f(int n, int steps, double a[n], double b[n]) {{
  double *x = a, *y = b;
  int k = 0;
  do {{ {SWEEP} {SWAP} k += 1 + (x[1] > 1); }} while (k < steps);
  for (int i = 0; i < n; i++) y[i] = x[i] * k;
}}""",
    "until data say so, three in turn": """
void f(int n, int steps, double a[n], double b[n]) {
  double c[n], *x = a, *y = b, *z = c;
  for (int i = 0; i < n; i++) c[i] = i;
  int k = 0;
  while (x[1] + k < steps) { x[1] += 0.125; y[2] += x[1]; z[0] = k; double *t = x; x = y; y = z; z = t; k++; }
  for (int i = 0; i < n; i++) { double v = y[i] - z[i]; a[i] += v + x[i]; }
}""",
    "one behind the other": f"""
void f(int n, int steps, double a[n], double b[n]) {{
  double *x = a, *y = b;
  for (int k = 0; k < steps; k++) {{ {SWEEP} {SWAP} }}
  for (int k = 0; k < 3; k++) {{ {SWEEP} {SWAP} }}
  x[1] = 7;
}}""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_swaps(name: str) -> None:
    text = PROGRAMS[name] + "\n"
    f = tw.c.load(text, scop="function").f
    values = np.linspace(0.5, 2, 7), np.linspace(3, -1, 7)
    check_text(text, (7, 3, *(each.copy() for each in values)))
    for is_scheduled in (False, True):
        for steps in (-1, 0, 1, 2, 5):
            wanted = [each.copy() for each in values]
            result = run_c(compiled(text), f, (7, steps, *wanted))
            given = [each.copy() for each in values]
            assert f(7, steps, *given) == result
            assert [each.tolist() for each in given] == [each.tolist() for each in wanted]
        if not is_scheduled:
            schedule(f)


REFUSED = {
    "in a loop that is left early": f"""
void f(int n, double *x, double *y) {{
  for (int k = 0; k < n; k++) {{ {SWEEP} if (y[1] < 0.1) break; {SWAP} }}
}}""",
    "each turn of this loop": f"""
void f(int n, double a[n], double b[n]) {{
  double *x = a, *y = b;
  for (int r = 0; r < n; r++) {{
    for (int k = 0; k < r; k++) {{ {SWEEP} {SWAP} }}
    x[r] = 1;
  }}
}}""",
}


@pytest.mark.parametrize("where", REFUSED)
def test_swaps_that_are_refused(where: str) -> None:
    with pytest.raises(tw.TranslationError) as caught:
        tw.c.load(REFUSED[where] + "\n", scop="function").f.function
    assert "into another" in str(caught.value) and where in str(caught.value)
    assert caught.value.location.line >= 3


@pytest.mark.parametrize("head", ["int k = 0; k < rows; k++", "int k = rows - 1; k >= 0; k -= 2"])
def test_the_turn_that_is_left_over_subscripts_as_the_others_do(head: str) -> None:
    """No subscript of it is asked while the program runs: it is as affine as in the loop."""
    text = f"""
void f(int rows, int cols, double w[rows][cols], double x[cols], double y[cols]) {{
  for ({head}) {{
    for (int j = 0; j < cols; j++) y[j] = w[k][j] + x[cols - 1 - j];
    {SWAP}
  }}
}}
"""
    assert "assert" not in str(tw.c.load(text, scop="function").f.function.loops)
    random = np.random.default_rng(5)
    for rows in range(6):
        arrays = random.random((rows, 4)), random.random(4), random.random(4)
        check_text(text, (rows, 4, *arrays))
