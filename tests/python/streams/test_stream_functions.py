"""Streams: what comes out is what the definition says, however the input is cut into chunks."""

from __future__ import annotations

import asyncio
import pickle
import re
import threading
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from refusals import raises

n, m, r, c, i = tw.iters("n m r c i")
R, C = tw.params("R C")


def cut(rng: np.random.Generator, array: np.ndarray, multiple: int = 1) -> list[np.ndarray]:
    """Into pieces of random lengths, some of them empty."""
    places = np.sort(rng.integers(0, len(array) // multiple + 1, 6)) * multiple
    return np.split(array, [0, *places, places[-1]])


def pushed(stream: Any, chunks: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([stream.push(chunk) for chunk in chunks])


def smooth() -> Any:
    x = tw.stream("x", tw.float64)
    a = tw.input("a", [], tw.float64)
    y = tw.computation(
        "y",
        {n: tw.forever},
        lambda y: [(n == 0, (1 - a[()]) * x[0]), (n > 0, a[()] * y[n - 1] + (1 - a[()]) * x[n])],
        dtype=tw.float64,
    )
    return tw.stream_function("smooth", outputs=[y])


def expected_smooth(x: np.ndarray, a: float) -> np.ndarray:
    y = np.empty_like(x)
    for k, value in enumerate(x):
        y[k] = (1 - a) * value if k == 0 else a * y[k - 1] + (1 - a) * value
    return y


def test_a_recurrence() -> None:
    rng = np.random.default_rng(1)
    x = rng.random(200)
    s = smooth().stream(a=0.9)
    np.testing.assert_array_equal(pushed(s, cut(rng, x)), expected_smooth(x, 0.9))
    assert s.latency == {"y": 0} and s.period == {"x": 1, "y": 1}
    assert s.pushed == {"x": 200}
    assert s.state_nbytes == 8
    assert s.flush().shape == (0,)


def test_taps_and_channels() -> None:
    x = tw.stream("x", tw.float32, shape=[C])
    h = tw.input("h", [R], tw.float32)
    y = tw.computation(
        "y", {n: tw.forever, c: C}, tw.sum(h[r] * x[n - r, c], over={r: R}, where=n - r >= 0)
    )
    k = tw.stream_function("fir", outputs=[y])
    rng = np.random.default_rng(2)
    data, taps = rng.random((300, 2), np.float32), rng.random(17, np.float32)
    whole = k.stream(h=taps, C=2).push(data)
    for _ in range(5):
        np.testing.assert_array_equal(pushed(k.stream(h=taps, C=2), cut(rng, data)), whole)
    for channel in range(2):
        exact = np.convolve(data[:, channel].astype(np.float64), taps)[:300]
        np.testing.assert_allclose(whole[:, channel], exact, rtol=1e-5)
    s = k.stream(h=taps, C=2)
    rows = [line.split() for line in s.report().splitlines()]
    assert ["x", "1", "16", "x", "2", "sliding", "128"] in rows


def test_rates() -> None:
    """Two elements become one, one becomes three, three become two."""
    x = tw.stream("x", tw.float64)
    half = tw.computation("half", {n: tw.forever}, x[2 * n] - x[2 * n + 1])
    triple = tw.computation("triple", {n: tw.forever}, x[n // 3])
    resampled = tw.computation("resampled", {n: tw.forever}, x[3 * n // 2])
    k = tw.stream_function("rates", outputs=[half, triple, resampled])
    rng = np.random.default_rng(3)
    data = rng.random(101)
    s = k.stream()
    parts = [s.push(chunk) for chunk in cut(rng, data)]
    found = [np.concatenate(each) for each in zip(*parts, strict=True)]
    np.testing.assert_array_equal(found[0], data[:100:2] - data[1:101:2])
    np.testing.assert_array_equal(found[1], np.repeat(data, 3))
    np.testing.assert_array_equal(found[2], data[[3 * q // 2 for q in range(68)]])
    assert s.period == {"x": 6, "half": 3, "triple": 18, "resampled": 4}


def test_frames_that_overlap() -> None:
    x = tw.stream("x", tw.float32)
    frames = tw.computation("frames", {m: tw.forever, r: 8}, x[4 * m + r])
    k = tw.stream_function("frames_of", outputs=[frames])
    data = np.arange(50, dtype=np.float32)
    found = pushed(k.stream(), cut(np.random.default_rng(4), data))
    np.testing.assert_array_equal(found, [data[4 * q : 4 * q + 8] for q in range(11)])


def test_what_is_read_ahead_is_waited_for() -> None:
    x = tw.stream("x", tw.int32)
    y = tw.computation("y", {n: tw.forever}, tw.max(x[n + r], over={r: 5}))
    z = tw.computation("z", {n: tw.forever}, y[n + 2] - x[n])
    k = tw.stream_function("ahead", outputs=[z, y])
    s = k.stream()
    assert s.latency == {"z": 6, "y": 4}
    assert s.counts_after(3) == {"z": 0, "y": 0}
    assert s.counts_after(7) == {"z": 1, "y": 3}
    data = np.random.default_rng(5).integers(-99, 99, 60, np.int32)
    parts = [s.push(chunk) for chunk in np.split(data, [1, 2, 3, 4, 7, 8, 30])]
    top = np.array([data[q : q + 5].max() for q in range(56)])
    np.testing.assert_array_equal(np.concatenate([part[1] for part in parts]), top)
    np.testing.assert_array_equal(np.concatenate([part[0] for part in parts]), top[2:] - data[:54])


def test_a_wave_equation() -> None:
    points = 20
    x = tw.stream("x", tw.float64)

    def moved(u: Any) -> Any:
        return 1.9 * u[n - 1, i] - u[n - 2, i] + 0.05 * (u[n - 1, i - 1] + u[n - 1, i + 1])

    u = tw.computation(
        "u",
        {n: tw.forever, i: points},
        lambda u: [
            (i == 0, x[n]),
            ((i > 0) & ((n < 2) | (i == points - 1)), 0.0),
            ((i > 0) & (n >= 2) & (i < points - 1), moved(u)),
        ],
        dtype=tw.float64,
    )
    heard = tw.computation("heard", {n: tw.forever}, u[n, points // 2])
    k = tw.stream_function("wave", outputs=[heard])
    rng = np.random.default_rng(6)
    data = rng.random(150)
    state = np.zeros((150, points))
    for q in range(150):
        state[q, 0] = data[q]
        if q >= 2:
            one, two = state[q - 1], state[q - 2]
            state[q, 1:-1] = 1.9 * one[1:-1] - two[1:-1] + 0.05 * (one[:-2] + one[2:])
    np.testing.assert_array_equal(pushed(k.stream(), cut(rng, data)), state[:, points // 2])


def test_several_inputs_and_a_source() -> None:
    x, gate = tw.stream("x", tw.float64), tw.stream("gate", tw.float64)
    tone = tw.computation("tone", {n: tw.forever}, tw.sin(0.1 * tw.cast(n, tw.float64)))
    y = tw.computation("y", {n: tw.forever}, x[2 * n] * gate[n] + tone[n])
    k = tw.stream_function("mixed", outputs=[y])
    assert k.inputs == ("x", "gate")
    a, b = np.random.default_rng(7).random((2, 40))
    s = k.stream()
    found = np.concatenate([s.push(a[:10], b[:5]), s.push(gate=b[5:20], x=a[10:])])
    np.testing.assert_allclose(found, a[::2] * b[:20] + np.sin(0.1 * np.arange(20)), rtol=1e-14)
    with pytest.raises(tw.ArgumentError, match="4 elements of x go with 2 of gate, got 3"):
        s.push(a[:4], b[:3])
    s.push(a[:4], b[:2])  # nothing is lost


def test_after_very_many_elements() -> None:
    """Times are numbers of 64 bits: state and phases go on beyond 2**32."""
    x = tw.stream("x", tw.int64)
    y = tw.computation("y", {n: tw.forever}, x[3 * n // 2] + tw.cast(n, tw.int64))
    k = tw.stream_function("late", outputs=[y])
    for ticks in (2**32 - 3, 2**40 - 99):
        start = ticks - ticks % 3
        first = start // 3 * 2
        found = pushed(k.stream(start=start), np.split(np.arange(9) + start, [1, 2, 6]))
        expected = [3 * q // 2 + q for q in range(first, first + 6)]
        np.testing.assert_array_equal(found, expected)


def test_states_are_values() -> None:
    data = np.random.default_rng(8).random(60)
    expected = expected_smooth(data, 0.5)
    s = smooth().stream(a=0.5)
    s.push(data[:20])
    copies = [s.clone(), pickle.loads(pickle.dumps(s))]
    for other in (s, *copies):
        np.testing.assert_array_equal(other.push(data[20:]), expected[20:])
    s.reset()
    np.testing.assert_array_equal(s.push(data), expected)
    y, zf = smooth()(data[:20], a=0.5)
    more, _ = smooth()(data[20:], zi=zf)
    np.testing.assert_array_equal(np.concatenate([y, more]), expected)
    again, _ = smooth()(data[20:], zi=zf)  # zi stayed as it was
    np.testing.assert_array_equal(again, more)


def test_out_and_generators() -> None:
    data = np.random.default_rng(9).random(60)
    expected = expected_smooth(data, 0.5)
    s = smooth().stream(a=0.5)
    out = np.empty(60)
    assert s.push(data, out=out) is out
    np.testing.assert_array_equal(out, expected)
    s.reset()
    chunks = [data[:7], data[7:30], data[30:]]
    np.testing.assert_array_equal(np.concatenate([*s.process(chunks)]), expected)

    async def source() -> AsyncIterator[np.ndarray]:
        for chunk in chunks:
            yield chunk

    async def heard() -> list[np.ndarray]:
        return [found async for found in s.aprocess(source())]

    s.reset()
    np.testing.assert_array_equal(np.concatenate(asyncio.run(heard())), expected)


def test_streams_in_threads() -> None:
    k = smooth()
    data = np.random.default_rng(10).random(2000)
    results: dict[int, np.ndarray] = {}

    def run(number: int) -> None:
        s = k.stream(a=0.1 * number)
        results[number] = np.concatenate([s.push(chunk) for chunk in np.split(data, 50)])

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, found in results.items():
        np.testing.assert_array_equal(found, expected_smooth(data, 0.1 * number))
    assert len(results) == 4


# ---- what is refused ----


def refused(outputs: Any, match: str) -> None:
    with pytest.raises(tw.DeclarationError, match=match):
        tw.stream_function("f", outputs=outputs)


def test_programs_that_need_memory_without_bound() -> None:
    x = tw.stream("x", tw.float64)
    y = tw.computation("y", {n: tw.forever}, x[n] + x[2 * n])
    refused(y, "at distances that grow without bound")
    first = tw.computation("first", {n: tw.forever}, x[n] - x[0])
    refused(first, "needs the same elements for ever")
    total = tw.computation("total", {n: tw.forever}, tw.sum(x[i], over={i: n + 1}))
    refused(total, "needs the same elements for ever")


def test_programs_that_never_begin() -> None:
    x = tw.stream("x", tw.float64)
    y = tw.computation("y", {n: tw.forever}, dtype=tw.float64)
    z = tw.computation("z", {n: tw.forever}, y[n + 1] + x[n])
    y.define(None, z[n])
    refused([y], "waits for elements that wait for it")
    v = tw.computation("v", {n: tw.forever}, dtype=tw.float64)  # runs backwards in blocks of four
    v.define(n % 4 == 3, x[n])
    v.define(n % 4 != 3, 0.5 * v[n + 1] + x[n])
    refused([v], "a dimension of their own")


def test_parts_that_have_nothing_to_do_with_each_other() -> None:
    x, v = tw.stream("x", tw.float64), tw.stream("v", tw.float64)
    one = tw.computation("one", {n: tw.forever}, 2 * x[n])
    two = tw.computation("two", {n: tw.forever}, 2 * v[n])
    refused([one, two], "nothing connects")


def test_declarations_that_are_no_streams() -> None:
    x = tw.stream("x", tw.float64)
    both = tw.computation("both", {n: tw.forever, m: tw.forever}, x[n] + x[m])
    refused(both, "2 infinite directions, n and m")
    finite = tw.computation("finite", {n: 5}, x[n])
    refused(finite, "the output finite of f is no stream")
    y = tw.computation("y", {n: tw.forever}, 1.0 * n)
    refused(y, "reads no stream")
    with pytest.raises(tw.DeclarationError, match=r"tw\.stream_function"):
        tw.function("f", outputs=[tw.computation("z", {n: tw.forever}, 1.0 * n)])
    with pytest.raises(tw.DeclarationError, match="x is an input"):
        x.define(None, 1.0)


def test_calls_that_make_no_sense() -> None:
    k = smooth()
    with pytest.raises(tw.ArgumentError, match="needs a: pass a="):
        k.stream()
    with pytest.raises(tw.ArgumentError, match="takes a, not 'b'"):
        k.stream(a=1.0, b=2.0)
    s = k.stream(a=0.5)
    s.push(np.ones(3))
    for chunk, error, match in (
        (np.ones(3, np.float32), TypeError, "x must be float64, got float32"),
        (np.ones((3, 2)), ValueError, r"must have the shape \(any\), got \(3, 2\)"),
    ):
        with pytest.raises(error, match=match):
            s.push(chunk)
    with pytest.raises(ValueError, match="a chunk of x is missing"):
        s.push()
    with pytest.raises(ValueError, match="no stream 'v'"):
        s.push(v=np.ones(3))
    with pytest.raises(ValueError, match=r"out of y must have the shape \(2,\), got \(3,\)"):
        s.push(np.ones(2), out=np.empty(3))
    np.testing.assert_array_equal(s.push(np.ones(2)), expected_smooth(np.ones(5), 0.5)[3:])
    s.close()
    with pytest.raises(ValueError, match="closed"):
        s.push(np.ones(3))


def test_subscripts_that_turn_with_the_time() -> None:
    """What finite arrays are read at, and of which elements in turns, does not depend on the cuts."""
    n, r = tw.iters("n r")
    x, h = tw.stream("x", tw.int64), tw.input("h", [3], tw.int64)
    values = {
        "turned": x[n] * h[n % 3],
        "held": x[n - n % 3],
        "summed": tw.sum(h[(n + r) % 3] * (r + 1) * x[n], over={r: 3}),
    }
    pushed, taps, at = np.arange(1, 21), np.array([1, 2, 5]), np.arange(20)
    expected = {
        "turned": pushed * taps[at % 3],
        "held": pushed[at - at % 3],
        "summed": sum(taps[(at + r) % 3] * (r + 1) * pushed for r in range(3)),
    }
    for name, value in values.items():
        k = tw.stream_function("k", [tw.computation(name, {n: tw.forever}, value)])
        s = k.stream() if name == "held" else k.stream(h=taps)
        found = np.concatenate([s.push(each) for each in np.split(pushed, [1, 2, 4, 5, 11])])
        np.testing.assert_array_equal(found, expected[name])


# ---- what no piece defines ----

PARTIAL = {
    "a start that is forgotten": lambda x, n: (
        tw.computation(
            "y",
            {n: tw.forever},
            lambda y: [(n == 0, x[0]), (n >= 2, x[n] + y[n - 1] + y[n - 2])],
            dtype=tw.float64,
        ),
        "y[2] reads y[1], outside y's defined points",
    ),
    "times between": lambda x, n: (
        tw.computation(
            "z", {n: tw.forever}, tw.computation("g", {n: tw.forever}, [(n % 2 == 0, x[n])])[n] + 1
        ),
        "z[1] reads g[1], outside g's defined points",
    ),
    "a channel": lambda x, n: (
        tw.computation(
            "z",
            {n: tw.forever},
            tw.computation(
                "w",
                {n: tw.forever, tw.iter("c"): 3},
                [(tw.iter("c") == 0, x[n]), (tw.iter("c") == 2, 2 * x[n])],
            )[n, 1]
            + 1,
        ),
        "z[0] reads w[0,1], outside w's defined points",
    ),
}


@pytest.mark.parametrize("name", PARTIAL)
def test_reads_of_what_no_piece_defines(name):
    x, n = tw.stream("x", tw.float64), tw.iter("n")
    output, message = PARTIAL[name](x, n)
    with raises(tw.DomainError, re.escape(message)) as caught:
        tw.stream_function("f", outputs=[output])
    assert "a piece of its own" in caught.value.message and "forever" not in caught.value.message


def test_pieces_that_define_what_is_read():
    """Of those that nobody reads, elements are 0, as in arrays."""
    x, n = tw.stream("x", tw.float64), tw.iter("n")
    g = tw.computation("g", {n: tw.forever}, [(n % 2 == 0, x[n])])
    z = tw.computation("z", {n: tw.forever}, tw.select(n % 2 == 0, g[n], 7.0))
    late = tw.computation("late", {n: tw.forever}, [(n > 0, x[n - 1])])
    z_pushed, late_pushed = (
        tw.stream_function("f", outputs=[z, late]).stream().push(np.arange(1.0, 6.0))
    )
    np.testing.assert_array_equal(z_pushed, [1, 7, 3, 7, 5])
    np.testing.assert_array_equal(late_pushed, [0, 1, 2, 3, 4])


def test_a_computation_without_an_expression_is_no_input():
    x, n = tw.stream("x", tw.float64), tw.iter("n")
    e = tw.computation("e", {n: tw.forever}, dtype=tw.float64)
    with raises(tw.DeclarationError, "the computation e has no expression"):
        tw.stream_function("f", outputs=[tw.computation("y", {n: tw.forever}, x[n] + e[n])])
    with raises(tw.DeclarationError, "y is a stream, which has no end: make the function with"):
        tw.function("f", outputs=[tw.computation("y", {n: tw.forever}, x[n])])


def test_inputs_are_pushed_in_the_order_that_is_given():
    n = tw.iter("n")
    x, d = tw.stream("x", tw.float64), tw.stream("d", tw.float64)
    e = tw.computation("e", {n: tw.forever}, d[n] - x[n])
    ones, twos = np.ones(3), np.full(3, 2.0)
    for order, sign in (((), 1), ((x, d), 1), ((d, x), -1)):
        k = tw.stream_function("lms", outputs=[e], inputs=order)
        assert k.inputs == (("d", "x") if sign < 0 else ("x", "d"))
        np.testing.assert_array_equal(k.stream().push(ones, twos), sign * ones)
    for wrong in ([x], [x, d, d]):
        with raises(tw.DeclarationError, "lms pushes d, x; the order given names"):
            tw.stream_function("lms", outputs=[e], inputs=wrong)
    with raises(tw.DeclarationTypeError, "inputs must be streams, got 'x'"):
        tw.stream_function("lms", outputs=[e], inputs=["x", "d"])
    forgotten = tw.computation("forgotten", {n: tw.forever}, dtype=tw.float64)
    for wrong in ([x, e], [d, x, forgotten]):
        with raises(tw.DeclarationTypeError, "inputs must be streams, got"):
            tw.stream_function("lms", outputs=[e], inputs=wrong)
