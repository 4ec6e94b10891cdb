"""Lines: new elements are written behind earlier ones, and nothing else is touched."""

from __future__ import annotations

import itertools
import pickle
import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw

n = tw.iter("n")
DELAY = 1000


def delayed(told: bool = False) -> tw.StreamFunction:
    """``y[n] = x[n - DELAY] + y[n - 2]``, and the time itself if that is to be told."""
    x = tw.stream("x", tw.int64)
    y = tw.computation("y", {n: tw.forever}, None, dtype=tw.int64)
    value = tw.select(n >= DELAY, x[n - DELAY], 0) + tw.select(n >= 2, y[n - 2], 0)
    y.define(None, value + tw.cast(n, tw.int64) if told else value)
    return tw.stream_function("delayed", outputs=[y])


def expected(x: np.ndarray, told: bool = False) -> np.ndarray:
    y = np.zeros_like(x)
    for k in range(len(x)):
        y[k] = (x[k - DELAY] if k >= DELAY else 0) + (y[k - 2] if k >= 2 else 0) + told * k
    return y


@pytest.mark.parametrize("told", [False, True])
def test_a_push_writes_its_own_elements_only(told: bool) -> None:
    x = np.random.default_rng(0).integers(-9, 9, 5 * DELAY)
    s, out = delayed(told).stream(), np.empty(7, np.int64)
    found, moved, lines = [], 0, None
    for begin in range(0, len(x) - 6, 7):
        line = s._memory.lines["x"]
        before = line.copy()
        s.push(x[begin : begin + 7], out=out)
        found.append(out.copy())
        after = s._memory.lines["x"]
        changed = np.count_nonzero(before != after) if len(before) == len(after) else len(after)
        moved += changed > 7
        lines = after
    assert lines is not None and len(lines) <= 2 * DELAY + 7
    assert moved <= 5  # to the front: once for so many elements as are kept
    whole = np.concatenate(found)
    np.testing.assert_array_equal(whole, expected(x, told)[: len(whole)])


@pytest.mark.parametrize("told", [False, True])
def test_lines_grow_with_chunks_and_states_go_on(told: bool) -> None:
    x = np.random.default_rng(1).integers(-9, 9, 6000)
    cuts = [0, 1, 1, 1500, 1501, 3900, 3900, 3999, 4200, 5999, 6000]
    s: Any = delayed(told).stream()
    found = []
    for begin, end in itertools.pairwise(cuts):
        copies = [s.clone(), pickle.loads(pickle.dumps(s))]
        found.append(s.push(x[begin:end]))
        for copy in copies:
            np.testing.assert_array_equal(copy.push(x[begin:end]), found[-1])
        s = copies[begin % 2] if begin % 3 else s
    np.testing.assert_array_equal(np.concatenate(found), expected(x, told))
    assert s.state_nbytes == 8 * (DELAY + 2)
    s.reset()
    np.testing.assert_array_equal(s.push(x), expected(x, told))


def test_what_is_refused_moves_nothing_on() -> None:
    """A subscript from data that is outside: the kernel stops midway."""
    x = tw.stream("x", tw.int64)
    y = tw.computation("y", {n: tw.forever}, None, dtype=tw.int64)
    table = tw.input("table", [4], tw.int64)
    y.define(None, table[x[n]] + tw.select(n >= 3, y[n - 3], 0))
    s = tw.stream_function("looked_up", outputs=[y]).stream(table=np.arange(4) + 10)
    first = s.push(np.array([0, 1, 2, 3]))
    for _ in range(3):
        with pytest.raises(IndexError):
            s.push(np.array([1, 1, 4]))
    more = s.push(np.array([3, 2, 1]))
    np.testing.assert_array_equal(first, [10, 11, 12, 23])
    np.testing.assert_array_equal(more, [13 + 11, 12 + 12, 11 + 23])


def test_few_channels_are_vectors() -> None:
    """Of fewer lanes than the widest one has, the next power of two; two channels are no vector."""
    for channels, lanes in ((8, 8), (5, 8), (4, 4), (2, 0)):
        k = tw.kernels.dsp.biquads(tw.float32, channels)
        s = k.stream(sos=np.ones((4, 6), np.float32) / 8)
        assert ('w.vectorize("c", ' in str(s.kernel.schedule)) == bool(lanes), channels
        assert (f"# vector({lanes})" in str(s.kernel.loops)) == bool(lanes), channels
        x = np.random.default_rng(channels).standard_normal((50, channels)).astype(np.float32)
        alone = tw.kernels.dsp.biquads(tw.float32)
        single = [alone.stream(sos=s._arrays["sos"]).push(x[:, c].copy()) for c in range(channels)]
        np.testing.assert_array_equal(s.push(x), np.stack(single, axis=1))


def test_old_and_new_elements_are_one_load() -> None:
    """At subscripts with a floor, too: nobody asks which of the two an element is."""
    k = tw.kernels.dsp.resampler(3, 2)
    s = k.stream(h=np.ones(48, np.float32))
    assert " if " not in str(s.kernel.loops) and "x_line[value - x_begin + 15]" in str(
        s.kernel.loops
    )


def test_sums_of_the_first_elements_go_straight_to_the_output() -> None:
    """No time is before 0, so that no other elements have to be told from those that are sums."""
    s = tw.kernels.dsp.fir().stream(h=np.ones(4, np.float32))
    assert "y_sum" not in s.kernel.loops and "y_out[" in s.kernel.loops
    np.testing.assert_array_equal(s.push(np.ones(6, np.float32)), [1, 2, 3, 4, 4, 4])


def test_what_one_output_reads_is_made_beside_it() -> None:
    """The stages of a transform run in the loop over its frames, each frame in memory of its own."""
    s = tw.kernels.dsp.stft(16, 4, tw.float64).stream(window=np.ones(16))
    loops = str(s.kernel.loops)
    assert len(re.findall(r"^for m in ", loops, re.MULTILINE)) == 1
    assert "  re8 = empty((1, " in loops
    assert not re.search(r"^\w+ = empty", loops, re.MULTILINE)
    assert [name for name in s.kernel.parameters if name.endswith("_begin")] == ["x_begin"]
    x = np.random.default_rng(0).random(200)
    parts = [s.push(part) for part in np.split(x, [3, 16, 17, 90])]
    frames = np.lib.stride_tricks.sliding_window_view(x, 16)[::4]
    np.testing.assert_allclose(
        np.concatenate(parts)[: len(frames)], np.fft.rfft(frames), atol=1e-12
    )


def test_what_others_read_too_has_memory_of_its_own() -> None:
    x = tw.stream("x", tw.float64)
    m = tw.iter("m")
    half = tw.computation("half", {m: tw.forever}, x[2 * m] + x[2 * m + 1])
    near = tw.computation("near", {m: tw.forever}, half[m] * half[m])
    far = tw.computation("far", {m: tw.forever}, half[m] + half[m + 3])
    s = tw.stream_function("both", outputs=[near, far]).stream()
    x_all = np.arange(40.0)
    sums = x_all[::2] + x_all[1::2]
    parts = [s.push(part) for part in np.split(x_all, [1, 5, 6, 20])]
    np.testing.assert_array_equal(np.concatenate([p[0] for p in parts]), sums * sums)
    np.testing.assert_array_equal(np.concatenate([p[1] for p in parts]), sums[:-3] + sums[3:])
