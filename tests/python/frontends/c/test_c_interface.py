"""What a C function tells of itself: statements, context, access relations, summaries, other bodies, and
what a call refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from c_oracle import assert_same_bits, check_text, compiled, copies, run_c

import tilewright as tw

TEXT = """
typedef float real;
struct s { int u; real v[3]; };
int unknown(int x);
void smooth(int n, double *restrict B, const double *restrict A) {
#pragma scop
  for (int i = 1; i < n - 1; i++)
S1: B[i] = (A[i - 1] + A[i + 1]) / 2;
  for (int i = 1; i < n - 1; i++)
    B[i] += 1;
#pragma endscop
}
void all(int n, double x[n], double y[n][n], struct s *q) {
  __pencil_use(x);
  __pencil_def(y[2]);
  if (__pencil_maybe())
    __pencil_def(q[0]);
  __pencil_may_def(x[1]);
  if (unknown(n)) x[0] = unknown(3);
}
"""


def function() -> Any:
    return tw.c.load(TEXT).smooth


def test_statements_by_label_and_position() -> None:
    f = function()
    assert f.statements == ("S1", "S2")
    assert [f[at].name for at in (0, 1, -1, np.int64(0))] == ["S1", "S2", "S2", "S1"]
    assert f["S2"].name == "S2"
    f[1].parallelize("i")
    assert "S2" in str(f.schedule)


@pytest.mark.parametrize(
    ("label", "kind"),
    [(2, ValueError), (-3, ValueError), (None, TypeError), (True, TypeError), (1.0, TypeError)],
)
def test_positions_that_there_are_not(label: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught:
        function()[label]
    assert isinstance(caught.value, tw.TilewrightError)


def test_summaries() -> None:
    m = tw.c.load(TEXT)
    found = m.summary("all")

    def among(elements: tw.Set, array: str) -> tw.Set:
        return elements.intersect_params("[n] -> { : n >= 3 }") & tw.Set(f"{{ {array} }}")

    assert among(found.may_reads, "x[i]") == tw.Set(
        "[n, q_length] -> { x[i] : n >= 3 and q_length > 0 and 0 <= i < n }"
    )
    assert among(found.must_writes, "y[i, j]") == tw.Set(
        "[n, q_length] -> { y[2, j] : n >= 3 and q_length > 0 and 0 <= j < n }"
    )
    assert among(found.may_writes, "x[i]") == tw.Set(
        "[n, q_length] -> { x[i] : n >= 3 and q_length > 0 and 0 <= i <= 1 }"
    )
    assert among(found.may_writes, "q_v[i, j]").count(n=5, q_length=4) == 3
    with pytest.raises(tw.ArgumentError, match="no function 'none'"):
        m.summary("none")
    with pytest.raises(tw.ArgumentTypeError):
        m.summary(3)
    with pytest.raises(tw.TranslationError, match="is not known"):
        tw.c.load("int g(int *x);\nvoid f(int *x) { g(x); }\n#define X\n", scop="function").summary(
            "f"
        )


def test_what_is_for_summaries_only() -> None:
    with pytest.raises(tw.TranslationError, match="summary functions only"):
        tw.c.load("void f(int *x) { x[0] = __pencil_maybe(); }", scop="function").f


@pytest.mark.parametrize(
    "body",
    [
        "A[i] * 3",
        "B[i] = A[i] - i;",
        "B[i] += A[i + 1] > 0 ? (real)A[i] : n",
        "B[n - 1 - i] = A[i]",
    ],
)
def test_other_bodies(body: str) -> None:
    f = function()
    changed = f.with_body("S1", body)
    text = TEXT.replace(
        "B[i] = (A[i - 1] + A[i + 1]) / 2",
        body.rstrip(";") if "=" in body.replace("==", "") else f"B[i] = {body}",
    ).split("void all")[0]
    given = [7, np.zeros(7), np.random.default_rng(2).standard_normal(7)]
    ours, theirs = copies(given), copies(given)
    run_c(compiled(text), changed, theirs)
    changed(*ours)
    assert_same_bits(ours[1], theirs[1], body)
    before = copies(given)
    f(*before)
    assert not np.array_equal(before[1], ours[1])


def test_bodies_of_bodies() -> None:
    twice = function().with_body(0, "A[i]").with_body("S2", "B[i] *= 2")
    B = np.zeros(4)
    twice(4, B, np.arange(4.0))
    assert B.tolist() == [0, 2, 4, 0]


@pytest.mark.parametrize(
    ("label", "body", "kind", "reason"),
    [
        ("S9", "1", tw.ArgumentError, "no statement 'S9'"),
        ("S1", "1 +", tw.ArgumentError, "is no C"),
        ("S1", "int x", tw.ArgumentError, "one expression"),
        ("S1", "", tw.ArgumentError, "one expression"),
        ("S1", "q", tw.TranslationError, "q is not declared"),
        ("S1", 3, tw.ArgumentTypeError, "C as text"),
        (7, "1", tw.ArgumentError, "no position 7"),
    ],
)
def test_bodies_that_are_refused(label: Any, body: Any, kind: Any, reason: str) -> None:
    with pytest.raises(kind, match=reason):
        function().with_body(label, body)


def test_increments_have_no_body() -> None:
    f = tw.c.load(
        "void f(int n, int A[n]) { for (int i = 0; i < n; i++) A[i]++; }", scop="function"
    ).f
    with pytest.raises(tw.ArgumentError, match=r"x = x \+ 1"):
        f.with_body(0, "3")


def test_memory_that_overlaps() -> None:
    """Arrays are different memory, unless nothing changes them."""
    f = tw.c.load(
        "void f(int n, double *x, const double *y) { for (int i = 0; i < n; i++) x[i] = y[i]; }",
        scop="function",
    ).f
    z = np.arange(8.0)
    with pytest.raises(ValueError, match="share memory"):
        f(4, z[1:5], z[0:4])
    f(4, z[4:], z[:4])
    assert z.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]


def test_arguments_with_names_of_pythons_and_of_calls() -> None:
    check_text(
        "void f(int threads, int out[threads], const int from[threads]) {"
        " for (int i = 0; i < threads; i++) out[i] = from[i] + 1; }\n",
        (3, np.zeros(3, np.int32), np.arange(3, dtype=np.int32)),
    )
    f = tw.c.load(
        "void f(int lambda, int out[lambda], const int in[lambda]) {"
        " for (int i = 0; i < lambda; i++) out[i] = in[i] + 1; }",
        scop="function",
    ).f
    out = np.zeros(3, np.int32)
    f(3, out, np.arange(3, dtype=np.int32))
    assert out.tolist() == [1, 2, 3]
    f.auto_schedule()
    f(3, out, out.copy())
    assert out.tolist() == [2, 3, 4]


def test_pointers_whose_accesses_data_guard() -> None:
    """The length of the caller's array covers what may be accessed."""
    f = tw.c.load(
        "void f(int n, const int c[n], int *y) {"
        " for (int i = 0; i < n; i++) { if (c[i] < 0) break; y[2 * i] += c[i]; } }",
        scop="function",
    ).f
    c, y = np.array([1, 2, -1, 4], np.int32), np.zeros(7, np.int32)
    f(4, c, y)
    assert y.tolist() == [1, 0, 2, 0, 0, 0, 0]
    with pytest.raises(tw.ArgumentError, match="leaves an array"):
        f(4, c, np.zeros(6, np.int32))


def test_orders_that_are_kept() -> None:
    """If data decide about everything, the program's order stays, and a warning says so."""
    text = (
        "void f(int n, int m[8][8], const int c[8]) { for (int i = 1; i < n; i++) for (int j = 0; j < n; j++)"
        " m[c[j] & 7][c[i] & 7] += m[c[i] & 7][j & 7] + i; }\n"
    )
    f = tw.c.load("".join(text), scop="function").f
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.TilewrightWarning)
        f.auto_schedule()
    draw = np.random.default_rng(1)
    given = [
        7,
        draw.integers(0, 9, (8, 8)).astype(np.int32),
        draw.integers(0, 9, 8).astype(np.int32),
    ]
    ours, theirs = copies(given), copies(given)
    run_c(compiled(text), f, theirs)
    f(*ours)
    assert_same_bits(ours[1], theirs[1], "m")


def test_a_later_call_is_checked_like_the_first() -> None:
    """What is remembered of sizes that were right is no leave for other arguments."""
    scale = tw.c.load(
        "void scale(int n, double s, double A[n][n], const double B[n][n]) {\n"
        "#pragma scop\nfor (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] += s * B[i][j];\n"
        "#pragma endscop\n}"
    ).scale
    a, b = np.ones((4, 4)), np.full((4, 4), 2.0)
    for _ in range(2):
        scale(4, 0.5, a, b)
    scale(A=a, B=b, n=4, s=np.float64(0.5))
    scale(4, 1, a, b)  # an integer as the number
    np.testing.assert_array_equal(a, np.full((4, 4), 6.0))
    frozen = a.copy()
    frozen.flags.writeable = False
    for given, error in [
        ((4, 0.5, a, a), ValueError),
        ((4, 0.5, a, a[::-1]), ValueError),
        ((4, 0.5, np.asfortranarray(b + 1), b), ValueError),
        ((4, 0.5, frozen, b), ValueError),
        ((4, 0.5, np.ones((4, 5)), b), ValueError),
        ((3, 0.5, a, b), ValueError),
        ((4, 0.5, a.astype(np.float32), b), TypeError),
        ((4.0, 0.5, a, b), TypeError),
        ((True, 0.5, a, b), TypeError),
        ((4, 0.5j, a, b), TypeError),
        ((4, 0.5, a), TypeError),
    ]:
        before = a.copy()
        with pytest.raises(error):
            scale(*given)
        np.testing.assert_array_equal(a, before)
    with pytest.raises(TypeError):
        scale(4, 0.5, a, C=b)
