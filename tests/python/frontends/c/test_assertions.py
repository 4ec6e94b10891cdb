"""`assert`, `exit` and `abort`: facts that are asked at the call, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

_FILL = "{ %s for (int i = 0; i < n; i++) x[i] = 2 * x[i] + 1; }"


def _function(body: str, head: str = "#include <assert.h>\n") -> tw.c.CFunction:
    text = f"{head}void f(int n, double x[n]) {_FILL % body}\n"
    return tw.c.load(text, scop="function").f


@pytest.mark.parametrize(
    "condition, good, bad",
    [
        ("n % 4 == 0", 8, 6),
        ("n % 4 == 0 && n > 4", 8, 4),
        ("n / 3 == 2", 7, 9),
        ('n < 9 && "too many"', 8, 9),
        ("n != 3", 2, 3),
    ],
)
def test_sizes_are_asked_at_the_call(condition: str, good: int, bad: int) -> None:
    function = _function(f"assert({condition});")
    for _ in range(2):
        x = np.ones(good)
        function(good, x)
        assert x.tolist() == [3] * good
        with pytest.raises(tw.ArgumentError, match=f"n = {bad}"):
            function(bad, np.ones(bad))
        function.auto_schedule()


def test_without_assertions() -> None:
    """NDEBUG takes them out."""
    x = np.ones(3)
    _function("assert(n > 5);", "#define NDEBUG\n#include <assert.h>\n")(3, x)
    assert x.tolist() == [3, 3, 3]


def test_facts_about_data() -> None:
    """What an assertion says of data is believed, as `__pencil_assume` is."""
    text = """#include <assert.h>
    void f(int n, const int at[n], double x[n]) {
      for (int i = 0; i < n; i++) { assert(0 <= at[i] && at[i] < n); x[at[i]] += i; } }
    """
    x = np.zeros(3)
    tw.c.load(text, scop="function").f(3, np.array([2, 0, 2], np.int32), x)
    assert x.tolist() == [1, 0, 2]


@pytest.mark.parametrize("call", ["exit(1)", "abort()"])
def test_ends_of_the_process_are_refused(call: str) -> None:
    with pytest.raises(tw.TranslationError, match="ends the process") as refused:
        _function(f"if (n > 5) {call};", "#include <stdlib.h>\n").program
    assert (refused.value.line, refused.value.column) == (2, 41)
