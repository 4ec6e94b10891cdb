"""The notebooks as they are stored: complete, tidy, and with the outputs of this version.

That their cells run is also what nbmake tests.
"""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

from refresh import FOLDER, executed

NAMES = ["02_motivating_example", "03_polyhedral_compilation", "04_gpus"]
PATHS = [FOLDER / f"{name}.ipynb" for name in NAMES]


@pytest.fixture(params=PATHS, ids=[path.stem for path in PATHS])
def path(request: pytest.FixtureRequest) -> pathlib.Path:
    return request.param


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def text_outputs(cell: Any) -> list[str]:
    """What a cell prints and shows as text; pictures depend on matplotlib's version."""
    printed, shown = "", []
    for output in cell.outputs:
        assert output.output_type in ("stream", "execute_result", "display_data"), output
        if output.output_type == "stream":
            printed += output.text
        else:
            shown.append(output.data["text/plain"])
    return [printed, *shown]


def test_the_outputs_are_those_of_this_version(path):
    stored = code_cells(nbformat.read(path, 4))
    fresh = code_cells(executed(path))
    for old, new in zip(stored, fresh, strict=True):
        assert text_outputs(old) == text_outputs(new), (
            "stored outputs are old: run python tests/python/notebooks/refresh.py\n" + old.source
        )


def test_a_notebook_is_tidy(path):
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    assert notebook.cells[0].cell_type == "markdown"
    assert notebook.cells[0].source.startswith("# ")
    assert [cell.execution_count for cell in code_cells(notebook)] == list(
        range(1, len(code_cells(notebook)) + 1)
    )
    assert str(pathlib.Path.home()) not in path.read_text(encoding="utf-8")
    for cell in code_cells(notebook):
        if ".plot(" in cell.source:
            assert "image/png" in cell.outputs[-1].data
        if "array_equal" in cell.source:
            assert "True" in cell.outputs[-1].data["text/plain"]
            assert "False" not in cell.outputs[-1].data["text/plain"]


def test_the_motivating_example_prints_the_layers_of_its_variants():
    notebook = nbformat.read(PATHS[0], 4)
    printed = [text for cell in code_cells(notebook) for text in text_outputs(cell)]
    layers = [text for text in printed if "Layer III" in text]
    assert len(layers) == 4  # without commands, (a), (b), (c)
    assert "mean[i, j, c] -> [3, i(cpu), 1, j, 1, c, 1]" in layers[1]
    assert "strip(cpu)" in layers[2]
    assert "vec(8)" in layers[2]
    assert "i1(gpu_thread_y), 1, j1(gpu_thread_x)" in layers[3]
    assert any(".target sm_80" in text for text in printed)


@pytest.mark.parametrize(
    "title",
    [
        "Sets",
        "Maps",
        "Dependences",
        "Fusion",
        "Fission",
        "Reversal",
        "Interchange",
        "Strip-mining",
        "Skewing",
        "Tiling",
    ],
)
def test_each_topic_has_its_picture(title):
    notebook = nbformat.read(PATHS[1], 4)
    section = ""
    pictures: dict[str, int] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            section = cell.source.split("\n")[0].removeprefix("## ")
        elif cell.cell_type == "code":
            shown = sum("image/png" in output.get("data", {}) for output in cell.outputs)
            pictures[section] = pictures.get(section, 0) + shown
    assert pictures.get(title, 0) >= 1
