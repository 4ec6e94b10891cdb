"""What `help` shows of the functions' side: everything public is documented; commands show loops."""

from __future__ import annotations

import doctest
import inspect
import linecache
import pathlib
import re
import shutil

import numpy as np
import pytest

import tilewright as tw
from tilewright.export.exporting import LINKERS

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


class Checker(doctest.OutputChecker):
    """Leaves out of an error what pages leave out: the module of its class, and the line."""

    def check_output(self, want, got, optionflags):
        got = re.sub(r"^tilewright\.", "", got)
        got = re.sub(r"\n  at <doctest .*", "", got)
        return super().check_output(want, got, optionflags)


def passes(test):
    return not doctest.DocTestRunner(Checker(), verbose=False).run(test).failed


# Pages that are made from docstrings and kernels, each with a test of its own programs.
MADE = {"commands.md", "errors.md", "kernels.md"}
# What needs a device runs in test_device_arrays.py, the rest below.
ABOUT_DEVICES = {"gpu-runtime.md"}


def pages_with(language):
    """Every other page that has a block of this language: none has to be listed to be tested."""
    names = {page.name for page in DOCS.glob("*.md") if f"\n```{language}\n" in page.read_text()}
    return sorted(names - MADE - ABOUT_DEVICES)


def test_every_block_of_python_is_run():
    """None is left out because its fence is indented or says "py", but what needs other libraries."""
    assert {"arrays.md", "debugging.md", "export.md"} <= set(pages_with("pycon"))
    assert {"README.md", "gpu.md", "running.md"} <= set(pages_with("python"))
    for page in DOCS.glob("*.md"):
        fences = re.findall(r"^( *)```+(\w+)\n(.*?)^ *```", page.read_text(), re.M | re.S)
        for indent, language, block in fences if page.name not in MADE else ():
            needs_library = language == "py" and "torch." in block
            assert not indent and (language in ("python", "pycon", "text", "c") or needs_library), (
                page
            )


@pytest.mark.parametrize("page", pages_with("pycon"))
def test_examples_of_a_page(page):
    if page == "export.md" and not any(map(shutil.which, LINKERS)):
        pytest.skip("no linker on PATH")
    text = (DOCS / page).read_text()
    blocks = re.findall(r"^```pycon\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) > 3
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)
    assert passes(test)


@pytest.fixture
def scope(tmp_path, monkeypatch):
    """The names that examples take for granted: a matrix product, its arrays, a refusal, ..."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    i, j, k = tw.iters("i j k")
    N, M, K = tw.params("N M K")
    names = {"np": np, "tw": tw, "i": i, "j": j, "k": k, "N": N, "M": M, "K": K}

    def product(name):
        A = tw.input("A", [N, K], tw.float32)
        B = tw.input("B", [K, M], tw.float32)
        C = tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))
        return C, tw.function(name, outputs=[C])

    C, matmul = product("matmul")
    rows = tw.computation("rows", {i: N, j: M}, tw.input("rows_in", [N, M], tw.float32)[i, j])
    last = tw.computation("last", {i: N, j: M}, rows[i, j])
    xs = tw.computation("xs", {i: N}, 2 * tw.input("numbers", [N], tw.float32)[i])
    image = tw.input("image", [N, M], tw.float32)
    blur = tw.function("blur", outputs=[tw.computation("b", {i: N, j: M}, image[i, j] / 2)])
    a, b = np.ones((4, 5), np.float32), np.ones((5, 6), np.float32)
    image = np.ones((4, 4), np.float32)
    names |= {"C": C, "matmul": matmul, "f": matmul, "other": product("other")[1], "a": a, "b": b}
    names |= {"g": blur, "blur": blur, "image": image, "rows": rows, "xs": xs}
    ys = tw.computation("ys", {i: N}, xs[i] + 1)
    names["points"] = tw.function("points", outputs=[ys])
    names["window_of"] = tw.function("window_of", outputs=[last])
    last.after(rows, i)
    with pytest.raises(tw.IllegalScheduleError) as refusal:
        C.parallelize(k)
    names["refusal"] = refusal.value
    return names


@pytest.mark.parametrize("page", pages_with("python"))
def test_programs_of_a_page(page, scope):
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.M | re.S)
    assert blocks
    with tw.settings():
        for number, block in enumerate(blocks):
            name = f"<{page}, program {number}>"  # where `inspect` finds the text
            linecache.cache[name] = (len(block), None, block.splitlines(keepends=True), name)
            exec(compile(block, name, "exec"), scope)


def test_programs_about_devices_run_on_the_emulator():
    """What needs no streams, with the emulator for a device."""
    text = (DOCS / "gpu-runtime.md").read_text().replace('"cuda"', '"gpu-emulator"')
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    names = {"np": np, "tw": tw}
    run = [block for block in blocks if "tw.cuda." not in block]
    assert len(run) >= 2
    for block in run:
        exec(block, names)


def documented():
    """Everything public whose docstring has an example."""
    found = {}
    for module in (tw, tw.cache):
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            members = vars(value).items() if inspect.isclass(value) else ()
            for key, each in [(name, value), *((f"{name}.{n}", m) for n, m in members)]:
                text = getattr(each, "__doc__", None)
                is_value = isinstance(each, tw.DType)  # its class has the docstring
                if isinstance(text, str) and ">>>" in text and not is_value:
                    found[key] = inspect.cleandoc(text)
    return found


@pytest.mark.parametrize("name", documented())
def test_examples_of_docstrings(name, scope):
    test = doctest.DocTestParser().get_doctest(documented()[name], scope, name, name, 0)
    assert test.examples
    assert passes(test)


def test_every_page_is_listed():
    listed = (DOCS / "README.md").read_text()
    for page in DOCS.glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in listed, page.name


def test_the_site_has_everything_public():
    """`scripts/docs` builds it; what is not in one of its lists would be missing."""
    reference = "\n".join(
        path.read_text(encoding="utf-8") for path in (DOCS / "site" / "reference").glob("*.md")
    )
    listed = set(re.findall(r"^\.\. auto\w+:: (\w+)$", reference, re.M))
    elsewhere = {"CacheInfo", "alpha", "c", "cache", "cuda", "kernels", "streams", "__version__"}
    types = {name for name in tw.__all__ if isinstance(getattr(tw, name), tw.DType)}
    assert set(tw.__all__) - elsewhere - types == listed
    index = (DOCS / "site" / "index.md").read_text(encoding="utf-8")
    for page in DOCS.glob("*.md"):
        assert page.name == "README.md" or f"docs/{page.stem}\n" in index, page.name
