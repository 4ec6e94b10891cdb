"""What `help` shows of the functions' side: everything public is documented; commands show loops."""

from __future__ import annotations

import doctest
import inspect
import pathlib
import re
import shutil

import pytest

import tilewright as tw
from tilewright.exporting import LINKERS

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"

COMMANDS = [
    *("split", "tile", "interchange", "reverse", "shift", "skew", "after", "before", "then"),
    *("parallelize", "vectorize", "unroll", "set_schedule", "store_in"),
]


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_show_the_loops_before_and_after(name):
    text = inspect.getdoc(getattr(tw.Computation, name))
    assert text is not None
    assert "Before::" in text
    assert "After" in text
    assert getattr(tw.ComputationHandle, name) is not None


@pytest.mark.parametrize(
    "owner", [tw.Function, tw.Schedule, tw.ComputationHandle, tw.Buffer, tw.cache, tw.CacheInfo]
)
def test_public_things_are_documented(owner):
    assert inspect.getdoc(owner)
    for name, member in vars(owner).items():
        if name.startswith("_") or not (callable(member) or isinstance(member, property)):
            continue
        assert inspect.getdoc(member), f"{owner.__name__}.{name}"


def test_everything_public_exists():
    for name in tw.__all__:
        assert hasattr(tw, name)


@pytest.mark.parametrize("page", ["arrays.md", "export.md"])
def test_examples_of_a_page(page):
    if page == "export.md" and not any(map(shutil.which, LINKERS)):
        pytest.skip("no linker on PATH")
    text = (DOCS / page).read_text()
    blocks = re.findall(r"^```pycon\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) > 3
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)
    assert not doctest.DocTestRunner(verbose=False).run(test).failed


def test_every_page_is_listed():
    listed = (DOCS / "README.md").read_text()
    for page in DOCS.glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in listed, page.name
