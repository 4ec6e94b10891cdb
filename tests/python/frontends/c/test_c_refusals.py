"""What is malformed or has no translation is refused with its place: never with another exception, and
never by a wrong answer."""

from __future__ import annotations

import linecache

import pytest
from mutated import mutated

import tilewright as tw

# What is refused -> (a program, the words of the reason, the text at the place).
REFUSED: dict[str, tuple[str, str, str]] = {
    "goto": (
        "void f(int n, int A[n]) { next: A[0]++; if (A[0] < n) goto next; }",
        "goto leads back to next",
        "goto next",
    ),
    "goto into a block": (
        "void f(int n, int A[n]) { if (n > 2) goto in; if (n > 1) { A[0] = 1; in: A[1] = 2; } }",
        "neither behind this goto nor behind a block around it",
        "goto in;",
    ),
    "goto to nowhere": (
        "void f(int n, int A[n]) { goto out; }",
        "there is no label out",
        "goto out",
    ),
    "goto past an array with values": (
        "void f(int n, int A[n]) { if (n) goto out; int t[2] = {1, 2}; A[0] = t[1]; out: t[0] = 1; A[1] = t[0]; }",
        "passes this declaration",
        "t[2] =",
    ),
    "case within a loop": (
        "void f(int n, int *A) { switch (n) { case 1: for (int i = 0; i < n; i++) { A[0]++; case 2: A[1]++; } } }",
        "a case within another statement",
        "case 2",
    ),
    "statement before the cases": (
        "void f(int n, int *A) { switch (n) { A[0] = 1; case 2: A[1]++; } }",
        "before the first case",
        "A[0] = 1",
    ),
    "union": (
        "union u { int a; float b; };\nvoid f(union u *x) { x->a = 1; }",
        "unions have no",
        "union u {",
    ),
    "bit-field": (
        "struct s { int a : 3; };\nvoid f(struct s *x) { x->a = 1; }",
        "bit-fields",
        "a : 3",
    ),
    "pointer into another array": (
        "void f(int n, int *p, int *r) { int *q = p; *q++ = 1; q = r; *q = 2; }",
        "into one array and later into another",
        "q = r",
    ),
    "pointers into two arrays": (
        "void f(int n, int *p, int *r) { while (p < r) *p++ = 0; }",
        "not seen that they point into one array",
        "p < r",
    ),
    "address that moves": (
        "void f(int n, int *r) { int x = 0; int *p = &x; p++; r[0] = *p; }",
        "is the address of x alone, and moves",
        "p = &x",
    ),
    "memmove within an array": (
        "void f(int n, int *p) { memmove(p + 1, p, n * sizeof(int)); }",
        "memmove copies within p",
        "memmove(",
    ),
    "memset of floating-point numbers": (
        "void f(int n, float *p) { memset(p, 1, n * sizeof(float)); }",
        "memset fills bytes",
        "memset(",
    ),
    "bytes that are no elements": (
        "void f(int n, float *p, float *q) { memcpy(p, q, n); }",
        "not seen how many elements of type float",
        "n)",
    ),
    "product of sizes": (
        "void f(int n, int m, int *p) { int t[n * m]; for (int i = 0; i < n; i++) t[i * i] = p[i]; p[0] = t[0]; }",
        "a size of t is a product",
        "t[n * m]",
    ),
    "pointers in memory": (
        "void f(int n, double **A) { A[0][0] = 1; }",
        "pointers that are stored",
        "**A",
    ),
    "function pointer": (
        "void f(int n, int A[n], int (*g)(int)) { A[0] = g(1); }",
        "pointers to functions",
        "g)(",
    ),
    "recursion": (
        "int f(int n) { return n < 2 ? 1 : n * f(n - 1); }",
        "recursion has no translation",
        "f(n - 1)",
    ),
    "unknown function": ("void f(int n, int A[n]) { A[0] = g(n); }", "g is not declared", "g(n)"),
    "function without a body": (
        "int g(int);\nvoid f(int n, int A[n]) { A[0] = g(n); }",
        "its body is not in the file",
        "g(n)",
    ),
    "output": (
        '#include <stdio.h>\nvoid f(int n) { printf("%d", n); }',
        "printf has no translation",
        "printf",
    ),
    "undeclared": ("void f(int n, int A[n]) { A[0] = b; }", "b is not declared", "b; }"),
    "no field": (
        "struct s { int a; };\nvoid f(struct s *x) { x->b = 1; }",
        "has no field b",
        "x->b",
    ),
    "assembler": ('void f(void) { asm("nop"); }', "assembler code is not C99", "asm"),
    "packed": (
        "struct __attribute__((packed)) s { int a; };\nvoid f(struct s *x) { x->a = 1; }",
        "attribute packed",
        "packed",
    ),
    "static local": (
        "void f(int n, int A[n]) { static int k = 0; A[0] = k++; }",
        "outlive the call",
        "k = 0",
    ),
    "long double": (
        "void f(long double *x) { x[0] = 1; }",
        "long double has no translation",
        "long",
    ),
    "missing header": (
        "#include <nothing.h>\nvoid f(void) {}",
        "there is no header nothing.h",
        "#include",
    ),
    "#error": ("#error stop here\nvoid f(void) {}", "#error stop here", "#error"),
    "pragma without a loop": (
        "void f(int n, int A[n]) {\n#pragma pencil independent\nA[0] = 1; }",
        "stands no for loop",
        "#pragma",
    ),
    "modulo of floats": (
        "void f(double *x) { x[0] = x[1] % 2; }",
        "% is an operation of integers",
        "x[1] %",
    ),
    "const": ("void f(const double *x, int n) { const int k = n; k = 2; }", "const", "k = 2"),
    "text": ('void f(int *x) { x[0] = "a"; }', "a text in an expression has no translation", '"a"'),
    "rows of another length": (
        "void g(int n, double A[n][n]) { A[1][1] = 2; }\nvoid f(int n, int m, double A[n][m]) { g(n, A); }",
        "another length",
        "A); }",
    ),
    "other elements": (
        "void f(int n, double *x) { float *y = (float *)x; y[0] = 1; }",
        "are read as float",
        "(float",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    text, reason, marked = REFUSED[name]
    with pytest.raises(tw.TranslationError) as caught:
        tw.c.load(text + "\n", scop="function").functions["f"]
    error = caught.value
    assert reason in error.message
    line = (text + "\n").split("\n")[error.line - 1]
    rest = line[error.column - 1 :]
    assert rest.startswith(marked) or marked in line, (rest, str(error))
    assert str(error).endswith("^")
    assert f"{error.file}:{error.line}:{error.column}" in str(error)


def test_places_behind_macros_and_comments() -> None:
    text = (
        "#define TWICE(x) ((x) + (x))\n"
        "/* two\n   lines */ void f(int n, int A[n]) {\n"
        "  A[0] = /* here */ TWICE(n) + \\\n    missing;\n}\n"
    )
    with pytest.raises(tw.TranslationError) as caught:
        tw.c.load(text, scop="function").functions["f"]
    assert (caught.value.line, caught.value.column) == (5, 5)
    with pytest.raises(tw.TranslationError) as caught:
        tw.c.load(
            "#define BAD missing\nvoid f(int n, int A[n]) {\n  A[0] = n + BAD;\n}\n",
            scop="function",
        ).f
    assert (caught.value.line, caught.value.column) == (3, 14)


def test_places_in_files(tmp_path: pytest.TempPathFactory) -> None:
    folder = tmp_path / "include"  # type: ignore[operator]
    folder.mkdir()
    (folder / "kernel.h").write_text(
        "static int g(int x) {\n out: if (x > 2)\n  goto out; return x; }\n"
    )
    path = tmp_path / "kernel.c"  # type: ignore[operator]
    path.write_text('#include "kernel.h"\nvoid f(int n, int A[n]) { A[0] = g(n); }\n')
    with pytest.raises(tw.TranslationError, match="goto") as caught:
        tw.c.load(path, include=[folder], scop="function").f
    assert caught.value.file == str(folder / "kernel.h")
    assert (caught.value.line, caught.value.column) == (3, 3)


SCOPS = {
    "none": ("void f(int n, int A[n]) { A[0] = 1; }", "there is no #pragma scop"),
    "not ended": ("void f(int n, int A[n]) {\n#pragma scop\n A[0] = 1; }", "has no endscop"),
    "not begun": (
        "void f(int n, int A[n]) {\n A[0] = 1;\n#pragma endscop\n}",
        "has no scop before it",
    ),
    "twice": (
        "void f(int n, int A[n]) {\n#pragma scop\n#pragma scop\n A[0] = 1;\n#pragma endscop\n}",
        "begins within",
    ),
    "outside": ("#pragma scop\nint x;\n#pragma endscop\n", "stands outside functions"),
}


@pytest.mark.parametrize("name", SCOPS)
def test_scops_that_do_not_match(name: str) -> None:
    text, reason = SCOPS[name]
    with pytest.raises(tw.TranslationError, match=reason):
        tw.c.load(text + "\n")


@pytest.mark.parametrize("block", range(12))
def test_mutated_files(block: int) -> None:
    """A changed file is translated, or refused at a line that it has."""
    refused = 0
    for seed in range(50 * block, 50 * block + 50):
        text = mutated(seed)
        try:
            tw.c.load(text)
        except tw.TranslationError as error:
            refused += 1
            where = str(error)
            assert error.line >= 1 and error.column >= 1, where
            if error.file.startswith("<C"):
                assert error.line <= text.count("\n") + 1, where
            assert f"{error.file}:{error.line}:{error.column}" in where
        finally:
            linecache.checkcache()
    assert 15 <= refused <= 50
