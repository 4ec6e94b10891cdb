"""Compiler scripts: those of the report by number, their language, and errors with line and command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_alpha_mapping import MATRIX
from test_alpha_report import FIGURE_1, jacobi

import tilewright as tw
from tilewright.tools import cli

alpha = tw.alpha


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the programs that scripts read."""
    (tmp_path / "jacobi1D.ab").write_text(FIGURE_1, encoding="utf-8")
    (tmp_path / "example.ab").write_text(MATRIX, encoding="utf-8")
    return tmp_path


def script(folder: Path, text: str) -> dict[str, object]:
    path = folder / "script.cs"
    path.write_text(text, encoding="utf-8")
    return alpha.run_script(path)


# ---- the report's scripts ----


def test_2_1_read_and_print(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = script(folder, 'prog = ReadAlphabets("example.ab");\nShow(prog);\n')
    assert found == {"prog": alpha.load(MATRIX)}
    assert alpha.load(capsys.readouterr().out) == found["prog"]


def test_5_first_two_lines(folder: Path) -> None:
    found = script(folder, 'prog = ReadAlphabets("example.ab");\nsystem = "exampleSystem";')
    assert found["system"] == "exampleSystem"


def test_7_1_1_skewing(folder: Path) -> None:
    found = script(
        folder, 'prog = ReadAlphabets("jacobi1D.ab");\nSetSTMap(prog, "A", "(t,i->t,i+t)");'
    )
    prog = found["prog"]
    assert isinstance(prog, alpha.Program)
    x = np.arange(9.0)
    np.testing.assert_allclose(prog["jacobi1D"](x, T=3), jacobi(x, 3))
    assert "range(t + 1, N + t - 1)" in str(prog["jacobi1D"].loops)


def test_7_1_2_as_printed_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """
      prog = ReadAlphabets("jacobi1D.ab");
      SetSTMap(prog, "A", "(t,i->t,i)");
      SetSTMap(prog, "Aout", "(i)->(T-1,i)");
      SetDimensionType(prog, 1, "parallel");
      answer = VerifyTargetMapping(prog, "jacobi1D", 1);
    """
    assert not script(folder, text)["answer"]
    assert "Aout -> A[T,i]: violated by dimension 0" in capsys.readouterr().out
    with pytest.raises(tw.DeclarationError, match=r"line 7, generateScheduledC: .*Aout reads") as e:
        script(folder, text + 'generateScheduledC(prog, "jacobi1D", "out");')
    assert e.value.details["line"] == "7" and e.value.details["command"] == "generateScheduledC"
    assert isinstance(e.value.__cause__, tw.IllegalScheduleError)


def test_7_2_ping_pong(folder: Path) -> None:
    prog = script(
        folder,
        'prog = ReadAlphabets("jacobi1D.ab");\nSetMemoryMapping(prog, "A", "(t,i->t,i)", "2,0");',
    )["prog"]
    assert isinstance(prog, alpha.Program)
    assert "A_memory = empty((2, N), float64)" in str(prog["jacobi1D"].loops)


def test_9_generators(folder: Path) -> None:
    script(
        folder,
        """
        prog = ReadAlphabets("example.ab"); system = "mm"; outDir = "./out/" + system;
        generateWriteC(prog, system, outDir);
        generateWrapperC(prog, system, outDir); generateMakefile(prog, system, outDir);
        SetSTMap(prog, system, "C", "(i,j,k->i,k,j)"); SetDimensionType(prog, system, 0, "parallel");
        SetTiling(prog, system, [1, 2], [8, 8]);
        generateScheduledC(prog, system, outDir + "/scheduled");
        Save(prog, outDir); ASave(prog, outDir + "/a.ab"); graph = BuildPRDG(prog, system);
        ExportPRDG(graph, outDir + "/g.dot");
        """,
    )
    made = {path.name for path in (folder / "out" / "mm").iterdir()}
    assert made == {"mm.c", "mm-wrapper.c", "Makefile", "scheduled", "mm.ab", "a.ab", "g.dot"}
    text = (folder / "out" / "mm" / "scheduled" / "mm.c").read_text(encoding="utf-8")
    assert "#pragma omp parallel for" in text
    assert alpha.load(folder / "out" / "mm" / "a.ab") == alpha.load(MATRIX)


def test_9_5_verification_code_and_arguments_by_name(folder: Path) -> None:
    (folder / "prefix.ab").write_text(
        """affine prefix {N | N>0} input double A {i | 0<=i<N}; output double S {i | 0<=i<N};
        let S[i] = reduce(+, [j], {| 0<=j<=i} : A[j]); ."""
    )
    script(
        folder,
        """
        prog = ReadAlphabets("prefix.ab"); system = "prefix";
        SimplifyingReduction(prog, system, "S", "1,0", reassociate=true);
        generateScheduledC(prog, system, "out"); generateWrapperC(prog, system, "out");
        generateMakefile(prog, system, "out"); generateVerificationCode(prog, system, "out");
        """,
    )
    subprocess.run(
        ["make", "-s", "-C", str(folder / "out"), "verify-rand", "CFLAGS=-O1 -std=gnu11 -fwrapv -fopenmp -Wall"],
        check=True, timeout=120,
    )  # fmt: skip
    done = subprocess.run(
        [folder / "out" / "prefix.verify-rand", "50"], capture_output=True, text=True, timeout=60, check=True
    )  # fmt: skip
    assert done.stdout == "TEST PASSED\n"


def test_spelling_of_public_scripts(folder: Path) -> None:
    """A band of the public repository's commands, with its argument orders."""
    found = script(
        folder,
        """# Parse and check the program
        prog = ReadAlphabets("./jacobi1D.ab");
        system = "jacobi1D";
        CheckProgram(prog); AShow(prog, system); PrintAST(prog, system);
        setSpaceTimeMap(prog, system, "A", "(t,i -> 0, t,i)");
        setSpaceTimeMap(prog, system, "Aout", "(i -> 1, 0,i)");
        setOrderingDimensions(prog, system, "0");
        setParallel(prog, system, "", "2");
        setDimensionType(prog, system, "A", 1, "S");
        setMemoryMap(prog, system, "A", "space", "(t,i -> t,i)", "2,0");
        generateScheduledCode(prog, system, "out"); generateWrapper(prog, system, "out");
        generateMakefile(prog, system, "out");""",
    )
    prog = found["prog"]
    assert isinstance(prog, alpha.Program) and alpha.verify(prog)
    subprocess.run(
        ["make", "-s", "-C", str(folder / "out"), "check-noprompt"], check=True, timeout=120
    )
    x = np.array([1.0, 4.0, 2.0, 8.0])
    done = subprocess.run(
        [folder / "out" / "jacobi1D.check-noprompt", "4", "3"], input="1 4 2 8",
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    np.testing.assert_allclose([float(each) for each in done.stdout.split()], jacobi(x, 3))


# ---- the language ----


def test_values_and_operators() -> None:
    found = alpha.run_script(
        r"""
        a = 3; b = a + 4 - 2; s = "x" + b + "y"; n = -a; l = [a, "b", [1, 2]] + {4};
        t = true; /* over
        lines */ q = "a\"b\n\\"; // the end
        c = (a + (b)); e = ''; empty = [];
        """
    )
    assert found == {
        "a": 3, "b": 5, "s": "x5y", "n": -3, "l": [3, "b", [1, 2], 4], "t": True, "q": 'a"b\n\\',
        "c": 8, "e": "", "empty": []}  # fmt: skip
    assert alpha.run_script("") == {}
    assert alpha.run_script("a = 1; a = 'dynamically typed'") == {"a": "dynamically typed"}


def test_programs_change_where_they_are_named(folder: Path) -> None:
    found = script(
        folder,
        """p = ReadAlphabets("example.ab"); same = p;
        q = RenameVariable(p, "mm", "C", "D");      // p is what it was
        RenameVariable(p, "mm", "A", "Left");       // p, and what it is called otherwise
        RenameVariable(RenameVariable(q, "mm", "A", "X"), "mm", "B", "Y");
        """,
    )
    names = {
        key: [each.name for each in value.system("mm").declarations]
        for key, value in found.items()
        if isinstance(value, alpha.Program)
    }
    assert names == {
        "p": ["Left", "B", "C"], "same": ["Left", "B", "C"], "q": ["A", "B", "D"]}  # fmt: skip


def test_identifiers_as_strings_and_lists(folder: Path) -> None:
    for identifier in ('"[0, 0, 0]"', "[0, 0, 0]", '"(0,0,0)"'):
        prog = script(
            folder,
            f"""p = ReadAlphabets("example.ab");
            SerializeReduction(p, {identifier}, "(i,j,k->i,j,k)");""",
        )["p"]
        assert "_serC[" in str(prog)  # as public scripts go on to call it


def test_external_functions(folder: Path) -> None:
    (folder / "e.ab").write_text(
        "double twice(double); affine t {N|N>0} input double A {i|0<=i<N};"
        " output double B {i|0<=i<N}; let B[i] = twice(A[i]);"
    )
    (folder / "e.cs").write_text('p = ReadAlphabets("e.ab"); SetSTMap(p, "B", "(i->-i)");')
    found = alpha.run_script(folder / "e.cs", externs={})
    assert alpha.verify(found["p"])
    with pytest.raises(tw.DeclarationError, match="was not given"):
        _ = found["p"]["t"]


ERRORS = [
    ("a = ;", "line 1: a value expected, not ;"),
    ("a = 1\nb = 2;", "line 1: ';' expected, not b"),
    ("a = 1;\nb = c;", "line 2: there is no variable c; there are: a"),
    ("a = 1 + [2];", r"an integer \+ a list means nothing"),
    ("a = 'x' - 'y';", "a string - a string means nothing"),
    ("a = -'x';", "-a string means nothing"),
    ("\n\nNormalise(1);", "line 3, Normalise: there is no such command; is Normalize"),
    ("Zzz();", "line 1, Zzz: there is no such command"),
    ("Normalize();", r"line 1, Normalize: it takes \(program, system\), got \(nothing\)"),
    ("Normalize(1);", "line 1, Normalize: "),
    ("Show(3);", "line 1, Show: it takes a program first, not an integer"),
    ('p = ReadAlphabets("none.ab");', "line 1, ReadAlphabets: .*No such file"),
    ("p = ReadAlphabets(3);", "line 1, ReadAlphabets: it takes the path"),
    ("p = ReadAlphabets();", "line 1, ReadAlphabets: it takes the path"),
    ("a = 1.5;", "begins nothing"),
    ('a = "open;', "begins nothing"),
    ("a;", "'=' or '\\(' expected behind a"),
    ("3 = a;", "an assignment or a command expected, not 3"),
    ("a = (1;", r"'\)' expected, not ;"),
    ("a = [1 2];", "',' expected, not 2"),
    ("a = " + "(" * 200 + ";", "more than 100 parentheses"),
    ("SetSTMap(1, 2, 3);", "line 1, SetSTMap: "),
    ("generateWriteC(1, 'a', 'b');", "line 1, generateWriteC: "),
    ("ExportPRDG(1, 'b');", "line 1, ExportPRDG: "),
    ("setParallel(1, 's', 'x', '1');", "line 1, setParallel: "),
    ("Normalize(reassociate=true);", "line 1, Normalize: it has no argument reassociate="),
    ("ReadAlphabets('a', x=1);", "line 1, ReadAlphabets: it has no argument x="),
    ("FactorOutFromReduction(reassociate=true, 1);", "stands behind one with a name"),
    ("a = BuildPRDG('p', 's');", "line 1, BuildPRDG: "),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_errors_name_line_and_command(text: str, message: str, folder: Path) -> None:
    with pytest.raises(tw.DeclarationError, match=message) as error:
        script(folder, text)
    assert "script.cs, line " in error.value.message


def test_errors_of_commands_keep_their_reason(folder: Path) -> None:
    for command, message in (
        ('Inline(p, "no", "A", "B")', "no system 'no'"),
        ('CoB(p, "mm", "C", "(i,j->i+j)")', "two points"),
        ('SetSTMap(p, "A", "(i,j->i,j)")', "A is an input"),
        ('generateWriteC(p, "mm", 3)', "generateWriteC: "),
        ("Show(p, 3)", "Show: "),
    ):
        with pytest.raises(tw.DeclarationError, match=message):
            script(folder, f'p = ReadAlphabets("example.ab");\n{command};')
    with pytest.raises(TypeError, match="path or the text"):
        alpha.run_script(3)  # type: ignore[arg-type]
    with pytest.raises(OSError, match="nowhere"):
        alpha.run_script("nowhere.cs")


def test_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "x.cs"
    path.write_text('p = ReadAlphabets("example.ab"); AShow(p);', encoding="utf-8")
    assert cli.main(["alpha", str(path)]) == 0
    assert alpha.load(capsys.readouterr().out) == alpha.load(MATRIX)
    path.write_text("\nCoB(1);", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "alpha", str(path)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1 and "x.cs, line 2, CoB: it takes (program, " in done.stderr
    assert "Traceback" not in done.stderr
    assert cli.main(["alpha", str(folder / "none.cs")]) == 1
    assert "none.cs" in capsys.readouterr().err


def test_9_3_scan_c_with_the_size_of_its_blocks(folder: Path) -> None:
    (folder / "chain.ab").write_text(
        "affine chain {N|N>0} input long A {i|0<=i<N}; output long S {i|0<=i<N};"
        " let S[i] = case {i==0} : A[i]; {i>0} : S[i-1] + A[i]; esac;"
    )
    script(folder, 'p = ReadAlphabets("chain.ab"); generateScanC(p, "chain", "scan", 8);')
    assert (folder / "scan" / "chain.c").exists()
