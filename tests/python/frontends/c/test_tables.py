"""Tables that the file says: long lists of constants, beside gcc."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import zlib

import numpy as np
import pytest
from c_oracle import check_text, compiled, copies, run_c

import tilewright as tw

DRAW = np.random.default_rng(11)
BYTES = DRAW.integers(0, 256, 600).astype(np.uint8)
NUMBERS = DRAW.standard_normal(70).round(3)


def _listed(values: object) -> str:
    return "{" + ", ".join(str(each) for each in np.asarray(values).tolist()) + "}"


def _crc_table() -> list[int]:
    found = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0xEDB88320 if value & 1 else 0)
        found.append(value)
    return found


CRC = """
#include <stdint.h>
static const uint32_t table[256] = LISTED;
uint32_t f(int n, const uint8_t p[n]) {
  uint32_t c = 0xffffffffu;
  for (int i = 0; i < n; i++) c = table[(c ^ p[i]) & 0xff] ^ (c >> 8);
  return c ^ 0xffffffffu;
}
""".replace("LISTED", _listed(_crc_table()))
PROGRAMS = {
    "crc": (CRC, (600, BYTES)),
    "text": (
        """
        #include <stdint.h>
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        void f(int n, const uint8_t in[3 * n], char out[4 * n]) {
          for (int i = 0; i < n; i++) {
            uint32_t v = in[3 * i] << 16 | in[3 * i + 1] << 8 | in[3 * i + 2];
            out[4 * i] = digits[v >> 18]; out[4 * i + 1] = digits[(v >> 12) & 63];
            out[4 * i + 2] = digits[(v >> 6) & 63]; out[4 * i + 3] = digits[v & 63];
          }
        }
        """,
        (200, BYTES, np.zeros(800, np.int8)),
    ),
    "a local one that changes, with designators": (
        """
        void f(int n, int x[n]) {
          int table[70] = {1, 1, [5] = -7, 2, [69] = 1 << 4 | 3};
          for (int i = 7; i < 69; i++) table[i] = (table[i - 1] + table[i - 2]) & 0xfff;
          for (int i = 0; i < n; i++) x[i] = table[x[i] % 70];
        }
        """,
        (100, np.arange(100, dtype=np.int32)),
    ),
    "rows": (
        "void f(int n, double x[n], const double w[n]) {\n"
        f" const double rows[7][10] = {{{', '.join(_listed(NUMBERS[7 * i : 7 * i + 5]) for i in range(7))}}};"
        " for (int i = 0; i < n; i++) for (int k = 0; k < 10; k++) x[i] += rows[i % 7][k] * w[k]; }",
        (30, np.zeros(30), DRAW.standard_normal(30)),
    ),
    "rows that the program reads as columns, too": (
        "void f(int n, double x[n][n], const double w[n][n]) {\n"
        f" static const double t[8][8] = {{{', '.join(_listed(NUMBERS[8 * i : 8 * i + 8]) for i in range(8))}}};"
        " double half[8][8];"
        " for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) { half[i][j] = 0;"
        "  for (int k = 0; k < 8; k++) half[i][j] += t[i][k] * w[k][j]; }"
        " for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) { x[i][j] = 0;"
        "  for (int k = 0; k < 8; k++) x[i][j] += half[i][k] * t[j][k]; } }",
        (8, np.zeros((8, 8)), DRAW.standard_normal((8, 8))),
    ),
    "structures": (
        "struct pair { int key; float parts[2]; };"
        "const struct pair pairs[20] = {"
        + ", ".join(f"{{{7 * i % 20}, {{{i}.5f, -{i}}}}}" for i in range(20))
        + "};\nvoid f(int n, float x[n], const int p[n]) { for (int i = 0; i < n; i++)"
        " x[i] = pairs[pairs[p[i]].key].parts[i % 2]; }",
        (40, np.zeros(40, np.float32), DRAW.integers(0, 20, 40).astype(np.int32)),
    ),
    "of a function that is called twice": (
        f"static int at(int i) {{ static const short t[70] = {_listed((NUMBERS * 100).astype(int))};"
        " return t[i] + t[69 - i]; }\n"
        "void f(int n, int x[n]) { for (int i = 0; i < n; i++) x[i] = at(i) - 2 * at(i / 2); }",
        (70, np.zeros(70, np.int32)),
    ),
    "one that is no constant and that nothing changes": (
        f"int t[70] = {_listed((NUMBERS * 100).astype(int))}; double scale = 2.5;\n"
        "void f(int n, double x[n]) { for (int i = 0; i < n; i++) x[i] = scale * t[i]; }",
        (70, np.zeros(70)),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_tables_are_what_gcc_has(name: str) -> None:
    text, arguments = PROGRAMS[name]
    check_text(text, arguments)
    function = tw.c.load(text, scop="function").f
    theirs = copies(arguments)
    expected = run_c(compiled(text), function, theirs)
    for order in ("of the file", "found"):
        if order == "found":
            function.auto_schedule()
        for _ in range(2):  # at first by Python, then from what is remembered
            ours = copies(arguments)
            assert function(*ours) == expected
            for value, wanted in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(value, wanted)


def test_a_table_is_a_default() -> None:
    text, arguments = PROGRAMS["one that is no constant and that nothing changes"]
    function = tw.c.load(text, scop="function").f
    assert function.arguments == ("n", "x", "t", "scale")
    n, x = copies(arguments)
    given = np.arange(70, dtype=np.int32)
    for _ in range(2):
        function(n, x, t=given)
        np.testing.assert_array_equal(x, 2.5 * given)
        function(n, x, given, 2)
        np.testing.assert_array_equal(x, 2 * given)
    with pytest.raises(tw.ArgumentError, match=r"t has the shape \(70,\) in C"):
        function(n, x, t=given[:3])


def test_what_the_function_changes_is_given() -> None:
    function = tw.c.load(
        "int t[3] = {1, 2, 3};\nvoid f(int n) { for (int i = 0; i < 3; i++) t[i] += n; }",
        scop="function",
    ).f
    with pytest.raises(tw.ArgumentTypeError, match="lacks the arguments t"):
        function(1)
    t = np.array([1, 2, 3], np.int32)
    function(1, t)
    assert t.tolist() == [2, 3, 4]


def test_values_that_are_no_constants() -> None:
    few = ", ".join(f"n + {i}" for i in range(20))
    check_text(
        f"void f(int n, int x[20]) {{\n int t[20] = {{{few}}};"
        " for (int i = 0; i < 20; i++) x[i] = t[19 - i]; }",
        (4, np.zeros(20, np.int32)),
    )
    many = ", ".join(f"n + {i}" for i in range(70))
    with pytest.raises(tw.TranslationError, match=r"70 elements.*no constants"):
        tw.c.load(f"int f(int n) {{ int t[70] = {{{many}}}; return t[n]; }}", scop="function").f(1)


def test_a_place_outside_of_a_table_is_refused() -> None:
    function = tw.c.load(CRC.replace("& 0xff]", "& 0x1ff]"), scop="function").f
    with pytest.raises(tw.TilewrightError):
        function(600, BYTES)


def test_tables_on_the_emulator() -> None:
    text, arguments = PROGRAMS["text"]
    function = tw.c.load(text, scop="function").f
    n, given, out = copies(arguments)
    function(n, given, out)
    function.auto_schedule(target="gpu-emulator")
    again = np.zeros_like(out)
    function(n, given, again)
    np.testing.assert_array_equal(again, out)


def test_tables_are_kept(tmp_path: pathlib.Path) -> None:
    (tmp_path / "crc.c").write_text(CRC, encoding="utf-8")
    script = (
        "import sys, numpy as np, tilewright as tw\n"
        "f = tw.c.load('crc.c', scop='function').f\n"
        "print(int(f(600, (np.arange(600) * 7 % 256).astype(np.uint8))), 'pycparser' in sys.modules)\n"
    )
    (tmp_path / "start.py").write_text(script, encoding="utf-8")
    wanted = zlib.crc32((np.arange(600) * 7 % 256).astype(np.uint8).tobytes())
    said = [
        subprocess.run(
            [sys.executable, "start.py"],
            cwd=tmp_path,
            env={**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert said == [[str(wanted), "True"], [str(wanted), "False"]]
