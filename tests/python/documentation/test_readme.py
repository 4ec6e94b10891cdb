"""The README's examples print what the README says."""

from __future__ import annotations

import contextlib
import io
import linecache
import pathlib
import re

import pytest

README = pathlib.Path(__file__).parents[3] / "README.md"


#: What stands between fences has no fence in it: the output belongs to the program right before it.
EXAMPLES = re.findall(
    r"^```python\n((?:(?!```).)*)```\n\n```\n(.*?)```", README.read_text(), re.DOTALL | re.MULTILINE
)
PROGRAMS = re.findall(r"^```python\n(.*?)```", README.read_text(), re.DOTALL | re.MULTILINE)
#: Those without an output say by themselves what is right.
SILENT = [code for code in PROGRAMS if code not in dict(EXAMPLES)]


def run(code):
    name = f"<README.md, {hash(code)}>"  # where `inspect` finds the text
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    exec(compile(code, name, "exec"), {})


def test_there_are_examples():
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_example_prints_what_the_readme_says(code, output):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        run(code)
    assert printed.getvalue() == output


@pytest.mark.parametrize("code", SILENT)
def test_program_without_output_runs(code):
    run(code)


def test_the_program_for_a_gpu_is_among_them():
    assert any("gpu_thread" in code for code in SILENT)
