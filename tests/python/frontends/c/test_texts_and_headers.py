"""Texts that initialise arrays, the stand-in of ctype.h, what is const, and arguments that a scop does not touch."""

from __future__ import annotations

import ctypes
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from c_oracle import assert_same_bits, check_text, copies

import tilewright as tw
from refusals import raises


def test_texts_are_arrays_of_numbers() -> None:
    text = """
static const char digits[] = "0123456789abcdef";
void f(int n, const unsigned char *in, char *out) {
  char mixed[] = "a\\n\\"'\\x41\\101\\\\", full[3] = "xyz", more[6] = "q" "r", braced[] = {"ab"};
  for (int i = 0; i < n; i++) { out[2 * i] = digits[in[i] >> 4]; out[2 * i + 1] = digits[in[i] & 15]; }
  for (int i = 0; i < 8; i++) out[2 * n + i] = mixed[i];
  out[2 * n + 8] = full[2]; out[2 * n + 9] = more[1] + more[5]; out[2 * n + 10] = braced[1];
  out[2 * n + 11] = sizeof mixed + sizeof braced;
}
"""
    check_text(text, (3, np.array([0x1F, 0xA0, 7], np.uint8), np.zeros(18, np.int8)))


@pytest.mark.parametrize(
    "text",
    [
        'int f(int n) {\n static const char T[3][8] = {"one", "two", "three"}; return T[n % 3][1]; }',
        "typedef struct { char name[8]; int v; } R;\n"
        'int f(int n) { static const R T[] = {{"one", 1}, {"two", 4}};'
        " return T[n & 1].name[0] * 10 + T[n & 1].v; }",
        'int f(int n) {\n struct { char a[4]; int b; } s = {"ab", 3}; return s.a[n & 3] + s.b; }',
        'int f(int n) {\n static const char T[4][3] = {"one", "two", [3] = "yes"}; return T[n % 4][2]; }',
        'int f(int n) {\n static const char T[9][3] = {"one", "two", [3] = "yes", "it\'", "s\\"x"};'
        " return T[n % 9][2]; }",
        'int f(int n) {\n char T[2][3] = {"on", "two"}; T[0][1] = n; return T[n % 2][1] * T[1][2]; }',
    ],
)
def test_texts_within_lists(text: str) -> None:
    for n in (0, 1, 2, 3, 7):
        check_text(text, (n,))


KINDS = "alnum alpha blank cntrl digit graph lower print punct space upper xdigit".split()


def test_ctype_is_that_of_the_c_locale() -> None:
    tests = "".join(f" o[16 * i + {at}] = is{kind}(x[i]) != 0;" for at, kind in enumerate(KINDS))
    text = f"""#include <ctype.h>
void f(int n, const int *x, int *o) {{
  for (int i = 0; i < n; i++) {{ o[16 * i + 14] = toupper(x[i]); o[16 * i + 15] = tolower(x[i]);{tests} }}
}}
"""
    module = tw.c.load(text, scop="function")
    assert list(module.functions) == ["f"]
    x, found = np.arange(-1, 128, dtype=np.int32), np.zeros(16 * 129, np.int32)
    module.f(129, x, found)
    libc = ctypes.CDLL(None)
    for at, kind in enumerate(KINDS):
        wanted = [getattr(libc, f"is{kind}")(int(each)) != 0 for each in x]
        np.testing.assert_array_equal(found[at::16], wanted, kind)
    np.testing.assert_array_equal(found[14::16], [libc.toupper(int(each)) for each in x])
    np.testing.assert_array_equal(found[15::16], [libc.tolower(int(each)) for each in x])


def test_const_arrays_are_not_written() -> None:
    text = "void f(int n, const double a[n]) {\n  for (int i = 0; i < n; i++)\n    a[i] = 7; }"
    with raises(tw.TranslationError, "a is const and cannot be assigned") as caught:
        tw.c.load(text, scop="function").f(3, np.zeros(3))
    assert ":3:5" in str(caught.value)


@pytest.mark.parametrize("source", ["", "  "])
def test_a_text_that_holds_nothing(source: str) -> None:
    with raises(tw.ArgumentError, "this text holds nothing"):
        tw.c.load(source)


PROGRAMS = {
    "arguments of main": """#include <stdio.h>
double a[100];
int main(int argc, char **argv) {
#pragma scop
  for (int i = 0; i < 100; i++) a[i] = 2 * i;
#pragma endscop
  printf("%g %d\\n", a[99], argc); return 0; }
""",
    "fields that are not accessed": """#include <stdio.h>
typedef struct { unsigned char r, g, b; } px;
static px img[8]; static int out[8];
int main(void) {
  for (int i = 0; i < 8; i++) img[i].g = i;
#pragma scop
  for (int i = 0; i < 8; i++) out[i] = 2 * img[i].g;
#pragma endscop
  for (int i = 0; i < 8; i++) printf("%d ", out[i]);
  return 0; }
""",
    "ctype": """#include <stdio.h>
#include <ctype.h>
char s[] = "Hello, World 42";
int main(void) {
  int k = 0;
#pragma scop
  for (int i = 0; i < 15; i++) if (isalpha(s[i])) { s[i] = toupper(s[i]); k++; }
#pragma endscop
  printf("%s %d\\n", s, k); return 0; }
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_translated_as_a_whole(name: str, tmp_path: pathlib.Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(PROGRAMS[name])
    command = [sys.executable, "-m", "tilewright", "translate", str(source), "--check"]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "program.tw.c")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "check: both programs print the same" in done.stdout + done.stderr, done.stderr


def test_arguments_of_a_whole_function_are_not_left_out() -> None:
    text = "void f(int n, double a[n], char **names) {\n  for (int i = 0; i < n; i++) a[i] = 1; }"
    with raises(tw.TranslationError, "names is a pointer to char"):
        _ = tw.c.load(text, scop="function").f.program


def test_what_is_not_const_is_written_through_its_pointer() -> None:
    text = (
        "void f(int n, const double *a, double *b) {\n for (int i = 0; i < n; i++) *b++ = *a++; }"
    )
    function = tw.c.load(text, scop="function").f
    given = (4, np.arange(4.0), np.zeros(4))
    ours = copies(given)
    function(*ours)
    assert_same_bits(ours[2], given[1], "b")
