"""f.passes() and TILEWRIGHT_DUMP_PASSES: the loops after each pass."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from children import run_python
from tilewright.base.display import LoopsText
from tilewright.inspection.passes import CompilerPass, Passes


@pytest.fixture
def doubled():
    i, N = tw.iter("i"), tw.param("N")
    x = tw.input("x", [N], tw.float32)
    y = tw.computation("y", {i: N}, x[i] * 2)
    f = tw.function("doubled", outputs=[y])
    y.vectorize(i, 8)
    return f


def test_each_pass_by_position_and_by_name(doubled):
    passes = doubled.passes()
    assert passes[0].name == "translate" and passes[0].changed
    assert "# vector(8)" in passes["translate"].loops
    assert "# vector(8)" not in passes["vectorize_loops"].loops
    assert passes["vectorize_loops"].changed
    assert not passes["tighten_guards"].changed
    assert passes["simplify_indices"] is passes[-1]  # the last one of that name
    assert [one.name for one in passes[:2]] == ["translate", "settle_loop_ranges"]
    assert all(one.milliseconds >= 0 for one in passes)


def test_an_unknown_name_says_which_there_are(doubled):
    with pytest.raises(
        KeyError, match=r"no pass 'vectorise'; there are translate, .*vectorize_loops"
    ):
        doubled.passes()["vectorise"]


def test_printed_are_those_that_changed_something(doubled):
    passes = doubled.passes()
    shown = repr(passes)
    assert shown.startswith("# translate (")
    assert "# vectorize_loops (" in shown
    assert "tighten_guards" not in shown
    assert passes.changed[-1].loops in shown
    assert len(passes.changed) < len(passes) == len(passes.table.splitlines())
    assert "tighten_guards" in passes.table
    html = passes._repr_html_()
    assert html.count("<details>") == len(passes.changed)
    assert "tighten_guards" in html
    assert "translate" in passes[0]._repr_html_()


def test_loops_are_those_for_the_arrays(doubled):
    row_major = doubled.passes()[-1].loops
    assert doubled.passes(np.zeros(20, np.float32))[-1].loops == row_major
    strided = np.zeros((20, 2), np.float32)[:, 0]
    assert doubled.passes(strided)[0].loops == doubled.passes()[0].loops
    with pytest.raises(tw.ArgumentTypeError):
        doubled.passes(np.zeros(20, np.float64))


def test_passes_of_a_kernel_of_a_gpu():
    i, N = tw.iter("i"), tw.param("N")
    y = tw.computation("y", {i: N}, 2.0 * i)
    f = tw.function("f", outputs=[y], target="gpu-emulator")
    y.gpu(i)
    passes = f.passes()
    assert "grid" not in passes["widen_copies"].loops
    assert "grid" in passes["map_launches"].loops


def test_a_value_of_its_own():
    one = CompilerPass("a", 1.0, True, LoopsText("x"))
    assert repr(Passes([one])) == "# a (1.000 ms)\nx"
    assert len(Passes([])) == 0 and repr(Passes([])) == ""


PROGRAM = """
import numpy as np, tilewright as tw
i, N = tw.iter("i"), tw.param("N")
y = tw.computation("y", {i: N}, tw.input("x", [N], tw.float32)[i] * 2)
f = tw.function("doubled", outputs=[y])
y.vectorize(i, 8)
assert (f(np.ones(20, np.float32)) == 2).all()
"""


def test_dumped_for_each_compilation(tmp_path, run_dumping):
    folder = tmp_path / "passes"
    run_dumping(str(folder))
    (kernel,) = folder.iterdir()
    assert kernel.name.startswith("doubled-")
    files = sorted(file.name for file in kernel.iterdir())
    assert files[0] == "00-translate.txt"
    assert any(name.endswith("-vectorize_loops.txt") for name in files)
    text = run_dumping("stderr").stderr
    assert text.startswith("# doubled: translate (")


def test_a_folder_that_cannot_be(run_dumping):
    done = run_dumping("/dev/null/passes", status=None)
    assert done.returncode != 0
    assert "TILEWRIGHT_DUMP_PASSES: /dev/null/passes" in done.stderr


@pytest.fixture
def run_dumping(tmp_path):

    def run(where, status=0):
        cache = str(tmp_path / f"cache-{len(list(tmp_path.iterdir()))}")
        return run_python(
            "-c",
            PROGRAM,
            status=status,
            TILEWRIGHT_DUMP_PASSES=where,
            TILEWRIGHT_CACHE_DIR=cache,
        )

    return run
