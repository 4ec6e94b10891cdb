"""``tilewright translate``: whole C programs, whose output has to stay what it was."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess

import pytest

from tilewright.tools.cli import main

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

PRODUCT = """#include <stdio.h>
#ifndef N
#define N 13
#endif
static double A[N][N + 2], B[N + 2][N], C[N][N];
static void product(int n, int m, double A[n][m], double B[m][n], double C[n][n]) {
  int i, j, k;
#pragma scop
  for (i = 0; i < n; i++)
    for (j = 0; j < n; j++) {
      C[i][j] *= 0.25;
      for (k = 0; k < m; k++)
        C[i][j] += A[i][k] * B[k][j];
    }
#pragma endscop
}
int main(void) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N + 2; j++) A[i][j] = B[j][i] = i * 0.5 + j, C[i][j % N] = i - j;
  product(N, N + 2, A, B, C);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) printf("%a\\n", C[i][j]);
  return 3;
}
"""

#: Programs with a scop in each way of standing in a file.
PROGRAMS = {
    "product": PRODUCT,
    "no rows": """#include <stdio.h>
static void fill(double *a, int n) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) a[i * n + j] = i + j;
#pragma endscop
}
int main(void) {
  double a[4] = {9, 9, 9, 9};
  fill(a, 0);
  printf("%g\\n", a[0]);
  fill(a, 2);
  printf("%g\\n", a[3]);
  return 0;
}
""",
    "a loop that data end, and words of isl": """#include <stdio.h>
static int bits(long x) { int n = 0; while (x) { n += x & 1; x = (x >> 1) & 0x7fffffff; } return n; }
static void count(const long a[4], int max, long out[1]) {
#pragma scop
  for (int mod = 0; mod < max; mod++) out[0] += bits(a[mod]);
#pragma endscop
}
int main(void) {
  long a[4] = {1, 2, 3, 7}, out[1] = {0};
  count(a, 4, out);
  printf("%ld\\n", out[0]);
  return 0;
}
""",
    "scops in main, scalars and iterators that live on": """#include <stdio.h>
int main(void) {
  int n = 20, i, last = -1;
  double x[20], sum = 1.5, scale = 0.5;
#pragma scop
  for (i = 0; i < n; i++) x[i] = i * scale;
#pragma endscop
  printf("%d\\n", i);
#pragma scop
  for (i = 3; i < n; i += 4) {
    sum += x[i];
    last = i;
  }
#pragma endscop
  printf("%a %d %d\\n", sum, i, last);
  return 0;
}
""",
    "a result": """#include <stdio.h>
static float total(int n, const float *restrict x) {
  float s = 0;
#pragma scop
  for (int i = 0; i < n; i++) s += x[i] * x[i];
  return s;
#pragma endscop
}
int main(void) {
  float x[9];
  for (int i = 0; i < 9; i++) x[i] = 1.0f / (i + 1);
  printf("%a %a\\n", total(9, x), total(0, x));
}
""",
    "structures": """#include <stdio.h>
struct body { double p[2]; struct { float m; int id; } of; };
static void push(int n, struct body b[n], double h) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 2; k++)
      b[i].p[k] += h * b[i].of.m + b[n - 1 - i].of.id;
#pragma endscop
}
int main(void) {
  struct body b[5];
  for (int i = 0; i < 5; i++) b[i] = (struct body){{i, -i}, {0.5f * i, i * i}};
  push(5, b, 0.125);
  for (int i = 0; i < 5; i++) printf("%a %a %a %d\\n", b[i].p[0], b[i].p[1], b[i].of.m, b[i].of.id);
}
""",
    "linearised, on the heap": """#include <stdio.h>
#include <stdlib.h>
static void smooth(int n, int m, float *A, float *B) {
#pragma scop
  for (int t = 0; t < 3; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++)
        B[i * m + j] = 0.2f * (A[i * m + j] + A[(i - 1) * m + j] + A[(i + 1) * m + j] + A[i * m + j - 1]);
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < m - 1; j++) A[i * m + j] = B[i * m + j];
  }
#pragma endscop
}
int main(void) {
  int n = 7, m = 9;
  float *A = malloc(n * m * sizeof(float)), *B = calloc(n * m, sizeof(float));
  for (int i = 0; i < n * m; i++) A[i] = i % 7;
  smooth(n, m, A, B);
  for (int i = 0; i < n * m; i++) printf("%a %a\\n", A[i], B[i]);
}
""",
    "mathematics and a table of the file": """#include <math.h>
#include <stdio.h>
static const double w[3] = {0.25, 0.5, 0.25};
double y[16];
int main(void) {
  double x[18];
  for (int i = 0; i < 18; i++) x[i] = i * 0.37;
#pragma scop
  for (int i = 0; i < 16; i++) {
    y[i] = 0;
    for (int k = 0; k < 3; k++) y[i] += w[k] * exp(-x[i + k]) + pow(x[i + k], 1.5);
  }
#pragma endscop
  for (int i = 0; i < 16; i++) printf("%a\\n", y[i]);
}
""",
    "data that decide": """#include <stdio.h>
static int count(int n, const int key[n], int bins[8]) {
  int none = 0;
#pragma scop
  for (int i = 0; i < n; i++)
    if (key[i] >= 0 && key[i] < 8)
      bins[key[i]]++;
    else
      none++;
#pragma endscop
  return none;
}
int main(void) {
  int key[30], bins[8] = {0};
  for (int i = 0; i < 30; i++) key[i] = (i * 7) % 11 - 1;
  printf("%d\\n", count(30, key, bins));
  for (int i = 0; i < 8; i++) printf("%d\\n", bins[i]);
}
""",
}


def run(tmp_path: pathlib.Path, text: str, *options: str) -> int:
    source = tmp_path / "program.c"
    source.write_text(text)
    return main(["translate", str(source), "-o", str(tmp_path / "program.tw.c"), *options])


@pytest.mark.parametrize("schedule", ["auto", "program"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(
    name: str, schedule: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = "gcc -O1 -std=gnu99 -Wall -Werror=implicit"
    status = run(tmp_path, PROGRAMS[name], "--check", "--schedule", schedule, "--cc", flags)
    said = capsys.readouterr()
    assert status == 0, said.err
    assert "check: both programs print the same" in said.out
    assert "it runs as written" not in said.out


ALIASED = """#include <stdio.h>
static void shift(int n, double *to, const double *from) {
#pragma scop
  for (int i = 0; i < n; i++) to[i] = from[i] + 1;
#pragma endscop
}
int main(void) {
  double x[20] = {0};
  shift(19, x + 1, x);
  for (int i = 0; i < 20; i++) printf("%g\\n", x[i]);
}
"""


def test_pointers_that_overlap(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The statements run as they were written."""
    assert run(tmp_path, ALIASED, "--check") == 0
    assert "pointers overlap" in capsys.readouterr().out


NULL = """#include <stdio.h>
static double value(const double *v, int i) { return v ? v[i] : -5; }
static void add(int n, double *x, const double *w) {
#pragma scop
  for (int i = 0; i < n; i++) x[i] += value(w, i);
#pragma endscop
}
static void fill(int n, double *x, const double *w) {
#pragma scop
  for (int i = 0; i < n; i++)
    if (w == 0) x[i] = -1;
    else x[i] = w[i] + 7;
#pragma endscop
}
int main(void) {
  double x[4] = {0}, w[4] = {1, 2, 3, 4};
  fill(4, x, 0);
  printf("%g\\n", x[2]);
  fill(4, x, w);
  printf("%g\\n", x[2]);
  add(4, x, 0);
  add(4, x, w);
  printf("%g\\n", x[2]);
  return 0;
}
"""


def test_pointers_that_are_null(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The schedule is made for arrays: a call that passes NULL runs the statements as they were."""
    assert run(tmp_path, NULL, "--check") == 0
    assert "both programs print the same" in capsys.readouterr().out


SIDE_BY_SIDE = """#include <stdio.h>
static void add(int n, double *to, const double *from) {
#pragma scop
  for (int k = 1; k < n; k++)
    for (int i = 0; i < k; i++) to[i] += from[k - i - 1];
#pragma endscop
}
int main(void) {
  double x[20] = {0};
  for (int i = 0; i < 20; i++) x[i] = i;
  add(10, x, x + 10);
  for (int i = 0; i < 20; i++) printf("%g\\n", x[i]);
}
"""


def test_halves_of_one_array_do_not_overlap(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, SIDE_BY_SIDE, "--check") == 0
    said = capsys.readouterr().out
    assert "both programs print the same" in said and "pointers overlap" not in said


def test_tiles(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, PRODUCT, "--tile", "4,5", "--check") == 0
    made = (tmp_path / "program.tw.c").read_text()
    assert "#pragma omp" in made
    assert "i_tile" in made and "j_tile" in made
    assert "differs" not in capsys.readouterr().err


def test_schedules_of_a_file(tmp_path: pathlib.Path) -> None:
    saved = tmp_path / "schedules.json"
    assert run(tmp_path, PRODUCT, "--tile", "4,5", "--save-schedule", str(saved)) == 0
    tiled = (tmp_path / "program.tw.c").read_text()
    assert list(json.loads(saved.read_text())) == ["product"]
    assert run(tmp_path, PRODUCT, "--schedule", str(saved), "--check") == 0
    assert (tmp_path / "program.tw.c").read_text() == tiled


def test_macros_are_those_of_the_translation(tmp_path: pathlib.Path) -> None:
    assert run(tmp_path, PRODUCT, "-D", "N=6", "--check") == 0
    made = tmp_path / "program.tw.c"
    assert "#define N 6" in made.read_text()
    other = subprocess.run(
        ["gcc", "-DN=7", "-fsyntax-only", str(made)], capture_output=True, text=True, check=False
    )
    assert other.returncode and "translated for N = 6" in other.stderr


def test_a_difference_is_found(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program that prints its own file's name differs from its translation."""
    text = PRODUCT.replace("return 3;", 'printf("%s\\n", __FILE__); return 3;')
    assert run(tmp_path, text, "--check") == 1
    assert "the output differs in line 170" in capsys.readouterr().err


REFUSED = {
    "no scop": ("int main(void) { return 0; }\n", ":1:1", "no #pragma scop"),
    "goto": (
        "void f(int n, int A[n]) {\n#pragma scop\n  a: A[0]++; if (A[0] < n) goto a;\n#pragma endscop\n}\n",
        ":3:",
        "goto",
    ),
    "a return among others": (
        "int f(int n, int A[n]) {\n  A[0] = 1;\n#pragma scop\n  if (n > 3) return 1;\n#pragma endscop\n"
        "  return 0;\n}\n",
        ":4:14",
        "leaves a scop",
    ),
    "a declaration that lives on": (
        "int f(int n, int A[n]) {\n#pragma scop\n  int s = A[0];\n  A[1] = s;\n#pragma endscop\n"
        "  return s;\n}\n",
        ":2:9",
        "declared in the scop and used behind it",
    ),
    "malformed": ("void f( {\n#pragma scop\n", ":1:", "not C99"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, place, reason = REFUSED[name]
    assert run(tmp_path, text) == 1
    said = capsys.readouterr().err
    assert f"program.c{place}" in said and reason in said
    assert not (tmp_path / "program.tw.c").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--tile", "4,x"], "whole numbers"),
        (["--tile", "4", "--schedule", "program"], "give one of them"),
        (["-D", "2=3"], "names no macro"),
        (["--schedule", "missing.json"], "missing.json"),
    ],
)
def test_options_that_make_no_sense(
    options: list[str], reason: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, PRODUCT, *options) == 2
    assert reason in capsys.readouterr().err


def test_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", "nowhere.c"]) == 2
    assert "nowhere.c" in capsys.readouterr().err
