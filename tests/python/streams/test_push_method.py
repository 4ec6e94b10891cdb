"""Pushes like the last one, which run without Python code: the same elements, errors and states."""

from __future__ import annotations

import inspect
import sys
import threading
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import _core

n = tw.iter("n")


def totals() -> tw.Stream:
    x = tw.stream("x", tw.int64)
    total = tw.computation("total", {n: tw.forever}, dtype=tw.int64)
    total.define(n == 0, x[n])
    total.define(n > 0, total[n - 1] + x[n])
    return tw.stream_function("totals", outputs=[total]).stream()


def mixed() -> tw.Stream:
    """Two inputs at different rates, two outputs."""
    a, b = tw.stream("a", tw.float64), tw.stream("b", tw.float64)
    y = tw.computation("y", {n: tw.forever}, a[n] + b[2 * n])
    z = tw.computation("z", {n: tw.forever}, a[n] - b[2 * n + 1])
    return tw.stream_function("mixed", outputs=[y, z]).stream()


def python_calls(call: Any) -> list[str]:
    """The names of the Python functions that run in it."""
    names: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            names.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names


def test_a_push_like_the_last_one_runs_no_python_code() -> None:
    s, out = totals(), np.empty(5, np.int64)
    chunk = np.ones(5, np.int64)
    for _ in range(2):  # the first element is another one than all later ones
        assert "push" in python_calls(lambda: s.push(chunk, out=out))
    for turn in range(3, 50):
        assert python_calls(lambda: s.push(chunk, out=out)) == ["<lambda>"]
        np.testing.assert_array_equal(out, np.arange(5 * turn - 4, 5 * turn + 1))
    assert s.pushed == {"x": 49 * 5}
    assert "push" in python_calls(lambda: s.push(chunk[:3], out=out[:3]))
    np.testing.assert_array_equal(out[:3], [246, 247, 248])


def test_several_inputs_and_outputs() -> None:
    s, other = mixed(), mixed()
    rng = np.random.default_rng(0)
    outs = np.empty(4), np.empty(4)
    for turn in range(6):
        chunks = rng.random(4), rng.random(8)
        calls = python_calls(lambda chunks=chunks: s.push(*chunks, out=outs))
        assert (calls == ["<lambda>"]) == (turn > 0)
        for found, expected in zip(outs, other.push(*chunks), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert s.push(*chunks, out=outs) is outs
    for out in (outs[0], outs[:1], [*outs, outs[0]], (*outs, outs[0])):
        with pytest.raises(tw.ArgumentError, match="out must have 2 arrays"):
            s.push(*chunks, out=out)
    assert s.push(*chunks, out=list(outs)) is not None
    with pytest.raises(tw.ArgumentError, match="a chunk of b is missing"):
        s.push(chunks[0], out=outs)
    with pytest.raises(tw.ArgumentError, match="8 of b, got 4"):
        s.push(chunks[0], chunks[0], out=outs)
    assert s.pushed == {"a": 8 * 4, "b": 16 * 4}


def test_what_is_given_otherwise_is_as_it_was() -> None:
    """Other layouts of the same shape, and each refusal, between pushes that are alike."""
    s, out = totals(), np.empty(4, np.int64)
    chunk = np.arange(4)
    locked = np.empty(4, np.int64)
    locked.flags.writeable = False
    expected = 0
    refused: list[tuple[Any, Any, str]] = [
        (chunk, locked, "read-only|writ"),
        (chunk, np.empty(4), "int64"),
        (chunk, np.empty(5, np.int64), "shape"),
        (chunk.astype(np.int32), out, "int64"),
        (chunk[None], out, "shape"),
    ]
    for given, target, reason in refused:
        for kind in (chunk, np.arange(8)[::2] // 2, chunk[::-1][::-1]):
            s.push(kind, out=out)
            expected += 6
            assert out[-1] == expected
        with pytest.raises((tw.TilewrightError, ValueError, TypeError), match=reason):
            s.push(given, out=target)
        assert s.push(chunk)[-1] == expected + 6
        expected += 6
    with pytest.raises(tw.ArgumentError, match="no stream 'y'"):
        s.push(chunk, out=out, y=chunk)
    assert s.push(x=chunk, out=out)[-1] == expected + 6
    same = chunk.copy()
    np.testing.assert_array_equal(s.push(same, out=same), expected + 6 + np.cumsum(chunk))


def test_reset_close_clone_and_longer_lines_between() -> None:
    s = tw.kernels.dsp.fir(tw.float64).stream(h=np.array([1.0, 2.0, 3.0]))
    chunk, out = np.ones(4), np.empty(4)
    for _ in range(3):
        s.push(chunk, out=out)
    s.reset()
    np.testing.assert_array_equal(s.push(chunk, out=out), [1, 3, 6, 6])
    s.push(chunk, out=out)
    s.push(np.ones(5000))  # its lines move to longer arrays
    np.testing.assert_array_equal(s.push(chunk, out=out), [6, 6, 6, 6])
    other = s.clone()
    s.push(2 * chunk, out=out)
    np.testing.assert_array_equal(other.push(chunk, out=out), [6, 6, 6, 6])
    np.testing.assert_array_equal(s.push(chunk, out=out), [11, 9, 6, 6])
    s.close()
    with pytest.raises(tw.ArgumentError, match="closed"):
        s.push(chunk, out=out)


def test_streams_that_collect_periods_keep_what_waits() -> None:
    """Their pushes of one size do not give the same number of elements."""
    x = tw.stream("x", tw.float64)
    y = tw.computation("y", {n: tw.forever}, 2 * x[n])
    k = tw.stream_function("doubled", outputs=[y])
    k.periodic(size=4)
    s = k.stream()
    found = [np.array(s.push(np.arange(3.0) + 3 * turn)) for turn in range(12)]
    np.testing.assert_array_equal(np.concatenate(found), 2 * np.arange(36.0))


def test_threads_push_one_stream_in_some_order() -> None:
    s = totals()
    s.push(np.ones(7, np.int64), out=np.empty(7, np.int64))
    found: list[np.ndarray] = []

    def run() -> None:
        chunk = np.ones(7, np.int64)
        for _ in range(300):
            found.append(s.push(chunk, out=np.empty(7, np.int64)))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert s.pushed == {"x": 7 * 1201}
    ordered = np.concatenate(sorted(found, key=lambda each: each[0]))
    np.testing.assert_array_equal(ordered, np.arange(8, 7 * 1201 + 1))


def test_an_error_of_the_kernel_loses_nothing() -> None:
    x, table = tw.stream("x", tw.int64), tw.input("table", [4], tw.float64)
    y = tw.computation("y", {n: tw.forever}, table[x[n]])
    s = tw.stream_function("looked_up", outputs=[y]).stream(table=np.arange(4.0))
    out = np.empty(2)
    for _ in range(3):
        s.push(np.array([3, 1]), out=out)
        np.testing.assert_array_equal(out, [3, 1])
        with pytest.raises(tw.TilewrightError, match="table"):
            s.push(np.array([1, 4]), out=out)
    assert s.pushed == {"x": 6}


def test_the_method_looks_like_the_function_it_wraps() -> None:
    assert str(inspect.signature(tw.Stream.push)).startswith("(self, /, *chunks: ")
    assert str(inspect.signature(totals().push)).startswith("(*chunks: ")
    assert "chunks" in (inspect.getdoc(tw.Stream.push) or "")
    assert tw.Stream.push.__name__ == "push"
    assert tw.Stream.push.__qualname__ == "Stream.push"
    assert tw.Stream.push.__module__ == "tilewright.streams.states"
    assert inspect.isroutine(tw.Stream.push)
    s = totals()
    np.testing.assert_array_equal(tw.Stream.push(s, np.ones(2, np.int64)), [1, 2])
    with pytest.raises(TypeError):
        tw.Stream.push()
    with pytest.raises(AttributeError, match="nothing_like_it"):
        tw.Stream.push.nothing_like_it
    with pytest.raises(TypeError, match="must be arrays"):
        _core.alike_push(threading.Lock(), (1,), (2,), (print, print), 1)
