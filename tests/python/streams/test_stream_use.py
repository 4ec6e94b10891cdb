"""Streams in use: what pushes accept and refuse, threads, other processes, interrupts; nothing is lost."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import pathlib
import pickle
import signal
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
from dsp_cases import CASES, chunk_of

import tilewright as tw
from tilewright import _core
from tilewright.streams.opening import Opening

n, m, r = tw.iters("n m r")
TAPS = np.array([1.0, 2.0, 3.0])


def fir() -> tw.Stream:
    return tw.kernels.dsp.fir(tw.float64).stream(h=TAPS)


def filtered(x: Any) -> np.ndarray:
    return np.convolve(np.concatenate([[0.0], x]), TAPS)[1 : len(x) + 1]


def kept(s: tw.Stream) -> Any:
    """What a stream is, as bytes: the same before and after a push that is refused."""
    state = s.__getstate__()
    return state["ticks"], {name: array.tobytes() for name, array in state["past"].items()}


# ---- what a push accepts ----


def test_chunks_of_many_kinds() -> None:
    x = np.random.default_rng(0).random(40)
    read_only = x.copy()
    read_only.flags.writeable = False
    for chunk in (x, x[::2], x[::-1], x[:0], x[:1], read_only, list(x), [], memoryview(x)):
        s = fir()
        expected = filtered(np.asarray(chunk))
        np.testing.assert_allclose(s.push(chunk), expected, rtol=1e-13)
    np.testing.assert_array_equal(read_only, x)
    both = np.random.default_rng(1).random((2, 30))
    k = tw.kernels.dsp.fir(tw.float64, channels=2)
    rows = k.stream(h=TAPS).push(np.ascontiguousarray(both.T))
    np.testing.assert_array_equal(k.stream(h=TAPS).push(both.T), rows)


def test_out_in_many_places() -> None:
    x = np.random.default_rng(2).random(20)
    expected = fir().push(x)
    for out in (np.empty(20), np.empty(40)[::2], np.empty(20)[::-1]):
        assert fir().push(x, out=out) is out
        np.testing.assert_array_equal(out, expected)
    out = np.empty(20)
    fir().push(x, out=(out,))
    np.testing.assert_array_equal(out, expected)
    # In the memory of the chunk, exactly and shifted.
    memory = np.concatenate([x, np.zeros(5)])
    np.testing.assert_array_equal(fir().push(memory[:20], out=memory[5:]), expected)
    np.testing.assert_array_equal(memory[5:], expected)
    memory = x.copy()
    np.testing.assert_array_equal(fir().push(memory, out=memory), expected)


def test_what_is_refused_loses_nothing() -> None:
    s = fir()
    x = np.arange(1.0, 9)
    s.push(x[:3])
    before = kept(s)
    wide, locked = np.empty(5, np.float32), np.empty(5)
    locked.flags.writeable = False
    for call, error, match in (
        (lambda: s.push([1, 2]), TypeError, r"x must be float64, got int64; .*astype\('float64'\)"),
        (lambda: s.push(x.astype(">f8")), TypeError, "x must be float64, got >f8"),
        (lambda: s.push(x + 0j), TypeError, "x must be float64, got complex128"),
        (lambda: s.push([[1.0], [2.0, 3.0]]), TypeError, "x must be an array"),
        (lambda: s.push(None), TypeError, "x must be float64, got object"),
        (lambda: s.push("abc"), TypeError, "x must be float64"),
        (lambda: s.push(2.0), ValueError, r"a chunk of x must have the shape \(any\), got \(\)"),
        (lambda: s.push(x[:, None]), ValueError, r"must have the shape \(any\), got \(8, 1\)"),
        (lambda: s.push(), ValueError, "a chunk of x is missing"),
        (lambda: s.push(x, x), ValueError, "has 1 streams to push"),
        (lambda: s.push(x, x=x), ValueError, "x is given twice"),
        (lambda: s.push(z=x), ValueError, "has no stream 'z'; it has x"),
        (lambda: s.push(x[:5], out=np.empty(4)), ValueError, r"must have the shape \(5,\)"),
        (lambda: s.push(x[:5], out=[1.0] * 5), ValueError, "out must have 1 arrays, got 5"),
        (lambda: s.push(x[:5], out=wide), TypeError, "expected float64, got float32"),
        (lambda: s.push(x[:5], out=locked), ValueError, "read-only"),
        (lambda: s.push(x[:5], out="abcde"), ValueError, "got str"),
        (lambda: s.counts_after(-1), ValueError, "the number of elements must be at least 0"),
        (lambda: s.counts_after("a"), TypeError, "the number of elements must be an integer"),
        (lambda: next(s.process(3)), TypeError, "chunks must be iterable"),  # type: ignore[arg-type]
    ):
        with pytest.raises(error, match=match) as caught:
            call()
        assert isinstance(caught.value, tw.TilewrightError)
        assert kept(s) == before
    np.testing.assert_array_equal(s.push(x[3:]), filtered(x)[3:])


def test_channels_are_checked() -> None:
    s = tw.kernels.dsp.fir(tw.float64, channels=2).stream(h=TAPS)
    for chunk in (np.ones(4), np.ones((4, 3)), np.ones((4, 1)), np.ones((2, 4, 2))):
        with pytest.raises(ValueError, match=r"must have the shape \(any, 2\)"):
            s.push(chunk)
    assert s.pushed == {"x": 0}


def test_nan_and_infinity_pass_as_they_would() -> None:
    x = np.array([1, np.nan, 1, 1, 1, np.inf, 1, -0.0])
    found = fir().push(x)
    np.testing.assert_array_equal(np.isnan(found), [False, True, True, True] + [False] * 4)
    np.testing.assert_array_equal(found[5:], np.inf)


def test_a_stream_that_is_closed_and_one_that_is_flushed() -> None:
    s = fir()
    x = np.arange(6.0)
    s.push(x[:2])
    assert s.flush().shape == (0,)
    np.testing.assert_array_equal(s.push(x[2:]), filtered(x)[2:])  # a flush changes nothing
    s.close()
    s.close()
    for call in (
        lambda: s.push(x),
        s.flush,
        lambda: next(s.process([x])),
        lambda: s.clone().push(x),
    ):
        with pytest.raises(tw.ArgumentError, match="the stream of fir is closed"):
            call()
    s.reset()  # it stays closed
    with pytest.raises(tw.ArgumentError, match="closed"):
        pickle.loads(pickle.dumps(s)).push(x)
    assert "closed" in repr(s)


def test_flush_gives_what_depends_on_given_input_only() -> None:
    """Of a program that reads ahead, the last elements never become known."""
    x = tw.stream("x", tw.float64)
    y = tw.computation("y", {n: tw.forever}, x[n + 3] - x[n])
    s = tw.stream_function("ahead", outputs=[y]).stream()
    assert len(s.push(np.arange(10.0))) + len(s.flush()) == 7


def test_how_much_a_push_gives() -> None:
    for name, (make, given) in CASES.items():
        k = make()
        s = k.stream(**given)
        units = [s.period[each] for each in k.inputs]
        unit = units[0] // np.gcd.reduce(units)
        rng = np.random.default_rng(3)
        empty = s._nothing()
        for length in (0, 1, 3, 1, 20, 2):
            expected = s.counts_after(int(length * unit))
            chunks = [
                chunk_of(port, int(length * each // np.gcd.reduce(units)), rng)
                for port, each in zip(empty, units, strict=True)
            ]
            found = s.push(*chunks)
            found = found if isinstance(found, tuple) else (found,)
            assert [len(each) for each in found] == list(expected.values()), name


# ---- a function in SciPy's manner ----


def test_whole_arrays() -> None:
    k = tw.kernels.dsp.fir(tw.float64)
    x = np.arange(10.0)
    y, zf = k(x[:4], h=TAPS)
    more, end = k(x[4:], zi=zf)
    np.testing.assert_array_equal(np.concatenate([y, more]), filtered(x))
    assert zf.pushed == {"x": 4} and end.pushed == {"x": 10}
    again, _ = k(x=x[4:], zi=pickle.loads(pickle.dumps(zf)))
    np.testing.assert_array_equal(again, more)
    other = tw.kernels.dsp.echo(tw.float64).stream(gain=0.5, D=3)
    for given, error, match in (
        ({"zi": 3}, TypeError, "zi must be the stream that an earlier call has given, got 3"),
        ({"zi": other}, ValueError, "zi is a stream of echo, not of fir"),
        ({"zi": zf, "h": TAPS}, ValueError, "zi has them already"),
        ({"h": "abc"}, TypeError, "h must hold float64"),
        ({"h": [[1.0], [2.0, 3.0]]}, TypeError, "h must be an array"),
        ({"h": TAPS[None]}, ValueError, "h must have 1 dimension, got 2"),
        ({"h": TAPS, "R": 4}, ValueError, "R is 3, and 4 by R="),
        ({"h": TAPS, "R": True}, TypeError, "R must be an integer, got True"),
        ({"h": TAPS, "R": -3}, ValueError, "R must be at least 0, got -3"),
    ):
        with pytest.raises(error, match=match):
            k(x, **given)
    for arguments, match in (
        ((1, 2), "the name of a function must be a string, got 1"),
        (("f", 3), "outputs must be a list of computations, got 3"),
        (("f", (3,)), "outputs must be computations, got 3"),
    ):
        with pytest.raises(tw.DeclarationTypeError, match=match):
            tw.StreamFunction(*arguments)  # type: ignore[arg-type]


# ---- generators ----


def test_generators() -> None:
    x = np.arange(20.0)
    chunks = np.split(x, [3, 3, 10])
    s = fir()
    steps = s.process(iter(chunks))
    first = next(steps)
    assert s.pushed == {"x": 3}  # as they are asked for
    np.testing.assert_array_equal(np.concatenate([first, *steps]), filtered(x))
    lms = tw.kernels.dsp.lms().stream(mu=0.1, R=2)
    pairs = [*lms.process((part, part) for part in chunks)]
    assert [len(each) for pair in pairs for each in pair] == [3, 3, 0, 0, 7, 7, 10, 10]

    def broken() -> Any:
        yield x[:5]
        raise OSError("no more")

    s.reset()
    with pytest.raises(OSError, match="no more"):
        list(s.process(broken()))
    assert s.pushed == {"x": 5}

    async def listen(source: Any) -> list[np.ndarray]:
        return [each async for each in fir().aprocess(source)]

    async def microphone() -> AsyncIterator[np.ndarray]:
        for chunk in chunks:
            await asyncio.sleep(0)
            yield chunk

    np.testing.assert_array_equal(np.concatenate(asyncio.run(listen(microphone()))), filtered(x))
    with pytest.raises(tw.ArgumentTypeError, match=r"asynchronous iterable.*use process"):
        asyncio.run(listen(chunks))


# ---- threads and processes ----


def test_threads_that_push_one_stream() -> None:
    """Each chunk is pushed as a whole: what comes out is that of some order of the chunks."""
    x = tw.stream("x", tw.int64)
    total = tw.computation("total", {n: tw.forever}, dtype=tw.int64)
    total.define(n == 0, x[n])
    total.define(n > 0, total[n - 1] + x[n])
    s = tw.stream_function("totals", outputs=[total]).stream()
    found: list[np.ndarray] = []

    def run() -> None:
        for _ in range(100):
            found.append(s.push(np.ones(7, np.int64)))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert s.pushed == {"x": 2800}
    ordered = np.concatenate(sorted(found, key=lambda each: each[0]))
    np.testing.assert_array_equal(ordered, np.arange(1, 2801))


def test_threads_that_reset_clone_and_look() -> None:
    s = fir()
    stop = threading.Event()
    wrong: list[Any] = []

    def pushes() -> None:
        while not stop.is_set():
            if s.push(np.ones(5))[-1] != 6:
                wrong.append("push")

    def looks() -> None:
        for _ in range(200):
            s.report()
            repr(s)
            s.pushed
            other = s.clone()
            if other.push(np.ones(3))[-1] != 6:
                wrong.append("clone")
            s.reset()

    threads = [threading.Thread(target=pushes) for _ in range(2)]
    looking = threading.Thread(target=looks)
    for thread in (*threads, looking):
        thread.start()
    looking.join()
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


def _goes_on(stream: tw.Stream, x: np.ndarray, results: Any) -> None:
    results.put(stream.push(x))


def test_a_stream_goes_on_in_another_process() -> None:
    s = tw.kernels.dsp.biquads().stream(sos=CASES["biquads"][1]["sos"])
    x = np.random.default_rng(4).random(30)
    s.push(x[:11])
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=_goes_on, args=(s, x[11:], results))
    process.start()
    found = results.get(timeout=60)
    process.join()
    np.testing.assert_array_equal(found, s.push(x[11:]))


def long_rows() -> tuple[tw.Stream, list[np.ndarray]]:
    """A program whose state is changed where it is."""
    s = tw.kernels.dsp.lms().stream(mu=1e-4, R=4000)
    return s, list(np.random.default_rng(5).standard_normal((2, 2000)))


def membrane() -> tuple[tw.Stream, list[np.ndarray]]:
    force = np.zeros((200, 200), np.float32)
    force[50, 50] = 1
    given = {"force": force, "pickup": force, "courant": 0.25, "loss": 0.01}
    x = np.zeros(300, np.float32)
    x[0] = 1
    return tw.kernels.dsp.wave_2d(tw.float32).stream(**given), [x]


def is_refused(s: tw.Stream, chunks: list[np.ndarray]) -> None:
    for call in (lambda: s.push(*chunks), s.flush):
        with pytest.raises(tw.ArgumentError, match="stopped midway"):
            call()


@pytest.mark.parametrize("make", [membrane, long_rows])
def test_an_interrupt_loses_nothing(make: Any) -> None:
    """Ctrl-C while a push computes is heard, and the chunk can be pushed again: of rows that are changed
    in place, to an earlier clone."""
    s, chunks = make()
    s.push(*(chunk[:5] for chunk in chunks))
    rest = [chunk[5:] for chunk in chunks]
    other = s.clone()
    expected = other.push(*rest)
    expected = expected if isinstance(expected, tuple) else (expected,)
    pushed, before, start = s.pushed, kept(s), pickle.dumps(s)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupted)
    try:
        for delay in (0.001, 0.003, 0.02):
            with contextlib.suppress(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, delay)
                s.push(*rest)
                time.sleep(60)  # the push was faster
            if s._torn:
                assert s._step.rings
                is_refused(s, rest)
                is_refused(s.clone(), rest)
                s.reset()
                s.push(*(chunk[:5] for chunk in chunks))
                assert s.pushed == pushed
                s = pickle.loads(start)
            elif s.pushed == pushed:
                assert kept(s) == before
            else:
                s = pickle.loads(start)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    found = s.push(*rest)
    for one, right in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        np.testing.assert_array_equal(one, right)


# ---- declarations ----


def doubled(pushed: str = "x", given: str = "y", array: str = "a", size: str = "R") -> Any:
    x, a = tw.stream(pushed, tw.float64), tw.input(array, [], tw.float64)
    taps = tw.param(size)
    y = tw.computation(given, {n: tw.forever}, dtype=tw.float64)
    y.define(None, tw.sum(a[()] * x[n - r], over={r: taps}, where=n - r >= 0))
    return tw.stream_function("doubled", outputs=[y])


def test_names_that_kernels_and_methods_have() -> None:
    for names, match in (
        ({"pushed": "out"}, "a stream named out, which is an argument of streams' methods"),
        ({"array": "self"}, "an input named self, which is an argument"),
        ({"size": "zi"}, "a size named zi, which is an argument"),
        (
            {"array": "x_new"},
            "an input named x_new, which is what its kernel calls something of x",
        ),
        ({"given": "x_line"}, "a computation named x_line, which is what its kernel calls"),
        ({"size": "x_end"}, "a size named x_end, which is what its kernel calls something of x"),
    ):
        with pytest.raises(tw.DeclarationError, match=match):
            doubled(**names)
    k = doubled("threads", "out", "largest", "arrays")
    np.testing.assert_array_equal(k.stream(largest=2.0, arrays=1).push(np.ones(3)), 2)


def test_arrays_that_are_not_read_at_some_sizes() -> None:
    x, (sections,), q = tw.stream("x", tw.float64), tw.params("S"), tw.iter("q")
    a = tw.input("a", [sections], tw.float64)
    w = tw.computation("w", {n: tw.forever, q: sections + 1}, dtype=tw.float64)
    w.define(q == 0, x[n])
    w.define(q > 0, w[n, q - 1] * a[q - 1])
    k = tw.stream_function(
        "product", outputs=[tw.computation("y", {n: tw.forever}, w[n, sections])]
    )
    for factors in ([], [2.0], [2.0, 3.0]):
        s = k.stream(a=np.array(factors))
        np.testing.assert_array_equal(s.push(np.ones(4)), np.prod(factors))


# ---- what is computed once ----


def test_what_is_finite_is_computed_when_a_stream_is_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """Also below 0, in triangles and as numbers; clones, pickles and resets have it already."""
    i, j = tw.iters("i j")
    size = tw.param("N")
    x, h = tw.stream("x", tw.int64), tw.input("h", [size], tw.int64)
    w = tw.computation("w", {i: (-2, size + 1)}, tw.cast(i * i, tw.int64))
    g = tw.computation("g", {i: size}, h[i] * 2)
    tri = tw.computation("tri", {i: size, j: (0, i + 1)}, g[i] + w[j - 2])
    one = tw.computation("one", {}, tw.sum(h[i], over={i: size}))
    over: Any = {i: size, j: (0, i + 1)}
    summed = tw.sum(tri[i, j] * w[i - 1], over=over)
    k = tw.stream_function("k", [tw.computation("y", {n: tw.forever}, summed * x[n] + one[()])])
    times: list[int] = []
    compute = Opening.compute

    def counted(opening: Opening, given: Any) -> Any:
        times.append(1)
        return compute(opening, given)

    monkeypatch.setattr(Opening, "compute", counted)
    taps = np.arange(1, 5)
    s = k.stream(h=taps)
    taps_of = [(a, b) for a in range(4) for b in range(a + 1)]
    total = sum((2 * int(taps[a]) + (b - 2) ** 2) * (a - 1) ** 2 for a, b in taps_of)
    pushed = np.random.default_rng(3).integers(-9, 9, 20)
    parts = [s.push(pushed[:3])]
    s = pickle.loads(pickle.dumps(s)).clone()
    parts += [s.push(pushed[3:4]), s.push(pushed[4:])]
    np.testing.assert_array_equal(np.concatenate(parts), total * pushed + taps.sum())
    s.reset()
    np.testing.assert_array_equal(s.push(pushed), total * pushed + taps.sum())
    assert len(times) == 1
    # The kernel of a push takes them, and nothing of what only they need.
    assert {"tri", "w", "one"} <= {*s.kernel.inputs} and not {"g", "h"} & {*s.kernel.inputs}
    assert "computed when a stream is opened: tri (4 x 4), w (7), one (1)" in s.report()
    made = k.export_source(tmp_path, N=4)
    assert made.prototypes[1] == "int k_init(void *state, const int64_t *h)"
    assert "given_h" not in made.source.read_text()


def test_what_is_finite_may_have_an_extent_with_cases() -> None:
    """`N - 1` elements, and none where N is 0."""
    i, size, x = tw.iter("i"), tw.param("N"), tw.stream("x", tw.float64)
    w = tw.computation("w", {i: size - 1}, tw.cast(i, tw.float64) + 1)
    y = tw.computation("y", {n: tw.forever}, x[n] * tw.sum(w[i], over={i: size - 1}))
    k = tw.stream_function("k", [y])
    for number in (0, 1, 4):
        expected = (number - 1) * number / 2
        np.testing.assert_array_equal(k.stream(N=number).push(np.ones(3)), expected)


def test_what_opening_a_stream_computes_may_fail() -> None:
    i = tw.iter("i")
    x, h = tw.stream("x", tw.float64), tw.input("h", [3], tw.float64)
    places = tw.input("places", [3], tw.int64)
    moved = tw.computation("moved", {i: 3}, h[places[i]])
    y = tw.computation("y", {n: tw.forever}, tw.sum(moved[i], over={i: 3}) * x[n])
    k = tw.stream_function("k", [y])
    with pytest.raises(tw.TilewrightError, match="places"):
        k.stream(h=np.ones(3), places=np.array([0, 1, 3]))
    s = k.stream(h=np.arange(3.0), places=np.array([2, 2, 1]))
    np.testing.assert_array_equal(s.push(np.ones(2)), [5.0, 5.0])


# ---- calls of which a few arrays change ----


def test_prepared_calls_do_what_calls_do() -> None:
    """Other types, shapes, strides and places than those of the latest call; refusals; other schedules."""
    i = tw.iter("i")
    size = tw.param("N")
    a, b = tw.input("a", [size], tw.float64), tw.input("b", [size], tw.float64)
    first = tw.computation("first", {i: size}, a[i] + 2 * b[i])
    second = tw.computation("second", {i: size}, a[i] - b[i])
    f = tw.function("f", outputs=[first, second], inputs=[a, b])
    fixed, kept = np.arange(6.0), np.empty(6)
    call = _core.prepare_call(f, {"b": fixed}, ["a"], (kept,))
    rng = np.random.default_rng(0)
    for turn in range(12):
        given = rng.random(6) if turn % 3 else rng.random(12)[::2]
        out = np.empty(6) if turn % 4 else np.empty(12)[::2]
        if turn == 5:
            with pytest.raises(tw.ArgumentError, match="share memory"):
                call(given, given)
        if turn == 7:
            f["first"].reverse("i")  # another schedule, other code
        expected = given + 2 * fixed, given - fixed
        assert call(given, out) is None
        np.testing.assert_array_equal(out, expected[0])
        np.testing.assert_array_equal(kept, expected[1])
    locked = np.empty(6)
    locked.flags.writeable = False
    good = np.empty(6)
    for given, out, reason in (
        (np.empty(6, np.float32), good, "float32"),
        (np.empty(5), good, "5"),
        (good, locked, "read-only|writ"),
        (good, np.empty(7), "7"),
        (np.empty(6), kept, "memory|overlap"),
    ):
        with pytest.raises((tw.TilewrightError, TypeError, ValueError), match=reason):
            call(given, out)
    with pytest.raises(TypeError, match="takes 2 arrays, got 1"):
        call(good)
    with pytest.raises(ValueError, match="no input c"):
        _core.prepare_call(f, {}, ["c"], ())
    with pytest.raises(tw.TilewrightError, match="b"):
        _core.prepare_call(f, {}, ["a"], (kept,))(good, np.empty(6))
    call(good, np.empty(6))  # none of them has changed anything


def test_prepared_calls_say_what_fails_in_the_kernel() -> None:
    i = tw.iter("i")
    places, a = tw.input("places", [3], tw.int64), tw.input("a", [4], tw.float64)
    moved = tw.computation("moved", {i: 3}, a[places[i]])
    f = tw.function("f", outputs=[moved], inputs=[places, a])
    call = _core.prepare_call(f, {"a": np.arange(4.0)}, ["places"], ())
    out = np.empty(3)
    for _ in range(2):
        call(np.array([3, 0, 1]), out)
        np.testing.assert_array_equal(out, [3.0, 0.0, 1.0])
        with pytest.raises(tw.TilewrightError, match="places"):
            call(np.array([0, 4, 0]), out)
