"""What is written from operations.def is what it would be written as today."""

import subprocess
import sys
from pathlib import Path

import tilewright as tw
from tilewright import _core
from tilewright.language import elementary

ROOT = Path(__file__).resolve().parents[3]


def test_written_files_are_up_to_date():
    script = ROOT / "scripts" / "operations.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_each_row_with_a_name_is_a_function_of_the_package():
    names = {row["function"] for row in _core.operations()} - {""}
    assert names == set(elementary.__all__)
    for row in _core.operations():
        if row["function"]:
            function = getattr(tw, row["function"])
            assert " ".join(function.__doc__.split()) == row["documentation"]
