"""What notebooks show: HTML that is well formed, escaped and folded."""

from __future__ import annotations

import pickle
from html.parser import HTMLParser

import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")


class Checker(HTMLParser):
    """Opening and closing tags match; keeps the text and what is in each folded part."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.summaries: list[str] = []
        self.count: dict[str, int] = {}
        self.feed(html)
        self.close()
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.count[tag] = self.count.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if "summary" in self.open:
            self.summaries.append(data)


def matmul() -> tw.Function:
    a = tw.input("A", [N, K], tw.float32)
    b = tw.input("B", [K, M], tw.float32)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    return tw.function("matmul", outputs=[c])


class Fonts(Checker):
    """Keeps the text that no element sets in a font of fixed width, in `proportional`."""

    def __init__(self, html: str) -> None:
        self.is_fixed: list[bool] = []
        self.proportional: list[str] = []
        super().__init__(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        style = dict(attrs).get("style") or ""
        outer = bool(self.is_fixed) and self.is_fixed[-1]
        self.is_fixed.append(outer or "font-family: monospace" in style)

    def handle_endtag(self, tag: str) -> None:
        super().handle_endtag(tag)
        self.is_fixed.pop()

    def handle_data(self, data: str) -> None:
        super().handle_data(data)
        if not (self.is_fixed and self.is_fixed[-1]):
            self.proportional.append(data)


def test_program_text_is_set_in_a_font_of_fixed_width():
    """By its own style, whatever the page around it does."""
    function = matmul()
    before = function.schedule
    function["C"].tile(i, j, 8, 8).vectorize("j1", 8)
    for value in (
        function.loops,
        function.layers,
        function.llvm,
        function.schedule,
        before.diff(function.schedule),
        before.diff(before),
        function.legality,
    ):
        assert Fonts(value._repr_html_()).proportional == [], type(value)
    titles = ["Loops", "Layer I", "Layer II", "Layer III"]
    assert Fonts(function._repr_html_()).proportional == titles


def test_what_is_code_in_other_displays_is_set_in_a_font_of_fixed_width():
    function = matmul()
    with pytest.raises(tw.IllegalScheduleError) as caught:
        function["C"].parallelize(k)
    error = caught.value
    shown = Fonts(error._repr_html_())
    for detail in (error.dependence, error.source_instance, error.sink_instance):
        assert detail in shown.text
        assert detail not in shown.proportional
    x = np.ones((2, 2), np.float32)
    profile = function.profile(x, x, repeats=1, roofline=False)
    shown = Fonts(profile._repr_html_())
    for cell in profile.rows[0][:3]:
        assert cell in shown.text
        assert cell not in shown.proportional


def test_a_function_folds_its_layers():
    function = matmul()
    function["C"].tile(i, j, 8, 8)
    shown = Checker(function._repr_html_())
    assert shown.summaries == ["Loops", "Layer I", "Layer II", "Layer III"]
    assert shown.count["details"] == 4
    assert "matmul(A: float32[N, K], B: float32[K, M]) -> C: float32[N, M]" in shown.text
    assert 'C.tile("i", "j", 8, 8)' in shown.text
    assert str(function.loops) in shown.text
    for text in function._layers():
        assert text in shown.text


def test_a_function_without_commands():
    shown = Checker(matmul()._repr_html_())
    assert shown.count["details"] == 4
    assert "tile" not in shown.text


def test_a_schedule():
    function = matmul()
    function["C"].set_schedule("{ C[i,j,k] -> [j, i, k] : i < 5 or i >= 5 }")
    shown = Checker(function.schedule._repr_html_())
    assert shown.text == str(function.schedule)
    assert "i < 5" in shown.text


def test_program_text():
    function = matmul()
    loops = function.loops
    assert repr(loops) == str(loops)
    assert Checker(loops._repr_html_()).text == str(loops)


def test_a_refusal():
    function = matmul()
    with pytest.raises(tw.IllegalScheduleError) as caught:
        function["C"].parallelize(k)
    error = caught.value
    shown = Checker(error._repr_html_())
    assert shown.count["table"] == 1
    for text in (
        "IllegalScheduleError",
        'C.parallelize("k")',
        error.dependence,
        error.source_instance,
        error.sink_instance,
        error.parameters,
        error.suggestion,
        "test_rich_display.py",
    ):
        assert text
        assert text in shown.text


def test_tags_are_coloured():
    function = matmul()
    function["C"].tile(i, j, 8, 8).parallelize("i0").vectorize("j1", 8).unroll("i1")
    html = function.loops._repr_html_()
    for tag in ("parallel", "vector", "unroll"):
        assert f'font-weight: bold">  # {tag}' in html
    assert html.count("<span") == str(function.loops).count("  # ")
    assert Checker(html).text == str(function.loops)
    assert "<details open><summary>Loops" in function._repr_html_()


def test_a_refusal_is_drawn():
    pytest.importorskip("matplotlib")
    function = matmul()
    with pytest.raises(tw.IllegalScheduleError) as caught:
        function["C"].parallelize(k)
    error = caught.value
    assert error.function is function
    html = error._repr_html_()
    assert html.count("<img") == 1 and "data:image/png;base64," in html
    again = pickle.loads(pickle.dumps(error))
    assert again.function is None and "<img" not in again._repr_html_()


def test_the_extension_of_notebooks(capsys):
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell.instance()
    published = []
    shell.display_pub.publish = lambda data, **_: published.append(data)
    try:
        shell.run_line_magic("load_ext", "tilewright")
        shell.user_ns["f"] = matmul()
        shell.run_cell('f["C"].parallelize("k")')
        shell.run_cell("1 / 0")
    finally:
        interactive.InteractiveShell.clear_instance()
    assert len(published) == 1 and "IllegalScheduleError" in published[0]["text/html"]
    shown = capsys.readouterr().out
    assert "TW213" in shown and "ZeroDivisionError" in shown


def test_any_error():
    error = tw.ScheduleError("a < b & c\nmore")
    shown = Checker(error._repr_html_())
    assert "ScheduleError [TW200]: a < b & c" in shown.text
    assert "table" not in shown.count


def test_ipython_takes_them():
    formatters = pytest.importorskip("IPython.core.formatters")
    html = formatters.HTMLFormatter()
    plain = formatters.PlainTextFormatter()
    function = matmul()
    function["C"].tile(i, j, 8, 8)
    for value in (function, function.schedule, function.loops, function.layers):
        assert html(value).startswith("<")
    assert plain(function.schedule) == str(function.schedule)
    assert plain(function.loops) == str(function.loops)
    png = formatters.PNGFormatter()
    pytest.importorskip("matplotlib")
    assert png(function.plot("C", sizes={N: 2, M: 2, K: 2}))
