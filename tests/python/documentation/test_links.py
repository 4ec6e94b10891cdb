"""Links between pages, and from them to other files of the repository, lead somewhere."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def links():
    """scripts/links.py, which builds of the site use, too."""
    spec = importlib.util.spec_from_file_location("links_of_pages", ROOT / "scripts" / "links.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def written(tmp_path):
    """A function that writes files, by their paths, into a folder that it returns."""

    def write(files: dict[str, str]) -> pathlib.Path:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return tmp_path

    return write


def test_no_link_is_dead(links):
    assert links.dead() == []
    found = {str(path.relative_to(ROOT)) for path in links.pages()}
    assert {"README.md", "docs/README.md", "notebooks/01_first_steps.ipynb"} <= found
    assert "gpu/kernels.py" in links.links(ROOT / "benchmarks" / "README.md")


def test_files_that_pages_name_are_there(links):
    """Those in `code`, by their paths from the root of the repository."""
    folders = "|".join(("benchmarks", "cmake", "cpp", "docs", "notebooks", "scripts", "tests"))
    named = re.compile(rf"(?<![\w/.-])(?:{folders})/[\w./*-]*[\w*/]")
    found = [(page, name) for page in links.pages() for name in named.findall(links.prose(page))]
    assert len(found) > 30
    for page, name in found:
        assert list(ROOT.glob(name.rstrip("/"))), f"{page.relative_to(ROOT)} names {name}"


def test_dead_links_are_found(links, written):
    root = written(
        {
            "README.md": "# Title\n## A `heading`, with (more)\n## Twice\n## Twice\n"
            "[a](docs/a.md) [b](docs/none.md) [c](docs/a.md#there) [d](docs/a.md#not-there)\n"
            "[e](#a-heading-with-more) [f](#twice-1) [g](#twice-2) [h](https://e.org/none.md)\n"
            "`[i](none)` ![j](none.png)\n[k]: none.txt\n[l](../outside.md)\n"
            "```\n[m](none) # heading\n## twice-2\n```\n",
            "docs/a.md": "# There\n[up](../README.md#title) [folder](../docs)",
            "notebooks/n.ipynb": '{"cells": [{"cell_type": "markdown", "source": '
            '["# N\\n", "[a](../docs/a.md) [b](none.py)"]}, '
            '{"cell_type": "code", "source": ["[c](none)"]}]}',
        }
    )
    found = links.dead(root)
    assert [line.split(": ")[:2] for line in found] == [
        ["README.md", "docs/none.md"],
        ["README.md", "docs/a.md#not-there"],
        ["README.md", "#twice-2"],
        ["README.md", "none.png"],
        ["README.md", "none.txt"],
        ["README.md", "../outside.md"],
        ["notebooks/n.ipynb", "none.py"],
    ]


def test_linked_files_come_with_the_pages(links, written, tmp_path):
    root = written(
        {
            "benchmarks/README.md": "[program](gpu/kernels.cu) [page](../docs/a.md)",
            "benchmarks/gpu/kernels.cu": "code",
            "benchmarks/gpu/other.cu": "code",
            "docs/a.md": "# A",
        }
    )
    links.gather(tmp_path / "site", root)
    copied = [path for path in sorted((tmp_path / "site").rglob("*")) if path.is_file()]
    names = [str(path.relative_to(tmp_path / "site")) for path in copied]
    assert names == ["benchmarks/README.md", "benchmarks/gpu/kernels.cu", "docs/a.md"]


def test_dead_links_of_a_built_site_are_found(links, written):
    root = written(
        {
            "index.html": '<a href="a/b.html#here">1</a><a href="a/b.html#none">2</a>'
            '<a href="none.html">3</a><img src="none.png"/><a href="#">4</a>'
            '<a href="https://e.org/x">5</a><a href="#self" id="self">6</a>',
            "a/b.html": '<p id="here"></p><a href="../index.html">up</a>',
        }
    )
    assert [line.split(": ")[1] for line in links.dead_in_html(root)] == [
        "a/b.html#none",
        "none.html",
        "none.png",
    ]
