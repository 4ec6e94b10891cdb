"""The notebooks as they are stored: complete, tidy, and with the outputs of this version, all of
them. Outputs must be the same on each machine: a notebook names what would differ (the level of
processors, ``cpu=``) or prints what does not.

That their cells run is also what nbmake tests.
"""

from __future__ import annotations

import base64
import json
import pathlib
import re
import struct
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

from refresh import PATHS, ROOT, executed

BY_NAME = {path.stem: path for path in PATHS}

# Another level and another amount of optimisation than `refresh.py` has by default: what depends on
# them is found on whichever machine this runs.
ELSEWHERE = {"TILEWRIGHT_CPU": "x86-64", "TILEWRIGHT_OPTIMIZE": "light"}


@pytest.fixture(params=PATHS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> pathlib.Path:
    return request.param


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def text_outputs(cell: Any) -> list[str]:
    """What a cell prints and shows as text."""
    printed, shown = "", []
    for output in cell.outputs:
        if output.output_type == "stream":
            printed += output.text
        else:
            shown.append(output.data["text/plain"])
    return [printed, *shown]


def picture(encoded: str) -> str:
    """A PNG by its size: its pixels depend on the versions of matplotlib and of fonts."""
    data = base64.b64decode(encoded)
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR"
    width, height = struct.unpack(">II", data[16:24])
    return f"PNG of {width} x {height}"


def compared(output: Any) -> Any:
    """An output with each picture replaced by its size, those within HTML, too."""
    output = json.loads(json.dumps(output))
    data = output.get("data", {})
    if "image/png" in data:
        data["image/png"] = picture(data["image/png"])
    if "text/html" in data:
        data["text/html"] = re.sub(
            r"data:image/png;base64,([A-Za-z0-9+/=]+)",
            lambda found: picture(found[1]),
            data["text/html"],
        )
    return output


def test_the_outputs_are_those_of_this_version(path):
    stored = code_cells(nbformat.read(path, 4))
    fresh = code_cells(executed(path, **ELSEWHERE))
    for old, new in zip(stored, fresh, strict=True):
        for output in new.outputs:
            assert output.output_type in ("stream", "execute_result", "display_data"), output
            assert output.get("name") != "stderr", output
        assert list(map(compared, old.outputs)) == list(map(compared, new.outputs)), (
            "stored outputs are old: run python tests/python/notebooks/refresh.py\n" + old.source
        )


def test_every_notebook_is_on_the_site():
    index = (ROOT / "docs" / "site" / "index.md").read_text(encoding="utf-8")
    assert PATHS
    for path in PATHS:
        assert f"\n{path.relative_to(ROOT).with_suffix('')}\n" in index


def test_what_differs_is_seen():
    """In text, in HTML, and in the kinds of outputs; pixels are not compared, sizes are."""
    cells = code_cells(nbformat.read(BY_NAME["03_polyhedral_compilation"], 4))
    outputs = [output for cell in cells for output in cell.outputs]
    plain = next(output for output in outputs if output.output_type == "stream")
    changed = plain.copy()
    changed["text"] = plain.text + " "
    assert compared(changed) != compared(plain)
    drawn = next(output for output in outputs if "image/png" in output.get("data", {}))
    data = bytearray(base64.b64decode(drawn.data["image/png"]))
    for place, is_seen in ((19, True), (len(data) - 20, False)):  # the width; a pixel
        other = data.copy()
        other[place] ^= 1
        encoded = base64.b64encode(other).decode()
        changed = json.loads(json.dumps(drawn))
        changed["data"]["image/png"] = encoded
        assert (compared(changed) != compared(drawn)) == is_seen
        in_html = {"data": {"text/html": f'<img src="data:image/png;base64,{encoded}"/>'}}
        before = {
            "data": {
                "text/html": in_html["data"]["text/html"].replace(
                    encoded, drawn.data["image/png"].replace("\n", "")
                )
            }
        }
        assert (compared(in_html) != compared(before)) == is_seen
    del changed["data"]["image/png"]
    assert compared(changed) != compared(drawn)


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
    notebook = nbformat.read(BY_NAME["02_motivating_example"], 4)
    printed = [text for cell in code_cells(notebook) for text in text_outputs(cell)]
    layers = [text for text in printed if "Layer III" in text]
    assert len(layers) == 4  # without commands, (a), (b), (c)
    assert "mean[i, j, c] -> [4, i(cpu), 1, j, 1, c, 1]" in layers[1]
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
    notebook = nbformat.read(BY_NAME["03_polyhedral_compilation"], 4)
    section = ""
    pictures: dict[str, int] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            section = cell.source.split("\n")[0].removeprefix("## ")
        elif cell.cell_type == "code":
            shown = sum("image/png" in output.get("data", {}) for output in cell.outputs)
            pictures[section] = pictures.get(section, 0) + shown
    assert pictures.get(title, 0) >= 1
