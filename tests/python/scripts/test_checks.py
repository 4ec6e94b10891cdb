"""The checks of layers and sizes find what they are there for."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from types import ModuleType
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def written(folder: pathlib.Path, files: dict[str, str]) -> pathlib.Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def layers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = script("python_layers")
    monkeypatch.setattr(module, "ONLY_TYPES", {})
    return module


WINGS = {"__init__.py": "", "base/__init__.py": "", "language/__init__.py": ""}


def found(layers: ModuleType, folder: pathlib.Path, **files: str) -> list[str]:
    named = {name.replace("__", "/") + ".py": text for name, text in files.items()}
    package = written(folder / "tilewright", {**WINGS, **named})
    problems: list[str] = list(layers.problems(package))
    return problems


def test_downward_imports_are_fine(layers: ModuleType, tmp_path: pathlib.Path) -> None:
    text = "from .. import _core\nfrom ..base.errors import E\nfrom ..base import errors\n"
    assert found(layers, tmp_path, base__errors="E = 1\n", language__arrays=text) == []


@pytest.mark.parametrize(
    "text",
    [
        "from ..language import arrays",
        "from ..language.arrays import A",
        "import tilewright.language.arrays",
        "from tilewright.language import arrays as a",
        "def f():\n    from ..language.arrays import A",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..language.arrays import A",
    ],
)
def test_upward_imports(layers: ModuleType, tmp_path: pathlib.Path, text: str) -> None:
    problems = found(layers, tmp_path, base__errors=text + "\n", language__arrays="A = 1\n")
    line = len(text.split("\n"))
    assert problems == [
        f"tilewright/base/errors.py:{line}: base may not import tilewright.language.arrays"
    ]


def test_circles(layers: ModuleType, tmp_path: pathlib.Path) -> None:
    problems = found(
        layers,
        tmp_path,
        base__a="from .b import B\n",
        base__b="def f():\n    from . import c\n",
        base__c="from .a import A\n",
        base__d="from .a import A\n",
    )
    assert problems == [
        "these import each other: tilewright.base.a, tilewright.base.b, tilewright.base.c"
    ]


def test_exceptions_are_for_types_and_go_when_they_are_not_needed(
    layers: ModuleType, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = ("tilewright.base.errors", "tilewright.language.arrays")
    monkeypatch.setattr(layers, "ONLY_TYPES", {pair: "people's programs are checked by it"})
    typed = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..language.arrays import A\n"
    )
    assert found(layers, tmp_path, base__errors=typed, language__arrays="A = 1\n") == []
    run = "from ..language.arrays import A\n"
    problems = found(layers, tmp_path, base__errors=run, language__arrays="A = 1\n")
    assert len(problems) == 2 and "may not import" in problems[0] and "ONLY_TYPES" in problems[1]


# ---- sizes ----


@pytest.fixture
def sizes() -> ModuleType:
    pytest.importorskip("lizard")
    return script("sizes")


def lengths(sizes: Any, folder: pathlib.Path, **files: str) -> dict[str, int]:
    names = {"python": "python/module.py", "cpp": "cpp/folder/source.cpp", "sh": "scripts/run"}
    written(folder, {names[kind]: text for kind, text in files.items()})
    longer: dict[str, int] = sizes.too_long(folder)
    return longer


def test_long_functions(sizes: ModuleType, tmp_path: pathlib.Path) -> None:
    docstring = '    """' + "\n".join(["Long."] * 90) + '\n    """\n'
    python = "def short():\n" + docstring + "    pass\n\n\ndef long():\n" + "    pass\n" * 80
    cpp = (
        "int long_one(int x) {\n"
        + "  ++x;\n" * 80
        + "  return x;\n}\nint short_one() { return 1; }\n"
    )
    assert lengths(sizes, tmp_path, python=python, cpp=cpp) == {
        "cpp/folder/source.cpp: long_one": 83,
        "python/module.py: long": 81,
    }


def test_long_files(sizes: ModuleType, tmp_path: pathlib.Path) -> None:
    assert lengths(sizes, tmp_path, python="x = 1\n" * 600, cpp="int x;\n" * 600) == {}
    assert lengths(sizes, tmp_path, sh="#!/usr/bin/env python\n" + "x = 1\n" * 600) == {
        "scripts/run": 601
    }


def test_what_is_small_again_leaves_the_table(
    sizes: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "too_long", lambda root: {"a.py": 700})
    monkeypatch.setattr(sizes, "ALLOWED", {"b.py": "a table"})
    assert sizes.main([]) == 1
    printed = capsys.readouterr().out
    assert "a.py has 700 lines" in printed and "b.py is small enough" in printed
    monkeypatch.setattr(sizes, "ALLOWED", {"a.py": "a table"})
    assert sizes.main([]) == 0
