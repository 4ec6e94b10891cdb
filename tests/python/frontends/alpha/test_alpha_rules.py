"""The 22 rules of Normalize, by their numbers (CSU TR CS12-101, section 4.4.1), and its properties."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.frontends.alpha.conversions import type_of
from tilewright.frontends.alpha.rewrites.normalizing import RULES, normalized
from tilewright.frontends.alpha.tree import (
    Case,
    Dependence,
    Expression,
    Reduce,
    Restrict,
    find,
    walk,
)

alpha = tw.alpha

HEAD = """
double f(double, double);
affine s {N | N>4}
  input double A, B, C {i | -9N<=i<=9N}; bool P, Q {i | -9N<=i<=9N};
  local double X {i | 0<=i<N};
  output double Y;
  let Y = 0.0; X[i] = """


def expression(text: str) -> Expression:
    """An expression over i."""
    return alpha.load(f"{HEAD}{text};").system("s").equation("X").expression


F, G = "(i->i+1)", "(i->2i)"
LOW, HIGH = "{i | i<3}", "{i | i>=3}"
BRANCHES = f"(case {LOW} : A; {HIGH} : B; esac)"

#: rule: (left-hand side, right-hand side), as the rule alone makes it.
CASES = {
    1: ("(i->i)@(A + B)", "A + B"),
    2: (f"{F}@(A + B)", f"{F}@A + {F}@B"),
    3: ("({i | i<N} : A) + B", "{i | i<N} : A + B"),
    4: ("A + ({i | i<N} : B)", "{i | i<N} : A + B"),
    5: (f"{G}@({F}@A)", "(i->2i+1)@A"),
    6: ("{i | i<N} : ({i | i>=0} : A)", "{i | 0<=i<N} : A"),
    7: (f"{F}@({{i | i<=N}} : A)", f"{{i | i<N}} : {F}@A"),
    8: (f"{F}@(-A)", f"-({F}@A)"),
    9: ("-({i | i<N} : A)", "{i | i<N} : -A"),
    10: ("case {i | i<0} : C; case {i | 0<=i<3} : A; {i | i>=3} : B; esac; esac",
         "case {i | i<0} : C; {i | 0<=i<3} : A; {i | i>=3} : B; esac"),
    11: (f"C + {BRANCHES}", f"case C + ({LOW} : A); C + ({HIGH} : B); esac"),
    12: (f"{BRANCHES} + C", f"case ({LOW} : A) + C; ({HIGH} : B) + C; esac"),
    13: (f"-{BRANCHES}", f"case -({LOW} : A); -({HIGH} : B); esac"),
    14: (f"{F}@{BRANCHES}", f"case {F}@({LOW} : A); {F}@({HIGH} : B); esac"),
    15: (f"{{i | i<N}} : {BRANCHES}", f"case {{i | i<N}} : ({LOW} : A); {{i | i<N}} : ({HIGH} : B); esac"),
    16: (f"{F}@(if P then A else B)", f"if {F}@P then {F}@A else {F}@B"),
    17: ("if ({i | i<N} : P) then A else B", "{i | i<N} : if P then A else B"),
    18: ("if P then ({i | i<N} : A) else B", "{i | i<N} : if P then A else B"),
    19: ("if P then A else ({i | i<N} : B)", "{i | i<N} : if P then A else B"),
    20: (f"if (case {LOW} : P; {HIGH} : Q; esac) then A else B",
         f"case if ({LOW} : P) then A else B; if ({HIGH} : Q) then A else B; esac"),
    21: (f"if P then {BRANCHES} else C",
         f"case if P then ({LOW} : A) else C; if P then ({HIGH} : B) else C; esac"),
    22: (f"if P then C else {BRANCHES}",
         f"case if P then C else ({LOW} : A); if P then C else ({HIGH} : B); esac"),
}  # fmt: skip


@pytest.mark.parametrize("number", sorted(CASES))
def test_rule(number: int) -> None:
    left, right = (expression(text) for text in CASES[number])
    assert RULES[number](left) == right
    assert RULES[number](right) != right  # it is done, or goes on with what is below


@pytest.mark.parametrize("number", sorted(CASES))
def test_both_sides_have_one_normal_form(number: int) -> None:
    context = tw.Set("[N] -> { : N > 4 }")
    left, right = (normalized(expression(text), context) for text in CASES[number])
    assert left == right
    assert normalized(left, context) == left


def test_rules_are_all_there() -> None:
    assert sorted(RULES) == sorted(CASES) == list(range(1, 23))


def test_external_functions_are_operators() -> None:
    context = tw.Set("[N] -> { : N > 4 }")
    found = normalized(expression(f"f({BRANCHES}, {F}@(A * B))"), context)
    assert found == expression(
        f"case {LOW} : f(A, {F}@A * {F}@B); {HIGH} : f(B, {F}@A * {F}@B); esac"
    )


# Section 4.4: the example of the report.
U = """
affine u {N | N > 2}
  input double X, W1, W2 {i,j | 0<=(i,j)<N}; double Y, Z {i | 0<=i<2N};
  output double U {i,j | 0<=(i,j)<N};
  let U = case
    {i, j | j == 0} : X;
    {i, j | j >= 1} : (i, j -> i + j) @ (Y + Z)
        * case
            {i, j | i == 0 && j > 0} : W1;
            {i, j | i >= 1 && j > 0} : W2;
        esac;
    esac;
"""


def test_example_of_section_4_4() -> None:
    program = alpha.load(U)
    normal = alpha.Normalize(program)
    assert normal == alpha.load(
        U[: U.index("let")]
        + """let U = case
    {i, j | j == 0} : X;
    {i, j | i == 0 && j >= 1} : ((i, j -> i + j) @ Y + (i, j -> i + j) @ Z) * W1;
    {i, j | i >= 1 && j >= 1} : ((i, j -> i + j) @ Y + (i, j -> i + j) @ Z) * W2;
    esac;"""
    )
    assert alpha.Normalize(normal) == normal
    generator = np.random.default_rng(4)
    squares = [generator.random((5, 5)) for _ in range(3)]
    lines = [generator.random(10) for _ in range(2)]
    x, w1, w2 = squares
    i, j = np.indices((5, 5))
    both = (lines[0] + lines[1])[i + j]
    expected = np.where(j == 0, x, np.where(i == 0, both * w1, both * w2))
    for each in (program, normal):
        np.testing.assert_array_equal(each["u"](*squares, *lines), expected)


def test_normal_form_has_the_three_properties_of_section_4_4() -> None:
    """Cases at the top of equations and bodies, restrictions just inside, dependences at the leaves."""
    text = f"""reduce(+, (i,j->i), {{i,j | 0<=j<=3}} : (i,j->j)@{BRANCHES} * (i,j->i)@(if P then
        {BRANCHES} else (-{BRANCHES}))) + {F}@(({{i | i<=N}} : A) * reduce(+, (i,k->i), {{i,k | k==i}} :
        (i,k->k)@(B - C)))"""
    node = alpha.Normalize(alpha.load(f"{HEAD}{text};")).system("s").equation("X").expression
    for path, each in walk(node):
        above = find(node, path[:-1]) if path else None
        if isinstance(each, Case):
            assert above is None or isinstance(above, Reduce)
        if isinstance(each, Restrict):
            assert above is None or isinstance(above, Reduce | Case)
        if isinstance(each, Dependence):
            assert type(each.body).__name__ in ("Variable", "Constant", "Reduce")


def test_branches_keep_the_type_of_their_case() -> None:
    """An operator that moves into a case meets branches of other types."""
    program = alpha.load("""
affine types {N | N>2}
  input double D {i | 0<=i<N}; int A {i | 0<=i<N}; char C {i | 0<=i<N};
  output double X {i | 0<=i<N}; long Y, Z {i | 0<=i<N}; double V, W {i | 0<=i<N};
  let
    X[i] = case {|i==0} : 1; {|i==1} : A[i]; {|i>1} : D[i]; esac / 2;
    Y[i] = case {|i==0} : A[i]; {|i>0} : [i]; esac * 2000000000;
    Z[i] = case {|i==0} : C[i]; {|i>0} : 7U; esac * 5 + 0L;
    V[i] = case {|i<-5} : 0.5; {|i>=0} : A[i]; esac / 2;
    W[i] = if A[i] < 6 then case {|i==0} : A[i]; {|i>0} : D[i]; esac else 0.5f;
.""")
    normal = alpha.Normalize(program)
    assert alpha.Normalize(normal) == normal
    assert alpha.load(str(normal)) == normal == alpha.load(normal.show())
    assert "A[i] * 1.0 / 2" in str(normal)
    arrays = np.arange(4) + 0.5, np.array([5, 3, 7, 1], np.int32), np.array([-1, 2, 3, 4], np.int8)
    expected = (
        [0.5, 1.5, 1.25, 1.75],
        [10_000_000_000, 2_000_000_000, 4_000_000_000, 6_000_000_000],
        [2**32 - 5, 35, 35, 35],
        [2.5, 1.5, 3.5, 0.5],
        [5, 1.5, 0.5, 3.5],
    )
    for each in (program, normal):
        for found, wanted in zip(each["types"](*arrays), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("3L", "long"), ("3u", "unsigned int"), ("3ull", "unsigned long"), ("3LU", "unsigned long")],
)
def test_integers_with_types(text: str, kind: str) -> None:
    program = alpha.load(f"affine s {{N | N>0}} output long X; let X = {text}; .")
    assert type_of(program.system("s"), program.system("s").equation("X").expression) == kind
    assert alpha.load(str(program)) == program


def test_integers_with_types_that_do_not_fit() -> None:
    for text, bits in (("4294967296U", 32), ("9223372036854775808L", 64)):
        with pytest.raises(
            tw.DeclarationError, match=f"column 43: {text} does not fit into {bits}"
        ):
            alpha.load(f"affine s {{N | N>0}} output long X; let X = {text}; .")


def test_other_commands_convert_what_they_take_apart() -> None:
    """32-bit terms and operands of what is reduced or kept as a long or a double."""
    program = alpha.load("""
affine wide {N | N>2}
  input int A {i | 0<=i<N}; long B {i | 0<=i<N};
  output long X; long Y; double Z {i | 0<=i<N};
  local double H {i | 0<=i<N};
  let
    X = reduce(+, (i->), case {i | i<=1} : (i->i)@A; {i | i>1} : (i->i)@B; esac);
    Y = reduce(+, (i->), (i->i)@A + (i->i)@B);
    H[i] = A[i];
    Z[i] = H[i] / 2;
.""")
    arrays = np.full(4, 2**31 - 1, np.int32), np.arange(4)
    expected = program["wide"](*arrays)
    assert expected[0] == 2**32 - 2 + 5
    for changed in (
        alpha.PermutationCaseReduce(program, "wide", "X"),
        alpha.DistributeReduction(program, "[0, 1, 0]"),
        alpha.Inline(program, "wide", "Z", "H"),
    ):
        assert alpha.load(str(changed)) == changed
        for found, wanted in zip(changed["wide"](*arrays), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
