"""Calls like one before go to the kernel without Python; what is not alike comes to the door again."""

from __future__ import annotations

import gc
import pathlib
import types
import weakref
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import _core
from tilewright.frontends.loops.decorator import LoopFunction

K = 3.0


@pytest.fixture(autouse=True)
def own_cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that other tests have made are not kept here."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))


def made(function: Any) -> tuple[Any, list[int]]:
    """A function of loops, and the calls that came to its door."""
    calls: list[int] = []

    class Counting(LoopFunction):
        def _call_anew(self, /, *arguments: Any, **keywords: Any) -> Any:
            calls.append(len(arguments))
            return super()._call_anew(*arguments, **keywords)

    _core.answer_known_calls(Counting)
    return Counting(function, {}), calls


def shifted(n, a, x, y):
    for i in range(n):
        y[i] = y[i] + a * x[i]


def scaled(x):
    return x * K


settings = types.ModuleType("settings")


def sized(x):
    return x * 0 + settings.width


def numbers(x, n=2):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s, n * len(x), x, x + s


def picked(x, how):
    if how is None:
        x[0] = 1
    elif how == "two":
        x[0] = 2
    else:
        x[0] = 3


def test_sizes_and_numbers_differ_in_calls_alike() -> None:
    function, calls = made(shifted)
    for size, a in ((8, 2.0), (5, -1.5), (3, 0.25), (8, 7.0)):
        for n in (size, size - 1, 0):
            x, y = np.arange(float(size)), np.ones(size)
            expected = y.copy()
            shifted(n, a, x, expected)
            assert function(n, a, x, y) is None
            assert y.tolist() == expected.tolist()
    assert len(calls) == 1
    x, y = np.arange(9.0), np.ones(9)
    function(y=y, n=9, x=x, a=1.0)  # by name
    assert len(calls) == 1 and y.tolist() == (x + 1).tolist()
    with pytest.raises(tw.SubscriptError):
        function(10, 1.0, x, y)
    with pytest.raises(tw.ArgumentTypeError):
        function(9, 1.0, x)
    with pytest.raises(tw.ArgumentTypeError):
        function(9, 1.0, x, y, y=y)
    assert len(calls) == 4


def test_other_types_ranks_and_equalities_come_to_the_door() -> None:
    function, calls = made(shifted)
    x = np.ones(4)
    different: list[tuple[Any, ...]] = [
        (4, 2.0, x, np.ones(4)),
        (4, 2.0, x, np.ones(5)),
        (4, 2.0, x.astype(np.float32), np.ones(4)),
        (np.int64(4), 2.0, x, np.ones(4)),
        (4, np.float64(2.0), x, np.ones(4)),
        (4, 2, x, np.ones(4)),
        (1, 2.0, x[:1], np.ones(1)),
    ]
    for count, arguments in enumerate(different, 1):
        expected = arguments[-1].copy()
        shifted(*arguments[:-1], expected)
        function(*arguments)
        assert len(calls) == count
        assert arguments[-1].tolist() == expected.tolist()
        function(*arguments)
        assert len(calls) == count  # and never again
    assert function._known_calls == len(different)


def test_arrays_that_share_memory_come_to_the_door() -> None:
    function, calls = made(shifted)
    memory = np.arange(20.0)
    function(4, 2.0, memory[:10], memory[10:])
    assert len(calls) == 1
    with pytest.raises(tw.ArgumentError):
        function(4, 2.0, memory[:10], memory[9:19])
    for count in (3, 3):  # the same array twice: a kind of call of its own
        expected = memory.copy()
        shifted(20, 2.0, expected, expected)
        function(20, 2.0, memory, memory)
        assert memory.tolist() == expected.tolist() and len(calls) == count
    function(10, 2.0, memory[::2], np.ones(10))  # strides are the kernel's business
    assert len(calls) == 3
    frozen = np.ones(10)
    frozen.flags.writeable = False
    with pytest.raises(tw.ArgumentError):
        function(4, 2.0, memory[:10], frozen)


def test_a_kind_of_calls_is_known_once() -> None:
    """Calls that the door makes anyway, with a number of threads, do not fill what each call compares with."""
    function, calls = made(shifted)
    x, y = np.ones(5), np.zeros(5)
    for _ in range(4):
        function(5, 2.0, x, y, threads=1)
    assert len(calls) == 4 and function._known_calls == 1
    function(5, 2.0, x, y)
    assert len(calls) == 4 and y.tolist() == [10.0] * 5
    function(5, 2, x, y)
    assert len(calls) == 5 and function._known_calls == 2


def test_results() -> None:
    function, calls = made(numbers)
    for size in (3, 4, 7):
        x = np.arange(float(size))
        total, count, same, fresh = function(x)
        assert (total, count) == (x.sum(), 2 * size) and same is x
        assert type(total) is np.float64 or type(total) is float
        assert type(total) is type(numbers(x)[0]) and type(count) is int
        assert fresh.tolist() == (x + x.sum()).tolist() and fresh.base is None
    assert len(calls) == 1
    assert function(np.ones(3), 5)[1] == 15 and len(calls) == 1


def test_constants_and_globals() -> None:
    global K
    function, calls = made(scaled)
    x = np.ones(3)
    try:
        for K, expected in ((3.0, 1), (3.0, 1), (4.0, 2), (4.0, 2), (3.0, 2)):
            assert function(x).tolist() == [K] * 3
            assert len(calls) >= expected
    finally:
        K = 3.0
    function, calls = made(sized)
    for settings.width, count in ((2, 1), (2, 1), (5, 2), (5, 2)):
        assert function(x).tolist() == [settings.width] * 3
        assert len(calls) == count
    function, calls = made(picked)
    for how, value in ((None, 1), ("two", 2), ("three", 3), (None, 1), ("".join("two"), 2)):
        function(x, how)
        assert x[0] == value
    assert len(calls) == 3


def test_a_schedule_changes_the_calls() -> None:
    function, calls = made(shifted)
    x, y = np.arange(40.0), np.zeros(40)
    function(40, 1.0, x, y)
    function.auto_schedule()
    for count in (2, 2):
        function(40, 1.0, x, y)
        assert len(calls) == count
    assert y.tolist() == (3 * x).tolist()
    with function.transaction(), pytest.raises(tw.ScheduleError):
        function(40, 1.0, x, y)


def test_functions_die_with_what_they_know() -> None:
    def local() -> Any:
        cell: list[Any] = []

        def f(x):
            x[0] = factor

        factor = 2.0
        function = tw.jit(f)
        cell.append(function)
        function(np.ones(3))
        function(np.ones(3))
        assert function._known_calls == 1
        function.itself = function
        return weakref.ref(function)

    found = local()
    gc.collect()
    assert found() is None


C = """
void axpy(int n, float a, double x[n], double y[n]) {
#pragma scop
  for (int i = 0; i < n; i++) y[i] = y[i] + a * x[i];
#pragma endscop
}
double total(int n, double x[n]) {
  double s = 0;
#pragma scop
  for (int i = 0; i < n; i++) s += x[i];
#pragma endscop
  return s;
}
"""


def test_functions_of_c() -> None:
    functions = tw.c.load(C, scop="function")
    axpy, total = functions.axpy, functions.total
    for n in (4, 6, 9):
        x, y = np.arange(float(n)), np.ones(n)
        axpy(n, 2.5, x, y)
        assert y.tolist() == (1 + 2.5 * x).tolist()
        assert total(n, x) == x.sum()
    assert axpy._known_calls == total._known_calls == 1
    x, y = np.arange(4.0), np.ones(4)
    axpy(4, 2, x, y)
    axpy(4, 1e300, x[:4], y)  # C's float has no such number
    assert np.isinf(y[1:]).all()
    for wrong in ((5, 1.0, x, y), (4, 1.0, x, x), (2, 1.0, x[::2], y[:2]), (2**40, 1.0, x, y)):
        with pytest.raises((tw.ArgumentError, tw.ArgumentTypeError, tw.ArgumentOverflowError)):
            axpy(*wrong)


def test_names_need_not_be_the_same_objects() -> None:
    """Keywords of a dictionary may be made; those of a C file come from its text."""
    function, calls = made(shifted)
    x, y = np.ones(4), np.zeros(4)
    given = {"".join(["", name]): value for name, value in zip("naxy", (4, 2.0, x, y), strict=True)}
    function(**given)
    function(**{bytes(name, "ascii").decode(): value for name, value in given.items()})
    function(n=4, a=2.0, x=x, y=y)
    function(4, 2.0, y=y, x=x)
    assert len(calls) == 1
    assert y.tolist() == [8, 8, 8, 8]


def test_the_names_of_a_c_file_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "void scaled(int length, double factor, double values[length]) {\n"
        "#pragma scop\n  for (int i = 0; i < length; i++) values[i] *= factor;\n#pragma endscop\n}"
    )
    function = tw.c.load(text).scaled
    values = np.ones(3)
    function(length=3, factor=2.0, values=values)
    monkeypatch.setattr(type(function), "_call_anew", None)  # a call that comes to it fails
    function(length=3, factor=2.0, values=values)
    function(3, 2.0, values=values)
    assert values.tolist() == [8, 8, 8]
