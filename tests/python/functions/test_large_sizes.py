"""Sizes with which loops, subscripts or the sizes of arrays would leave 64 bits are refused at the call,
with the figures, on every road; a number that is only computed with may be any of 64 bits."""

from __future__ import annotations

import ctypes
import pathlib
import re

import numpy as np
import pytest

import tilewright as tw

N, P = tw.param("N"), tw.param("P", minimum=None)
i, j, k = tw.iters("i j k")
LIMIT = 2**40


def counting(over: dict) -> tw.Function:
    c = tw.computation("C", {}, tw.sum(1, over=over))
    return tw.function("count", outputs=[c])


@pytest.mark.parametrize(
    ("over", "given", "figures"),
    [
        (
            {i: 4 * N},
            {"N": 2**61},
            ["N = 2305843009213693952", "4 * N would be 9223372036854775808"],
        ),
        (
            {k: (P, P + 3)},
            {"P": 2**63 - 2},
            ["P = 9223372036854775806", "P + 3 would be 9223372036854775809"],
        ),
        (
            {k: (P, P + 3)},
            {"P": -(2**63)},
            ["below -2**40 (-1099511627776)", "9223372036854775805"],
        ),
        ({i: N}, {"N": LIMIT + 1}, ["N = 1099511627777", "2**40 (1099511627776)"]),
        ({i: N, j: (i, i * 2**20)}, {"N": 2**50}, ["N = 1125899906842624"]),
    ],
)
def test_sizes_that_overflow_are_refused_with_the_figures(over, given, figures) -> None:
    for schedule in (lambda c: None, lambda c: c.split(next(iter(over)), 8)):
        f = counting(over)
        schedule(f["C"])
        runs = (f, f.evaluate, f.compile, lambda f=f, **g: f.compile_async(**g).result())
        for run in runs:
            with pytest.raises(tw.ArgumentOverflowError, match="TW302") as caught:
                run(**given)
            assert isinstance(caught.value, ValueError)
            for figure in ["count: ", *figures]:
                assert figure in str(caught.value)


def test_the_largest_size_is_taken() -> None:
    assert counting({k: (P, P + 3)})(P=LIMIT) == 3
    assert counting({k: (P, P + 3)})(P=-LIMIT) == 3
    assert counting({k: (P, P + 3)}).evaluate(P=LIMIT) == 3


def test_a_size_that_follows_from_an_array_is_refused_too() -> None:
    n = tw.param("N", minimum=3)
    x = tw.input("x", [n], tw.float64)
    f = tw.function("f", outputs=[tw.computation("y", {i: 3}, x[i])])
    long = np.lib.stride_tricks.as_strided(np.ones(1), (LIMIT + 1,), (0,))
    with pytest.raises(tw.ArgumentOverflowError, match="N is the length of axis 0 of x"):
        f(long)
    np.testing.assert_array_equal(f(long[:LIMIT]), 1)


@pytest.mark.parametrize("value", [2**62, -(2**63), 2**63 - 1])
def test_a_number_that_is_no_size_may_be_any(value: int) -> None:
    y = tw.input("y", [N], tw.int64)
    data = np.arange(3)
    for expression, expected in (
        (y[i] * P, data * np.int64(value)),
        (tw.cast(P, tw.float64) + y[i], data + float(value)),
        (tw.select(y[i] > P, y[i], 5), np.where(data > value, data, 5)),
        (P, np.full(3, value)),
    ):
        f = tw.function("f", inputs=[y], outputs=[tw.computation("z", {i: N}, expression)])
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(f(data, P=value), expected)
            np.testing.assert_array_equal(f.evaluate(data, P=value), expected)


def test_arithmetic_with_indices_makes_a_size_and_the_message_says_the_way_out() -> None:
    f = tw.function("f", outputs=[tw.computation("z", {i: N}, P + i)])
    with pytest.raises(tw.ArgumentOverflowError, match=re.escape('tw.input("P", [], tw.int64)')):
        f(N=2, P=2**62)
    # Written in two steps: the second one may be computed in place of the first.
    p = tw.computation("p", {i: N}, P)
    g = tw.function("g", outputs=[tw.computation("z", {i: N}, p[i] + i)])
    with pytest.raises(tw.ArgumentOverflowError):
        g(N=2, P=2**62)


def test_a_device_is_not_asked() -> None:
    size = tw.param("P")
    x = tw.input("x", [3], tw.float32)
    c = tw.computation("C", {i: 4 * size}, x[0] + 1)
    f = tw.function("f", inputs=[x], outputs=[c], target="gpu-emulator")
    c.gpu(i)
    with pytest.raises(tw.ArgumentOverflowError, match="4 \\* P would be 9223372036854775808"):
        f(np.ones(3, np.float32), P=2**61)


def test_an_exported_library_returns_the_status_of_sizes(tmp_path: pathlib.Path) -> None:
    exported = counting({k: (P, P + 3)}).export(tmp_path)
    call = ctypes.CDLL(str(exported.library)).count
    count = ctypes.c_int64()
    assert call(ctypes.byref(count), ctypes.c_int64(LIMIT)) == 0
    assert count.value == 3
    for value in (LIMIT + 1, 2**63 - 2, -LIMIT - 1, -(2**63)):
        assert call(ctypes.byref(count), ctypes.c_int64(value)) != 0


def test_a_condition_that_sizes_could_take_out_of_64_bits_is_refused() -> None:
    where = (2**29) * i < (2**29 + 1) * N
    c = tw.computation("C", {}, tw.sum(1, over={i: 2 * N}, where=where))
    f = tw.function("f", outputs=[c])
    with pytest.raises(tw.ScheduleError, match="may pass 64 bits"):
        f(N=4)
    n = tw.param("n", "n <= 1000")
    where = (2**29) * i < (2**29 + 1) * n
    c = tw.computation("C", {}, tw.sum(1, over={i: 2 * n}, where=where))
    assert tw.function("f", outputs=[c])(n=4) == 5


@pytest.mark.parametrize(
    "value",
    [
        k * 2**20 // 2**20,
        (k * 2**20 + 1) % 7,
        tw.minimum(k * 2**20, 5),
        (k + k) * 2**19 // 3,
    ],
)
@pytest.mark.parametrize("tile", [None, 4])
def test_arithmetic_on_a_loop_that_passes_sizes_wraps(value, tile) -> None:
    """The bounds of a loop have factors: its variable may be larger than any size."""
    c = tw.computation("C", {}, tw.sum(value, over={k: (32 * N - 9, 32 * N)}))
    f = tw.function("f", outputs=[c])
    if tile:
        c.split(k, tile).unroll("k1")
    for n in (5, 2**38, LIMIT):
        assert f(N=n) == f.evaluate(N=n)
