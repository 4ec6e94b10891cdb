"""`StreamFunction.batch`: a program over so many elements, as an ordinary function, gives what pushes give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

n, r, c, i = tw.iters("n r c i")
R, C, N = tw.params("R C N")
ENDLESS = {n: tw.forever}


def smooth() -> Any:
    x, a = tw.stream("x", tw.float64), tw.input("a", [], tw.float64)
    y = tw.computation("y", ENDLESS, dtype=tw.float64)
    y.define(n == 0, (1 - a[()]) * x[0])
    y.define(n > 0, a[()] * y[n - 1] + (1 - a[()]) * x[n])
    return tw.stream_function("smooth", outputs=[y])


def decimated() -> Any:
    x, h = tw.stream("x", tw.int32, shape=[C]), tw.input("h", [R], tw.int32)
    ranges = {n: tw.forever, c: C}
    low = tw.computation("low", ranges, tw.sum(h[r] * x[n - r, c], over={r: R}, where=n >= r))
    half = tw.computation("half", ranges, low[2 * n, c])
    return tw.stream_function("decimated", outputs=[half])


def test_a_batch_is_an_ordinary_function() -> None:
    k, x = smooth(), np.random.default_rng(1).random(50)
    f = k.batch(50)
    assert isinstance(f, tw.Function) and f.inputs == ["x", "a"]
    assert "y[n] = a[()] * y[n - 1] + (1.0 - a[()]) * x[n]" in f.loops
    whole, _ = k(x, a=0.9)
    np.testing.assert_array_equal(f(x, 0.9), whole)
    np.testing.assert_array_equal(f(a=0.9, x=x), whole)
    f["y"].split("n", 8)
    assert "for n1 in" in f.loops
    np.testing.assert_array_equal(f(x, 0.9), whole)
    f.auto_schedule()
    np.testing.assert_array_equal(f(x, 0.9), whole)
    with pytest.raises(ValueError, match="50"):
        f(x[:49], 0.9)


@pytest.mark.parametrize("length", [0, 1, 2, 7, 50])
@pytest.mark.parametrize("is_number", [True, False])
def test_lengths(length: int, is_number: bool) -> None:
    rng = np.random.default_rng(length)
    x, taps = rng.integers(-9, 9, (length, 2), np.int32), rng.integers(-9, 9, 4, np.int32)
    k = decimated()
    f = k.batch(length if is_number else N, R=4, C=2)
    np.testing.assert_array_equal(f(x, taps), k(x, h=taps, C=2)[0])


def _programs() -> dict[str, tuple[Any, tuple[np.ndarray, ...]]]:
    rng = np.random.default_rng(3)
    x, d = tw.stream("x", tw.float64), tw.stream("d", tw.int64)
    data, late = rng.random(60), rng.integers(-3, 30, 60)
    recurrent = tw.computation("y", ENDLESS, dtype=tw.float64)
    recurrent.define(None, x[n] + 0.5 * recurrent[n - tw.clamp(d[n], 1, 9)])
    grid = tw.computation("grid", {n: tw.forever, i: (-2, 3)}, x[n] * tw.cast(i, tw.float64))
    window = tw.computation("window", {i: (-1, 4)}, 0.25 * tw.cast(i, tw.float64))
    shown = {
        "ahead": (tw.computation("y", ENDLESS, tw.max(x[n + r], over={r: 5})), (data,)),
        "resampled": (tw.computation("y", ENDLESS, x[3 * n // 2] + x[3 * n // 2 + 1]), (data,)),
        "frames": (tw.computation("y", {n: tw.forever, r: 8}, x[4 * n + r]), (data,)),
        "data say when": (
            tw.computation("y", ENDLESS, x[tw.clamp(n - d[n], n - 20, n)]),
            (data, late),
        ),
        "data say which": (recurrent, (data, late)),
        "points below 0": (grid, (data,)),
        "a table": (tw.computation("y", ENDLESS, x[n] * window[n % 5 - 1]), (data,)),
        "undefined": (tw.computation("y", ENDLESS, [(n % 3 == 1, x[n])]), (data,)),
    }
    return {
        name: (tw.stream_function("k", [output], inputs=[x, d][: len(arrays)]), arrays)
        for name, (output, arrays) in shown.items()
    }


@pytest.mark.parametrize("name", _programs())
def test_beside_pushes(name: str) -> None:
    k, arrays = _programs()[name]
    expected, _ = k(*arrays)
    np.testing.assert_array_equal(k.batch(60)(*arrays), expected)
    np.testing.assert_array_equal(k.batch(N)(*arrays), expected)


def test_several_outputs_and_inputs_at_rates() -> None:
    x, gate = tw.stream("x", tw.float64), tw.stream("gate", tw.float64)
    y = tw.computation("y", ENDLESS, x[2 * n] * gate[n])
    z = tw.computation("z", ENDLESS, x[n + 1] - x[n])
    k = tw.stream_function("mixed", outputs=[y, z])
    a, b = np.random.default_rng(7).random((2, 40))
    for f in (k.batch(40), k.batch(N)):
        for found, expected in zip(f(a, b[:20]), k(a, b[:20])[0], strict=True):
            np.testing.assert_array_equal(found, expected)
    with pytest.raises(
        tw.ArgumentError, match="7 elements of x go with 7/2 of gate: give a multiple of 2"
    ):
        k.batch(7)


def test_what_batches_are_not_made_of() -> None:
    k = decimated()
    with pytest.raises(tw.ArgumentError, match=r"decimated needs R, C: k\.batch\(n, R=\.\.\.\)"):
        k.batch(5)
    with pytest.raises(tw.ArgumentError, match="decimated has R, C, not 'Q'"):
        k.batch(5, Q=3)
    with pytest.raises(
        tw.ArgumentTypeError, match=r'a number or a parameter such as tw\.param\("N"\), got n'
    ):
        k.batch(n, R=4, C=2)
    with pytest.raises(
        tw.ArgumentTypeError, match=r"number of elements of x must be an integer, got 2\.5"
    ):
        k.batch(2.5, R=4, C=2)
    with pytest.raises(
        tw.ArgumentError, match="number of elements of x must be at least 0, got -1"
    ):
        k.batch(-1, R=4, C=2)
    with pytest.raises(ValueError, match="R = 4"):
        k.batch(6, R=4, C=2)(np.ones((6, 2), np.int32), np.ones(5, np.int32))
