"""Times that data decide about: what bounds them, and the values, in random chunks, beside plain Python."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw

n = tw.iter("n")
FOREVER = {n: tw.forever}
LENGTH = 400
FAR = 60

x = tw.stream("x", tw.float64)
d = tw.stream("d", tw.int64)
p = tw.stream("p", tw.float64)
b = tw.stream("b", tw.uint8)

_rng = np.random.default_rng(0)
SOUND = _rng.standard_normal(LENGTH)
DELAY = _rng.integers(-100, 100, LENGTH)
PHASE = _rng.uniform(-2, 2, LENGTH)
BYTE = _rng.integers(0, 256, LENGTH).astype(np.uint8)

inside = (d[n] >= 0) & (d[n] <= FAR)

#: What is a delay, how it is in Python, and how many elements of x are kept.
DELAYS: dict[str, tuple[Any, Callable[[int], int], int]] = {
    "clamp": (tw.clamp(d[n], 0, FAR), lambda t: min(max(DELAY[t], 0), FAR), FAR),
    "extremes": (
        tw.minimum(tw.maximum(d[n], 0), FAR),
        lambda t: min(max(DELAY[t], 0), FAR),
        FAR,
    ),
    "remainder": (d[n] % FAR, lambda t: DELAY[t] % FAR, FAR - 1),
    "bits": (d[n] & 31, lambda t: DELAY[t] & 31, 31),
    "narrow": (tw.cast(b[n], tw.int64) // 8, lambda t: int(BYTE[t]) // 8, 31),
    "shift": (tw.cast(b[n], tw.int64) >> 3, lambda t: int(BYTE[t]) >> 3, 31),
    "condition": (
        tw.select(inside, d[n], 5),
        lambda t: DELAY[t] if 0 <= DELAY[t] <= FAR else 5,
        FAR,
    ),
    "otherwise": (
        tw.select((d[n] < 0) | (d[n] > FAR), 5, d[n]),
        lambda t: DELAY[t] if 0 <= DELAY[t] <= FAR else 5,
        FAR,
    ),
    "twice": (2 * tw.clamp(d[n], 0, 20) + 3, lambda t: 2 * min(max(DELAY[t], 0), 20) + 3, 43),
    "numbers": (
        tw.cast(tw.clamp(30 + 20 * p[n], 0.0, 59.5), tw.int64),
        lambda t: int(min(max(30 + 20 * PHASE[t], 0.0), 59.5)),
        59,
    ),
    "sine": (
        tw.cast(30 + 25 * tw.sin(tw.clamp(p[n], -9, 9)), tw.int64),
        lambda t: int(30 + 25 * np.sin(PHASE[t])),
        55,
    ),
    "defined": (
        tw.computation("late", FOREVER, tw.clamp(d[n], 0, FAR))[n],
        lambda t: min(max(DELAY[t], 0), FAR),
        FAR,
    ),
}


def pushed(k: tw.StreamFunction, stream: tw.Stream) -> np.ndarray:
    given = {"x": SOUND, "d": DELAY, "p": PHASE, "b": BYTE}
    arrays = [given[name] for name in k.inputs]
    rng = np.random.default_rng(1)
    cuts = sorted(rng.integers(0, LENGTH, 7))
    parts = []
    for begin, end in zip([0, *cuts], [*cuts, LENGTH], strict=True):
        parts.append(stream.push(*(one[begin:end] for one in arrays)))
        stream = stream.clone()
    return np.concatenate(parts)


@pytest.mark.parametrize("name", DELAYS)
def test_bounded_delays(name: str) -> None:
    delay, expected, kept = DELAYS[name]
    y = tw.computation("y", FOREVER, x[tw.maximum(n - delay, 0)])
    k = tw.stream_function("f", outputs=[y])
    stream = k.stream()
    assert stream.state_nbytes == 8 * kept
    found = pushed(k, stream)
    np.testing.assert_array_equal(found, [SOUND[max(t - expected(t), 0)] for t in range(LENGTH)])


def test_a_clamped_time() -> None:
    y = tw.computation(
        "y",
        FOREVER,
        lambda y: [
            (n < FAR, x[n]),
            (n >= FAR, x[tw.maximum(tw.minimum(n - d[n], n), n - FAR)]),
        ],
        dtype=tw.float64,
    )
    k = tw.stream_function("f", outputs=[y])
    expected = [
        SOUND[t] if t < FAR else SOUND[max(min(t - DELAY[t], t), t - FAR)] for t in range(LENGTH)
    ]
    np.testing.assert_array_equal(pushed(k, k.stream()), expected)


def test_reads_in_the_branch_of_a_condition() -> None:
    y = tw.computation("y", FOREVER, tw.select(inside & (n - d[n] >= 0), x[n - d[n]], -1.0))
    k = tw.stream_function("f", outputs=[y])
    expected = [
        SOUND[t - DELAY[t]] if 0 <= DELAY[t] <= min(FAR, t) else -1.0 for t in range(LENGTH)
    ]
    np.testing.assert_array_equal(pushed(k, k.stream()), expected)


def test_feedback_through_a_delay_of_data() -> None:
    y = tw.computation("y", FOREVER, dtype=tw.float64)
    y.define(n < FAR, x[n])
    y.define(n >= FAR, x[n] + 0.5 * y[n - tw.clamp(d[n], 1, FAR)])
    k = tw.stream_function("f", outputs=[y])
    expected = np.zeros(LENGTH)
    for t in range(LENGTH):
        fed = 0.5 * expected[t - min(max(DELAY[t], 1), FAR)] if t >= FAR else 0
        expected[t] = SOUND[t] + fed
    np.testing.assert_array_equal(pushed(k, k.stream()), expected)


@pytest.mark.parametrize(
    "time",
    [
        n - d[n],
        tw.maximum(n - d[n], n - FAR),
        n - d[n] // 2,
        n - tw.clamp(d[n], 0, FAR) * d[n],
        n - tw.cast(p[n], tw.int64),
        tw.select(d[n] + 1 <= FAR, n - d[n], n),  # d[n] + 1 may wrap around
        tw.select((d[n] >= 0) | (p[n] > 0), tw.minimum(n - d[n], n), n),
    ],
)
def test_times_without_a_bound(time: Any) -> None:
    y = tw.computation("y", FOREVER, x[time])
    with pytest.raises(tw.DeclarationError, match=r"data decide about.*tw\.clamp\(time"):
        tw.stream_function("f", outputs=[y])


def test_a_circle_through_a_delay_of_nothing() -> None:
    y = tw.computation("y", FOREVER, dtype=tw.float64)
    y.define(n < FAR, x[n])
    y.define(n >= FAR, x[n] + 0.5 * y[n - tw.clamp(d[n], 0, FAR)])
    with pytest.raises(tw.DeclarationError, match="waits for elements that wait for it"):
        tw.stream_function("f", outputs=[y])


def test_what_lies_in_one_line_is_read_in_one_way() -> None:
    """Elements of earlier pushes and of this one lie behind each other: nothing asks which of them data choose."""
    x, d = tw.stream("x", tw.float64), tw.stream("d", tw.int64)
    n = tw.iter("n")
    y = tw.computation("y", {n: tw.forever}, x[tw.clamp(n - d[n] - 1, n - 20, n)] + x[n - d[n] % 8])
    s = tw.stream_function("late", outputs=[y]).stream()
    assert "chosen" not in s.kernel.loops and "if" not in s.kernel.loops
    rng = np.random.default_rng(5)
    data, late = rng.random(90), rng.integers(-30, 30, 90)
    parts = [
        s.push(data[begin:end], late[begin:end])
        for begin, end in itertools.pairwise([0, 0, 1, 2, 9, 33, 34, 90])
    ]
    before = np.concatenate([np.zeros(20), data])
    at = np.arange(90)
    first = np.clip(at - late - 1, at - 20, at)
    expected = before[first + 20] + before[at - late % 8 + 20]
    np.testing.assert_array_equal(np.concatenate(parts), expected)
