"""Translations that are kept: a process after the first one makes none."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tilewright as tw
from tilewright.frontends import dataflow, kept

SOURCE = """
#include "sizes.h"
int scale(int n, int m, double alpha, double A[n][m], const double x[m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
S1:   A[i][j] = A[i][j] + alpha * FACTOR * x[j];
  return n + m;
}
void pick(int n, double A[n], const int at[n]) {
  for (int i = 0; i < n; i++)
    A[i] = 2 * A[at[i]];
}
"""

START = """
import json, os, sys
import numpy as np
import tilewright as tw

def load(**given):
    options = {"scop": "function", **given}
    return tw.c.load("kernel.c", **options)

def scale(m, n=3, alpha=0.5):
    A = np.arange(n * 4.0).reshape(n, 4)
    x = np.arange(4.0)
    result = int(m.scale(n, 4, alpha, A, x))
    wanted = np.arange(n * 4.0).reshape(n, 4) + alpha * FACTOR * x
    return result == n + 4 and A.tolist() == wanted.tolist()

def parsed():
    return "pycparser" in sys.modules

def translated():
    return "tilewright.frontends.dataflow" in sys.modules

FACTOR = 3
said = {}
"""


class Folder:
    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        (path / "kernel.c").write_text(SOURCE)
        self.header(3)

    def header(self, factor: int) -> None:
        (self.path / "sizes.h").write_text(f"#define FACTOR {factor}\n")

    def run(self, program: str, **environment: str) -> dict:
        """What a process of its own says of a program."""
        text = START + textwrap.dedent(program) + "\nprint(json.dumps(said))"
        own = {"TILEWRIGHT_CACHE_DIR": str(self.path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", text],
            cwd=self.path,
            env={**os.environ, **own, **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def notes(self) -> list[pathlib.Path]:
        return sorted((self.path / "cache").glob("*.twn"))


CALL = """
m = load()
said["right"] = scale(m)
said["again"] = scale(m, 5, 1.5)
said["parsed"], said["translated"] = parsed(), translated()
said["hits"], said["misses"] = tw.cache.info().hits, tw.cache.info().misses
"""
WARM = {
    "right": True,
    "again": True,
    "parsed": False,
    "translated": False,
    "hits": 1,
    "misses": 0,
}


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    folder = Folder(tmp_path_factory.mktemp("kept"))
    first = folder.run(CALL)
    assert first["right"] and first["again"]
    assert first["parsed"] and first["translated"]
    return folder


def test_the_second_process_translates_nothing(warm):
    assert warm.run(CALL) == WARM


def test_what_else_is_asked_of_a_warm_function_is_as_of_a_cold_one(warm):
    ask = """
    m = load()
    if KEPT:
        said["right"] = scale(m)
        said["warm"] = not parsed()
    f = m.scale
    said["repr"] = [repr(m), repr(f), str(f.arguments), f.name]
    said["schedule"], said["loops"] = str(f.schedule), str(f.loops)
    said["statements"], said["S1"] = list(f.statements), str(f["S1"])
    said["context"] = str(f.context)
    said["summary"] = str(m.summary("scale"))
    f["S1"].interchange("i", "j")
    said["interchanged"] = str(f.loops)
    said["right_then"] = scale(m)
    for give in ((3, 4), (3, 4, 0.5, np.zeros((3, 5)), np.zeros(4)), (3, 4, 1j, 1, 2)):
        try:
            m.scale(*give)
        except Exception as error:
            said.setdefault("errors", []).append(f"{type(error).__name__}: {error}")
    """
    seen = []
    for is_kept in (True, False):
        said = warm.run(f"KEPT = {is_kept}\n" + textwrap.dedent(ask))
        assert said.pop("right", True) and said.pop("warm", True) and said["right_then"]
        seen.append(said)
    assert len(seen[0]["errors"]) == 3
    assert seen[0] == seen[1]


def test_a_kept_kernel_that_fails_says_what_the_function_says(warm):
    ask = """
    m = load()
    for place in (1, 7):
        A = np.ones(3)
        try:
            m.pick(3, A, np.array([0, 1, place], np.int32))
            said["values"] = A.tolist()
        except tw.TilewrightError as error:
            said["error"] = f"{type(error).__name__}: {error}"
    """
    cold = warm.run(ask)
    assert "7" in cold["error"] and cold["values"] == [2, 2, 4]
    assert warm.run(ask) == cold


def test_auto_schedule_is_kept(warm):
    ask = """
    m = load()
    schedule = m.scale.auto_schedule()
    said["schedule"] = str(schedule)
    said["right"] = scale(m, 40)
    said["translated"] = parsed() or translated()
    said["same"] = str(m.scale.schedule) == str(schedule)
    said["loops"] = str(m.scale.loops)
    """
    cold = warm.run(ask)
    assert cold["right"] and cold["same"] and cold.pop("translated")
    again = warm.run(ask)
    assert not again.pop("translated")
    assert again == cold
    assert warm.run(CALL) == WARM  # the program's order is kept beside it


def test_other_settings_are_other_translations(warm):
    other = """
    m = load()
    said["right"] = scale(m)
    said["translated"] = translated()
    """
    assert warm.run(other, TILEWRIGHT_OPTIMIZE="full") == {"right": True, "translated": True}
    assert warm.run(other, TILEWRIGHT_CHECK_BOUNDS="1")["translated"]
    assert warm.run(CALL) == WARM


def test_calls_unlike_those_that_are_kept_are_made_by_the_function(warm):
    ask = """
    m = load()
    A, x = np.zeros((2, 3), order="F"), np.zeros(3)
    for give in ((2, 3, 1.0, A, x), (2, 3, 1.0, np.zeros((2, 3), np.float32), x), (-1, 3, 1.0, A, x)):
        try:
            m.scale(*give)
        except tw.TilewrightError as error:
            said.setdefault("errors", []).append(str(error))
    B = np.zeros((3, 3))
    try:
        m.scale(3, 3, 1.0, B, B[0])
    except tw.TilewrightError as error:
        said["shared"] = str(error)
    said["right"] = scale(m)
    """
    said = warm.run(ask)
    assert len(said["errors"]) == 3 and "share memory" in said["shared"] and said["right"]


class InProcess:
    """The same without new processes: each module that is loaded begins with what is kept."""

    def __init__(self, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.translated = 0
        monkeypatch.chdir(folder.path)
        monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(folder.path / "cache"))
        make = dataflow.to_function

        def counted(*given, **named):
            self.translated += 1
            return make(*given, **named)

        monkeypatch.setattr(dataflow, "to_function", counted)

    def is_right(self, factor: int = 3, **given) -> bool:
        tw.cache.clear_memory()
        A, x = np.arange(12.0).reshape(3, 4), np.arange(4.0)
        m = tw.c.load("kernel.c", scop="function", **given)
        result = m.scale(3, 4, 0.5, A, x)
        wanted = np.arange(12.0).reshape(3, 4) + 0.5 * factor * x
        return result == 7 and A.tolist() == wanted.tolist()

    def is_warm(self, **given) -> bool:
        before = self.translated
        return self.is_right(**given) and self.translated == before


@pytest.fixture
def here(tmp_path, monkeypatch):
    made = InProcess(Folder(tmp_path), monkeypatch)
    assert made.is_right() and made.translated == 1
    assert made.is_warm()
    return made


def test_another_header_is_another_program(here):
    here.folder.header(4)
    assert here.is_right(factor=4) and here.translated == 2
    assert here.is_warm(factor=4)
    first = here.folder.path / "first"
    first.mkdir()  # a header that is found before the old one
    (here.folder.path / "kernel.c").write_text(SOURCE.replace('"sizes.h"', "<sizes.h>"))
    assert here.is_right(factor=4, include=["first", "."])
    assert here.is_warm(factor=4, include=["first", "."])
    (first / "sizes.h").write_text("#define FACTOR 5\n")
    assert here.is_right(factor=5, include=["first", "."])
    assert here.is_right(factor=5, include=["first", "."], define={"UNUSED": 1})
    assert here.translated == 5


def test_damaged_notes_are_not_there(here):
    for damage in (
        lambda text: text[: len(text) // 2],
        lambda text: text[:-3] + b"abc",
        lambda _: b"",
    ):
        before = here.translated
        for note in here.folder.notes():
            note.write_bytes(damage(note.read_bytes()))
        assert here.is_right() and here.translated == before + 1
        assert here.is_warm()


def changed(content, at, value):
    """A copy of nested lists with another value at a place."""
    if not at:
        return value
    first, *rest = at
    return [changed(each, rest, value) if i == first else each for i, each in enumerate(content)]


CALL_FORMS = [
    ([], 7),
    ([0], 7),
    ([0, 0], [0] * 7),
    ([0, 0, 0, 2], 9),  # more inputs than there are
    ([0, 0, 0, 3, 0, 1], [[0, [[5, 1]]]]),  # an extent of a parameter that is not there
    ([0, 0, 0, 3, 0, 5], 12),  # an output in an input that is not there
    ([0, 0, 0, 4], [[[[1], False]]]),
    ([0, 0, 1, 0], ["array", "<f8", 2, 0, [0, 1, 2], -1]),
    ([0, 0, 1, 3], ["array", "<f8", 2, 0, [0, 1], 7]),
    ([0, 0, 2], [99]),
    ([0, 0, 3], [[0, 5, 0]]),
    ([0, 0, 4], [[0, 70]]),
    ([0, 0, 5], [[-1, 70, False]]),
]


@pytest.mark.parametrize("at, value", CALL_FORMS)
def test_calls_of_another_form_are_not_there(here, monkeypatch, at, value):
    keep = kept.load

    def load(key):
        content = keep(key)
        is_call = isinstance(content, list) and content and isinstance(content[0], list)
        return changed(content, at, value) if is_call else content

    with monkeypatch.context() as patch:
        patch.setattr(kept, "load", load)
        assert here.is_right() and here.translated == 2
    assert here.is_warm()


@pytest.mark.parametrize(
    "content", [7, [], {"functions": {"scale": [1]}, "files": []}, {"functions": [], "files": 3}]
)
def test_files_of_another_form_are_not_there(here, monkeypatch, content):
    with monkeypatch.context() as patch:
        patch.setattr(kept, "load", lambda key: content)
        assert here.is_right() and here.translated == 2
    assert here.is_warm()


def test_code_that_is_gone_is_made_again(here):
    for kernel in (here.folder.path / "cache").glob("*.twk"):
        kernel.unlink()
    assert here.is_right() and here.translated == 2
    assert here.is_warm()
