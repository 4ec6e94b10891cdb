"""Streams that run in periods, keep rows in place, start late, and are refused with examples."""

from __future__ import annotations

import itertools
import pickle
import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tilewright as tw

n, m, i, j, r = tw.iters("n m i j r")


def cuts(rng: np.random.Generator, length: int, multiple: int = 1) -> list[slice]:
    places = np.sort(rng.integers(0, length // multiple + 1, 6)) * multiple
    ends = [0, *places.tolist(), length]
    return [slice(a, b) for a, b in itertools.pairwise(ends)]


def wave(points: int) -> Any:
    """A string that is driven at all of its points and heard in the middle and near its end."""
    x = tw.stream("x", tw.float64)
    inside = (i > 0) & (i < points - 1)
    u = tw.computation(
        "u",
        {n: tw.forever, i: points},
        lambda u: [
            (~inside, 0.0),
            (inside & (n < 2), x[n]),
            (
                inside & (n >= 2),
                1.5 * u[n - 1, i]
                - 0.9 * u[n - 2, i]
                + 0.2 * (u[n - 1, i - 1] + u[n - 1, i + 1])
                + x[n],
            ),
        ],
        dtype=tw.float64,
    )
    heard = tw.computation("heard", {n: tw.forever}, u[n, points // 2] - 0.5 * u[n, 2])
    loud = tw.computation("loud", {n: tw.forever}, heard[n] * heard[n])
    return tw.stream_function("wave", outputs=[heard, loud])


def expected_wave(points: int, x: np.ndarray) -> np.ndarray:
    u = np.zeros((len(x), points))
    for k, value in enumerate(x):
        if k < 2:
            u[k, 1:-1] = value
        else:
            one, two = u[k - 1], u[k - 2]
            u[k, 1:-1] = 1.5 * one[1:-1] - 0.9 * two[1:-1] + 0.2 * (one[:-2] + one[2:]) + value
    return u[:, points // 2] - 0.5 * u[:, 2]


def test_rows_that_are_changed_in_place() -> None:
    points = 300
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, 60)
    expected = expected_wave(points, x)
    s = wave(points).stream()
    assert s.state_nbytes < 2 * points * 8 + 100  # two rows, and no copy of them
    assert "u_ring" in str(s.kernel.loops) and "u = empty" not in str(s.kernel.loops)
    for _ in range(4):
        s.reset()
        parts = []
        for cut in cuts(rng, len(x)):
            parts.append(s.push(x[cut])[0])
            s = pickle.loads(pickle.dumps(s)) if rng.random() < 0.3 else s.clone()
        np.testing.assert_array_equal(np.concatenate(parts), expected)


def test_a_clone_has_rows_of_its_own() -> None:
    x = np.random.default_rng(2).uniform(-1, 1, 40)
    expected = expected_wave(300, x)
    s = wave(300).stream()
    s.push(x[:10])
    other = s.clone()
    other.push(-x[10:30])
    np.testing.assert_array_equal(s.push(x[10:])[0], expected[10:])


def test_a_long_delay_line() -> None:
    """An echo is kept in a buffer of its own length, and its phases are many."""
    delay = 2500
    x = tw.stream("x", tw.float64)
    y = tw.computation(
        "y",
        {n: tw.forever},
        lambda y: [
            (n < delay, x[n]),
            (n >= delay, x[n] + 0.5 * y[n - delay] - 0.1 * y[n - delay + 7]),
        ],
        dtype=tw.float64,
    )
    k = tw.stream_function("echo", outputs=[tw.computation("o", {n: tw.forever}, 0.7 * y[n])])
    rng = np.random.default_rng(12)
    data = rng.uniform(-1, 1, 8000)
    expected = data.copy()
    for q in range(delay, 8000):
        expected[q] = data[q] + 0.5 * expected[q - delay] - 0.1 * expected[q - delay + 7]
    s = k.stream()
    assert s.state_nbytes == 8 * delay
    parts = [s.push(data[cut]) for cut in cuts(rng, 7800)]
    out = np.empty(4)
    for begin in range(7800, 8000, 4):
        parts.append(s.push(data[begin : begin + 4], out=out).copy())
    np.testing.assert_array_equal(np.concatenate(parts), 0.7 * expected)


def test_an_array_named_start() -> None:
    x, begin = tw.stream("x", tw.float64), tw.input("start", [], tw.float64)
    y = tw.computation("y", {n: tw.forever}, x[n] + begin[()])
    k = tw.stream_function("f", outputs=[y])
    assert (k.stream(start=2.5).push(np.ones(2)) == 3.5).all()


def test_two_fields_that_need_each_other() -> None:
    """FDTD: the electric field and the magnetic one, in two dimensions, at one time after the other."""
    size = 18
    x = tw.stream("x", tw.float64)
    e = tw.computation("e", {n: tw.forever, i: size, j: size}, None, dtype=tw.float64)
    h = tw.computation("h", {n: tw.forever, i: size, j: size}, None, dtype=tw.float64)
    edge = (i == 0) | (j == 0)
    first = n == 0
    e.define(edge, 0.0)
    e.define(~edge & first, x[n])
    e.define(
        ~edge & (n > 0),
        0.9 * e[n - 1, i, j] + 0.3 * (h[n - 1, i, j] - h[n - 1, i - 1, j]) + x[n],
    )
    last = (i == size - 1) | (j == size - 1)
    h.define(last, 0.0)
    h.define(~last & first, 0.0)
    h.define(
        ~last & (n > 0),
        0.8 * h[n - 1, i, j] + 0.3 * (e[n, i + 1, j] - e[n, i, j + 1]),
    )
    out = tw.computation("out", {n: tw.forever}, h[n, 5, 7] + e[n, 3, 4])
    k = tw.stream_function("fdtd", outputs=[out])
    rng = np.random.default_rng(3)
    data = rng.uniform(-1, 1, 25)
    electric, magnetic, expected = np.zeros((size, size)), np.zeros((size, size)), []
    for q, value in enumerate(data):
        new = np.zeros((size, size))
        inner = 0.9 * electric[1:, 1:] + 0.3 * (magnetic[1:, 1:] - magnetic[:-1, 1:]) + value
        new[1:, 1:] = value if q == 0 else inner
        field = np.zeros((size, size))
        if q:
            field[:-1, :-1] = 0.8 * magnetic[:-1, :-1] + 0.3 * (new[1:, :-1] - new[:-1, 1:])
        electric, magnetic = new, field
        expected.append(field[5, 7] + new[3, 4])
    s = k.stream()
    assert s.state_nbytes <= 2 * 2 * size * size * 8 + 100
    found = np.concatenate([s.push(data[cut]) for cut in cuts(rng, len(data))])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    whole = k.stream().push(data)
    np.testing.assert_array_equal(found, whole)


# ---- periods that collect ----


def halved() -> Any:
    x = tw.stream("x", tw.float64)
    y = tw.computation(
        "y",
        {n: tw.forever},
        lambda y: [(n == 0, x[0]), (n > 0, 0.5 * y[n - 1] + x[2 * n] - x[2 * n - 1])],
        dtype=tw.float64,
    )
    return tw.stream_function("halved", outputs=[y])


def expected_halved(x: np.ndarray) -> np.ndarray:
    y: list[float] = []
    for k in range((len(x) + 1) // 2):
        y.append(x[0] if k == 0 else 0.5 * y[-1] + x[2 * k] - x[2 * k - 1])
    return np.array(y)


@pytest.mark.parametrize(
    ("command", "period", "latency"),
    [
        ({}, 2, 0),
        ({"latency": 0}, 2, 0),
        ({"size": 16}, 16, 7),
        ({"latency": 7}, 8, 3),
        ({"latency": 6}, 6, 2),
        ({"direction": (1,), "size": 10}, 10, 4),
    ],
)
def test_periods_collect(command: dict[str, Any], period: int, latency: int) -> None:
    k = halved()
    if command:
        assert k.periodic(**command) is k
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, 101)
    expected = expected_halved(x)
    s = k.stream()
    assert s.period == {"x": period, "y": period // 2} and s.latency == {"y": latency}
    for attempt in range(6):
        s.reset()
        parts, given = [], 0
        for cut in cuts(rng, len(x)):
            coming = s.counts_after(cut.stop - cut.start)["y"]
            out = np.empty(coming)
            parts.append(s.push(x[cut], out=out))
            assert parts[-1] is out
            given += coming
            # No output is later than the latency says.
            assert given >= (cut.stop // 2) - latency
            if attempt % 2:
                s = pickle.loads(pickle.dumps(s))
        assert s.pushed == {"x": 101}
        parts.append(s.flush())
        np.testing.assert_array_equal(np.concatenate(parts), expected)
    y, zf = k(x)  # whole arrays hold nothing back
    np.testing.assert_array_equal(y, expected)
    assert len(zf.flush()) == 0


def test_streams_that_are_open_keep_their_periods() -> None:
    k = halved()
    s = k.stream()
    k.periodic(size=8)
    assert len(s.push(np.ones(3))) == 2 and len(k.stream().push(np.ones(3))) == 0
    other = pickle.loads(pickle.dumps(k))
    assert other.stream().period == {"x": 8, "y": 4}


def test_mistakes_lose_nothing() -> None:
    k = halved().periodic(size=8)
    x = np.random.default_rng(5).uniform(-1, 1, 40)
    s = k.stream()
    first = s.push(x[:13])
    for wrong in (np.empty(3), np.empty(6, np.float32), [np.empty(6)] * 2):
        with pytest.raises((ValueError, TypeError)):
            s.push(x[13:30], out=wrong)
    with pytest.raises(TypeError):
        s.push(x[13:30].astype(np.float32))
    found = np.concatenate([first, s.push(x[13:30]), s.push(x[30:]), s.flush()])
    np.testing.assert_array_equal(found, expected_halved(x))


def test_reports() -> None:
    k = wave(300)
    report = str(k.report())
    assert "direction (1, 0, 0), offset 2, size 1" in report
    rows = [line.split() for line in report.splitlines()]
    assert ["u", "1", "2", "x", "300", "modulo", "4800"] in rows
    assert ["u", "2", "x", "300", "mask", "600", "1"] in rows
    assert (k.tiling().offset, k.tiling().size) == (2, 1)
    k.periodic(
        schedule="{ x[n] -> [n, n, 0]; u[n, i] -> [n, n + i, 1]; heard[n] -> [n, n + 150, 2];"
        " loud[n] -> [n, n + 150, 3] }",
        tiles=(8, 32),
        direction=(1,),
    )
    assert k.stream().period == {"x": 32, "heard": 32, "loud": 32}
    assert "size 4" in str(k.report())


@pytest.mark.parametrize(("wavefront", "direction"), [(False, (1,)), (True, (1,)), (True, (0, 1))])
def test_tiles_of_time(wavefront: bool, direction: tuple[int, ...]) -> None:
    """Figure 5 (a) to (c), run: rows in place, in tiles along n and n + i, on a wavefront perhaps."""
    points = 300
    k = wave(points).periodic(
        schedule="{ x[n] -> [n, n, 0]; u[n, i] -> [n, n + i, 1]; heard[n] -> [n, n + 150, 2];"
        " loud[n] -> [n, n + 150, 3] }",
        tiles=(4, 32),
        wavefront=wavefront,
        direction=direction,
    )
    s = k.stream()
    assert "rows in place: in the order that was given" in str(s.report())
    assert ("parallelize" in str(s.kernel.schedule).split("u.vectorize")[1]) == wavefront
    rng = np.random.default_rng(11)
    x = rng.uniform(-1, 1, 100)
    found = [s.push(x[cut])[0] for cut in cuts(rng, len(x))]
    np.testing.assert_array_equal(np.concatenate([*found, s.flush()[0]]), expected_wave(points, x))


def test_sizes_in_reports() -> None:
    taps = tw.param("taps")
    x, h = tw.stream("x", tw.float64), tw.input("h", [taps], tw.float64)
    y = tw.computation("y", {n: tw.forever}, tw.sum(h[r] * x[n - r], over={r: taps}, where=n >= r))
    k = tw.stream_function("fir", outputs=[y]).periodic(latency=31)
    assert k.tiling(taps=5).offset == 4
    assert k.stream(h=np.ones(5)).period == {"x": 32, "y": 32}
    with pytest.raises(tw.ArgumentError, match="needs a size for taps"):
        k.report()
    with pytest.raises(tw.ArgumentError, match="no size 'tops'"):
        k.report(tops=3)


@pytest.mark.parametrize(
    ("command", "match"),
    [
        ({"size": 3}, "a multiple of 2"),
        ({"size": 2, "latency": 1}, "not both"),
        ({"direction": (0, 1)}, "periods without end"),
        ({"direction": (-1,)}, "periods without end"),
        ({"direction": (1, 2, 3, 4)}, "2 dimensions"),
        ({"size": 2**40}, "too long"),
        ({"schedule": "{ x[n] -> [n, 0] }"}, "gives y no time"),
        ({"schedule": "{ x[n] -> [n, 0]; y[n] -> [n, 1] }"}, "not rate-consistent|not valid"),
        ({"tiles": (2, 2, 2)}, "2 dimensions, and 3 sizes"),
        ({"latency": -1}, "at least 0"),
        ({"size": 1.5}, "integer"),
        ({"schedule": 5}, "isl's text"),
    ],
)
def test_periods_that_are_refused(command: dict[str, Any], match: str) -> None:
    k = halved().periodic(size=4)
    with pytest.raises((ValueError, TypeError), match=match):
        k.periodic(**command)
    assert k.stream().period == {"x": 4, "y": 2}  # as it was


# ---- pushes ----


def test_pushes_do_not_allocate() -> None:
    """Nothing that lasts, and at no time more than a few hundred bytes."""
    for k in (halved(), wave(300)):
        s = k.stream()
        x = np.ones(64)
        counts = s.counts_after(64)
        outs: Any = tuple(np.empty(count) for count in counts.values())
        out = outs[0] if len(outs) == 1 else outs
        for _ in range(50):
            s.push(x, out=out)
        tracemalloc.start()
        try:
            s.push(x, out=out)
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            for _ in range(200):
                s.push(x, out=out)
            after, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert after - before < 500 and peak - before < 4000


def test_late_streams() -> None:
    """Phases and times beyond 2**32 elements: the same values as early ones, if the past is the same."""
    x = tw.stream("x", tw.float64)
    y = tw.computation(
        "y", {n: tw.forever}, tw.select(n % 3 == 1, x[n], -x[n]) + tw.select(n >= 5, 10.0, 0.0)
    )
    w = tw.computation("w", {n: tw.forever}, tw.cast(n, tw.float64) + y[n])
    plain = tw.stream_function("plain", outputs=[y])
    timed = tw.stream_function("timed", outputs=[w])
    data = np.random.default_rng(6).uniform(-1, 1, 20)
    for start in (0, 3, 2**31 - 5, 2**32 - 7, 2**33 + 1, 2**39):
        time = np.arange(start, start + 20)
        expected = np.where(time % 3 == 1, data, -data) + np.where(time >= 5, 10.0, 0.0)
        for k, values in ((plain, expected), (timed, time + expected)):
            s = k.stream(start=start)
            found = np.concatenate([s.push(data[:7]), s.push(data[7:8]), s.push(data[8:])])
            np.testing.assert_array_equal(found, values)
            assert s.pushed == {"x": start + 20}
    late = plain.stream(start=2**70)  # no value depends on the time: it may be any
    assert len(late.push(data)) == 20
    rows = wave(300)
    a, b = rows.stream(start=2**33), rows.stream(start=2**33 + 2**20)
    np.testing.assert_array_equal(a.push(data)[0], b.push(data)[0])
    with pytest.raises(tw.ArgumentError, match="start must be at least 0"):
        plain.stream(start=-1)
    with pytest.raises(tw.ArgumentTypeError, match="start must be an integer"):
        plain.stream(start=0.5)


def test_times_within_times() -> None:
    """Grains of 64 elements that begin at one of 50 places behind each other: all repeats after their product."""
    x = tw.stream("x", tw.float64)
    behind = (n // 64 * 37) % 50
    y = tw.computation(
        "y", {n: tw.forever}, tw.select(n >= behind, x[tw.maximum(n - behind, 0)], 0.0)
    )
    s = tw.stream_function("grains", outputs=[y]).stream()
    assert s._step.repeats.ticks == 64 * 50
    data = np.random.default_rng(14).uniform(-1, 1, 4000)
    time = np.arange(len(data))
    late = time // 64 * 37 % 50
    expected = np.where(time >= late, data[np.maximum(time - late, 0)], 0)
    rng = np.random.default_rng(15)
    found = [s.push(data[cut]) for cut in cuts(rng, len(data))]
    np.testing.assert_array_equal(np.concatenate(found), expected)


def test_conditions_on_the_time_whose_branches_share_parts() -> None:
    """What is chosen says when the program repeats, even where both choices are needed anyway."""
    x = tw.stream("x", tw.float64)
    a, b = x[n], 3 * x[n]
    y = tw.computation(
        "y", {n: tw.forever}, tw.select(n % 3 == 1, a, b) + tw.select(n >= 40, a + b, a - b)
    )
    s = tw.stream_function("chosen", outputs=[y]).stream()
    data = np.random.default_rng(13).uniform(-1, 1, 60)
    time = np.arange(60)
    expected = np.where(time % 3 == 1, data, 3 * data)
    expected += np.where(time >= 40, data + 3 * data, data - 3 * data)
    found = [s.push(data[k : k + 1]) for k in range(60)]
    np.testing.assert_array_equal(np.concatenate(found), expected)


# ---- what is refused, with an example ----


def refused(outputs: Sequence[Any] | Any, match: str) -> None:
    with pytest.raises(tw.DeclarationError, match=match):
        tw.stream_function("f", outputs=outputs)


def test_refusals_have_examples() -> None:
    x, v = tw.stream("x", tw.float64), tw.stream("v", tw.float64)
    forever = {n: tw.forever}
    refused(
        tw.computation("z", forever, x[n] + x[2 * n]), r"z\[1000\] reads x\[1000\] and x\[2000\]"
    )
    refused(tw.computation("z", forever, x[n] - x[0]), r"z\[1000\] reads x\[0\] and x\[1000\]")
    refused(
        tw.computation("z", forever, tw.sum(v[i], over={i: tw.forever}) + x[n]),
        "unboundedly many elements of v",
    )
    refused(
        tw.computation("b", {n: tw.forever, m: tw.forever}, x[n] + x[m]),
        r"there is b\[1000, 1000\]",
    )
    y = tw.computation("y", forever, dtype=tw.float64)
    z = tw.computation("z", forever, y[n + 1] + x[n])
    y.define(None, z[n])
    refused(z, r"y\[1000\] needs z\[1000\], and z\[1000\] needs y\[1001\]")
    half = tw.computation("half", forever, x[2 * n])
    refused(
        tw.computation("q", forever, half[n] + x[n]),
        r"not consistent: .*q\[1000\] reads half\[1000\]",
    )


def test_parts_that_are_synchronised() -> None:
    x, v = tw.stream("x", tw.float64), tw.stream("v", tw.float64)
    one = tw.computation("one", {n: tw.forever}, 2 * x[n])
    two = tw.computation("two", {n: tw.forever}, v[2 * n] + v[2 * n + 1])
    refused([one, two], r"pass synchronise=True")
    k = tw.stream_function("both", outputs=[one, two], synchronise=True)
    s = pickle.loads(pickle.dumps(k)).stream()
    a, b = s.push(np.arange(5.0), np.arange(5.0))
    np.testing.assert_array_equal(a, 2 * np.arange(5.0))
    np.testing.assert_array_equal(b, [1, 5])
    with pytest.raises(tw.DeclarationTypeError, match="synchronise must be True or False"):
        tw.stream_function("both", outputs=[one, two], synchronise="yes")  # type: ignore[arg-type]
