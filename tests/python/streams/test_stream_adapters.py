"""Streams as callbacks of PortAudio and as blocks of GNU Radio."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.kernels import dsp

n, r = tw.iters("n r")
TAPS = np.array([1, 2, 3], np.float32)


def sound(length: int, channels: int = 1, dtype: Any = np.float32) -> np.ndarray:
    rng = np.random.default_rng(length)
    return rng.standard_normal((length, channels)).astype(dtype)


def ahead(dtype: Any = tw.float32, by: int = 5) -> tw.StreamFunction:
    """A program with latency."""
    x = tw.stream("x", dtype)
    y = tw.computation("y", {n: tw.forever}, tw.max(x[n + r], over={r: by}))
    return tw.stream_function("ahead", outputs=[y])


def heard(callback: Any, data: np.ndarray, blocks: list[int], columns: int) -> np.ndarray:
    """What comes out, of blocks of these lengths."""
    parts, place = [], 0
    for length in blocks:
        out = np.full((length, columns), 99, np.float32)
        callback(data[place : place + length], out, length, None, None)
        parts.append(out)
        place += length
    assert place == len(data)
    return np.concatenate(parts)


# ---- PortAudio ----


def test_a_callback_with_channels() -> None:
    k = dsp.fir(channels=2)
    data = sound(100, 2)
    callback = tw.streams.callback(k.stream(h=TAPS))
    assert callback.latency == 0
    found = heard(callback, data, [10, 1, 0, 64, 25], 2)
    np.testing.assert_array_equal(found, k.stream(h=TAPS).push(data))
    assert callback.stream.pushed == {"x": 100}
    assert callback.error is None and callback.dropouts == 0


def test_one_column_and_silence_until_the_latency_is_over() -> None:
    k = ahead()
    data = sound(50)
    expected = k.stream().push(data[:, 0])
    for blocks in ([50], [1] * 50, [3, 2, 1, 44], [2, 48]):
        callback = tw.streams.callback(k.stream())
        assert callback.latency == 4
        found = heard(callback, data, blocks, 1)[:, 0]
        np.testing.assert_array_equal(found[:4], 0)
        np.testing.assert_array_equal(found[4:], expected)
    # Of a stream whose latency is over, nothing is silent.
    s = k.stream()
    s.push(data[:10, 0])
    callback = tw.streams.callback(s)
    assert callback.latency == 0
    np.testing.assert_array_equal(heard(callback, data[10:], [7, 33], 1)[:, 0], expected[6:])
    s = k.stream()
    s.push(data[:2, 0])  # half of it is over
    callback = tw.streams.callback(s)
    assert callback.latency == 2
    np.testing.assert_array_equal(heard(callback, data[2:], [1, 47], 1)[2:, 0], expected)


def test_rates_within_a_program_of_one_rate() -> None:
    """Down by 4 and up by 4: what comes out comes in bursts, and the callback evens them out."""
    x = tw.stream("x", tw.float32)
    low = tw.computation("low", {n: tw.forever}, tw.sum(x[4 * n + r], over={r: 4}))
    y = tw.computation("y", {n: tw.forever}, low[n // 4])
    k = tw.stream_function("held", outputs=[y])
    data = sound(64)
    expected = k.stream().push(data[:, 0])
    for blocks in ([1] * 64, [5] * 12 + [4], [64]):
        callback = tw.streams.callback(k.stream())
        late = callback.latency
        assert late == 3
        found = heard(callback, data, blocks, 1)[:, 0]
        np.testing.assert_array_equal(found[:late], 0)
        np.testing.assert_array_equal(found[late:], expected[: 64 - late])


def test_periods_that_are_collected() -> None:
    """A stream that computes 16 elements at a time: 15 elements of silence, or what was waiting."""
    k = dsp.fir(channels=1).periodic(size=16)
    data = sound(100)
    expected = dsp.fir(channels=1).stream(h=TAPS).push(data)
    for blocks in ([1] * 100, [16] * 6 + [4], [100], [7, 9, 84]):
        callback = tw.streams.callback(k.stream(h=TAPS))
        late = callback.latency
        assert late == 15
        found = heard(callback, data, blocks, 1)
        np.testing.assert_array_equal(found[:late], 0)
        np.testing.assert_array_equal(found[late:], expected[: 100 - late])
    s = k.stream(h=TAPS)
    first = s.push(data[:20])
    callback = tw.streams.callback(s)
    found = heard(callback, data[20:], [3, 30, 47], 1)
    went_on = np.concatenate([first, found[callback.latency :]])
    np.testing.assert_array_equal(went_on, expected[: len(went_on)])
    assert callback.latency <= 15 and len(went_on) >= 80
    work = tw.streams.work(k.stream(h=TAPS))
    assert work.forecast(1) == [16]
    (found,) = flow(work, [data], 40, 20)
    np.testing.assert_array_equal(found, expected[: len(found)])
    assert len(found) >= 80
    # Of 16 elements that come at once, some wait until there is room.
    work = tw.streams.work(k.stream(h=TAPS))
    (found,) = flow(work, [data], 5, 20)
    np.testing.assert_array_equal(found, expected[:96])


def test_other_types_become_those_of_the_stream() -> None:
    data = sound(20, dtype=np.float32)
    callback = tw.streams.callback(dsp.fir(tw.float64).stream(h=TAPS.astype(float)))
    found = heard(callback, data, [7, 13], 1)
    wide = dsp.fir(tw.float64).stream(h=TAPS.astype(float)).push(data[:, 0].astype(float))
    np.testing.assert_array_equal(found[:, 0], wide.astype(np.float32))


def test_what_goes_wrong_is_silent_and_raised() -> None:
    s = dsp.fir(channels=2).stream(h=TAPS)
    callback = tw.streams.callback(s)
    data, out = sound(8, 2), np.full((8, 2), 9, np.float32)
    locked = np.zeros((8, 2), np.float32)
    locked.flags.writeable = False
    for arguments, error, match in (
        (
            (data[:, :1], out, 8),
            ValueError,
            r"indata must have the shape \(frames, 2\), .*\(8, 1\)",
        ),
        ((data, out[:, :1], 8), ValueError, r"outdata must have the shape \(frames, 2\)"),
        ((data, out, 7), ValueError, "indata has 8 frames, and frames is 7"),
        ((data[:7], out, 8), ValueError, "indata has 7 frames, and frames is 8"),
        ((data, out[:7], 8), ValueError, "outdata has 7 frames"),
        ((data + 0j, out, 8), TypeError, "indata: complex64 does not become float32"),
        ((data, out.astype(int), 8), TypeError, "outdata: float32 does not become int64"),
        ((None, out, 8), TypeError, "indata must be a NumPy array, got None"),
        ((data, None, 8), TypeError, "outdata must be a NumPy array, got None"),
        ((data, locked, 8), ValueError, "outdata is read-only"),
        ((data, out, "8"), TypeError, "frames must be an integer"),
    ):
        out[:] = 9
        with pytest.raises(error, match=match) as caught:
            callback(*arguments, None, None)
        assert callback.error is caught.value
        if arguments[1] is out:
            assert (out == 0).all()
        assert s.pushed == {"x": 0}
    callback(data, out, 8, None, None)
    np.testing.assert_array_equal(out, dsp.fir(channels=2).stream(h=TAPS).push(data))
    s.close()
    with pytest.raises(ValueError, match="closed"):
        callback(data, out, 8)
    assert (out == 0).all()


def test_a_callback_waits_for_nobody() -> None:
    s = dsp.fir(channels=1).stream(h=TAPS)
    callback = tw.streams.callback(s)
    data, out = sound(8), np.full((8, 1), 9, np.float32)
    with s._lock:  # as a push of another thread has it
        callback(data, out, 8)
    assert callback.dropouts == 1 and (out == 0).all() and s.pushed == {"x": 0}
    callback(data, out, 8, None, "input overflow")
    assert callback.flagged == 1 and callback.dropouts == 1
    assert s.pushed == {"x": 8}


def test_callbacks_of_threads() -> None:
    k = dsp.echo(channels=1)
    data = sound(2000)
    expected = k.stream(gain=0.5, D=33).push(data)
    results: dict[int, np.ndarray] = {}

    def run(number: int) -> None:
        callback = tw.streams.callback(k.stream(gain=0.5, D=33))
        results[number] = heard(callback, data, [20] * 100, 1)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for found in results.values():
        np.testing.assert_array_equal(found, expected)


def test_streams_that_are_no_callbacks() -> None:
    for stream, error, match in (
        (3, TypeError, r"tw\.streams\.callback takes a stream, .* got 3"),
        (dsp.fir(), TypeError, "takes a stream, which k.stream"),
        (dsp.lms().stream(mu=0.1, R=2), ValueError, "has 2 and 2: use channels, or"),
        (dsp.resampler(3, 2).stream(h=TAPS), ValueError, r"gives 3 for 2: use tw\.streams\.work"),
        (dsp.wave_1d, TypeError, "takes a stream"),
    ):
        with pytest.raises(error, match=match):
            tw.streams.callback(stream)  # type: ignore[arg-type]
    c = tw.iter("c")
    x = tw.stream("x", tw.float32)
    rows = tw.computation("rows", {c: 2, n: tw.forever}, x[n])
    s = tw.stream_function("rows_of", outputs=[rows]).stream()
    for make in (tw.streams.callback, tw.streams.work):
        with pytest.raises(ValueError, match="the time as the first dimension"):
            make(s)


# ---- GNU Radio ----


def flow(work: Any, inputs: list[np.ndarray], room: int, most: int) -> list[np.ndarray]:
    """A scheduler: offers parts of the inputs and rooms of random sizes."""
    rng = np.random.default_rng(room)
    places = [0] * len(inputs)
    found: list[list[np.ndarray]] = [[] for _ in work.out_sig]
    idle = 0
    while idle < 50:
        given = [
            array[place : place + rng.integers(0, most + 1)]
            for array, place in zip(inputs, places, strict=True)
        ]
        rooms = [
            np.full((rng.integers(0, room + 1), *port.shape[1:]), 9).astype(port.dtype)
            for port in work._outputs
        ]
        returned = work.work(given, rooms)
        numbers = set(work.produced)
        assert returned == (numbers.pop() if len(numbers) == 1 else -2)
        for k, (array, taken) in enumerate(zip(given, work.consumed, strict=True)):
            assert taken <= len(array)
            places[k] += taken
        for parts, array, number in zip(found, rooms, work.produced, strict=True):
            assert (array[number:] == 9).all()
            parts.append(array[:number].copy())
        idle = 0 if sum(work.consumed) else idle + 1
    return [np.concatenate(parts) for parts in found]


@pytest.mark.parametrize(("up", "down"), [(1, 1), (3, 2), (2, 5), (1, 7), (4, 1)])
def test_work_of_several_rates(up: int, down: int) -> None:
    k = dsp.resampler(up, down)
    x = sound(200)[:, 0]
    work = tw.streams.work(k.stream(h=TAPS))
    assert work.in_sig == work.out_sig == [np.float32]
    assert work.relative_rate == pytest.approx(up / down)
    whole = k.stream(h=TAPS).push(x)
    (found,) = flow(work, [x], 10, 15)
    np.testing.assert_array_equal(found, whole[: len(found)])
    assert len(whole) - len(found) <= up


def test_what_a_call_takes_is_said_before() -> None:
    k = dsp.resampler(3, 2)
    work = tw.streams.work(k.stream(h=TAPS))
    x = sound(100)[:, 0]
    for wanted in (0, 1, 5, 30):
        (needed,) = work.forecast(wanted, 1)
        out = np.empty(wanted + 3, np.float32)
        assert work.stream.counts_after(needed)["y"] >= wanted
        if needed:
            assert work.stream.counts_after(needed - 1)["y"] < wanted
        assert work([x[:needed]], [out]) >= wanted
        assert work.consumed == [needed]
    late = tw.streams.work(ahead().stream())
    assert late.forecast(1) == [5]
    with pytest.raises(tw.ArgumentTypeError, match="noutput_items must be an integer"):
        late.forecast("a")


def test_several_ports_of_several_rates() -> None:
    x, gate = tw.stream("x", tw.float64), tw.stream("gate", tw.complex64, [3])
    c = tw.iter("c")
    y = tw.computation("y", {n: tw.forever, c: 3}, tw.real(gate[n, c]) * (x[2 * n] + x[2 * n + 1]))
    z = tw.computation("z", {n: tw.forever}, x[n] + 1)
    k = tw.stream_function("ports", outputs=[y, z])
    work = tw.streams.work(k.stream())
    assert work.in_sig == [np.float64, (np.complex64, 3)]
    assert work.out_sig == [(np.float64, 3), np.float64]
    assert work.forecast(10) == [20, 10]
    data = sound(80, dtype=np.float64)[:, 0]
    gates = sound(40, 3).astype(np.complex64)
    whole = k.stream().push(data, gates)
    found = flow(work, [data, gates], 12, 12)
    for one, right in zip(found, whole, strict=True):
        np.testing.assert_array_equal(one, right[: len(one)])
        assert len(one) > 30
    rooms = [np.empty((4, 3)), np.empty(8)]
    assert tw.streams.work(k.stream()).general_work([data[:8], gates[:4]], rooms) == -2


def test_work_of_a_closed_stream_and_of_wrong_arrays() -> None:
    s = dsp.fir(channels=2).stream(h=TAPS)
    work = tw.streams.work(s)
    x, out = sound(6, 2), np.empty((6, 2), np.float32)
    strided = np.empty((12, 2), np.float32)[::2]
    locked = out.copy()
    locked.flags.writeable = False
    for inputs, outputs, error, match in (
        ([x, x], [out], ValueError, "input_items must be a list of 1 arrays, of x; got 2"),
        (x, [out], ValueError, "input_items must be a list of 1 arrays"),
        ([x], None, ValueError, "output_items must be a list of 1 arrays, of y; got None"),
        ([x.astype(float)], [out], TypeError, "input_items of x must be float32, got float64"),
        ([list(x)], [out], TypeError, "input_items of x must be a NumPy array"),
        ([x[:, :1]], [out], ValueError, r"must have the shape \(any, 2\), got \(6, 1\)"),
        ([x], [out[:, 0]], ValueError, "output_items of y must have the shape"),
        ([x], [locked], ValueError, "output_items of y are read-only"),
    ):
        with pytest.raises(error, match=match):
            work(inputs, outputs)
        assert s.pushed == {"x": 0}
    assert work([x], [strided]) == 6
    np.testing.assert_array_equal(strided, dsp.fir(channels=2).stream(h=TAPS).push(x))
    assert "work of <Stream of fir" in repr(work)
    s.close()
    assert work([x], [out]) == -1 and work.consumed == [0] and work.produced == [0]
    with pytest.raises(tw.ArgumentTypeError, match=r"tw\.streams\.work takes a stream"):
        tw.streams.work(None)  # type: ignore[arg-type]
