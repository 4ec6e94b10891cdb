"""Tiles of time that are found: which programs have them, how they lean, and that no bit depends on them."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

n, i, j = tw.iters("n i j")
x = tw.stream("x", tw.float64)


def string(points: int, dtype: tw.DType = tw.float64) -> tw.StreamFunction:
    sound = tw.stream("x", dtype)
    inside = (i > 0) & (i < points - 1)
    u = tw.computation("u", {n: tw.forever, i: points}, dtype=dtype)
    once = sound[n] + u[n - 1, i] - (u[n - 1, i - 1] + u[n - 1, i + 1]) / 4
    u.define(~inside, 0)
    u.define(inside & (n == 0), sound[n])
    u.define(inside & (n == 1), once)
    u.define(inside & (n > 1), once - u[n - 2, i] / 2)
    y = tw.computation("y", {n: tw.forever}, u[n, points // 3])
    return tw.stream_function("string", outputs=[y])


def membrane(rows: int, columns: int) -> tw.StreamFunction:
    inside = (i > 0) & (i < rows - 1) & (j > 0) & (j < columns - 1)
    u = tw.computation("u", {n: tw.forever, i: rows, j: columns}, dtype=tw.float64)
    sides = u[n - 1, i - 1, j] + u[n - 1, i + 1, j] + u[n - 1, i, j - 1] + u[n - 1, i, j + 1]
    u.define(~inside, 0.0)
    u.define(inside & (n == 0), x[n])
    u.define(inside & (n > 0), 0.24 * sides + x[n])
    y = tw.computation("y", {n: tw.forever}, u[n, rows // 2, columns // 2])
    z = tw.computation("z", {n: tw.forever}, u[n, 1, 2] - u[n, 3, 2])
    return tw.stream_function("membrane", outputs=[y, z])


def pipe(points: int) -> tw.StreamFunction:
    """Pressure and flow on two grids, one half a step later than the other."""
    p = tw.computation("p", {n: tw.forever, i: points}, dtype=tw.float64)
    v = tw.computation("v", {n: tw.forever, i: points}, dtype=tw.float64)
    last = points - 1
    p.define((i == 0) & (n >= 0), x[n])
    p.define((i > 0) & (n == 0), 0.0)
    p.define((i > 0) & (n > 0), p[n - 1, i] - 0.4 * (v[n - 1, i] - v[n - 1, i - 1]))
    v.define((i == last) & (n >= 0), 0.0)
    v.define((i < last) & (n == 0), 0.0)
    v.define((i < last) & (n > 0), v[n - 1, i] - 0.4 * (p[n, i + 1] - p[n, i]))
    y = tw.computation("y", {n: tw.forever}, p[n, points // 2] + v[n, points // 2])
    return tw.stream_function("pipe", outputs=[y])


def oscillators(count: int) -> tw.StreamFunction:
    turn = tw.input("turn", [count], tw.float64)
    u = tw.computation("u", {n: tw.forever, i: count}, dtype=tw.float64)
    u.define(n < 2, x[n])
    u.define(n >= 2, turn[i] * u[n - 1, i] - 0.99 * u[n - 2, i] + x[n])
    y = tw.computation("y", {n: tw.forever}, u[n, 7])
    return tw.stream_function("oscillators", outputs=[y])


PROGRAMS = {
    "string": (string(6000), {}),
    "string of float32": (string(12000, tw.float32), {}),
    "membrane": (membrane(400, 200), {}),
    "pipe": (pipe(4000), {}),
    "oscillators": (oscillators(5000), {"turn": np.linspace(1.0, 1.9, 5000)}),
}


def bank(size: int) -> tw.StreamFunction:
    b = tw.input("b", [size, size], tw.float64)
    total = tw.sum(b[i, j] * x[n - j], over={j: size}, where=n - j >= 0)
    y = tw.computation("y", {n: tw.forever, i: size}, total)
    return tw.stream_function("bank", outputs=[y])


def greatest(size: int) -> tw.StreamFunction:
    wide = tw.stream("wide", tw.float64, shape=[size])
    most = tw.max(wide[n - j, i], over={j: size}, where=n - j >= 0)
    y = tw.computation("y", {n: tw.forever, i: size}, most)
    return tw.stream_function("greatest", outputs=[y])


def echoes(size: int) -> tw.StreamFunction:
    total = tw.sum(x[8 * n + j] * x[8 * n + j + i], over={j: size})
    y = tw.computation("y", {n: tw.forever, i: size}, total)
    return tw.stream_function("echoes", outputs=[y])


SUMS = {
    "bank": (bank(70), {"b": np.random.default_rng(1).standard_normal((70, 70))}, ()),
    "greatest": (greatest(66), {}, (66,)),
    "echoes": (echoes(72), {}, ()),
}


@pytest.mark.parametrize("name", SUMS)
def test_no_bit_of_a_sum_depends_on_the_cuts(name: str) -> None:
    k, arrays, shape = SUMS[name]
    sound = np.random.default_rng(3).standard_normal((700, *shape))
    one = k.stream(**arrays)
    expected = np.concatenate([one.push(sound[m : m + 1]) for m in range(len(sound))])
    for places in ((), (1,), (80, 80, 83, 400), (300, 301, 302, 555), (64, 193, 450)):
        many = k.stream(**arrays)
        found = np.concatenate([many.push(chunk) for chunk in np.split(sound, places)])
        np.testing.assert_array_equal(found, expected)
    assert many._step.steady is not None and many._step.steady._is_made
    assert many.long_kernel is not None


def test_windows_of_rows_are_read_once_for_several_times() -> None:
    kernel = greatest(66).stream().long_kernel
    assert kernel is not None
    assert "for n11 in range(0, min(8, wide_end" in f"{kernel.loops}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_bit_depends_on_the_cuts(name: str) -> None:
    k, arrays = PROGRAMS[name]
    sound = np.random.default_rng(3).standard_normal(230)
    one, single = k.stream(**arrays), []
    sound = sound.astype(one._step.types["x"])
    for value in sound:  # too short for tiles
        result = one.push(np.array([value], sound.dtype))
        single.append(result if isinstance(result, tuple) else (result,))
    expected = [np.concatenate(parts) for parts in zip(*single, strict=True)]
    for seed in range(6):
        places = np.sort(np.random.default_rng(seed).integers(0, len(sound), 1 + 2 * seed))
        many = k.stream(**arrays)
        pieces = [many.push(chunk) for chunk in np.split(sound, places)]
        listed = [piece if isinstance(piece, tuple) else (piece,) for piece in pieces]
        found = [np.concatenate(parts) for parts in zip(*listed, strict=True)]
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
    assert many.long_kernel is not None


def test_tiles_begin_with_the_push_and_have_no_tests_for_first_elements() -> None:
    s = string(6000).stream()
    s.push(np.ones(100))
    assert s.long_kernel is not None
    loops = f"{s.long_kernel.loops}"
    assert "x_begin" not in loops
    assert "min(x_end - 512, 32 * d1 + 32)" in loops  # times of a tile
    assert "# parallel" in loops


def test_short_pushes_make_no_second_kernel() -> None:
    s = string(6000).stream()
    for length in (0, 1, 2, 5, 7):
        s.push(np.ones(length))
    assert s._step.steady is not None and not s._step.steady._is_made


def test_rows_that_a_cache_holds_have_no_tiles() -> None:
    assert string(500).stream().long_kernel is None
    assert membrane(200, 200).stream().long_kernel is None


def test_a_reader_of_two_places_that_are_far_from_each_other_has_no_tiles() -> None:
    u = tw.computation("u", {n: tw.forever, i: 5000}, dtype=tw.float64)
    u.define(n == 0, x[n])
    u.define(n > 0, 0.5 * u[n - 1, i] + x[n])
    y = tw.computation("y", {n: tw.forever}, u[n, 17] + u[n, 4000])
    s = tw.stream_function("apart", outputs=[y]).stream()
    assert len(s.push(np.ones(40))) == 40
    assert s.long_kernel is None


def test_a_reader_of_whole_rows_has_no_tiles() -> None:
    u = tw.computation("u", {n: tw.forever, i: 5000}, dtype=tw.float64)
    u.define(n == 0, x[n])
    u.define(n > 0, 0.5 * u[n - 1, i] + x[n])
    y = tw.computation("y", {n: tw.forever}, tw.sum(u[n, j], over={j: 5000}))
    s = tw.stream_function("whole", outputs=[y]).stream()
    assert len(s.push(np.ones(40))) == 40
    assert s.long_kernel is None


def test_what_depends_on_the_time_has_no_tiles() -> None:
    u = tw.computation("u", {n: tw.forever, i: 5000}, dtype=tw.float64)
    u.define(n == 0, x[n])
    u.define(n > 0, 0.5 * u[n - 1, i] + tw.cast(n, tw.float64) * x[n])
    y = tw.computation("y", {n: tw.forever}, u[n, 17])
    assert tw.stream_function("timed", outputs=[y]).stream().long_kernel is None


def test_a_schedule_that_is_given_is_what_runs() -> None:
    k = string(6000).periodic(schedule="{ x[n] -> [n, 0]; u[n, i] -> [n, i]; y[n] -> [n, 6000] }")
    assert k.stream().long_kernel is None


def test_long_pushes_of_a_late_start_a_clone_and_whole_arrays() -> None:
    k, sound = string(6000), np.random.default_rng(5).standard_normal(90)
    s = k.stream(start=2**33 + 1)
    first = s.push(sound)
    other = k.stream(start=2**33 + 1)
    again = [other.push(sound[:40]), other.clone().push(sound[40:])]
    np.testing.assert_array_equal(np.concatenate(again), first)
    whole, _ = k(sound)
    one = k.stream()
    np.testing.assert_array_equal(
        whole, np.concatenate([one.push(sound[m : m + 1]) for m in range(90)])
    )
