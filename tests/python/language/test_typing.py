"""The package is typed: `mypy --strict` accepts a program that is right and refuses mistakes."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]


def check(path: pathlib.Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy")
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--no-error-summary",
            "--no-incremental",
            str(path),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


def test_the_examples():
    done = check(pathlib.Path(__file__).with_name("typing_examples.py"))
    assert (done.stdout, done.returncode) == ("", 0)


def test_a_mistake_is_found(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import tilewright as tw\nkey: int = tw.input("x", [3], tw.int32).ndim[0]\n')
    assert "not indexable" in check(wrong).stdout
