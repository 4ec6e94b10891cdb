"""The soak with few steps; ``scripts/soak`` takes thousands."""

from __future__ import annotations

import json
import pathlib

import pytest

from children import run_python
from soak.trials import TRIALS

TESTS = pathlib.Path(__file__).parents[1]


@pytest.mark.parametrize("name", list(TRIALS))
def test_trial(name, tmp_path):
    # In a process of its own: it forks, and the threads of the others are not to be in the way.
    count = TRIALS[name][2]
    options = ["--count", str(count), "--output", str(tmp_path)]
    done = run_python(
        *(TESTS / "soak" / "run.py", name, *options),
        status=None,
        timeout=600,
        inherit=False,
        PATH="/usr/bin:/bin",
        HOME=str(tmp_path),
        TMPDIR=str(tmp_path),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith((name, "  "))
    stored = json.loads((tmp_path / "soak.json").read_text(encoding="utf-8"))
    assert [trial["trial"] for trial in stored["trials"]] == [name]
    assert stored["trials"][0]["result"] in done.stdout and stored["machine"]
