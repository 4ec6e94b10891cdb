"""Calls of functions that a file only declares: blocks, compared with gcc's program of both files."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from c_oracle import assert_same_bits, check, compiled, copies, schedule

import tilewright as tw
from tilewright.frontends.c import load
from tilewright.frontends.tree import Block, walk


@dataclass(frozen=True)
class Case:
    """A file with a function `f`, and the functions that stand elsewhere."""

    title: str
    text: str
    elsewhere: str
    arguments: tuple[Any, ...]
    blocks: int = 1

    def __str__(self) -> str:
        return self.title


def _reals(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).standard_normal(shape)


_REVERSE = """
void reverse(double *x, int n) {
  for (int i = 0; i < n / 2; i++) { double t = x[i]; x[i] = x[n - 1 - i]; x[n - 1 - i] = t; } }
"""
_DOT = """
double dot(int n, const double *x, const double *y) {
  double s = 0; for (int i = 0; i < n; i++) s += x[i] * y[i]; return s; }
"""
CASES = [
    Case(
        "whole buffer",
        """void reverse(double *x, int n);
        void f(int n, double x[n], double y[n]) {
          for (int i = 0; i < n; i++) x[i] = 2 * x[i] + i;
          reverse(x, n);
          for (int i = 0; i < n; i++) y[i] = x[i] - 1; }""",
        _REVERSE,
        (7, _reals(7), _reals(7)),
    ),
    Case(
        "value in an expression",
        """double dot(int n, const double *x, const double *y);
        void f(int n, double x[n], double y[n], double s[2]) {
          for (int i = 0; i < n; i++) y[i] += x[i];
          s[0] = 1 + dot(n, x, y) / dot(n - 1, y, x + 1);
          s[1] = n > 3 ? dot(n, x, x) : 0.0; }""",
        _DOT,
        (6, _reals(6), _reals(6), _reals(2)),
        3,
    ),
    Case(
        "rows in a loop",
        """void reverse(double *x, int n);
        void f(int n, int m, double A[n][m]) {
          for (int i = 0; i < n; i++) {
            for (int j = 0; j < m; j++) A[i][j] *= i + 1;
            reverse(&A[i][0], m);
            reverse(A[i] + 1, m - 1);
            A[i][0] += 3; } }""",
        _REVERSE,
        (4, 5, _reals(4, 5)),
        2,
    ),
    Case(
        "every other row, backwards",
        """void reverse(double *x, int n);
        void f(int n, int m, double A[n][m]) {
          for (int i = n - 1; i > 0; i -= 2) { A[i][1] += A[i - 1][0]; reverse(A[i], m); A[i - 1][1] += A[i][0]; } }""",
        _REVERSE,
        (7, 3, _reals(7, 3)),
    ),
    Case(
        "where data say so",
        """void reverse(double *x, int n);
        void f(int n, int m, double A[n][m], int c[n]) {
          for (int i = 0; i < n; i++) {
            if (A[i][0] > 0) { A[i][0] = -1; reverse(A[i], m); A[i][m - 1] *= 2; c[i] = 1; }
            else if (i != 2) { c[i] = 2; reverse(A[i], m - 1); }
            A[i][1] += c[i]; } }""",
        _REVERSE,
        (8, 4, _reals(8, 4), np.zeros(8, np.int32)),
        2,
    ),
    Case(
        "until data end the loop",
        """void reverse(double *x, int n);
        void f(int n, int m, double A[n][m]) {
          for (int i = 0; i < n; i++) { if (A[i][2] > 0.5) break; reverse(A[i], m); A[i][0] += i; } }""",
        _REVERSE,
        (9, 4, _reals(9, 4) - 0.7),
    ),
    Case(
        "result by address",
        """int extrema(const float *x, int n, float *least, float *most);
        void f(int n, float x[n], float y[n], int *where) {
          float low, high;
          *where = extrema(x, n, &low, &high);
          for (int i = 0; i < n; i++) y[i] = (x[i] - low) / (high - low); }""",
        """int extrema(const float *x, int n, float *least, float *most) {
          int at = 0; *least = *most = x[0];
          for (int i = 1; i < n; i++) { if (x[i] < *least) *least = x[i]; if (x[i] > *most) { *most = x[i]; at = i; } }
          return at; }""",
        (9, _reals(9).astype(np.float32), np.zeros(9, np.float32), np.zeros((), np.int32)),
    ),
    Case(
        "two pointers into one array",
        """void add(double *x, const double *y, int n);
        void f(int n, double x[2 * n]) { add(x + n, x, n); add(x, &x[n], n); x[0] = -x[n]; }""",
        "void add(double *x, const double *y, int n) { for (int i = 0; i < n; i++) x[i] += y[i]; }\n",
        (5, _reals(10)),
        2,
    ),
    Case(
        "static extents",
        """void smooth(int m, double to[static const restrict m], const double of[static const restrict m]);
        void f(int n, double x[n][n], double y[n][n]) {
          for (int i = 0; i < n; i++) { x[i][i] = 1; smooth(n, y[i], x[i]); } }""",
        """void smooth(int m, double to[m], const double of[m]) {
          for (int i = 1; i < m - 1; i++) to[i] = (of[i - 1] + of[i + 1]) / 2; }""",
        (6, _reals(6, 6), _reals(6, 6)),
    ),
    Case(
        "summary function",
        """void smooth_(int m, double to[static const restrict m], const double of[static const restrict m],
          double *left) { for (int i = 0; i < m; i++) { __pencil_use(of[i]); __pencil_def(to[i]); }
          __pencil_use(left[0]); }
        void smooth(int m, double to[static const restrict m], const double of[static const restrict m], double *left)
          __attribute__((pencil_access(smooth_)));
        void f(int n, double x[n][n], double y[n][n], double left[1]) {
          for (int i = 0; i < n; i++) smooth(n, y[i], x[i], left); }""",
        """void smooth(int m, double to[m], const double of[m], double *left) {
          for (int i = 0; i < m; i++) to[i] = i ? (of[i - 1] + of[i]) / 2 : left[0]; }""",
        (6, _reals(6, 6), _reals(6, 6), _reals(1)),
    ),
    Case(
        "bytes and memory of no type",
        """void invert(void *p, unsigned long bytes);
        void f(int n, unsigned char a[n][3]) { for (int i = 0; i < n; i++) a[i][0] /= 2; invert(a, 3 * n); }""",
        """void invert(void *p, unsigned long bytes) {
          for (unsigned long i = 0; i < bytes; i++) ((unsigned char *)p)[i] = ~((unsigned char *)p)[i]; }""",
        (4, np.arange(12, dtype=np.uint8).reshape(4, 3)),
    ),
    Case(
        "local array",
        """void fill(double *x, int n, double v);
        void f(int n, double y[n]) { double t[n]; fill(t, n, 0.5 * n);
          for (int i = 0; i < n; i++) y[i] = t[n - 1 - i]; }""",
        "void fill(double *x, int n, double v) { for (int i = 0; i < n; i++) x[i] = v + i; }\n",
        (5, _reals(5)),
    ),
    Case(
        "linearised matrix",
        """void reverse(double *x, int n);
        void f(int n, int m, double *A) {
          for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) A[i * m + j] += i; reverse(A + i * m, m); } }""",
        _REVERSE,
        (3, 4, _reals(3, 4)),
    ),
    Case(
        "within a function of the file",
        """void reverse(double *x, int n);
        static double last(int n, double *x) { reverse(x, n); return x[0]; }
        void f(int n, double A[n][n], double y[n]) { for (int i = 0; i < n; i++) y[i] = last(n, A[i]) + A[i][1]; }""",
        _REVERSE,
        (4, _reals(4, 4), _reals(4)),
    ),
]


def _externs(case: Case) -> dict[str, Any]:
    library = compiled(case.elsewhere)
    names = ("reverse", "dot", "extrema", "add", "smooth", "invert", "fill")
    return {name: getattr(library, name) for name in names if f" {name}(" in case.elsewhere}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_foreign_calls(case: Case) -> None:
    externs = _externs(case)
    assert externs
    module = load(case.text, scop="function", externs=externs)
    function = module.functions["f"]
    both = case.text.replace("__pencil_use", "(void)").replace("__pencil_def", "(void)")
    both = both.replace("__attribute__((pencil_access(smooth_)))", "")
    wanted = check(module, compiled(both + "\n" + case.elsewhere), "f", case.arguments)
    for _ in range(2):
        found = copies(case.arguments)
        function(*found)
        for value, right, name in zip(found, wanted, function.arguments, strict=True):
            assert_same_bits(value, right, name)
        schedule(function)
    blocks = [each for each in walk(function.program.body) if isinstance(each, Block)]
    assert len(blocks) == case.blocks


def test_python_callable() -> None:
    """Numbers are Python's; pointers are views of what lies behind them, rows of rows."""
    seen: list[Any] = []

    def work(n: int, scale: float, rows: np.ndarray, x: np.ndarray) -> int:
        seen.append((n, scale, rows.shape, x.shape))
        x[:] = scale * rows.sum(axis=1)[: len(x)]
        return n + 1

    text = """int work(int n, float scale, const double rows[][3], double *x);
    int f(int n, const double A[n][3], double y[n]) { return work(n, 0.5f, A + 1, &y[2]); }"""
    function = load(text, scop="function", externs={"work": work}).functions["f"]
    A, y = np.arange(15.0).reshape(5, 3), np.ones(5)
    assert function(5, A, y) == 6
    assert seen == [(5, 0.5, (4, 3), (3,))]
    assert y.tolist() == [1, 1, *(0.5 * A[1:4].sum(axis=1))]


def test_python_exceptions_are_raised() -> None:
    def work(x: np.ndarray) -> None:
        raise RuntimeError("no licence")

    text = "void work(double *x);\nvoid f(double x[3]) { x[0] = 2; work(x); }"
    function = load(text, scop="function", externs={"work": work}).functions["f"]
    with pytest.raises(RuntimeError, match="no licence"):
        function(np.ones(3))


def test_functions_of_numbers() -> None:
    """A compiled function of numbers stands in expressions; a Python function is called in order."""
    library = compiled("double bend(double x, int k) { return x * x + k; }\n")
    text = """double bend(double x, int k);
    void f(int n, double x[n]) { for (int i = 0; i < n; i++) if (x[i] > 0) x[i] = bend(x[i], i); }"""
    x = np.array([1.5, -2, 3])
    wanted = [2.25, -2, 11]
    for given in (library.bend, lambda x, k: x * x + k):
        function = load(text, scop="function", externs={"bend": given}).functions["f"]
        found = x.copy()
        function(3, found)
        assert found.tolist() == wanted


def test_symbols_of_the_process() -> None:
    """What a linker would find is called; it is not kept for other processes."""
    library = compiled(
        "void tilewright_twice(double *x, int n) { for (int i = 0; i < n; i++) x[i] *= 2; }\n"
    )
    text = """void tilewright_twice(double *x, int n);
    void f(int n, double x[n]) { tilewright_twice(x, n); x[0] += 1; }"""
    with pytest.raises(tw.TranslationError) as refused:
        load(text, scop="function").functions["f"](3, np.ones(3))
    assert (refused.value.line, refused.value.column) == (2, 34)
    assert "externs={'tilewright_twice': ...}" in str(refused.value)
    ctypes.CDLL(library._name, ctypes.RTLD_GLOBAL)
    for _ in range(2):
        x = np.ones(3)
        load(text, scop="function").functions["f"](3, x)
        assert x.tolist() == [3, 2, 2]


def test_access_relations() -> None:
    text = """void look(const double *x, double *y);
    void f(int n, double x[n], double y[n][n]) { for (int i = 0; i < n; i++) look(x, y[i]); }"""
    function = load(text, scop="function", externs={"look": print}).functions["f"]
    reads = function.access_relations.reads
    whole = "[n] -> { look[i] -> x[e] : 0 <= i < n and 0 <= e < n }"
    assert tw.Map(whole) <= reads
    whole = "[n] -> { look[i] -> y[e, g] : 0 <= i < n and 0 <= e < n and 0 <= g < n }"
    assert tw.Map(whole) <= reads


REFUSED = [
    ("void f(double x[3]) { work(x); }", "not declared"),
    ("void work(double *x, ...);\nvoid f(double x[3]) { work(x, 1); }", "any number of arguments"),
    ("void work(double *x);\nvoid f(float x[3]) { work(x); }", "elements of type double"),
    ("void work(double *x);\nvoid f(double x[3]) { work(x, 3); }", "has 1 argument,"),
    ("void work(const double *x);\nvoid f(double x[3]) { work(x); }", "writes nothing"),
    ("void work(double **x);\nvoid f(double x[3][3]) { work(x); }", "pointers to pointers"),
    ("void work(void (*g)(int), double *x);\nvoid g(int i) {}\nvoid f(double x[3]) { work(g, x); }", "is a function"),
    ("struct s { int a; };\nvoid work(struct s *x);\nvoid f(struct s x[3]) { work(x); }", "structures"),
    ("double *work(double *x);\nvoid f(double x[3]) { work(x); }", "returns a double"),
    ("void work(double _Complex z, double *x);\nvoid f(double x[3]) { work(1, x); }", "complex"),
    ("void work(double *x);\nvoid f(double x[3]) { double y = work(x); x[0] = y; }", "gives no value"),
]  # fmt: skip


@pytest.mark.parametrize("text, reason", REFUSED, ids=[reason for _, reason in REFUSED])
def test_refusals(text: str, reason: str) -> None:
    with pytest.raises(tw.TranslationError, match=reason) as refused:
        load(text, scop="function", externs={"work": print}).functions["f"].program
    assert refused.value.line == text.count("\n") + 1


def test_halves_are_rounded_away_from_zero() -> None:
    text = "#include <math.h>\nlong f(double x) { return 10 * lround(x) + llround(x); }"
    function = load(text, scop="function").functions["f"]
    assert [function(x) for x in (0.5, 1.5, -2.5, 3.2)] == [11, 22, -33, 33]


def test_words_of_isl_in_prototypes_and_new_bodies() -> None:
    text = """double max(double a, double b);
    void f(int n, double x[n]) { for (int i = 0; i < n; i++) x[i] = max(x[i], 2); }"""
    function = load(text, scop="function", externs={"max": max}).functions["f"]
    numbers = np.array([1.0, 5.0])
    function(2, numbers)
    assert numbers.tolist() == [2, 5]
    text = "void f(int mod, double x[mod], const double max[mod]) { for (int i = 0; i < mod; i++) x[i] = max[i]; }"
    function = load(text, scop="function").functions["f"].with_body("S1", "max[i] + mod + 1")
    function(2, numbers, np.array([3.0, 4.0]))
    assert numbers.tolist() == [6, 7]


def test_names_of_arguments_that_isl_has() -> None:
    text = "int f(int max, int max_, int n_) { return max * 100 + max_ * 10 + n_; }"
    function = load(text, scop="function").functions["f"]
    assert function(max=1, max_=2, n_=3) == 123
    with pytest.raises(tw.ArgumentTypeError, match="'n'"):
        function(max=1, max_=2, n=3)


def test_what_is_not_seen_to_stay_inside_is_said_in_words_of_c() -> None:
    text = """double f(const double *x, int n) {
    const double *b = x + n / 2, *e = x + n; double s = 0; while (b < e) s += *b++; return s; }"""
    with pytest.raises(tw.TranslationError, match="by its declaration") as refused:
        load(text, scop="function").functions["f"](np.ones(4), 4)
    assert "tw.params" not in str(refused.value)
