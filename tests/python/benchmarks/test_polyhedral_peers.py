"""Compilers from C to C among the peers: how they are called, and what is made of their C."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))

from polyhedral_peers import TRANSLATORS, Translator


def program(folder: pathlib.Path, name: str, body: str) -> None:
    """An executable script in the folder."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def test_a_translator_reads_the_file_and_writes_beside_it(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "polycc", 'echo "$@" > words; cp "$3" "$5"')
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    source, place = tmp_path / "gemm.c", tmp_path / "place"
    place.mkdir()
    source.write_text("int x;\n", encoding="utf-8")
    TRANSLATORS["Pluto"].write(source, place / "new.c", [tmp_path], {"MINI": None})
    assert (place / "new.c").read_text() == "int x;\n"
    assert (place / "words").read_text().split()[:2] == ["--tile", "--parallel"]


def test_one_that_preprocesses_is_told_folders_and_macros(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "ppcg", 'echo "$@" > words')
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    TRANSLATORS["PPCG"].write(tmp_path / "a.c", tmp_path / "b.c", [tmp_path], {"MINI": None})
    words = (tmp_path / "words").read_text().split()
    assert f"-I{tmp_path}" in words and "-DMINI" in words
    assert words[-3:] == [str(tmp_path / "a.c"), "-o", str(tmp_path / "b.c")]


def test_one_that_fails_is_an_error(tmp_path: pathlib.Path) -> None:
    program(tmp_path, "broken", "exit 3")
    broken = Translator(str(tmp_path / "broken"), (), reads_macros=False)
    with pytest.raises(subprocess.CalledProcessError, match="status 3"):
        broken.write(tmp_path / "a.c", tmp_path / "b.c", [], {})
