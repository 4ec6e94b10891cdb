"""docs/kernels.md: up to date, and with every kernel."""

from __future__ import annotations

import pathlib
import re

import tilewright as tw
from tilewright import kernels
from tilewright.kernels import reference

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "kernels.md"


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == reference.page(), (
        "docs/kernels.md is not up to date: run python -m tilewright.kernels.reference"
    )


def test_every_kernel_is_there_with_source_and_loops():
    text = PAGE.read_text(encoding="utf-8")
    titles = set(re.findall(r"^### (\S+)$", text, re.MULTILINE))
    expected = {
        f"{module.__name__.rpartition('.')[2]}.{name}"
        for module in reference.modules()
        for name in module.__all__
    }
    assert titles == expected
    assert {module.__name__.rpartition(".")[2] for module in reference.modules()} == set(
        kernels.__all__
    )
    entry = reference.entry(kernels.blas, "gemm")
    assert "def gemm(" in entry and '"""' not in entry and "# parallel" in entry


def test_kernels_are_part_of_the_package():
    assert tw.kernels is kernels


def test_the_command_line(tmp_path):
    path = tmp_path / "page.md"
    assert reference.main([str(path), "--check"]) == 1
    assert reference.main([str(path)]) == 0
    assert reference.main([str(path), "--check"]) == 0
