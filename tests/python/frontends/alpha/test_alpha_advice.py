"""What people write who come from C, Python or mathematics: syntax errors say what Alpha has instead."""

from __future__ import annotations

import re

import pytest

import tilewright as tw

HEAD = """affine f {N | N > 0}
  input  double A {i | 0 <= i < N};
  output double X {i | 0 <= i < N};
  let
    """

#: (what stands behind HEAD, line, column, advice)
EQUATIONS = {
    "no semicolon": ("X[i] = A[i]\n.", 6, 1, "an equation ends with ;"),
    "else in a case": (
        "X[i] = case {| i == 0} : A[i]; else X[i-1]; esac;", 5, 41,
        "a case has no else: each branch has its domain, as in {| i > 0} : E;"),
    "no esac": ("X[i] = case {i == 0} : A[i]; {i > 0} : X[i-1];\n.", 6, 1, "a case ends with esac;"),
    "no projection": (
        "X[i] = reduce(+, A[j]);", 5, 22,
        "a reduction is reduce(+, [j], {| 0 <= j < N} : E): operator, reduced indices, body"),
    "operator in words": (
        "X[i] = reduce(sum, [j], {|0<=j<N} : A[j]);", 5, 19, "sum is no operator of a reduction; these are"),
    "loop": ("for i in range(N): X[i] = A[i];", 5, 9, "there are no loops"),
    "conditional of C": ("X[i] = i == 0 ? A[i] : X[i-1];", 5, 19, "choose by if CONDITION then E1 else E2"),
    "subscripts in parentheses": ("X(i) = A(i);", 5, 6, "subscripts stand in brackets, as in X[i] = A[i];"),
    "subscripts one by one": (
        "X[i] = A[i][0];", 5, 16, "several subscripts stand in one pair of brackets, as in A[i,j]"),
    "subscript of data": ("X[i] = A[A[i]];", 5, 15, "a subscript reads no variable"),
    "half a subscript": ("X[i] = A[i/2];", 5, 15, "a subscript is affine: floor(i/2) rounds down"),
    "one point left out": (
        "X[i] = case {| i != 1} : A[i]; {| i == 1} : 0; esac;", 5, 22, "of a domain, i != 1 is a union"),
    "multiple of a parameter": ("X[i] = case {| i % N == 0} : A[i]; esac;", 5, 24, "a domain is affine"),
    "slice": ("X[i] = A[0:i];", 5, 15, "there are no slices"),
    "power": ("X[i] = A[i]**2;", 5, 18, "there is no power; multiply, or declare double pow(double, double)"),
    "if without then": ("X[i] = if (A[i] > 0) A[i] else 0;", 5, 26, "a choice is if CONDITION then E1 else E2"),
    "otherwise in a case": (
        "X[i] = case {| i == 0} : A[i]; otherwise : X[i-1]; esac;", 5, 46,
        "a case has no such branch: each has its domain, as in {| i > 0} : E;"),
    "choice within an expression": (
        "X[i] = A[i] + if A[i] > 0 then 1 else 2;", 5, 22,
        "a choice within an expression stands in parentheses: A[i] + (if C then E1 else E2)"),
    "parameter as a value": ("X[i] = A[i] + N;", 5, 19, "N is a parameter, whose value is [N]"),
    "index as a value": ("X[i] = A[i] + i;", 5, 19, "i is an index, whose value is [i]"),
    "element in parentheses": ("X[i] = A(i);", 5, 14, "an element of A is A[i]"),
    "comment of Python": ("X[i] = A[i]; # copy", 5, 18, "a comment begins with // or stands in /* */"),
}  # fmt: skip

REST = "output double X {i | 0 <= i < N};\nlet X[i] = A[i];\n."
#: (program, line, column, advice)
DECLARATIONS = {
    "another language": ("system f {N | N > 0}\n" + REST, 1, 1, "a system begins with affine NAME"),
    "arguments": (
        "affine f (N) {N > 0}\n" + REST, 1, 10, "parameters stand in a domain: {N, M | N > 0 && M > 0}"),
    "type of NumPy": (
        "affine f {N | N > 0}\ninput float32 A {i | 0 <= i < N};\n" + REST, 2, 7,
        "float32 is no type; types are int, long, float, double, char and bool"),
    "no type": (
        "affine f {N | N > 0}\ninput A {i | 0 <= i < N};\n" + REST, 2, 7,
        "a declaration begins with a type: int, long, float, double, char and bool"),
    "size in brackets": (
        "affine f {N | N > 0}\ninput double A[N];\n" + REST, 2, 15,
        "A is declared with a domain, as in A {i | 0 <= i < N}"),
    "and in a domain": (
        "affine f {N | N > 0}\ninput double A {i | 0 <= i and i < N};\n" + REST, 2, 28,
        "conditions of a domain are joined by &&"),
    "no let": (
        "affine f {N | N > 0}\ninput double A {i | 0 <= i < N};\noutput double X {i | 0 <= i < N};\n"
        "X[i] = A[i];\n.", 4, 1, "equations stand behind the word let"),
    "word of the language": (
        "affine f {N | N > 0}\ninput double val {i | 0 <= i < N};\noutput double X {i | 0 <= i < N};\n"
        "let X[i] = val[i];\n.", 4, 15, "val is a word of the language and no name of a variable"),
}  # fmt: skip


@pytest.mark.parametrize("name", [*EQUATIONS, *DECLARATIONS])
def test_syntax_errors_say_what_to_write(name: str) -> None:
    if name in EQUATIONS:
        text, line, column, advice = EQUATIONS[name]
        text = HEAD + text
    else:
        text, line, column, advice = DECLARATIONS[name]
    with pytest.raises(tw.DeclarationError, match=re.escape(advice)) as caught:
        tw.alpha.load(text)
    assert (caught.value.details["line"], caught.value.details["column"]) == (
        str(line),
        str(column),
    )


def test_what_is_written_so_is_read() -> None:
    program = tw.alpha.load(
        HEAD
        + "X[i] = case {| i == 0} : A[i]; {| i > 0} : reduce(+, [j], {| 0 <= j < i} : A[j]); esac;\n."
    )
    assert tw.alpha.load(str(program)) == program


@pytest.mark.parametrize(
    ("text", "advice"),
    [("i -> i", "a function stands in parentheses, as in (i,j -> i+j)")],
)
def test_functions_of_commands(text: str, advice: str) -> None:
    program = tw.alpha.load(HEAD + "X[i] = A[i];\n.")
    with pytest.raises(tw.DeclarationError, match=re.escape(advice)):
        tw.alpha.CoB(program, "f", "X", text)


def test_domains_of_commands() -> None:
    program = tw.alpha.load(HEAD + "X[i] = A[i];\n.")
    with pytest.raises(tw.DeclarationError, match="a domain stands in braces"):
        tw.alpha.Split(program, "f", "X", "i == 0")


def test_a_mistake_without_advice_is_named_all_the_same() -> None:
    with pytest.raises(
        tw.DeclarationError, match=r"syntax error at ';'; expected '\)'\n"
    ) as caught:
        tw.alpha.load(HEAD + "X[i] = (A[i] + 1;\n.")
    assert caught.value.details["column"] == "21"


def test_long_text_is_searched_only_near_the_mistake() -> None:
    equations = "".join(f"    X{n}[i] = A[i];\n" for n in range(3000))
    with pytest.raises(tw.DeclarationError, match="there is no power"):
        tw.alpha.load(HEAD + equations + "    X[i] = A[i]**2;\n.")
