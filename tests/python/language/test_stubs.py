"""The stubs of the extension module name everything that it has."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import tilewright
from tilewright import _core

STUBS = ast.parse((Path(tilewright.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))


def declared(body: list[ast.stmt]) -> set[str]:
    """The names that the statements of a module or class declare."""
    names = set()
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            names.add(statement.target.id)
        elif isinstance(statement, ast.Assign):
            names.update(target.id for target in statement.targets if isinstance(target, ast.Name))
    return names


CLASSES = {node.name: declared(node.body) for node in STUBS.body if isinstance(node, ast.ClassDef)}


def public(thing: object) -> set[str]:
    return {name for name in vars(thing) if not name.startswith("_")}


def test_every_name_of_the_module_has_a_stub():
    assert sorted(public(_core) - declared(STUBS.body)) == []


def test_every_stub_is_there():
    names = {name for name in declared(STUBS.body) if not name.startswith("_")}
    assert sorted(names - set(dir(_core))) == []


@pytest.mark.parametrize("name", [n for n, c in vars(_core).items() if inspect.isclass(c)])
def test_every_member_of_a_class_has_a_stub(name):
    assert sorted(public(getattr(_core, name)) - CLASSES[name]) == []


@pytest.mark.parametrize("name", sorted(name for name in CLASSES if not name.startswith("_")))
def test_every_member_in_the_stubs_is_there(name):
    assert sorted(CLASSES[name] - set(dir(getattr(_core, name)))) == []


def test_functions_take_what_the_stubs_say():
    """The names of arguments, where the extension module tells them."""
    for node in STUBS.body:
        if not isinstance(node, ast.FunctionDef) or node.decorator_list:
            continue
        text = (getattr(_core, node.name).__doc__ or "").splitlines()
        if not text or not text[0].startswith(f"{node.name}("):
            continue
        arguments = [a.arg for a in [*node.args.posonlyargs, *node.args.args]]
        for argument in arguments:
            assert f"{argument}:" in text[0] or "arg0" in text[0], f"{node.name}: {argument}"
