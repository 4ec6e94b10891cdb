"""The README's example prints what the README says."""

from __future__ import annotations

import contextlib
import io
import pathlib
import re

README = pathlib.Path(__file__).parents[3] / "README.md"


def test_example_prints_what_the_readme_says():
    code, output = re.search(
        r"```python\n(.*?)```\n\n```\n(.*?)```", README.read_text(), re.DOTALL
    ).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == output
