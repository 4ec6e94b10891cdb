"""How much isl does while schedules are found: counted, as times would only show it now and then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tilewright as tw
from tilewright import _core


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """What was found before is not taken from the disk."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    tw.cache.clear()


def work_of(action: Callable[[], Any]) -> int:
    before = _core.isl_allocations()
    action()
    return _core.isl_allocations() - before


def products(count: int) -> Any:
    """As many matrix products of a C program, one after the other."""
    arrays = ", ".join(
        f"double A{p}[64][64], double B{p}[64][64], double C{p}[64][64]" for p in range(count)
    )
    loops = "".join(
        f"""for (int i = 0; i < n; i++)
              for (int j = 0; j < n; j++) {{
                C{p}[i][j] = 0;
                for (int k = 0; k < n; k++) C{p}[i][j] += A{p}[i][k] * B{p}[k][j];
              }}"""
        for p in range(count)
    )
    text = f"void products(int n, {arrays}) {{ {loops} }}"
    function = tw.c.load(text, scop="function").functions["products"]
    function.compile()  # made of its statements
    return function


def test_a_nest_that_is_left_alone_is_not_asked_about_again():
    few = work_of(products(2).auto_schedule)
    assert few > 0
    assert work_of(products(4).auto_schedule) < 2.6 * few


def test_a_schedule_that_was_found_is_set_without_being_asked_about_again():
    function = products(1)
    found = work_of(function.auto_schedule)
    assert work_of(function.auto_schedule) < found / 100


def waves(count: int) -> tw.Function:
    """Recurrences through two computations each, which do not need each other."""
    n, steps = tw.params("N T", "N >= 4 and T >= 1")
    t, i = tw.iters("t i")
    ends = []
    for number in range(count):
        start = tw.input(f"start{number}", [n], tw.float64)
        even = tw.computation(f"even{number}", {t: steps, i: n}, dtype=tw.float64)
        odd = tw.computation(f"odd{number}", {t: steps, i: n}, dtype=tw.float64)
        even.define(t == 0, start[i]).define(t > 0, odd[t - 1, i] + 1.0)
        odd.define(None, 0.5 * even[t, i])
        ends.append(tw.computation(f"end{number}", {i: n}, odd[steps - 1, i]))
    return tw.function("waves", outputs=ends)


def test_the_common_loops_of_a_recurrence_follow_from_its_own_flow():
    one, three = waves(1), waves(3)
    few = work_of(one.compile)
    assert work_of(three.compile) < 5 * few
    assert three["even2"].loops[0] == "t"


def test_waits_of_threads_with_strided_copies_take_no_longer_than_the_loops() -> None:
    """Each second column, from a first one that alternates, in blocks with two copies: asked whether all
    pairs are of one thread, isl took a hundred times as many steps."""
    n, m = tw.params("n m")
    i, j = tw.iters("i j")
    x = tw.input("x", [n, m], tw.int64)
    red = tw.computation(
        "red",
        {i: (1, n - 1), j: (1 + i % 2, m - 1, 2)},
        x[i, j - 1] + x[i, j + 1] + x[i - 1, j],
    )
    f = tw.function("rb", outputs=[red], default_schedule=False, target="gpu-emulator")
    red.vectorize("j", 2).cache(x, "j1", pad=1)
    red.cache(red, "j0")
    red.gpu_tile("i", "j0", 32, 8)
    assert 0 < work_of(lambda: f.loops) < 3_000_000  # 850,000 when this was written
