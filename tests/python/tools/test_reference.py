"""The reference page: it is up to date, holds every command, and its loops are true."""

from __future__ import annotations

import inspect
import pathlib
import re

import pytest

from children import run_python
from tilewright import _core
from tilewright.schedule.commands import ScheduleCommands
from tilewright.schedule.function_commands import FunctionCommands
from tilewright.tools import reference

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "commands.md"
NAMES = reference.commands()
OF_FUNCTIONS = reference.function_commands()


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == reference.page(), (
        "docs/commands.md is not up to date: run python -m tilewright.reference"
    )


def test_every_command_of_python_and_of_the_core_has_an_entry():
    assert set(NAMES) == set(_core.command_names())
    public = {
        name
        for owner in (ScheduleCommands, FunctionCommands)
        for name, value in inspect.getmembers(owner, inspect.isfunction)
        if not name.startswith("_")
    }
    assert set(NAMES) == public
    titles = re.findall(r"^## (\S+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert titles == [*NAMES, *OF_FUNCTIONS]


@pytest.mark.parametrize("name", [*NAMES, *OF_FUNCTIONS])
def test_an_entry_shows_the_command_itself(name):
    entry = reference.entry(name)
    assert f".{name.removeprefix('f.')}(" in entry.command
    assert entry.before and entry.after and entry.before != entry.after
    assert entry.real_before != entry.real_after
    assert entry.description.strip()


def nesting(text: str) -> list[tuple[int, str]]:
    """(depth, loop variable) of each loop, in order; unrolled ones are written out in a docstring."""
    lines = []
    depths: list[int] = []
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        while depths and depths[-1] >= indent:
            depths.pop()
        loop = re.match(r"\s*(?:parallel |vector )?for (\w+) in", line)
        if loop and "# unroll" not in line:
            lines.append((len(depths), loop[1]))
        if loop:
            depths.append(indent)
    return lines


# The initialisation of a reduction is left out of docstrings, and so are loops around one element.
LEFT_OUT = {
    "reorder",
    "store_in",
    "set_access",
    "storage_fold",
    "auto_allocate_map",
}


@pytest.mark.parametrize("name", [name for name in [*NAMES, *OF_FUNCTIONS] if name not in LEFT_OUT])
def test_the_loops_of_a_docstring_are_those_that_are_made(name):
    entry = reference.entry(name)
    for shown in (entry, *entry.further):
        assert nesting(shown.after) == nesting(shown.real_after)
        assert nesting(shown.before) == nesting(shown.real_before)


def test_a_docstring_may_show_several_forms_of_a_command():
    entry = reference.entry("cache")
    assert [shown.command for shown in entry.further] == [
        'C.cache(C, "i0")',
        'C.cache(A, "i0", keeps="values")',
        'C.cache(A, "t", memory="shared", stages=2)',
    ]
    assert entry.description.index("C_local = empty(4)") < entry.description.index(
        "Where loops over"
    )


def test_the_reduction_of_reorder():
    entry = reference.entry("reorder")
    assert nesting(entry.after) == nesting(entry.real_after)[-3:]


@pytest.mark.parametrize("name", sorted(LEFT_OUT - {"reorder"}))
def test_the_elements_of_a_docstring_are_those_that_are_written(name):
    entry = reference.entry(name)
    written = re.search(r"^(\w+)\[(.*)\] = ", entry.after, re.MULTILINE)
    real = re.findall(r"^ *(\w+)\[(.*?)\] = ", entry.real_after, re.MULTILINE)
    assert written is not None

    def value(index: str) -> tuple[int, ...]:
        return eval(f"({index},)", {"i": 5, "j": 7, "t": 3})

    assert any(n == written[1] and value(x) == value(written[2]) for n, x in real)


def test_a_command_without_loops_or_without_an_example_is_refused(monkeypatch):
    def undocumented(self: ScheduleCommands) -> None:
        """Does something."""

    monkeypatch.setattr(ScheduleCommands, "undocumented", undocumented, raising=False)
    with pytest.raises(ValueError, match="must show the loops"):
        reference.entry("undocumented")
    monkeypatch.delitem(reference.EXAMPLES, "split")
    with pytest.raises(ValueError, match="needs a program"):
        reference.entry("split")


def test_a_false_command_in_a_docstring_is_noticed(monkeypatch):
    def split(self: ScheduleCommands, i: str) -> None:
        """Splits.

        Before::

            for i in range(0, N):
                C[i] = ...

        After ``C.split(q, 32)``::

            for i in range(0, N):
                C[i] = ...
        """

    monkeypatch.setattr(ScheduleCommands, "split", split)
    monkeypatch.delitem(reference.FURTHER, "split")
    with pytest.raises(NameError):
        reference.entry("split")


def test_the_command_line(tmp_path):
    path = tmp_path / "page.md"
    assert reference.main([str(path), "--check"]) == 1
    assert reference.main([str(path)]) == 0
    assert path.read_text(encoding="utf-8") == reference.page()
    assert reference.main([str(path), "--check"]) == 0


def test_the_module_runs():
    done = run_python("-m", "tilewright.reference", "--help", inherit=False)
    assert "reference page" in done.stdout
