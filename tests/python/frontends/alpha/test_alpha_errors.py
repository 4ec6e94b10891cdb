"""Programs that make no sense: errors with line, column, and a point where it goes wrong."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from alpha_programs import RandomProgram

import tilewright as tw

alpha = tw.alpha

HEAD = """affine t {N | N>3}
  input double A {i | 0<=i<N}; double M {i,j | 0<=(i,j)<N};
  output double X {i | 0<=i<N};
  let
"""
EQUATION = "    X[i] = A[i];\n"

#: name: (program, class, line, column, part of the message)
MISTAKES = {
    "overlapping branches": (
        HEAD + "    X[i] = case {i<3} : A[i]; {i>=2} : A[i]; esac;",
        tw.DeclarationError, 5, 31, r"branches 1 and 2 of this case overlap, for example at \[i = 2\] with N = 4"),
    "a word of isl as a parameter": (
        HEAD.replace("N | N>3", "N, exists | N>3") + EQUATION,
        tw.DeclarationError, 1, 10, "exists is a word of isl's notation, so no parameter can have this name"),
    "no branch": (
        HEAD + "    X[i] = case {i<3} : A[i]; {i>3} : A[i]; esac;",
        tw.DomainError, 5, 12, r"no branch of this case has a value, for example at \[i = 3\]"),
    "outside of a domain": (
        HEAD + "    X[i] = A[i] * 2 + A[i-1];",
        tw.DomainError, 5, 23, r"A is read outside of its domain, for example at \[i = -1\]"),
    "outside of a restriction": (
        HEAD + "    X[i] = {i>0} : A[i];",
        tw.DomainError, 5, 12, r"outside of the domain of this restriction, for example at \[i = 0\]"),
    "nothing to reduce": (
        HEAD + "    X[i] = reduce(+, [j], {| 0<=j<i} : A[j]);",
        tw.DomainError, 5, 12, r"there is nothing to reduce, for example at \[i = 0\]"),
    "nothing to reduce in a branch": (
        HEAD + "    X[i] = case {i<0} : A[i]; {i>=0} : reduce(+, [j], {| 0<=j<i} : A[j]); esac;",
        tw.DomainError, 5, 40, r"there is nothing to reduce, for example at \[i = 0\]"),
    "unbounded body": (
        HEAD + "    X[i] = reduce(+, [j], {| j<=i} : 1.0);",
        tw.DeclarationError, 5, 12, "the body of this reduction is unbounded: it goes on in the direction j -1"),
    "unbounded with a stride": (
        HEAD + "    X[i] = reduce(+, [j], {| j % 2 == 0 && j>=i} : 1.0);",
        tw.DeclarationError, 5, 12, "unbounded"),
    "input defined": (
        HEAD + EQUATION + "    A[i] = X[i];",
        tw.DeclarationError, 6, 5, "A is an input, which no equation defines"),
    "defined twice": (
        HEAD + EQUATION + EQUATION, tw.DeclarationError, 6, 5, "X is defined twice"),
    "not defined": (
        HEAD.replace("let", "local double L; let") + EQUATION,
        tw.DeclarationError, 4, 16, "the local L has no equation"),
    "declared twice": (
        HEAD.replace("double X", "double A, X") + EQUATION,
        tw.DeclarationError, 3, 17, "A is declared twice"),
    "unknown variable": (
        HEAD + "    X[i] = B[i];", tw.DeclarationError, 5, 12, "there is no variable B; declared are A, M, X"),
    "unknown index": (
        HEAD + "    X[i] = A[k];", tw.DeclarationError, 5, 14, "k is neither an index nor a parameter here"),
    "wrong number of subscripts": (
        HEAD + "    X[i] = M[i];", tw.DeclarationError, 5, 12, "M has 2 dimensions, but 1 subscript"),
    "wrong number of dimensions": (
        HEAD + "    X[i] = M;", tw.DeclarationError, 5, 12, "M has 2 dimensions, but expressions here have 1"),
    "wrong function": (
        HEAD + "    X[i] = (i,j->i)@A;", tw.DeclarationError, 5, 12, "takes 2 indices, but expressions here have 1"),
    "wrong projection": (
        HEAD + "    X[i] = reduce(+, (i,j->i,j), M);", tw.DeclarationError, 5, 22, "gives 2 indices"),
    "wrong restriction": (
        HEAD + "    X[i] = {i,j | i>0} : A[i];", tw.DeclarationError, 5, 12, "has 2 dimensions, but expressions"),
    "wrong left-hand side": (
        HEAD + "    X[i,j] = A[i];", tw.DeclarationError, 5, 5, "X has 1 dimension, not 2"),
    "self-dependence": (
        HEAD + "    X[i] = case {i<2} : A[i]; {i>=2} : X[N+1-i]; esac;",
        tw.SelfDependenceError, 5, 5, "X needs its own value, for example at"),
    "two values of val": (
        HEAD + "    X[i] = val(i->i,i);", tw.DeclarationError, 5, 12, "val takes one value, not 2"),
    "not affine": (
        HEAD + "    X[i] = A[i*i];", tw.DeclarationError, 5, 14, "i times i is not affine"),
    "syntax": (
        HEAD + "    X[i] = A[i] B;", tw.DeclarationError, 5, 17, "syntax error at 'B'; expected"),
    "end of the text": (
        HEAD + "    X[i] = A[i]", tw.DeclarationError, 5, 15, "syntax error at the end of the text"),
    "character": (
        HEAD + "    X[i] = A[i] # 2;", tw.DeclarationError, 5, 17, "'#' is no character of Alpha"),
    "unknown function": (
        HEAD + "    X[i] = sin(A[i]);", tw.DeclarationError, 5, 12, "there is no external function sin"),
    "wrong number of arguments": (
        "double sin(double);\n" + HEAD + "    X[i] = sin(A[i], 1.0);",
        tw.DeclarationError, 6, 12, "sin takes 1 argument, got 2"),
    "remainder of fractions": (
        HEAD + "    X[i] = A[i] % 2;", tw.DeclarationError, 5, 12, "% is for integers, not for a double"),
    "while": (
        HEAD.replace("let", "over {t | } while 1 > 0 let") + EQUATION,
        tw.DeclarationError, 4, 3, "while loops"),
    "unsigned double": (
        HEAD.replace("double X", "unsigned double X") + EQUATION,
        tw.DeclarationError, 3, 10, "there is no unsigned double"),
}  # fmt: skip


def refusal(text: str) -> tw.DeclarationError:
    with pytest.raises(tw.DeclarationError) as caught:
        alpha.load(text)
    return caught.value


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name: str) -> None:
    text, kind, line, column, message = MISTAKES[name]
    error = refusal(text)
    assert type(error) is kind
    assert re.search(message, str(error)), error
    assert error.message.startswith(f"line {line}, column {column}: ")
    assert (error.details["line"], error.details["column"]) == (str(line), str(column))
    assert error.location is not None and error.location.line == line
    assert error.location.text == text.splitlines()[line - 1].strip()
    if "for example" in message:
        assert error.details["witness"] in error.message


USE = """affine main {N | N>1}
  input double A {i,j | 0<=(i,j)<N};
  output double X {i | 0<=i<N};
  let use {e | 0<=e<N} sub[N] (A) returns (X);
.
affine sub {M | M>0}
  input double a {k | 0<=k<M};
  output double r;
  let r = reduce(+, (k->), a[k]);
.
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[N] (A)", "[N,N] (A)", "sub has 1 parameter, got 2"),
        ("(A) returns", "(A, A) returns", "sub has 1 input, got 2"),
        ("returns (X)", "returns (X, X)", "sub has 1 output, got 2"),
        ("sub[N]", "sab[N]", "there is no system sab; there are main, sub"),
        ("sub[N]", "sub[e]", r"outside of the parameter domain of sub, for example at \[e = 0\]"),
        ("sub[N]", "sub[N+1]", "the input a of sub is not given everywhere, for example at"),
        ("{e | 0<=e<N} sub", "{e | 1<=e<N} sub", "the instances of sub do not cover X, for example"),
        ("X {i | 0<=i<N}", "X {i | 0<=i<N-1}", "X does not have all that the instances of sub give"),
        ("X {i | 0<=i<N}", "X {i,j | 0<=(i,j)<N}", "X has 2 dimensions, but the instances of sub give r 1"),
        ("let r = reduce(+, (k->), a[k])", "let use main[M+1] (val(i,j->i)) returns (r)",
         "systems call each other in a circle: main -> sub -> main"),
    ],
)  # fmt: skip
def test_use_equations(old: str, new: str, message: str) -> None:
    alpha.load(USE)
    assert USE.count(old) == 1
    error = refusal(USE.replace(old, new))
    assert re.search(message, str(error)), error
    assert error.details["line"]


def test_files_are_named(tmp_path: object) -> None:
    file = tmp_path / "wrong.ab"  # type: ignore[operator]
    file.write_text(HEAD + "    X[i] = B[i];", encoding="utf-8")
    with pytest.raises(tw.DeclarationError, match=r"wrong\.ab:5: X") as caught:
        alpha.load(file)
    assert caught.value.location is not None and caught.value.location.file == str(file)
    with pytest.raises(OSError):
        alpha.load(tmp_path / "missing.ab")  # type: ignore[operator]
    with pytest.raises(tw.DeclarationTypeError, match="takes the text of a program or a path"):
        alpha.load(5)  # type: ignore[arg-type]


def test_arguments_of_commands() -> None:
    p = alpha.load(HEAD + EQUATION)
    with pytest.raises(tw.DeclarationError, match="no expression of t is at"):
        alpha.SplitUnion(p, "[0, 0, 0, 3]")
    with pytest.raises(tw.DeclarationError, match="begins with the number of the system"):
        alpha.SplitUnion(p, "[1, 0, 0]")
    with pytest.raises(tw.DeclarationError, match="must be integers such as"):
        alpha.SplitUnion(p, "first")
    with pytest.raises(tw.DeclarationError, match="is no reduction"):
        alpha.SerializeReduction(p, "[0, 0, 0]", "(i->i)")
    with pytest.raises(KeyError, match="there is no system"):
        alpha.CoB(p, "s", "X", "(i->i)")
    with pytest.raises(KeyError, match="has no variable"):
        alpha.CoB(p, "t", "Q", "(i->i)")
    with pytest.raises(tw.DeclarationError, match="line 1, column"):
        alpha.CoB(p, "t", "X", "(i->i")


def test_inputs_and_outputs_begin_at_0() -> None:
    p = alpha.load("affine t {N|N>0} output int X {i | -1<=i<N}; let X[i] = 1;")
    with pytest.raises(tw.DeclarationError, match=r"index i may be negative.*at \[i = -1\]"):
        p["t"]
    moved = alpha.CoB(p, "t", "X", "(i->i+1)")
    assert moved["t"](N=3).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("seed", range(60))
def test_malformed_programs_give_located_errors(seed: int) -> None:
    """A random program with a piece of text left out, doubled or exchanged is read, or refused with a
    place; nothing else."""
    choice = random.Random(seed)
    text = RandomProgram(seed % 25).text()
    for _ in range(choice.randint(1, 2)):
        start = choice.randrange(len(text))
        end = min(len(text), start + choice.randint(1, 12))
        other = choice.choice(["", text[start:end] * 2, choice.choice("{}[]();|&=<>+-*@,.0Nijx")])
        text = text[:start] + other + text[end:]
    try:
        alpha.load(text)
    except tw.DeclarationError as error:
        assert error.details["line"].isdigit() and error.details["column"].isdigit()


@pytest.mark.parametrize(
    "command, arguments, message",
    [
        ("Show", (3,), "Show takes an Alpha program, got 3"),
        ("BuildPRDG", (None, "one"), "BuildPRDG takes an Alpha program, got None"),
        ("generateWriteC", ("one", "one", "out"), "generateWriteC takes an Alpha program"),
        ("ASave", ("program", None), "outDir must be a path"),
        ("ReadAlphabets", (None,), "filePath must be a path"),
        ("ExportPRDG", (3, "x"), "takes what BuildPRDG answers, got 3"),
        ("CoB", ("program", "one", "Y", 3), 'a function is given as text, such as "'),
        ("Split", ("program", "one", "Y", None), 'a domain is given as text, such as "'),
        ("SplitUnion", ("program", []), "the identifier of an expression must be integers"),
        ("RenameSystem", ("program", "one", ["x"]), "a name is text"),
        ("RenameSystem", ("program", "one", "a b"), "'a b' is no name that Alpha can read"),
        (
            "RenameVariable",
            ("program", "one", "Y", "case"),
            "'case' is no name that Alpha can read",
        ),
    ],
)
def test_commands_given_something_else(
    command: str, arguments: tuple[object, ...], message: str
) -> None:
    program = tw.alpha.load("""affine one {N|N>0} input int A {i|0<=i<N}; output int Y {i|0<=i<N};
      let Y[i] = A[i]; .""")
    given = [program if each == "program" else each for each in arguments]
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        getattr(tw.alpha, command)(*given)


@pytest.mark.parametrize("name", ["N_", "Y_", "A2", "s"])
def test_names_that_alpha_reads(name: str) -> None:
    program = tw.alpha.load("""affine one {N|N>0} input int A {i|0<=i<N}; output int Y {i|0<=i<N};
      let Y[i] = A[i]; .""")
    renamed = tw.alpha.RenameVariable(program, "one", "Y", name)
    assert tw.alpha.load(str(renamed)) == renamed


@pytest.mark.parametrize("text", ["// nothing", "/* x */", "// one\n/* two\n three */\n"])
def test_texts_without_a_system(text: str) -> None:
    with pytest.raises(tw.DeclarationError, match=r"line 1, column 1: .*no system; one begins"):
        tw.alpha.load(text)


def test_one_line_is_a_path_unless_it_is_alpha() -> None:
    with pytest.raises(FileNotFoundError):
        tw.alpha.load("affinity.ab")
    with pytest.raises(tw.DeclarationError, match="column 8: syntax error at the end"):
        tw.alpha.load("affine x")


@pytest.mark.parametrize("name", ["true", "false", "if", "case", "reduce"])
def test_words_are_no_names(name: str) -> None:
    program = tw.alpha.load(
        "affine one {N|N>0} input bool A {i|0<=i<N}; output bool Y {i|0<=i<N}; let Y[i] = A[i]; ."
    )
    with pytest.raises(tw.DeclarationError, match="is no name that Alpha can read"):
        tw.alpha.RenameVariable(program, "one", "A", name)


@pytest.mark.parametrize(
    "value",
    [
        "+".join(["A[i]"] * 700),
        "(" * 5000 + "A[i]" + ")" * 5000,
        "case {| i >= 0} : " * 400 + "A[i]" + "; esac" * 400,
    ],
)
def test_what_is_nested_too_deeply(value: str) -> None:
    text = f"""affine one {{N|N>0}} input int A {{i|0<=i<N}}; output int Y {{i|0<=i<N}};
      let Y[i] = {value}; ."""
    with pytest.raises(
        tw.DeclarationError, match=r"line 2, column \d+: .*nested .*give parts of it names"
    ):
        tw.alpha.load(text)


def test_a_reduction_that_nothing_needs() -> None:
    program = tw.alpha.load("""affine one {N|N>1} input int A {i|0<=i<N}; output int Y {i|0<=i<N};
      let Y[i] = case {| i >= 0} : case {| i < 0} : reduce(+, [j], {| 0 <= j <= i} : A[j]);
                                        {| i >= 0} : A[i]; esac; esac; .""")
    place = (
        next(line for line in program.print_ast().splitlines() if "] reduce" in line)
        .split("]")[0]
        .strip()
        + "]"
    )
    with pytest.raises(tw.DeclarationError, match=r"line 2, column .*nothing needs this reduction"):
        tw.alpha.SplitReductionBody(program, place, "{i,j | j == 1}")


@pytest.mark.parametrize("names", [("begin", "A"), ("N", "at"), ("A_count", "A"), ("N", "printf")])
def test_names_of_the_wrapper(names: tuple[str, str], tmp_path: Path) -> None:
    size, array = names
    program = tw.alpha.load(f"""affine one {{{size}|{size}>0}} input int {array} {{i|0<=i<{size}}};
      output int Y {{i|0<=i<{size}}}; let Y[i] = {array}[i]; .""")
    with pytest.raises(tw.DeclarationError, match="means something else in the wrapper's C"):
        tw.alpha.generateWrapperC(program, "one", tmp_path)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ("x[t] = case {| t == 0} : 0; {| t > 0} : y[t-1]; esac; y[t] = x[t] + A[t];", "no branch for the first"),
        ("x[t] = 0; y[t] = case {| t == 0} : A[t]; {| t > 0 && t%2 == 0} : y[t-1] + A[t]; "
         "{| t > 0 && t%2 == 1} : y[t-1] - A[t]; esac;", "no affine place"),
    ],
)  # fmt: skip
def test_scans_that_are_not_cut(steps: str, reason: str, tmp_path: Path) -> None:
    program = tw.alpha.load(f"""affine one {{N|N>3}} input long A {{t|0<=t<N}}; output long y {{t|0<=t<N}};
      local long x {{t|0<=t<N}}; let {steps} .""")
    with pytest.raises(tw.DeclarationError, match=reason):
        tw.alpha.generateScanC(program, "one", tmp_path, reassociate=True)


def test_the_mark_that_some_editors_begin_files_with(tmp_path: Path) -> None:
    text = HEAD + EQUATION + "."
    path = tmp_path / "marked.ab"
    path.write_text(text, encoding="utf-8-sig")
    assert alpha.load(path) == alpha.load("\ufeff" + text) == alpha.load(text)


def test_the_size_of_scan_blocks_is_checked_once(tmp_path: Path) -> None:
    program = alpha.load(HEAD + "    X[i] = case {i==0} : A[i]; {i>0} : X[i-1]; esac; .")
    with pytest.raises(
        tw.DeclarationError, match=r"\] the size of generateScanC must be at least 2, got 1"
    ):
        alpha.generateScanC(program, "t", tmp_path, 1)


@pytest.mark.parametrize(
    ("body", "shown"),
    [("A[j]", "it is a dependence"), ("A[j] - A[i]", "it is one of -"), ("[i]", "it is an index")],
)
def test_what_cannot_be_taken_out_of_a_sum(body: str, shown: str) -> None:
    program = alpha.load(HEAD + f"    X[i] = reduce(+, [j], {{| 0<=j<N}} : {body}); .")
    with pytest.raises(tw.DeclarationError, match=rf"distributes over \+; {shown}"):
        alpha.FactorOutFromReduction(program, "[0, 0, 0]")
